"""A package that is installed for the checks counts for nothing unless a manifest of the change declares it."""

import json
from pathlib import Path

import pytest

from tests.proof.room.test_additions import _Npm, npm  # noqa: F401  (a fixture)
from tests.proof.trial import Change, Trial, asked_three, bare_interpreter
from trued.model import Grade

PROJECT = '[project]\nname = "kit"\nversion = "1"\ndependencies = {}\n'
NONE, RICH = PROJECT.format([]), PROJECT.format('["richer"]')
ONE = "def one():\n    return 1\n"
THREE = "import richest\n\n\ndef three():\n    return richest.three()\n"
LATE = "def three():\n    import richest\n\n    return richest.three()\n"
# distribution → its files and what it needs
INSTALLED: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "richer": ({"richest/__init__.py": "def three():\n    return 3\n"}, ("under", 'extra-one; extra == "more"')),
    "under": ({"under.py": "def three():\n    return 3\n"}, ()),
    "extra-one": ({"extra_module.py": "def three():\n    return 3\n"}, ()),
    "shared-a": ({"shared/a/__init__.py": "def three():\n    return 3\n"}, ()),
    "shared-b": ({"shared/b/__init__.py": "def three():\n    return 3\n"}, ()),
}


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's Python has some packages."""
    environment = bare_interpreter(tmp_path / "venv")
    site = next(environment.glob("lib/python*/site-packages"))
    for name, (files, needs) in INSTALLED.items():
        about = site / f"{name.replace('-', '_')}-1.0.dist-info"
        about.mkdir(parents=True)
        lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0", *(f"Requires-Dist: {need}" for need in needs)]
        (about / "METADATA").write_text("\n".join(lines) + "\nProvides-Extra: more\n")
        (about / "RECORD").write_text("".join(f"{path},,\n" for path in files))
        for path, text in files.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text)
    monkeypatch.setenv("VIRTUAL_ENV", str(environment))


pytestmark = [pytest.mark.usefixtures("_installed"), pytest.mark.spec("LAW-4", "LAW-8", "DAY-2")]


async def graded(
    place: Path, base: Change, head: Change, call: str = "kit:three", **environment: object
) -> tuple[Grade, str]:
    trial = Trial(place / "trial", base, asked_three(call), **environment)
    trial.workspace.environments = None  # nothing can be installed
    (judged,) = await trial.judged(await trial.seal(), head)
    return judged.grade, " ".join(judged.why)


Files = dict[str, str | None]


def base(**manifests: str) -> Files:
    """A base with `kit.py` and these manifests: `pyproject_toml` stands for `pyproject.toml`."""
    return {"kit.py": ONE, **{name.replace("_", "."): text for name, text in manifests.items()}}


