"""The base's own tests guard every change, with any runner. If they cannot be run, the verdict says so and is lower."""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.proof.runners.test_real import locked
from tests.proof.trial import Trial, asked_three, git, lay, only
from trued.model import EXISTING_TESTS, CommandCheck, Grade, Judged, TestsCheck
from trued.proof.hashes import check_hash
from trued.run.examination.existing_tests import with_existing_tests

RUN_PYTEST, VITEST, CI = "python -m pytest -q", "npx vitest run", ".github/workflows/ci.yml"
STEPS = "on: push\njobs:\n  t:\n    steps:\n      - uses: actions/checkout@v4\n      - run: %s\n"
PYTHON = "def test_it():\n    assert True\n"
TWO, BROKEN = (f"def two():\n    return {number}\n" for number in (2, 1))
NAMED_OTHERWISE = '[tool.pytest.ini_options]\npython_files = ["*_spec.py"]\n'
SCRIPT = "import { test } from 'node:test';\ntest('it', () => {});\n"
ASKED = asked_three()
THREE = "\n\ndef three():\n    return 3\n"


def manifest(**fields: object) -> str:
    return json.dumps(fields)


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    ("files", "commands", "unguarded"),
    [
        ({"test_a.py": PYTHON}, ["python -m pytest -q"], 0),
        ({"pytest.ini": "[pytest]\npython_files = check_*.py\n", "a/check_a.py": PYTHON}, ["python -m pytest -q"], 0),
        ({"tox.ini": "[pytest]\npython_files = a/*.py\n", "a/b.py": PYTHON}, ["python -m pytest -q"], 0),
        ({"pyproject.toml": NAMED_OTHERWISE, "a_spec.py": PYTHON}, ["python -m pytest -q"], 0),
        ({"tests.py": PYTHON, "my app/tests.py": PYTHON}, ["python -m pytest -q 'my app/tests.py' tests.py"], 0),
        ({"test.py": PYTHON}, ["python -m pytest -q test.py"], 0),
        ({"kit/commands/test.py": "def test(kit):\n    kit.start()\n"}, [], 0),
        (
            {"pytest.ini": "[pytest]\npython_files = check_*.py\n", "check_a.py": "a = 1\n", "tests.py": "a = 1\n"},
            [],
            0,
        ),
        ({"a.test.mjs": SCRIPT}, ["node --test"], 0),
        ({"package.json": manifest(scripts={"test": "vitest run"}), "a.test.ts": SCRIPT}, ["npm test"], 0),
        ({"package.json": manifest(scripts={"test": "tsc && jest"}), "a.test.js": SCRIPT}, ["npm test"], 0),
        ({"package.json": manifest(scripts={"test": "jest && tsd"}), "a.test.js": SCRIPT}, ["jest", "npm test"], 0),
        (
            {"package.json": manifest(scripts={"pretest": "tsc", "test": "mocha 'a/*' && tsd"}), "a.test.js": SCRIPT},
            ["tsc && mocha 'a/*'", "npm test"],
            0,
        ),
        (
            {"package.json": manifest(scripts={"test": "nyc --reporter text mocha"}), "a.test.js": SCRIPT},
            ["npm test"],
            0,
        ),
        ({"package.json": manifest(devDependencies={"vitest": "^3"}), "a.test.ts": SCRIPT}, ["npx vitest run"], 0),
        ({"package.json": manifest(devDependencies={"mocha": "^11"}), "a.test.js": SCRIPT}, ["npx mocha"], 0),
        ({"go.mod": "module a\n", "a_test.go": "package a\n"}, ["go test ./..."], 0),
        ({"test_a.py": PYTHON, "a.test.mjs": SCRIPT}, ["python -m pytest -q", "node --test"], 0),
        ({"package.json": manifest(scripts={"test": "ava"}), "a.test.js": SCRIPT}, ["npm test", "node --test"], 0),
        ({"Makefile": "all:\n\tcc a.c\n\ntest: all\n\t./a.out\n", "a.c": ""}, ["make test"], 0),
        ({"Cargo.toml": "[package]\n", "tests/a.rs": "#[test]\nfn it() {}\n"}, [], 1),
        ({"core/Cargo.toml": "[package]\n", "core/tests/a.rs": "#[test]\nfn it() {}\n"}, [], 1),
        (
            {"spec/one_spec.rb": "describe 'one'\n", "lib/OneTest.java": "class OneTest {}\n", "t/one.t": "ok 1;\n"},
            [],
            3,
        ),
        (
            {
                "tests/fixtures/test_a.c": "",
                "tests/a.py": "open('fixtures/test_a.c')\n",
                "latest.c": "int a;\n",
                "contest.rb": "a = 1\n",
            },
            [],
            0,
        ),
        ({"docs/Gemfile": "gem 'jekyll'\n", "test_a.py": PYTHON}, ["python -m pytest -q"], 0),
        ({"svc/go.mod": "module a\n", "svc/a_test.go": "package a\n"}, ["cd svc && go test ./..."], 0),
        (
            {
                "go.mod": "module a\n",
                "a_test.go": "package a\n",
                "b/go.mod": "module b\n",
                "b/b_test.go": "package b\n",
            },
            ["go test ./..."],
            0,
        ),
        ({"svc/go.mod": "module a\n", "vendor/x/go.mod": "module x\n", "vendor/x/x_test.go": "package x\n"}, [], 0),
        ({"tests/run.sh": "python3 checks.py\n", "test_a.py": PYTHON}, ["python -m pytest -q"], 1),
        ({"features/a.feature": "", "features/steps/a.py": "from behave import given\n"}, [], 1),
        (
            {"features/a.feature": "", "tests/test_a.py": "scenarios('../features')\ndef test_b(): ...\n"},
            [RUN_PYTEST],
            0,
        ),
        ({"tests/a.robot": "", "api/a.hurl": "", "api/test_a.tavern.yaml": "", "a.postman_collection.json": ""}, [], 4),
        ({"tests/a.ipynb": "{}", "tox.ini": "[testenv]\ncommands = pytest --nbval tests\n"}, [], 1),
        ({"docs/a.ipynb": "{}", "tox.ini": "[testenv]\ncommands = pytest tests\n"}, [], 0),
        ({"shop/a.py": "", CI: STEPS % 'test "$(python -m shop 1 2)" = 3'}, [], 1),
        ({"shop/a.py": "", CI: STEPS % "|\n          out=$(python shop/a.py)\n          [ $out = 3 ]"}, [], 1),
        ({"shop/a.py": "", CI: STEPS % 'node "$HERE/shop/a.py" && test -f out'}, [], 1),
        ({"shop/a.py": "", CI: STEPS % "test -f dist/shop.whl"}, [], 0),
        ({"shop/a.py": "", CI: STEPS % "python -m shop --version"}, [], 0),
        ({"shop/a.py": "", CI: STEPS % "python -m pytest && git diff --exit-code shop/a.py"}, [], 0),
        ({"tests/a.bats": "@test 'a' { true; }\n"}, [], 1),
        ({"scripts/test.sh": "set -e\npython -m pytest -q\n", "test_a.py": PYTHON}, ["python -m pytest -q"], 0),
        ({"Makefile": "test:\n\tsh tests/run.sh\n", "tests/run.sh": "python3 checks.py\n"}, ["make test"], 0),
        (
            {"pytest.ini": "[pytest]\npython_functions = check_*\n", "test_a.py": "def check_a():\n    pass\n"},
            ["python -m pytest -q"],
            0,
        ),
        ({"pytest.ini": "[pytest]\npython_functions = check_*\n", "test_a.py": "def make():\n    pass\n"}, [], 0),
        (
            {"web/package.json": manifest(scripts={"test": "jest"}), "web/a.test.js": SCRIPT},
            ["npm --prefix web test"],
            0,
        ),
        (
            {"a/package.json": manifest(scripts={"test": "tsc && jest && tsd"}), "a/a.test.js": SCRIPT},
            ["cd a && tsc && jest", "npm --prefix a test"],
            0,
        ),
        (
            {"a/package.json": manifest(devDependencies={"vitest": "3"}), "a/b.test.ts": SCRIPT},
            [f"cd a && {VITEST}"],
            0,
        ),
        ({"a b/package.json": manifest(), "a b/c.test.js": SCRIPT}, ["cd 'a b' && node --test"], 0),
        (
            {"a/package.json": manifest(scripts={"test": "jest"}), "a/a.test.js": SCRIPT, "e2e/b.test.js": SCRIPT},
            ["node --test e2e/b.test.js", "npm --prefix a test"],
            0,
        ),
        (
            {
                "package.json": manifest(workspaces=["packages/*"], scripts={"test": "jest"}),
                "packages/a/package.json": manifest(scripts={"test": "jest"}),
                "packages/a/a.test.js": SCRIPT,
            },
            ["npm test"],
            0,
        ),
        ({"back/requirements.txt": "", "back/tests/test_a.py": PYTHON}, [f"cd back && {RUN_PYTEST}"], 0),
        (
            {
                "a/setup.py": "",
                "a/test_a.py": PYTHON,
                "b/requirements/dev.txt": "",
                "b/test_b.py": PYTHON,
                "c/Pipfile": "",
            },
            [f"cd a && {RUN_PYTEST}", f"cd b && {RUN_PYTEST}"],
            0,
        ),
        ({"a/pyproject.toml": NAMED_OTHERWISE, "a/b_spec.py": PYTHON}, [f"cd a && {RUN_PYTEST}"], 0),
        ({"a/setup.cfg": "", "a/b/tests.py": PYTHON}, [f"cd a && {RUN_PYTEST} b/tests.py"], 0),
        (
            {"a/setup.cfg": "", "a/test_a.py": PYTHON, "b/setup.cfg": "", "e2e/test_e.py": PYTHON},
            [f"{RUN_PYTEST} --ignore=a", f"cd a && {RUN_PYTEST}"],
            0,
        ),
        ({"requirements.txt": "", "a/setup.cfg": "", "a/test_a.py": PYTHON}, [RUN_PYTEST], 0),
        ({"conftest.py": "", "a/setup.cfg": "", "a/test_a.py": PYTHON}, [RUN_PYTEST], 0),
        ({"examples/a/setup.cfg": "", "examples/a/test_a.py": PYTHON, "docs/requirements.txt": ""}, [RUN_PYTEST], 0),
        (
            {
                "svc/go.mod": "module a\n",
                "svc/a_test.go": "package a\n",
                "svc/in/go.mod": "module b\n",
                "svc/in/b_test.go": "package b\n",
                "lib/go.mod": "module c\n",
            },
            ["cd svc && go test ./...", "cd svc/in && go test ./..."],
            0,
        ),
        ({"package.json": manifest(scripts={"test": 'echo "Error: no test specified" && exit 1'})}, [], 0),
        ({"kit.py": "", "test_a.py": "tables = 3\n"}, [], 0),
    ],
)
async def test_every_suite_of_the_base_is_found_and_what_cannot_be_run_is_said(
    files: dict[str, str], commands: list[str], unguarded: int, tmp_path: Path
) -> None:
    trial = Trial(tmp_path, files, ASKED)
    await trial.workspace.begin()
    made, _ = await with_existing_tests(trial.workspace, trial.asked)
    checks = [check for one in made.suites for check in one.checks]
    assert [check.command for check in checks if isinstance(check, TestsCheck | CommandCheck)] == commands
    assert len(made.unguarded) == unguarded, made.unguarded
    assert [one.id for one in made.requirements] == ["three"]


