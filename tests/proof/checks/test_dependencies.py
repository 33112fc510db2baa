"""Packages that manifests declare are read from their text, and no new one can hide in any manifest."""

from pathlib import Path

import pytest

from tests.proof.trial import Trial, only, quiet
from trued.model import DependenciesCheck, Grade
from trued.proof.checks.dependencies import declared_in, is_package_manifest
from trued.proof.contract import check_hash
from trued.proof.seal import SealTerms, seal


@pytest.mark.spec("DAY-9")
@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        (
            "requirements.txt",
            "Flask>=2 # web\n-r other.txt\n\n# nothing\nevil @ https://x.example/e.whl\n",
            "flask evil evil@https://x.example/e.whl",
        ),
        ("requirements/dev.txt", "git+https://x.example/e.git\n", "git+https://x.example/e.git"),
        (
            "pyproject.toml",
            '[project]\nname="a"\nversion="1"\ndependencies=["Some_Thing>1"]\n[project.optional-dependencies]\nx=["y"]\n'
            '[dependency-groups]\ndev=["z"]\n[build-system]\nrequires=["hatchling"]\n'
            '[tool.poetry.dependencies]\npython="^3"\nq={version="1", optional=true}\n',
            "some-thing y z hatchling q",
        ),
        ("package.json", '{"name":"a","dependencies":{"@s/x":"1"},"devDependencies":{"jest":"2"}}', "@s/x jest"),
        (
            "setup.py",
            'from setuptools import setup\nsetup(name="a", install_requires=["b>1"], extras_require={"t":["c"]})',
            "b c t",
        ),
        (
            "setup.cfg",
            "[metadata]\nname = a\n[options]\ninstall_requires =\n  b\n[options.extras_require]\nt = c\n",
            "b c",
        ),
        ("go.mod", "module a\n\nrequire (\n\tgithub.com/x/y v1.2.3\n)\n", "github.com/x/y"),
        ("Cargo.toml", '[package]\nname="a"\n[dependencies]\nserde={version="1", features=["derive"]}\n', "serde"),
    ],
)
def test_every_declared_package_is_found(path: str, text: str, names: str) -> None:
    assert is_package_manifest(path)
    found = declared_in(path, text)
    assert {one.replace(" ", "") for one in found if not one.startswith("-r")} == {*names.split()}


@pytest.mark.spec("DAY-9", "LAW-2")
def test_a_manifest_that_cannot_be_read_hides_nothing() -> None:
    before, after = "{broken", '{broken\n "dependencies": {"evil": "1"}'
    assert declared_in("package.json", after) - declared_in("package.json", before)


def test_what_is_installed_or_locked_is_no_manifest() -> None:
    assert not any(map(is_package_manifest, ("node_modules/x/package.json", "uv.lock", "src/requirements.py")))


