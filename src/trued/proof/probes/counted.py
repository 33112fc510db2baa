"""Runs inside the sandbox: pytest with a counting plugin that reports the id and outcome of every test.

It uses only the standard library and pytest, and does not import this package, because the interpreter is the
project's. pytest, its plugins and all that they import are loaded before the project's folders are on the path.
"""

from __future__ import annotations

import ast
import fnmatch
import functools
import gc
import glob
import hashlib
import importlib
import importlib.util
import json
import os
import pathlib
import re
import sys
import time
import types
from typing import Any

_ANNOTATIONS = annotations.compiler_flag  # the module imports them from __future__
MOST_TEXT = 4000  # at most this many last characters of a failure are reported; the rest is in the output
MOST_COPIES = 16  # at most this many red tests are copied, chosen at random if there are more
OTHER_COPIES = 2  # copies of other tests; two, because one of them may fail itself, and then its copy shows nothing
# Limits for tests with another expected value, which are chosen at random: their number; the time that they may take,
# as a part of the time of all tests or in seconds, whichever is more; and the seconds for writing their code.
MOST_ALTERED, ALTERED_PART, ALTERED_S, WRITING_S = 40, 0.1, 0.1, 0.3
# Plugin → its options, for plugins that only measure, speed up or cache. Options of an absent plugin are ignored.
IDLE = {
    "pytest_cov": (
        *("--cov", "--cov-report", "--cov-config", "--cov-fail-under", "--cov-context", "--cov-precision"),
        *("--no-cov", "--no-cov-on-fail", "--cov-append", "--cov-branch", "--cov-reset"),
    ),
    "xdist": ("-n", "--numprocesses", "--maxprocesses", "--dist", "--tx", "--max-worker-restart", "--looponfail"),
    "pytest_timeout": ("--timeout", "--timeout-method", "--timeout_method", "--session-timeout"),
    "cacheprovider": (
        *("--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first", "--cache-clear", "--sw"),
        *("--stepwise", "--sw-skip", "--stepwise-skip", "--lfnf", "--last-failed-no-failures"),
    ),
}
SWITCHES = re.compile(
    r"--(no-cov.*|cov-append|cov-branch|cov-reset|looponfail|lf|last-failed|ff|failed-first|nf|new-first"
    r"|cache-clear|sw|stepwise|sw-skip|stepwise-skip)"
)
EARLY = ("_pytest.assertion.rewrite", "_pytest.config", "_pytest.main", "_pytest.python", "unittest", "doctest")


class SuppliedModules:
    """Finds modules that the engine supplies, such as pytest, for an interpreter that lacks them."""

    def __init__(self, places: dict[str, str]) -> None:
        self.places = places

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        place = self.places.get(name)
        if place is None:
            return None
        if place.endswith(".py"):
            return importlib.util.spec_from_file_location(name, place)
        start = os.path.join(place, "__init__.py")
        return importlib.util.spec_from_file_location(name, start, submodule_search_locations=[place])


class PytestChannel:
    """Writes one record per line, each with the nonce."""

    def __init__(self, number: int, nonce: str) -> None:
        self.number, self.nonce = number, nonce

    def say(self, **record: Any) -> None:
        line = (self.nonce + " " + json.dumps(record) + "\n").encode()
        while line:
            line = line[os.write(self.number, line) :]


class Registrar:
    """Registers the trusted pytest plugins under their own names, without reading metadata from the checkout."""

    def __init__(self, plugins: list[tuple[str, Any]], absent: list[str], channel: PytestChannel) -> None:
        self.plugins, self.absent, self.channel = plugins, absent, channel

    def pytest_addoption(self, parser: Any, pluginmanager: Any) -> None:
        for name, module in self.plugins:
            if not pluginmanager.has_plugin(name) and not pluginmanager.is_registered(module):
                pluginmanager.register(module, name)
        group = parser.getgroup("left out")
        for plugin in self.absent:
            for option in IDLE[plugin]:
                self.add_idle_option(group, option)
        if "pytest_timeout" in self.absent:
            for name in ("timeout", "timeout_method", "timeout_func_only", "session_timeout"):
                parser.addini(name, "left out", default="")

    def add_idle_option(self, group: Any, option: str) -> None:
        way: dict[str, Any] = {"action": "append_const", "const": option} if SWITCHES.fullmatch(option) else {}
        if option == "--cov":
            way = {"nargs": "?", "const": option}
        try:
            group._addoption(option, dest="left_out_" + option.strip("-").replace("-", "_"), default=None, **way)
        except ValueError:
            return  # another plugin defines it

    def pytest_configure(self, config: Any) -> None:
        if "pytest_timeout" in self.absent:
            config.addinivalue_line("markers", "timeout(seconds): left out, the engine has limits of its own")
        options_left_out = [name for name in vars(config.option) if name.startswith("left_out_")]
        given = [name for name in options_left_out if getattr(config.option, name) is not None]
        used = ["--" + name[9:].replace("_", "-") for name in given]
        if used:
            self.channel.say(
                note="pytest's options " + ", ".join(used) + " were ignored, because they affect no result"
            )