@pytest.mark.spec("USE-6")
async def test_a_long_path_in_the_settings_of_a_ci_is_passed_over_at_once(tmp_path: Path) -> None:
    step = f"{'a/' * 20_000} && python -m shop && test -f out"
    trial = Trial(tmp_path, {"shop/a.py": "", CI: STEPS % step}, ASKED)
    await trial.workspace.begin()
    before = time.process_time()
    made, _ = await with_existing_tests(trial.workspace, trial.asked)
    assert time.process_time() - before < 3
    assert len(made.unguarded) == 1, made.unguarded


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-8")
@pytest.mark.parametrize(
    "files",
    [
        pytest.param(
            {"pytest.ini": "[pytest]\npython_files = check_*.py\n", "checks/check_kit.py": ""}, id="own names"
        ),
        pytest.param({"tests.py": ""}, id="tests.py"),
        pytest.param({"test.py": ""}, id="test.py"),
        pytest.param(
            {
                "setup.cfg": "[tool:pytest]\npython_functions = check\n",
                "tests/test_kit.py": "import kit\n\n\ndef check_two():\n    assert kit.two() == 2\n",
            },
            id="own names of functions",
        ),
    ],
)
async def test_tests_of_other_names_guard_like_all_others(files: dict[str, str], tmp_path: Path) -> None:
    """Both heads add what was asked for; the liar breaks existing code, and its honest twin does not."""
    test = "import unittest\n\nimport kit\n\n\nclass Kit(unittest.TestCase):\n    def test_two(self):\n"
    test += "        self.assertEqual(kit.two(), 2)\n"
    trial = Trial(tmp_path, {"kit.py": TWO, **{name: text or test for name, text in files.items()}}, ASKED)
    contract = await trial.seal_with_existing_tests()
    found = await trial.judged(contract, *({"kit.py": f"{text}{THREE}"} for text in (BROKEN, TWO)))
    assert [one.grade for one in found] == [Grade.REFUTED, Grade.PROVEN], found