PROJECT = {
    "tiny.py": "import json\n\n\ndef one():\n    return json.loads('1')\n",
    "plugins.py": "import importlib\n\n\ndef load(name):\n    return importlib.import_module(name)\n",
    "tools.js": "const fs = require('fs');\n",
    "requirements.txt": "flask==2.0\npyyaml\n-r more.list\n",
    "requirements/base.txt": "flask\n",
    "more.list": "flask\n",
    "setup.py": "from setuptools import setup\nNEEDS = ['flask']\n"
    "setup(name='a', version='1', install_requires=NEEDS)\n",
    "package.json": '{"dependencies": {"lodash": "4"}, "overrides": {"x": "1"}}',
    "tox.ini": "[testenv]\ndeps = flask\n",
    "page.html": "<p>one</p>\n",
    "Makefile": "# Perhaps, one day: leftpad\ncheck:\n\tpython -m pip install -e .\n\tpython tools/lint.py -q\n",
    "ci.yml": "steps:\n  - uses: actions/checkout@v4\n  - run: pip install flask\n    python: '3.11'\n",
    "tools/lint.py": "import json\n\nWORDS = json.load(open('data/words.json'))\n",
    "data/words.json": '{"a": "b"}\n',
    "noxfile.py": "def test(session):\n    session.install('-r', 'lists/words.txt')\n",
    "lists/words.txt": "flask\n",
}
SETUP, CODE, PACKAGES = PROJECT["setup.py"], PROJECT["tiny.py"], PROJECT["package.json"]
MAKE, CI = PROJECT["Makefile"], PROJECT["ci.yml"]
HONEST: dict[str, dict[str, str | None]] = {
    "code, tests and words": {
        "tiny.py": CODE.replace("'1'", "'2'"),
        "tests/test_more.py": "import unittest\n\nimport tiny\n",
        "README.md": "pip install flask, see https://x.example\n",
    },
    "what is declared is imported for the first time": {"tiny.py": f"import yaml\n{CODE}"},
    "beside an import of the base's that is computed": {"plugins.py": f"{PROJECT['plugins.py']}\n\nLOADED = []\n"},
    "another version, and one less": {"requirements.txt": "flask==2.1\n", "more.list": None},
    "another version of the project": {"setup.py": SETUP.replace("version='1'", "version='2'")},
    "a new target, which runs a new script": {
        "Makefile": f"{MAKE}\n# Look at the types\ntypes: check\n\tpython tools/types.py --strict\n",
        "tools/types.py": "import ast\n",
    },
    "another Python": {"ci.yml": CI.replace("3.11", "3.12").replace("v4\n", "v4\n  # twice a day\n")},
    "data that code reads": {"data/words.json": '{"a": "b", "evil": "evil 1.0"}\n', "data/more.csv": "evil,1\n"},
    "imports by their names": {
        "tiny.py": f"import importlib\n{CODE}\n\nYAML = importlib.import_module('yaml')\n",
        "tools.js": "const fs = require('fs');\n// we require 'evil'\nif (require.main === module) fs.go('require');\n",
    },
    "methods that are called alike": {"tiny.py": f"{CODE}\n\ndef two(model):\n    return model.eval(), ['exec']\n"},
    "what only git reads": {".gitignore": "evil\n"},
    "a new page of its own": {"page.html": "<script src='tools.js'></script>\n", "tools.js": "require('node:os');\n"},
}
REFUTED: dict[str, dict[str, str | None]] = {
    "a list in a folder of lists": {"requirements/base.txt": "flask\nevil\n"},
    "a list under a name": {"setup.py": SETUP.replace("['flask']", "['flask', 'evil']")},
    "the same name, from elsewhere": {"requirements.txt": "flask @ https://x.example/evil.whl\npyyaml\n-r more.list\n"},
    "an alias": {"package.json": PACKAGES.replace('"4"', '"npm:evil@1"')},
    "an override": {"package.json": PACKAGES.replace('"x": "1"', '"x": "npm:evil@1"')},
}
UNREAD: dict[str, dict[str, str | None]] = {
    "a recipe that installs": {"Makefile": f"{MAKE}\tpython -m pip install evil\n"},
    "a target called like it": {"Makefile": f"{MAKE}\nevil:\n\tpython -m pip install evil\n"},
    "a file called like it": {"ci.yml": CI.replace("flask", "flask evil"), "evil": "\n", "x/evil.py": "a = 1\n"},
    "a folder called like it": {"Makefile": f"{MAKE}\tpython -m pip install tools data\n"},
    "a word in pieces": {"Makefile": MAKE + "\tpip install e''v\\il\n"},
    "somebody's action": {"ci.yml": CI.replace("actions/checkout", "evil/checkout")},
    "data with a list of packages": {"data/words.json": '{"a": "b", "dependencies": {"evil": "1"}}\n'},
    "data from elsewhere": {"data/words.json": '{"a": "b", "c": "https://x.example/evil.whl"}\n'},
    "data that a tool is pointed at": {
        "data/words.json": '{"a": "evil"}\n',
        "Makefile": f"{MAKE}\tpip install -r data/words.json\n",
    },
    "data that a driver installs": {"lists/words.txt": "flask\nevil\n"},
    "a list that another one names": {"more.list": "flask\nevil\n"},
    "settings of a tool": {"tox.ini": "[testenv]\ndeps = flask\n  evil\n"},
    "an import, and no word of it": {"tiny.py": f"{CODE}\n\nif one(): import evil\n"},
    "an import by its name": {"tiny.py": f"{CODE}\n\n__import__('evil.sub')\n"},
    "an import by a name that is computed": {"tiny.py": f"{CODE}\n\n__import__('ev' + 'il')\n"},
    "an import under another name": {"tiny.py": f"from importlib import import_module as f\n{CODE}\n\nf('evil')\n"},
    "an import under a name of its own": {"tiny.py": f"{CODE}\n\nload = __import__\nload('evil')\n"},
    "an import of each": {"tiny.py": f"{CODE}\n\nALL = [*map(__import__, ['evil'])]\n"},
    "an import by an attribute": {"tiny.py": f"{CODE}\n\nload = getattr(__builtins__, '__imp' + 'ort__')\n"},
    "a module that runs others": {"tiny.py": f"import runpy\n{CODE}\n\nrunpy.run_module('evil')\n"},
    "a module of importers": {"tiny.py": f"import importlib as i\n{CODE}\n\nload = i.import_module\n"},
    "an importer passed on": {"plugins.py": f"{PROJECT['plugins.py']}\n\nLOADED = vars(importlib)\n"},
    "a computed one beside the base's": {
        "plugins.py": f"{PROJECT['plugins.py']}\n\ndef more(name):\n    return [importlib.import_module(name)]\n"
    },
    "a script's function under another name": {
        "tools.js": "const fs = require('fs');\nconst x = require;\nx('evil');\n"
    },
    "a script's computed name": {"tools.js": "const fs = require('fs');\nrequire('ev' + 'il');\n"},
    "a word that only a comment had": {"Makefile": f"{MAKE}\tpython -m pip install leftpad\n"},
    "an import in a string": {"tiny.py": f"{CODE}\n\nexec('import evil')\n"},
    "a script's import": {"tools.js": "const fs = require('fs');\nconst x = await import('evil/sub');\n"},
    "an address": {"page.html": "<script src='//cdn.example/evil.js'></script>\n"},
    "another language": {"composer.json": '{"require": {"a/evil": "1"}}\n'},
    "a computed list": {"setup.py": SETUP.replace("['flask']", "[*map(chr, (101,))]")},
}


