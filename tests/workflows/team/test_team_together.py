"""A team that works concurrently: conflicts, questions to each other, a person who edits the backlog, and a kill."""

from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import events
from tests.workflows.team.team_agents import TIMES, Act, Members, Teams, planned, task_of, told, wrote
from trued.engine.engine import Engine
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest
from trued.model import RunRecord
from trued.reporting.html import write
from trued.wire import Order

ONE = "double(x) returns twice its argument."
BACKLOG = ".trued/team/backlog.md"


def two_tasks(**more: Any) -> dict[str, Any]:
    tasks = [{"title": "write double", "name": "a"}, {"title": "write triple", "name": "b", **more}]
    return {**planned("double"), "stories": [{"name": "numbers", "tasks": tasks}]}


# -- side by side ------------------------------------------------------------------------------------------------------


def both(order: Order) -> dict[str, Any]:
    """A developer that appends to the same place as others; given both sides of a conflict, it combines them."""
    name, code = task_of(order), Path(order.folder) / "tiny.py"
    if "# Conflict" in order.brief:
        assert "return 2 * x" in order.brief
        assert "return 3 * x" in order.brief
        code.write_text("def double(x):\n    return 2 * x\n\n\ndef triple(x):\n    return 3 * x\n")
    else:
        wrote(order.folder, name)
    return {"implemented": [name]}


@pytest.mark.spec("TEAM-14", "RUN-9")
@pytest.mark.slow
async def test_independent_tasks_run_side_by_side_and_a_conflict_goes_back_to_the_later_with_both_sides(
    one: Teams,
) -> None:
    members = Members(two_tasks()).play("dev", both)
    engine = one.played(members)
    record = await one.teamed(engine, ONE, parallel=2)
    assert (record.state, record.code) == ("done", 0)
    assert one.states(record) == {"F1-T1": "done 1/10", "F1-T2": "done 2/10"}
    code = one.git("show", f"{record.branch}:tiny.py")
    assert "def double" in code
    assert "def triple" in code
    assert len(events(engine, record, "conflict")) == 1
    devs = sorted(key for key in members.asked if key.endswith(("dev#1", "dev#2")))
    assert devs == ["feature F1/task F1-T1/dev#1", "feature F1/task F1-T2/dev#1", "feature F1/task F1-T2/dev#2"]
    assert members.asked.index(devs[1]) < members.asked.index("feature F1/task F1-T1/qa#1")


@pytest.mark.slow
@pytest.mark.spec("TEAM-14")
async def test_two_that_work_alone_and_break_together_are_found_on_the_merge(one: Teams) -> None:
    """One developer renames a function that the other begins to use: git sees no conflict."""
    one.write("base.py", "def times(n, x):\n    return n * x\n")
    one.commit()

    def act(order: Order) -> dict[str, Any]:
        folder, gaps = Path(order.folder), "Gaps that are left" in order.brief
        if task_of(order) == "triple":
            (folder / "base.py").write_text("def multiply(n, x):\n    return n * x\n")
            if gaps:
                (folder / "tiny.py").write_text(
                    "from base import multiply\n\n\ndef double(x):\n    return multiply(2, x)\n"
                )
        elif not gaps:
            (folder / "tiny.py").write_text("from base import times\n\n\ndef double(x):\n    return times(2, x)\n")
        return {"implemented": [task_of(order)]}

    engine = one.played(Members(two_tasks()).play("dev", act))
    record = await one.teamed(engine, ONE, parallel=2)
    assert (record.state, record.code) == ("done", 0)
    assert one.states(record) == {"F1-T1": "done 1/10", "F1-T2": "done 2/10"}


@pytest.mark.slow
@pytest.mark.spec("TEAM-14")
async def test_what_depends_on_another_task_waits_for_it_however_many_may_run(one: Teams) -> None:
    members = Members(two_tasks(depends_on=["a"]))
    engine = one.played(members)
    record = await one.teamed(engine, ONE, parallel=4)
    assert record.code == 0
    assert members.asked.index("feature F1/task F1-T1/qa#1") < members.asked.index("feature F1/task F1-T2/dev#1")


