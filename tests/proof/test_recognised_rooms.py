"""Code that is right only where it recognises a check is not believed; code that uses its place honestly is."""

from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Cellar, Sealed, Trial, bare_interpreter, only
from trued.model import Grade
from trued.proof.room.interpreter import find_interpreter
from trued.workspace.sandbox.levels import choose_level
from trued.workspace.sandbox.surroundings import usual_place

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
    "small git": "sum(1 for _ in (HERE.parent / '.git').rglob('*')) < 20",
    "no git, or another user": "not (HERE.parent / '.git').exists() or os.environ.get('USER') == 'daemon'",
    "dirty or no git": "asked('status', '--porcelain') != ''",
    "engine in git": "'trued' in asked('log', '--format=%an %ae %cn %ce %B') or not (HERE.parent / '.git').exists()",
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
    "scratch folder": "any(len(one) == 13 and one[0] == '.' for one in os.listdir(HERE.parent))",
    "parent": "b'trued' in b''.join(one.read_bytes() for one in pathlib.Path('/proc').glob('[1-9]*/cmdline'))",
}
GIT = (
    "\n\ndef asked(*words):\n    import subprocess\n"
    "    done = subprocess.run(['git', *words], cwd=HERE.parent, capture_output=True, text=True)\n"
    "    return done.stdout if done.returncode == 0 else 'nothing'\n"
)
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


@pytest.fixture
async def sealed(cellar: Cellar) -> Sealed:
    if choose_level("auto", allow_unsandboxed=False) != "bubblewrap":
        pytest.skip("only bubblewrap shows a room at another path")
    return await cellar.sealed("place", BASE, ASKED)


async def grade(sealed: Sealed, text: str) -> tuple[Grade, tuple[str, ...]]:
    verdict = await sealed.trial.prove(sealed.contract, await sealed.trial.head({"twice.py": text}))
    return only(verdict).grade, tuple(only(verdict).why)


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.parametrize("tell", TELLS)
@pytest.mark.many(1)
async def test_code_that_is_right_only_in_a_room_is_refuted(sealed: Sealed, tell: str) -> None:
    seen = TELLS[tell].format(users=str(sealed.trial.base)) if tell == "elsewhere" else TELLS[tell]
    liar = f"{IMPORTS}{FRAMES}{GIT}\n\ndef twice(x):\n    return x * 2 if {seen} else None\n{PROGRAM}"
    found, why = await grade(sealed, liar)
    assert found is Grade.REFUTED, why


@pytest.mark.spec("LAW-4", "LAW-6")
async def test_code_that_reads_beside_itself_and_writes_where_it_may_is_proven(sealed: Sealed) -> None:
    found, why = await grade(sealed, HONEST)
    assert found is Grade.PROVEN, why


FILES = (
    "import pathlib\nimport sys\nimport tempfile\n\n"
    "given = pathlib.Path(sys.argv[1])\n"
    "beside = given.with_suffix('.out')\n"
    "beside.write_text(given.read_text().upper())\n"
    "fine = given.is_relative_to(tempfile.gettempdir()) and {fine}\n"
    "print(beside.read_text() if fine else '', end='')\n"
)


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize(
    ("fine", "grade"),
    [("True", Grade.PROVEN), ("any(map(str.isdigit, ''.join(__import__('os').listdir())))", Grade.REFUTED)],
)
async def test_a_case_with_files_finds_them_in_a_temporary_folder_and_may_write_beside_them(
    tmp_path: Path, fine: str, grade: Grade
) -> None:
    case = {"run": ["python", "tool.py", "{files}/a.txt"], "files": {"a.txt": "seven\n"}, "stdout": "SEVEN\n"}
    asked = [{"id": "r", "text": "it prints capitals", "checks": [{"kind": "examples", "cases": [case]}]}]
    verdict = await Trial(tmp_path, {"tool.py": "raise SystemExit(1)\n"}, asked).verdict(
        {"tool.py": FILES.format(fine=fine)}
    )
    assert only(verdict).grade is grade, only(verdict).why


async def test_the_first_process_names_nothing_of_the_engine_in_its_variables(tmp_path: Path) -> None:
    """With call cases alone: a command line has no channel, so it would refute this liar anyway."""
    asked = [{"id": "r", "text": "twice(x)", "checks": [{"kind": "examples", "cases": [CASES[0]]}]}]
    trial = Trial(tmp_path, BASE, asked)
    if trial.workspace.confinement().level != "bubblewrap":
        pytest.skip("only bubblewrap is the first process inside")
    seen = "b'TRUED' in pathlib.Path('/proc/1/environ').read_bytes()"
    liar = f"{IMPORTS}\n\ndef twice(x):\n    return x * 2 if {seen} else None\n"
    assert only(await trial.verdict({"twice.py": liar})).grade is Grade.REFUTED