class TestModules:
    """Lets test files that have the same module name run in one process, as pytest does for `conftest.py`.

    pytest names a module after its file, with the packages around it (`__init__.py`). So two packages of a repository
    can both have a module `test_calc`, or a package `tests`, and Python would import only the first one.
    """

    def __init__(self) -> None:
        self.present: dict[str, str] = {}  # first part of a module's name → the folder that it was imported from
        self.aside: dict[tuple[str, str], dict[str, Any]] = {}  # first part, folder → the modules set aside, by name

    def present_for(self, file: str) -> None:
        """Make the module name of this test file lead to the modules of the file's own folder."""
        top, folder = root_of(file)
        before = self.present.setdefault(top, folder)
        if before == folder:
            return
        names = [name for name in sys.modules if name == top or name.startswith(top + ".")]
        self.aside[top, before] = {name: sys.modules.pop(name) for name in names}
        sys.modules.update(self.aside.pop((top, folder), {}))
        self.present[top] = folder
        importlib.invalidate_caches()

    def all(self) -> list[Any]:
        return [*sys.modules.values(), *(module for modules in self.aside.values() for module in modules.values())]


@functools.lru_cache(maxsize=None)
def root_of(file: str) -> tuple[str, str]:
    """The first part of the name under which pytest imports a test file, and the folder where that part is."""
    folder, name = os.path.split(os.path.realpath(file))
    top = os.path.splitext(name)[0]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, top = os.path.split(folder)
    return top, folder


