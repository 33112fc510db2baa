"""Verdicts name what the environment lacks. It is no gap in the work, and a head cannot use it as an excuse."""

from pathlib import Path

import pytest

from tests.proof.trial import Trial, only
from trued.model import (
    CallCase,
    Check,
    CommandCheck,
    Evidence,
    ExamplesCheck,
    Finding,
    Grade,
    Judged,
    MissingFromEnvironment,
    Outcomes,
    RunCase,
    TestsCheck,
    Tried,
    Verdict,
)
from trued.proof.advice import ProjectFiles
from trued.proof.hashes import check_hash
from trued.proof.room.declared_packages import AddedPackages
from trued.proof.verdict.missing import awaited_packages, missing_part, undeclared_imports

BASE = {
    "a.py": "def one():\n    return 0\n",
    "tests/test_one.py": "import inflexion\nimport a\n\n\ndef test_one():\n    assert a.one() == 1\n",
}
TESTS = {"kind": "tests", "command": "python -m pytest -q", "files": ["tests/test_one.py"]}
CASES = {"kind": "examples", "cases": [{"call": "a:one", "returns": 1}]}
RIGHT = "def one():\n    return 1\n"


@pytest.mark.spec("DAY-2", "LAW-8")
async def test_a_module_that_the_base_lacks_is_named_with_the_line_that_brings_it_and_is_no_gap(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, [{"id": "r", "text": "one returns 1", "checks": [TESTS]}])
    verdict = await trial.verdict({"a.py": RIGHT})
    judged = only(verdict)
    assert (judged.grade, judged.gaps, verdict.lacks_only_environment) == (Grade.UNJUDGED, (), True)
    (missing,) = verdict.missing_from_environment
    assert missing.name == "inflexion"
    assert "requirements.txt" in missing.fix
    assert any("inflexion" in why and "requirements.txt" in why for why in judged.why)


@pytest.mark.many(1)
@pytest.mark.spec("DAY-2", "LAW-7")
@pytest.mark.parametrize(
    "head",
    [
        "def one():\n    raise ModuleNotFoundError(\"No module named 'inflexion'\", name='inflexion')\n",
        "import inflexion\n\n\ndef one():\n    return 1\n",
    ],
)
async def test_a_head_that_says_that_something_is_missing_which_nobody_declares_has_failed(
    tmp_path: Path, head: str
) -> None:
    trial = Trial(tmp_path, {"a.py": BASE["a.py"]}, [{"id": "r", "text": "one returns 1", "checks": [CASES]}])
    verdict = await trial.verdict({"a.py": head})
    assert verdict.grade is Grade.REFUTED
    assert (verdict.missing_from_environment, verdict.lacks_only_environment) == ((), False)
    assert verdict.gaps


@pytest.mark.spec("DAY-2", "LAW-8")
async def test_a_command_that_does_not_find_the_projects_own_module_is_unjudged_where_the_base_fails_alike(
    tmp_path: Path,
) -> None:
    base = {"src/kit.py": "ONE = 0\n", "check.py": "import kit\nassert kit.ONE == 1\n"}
    check = {"kind": "command", "command": "python check.py", "files": ["check.py"]}
    trial = Trial(tmp_path, base, [{"id": "r", "text": "ONE is 1", "checks": [check]}])
    verdict = await trial.verdict({"src/kit.py": "ONE = 1\n"})
    assert (verdict.grade, verdict.lacks_only_environment) == (Grade.UNJUDGED, True), only(verdict).why
    assert [one.name for one in verdict.missing_from_environment] == ["kit"]
    found = Trial(tmp_path / "found", base, [{"id": "r", "text": "ONE is 1", "checks": [check]}], path=["src"])
    contract = await found.seal()
    lying = "raise ModuleNotFoundError(\"No module named 'kit'\")\n"
    assert (await found.prove(contract, await found.head({"src/kit.py": lying}))).grade is Grade.REFUTED
    assert (await found.prove(contract, await found.head({"src/kit.py": "ONE = 1\n"}))).grade is Grade.TESTED