# -- questions ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("TEAM-6")
async def test_a_question_is_answered_at_once_by_the_role_that_it_goes_to(one: Teams) -> None:
    members = Members(planned("double"))

    def asks(to: str, text: str) -> Act:
        return lambda _: {"asks": {"to": to, "text": text, "priority": "high"}}

    members.play("dev", asks("techlead", "which module?"), asks("pm", "also for floats?"), members.dev)
    wondering: dict[str, Any] = {"result": "PASS", "tried": ["thought"], "asks": {"text": "is zero a number?"}}
    members.play("qa", lambda _: wondering, members.qa)
    engine = one.played(members)
    record = await one.teamed(engine, ONE)
    assert (record.state, record.code) == ("done", 0), record.why
    assert one.states(record) == {"F1-T1": "done 1/10"}  # a question is no attempt
    task = "feature F1/task F1-T1/"
    roles = [key.removeprefix(task).partition("#")[0] for key in members.asked if key.startswith(task)]
    assert roles == ["dev", "techlead", "dev", "pm", "dev", "qa", "pm", "qa"]
    briefs = [order.brief for order in members.orders if order.role == "dev"]
    assert "in tiny.py" in briefs[1]
    assert "as the goal says" in briefs[2]
    asked = [order.brief for order in members.orders if order.key == f"{task}techlead#1"]
    assert "which module?" in asked[0]
    commits = one.git("log", "--reverse", "--format=%H", record.branch, "--", ".trued/team/techlead/inbox.md").split()
    first, last = (one.page(at, "techlead/inbox.md") for at in commits[1:3])
    assert "**Status**: pending" in first
    assert "**From**: dev, F1-T1" in first
    assert "**Type**: question\n- **Priority**: high" in first
    assert "**Status**: addressed" in last
    assert "in tiny.py" in last
    assert "is zero a number?" in one.page(record, "pm/inbox.md")


# -- a person, and a restart -------------------------------------------------------------------------------------------


def edited(engine: Engine, home: Path, old: str, new: str) -> None:
    (run,) = (home / "runs").iterdir()
    file = run / "files" / "backlog.md"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.slow
@pytest.mark.spec("TEAM-3")
async def test_what_a_person_changes_in_the_backlog_is_honoured_at_the_next_task_and_on_record(one: Teams) -> None:
    members = Members(two_tasks())
    engine = one.played(members)

    def dev(order: Order) -> dict[str, Any]:
        if "F1-T1/" in order.key:
            edited(engine, one.home, "- [ ] **F1-T2**: write triple", "- [x] **F1-T2**: write triple")
        return members.dev(order)

    members.play("dev", dev)
    record = await one.teamed(engine, ONE)
    assert (record.state, record.code) == ("done", 0)
    assert not [key for key in members.asked if "F1-T2/" in key]
    (honoured,) = events(engine, record, "edit honoured")
    assert "F1-T2" in " ".join(honoured.data["said"])
    assert "def triple" not in one.git("show", f"{record.branch}:tiny.py")


@pytest.mark.slow
@pytest.mark.spec("TEAM-3", "USE-7")
async def test_an_edit_that_cannot_be_read_stays_where_it_was_written_and_is_heard_once_it_is_mended(
    one: Teams,
) -> None:
    tasks = [{"title": "write double"}, {"title": "write triple"}, {"title": "write fourfold"}]
    members = Members({**planned("double"), "stories": [{"name": "numbers", "tasks": tasks}]})
    engine = one.played(members)
    said, words = "- [ ] **F1-T2**: write triple", "- [?] **F1-T2**: write triple, and well"

    def dev(order: Order) -> dict[str, Any]:
        if "F1-T1/" in order.key:
            edited(engine, one.home, said, words)
        if "F1-T3/" in order.key:  # the engine has written the backlog again since
            edited(engine, one.home, words, words.replace("[?]", "[ ]"))
        return members.dev(order)

    members.play("dev", dev)
    record = await one.teamed(engine, ONE)
    assert (record.state, record.code) == ("done", 0)
    (told_so,) = events(engine, record, "edit not understood")
    assert ".trued/team/backlog.md:" in told_so.data["why"]
    assert "A person's edit could not be read" in write(engine.store, record.id).read_text().replace("&#39;", "'")
    assert len(events(engine, record, "edit honoured")) == 1
    assert "- [x] **F1-T2**: write triple, and well" in one.page(record, "backlog.md")