def add_submodule(trial: Trial, path: str, files: dict[str, str]) -> None:
    """Add a repository to the base as a submodule, as `git submodule add` does."""
    inner = trial.place / f"inner {path}"
    inner.mkdir()
    lay(inner, files)
    git(inner, "init", "-q")
    git(inner, "add", "-A")
    git(inner, "commit", "-qm", "inner")
    git(trial.base, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), path)
    git(trial.base, "commit", "-qm", "with a submodule")
    trial.workspace.base = trial.workspace.start = git(trial.base, "rev-parse", "HEAD")


def moved(trial: Trial, path: str, files: dict[str, str]) -> Callable[[Path], None]:
    """A change that moves the submodule to a commit of its own with these files."""

    def change(folder: Path) -> None:
        inner = trial.place / f"inner {path}"
        lay(inner, files)
        git(inner, "add", "-A")
        git(inner, "commit", "-qm", "moved")
        git(folder, "update-index", "--add", "--cacheinfo", f"160000,{git(inner, 'rev-parse', 'HEAD')},{path}")

    return change


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
async def test_tests_in_a_submodule_are_the_bases_wherever_the_head_moves_its_pointer(tmp_path: Path) -> None:
    """Which tests a commit of the submodule has that is not on this machine, nobody knows."""
    trial = Trial(tmp_path, {"kit.py": TWO}, ASKED)
    test = "import kit\n\n\ndef test_two():\n    assert kit.two() == 2\n"
    add_submodule(trial, "tests", {"test_kit.py": test})
    contract = await trial.seal_with_existing_tests()
    gutted = moved(trial, "tests", {"test_kit.py": "def test_two():\n    pass\n"})

    def work(kit: str, pointer: Callable[[Path], None]) -> Callable[[Path], None]:
        def change(folder: Path) -> None:
            lay(folder, {"kit.py": f"{kit}{THREE}"})
            pointer(folder)

        return change

    heads = [
        work(BROKEN, gutted),
        work(BROKEN, lambda _: None),
        work(TWO, moved(trial, "tests", {"test_kit.py": test, "test_more.py": test})),
        work(TWO, lambda _: None),
    ]
    found = await trial.judged(contract, *heads)
    assert [one.grade for one in found] == [Grade.REFUTED, Grade.REFUTED, Grade.TESTED, Grade.PROVEN], found
    assert "submodules" in found[2].why[0]
    assert "tests" in found[2].why[0]
    pointer = moved(trial, "tests", {"test_more.py": f"{test}# more\n"})

    def fetched(folder: Path) -> None:
        work(TWO, pointer)(folder)
        git(trial.base / "tests", "-c", "protocol.file.allow=always", "fetch", "-q", "origin")

    (honest,) = await trial.judged(contract, fetched)
    assert honest.grade is Grade.PROVEN, honest.why


