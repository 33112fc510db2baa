"""A handoff from a specification to proven work: what it writes, asks, repairs and gives up."""

import json
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import events, example, saying
from tests.workflows.hands import Coders, Hands, feature, named, required, shown_by_tests
from trued.engine.amendments import ContractChange, amend
from trued.engine.approvals import Decision, decide
from trued.engine.continuations import continuations
from trued.errors import BadInput
from trued.wire import Order

SPEC = """# Numbers

- double(x) returns twice its argument
- triple(x) returns three times its argument
"""
WORDS = {"double": "returns twice its argument", "triple": "returns three times its argument"}


def initializer(_: Order) -> dict[str, Any]:
    return {"features": [shown_by_tests("double"), feature("triple", depends_on=["double"])], "test": "pytest -q"}


def examiner(_: Order) -> dict[str, Any]:
    """An examiner with cases for every feature and every sentence."""
    cases = []
    for number, (name, factor) in enumerate((("double", 2), ("triple", 3)), 1):
        for one, quotes in ((7, WORDS[name]), (2, f"{name}(2) is {2 * factor}")):
            case = {"call": f"tiny:{name}", "args": [one], "returns": factor * one, "quotes": quotes}
            cases.append({"requirement": name, "cases": [case]})
        for one in (9, 11):
            case = {"call": f"tiny:{name}", "args": [one], "returns": factor * one, "quotes": WORDS[name]}
            cases.append({"requirement": f"text-{number}", "cases": [case]})
    return {"cases": cases, "interface": ["tiny:double(x)", "tiny:triple(x)"]}


@pytest.mark.slow
@pytest.mark.spec("HAND-1", "HAND-2", "HAND-4", "HAND-5", "HAND-6", "HAND-8", "HAND-10")
async def test_words_in_an_empty_repository_become_features_that_hold_and_pass_with_a_persons_word(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [])
    shutil.rmtree(ground.repository)
    ground.repository.mkdir()
    ground.git("init", "-q", "-b", "main")
    (tmp_path / "spec.md").write_text(SPEC)
    coders = Coders()
    coders.roles = {"initializer": initializer, "examiner": examiner}
    engine = ground.played(coders)
    record = await ground.handed(engine, "../spec.md", required=False)
    assert (record.state, record.code) == ("waiting", 3)
    builders = [key for key in coders.asked if "examiner" not in key]
    assert builders == ["initializer#1", "feature double/coder#1", "feature triple/coder#1"]
    assert set(ground.git("ls-tree", "--name-only", record.branch).split()) == {
        "agent_state.json",
        "feature_list.json",
        "init.sh",
        "progress.txt",
        "tests",
        "tiny.py",
    }
    first = ground.git("rev-list", "--reverse", record.branch).split()[1]
    assert ground.git("show", "--format=%an: %s", "--name-only", first).splitlines() == [
        "trued: docs: the features to build, and how to set up the project",
        "",
        "agent_state.json",
        "feature_list.json",
        "init.sh",
        "progress.txt",
    ]
    assert ground.passing(record.branch) == []  # the cases pass, but nobody has approved them yet
    listed = ground.features(record.branch)
    assert listed.totals["in_progress"] == 2
    assert "a person's approval is missing" in listed["double"].agent_notes
    assert (listed["double"].tests_passing, listed["double"].tests_total) == (1, 1)
    brief = coders.orders[-1].brief
    assert "what makes double pass" in brief
    assert "100.0" in brief
    assert "80.0" in brief
    assert "coverage now: 100 %, target: 80 %" in ground.file(record, "progress.txt")
    decide(engine.store, record.id, [None], Decision(who="ann", why="I read it"))
    done = await engine.resume(record.id)
    assert (done.state, done.code, str(done.grade)) == ("done", 0, "proven")
    assert ground.passing(record.branch) == ["double", "triple"]
    assert ground.git("rev-parse", record.branch) == done.head
    assert [key for key in coders.asked if "examiner" not in key] == builders
    assert (await engine.resume(record.id)).head == done.head


@pytest.mark.slow
@pytest.mark.spec("HAND-9")
async def test_a_feature_whose_attempts_are_used_up_is_failed_and_says_why(tmp_path: Path, stack: ExitStack) -> None:
    ground = Hands(tmp_path, stack, [feature("double")])

    def wrong(folder: Path) -> dict[str, Any]:
        (folder / "tiny.py").write_text("def double(x):\n    return x\n")
        return {}

    coders = Coders(double=[wrong])  # a second coder would build it
    engine = ground.played(coders)
    record = await ground.handed(engine, rounds=1)
    assert (record.state, record.code) == ("not proven", 1)
    assert coders.asked == ["feature double/coder#1"]
    (failed,) = ground.features(record.branch).features
    assert (failed.state, failed.passes) == ("failed", False)
    assert "a held-out example fails" in failed.agent_notes


