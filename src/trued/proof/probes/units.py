"""Runs inside the sandbox: unittest with the engine's result class, which reports the id and outcome of every test.

It uses only the standard library and does not import this package, because the interpreter is the project's. unittest
is loaded before the project's folders are on the path.
"""

from __future__ import annotations

import ast
import asyncio
import hashlib
import importlib
import json
import os
import pkgutil
import re
import sys
import time
import traceback
import unittest
from typing import Any

MOST_TEXT = 4000  # at most this many last characters of a failure are reported; the rest is in the output
MOST_COPIES = 16  # at most this many red tests are copied, chosen at random if there are more
OTHER_COPIES = 2  # copies of other tests; two, because one of them may fail itself, and then its copy shows nothing
_FAILED_FIXTURE = re.compile(r"(setUp|tearDown)(Class|Module) \((.*)\)")


class UnittestChannel:
    """Writes one record per line, each with the nonce."""

    def __init__(self, number: int, nonce: str) -> None:
        self.number, self.nonce = number, nonce

    def say(self, **record: Any) -> None:
        line = (self.nonce + " " + json.dumps(record) + "\n").encode()
        while line:
            line = line[os.write(self.number, line) :]


class Names:
    """Makes ids like those of pytest: file, class and method."""

    def __init__(self, room: str, roots: list[str]) -> None:
        self.room, self.roots = room, roots

    def file(self, module: str) -> str:
        """The file of a module; if it does not exist, the path that it would have."""
        place = getattr(sys.modules.get(module), "__file__", None)
        if not isinstance(place, str):
            place = self.guess(module)
        return os.path.relpath(place, self.room)

    def file_of(self, name: str) -> str:
        """The file of a module, or of the module that contains the class or method of this name."""
        parts = name.split(".")
        modules = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
        files = [self.file(module) for module in modules]
        existing = [file for file in files if os.path.isfile(os.path.join(self.room, file))]
        return existing[0] if existing and not existing[0].endswith("__init__.py") else self.file(name)

    def guess(self, module: str) -> str:
        inner = os.path.join(*module.split("."))
        for root in self.roots:
            for ending in (".py", os.sep + "__init__.py"):
                if os.path.isfile(os.path.join(root, inner + ending)):
                    return os.path.join(root, inner + ending)
        return os.path.join(self.roots[0] if self.roots else self.room, inner + ".py")

    def test(self, test: Any) -> str:
        method = getattr(test, "_testMethodName", "")
        return self.file(type(test).__module__) + "::" + type(test).__qualname__.replace(".", "::") + "::" + method


class CountingResult(unittest.TestResult):
    """Reports every outcome immediately, and stores none."""

    def __init__(self, channel: UnittestChannel, names: Names, copies: list[Any]) -> None:
        super().__init__()
        self.channel, self.names, self.copies = channel, names, copies
        self.tests: dict[str, list[Any]] = {}  # class or module → its tests, which fail if its fixtures fail
        self.began = 0.0

    def expect(self, tests: list[Any]) -> None:
        """Set the tests that run next. The real tests and the copies are set separately, so that a fixture that fails
        only for the copies is not reported against the real tests."""
        self.tests = {}
        for test in tests:
            cls = type(test)
            for shared in (cls.__module__, cls.__module__ + "." + cls.__qualname__):
                self.tests.setdefault(shared, []).append(test)

    def startTest(self, test: Any) -> None:
        self.began = time.monotonic()

    def stopTest(self, test: Any) -> None:
        return

    def tell(self, test: Any, outcome: str, when: str = "call", text: str = "") -> None:
        word = "copy" if any(test is copy for copy in self.copies) else "id"
        seconds = time.monotonic() - self.began
        record = {word: self.names.test(test), "outcome": outcome, "when": when, "text": text[-MOST_TEXT:]}
        self.channel.say(**record, seconds=seconds)

    def addSuccess(self, test: Any) -> None:
        self.tell(test, "passed")

    def addFailure(self, test: Any, err: Any) -> None:
        self.tell(test, "failed", text=traceback_of(err))

    def addError(self, test: Any, err: Any) -> None:
        if isinstance(test, unittest.TestCase):
            self.tell(test, "failed", text=traceback_of(err))
            return
        match = _FAILED_FIXTURE.match(str(getattr(test, "description", "")))
        for affected in self.tests.get(match.group(3), []) if match else []:
            self.tell(
                affected,
                "failed",
                when="setup" if match and match.group(1) == "setUp" else "teardown",
                text=traceback_of(err),
            )

    def addSkip(self, test: Any, reason: str) -> None:
        if hasattr(test, "test_case"):
            return  # a subtest; the whole test is reported later
        if isinstance(test, unittest.TestCase):
            method = getattr(type(test), test._testMethodName, None)
            marked = any(getattr(marked_object, "__unittest_skip__", False) for marked_object in (type(test), method))
            self.tell(test, "marked" if marked else "skipped", text=str(reason))
            return
        match = _FAILED_FIXTURE.match(str(getattr(test, "description", "")))
        for affected in self.tests.get(match.group(3), []) if match else []:
            self.tell(affected, "skipped", text=str(reason))

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self.tell(test, "xfailed")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.tell(test, "xpassed")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self.tell(test, "failed", text=str(subtest) + "\n" + traceback_of(err))

    def addDuration(self, test: Any, elapsed: float) -> None:
        return


