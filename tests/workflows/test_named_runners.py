"""A sentence that names a test runner asks that the existing tests pass; they are counted, in every kind of input."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.engine.two_commits import DOUBLE, ONE, committed
from tests.workflows.conftest import Ground, Script
from tests.workflows.yes_agent import yes_reply
from trued.engine.verify import VerifyRequest, verify
from trued.inputs.requirements.coverage import with_named_commands
from trued.inputs.requirements.guard_phrases import named_command, quoted_command
from trued.model import CommandCheck, Grade, Requirement, Requirements, TestsCheck
from trued.run.examination.existing_tests import _with_named_runner
from trued.run.examination.suites import OwnTools
from trued.wire import Order

TESTS = "from tiny import one\n\n\ndef test_one():\n    assert one() == 1\n"
BROKEN = DOUBLE.replace("return 1", "return 0")


@pytest.mark.parametrize(
    ("sentence", "command"),
    [
        ("`pytest -q` passes", "pytest -q"),
        ("**`make lint` still passes.**", "make lint"),
        ("Running `npx vitest run` is green", "npx vitest run"),
        ("`go test ./...` exits with code 0.", "go test ./..."),
        ("The command `npm test` must succeed", "npm test"),
        ("`npm test` passes, and slugs are short", ""),
        ("see `make all`", ""),
    ],
)
def test_a_sentence_that_is_nothing_but_a_command_and_its_success_names_it(sentence: str, command: str) -> None:
    assert quoted_command(sentence) == command
    assert [one.checks for one in with_named_commands([Requirement(id="r", text=sentence)])] == (
        [(CommandCheck(command=command),)] if command else []
    )


def test_words_that_are_not_marked_as_code_are_no_command_of_their_own() -> None:
    assert named_command("pytest -q passes") == "pytest -q"
    assert quoted_command("pytest -q passes") == ""


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    ("sentence", "check"),
    [
        ("`pytest -q` passes", TestsCheck(command="python -m pytest -q")),  # the suite that runs anyway
        ("pytest passes", TestsCheck(command="python -m pytest -q")),
        ("`python -m unittest` passes", TestsCheck(command="python -m unittest")),
        ("`pytest tests/test_tiny.py` passes", TestsCheck(command="pytest tests/test_tiny.py")),
        ("`npm test` passes", TestsCheck(command="npm test")),
        ("`npx jest` passes", TestsCheck(command="npx jest")),
        ("`go test ./...` passes", TestsCheck(command="go test ./...")),
        ("`pytest tests/test_new.py` passes", TestsCheck(command="pytest tests/test_new.py")),  # the head adds it
        ("`npm run lint` passes", CommandCheck(command="npm run lint")),
        ("The weather passes", None),
    ],
)
def test_a_known_runner_is_a_tests_check_and_anything_else_stays_a_command(sentence: str, check: Any) -> None:
    given = next(iter(with_named_commands([Requirement(id="r", text=sentence)])), Requirement(id="r", text=sentence))
    suites = (TestsCheck(command="python -m pytest -q"),)
    tools = OwnTools({"tests": suites}, {"": {"test": "node --test", "lint": "eslint src"}})
    made = _with_named_runner(given, tools, {"tests/test_tiny.py": "0", "src/a.js": "0"})
    assert made.checks == ((check,) if check else ())
    assert made.keep is (check is not None and "test_new" not in sentence)


CHECKED = Requirement(id="r", text="`pytest -q` passes", checks=(TestsCheck(files=("tests/test_a.py",)),))


def test_a_check_that_the_user_wrote_stays_as_it_is() -> None:
    assert _with_named_runner(CHECKED, OwnTools({}, {}), {}) is CHECKED


@pytest.mark.spec("LAW-6", "LAW-8", "USE-5")
@pytest.mark.parametrize(("head", "grade", "code"), [(DOUBLE, Grade.TESTED, 3), (BROKEN, Grade.REFUTED, 1)])
@pytest.mark.many(1)
async def test_a_runner_in_a_checklist_is_met_by_the_existing_tests(
    tmp_path: Path, head: str, grade: Grade, code: int
) -> None:
    repo = tmp_path / "repo"
    committed(repo, {"tiny.py": ONE, "tests/test_tiny.py": TESTS, "CHECKLIST.md": "- [ ] `pytest -q` passes\n"})
    committed(repo, {"tiny.py": head})
    request = VerifyRequest(base="HEAD~1", head="HEAD", here=repo)
    done = await verify(request, home=tmp_path / "state", environ=os.environ, tell=lambda event: None)
    (found,) = done.verdict.requirements
    assert (found.grade, done.code) == (grade, code), found.why


RULE = "import pathlib, sys\n\nsys.exit('eval(' in pathlib.Path('tiny.py').read_text())\n"
CHECKED_PROJECT: dict[str, str | None] = {
    "tiny.py": ONE,
    "tests/test_tiny.py": TESTS,
    "tools/rule.py": RULE,
    "Makefile": "check:\n\tpython tools/rule.py\n",
}
ADDITION: dict[str, str | None] = {"new.py": "def new():\n    return 1\n"}
EVIL: dict[str, str | None] = {"tiny.py": f"{ONE}\n\ndef evil(x):\n    return eval(x)\n"}


@pytest.mark.spec("LAW-4", "LAW-5", "LAW-8", "USE-5")
@pytest.mark.many(1)
@pytest.mark.parametrize(
    ("head", "grade"),
    [
        (ADDITION, Grade.TESTED),
        (EVIL, Grade.REFUTED),
        ({**EVIL, "tools/rule.py": "raise SystemExit\n"}, Grade.REFUTED),
        ({**EVIL, "Makefile": "check:\n\ttrue\n"}, Grade.REFUTED),
    ],
    ids=["addition", "broken", "the script is gutted", "the Makefile is gutted"],
)
async def test_a_command_that_a_sentence_asks_to_pass_and_that_passes_already_is_kept(
    tmp_path: Path, head: dict[str, str | None], grade: Grade
) -> None:
    repo = tmp_path / "repo"
    committed(repo, {**CHECKED_PROJECT, "CHECKLIST.md": "- [ ] `make check` passes\n"})
    committed(repo, head)
    request = VerifyRequest(base="HEAD~1", head="HEAD", here=repo)
    done = await verify(request, home=tmp_path / "state", environ=os.environ, tell=lambda event: None)
    (judged,) = done.verdict.requirements
    assert judged.grade is grade, judged.why
    assert done.code == (3 if grade is Grade.TESTED else 1)


@pytest.mark.slow
@pytest.mark.spec("LAW-5", "LAW-8", "USE-5")
@pytest.mark.parametrize(("keep", "grade"), [(True, Grade.TESTED), (False, Grade.UNPROVEN)])
async def test_in_a_requirements_file_the_user_says_what_is_only_kept(tmp_path: Path, keep: bool, grade: Grade) -> None:
    committed(tmp_path / "repo", CHECKED_PROJECT)
    committed(tmp_path / "repo", ADDITION)
    check = CommandCheck(command="make check")
    asked = Requirements(
        requirements=(Requirement(id="check", text="make check stays green", keep=keep, checks=(check,)),)
    )
    request = VerifyRequest(base="HEAD~1", head="HEAD", here=tmp_path / "repo", requirements=asked)
    done = await verify(request, home=tmp_path / "state", environ=os.environ, tell=lambda event: None)
    (judged,) = done.verdict.requirements
    assert judged.grade is grade, judged.why


NEW_TEST = "from tiny import double\n\n\ndef test_double():\n    assert double(2) == 4\n"


@pytest.mark.slow
@pytest.mark.spec("DAY-1", "DAY-9", "USE-5")
@pytest.mark.parametrize(
    ("test", "grade"), [(NEW_TEST, Grade.SELF_TESTED), ("def test_double():\n    pass\n", Grade.UNPROVEN)]
)
async def test_a_runner_with_a_file_that_the_change_brings_is_self_tested_at_most(
    tmp_path: Path, test: str, grade: Grade
) -> None:
    repo, line = tmp_path / "repo", "- [ ] `pytest tests/test_new.py` passes\n"
    committed(repo, {"tiny.py": ONE, "tests/test_tiny.py": TESTS, "CHECKLIST.md": line})
    committed(repo, {"tiny.py": DOUBLE, "tests/test_new.py": test})
    request = VerifyRequest(base="HEAD~1", head="HEAD", here=repo)
    done = await verify(request, home=tmp_path / "state", environ=os.environ, tell=lambda event: None)
    (found,) = done.verdict.requirements
    assert found.grade is grade, found.why


ASKED = "`pytest -q` passes"
SENTENCE = "`double(x)` returns twice its argument."
TABLE = f"| Chunk | Scope | Files |\n| --- | --- | --- |\n| 1A | {SENTENCE} | tiny.py |\n"
GOALS = {
    "purple": f"# Plan: numbers\n\n## Phase 1\n\n{TABLE}\n**Ship criteria:**\n\n- [ ] {ASKED}\n",
    "ticket": f"---\nkey: NUM-7\ntype: bug\n---\n\n# Numbers\n\n{SENTENCE}\n\n## Acceptance criteria\n\n- {ASKED}\n",
    "team": f"# Numbers\n\n{SENTENCE}\n\n## Success criteria\n\n- {ASKED}\n",
}
ONCE = {"rounds": 1, "team": {"attempts": 1, "cycles": 1}}


def writes(code: str) -> Script:
    def act(order: Order) -> dict[str, Any]:
        (Path(order.folder) / "tiny.py").write_text(code)
        return yes_reply(order.schema, branch_name="fix/NUM-7-numbers", files_changed=["tiny.py"])

    return act


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-8", "LAW-12")
@pytest.mark.parametrize(("code", "grade"), [(DOUBLE, Grade.TESTED), (BROKEN, Grade.REFUTED)], ids=["honest", "liar"])
@pytest.mark.parametrize("workflow", GOALS)
async def test_a_runner_in_a_criterion_is_met_by_the_existing_tests(
    ground: Ground, workflow: str, code: str, grade: Grade
) -> None:
    ground.write("tiny.py", ONE)
    (ground.repository / "tests").mkdir()
    ground.write("tests/test_tiny.py", TESTS)
    ground.commit()
    file = ground.folder / f"{workflow}.md"
    file.write_text(GOALS[workflow])
    engine, _ = ground.engine(writes(code))
    record = await ground.run(engine, str(file), required=False, workflow=workflow, **ONCE)
    verdict = engine.store.verdict(record.id)
    assert verdict, record.why
    found = {one.text.strip(): one for one in verdict.requirements}
    if (workflow, grade) == ("team", Grade.REFUTED):  # work that breaks a test is never merged
        assert ground.git("show", f"trued/{record.id}:tiny.py") == ONE.strip()
    else:
        assert found[ASKED].grade is grade, found[ASKED].why
    assert record.code != 0
