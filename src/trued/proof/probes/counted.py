"""Runs inside the sandbox: pytest with a counting plugin that reports every test id and how it ended.

It uses only the standard library and pytest, and does not import this package, because the interpreter is the
project's. pytest, its plugins and all that they import are loaded before the project's folders are on the path.
"""

from __future__ import annotations

import ast
import fnmatch
import functools
import gc
import hashlib
import importlib
import importlib.util
import json
import os
import pathlib
import re
import sys
import types
from typing import Any

MOST_TEXT = 4000  # at most this many last characters of a failure are reported; the rest is in the output
MOST_COPIES = 16  # at most this many red tests are copied, chosen at random if there are more
# Plugin → its options, for plugins that only measure, speed up or cache. If the plugin is absent, they are ignored.
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
                self.idle(group, option)
        if "pytest_timeout" in self.absent:
            for name in ("timeout", "timeout_method", "timeout_func_only", "session_timeout"):
                parser.addini(name, "left out", default="")

    def idle(self, group: Any, option: str) -> None:
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
        given = [name for name in vars(config.option) if name.startswith("left_out_")]
        used = ["--" + name[9:].replace("_", "-") for name in given if getattr(config.option, name) is not None]
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
        self.aside: dict[tuple[str, str], dict[str, Any]] = {}  # the same two → the modules of that name, by full name

    def present_for(self, file: str) -> None:
        """Make the modules of this test file's folder the ones that its module name leads to."""
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
        return [*sys.modules.values(), *(one for found in self.aside.values() for one in found.values())]


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
        self.current: Any = None
        self.collectors: dict[str, set[str]] = {}
        self.modules = TestModules()
        self.by_name = True  # whether pytest imports test files by their module names

    def pytest_configure(self, config: Any) -> None:
        self.by_name = config.getoption("importmode", "prepend") != "importlib"
        if config.getoption("doctestmodules", False):
            self.channel.say(note="doctests in modules were not counted, because they are part of the code under test")
        if self.order["files"] is not None:
            config.args[:] = self.order["files"]
            return
        for one in self.order["more"]:
            self.include(config, one)

    def include(self, config: Any, named: str) -> None:
        """Collect a file that the check names, whatever its name. It is not passed to pytest if another argument
        already includes it, because some versions would then skip the rest of the folder. Files other than Python are
        not tests and are ignored."""
        file = pathlib.Path(self.order["room"], named)
        if file.is_file() and file.suffix != ".py":
            return
        patterns = config.getini("python_files")
        if file.is_file() and not any(fnmatch.fnmatch(file.name, pattern) for pattern in patterns):
            patterns.append(file.name)
        places = [pathlib.Path(self.order["room"], argument.split("::")[0]) for argument in config.args]
        if not any(place == file or place in file.parents for place in places):
            config.args.append(named)

    def pytest_collection_modifyitems(self, session: Any, items: list[Any]) -> None:
        # Doctests in Python files are part of the code under test, so they cannot be frozen and do not count.
        doctests = [item for item in items if type(item).__name__ == "DoctestItem" and str(item.path).endswith(".py")]
        items[:] = [item for item in items if item not in doctests]
        marks = ("skip", "skipif", "xfail")
        self.marked = {item.nodeid for item in items if any(item.get_closest_marker(mark) for mark in marks)}
        first = {item.nodeid: item for item in reversed(items)}
        kept = [item for item in items if first[item.nodeid] is item and self.wanted(item.nodeid)]
        self.channel.say(left_out=[name for name in first if not self.wanted(name)][:1000])
        if self.order["reverse"]:
            kept.reverse()
        self.copies = self.copied(kept)
        self.channel.say(copying=[item.nodeid for item in self.copies])
        items[:] = [*kept, *self.copies, *self.canaries(session)]

    def wanted(self, name: str) -> bool:
        return self.ids is None or name in self.ids or name.split("::")[0] in self.order["whole"]

    def canaries(self, session: Any) -> list[Any]:
        path = pathlib.Path(self.order["canary"])
        try:
            module = self.pytest.Module.from_parent(session, path=path)
        except TypeError:  # before pytest 7
            place: Any = importlib.import_module("py").path.local(str(path))
            module = self.pytest.Module.from_parent(session, fspath=place)
        return [self.pytest.Function.from_parent(module, name=name) for name in self.order["canaries"]]

    def copied(self, items: list[Any]) -> list[Any]:
        """Copies of real tests. Each has the id of its test, and fails after the test's own body. If a copy is not
        reported as failed, no result of the run can be trusted. Copies run after all real tests, so that a test that
        cannot run twice does no harm."""
        asked = tuple(one.rstrip("/") for one in self.order["more"])
        red = frozenset(self.order["red"])

        def place(item: Any) -> tuple[bool, bool, str]:
            own = item.nodeid.split("::")[0].startswith(asked) if asked else True
            chance = hashlib.sha256((self.order["seed"] + item.nodeid).encode("utf-8", "replace")).hexdigest()
            return not own, "slow" in item.keywords, chance

        able = sorted((one for one in items if one.nodeid not in self.marked), key=place)
        first = [one for one in able if one.nodeid in red or one.nodeid.split("::")[0] in red]
        made = [*self.some(first, MOST_COPIES), *self.some([one for one in able if one not in first], 1)]
        # In the order of the tests, so that modules and classes are set up only once more, and not for each copy.
        order = {item.nodeid: number for number, item in enumerate(items)}
        return sorted(made, key=lambda copy: order[copy.nodeid])

    def some(self, items: list[Any], most: int) -> list[Any]:
        made: list[Any] = []
        for item in items[: most + 20]:
            try:
                made += [copy_of(item)] if len(made) < most else []
            except Exception:  # noqa: S112
                continue  # this kind of test cannot be copied; try another one
        return made

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Any:
        self.current = item
        self.present(item)
        yield

    def pytest_collectstart(self, collector: Any) -> None:
        self.collectors.setdefault(collector.nodeid, set()).add(type(collector).__name__)
        if isinstance(collector, self.pytest.Module):
            self.present(collector)

    def pytest_collect_directory(self, path: Any) -> None:
        """Called before the folder's own `conftest.py` is imported (since pytest 8)."""
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
        if any(self.current is one for one in self.copies):
            self.channel.say(copy=report.nodeid, when=report.when, outcome=outcome)
            return
        self.channel.say(id=report.nodeid, when=report.when, outcome=outcome, seconds=report.duration, text=text)