def traceback_of(err: Any) -> str:
    return "".join(traceback.format_exception(*err))


class Loading(unittest.TestLoader):
    """Discovers only the files that the order lists, so that nothing newer than the base is run. Without such a list,
    it discovers all tests."""

    def __init__(self, order: dict[str, Any]) -> None:
        super().__init__()
        self.room = order["room"]
        self.files = None if order["files"] is None else frozenset(order["files"])

    def _match_path(self, path: str, full_path: str, pattern: str) -> bool:
        file = os.path.relpath(full_path, self.room)
        if self.files is not None:
            return file in self.files
        return super()._match_path(path, full_path, pattern)


# -- which tests -------------------------------------------------------------------------------------------------------


def flat(suite: Any) -> list[Any]:
    if isinstance(suite, unittest.TestSuite):
        return [test for inner in suite for test in flat(inner)]
    return [suite]


def tests_of_order(order: dict[str, Any], loader: Loading) -> list[Any]:
    if order["patterns"]:
        loader.testNamePatterns = [pattern if "*" in pattern else "*" + pattern + "*" for pattern in order["patterns"]]
    if order["names"]:
        names = [dotted_name(name, order["begun"]) for name in order["names"]]
        return [with_full_name(name, test) for name in names for test in flat(loader.loadTestsFromName(name))]
    top = order["top"]
    tests = flat(loader.discover(order["start"], order["pattern"], top))
    for file in order["more"]:
        if file.endswith(".py"):
            tests += flat(
                loader.loadTestsFromName(dotted_name(os.path.join(order["room"], file), top or order["start"]))
            )
    return tests


def with_full_name(name: str, test: Any) -> Any:
    """The test. If it is unittest's placeholder for a module that failed to import, the module's full name is added,
    because the placeholder has only the last part of it."""
    if type(test).__name__ == "_FailedTest":
        test.full_name = name
    return test


def dotted_name(name: str, root: str) -> str:
    """The dotted name of a module that is given as the path of its file; any other name unchanged."""
    if not name.endswith(".py"):
        return name
    inner = os.path.relpath(os.path.abspath(name), root)
    return inner[:-3].replace(os.sep, ".")


def report_unloaded(tests: list[Any], names: Names, channel: UnittestChannel) -> list[Any]:
    """Report each module that could not be loaded, or that skips itself. For each, unittest has a placeholder among the
    tests. Returns the tests that are no placeholders."""
    loaded = []
    for test in tests:
        kind = type(test).__name__
        if kind in ("_FailedTest", "ModuleSkipped") and type(test).__module__.startswith("unittest"):
            failed = kind == "_FailedTest"
            text = failure_of(test) if failed else "skipped"
            file = names.file_of(getattr(test, "full_name", test._testMethodName))
            channel.say(collect=file, outcome="failed" if failed else "skipped", text=text[-MOST_TEXT:])
        else:
            loaded.append(test)
    return loaded


def failure_of(test: Any) -> str:
    error = getattr(test, "_exception", None)
    return str(error) if error is not None else str(test)


# -- tests that must fail ----------------------------------------------------------------------------------------------


def canaries(name: str, number: float, ways: dict[str, list[Any]]) -> list[Any]:
    """Tests that must fail, one for each way to fail, because each way can be tampered with separately."""

    def plain(self: Any) -> None:
        assert number == 2  # noqa: S101

    def raises(self: Any) -> None:
        with self.assertRaises(ZeroDivisionError):  # noqa: PT027
            pass

    def asserting(way: str) -> Any:
        return lambda self: getattr(self, way)(*ways[way])

    methods: dict[str, Any] = {"test_plain": plain, "test_raises": raises}
    methods |= {"test_" + way: asserting(way) for way in ways}
    cls = type(name, (unittest.TestCase,), methods)
    return [cls(method) for method in methods]


def failing_copies(tests: list[Any], order: dict[str, Any], names: Names) -> list[Any]:
    """Copies of real tests. Each has the id of its test, and fails after the test's own body. If a copy is not reported
    as failed, no result of the run can be trusted. Copies run after all other tests."""
    named_files = tuple(path.rstrip("/") for path in order["more"])

    def place(test: Any) -> tuple[bool, str]:
        name = names.test(test)
        is_named = name.split("::")[0].startswith(named_files) if named_files else True
        return not is_named, hashlib.sha256((order["seed"] + name).encode("utf-8", "replace")).hexdigest()

    red = frozenset(order["red"])
    by_priority = sorted(tests, key=place)
    red_tests = [test for test in by_priority if names.test(test) in red or names.test(test).split("::")[0] in red]
    other_tests = [test for test in by_priority if not any(test is red_test for red_test in red_tests)]
    chosen = [*first_that_can_fail(red_tests, MOST_COPIES), *first_that_can_fail(other_tests, OTHER_COPIES)]
    # In the order of the tests, so that classes and modules are set up only once more, and not for each copy.
    return copies_by_class([test for test in tests if any(test is copied_test for copied_test in chosen)])


