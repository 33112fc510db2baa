"""Finds tests of the base that no check collects.

A suite leaves tests out by its settings (`testpaths`, `-m "not slow"`), or because no runner would find them by their
names. No check runs these tests, so they guard nothing: code that only they test is unguarded.
"""

import ast
import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from trued.proof.reach.file_readers import may_read
from trued.proof.reach.own_checks import STARTS_PROCESSES, STARTS_RUNNER
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
from trued.proof.text.commit_texts import MOST_FILES, as_text, texts_at
from trued.proof.text.languages import CODE, SCRIPTS, is_script
from trued.proof.text.python_imports import imported_modules, parse
from trued.proof.text.script_imports import relative_paths
from trued.protocols import Workspace
from trued.support.lazy_regex import lazy_regex

# Folders with files that tests read. A file there counts as data only if a test reads it, because such a folder may
# hold tests as well.
DATA_FOLDERS = frozenset(("testdata", "fixtures", "data", "samples", "examples"))
FOREIGN_CODE = frozenset(("vendor", "node_modules", "third_party"))  # folders with other people's code
DOCUMENTS_WITH_EXAMPLES = (".md", ".rst", ".txt")
_MAY_TEST = lazy_regex(rb"\bdef test|TestCase\b|doctest|^assert\b", re.MULTILINE)
_GO_TEST = lazy_regex(rb"^func\s+Test\w*\s*\(", re.MULTILINE)
# A test in JavaScript or TypeScript, with its title. `/a/.test("b")` is no test.
TITLED = lazy_regex(rb"(?<![.\w$])(?:test|it|describe|suite|specify)(?:\.\w+)*\s*\(\s*[\"'`]")
_ASSERTS_AT_TOP = lazy_regex(rb"^assert(?:\.\w+)*\s*\(", re.MULTILINE)
_DOCTEST_OPTION = "--doctest-modules"  # the option of pytest
_DOCTEST_GLOB = lazy_regex(r"--doctest-glob[=\s,'\"]+([^\s'\",\]]+)")
_TESTS_OTHER_MODULES = lazy_regex(rb"\b(?:DocTestSuite|DocTestFinder|run_docstring_examples|testmod\(\s*[A-Za-z_])")
_TESTS_DOCUMENTS = lazy_regex(rb"\b(?:testfile|DocFileSuite)\(")
_DOCUMENT = lazy_regex(r"[\"']([\w./-]+\.(?:md|rst|txt))[\"']")
_EXAMPLE = lazy_regex(r"^\s*>>> ", re.MULTILINE)
_SETTINGS = ("", ".yml", ".yaml", ".toml", ".ini", ".cfg", ".mk", ".sh", ".json")  # endings of files with commands
_WORD = lazy_regex(rb"[\w-]+")
_IMPORT_LINE = lazy_regex(
    rb"^\s*(?:import|from)\b.*|[\"'`]\.{1,2}/[^\"'`\n]+", re.MULTILINE
)  # also relative paths of scripts
_PROGRAM_START = lazy_regex(rb"^if __name__ ==", re.MULTILINE)
_MAY_EXIT = lazy_regex(rb"\bexit\b|\b_exit\b|\bSystemExit\b")
_EXITS = lazy_regex(rb"\bprocess\.(?:exit\(\s*[^\s)0]|exitCode\s*=)")  # a script whose exit code is its result


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

    def names_test_file(self, path: str) -> bool:
        name = PurePosixPath(path).name
        return (
            is_named_like_a_test(path)
            or name == "tests.py"
            or any(fnmatchcase(name, pattern) for pattern in self.files)
        )

    def names_test(self, name: str) -> bool:
        return any(fnmatchcase(name, f"{pattern}*") for pattern in self.names)


