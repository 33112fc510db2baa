"""A package that only some code has is new to all other code."""

from typing import TypeAlias

import pytest

from tests.proof.dependencies.test_dependencies import each, read
from trued.proof.dependencies.package_consumers import Consumers, Reach

Heads: TypeAlias = dict[str, dict[str, str | None]]

MANIFEST = (
    "[project]\nname = 'lab'\nversion = '1'\ndependencies = ['click', 'attrs']\n"
    "[project.optional-dependencies]\ndev = ['requests', 'pytest']\nweb = ['httpx']\n"
    "[dependency-groups]\nlint = ['rich']\n[build-system]\nrequires = ['hatchling']\n"
)
LAB = {
    "pyproject.toml": MANIFEST,
    "requirements-dev.txt": "tqdm\n",
    "requirements.txt": "pyyaml\n",
    "lab/__init__.py": "",
    "lab/cli.py": "import click\n",
    "lab/old.py": "import rich\n",  # declared for developers only, by mistake
    "lab/_vendor/six/__init__.py": "A = 1\n",
    "tools/fetch.py": "import requests\n",
    "tests/test_cli.py": "import pytest\n",
}
FETCH = "import requests\n\n\ndef fetch(url):\n    return requests.get(url, timeout=10).text\n"
NEW_TO_PRODUCT: Heads = {
    "an import": {"lab/fetch.py": FETCH},
    "an import and a declaration": {
        "lab/fetch.py": FETCH,
        "pyproject.toml": MANIFEST.replace("'attrs'", "'attrs', 'requests'"),
    },
    "a declaration": {"pyproject.toml": MANIFEST.replace("'attrs'", "'attrs', 'requests'")},
    "a declaration for an extra": {"pyproject.toml": MANIFEST.replace("['httpx']", "['httpx', 'requests']")},
    "an extra's package for everybody": {"pyproject.toml": MANIFEST.replace("'attrs'", "'attrs', 'httpx'")},
    "a tool of the build": {"pyproject.toml": MANIFEST.replace("'attrs'", "'attrs', 'hatchling'")},
    "a group's package": {"lab/fetch.py": "import tqdm\n"},
    "another list": {"requirements.txt": "pyyaml\ntqdm\n"},
    "a list that refers to another": {"requirements.txt": "pyyaml\n-r requirements-dev.txt\n"},
    "a setup beside it": {"setup.py": "from setuptools import setup\n\nsetup(install_requires=['requests'])\n"},
    "a settings file beside it": {"setup.cfg": "[options]\ninstall_requires =\n  requests\n"},
    "an import through a tool": {"lab/more.py": "from tools.more import get\n", "tools/more.py": FETCH},
    "an import through a test's helper": {"lab/more.py": "from tests import help\n", "tests/help.py": FETCH},
    "a copy": {"lab/_vendor/toolz/__init__.py": "def compose(*functions):\n    return functions\n"},
    "an inner folder of tools": {"lab/tools/more.py": FETCH},
    "a copy in one file": {"lab/_vendor/toolz.py": "def compose(*functions):\n    return functions\n"},
    "a copy of a folder": {"lab/vendor/toolz/__init__.py": "def compose(*functions):\n    return functions\n"},
    "a module of tasks": {"lab/tasks.py": FETCH},
    "an import of several lines": {"lab/more.py": "from lab import (\n    noxfile,\n)\n", "lab/noxfile.py": FETCH},
}
KNOWN_TO_PRODUCT: Heads = {
    "what is declared": {"lab/more.py": "import attrs\nimport yaml\nimport httpx\n"},
    "what the product imports": {"lab/more.py": "import rich\n"},
    "a test": {"tests/test_more.py": "import requests\nimport rich\nimport tqdm\n"},
    "a tool": {"tools/more.py": FETCH},
    "tasks of developers": {"tasks.py": FETCH},
    "what speaks to others": {"lab/external/sms.py": "import click\n", "lab/externals/one/two.py": "A = 1\n"},
    "people who sell": {"lab/vendor/people.py": "import click\n", "lab/vendors/people/__init__.py": "A = 1\n"},
    "a test's helper and a product's own module of that name": {
        "lab/more.py": "from lab import helper\n",
        "lab/helper.py": "A = 1\n",
        "tests/helper.py": "import pytest\n",
    },
    "less than before": {
        "pyproject.toml": MANIFEST.replace("'click', 'attrs'", "'click'").replace("'pytest'", "'pytest', 'attrs'")
    },
    "no more for everybody": {
        "pyproject.toml": MANIFEST.replace("'click', 'attrs'", "'click'").replace("['httpx']", "['httpx', 'attrs']")
    },
    "between tools of developers": {
        "pyproject.toml": MANIFEST.replace("'requests', 'pytest'", "'pytest'").replace("'rich'", "'rich', 'requests'")
    },
    "from a list to the manifest": {
        "requirements.txt": None,
        "pyproject.toml": MANIFEST.replace("'attrs'", "'attrs', 'pyyaml'"),
    },
    "a list for all tools": {"requirements-all-dev.txt": "-r requirements.txt\n-r requirements-dev.txt\nrequests\n"},
    "another version of a copy": {"lab/_vendor/six/more.py": "A = 1\n", "lab/_vendor/six/__init__.py": "A = 2\n"},
    "another version": {"pyproject.toml": MANIFEST.replace("'attrs'", "'attrs>=2'")},
}