class Counting:
    """The plugin: chooses what is run, adds tests that must fail (canaries and copies), and reports every outcome."""

    def __init__(self, order: dict[str, Any], channel: PytestChannel, pytest: Any) -> None:
        self.order, self.channel, self.pytest = order, channel, pytest
        self.ids = None if order["ids"] is None else frozenset(order["ids"])
        self.marked: set[str] = set()
        self.copies: list[Any] = []
        self.altered: list[Any] = []
        self.seconds = 0.0  # how long all tests took
        self.altering = 0.0  # how long the tests with another expected value took
        self.clock = time.monotonic  # bound before any test can replace it
        self.current: Any = None
        self.collectors: dict[str, set[str]] = {}
        self.modules = TestModules()
        self.by_name = True  # whether pytest imports test files by their module names

    def pytest_configure(self, config: Any) -> None:
        self.by_name = config.getoption("importmode", "prepend") != "importlib"
        if config.getoption("doctestmodules", False):
            self.channel.say(note="doctests in modules were not counted, because they are part of the code under test")
        if self.order["files"] is not None:
            config.args[:] = [self.from_start(file) for file in self.order["files"]]
            return
        if self.order["start"] != self.order["room"] and config.args == [str(config.invocation_params.dir)]:
            # pytest follows its setting `testpaths` only if it is started in `--rootdir`
            paths = [path for pattern in config.getini("testpaths") for path in sorted(glob.glob(pattern))]
            config.args[:] = paths or config.args
        for named in self.order["more"]:
            self.include(config, named)

    def include(self, config: Any, named: str) -> None:
        """Collect a file that the check names, whatever its name. The file is not passed to pytest if another argument
        already includes it, because some versions of pytest would then skip the rest of the folder. Files other than
        Python are not tests and are ignored."""
        file = pathlib.Path(self.order["room"], named)
        if file.is_file() and file.suffix != ".py":
            return
        patterns = config.getini("python_files")
        if file.is_file() and not any(fnmatch.fnmatch(file.name, pattern) for pattern in patterns):
            patterns.append(file.name)
        places = [pathlib.Path(self.order["start"], argument.split("::")[0]) for argument in config.args]
        if not any(place == file or place in file.parents for place in places):
            config.args.append(self.from_start(named))

    def from_start(self, named: str) -> str:
        """The path of a file of the checkout, seen from the folder in which pytest was started."""
        room, start = self.order["room"], self.order["start"]
        return named if start == room else os.path.relpath(os.path.join(room, named), start)

    def pytest_collection_modifyitems(self, session: Any, items: list[Any]) -> None:
        # Doctests in Python files are part of the code under test, so they cannot be frozen and do not count.
        doctests = [item for item in items if type(item).__name__ == "DoctestItem" and str(item.path).endswith(".py")]
        items[:] = [item for item in items if item not in doctests]
        marks = ("skip", "skipif", "xfail")
        self.marked = {item.nodeid for item in items if any(item.get_closest_marker(mark) for mark in marks)}
        first_items = {item.nodeid: item for item in reversed(items)}
        selected_items = [item for item in items if first_items[item.nodeid] is item and self.is_selected(item.nodeid)]
        self.channel.say(left_out=[name for name in first_items if not self.is_selected(name)][:1000])
        if self.order["reverse"]:
            selected_items.reverse()
        self.copies = self.copies_to_run(selected_items)
        self.channel.say(copying=[item.nodeid for item in self.copies])
        self.altered = self.altered_copies(selected_items)
        # Altered tests come last, because late ones are left out without a teardown: a test after them would fail.
        items[:] = [*selected_items, *self.copies, *self.canaries(session), *self.altered]

    def is_selected(self, name: str) -> bool:
        return self.ids is None or name in self.ids or name.split("::")[0] in self.order["whole"]

    def canaries(self, session: Any) -> list[Any]:
        path = pathlib.Path(self.order["canary"])
        try:
            module = self.pytest.Module.from_parent(session, path=path)
        except TypeError:  # before pytest 7
            place: Any = importlib.import_module("py").path.local(str(path))
            module = self.pytest.Module.from_parent(session, fspath=place)
        return [self.pytest.Function.from_parent(module, name=name) for name in self.order["canaries"]]

    def copies_to_run(self, items: list[Any]) -> list[Any]:
        """Copies of real tests. Each has the id of its test, and fails after the test's own body. If a test passes and
        its copy is not reported as failed, no result of the run can be trusted. Copies run after all real tests, so
        that a test that cannot run twice does no harm."""
        named_files = tuple(path.rstrip("/") for path in self.order["more"])
        red = frozenset(self.order["red"])

        def place(item: Any) -> tuple[bool, bool, str]:
            is_named = item.nodeid.split("::")[0].startswith(named_files) if named_files else True
            return not is_named, "slow" in item.keywords, self.chance(item)

        copyable = sorted((item for item in items if item.nodeid not in self.marked), key=place)
        red_items = [item for item in copyable if item.nodeid in red or item.nodeid.split("::")[0] in red]
        copies = [
            *self.copies_of_some(red_items, MOST_COPIES),
            *self.copies_of_some([item for item in copyable if item not in red_items], OTHER_COPIES),
        ]
        # Sorted like the tests, so that modules and classes are set up only once more, and not for each copy.
        order = {item.nodeid: number for number, item in enumerate(items)}
        return sorted(copies, key=lambda copy: order[copy.nodeid])

    def altered_copies(self, items: list[Any]) -> list[Any]:
        """Copies of real tests that expect another value. If a test and its copy both pass, the code under test cheats:
        it returns something that is equal to everything, or has changed how values are compared."""
        alterable = [item for item in items if item.nodeid not in self.marked] if self.order["altered"] else []
        copies: list[Any] = []
        until = time.monotonic() + WRITING_S
        another = functools.partial(copy_expecting_another, seed=self.order["seed"])
        for item in sorted(alterable, key=self.chance)[: 3 * MOST_ALTERED]:
            if len(copies) == MOST_ALTERED or (time.monotonic() > until and not self.order["doubted"]):
                break
            try:
                copies.append(copy_of(item, another))
            except Exception:  # noqa: S112
                continue  # the test compares nothing with a literal value, or cannot be copied
        return copies

    def chance(self, item: Any) -> str:
        return hashlib.sha256((self.order["seed"] + item.nodeid).encode("utf-8", "replace")).hexdigest()

    def is_late(self, item: Any) -> bool:
        """Whether the item is an altered copy (see `altered_copies`), and the altered copies together have used up
        their time. If the item is an altered copy and there is time left, report that the item will run."""
        if not any(item is altered_item for altered_item in self.altered):
            return False
        if self.altering > max(ALTERED_PART * self.seconds, ALTERED_S) and not self.order["doubted"]:
            return True
        self.channel.say(altering=[item.nodeid])
        return False

    def copies_of_some(self, items: list[Any], most: int) -> list[Any]:
        copies: list[Any] = []
        for item in items[: most + 20]:
            try:
                copies += [copy_of(item)] if len(copies) < most else []
            except Exception:  # noqa: S112
                continue  # this kind of test cannot be copied; try another one
        return copies

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Any:
        self.current = item
        self.present(item)
        began = self.clock()
        yield
        spent = self.clock() - began
        if any(item is altered_item for altered_item in self.altered):
            self.altering += spent
        elif not any(item is copy for copy in self.copies):
            self.seconds += spent

    def pytest_collectstart(self, collector: Any) -> None:
        self.collectors.setdefault(collector.nodeid, set()).add(type(collector).__name__)
        if isinstance(collector, self.pytest.Module):
            self.present(collector)

    def pytest_collect_directory(self, path: Any) -> None:
        """If the folder is a package, make the package's name lead to this folder. pytest (since version 8) calls this
        before it imports the folder's own `conftest.py`."""
        if self.by_name and (path / "__init__.py").is_file():
            self.modules.present_for(str(path / "__init__.py"))

    def present(self, node: Any) -> None:
        file = str(getattr(node, "path", None) or getattr(node, "fspath", ""))
        if self.by_name and file.endswith(".py"):
            self.modules.present_for(file)

    def pytest_collectreport(self, report: Any) -> None:
        if not report.passed and self.collectors.get(report.nodeid) != {"DoctestModule"}:
            self.channel.say(collect=report.nodeid, outcome=report.outcome, text=str(report.longrepr)[-MOST_TEXT:])

    def pytest_runtest_logreport(self, report: Any) -> None:
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if report.skipped else "xpassed"
        if report.skipped and report.nodeid in self.marked:
            outcome = "marked"
        elif report.skipped:
            outcome = "skipped"  # includes a test that declares itself an expected failure while it runs
        text = report.longreprtext[-MOST_TEXT:] if report.failed else ""
        if any(self.current is copy for copy in self.copies):
            self.channel.say(copy=report.nodeid, when=report.when, outcome=outcome)
            return
        if any(self.current is altered_item for altered_item in self.altered):
            self.channel.say(altered=report.nodeid, when=report.when, outcome=outcome)
            return
        self.channel.say(id=report.nodeid, when=report.when, outcome=outcome, seconds=report.duration, text=text)