@pytest.mark.slow
@pytest.mark.spec("HAND-9", "HAND-10")
async def test_a_feature_that_fails_leaves_its_work_aside_and_only_what_needs_it_is_not_begun(
    tmp_path: Path, stack: ExitStack
) -> None:
    first = feature("double", priority="critical")
    ground = Hands(tmp_path, stack, [feature("fourfold", depends_on=["double"]), first, feature("triple")])

    def wrong(folder: Path) -> dict[str, Any]:
        text = (folder / "tiny.py").read_text() + "# again\n"
        (folder / "tiny.py").write_text(text if "def double" in text else f"def double(x):\n    return x\n{text}")
        return {"passes": False, "notes": ["twice is hard"], "tests": [], "tests_passing": 0, "tests_total": 0}

    coders = Coders(double=[wrong, wrong])
    engine = ground.played(coders)
    record = await ground.handed(engine, rounds=2)
    assert (record.state, record.code) == ("not proven", 1)
    assert coders.asked == ["feature double/coder#1", "feature double/coder#2", "feature triple/coder#1"]
    listed = ground.features(record.branch)
    assert [one.state for one in listed.features] == ["not_started", "failed", "completed"]
    assert listed.totals == {"total_features": 3, "completed": 1, "in_progress": 0, "failed": 1, "not_started": 1}
    assert "is-double: a held-out example fails: it does not return the expected value (double multiplies)" in (
        listed["double"].agent_notes
    )
    assert "14" not in listed["double"].agent_notes
    assert listed["fourfold"].agent_notes == "blocked: it needs double, which failed"
    (aside,) = events(engine, record, "set aside")
    assert aside.data["branch"] == f"trued/{record.id}-failed-double"
    assert "return x" in ground.git("show", f"trued/{record.id}-failed-double:tiny.py")
    assert "double" not in ground.file(record, "tiny.py")
    assert ground.untrue(engine, record) == []
    assert named(engine, record, "premature victory") == []  # it did not claim to be done


@pytest.mark.spec("HAND-2")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"features": [\n {"description": "a", "steps": 7}]}', "features.json:2: the feature, steps"),
        (
            '[\n{"description": "a", "id": "x"},\n{"description": "b", "id": "x"}]',
            "features.json:3: feature x appears",
        ),
    ],
)
async def test_an_invalid_list_is_refused_with_its_line_and_nothing_is_changed(
    tmp_path: Path, stack: ExitStack, text: str, words: str
) -> None:
    ground = Hands(tmp_path, stack, [])
    (tmp_path / "features.json").write_text(text)
    before = ground.git("for-each-ref")
    with pytest.raises(BadInput, match=words.replace(".", r"\.")):
        await ground.handed(ground.played(Coders()), required=False)
    assert ground.git("for-each-ref") == before
    assert not (ground.home / "runs").exists()


# -- init.sh -----------------------------------------------------------------------------------------------------------

BROKEN = "#!/usr/bin/env bash\nset -euo pipefail\necho 'the tools are missing' >&2\nexit 7\n"


def mends(folder: Path) -> dict[str, Any]:
    lines = ("#!/usr/bin/env bash", "set -euo pipefail", "mkdir -p .venv", "touch .venv/here", "echo ready", "")
    (folder / "init.sh").write_text("\n".join(lines))
    return {"implemented": ["init.sh works"], "files": ["init.sh"], "tests": []}


def finds_it_set_up(folder: Path) -> None:
    assert (folder / ".venv" / "here").exists()


def breaks_double(folder: Path) -> dict[str, Any]:
    (folder / "tiny.py").write_text("")
    return mends(folder)


class Menders(Coders):
    """Coders that, asked to fix init.sh, do what `ways` say, one after the other; after that, nothing."""

    def __init__(self, *ways: Any, **acts: Any) -> None:
        super().__init__(**acts)
        self.ways = list(ways)

    def _played(self, order: Order) -> dict[str, Any]:
        if "init.sh must set up" not in order.brief:
            return super()._played(order)
        said: dict[str, Any] = self.ways.pop(0)(Path(order.folder)) if self.ways else {}
        return {"passes": True, "implemented": [], **said}


