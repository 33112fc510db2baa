"""`trued compare`: tables of existing runs, refused options, and whole comparisons."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Trued, World, git
from tests.stored_events import writer
from trued.cli.options import ComparedOptions
from trued.engine.inputs import Inputs
from trued.engine.journals.sqlite import SqliteJournal
from trued.model import Goal, RunRecord, Settings

HOSTILE = "\x1b[2Jlist \x1b]0;owned\x07[bold red]of[/] <b>all</b>\nsecond line"
HEADS = ["run", "state", "grade", "proven", "gaps found", "rounds", "calls", "tokens", "peak context", "cost", "time"]
FIGURES = {
    *("name", "id", "workflow", "agents", "branch", "state", "code", "why", "grade", "proven", "met", "requirements"),
    "asked_alike",
    *("grades", "accept", "contract", "rounds", "rounds_are", "gaps", "calls", "tokens", "peak"),
    *("cost_usd", "cost", "cost_untold", "time_s", "agents_s"),
}
WHOLE = {
    *("id", "title", "base", "same_goal", "same_base", "same_contract", "side_by_side", "over"),
    *("runs", "asked_alike", "requirements", "notes"),
}


def add(journal: SqliteJournal, name: str, workflow: str, *, cost: str = "computed", agent: str = "claude") -> None:
    """Add a run to the journal that has ended. Nothing else of it exists."""
    record = RunRecord(
        id=name, workflow=workflow, title=HOSTILE, repository="/nowhere", base="b" * 40, branch=f"trued/{name}"
    )
    inputs = Inputs(
        settings=Settings(agents={"*": agent}),
        roles={},
        goal=Goal(text=HOSTILE),
        level="none",
        requirements=None,
        requirements_file="",
        instructions="",
        version="",
    )
    journal.add(record.model_copy(update={"state": "not proven"}), inputs.model_dump_json())
    tell = writer(journal.of(name))
    tell("run began", title=HOSTILE, workflow=workflow)
    tell("asked", "solo#1", role="solo", agent=agent)
    used = {"in": 12_000, "out": 345, "peak": 9_000, "estimated": cost == "computed"}
    tell("answered", "solo#1", role="solo", state="done", tokens=used, cost_usd=1.5, cost=cost, began=1.0, ended=63.0)
    tell("proven", "finish", gaps=["one", "other"])
    tell("ended", state="not proven")


@pytest.fixture
def two(journal: SqliteJournal) -> tuple[str, str]:
    add(journal, "r-aaaaa", "solo")
    add(journal, "r-bbbbb", "purple", cost="ceiling", agent="scripted:x")
    return "r-aaaaa", "r-bbbbb"


@pytest.mark.spec("USE-8", "USE-6", "RUN-10")
def test_any_runs_are_shown_side_by_side_with_no_agent_called(trued: Trued, two: tuple[str, str]) -> None:
    done = trued("compare", *two)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "list [bold red]of[/] <b>all</b> second line, from bbbbbbbbbb"
    assert lines[1].split() == ["solo", "purple"]
    rows = {row[:12].strip(): row[12:].split() for row in lines[2:14]}
    assert [name for name in HEADS if name not in rows] == []
    assert rows["run"] == list(two)
    assert rows["rounds"] == ["1", "0"]
    assert rows["gaps found"] == ["2", "2"]
    assert rows["tokens"] == ["~12.3k", "12.3k"]
    assert rows["peak context"] == ["~9.0k", "9.0k"]
    assert rows["cost"] == ["~$1.50", "≤$1.50"]
    assert rows["agents' time"] == ["1m02s", "1m02s"]
    assert "\x1b" not in done.stdout
    assert "no contract was sealed in solo and purple: nothing was judged there" in lines
    assert "scripts, not models, did the work in purple: their tokens and cost are made up" in lines


@pytest.mark.spec("USE-8", "USE-9")
def test_the_same_as_json_has_the_documented_shape(trued: Trued, two: tuple[str, str]) -> None:
    done = trued("compare", *two, "--json")
    data: dict[str, Any] = json.loads(done.stdout)
    assert set(data) == WHOLE
    assert [set(one) for one in data["runs"]] == [FIGURES, FIGURES]
    page = (Path(__file__).parents[2] / "docs" / "guide" / "compare.md").read_text()
    assert [name for name in (*WHOLE, *FIGURES) if f'"{name}"' not in page] == []


@pytest.mark.spec("USE-8", "USE-6")
def test_a_page_is_written_on_request(trued: Trued, two: tuple[str, str], tmp_path: Path) -> None:
    done = trued("compare", *two, "--report", str(tmp_path / "c.html"), "--json")
    assert json.loads(done.stdout)["title"] == HOSTILE
    page = (tmp_path / "c.html").read_text()
    assert "&lt;b&gt;all&lt;/b&gt;" in page
    assert "\x1b" not in page


SENTENCES = {
    "one run": (["r-aaaaa"], "a comparison needs two runs"),
    "one run twice": (["r-aaaaa", "r-aaa"], "a comparison needs two runs"),
    "words without quotation marks": (["add", "a", "function"], "put quotation marks around a goal in words"),
    "nothing compared yet": ([], "this repository has no comparison yet"),
    "no folder": (["r-aaaaa", "r-bbbbb", "--report", "gone/c.html"], "there is no folder"),
    "a workflow for runs that are over": (["r-aaaaa", "r-bbbbb", "-w", "solo"], "there is no goal to work on"),
    "no such comparison": (["c-gone", "--resume"], "there is no such comparison"),
    "a name too many": (["do it now", "--with", "claude", "--as", "x", "--as", "y"], "2 names for 1 agent"),
}


@pytest.mark.spec("USE-7", "USE-8")
@pytest.mark.parametrize(("words", "says"), SENTENCES.values(), ids=SENTENCES.keys())
def test_what_makes_no_sense_is_one_sentence(
    trued: Trued, two: tuple[str, str], project: Path, words: list[str], says: str
) -> None:
    done = trued("compare", *words, cwd=project)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
    assert done.stdout == ""


@pytest.mark.spec("USE-7", "USE-8")
def test_no_run_is_written_down_before_all_is_checked(world: World) -> None:
    for words, says in (
        (["-w", "purple"], "a comparison needs at least two variants"),
        (["-w", "purple", "-w", "violet"], "there is no workflow 'violet'"),
        (["-w", "solo", "--with", "command:true", "--with", "nobody"], "nobody"),
        (["-w", "solo", "-w", "purple", "--accept", "any"], "--accept"),
    ):
        done = world.trued("compare", *world.work, *words)
        assert done.returncode == 2, done.stderr
        assert says in done.stderr
    assert world.data("ls", "--all") == []
    assert not (world.home / "comparisons").exists()


@pytest.mark.spec("USE-8", "DAY-11")
def test_building_without_cases_is_said_for_all_runs_at_once() -> None:
    assert ComparedOptions(without_cases=True).settings()["without_cases"] is True
    assert ComparedOptions().settings()["without_cases"] is None  # then the user's own settings decide


@pytest.mark.spec("USE-6")
def test_no_agent_starts_a_comparison(world: World) -> None:
    done = world.trued("compare", *world.work, "-w", "solo", "-w", "purple", TRUED_CALL="chunk 1A/purple-team-a#1")
    assert done.returncode == 2
    assert "refused inside an agent" in done.stderr


# -- whole comparisons ------------------------------------------------------------------------------------------------


@pytest.mark.spec("USE-8", "PUR-12", "USE-3", "USE-4")
@pytest.mark.slow
def test_a_whole_comparison_tells_its_way_and_ends_with_one_table(world: World) -> None:
    done = world.trued("compare", *world.work, "--yes")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    name = lines[0].split()[0]
    assert lines[1].split() == ["purple", "solo"]
    assert lines[4].split() == ["grade", "proven", "refuted"]
    told = done.stderr.splitlines()
    assert told[0].startswith(f"{name}: purple (r-")
    assert [line for line in told if line.startswith("purple  ") and " answered " in line]
    assert [line for line in told if line.startswith("solo  ") and " answered " in line]
    assert {one["workflow"] for one in world.data("ls")} == {"purple", "solo"}
    assert world.trued("compare").stdout == done.stdout
    assert world.data("compare", name)["same_contract"]


@pytest.mark.spec("USE-8", "RUN-2")
@pytest.mark.slow
def test_a_killed_comparison_goes_on_and_pays_for_no_finished_call_twice(world: World) -> None:
    command = [sys.executable, "-m", "trued", "compare", *world.work, "-w", "purple", "-w", "solo", "--yes"]
    with (world.top / "said.txt").open("wb") as said:
        process = subprocess.Popen(command, cwd=world.repository, env=world.variables, stdout=said, stderr=said)
    end = time.monotonic() + 600
    while b"answered chunk 1A/purple-team-b#1" not in (world.top / "said.txt").read_bytes():
        assert time.monotonic() < end
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = world.data("compare")
    assert [one["state"] for one in before["runs"]] == ["interrupted", "interrupted"]
    done = world.trued("compare", before["id"], "--resume", "--yes")
    assert done.returncode == 1, done.stderr
    after = world.data("compare")
    assert [one["state"] for one in after["runs"]] == ["done", "not proven"]
    assert (after["runs"][0]["calls"], after["runs"][1]["calls"]) == (6, 2)
    assert not after["side_by_side"]
    asked = [line for line in done.stderr.splitlines() if " asked chunk 1A/purple-team-a#1" in line]
    assert asked == []


@pytest.mark.spec("USE-8", "LAW-11")
@pytest.mark.slow
def test_two_agents_in_one_workflow_without_requirements_rest_on_contracts_of_their_own(world: World) -> None:
    program = world.top / "agent.py"
    program.write_text(
        "import json, pathlib, sys\norder = json.load(sys.stdin)\n"
        "pathlib.Path('tiny.py').write_text('def double(x):\\n    return 2 * x\\n')\n"
        "print(json.dumps({'implemented': ['it'], 'files': []}) if order['role'] == 'solo' else 'nothing')\n"
    )
    agent = f"command:{sys.executable} {program}"
    cast = ["--with", agent, "--as", "plain", "--with", f"{agent} --again", "--as", "other"]
    done = world.trued("compare", "PLAN.md", "-w", "solo", *cast, "--yes", "--together", "--json")
    data = json.loads(done.stdout)
    assert [one["name"] for one in data["runs"]] == ["solo plain", "solo other"]
    assert done.returncode == max(one["code"] for one in data["runs"]) != 0
    assert not any("one contract" in one for one in data["notes"]) or data["same_contract"]
    assert git(world.repository, "status", "--porcelain") == ""
