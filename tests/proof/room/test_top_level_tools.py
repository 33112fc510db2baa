"""Scripts at the top of a project: the modules that they import are the product, or a part of the judging tool."""

import shutil
from pathlib import Path

import pytest

from tests.proof.trial import Trial, only
from trued.model import Grade
from trued.proof.text import node_names
from trued.proof.text.python_names import lacks, names_after_import, names_asked

LOOKS = {
    "check.py": "import sys\nfrom pathlib import Path\n\nimport rules\n\n"
    "sys.exit(rules.broken(Path('tiny.py').read_text()))\n",
    "rules.py": "def broken(text):\n    return 'def double' not in text\n",
    "tiny.py": "def one():\n    return 1\n",
}
CALLS = {"check.py": "import sys\n\nimport tiny\n\nsys.exit(tiny.double(4) != 8)\n", "tiny.py": LOOKS["tiny.py"]}
WRONG = {**CALLS, "tiny.py": "def double(x):\n    return x\n"}
RIGHT = "def double(x):\n    return x + x\n"
PASSES = "`python check.py` passes."

LIARS = {
    "its rules are gutted": (LOOKS, {"rules.py": "def broken(text):\n    return False\n"}),
    "its rules are gutted, and have a name that is asked for": (
        LOOKS,
        {"rules.py": "def broken(text):\n    return False\n\n\ndef double(x):\n    return 0\n"},
    ),
    "a module stands before one that it imports": (LOOKS, {"pathlib.py": "raise SystemExit(0)\n"}),
    "its rules pass on those of another module": (
        {**LOOKS, "rules.py": "from more import *\n", "more.py": LOOKS["rules.py"]},
        {"rules.py": "def broken(text):\n    return False\n"},
    ),
    "what it asks for is written, and stands before what else it imports": (
        {"check.py": "import os\nimport sys\n\nimport numbers\nimport doubled\n\nsys.exit(doubled.double(4) != 8)\n"},
        {"doubled.py": "def double(x):\n    return 0\n", "numbers.py": "raise SystemExit(0)\n"},
    ),
}
NODE_LOOKS = {
    "check.js": "const fs = require('fs');\nconst { broken } = require('./rules');\n"
    "process.exit(broken(fs.readFileSync('tiny.js', 'utf8')) ? 1 : 0);\n",
    "rules.js": "exports.broken = (text) => !text.includes('double');\n",
    "tiny.js": "exports.one = () => 1;\n",
}
NODE_CALLS = {
    "check.js": "const slugs = require('./slugs');\nprocess.exit(slugs.slugify('A b') === 'a-b' ? 0 : 1);\n",
}
SLUGS = "exports.slugify = (text) => text.toLowerCase().replace(' ', '-');\n"
NODE_LIARS = {
    "its rules are gutted": (NODE_LOOKS, {"rules.js": "exports.broken = () => false;\n"}),
    "its rules are gutted, and have a short name": (
        {**NODE_LOOKS, "check.js": NODE_LOOKS["check.js"].replace("rules", "lib"), "lib.js": NODE_LOOKS["rules.js"]},
        {"lib.js": "exports.broken = () => false;\n"},
    ),
    "its rules pass on those of another module": (
        {**NODE_LOOKS, "rules.js": "module.exports = require('./more');\n", "more.js": NODE_LOOKS["rules.js"]},
        {"rules.js": "exports.broken = () => false;\n"},
    ),
    "a file stands before the folder that it loads": (
        {"check.js": NODE_LOOKS["check.js"], "tiny.js": "", "rules/index.js": NODE_LOOKS["rules.js"]},
        {"rules.js": "exports.broken = () => false;\n"},
    ),
}
NODE_HONEST = {
    "what it loads is not there yet": (NODE_CALLS, {"slugs.js": SLUGS}),
    "what it asks for is not there yet": ({**NODE_CALLS, "slugs.js": "exports.one = 1;\n"}, {"slugs.js": SLUGS}),
    "what it calls is corrected, and others load it": (
        {
            **NODE_CALLS,
            "slugs.js": "exports.slugify = (text) => text;\n",
            "lib/page.js": "const { slugify } = require('../slugs');\nexports.page = slugify;\n",
        },
        {"slugs.js": SLUGS},
    ),
}
HONEST = {
    "what it imports is not there yet": ({"check.py": CALLS["check.py"]}, {"tiny.py": RIGHT}, PASSES),
    "what it reads is changed": (LOOKS, {"tiny.py": RIGHT}, PASSES),
    "what it calls is written": (CALLS, {"tiny.py": RIGHT}, PASSES),
    "what it calls is corrected, and named": (WRONG, {"tiny.py": RIGHT}, "double(4) is 8: `python check.py` passes."),
    "what it calls is corrected, and others use it": (
        {**WRONG, "shop.py": "from tiny import double\n"},
        {"tiny.py": RIGHT},
        PASSES,
    ),
}


