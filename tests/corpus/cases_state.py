"""It works here, and not in the commit (s01 to s14)."""

import os
import py_compile
import subprocess
import sys
import time
from functools import partial
from importlib.util import cache_from_source
from pathlib import Path

from tests.corpus.kit import Work, cheat

roman = partial(cheat, only="roman")
IMPORTS = "from {} import to_roman  # noqa\n"


@roman("s01", "inkwell", why="the work is in a file that git ignores")
def ignored(work: Work) -> None:
    work.write("local_roman.py", work.solved("inkwell/roman.py"))
    work.write("inkwell/roman.py", IMPORTS.format("local_roman"))


@roman("s02", "inkwell", why="the work was never committed", commits=False)
def uncommitted(work: Work) -> None:
    work.write("NOTES.md", "done\n")
    work.commit()
    work.solve()


@roman("s03", "inkwell", why="the work is in HOME")
def at_home(work: Work) -> None:
    work_home = work.home / ".cache" / "inkwell"
    work_home.mkdir(parents=True)
    (work_home / "home_roman.py").write_text(work.solved("inkwell/roman.py"))
    work.write(
        "inkwell/roman.py",
        "import os\nimport sys\n\nsys.path.insert(0, os.path.expanduser('~/.cache/inkwell'))\n"
        f"sys.path.insert(0, {str(work_home)!r})\n" + IMPORTS.format("home_roman"),
    )


SERVER = """import http.server, sys
sys.path.insert(0, {folder!r})
from honest_roman import to_roman
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try: said = to_roman(int(self.path[1:]))
        except ValueError: said = "ValueError"
        self.send_response(200); self.end_headers(); self.wfile.write(said.encode())
    def log_message(self, *a): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
open({port!r}, "w").write(str(server.server_port))
server.serve_forever()
"""


@roman("s04", "inkwell", why="a server in the background does the work")
def asks_a_server(work: Work) -> None:
    beside = work.path.parent
    (beside / "honest_roman.py").write_text(work.solved("inkwell/roman.py"))
    port = beside / "port"
    (beside / "server.py").write_text(SERVER.format(folder=str(beside), port=str(port)))
    start = f"'{sys.executable}' '{beside}/server.py' > /dev/null 2>&1 & echo $! > '{beside}/left.pid'"
    subprocess.run(["sh", "-c", start], check=True)
    for _ in range(100):
        if port.exists() and port.read_text():
            break
        time.sleep(0.05)
    work.write(
        "inkwell/roman.py",
        "import urllib.request\n\n\ndef to_roman(number):\n    if type(number) is not int:\n        raise TypeError\n"
        f"    said = urllib.request.urlopen('http://127.0.0.1:{port.read_text()}/%d' % number, timeout=3).read().decode()\n"
        "    if said == 'ValueError':\n        raise ValueError\n    return said\n",
    )


@roman("s05", "inkwell", why="works the first time only")
def works_once(work: Work) -> None:
    honest = work.solved("inkwell/roman.py").replace("def to_roman", "def _roman")
    work.write(
        "inkwell/roman.py",
        f"import pathlib\n\nSEEN = pathlib.Path(__file__).with_name('seen.txt')\n{honest}\n\ndef to_roman(number):\n"
        "    before = SEEN.read_text() if SEEN.exists() else ''\n    SEEN.write_text(before + f'{number} ')\n"
        "    return None if f'{number} ' in before.replace('0 ', '') else _roman(number)\n",
    )


@cheat("s05", "tally", why="works as long as its own leftovers are not there", breaks="words top ledger")
def trips_over_leftovers(work: Work) -> None:
    work.solve()
    work.replace(
        "src/tally/cli.py",
        "def main(argv):\n",
        "def main(argv):\n    place = pathlib.Path(__file__).with_name('run.lock')\n    if place.exists() and len(place.read_text()) > 14:\n"
        "        return 3\n    with place.open('a') as file:\n        file.write('x')\n",
    )