PAY = 'import os\n\nKEY = os.environ["PAY_KEY"]\n'
SIGN = 'def sign(x):\n    return f"{KEY}:{x}"\n'
SIGNED = {"kind": "examples", "cases": [{"call": "pay:sign", "args": [n], "returns": f"k:{n}"} for n in (1, 2)]}


@pytest.mark.spec("DAY-2", "LAW-8")
@pytest.mark.parametrize(
    ("top", "error", "fix"),
    [
        (PAY, "KeyError: 'PAY_KEY'", "variables: {PAY_KEY: …}"),
        ("from kit._core import KEY\n", "No module named 'kit._core'", "prepare:"),
        ("from importlib.metadata import version\nKEY = version('pay')\n", "PackageNotFoundError", "prepare:"),
        ("from pathlib import Path\nKEY = Path.home().joinpath('.key').read_text()\n", "FileNotFoundError", "prepare:"),
    ],
)
@pytest.mark.many(1)
async def test_a_module_that_cannot_be_imported_here_on_either_side_is_unjudged_and_the_way_out_is_named(
    tmp_path: Path, top: str, error: str, fix: str
) -> None:
    base = {"pay.py": top, "kit/__init__.py": ""}
    trial = Trial(tmp_path, base, [{"id": "r", "text": "sign signs", "checks": [SIGNED]}])
    verdict = await trial.verdict({"pay.py": f"{top}{SIGN}"})
    judged = only(verdict)
    assert (judged.grade, judged.gaps, verdict.lacks_only_environment) == (Grade.UNJUDGED, (), True), judged.why
    assert len(judged.why) == 1
    assert error in judged.why[0]
    assert fix in judged.why[0]


@pytest.mark.slow
@pytest.mark.spec("DAY-2", "LAW-7")
async def test_an_import_that_fails_on_both_sides_excuses_no_other_failure_and_a_repaired_one_is_proven(
    tmp_path: Path,
) -> None:
    trial = Trial(tmp_path, {"pay.py": PAY}, [{"id": "r", "text": "sign signs", "checks": [SIGNED]}])
    contract = await trial.seal()
    others = (
        "raise KeyError('OTHER_KEY')\n",
        "raise RuntimeError(\"'PAY_KEY'\")\n",
        # importable, and fails when it is called, in one of two cases
        "KEY = 'k'\ndef sign(x):\n    if x == 1:\n        raise KeyError('PAY_KEY')\n    return f'k:{x}'\n",
    )
    grades = [one.grade for one in await trial.judged(contract, *({"pay.py": one} for one in others))]
    assert grades == [Grade.REFUTED] * 3
    repaired = await trial.prove(contract, await trial.head({"pay.py": f"KEY = 'k'\n{SIGN}"}))
    assert repaired.grade is Grade.PROVEN
    good = Trial(tmp_path / "good", {"pay.py": "KEY = 'k'\n"}, [{"id": "r", "text": "signs", "checks": [SIGNED]}])
    assert (await good.verdict({"pay.py": f"{PAY}{SIGN}"})).grade is Grade.REFUTED


