"""Tests that drive a page: run in the clean room with a real Chromium, counted like all others, and seen."""

import ast
import shutil
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from tests.proof.trial import Trial, only
from trued.model import Contract, Grade, Outcomes, TestsCheck
from trued.proof.room import chromium
from trued.proof.room.bench import CaseSelection, Fact
from trued.proof.room.browser_stage import playwright_packages
from trued.proof.room.clean_room import clean_room
from trued.proof.room.interpreter import Interpreter, find_interpreter
from trued.proof.run_check import run_check
from trued.proof.screenshots import evidence_pictures
from trued.proof.seal import SealTerms, seal
from trued.workflows.handoff.e2e_example import EXAMPLE, e2e_example
from trued.workspace.git.workspace import GitWorkspace

needs_chromium = pytest.mark.skipif(bool(chromium.find_chromium()[1]), reason=chromium.find_chromium()[1] or "-")
APP = """
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def log_message(self, *words): pass
    def do_GET(self):
        body = b"<h1>Shop</h1><p>WORDS</p>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
PATH = EXAMPLE
TEXT = e2e_example("python app.py").replace('re.compile(r"\\S")', '"Earn 40 points"')
TEST = f"{PATH}::test_the_first_page_shows_something"
CHECK = TestsCheck(command="python -m pytest -q", files=(PATH,), e2e=True)


def app(words: str) -> str:
    return APP.replace("WORDS", words)


async def once(place: Path, files: dict[str, str | None], python: Interpreter | None = None) -> tuple[Fact, Trial]:
    trial = Trial(place, files, [{"id": "points", "text": "the page shows the points"}])
    await trial.workspace.begin()
    contract = Contract(base=trial.workspace.base, requirements=())
    async with clean_room(trial.workspace, contract, contract.base, python or await find_interpreter()) as (bench, _):
        return await run_check(CHECK, bench, CaseSelection()), trial


@needs_chromium
@pytest.mark.spec("HAND-8", "TIC-6", "LAW-1")
async def test_the_example_runs_as_it_is_and_leaves_a_picture_and_a_recording(tmp_path: Path) -> None:
    fact, trial = await once(tmp_path, {"app.py": app("Earn 40 points"), PATH: TEXT})
    assert [(one.id, one.outcome) for one in fact.tried] == [(TEST, Outcomes.PASSED)], fact.output
    assert fact.void == ""  # the test that must fail and the failing copy of this one were seen to fail
    (shot,) = fact.pictures
    assert (shot.page, shot.viewport, shot.test) == ("/", "1280x720", TEST)
    assert (await trial.workspace.load_artifact(shot.sha256) or b"").startswith(b"\x89PNG")
    assert "trace.trace" in zipfile.ZipFile(BytesIO(await trial.workspace.load_artifact(shot.trace) or b"")).namelist()
    assert set(fact.versions) >= {"pytest", "playwright", "chromium"}


@needs_chromium
@pytest.mark.slow
@pytest.mark.spec("HAND-8", "TIC-6", "LAW-5", "LAW-6")
async def test_a_browser_test_goes_from_red_to_green_with_pictures_of_both_sides(tmp_path: Path) -> None:
    base: dict[str, str | None] = {"app.py": app("+ loyalty points"), PATH: TEXT}
    asked = {"id": "points", "text": "the page shows the points", "checks": [CHECK.model_dump()]}
    trial = Trial(tmp_path, base, [asked])
    trial.workspace.kept = tmp_path / "kept"
    contract = await trial.seal()
    verdict = await trial.prove(contract, await trial.head({"app.py": app("Earn 40 points")}))
    assert only(verdict).grade is Grade.TESTED, only(verdict).why
    assert only(verdict).why[0].startswith("1 test or command: failed before")
    before, after = evidence_pictures((*contract.base_facts, *verdict.evidence))
    assert (before.side, before.passed, after.side, after.passed) == ("base", False, "head", True)
    assert "Earn 40 points" in before.says[0]
    assert "+ loyalty points" in before.says[0]
    assert {bool(await trial.workspace.load_artifact(one.sha256)) for one in (before, after)} == {True}
    # another run on the same base takes red from what is known, and has its pictures all the same
    sight = trial.workspace.confinement()
    other = GitWorkspace(trial.base, tmp_path / "state", "other", "trued/other", contract.base, sight)
    other.kept = trial.workspace.kept
    await other.begin()
    told = list[str]()
    sealed = await seal(other, trial.asked, SealTerms(held_out=True), tell=lambda event: told.append(event.KIND))
    assert told == ["base known"]
    assert (await other.load_artifact(sealed.base_facts[0].pictures[0].sha256) or b"").startswith(b"\x89PNG")


@needs_chromium
@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
async def test_what_tests_put_in_the_place_of_pictures_is_not_followed(tmp_path: Path) -> None:
    hostile = f"""{TEXT}

def test_links(page: "browser.Page") -> None:
    folder = os.path.join(os.environ["TMPDIR"], "kept")
    for number in range(1, 9):
        for end in ("png", "zip"):
            try:
                os.symlink("/etc/passwd", os.path.join(folder, f"{{number}}.{{end}}"))
            except FileExistsError:
                pass
"""
    fact, trial = await once(tmp_path, {"app.py": app("Earn 40 points"), PATH: hostile})
    kept = [await trial.workspace.load_artifact(one) or b"" for one in fact.artifacts.values()]
    assert kept
    assert all(one.startswith((b"\x89PNG", b"PK")) for one in kept)
    assert len(fact.tried) == 2


@pytest.mark.spec("HAND-8", "LAW-2")
async def test_without_a_chromium_nothing_is_judged_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, python = tmp_path / "bin", await find_interpreter()
    programs.mkdir()
    for name in ("git", "bwrap"):
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    fact, _ = await once(tmp_path / "trial", {"app.py": app("Earn 40 points"), PATH: TEXT}, python)
    assert [(one.outcome, one.kind) for one in fact.tried] == [(Outcomes.UNJUDGED, "program chromium")]
    assert fact.void.startswith("there is no Chromium: pip install 'trued[browser]'")


def test_an_interpreter_of_another_version_is_told_what_to_declare() -> None:
    other = Interpreter(path="/opt/python", real="/opt/python", version=(3, 99, 0), readable=(), standard=frozenset())
    supplied, why = playwright_packages(other, ())
    assert supplied == {}
    assert "declare playwright among the project" in why
    assert playwright_packages(replace(other, versions={"playwright": "1.50"}), ()) == ({}, "")


@pytest.mark.spec("HAND-1")
def test_the_example_is_short_and_whatever_it_is_told_is_only_text() -> None:
    text = e2e_example('python "app.py" \\ \n')
    assert len(text.splitlines()) < 60
    assigned = [one for one in ast.parse(text).body if isinstance(one, ast.Assign)]
    values = [one.value for one in assigned if isinstance(one.value, ast.Constant)]
    found = {ast.unparse(one.targets[0]): one.value.value for one in assigned if one.value in values}
    assert found == {"START": 'python "app.py" \\ \n'}
    compile(e2e_example(), EXAMPLE, "exec")