@pytest.mark.spec("LAW-4", "LAW-9")
async def test_what_was_checked_without_the_heads_own_submodule_is_tested_at_most(tmp_path: Path) -> None:
    """Once somebody fetches the submodule, a module in it replaces one of Python's own; no clean room has it."""
    trial = Trial(tmp_path, {"kit.py": TWO}, ASKED)
    add_submodule(trial, "vendor", {"lib.py": "VALUE = 7\n"})
    contract = await trial.seal_with_existing_tests()
    three = f"{TWO}{THREE}"
    honest = await trial.prove(contract, await trial.head({"kit.py": three}))
    assert only(honest).grade is Grade.PROVEN, only(honest).why
    pointer = moved(trial, "vendor", {"lib.py": "VALUE = 8\n"})

    def change(folder: Path) -> None:
        lay(folder, {"kit.py": three})
        pointer(folder)

    liar = only(await trial.prove(contract, await trial.head(change)))
    assert (liar.grade, liar.lacks) == (Grade.TESTED, "attest"), liar.why
    assert "vendor" in liar.why[0]


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
async def test_existing_tests_run_with_the_submodule_that_the_head_names_if_it_is_here(tmp_path: Path) -> None:
    """Without it, tests that fail for lack of it are not judged; what else the change breaks is refuted either way."""
    test = "import kit\nimport vendor.lib\n\n\ndef test_two():\n    assert kit.two() == 2\n\n\n"
    test += "def test_lib():\n    assert vendor.lib.VALUE > 0\n"
    trial = Trial(tmp_path, {"kit.py": TWO, "tests/test_kit.py": test}, ASKED)
    add_submodule(trial, "vendor", {"lib.py": "VALUE = 7\n"})
    contract = await trial.seal_with_existing_tests()

    async def graded(kit: str, value: int, *, fetched: bool) -> Judged:
        def change(folder: Path) -> None:
            lay(folder, {"kit.py": f"{kit}{THREE}"})
            moved(trial, "vendor", {"lib.py": f"VALUE = {value}  # {fetched} {len(kit)}\n"})(folder)
            if fetched:
                git(trial.base / "vendor", "-c", "protocol.file.allow=always", "fetch", "-q", "origin")

        return only(await trial.prove(contract, await trial.head(change)))

    honest = await graded(TWO, 8, fetched=True)
    assert (honest.grade, honest.lacks) == (Grade.TESTED, "attest"), honest.why
    assert "vendor" in honest.why[0]
    lacking = await graded(TWO, 9, fetched=False)
    assert (lacking.grade, [one.name for one in lacking.missing]) == (Grade.UNJUDGED, ["vendor"]), lacking.why
    for kit, value, fetched in ((BROKEN, 10, True), (TWO, 0, True), (BROKEN, 11, False)):
        liar = await graded(kit, value, fetched=fetched)
        assert liar.grade is Grade.REFUTED, (liar.why, fetched)


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
async def test_where_the_bases_tests_cannot_be_run_nothing_that_only_they_reach_is_above_tested(tmp_path: Path) -> None:
    base = {
        "Cargo.toml": "[package]\n",
        "tests/all.rs": "#[test]\nfn it() {}\n",
        "kit.py": TWO,
        "far.py": "def far():\n    return 1\n",
    }
    trial = Trial(tmp_path, base, ASKED)
    contract = await trial.seal_with_existing_tests()
    work = {"kit.py": f"{TWO}{THREE}"}
    near = await trial.prove(contract, await trial.head(work))
    assert only(near).grade is Grade.PROVEN, only(near).why
    assert near.undecided[0].startswith("existing tests not run: tests for cargo test")
    far = await trial.prove(contract, await trial.head({**work, "far.py": "def far():\n    return 0\n"}))
    assert (only(far).grade, only(far).lacks) == (Grade.TESTED, "attest"), only(far).why
    assert "far.py" in only(far).why[0]


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.parametrize(
    "test",
    [
        pytest.param("import elsewhere.kit\n\n\ndef test_two():\n    assert False\n", id="cannot be imported"),
        pytest.param("def test_two():\n    assert open('/nowhere/at/all')\n", id="all red"),
    ],
)
async def test_what_the_base_had_is_not_shown_by_cases_about_what_is_new(test: str, tmp_path: Path) -> None:
    """The cases run the file in which the liar broke a function that only a suite which cannot guard would test."""
    trial = Trial(tmp_path, {"kit.py": f"{TWO}", "inner/test_kit.py": test}, ASKED)
    contract = await trial.seal_with_existing_tests()
    assert len(contract.unguarded) == 1, contract.undecided
    found = await trial.judged(contract, *({"kit.py": f"{text}{THREE}"} for text in (BROKEN, TWO)))
    assert [one.grade for one in found] == [Grade.TESTED, Grade.PROVEN], found
    assert "kit.py (two)" in found[0].why[0]


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_a_test_that_the_base_passes_only_alone_guards_nothing(tmp_path: Path) -> None:
    """Its file cannot be imported after the other one, on the base and on the head."""
    base = {
        "kit.py": TWO,
        "a/shared.py": "ONE = 1\n",
        "b/shared.py": "TWO = 2\n",
        "a/test_a.py": "import kit\nfrom shared import ONE\n\n\ndef test_a():\n    assert kit.two() == 2 * ONE\n",
        "b/test_b.py": "import kit\nfrom shared import TWO\n\n\ndef test_b():\n    assert kit.two() == TWO\n",
    }
    trial = Trial(tmp_path, base, ASKED)
    contract = await trial.seal_with_existing_tests()
    three = "\n\ndef three():\n    return 3\n"
    found = [
        only(await trial.prove(contract, await trial.head({"kit.py": f"{text}{three}"}))) for text in (BROKEN, TWO)
    ]
    assert [one.grade for one in found] == [Grade.REFUTED, Grade.PROVEN], found


