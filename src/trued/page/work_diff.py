"""Reads two sorts of diffs: of the files that a run changed, and of an agent's clone. Finds out whether the work has a
server that a person can look at. Runs no hook or filter."""

import json
import re
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TypeAlias, TypeVar

from trued.agents.spool.call_folder import attempts_of
from trued.engine.run_store import RunStore
from trued.inputs.project.start import StartCommand, start_command_sources, start_commands
from trued.model import RunRecord
from trued.page.caches import Recent
from trued.reporting.html.calls import ReportedCall
from trued.support.visible_text import visible_lines
from trued.workspace.git.batch import batch_input, parse_batch
from trued.workspace.git.clones import Clone
from trued.workspace.git.command import git_command, git_environment
from trued.workspace.git.store import Store

WITHIN_S = 10.0
CLONE_WITHIN_S = 2.0  # timeout for reading a clone, because an agent can make its folder slow to read
AGAIN_S, SLOW_AGAIN_S = 2.0, 30.0  # least time until a clone is read again: usually, and after a timeout
FIRST_S = 0.3  # wait at most this long for a read of a clone if no changes in it are known yet
CLONES = 32  # clones' diffs that are kept
MOST = 8_000_000  # bytes of git's output that are read
SHOWN = 200_000  # maximum length of one diff, in characters
CLONE_SHOWN = 12_000
LARGE = ("-c", "core.bigFileThreshold=512k")  # larger files count as binary, so git does not compare their lines
# Submodules are ignored: an agent can change the settings of a submodule in its clone, and git would run the filters
# that they name.
PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=all")

HEADINGS = ("index ", "--- ", "+++ ", "new file mode", "deleted file mode", "old mode", "new mode")

Found = TypeVar("Found")
DiffParts: TypeAlias = tuple[tuple[str, str], ...]  # pairs: kind of the lines (+, -, @ or ""), and the lines themselves


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file that differs between base and head."""

    path: str
    added: int  # lines; -1 for a file that is not text
    removed: int


def changed_files(store: RunStore, record: RunRecord) -> tuple[ChangedFile, ...] | None:
    """Files that differ between the run's base and its head; None if the commits cannot be found."""
    if record.head in ("", record.base):
        return ()
    return _first_found(store, record, lambda place: _list_changed_files(place, record.base, record.head))


@lru_cache(maxsize=64)
def _list_changed_files(place: str, base: str, head: str) -> tuple[ChangedFile, ...] | None:
    """The changed files; cached, because commits never change."""
    output = _git(place, "diff-tree", "-r", "-z", "--numstat", *PLAIN, base, head)
    if output is None:
        return None
    rows = [row.split("\t", 2) for row in output.decode("utf-8", "replace").split("\0") if row.count("\t") >= 2]
    return tuple(ChangedFile(path, _number(added), _number(removed)) for added, removed, path in rows)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else -1


def file_diff(store: RunStore, record: RunRecord, path: str) -> DiffParts:
    """The diff of one file. The path is taken literally, so that it cannot lead out of the repository."""
    output = _first_found(store, record, lambda place: _git_diff(place, record.base, record.head, path))
    return diff_parts(output or "")


@lru_cache(maxsize=64)
def _git_diff(place: str, base: str, head: str, path: str) -> str | None:
    output = _git(
        place, *LARGE, "diff-tree", "-p", "-r", *PLAIN, base, head, "--", f":(top,literal){path}", most=4 * SHOWN
    )
    return None if output is None else visible_lines(output.decode("utf-8", "replace")[:SHOWN])


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A commit of the run that changed a file."""

    commit: str
    at: float
    subject: str


def file_versions(store: RunStore, record: RunRecord, path: str) -> tuple[FileVersion, ...]:
    """The run's commits that changed a file, the newest first."""
    if record.head in ("", record.base):
        return ()
    return _first_found(store, record, lambda place: _versions(place, record.base, record.head, path)) or ()


@lru_cache(maxsize=64)
def _versions(place: str, base: str, head: str, path: str) -> tuple[FileVersion, ...] | None:
    output = _git(
        place, "log", "-z", "-n", "200", "--format=%H%x09%ct%x09%s", f"{base}..{head}", "--", f":(top,literal){path}"
    )
    if output is None:
        return None
    rows = [row.split("\t", 2) for row in output.decode("utf-8", "replace").split("\0") if row.count("\t") >= 2]
    return tuple(FileVersion(commit, float(at), subject[:200]) for commit, at, subject in rows)


def version_text(store: RunStore, record: RunRecord, commit: str, path: str) -> str:
    """The text of a file at one of its versions; "" if it cannot be found."""
    output = _first_found(
        store, record, lambda place: _git(place, "cat-file", "blob", f"{commit}:{path}", most=4 * SHOWN)
    )
    return (output or b"").decode("utf-8", "replace")[:SHOWN]


def has_server(store: RunStore, record: RunRecord, *, configured: str = "") -> bool:
    """Whether the files of the run's work show how to start a server. Looks for it as `trued preview` does.
    `configured`: the user's own start command."""
    commit = record.head or record.base
    return bool(_first_found(store, record, lambda place: _start_commands(place, commit, configured)))


@lru_cache(maxsize=64)
def _start_commands(place: str, commit: str, configured: str) -> tuple[StartCommand, ...] | None:
    listed = _git(place, "ls-tree", "-r", "-z", "--name-only", commit)
    if listed is None:
        return None
    paths = [path for path in listed.decode("utf-8", "replace").split("\0") if path and "\n" not in path]
    needed = start_command_sources(paths)
    names = batch_input(f"{commit}:{path}" for path in needed)
    output = _git(place, "cat-file", "--batch", fed=names) if needed else b""
    answers = zip(needed, parse_batch(output or b""), strict=False)
    texts = {path: (answer.content or b"").decode("utf-8", "replace") for path, answer in answers}
    return start_commands(paths, texts.get, configured)