@pytest.mark.spec("HAND-4")
async def test_a_broken_set_up_is_mended_before_any_feature_and_one_that_stays_broken_stops_the_run(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [feature("double")])
    ground.write("init.sh", BROKEN)
    ground.commit()
    engine = ground.played(Menders())
    record = await ground.handed(engine, rounds=2)
    assert (record.state, record.code) == ("stopped", 1)
    assert record.why == "init.sh still fails after 2 attempts to fix it: the tools are missing"
    coders = Menders(mends, double=[finds_it_set_up])
    engine = ground.played(coders)
    record = await ground.handed(engine, branch="HEAD")
    assert (record.state, record.code) == ("done", 0)
    assert coders.asked == ["feature double/coder#1", "feature double/coder#2"]
    assert "the tools are missing" in coders.orders[0].brief
    assert "Build no feature" in coders.orders[0].brief
    subjects = ground.git("log", "--format=%an: %s", f"main..{record.branch}").splitlines()
    assert [one for one in subjects if one.startswith("coder")] == [
        "coder: feat: double(x) returns twice its argument",
        "coder: fix: repair init.sh",
    ]
    assert ground.file(record, "init.sh").endswith("echo ready")
    verdict = engine.store.final_verdict(record.id)
    assert verdict is not None
    assert "init.sh" not in verdict.owned  # the script is the user's own, so the repair counts as work
    assert "agent_state.json" in verdict.owned
    assert ".venv" not in ground.git("ls-tree", "-r", "--name-only", record.branch)


@pytest.mark.slow
@pytest.mark.spec("HAND-4", "HAND-7")
async def test_who_mends_the_set_up_and_breaks_a_finished_feature_begins_again_from_before(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [feature("double"), feature("triple")])
    ground.write("init.sh", f"if ! grep -q double tiny.py; then exit 0; fi\n{BROKEN}")  # it fails with `double`
    ground.commit()
    coders = Menders(breaks_double, mends)
    engine = ground.played(coders)
    record = await ground.handed(engine)
    assert (record.state, record.code) == ("done", 0)
    assert "double was finished, and this work breaks it" in coders.orders[2].brief
    assert "def double" in ground.file(record, "tiny.py")
    assert ground.untrue(engine, record) == []


# -- people ------------------------------------------------------------------------------------------------------------

LOOKS = {"id": "looks", "description": "It looks good", "steps": ["Open it", "It is blue"]}
BY_HAND = {**LOOKS, "verification_method": "manual", "verification_tool": "human"}


class Painters(Coders):
    def _played(self, order: Order) -> dict[str, Any]:
        if "looks" not in order.key:
            return super()._played(order)
        paint = Path(order.folder) / "paint.txt"
        paint.write_text((paint.read_text() if paint.exists() else "") + "blue\n")
        return {"passes": True, "implemented": ["paint"], "files": ["paint.txt"]}


@pytest.mark.spec("HAND-8", "RUN-8")
async def test_what_a_person_judges_waits_across_restarts_and_passes_with_their_name(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [BY_HAND])
    coders = Painters()
    record = await ground.handed(ground.played(coders), required=False, accept=None)
    assert (record.state, record.code) == ("waiting", 3)
    assert ground.passing(record.branch) == []
    assert len([key for key in coders.asked if "coder" in key]) == 1
    engine = ground.played(Painters())
    decide(engine.store, record.id, ["looks"], Decision(who="ann", why="it is blue"))
    done = await engine.resume(record.id)
    assert ground.passing(record.branch) == ["looks"]
    assert (done.state, done.code) == ("done", 0)
    assert ground.git("rev-parse", record.branch) == done.head
    kept = ground.git("diff", "--name-only", record.head, done.head).split()
    assert set(kept) <= {"feature_list.json", "progress.txt", "agent_state.json"}


@pytest.mark.slow
@pytest.mark.spec("HAND-8", "RUN-8", "LAW-3")
async def test_an_amendment_leaves_it_to_the_run_to_record_what_a_person_approved(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [feature("double"), BY_HAND])
    record = await ground.handed(ground.played(Painters()))
    assert (record.state, record.code) == ("waiting", 3)
    engine = ground.played(coders := Painters())
    decide(engine.store, record.id, ["looks"], Decision(who="ann", why="it is blue"))
    (more := tmp_path / "more.json").write_text(
        json.dumps({"requirements": [{**required(["double"])[0], "id": "twice", "covers": []}]})
    )
    record = await amend(engine.store, record.id, ContractChange(add=more, who="ann", why="it matters"))
    assert (record.state, record.code) == ("waiting", 3)
    assert f"trued resume {record.id}" in record.why
    done = await engine.resume(record.id)
    assert (done.state, done.code, coders.asked) == ("done", 0, [])
    assert ground.passing(record.branch) == ["double", "looks"]


