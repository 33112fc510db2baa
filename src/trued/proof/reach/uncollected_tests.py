"""Finds tests of the base that no check collects.

A suite leaves tests out by its settings (`testpaths`, `-m "not slow"`), or because no runner would find them by their
names. Nobody runs these tests here, so they guard nothing: code that only they test is unguarded.
"""

import ast
import doctest
import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from trued.proof.reach.altered_python import imported_modules
from trued.proof.reach.file_readers import may_read
from trued.proof.room.frozen_files import (
    CONFIGURED,
    configured_test_functions,
    configured_test_names,
    configures_pytest,
    has_tests,
    is_among_tests,
    is_named_like_a_test,
    is_test,
)
from trued.proof.room.project_folders import project_folders
from trued.proof.text.commit_texts import MOST_FILES, as_text
from trued.proof.text.languages import CODE, SCRIPTS, is_script
from trued.proof.text.script_imports import relative_paths
from trued.protocols import Workspace

# Folders with files that tests read. Only a test that reads them makes them data: the folder may hold tests as well.
DATA_FOLDERS = frozenset(("testdata", "fixtures", "data", "samples", "examples"))
FOREIGN_CODE = frozenset(("vendor", "node_modules", "third_party"))  # folders with other people's code
TESTS_MODULE = "tests.py"
DOCUMENTS_WITH_EXAMPLES = (".md", ".rst", ".txt")
_MAY_TEST = re.compile(rb"\bdef test|TestCase\b|doctest|^assert\b", re.MULTILINE)
_GO_TEST = re.compile(rb"^func\s+Test\w*\s*\(", re.MULTILINE)
# A test of a script, with its title; `/a/.test("b")` is none.
TITLED = re.compile(rb"(?<![.\w$])(?:test|it|describe|suite|specify)(?:\.\w+)*\s*\(\s*[\"'`]")
_ASSERTS_AT_TOP = re.compile(rb"^assert(?:\.\w+)*\s*\(", re.MULTILINE)
_DOCTESTS = "--doctest-modules"  # the option of pytest
_GLOB = re.compile(r"--doctest-glob[=\s,'\"]+([^\s'\",\]]+)")
_TESTS_OTHER_MODULES = re.compile(rb"\b(?:DocTestSuite|DocTestFinder|run_docstring_examples|testmod\(\s*[A-Za-z_])")
_TESTS_DOCUMENTS = re.compile(rb"\b(?:testfile|DocFileSuite)\(")
_DOCUMENT = re.compile(r"[\"']([\w./-]+\.(?:md|rst|txt))[\"']")
_EXAMPLE = re.compile(r"^\s*>>> ", re.MULTILINE)
_SETTINGS = ("", ".yml", ".yaml", ".toml", ".ini", ".cfg", ".mk", ".sh", ".json")  # endings of files with commands
_WORD = re.compile(rb"[\w-]+")
_IMPORTING = re.compile(
    rb"^\s*(?:import|from)\b.*|[\"'`]\.{1,2}/[^\"'`\n]+", re.MULTILINE
)  # also relative paths of scripts
_PROGRAM = re.compile(rb"^if __name__ ==", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Habits:
    """How the base names its tests and which examples it runs."""

    files: tuple[str, ...]  # patterns for names of Python test files, besides pytest's own
    names: tuple[str, ...]  # patterns for names of functions and classes that are tests
    doctests: bool  # examples in docstrings are run
    documents: frozenset[str]  # patterns for names of documents whose examples are run
    modules: frozenset[str]  # names of the base's own Python modules and packages
    imported: frozenset[str]  # words in lines that import something

    def is_imported(self, path: str) -> bool:
        return PurePosixPath(path).name.partition(".")[0] in self.imported

    def is_named(self, path: str) -> bool:
        name = PurePosixPath(path).name
        return is_named_like_a_test(path) or name == TESTS_MODULE or any(fnmatchcase(name, one) for one in self.files)

    def names_test(self, name: str) -> bool:
        return any(fnmatchcase(name, f"{one}*") for one in self.names)


async def uncollected_tests(workspace: Workspace, base: str, ids: Iterable[str], idle: Collection[str]) -> list[str]:
    """The tests of the base that are not among `ids`, each as `file::name`, or as `file` if no test of the file is.

    `idle`: endings of files that are left out, because no suite of them can guard.
    """
    collected: dict[str, set[str]] = defaultdict(set)
    for one in ids:
        path, _, name = one.partition("::")
        collected[path].add(name.split("[")[0])
    blobs = await workspace.blobs(base)
    may_hold = [path for path in blobs if _may_hold_tests(path)]
    data = await data_of_tests(workspace, base, may_hold)
    texts = await workspace.read_all(base, [path for path in may_hold if path not in data])
    habits = await _habits(workspace, base, blobs, texts)
    found, examples = dict[str, list[str]](), list[str]()  # file → its uncollected tests; [""] for a whole file
    for path, content in texts.items():
        if path.endswith(tuple(idle)):
            continue
        if path.endswith(".py"):
            tests, shown = _uncollected_in(path, content, collected.get(path, set()), habits)
            examples += (f"{path}::{name}" for name in shown)
        else:
            tests = [""] if path not in collected and _has_counted_tests(path, content, habits) else []
        found |= {path: tests} if tests else {}
    found = _without_used(found, texts, collected)
    documents = await _documents(workspace, base, blobs, collected, habits)
    return [*_as_ids(found, collected, habits), *examples, *documents]


def examples_of(path: str, text: str) -> str:
    """The text of a Python file, or the code of the examples in a document."""
    if not path.endswith(DOCUMENTS_WITH_EXAMPLES):
        return text
    try:
        return "".join(one.source for one in doctest.DocTestParser().get_examples(text))
    except ValueError:
        return ""


async def data_of_tests(workspace: Workspace, base: str, paths: Iterable[str]) -> frozenset[str]:
    """Of these files, those in a folder of data that a test, or a helper of tests, elsewhere reads."""
    return await read_by_tests(
        workspace, base, [path for path in paths if not DATA_FOLDERS.isdisjoint(PurePosixPath(path).parts[:-1])]
    )


async def read_by_tests(workspace: Workspace, base: str, asked: Sequence[str]) -> frozenset[str]:
    """Of these files, those that a test, or a helper of tests, among the other files reads."""
    blobs = await workspace.blobs(base) if asked else {}
    readers = [path for path in blobs if path.endswith(CODE) and is_test(path) and path not in asked][:MOST_FILES]
    texts = {path: as_text(one) for path, one in (await workspace.read_all(base, readers)).items()}
    return frozenset(one for one in asked if any(may_read(path, text, one, blobs) for path, text in texts.items()))


def _may_hold_tests(path: str) -> bool:
    folders = PurePosixPath(path).parts[:-1]
    if not FOREIGN_CODE.isdisjoint(folders) or (path.endswith(".go") and "testdata" in folders):
        return False  # Go itself passes `testdata` over
    return path.endswith((".py", *SCRIPTS)) or (path.endswith(".go") and is_named_like_a_test(path))


def _has_counted_tests(path: str, content: bytes, habits: _Habits) -> bool:
    if path.endswith(".go"):
        return bool(_GO_TEST.search(content))
    if has_tests(path, content) or TITLED.search(content):
        return True
    return not habits.is_imported(path) and bool(_ASSERTS_AT_TOP.search(content))


async def _habits(workspace: Workspace, base: str, blobs: Collection[str], texts: Mapping[str, bytes]) -> _Habits:
    folders = ("", *project_folders(blobs).python)
    starts = [f"{one}/" if one else "" for one in folders]
    inner = [(path, path.removeprefix(start)) for start in starts for path in blobs if path.startswith(start)]
    settings = await workspace.read_all(base, [path for path, name in inner if may_start_tests(name)])
    read = {path: as_text(one) for path, one in settings.items()}
    configured = [one for folder in folders if (one := _configured_in(folder, read))]
    python = {path: content for path, content in texts.items() if path.endswith(".py") and b"doctest" in content}
    naming = [as_text(content) for content in python.values() if _TESTS_DOCUMENTS.search(content)]
    named = {one for every in naming for one in _DOCUMENT.findall(every)}
    named |= {one for every in read.values() for one in _GLOB.findall(every)}
    return _Habits(
        files=tuple(one for path in configured for one in configured_test_names(path, read[path])),
        names=tuple(one for path in configured for one in configured_test_functions(path, read[path])),
        doctests=any(_DOCTESTS in one for one in read.values())
        or any(_TESTS_OTHER_MODULES.search(one) for one in python.values()),
        documents=frozenset(one.rpartition("/")[2] for one in named),
        modules=frozenset(
            part for path in blobs if path.endswith(".py") for part in PurePosixPath(path.removesuffix(".py")).parts
        ),
        imported=frozenset(
            word.decode()
            for text in texts.values()
            for line in _IMPORTING.findall(text)
            for word in _WORD.findall(line)
        ),
    )


def _configured_in(folder: str, texts: Mapping[str, str]) -> str:
    """The path of the file that configures pytest for the project in this folder, or ""."""
    paths = [posixpath.join(folder, name) for name in CONFIGURED]
    return next((path for path in paths if path in texts and configures_pytest(path, texts[path])), "")


def may_start_tests(path: str) -> bool:
    """Whether the file may contain commands that run tests: settings and scripts at the top, and those of a CI."""
    pure = PurePosixPath(path)
    return pure.suffix in _SETTINGS and (len(pure.parts) == 1 or pure.parts[0].startswith("."))


async def _documents(
    workspace: Workspace, base: str, blobs: Collection[str], collected: Collection[str], habits: _Habits
) -> list[str]:
    """The documents whose examples the project runs, and no check collects."""
    named = [
        path
        for path in blobs
        if path not in collected and any(fnmatchcase(PurePosixPath(path).name, one) for one in habits.documents)
    ]
    texts = await workspace.read_all(base, named) if named else {}
    return [path for path, content in texts.items() if _EXAMPLE.search(as_text(content))]


def _uncollected_in(
    path: str, content: bytes, collected: Collection[str], habits: _Habits
) -> tuple[list[str], list[str]]:
    """The tests of a Python file that were not collected, as `Class::name`, and its functions and classes with examples
    in their docstrings, if the project runs these: they are never collected, because they are part of the code that
    they test. `[""]`: the file checks something, and none of its functions is a test by its name."""
    among = habits.is_named(path) or is_among_tests(path)
    may_assert = b"assert" in content and (among or bool(_PROGRAM.search(content)))
    if not (habits.doctests or habits.names or may_assert or _MAY_TEST.search(content)):
        return [], []
    text = as_text(content)
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [], []
    examples = _with_examples(module) if habits.doctests or "doctest.testmod(" in text else []
    examples = [name for name in examples if name not in collected]
    if "" in collected:  # the whole file is reported as one test
        return [], examples
    tests = _defined_tests(path, module, text, habits)
    if not tests and not collected and _checks_something(path, module, habits, among=among):
        return [""], examples
    return _not_among(tests, collected), examples


def _with_examples(module: ast.Module) -> list[str]:
    """The functions and classes of a Python file with examples in their docstrings."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = [one for one in ast.walk(module) if isinstance(one, kinds)]
    return [one.name for one in found if _EXAMPLE.search(ast.get_docstring(one) or "")]


def _defined_tests(path: str, module: ast.Module, text: str, habits: _Habits) -> list[str]:
    """The test functions and methods that a Python file defines. A function that is named like a test is one if the
    file is named like a test or imports a test framework, or if the function asserts something."""
    named = habits.is_named(path)
    framework = not {"pytest", "unittest"}.isdisjoint(one.split(".")[0] for one in imported_modules(text))

    found: dict[str, None] = {}
    # A list instead of a recursion, because each of many `elif`s is one level deeper than the one before.
    left: list[tuple[ast.AST, str, bool]] = [(one, "", named or framework) for one in reversed(module.body)]
    while left:
        one, above, trusted = left.pop()
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            is_named = one.name.startswith("test") or (named and habits.names_test(one.name))
            if is_named and not _is_fixture(one) and (trusted or _asserts(one)):
                found[f"{above}{one.name}"] = None
        elif isinstance(one, ast.ClassDef):
            is_named = named and (one.name.startswith("Test") or habits.names_test(one.name))
            inner = f"{above}{one.name}::"
            left += [(each, inner, is_named or _is_test_case(one)) for each in reversed(one.body)]
        elif isinstance(one, ast.stmt | ast.ExceptHandler):  # tests below `if` or `try`
            left += [(each, above, trusted) for each in reversed([*ast.iter_child_nodes(one)])]
    return [*found]


def _is_fixture(one: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorators = [each.func if isinstance(each, ast.Call) else each for each in one.decorator_list]
    names = [each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in decorators]
    return any(name.endswith("fixture") for name in names)  # `usefixtures` is the mark of a test


def _asserts(node: ast.AST) -> bool:
    calls = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
    names = [one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in calls]
    return any(isinstance(one, ast.Assert) for one in ast.walk(node)) or any(one.startswith("assert") for one in names)


def _is_test_case(node: ast.ClassDef) -> bool:
    """Whether a class derives from `unittest.TestCase` or from a class that is named like it."""
    names = [one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in node.bases]
    return any(name.endswith("TestCase") for name in names)


def _checks_something(path: str, module: ast.Module, habits: _Habits, *, among: bool) -> bool:
    """Whether a Python file without functions that are named like tests is a test all the same: a file among tests that
    asserts anything, test cases with methods of other names, or a program that nothing imports and that asserts what
    the project's own code returns."""
    if PurePosixPath(path).name in ("conftest.py", "__init__.py"):
        return False
    if any(isinstance(one, ast.ClassDef) and _is_test_case(one) and _asserts(one) for one in module.body):
        return True
    if among:
        return _asserts(module)
    own = set[str]()
    for one in module.body:
        if isinstance(one, ast.Import):
            own |= {each.asname or each.name.split(".")[0] for each in one.names if _is_own(each.name, habits)}
        elif isinstance(one, ast.ImportFrom) and (one.level or _is_own(one.module or "", habits)):
            own |= {each.asname or each.name for each in one.names}
    if habits.is_imported(path):
        return False  # a module of the product that checks its own surroundings
    asserted = [one for one in module.body if isinstance(one, ast.Assert)]
    if any(isinstance(one, ast.Name) and one.id in own for each in asserted for one in ast.walk(each)):
        return True
    inner = [one for one in ast.walk(module) if isinstance(one, ast.Assert)]
    calls = [one.func for each in inner for one in ast.walk(each) if isinstance(one, ast.Call)]
    return any(isinstance(one, ast.Name) and one.id in own for call in calls for one in ast.walk(call))


def _is_own(module: str, habits: _Habits) -> bool:
    return module.split(".")[0] in habits.modules


def _not_among(tests: list[str], collected: Collection[str]) -> list[str]:
    """The tests that were not collected. A collected name that the file does not define belongs to a test that a class
    inherits, or was made from one by a decorator (`test_a_0` from `test_a`)."""
    names = {_bare(one) for one in tests}
    made = {_bare(one) for one in collected if one not in tests}
    origins = {max((name for name in names if one.startswith(name)), key=len, default="") for one in made}
    return [one for one in tests if one not in collected and _bare(one) not in origins]


def _bare(name: str) -> str:
    return name.rpartition("::")[2]


def _as_ids(found: Mapping[str, list[str]], collected: Collection[str], habits: _Habits) -> Iterator[str]:
    """`file` for a file that is nothing but a test, and `file::name` for tests beside other things: collected tests, or
    code that other files import."""
    among = {path for path in found if habits.is_named(path) or is_among_tests(path) or not path.endswith(".py")}
    for path, tests in found.items():
        whole = path not in collected and (path in among or not habits.is_imported(path))
        yield from [path] if whole or tests == [""] else [f"{path}::{one}" for one in tests]


def _without_used(
    found: Mapping[str, list[str]], texts: Mapping[str, bytes], collected: Mapping[str, set[str]]
) -> dict[str, list[str]]:
    """Leave out the tests that collected tests inherit or call, and files without tests of their own that collected
    tests or a `conftest.py` use."""
    if not found:
        return {}
    users = {path for path in texts if path in collected or PurePosixPath(path).name == "conftest.py"}
    words = {path: {one.decode() for one in _WORD.findall(texts[path])} for path in {*users, *found}}
    stems: dict[str, list[str]] = defaultdict(list)
    for path in found:
        stems[PurePosixPath(path).name.partition(".")[0]].append(path)
    edges = {
        path: _used_by(
            path, texts[path], {one: found[one] for stem in words[path] & stems.keys() for one in stems[stem]}
        )
        for path in words
    }
    seen: dict[str, set[str]] = defaultdict(set)  # file of `found` → words of the files that use it
    for user in users:
        own = words[user] | {_bare(one) for one in collected.get(user, ())}
        left, passed = [(user, own)], set[str]()
        while left:
            path, known = left.pop()
            for one in edges[path]:
                if one not in passed:
                    passed.add(one)
                    seen[one] |= known
                    left.append((one, known | words[one]))
    used = {*seen}
    kept = {
        path: [one for one in tests if (_bare(one) not in seen[path] if one else path not in used)]
        for path, tests in found.items()
    }
    return {path: tests for path, tests in kept.items() if tests}


def _used_by(path: str, content: bytes, found: Mapping[str, list[str]]) -> list[str]:
    """Of the files in `found`, each with its tests, those that the file at `path` imports. Files without tests of their
    own may also be started, by their names."""
    if not found:
        return []
    modules = imported_modules(as_text(content)) if path.endswith(".py") else frozenset[str]()
    named = relative_paths(content.decode("utf-8", "replace")) if is_script(path) else []
    places = {posixpath.normpath(posixpath.join(posixpath.dirname(path), one)) for one in named}
    places |= {f"{place}{end}" for place in places for end in SCRIPTS}

    def is_used(used: str, tests: list[str]) -> bool:
        if tests == [""] and not is_named_like_a_test(used) and PurePosixPath(used).name.encode() in content:
            return True
        parts = PurePosixPath(used.removesuffix(".py")).parts if used.endswith(".py") else ()
        return used in places or any(".".join(parts[start:]) in modules for start in range(len(parts)))

    return [used for used, tests in found.items() if used != path and is_used(used, tests)]