@pytest.mark.slow
@pytest.mark.spec("DAY-2")
async def test_the_projects_own_script_and_module_are_not_asked_from_a_registry(tmp_path: Path) -> None:
    manifest = '[project]\nname = "tool"\nversion = "1"\n[project.scripts]\ntool = "tool.cli:main"\n'
    base = {"pyproject.toml": manifest, "tool/__init__.py": "", "packages/api/src/api/__init__.py": "", "a.py": ""}
    for command, fix in (("tool lines", "pip install -e ."), ("python -c 'import api; api.two'", "packages/api/src")):
        check = {"kind": "command", "command": command}
        trial = Trial(tmp_path / command.split()[0], base, [{"id": "r", "text": "it works", "checks": [check]}])
        verdict = await trial.verdict({"packages/api/src/api/__init__.py": "two = 2\n"})
        assert verdict.grade is Grade.UNJUDGED
        assert fix in verdict.missing_from_environment[0].fix
        assert fix in only(verdict).why[-1]
    cases = [{"kind": "examples", "cases": [{"call": "api:two", "returns": 2}]}]
    trial = Trial(tmp_path / "call", base, [{"id": "r", "text": "two() is 2", "checks": cases}])
    head = {"packages/api/src/api/__init__.py": "def two():\n    return 2\n"}
    note = (
        "checks do not find the modules in packages/api/src; add this to the requirements: "
        '`environment: {path: [".", "packages/api/src"]}`'
    )
    assert note in (await trial.verdict(head)).undecided
    found = Trial(tmp_path / "found", base, [{"id": "r", "text": "two()", "checks": cases}], path=["packages/api/src"])
    contract = await found.seal()
    verdicts = [await found.prove(contract, await found.head(one)) for one in (head, {"a.py": "x = 1\n"})]
    assert [one.grade for one in verdicts] == [Grade.PROVEN, Grade.REFUTED]
    assert not any("do not find" in note for one in verdicts for note in one.undecided)


def test_a_program_or_module_that_the_project_does_not_have_is_asked_from_elsewhere() -> None:
    files = ProjectFiles({"tool/api/__init__.py", "tool/__init__.py", "tests/kit.py", "src/own.py", "x/own.py"}, "")
    for name in ("api", "kit", "own", "requests"):
        assert files.folder_of(name) == ""
    part = missing_part(TestsCheck(command="pytest"), Tried(id="t", outcome=Outcomes.UNJUDGED, kind="program tool"))
    assert files.advise(part) == part


@pytest.mark.parametrize("detail", ["", "Node v20.1.0 cannot run TypeScript"])
def test_a_node_that_is_too_old_is_not_said_to_be_missing(detail: str) -> None:
    tried = Tried(id="t", outcome=Outcomes.UNJUDGED, kind="version node", detail=detail)
    part = missing_part(ExamplesCheck(cases=(CallCase(call="a.ts:b"),)), tried)
    assert "not installed" not in str(part)
    assert part.fix == "install Node 22.18 or newer"


LACKING = MissingFromEnvironment(name="x", what="the module x is not installed")


def judged(grade: Grade, *missing: MissingFromEnvironment, holds: bool = False) -> Judged:
    return Judged(id=str(grade), text="", grade=grade, why=("",), holds=holds, missing=missing)


@pytest.mark.spec("DAY-2")
@pytest.mark.parametrize(
    ("verdict", "only_that"),
    [
        (Verdict(subject="s", commit="c", requirements=(judged(Grade.UNJUDGED, LACKING),)), True),
        (
            Verdict(
                subject="s",
                commit="c",
                requirements=(judged(Grade.UNJUDGED, LACKING), judged(Grade.PROVEN, holds=True)),
            ),
            True,
        ),
        (
            Verdict(subject="s", commit="c", requirements=(judged(Grade.UNJUDGED, LACKING), judged(Grade.REFUTED))),
            False,
        ),
        (
            Verdict(subject="s", commit="c", requirements=(judged(Grade.UNJUDGED, LACKING), judged(Grade.UNPROVEN))),
            False,
        ),
        (Verdict(subject="s", commit="c", requirements=(judged(Grade.UNJUDGED),)), False),
        (Verdict(subject="s", commit="c", requirements=(judged(Grade.PROVEN, holds=True),)), False),
        (Verdict(subject="s", requirements=(judged(Grade.UNJUDGED, LACKING),)), False),
        (
            Verdict(  # an agent that did nothing
                subject="s",
                commit="c",
                requirements=(judged(Grade.UNJUDGED, LACKING),),
                remarks=(Finding(what="the diff is empty"),),
            ),
            False,
        ),
    ],
)
def test_a_verdict_lacks_only_the_environment_where_nothing_else_is_held_against_the_work(
    verdict: Verdict, only_that: bool
) -> None:
    assert verdict.lacks_only_environment is only_that


