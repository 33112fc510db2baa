"""The page offers what exists: a preview only where there is a server, and the place where the work has landed."""

from pathlib import Path

import pytest

from tests.engine.two_commits import committed
from tests.page.made_up import add_events, demo, html_of
from tests.reporting.html.sample import material
from trued.model import Event, Grade, Judged, Serve
from trued.page.reader import Reader

LIBRARY = {"tiny.py": "def one():\n    return 1\n"}
SERVER = {
    **LIBRARY,
    "web.py": "import os\nfrom http.server import HTTPServer\n\nif __name__ == '__main__':\n"
    "    HTTPServer(('', int(os.environ['PORT'])), None).serve_forever()\n",
}


@pytest.mark.parametrize(
    ("files", "serve", "command"),
    [(LIBRARY, None, "diff"), (SERVER, None, "preview"), (LIBRARY, Serve(command=("x",)), "preview")],
    ids=["a library", "a server in its files", "a server in the contract"],
)
def test_a_preview_is_offered_only_where_there_is_a_server(
    tmp_path: Path, files: dict[str, str], serve: Serve | None, command: str
) -> None:
    commit, sample = committed(tmp_path / "repo", files), material()
    assert sample.contract
    assert sample.verdict
    first, *others = sample.verdict.requirements
    lacking: Judged = first.model_copy(update={"grade": Grade.UNPROVEN, "lacks": "attest", "holds": True})
    verdict = sample.verdict.model_copy(update={"requirements": (lacking, *others)})
    history = (*sample.history[:-1], type(sample.history[-1])(sample.history[-1].key, sample.history[-1].at, verdict))
    record = sample.record.model_copy(
        update={"repository": str(tmp_path / "repo"), "base": commit, "head": commit, "state": "waiting"}
    )
    demo(
        tmp_path,
        record=record,
        contract=sample.contract.model_copy(update={"serve": serve}),
        verdict=verdict,
        history=history,
    )
    reader = Reader(tmp_path, {})
    try:
        for address in (f"/r/{record.id}", f"/r/{record.id}/ledger/{first.id}"):
            html = html_of(reader, address)
            offered = {one for one in ("diff", "preview") if f"the work: <code>trued {one} {record.id}</code>" in html}
            assert offered == {command}, address
    finally:
        reader.close()


def test_the_head_of_a_run_says_where_its_work_has_landed(tmp_path: Path) -> None:
    record = demo(tmp_path)
    landed = {"onto": "main", "commit": "c0ffee" * 6 + "c0ff", "how": "merge", "who": "ann"}
    for number, expected in enumerate((False, True)):
        if number:
            add_events(tmp_path, record.id, [Event(id=0, at=9e9, key="land#1", kind="landed", data=landed)])
        reader = Reader(tmp_path, {})
        assert ("Landed on main at c0ffeec0ff" in html_of(reader, f"/r/{record.id}")) is expected
        reader.close()