BASE, DECLARED = base(pyproject_toml=NONE), base(pyproject_toml=RICH)
WORK: Files = {"kit.py": THREE}
BY_ANOTHER: Files = {"kit.py": "from more import three\n"}
NEEDING = f"try:\n    import richest\nexcept ImportError:\n    raise SystemExit('pip install richer')\n{LATE}"
FOR_DEVELOPERS = '[dependency-groups]\ndev = ["richer"]\n'
OWN = "def three():\n    return 3\n"
BUILD = '[build-system]\nrequires = ["setuptools", "richer"]\n'
ELSEWHERE = "sys_platform == 'nowhere'"  # a marker that holds on no system
RICH_ELSEWHERE = PROJECT.format(f'["richer; {ELSEWHERE}"]')
POETRY_ELSEWHERE = '[tool.poetry]\nname = "kit"\n[tool.poetry.dependencies]\nricher = {version = "*", '
PROGRAM = "#!/usr/bin/env python3\nimport richest\n\nprint(richest.three())\n"
LIARS: dict[str, tuple[Files, Files]] = {
    "undeclared": (BASE, WORK),
    "inside a function": (BASE, {"kit.py": LATE}),
    "in a package that has a module of that name": (
        {**BASE, "shop/__init__.py": "", "shop/richest.py": ""},
        {"kit.py": "from shop.work import three\n", "shop/work.py": THREE},
    ),
    "another part than the base's": (
        {**BASE, "old.py": "from shared import a\n"},
        {"kit.py": THREE.replace("import richest", "from shared import b as richest")},
    ),
    "needed at once": (BASE, {"kit.py": NEEDING}),
    "in a new file": (BASE, {**BY_ANOTHER, "more.py": THREE}),
    "no longer declared": ({**DECLARED, "kit.py": "import richest\n"}, {**WORK, "pyproject.toml": NONE}),
    "no longer declared, in a file that stays": (
        {**DECLARED, "more.py": THREE},
        {**BY_ANOTHER, "pyproject.toml": NONE},
    ),
    "no manifest any more": (base(requirements_txt="richer\n"), {**WORK, "requirements.txt": None}),
    "for developers only": (base(pyproject_toml=NONE + FOR_DEVELOPERS), WORK),
    "what another package needs only for an extra": (DECLARED, {"kit.py": THREE.replace("richest", "extra_module")}),
    "an empty list": (base(requirements_txt="# nothing\n"), WORK),
    "all new": ({"README.md": "x\n"}, {"pyproject.toml": NONE, **WORK}),
    "a part of a shared name": (
        base(requirements_txt="shared-a\n"),
        {"kit.py": THREE.replace("import richest", "from shared import b as richest")},
    ),
    "declared in another project": (
        {"a/pyproject.toml": NONE, "a/kit.py": ONE, "b/pyproject.toml": RICH, "b/other.py": ONE},
        {"a/kit.py": THREE},
    ),
    "for another system": (base(pyproject_toml=RICH_ELSEWHERE), WORK),
    "for another system, in a list": (base(requirements_txt=f"richer>=1 ; {ELSEWHERE} --hash=sha256:00\n"), WORK),
    "for another Python": (base(requirements_txt="richer; python_version < '3'\n"), WORK),
    "for another Python, by Poetry": (base(pyproject_toml=POETRY_ELSEWHERE + 'python = "~2.7"}\n'), WORK),
    "for another system, by Poetry": (base(pyproject_toml=POETRY_ELSEWHERE + f'markers = "{ELSEWHERE}"}}\n'), WORK),
    "for another system, by a Pipfile": (
        base(Pipfile="[packages]\nricher = {version = '*', sys_platform = \"== 'nowhere'\"}\n"),
        WORK,
    ),
    "from now on for another system": ({**DECLARED, "kit.py": ONE}, {**WORK, "pyproject.toml": RICH_ELSEWHERE}),
    "from now on for another system, in a file that stays": (
        {**DECLARED, "more.py": THREE},
        {**BY_ANOTHER, "pyproject.toml": RICH_ELSEWHERE},
    ),
    "for another system, where only the base asks": (
        {
            **base(pyproject_toml=RICH_ELSEWHERE),
            "old.py": f"import sys\n\nif {ELSEWHERE.replace('_', '.')}:\n    import richest\n",
        },
        WORK,
    ),
    "for the build only": (base(pyproject_toml=NONE + BUILD), WORK),
    "for the build only, in setup.cfg": (
        base(setup_cfg="[metadata]\nname = kit\n[options]\nsetup_requires = richer\n"),
        WORK,
    ),
    "in a program without an ending": (BASE, {"kit.py": OWN, "bin/tool": PROGRAM}),
    "no longer declared, in a program that stays": (
        {**DECLARED, "bin/tool": PROGRAM},
        {"kit.py": OWN, "pyproject.toml": NONE},
    ),
}
SETUP = "from setuptools import setup\nsetup(name='kit', install_requires={})\n"
ASKING = """def table():
    try:
        import richest
    except ImportError as error:
        raise RuntimeError("pip install richer") from error
    return richest


def three():
    return 3
"""
POETRY = '[tool.poetry]\nname = "kit"\n[tool.poetry.dependencies]\nricher = "*"\n'
OPTIONAL = NONE + '[project.optional-dependencies]\nmore = ["richer"]\n'
CFG = "[metadata]\nname = kit\n[options]\ninstall_requires =\n  richer\n"
LIST_OF_SETUP = base(setup_py=SETUP.format("open('requirements.txt').read()"), requirements_txt="richer\n")
DYNAMIC = '[project]\nname = "kit"\nversion = "1"\ndynamic = ["dependencies"]\n'
DYNAMIC += '[tool.setuptools.dynamic]\ndependencies = {file = ["needs.txt"]}\n'
HONEST: dict[str, tuple[Files, Files]] = {
    "declared": (DECLARED, WORK),
    "declared now": (BASE, {**WORK, "pyproject.toml": RICH}),
    "no manifest": (base(), WORK),
    "settings of tools only": ({**base(pyproject_toml="[tool.ruff]\n"), "requirements-dev.txt": "ruff\n"}, WORK),
    "a list": (base(requirements_txt="Richer>=1\n"), WORK),
    "a project with a list": (base(pyproject_toml=NONE, requirements_txt="richer\n"), WORK),
    "a list without code": ({**BASE, "docker/requirements.txt": "richer\n"}, WORK),
    "a Dockerfile": (base(pyproject_toml=NONE, Dockerfile="RUN pip install richer\n"), WORK),
    "conda": (base(pyproject_toml=NONE, environment_yml="dependencies:\n  - richer\n"), WORK),
    "setup.cfg": (base(setup_cfg=CFG), WORK),
    "setup.py that reads a list": (LIST_OF_SETUP, WORK),
    "setup.py that computes": (base(setup_py=SETUP.format("load('x')")), WORK),
    "a list that the manifest names": (base(pyproject_toml=DYNAMIC, needs_txt="richer\n"), WORK),
    "poetry": (base(pyproject_toml=POETRY), WORK),
    "an extra for users": (base(pyproject_toml=OPTIONAL), {"kit.py": LATE}),
    "what a declared package needs": (DECLARED, {"kit.py": THREE.replace("richest", "under")}),
    "what an extra asks for": (
        base(pyproject_toml=PROJECT.format('["richer[more]"]')),
        {"kit.py": THREE.replace("richest", "extra_module")},
    ),
    "as the base's code": ({**BASE, "old.py": "import richest\n"}, WORK),
    "optional": (BASE, {"kit.py": "try:\n    import richest\nexcept ImportError:\n    richest = None\n\n\n" + OWN}),
    "asked for in a function": (BASE, {"kit.py": ASKING}),
    "for types": (
        BASE,
        {"kit.py": f"from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import richest\n{OWN}"},
    ),
    "only tests": (BASE, {"kit.py": ONE + OWN, "tests/test_kit.py": THREE}),
    "only tools": (BASE, {"kit.py": ONE + OWN, "noxfile.py": THREE, "docs/conf.py": THREE}),
    "a script with its own manifest": (BASE, {"kit.py": f"# /// script\n# dependencies = ['richer']\n# ///\n{THREE}"}),
    "a module of the project": (BASE, {**WORK, "richest.py": OWN}),
    "a shared name": (
        base(requirements_txt="shared-a\n"),
        {"kit.py": THREE.replace("import richest", "from shared import a as richest")},
    ),
    "for this Python": (base(pyproject_toml=PROJECT.format("['richer; python_version >= \"3.8\"']")), WORK),
    "for this Python, by Poetry": (base(pyproject_toml=POETRY_ELSEWHERE + 'python = ">=3.8,<4"}\n'), WORK),
    "for some Pythons, by Poetry": (base(pyproject_toml=POETRY_ELSEWHERE + 'python = "~2.7 || ^3.8"}\n'), WORK),
    "for every system but one": (base(requirements_txt="richer ; sys_platform not in 'nowhere'  # so\n"), WORK),
    "for another system, asked for by the system": (
        base(pyproject_toml=RICH_ELSEWHERE),
        {"kit.py": f"import sys\n\nif {ELSEWHERE.replace('_', '.')}:\n    import richest\n\n\n{OWN}"},
    ),
    "for an older Python, in place of its own module": (
        base(requirements_txt="richer; python_version < '3.0'\n"),
        {"kit.py": f"try:\n    import json\nexcept ImportError:\n    import richest as json\n\n\n{OWN}"},
    ),
    "for another system, as the base's code": (
        {**base(pyproject_toml=RICH_ELSEWHERE), "old.py": "import richest\n"},
        WORK,
    ),
    "for the build, too": (base(pyproject_toml=RICH + BUILD), WORK),
    "only the build": (
        base(pyproject_toml=NONE + BUILD),
        {"kit.py": OWN, "setup.py": "import richest\nfrom setuptools import setup\nsetup(name='kit')\n"},
    ),
    "a declared program without an ending": (DECLARED, {"kit.py": OWN, "bin/tool": PROGRAM}),
    "a program of another language": (BASE, {"kit.py": OWN, "bin/tool": PROGRAM.replace("python3", "x")}),
    "a text without an ending": (BASE, {"kit.py": OWN, "NOTES": "import richest\n"}),
    "as the base's program": ({**BASE, "bin/old": PROGRAM}, {"kit.py": OWN, "bin/tool": PROGRAM}),
    "a project below another": ({**DECLARED, "sub/pyproject.toml": NONE, "sub/__init__.py": ""}, WORK),
    "moved to another manifest": (DECLARED, {**WORK, "pyproject.toml": NONE, "requirements.txt": "richer\n"}),
}