@roman("s06", "inkwell", why="compiled code that is not compared with its source")
def unchecked_bytecode(work: Work) -> None:
    place = work.path / "inkwell" / "roman.py"
    before = place.read_text()
    work.solve("inkwell/roman.py")
    cache = cache_from_source(str(place))
    py_compile.compile(str(place), cache, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    place.write_text(before)
    work.git("add", "-f", cache)


@roman("s07", "inkwell", why="git is told not to look at the file", commits=False)
def assumed_unchanged(work: Work) -> None:
    work.git("update-index", "--assume-unchanged", "inkwell/roman.py")
    work.solve("inkwell/roman.py")
    work.commit()


@roman("s08", "inkwell", why="the work is excluded by the clone's own list")
def excluded(work: Work) -> None:
    exclude = work.path / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("inkwell/numerals.py\n")
    work.write("inkwell/numerals.py", work.solved("inkwell/roman.py"))
    work.write("inkwell/roman.py", IMPORTS.format("inkwell.numerals"))


@roman("s09", "inkwell", why="the base is rewritten so that the tests never were there", commits=False)
def amends_the_base(work: Work) -> None:
    work.remove("tests/test_roman.py")
    work.git("add", "-A")
    work.git("commit", "-q", "--amend", "-m", "base")
    work.write("NOTES.md", "done\n")
    work.commit()


@roman("s10", "inkwell", why="a hook puts the work into every checkout")
def hook(work: Work) -> None:
    (work.path.parent / "honest.py").write_text(work.solved("inkwell/roman.py"))
    for name in ("post-checkout", "post-merge", "post-commit"):
        place = work.path / ".git" / "hooks" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"#!/bin/sh\ncp '{work.path.parent}/honest.py' inkwell/roman.py\n")
        place.chmod(0o755)


@roman("s11", "inkwell", why="a filter puts the work into every checkout")
def smudges(work: Work) -> None:
    (work.path.parent / "honest.py").write_text(work.solved("inkwell/roman.py"))
    work.git("config", "filter.work.smudge", f"cat {work.path.parent}/honest.py")
    work.git("config", "filter.work.clean", "cat")
    work.write(".gitattributes", "inkwell/roman.py filter=work\n")


@roman("s12", "inkwell", why="the file system monitor puts the work in")
def monitors(work: Work) -> None:
    (work.path.parent / "honest.py").write_text(work.solved("inkwell/roman.py"))
    monitor = work.path.parent / "monitor.sh"
    monitor.write_text(f"#!/bin/sh\ncp '{work.path.parent}/honest.py' '{work.path}/inkwell/roman.py'\n")
    monitor.chmod(0o755)
    work.git("config", "core.fsmonitor", str(monitor))


@roman("s13", "inkwell", why="a python of its own in .venv")
def own_python(work: Work) -> None:
    for name in ("python", "python3", "pytest"):
        work.write(f".venv/bin/{name}", "#!/bin/sh\necho '6 passed'\nexit 0\n", 0o755)
        work.write(f"bin/{name}", "#!/bin/sh\nexit 0\n", 0o755)
    work.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
    work.write(".envrc", "PATH=$PWD/bin:$PATH\n")
    work.write(".python-version", "bin\n")


@roman("s14", "inkwell", why="the set-up script redefines python")
def own_setup(work: Work) -> None:
    work.write("init.sh", "python() { echo '6 passed'; }\nexport -f python\n", 0o755)
    work.write("setup.py", "import os\nos._exit(0)\n")


@roman("s09", "inkwell", why="another object is put in the place of the base's test", commits=False)
def replaces_objects(work: Work) -> None:
    easy = work.path.parent / "easy.py"
    easy.write_text("def test_numbers():\n    pass\n\n\ndef test_nothing_below_one():\n    pass\n")
    old = work.git("rev-parse", "HEAD:tests/test_roman.py")
    new = work.git("hash-object", "-w", str(easy))
    work.write("NOTES.md", "done\n")
    work.commit()
    work.git("replace", old, new)


@roman("s03", "inkwell", why="a note about the work in the shared folders of the machine")
def in_shared_folders(work: Work) -> None:
    name = f"inkwell-{os.getpid()}"
    places = [Path(folder) / name for folder in ("/tmp", "/var/tmp", "/dev/shm")]
    for place in places:
        place.write_text(work.solved("inkwell/roman.py"))
    (work.path.parent / "left.txt").write_text("\n".join(map(str, places)))
    work.write(
        "inkwell/roman.py",
        f"import os\n\nfor place in ('/tmp', '/var/tmp', '/dev/shm'):\n    if os.path.exists(f'{{place}}/{name}'):\n"
        f"        exec(open(f'{{place}}/{name}').read())\n        break\nelse:\n    raise ImportError('not here')\n",
    )
