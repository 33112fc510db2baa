"""Finds the product among the files that tests take from the base: files among tests, settings of test runners, build
files, and the scripts of a package.json.

Nothing guards the head's version of such a file, because no test ran with it. If the product uses the file, or if a
test of the base tries it, the existing tests are run once more with the head's version
(`CommitTrial.tests_failing_with`).
"""

import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from trued.model import CommandCheck, Contract, TestsCheck
from trued.proof.reach.altered_python import imported_modules
from trued.proof.reach.file_readers import LISTS, without_remarks
from trued.proof.reach.uncollected_tests import TITLED
from trued.proof.reach.used_by_tests import uses_file
from trued.proof.room.frozen_files import (
    DRIVERS,
    FOLDERS,
    commands_of_suites,
    is_among_tests,
    is_below,
    is_compiled,
    is_configuration,
    is_named_like_a_script_test,
    is_named_like_a_test,
    is_test,
    tool_of_settings,
)
from trued.proof.room.package_json import is_package_json, manifest_of_head, merge_manifests
from trued.proof.room.runner_modules import loaded_by, named_as_product
from trued.proof.text.commit_texts import as_text
from trued.proof.text.languages import CODE, is_script
from trued.proof.text.script_aliases import ScriptAliases, fitting_files, is_settings
from trued.proof.text.script_imports import relative_paths, without_comments
from trued.protocols import Workspace

MOST_READ = 5000  # at most this many files of code are read for the names of files
_NAMING = (".html", ".htm", ".toml", ".cfg")  # pages and manifests name code of the product by its path or module
_BUILD_FILES = frozenset((*(name for names in DRIVERS.values() for name in names), "setup.py"))
_SETTINGS = re.compile(r".+\.(?:config|conf)\.\w+|\.[\w-]+rc(?:\..+)?")
_PACKAGE_MANAGERS = re.compile(r"(?<![\w.-])(?:npm|npx|pnpm|yarn|bunx?)(?![\w.-])|package\.json")
_TEST_ENDING = re.compile(r"[._-](?:test|spec)s?\.\w+$")
_TEST_BEGINNING = re.compile(r"(?:test|spec)s?[._-]")
_UNASKED = frozenset(("__mocks__", "__tests__"))  # Jest loads the files of these folders by itself
_LISTS_MODULES = re.compile(r"\b(?:iter_modules|walk_packages)\b")  # Python finds these without an ending
_LOADS_COMPUTED = re.compile(
    r"\b(?:import_module|__import__)\(|(?<![.\w$])(?:import|require)\(\s*(?![\"'`][^\"'`$]+[\"'`]\s*[,)])"
)


async def replaced_product(
    workspace: Workspace, contract: Contract, commit: str, replaced: Collection[str], *, remarks: bool = True
) -> list[str]:
    """Of these files, of which the room of the tests did not have the head's version, those that code of the product
    uses on base or head, or that a test of the base tries like the product. `remarks`: a comment that names a file
    counts as a use, too."""
    known, here = await workspace.blobs(contract.base), await workspace.blobs(commit)
    tests = _files_of_tests(contract, known)
    manifests = [path for path in replaced if is_package_json(path)]
    left = [path for path in replaced if not is_compiled(path) and path not in manifests]
    found = [path for path in manifests if await _has_other_scripts(workspace, contract, commit, path)]
    if not left:
        return sorted(found)
    code = [path for path in known if path.endswith((*CODE, *_NAMING)) or is_settings(path)][:MOST_READ]
    before = await _texts(workspace, contract.base, code)
    changed = [path for path in here if known.get(path) != here[path] and path.endswith((*CODE, *_NAMING))]
    after = await _texts(workspace, commit, [*changed, *left])
    finder = _Finder({*known, *here}, tests, ScriptAliases({**before, **after}))
    frozen = {path for path, blob in contract.frozen.items() if blob}
    product = [
        (path, text if remarks else _without_remarks(path, text))
        for texts in (before, after)
        for path, text in texts.items()
        if path not in left and path not in frozen and not is_test(path) and not _is_tool(path)
    ]
    trying = [text for path, text in before.items() if is_test(path) and not is_configuration(path)]
    if any(map(_PACKAGE_MANAGERS.search, trying)):
        trying += [text for path, text in before.items() if is_package_json(path)]  # its scripts start tools
    found += [path for path in left if path not in tests and _is_tried(path, trying)]
    between = [path for path in before if path.endswith(CODE) and is_test(path) and path not in tests]
    paths = dict.fromkeys(one for one in (*left, *between) if one not in found)
    used = finder.used_by(product, paths, (before, after))
    return sorted((*found, *(one for one in used if one in left)))


