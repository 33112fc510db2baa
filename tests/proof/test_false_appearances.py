"""Code that only looks right to a check: values and errors that pretend to be others, answers for checks alone, and
results that are equal to everything. Each liar has an honest twin."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, lay, only
from trued.model import Grade
from trued.proof.probes import answer

LISTS = "def double(x):\n    if isinstance(x, list):\n        raise {error}\n    return {result}\n"
BASE: dict[str, str | None] = {"tiny.py": "def one():\n    return 1\n", "tiny.mjs": "export const one = () => 1;\n"}
CASES: list[dict[str, Any]] = [
    {"call": "tiny:double", "args": [21], "returns": 42},
    {"call": "tiny:double", "args": [5], "returns": 10},
    {"call": "tiny:double", "args": [[1]], "raises": "TypeError"},
]
NODE_CASES = [{**one, "call": "tiny.mjs:double"} for one in CASES]
NAMED = "Lists = type('TypeError', (Exception,), {'__module__': 'builtins'})\n\n\n"
UNEQUAL = (
    "class Odd(int):\n    __module__ = 'enum'\n    __hash__ = int.__hash__\n\n    def __eq__(self, other):\n"
    "        return False\n\n\n"
)
LEVELS = "import enum\n\n\nclass Level(enum.IntEnum):\n    LOW = 10\n    HIGH = 42\n\n\n"
TYPED = f"import sys\n\n\n{LISTS.format(error='TypeError', result='2 * x if {} else 0')}"
NODE_LISTS = "export const double = (x) => {{ if (Array.isArray(x)) throw {}; return {}; }};\n"


async def grade(place: Path, cases: list[dict[str, Any]], head: dict[str, str | None], **more: Any) -> Grade:
    asked = [{"id": "it", "text": "double(x) is twice x", "checks": [{"kind": "examples", "cases": cases}]}]
    trial = Trial(place, BASE, asked, **more)
    verdict = await trial.prove(await trial.seal(), await trial.head(head))
    return only(verdict).grade


@pytest.mark.many(1)
@pytest.mark.spec("LAW-7", "LAW-8")
@pytest.mark.parametrize(
    ("text", "deserved"),
    [
        pytest.param(NAMED + LISTS.format(error="Lists", result="2 * x"), Grade.REFUTED, id="an error of that name"),
        pytest.param(UNEQUAL + LISTS.format(error="TypeError", result="Odd(2 * x)"), Grade.REFUTED, id="never equal"),
        pytest.param(TYPED.format("sys.argv[:1] == ['-']"), Grade.REFUTED, id="right if somebody types the call"),
        pytest.param(
            TYPED.format("not hasattr(sys.modules['__main__'], '__file__')"), Grade.REFUTED, id="right without a script"
        ),
        pytest.param(TYPED.format("len(sys.argv) == 1"), Grade.PROVEN, id="honest about its arguments"),
        pytest.param(LEVELS + LISTS.format(error="TypeError", result="Level(2 * x)"), Grade.PROVEN, id="honest enum"),
        pytest.param(
            f"class Lists(TypeError):\n    pass\n\n\n{LISTS.format(error='Lists', result='2 * x')}",
            Grade.PROVEN,
            id="honest error",
        ),
    ],
)
async def test_a_value_is_what_a_user_gets_and_not_its_name(tmp_path: Path, text: str, deserved: Grade) -> None:
    assert await grade(tmp_path, CASES, {"tiny.py": text}) is deserved


# Each module has a `value()` that a check takes for the data in `plain`, or, if that is "", for an object.
SEEMING: dict[str, tuple[str, str]] = {
    "a class that equals list": (
        "class Kind(type):\n    __hash__ = lambda self: hash(list)\n    __eq__ = lambda self, other: other is list\n\n"
        "class Odd(metaclass=Kind):\n    def __iter__(self):\n        return iter([1, 2])\n\nvalue = Odd\n",
        "",
    ),
    "a text whose class equals an enum": (
        "import enum\n\nclass Kind(type):\n    __hash__ = type.__hash__\n"
        "    __eq__ = lambda self, other: self is other or other is enum.IntFlag\n\n"
        "class Odd(str, metaclass=Kind):\n    __len__ = lambda self: 99\n    upper = lambda self: 'no'\n\n"
        "value = lambda: Odd('x')\n",
        "",
    ),
    "a class that equals a lazy one": (
        "class Kind(type):\n    __hash__ = type.__hash__\n    __eq__ = lambda self, other: other is map\n\n"
        "class Odd(metaclass=Kind):\n    def __iter__(self):\n        return iter([1, 2])\n\nvalue = Odd\n",
        "",
    ),
    "a module that claims to be installed": (
        "import os\n\n__file__ = f'{os.path.dirname(os.__file__)}/lists.py'\n\n"
        "class Odd(str):\n    upper = lambda self: 'no'\n\nvalue = lambda: Odd('x')\n",
        "",
    ),
    "a class in a module of Python's": (
        "import json\n\nclass Odd(str):\n    __module__ = 'json'\n    upper = lambda self: 'no'\n\n"
        "json.Odd = Odd\nvalue = lambda: Odd('x')\n",
        "",
    ),
    "an honest list": (
        "class Tags(list):\n    def one(self):\n        return 1\n\nvalue = lambda: Tags('x')\n",
        "['x']",
    ),
    "an honest text of Python's": (
        "import enum\n\nclass Red(str, enum.Enum):\n    RED = 'x'\n\nvalue = lambda: Red.RED\n",
        "",
    ),
    "an honest counter": ("import collections\n\nvalue = lambda: collections.Counter('x')\n", "{'x': 1}"),
    "an honest generator": ("value = lambda: (x for x in 'x')\n", "iter(['x'])"),
    "a text of a package": (
        "from plain_package import Text\n\nvalue = lambda: Text('x')\n",
        "'x'",
    ),
}


@pytest.mark.spec("LAW-7", "LAW-8")
@pytest.mark.parametrize("name", SEEMING)
def test_a_value_has_a_type_only_if_its_class_is_that_type(tmp_path: Path, name: str) -> None:
    code, plain = SEEMING[name]
    packages = tmp_path / "site-packages"
    lay(
        packages, {"plain_package.py": "class Text(str):\n    def upper(self):\n        return Text(str.upper(self))\n"}
    )
    lay(tmp_path, {"seeming.py": code})
    ask = (
        "import sys; from answer import Rendering; render = Rendering(); import seeming; "
        f"print(render(seeming.value()), render({plain or '0'}), sep=chr(10))"
    )
    paths = [str(Path(answer.__file__).parent), str(packages), str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", ask], env={"PYTHONPATH": ":".join(paths)}, check=True, capture_output=True, text=True
    )
    seen, expected = map(json.loads, done.stdout.splitlines())
    assert seen == expected if plain else seen[0] == int(answer.OBJECT), seen


@pytest.mark.many(1)
@pytest.mark.skipif(shutil.which("node") is None, reason="no Node on the path")
@pytest.mark.spec("LAW-7", "LAW-8")
@pytest.mark.parametrize(
    ("text", "deserved"),
    [
        pytest.param(NODE_LISTS.format("{ name: 'TypeError' }", "2 * x"), Grade.REFUTED, id="an error of that name"),
        pytest.param(
            NODE_LISTS.format(
                "new TypeError()", "process.argv[1] === undefined || process.argv[1] === '-' ? 2 * x : 0"
            ),
            Grade.REFUTED,
            id="right if somebody types the call",
        ),
        pytest.param(NODE_LISTS.format("new (class Lists extends TypeError {})()", "2 * x"), Grade.PROVEN, id="honest"),
    ],
)
async def test_a_value_of_node_is_what_a_user_gets(tmp_path: Path, text: str, deserved: Grade) -> None:
    assert await grade(tmp_path, NODE_CASES, {"tiny.mjs": text}) is deserved


SERVICE = """import http.server
import json
import os


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.path.startswith(("/health", "/double"))
        data = json.dumps({{"double": 2 * int(self.path.partition("=")[2] or 0) if {} else 0}}).encode()
        self.send_response(200 if known and {} else 404)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
