"""Checks run in the base's environment, never the head's; a preparation is for one tree and cannot change judging."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, bare_interpreter, only, quiet
from trued.model import CommandCheck, Contract, Grade, Outcomes, Requirement
from trued.proof.room.environment import choose_environment, declared_changes, started_tools
from trued.proof.room.preparation import first_errors
from trued.proof.room.virtualenv import SYSTEM_PATH, machine_path, registries
from trued.proof.seal import SealTerms, seal

TESTS = "from m import f\n\n\ndef test_f():\n    assert f(1) == 2\n\n\ndef test_zero():\n    assert f(0) == 0\n"
BASE = {"m.py": "def f(x):\n    return x\n", "tests/test_m.py": TESTS, "prepare.py": "pass\n"}
HONEST = {"m.py": "def f(x):\n    return 2 * x\n"}
CHECKS = [{"id": "r", "text": "f doubles", "checks": [{"kind": "tests", "files": ["tests/test_m.py"]}]}]
SITE = "import glob, os\nplace = glob.glob(os.environ['VIRTUAL_ENV'] + '/lib/*/site-packages')[0]\n"
PREPARE = ("python prepare.py",)


def calls(*cases: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"id": "r", "text": "f doubles", "checks": [{"kind": "examples", "cases": list(cases)}]}]


# -- preparation -------------------------------------------------------------------------------------------------------


MEDDLING = {
    "tests": "open('tests/test_m.py', 'w').write('def test_f(): pass\\ndef test_zero(): pass\\n')\n",
    "configuration": (
        "open('tests/conftest.py', 'w').write('import m\\nm.f = lambda x: 2 * x\\n')\n"
        "open('conftest.py', 'w').write('import m\\nm.f = lambda x: 2 * x\\n')\n"
    ),
    "start-up": (
        SITE + "bad = 'import m; m.f = lambda x: 2 * x\\n'\n"
        "for name in ('sitecustomize.py', 'usercustomize.py', 'zz.pth', 'pytest.py', '_pytest.py', 'pluggy.py'):\n"
        "    open(place + '/' + name, 'w').write(bad)\n"
    ),
}


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize(
    "ways", [tuple(MEDDLING), *(pytest.param((one,), marks=pytest.mark.slow) for one in MEDDLING)], ids="+".join
)
async def test_what_a_preparation_leaves_does_not_judge(tmp_path: Path, ways: tuple[str, ...]) -> None:
    trial = Trial(tmp_path, BASE, CHECKS, prepare=PREPARE)
    head = {"prepare.py": "".join(MEDDLING[one] for one in ways)}
    assert only(await trial.verdict(head)).grade is Grade.REFUTED


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
async def test_what_a_preparation_installs_is_there_for_calls_lines_and_tests(tmp_path: Path) -> None:
    """A preparation runs once for a tree, in a temporary git repository without tags, in an environment of its own."""
    writes = (
        SITE + "import subprocess\nopen(place + '/extra.py', 'w').write('N = 2\\n')\n"
        "bin = os.environ['VIRTUAL_ENV'] + '/bin/tool'\nopen(bin, 'w').write('#!/bin/sh\\necho tool\\n')\n"
        "os.chmod(bin, 0o755)\nopen('times', 'a').write('x')\n"
        "open('_version.py', 'w').write('V = %r' % subprocess.check_output(['git', 'rev-list', '--count', 'HEAD']))\n"
    )
    base = {
        "m.py": "import extra, _version\nV = _version.V\n\n\ndef f(x):\n    return x\n",
        "tests/test_m.py": TESTS + "\n\ndef test_extra():\n    import extra\n\n    assert extra.N == 2\n",
        "prepare.py": writes,
    }
    cases: list[dict[str, Any]] = [
        {"call": "m:f", "args": [3], "returns": 6},
        {"call": "m:f", "args": [4], "returns": 8},
        {"run": ["tool"], "stdout": "tool\n"},
        {"run": ["python", "-c", "import extra; print(extra.N)"], "stdout": "2\n"},
        {"run": ["sh", "-c", "cat times"], "stdout": "x"},
    ]
    asked = calls(*cases)
    asked[0]["checks"].append({"kind": "tests", "files": ["tests/test_m.py"]})
    trial = Trial(tmp_path, base, asked, prepare=PREPARE)
    contract = await trial.seal()
    verdict = await trial.prove(contract, await trial.head({"m.py": base["m.py"].replace("return x", "return 2 * x")}))
    assert only(verdict).grade is Grade.PROVEN, (only(verdict).why, [one.tried for one in verdict.evidence])
    assert {one.outcome for fact in verdict.evidence for one in fact.tried} == {Outcomes.PASSED}
    second = [one.setting for one in verdict.evidence if one.turn == 2]
    assert all("another order" in one and "host name" in one for one in second)


@pytest.mark.slow
@pytest.mark.spec("LAW-2")
async def test_a_preparation_that_fails_on_the_head_is_unjudged_there(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, CHECKS, prepare=PREPARE)
    assert only(await trial.verdict({**HONEST, "prepare.py": "raise SystemExit(7)\n"})).grade is not Grade.PROVEN


@pytest.mark.spec("DAY-2")
async def test_a_preparation_that_fails_is_shown_once_with_the_lines_that_name_the_error(tmp_path: Path) -> None:
    """However much an installer prints after its reason, and whatever differs between its runs."""
    said = "echo code ERESOLVE; echo ERROR: no lock file matches; seq 300; date +%N; exit 1"
    trial = Trial(tmp_path, BASE, calls({"call": "m:f", "args": [3], "returns": 6}), prepare=(said,))
    judged = only(await trial.verdict(HONEST))
    assert judged.grade is Grade.UNJUDGED
    (why,) = judged.why
    assert f"`{said}` failed before any check: ERROR: no lock file matches; correct" in why
    assert first_errors("npm error code EUSAGE\nnpm error\nnpm error `npm ci` needs a lock\nnpm error log: 1") == (
        "npm error code EUSAGE npm error `npm ci` needs a lock"
    )
    assert first_errors("one\ntwo: 0 errors\n\n") == "two: 0 errors"
    assert first_errors("") == ""


# -- files that come with the contract ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
async def test_files_that_come_with_the_contract_are_laid_over_both_sides(tmp_path: Path) -> None:
    carried = {"acceptance/test_f.py": base64.b64encode(TESTS.encode()).decode()}
    asked = [{"id": "r", "text": "f doubles", "checks": [{"kind": "tests", "files": ["acceptance/test_f.py"]}]}]
    trial = Trial(tmp_path, {"m.py": BASE["m.py"]}, asked, carried=carried)
    contract = await trial.seal()
    honest = await trial.prove(contract, await trial.head(HONEST))
    assert only(honest).grade is Grade.TESTED, only(honest).why
    lying = {
        "acceptance/test_f.py": "def test_f(): pass\n",
        "acceptance/conftest.py": "import m\nm.f = lambda x: 2 * x\n",
        "m.py": "open('acceptance/test_f.py', 'w').write('def test_f(): pass')\n\n\ndef f(x):\n    return x\n",
    }
    assert only(await trial.prove(contract, await trial.head(lying))).grade is Grade.REFUTED


# -- what the base declares --------------------------------------------------------------------------------------------


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow no registry, so that a build fails at once."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")


@pytest.mark.spec("LAW-11")
@pytest.mark.slow
async def test_what_cannot_be_built_is_said_and_the_callers_interpreter_used(tmp_path: Path, offline: None) -> None:
    manifest = '[project]\nname = "m"\nversion = "1"\ndependencies = ["no-such-package-anywhere>=3"]\n'
    asked = calls({"call": "m:f", "args": [3], "returns": 6}, {"call": "n:g", "returns": 1})
    needing = {"n.py": "import no_such_package\n\n\ndef g():\n    return 1\n", "pyproject.toml": manifest}
    trial = Trial(tmp_path / "t", {**BASE, **needing}, asked)
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal()
    (note,) = (one for one in contract.undecided if "they could not be installed: " in one)
    package, _, words = note.partition("they could not be installed: ")[2].partition(": ")
    assert package == "no-such-package-anywhere>=3"
    assert "no-such-package-anywhere" in words  # the installer's own message names it
    verdict = await trial.prove(contract, await trial.head(HONEST))
    assert only(verdict).grade is Grade.UNJUDGED
    assert any("they could not be installed" in one for one in verdict.undecided)
    failed = list((tmp_path / "kept" / "environments").glob("*.failed"))
    assert len(failed) == 1
    assert not [one for one in failed[0].parent.iterdir() if one.is_dir()]


async def test_an_interpreter_that_has_what_is_declared_is_used_as_it_is(tmp_path: Path) -> None:
    lists = {"requirements.txt": "# nothing\n-r other.txt\npywin32; sys_platform == 'win32'\n./local\n"}
    trial = Trial(tmp_path, {**BASE, **lists, "requirements-dev.txt": "pytest\nruff==0.1\n"}, [])
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    await trial.workspace.begin()
    found = await choose_environment(trial.workspace, trial.workspace.base)
    assert found.notes == ()
    assert not (tmp_path / "kept").exists()


@pytest.mark.slow
async def test_nothing_is_built_for_what_no_check_needs(tmp_path: Path) -> None:
    declared = {"requirements.txt": "no-such-package-anywhere\n"}
    trial = Trial(tmp_path / "t", {**BASE, **declared}, calls({"call": "m:f", "args": [3], "returns": 6}))
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal()
    assert contract.undecided == ()
    assert not (tmp_path / "kept" / "environments").exists()


@pytest.mark.slow
@pytest.mark.spec("LAW-11")
async def test_a_package_that_only_the_head_declares_is_said_and_its_lack_is_nobodys_failure(tmp_path: Path) -> None:
    plain = '[project]\nname = "m"\nversion = "1"\n'
    asked = calls({"call": "m:f", "args": [3], "returns": 6}, {"call": "m:f", "args": [4], "returns": 8})
    trial = Trial(tmp_path, {**BASE, "pyproject.toml": plain}, asked)
    contract = await trial.seal()
    needs = {"m.py": "import no_such_thing\n\n\ndef f(x):\n    return 2 * x\n"}
    declares = {**needs, "pyproject.toml": plain + 'dependencies = ["no-such-thing"]\n'}
    declared = await trial.prove(contract, await trial.head(declares))
    assert only(declared).grade is Grade.UNJUDGED
    assert any("dependencies changed: +no-such-thing" in one for one in declared.undecided)
    undeclared = await trial.prove(contract, await trial.head(needs))
    assert only(undeclared).grade is Grade.REFUTED


@pytest.mark.slow
async def test_other_changes_of_a_manifest_are_no_change_of_what_it_declares(tmp_path: Path) -> None:
    trial = Trial(tmp_path, {**BASE, "pyproject.toml": '[project]\nname = "m"\ndependencies = ["a", "b>2"]\n'}, [])
    await trial.workspace.begin()
    head = await trial.head({"pyproject.toml": '[project]\nname = "n"\ndependencies = ["b>2", "a"]\n'})
    assert (await declared_changes(trial.workspace, trial.workspace.base, head)).other == ()


def test_secrets_do_not_go_with_the_way_to_a_registry(tmp_path: Path) -> None:
    file = tmp_path / "pip.conf"
    file.write_text(
        "[global]\nindex-url: https://me:pass@example.org/simple\nextra-index-url:\n  https://a\n  https://b\n"
    )
    environ = {"PIP_PASSWORD": "x", "UV_DEFAULT_INDEX": "https://u:p@h", "HTTPS_PROXY": "http://p:1", "AWS_KEY": "k"}
    assert registries(environ, [file]) == {"PIP_EXTRA_INDEX_URL": "https://a https://b", "HTTPS_PROXY": "http://p:1"}


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
async def test_an_environment_is_built_once_from_the_bases_lock_and_is_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It uses the registry that this machine is set to use."""
    manifest = '[project]\nname = "m"\nversion = "1"\ndependencies = ["six>=1.10"]\n'
    lock = 'version = 1\n\n[[package]]\nname = "six"\nversion = "1.16.0"\n'
    code = "import six\n\n\ndef f(x):\n    return x if six.PY3 else None\n"
    base = {"m.py": code, "pyproject.toml": manifest, "uv.lock": lock}
    monkeypatch.setenv("VIRTUAL_ENV", str(bare_interpreter(tmp_path / "bare")))
    trial = Trial(tmp_path / "t", base, calls({"call": "m:f", "args": [3], "returns": 6}))
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal()
    (built,) = [one for one in (tmp_path / "kept" / "environments").iterdir() if one.is_dir()]
    assert f"environment {built.name[:12]}" in contract.interpreter
    assert any(one.versions.get("six") == "1.16.0" for one in contract.base_facts)
    meddling = code.replace("return x if", "return 2 * x if") + f"\n\nopen({str(built / 'x')!r}, 'w')\n"
    broken = await trial.prove(contract, await trial.head({"m.py": meddling}))
    assert only(broken).grade is Grade.REFUTED
    verdict = await trial.prove(contract, await trial.head({"m.py": code.replace("return x if", "return 2 * x if")}))
    assert only(verdict).grade is Grade.PROVEN
    before = (built / "complete").stat().st_mtime_ns
    again = await seal(trial.workspace, trial.asked, SealTerms(held_out=True), tell=quiet)
    assert again.interpreter == contract.interpreter
    assert (built / "complete").stat().st_mtime_ns == before