async def graded(place: Path, heads: dict[str, dict[str, str | None]], **check: bool) -> dict[str, Grade]:
    asked = [{"id": "deps", "text": "No new dependencies", "keep": True, "checks": [{"kind": "dependencies", **check}]}]
    trial = Trial(place, PROJECT, asked)
    await trial.workspace.begin()
    terms = SealTerms(held_out=True, guards=(check_hash(DependenciesCheck(**check)),))
    contract = await seal(trial.workspace, trial.asked, terms, tell=quiet)
    return {name: only(await trial.prove(contract, await trial.head(head))).grade for name, head in heads.items()}


@pytest.mark.spec("DAY-9", "LAW-11")
async def test_no_new_dependency_is_proven_only_where_every_change_was_read(tmp_path: Path) -> None:
    """Manifests are not enough: a change that may add a package in another way is left to a person."""
    found = await graded(tmp_path, {**HONEST, **REFUTED, **UNREAD})
    expected = dict.fromkeys(HONEST, Grade.PROVEN) | dict.fromkeys(REFUTED, Grade.REFUTED)
    assert found == expected | dict.fromkeys(UNREAD, Grade.TESTED)


@pytest.mark.spec("DAY-9")
async def test_dependencies_that_must_stay_unchanged_are_compared_with_their_versions(tmp_path: Path) -> None:
    changed = ("another version, and one less", "a list in a folder of lists")
    found = await graded(tmp_path, {**HONEST, **REFUTED}, unchanged=True)
    assert [found[name] for name in changed] == [Grade.REFUTED, Grade.REFUTED]
    assert found["another version of the project"] is found["code, tests and words"] is Grade.PROVEN
    assert found["another Python"] is Grade.TESTED  # a number may be a version


def test_the_hash_of_an_older_check_stays_valid() -> None:
    assert DependenciesCheck().model_dump(mode="json") == {"kind": "dependencies"}