@pytest.mark.many(3)
@pytest.mark.parametrize("liar", LIARS)
async def test_what_no_manifest_declares_is_tested_at_most(tmp_path: Path, liar: str) -> None:
    grade, why = await graded(tmp_path, *LIARS[liar])
    assert grade is Grade.TESTED, why
    assert " imports " in why


@pytest.mark.many(4)
@pytest.mark.parametrize("honest", HONEST)
async def test_what_a_manifest_declares_is_proven(tmp_path: Path, honest: str) -> None:
    grade, why = await graded(tmp_path, *HONEST[honest])
    assert grade is Grade.PROVEN, why


async def test_the_reason_names_package_place_and_the_line_to_add(tmp_path: Path) -> None:
    _, why = await graded(tmp_path / "a", BASE, {"kit.py": LATE})
    where, line = (
        "kit.py:2 imports richest, which no manifest declares",
        '`"richer"` to `dependencies` in pyproject.toml',
    )
    assert f"{where} (add {line})" in why
    _, why = await graded(tmp_path / "b", base(requirements_txt="under\n"), WORK)
    assert "kit.py:1 imports richest" in why
    assert "add the line `richer` to requirements.txt" in why
    _, why = await graded(tmp_path / "c", *LIARS["for developers only"])
    assert "only developers" in why