# -- services ----------------------------------------------------------------------------------------------------------

SERVICE = """
import http.server, os
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"2")
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(os.environ["NUMBERS_PORT"])), Answer).serve_forever()
"""
CLIENT = (
    "import os, urllib.request\n\n\ndef f(x):\n    n = {n}\n    return n * x\n"
    '\n\ndef number():\n    place = "http://127.0.0.1:" + os.environ["NUMBERS_PORT"]\n'
    "    return int(urllib.request.urlopen(place).read())\n"
)


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
async def test_services_are_up_for_checks_that_may_use_the_loopback(tmp_path: Path) -> None:
    checks = [{"kind": "tests", "files": ["tests/test_m.py"], "network": "loopback"}]
    service = {"command": ["python", "numbers_service.py"], "port_env": "NUMBERS_PORT", "ready": {"status": 200}}
    base = {"m.py": CLIENT.format(n=1), "tests/test_m.py": TESTS, "numbers_service.py": SERVICE}
    trial = Trial(tmp_path / "a", base, [{"id": "r", "text": "x", "checks": checks}], services=[service])
    contract = await trial.seal()
    verdict = await trial.prove(contract, await trial.head({"m.py": CLIENT.format(n="number()")}))
    assert only(verdict).grade is Grade.TESTED, (only(verdict).why, [one.tried for one in verdict.evidence])
    missing = {**service, "command": ["no-such-service"], "ready": {"within_s": 1}}
    broken = Trial(tmp_path / "b", base, [{"id": "r", "text": "x", "checks": checks}], services=[missing])
    (fact, *_) = (await broken.seal()).base_facts
    assert {one.outcome for one in fact.tried} == {Outcomes.UNJUDGED}
    assert "no-such-service did not start" in fact.why_void