async def uncollected_tests(
    workspace: Workspace, base: str, test_ids: Iterable[str], idle: Collection[str], own: Sequence[str] = ()
) -> list[str]:
    """The tests of the base that no check collects: `file::name`, or `file` if none of the file's tests is collected.

    `test_ids`: the tests that are collected. `idle`: file endings to leave out, because no suite that runs such files
    can guard anything. `own`: the base's own checks beside its suites (see `own_checks.py`). Own checks that collected
    tests start are left out.
    """
    collected: dict[str, set[str]] = defaultdict(set)
    for test_id in test_ids:
        path, _, name = test_id.partition("::")
        collected[path].add(name.split("[")[0])
    blobs = await workspace.blobs(base)
    programs = [place for place in own if place in blobs]
    may_hold = [path for path in blobs if _may_hold_tests(path) or path in programs]
    data = await data_of_tests(workspace, base, may_hold)
    texts = await workspace.read_all(base, [path for path in may_hold if path not in data])
    habits = await _habits(workspace, base, blobs, texts)
    uncollected, examples = dict[str, list[str]](), list[str]()  # file → its uncollected tests; [""] for a whole file
    for path, content in texts.items():
        if path.endswith(tuple(idle)):
            continue
        if path.endswith(".py"):
            tests, example_names = _uncollected_in(path, content, collected.get(path, set()), habits)
            examples += (f"{path}::{name}" for name in example_names)
        else:
            tests = [""] if path not in collected and _has_counted_tests(path, content, habits) else []
        tests = tests or ([""] if path in programs and path not in collected else [])
        uncollected |= {path: tests} if tests else {}
    uncollected = _without_used(uncollected, texts, collected)
    uncollected = _without_started(uncollected, texts)
    documents = await _uncollected_documents(workspace, base, blobs, collected, habits)
    recipes = [place for place in own if place not in blobs]
    return [*_test_ids(uncollected, collected, habits), *examples, *documents, *recipes]


def examples_of(path: str, text: str) -> str:
    """What a file tests with: in a document, only the code of its examples; in any other file, the whole text."""
    if not path.endswith(DOCUMENTS_WITH_EXAMPLES):
        return text
    import doctest  # with the first document: it loads all of unittest

    try:
        return "".join(example.source for example in doctest.DocTestParser().get_examples(text))
    except ValueError:
        return ""


async def data_of_tests(workspace: Workspace, base: str, paths: Iterable[str]) -> frozenset[str]:
    """Of these files, those that lie in a data folder and that a test or a helper of tests reads (see
    `files_that_tests_read`)."""
    return await files_that_tests_read(
        workspace, base, [path for path in paths if not DATA_FOLDERS.isdisjoint(PurePosixPath(path).parts[:-1])]
    )


async def files_that_tests_read(workspace: Workspace, base: str, paths: Sequence[str]) -> frozenset[str]:
    """Of the files in `paths`, those that a test or a helper of tests reads. Readers in `paths` do not count."""
    blobs = await workspace.blobs(base) if paths else {}
    readers = [path for path in blobs if path.endswith(CODE) and is_test(path) and path not in paths][:MOST_FILES]
    texts = await texts_at(workspace, base, readers)
    return frozenset(
        path for path in paths if any(may_read(reader, text, path, blobs) for reader, text in texts.items())
    )


def _may_hold_tests(path: str) -> bool:
    folders = PurePosixPath(path).parts[:-1]
    if not FOREIGN_CODE.isdisjoint(folders) or (path.endswith(".go") and "testdata" in folders):
        return False  # Go itself ignores `testdata`
    return path.endswith((".py", *SCRIPTS)) or (path.endswith(".go") and is_named_like_a_test(path))


def _has_counted_tests(path: str, content: bytes, habits: _Habits) -> bool:
    if path.endswith(".go"):
        return bool(_GO_TEST.search(content))
    if not is_script(path):
        return False  # a program of the base's own checks
    if has_tests(path, content) or TITLED.search(content):
        return True
    if habits.is_imported(path):
        return False
    return bool(_ASSERTS_AT_TOP.search(content) or (is_among_tests(path) and _EXITS.search(content)))


async def _habits(workspace: Workspace, base: str, blobs: Collection[str], texts: Mapping[str, bytes]) -> _Habits:
    folders = ("", *project_folders(blobs).python)
    starts = [f"{folder}/" if folder else "" for folder in folders]
    inner = [(path, path.removeprefix(start)) for start in starts for path in blobs if path.startswith(start)]
    settings_texts = await texts_at(workspace, base, [path for path, name in inner if may_start_tests(name)])
    configured = [path for folder in folders if (path := _configured_in(folder, settings_texts))]
    python = {path: content for path, content in texts.items() if path.endswith(".py") and b"doctest" in content}
    document_runners = [as_text(content) for content in python.values() if _TESTS_DOCUMENTS.search(content)]
    document_patterns = {document for text in document_runners for document in _DOCUMENT.findall(text)}
    document_patterns |= {pattern for text in settings_texts.values() for pattern in _DOCTEST_GLOB.findall(text)}
    return _Habits(
        files=tuple(pattern for path in configured for pattern in configured_test_names(path, settings_texts[path])),
        names=tuple(
            pattern for path in configured for pattern in configured_test_functions(path, settings_texts[path])
        ),
        doctests=any(_DOCTEST_OPTION in text for text in settings_texts.values())
        or any(_TESTS_OTHER_MODULES.search(content) for content in python.values()),
        documents=frozenset(pattern.rpartition("/")[2] for pattern in document_patterns),
        modules=frozenset(
            part for path in blobs if path.endswith(".py") for part in PurePosixPath(path.removesuffix(".py")).parts
        ),
        imported=frozenset(
            word.decode()
            for text in texts.values()
            for line in _IMPORT_LINE.findall(text)
            for word in _WORD.findall(line)
        ),
    )