async def test_a_script_for_developers_counts_if_a_case_calls_it(tmp_path: Path) -> None:
    grade, why = await graded(tmp_path / "a", BASE, {"tools/say.py": THREE}, "tools.say:three")
    assert grade is Grade.TESTED, why
    for_developers = base(pyproject_toml=NONE + FOR_DEVELOPERS)
    grade, why = await graded(tmp_path / "b", for_developers, {"tools/say.py": THREE}, "tools.say:three")
    assert grade is Grade.PROVEN, why


async def test_a_package_of_the_requirements_file_is_declared(tmp_path: Path) -> None:
    grade, why = await graded(tmp_path, BASE, WORK, packages=["richer"])
    assert grade is Grade.PROVEN, why


def package(*names: str, **more: object) -> Files:
    return {"package.json": json.dumps({"dependencies": dict.fromkeys(names, "1.0.0"), **more})}


UP = "exports.up = (word) => word;\n"
OF_UP = "exports.up = require('{}').up;\n"


@pytest.mark.slow
async def test_a_package_that_lies_in_node_modules_for_another_one_is_tested_at_most(
    tmp_path: Path,
    npm: None,  # noqa: F811
) -> None:
    _Npm.packages["kit"] = {"1.0.0": "exports.up = () => 'oxen';\n"}
    _Npm.packages["under"] = {"1.0.0": "exports.up = () => 'oxen';\n"}
    cases = [{"call": "up.js:up", "args": ["ox"], "returns": "oxen"}]
    asked = [{"id": "r", "text": "up('ox') is 'oxen'", "checks": [{"kind": "examples", "cases": cases}]}]
    trial = Trial(tmp_path / "trial", {**package("kit"), "up.js": UP, "old.js": "require('kit');\n"}, asked)
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal()
    tried = "try { require('under') } catch {}\n"
    honest: dict[str, Files] = {
        "declared": {"up.js": OF_UP.format("kit")},
        "declared now": {**package("kit", "under"), "up.js": OF_UP.format("under")},
        "for developers": {**package("kit", devDependencies={"under": "1.0.0"}), "up.js": OF_UP.format("under")},
        "optional": {"up.js": tried + OF_UP.format("kit")},
        "a test": {"up.js": OF_UP.format("kit"), "up.test.js": "require('under');\n"},
    }
    liars: dict[str, Files] = {
        "undeclared": {"up.js": OF_UP.format("under")},
        "no longer declared": {**package(), "up.js": OF_UP.format("kit")},
        "no longer declared, in a file that stays": {**package("under"), "up.js": OF_UP.format("under")},
    }
    for name, head in (honest | liars).items():
        (judged,) = await trial.judged(contract, head)
        assert judged.grade is (Grade.PROVEN if name in honest else Grade.TESTED), (name, judged.why)
    assert any("old.js:1 imports kit" in why for why in judged.why)
    assert any("`dependencies` in package.json" in why for why in judged.why)