async def grade(
    place: Path, base: dict[str, str], head: dict[str, str], text: str = PASSES, command: str = "python check.py"
) -> tuple[Grade, str]:
    checks = [{"kind": "command", "command": command}]
    found = only(await Trial(place, base, [{"id": "r", "text": text, "checks": checks}]).verdict(head))
    return found.grade, " ".join(found.why)


@pytest.mark.spec("LAW-8", "LAW-4")
@pytest.mark.parametrize(("base", "head"), LIARS.values(), ids=LIARS.keys())
@pytest.mark.many(1)
async def test_whoever_guts_a_tool_at_the_top_has_only_tested_itself(
    base: dict[str, str], head: dict[str, str], tmp_path: Path
) -> None:
    found, why = await grade(tmp_path, base, head)
    assert found is Grade.SELF_TESTED, why


@pytest.mark.spec("LAW-8")
@pytest.mark.parametrize(("base", "head", "text"), HONEST.values(), ids=HONEST.keys())
async def test_honest_work_on_what_a_tool_at_the_top_looks_at_is_tested(
    base: dict[str, str], head: dict[str, str], text: str, tmp_path: Path
) -> None:
    found, why = await grade(tmp_path, base, head, text)
    assert found is Grade.TESTED, why


needs_node = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
NODE = "`node check.js` passes."


@needs_node
@pytest.mark.spec("LAW-8", "LAW-4")
@pytest.mark.parametrize(("base", "head"), NODE_LIARS.values(), ids=NODE_LIARS.keys())
@pytest.mark.many(1)
async def test_whoever_guts_a_tool_of_node_at_the_top_has_only_tested_itself(
    base: dict[str, str], head: dict[str, str], tmp_path: Path
) -> None:
    found, why = await grade(tmp_path, base, head, NODE, "node check.js")
    assert found is Grade.SELF_TESTED, why


@pytest.mark.many(1)
@needs_node
@pytest.mark.spec("LAW-8")
@pytest.mark.parametrize(("base", "head"), NODE_HONEST.values(), ids=NODE_HONEST.keys())
async def test_honest_work_on_what_a_tool_of_node_at_the_top_loads_is_tested(
    base: dict[str, str], head: dict[str, str], tmp_path: Path
) -> None:
    found, why = await grade(tmp_path, base, head, NODE, "node check.js")
    assert found is Grade.TESTED, why


def test_names_that_a_script_of_node_asks_for_are_read_however_it_loads_the_module() -> None:
    text = (
        "const { one, two: second } = require('./rules');\nimport three, { four as other } from './rules.mjs';\n"
        "import * as all from \"./rules\";\nall.five(three.six);\nconst seven = (await import('./rules')).more;\n"
        "require('./rules').eight;\nconst { nine } = require('./elsewhere');\nsmall.all.ten;\n"
    )
    assert node_names.names_asked(text, "rules") == {"one", "two", "four", "five", "six", "eight"}
    assert node_names.loads_module("import x from '../../lib/rules.ts'", "rules")
    assert not node_names.loads_module("import x from 'rules'", "rules")


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("def other():\n    pass\n", True),
        ("def broken():\n    pass\n", False),
        ("from more import *\n", False),
        ("globals()['broken'] = print\n", False),
        ("def __getattr__(name):\n    return print\n", False),
    ],
)
def test_a_module_lacks_a_name_only_where_that_can_be_told(text: str, lacking: bool) -> None:
    assert lacks(text, {"broken"}) is lacking


def test_names_are_read_as_python_binds_them() -> None:
    text = (
        "import os.path\nfrom a import b as c\n\nX: int = 1\n\nclass K:\n    inner = 2\n\n"
        "if X:\n    def f():\n        local = 3\n\nfor g, h in ():\n    pass\n"
    )
    assert names_after_import(text) == {"os", "c", "X", "K", "f", "g", "h"}
    asking = "import rules as r\nfrom rules import one, two\nimport other\nr.three(other.four)\nfrom rules import *\n"
    assert names_asked(asking, "rules") == {"one", "two", "three"}
    assert names_asked("def (", "rules") == names_after_import("def (") == set()
