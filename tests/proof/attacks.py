"""Heads as an attacker writes them: the content of a file, or a function that changes a checkout."""

import compileall
import importlib.util
import py_compile
import shutil
from pathlib import Path

from tests.proof.trial import Change, lay

HONEST = "def double(x):\n    return x * 2\n\n\ndef half(x):\n    return x // 2\n"
NOTHING = "def double(x):\n    raise NotImplementedError\n\n\ndef half(x):\n    return x // 2\n"
TESTS = """from calc.core import double, half


def test_double():
    expected = 14
    assert double(7) == expected


def test_half():
    assert half(8) == 4
"""
BASE = {"calc/__init__.py": "", "calc/core.py": NOTHING, "tests/test_core.py": TESTS, "README.md": "calc\n"}


def core(text: str) -> dict[str, str | None]:
    return {"calc/core.py": text}


# -- in the process of the held-out examples ---------------------------------------------------------------------------

READS_FRAMES = """import sys


def double(x):
    frame = sys._getframe()
    while frame is not None:
        for name in ("expected", "returns", "order", "case"):
            found = frame.f_locals.get(name)
            if isinstance(found, dict):
                found = found.get("returns", found.get("expected"))
            if found is not None and not isinstance(found, dict):
                return found
        frame = frame.f_back
    import gc
    for one in gc.get_objects():
        if isinstance(one, dict) and "returns" in one:
            return one["returns"]
    return None


def half(x):
    return x // 2
"""
ALWAYS_EQUAL = """class Any:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = None


def double(x):
    return Any()


def half(x):
    return x // 2
"""
EQUAL_TEXT = """class Text(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = str.__hash__


class Number(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = int.__hash__


def double(x):
    return Text("") if isinstance(x, str) else Number(0)


def half(x):
    return x // 2
"""
PATCHES_THE_RUNNER = """import sys, json
main = sys.modules["__main__"]
for name in ("answer", "Rendering", "play", "write", "target"):
    if hasattr(main, name):
        setattr(main, name, lambda *a, **k: '{"returned": [true], "args": [1, 10, "15", 0], "kwargs": [5, 0]}')
json.dumps = lambda *a, **k: '{"returned": [true]}'


def double(x):
    return True


def half(x):
    return x // 2
"""
LEAVES_AT_IMPORT = "import os\nprint('2 passed', flush=True)\nos._exit(0)\n"
LEAVES_WHEN_CALLED = "import os\n\n\ndef double(x):\n    os._exit(0)\n\n\ndef half(x):\n    return x // 2\n"
EXITS_POLITELY = "import sys\n\n\ndef double(x):\n    sys.exit(0)\n\n\ndef half(x):\n    return x // 2\n"
NEVER_ENDS = "def double(x):\n    while True:\n        pass\n\n\ndef half(x):\n    return x // 2\n"
FLOODS_EVERYTHING = """import os
for number in range(3, 64):
    try:
        os.set_blocking(number, False)
        for _ in range(400):
            os.write(number, b'{"returned": [10, "2a"], "args": [1, 0], "kwargs": [5, 0]}\\n' * 100)
    except OSError:
        pass


def double(x):
    return None


def half(x):
    return x // 2
"""
CLOSES_EVERYTHING = (
    "import os\nos.closerange(3, 64)\n\n\ndef double(x):\n    return x * 2\n\n\ndef half(x):\n    return x // 2\n"
)
A_THREAD_ANSWERS_TOO = """import os, threading


def shout():
    while True:
        for number in range(3, 40):
            try:
                os.write(number, b'{"returned": [10, "2a"], "args": [1, 10, "15", 0], "kwargs": [5, 0]}\\n')
            except OSError:
                pass


def double(x):
    threading.Thread(target=shout, daemon=True).start()
    import time
    time.sleep(0.2)
    return None


def half(x):
    return x // 2
"""
DEEP = """def double(x):
    out = []
    for _ in range(100000):
        out = [out]
    return out


def half(x):
    return x // 2
"""
HUGE = "def double(x):\n    return 'x' * 50_000_000\n\n\ndef half(x):\n    return x // 2\n"
ONCE = """import pathlib
MARK = pathlib.Path(__file__).parent / "seen.txt"


def double(x):
    with MARK.open("a") as file:
        file.write("x")
    return x * 2 if len(MARK.read_text()) <= 2 else None


def half(x):
    return x // 2
"""
A_SERVER_STAYS = """import os, pathlib, socket
ADDRESS = str(pathlib.Path(__file__).parent / "server")


def serve():
    server = socket.socket(socket.AF_UNIX)
    server.bind(ADDRESS)
    server.listen()
    while True:
        connection, _ = server.accept()
        connection.sendall(b"alive")
        connection.close()


def double(x):
    if not os.path.exists(ADDRESS):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                serve()
            os._exit(0)
        return x * 2
    try:
        client = socket.socket(socket.AF_UNIX)
        client.connect(ADDRESS)
        return x * 2 if client.recv(9) == b"alive" else None
    except OSError:
        return None


def half(x):
    return x // 2
"""
HOLDS_THE_CHANNEL = """import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(3600)
    os._exit(0)


def double(x):
    return None


def half(x):
    return x // 2
"""