class Hurrying:
    """The plugin that leaves out altered copies (see `Counting.altered_copies`) when their time is up."""

    def __init__(self, counting: Counting) -> None:
        self.counting = counting

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Any:
        return True if self.counting.is_late(item) else None


def copy_expecting_another(function: Any, seed: str) -> Any:
    """A copy of a test function in which one assertion compares with a random text in place of the literal value that
    the test expects. Only assertions at the top level of the function are changed, because a passing test surely
    executes them. Raises LookupError if there is none, or if the function contains `return` or `yield`."""
    code = function.__code__
    top, test = definition_of(code)
    places = [place for statement in test.body for place in expected_values(statement)]
    if not places or any(isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) for node in ast.walk(test)):
        raise LookupError(code.co_name)
    number = int(hashlib.sha256((seed + code.co_name).encode("utf-8", "replace")).hexdigest(), 16)
    holder, name, index = places[number % len(places)]
    fields = vars(holder) if index is None else getattr(holder, name)
    key = name if index is None else index
    before = fields[key]
    fields[key] = ast.copy_location(ast.Constant(os.urandom(8).hex()), before)
    try:
        flags = code.co_flags & _ANNOTATIONS
        codes = [compile(ast.Module([top], []), code.co_filename, "exec", flags, dont_inherit=True)]
    finally:
        fields[key] = before  # other tests of the same file are copied, too
    for candidate in codes:
        same = (candidate.co_name, candidate.co_firstlineno) == (code.co_name, code.co_firstlineno)
        if same and candidate.co_freevars == code.co_freevars:
            copy = types.FunctionType(
                candidate, function.__globals__, function.__name__, function.__defaults__, function.__closure__
            )
            copy.__kwdefaults__, copy.__qualname__ = function.__kwdefaults__, function.__qualname__
            copy.__dict__.update({key: value for key, value in function.__dict__.items() if key != "__wrapped__"})
            return copy
        codes += [constant for constant in candidate.co_consts if isinstance(constant, types.CodeType)]
    raise LookupError(code.co_name)


