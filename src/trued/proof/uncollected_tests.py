"""Finds tests of the base that no check collects, and the files that such tests may reach.

A suite leaves tests out by its settings (`testpaths`, `-m "not slow"`), or because no runner would find them by their
names. Nobody runs these tests here, so they guard nothing: code that only they test is unguarded.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

from trued.proof.altered_code import imported_modules
from trued.proof.commit_texts import as_text
from trued.proof.room.frozen_files import (
    CONFIGURED,
    SCRIPTS,
    configures_pytest,
    has_tests,
    is_named_like_a_test,
    is_test,
)
from trued.protocols import Workspace

DATA_FOLDERS = frozenset(("testdata", "fixtures", "data", "samples", "examples"))  # folders with files that tests read
FOREIGN_CODE = frozenset(("vendor", "node_modules", "third_party"))  # folders with other people's code
TESTS_MODULE = "tests.py"
_MAY_TEST = re.compile(rb"\bdef test|TestCase\b|doctest")
_GO_TEST = re.compile(rb"^func\s+Test\w*\s*\(", re.MULTILINE)
_DOCTESTS = "--doctest-modules"  # the option of pytest, in its configuration
_EXAMPLE = re.compile(r"^\s*>>> ", re.MULTILINE)
_WORD = re.compile(r"[\w-]+")
_IMPORTING = re.compile(r"^.*\b(?:import|from|require)\b.*$", re.MULTILINE)
_UNNAMED = frozenset(("__init__", "index", "main", "mod", "lib"))  # such files are imported by the name of a folder


async def uncollected_tests(workspace: Workspace, base: str, ids: Iterable[str], idle: Collection[str]) -> list[str]:
    """The tests of the base that are not in `ids`, each as `file::name`; only `file` if `ids` has none of that file.

    `idle`: endings of files that are left out, because a whole suite of them is known to guard nothing.
    """
    collected: dict[str, set[str]] = defaultdict(set)
    for one in ids:
        path, _, name = one.partition("::")
        collected[path].add(name.split("[")[0].rpartition("::")[2])
    blobs = await workspace.blobs(base)
    texts = await workspace.read_all(base, [path for path in blobs if _may_hold_tests(path)])
    doctests = _DOCTESTS in await _configuration(workspace, base, blobs)
    found: list[str] = []
    for path, content in texts.items():
        if path.endswith(tuple(idle)):
            continue
        if path.endswith(".py"):
            found += _uncollected_in(path, content, collected.get(path, set()), doctests=doctests)
        elif path not in collected and _has_counted_tests(path, content):
            found.append(path)
    shared = _imported(texts, [path for path in collected if path in texts], [one for one in found if "::" not in one])
    return [one for one in found if one not in shared]


def _may_hold_tests(path: str) -> bool:
    parts = PurePosixPath(path).parts
    if not (FOREIGN_CODE | DATA_FOLDERS).isdisjoint(parts[:-1]):
        return False
    return path.endswith(".py") or (path.endswith((".go", *SCRIPTS)) and is_named_like_a_test(path))


def _has_counted_tests(path: str, content: bytes) -> bool:
    return bool(_GO_TEST.search(content)) if path.endswith(".go") else has_tests(path, content)


async def _configuration(workspace: Workspace, base: str, blobs: Collection[str]) -> str:
    """The text of pytest's configuration on the base."""
    texts = await workspace.read_all(base, [path for path in CONFIGURED if path in blobs])
    read = {path: as_text(one) for path, one in texts.items()}
    return next((read[path] for path in CONFIGURED if path in read and configures_pytest(path, read[path])), "")


def _uncollected_in(path: str, content: bytes, collected: Collection[str], *, doctests: bool) -> list[str]:
    """The tests of a Python file that were not collected. Examples in docstrings are among them if the project runs
    examples: the engine never counts these, because they are part of the code that they test."""
    if not (doctests or _MAY_TEST.search(content)):
        return []
    text = as_text(content)
    examples = _with_examples(text) if doctests or "doctest.testmod(" in text else []
    names = _defined_tests(path, text) if "" not in collected else []  # "": the whole file is reported as one test
    if names and not collected:
        return [path]
    return [f"{path}::{name}" for name in (*names, *examples) if name not in collected]


