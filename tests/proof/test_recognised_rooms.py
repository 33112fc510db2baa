"""Code that is right only where it recognises a check is not believed; code that uses its place honestly is."""

from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Sealed, Trial, only
from trued.model import Grade

BASE = {"twice.py": "def twice(x):\n    raise NotImplementedError\n", "factor.txt": "2\n"}
CASES = [
    {"call": "twice:twice", "args": [21], "returns": 42},
    {"run": ["python", "-m", "twice", "4"], "stdout": "8\n"},
    {"call": "twice:twice", "args": ["ab"], "returns": "abab"},
]
ASKED: list[dict[str, Any]] = [
    {"id": "r", "text": "twice(x) is x two times", "checks": [{"kind": "examples", "cases": CASES}]}
]
IMPORTS = (
    "import os\nimport pathlib\nimport socket\nimport sys\nimport tempfile\n\nHERE = pathlib.Path(__file__).resolve()\n"
)
PROGRAM = (
    "\n\nif __name__ == '__main__':\n    given = sys.argv[1]\n"
    "    print(twice(int(given) if given.isdigit() else given))\n"
)
# What a room was recognised by: the code is right only where this holds.
TELLS = {
    "path": "'rooms' in str(HERE)",
    "work": "HERE.parent.name == 'work'",
    "folder": "'rooms' in os.getcwd()",
    "elsewhere": "not str(HERE).startswith({users!r})",
    "no git": "not (HERE.parent / '.git').exists()",
    "git": "(HERE.parent / '.git').exists()",
    "home": "'rooms' in os.environ['HOME'] or os.path.basename(os.environ['HOME']) in ('home', 'house')",
    "scratch": "'rooms' in tempfile.gettempdir() or os.path.basename(tempfile.gettempdir()) == 'scratch'",
    "no user": "os.environ.get('USER') in (None, 'daemon')",
    "no terminal": "'TERM' not in os.environ",
    "host": "socket.gethostname() in ('localhost', 'builder')",
    "variables": "any(name.startswith('TRUED') for name in os.environ)",
    "clock": "os.environ.get('TZ') == 'UTC'",
    "program": "'probes' in sys.argv[0] or 'probes' in (getattr(sys.modules['__main__'], '__file__', '') or '')",
    "isolated": "sys.flags.isolated",
    "stack": "any('probes' in one.f_code.co_filename for one in frames())",
    "parent": "b'trued' in b''.join(one.read_bytes() for one in pathlib.Path('/proc').glob('[1-9]*/cmdline'))",
}
FRAMES = "\n\ndef frames():\n    one = sys._getframe()\n    while one:\n        yield one\n        one = one.f_back\n"
HONEST = (
    IMPORTS
    + "\n\ndef twice(x):\n"
    + "    factor = int((HERE.parent / 'factor.txt').read_text())\n"
    + "    with tempfile.TemporaryDirectory() as folder:\n"
    + "        place = pathlib.Path(folder, 'kept')\n"
    + "        place.write_text(str(factor))\n"
    + "        pathlib.Path.home().joinpath('.twice').write_text(str(factor))\n"
    + "        assert os.path.relpath(HERE, os.getcwd()) == 'twice.py'\n"
    + "        return x * int(place.read_text())\n"
    + PROGRAM
)


@pytest.fixture(scope="module")
def kept() -> dict[str, Sealed]:
    return {}


@pytest.fixture
async def sealed(kept: dict[str, Sealed], tmp_path_factory: pytest.TempPathFactory) -> Sealed:
    if not kept:
        trial = Trial(tmp_path_factory.mktemp("place"), BASE, ASKED)
        if trial.workspace.confinement().level != "bubblewrap":
            pytest.skip("only bubblewrap shows a room at another path")
        kept["one"] = Sealed(trial, await trial.seal())
    return kept["one"]


async def grade(sealed: Sealed, text: str) -> tuple[Grade, tuple[str, ...]]:
    verdict = await sealed.trial.prove(sealed.contract, await sealed.trial.head({"twice.py": text}))
    return only(verdict).grade, tuple(only(verdict).why)


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.parametrize("tell", TELLS)
@pytest.mark.many(3)
async def test_code_that_is_right_only_in_a_room_is_refuted(sealed: Sealed, tell: str) -> None:
    seen = TELLS[tell].format(users=str(sealed.trial.base)) if tell == "elsewhere" else TELLS[tell]
    liar = f"{IMPORTS}{FRAMES}\n\ndef twice(x):\n    return x * 2 if {seen} else None\n{PROGRAM}"
    found, why = await grade(sealed, liar)
    assert found is Grade.REFUTED, why


@pytest.mark.spec("LAW-4", "LAW-6")
async def test_code_that_reads_beside_itself_and_writes_where_it_may_is_proven(sealed: Sealed) -> None:
    found, why = await grade(sealed, HONEST)
    assert found is Grade.PROVEN, why


SERVER = """import http.server
import os
import pathlib


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        fine = self.path == "/" or ({fine})
        self.send_response(200 if fine else 404)
        self.end_headers()
        self.wfile.write(b"ready" if self.path == "/" else b"seven" if fine else b"nothing")


http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Page).serve_forever()
"""


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize(
    ("fine", "grade"),
    [
        ("True", Grade.PROVEN),
        ("any(name.startswith('TRUED') for name in os.environ)", Grade.REFUTED),
        ("b'forwarder' in pathlib.Path('/proc', str(os.getppid()), 'cmdline').read_bytes()", Grade.REFUTED),
    ],
)
async def test_a_server_that_is_right_only_in_a_room_is_refuted(tmp_path: Path, fine: str, grade: Grade) -> None:
    case = {"http": {"method": "GET", "path": "/seven"}, "status": 200, "body": "seven"}
    asked = [{"id": "r", "text": "/seven says seven", "checks": [{"kind": "examples", "cases": [case]}]}]
    serve = {"command": ["python", "app.py"], "port_env": "PORT", "ready": {"path": "/"}}
    trial = Trial(tmp_path, {"app.py": SERVER.format(fine="False")}, asked, serve=serve)
    verdict = await trial.verdict({"app.py": SERVER.format(fine=fine)})
    assert only(verdict).grade is grade, only(verdict).why