async def new_product(workspace: Workspace, contract: Contract, commit: str) -> list[str]:
    """New files of the commit in a folder like `tests` that has no tests on the base, or with the name of a test, that
    the product uses and no test of the base mentions. They can influence existing tests only like any code of the
    product, so they stay in the room. A file that a test runner would load unasked can do more, so it is none of them:
    a mock, a script with tests, or one with such a name as the tests of the base have."""
    known, here = await workspace.blobs(contract.base), await workspace.blobs(commit)
    tests = [path for path in {*_files_of_tests(contract, known), *contract.frozen} if is_named_like_a_test(path)]
    added = [path for path in here if path not in known and path.endswith(CODE) and not is_configuration(path)]
    added = [path for path in added if not (path.endswith(".py") and is_named_like_a_test(path))]  # pytest loads these
    added = [
        path
        for path in added
        if (is_among_tests(path) and not any(is_below(one, _folder_of_tests(path)) for one in tests))
        or (is_named_like_a_script_test(path) and not is_among_tests(path))
    ]
    named = {_form(path) for path in tests}
    added = [path for path in added if _form(path) not in named and _UNASKED.isdisjoint(PurePosixPath(path).parts)]
    if not added or not contract.frozen:
        return []
    contents = await workspace.read_all(commit, added)
    added = [path for path in added if not TITLED.search(contents.get(path, b""))]
    texts = await _texts(workspace, contract.base, [path for path in known if is_test(path)])
    words = {word for text in texts.values() for word in re.findall(r"[\w-]+", text)}
    unknown = [path for path in added if PurePosixPath(path).name.partition(".")[0] not in words]
    return await replaced_product(workspace, contract, commit, unknown, remarks=False) if unknown else []


def _form(path: str) -> str:
    """How a script is named like a test, by which runners find it: `.test.ts`, `-test.js`, `test-*.js`; its path if its
    name says nothing."""
    pure = PurePosixPath(path)
    end, start = _TEST_ENDING.search(pure.name), _TEST_BEGINNING.match(pure.name)
    return end[0] if end else f"{start[0]}*{pure.suffix}" if start else path


def _without_remarks(path: str, text: str) -> str:
    return without_comments(text) if is_script(path) else without_remarks(text) if path.endswith(CODE) else text


def _folder_of_tests(path: str) -> str:
    """The outermost folder above a file that is named like a folder of tests."""
    folders = [
        str(one) for one in reversed(PurePosixPath(path).parents) if is_among_tests(f"{one}/{PurePosixPath(path).name}")
    ]
    return folders[0]


def _files_of_tests(contract: Contract, known: Collection[str]) -> set[str]:
    """The files of the base that hold the tests which checks count or name. The product imports them, or does not use
    them: what only names them runs them."""
    counted = {one.id.split("::")[0] for fact in contract.base_facts if fact.kind == "tests" for one in fact.tried}
    checks = [check for one in contract.every for check in one.checks if isinstance(check, TestsCheck | CommandCheck)]
    named = [name for check in checks for name in check.files]
    return {path for path in known if path in counted or any(is_below(path, name) for name in named)}


async def _has_other_scripts(workspace: Workspace, contract: Contract, commit: str, path: str) -> bool:
    """Whether the head's package.json differs from the merged one in more than how tests are started."""
    before, after = await workspace.read(contract.base, path), await workspace.read(commit, path)
    return after is not None and manifest_of_head(before, after, commands_of_suites(contract)) != merge_manifests(
        before, after
    )


async def _texts(workspace: Workspace, commit: str, paths: Iterable[str]) -> dict[str, str]:
    found = await workspace.read_all(commit, list(paths))
    return {path: as_text(content) for path, content in found.items()}


def _is_tool(path: str) -> bool:
    """Whether the file is a build file or settings of a tool, which may name tests without being the product."""
    name = PurePosixPath(path).name
    return is_configuration(path) or name in _BUILD_FILES or bool(_SETTINGS.fullmatch(name))