CORE, SITE = '{"name": "@x/core", "version": "1.0.0"}', '{"name": "@x/site", "devDependencies": {"lodash": "^4"}}'
SPACE = {
    "package.json": '{"name": "x", "workspaces": ["packages/*"], "dependencies": {"pad": "1"}, "devDependencies": '
    '{"vite": "1"}}',
    "packages/core/package.json": CORE,
    "packages/core/index.mjs": "export const one = 1;\n",
    "packages/site/package.json": SITE,
    "packages/site/build.mjs": "console.log('site');\n",
    "packages/hoisted/package.json": '{"name": "@x/hoisted"}',
    "packages/hoisted/index.mjs": "import _ from 'lodash';\n",
    "apps/page/package.json": '{"name": "page", "devDependencies": {"svelte": "5", "d3": "7", "vite": "1"}}',
    "apps/page/src/main.js": "import { mount } from 'svelte';\n",
    "crates/a/Cargo.toml": "[package]\nname = 'a'\n[dependencies]\nserde = '1'\n[dev-dependencies]\nrand = '1'\n",
    "crates/b/Cargo.toml": "[package]\nname = 'b'\n[dependencies]\nlibc = '1'\n",
    "Cargo.toml": "[workspace]\nmembers = ['crates/*']\n",
    "a/go.mod": "module a.example/a\n\nrequire x.example/x v1\n",
    "b/go.mod": "module a.example/b\n",
}
NEW_TO_MEMBER: Heads = {
    "both": {
        "packages/core/package.json": CORE.replace('"1.0.0"', '"1.0.0", "dependencies": {"lodash": "^4"}'),
        "packages/core/chunk.mjs": "import _ from 'lodash';\n",
    },
    "a declaration": {
        "packages/core/package.json": CORE.replace('"1.0.0"', '"1.0.0", "dependencies": {"lodash": "^4"}')
    },
    "an import": {"packages/core/chunk.mjs": "import _ from 'lodash';\n"},
    "an import of a tool": {"packages/core/chunk.mjs": "import * as vite from 'vite';\n"},
    "from developers to users": {"packages/site/package.json": SITE.replace("devDependencies", "dependencies")},
    "for users who bring it": {"packages/site/package.json": SITE.replace("devDependencies", "peerDependencies")},
    "a new member": {"packages/new/package.json": '{"name": "new", "dependencies": {"lodash": "^4"}}'},
    "a crate": {"crates/b/Cargo.toml": SPACE["crates/b/Cargo.toml"] + "serde = '1'\n"},
    "from a crate's tests": {"crates/a/Cargo.toml": SPACE["crates/a/Cargo.toml"].replace("dev-dep", "build-dep")},
    "a Go module": {"b/go.mod": SPACE["b/go.mod"] + "\nrequire x.example/x v1\n"},
}
KNOWN_TO_MEMBER: Heads = {
    "of the whole": {"packages/core/more.mjs": "import pad from 'pad';\n"},
    "of the whole, declared": {
        "packages/core/package.json": CORE.replace('"1.0.0"', '"1.0.0", "dependencies": {"pad": "1"}')
    },
    "hoisted, as on the base": {"packages/hoisted/more.mjs": "import { chunk } from 'lodash';\n"},
    "packed, as on the base": {"apps/page/src/more.js": "import { scale } from 'd3';\n"},
    "a test": {"packages/core/index.test.mjs": "import _ from 'lodash';\nimport { one } from './index.mjs';\n"},
    "settings of a tool": {"packages/core/vite.config.mjs": "import { defineConfig } from 'vite';\n"},
    "types": {"packages/core/types.ts": "import type { Plugin } from 'vite';\n\nexport type A = Plugin;\n"},
    "a tool for developers": {
        "packages/core/package.json": CORE.replace('"1.0.0"', '"1.0.0", "devDependencies": {"lodash": "^4"}')
    },
    "from users to developers": {"package.json": SPACE["package.json"].replace('"dependencies"', '"devDependencies"')},
    "shared by a workspace": {
        "Cargo.toml": SPACE["Cargo.toml"] + "[workspace.dependencies]\nserde = '1'\n",
        "crates/a/Cargo.toml": SPACE["crates/a/Cargo.toml"].replace("serde = '1'", "serde = {workspace = true}"),
    },
}


