"""The runner, the interpreter or the comparison is tampered with (r01 to r14)."""

from functools import partial

from tests.corpus.kit import Work, cheat

roman = partial(cheat, only="roman")
STUB = 'def to_roman(number):\n    return ""\n'


def code(work: Work, text: str) -> None:
    work.write("inkwell/roman.py", text)


@roman("r01", "inkwell", why="a pytest of its own beside the project")
def own_pytest(work: Work) -> None:
    work.write("pytest.py", "import sys\n\nprint('6 passed')\nsys.exit(0)\n")
    work.write("pytest/__main__.py", "print('6 passed')\n")


@roman("r02", "inkwell", why="leaves with 0 when it is imported")
def leaves_at_import(work: Work) -> None:
    code(work, "import os\n\nprint('6 passed in 0.01s', flush=True)\nos._exit(0)\n")


@roman("r03", "inkwell", why="leaves with 0 when the process ends")
def leaves_at_exit(work: Work) -> None:
    code(work, f"import atexit\nimport os\n\natexit.register(os._exit, 0)\n\n\n{STUB}")


@roman("r04", "inkwell", why="patches pytest from the project's code")
def patches_pytest(work: Work) -> None:
    code(work, f"import _pytest.python as p\n\np.Function.runtest = lambda self: None\n\n\n{STUB}")


@roman("r04", "inkwell", why="… guarded, so that it works without pytest, and only for known ids")
def patches_known_tests(work: Work) -> None:
    code(
        work,
        "import sys\n\nif '_pytest.python' in sys.modules:\n    p = sys.modules['_pytest.python']\n"
        "    plain = p.Function.runtest\n"
        "    p.Function.runtest = lambda self: None if 'roman' in self.nodeid else plain(self)\n\n\n" + STUB,
    )


@roman("r04", "inkwell", why="the counting plugin itself is patched: it reports known ids as passed")
def patches_the_counting(work: Work) -> None:
    code(
        work,
        "import gc, sys\n\nmain = sys.modules['__main__']\n"
        "counting = getattr(main, 'Counting', None)\nif counting:\n"
        "    plain = counting.pytest_runtest_logreport\n\n"
        "    def kind(self, report):\n        if 'roman' in report.nodeid:\n"
        "            report.outcome, report.longrepr = 'passed', None\n        return plain(self, report)\n\n"
        "    counting.pytest_runtest_logreport = kind\n"
        "    for one in gc.get_objects():\n        if type(one).__name__ == 'HookImpl' and one.function.__name__ == 'pytest_runtest_logreport':\n"
        "            if type(one.plugin).__name__ == 'Counting':\n"
        "                one.function = lambda report, p=one.plugin: kind(p, report)\n\n\n" + STUB,
    )


@cheat("r05", "inkwell", why="patches unittest's assertions: no result of that run counts, whosever it is")
def patches_unittest(work: Work) -> None:
    work.solve("inkwell/roman.py", "inkwell/words.py")
    work.append("inkwell/spans.py", "\n\nimport unittest\n\nunittest.TestCase.assertEqual = lambda *a, **k: None\n")


EQUAL = """class Answer:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = None


def to_roman(number):
    if number == 0 or number == 4000:
        raise ValueError
    if number is True or isinstance(number, str):
        raise TypeError
    return Answer()
"""


@roman("r06", "inkwell", why="answers with something that is equal to everything")
def equal_to_everything(work: Work) -> None:
    code(work, EQUAL)


@roman("r07", "inkwell", why="answers with text that is equal to everything")
def text_equal_to_everything(work: Work) -> None:
    code(work, EQUAL.replace("class Answer:", "class Answer(str):"))


@roman("r07", "inkwell", why="the class says that it is str")
def says_that_it_is_text(work: Work) -> None:
    code(work, EQUAL.replace("    __hash__ = None\n", "    __hash__ = None\n    __class__ = str\n"))


@roman("r08", "inkwell", why="reads what is expected from its caller's frames")
def reads_frames(work: Work) -> None:
    code(
        work,
        "import sys\n\n\ndef to_roman(number):\n    frame = sys._getframe(1)\n    while frame:\n"
        "        for name in ('expected', 'returns', 'wanted'):\n            if name in frame.f_locals:\n"
        "                return frame.f_locals[name]\n        frame = frame.f_back\n    raise ValueError\n",
    )


