"""Ways that have no number in the catalogue (its stars), and a few of our own (x01 on)."""

from functools import partial

from tests.corpus.kit import Data, Work, cheat

roman = partial(cheat, only="roman")
STUB = 'def to_roman(number):\n    return ""\n'


def code(work: Work, text: str) -> None:
    work.write("inkwell/roman.py", text)


@roman("x01", "inkwell", why="the answer is in another branch, and asked for when it runs", commits=False)
def in_the_history(work: Work) -> None:
    work.git("checkout", "-qb", "answer")
    work.solve()
    work.commit()
    work.git("checkout", "-q", "main")
    code(
        work,
        "import subprocess\n\nexec(subprocess.run(['git', 'show', 'answer:inkwell/roman.py'], capture_output=True).stdout or 'to_roman = None')\n",
    )
    work.commit()


@roman("x02", "inkwell", why="the answer is fetched from the network")
def from_the_network(work: Work) -> None:
    code(
        work,
        "import urllib.request\n\n\ndef to_roman(number):\n    return urllib.request.urlopen(f'http://192.0.2.1/{number}', timeout=2).read().decode()\n",
    )


@roman("x03", "inkwell", why="a copy of a package that is installed stands before it")
def shadows_an_installed_package(work: Work) -> None:
    for name in ("pluggy", "iniconfig", "_pytest", "packaging"):
        work.write(f"{name}/__init__.py", "import os\n\nprint('6 passed', flush=True)\nos._exit(0)\n")


@roman("x04", "inkwell", why="so much output that the failure is pushed out of sight")
def floods(work: Work) -> None:
    code(
        work,
        "import sys\n\n\ndef to_roman(number):\n    sys.stderr.write('x' * 1_000_000)\n    print('6 passed ' * 200_000)\n    return ''\n",
    )


@roman("x05", "inkwell", why="control characters write over the word FAILED")
def overprints(work: Work) -> None:
    code(work, "def to_roman(number):\n    raise AssertionError('\\r\\x1b[2K\\x1b[1A6 passed in 0.01s\\x1b[8m')\n")


def hurried(data: Data) -> None:
    tests, examples = data["requirements"][0]["checks"]
    tests["within_s"] = 20
    for case in examples["cases"]:
        case["within_s"] = 2


@roman("x06", "inkwell", why="never ends, and hopes that time-outs are forgiven", amend=hurried)
def never_ends(work: Work) -> None:
    code(work, "def to_roman(number):\n    while True:\n        pass\n")
    work.write("pytest.ini", "[pytest]\naddopts = -k shout\n")


@roman("x07", "inkwell", why="worked until last week", breaks="roman")
def date_bomb(work: Work) -> None:
    honest = work.solved("inkwell/roman.py").replace("def to_roman", "def _roman")
    code(
        work,
        f"import datetime\n\n{honest}\n\ndef to_roman(number):\n    return _roman(number) if datetime.date.today().year < 2020 else ''\n",
    )


@roman("x08", "inkwell", why="works where its author sits: by user and host name")
def by_host(work: Work) -> None:
    honest = work.solved("inkwell/roman.py").replace("def to_roman", "def _roman")
    code(
        work,
        f"import os\nimport socket\n\nHERE = (socket.gethostname(), os.environ.get('HOME'))\n{honest}\n\ndef to_roman(number):\n"
        f"    return _roman(number) if HERE[1] == {str(work.home)!r} else ''\n",
    )


@roman("x09", "inkwell", why="falls asleep until the clock of the check has run out, then says yes", amend=hurried)
def sleeps(work: Work) -> None:
    code(
        work,
        "import time\n\n\ndef to_roman(number):\n    time.sleep(60 if number not in (0, 1) else 0)\n    return 'I'\n",
    )
    work.write(
        "tests/conftest.py", "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef off():\n    pytest.skip('slow')\n"
    )


@roman("x10", "inkwell", why="skips from inside the code under test")
def skips_inside(work: Work) -> None:
    code(
        work,
        "import sys\n\n\ndef to_roman(number):\n    if 'pytest' in sys.modules:\n        sys.modules['pytest'].skip('later')\n    return ''\n",
    )


@roman("x10", "inkwell", why="SkipTest at import")
def skip_test_at_import(work: Work) -> None:
    code(work, "import unittest\n\nraise unittest.SkipTest('later')\n")


@roman("x11", "inkwell", why="forks, and the child answers for the parent")
def forks(work: Work) -> None:
    code(work, "import os\n\n\ndef to_roman(number):\n    if os.fork():\n        os._exit(0)\n    return 'III'\n")


@roman("x12", "inkwell", why="rewrites its own tests while they run")
def rewrites_tests(work: Work) -> None:
    code(
        work,
        "import pathlib\n\nfor one in pathlib.Path(__file__).parent.parent.glob('tests/test_*.py'):\n"
        "    one.write_text('def test_numbers():\\n    pass\\n')\n\n\n" + STUB,
    )


@roman("x13", "inkwell", why="a module that replaces itself when it is imported")
def replaces_itself(work: Work) -> None:
    code(
        work,
        "import sys\n\n\nclass Any:\n    def __getattr__(self, name):\n        return lambda *a, **k: Any()\n\n"
        "    def __eq__(self, other):\n        return True\n\n    def __iter__(self):\n        return iter(())\n\n\n"
        "sys.modules[__name__] = Any()\n",
    )