def _configured_in(folder: str, texts: Mapping[str, str]) -> str:
    """The path of the file that configures pytest for the project in this folder, or ""."""
    paths = [posixpath.join(folder, name) for name in CONFIGURED]
    return next((path for path in paths if path in texts and configures_pytest(path, texts[path])), "")


def may_start_tests(path: str) -> bool:
    """Whether the file may contain commands that run tests. Such files are settings and scripts in the repository's
    root, or in hidden folders, as a CI has them."""
    pure = PurePosixPath(path)
    return pure.suffix in _SETTINGS and (len(pure.parts) == 1 or pure.parts[0].startswith("."))


async def _uncollected_documents(
    workspace: Workspace, base: str, blobs: Collection[str], collected: Collection[str], habits: _Habits
) -> list[str]:
    """The documents with examples that the project runs, but that no check collects."""
    documents = [
        path
        for path in blobs
        if path not in collected and any(fnmatchcase(PurePosixPath(path).name, pattern) for pattern in habits.documents)
    ]
    texts = await texts_at(workspace, base, documents) if documents else {}
    return [path for path, text in texts.items() if _EXAMPLE.search(text)]


def _uncollected_in(
    path: str, content: bytes, collected: Collection[str], habits: _Habits
) -> tuple[list[str], list[str]]:
    """The tests of a Python file that were not collected, and the functions and classes whose docstrings have examples
    that were not collected.

    Tests are listed as `Class::name`. `[""]` means: the file checks something, but none of its functions is named like
    a test. Examples count only if the project runs them.
    """
    is_test_file = habits.names_test_file(path) or is_among_tests(path)
    may_assert = b"assert" in content and (is_test_file or bool(_PROGRAM_START.search(content)))
    may_exit = is_test_file and bool(_MAY_EXIT.search(content))
    if not (habits.doctests or habits.names or may_assert or may_exit or _MAY_TEST.search(content)):
        return [], []
    text = as_text(content)
    module = parse(text)
    if module is None:
        return [], []
    examples = _names_with_examples(module) if habits.doctests or "doctest.testmod(" in text else []
    examples = [name for name in examples if name not in collected]
    if "" in collected:  # the whole file is reported as one test
        return [], examples
    tests = _defined_tests(path, module, text, habits)
    if not tests and not collected and _checks_something(path, module, text, habits, is_test_file=is_test_file):
        return [""], examples
    return _without_collected(tests, collected), examples