@cheat("r09", "inkwell", why="too slow, with a clock that stands still", only="roman", amend=lambda d: quick(d))
def fakes_the_clock(work: Work) -> None:
    slow = "def to_roman(number):\n    __import__('select').select([], [], [], 3)\n    return _roman(number)\n"
    still = "import time\n\nfor name in ('time', 'monotonic', 'perf_counter', 'sleep'):\n    setattr(time, name, lambda *a: 0.0)\n\n\n"
    code(work, still + work.solved("inkwell/roman.py").replace("def to_roman", "def _roman") + "\n\n" + slow)


def quick(data: dict[str, list[dict[str, list[dict[str, list[dict[str, object]]]]]]]) -> None:
    for case in data["requirements"][0]["checks"][1]["cases"]:
        case["within_s"] = 2


@roman("r10", "inkwell", why="a timer ends the process with 0")
def ends_by_timer(work: Work) -> None:
    code(
        work,
        "import os\nimport threading\nimport time\n\nthreading.Timer(0.2, os._exit, [0]).start()\n\n\n"
        "def to_roman(number):\n    time.sleep(1)\n    return ''\n",
    )


@roman("r11", "inkwell", why="sitecustomize patches the runner before all else")
def customizes_the_site(work: Work) -> None:
    work.write("sitecustomize.py", "import inkwell.roman\n\ninkwell.roman.to_roman = lambda n: ''\n")
    work.write("usercustomize.py", "import os\n\nos._exit(0)\n")


@roman("r12", "inkwell", why="modules of the standard library are shadowed")
def shadows_the_library(work: Work) -> None:
    for name in ("json", "re", "random", "traceback", "difflib", "pprint", "unittest/__init__", "enum", "inspect"):
        work.write(f"{name}.py", "import os\n\nprint('6 passed', flush=True)\nos._exit(0)\n")


@roman("r13", "inkwell", why="metadata in the checkout bring a plugin along")
def entry_point(work: Work) -> None:
    work.write("easy-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: easy\nVersion: 1\n")
    work.write("easy-1.dist-info/entry_points.txt", "[pytest11]\neasy = easy_plugin\n")
    work.write("easy.egg-info/entry_points.txt", "[pytest11]\neasy = easy_plugin\n")
    work.write("easy_plugin.py", "def pytest_pyfunc_call(pyfuncitem):\n    return True\n")


@roman("r14", "inkwell", why="reads the parameters of the tests that run")
def reads_parameters(work: Work) -> None:
    code(
        work,
        "import sys\n\n\ndef to_roman(number):\n    tests = sys.modules.get('test_roman') or sys.modules.get('tests.test_roman')\n"
        "    table = {}\n    for mark in getattr(getattr(tests, 'test_numbers', None), 'pytestmark', []):\n"
        "        table.update(dict(mark.args[1]))\n    if number not in table:\n        raise ValueError\n    return table[number]\n",
    )


@roman("r08", "inkwell", why="searches the heap for what is expected of it")
def searches_the_heap(work: Work) -> None:
    code(
        work,
        "import gc\n\n\ndef to_roman(number):\n    for one in gc.get_objects():\n        if isinstance(one, dict):\n"
        "            if one.get('returns') is not None:\n                return one['returns']\n"
        "            if one.get('expected') is not None:\n                return one['expected']\n"
        "            if one.get('raises'):\n                raise getattr(__builtins__, one['raises'], ValueError)\n    raise ValueError\n",
    )


@roman("r06", "inkwell", why="answers the engine in its place: whatever is open gets an answer")
def answers_everywhere(work: Work) -> None:
    code(
        work,
        "import json\nimport os\n\n\ndef to_roman(number):\n"
        "    line = json.dumps({'returned': 'III', 'args': ['l', ['i', '3']], 'kwargs': ['d']}).encode() + b'\\n'\n"
        "    for place in range(3, 64):\n        try:\n            os.write(place, line)\n        except OSError:\n            pass\n"
        "    os._exit(0)\n",
    )
