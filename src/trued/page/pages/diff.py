"""What the run changed: the list of files, with sensitive files first, and the diff of one file."""

from trued.engine.sensitive_files import sensitivity_of
from trued.errors import BadInput
from trued.page.pages.common import paged, run_page
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params
from trued.page.work_diff import ChangedFile, changed_files, file_diff
from trued.proof.room.frozen_files import is_below

CALLS = 3  # for each file, at most this many of the calls that changed it are named, the newest


def diff(reader: Reader, params: Params) -> PageView:
    record = reader.run(params["run"])
    files = changed_files(reader.store, record)
    names = {file.path for file in files or ()}
    by: dict[str, list[str]] = {}
    for call in reader.calls(record):
        for path in call.row.changed:
            by.setdefault(path, []).append(call.key)
    search = params.get("q", "").strip()[:200].lower()
    verdict = reader.material(record).verdict
    owned = verdict.owned if verdict and verdict.owned else reader.store.owned_files(record.id)

    def place(file: ChangedFile) -> tuple[bool, bool, str]:
        """Sort key: sensitive files come before others. Among the sensitive files, and among the others, files that the
        engine writes come last."""
        return not sensitivity_of(file.path), any(is_below(file.path, path) for path in owned), file.path

    shown = sorted((file for file in files or () if search in file.path.lower()), key=place)
    pieces = {
        "files": piece(
            "diff/files.html.j2",
            record=record,
            paging=paged(shown, params, "q"),
            found=files is not None,
            words=params.get("q", ""),
            added=sum(max(0, file.added) for file in files or ()),
            removed=sum(max(0, file.removed) for file in files or ()),
            trust={file.path: reason for file in shown if (reason := sensitivity_of(file.path))},
            calls={path: list(dict.fromkeys(keys))[-CALLS:] for path, keys in by.items() if path in names},
            judged=verdict.commit if verdict else "",
        )
    }
    if name := params.get("file", ""):
        if name not in names:
            raise BadInput(f"run {record.id} has not changed {name}", then="its diff lists what it changed")
        pieces = {
            "file": piece("diff/file.html.j2", name=name, parts=file_diff(reader.store, record, name)),
            **pieces,
        }
    return run_page(reader, record, "diff", "Diff", pieces)


ROUTE = PageRoute("/r/{run}/diff", diff)