def definition_of(code: types.CodeType) -> tuple[Any, Any]:
    """The statement at the top level of the file that contains the definition of this code, and that definition. Raises
    LookupError if there is none."""
    for top in parse_file(code.co_filename).body:
        if top.lineno - 50 <= code.co_firstlineno <= (top.end_lineno or 0):  # decorators come before the line
            for node in ast.walk(top):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
                    lines = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
                    if code.co_firstlineno == min(lines):
                        return top, node
    raise LookupError(code.co_name)


@functools.lru_cache(maxsize=None)
def parse_file(path: str) -> ast.Module:
    return ast.parse(pathlib.Path(path).read_bytes())


def expected_values(statement: ast.stmt) -> list[tuple[Any, str, int | None]]:
    """The places of the literal values that an assertion compares with something else. A place is the node that holds
    the value, the field of this node, and the value's index if the field is a list."""
    if isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare) and len(statement.test.ops) == 1:
        test = statement.test
        if isinstance(test.ops[0], (ast.Eq, ast.Is)):
            sides: list[tuple[Any, str, int | None]] = [(test, "left", None), (test, "comparators", 0)]
            return literal_among(sides, [test.left, test.comparators[0]])
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "assertEqual":
        if len(call.args) == 2:
            return literal_among([(call, "args", 0), (call, "args", 1)], call.args)
    return []


def literal_among(
    places: list[tuple[Any, str, int | None]], values: list[ast.expr]
) -> list[tuple[Any, str, int | None]]:
    """The place of the only literal among two values; none if both or neither are literal."""
    literal = []
    for place, value in zip(places, values):
        try:
            ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
        literal.append(place)
    return literal if len(literal) == 1 else []


def failing_copy(function: Any) -> Any:
    """A copy of the function. It does the same, and then fails."""
    if is_coroutine(function):

        async def copy(*args: Any, **kwargs: Any) -> None:
            await function(*args, **kwargs)
            raise AssertionError(os.urandom(8).hex())
    else:

        def copy(*args: Any, **kwargs: Any) -> None:  # type: ignore[misc]
            function(*args, **kwargs)
            raise AssertionError(os.urandom(8).hex())

    copy.__dict__.update({name: attribute for name, attribute in function.__dict__.items() if name != "__wrapped__"})
    copy.__name__, copy.__doc__, copy.__module__ = function.__name__, function.__doc__, function.__module__
    copy.__qualname__ = function.__qualname__
    alike = {name: getattr(function.__code__, name) for name in ("co_name", "co_filename", "co_firstlineno")}
    if hasattr(function.__code__, "co_qualname"):
        alike["co_qualname"] = function.__code__.co_qualname
    copy.__code__ = copy.__code__.replace(**alike)  # so that code cannot tell the copy from the original
    return copy


def is_coroutine(function: Any) -> bool:
    return bool(getattr(getattr(function, "__code__", None), "co_flags", 0) & 0x80)


def copy_of(item: Any, make: Any = failing_copy) -> Any:
    """A copy of the test. `make` gets the test's function and returns the function that the copy runs. Raises TypeError
    if it is unknown what a copy of this kind of test would run."""
    known = ("_pytest.", "pytest_asyncio.")
    if not type(item).__module__.startswith(known) or type(item.parent).__name__ == "Instance":
        raise TypeError("it is unknown what a copy of this kind of test would run")
    if type(item).__name__ == "TestCaseFunction":
        return copy_of_case(item, make)
    function = item.obj
    instance = getattr(function, "__self__", None)
    changed_function = make(function.__func__ if instance is not None else function)
    callspec_of_item = {"callspec": item.callspec} if hasattr(item, "callspec") else {}
    return type(item).from_parent(
        item.parent,
        **callspec_of_item,
        name=item.name,
        callobj=types.MethodType(changed_function, instance) if instance is not None else changed_function,
        fixtureinfo=item._fixtureinfo,
        originalname=item.originalname,
    )


def copy_of_case(item: Any, make: Any) -> Any:
    """A copy of a unittest test. It belongs to a subclass of the test's class, which has the changed method."""
    original = item.parent.obj
    name = item.name
    members = {name: make(getattr(original, name)), "__module__": original.__module__}
    members["__qualname__"] = original.__qualname__
    copied_class = type(item.parent).from_parent(item.parent.parent, name=item.parent.name)
    # Set here, because `from_parent` ignores its `obj`.
    copied_class.obj = type(original.__name__, (original,), members)
    return next(test for test in copied_class.collect() if test.name == name)