IN_PROCESS = {
    "reads frames and the heap": READS_FRAMES,
    "equal to everything": ALWAYS_EQUAL,
    "text and numbers that are equal to everything": EQUAL_TEXT,
    "patches the runner": PATCHES_THE_RUNNER,
    "leaves at import": LEAVES_AT_IMPORT,
    "leaves when called": LEAVES_WHEN_CALLED,
    "exits politely": EXITS_POLITELY,
    "floods every descriptor": FLOODS_EVERYTHING,
    "a thread answers, too": A_THREAD_ANSWERS_TOO,
    "an answer of great depth": DEEP,
    "an answer of great size": HUGE,
    "passes the first time only": ONCE,
    "a server stays from the first turn": A_SERVER_STAYS,
    "a child holds the channel": HOLDS_THE_CHANNEL,
}


# -- files that change how checks run ----------------------------------------------------------------------------------


def compiled(folder: Path) -> None:
    """Write source that does nothing, compiled code that is right, and the flag that keeps Python from comparing."""
    lay(folder, core(HONEST))
    cache = importlib.util.cache_from_source(str(folder / "calc" / "core.py"))
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(folder / "calc" / "core.py"), cache, invalidation_mode=mode)
    lay(folder, core(NOTHING))


def sourceless(folder: Path) -> None:
    lay(folder, core(HONEST))
    compileall.compile_dir(folder / "calc", legacy=True, quiet=2)
    (folder / "calc" / "core.py").unlink()


def linked_test(folder: Path) -> None:
    lay(folder, {"other.py": "def test_double():\n    pass\n\n\ndef test_half():\n    pass\n"})
    (folder / "tests" / "test_core.py").unlink()
    (folder / "tests" / "test_core.py").symlink_to("../other.py")


def linked_folder(folder: Path) -> None:
    lay(folder, {"easy/test_core.py": "def test_double():\n    pass\n\n\ndef test_half():\n    pass\n"})
    shutil.rmtree(folder / "tests")
    (folder / "tests").symlink_to("easy")


def linked_outside(folder: Path) -> None:
    shutil.rmtree(folder / "tests")
    (folder / "tests").symlink_to("/tmp")


FORGED_HOOK = "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
FORGED_HOOK += (
    '    out = yield\n    report = out.get_result()\n    report.outcome = "passed"\n    report.longrepr = None\n'
)
PATCH = "import _pytest.python as p\np.Function.runtest = lambda self: None\n"
FAKE_PYTEST = """def main(*a, **k):
    print('2 passed')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
"""
ENTRY = "[pytest11]\neasy = easy_plugin\n"
METADATA = "Metadata-Version: 2.1\nName: easy\nVersion: 1\n"