@pytest.mark.spec("DAY-2", "LAW-4")
def test_checks_find_programs_where_the_users_path_has_them_and_every_sandbox_shows_them(tmp_path: Path) -> None:
    """Go in /usr/local/go/bin, its usual place, is found; folders of HOME, checkouts and paths with `..` are not."""
    path = (
        "/home/ann/go/bin:.:/usr/local/go/bin:node_modules/.bin:/usr/bin:/opt/tools/bin:/usr/../home/ann/bin::/tmp/bin"
    )
    assert machine_path(path, "/home/ann") == f"{SYSTEM_PATH}:/usr/local/go/bin:/opt/tools/bin"
    assert machine_path("", "") == SYSTEM_PATH
    own = "/opt/svc/.local/bin:/usr/src/app/node_modules/.bin:/opt/tools/bin"
    assert machine_path(own, "/opt/svc") == f"{SYSTEM_PATH}:/opt/tools/bin"


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize(
    ("command", "tools"),
    [
        ("make build && npm run coverage", set()),
        ("ruff check . && python -m mypy src", {"ruff", "mypy"}),
        ("CI=1 uv run --no-sync ruff check", {"uv", "ruff"}),
        ("git ls-files '*.py' | xargs .venv/bin/flake8", {"flake8"}),
        ("tox -e build", {"tox"}),
    ],
)
def test_a_tool_is_started_where_a_program_stands(command: str, tools: set[str]) -> None:
    asked = Requirement(id="r", text="x", checks=(CommandCheck(command=command),))
    contract = Contract.model_construct(base="b", requirements=(asked,), suites=())
    assert started_tools(contract) == tools
