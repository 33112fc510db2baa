"""`kill -9` of a pipeline and of a team: clusters, merges, attempts, people's edits; all writes with `--all-kills`."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.crash.chain import KINDS, run_through, writes_of
from tests.crash.crews import LATER, Crewed, Healing, Teamed
from tests.crash.dying import death
from tests.crash.sweep import Kill, drive, forked, ledger, problems, waited
from trued.engine.engine import Engine
from trued.engine.run_store import RunStore
from trued.model import Event

ROOT = Path(__file__).resolve().parents[2]
DEAD = -9
BACKLOG = ".trued/team/backlog.md"


def events(world: Crewed, *kinds: str) -> list[Event]:
    engine = Engine(RunStore(world.home, {}))
    try:
        (record,) = engine.store.journal.runs()
        return [one for one in engine.store.journal.events(record.id) if one.kind in kinds]
    finally:
        engine.close()


@pytest.mark.slow
@pytest.mark.timeout(14_400)
@pytest.mark.spec("RUN-2", "RUN-3", "RUN-4", "RUN-9")
@pytest.mark.parametrize("workflow", ["pipeline", "team"])
def test_killed_at_thirty_writes_one_after_another_it_ends_as_if_nobody_had_killed_it(
    workflow: str, all_kills: bool
) -> None:
    wanted = ("--every", "45") if all_kills else ("--kills", "30", "--supervisors", "3")
    command = [sys.executable, "-m", "tests.crash.chain", "--workflow", workflow, *wanted]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found: list[dict[str, Any]] = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    assert run.returncode == 0, f"{[one['problems'] for one in found]}\n{run.stderr[-3000:]}"
    print(run.stdout.splitlines()[-1])
    names = [name for one in found for name, _ in one["killed"]]
    assert len(names) >= 30
    assert not [kind for kind, words in KINDS[workflow].items() if not any(words in name for name in names)]
    if not all_kills:
        assert found[0]["supervisors"] == 3


# -- two at work -------------------------------------------------------------------------------------------------------


def when_both(world: Crewed, calls: list[str]) -> Callable[[], None]:
    """Dies after the second of two writes, when both agents have begun."""

    def begun() -> None:
        while not all(world.bill().get(call) for call in calls):
            time.sleep(0.02)
        death()

    def then() -> None:
        if len((world.folder / "spent.jsonl").read_text().splitlines()) == 2:
            threading.Thread(target=begun).start()

    return then


@pytest.mark.timeout(1200)
@pytest.mark.spec("RUN-3", "RUN-9", "TEAM-14")
@pytest.mark.slow
def test_two_developers_at_work_are_both_adopted_paid_once_and_merged_in_the_order_of_their_tasks(
    tmp_path: Path,
) -> None:
    world = Teamed(tmp_path / "w").make(slow_s=-1)
    world.flags |= {"team": {"off": ["techlead", "qa", "uat"]}}
    before, calls = world.untouched(), [f"feature F1/task F1-T{number}/dev#1" for number in (1, 2)]
    began = {f"journal event | {call} | 2": "after" for call in calls}
    assert run_through(world, began, then=when_both(world, calls)) == DEAD
    pid = forked(lambda: drive(world))
    until = time.monotonic() + 600
    while len(events(world, "adopted")) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert sorted(one.key for one in events(world, "adopted")) == calls
    world.go_on("*dev*")
    code = waited(pid)
    assert not problems(world, before, ledger(world)[0], Kill("flight"), code)
    assert [one.data["part"].rpartition("/")[2] for one in events(world, "merged", "conflict")][:2] == [
        "task F1-T1",
        "task F1-T2",
    ]
    assert {"double", "triple"} <= {word.split("(")[0] for word in world.files()["tiny.py"].split()}


# -- attempts, and what a person writes --------------------------------------------------------------------------------


def honoured(world: Crewed) -> list[list[str]]:
    return [list(one.data["said"]) for one in events(world, "edit honoured")]


@pytest.mark.timeout(1200)
@pytest.mark.spec("TEAM-3", "TEAM-5", "RUN-2")
@pytest.mark.slow
def test_killed_after_seven_of_ten_attempts_it_makes_the_eighth_and_hears_what_was_edited_meanwhile(
    tmp_path: Path,
) -> None:
    eighth = {"journal event | feature F1/task F1-T1/dev#8 | 1": "after"}
    unkilled = Healing(tmp_path / "unkilled").make()
    assert run_through(unkilled, eighth, then=unkilled.adds) == 0  # a person writes, and nobody dies
    world = Healing(tmp_path / "killed").make()
    before = world.untouched()
    assert run_through(world, eighth) == DEAD
    assert "write double (attempts: 7/10)" in world.live("backlog.md").read_text()
    world.adds()
    writes = writes_of(unkilled)
    heard = next(number for number, name in enumerate(writes) if f"edited {BACKLOG}#2" in name)
    upto = next(number for number, name in enumerate(writes) if "F1-T2/dev" in name)
    around = {name: ("before", "after")[number % 2] for number, name in enumerate(writes[heard:upto]) if number % 3 < 2}
    while (code := run_through(world, around)) == DEAD:
        continue
    assert not problems(world, before, ledger(unkilled)[0], Kill("both"), code)
    assert len((world.folder / "spent.jsonl").read_text().splitlines()) > 10
    assert world.tasks() == {"F1-T1": "write double: done 8/10", "F1-T2": "write notes: done 1/10"}
    assert world.live("backlog.md").read_text() == world.files()[BACKLOG] + "\n"
    assert honoured(world)[-1] == ['F1-T2 is new: "write notes"']


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.spec("TEAM-3")
def test_an_edit_of_a_copy_that_was_about_to_be_renewed_and_one_on_top_of_it_are_each_heard_for_what_they_are(
    tmp_path: Path,
) -> None:
    world = Healing(tmp_path / "w").make(attempts=2)
    assert run_through(world, {"file backlog.md | after feature F1/note#1 | 1": "before"}) == DEAD
    assert "(attempts: 0/10)" in world.live("backlog.md").read_text()  # one was made; the copy does not yet say so
    world.adds()
    assert run_through(world, {f"journal | feature F1/edited {BACKLOG}#2 | 1": "after"}) == DEAD
    world.adds(LATER)
    assert run_through(world, {}) == 0
    assert world.tasks() == {
        "F1-T1": "write double: done 2/10",
        "F1-T2": "write notes: done 1/10",
        "F1-T3": "write more notes: done 1/10",
    }
    assert honoured(world) == [['F1-T2 is new: "write notes"'], ['F1-T3 is new: "write more notes"']]


@pytest.mark.timeout(7200)
@pytest.mark.spec("TEAM-3")
@pytest.mark.slow
def test_an_edit_after_a_kill_at_any_write_is_heard_once(tmp_path: Path, all_kills: bool) -> None:
    world = Healing(tmp_path / "unkilled").make(attempts=2)
    assert run_through(world, {}) == 0
    writes = writes_of(world)
    first = writes.index(f"journal | feature F1/edited {BACKLOG}#1 | 1") + 1  # an edit before is heard before the task
    last = writes.index(f"journal | feature F1/edited {BACKLOG}#2 | 1")
    points = list(enumerate(writes[first : last + 1]))
    for number, name in points if all_kills else points[1::12]:
        when = "after" if number % 2 and name != writes[last] else "before"
        world = Healing(tmp_path / f"killed{number}").make(attempts=2)
        assert run_through(world, {name: when}) == DEAD, name
        world.adds()
        assert run_through(world, {}) == 0, name
        assert world.tasks() == {"F1-T1": "write double: done 2/10", "F1-T2": "write notes: done 1/10"}, (name, when)
        assert honoured(world) == [['F1-T2 is new: "write notes"']], (name, when)