class Killed(RuntimeError):
    """The machine is gone: nothing handles this error."""


@pytest.mark.slow
@pytest.mark.spec("TEAM-3", "TEAM-5", "RUN-2")
async def test_attempts_and_edits_survive_a_kill(one: Teams) -> None:
    """Attempts keep their count, answered agents are not asked again, and an edit made meanwhile is applied."""
    members = Members(two_tasks(depends_on=["a"]))

    def dies(order: Order) -> dict[str, Any]:
        if order.key.endswith("dev#4"):
            raise Killed
        (Path(order.folder) / "tried.txt").write_text(order.key)
        return {"implemented": [task_of(order)]}

    ugly = {"result": "FAIL", "tried": ["it"], "failures": [{"what": "not yet"}]}
    members.play("dev", dies).play("qa", lambda _: ugly)
    with pytest.raises(Killed):
        await one.teamed(one.played(members), ONE)
    before = list(members.asked)
    engine = one.played(members)
    (record,) = engine.store.journal.runs()
    assert one.states(record) == {"F1-T1": "open 3/10", "F1-T2": "open 0/10"}
    edited(engine, one.home, "write triple (", "write fourfold (")
    members.play("dev", members.dev).play("qa", members.qa)
    done: RunRecord = await engine.resume(record.id)
    assert (done.state, done.code) == ("done", 0), (done.why, one.page(done, "backlog.md"), members.asked)
    assert one.states(done) == {"F1-T1": "done 4/10", "F1-T2": "done 1/10"}
    assert members.asked[len(before)] == "feature F1/task F1-T1/dev#4"
    assert "def fourfold" in one.git("show", f"{done.branch}:tiny.py")
    assert told(engine, done, "finished")[0]["recoveries"] == 1


@pytest.mark.slow
@pytest.mark.spec("USE-11", "TEAM-2")
async def test_two_teams_that_began_at_the_same_commit_land_one_after_the_other(one: Teams) -> None:
    def builds(name: str) -> Act:
        def act(order: Order) -> dict[str, Any]:
            (Path(order.folder) / f"{name}s.py").write_text(f"def {name}(x):\n    return {TIMES[name][0]} * x\n")
            return {"implemented": [name]}

        return act

    ended = []
    for name in ("double", "triple"):
        cases = [{"call": f"{name}s:{name}", "args": [each], "returns": TIMES[name][0] * each} for each in (7, 5)]
        checks = [{"kind": "examples", "cases": cases}]
        one.require([{"id": name, "text": name, "covers": ["goal"], "checks": checks}])
        feature = {**planned(name), "criteria": [f"{name}(x) multiplies"]}  # the user's words
        engine = one.played(Members(feature).play("dev", builds(name)))
        ended.append(await one.teamed(engine, f"{name}(x) multiplies."))
    assert [record.code for record in ended] == [0, 0]
    landings = [await land(engine.store, record.id, LandingRequest(who="ann"), engine.person) for record in ended]
    assert [(each.landed, each.how) for each in landings] == [(True, "fast-forward"), (True, "rebase")], landings[1].why
    assert {"doubles.py", "triples.py"} <= {*one.git("ls-tree", "--name-only", "main").split()}
    assert "triple(x) multiplies." in one.page("main", "goal.md")
    assert "double(x) multiplies." in one.page(landings[0].commit, "goal.md")
