"""Runs inside the sandbox: unittest with the engine's result class, which reports every test id and how it ended.

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

    def holding(self, name: str) -> str:
        """The file of a module, or of the module that contains the class or method of this name."""
        parts = name.split(".")
        tries = [".".join(parts[:many]) for many in range(len(parts), 0, -1)]
        there = [self.file(one) for one in tries if os.path.isfile(os.path.join(self.room, self.file(one)))]
        return there[0] if there and not there[0].endswith("__init__.py") else self.file(name)

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
        word = "copy" if any(test is one for one in self.copies) else "id"
        seconds = time.monotonic() - self.began
        record = {word: self.names.test(test), "outcome": outcome, "when": when, "text": text[-MOST_TEXT:]}
        self.channel.say(**record, seconds=seconds)

    def addSuccess(self, test: Any) -> None:
        self.tell(test, "passed")

    def addFailure(self, test: Any, err: Any) -> None:
        self.tell(test, "failed", text=said(err))

    def addError(self, test: Any, err: Any) -> None:
        if isinstance(test, unittest.TestCase):
            self.tell(test, "failed", text=said(err))
            return
        match = _FAILED_FIXTURE.match(str(getattr(test, "description", "")))
        for one in self.tests.get(match.group(3), []) if match else []:
            self.tell(
                one, "failed", when="setup" if match and match.group(1) == "setUp" else "teardown", text=said(err)
            )

    def addSkip(self, test: Any, reason: str) -> None:
        if hasattr(test, "test_case"):
            return  # a subtest; the whole test is reported later
        if isinstance(test, unittest.TestCase):
            method = getattr(type(test), test._testMethodName, None)
            marked = any(getattr(one, "__unittest_skip__", False) for one in (type(test), method))
            self.tell(test, "marked" if marked else "skipped", text=str(reason))
            return
        match = _FAILED_FIXTURE.match(str(getattr(test, "description", "")))
        for one in self.tests.get(match.group(3), []) if match else []:
            self.tell(one, "skipped", text=str(reason))

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self.tell(test, "xfailed")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.tell(test, "xpassed")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self.tell(test, "failed", text=str(subtest) + "\n" + said(err))

    def addDuration(self, test: Any, elapsed: float) -> None:
        return


def said(err: Any) -> str:
    return "".join(traceback.format_exception(*err))


class Loading(unittest.TestLoader):
    """Discovers only the files that the order lists, so that nothing newer than the base is run. Without such a list,
    it discovers all tests."""

    def __init__(self, order: dict[str, Any]) -> None:
        super().__init__()
        self.room = order["room"]
        self.files = None if order["files"] is None else frozenset(order["files"])

    def _match_path(self, path: str, full_path: str, pattern: str) -> bool:
        own = os.path.relpath(full_path, self.room)
        if self.files is not None:
            return own in self.files
        return super()._match_path(path, full_path, pattern)


# -- which tests -------------------------------------------------------------------------------------------------------


def flat(suite: Any) -> list[Any]:
    if isinstance(suite, unittest.TestSuite):
        return [one for inner in suite for one in flat(inner)]
    return [suite]


def found(order: dict[str, Any], loader: Loading) -> list[Any]:
    if order["patterns"]:
        loader.testNamePatterns = [one if "*" in one else "*" + one + "*" for one in order["patterns"]]
    if order["names"]:
        names = [dotted(one, order["begun"]) for one in order["names"]]
        return [named_as(name, one) for name in names for one in flat(loader.loadTestsFromName(name))]
    top = order["top"]
    found = flat(loader.discover(order["start"], order["pattern"], top))
    for named in order["more"]:
        if named.endswith(".py"):
            found += flat(loader.loadTestsFromName(dotted(os.path.join(order["room"], named), top or order["start"])))
    return found


def named_as(name: str, test: Any) -> Any:
    """The test. If it is unittest's placeholder for a module that failed to import, the module's full name is added,
    because the placeholder has only the last part of it."""
    if type(test).__name__ == "_FailedTest":
        test.asked_for = name
    return test


def dotted(name: str, root: str) -> str:
    """The dotted name of a module that is given as the path of its file; any other name unchanged."""
    if not name.endswith(".py"):
        return name
    inner = os.path.relpath(os.path.abspath(name), root)
    return inner[:-3].replace(os.sep, ".")


def report_unloaded(tests: list[Any], names: Names, channel: UnittestChannel) -> list[Any]:
    """Report each module that could not be loaded, for which unittest has a placeholder. Returns the other tests."""
    good = []
    for test in tests:
        kind = type(test).__name__
        if kind in ("_FailedTest", "ModuleSkipped") and type(test).__module__.startswith("unittest"):
            failed = kind == "_FailedTest"
            text = said_by(test) if failed else "skipped"
            file = names.holding(getattr(test, "asked_for", test._testMethodName))
            channel.say(collect=file, outcome="failed" if failed else "skipped", text=text[-MOST_TEXT:])
        else:
            good.append(test)
    return good


def said_by(test: Any) -> str:
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
    return [cls(one) for one in methods]


def copied(tests: list[Any], order: dict[str, Any], names: Names) -> list[Any]:
    """Copies of real tests. Each has the id of its test, and fails after the test's own body. If a copy is not reported
    as failed, no result of the run can be trusted. Copies run after all other tests."""
    asked = tuple(one.rstrip("/") for one in order["more"])

    def place(test: Any) -> tuple[bool, str]:
        name = names.test(test)
        own = name.split("::")[0].startswith(asked) if asked else True
        return not own, hashlib.sha256((order["seed"] + name).encode("utf-8", "replace")).hexdigest()

    red = frozenset(order["red"])
    able = sorted(tests, key=place)
    first = [one for one in able if names.test(one) in red or names.test(one).split("::")[0] in red]
    rest = [one for one in able if not any(one is other for other in first)]
    chosen = [*some(first, MOST_COPIES), *some(rest, OTHER_COPIES)]
    # In the order of the tests, so that classes and modules are set up only once more, and not for each copy.
    return together([one for one in tests if any(one is other for other in chosen)])


def some(tests: list[Any], most: int) -> list[Any]:
    return [one for one in tests[: most + 20] if can_fail(one)][:most]


def can_fail(test: Any) -> bool:
    cls, body = type(test), getattr(type(test), getattr(test, "_testMethodName", ""), None)
    if body is None or any(getattr(one, "__unittest_skip__", False) for one in (cls, body)):
        return False
    return isinstance(test, unittest.TestCase) and not getattr(body, "__unittest_expecting_failure__", False)


def together(tests: list[Any]) -> list[Any]:
    """Failing copies of these tests. All copies from one class belong to one subclass, whose methods fail at their end.
    Tests of a class that forbids subclasses are left out."""
    methods: dict[type, list[str]] = {}
    for test in tests:
        methods.setdefault(type(test), []).append(test._testMethodName)
    made: list[Any] = []
    for cls, names in methods.items():
        again = {name: failing(getattr(cls, name)) for name in names}
        try:
            heir = type(cls.__name__, (cls,), again | {"__module__": cls.__module__, "__qualname__": cls.__qualname__})
            made += [heir(name) for name in names]
        except Exception:  # noqa: S112
            continue  # the class forbids subclasses; other tests will do
    return made


def failing(body: Any) -> Any:
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


def installed(folder: str) -> list[str]:
    """A folder of installed packages, and the folders that its .pth files name; code in these files is not run."""
    found = [folder]
    for name in sorted(os.listdir(folder)):
        place = os.path.join(folder, name)
        if name.endswith(".pth"):
            lines = [one.strip() for one in open(place, encoding="utf-8", errors="replace")]
            paths = [one for one in lines if one and not one.startswith(("#", "import ", "import\t"))]
            found += [os.path.join(folder, one) for one in paths]
        elif name.startswith("__editable__") and name.endswith("finder.py"):
            match = re.search(r"^MAPPING[^=\n]*= (\{.*\})$", open(place, encoding="utf-8").read(), re.MULTILINE)
            mapping = ast.literal_eval(match.group(1)) if match else {}
            found += [os.path.dirname(one) for one in mapping.values()]
    return [one for one in dict.fromkeys(found) if os.path.isdir(one)]


def load_all() -> None:
    """Import every part of unittest before a module of the project can shadow it."""
    for found in pkgutil.iter_modules(unittest.__path__):
        if found.name != "__main__":
            importlib.import_module(f"unittest.{found.name}")


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
    sys.path += [one for folder in order["site"] if os.path.isdir(folder) for one in installed(folder)]
    sys.argv = ["python -m unittest"]
    names = Names(order["room"], [one for one in (order["top"], order["start"], *order["paths"]) if one])
    try:
        tests = report_unloaded(found(order, Loading(order)), names, channel)
    except (ImportError, TypeError) as error:
        channel.say(ended=4)  # for example: "start directory is not importable"
        sys.stderr.write(str(error) + "\n")
        sys.stderr.flush()
        os._exit(4)
    run(tests, order, names, channel)


def run(tests: list[Any], order: dict[str, Any], names: Names, channel: UnittestChannel) -> None:
    wanted = None if order["ids"] is None else frozenset(order["ids"])
    first = {names.test(test): test for test in reversed(tests)}
    kept = [one for name, one in reversed(first.items()) if wanted is None or name in wanted or whole(name, order)]
    channel.say(left_out=[name for name, one in first.items() if not any(one is other for other in kept)][:1000])
    if order["reverse"]:
        kept.reverse()
    copies = copied(kept, order, names)
    channel.say(copying=[names.test(one) for one in copies])
    result = CountingResult(channel, names, copies)
    for these in (kept, copies):
        result.expect(these)
        unittest.TestSuite(these).run(result)
    unittest.TestSuite(canaries(order["canary"], order["number"], order["ways"])).run(result)
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    channel.say(ran=[one for one in files if isinstance(one, str) and one.startswith(tuple(order["paths"]))])
    channel.say(ended=0, versions={"unittest": ".".join(map(str, sys.version_info[:3]))})
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def whole(name: str, order: dict[str, Any]) -> bool:
    return name.split("::")[0] in order["whole"]


if __name__ == "__main__":
    main()