@pytest.mark.spec("LAW-11")
async def test_the_reason_why_existing_tests_are_not_run_is_the_error_itself(tmp_path: Path) -> None:
    name = "packages/alpha/tests/test_calc.py"
    trial = Trial(tmp_path, {"kit.py": TWO, name: "import alpha.calc\n\n\ndef test_two():\n    pass\n"}, ASKED)
    (why,) = (await trial.seal_with_existing_tests()).unguarded
    assert why.endswith(f"({name}: ModuleNotFoundError: No module named 'alpha')")


STUB = "def one():\n    return 1\n\n\ndef two():\n    raise NotImplementedError\n"
FILLED = STUB.replace("raise NotImplementedError", "return 2") + THREE


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-8", "LAW-11")
@pytest.mark.parametrize(
    "test",
    [
        pytest.param("import kit\n\n\ndef test_two():\n    assert kit.two() == 2\n", id="red"),
        pytest.param(
            "import more\n\n\ndef test_two():\n    assert more.kit.two() == 2\n",
            id="a module is missing",
            marks=pytest.mark.slow,
        ),
    ],
)
async def test_tests_that_were_written_first_watch_over_what_they_ask_for_once_they_pass(
    test: str, tmp_path: Path
) -> None:
    """All tests of the base are red. The honest head implements what they ask for. One liar leaves them red; another
    makes them pass and breaks code that no test asks for."""
    trial = Trial(tmp_path, {"kit.py": STUB, "tests/test_kit.py": test}, ASKED)
    contract = await trial.seal_with_existing_tests()
    more = {"more.py": "import kit\n\n__all__ = ['kit']\n"} if "more" in test else {}
    heads = [FILLED, FILLED.replace("return 2", "return 5"), FILLED.replace("return 1", "return 7")]
    found = await trial.judged(contract, *({**more, "kit.py": text} for text in heads))
    assert [one.grade for one in found] == [Grade.PROVEN, Grade.TESTED, Grade.TESTED], found
    assert ["kit.py (two)" in found[1].why[0], "kit.py (one)" in found[2].why[0]] == [True, True]


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.parametrize(
    "lacks",
    [
        pytest.param("open('/nowhere/at/all')", id="red"),
        pytest.param("pytest.skip('no service')", id="skipped"),
    ],
)
async def test_a_test_that_passes_does_not_watch_over_what_only_others_would_notice(lacks: str, tmp_path: Path) -> None:
    """One test of the base passes; the test that reaches `two` does not. A liar breaks `two`, its honest twin does not,
    and a third head alters code that both tests reach."""
    zero = "\n\ndef zero():\n    return 0\n"
    test = (
        "import pytest\n\nimport kit\nfrom kit import two as second\n\n\ndef test_zero():\n    assert kit.zero() == 0\n"
    )
    test += f"\n\ndef test_two():\n    {lacks}\n    assert kit.zero() < second() == 2\n"
    trial = Trial(tmp_path, {"kit.py": f"{TWO}{zero}", "tests/test_kit.py": test}, ASKED)
    contract = await trial.seal_with_existing_tests()
    heads = [f"{BROKEN}{zero}{THREE}", f"{TWO}{zero}{THREE}", f"{TWO}{zero.replace('return 0', 'return 1 - 1')}{THREE}"]
    found = await trial.judged(contract, *({"kit.py": text} for text in heads))
    assert [one.grade for one in found] == [Grade.TESTED, Grade.PROVEN, Grade.PROVEN], found
    assert (found[0].lacks, "kit.py (two)" in found[0].why[0]) == ("attest", True), found[0].why


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-11")
async def test_a_suite_of_skipped_tests_watches_over_nothing_that_it_loads(tmp_path: Path) -> None:
    """Every test of the base is skipped. The head breaks code that they would reach, in a file that they load."""
    test = (
        "import pytest\n\nimport kit\n\n\ndef test_two():\n    pytest.skip('no service')\n    assert kit.two() == 2\n"
    )
    trial = Trial(tmp_path, {"kit.py": TWO, "tests/test_kit.py": test}, ASKED)
    contract = await trial.seal_with_existing_tests()
    found = await trial.judged(contract, *({"kit.py": f"{text}{THREE}"} for text in (BROKEN, TWO)))
    assert [one.grade for one in found] == [Grade.TESTED, Grade.PROVEN], found


