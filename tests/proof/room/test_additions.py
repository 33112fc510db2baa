"""Packages that a head declares are installed for its checks, replace nothing that judges, and are named if missing."""

import io
import json
import shutil
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

from tests.proof.trial import Trial, only, quiet
from trued.model import Grade, Verdict
from trued.model.events import JournalEvent
from trued.model.events.proof import EnvironmentBuilding
from trued.proof.prove import prove
from trued.proof.room.environment import choose_environment
from trued.proof.verdict.notes import fact_notes
from trued.protocols import Emit

CASES = {"kind": "examples", "cases": [{"call": "up:up", "args": ["ox"], "returns": "oxen"}]}
OWN = {"kind": "tests", "command": "python -m pytest -q tests/test_up.py"}
COMMAND = {"kind": "command", "command": 'python -c \'import up; assert up.up("ox") == "oxen"\''}
UP = "import inflexion\n\n\ndef up(word):\n    return inflexion.plural(word)\n"
TEST = "import inflexion\nfrom up import up\n\n\ndef test_up():\n    assert up('ox') == inflexion.plural('ox')\n"


def wheel(folder: Path, name: str, files: dict[str, str], version: str = "1.0") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    about = f"{name}-{version}.dist-info"
    meta = {
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    every = {**files, **meta}
    record = "".join(f"{path},,\n" for path in [*every, f"{about}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        for path, text in {**every, f"{about}/RECORD": record}.items():
            file.writestr(path, text)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nobody listens."""


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package index on loopback, the only one that installers use."""
    place = tmp_path / "index"
    place.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(place)))
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.setenv("PIP_INDEX_URL", address)
    monkeypatch.setenv("UV_DEFAULT_INDEX", address)
    yield place
    server.shutdown()
    server.server_close()


async def verdict_on(
    place: Path, head: dict[str, str | None], check: Mapping[str, object], tell: Emit = quiet
) -> Verdict:
    trial = Trial(place / "t", {"README.md": "x\n"}, [{"id": "r", "text": "up('ox') is 'oxen'", "checks": [check]}])
    trial.workspace.kept = trial.workspace.environments = place / "kept"
    contract, commit = await trial.seal(), await trial.head(head)
    return await prove(trial.workspace, contract, ["r"], commit, subject="all", tell=tell)


@pytest.mark.slow
@pytest.mark.spec("DAY-2", "LAW-4")
@pytest.mark.parametrize(
    ("check", "grade"),
    [(CASES, Grade.PROVEN), (OWN, Grade.SELF_TESTED), (COMMAND, Grade.TESTED)],
    ids=["cases", "own tests", "command"],
)
async def test_what_the_head_declares_is_installed_for_its_evidence_and_recorded(
    tmp_path: Path, registry: Path, check: Mapping[str, object], grade: Grade
) -> None:
    wheel(registry / "inflexion", "inflexion", {"inflexion.py": "def plural(word):\n    return word + 'en'\n"})
    head = {"up.py": UP, "requirements.txt": "inflexion\n", "tests/test_up.py": TEST}
    verdict = await verdict_on(tmp_path, {**head}, check)
    assert only(verdict).grade is grade, (only(verdict).why, verdict.undecided)
    assert any(one.versions.get("inflexion") == "1.0" for one in verdict.evidence if one.side == "head")
    assert any("inflexion 1.0" in one for one in fact_notes(verdict))


@pytest.mark.slow
@pytest.mark.spec("DAY-2")
async def test_a_package_that_nobody_has_does_not_take_the_others_with_it(tmp_path: Path, registry: Path) -> None:
    wheel(registry / "inflexion", "inflexion", {"inflexion.py": "def plural(word):\n    return word + 'en'\n"})
    told: list[JournalEvent] = []
    head: dict[str, str | None] = {"up.py": UP, "requirements.txt": "nowhere-at-all\ninflexion\n"}
    verdict = await verdict_on(tmp_path, head, CASES, told.append)
    assert only(verdict).grade is Grade.PROVEN, (only(verdict).why, verdict.undecided)
    assert any("nowhere-at-all" in one for one in verdict.undecided)
    waits = [one.packages for one in told if isinstance(one, EnvironmentBuilding)]
    assert waits == [("nowhere-at-all", "inflexion")]  # the event comes before the build, which takes time


@pytest.mark.slow
@pytest.mark.spec("DAY-2", "LAW-11")
async def test_an_environment_is_said_to_be_built_from_what_declared_something(tmp_path: Path, registry: Path) -> None:
    wheel(registry / "inflexion", "inflexion", {"inflexion.py": ""})
    setup = "from setuptools import setup\n\nsetup(name='up')\n"
    trial = Trial(tmp_path / "t", {"setup.py": setup, "README.md": "x\n"}, [])
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    await trial.workspace.begin()
    found = await choose_environment(trial.workspace, trial.workspace.base, ("inflexion",))
    assert found.notes == ("checks ran in an environment built from packages that the contract names",)
    assert found.interpreter.versions["inflexion"] == "1.0"


@pytest.mark.slow
@pytest.mark.spec("DAY-2", "LAW-5")
async def test_red_is_taken_again_where_the_base_lacked_only_what_the_head_declares(
    tmp_path: Path, registry: Path
) -> None:
    """A test of the user's own imports the package itself; the base does not declare it."""
    wheel(registry / "inflexion", "inflexion", {"inflexion.py": "def plural(word):\n    return word + 'en'\n"})
    base = {"up.py": "def up(word):\n    return word\n", "tests/test_up.py": TEST}
    check = {"kind": "tests", "files": ["tests/test_up.py"]}
    trial = Trial(tmp_path / "t", base, [{"id": "r", "text": "up('ox') is 'oxen'", "checks": [check]}])
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal()
    declares: dict[str, str | None] = {"requirements.txt": "inflexion\n"}
    honest = await trial.prove(contract, await trial.head({**declares, "up.py": UP}))
    assert only(honest).grade is Grade.TESTED, only(honest).why
    idle = await trial.prove(contract, await trial.head(declares))
    assert only(idle).grade is Grade.REFUTED, only(idle).why


@pytest.mark.slow
@pytest.mark.spec("DAY-2")
async def test_a_declared_package_that_no_registry_can_be_asked_for_is_named_and_is_nobodys_failure(
    tmp_path: Path, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    verdict = await verdict_on(tmp_path, {"up.py": UP, "requirements.txt": "inflexion\n"}, CASES)
    assert (verdict.grade, verdict.lacks_only_environment) == (Grade.UNJUDGED, True), only(verdict)
    assert [one.name for one in verdict.missing_from_environment] == ["inflexion"]
    assert not verdict.gaps


@pytest.mark.slow
@pytest.mark.spec("DAY-2", "LAW-6")
@pytest.mark.parametrize("declared", [True, False])
async def test_existing_tests_that_cannot_import_a_package_which_could_not_be_installed_are_nobodys_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: bool
) -> None:
    """The file cannot be collected, so no test is reported. A head that declares no package has broken the tests."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    old = "def one():\n    return 1\n"
    base = {"up.py": old, "tests/test_one.py": "from up import one\n\n\ndef test_one():\n    assert one() == 1\n"}
    cases = [{"call": "up:twice", "args": [n], "returns": 2 * n} for n in (3, 5)]
    required: list[dict[str, Any]] = [
        {"id": "twice", "text": "twice(n) doubles", "checks": [{"kind": "examples", "cases": cases}]}
    ]
    tests = {"kind": "tests", "command": "python -m pytest -q", "files": ["tests/test_one.py"]}
    required.append({"id": "one", "text": "one stays", "keep": True, "checks": [tests]})
    head = {"up.py": f"import inflexion\n\n\n{old}\n\ndef twice(n):\n    return n and inflexion and 2 * n\n"}
    head |= {"requirements.txt": "inflexion\n"} if declared else {}
    verdict = await Trial(tmp_path, base, required).verdict(head)
    grades = {one.id: one.grade for one in verdict.requirements}
    assert grades["one"] is (Grade.UNJUDGED if declared else Grade.REFUTED), grades
    assert verdict.lacks_only_environment is declared


@pytest.mark.spec("DAY-2")
@pytest.mark.parametrize("declared", [{}, {"requirements.txt": "inflexion-of-nowhere\n"}], ids=["not", "in vain"])
@pytest.mark.many(1)
async def test_a_head_that_imports_what_it_does_not_declare_or_what_nobody_has_is_told_which(
    tmp_path: Path, registry: Path, declared: dict[str, str | None]
) -> None:
    code = UP if not declared else UP.replace("inflexion", "inflexion_of_nowhere")
    verdict = await verdict_on(tmp_path, {"up.py": code, **declared}, CASES)
    assert (verdict.grade, verdict.lacks_only_environment) == (Grade.REFUTED, False)
    assert any("inflexion" in one.what for one in verdict.gaps), verdict.gaps


LIES = {
    "start-up": {"zz_evil.pth": "import evil_start\n", "evil_start.py": "import builtins\n"},
    "customize": {"sitecustomize.py": "raise SystemExit(0)\n", "usercustomize.py": "raise SystemExit(0)\n"},
    "runner": {
        "pytest.py": "raise SystemExit(0)\n",
        "_pytest/__init__.py": "raise SystemExit(0)\n",
        "pluggy.py": "raise SystemExit(0)\n",
        "unittest.py": "raise SystemExit(0)\n",
    },
    "program": {"evil-1.0.data/scripts/cat": "#!/bin/sh\necho oxen\n"},
    "plugin": {
        "evil_plugin.py": (
            "def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n"
            "def pytest_pyfunc_call(pyfuncitem):\n    return True\n"
        ),
        "evil-1.0.dist-info/entry_points.txt": "[pytest11]\nevil = evil_plugin\n",
    },
}


@pytest.mark.slow
@pytest.mark.spec("DAY-2", "LAW-4")
async def test_a_declared_package_that_would_replace_what_judges_raises_nothing(tmp_path: Path, registry: Path) -> None:
    """The package has start-up hooks, a runner, a plugin and programs; failing checks still fail."""
    wheel(registry / "evil", "evil", {path: text for files in LIES.values() for path, text in files.items()})
    base = {
        "up.py": "def up(word):\n    return word\n",
        "tests/test_up.py": "from up import up\n\n\ndef test_up():\n    assert up('ox') == 'oxen'\n",
    }
    check = {"kind": "tests", "files": ["tests/test_up.py"]}
    line = {"kind": "examples", "cases": [{"run": ["cat", "notes.txt"], "stdout": "oxen\n"}]}
    trial = Trial(tmp_path / "t", base, [{"id": "r", "text": "x", "checks": [check, CASES, line]}])
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal()
    liar = await trial.prove(contract, await trial.head({"requirements.txt": "evil\n", "notes.txt": "done\n"}))
    assert any("evil 1.0" in one for one in liar.undecided), liar.undecided
    assert only(liar).grade is Grade.REFUTED
    failed = [one.id for fact in liar.evidence for one in fact.tried if one.outcome == "failed"]
    assert sorted(failed) == ["case 1"] * 4 + ["tests/test_up.py::test_up"] * 2


# -- Node --------------------------------------------------------------------------------------------------------------


class _Npm(BaseHTTPRequestHandler):
    """A registry of packages with one file each: name and version → its text."""

    packages: ClassVar[dict[str, dict[str, str]]] = {}
    needs: ClassVar[dict[str, dict[str, str]]] = {"kit": {"under": "1.0.0"}}  # what a package needs, if both are there

    def do_GET(self) -> None:
        name, _, version = self.path.strip("/").partition("/-/")
        known = self.packages.get(name)
        if known is None:
            self.send_error(404)
            return
        body = _tarball(name, version, known[version]) if version else self._about(name, known)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _about(self, name: str, known: dict[str, str]) -> bytes:
        host = self.headers["Host"]
        needs = {other: version for other, version in self.needs.get(name, {}).items() if other in self.packages}
        versions = {
            one: {
                "name": name,
                "version": one,
                "dist": {"tarball": f"http://{host}/{name}/-/{one}"},
                "dependencies": needs,
            }
            for one in known
        }
        return json.dumps({"name": name, "dist-tags": {"latest": max(known)}, "versions": versions}).encode()

    def log_message(self, format: str, *args: object) -> None:
        """Nobody listens."""


def _tarball(name: str, version: str, text: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        manifest = json.dumps({"name": name, "version": version, "main": "index.js"})
        for path, content in (("package/package.json", manifest), ("package/index.js", text)):
            about = tarfile.TarInfo(path)
            about.size, about.mode = len(content.encode()), 0o644
            archive.addfile(about, io.BytesIO(content.encode()))
    return made.getvalue()


@pytest.fixture
def npm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    monkeypatch.setattr(
        _Npm,
        "packages",
        {
            "plurals": {"1.0.0": "exports.plural = (word) => word + 'en';\n"},
            "kit": {"1.0.0": "exports.up = (word) => word;\n", "2.0.0": "exports.up = () => 'oxen';\n"},
        },
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Npm)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{server.server_address[1]}/")
    yield
    server.shutdown()
    server.server_close()


SCRIPT = {"kind": "examples", "cases": [{"call": "up.js:up", "args": ["ox"], "returns": "oxen"}]}


@pytest.mark.slow
@pytest.mark.spec("DAY-2", "LAW-4")
async def test_packages_of_node_that_the_head_declares_are_installed_and_replace_none_of_the_bases(
    tmp_path: Path, npm: None
) -> None:
    base = {
        "package.json": json.dumps({"dependencies": {"kit": "1.0.0"}}),
        "up.js": "exports.up = require('kit').up;\n",
    }
    trial = Trial(tmp_path / "t", base, [{"id": "r", "text": "up('ox') is 'oxen'", "checks": [SCRIPT]}])
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal()
    more = json.dumps({"dependencies": {"kit": "1.0.0", "plurals": "1.0.0"}})
    honest = {"package.json": more, "up.js": "exports.up = require('plurals').plural;\n"}
    verdict = await trial.prove(contract, await trial.head(honest))
    assert only(verdict).grade is Grade.PROVEN, (only(verdict).why, verdict.undecided, verdict.evidence[0].tried)
    assert any("plurals" in one for one in verdict.undecided)
    # a package that the base declares stays in the base's version
    other = json.dumps({"dependencies": {"kit": "2.0.0", "plurals": "1.0.0"}})
    liar = await trial.prove(contract, await trial.head({"package.json": other}))
    assert only(liar).grade is Grade.REFUTED
    lost = json.dumps({"dependencies": {"kit": "1.0.0", "nowhere": "1.0.0"}})
    vain = {"package.json": lost, "up.js": "exports.up = require('nowhere').up;\n"}
    assert [one.name for one in (await trial.prove(contract, await trial.head(vain))).missing_from_environment] == [
        "nowhere"
    ]


@pytest.mark.slow
@pytest.mark.spec("DAY-2", "LAW-8")
@pytest.mark.parametrize("folder", ["shop", "other"])
async def test_a_package_that_another_project_declares_in_vain_is_no_excuse(
    tmp_path: Path, npm: None, folder: str
) -> None:
    cases = [{"call": "shop/up.js:up", "args": ["ox"], "returns": "oxen"}]
    base: dict[str, str | None] = {f"{one}/package.json": json.dumps({"name": one}) for one in ("other", "shop")}
    base |= {"shop/up.js": "exports.up = (word) => word;\n", "other/a.js": ""}
    asked = [{"id": "r", "text": "up('ox') is 'oxen'", "checks": [{"kind": "examples", "cases": cases}]}]
    trial = Trial(tmp_path / "t", base, asked)
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    lost = json.dumps({"name": folder, "dependencies": {"nowhere": "1.0.0"}})
    verdict = await trial.verdict(
        {f"{folder}/package.json": lost, "shop/up.js": "exports.up = require('nowhere').up;\n"}
    )
    honest = folder == "shop"  # it may be right where the registry has the package
    assert only(verdict).grade is (Grade.UNJUDGED if honest else Grade.REFUTED), only(verdict).why
    assert [one.name for one in verdict.missing_from_environment] == (["nowhere"] if honest else [])


def _pinned(version: str, more: str = "") -> dict[str, str | None]:
    return {
        "requirements.txt": f"kit=={version}\n",
        "p.py": f"import kit\n\n\ndef size(x):\n    return kit.size(x)\n{more}",
    }


POWER = "\n\ndef power(x):\n    return kit.metric(x)\n"
POWER_CASE = {"kind": "examples", "cases": [{"call": "p:power", "args": [2], "returns": "2 W"}]}
SIZE_CASE = {"kind": "examples", "cases": [{"call": "p:size", "args": [2], "returns": "2 B"}]}


@pytest.mark.slow
@pytest.mark.spec("DAY-2", "LAW-8")
async def test_what_fails_without_the_version_that_the_head_declares_is_unjudged_and_judged_where_the_user_names_it(
    tmp_path: Path, registry: Path
) -> None:
    size = "def size(x):\n    return f'{x} B'\n"
    wheel(registry / "kit", "kit", {"kit.py": size}, "1.0")
    wheel(registry / "idle", "idle", {"idle.py": ""}, "1.0")
    wheel(registry / "kit", "kit", {"kit.py": f"{size}\n\ndef metric(x):\n    return f'{{x}} W'\n"}, "2.0")
    asked: list[dict[str, Any]] = [
        {"id": "power", "text": "power(x) is in watts", "checks": [POWER_CASE]},
        {"id": "size", "text": "size(x) stays", "keep": True, "checks": [SIZE_CASE]},
    ]
    honest, wrong = _pinned("2.0", POWER), _pinned("2.0", POWER.replace("(x)\n", "(x) + 'h'\n"))
    trial = Trial(tmp_path / "t", {**_pinned("1.0"), "requirements.txt": "kit==1.0\nidle==1.0\n"}, asked)
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal()
    verdict = await trial.prove(contract, await trial.head({**honest, "requirements.txt": "kit==2.0\nidle==1.0\n"}))
    power, kept = verdict.requirements
    assert (power.grade, kept.grade) == (Grade.UNJUDGED, Grade.TESTED), (power.why, kept.why)
    for one in (power, kept):
        assert "its checks used kit 1.0, and the change declares kit==2.0" in one.why[0]
        assert 'environment: {packages: ["kit==2.0"]}' in one.why[0]
    assert "case 1: it raises an error instead of returning a value" in power.why
    assert power.gaps  # an agent that changes a version does not get rid of a failure
    assert not verdict.lacks_only_environment
    liar = {**_pinned("1.0", POWER), "requirements.txt": "kit==1.0\nidle==2.0\n"}
    excused = await trial.prove(contract, await trial.head(liar))
    assert [one.grade for one in excused.requirements] == [Grade.REFUTED, Grade.TESTED], "nothing imports idle"
    assert any("-kit==1.0; checks still used kit 1.0" in one for one in verdict.undecided)
    same = await trial.prove(contract, await trial.head(_pinned("1.0", POWER)))
    assert [one.grade for one in same.requirements] == [Grade.REFUTED, Grade.PROVEN]

    named = Trial(tmp_path / "named", _pinned("1.0"), asked, packages=("kit==2.0",))
    named.workspace.kept = named.workspace.environments = tmp_path / "kept"
    contract = await named.seal()
    for head, grade in ((honest, Grade.PROVEN), (wrong, Grade.REFUTED)):
        judged = (await named.prove(contract, await named.head(head))).requirements
        assert [one.grade for one in judged] == [grade, Grade.PROVEN], [one.why for one in judged]

    check = {"kind": "command", "command": "python check.py", "files": ["check.py"]}
    base = {**_pinned("1.0"), "check.py": "import p\n\nassert p.size(2) == '2 B'\n"}
    forged = Trial(tmp_path / "forged", base, [{"id": "r", "text": "size stays", "checks": [check]}])
    forged.workspace.kept = forged.workspace.environments = tmp_path / "kept"
    contract = await forged.seal()
    for meddling, grade in (("", Grade.UNJUDGED), ("open('check.py', 'w').close()\n", Grade.REFUTED)):
        head = _pinned("2.0", f"\n\n{meddling}kit.metric(2)\n")
        assert [one.grade for one in await forged.judged(contract, head)] == [grade]


RUFF = {
    "ruff.py": "import sys\n\n\ndef main():\n    sys.exit('bad()' in open('a.py').read())\n\n\n"
    "if __name__ == '__main__':\n    main()\n",
    "ruff-1.0.dist-info/entry_points.txt": "[console_scripts]\nruff = ruff:main\n",
}


@pytest.mark.many(1)
@pytest.mark.spec("DAY-2", "LAW-4")
@pytest.mark.parametrize("command", ["python -m ruff check .", "ruff check ."])
async def test_a_tool_that_the_base_declares_and_a_command_starts_is_installed_and_judges(
    tmp_path: Path, registry: Path, command: str
) -> None:
    wheel(registry / "ruff", "ruff", RUFF)
    base = {"requirements-dev.txt": "ruff\n", "a.py": "def one():\n    return 1\n\n\nbad()\n"}
    asked = [{"id": "lint", "text": "ruff finds nothing", "checks": [{"kind": "command", "command": command}]}]
    trial = Trial(tmp_path / "t", base, asked)
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal()
    honest, idle, lying = await trial.judged(
        contract,
        {"a.py": "def one():\n    return 1\n"},
        {"b.py": ""},
        # its own ruff, and none in the manifest
        {"ruff.py": "", "requirements-dev.txt": "", "ruff": "#!/bin/sh\n"},
    )
    assert (honest.grade, idle.grade) == (Grade.TESTED, Grade.REFUTED), (honest.why, idle.why)
    assert lying.grade < Grade.TESTED, lying.why
    undeclared = Trial(tmp_path / "undeclared", {"a.py": base["a.py"]}, asked)
    judged = only(await undeclared.verdict({"requirements-dev.txt": "ruff\n", "a.py": ""}))
    assert judged.grade is Grade.UNJUDGED
    assert "`environment: {packages: [ruff]}`" in judged.why[-1], judged.why