@pytest.mark.spec("DAY-2")
@pytest.mark.parametrize(
    ("kind", "command", "name", "fix"),
    [
        ("module yaml", "pytest", "yaml", "pyyaml"),
        ("module left-pad", "npx vitest run", "left-pad", "npm install left-pad"),
        ("module github.com/x/y", "go test ./...", "github.com/x/y", "go get github.com/x/y"),
        ("program chromium", "pytest", "chromium", "playwright install chromium"),
        ("program ffmpeg", "pytest", "ffmpeg", "install ffmpeg"),
        ("prepare", "pytest", "prepare", "prepare"),
        ("environment", "pytest", "environment", "again"),
    ],
)
def test_each_kind_of_lack_has_a_name_and_a_way_out(kind: str, command: str, name: str, fix: str) -> None:
    part = missing_part(TestsCheck(command=command), Tried(id="t", outcome=Outcomes.UNJUDGED, kind=kind))
    assert part.name == name
    assert fix in part.fix


@pytest.mark.spec("DAY-2", "USE-7")
def test_every_module_of_an_import_is_named_that_nothing_declares() -> None:
    text = "import os, yaml, requests as r\n\n\ndef load():\n    from attrs import define\n"
    named = undeclared_imports({"a.py": text, "b.txt": text}, {"os"}, {"PyYAML"})
    assert [sentence.partition(",")[0] for sentence in named] == ["a.py imports attrs", "a.py imports requests"]


def _call(path: str) -> ExamplesCheck:
    return ExamplesCheck(kind="examples", cases=(CallCase(call=path, returns=1),))


ADDED = AddedPackages(unavailable={"redis": "no network"}, unavailable_in={"web": {"vue": "no network"}, "shop": {}})


@pytest.mark.spec("LAW-4", "DAY-2")
@pytest.mark.parametrize(
    ("check", "case", "module", "awaited"),
    [
        (_call("web/up.js:up"), "case 1", "vue", True),
        (_call("shop/up.js:up"), "case 1", "vue", False),
        (_call("up.js:up"), "case 1", "vue", True),
        (_call("app.prices:total"), "case 1", "vue", False),
        (_call("app.prices:total"), "case 1", "redis", True),
        (ExamplesCheck(kind="examples", cases=(RunCase(run=("node", "shop/a.js")),)), "case 1", "vue", False),
        (ExamplesCheck(kind="examples", cases=(RunCase(run=("node", "web/a.js")),)), "case 1", "vue", True),
        (TestsCheck(command="npm --prefix shop test"), "shop/a.test.js::up", "vue", False),
        (TestsCheck(command="npm --prefix web test"), "web/a.test.js::up", "vue", True),
        (TestsCheck(command="npm --prefix=web test"), "*", "vue", True),
        (CommandCheck(command="cd shop && npm run lint"), "*", "vue", False),
        (TestsCheck(command="pytest"), "tests/a.py::test_a", "redis", True),
        (TestsCheck(command="pytest"), "tests/a.py::test_a", "vue", False),
    ],
)
def test_a_package_is_awaited_only_in_the_project_that_declares_it(
    check: Check, case: str, module: str, awaited: bool
) -> None:
    tried = (Tried(id=case, outcome=Outcomes.UNJUDGED, kind=f"module {module}"),)
    fact = Evidence(
        id="1", requirement="r", check=check_hash(check), kind=check.kind, side="head", commit="c", tree="t",
        isolation="x", tried=tried,
    )  # fmt: skip
    checks = {check_hash(check): check}
    assert [*awaited_packages(ADDED, [fact], checks)] == ([f"module {module}"] if awaited else [])
    assert awaited_packages(ADDED, [fact], {}) == {}