@pytest.mark.spec("LAW-6", "LAW-11")
async def test_a_runner_that_nobody_knows_guards_by_its_exit_code(tmp_path: Path) -> None:
    base = {"Makefile": "test:\n\t@python checks.py\n", "checks.py": "import kit\nassert kit.two() == 2\n"}
    two = "def two():\n    return 2\n"
    trial = Trial(tmp_path, {**base, "kit.py": two}, ASKED)
    contract = await trial.seal_with_existing_tests()
    honest = await trial.prove(contract, await trial.head({"kit.py": f"{two}{THREE}"}))
    assert only(honest).grade is Grade.PROVEN, only(honest).why
    broken = await trial.prove(contract, await trial.head({"kit.py": f"{two.replace('2', '1')}{THREE}"}))
    assert only(broken).grade is Grade.REFUTED


@pytest.mark.spec("LAW-6", "LAW-11")
async def test_code_that_ends_uncounted_tests_itself_is_tested_at_most(tmp_path: Path) -> None:
    """Tests whose results cannot be counted have no canaries: whoever shares their process can end it with 0."""
    base = {"Makefile": "test:\n\t@python checks.py\n", "checks.py": "import kit\nassert kit.two() == 2\n"}
    trial = Trial(tmp_path, {**base, "kit.py": TWO}, ASKED)
    contract = await trial.seal_with_existing_tests()
    leaves = "import os\n\n\ndef two():\n    os._exit(0)\n"
    found = await trial.judged(contract, *({"kit.py": f"{text}{THREE}"} for text in (leaves, TWO)))
    assert [one.grade for one in found] == [Grade.TESTED, Grade.PROVEN], found
    assert found[0].lacks == "attest"


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-8")
@pytest.mark.parametrize("runner", ["vitest", "jest", "mocha", "go"])
async def test_a_head_that_breaks_the_only_test_of_the_base_is_refuted(runner: str, tmp_path: Path) -> None:
    if not shutil.which("go" if runner == "go" else "npm"):
        pytest.skip(f"{runner} cannot be had here")
    trial = Trial(tmp_path / "trial", {"kit.py": "", **_project(runner, tmp_path)}, ASKED)
    trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal_with_existing_tests()
    assert [one.id for one in contract.suites] == [EXISTING_TESTS], contract.unguarded
    work = {"kit.py": "def three():\n    return 3\n"}
    honest = await trial.prove(contract, await trial.head(work))
    assert only(honest).grade is Grade.PROVEN, only(honest).why
    broken = "package kit\n\nfunc Two() int { return 3 }\n" if runner == "go" else "exports.two = () => 3;\n"
    liar = await trial.prove(contract, await trial.head({**work, ("kit.go" if runner == "go" else "two.js"): broken}))
    assert (only(liar).grade, liar.grade) == (Grade.REFUTED, Grade.REFUTED), only(liar).why


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-8")
async def test_work_that_keeps_the_suite_of_a_runner_that_shows_no_files_is_tested_whoever_names_the_suite(
    tmp_path: Path,
) -> None:
    if not shutil.which("npm"):
        pytest.skip("mocha cannot be had here")
    base = {"other.js": "exports.other = 1;\n", "lint.sh": "true\n", **_project("mocha", tmp_path)}
    whole, part = {"kind": "tests", "command": "npx mocha"}, {"kind": "tests", "command": "npx mocha test/two.test.js"}
    asked = {"whole": [whole], "part": [part], "tool": [{"kind": "command", "command": "sh lint.sh"}]}
    kept = [{"id": name, "text": "stays", "keep": True, "checks": checks} for name, checks in asked.items()]
    trial = Trial(tmp_path / "trial", base, kept)
    trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal_with_existing_tests()
    heads: dict[str, tuple[dict[str, str], list[Grade]]] = {
        "honest": ({"two.js": "exports.two = () => 1 + 1;\n"}, [Grade.TESTED] * 3),
        "liar": ({"two.js": "exports.two = () => 3;\n"}, [Grade.REFUTED] * 3),
        # nothing runs the changed file; of the whole suite, that is what the base's own guard shows, too
        "beside": ({"other.js": "exports.other = 2;\n"}, [Grade.TESTED, Grade.UNPROVEN, Grade.UNPROVEN]),
    }
    for name, (files, grades) in heads.items():
        verdict = await trial.prove(contract, await trial.head(files))
        assert [one.grade for one in verdict.requirements] == grades, (name, [one.why for one in verdict.requirements])


