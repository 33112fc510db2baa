"""Finds the test functions of Python files and the names that these functions use, and removes test functions from
files. Only parses text."""

import ast
from collections.abc import Collection, Iterable, Mapping

from trued.proof.reach.altered_python import reached_names
from trued.proof.text.python_imports import UNREADABLE, parse
from trued.proof.text.python_names import last_name, used_names

_FIXTURE_REQUESTS = ("usefixtures", "getfixturevalue")  # functions of pytest whose arguments are names of fixtures


def names_of_tests(texts: Mapping[str, str], ids: Iterable[str], *, strings: bool) -> frozenset[str]:
    """The names that these tests (`file::group::test`, or a whole file) use, directly or through helpers and fixtures
    in the same files. `strings`: any string in a test may be a name that it uses; otherwise only names of fixtures
    are read from strings."""
    tests_by_file: dict[str, set[tuple[str, ...]]] = {}
    for path, *parts in map(_parts_of_test, ids):
        tests_by_file.setdefault(path, set()).add(tuple(parts))
    names = set[str]()
    for path, tests in tests_by_file.items():
        text = texts.get(path, "")
        if () in tests:
            names |= used_names(text)
        else:
            names |= reached_names([text], _used_by_tests(text, tests, strings=strings))
    return frozenset(names)


def without_idle_tests(texts: Mapping[str, str], idle: Collection[str], guarding: Collection[str]) -> dict[str, str]:
    """These Python files (path → text) without the test functions that only idle tests run. Idle tests guard nothing.

    `idle`, `guarding`: ids of tests. A function that runs as both (with other parameters, or in a class that inherits
    it) stays. If all tests of a file are idle, only the functions that are named like tests are removed, because other
    files may use the file's helpers.
    """
    idle_tests, guarding_tests = {*map(_parts_of_test, idle)}, {*map(_parts_of_test, guarding)}
    test_files = {test[0] for test in idle_tests | guarding_tests}
    parsed = {path: text for path, text in texts.items() if path in test_files or "def test" in text}
    functions = {
        (path, *name)
        for path, text in parsed.items()
        if (path,) not in guarding_tests
        for name in _function_names(text)
    }
    names = {function[-1] for function in functions}
    # Some tests have ids that name no function: a class inherits them, or a decorator makes them. These are the
    # functions behind such tests.
    run_by_idle, run_by_guarding = (
        {_origin(test[-1], names) for test in tests - functions if len(test) > 1} - {""}
        for tests in (idle_tests, guarding_tests)
    )
    removed: dict[str, list[str]] = {}
    for function in functions - guarding_tests:
        in_idle_file = (function[0],) in idle_tests and function[-1].startswith("test")
        is_idle = in_idle_file or function in idle_tests or function[-1] in run_by_idle
        if is_idle and function[-1] not in run_by_guarding:
            removed.setdefault(function[0], []).append("::".join(function))
    return {path: without_tests(text, path, removed.get(path, ())) for path, text in texts.items()}


def _parts_of_test(name: str) -> tuple[str, ...]:
    """File, classes and function of a test, without its parameters."""
    return tuple(name.split("[")[0].split("::"))


def _origin(name: str, functions: Collection[str]) -> str:
    """Of these functions, the one that a test of this name runs. An inherited function has the name of the test; a
    decorator makes a longer name for the test (`test_a_0` from `test_a`). "" if there is none."""
    return next((name[:end] for end in range(len(name), 0, -1) if name[:end] in functions), "")


def _function_names(text: str) -> Iterable[tuple[str, ...]]:
    module = parse(text)
    return _functions_in(module) if module else ()


def without_tests(text: str, path: str, ids: Collection[str]) -> str:
    """The text of a Python file without these tests (`file::group::test`, or a whole file)."""
    removed = {parts[1:] for parts in map(_parts_of_test, ids) if parts[0] == path}
    if () in removed:
        return ""
    if not removed:
        return text
    try:
        module = ast.parse(text)
        for name, nodes in _functions_in(module).items():
            for node in nodes if name in removed else ():
                node.body, node.decorator_list = [ast.Pass()], []
        return ast.unparse(module)
    except UNREADABLE:
        return text


def _functions_in(module: ast.Module) -> dict[tuple[str, ...], list[ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions of a module and the methods of its classes. The key has the names of the classes, then of the
    function."""
    functions: dict[tuple[str, ...], list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
    waiting: list[tuple[tuple[str, ...], ast.AST]] = [((), module)]
    while waiting:
        above, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.setdefault((*above, child.name), []).append(child)
            elif isinstance(child, ast.ClassDef):
                waiting.append(((*above, child.name), child))
            elif isinstance(child, ast.stmt | ast.ExceptHandler):
                waiting.append((above, child))
    return functions


def _used_by_tests(text: str, tests: Collection[tuple[str, ...]], *, strings: bool) -> set[str]:
    """The names that these tests of a file use, including fixtures, and the functions that a test framework calls
    before or after any test. `strings`: all strings in the tests count as names.

    A test that the file does not define is inherited, or made by a decorator. Such a test counts as using the names in
    its id, and the functions from which it may be made.
    """
    module = parse(text)
    if module is None:
        return {test[-1] for test in tests}
    functions = _functions_in(module)
    used = {name[-1] for name, nodes in functions.items() if any(_runs_around_tests(node) for node in nodes)}
    for test in tests:
        for node in functions.get(test, ()):
            used |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
            used |= {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}
            used |= {inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg)}
            searched = [node] if strings else [inner for inner in ast.walk(node) if _asks_for_fixtures(inner)]
            used |= {
                str(inner.value) for part in searched for inner in ast.walk(part) if isinstance(inner, ast.Constant)
            }
        if test in functions and not test[-1].startswith("test"):
            used.add(test[-1])  # a function with examples in its docstring, which test the function itself
        if test not in functions:
            used |= {test[-1], *test[:-1], *(name[-1] for name in functions if test[-1].startswith(name[-1]))}
    return used


def _asks_for_fixtures(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in _FIXTURE_REQUESTS


def _runs_around_tests(node: ast.AST) -> bool:
    """Whether a test framework calls this function by itself: `setUp`, `teardown_module`, an `autouse` fixture."""
    name = getattr(node, "name", "").lower().removeprefix("async")
    decorator_nodes = [inner for decorator in getattr(node, "decorator_list", ()) for inner in ast.walk(decorator)]
    autouse = any(isinstance(inner, ast.keyword) and inner.arg == "autouse" for inner in decorator_nodes)
    return autouse or name.startswith(("setup", "teardown", "pytest_"))