def read_clone(place: str, folder: Path) -> DiffParts | None:
    """The changes in an agent's clone; None if it could not be read in time."""
    clone = Clone(folder)
    if clone.state is None:
        return ()
    variables = {"GIT_INDEX_FILE": str(clone.index), "GIT_OPTIONAL_LOCKS": "0"}
    words = (*LARGE, f"--work-tree={clone.work}", "diff", *PLAIN)
    output = _git(place, *words, variables=variables, within_s=CLONE_WITHIN_S, most=4 * CLONE_SHOWN)
    return None if output is None else diff_parts(output.decode("utf-8", "replace")[:CLONE_SHOWN])


@dataclass
class _CloneLook:
    """The last known diff of one clone, and the read in progress."""

    parts: DiffParts = ()
    under_way: Future[DiffParts | None] | None = None
    due: float = 0.0  # do not read the clone before this time


class CloneDiffs:
    """What running agents have changed so far.

    An agent can make its folder slow to read. So a separate thread reads it, and the last result is shown meanwhile.
    """

    def __init__(self, read: Callable[[str, Path], DiffParts | None] = read_clone) -> None:
        self._read = read
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="clones")
        self._known = Recent[Path, _CloneLook](CLONES)

    def of(self, store: RunStore, record: RunRecord, call: ReportedCall) -> DiffParts:
        """The last known diff of the call's clone."""
        folder = _clone_of(store, record, call)
        if folder is None:
            return ()
        return self.newest(str(Store(Path(record.repository), store.home, record.id).folder), folder)

    def newest(self, place: str, folder: Path) -> DiffParts:
        """The last known diff; starts a new read if the last one is old."""
        look = self._known.get(folder, _CloneLook)
        self._take(look)
        if look.under_way is None and time.monotonic() >= look.due:
            look.under_way = self._thread.submit(self._read, place, folder)
            if not look.parts:
                wait([look.under_way], FIRST_S)
                self._take(look)
        return look.parts

    def _take(self, look: _CloneLook) -> None:
        if look.under_way is None or not look.under_way.done():
            return
        ended, look.under_way = look.under_way, None
        result = ended.result()
        look.parts = look.parts if result is None else result
        look.due = time.monotonic() + (SLOW_AGAIN_S if result is None else AGAIN_S)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def _clone_of(store: RunStore, record: RunRecord, call: ReportedCall) -> Path | None:
    """The clone in which the newest attempt of the call works; None if there is none."""
    attempts = attempts_of(store.folder(record.id) / "spool", call.key)
    orders = [order for _, attempt in attempts if (order := attempt / "order.json").exists()]
    try:
        folder = Path(json.loads(orders[-1].read_bytes())["folder"])
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return None
    return folder.parent if folder.parent.parent == store.folder(record.id) / "clones" else None


def _first_found(store: RunStore, record: RunRecord, read: Callable[[str], Found | None]) -> Found | None:
    """What `read` finds in the run's private git store or, if it finds nothing there, in the user's repository; None if
    it finds nothing in either."""
    own, repository = Store(Path(record.repository), store.home, record.id).folder, Path(record.repository)
    inside = repository / ".git"
    places = [str(place) for place in (own, inside if inside.exists() else repository) if place.exists()]
    return next((found for place in places if (found := read(place)) is not None), None)


def diff_parts(text: str) -> DiffParts:
    """The diff as parts: neighbouring lines of the same sort are one part. Git's own headings are left out."""
    found: list[tuple[str, list[str]]] = []
    in_heading = False  # elsewhere, `--- x` is no heading, but a removed line `-- x` of the file
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):  # not splitlines: in a diff, only a newline ends a line
        sort = line[:1] if line[:1] in "+-@" else ""
        if line.startswith("diff --git "):
            sort, line, in_heading = "@", f"{line.rstrip().rpartition(' b/')[2]}\n", True
        elif sort == "@":
            in_heading = False
        elif in_heading and line.startswith(HEADINGS):
            continue
        if found and found[-1][0] == sort:
            found[-1][1].append(line)
        else:
            found.append((sort, [line]))
    return tuple((sort, "".join(lines)) for sort, lines in found)


def _rewound(file: IO[bytes], content: bytes) -> IO[bytes]:
    """The file with this content, to be read from its beginning."""
    file.write(content)
    file.seek(0)
    return file


def _git(
    place: str,
    *words: str,
    variables: dict[str, str] | None = None,
    fed: bytes = b"",
    within_s: float = WITHIN_S,
    most: int = MOST,
) -> bytes | None:
    """The output of git, at most its first `most` bytes: git is killed once it has printed that many. None if git fails
    or takes longer than `within_s`. `fed`: git's input."""
    command, environment = git_command([f"--git-dir={place}", *words]), {**git_environment(), **(variables or {})}
    try:
        with (
            TemporaryFile() as given,
            subprocess.Popen(
                command, env=environment, stdin=_rewound(given, fed), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            ) as git,
        ):
            late = threading.Timer(within_s, git.kill)
            late.start()
            try:
                output = git.stdout.read(most) if git.stdout else b""
                if len(output) == most:
                    git.kill()
                    return output
                code = git.wait()
            finally:
                late.cancel()
    except OSError:
        return None
    return output if code == 0 else None