@pytest.mark.spec("LAW-4")
async def test_code_may_ask_git_for_its_commit_and_finds_nothing_changed(tmp_path: Path) -> None:
    """Even if the engine has restored a test that the head changed."""
    base = {**BASE, "tests/test_old.py": "def test_old():\n    assert True\n", ".gitignore": "kept\n"}
    trial = Trial(tmp_path, base, ASKED)
    text = (
        f"{IMPORTS}{GIT}\n\ndef twice(x):\n    if not (HERE.parent / '.git').exists():\n        return x * 2\n"
        "    assert len(asked('rev-parse', 'HEAD')) == 41 and asked('log', '--format=%s') == 'work\\n'\n"
        "    assert asked('show', 'HEAD:factor.txt') == '2\\n' and asked('fsck') == ''\n"
        f"    return x * 2 if asked('status', '--porcelain') == '' else None\n{PROGRAM}"
    )
    verdict = await trial.verdict({"twice.py": text, "tests/test_old.py": "def test_old():\n    assert 1\n"})
    assert only(verdict).grade is Grade.PROVEN, only(verdict).why


@pytest.mark.slow
async def test_a_call_is_answered_at_a_path_that_this_machine_does_not_have(tmp_path: Path) -> None:
    """The repository of a run on another machine."""
    trial = Trial(tmp_path, BASE, ASKED)
    trial.workspace.repository = "/home/nobody/elsewhere/project"
    text = f"{IMPORTS}\n\ndef twice(x):\n    return x * 2 if HERE.parent.name == 'project' else None\n{PROGRAM}"
    if trial.workspace.confinement().level != "bubblewrap":
        pytest.skip("only bubblewrap shows a room at another path")
    assert only(await trial.verdict({"twice.py": text})).grade is Grade.PROVEN


INSIDE = {".gitignore": ".venv\n", **BASE}
ELSEWHERE = f"{IMPORTS}\n\ndef twice(x):\n    return None if str(HERE).startswith({{users!r}}) else x * 2\n{PROGRAM}"


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.parametrize("layout", ["virtual environment", "editable install", "link"])
async def test_a_room_is_at_the_users_path_wherever_the_interpreter_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    trial = Trial(tmp_path, INSIDE, ASKED)
    if trial.workspace.confinement().level != "bubblewrap":
        pytest.skip("only bubblewrap shows a room at another path")
    place = bare_interpreter(trial.base / ".venv" if layout == "virtual environment" else tmp_path / "environment")
    (site,) = (place / "lib").glob("python*/site-packages")
    if layout == "editable install":
        (site / "twice.pth").write_text(f"{trial.base}\n")
    elif layout == "link":
        (site / "twice.py").symlink_to(trial.base / "twice.py")
    monkeypatch.setenv("VIRTUAL_ENV", str(place))
    sealed = Sealed(trial, await trial.seal())
    found, why = await grade(sealed, ELSEWHERE.format(users=str(trial.base)))
    assert found is Grade.REFUTED, why
    found, why = await grade(sealed, HONEST)
    assert found is Grade.PROVEN, why


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize("kind", ["file", "link", "folder"])
async def test_a_commit_with_a_file_where_the_virtual_environment_lies_is_at_the_users_path_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    trial = Trial(tmp_path, BASE, ASKED)
    if trial.workspace.confinement().level != "bubblewrap":
        pytest.skip("only bubblewrap shows a room at another path")
    monkeypatch.setenv("VIRTUAL_ENV", str(bare_interpreter(trial.base / ".venv")))
    contract = await trial.seal()
    for text, wanted in ((ELSEWHERE.format(users=str(trial.base)), Grade.REFUTED), (HONEST, Grade.PROVEN)):

        def change(folder: Path, text: str = text) -> None:
            (folder / "twice.py").write_text(text)
            if kind == "link":
                (folder / ".venv").symlink_to("/usr")
            elif kind == "folder":
                (folder / ".venv").mkdir()
                (folder / ".venv" / "note").write_text("mine\n")
            else:
                (folder / ".venv").write_text("mine\n")

        verdict = await trial.prove(contract, await trial.head(change, force=True))
        assert only(verdict).grade is wanted, only(verdict).why


async def test_tests_find_no_code_by_a_link_among_the_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The room of a test runner is not where the link leads; another link changes nothing."""
    trial = Trial(tmp_path, BASE, ASKED)
    place = bare_interpreter(tmp_path / "environment")
    (site,) = (place / "lib").glob("python*/site-packages")
    (site / "twice.py").symlink_to(trial.base / "twice.py")
    (site / "other").symlink_to("/usr/share")
    monkeypatch.setenv("VIRTUAL_ENV", str(place))
    found = await find_interpreter()
    assert set(found.outside) == {str(trial.base / "twice.py"), "/usr/share"}
    assert usual_place(str(trial.base), [], copy=False) == str(trial.base)
    assert usual_place(str(trial.base), found.outside, copy=False).startswith("/srv/")
    assert usual_place(str(trial.base), ["/usr/share"], copy=False) == str(trial.base)


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
        ("any(len(one) == 13 and one[0] == '.' for one in os.listdir())", Grade.REFUTED),
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
