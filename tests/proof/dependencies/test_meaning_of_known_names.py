"""A name of the base's is no known package where the base means something else by it, or needs it only sometimes."""

from typing import TypeAlias

import pytest

from tests.proof.dependencies.test_dependencies import read

Files: TypeAlias = dict[str, str]
Heads: TypeAlias = dict[str, dict[str, str | None]]

TYPED = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import evil\n\n\ndef f(x: 'evil.A') -> None: ...\n"
TRIED = "try:\n    import evil\nexcept ImportError:\n    evil = None\n"
PYTHON = {
    "pyproject.toml": "[project]\nname = 'a'\nversion = '1'\ndependencies = ['attrs']\n"
    "[project.optional-dependencies]\nfast = ['quick']\nweb = ['pages']\n",
    "kit/__init__.py": "",
    "kit/typed.py": TYPED,
    "kit/tried.py": TRIED.replace("evil", "sly"),
    "kit/quick.py": TRIED.replace("evil", "quick") + "try:\n    import attrs\nexcept ImportError:\n    raise\n",
    "kit/needed.py": "try:\n    import always\nexcept ImportError:\n    raise SystemExit('install always')\n",
    "kit/pages.py": "import pages\n",
    "kit/ends.py": "import sys\n\ntry:\n    import ends\nexcept ImportError:\n    sys.exit('install ends')\n",
    "kit/cloud.py": "try:\n    import cloud\n    cloud.up()\nexcept Exception as error:\n    print(error)\n",
    "tests/test_needs.py": "import pytest\n\ntry:\n    import needs\nexcept ImportError:\n    pytest.skip('needs')\n",
}
SUPPRESSED = "import contextlib\n\nwith contextlib.suppress(ImportError):\n    import sly\n"
PYTHON_LIES: Heads = {
    "types, at run time": {"kit/more.py": "import evil\n"},
    "types, in the same file": {"kit/typed.py": f"{TYPED}\nimport evil\n"},
    "types, where the guard is no guard": {"kit/typed.py": TYPED.replace("if T", "if not T")},
    "types, where the guard is always true": {
        "kit/typed.py": TYPED.replace("from typing import TYPE_CHECKING", "TYPE_CHECKING = True")
    },
    "types, by its name": {"kit/more.py": "x = __import__('evil')\n"},
    "tried, at the top": {"kit/more.py": "from sly import a\n"},
    "tried, in a function": {"kit/more.py": "def f():\n    import sly\n"},
    "tried, and raised": {"kit/tried.py": "try:\n    import sly\nexcept ImportError:\n    raise\n"},
    "tried for another error": {"kit/tried.py": "try:\n    import sly\nexcept ValueError:\n    sly = None\n"},
    "tried after another": {"kit/tried.py": "try:\n    import nope\nexcept ImportError:\n    import sly\n"},
    "tried, in a with that catches nothing": {
        "kit/more.py": "from contextlib import nullcontext\n\nwith nullcontext('ImportError'):\n    import sly\n"
    },
    "tried, in a test": {"tests/test_a.py": "import sly\n"},
}
PYTHON_TWINS: Heads = {
    "a move": {"kit/typed.py": None, "kit/moved.py": TYPED, "kit/tried.py": None, "kit/b.py": PYTHON["kit/tried.py"]},
    "more in the same files": {
        "kit/typed.py": f"{TYPED}\nA = 1\n",
        "kit/tried.py": f"{PYTHON['kit/tried.py']}\nA = 1\n",
        "kit/needed.py": f"{PYTHON['kit/needed.py']}\nA = 1\n",
    },
    "a second guard": {"kit/more.py": TYPED.replace("from typing import", "from typing import Any,")},
    "a guard by its module": {"kit/more.py": "import typing as t\n\nif t.TYPE_CHECKING:\n    from evil.a import B\n"},
    "a second try": {
        "kit/more.py": "def f():\n    try:\n        from sly import a\n    except Exception:\n        a = 1\n"
    },
    "a suppressed error": {"kit/more.py": SUPPRESSED},
    "what the base always needs": {"kit/more.py": "import always\n"},
    "what a test needs": {"tests/test_b.py": "import needs\n"},
    "what a program ends without": {"kit/more.py": "import ends\n"},
    "what a careful function uses": {"kit/more.py": "import cloud\n"},
    "an extra's, late": {"kit/more.py": "def f():\n    import quick\n"},
    "what is always installed": {"kit/more.py": "import attrs\n"},
    "an extra's, as on the base": {"kit/more.py": "import pages\n"},
    "an extra's, in a test": {"tests/test_a.py": "import quick\n"},
    "an extra's, with a guard": {"kit/more.py": TRIED.replace("evil", "quick")},
}
CRATE = (
    "[package]\nname = 'a'\nversion = '1.0.0'\n[features]\ndefault = ['std']\nstd = []\nfull = ['dep:evil']\n"
    "[dependencies]\nevil = {version = '1', optional = true}\nserde = '1'\n"
    "[dev-dependencies]\ncrit = '1'\n[target.'cfg(windows)'.dependencies]\nsly = '1'\n"
)
PLAIN_CRATE = CRATE.replace(", optional = true", "").replace("'dep:evil'", "")
CARGO_LIES: Heads = {
    "an optional package by default": {"Cargo.toml": CRATE.replace("['std']", "['std', 'evil']")},
    "through another feature": {"Cargo.toml": CRATE.replace("['std']", "['std', 'full']")},
    "in another feature": {"Cargo.toml": CRATE.replace("std = []", "std = ['dep:evil']")},
    "out of a table with a condition": {
        "Cargo.toml": CRATE.replace("sly = '1'\n", "").replace("serde = '1'", "serde = '1'\nsly = '1'")
    },
    "out of the developers' table, beside an empty condition": {
        "Cargo.toml": CRATE.replace("serde = '1'\n", "serde = '1'\ncrit = '1'\n").replace(
            "[dev-dependencies]\ncrit = '1'\n", ""
        )
        + "[target.''.dependencies]\n"
    },
    "an optional package by default, spelled otherwise": {
        "Cargo.toml": CRATE.replace("optional =", '"option\\u0061l" =').replace("['std']", "['std', 'evil']")
    },
    "under a wider condition": {"Cargo.toml": CRATE.replace("cfg(windows)", "cfg(any(windows, unix))")},
}
CARGO_TWINS: Heads = {
    "another version": {"Cargo.toml": CRATE.replace("sly = '1'", "sly = '1.2'").replace("1.0.0", "1.1.0")},
    "another order": {"Cargo.toml": CRATE.replace("serde = '1'\n", "") + "[dependencies.serde]\nversion = '1'\n"},
    "a feature less": {"Cargo.toml": CRATE.replace("['std']", "[]")},
    "under a condition": {
        "Cargo.toml": CRATE.replace("serde = '1'\n", "").replace("sly = '1'", "sly = '1'\nserde = '1'")
    },
}
PYSCRIPT = (
    "<html><head><py-config>packages = ['numpy']</py-config></head><body><p>one</p>\n"
    "<script type='py' config='{\"packages\": [\"numpy\"]}'>print(1)</script></body></html>\n"
)
PAGE = {"index.html": PYSCRIPT, "plain.html": "<p>one</p><script>go()</script>\n"}
PAGE_LIES: Heads = {
    "a package": {"index.html": PYSCRIPT.replace("packages = ['numpy']", "packages = ['numpy', 'evil']")},
    "a package in an attribute": {"index.html": PYSCRIPT.replace('["numpy"]', '["evil"]')},
    "a page that begins with it": {"plain.html": "<p>one</p><py-config>packages = ['evil']</py-config>\n"},
    "code after a tag": {
        "index.html": PYSCRIPT.replace("print(1)", "x = '<b></b>'; import micropip; micropip.install('evil')")
    },
    "code after a tag in a part": {
        "plain.html": "<p>one</p><py-script>x = '<b></b>'\nmicropip.install('evil')</py-script>\n",
    },
    "code that installs": {"index.html": PYSCRIPT.replace("print(1)", "micropip.install('evil')")},
}
PAGE_TWINS: Heads = {
    "a notebook's state": {
        "plain.html": "<p>two</p><script type='application/vnd.jupyter.widget-state+json'>{\"a\": 1}</script>\n"
    },
    "words": {"index.html": PYSCRIPT.replace("<p>one", "<p class='a'>two")},
    "a script": {"plain.html": "<p>one</p><script type='module'>go(1)</script><copy-button>a</copy-button>\n"},
}
LIES = [(PYTHON, PYTHON_LIES), (PAGE, PAGE_LIES)]
TWINS = [(PYTHON, PYTHON_TWINS), (PAGE, PAGE_TWINS)]
CRATES = {"Cargo.toml": CRATE, "src/lib.rs": "pub fn a() {}\n"}


def cases(table: list[tuple[Files, Heads]]) -> list[object]:
    return [pytest.param(base, head, id=name) for base, heads in table for name, head in heads.items()]


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize(("base", "head"), cases([*LIES, (CRATES, CARGO_LIES)]))
async def test_a_known_name_in_another_sense_is_unread(base: Files, head: dict[str, str | None]) -> None:
    assert (await read(head, base)).startswith("unread ")


@pytest.mark.spec("DAY-9", "LAW-11")
@pytest.mark.parametrize(("base", "head"), cases([*TWINS, (CRATES, CARGO_TWINS)]))
async def test_a_known_name_in_its_old_sense_is_known(base: Files, head: dict[str, str | None]) -> None:
    assert await read(head, base) == "proven"


@pytest.mark.spec("DAY-9")
async def test_features_without_optional_packages_may_change() -> None:
    head = {"Cargo.toml": PLAIN_CRATE.replace("['std']", "['std', 'full']")}
    assert await read(head, {"Cargo.toml": PLAIN_CRATE}) == "proven"