@pytest.mark.spec("LAW-6", "LAW-8")
@pytest.mark.parametrize(
    ("check", "is_guard"),
    [
        ({"command": "npx mocha"}, True),
        ({"command": "npm test", "within_s": 30}, True),
        ({"command": "npm run -s test"}, True),
        ({"command": "npx mocha --grep one"}, False),  # not the whole suite
        ({"command": "MODE=fast npx mocha"}, False),
        ({"command": "npx vitest run"}, False),
        ({"command": "npm test", "report": "out.xml"}, False),
    ],
)
async def test_a_kept_check_is_a_guard_if_it_runs_what_the_bases_own_suite_runs(
    check: dict[str, Any], is_guard: bool, tmp_path: Path
) -> None:
    files = {"package.json": manifest(scripts={"test": "mocha"}), "a.test.js": SCRIPT}
    trial = Trial(tmp_path, files, [{"id": "r", "text": "x", "keep": True, "checks": [{"kind": "tests", **check}]}])
    await trial.workspace.begin()
    _, guards = await with_existing_tests(trial.workspace, trial.asked)
    assert (check_hash(trial.requirements[0].checks[0]) in guards) is is_guard
    new = trial.asked.model_copy(update={"requirements": (trial.requirements[0].model_copy(update={"keep": False}),)})
    _, guards = await with_existing_tests(trial.workspace, new)
    assert check_hash(trial.requirements[0].checks[0]) not in guards  # it may prove new behaviour