@pytest.mark.spec("DAY-9", "LAW-11")
@each(NEW_TO_PRODUCT)
async def test_a_package_for_developers_is_new_to_the_product(head: dict[str, str | None]) -> None:
    assert (await read(head, LAB)).startswith("unread ")


@pytest.mark.spec("DAY-9", "LAW-11")
@each(KNOWN_TO_PRODUCT)
async def test_a_package_that_ships_or_is_used_by_developers_is_known(head: dict[str, str | None]) -> None:
    assert await read(head, LAB) == "proven"


@pytest.mark.spec("DAY-9", "LAW-11")
@each(NEW_TO_MEMBER)
async def test_a_package_of_another_member_is_new_to_this_one(head: dict[str, str | None]) -> None:
    assert (await read(head, SPACE)).startswith("unread ")


@pytest.mark.spec("DAY-9", "LAW-11")
@each(KNOWN_TO_MEMBER)
async def test_a_package_that_the_member_has_already_is_known(head: dict[str, str | None]) -> None:
    assert await read(head, SPACE) == "proven"


@pytest.mark.spec("DAY-9")
@pytest.mark.parametrize(
    ("path", "text", "reaches"),
    [
        (
            "Pipfile",
            "[packages]\na = '*'\n[dev-packages]\nb = '*'\n[requires]\npython_version = '3'\n",
            {"a": Reach.ALL, "b": Reach.DEVELOPERS},
        ),
        (
            "setup.cfg",
            "[options]\ninstall_requires = a\n[options.extras_require]\nx = b\ntest = c\n",
            {"a": Reach.ALL, "b": Reach.EXTRA, "c": Reach.DEVELOPERS},
        ),
        (
            "setup.py",
            "setup(install_requires=['a'], extras_require={'x': ['b'], 'docs': ['c']})",
            {"a": Reach.ALL, "b": Reach.EXTRA, "c": Reach.DEVELOPERS},
        ),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\npython = '^3'\na = '1'\nb = {version = '1', optional = true}\n"
            "[tool.poetry.group.dev.dependencies]\nc = '1'\n",
            {"a": Reach.ALL, "b": Reach.EXTRA, "c": Reach.DEVELOPERS},
        ),
        ("requirements/docs.txt", "a\n", {"a": Reach.DEVELOPERS}),
        ("constraints.txt", "a\n", {"a": Reach.DEVELOPERS}),
        (
            "Cargo.toml",
            "[dependencies]\na = '1'\nb = {version = '1', optional = true}\n",
            {"a": Reach.ALL, "b": Reach.EXTRA},
        ),
    ],
)
def test_a_manifest_says_whom_a_package_reaches(path: str, text: str, reaches: dict[str, Reach]) -> None:
    (declared,) = Consumers({path: text}).declared.values()
    found = {name: max(one.reach for one in declarations) for name, declarations in declared.items()}
    assert found == reaches


ASIDE = {"docker/requirements.txt": "requests\n", "app/main.py": "A = 1\n", "app/package.json": "{}\n"}


@pytest.mark.spec("DAY-9", "LAW-11")
async def test_a_manifest_aside_is_for_all_code_above_which_no_other_lies() -> None:
    assert await read({"app/main.py": FETCH}, ASIDE) == "proven"
    assert (await read({"app/main.py": "import httpx\n"}, ASIDE)).startswith("unread ")
    assert (await read({"app/main.py": FETCH}, {**ASIDE, "app/requirements.txt": "pad\n"})).startswith("unread ")


@pytest.mark.spec("DAY-9", "LAW-11")
def test_a_package_is_not_new_if_its_manifest_has_moved() -> None:
    text, more = '{"dependencies": {"d3": "7"}}', '{"dependencies": {"d3": "7", "evil": "1"}}'
    base = Consumers({"web/package.json": text})
    assert [*Consumers({"app/package.json": text}).declared_for_more(base)] == []
    assert [*Consumers({"app/package.json": more}).declared_for_more(base)] == [("evil", "app/package.json")]
    both = Consumers({"web/package.json": text, "app/package.json": text})
    assert [*both.declared_for_more(base)] == [("d3", "app/package.json")]