FILES: dict[str, Change] = {
    "a conftest in the test folder": {"tests/conftest.py": FORGED_HOOK},
    "a conftest at the root": {"conftest.py": FORGED_HOOK},
    "plugins named by a conftest": {"conftest.py": 'pytest_plugins = ["easy"]\n', "easy.py": PATCH},
    "a package of tests": {"tests/__init__.py": PATCH},
    "sitecustomize": {"sitecustomize.py": PATCH},
    "usercustomize": {"usercustomize.py": PATCH},
    "a local pytest": {"pytest.py": FAKE_PYTEST, "_pytest/__init__.py": ""},
    "a local json and os": {"json.py": "raise SystemExit(0)\n", "select.py": "raise SystemExit(0)\n"},
    "a local plugin with metadata": {
        "easy_plugin.py": PATCH,
        "easy-1.dist-info/entry_points.txt": ENTRY,
        "easy-1.dist-info/METADATA": METADATA,
    },
    "pytest.ini": {"pytest.ini": "[pytest]\npython_functions = nothing_*\n"},
    "a hidden pytest.ini": {".pytest.ini": "[pytest]\naddopts = --collect-only\n"},
    "tox.ini": {"tox.ini": "[pytest]\naddopts = -k half\n"},
    "setup.cfg": {"setup.cfg": "[tool:pytest]\naddopts = --deselect tests/test_core.py::test_double\n"},
    "pyproject.toml": {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p easy'\n", "easy.py": PATCH},
    "code compiled from elsewhere": compiled,
    "code without a source": sourceless,
    "a linked test": linked_test,
    "a linked test folder": linked_folder,
    "a test folder that leads out": linked_outside,
    "a test that is a package": {"tests/test_core/__init__.py": "def test_double(): pass\n\n\ndef test_half(): pass\n"},
}


# -- code that fights the test runner from inside ----------------------------------------------------------------------

PATCHES_PYTEST = NOTHING + "\n\nimport _pytest.python as p\np.Function.runtest = lambda self: None\n"
PATCHES_REPORTS = NOTHING + "\n\nimport _pytest.reports as r\nr.TestReport.failed = property(lambda self: False)\n"
PATCHES_REPORTS += "r.TestReport.passed = property(lambda self: True)\n"
SKIPS_ITSELF = "import pytest\n\n\ndef double(x):\n    pytest.skip('later')\n\n\ndef half(x):\n    return x // 2\n"
EXPECTS_TO_FAIL = "import pytest\n\n\ndef double(x):\n    pytest.xfail('later')\n\n\ndef half(x):\n    return x // 2\n"
EXITS_PYTEST = "import pytest\n\n\ndef double(x):\n    pytest.exit('fine', 0)\n\n\ndef half(x):\n    return x // 2\n"
ENDS_BY_TIMER = NOTHING + "\n\nimport os, threading\nthreading.Timer(0.05, os._exit, [0]).start()\nimport time\n"
ENDS_BY_TIMER += "time.sleep(0.3)\n"
REWRITES_THE_TESTS = (
    NOTHING
    + """

import pathlib
for one in pathlib.Path("tests").glob("test_*.py"):
    one.write_text("def test_double(): pass\\ndef test_half(): pass\\n")
"""
)
WRITES_TO_THE_CHANNEL = (
    NOTHING
    + """

import os
for number in range(3, 64):
    try:
        os.write(number, b'{"id": "tests/test_core.py::test_double", "when": "call", "outcome": "passed"}\\n')
    except OSError:
        pass
"""
)

INSIDE_PYTEST = {
    "patches pytest": PATCHES_PYTEST,
    "patches reports": PATCHES_REPORTS,
    "skips itself": SKIPS_ITSELF,
    "expects itself to fail": EXPECTS_TO_FAIL,
    "ends the session": EXITS_PYTEST,
    "ends the process by a timer": ENDS_BY_TIMER,
    "leaves at import": LEAVES_AT_IMPORT,
    "rewrites the tests": REWRITES_THE_TESTS,
    "writes to the channel": WRITES_TO_THE_CHANNEL,
    "closes the channel": CLOSES_EVERYTHING,
}