def package_folders(folder: str) -> list[str]:
    """A folder of installed packages, and the folders that its .pth files and editable installs name, if they exist. No
    code in these files is run."""
    folders = [folder]
    for name in sorted(os.listdir(folder)):
        place = os.path.join(folder, name)
        if name.endswith(".pth"):
            lines = [line.strip() for line in open(place, encoding="utf-8", errors="replace")]
            folders += [
                os.path.join(folder, line)
                for line in lines
                if line and not line.startswith(("#", "import ", "import\t"))
            ]
        elif name.startswith("__editable__") and name.endswith("finder.py"):
            match = re.search(r"^MAPPING[^=\n]*= (\{.*\})$", open(place, encoding="utf-8").read(), re.MULTILINE)
            mapping = ast.literal_eval(match.group(1)) if match else {}
            folders += [os.path.dirname(path) for path in mapping.values()]
    return [place for place in dict.fromkeys(folders) if os.path.isdir(place)]


def load_plugins(plugins: list[list[str]], channel: PytestChannel) -> list[tuple[str, Any]]:
    loaded = []
    for name, module in plugins:
        try:
            loaded.append((name, importlib.import_module(module)))
        except Exception as error:
            channel.say(note="the pytest plugin " + name + " could not be loaded: " + str(error)[:300])
    return loaded


def browser_plugins(
    stage: dict[str, Any], plugins: list[tuple[str, Any]], channel: PytestChannel
) -> list[tuple[str, Any]]:
    """Plugins for tests that drive a browser. They are registered after the project's own, so that the engine's browser
    is used."""
    if stage["supplied"]:
        sys.meta_path.insert(0, SuppliedModules(stage["supplied"]))
    spec = importlib.util.spec_from_file_location("trued_pages", stage["plugin"])
    if spec is None or spec.loader is None:
        raise ImportError(stage["plugin"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        importlib.import_module("playwright.sync_api")  # before a module of the project can shadow it
    except ImportError:
        pass
    module.STAGE["chromium"] = stage["chromium"]
    has_playwright = any(name == "playwright" for name, _ in plugins)
    fixtures = module.for_pytest_playwright() if has_playwright else module
    return [("trued-pages", fixtures), ("trued-kept", module.Keeping(stage["kept"], channel))]


def main() -> None:
    order = json.loads(sys.stdin.buffer.read())
    number = int(os.environ.pop("TRUED_CHANNEL"))
    os.set_inheritable(number, False)
    channel = PytestChannel(number, order["nonce"])
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    gc.disable()  # while loading, there is no garbage yet, and collecting would take a tenth of the time
    if order["supplied"]:
        sys.meta_path.insert(0, SuppliedModules(order["supplied"]))
        pluggy: Any = importlib.import_module("pluggy")
        pluggy.__version__ = order["pluggy"]  # otherwise it would look for metadata, which is not supplied
    pytest = importlib.import_module("pytest")
    for name in EARLY:
        importlib.import_module(name)
    last = pytest.hookimpl(trylast=True)  # after every plugin that chooses tests by name or mark
    last(Counting.pytest_collection_modifyitems)  # changes the function in place
    pytest.hookimpl(hookwrapper=True, tryfirst=True)(Counting.pytest_runtest_protocol)
    pytest.hookimpl(optionalhook=True, tryfirst=True)(Counting.pytest_collect_directory)
    absent = [name for name in IDLE if name == "cacheprovider" or not importlib.util.find_spec(name)]
    loaded = load_plugins(order["plugins"], channel)
    loaded += browser_plugins(order["stage"], loaded, channel) if order["stage"] else []
    pytest.hookimpl(tryfirst=True)(Hurrying.pytest_runtest_protocol)
    counting = Counting(order, channel, pytest)
    plugins = [Registrar(loaded, absent, channel), counting, Hurrying(counting)]
    if hasattr(gc, "freeze"):
        gc.freeze()  # later collections skip what is loaded now; pytest makes five of them at its end
    gc.enable()
    channel.say(started=True)
    sys.path[:0] = order["paths"]
    sys.path += [path for folder in order["site"] if os.path.isdir(folder) for path in package_folders(folder)]
    sys.argv = ["pytest", *order["arguments"]]
    code = int(pytest.main(list(order["arguments"]), plugins=plugins))
    files = [getattr(module, "__file__", None) for module in counting.modules.all()]
    channel.say(ran=[file for file in files if isinstance(file, str) and file.startswith(tuple(order["paths"]))])
    channel.say(ended=code, versions={"pytest": pytest.__version__})
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