TERMS = {
    "pyproject.toml": "[project]\nname = 'a'\nversion = '1'\ndependencies = "
    "['requests', \"tomli>=1; python_version < '3.11'\"]\n",
    "requirements.txt": "rich; sys_platform == 'win32'\nuvicorn[standard]==1\n",
    "setup.py": "from setuptools import setup\nREQS = ['requests', 'tqdm[a]']\n"
    "setup(name='a', install_requires=REQS)\n",
    "tool/pyproject.toml": "[tool.poetry.dependencies]\nnumpy = {version = '1', markers = \"os_name == 'nt'\"}\n",
    "web/package.json": '{"optionalDependencies": {"lodash": "1"}, "dependencies": {"pad": "1"}, '
    '"peerDependencies": {"react": "1"}, "peerDependenciesMeta": {"react": {"optional": true}}}',
}
TOML, SETUP, NODE = TERMS["pyproject.toml"], TERMS["setup.py"], TERMS["web/package.json"]
OTHER_TERMS: Heads = {
    "no marker": {"pyproject.toml": TOML.replace("; python_version < '3.11'", "")},
    "another marker": {"pyproject.toml": TOML.replace("3.11", "4")},
    "no marker in a list": {"requirements.txt": "rich\nuvicorn[standard]==1\n"},
    "no marker in a table": {"tool/pyproject.toml": "[tool.poetry.dependencies]\nnumpy = '1'\n"},
    "an extra": {"pyproject.toml": TOML.replace("'requests'", "'requests[socks]'")},
    "an extra in setup.py": {"setup.py": SETUP.replace("'requests'", "'requests[socks]'")},
    "an extra in setup.py for developers": {
        "setup.py": SETUP.replace("=REQS", "=REQS, extras_require={'dev': ['requests[socks]']}")
    },
    "no longer optional": {
        "web/package.json": NODE.replace('"lodash": "1"}', "}").replace('"pad"', '"lodash": "1", "pad"')
    },
    "a peer that is needed": {"web/package.json": NODE.replace("true", "false")},
    "a list that another module brings": {
        "setup.py": SETUP.replace("setup(", "from _r import REQS\nsetup(", 1),
        "_r.py": "",
    },
    "a list by all names": {"setup.py": SETUP.replace("\nsetup(", "\nfrom _r import *\nsetup("), "_r.py": ""},
    "a list as a function": {"setup.py": SETUP.replace("\nsetup(", "\ndef REQS(): ...\nsetup(")},
    "imports beside another version of the project": {
        "setup.py": "import os\nfrom pathlib import Path\n" + SETUP.replace("name='a'", "name='a', version='2'")
    },
    "another setup": {"setup.py": SETUP.replace("from setuptools", "from _r"), "_r.py": "def setup(**k): ...\n"},
}
SAME_TERMS: Heads = {
    "another version": {"pyproject.toml": TOML.replace("tomli>=1", "tomli>=2").replace("version < '3", "version<'3")},
    "a new marker": {"pyproject.toml": TOML.replace("'requests'", "\"requests; os_name == 'nt'\"")},
    "another version in a table": {
        "tool/pyproject.toml": "[tool.poetry.dependencies]\nnumpy = {version = '2', markers = \"os_name == 'nt'\"}\n"
    },
    "one extra less": {"setup.py": SETUP.replace("[a]", "")},
    "another version of the project": {"setup.py": SETUP.replace("name='a'", "name='a', version='2'")},
    "optional now": {"web/package.json": NODE.replace('"pad": "1"', "").replace('"lodash"', '"pad": "1", "lodash"')},
    "another range": {"web/package.json": NODE.replace('"lodash": "1"', '"lodash": "2"')},
}


@pytest.mark.spec("DAY-9", "LAW-11")
@each(OTHER_TERMS)
async def test_a_package_under_other_terms_is_another_package(head: dict[str, str | None]) -> None:
    assert (await read(head, TERMS)).startswith("unread ")


@pytest.mark.spec("DAY-9", "LAW-11")
@each(SAME_TERMS)
async def test_a_package_under_the_same_terms_or_narrower_ones_is_known(head: dict[str, str | None]) -> None:
    assert await read(head, TERMS) == "proven"
