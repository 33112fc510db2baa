"""Whole runs through the real command line, with scripted agents in their own processes."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import World, git, world_in
from tests.warm import Warm


@dataclass(frozen=True)
class Finished:
    world: World
    id: str
    run: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, waiting: Warm) -> Finished:
    """One run, started from a detached HEAD, that all tests here share and none changes."""
    world = world_in(tmp_path_factory.mktemp("finished"), waiting)
    git(world.repository, "checkout", "-q", "--detach")
    done = world.trued("run", *world.work, "--yes")
    return Finished(world, world.data("ls")[0]["id"], done)


@pytest.mark.slow
@pytest.mark.spec("USE-3", "USE-4", "USE-7")
def test_a_run_tells_its_way_line_by_line_and_its_result_on_stdout(finished: Finished) -> None:
    done = finished.run
    assert done.returncode == 0, done.stderr
    first, met = done.stdout.splitlines()
    assert first.startswith(f"{finished.id} done: proven, 2 of 2 requirements met, branch trued/{finished.id} at ")
    assert met.split() == ["✓", "proven", "double,", "triple"]
    told = done.stderr.splitlines()
    assert [line for line in told if re.match(r"\d\d:\d\d:\d\d answered chunk 1A/purple-team-a#2: done, ", line)]
    assert "\x1b" not in done.stderr + done.stdout
    assert git(finished.world.repository, "branch", "--list", "trued/*").strip() == f"trued/{finished.id}"


@pytest.mark.spec("USE-9", "AGT-6")
def test_show_tells_every_call_with_its_use(finished: Finished) -> None:
    data = finished.world.data("show", finished.id)
    assert (data["id"], data["workflow"], data["state"], data["grade"]) == (finished.id, "purple", "done", "proven")
    calls = {one["key"]: one for one in data["calls"]}
    assert list(calls) == [
        "chunk 1A/purple-team-a#1",
        "chunk 1A/purple-team-b#1",
        "chunk 1A/purple-team-a#2",
        "chunk 1A/purple-team-b#2",
        "chunk 1B/purple-team-a#1",
        "chunk 1B/purple-team-b#1",
    ]
    first = calls["chunk 1A/purple-team-a#1"]
    assert first["tokens"] == {"in": 1200, "out": 300, "cached": 10, "peak": 1500}
    assert (first["role"], first["state"], first["attempts"], first["cost_usd"]) == ("purple-team-a", "done", 1, 0.25)
    assert first["agent"].startswith("scripted:/")


@pytest.mark.spec("USE-4", "RUN-10")
def test_show_draws_the_tree_of_the_run(finished: Finished) -> None:
    lines = finished.world.trued("show").stdout.splitlines()
    assert lines[0].startswith(f"{finished.id}  purple  ")
    marks = [line.split()[:2] for line in lines if line.strip()[:1] in "✓✗"]
    assert marks[:4] == [["✓", "seal"], ["✓", "purple-team-a#1"], ["✓", "purple-team-b#1"], ["✗", "checks"]]
    assert marks[-1] == ["✓", "final"]
    assert any("double refuted" in line for line in lines)


@pytest.mark.spec("USE-9")
def test_the_ledger_gives_grade_reason_and_evidence_of_each_requirement(finished: Finished) -> None:
    data = finished.world.data("ledger", finished.id)
    assert data["grade"] == "proven"
    assert [one["id"] for one in data["requirements"]] == ["double", "triple"]
    for one in data["requirements"]:
        assert isinstance(one["why"], str)
        assert {fact["side"] for fact in one["evidence"]} == {"base", "head"}
        assert all(fact["isolation"] and fact["commit"] for fact in one["evidence"])


@pytest.mark.spec("USE-2", "LAW-1")
def test_why_shows_the_evidence_with_commit_isolation_and_whose_word_it_is(finished: Finished) -> None:
    said = finished.world.trued("why", "doub", finished.id).stdout
    assert said.startswith("double proven\n")
    assert "rests on: your own checks in " in said
    assert "tiny:double(21) → 42" in said  # the run is over, so held-out cases are shown
    assert re.search(r"examples on base [0-9a-f]{10}, turn 1, held out: 0 passed, 2 failed", said)
    assert re.search(r"examples on head [0-9a-f]{10}, turn 2, held out: 2 passed, 0 failed", said)
    assert "isolation: " in said


@pytest.mark.spec("USE-6")
def test_what_agents_print_is_harmless_in_the_terminal(finished: Finished) -> None:
    said = finished.world.trued("logs", finished.id, "--call", "chunk 1A/purple-team-a#1").stdout
    assert "all tests [bold]pass[/bold]" in said
    assert "attempt 1 · resume no" in said  # printed as text, not as Python values
    assert "\x1b" not in said
    assert "\x07" not in said


@pytest.mark.spec("TIC-13")
def test_every_agents_transcript_is_kept_apart_by_call_and_attempt(finished: Finished) -> None:
    for key in ("chunk 1A/purple-team-a#1", "chunk 1A/purple-team-b#1"):
        said = finished.world.trued("logs", finished.id, "--call", key, "--json").stdout.splitlines()
        assert {(one["call"], one["attempt"]) for one in map(json.loads, said)} == {(key, 1)}


def test_logs_are_one_line_an_event_and_the_same_as_json(finished: Finished) -> None:
    lines = finished.world.trued("logs", finished.id).stdout.splitlines()
    objects = [json.loads(line) for line in finished.world.trued("logs", finished.id, "--json").stdout.splitlines()]
    assert len(lines) == len(objects)
    assert (objects[0]["kind"], objects[-1]["kind"]) == ("run began", "ended")
    followed = finished.world.trued("logs", "-f", finished.id)  # nobody drives the run, so the command ends
    assert followed.stdout.splitlines() == lines


def test_diff_is_a_patch_that_git_takes(finished: Finished, tmp_path: Path) -> None:
    patch = finished.world.trued("diff", finished.id)
    other = world_in(tmp_path, finished.world.waiting)
    subprocess.run(["git", "apply"], cwd=other.repository, input=patch.stdout, text=True, check=True, timeout=60)
    assert "def triple" in (other.repository / "tiny.py").read_text()
    assert "tiny.py" in finished.world.trued("diff", "--stat").stdout


def test_report_writes_one_file_and_says_where(finished: Finished, tmp_path: Path) -> None:
    done = finished.world.trued("report", finished.id, "-o", str(tmp_path / "a.html"))
    assert Path(done.stdout.strip()) == tmp_path / "a.html"
    assert "double" in (tmp_path / "a.html").read_text()


@pytest.mark.slow
@pytest.mark.spec("LAW-10")
def test_a_runs_verdict_is_taken_away_signed_and_proven_again_from_a_clone(finished: Finished, tmp_path: Path) -> None:
    world = finished.world
    made = world.trued("key", "--new")
    (tmp_path / "key.pem").write_text(made.stdout)
    assert made.stdout.startswith("-----BEGIN PUBLIC KEY-----")
    file, bundle = str(tmp_path / "r.json"), str(tmp_path / "bundle")
    done = world.trued("receipt", finished.id, "-o", file, "--bundle", bundle)
    assert (done.returncode, done.stdout.strip()) == (0, file)
    offline = world.trued("verify", file, "--key", str(tmp_path / "key.pem"))
    assert offline.returncode == 0
    assert "the key that you named" in offline.stdout
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--no-checkout", str(world.repository), str(clone))
    git(clone, "fetch", "-q", "origin", f"trued/{finished.id}")
    again = world.trued("verify", file, "--bundle", bundle, "--head", str(clone), "--json")
    found = json.loads(again.stdout)
    assert found["again"] == {"same": True, "differs": []}
    assert again.returncode == 0
    assert found["statement"]["subject"][0]["digest"]["gitCommit"] == git(clone, "rev-parse", "FETCH_HEAD")


@pytest.mark.spec("RUN-3", "USE-3")
def test_a_finished_run_stays_as_it_is(finished: Finished) -> None:
    before = finished.world.trued("logs", finished.id).stdout
    again = finished.world.trued("resume", finished.id)
    assert (again.returncode, again.stdout) == (0, finished.run.stdout)
    assert finished.world.trued("cancel", finished.id).returncode == 0
    assert finished.world.trued("logs", finished.id).stdout == before


# -- waiting for a person ------------------------------------------------------------------------------------------


@pytest.mark.spec("USE-3", "RUN-8", "PUR-8", "LAW-7")
@pytest.mark.slow
def test_without_a_terminal_a_question_is_parked_and_answered_later(world: World) -> None:
    asked = world.trued("run", *world.work)
    assert asked.returncode == 3
    assert "trued answer" in asked.stderr
    (run,) = world.data("ls")
    assert (run["state"], world.data("show")["questions"][0]["options"]) == ("waiting", ["yes", "stop", "redo"])
    assert world.trued("answer", run["id"], "perhaps").returncode == 2
    hidden = world.trued("why", "double").stdout  # agents may be called again, so held-out values are not shown
    assert "2 cases" in hidden
    assert "double(21)" not in hidden
    said = world.data("answer", "stop")  # without an id: the newest run of this repository
    assert (said["answer"], bool(said["who"])) == ("stop", True)
    paused = world.trued("resume", "--json")
    assert paused.returncode == 3
    assert (json.loads(paused.stdout)["state"], len(json.loads(paused.stdout)["calls"])) == ("waiting", 4)


@pytest.mark.slow
@pytest.mark.spec("USE-10", "RUN-8")
def test_a_plan_can_be_seen_and_approved_before_anybody_works(world: World) -> None:
    planned = world.data("run", *world.work, "--plan-only", "--limit", "calls=3")
    contract, before = planned["contract"], planned["estimate"]
    assert before["calls"] == [4, 18]  # two chunks, three rounds
    assert "the limit of 3 calls will be reached before the end" in before["remarks"]
    assert [one["checks"] for one in contract["requirements"]] == [
        [{"kind": "examples", "cases": 2}],
        [{"kind": "examples", "cases": 1}],
    ]
    assert (contract["held_out"], list(contract["agents"])) == (True, ["*"])
    assert world.data("show")["calls"] == []
    unsigned = world.trued("approve")
    assert (unsigned.returncode, unsigned.stdout) == (2, "")
    approved = world.trued("approve", "--as", "Ada", "--reason", "these are my words")
    assert approved.returncode == 0, approved.stderr
    shown = approved.stderr  # the contract is shown before the approval is recorded
    for part in ("double(x) returns twice its argument", "tiny:double(21) → 42", "2 cases", "agents_for_cli.py"):
        assert part in shown
    assert "no requirement 'quadruple'" in world.trued("approve", world.data("ls")[0]["id"], "quadruple").stderr
    halted = world.trued("resume", "--yes")
    assert (halted.returncode, "--limit calls=6" in halted.stderr) == (4, True)
    done = world.trued("resume", "--yes", "--limit", "calls=50")
    assert done.returncode == 0, done.stderr
    assert "Ada, who approved the contract, by command: these are my words" in world.trued("why", "triple").stdout


# -- interrupted ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("USE-3", "RUN-2")
def test_ctrl_c_ends_with_130_and_the_way_to_go_on(world: World) -> None:
    command = [sys.executable, "-m", "trued", "run", *world.work, "--yes"]
    started = subprocess.Popen(
        command, cwd=world.repository, env=world.variables, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert started.stderr is not None
    for line in started.stderr:
        if " answered chunk 1A/purple-team-a#1" in line:
            started.send_signal(signal.SIGINT)
            break
    rest = started.stderr.read()
    started.stderr.close()
    assert started.wait(timeout=60) == 130
    (run,) = world.data("ls")
    assert f"trued resume {run['id']}" in rest
    assert run["state"] == "interrupted"
    done = world.trued("resume", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    assert [one["state"] for one in json.loads(done.stdout)["calls"]] == ["done"] * 6


# -- on a terminal -------------------------------------------------------------------------------------------------


class Terminal:
    """A terminal with a person: collects what is shown, and types."""

    def __init__(self, world: World, *args: str, **variables: str) -> None:
        self.screen, self._hand = "", -1
        pid, self._hand = pty.fork()
        if pid == 0:  # pragma: no cover (another process)
            os.chdir(world.repository)
            os.execvpe(sys.executable, [sys.executable, "-m", "trued", *args], {**world.variables, **variables})
        self._pid = pid

    def until(self, text: str, within_s: float = 120) -> str:
        deadline = time.monotonic() + within_s
        while text not in self.screen and time.monotonic() < deadline:
            if not self._read():
                break
        assert text in self.screen, self.screen[-3000:]
        return self.screen

    def types(self, text: str) -> None:
        self.screen = ""
        os.write(self._hand, text.encode())

    def ends(self) -> int:
        while self._read():
            pass
        os.close(self._hand)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def _read(self) -> bool:
        if select.select([self._hand], [], [], 60)[0]:
            try:
                piece = os.read(self._hand, 65536)
            except OSError:  # the other side is closed
                return False
            self.screen += piece.decode("utf-8", "replace")
            return bool(piece)
        return False


@pytest.mark.slow
@pytest.mark.spec("USE-4", "PUR-8", "RUN-8")
def test_a_person_at_a_terminal_sees_the_tree_and_is_asked(world: World) -> None:
    terminal = Terminal(world, "run", *world.work)
    seen = terminal.until("yes / stop / redo [yes]: ")
    assert "Ctrl-C is safe: trued resume r-" in seen
    assert "●" in seen  # something at work was drawn
    assert "waiting for purple-team-a#1" in seen
    assert "Continue?" in seen
    terminal.types("what\n")
    terminal.until("answer with yes, stop, redo")
    terminal.types("stop\n")
    assert terminal.ends() == 3
    assert "purple-team-b#2" not in terminal.screen.partition("stop")[0]
    (run,) = world.data("ls")
    assert (run["state"], run["code"]) == ("waiting", 3)


@pytest.mark.slow
@pytest.mark.spec("USE-4")
@pytest.mark.parametrize(("name", "value"), [("CI", "true"), ("NO_COLOR", "1")])
def test_ci_gets_plain_lines_and_no_color_no_colour(world: World, name: str, value: str) -> None:
    terminal = Terminal(world, "run", *world.work, "--plan-only", **{name: value})
    seen = terminal.until("planned:")
    assert terminal.ends() == 0
    assert (re.search(r"\d\d:\d\d:\d\d run began: ", seen) is not None) == (name == "CI")
    assert re.search(r"\x1b\[[0-9;]*3[0-9]m", seen) is None if name == "NO_COLOR" else "\x1b[?25l" not in seen