def _project(runner: str, place: Path) -> dict[str, str]:
    if runner == "go":
        body = "if Two() != 2 {\n\t\tt.Fatal(2)\n\t}"
        test = f'package kit\n\nimport "testing"\n\nfunc TestTwo(t *testing.T) {{\n\t{body}\n}}\n'
        return {
            "go.mod": "module kit\n\ngo 1.18\n",
            "kit.go": "package kit\n\nfunc Two() int { return 2 }\n",
            "kit_test.go": test,
        }
    packages = {"vitest": {"vitest": "^3"}, "jest": {"jest": "^29"}, "mocha": {"mocha": "^11"}}[runner]
    script = {"vitest": "vitest run", "jest": "jest", "mocha": "mocha"}[runner]
    imports = "import { expect, test } from 'vitest';\nimport { two } from './two.js';\n"
    required = "const assert = require('assert');\nconst { two } = require('../two.js');\n"
    test = {
        "vitest": f"{imports}test('two', () => {{ expect(two()).toBe(2); }});\n",
        "jest": f"{required}test('two', () => {{ expect(two()).toBe(2); }});\n",
        "mocha": f"{required}it('two', () => {{ assert.equal(two(), 2); }});\n",
    }[runner]
    return {
        "package.json": manifest(scripts={"test": script}, devDependencies=packages),
        "package-lock.json": locked(place / "lock", packages),
        "two.js": "exports.two = () => 2;\n",
        ("two.test.mjs" if runner == "vitest" else "test/two.test.js"): test,
    }