def _is_tried(path: str, tests: Iterable[str]) -> bool:
    """Whether a test of the base names this build file or these settings of a build, or the tool that reads them: then
    the file is what it tests. Files among tests are helpers."""
    pure = PurePosixPath(path)
    if is_test(path) or is_configuration(path) or not FOLDERS.isdisjoint(pure.parts[:-1]):
        return False
    tools = "|".join(map(re.escape, tool_of_settings(pure.name)))
    words = rf"(?<![\w.-]){re.escape(pure.name)}(?![\w-])" + (rf"|(?<![\w@/.-])(?:{tools})(?![\w/.-])" if tools else "")
    return any(re.search(words, text) or (is_script(path) and f"/{pure.stem}" in text) for text in tests)


class _Finder:
    """Finds the files that code uses."""

    def __init__(self, known: Collection[str], tests: Collection[str], aliases: ScriptAliases) -> None:
        self._known, self._tests, self._aliases = dict.fromkeys(known, ""), tests, aliases

    def used_by(
        self, product: Iterable[tuple[str, str]], paths: Iterable[str], texts: Sequence[Mapping[str, str]]
    ) -> list[str]:
        """Of these paths, the files that the product uses, directly or through others of them."""
        found, left, users = list[str](), [*paths], [*product]
        while left and users:
            used = [one for one in left if any(self._uses(path, text, one) for path, text in users)]
            users = [(one, each.get(one, "")) for one in used if one.endswith(CODE) for each in texts]
            left = [one for one in left if one not in used]
            found += used
        return found

    def _uses(self, path: str, text: str, one: str) -> bool:
        """Whether the file `path`, which has this text, uses the file `one`."""
        pure = PurePosixPath(one)
        name = pure.parent.name if pure.stem in ("__init__", "index") else pure.name.partition(".")[0]
        if one.endswith(CODE) and name not in text and not _loads_computed(text):
            return False  # most texts, so that they are not searched further
        if one in self._tests:
            return self._loads(path, text, one) if is_script(one) else _imports(path, text, one)
        if is_package_json(path):
            return one in named_as_product(text, self._known)
        if one in text and not is_settings(path):
            return True
        if not path.endswith(CODE):
            return one.endswith(".py") and uses_file(path, text, one, self._known)
        if one.endswith(".py"):
            imported = path.endswith(".py") and uses_file(path, text, one, self._known)
            return imported or (_loads_computed(text) and _leads_to(path, text, one))
        if is_script(one):
            return self._loads(path, text, one) or (_loads_computed(text) and _leads_to(path, text, one))
        return _leads_to(path, text, one)

    def _loads(self, path: str, text: str, one: str) -> bool:
        if not is_script(path):
            return False
        folder = posixpath.dirname(path)
        named = [posixpath.normpath(posixpath.join(folder, name)) for name in relative_paths(text)]
        places = [*named, *self._aliases.loaded_by(path, text)]
        return one in loaded_by(path, text, self._known) or any(fitting_files(place, [one]) for place in places)


@lru_cache(4 * MOST_READ)
def _loads_computed(text: str) -> bool:
    """Whether code loads modules whose names it computes."""
    return bool(_LOADS_COMPUTED.search(text))


def _imports(path: str, text: str, one: str) -> bool:
    """Whether a Python file imports the Python file `one`."""
    place = one.removesuffix("/__init__.py").removesuffix(".py")
    names = [name.replace(".", "/") for name in imported_modules(text)] if path.endswith(".py") else []
    folders = ("src", *map(str, PurePosixPath(path).parents))
    return any(posixpath.normpath(f"{folder}/{name}") == place for folder in folders for name in names)


def _leads_to(path: str, text: str, one: str) -> bool:
    """Whether code may read or load this file: its text names each folder on the way there, or looks for such files
    in all folders below its own."""
    folder, ending = posixpath.dirname(path), PurePosixPath(one).suffix
    above = posixpath.commonpath([folder or ".", posixpath.dirname(one) or "."]) if folder else ""
    inner = posixpath.relpath(one, above or ".").split("/")[:-1]
    if above == folder and folder and LISTS.search(text) and (ending in text or _LISTS_MODULES.search(text)):
        return True
    if inner:
        return all(part in text and re.search(rf"""["'`/.\\]{re.escape(part)}["'`/.\\]""", text) for part in inner)
    return PurePosixPath(one).name in text or (bool(ending) and ending in text)