def _with_examples(text: str) -> list[str]:
    """The functions and classes of a Python file with examples in their docstrings."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [one.name for one in nodes if isinstance(one, kinds) and _EXAMPLE.search(ast.get_docstring(one) or "")]


def _defined_tests(path: str, text: str) -> list[str]:
    """The test functions and methods that a Python file defines. In a file that is not named like a test, functions
    are tests only if it imports a test framework."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    named = is_named_like_a_test(path) or PurePosixPath(path).name == TESTS_MODULE
    framework = not {"pytest", "unittest"}.isdisjoint(one.split(".")[0] for one in imported_modules(text))
    found = _test_functions(module.body) if named or framework else []
    for one in module.body:
        if isinstance(one, ast.ClassDef) and (_is_test_case(one) or (named and one.name.startswith("Test"))):
            found += _test_functions(one.body)
    return list(dict.fromkeys(found))


def _test_functions(body: Iterable[ast.stmt]) -> list[str]:
    """The tests among these statements. Fixtures are left out, whatever their names."""
    functions = [one for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [
        one.name
        for one in functions
        if one.name.startswith("test") and not any("fixture" in ast.dump(each) for each in one.decorator_list)
    ]


def _is_test_case(node: ast.ClassDef) -> bool:
    """Whether a class derives from `unittest.TestCase` or from a class that is named like it."""
    names = [one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in node.bases]
    return any(name.endswith("TestCase") for name in names)


def _imported(texts: Mapping[str, bytes], collected: Iterable[str], files: Collection[str]) -> set[str]:
    """Of these files, those that collected tests import: they hold tests that other test files inherit or call."""
    modules = {path: PurePosixPath(path).stem for path in files if path.endswith(".py")}
    left, found = list(collected) if modules else [], set[str]()
    while left:
        names = {part for one in imported_modules(as_text(texts[left.pop()])) for part in one.split(".")}
        used = {path for path, name in modules.items() if name in names and path not in found}
        found |= used
        left += used
    return found


def reachable_files(paths: Collection[str], texts: Mapping[str, str], tests: Iterable[str]) -> frozenset[str] | None:
    """The files of the base that these test files may reach, directly or indirectly. None: any file.

    A file may reach another if the other's name is a word in it, whatever the word means there. So the result may have
    too many files, but hardly too few. A test that imports no code of the product may use it from outside, through a
    server or a page, and thereby reach any file.

    `paths`: all files of the base. `texts`: path → text of those that are code.
    """
    named: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        for name in _names_of_file(path):
            named[name].add(path)
    found = set[str]()
    for test in tests:
        if not _imports_product(test, texts, named):
            return None
        found |= _closure(test, texts, named)
    return frozenset(found)


def _imports_product(test: str, texts: Mapping[str, str], named: Mapping[str, set[str]]) -> bool:
    """Whether a test imports code that is not a test, perhaps through other tests and their helpers."""
    if not is_test(test) or test.endswith(".go"):
        return True  # examples in docstrings are in the product itself, and Go tests are in the package that they test
    importing = {path: "\n".join(_IMPORTING.findall(text)) for path, text in texts.items() if is_test(path)}
    reached = _closure(test, importing, named)
    return any(path in texts and not is_test(path) for path in reached)


def _closure(start: str, texts: Mapping[str, str], named: Mapping[str, set[str]]) -> set[str]:
    """The files that the words of the first file lead to. A Go file leads to all files of its folder."""
    left, found = [start], set[str]()
    while left:
        path = left.pop()
        if path in found:
            continue
        found.add(path)
        words = {one.lower() for one in _WORD.findall(texts.get(path, ""))}
        left += (one for word in words for part in (word, *word.split("-")) for one in named.get(part, ()))
        if path.endswith(".go"):
            folder = PurePosixPath(path).parent
            left += (one for one in texts if one.endswith(".go") and PurePosixPath(one).parent == folder)
    return found


def _names_of_file(path: str) -> set[str]:
    """The words by which other files name this file, in lower case."""
    *folders, name = PurePosixPath(path.lower()).parts
    stem = name.partition(".")[0] or name
    return {stem, *(folders if stem in _UNNAMED else ())}