def first_that_can_fail(tests: list[Any], most: int) -> list[Any]:
    return [test for test in tests[: most + 20] if can_fail(test)][:most]


def can_fail(test: Any) -> bool:
    cls, body = type(test), getattr(type(test), getattr(test, "_testMethodName", ""), None)
    if body is None or any(getattr(marked_object, "__unittest_skip__", False) for marked_object in (cls, body)):
        return False
    return isinstance(test, unittest.TestCase) and not getattr(body, "__unittest_expecting_failure__", False)


def copies_by_class(tests: list[Any]) -> list[Any]:
    """Failing copies of these tests. All copies from one class belong to one subclass, whose methods fail at their end.
    Tests of a class that forbids subclasses are left out."""
    methods: dict[type, list[str]] = {}
    for test in tests:
        methods.setdefault(type(test), []).append(test._testMethodName)
    copies: list[Any] = []
    for cls, names in methods.items():
        members = {name: failing_method(getattr(cls, name)) for name in names}
        try:
            heir = type(
                cls.__name__, (cls,), members | {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
            )
            copies += [heir(name) for name in names]
        except Exception:  # noqa: S112
            continue  # the class forbids subclasses; other tests will do
    return copies


def failing_method(body: Any) -> Any:
    if asyncio.iscoroutinefunction(body):

        async def copy(self: Any) -> None:
            await body(self)
            raise AssertionError("a copy that must fail")
    else:

        def copy(self: Any) -> None:  # type: ignore[misc]
            body(self)
            raise AssertionError("a copy that must fail")

    return copy


# -- the run -----------------------------------------------------------------------------------------------------------


def package_folders(folder: str) -> list[str]:
    """A folder of installed packages, and the folders that its .pth files and editable installs name, if they exist. No
    code in these files is run."""
    folders = [folder]
    for name in sorted(os.listdir(folder)):
        place = os.path.join(folder, name)
        if name.endswith(".pth"):
            lines = [line.strip() for line in open(place, encoding="utf-8", errors="replace")]
            paths = [line for line in lines if line and not line.startswith(("#", "import ", "import\t"))]
            folders += [os.path.join(folder, path) for path in paths]
        elif name.startswith("__editable__") and name.endswith("finder.py"):
            match = re.search(r"^MAPPING[^=\n]*= (\{.*\})$", open(place, encoding="utf-8").read(), re.MULTILINE)
            mapping = ast.literal_eval(match.group(1)) if match else {}
            folders += [os.path.dirname(path) for path in mapping.values()]
    return [place for place in dict.fromkeys(folders) if os.path.isdir(place)]


def load_all() -> None:
    """Import every part of unittest before a module of the project can shadow it."""
    for module in pkgutil.iter_modules(unittest.__path__):
        if module.name != "__main__":
            importlib.import_module(f"unittest.{module.name}")


def main() -> None:
    load_all()
    order = json.loads(sys.stdin.buffer.read())
    number = int(os.environ.pop("TRUED_CHANNEL"))
    os.set_inheritable(number, False)
    channel = UnittestChannel(number, order["nonce"])
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    channel.say(started=True)
    sys.path[:0] = order["paths"]
    sys.path += [path for folder in order["site"] if os.path.isdir(folder) for path in package_folders(folder)]
    sys.argv = ["python -m unittest"]
    names = Names(order["room"], [folder for folder in (order["top"], order["start"], *order["paths"]) if folder])
    try:
        tests = report_unloaded(tests_of_order(order, Loading(order)), names, channel)
    except (ImportError, TypeError) as error:
        channel.say(ended=4)  # for example: "start directory is not importable"
        sys.stderr.write(str(error) + "\n")
        sys.stderr.flush()
        os._exit(4)
    run(tests, order, names, channel)


def run(tests: list[Any], order: dict[str, Any], names: Names, channel: UnittestChannel) -> None:
    ids = None if order["ids"] is None else frozenset(order["ids"])
    first_tests = {names.test(test): test for test in reversed(tests)}
    selected = [
        test for name, test in reversed(first_tests.items()) if ids is None or name in ids or is_whole_file(name, order)
    ]
    left_out = [name for name, test in first_tests.items() if not any(test is other for other in selected)]
    channel.say(left_out=left_out[:1000])
    if order["reverse"]:
        selected.reverse()
    copies = failing_copies(selected, order, names)
    channel.say(copying=[names.test(copy) for copy in copies])
    result = CountingResult(channel, names, copies)
    for group in (selected, copies):
        result.expect(group)
        unittest.TestSuite(group).run(result)
    unittest.TestSuite(canaries(order["canary"], order["number"], order["ways"])).run(result)
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    channel.say(ran=[file for file in files if isinstance(file, str) and file.startswith(tuple(order["paths"]))])
    channel.say(ended=0, versions={"unittest": ".".join(map(str, sys.version_info[:3]))})
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def is_whole_file(name: str, order: dict[str, Any]) -> bool:
    return name.split("::")[0] in order["whole"]


if __name__ == "__main__":
    main()