def _names_with_examples(module: ast.Module) -> list[str]:
    """The functions and classes of a Python file with examples in their docstrings."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    definitions = [node for node in ast.walk(module) if isinstance(node, kinds)]
    return [node.name for node in definitions if _EXAMPLE.search(ast.get_docstring(node) or "")]


def _defined_tests(path: str, module: ast.Module, text: str, habits: _Habits) -> list[str]:
    """The test functions and methods that a Python file defines. A function with the name of a test counts as a test if
    the file is named like a test or imports a test framework, or if the function asserts something."""
    is_named_file = habits.names_test_file(path)
    imports_framework = not {"pytest", "unittest"}.isdisjoint(name.split(".")[0] for name in imported_modules(text))

    tests: dict[str, None] = {}
    # A list instead of a recursion, because each of many `elif`s is one level deeper than the one before.
    # Each entry: a node, the classes above it, and whether the name alone makes a function in the node a test.
    waiting: list[tuple[ast.AST, str, bool]] = [
        (statement, "", is_named_file or imports_framework) for statement in reversed(module.body)
    ]
    while waiting:
        node, above, is_trusted = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_named = node.name.startswith("test") or (is_named_file and habits.names_test(node.name))
            if is_named and not _is_fixture(node) and (is_trusted or _asserts(node)):
                tests[f"{above}{node.name}"] = None
        elif isinstance(node, ast.ClassDef):
            is_named = is_named_file and (node.name.startswith("Test") or habits.names_test(node.name))
            class_prefix = f"{above}{node.name}::"
            waiting += [(child, class_prefix, is_named or _is_test_case(node)) for child in reversed(node.body)]
        elif isinstance(node, ast.stmt | ast.ExceptHandler):  # tests below `if` or `try`
            waiting += [(child, above, is_trusted) for child in reversed([*ast.iter_child_nodes(node)])]
    return [*tests]


def _is_fixture(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorators = [node.func if isinstance(node, ast.Call) else node for node in function.decorator_list]
    names = [node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in decorators]
    return any(name.endswith("fixture") for name in names)  # `usefixtures` is the mark of a test


def _asserts(node: ast.AST) -> bool:
    callees = [inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    names = [callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "") for callee in callees]
    has_assert = any(isinstance(inner, ast.Assert) for inner in ast.walk(node))
    return has_assert or any(name.startswith("assert") for name in names)


def _is_program_that_checks(module: ast.Module, text: str, habits: _Habits) -> bool:
    """Whether a program among tests uses the product, ends with an exit code that depends on the result, and starts no
    test runner."""
    if STARTS_RUNNER.search(text) or not _exits_by_result(module):
        return False
    imported = [name for name in imported_modules(text) if not is_test(f"{name.split('.')[0]}/any")]
    return any(_is_own_module(name, habits) for name in imported) or bool(STARTS_PROCESSES.search(text))


def _exits_by_result(module: ast.Module) -> bool:
    """Whether a program chooses its exit code: it exits with anything but a constant that means success."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            callee = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if callee in ("exit", "_exit", "SystemExit") and any(not _is_success(value) for value in node.args):
                return True
    return False


