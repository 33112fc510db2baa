"""Ordinary projects with honest coders: their work is kept, and a person is asked one question at most."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import events
from tests.workflows.hands import Act, Coders, Hands, feature, named, required
from trued.cli.context import run_ledger
from trued.cli.summary import advise
from trued.engine.approvals import Decision, decide
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest
from trued.engine.pending import waits
from trued.errors import BadInput
from trued.wire import Order
from trued.workflows.handoff.view import continuations


def no_cases(_: Order) -> dict[str, Any]:
    return {"cases": [], "interface": []}


VALIDATOR = {
    "id": "validator",
    "description": "BaseValidator().check(text) tells whether the text has a letter",
    "steps": ["check('a') is True", "check('1') is False"],
    "test_command": "python -m pytest tests/test_validator.py",
}


def writes_a_module_and_its_tests(folder: Path) -> dict[str, Any]:
    (folder / "validator.py").write_text(
        "class BaseValidator:\n    def check(self, text):\n        return any(map(str.isalpha, text))\n"
    )
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / "test_validator.py").write_text(
        "from validator import BaseValidator\n\n\n"
        "def test_letters():\n    assert BaseValidator().check('a')\n\n\n"
        "def test_digits():\n    assert not BaseValidator().check('1')\n"
    )
    files = ["validator.py", "tests/test_validator.py"]
    return {"files": files, "tests": files[1:], "tests_passing": 2, "tests_total": 2}


@pytest.mark.slow
@pytest.mark.spec("DAY-1")
async def test_a_new_module_whose_tests_import_it_at_the_top_is_kept_and_waits_for_a_person(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [VALIDATOR])
    coders = Coders(validator=[writes_a_module_and_its_tests])
    coders.roles = {"examiner": no_cases}
    engine = ground.played(coders)
    record = await ground.handed(engine, required=False)
    assert (record.state, record.code, str(record.grade)) == ("waiting", 3, "self-tested"), record.why
    assert [one.kind for one in waits(engine.store, record)] == ["attest"]
    assert [key for key in coders.asked if "coder" in key] == ["feature validator/coder#1"]
    assert "class BaseValidator" in ground.file(record, "validator.py")
    assert ground.git("branch", "--list", "trued/*failed*") == ""
    one = ground.features(record.branch)["validator"]
    assert (one.state, one.passes, one.tests_passing, one.tests_total) == ("in_progress", False, 2, 2)
    assert one.agent_notes
    note = ground.file(record, "progress.txt")
    assert f"trued approve {record.id} validator --as NAME --reason TEXT" in note
    assert "nothing is left" not in note
    assert "Completed validator: WAITS for a person" in note


def only_says_so(folder: Path) -> dict[str, Any]:
    return {"files": ["validator.py"], "tests": ["tests/test_validator.py"], "tests_passing": 2, "tests_total": 2}


def marks_its_own_list(folder: Path) -> dict[str, Any]:
    """A coder that writes no module: it marks the feature as passed in the list, with `true` as its test command."""
    path = folder / "feature_list.json"
    text = path.read_text().replace('"passes": false', '"passes": true').replace('"pending"', '"completed"')
    path.write_text(text.replace("python -m pytest tests/test_validator.py", "true"))
    return only_says_so(folder)


@pytest.mark.slow
@pytest.mark.spec("DAY-4", "DAY-5")
@pytest.mark.parametrize("act", [only_says_so, marks_its_own_list])
async def test_a_new_module_of_a_list_that_nobody_wrote_is_not_completed_and_never_lands(
    tmp_path: Path, stack: ExitStack, act: Act
) -> None:
    ground = Hands(tmp_path, stack, [VALIDATOR])
    coders = Coders(validator=[act] * 2)
    coders.roles = {"examiner": no_cases}
    engine = ground.played(coders)
    record = await ground.handed(engine, required=False, rounds=2)
    assert record.state == "not proven", record.why
    one = ground.features(record.branch)["validator"]
    assert (one.passes, one.state, one.test_command) == (False, "failed", VALIDATOR["test_command"])
    if act is marks_its_own_list:
        touched = {path for one in events(engine, record, "sealed file edited") for path in one.data["files"]}
        assert "feature_list.json" in touched
    assert not (await land(engine.store, record.id, LandingRequest(way="ff", who="ann"), engine.person)).landed


SAME_COMMAND = "python -m pytest -q"


def does_nothing(folder: Path) -> dict[str, Any]:
    """A coder that reports success and changes nothing."""
    (folder / "tried.txt").unlink()
    return {"files": [], "tests": [], "tests_passing": 1, "tests_total": 1}


@pytest.mark.slow
@pytest.mark.spec("DAY-4", "DAY-1")
async def test_a_feature_for_which_nothing_was_changed_is_not_completed_whatever_was_changed_before_it(
    tmp_path: Path, stack: ExitStack
) -> None:
    """Both features have the same test command: tests for `double` pass while the coder of `triple` does nothing."""
    features = [feature(name, test_command=SAME_COMMAND) for name in ("double", "triple")]
    ground = Hands(tmp_path, stack, features)
    coders = Coders(triple=[does_nothing] * 2)
    coders.roles = {"examiner": no_cases}
    engine = ground.played(coders)
    record = await ground.handed(engine, required=False, rounds=2)
    asked = [key for key in coders.asked if "coder" in key]
    assert asked == ["feature double/coder#1", "feature triple/coder#1", "feature triple/coder#2"]
    assert "nothing was changed for this feature" in coders.orders[-1].brief
    assert named(engine, record, "one-shot attempt") == []
    assert (record.state == "done", ground.passing(record.branch)) == (False, [])
    one = ground.features(record.branch)["triple"]
    assert (one.state, one.agent_notes) == ("failed", "nothing was changed for this feature")
    note = ground.file(record, "progress.txt")
    assert "triple: nothing was changed for this feature; no work is left" in note
    assert f"trued reject {record.id} triple --as NAME" in note
    assert "NEXT AGENT: none; a person decides" in note


LINTED = {
    "id": "linted",
    "text": "double is linted",
    "covers": ["double"],
    "checks": [{"kind": "command", "command": "no-such-linter tiny.py"}],
}


@pytest.mark.spec("DAY-2", "DAY-6")
@pytest.mark.slow
async def test_what_only_the_environment_lacks_costs_no_attempt_and_is_named_where_people_look(
    tmp_path: Path, stack: ExitStack, capsys: pytest.CaptureFixture[str]
) -> None:
    ground = Hands(tmp_path, stack, [feature("double"), feature("triple", depends_on=["double"])])
    ground.require([*required(["double", "triple"]), LINTED])
    coders = Coders()
    engine = ground.played(coders)
    record = await ground.handed(engine)
    assert (record.state, record.code) == ("unjudged", 6), record.why
    assert [key for key in coders.asked if "coder" in key] == ["feature double/coder#1"]  # nothing is built on it
    assert "def double" in ground.file(record, "tiny.py")
    one = ground.features(record.branch)["double"]
    assert (one.state, one.passes) == ("in_progress", False)
    assert named(engine, record, "premature victory") == []
    handover = (engine.store.folder(record.id) / "files" / "HANDOVER.md").read_text()
    for text in (record.why, one.agent_notes, handover, ground.file(record, "progress.txt")):
        assert "no-such-linter is not installed" in text
    assert f"--from {record.branch}" in record.why
    advise(engine.store, record, run_ledger(engine.store, record))
    advised = capsys.readouterr().err
    assert "try again with: trued run " in advised
    assert "trued resume" not in advised  # one next step, not two
    again = await engine.resume(record.id)
    assert (again.state, again.code, len(coders.asked)) == ("unjudged", 6, 1)  # judged again, without an agent
    assert events(engine, record, "tried again")


@pytest.mark.spec("DAY-6", "DAY-7")
@pytest.mark.slow
async def test_a_failed_feature_names_its_branch_and_its_error_and_is_opened_again_by_its_command(
    tmp_path: Path, stack: ExitStack
) -> None:
    def wrong(folder: Path) -> dict[str, Any]:
        (folder / "tiny.py").write_text("def double(x):\n    return x\n")
        return {}

    ground = Hands(tmp_path, stack, [feature("double")])
    engine = ground.played(Coders(double=[wrong]))
    record = await ground.handed(engine, rounds=1)
    assert (record.state, record.code) == ("not proven", 1)
    note, branch = ground.file(record, "progress.txt"), f"trued/{record.id}-failed-double"
    (line,) = [line for line in note.splitlines() if line.startswith("- double: ") and branch in line]
    assert "a held-out example fails" in line
    assert "return x" in ground.git("show", f"{branch}:tiny.py")
    assert f"trued reject {record.id} is-double --as NAME" in note
    assert f"trued resume {record.id} --rounds 3" in note
    handover = (engine.store.folder(record.id) / "files" / "HANDOVER.md").read_text()
    assert branch in handover
    ways = dict(continuations(record.id, [*engine.store.journal.events(record.id)]))
    assert ways == {f"trued resume {record.id} --rounds 3": "gives 3 more attempts to double"}
    decide(engine.store, record.id, ["is-double"], Decision(who="ann", why="twice, not once", rejected=True))
    coders = Coders()
    again = await ground.played(coders).resume(record.id)
    assert (again.state, again.code, len(coders.asked)) == ("done", 0, 1)
    assert "twice, not once" in coders.orders[0].brief
    log = ground.file(again, "progress.txt").partition("RUNNING LOG:")[2]
    ends = [line.partition("] ")[2] for line in log.splitlines() if line.startswith("- [")]
    assert [one.partition(",")[0] for one in ends] == [
        "Attempt at double: FAIL",
        "Gave up double: FAILED",
        "Completed double: PASS",
    ]


@pytest.mark.slow
@pytest.mark.spec("DAY-6")
async def test_more_attempts_are_granted_after_the_end_and_what_was_given_up_keeps_its_branch(
    tmp_path: Path, stack: ExitStack
) -> None:
    def wrong(times: int) -> Act:
        def act(folder: Path) -> dict[str, Any]:
            (folder / "tiny.py").write_text(f"def double(x):\n    return {times} * x\n")
            return {}

        return act

    ground = Hands(tmp_path, stack, [feature("triple", depends_on=["double"]), feature("double")])
    record = await ground.handed(ground.played(Coders(double=[wrong(7)])), rounds=1)
    assert (record.state, ground.passing(record.branch)) == ("not proven", [])
    coders = Coders(double=[wrong(8), wrong(9)])
    again = await ground.played(coders).resume(record.id, rounds=2, who="ann")
    assert (again.state, len(coders.asked)) == ("not proven", 2)
    side = f"trued/{record.id}-failed-double"
    assert "7 * x" in ground.git("show", f"{side}:tiny.py")
    assert "9 * x" in ground.git("show", f"{side}-2:tiny.py")
    coders = Coders()
    done = await ground.played(coders).resume(record.id, rounds=1, who="ann")
    assert (done.state, done.code) == ("done", 0)
    assert ground.passing(done.branch) == ["triple", "double"]
    assert len(coders.asked) == 2


@pytest.mark.spec("DAY-6", "HAND-2")
async def test_whoever_hands_in_a_list_needs_no_agent_to_make_one(tmp_path: Path, stack: ExitStack) -> None:
    hands, coders = Hands(tmp_path, stack, [feature("double")]), Coders()
    record = await hands.handed(hands.played(coders), agents={"coder": "scripted:inside"})
    assert (record.code, [one.role for one in coders.orders]) == (0, ["coder"])
    (hands.folder / "spec.md").write_text("double(x) returns twice its argument.\n")
    with pytest.raises(BadInput, match="initializer"):
        await hands.handed(hands.played(Coders()), "../spec.md", agents={"coder": "scripted:inside"})