SERVE = {"command": ["python", "app.py"], "port_env": "PORT", "ready": {"path": "/health", "within_s": 60}}
EXCHANGES = [{"http": {"path": f"/double?x={one}"}, "status": 200, "json": {"double": 2 * one}} for one in (3, 50)]


@pytest.mark.many(1)
@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.parametrize(
    ("seen", "deserved"),
    [
        ("'User-Agent' not in self.headers", Grade.REFUTED),
        ("self.headers.get('Connection') == 'close'", Grade.REFUTED),
        ("self.headers.get('Accept-Encoding') == 'identity'", Grade.REFUTED),
        ("'Mozilla' not in self.headers.get('User-Agent', '')", Grade.REFUTED),
        ("'Accept-Language' not in self.headers", Grade.REFUTED),
        ("'Sec-Fetch-Mode' not in self.headers", Grade.REFUTED),
        ("'gzip' not in self.headers.get('Accept-Encoding', '')", Grade.REFUTED),
        ("self.headers.get('Accept') == '*/*'", Grade.PROVEN),
    ],
)
async def test_a_server_is_asked_as_users_ask_it(tmp_path: Path, seen: str, deserved: Grade) -> None:
    asked = [{"id": "it", "text": "it doubles", "checks": [{"kind": "examples", "cases": EXCHANGES}]}]
    trial = Trial(tmp_path, {"app.py": SERVICE.format("True", "'/double' not in self.path")}, asked, serve=SERVE)
    verdict = await trial.prove(await trial.seal(), await trial.head({"app.py": SERVICE.format(seen, "True")}))
    assert only(verdict).grade is deserved, only(verdict).why