def _is_success(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def _is_test_case(node: ast.ClassDef) -> bool:
    """Whether a class derives from `unittest.TestCase` or from a class that is named like it."""
    names = [base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases]
    return any(name.endswith("TestCase") for name in names)


def _checks_something(path: str, module: ast.Module, text: str, habits: _Habits, *, is_test_file: bool) -> bool:
    """Whether a Python file is a test although none of its functions is named like a test. Such files are:

    - a file with a `TestCase` class that asserts something,
    - a file among tests that asserts something, or a program there whose exit code depends on its result,
    - a program that no file imports and that asserts something about the project's own code.
    """
    if PurePosixPath(path).name in ("conftest.py", "__init__.py"):
        return False
    classes = [statement for statement in module.body if isinstance(statement, ast.ClassDef)]
    if any(_is_test_case(definition) and _asserts(definition) for definition in classes):
        return True
    if is_test_file:
        return _asserts(module) or (not habits.is_imported(path) and _is_program_that_checks(module, text, habits))
    own_names = set[str]()  # names under which the file imports the project's own code
    for statement in module.body:
        if isinstance(statement, ast.Import):
            own_modules = [alias for alias in statement.names if _is_own_module(alias.name, habits)]
            own_names |= {alias.asname or alias.name.split(".")[0] for alias in own_modules}
        elif isinstance(statement, ast.ImportFrom) and (
            statement.level or _is_own_module(statement.module or "", habits)
        ):
            own_names |= {alias.asname or alias.name for alias in statement.names}
    if habits.is_imported(path):
        return False  # a module of the product that checks its own surroundings
    at_top = [statement for statement in module.body if isinstance(statement, ast.Assert)]
    if any(isinstance(node, ast.Name) and node.id in own_names for statement in at_top for node in ast.walk(statement)):
        return True
    anywhere = [node for node in ast.walk(module) if isinstance(node, ast.Assert)]
    callees = [node.func for statement in anywhere for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return any(isinstance(node, ast.Name) and node.id in own_names for callee in callees for node in ast.walk(callee))


def _is_own_module(module: str, habits: _Habits) -> bool:
    return module.split(".")[0] in habits.modules


def _without_collected(tests: list[str], collected: Collection[str]) -> list[str]:
    """The tests that were not collected. If the file does not define a collected test, a class inherits the test, or a
    decorator makes it from another one (`test_a_0` from `test_a`). Then the inherited or other test counts as
    collected."""
    names = {_bare_name(test) for test in tests}
    derived_names = {_bare_name(test) for test in collected if test not in tests}
    origins = {
        max((name for name in names if derived.startswith(name)), key=len, default="") for derived in derived_names
    }
    return [test for test in tests if test not in collected and _bare_name(test) not in origins]


def _bare_name(name: str) -> str:
    return name.rpartition("::")[2]


def _test_ids(uncollected: Mapping[str, list[str]], collected: Collection[str], habits: _Habits) -> Iterator[str]:
    """The ids of uncollected tests. A file that also holds collected tests, or code that other files import, gets one
    id for each test: `file::name`. Any other file gets one id: `file`."""
    test_files = {
        path for path in uncollected if habits.names_test_file(path) or is_among_tests(path) or not path.endswith(".py")
    }
    for path, tests in uncollected.items():
        is_whole_file = path not in collected and (path in test_files or not habits.is_imported(path))
        yield from [path] if is_whole_file or tests == [""] else [f"{path}::{test}" for test in tests]


def _without_used(
    uncollected: Mapping[str, list[str]], texts: Mapping[str, bytes], collected: Mapping[str, set[str]]
) -> dict[str, list[str]]:
    """The uncollected tests that collected tests do not use. Two kinds are left out: tests that a collected test
    inherits or calls, and files without tests of their own that collected tests or a `conftest.py` use."""
    if not uncollected:
        return {}
    users = {path for path in texts if path in collected or PurePosixPath(path).name == "conftest.py"}
    words = {path: {word.decode() for word in _WORD.findall(texts[path])} for path in {*users, *uncollected}}
    stems: dict[str, list[str]] = defaultdict(list)
    for path in uncollected:
        stems[PurePosixPath(path).name.partition(".")[0]].append(path)
    edges = {
        path: _files_used_by(
            path, texts[path], {file: uncollected[file] for stem in words[path] & stems.keys() for file in stems[stem]}
        )
        for path in words
    }
    words_of_users: dict[str, set[str]] = defaultdict(set)  # file of `uncollected` → words of the files that use it
    for user in users:
        user_words = words[user] | {_bare_name(test) for test in collected.get(user, ())}
        waiting, visited = [(user, user_words)], set[str]()
        while waiting:
            path, known_words = waiting.pop()
            for used_file in edges[path]:
                if used_file not in visited:
                    visited.add(used_file)
                    words_of_users[used_file] |= known_words
                    waiting.append((used_file, known_words | words[used_file]))
    used_files = {*words_of_users}  # a copy, because the lookups below add keys
    kept = {
        path: [
            test for test in tests if (_bare_name(test) not in words_of_users[path] if test else path not in used_files)
        ]
        for path, tests in uncollected.items()
    }
    return {path: tests for path, tests in kept.items() if tests}


def _without_started(uncollected: Mapping[str, list[str]], texts: Mapping[str, bytes]) -> dict[str, list[str]]:
    """The uncollected tests, except for programs that files among tests start by name. Such programs are stand-ins for
    other programs, or steps of tests. A program is not left out if it asserts something or is named like a test."""

    def is_started(program: str) -> bool:
        names = [PurePosixPath(program).name.encode(), program.removesuffix(".py").replace("/", ".").encode()]
        users = (text for path, text in texts.items() if path not in uncollected and is_test(path))
        return any(name in text for text in users for name in names)

    programs = {
        path
        for path, tests in uncollected.items()
        if tests == [""] and b"assert" not in texts[path] and not is_named_like_a_test(path)
    }
    return {path: tests for path, tests in uncollected.items() if path not in programs or not is_started(path)}


def _files_used_by(path: str, content: bytes, uncollected: Mapping[str, list[str]]) -> list[str]:
    """Of the files in `uncollected` (file → its tests), those that the file at `path` imports. A file without tests of
    its own also counts if the file at `path` names it, because a test may start it by its name."""
    if not uncollected:
        return []
    modules = imported_modules(as_text(content)) if path.endswith(".py") else frozenset[str]()
    references = relative_paths(as_text(content)) if is_script(path) else []
    places = {posixpath.normpath(posixpath.join(posixpath.dirname(path), reference)) for reference in references}
    places |= {f"{place}{end}" for place in places for end in SCRIPTS}

    def is_used(file: str, tests: list[str]) -> bool:
        if tests == [""] and not is_named_like_a_test(file) and PurePosixPath(file).name.encode() in content:
            return True
        parts = PurePosixPath(file.removesuffix(".py")).parts if file.endswith(".py") else ()
        return file in places or any(".".join(parts[start:]) in modules for start in range(len(parts)))

    return [file for file, tests in uncollected.items() if file != path and is_used(file, tests)]