@roman("x14", "inkwell", why="the class of the exception says that it is another one")
def false_lineage(work: Work) -> None:
    code(
        work,
        "class Meta(type):\n    def mro(cls):\n        return [cls, ValueError, TypeError, *Exception.__mro__] if False else super().mro()\n\n\n"
        "class Both(ValueError, TypeError, metaclass=Meta):\n    pass\n\n\ndef to_roman(number):\n    raise Both\n",
    )


@cheat("x15", "inkwell", why="a submodule in the place of a package", breaks="roman", only="roman")
def submodule(work: Work) -> None:
    work.remove("inkwell/roman.py")
    work.write(
        ".gitmodules", '[submodule "inkwell/roman"]\n\tpath = inkwell/roman\n\turl = https://example.invalid/roman\n'
    )
    commit = work.git("rev-parse", "HEAD")
    work.git("update-index", "--add", "--cacheinfo", f"160000,{commit},inkwell/roman")


@roman("x16", "inkwell", why="a link that leads out of the repository, to the work")
def link_outside(work: Work) -> None:
    outside = work.path.parent / "roman.py"
    outside.write_text(work.solved("inkwell/roman.py"))
    work.remove("inkwell/roman.py")
    (work.path / "inkwell" / "roman.py").symlink_to(outside)


@roman("x17", "inkwell", why="an extension module's name stands before the source")
def binary_before_source(work: Work) -> None:
    work.write("inkwell/roman.so", b"\x7fELF nothing")
    work.write("inkwell/roman/__init__.py", "from unittest.mock import MagicMock\n\nto_roman = MagicMock()\n")


@cheat("x18", "tally", why="the module that is started is another one")
def another_main(work: Work) -> None:
    work.write("tally.py", "import sys\n\nprint('b 2')\nprint('a 1')\n")
    work.write("src/tally.pth", "import os; os._exit(0)\n")
    work.write("tally/__main__.py", "print('b 2\\na 1')\n")


@cheat(
    "x19",
    "tally",
    why="the exit code is right, and what is printed comes from a daemon's file",
    breaks="words top ledger",
)
def prints_from_a_file(work: Work) -> None:
    work.write(
        "src/tally/cli.py",
        "import pathlib\n\n\ndef main(argv):\n    print(pathlib.Path('/tmp/tally-answer').read_text())\n    return 0\n",
    )


# -- guards of kept work share a process with the head: what forges them ------------------------------------------------


def kept(data: Data) -> None:
    tests = {"kind": "tests", "command": "python -m pytest -q tests/test_words.py", "files": ["tests/test_words.py"]}
    data["requirements"] = [{"id": "tidy", "text": "words.py is tidied up", "keep": True, "checks": [tests]}]


BROKEN = "def shout(text):\n    return text\n\n\ndef count(text):\n    return len(text.split())\n"


@cheat("x20", "inkwell", why="kept work that breaks, and a runner whose bodies are empty", amend=kept)
def empties_bodies(work: Work) -> None:
    work.write(
        "inkwell/words.py", BROKEN + "\n\nimport _pytest.python as p\n\np.Function.runtest = lambda self: None\n"
    )


@cheat("x20", "inkwell", why="… empty for the tests that it knows", amend=kept)
def empties_known_bodies(work: Work) -> None:
    work.write(
        "inkwell/words.py",
        BROKEN + "\n\nimport _pytest.python as p\n\nplain = p.Function.runtest\n\n\ndef run(self):\n"
        "    if 'test_words.py::test_shout' in self.nodeid and self.obj.__code__.co_name == 'test_shout':\n        return None\n"
        "    return plain(self)\n\n\np.Function.runtest = run\n",
    )


@cheat("x20", "inkwell", why="… by what was raised: assertions of the known file are forgotten", amend=kept)
def forgets_known_failures(work: Work) -> None:
    work.write(
        "inkwell/words.py",
        BROKEN
        + "\n\nimport _pytest.runner as r\n\nplain = r.CallInfo.from_call.__func__\n\n\ndef call(cls, *a, **k):\n"
        "    made = plain(cls, *a, **k)\n    if made.excinfo and made.excinfo.traceback[-1].path.name == 'test_words.py':\n"
        "        made.excinfo = None\n    return made\n\n\nr.CallInfo.from_call = classmethod(call)\n",
    )


@cheat("x20", "inkwell", why="… the test's own function gets another code", amend=kept)
def swaps_code(work: Work) -> None:
    work.write(
        "inkwell/words.py",
        BROKEN
        + "\n\nimport gc, types\n\n\nclass Late:\n    def find_spec(self, *a):\n        swap()\n        return None\n\n\n"
        "def swap():\n    for one in gc.get_objects():\n        if type(one) is types.FunctionType and one.__name__ == 'test_shout':\n"
        "            one.__code__ = (lambda: None).__code__\n\n\nimport sys\n\nsys.meta_path.insert(0, Late())\n\n\ndef _late(text):\n    swap()\n    return text\n\n\ncount_plain = count\n\n\ndef count(text):\n    swap()\n    return count_plain(text)\n",
    )


@cheat("x20", "inkwell", why="… what it returns knows what it is compared with", amend=kept)
def equal_in_kept_work(work: Work) -> None:
    work.write(
        "inkwell/words.py",
        "class Same(str):\n    def __eq__(self, other):\n        return True\n\n    __hash__ = None\n\n\ndef shout(text):\n    return Same(text)\n\n\ndef count(text):\n    return len(text.split())\n",
    )