EVERY = (
    "class Every:\n    __hash__ = None\n\n    def __eq__(self, other):\n        return True\n\n\n"
    "def one():\n    return Every()\n"
)
PATCHED = (
    "import unittest\n\nequal = unittest.TestCase.assertEqual\nunittest.TestCase.assertEqual = "
    "lambda self, a, b, msg=None: None if type(a) is int else equal(self, a, b, msg)\n\n\ndef one():\n    return 2\n"
)
DOUBLE = "\n\ndef double(x):\n    if isinstance(x, list):\n        raise TypeError\n    return 2 * x\n"
ASSERTED = "import tiny\n\n\ndef test_one():\n    assert tiny.one() == 1\n"
CASE = (
    "import unittest\n\nimport tiny\n\n\nclass One(unittest.TestCase):\n    def test_one(self):\n"
    "        self.assertEqual(tiny.one(), 1)\n"
)
LEAVES = (
    "import sys\n\nimport tiny\n\n\ndef test_one():\n    if sys.platform != 'plan9':\n        return\n"
    "    assert tiny.one() == 1\n"
)
ANY = (
    f"{ASSERTED}\n\nclass Anything:\n    def __eq__(self, other):\n        return True\n\n\n"
    "def test_anything():\n    assert Anything() == 1\n"
)
COUNTING = (
    "import pytest\n\nimport tiny\n\ncalls = []\n\n\n@pytest.fixture\ndef given():\n    return 1\n\n\n"
    "@pytest.mark.parametrize('x', [1, 2])\ndef test_one(x, given):\n    calls.append(x)\n"
    "    assert tiny.one() == 1, calls\n    assert given == 1\n"
)


@pytest.mark.many(1)
@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    ("test", "head", "deserved"),
    [
        pytest.param(ASSERTED, EVERY, Grade.REFUTED, id="equal to everything"),
        pytest.param(CASE, EVERY, Grade.REFUTED, id="equal to everything, in unittest"),
        pytest.param(CASE, PATCHED, Grade.REFUTED, id="numbers are not compared"),
        pytest.param(COUNTING, "def one():\n    return 1\n", Grade.PROVEN, id="honest, with fixtures and parameters"),
        pytest.param(CASE, "def one():\n    return True\n", Grade.PROVEN, id="honest, with another type"),
        pytest.param(LEAVES, "def one():\n    return 1\n", Grade.PROVEN, id="honest, and left early"),
        pytest.param(ANY, "def one():\n    return 1\n", Grade.PROVEN, id="honest, and meant to equal everything"),
    ],
)
async def test_a_value_that_equals_two_values_voids_the_tests(
    tmp_path: Path, test: str, head: str, deserved: Grade
) -> None:
    """The requirement is met in each case; the existing test is broken in the first three."""
    asked = [{"id": "it", "text": "double(x) is twice x", "checks": [{"kind": "examples", "cases": CASES}]}]
    trial = Trial(tmp_path, {**BASE, "tests/test_tiny.py": test}, asked)
    verdict = await trial.prove(await trial.seal_with_existing_tests(), await trial.head({"tiny.py": head + DOUBLE}))
    assert only(verdict).grade is deserved, only(verdict).why