@pytest.mark.slow
@pytest.mark.spec("HAND-8", "LAW-3")
async def test_attempts_granted_after_an_amendment_go_to_the_feature_that_fails_by_it(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [feature("double"), feature("triple")])
    engine = ground.played(Coders())
    record = await ground.handed(engine)
    assert (record.state, record.code) == ("done", 0)
    words = {"kind": "examples", "cases": [example("double", None, 0)]}
    more = {"id": "nothing", "text": "twice nothing is 0", "covers": ["double"], "checks": [words]}
    (file := tmp_path / "more.json").write_text(json.dumps({"requirements": [more]}))
    record = await amend(engine.store, record.id, ContractChange(add=file, who="ann", why="it matters"))
    assert (record.state, record.code) == ("not proven", 1)
    assert f"trued resume {record.id} --rounds" in next(iter(continuations(engine.store, record)))[0]

    def mends(folder: Path) -> None:
        code = folder / "tiny.py"
        code.write_text(code.read_text().replace("return 2 * x", "return 2 * (x or 0)"))

    engine = ground.played(coders := Coders(double=[mends]))
    done = await engine.resume(record.id, rounds=1, who="ann")
    assert [one.key for one in coders.orders] == ["feature double/coder#2"]
    assert "nothing" in coders.orders[0].brief
    assert (done.state, done.code) == ("done", 0)
    assert ground.passing(record.branch) == ["double", "triple"]


@pytest.mark.slow
@pytest.mark.spec("HAND-8", "RUN-8")
async def test_what_a_person_rejects_is_worked_on_again_with_their_words(tmp_path: Path, stack: ExitStack) -> None:
    ground = Hands(tmp_path, stack, [BY_HAND])
    coders = Painters()
    person = saying(("reject", "it is grey"), ("accept", "now it is blue"))
    engine = ground.played(coders, person=person)
    record = await ground.handed(engine, required=False, yes=False)
    assert (record.state, record.code) == ("done", 0)
    asked = [one for one in coders.orders if one.role == "coder"]
    assert len(asked) == 2
    assert "it is grey" in asked[1].brief
    assert ground.file(record, "paint.txt") == "blue\nblue"
    assert ground.passing(record.branch) == ["looks"]


# -- files that are there already --------------------------------------------------------------------------------------

PAGE = {
    "id": "page",
    "description": "the page / shows all",
    "steps": ["Open /"],
    "test_command": "python -m pytest -q tests/e2e/test_page.py",
    "verification_method": "e2e",
}


@pytest.mark.spec("HAND-1", "HAND-2")
async def test_a_list_and_a_note_of_the_repositorys_own_are_taken_and_an_e2e_feature_gets_an_example(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [])
    ground.write("feature_list.json", json.dumps([PAGE]))
    ground.write("claude-progress.txt", "the door sticks\n")
    ground.write("init.sh", "#!/bin/sh\necho mine\n")
    ground.commit()
    (tmp_path / "spec.md").write_text("A page shows all.\n")
    coders = Coders()
    coders.roles = {"examiner": lambda _: {"cases": [], "interface": []}}
    record = await ground.handed(ground.played(coders), "../spec.md", required=False, plan_only=True)
    assert (record.state, record.code) == ("planned", 0)
    assert "initializer#1" not in coders.asked
    assert ground.features(record.branch)["page"].verification_method == "e2e"
    assert "the door sticks" in ground.file(record, "claude-progress.txt").partition("DO NOT EDIT")[2]
    assert ground.file(record, "init.sh") == "#!/bin/sh\necho mine"
    assert "page.goto" in ground.file(record, "tests/e2e/test_example.py")
    names = ground.git("diff", "--name-only", "main", record.branch).split()
    assert names == ["agent_state.json", "claude-progress.txt", "feature_list.json", "tests/e2e/test_example.py"]


@pytest.mark.spec("HAND-1")
async def test_the_note_has_the_name_that_the_settings_give_it(tmp_path: Path, stack: ExitStack) -> None:
    ground = Hands(tmp_path, stack, [feature("double")])
    engine = ground.played(Coders())
    record = await ground.handed(engine, plan_only=True, progress="notes.txt", coverage_target=95)
    assert "target: 95 %" in ground.file(record, "notes.txt")
    assert engine.store.inputs(record.id).settings.coverage_target == 95