def failing(function: Any) -> Any:
    """A copy of the function. It does the same, and then fails."""
    if is_coroutine(function):

        async def copy(*args: Any, **kwargs: Any) -> None:
            await function(*args, **kwargs)
            raise AssertionError(os.urandom(8).hex())
    else:

        def copy(*args: Any, **kwargs: Any) -> None:  # type: ignore[misc]
            function(*args, **kwargs)
            raise AssertionError(os.urandom(8).hex())

    copy.__dict__.update({name: one for name, one in function.__dict__.items() if name != "__wrapped__"})
    copy.__name__, copy.__doc__, copy.__module__ = function.__name__, function.__doc__, function.__module__
    copy.__qualname__ = function.__qualname__
    alike = {name: getattr(function.__code__, name) for name in ("co_name", "co_filename", "co_firstlineno")}
    if hasattr(function.__code__, "co_qualname"):
        alike["co_qualname"] = function.__code__.co_qualname
    copy.__code__ = copy.__code__.replace(**alike)  # so that code cannot tell the copy from the original
    return copy


def is_coroutine(function: Any) -> bool:
    return bool(getattr(getattr(function, "__code__", None), "co_flags", 0) & 0x80)


def copy_of(item: Any) -> Any:
    known = ("_pytest.", "pytest_asyncio.")
    if not type(item).__module__.startswith(known) or type(item.parent).__name__ == "Instance":
        raise TypeError("it is unknown what a copy of this kind of test would run")
    if type(item).__name__ == "TestCaseFunction":
        return copied_case(item)
    function = item.obj
    instance = getattr(function, "__self__", None)
    plain = failing(function.__func__ if instance is not None else function)
    given = {"callspec": item.callspec} if hasattr(item, "callspec") else {}
    return type(item).from_parent(
        item.parent,
        **given,
        name=item.name,
        callobj=types.MethodType(plain, instance) if instance is not None else plain,
        fixtureinfo=item._fixtureinfo,
        originalname=item.originalname,
    )


def copied_case(item: Any) -> Any:
    """A failing copy of a unittest test. It belongs to a subclass, in which its method fails at the end."""
    original = item.parent.obj
    name = item.name
    own = {name: failing(getattr(original, name)), "__module__": original.__module__}
    own["__qualname__"] = original.__qualname__
    again = type(item.parent).from_parent(item.parent.parent, name=item.parent.name)
    again.obj = type(original.__name__, (original,), own)  # set here, because `from_parent` ignores its `obj`
    return next(one for one in again.collect() if one.name == name)


def installed(folder: str) -> list[str]:
    """A folder of installed packages, and the folders that its .pth files name; code in these files is not run."""
    found = [folder]
    for name in sorted(os.listdir(folder)):
        place = os.path.join(folder, name)
        if name.endswith(".pth"):
            lines = [one.strip() for one in open(place, encoding="utf-8", errors="replace")]
            found += [
                os.path.join(folder, one) for one in lines if one and not one.startswith(("#", "import ", "import\t"))
            ]
        elif name.startswith("__editable__") and name.endswith("finder.py"):
            match = re.search(r"^MAPPING[^=\n]*= (\{.*\})$", open(place, encoding="utf-8").read(), re.MULTILINE)
            mapping = ast.literal_eval(match.group(1)) if match else {}
            found += [os.path.dirname(one) for one in mapping.values()]
    return [one for one in dict.fromkeys(found) if os.path.isdir(one)]


def load(plugins: list[list[str]], channel: PytestChannel) -> list[tuple[str, Any]]:
    loaded = []
    for name, module in plugins:
        try:
            loaded.append((name, importlib.import_module(module)))
        except Exception as error:
            channel.say(note="the pytest plugin " + name + " could not be loaded: " + str(error)[:300])
    return loaded


def pages(stage: dict[str, Any], plugins: list[tuple[str, Any]], channel: PytestChannel) -> list[tuple[str, Any]]:
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
    loaded = load(order["plugins"], channel)
    loaded += pages(order["stage"], loaded, channel) if order["stage"] else []
    counting = Counting(order, channel, pytest)
    plugins = [Registrar(loaded, absent, channel), counting]
    if hasattr(gc, "freeze"):
        gc.freeze()  # later collections skip what is loaded now; pytest makes five of them at its end
    gc.enable()
    channel.say(started=True)
    sys.path[:0] = order["paths"]
    sys.path += [one for folder in order["site"] if os.path.isdir(folder) for one in installed(folder)]
    sys.argv = ["pytest", *order["arguments"]]
    code = int(pytest.main(list(order["arguments"]), plugins=plugins))
    files = [getattr(module, "__file__", None) for module in counting.modules.all()]
    channel.say(ran=[one for one in files if isinstance(one, str) and one.startswith(tuple(order["paths"]))])
    channel.say(ended=code, versions={"pytest": pytest.__version__})
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
