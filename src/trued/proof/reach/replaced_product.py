"""Finds parts of the product among the files that clean rooms take from the base, not from the head: files among tests,
settings of test runners, build files, and the scripts of a package.json.

No test has run with the head's version of these files. If the product uses such a file, or if a test of the base is
about it, the existing tests run once more with the head's version (`CommitTrial.tests_failing_with`).
"""

import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from trued.model import CommandCheck, Contract, TestsCheck
from trued.proof.reach.file_readers import LISTS_FOLDERS, without_remarks
from trued.proof.reach.file_users import uses_file
from trued.proof.reach.uncollected_tests import TITLED
from trued.proof.room.frozen_files import (
    FILES_OF_TOOL,
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
from trued.proof.text.commit_texts import texts_at
from trued.proof.text.languages import CODE, is_script
from trued.proof.text.module_places import may_import
from trued.proof.text.program_names import MANAGER
from trued.proof.text.script_aliases import ScriptAliases, fitting_files, is_settings
from trued.proof.text.script_imports import relative_paths, without_comments
from trued.protocols import Workspace
from trued.support.lazy_regex import lazy_regex

MOST_READ = 5000  # at most this many files of code are read for the names of files
# Pages and manifests name code of the product by its path or module.
_PAGES_AND_MANIFESTS = (".html", ".htm", ".toml", ".cfg")
_BUILD_FILES = frozenset((*(name for names in FILES_OF_TOOL.values() for name in names), "setup.py"))
_SETTINGS = lazy_regex(r".+\.(?:config|conf)\.\w+|\.[\w-]+rc(?:\..+)?")
_PACKAGE_MANAGERS = lazy_regex(rf"{MANAGER.pattern}|package\.json")
_TEST_ENDING = lazy_regex(r"[._-](?:test|spec)s?\.\w+$")
_TEST_BEGINNING = lazy_regex(r"(?:test|spec)s?[._-]")
_FOLDERS_LOADED_UNASKED = frozenset(("__mocks__", "__tests__"))  # Jest loads the files of these folders by itself
_LISTS_MODULES = lazy_regex(r"\b(?:iter_modules|walk_packages)\b")  # these find modules without naming an ending
_LOADS_COMPUTED_NAME = lazy_regex(
    r"\b(?:import_module|__import__)\(|(?<![.\w$])(?:import|require)\(\s*(?![\"'`][^\"'`$]+[\"'`]\s*[,)])"
)


async def replaced_product(
    workspace: Workspace, contract: Contract, commit: str, replaced: Collection[str], *, remarks: bool = True
) -> list[str]:
    """Of these files, those that belong to the product: code of the product uses them on base or head, or a test of the
    base is about them.

    `replaced`: the files of which the existing tests did not use the head's version. `remarks`: whether a comment that
    names a file counts as a use, too.
    """
    base_blobs, head_blobs = await workspace.blobs(contract.base), await workspace.blobs(commit)
    tests = _files_of_tests(contract, base_blobs)
    manifests = [path for path in replaced if is_package_json(path)]
    candidates = [path for path in replaced if not is_compiled(path) and path not in manifests]
    product_files = [
        path for path in manifests if await _has_replaced_product_settings(workspace, contract, commit, path)
    ]
    if not candidates:
        return sorted(product_files)
    code = [path for path in base_blobs if path.endswith((*CODE, *_PAGES_AND_MANIFESTS)) or is_settings(path)]
    before = await texts_at(workspace, contract.base, code[:MOST_READ])
    changed = [path for path in head_blobs if base_blobs.get(path) != head_blobs[path]]
    changed_code = [path for path in changed if path.endswith((*CODE, *_PAGES_AND_MANIFESTS))]
    after = await texts_at(workspace, commit, [*changed_code, *candidates])
    finder = _Finder({*base_blobs, *head_blobs}, tests, ScriptAliases({**before, **after}))
    frozen = {path for path, blob in contract.frozen.items() if blob}
    product_texts = [
        (path, text if remarks else _without_remarks(path, text))
        for texts in (before, after)
        for path, text in texts.items()
        if path not in candidates and path not in frozen and not is_test(path) and not _is_tool(path)
    ]
    test_texts = [text for path, text in before.items() if is_test(path) and not is_configuration(path)]
    if any(map(_PACKAGE_MANAGERS.search, test_texts)):
        test_texts += [text for path, text in before.items() if is_package_json(path)]  # its scripts start tools
    product_files += [path for path in candidates if path not in tests and _is_tried(path, test_texts)]
    # The product may use a candidate through another file among the tests.
    other_files = [path for path in before if path.endswith(CODE) and is_test(path) and path not in tests]
    paths = dict.fromkeys(path for path in (*candidates, *other_files) if path not in product_files)
    used_files = finder.files_used_by(product_texts, paths, (before, after))
    return sorted((*product_files, *(path for path in used_files if path in candidates)))


async def new_product(workspace: Workspace, contract: Contract, commit: str) -> list[str]:
    """New files of the commit that look like tests, but that the product uses and no test of the base mentions.

    These files are named like tests, or lie in a folder like `tests` that has no tests on the base. They stay in the
    clean room of the existing tests, because they can influence these tests only as any code of the product can. Files
    that a test runner loads by itself could do more, so the result leaves them out: mocks, scripts with tests, Python
    files that are named like tests, and scripts that are named like the base's tests. [] if the contract freezes
    nothing.
    """
    base_blobs, head_blobs = await workspace.blobs(contract.base), await workspace.blobs(commit)
    tests = [path for path in {*_files_of_tests(contract, base_blobs), *contract.frozen} if is_named_like_a_test(path)]
    added = [path for path in head_blobs if path not in base_blobs]
    added = [path for path in added if path.endswith(CODE) and not is_configuration(path)]
    added = [path for path in added if not (path.endswith(".py") and is_named_like_a_test(path))]  # pytest loads these
    added = [
        path
        for path in added
        if (is_among_tests(path) and not any(is_below(test, _folder_of_tests(path)) for test in tests))
        or (is_named_like_a_script_test(path) and not is_among_tests(path))
    ]
    forms_of_tests = {_form(path) for path in tests}
    added = [path for path in added if _form(path) not in forms_of_tests]
    added = [path for path in added if _FOLDERS_LOADED_UNASKED.isdisjoint(PurePosixPath(path).parts)]
    if not added or not contract.frozen:
        return []
    contents = await workspace.read_all(commit, added)
    added = [path for path in added if not TITLED.search(contents.get(path, b""))]
    texts = await texts_at(workspace, contract.base, [path for path in base_blobs if is_test(path)])
    words = {word for text in texts.values() for word in re.findall(r"[\w-]+", text)}
    unknown = [path for path in added if PurePosixPath(path).name.partition(".")[0] not in words]
    return await replaced_product(workspace, contract, commit, unknown, remarks=False) if unknown else []


def _form(path: str) -> str:
    """The part of a script's name by which runners find the script as a test: `.test.ts`, `-test.js`, `test-*.js`. The
    script's path if there is no such part."""
    pure = PurePosixPath(path)
    end, start = _TEST_ENDING.search(pure.name), _TEST_BEGINNING.match(pure.name)
    return end[0] if end else f"{start[0]}*{pure.suffix}" if start else path


def _without_remarks(path: str, text: str) -> str:
    return without_comments(text) if is_script(path) else without_remarks(text) if path.endswith(CODE) else text


def _folder_of_tests(path: str) -> str:
    """Of the folders above a file that are named like folders of tests, the outermost."""
    file = PurePosixPath(path)
    folders = [str(folder) for folder in reversed(file.parents) if is_among_tests(f"{folder}/{file.name}")]
    return folders[0]


def _files_of_tests(contract: Contract, base_files: Collection[str]) -> set[str]:
    """The base's test files that checks name, or whose tests checks count. For these files, only an import counts as a
    use by the product, because code that merely names a test file starts it as a test."""
    facts = [fact for fact in contract.base_facts if fact.kind == "tests"]
    counted = {test.id.split("::")[0] for fact in facts for test in fact.tried}
    checks = [check for requirement in contract.every for check in requirement.checks]
    named = [path for check in checks if isinstance(check, TestsCheck | CommandCheck) for path in check.files]
    return {path for path in base_files if path in counted or any(is_below(path, place) for place in named)}


async def _has_replaced_product_settings(workspace: Workspace, contract: Contract, commit: str, path: str) -> bool:
    """Whether existing tests run without some setting of the head's package.json that belongs to the product. Settings
    of test runners, and scripts that the commands of the contract's suites start, do not belong to the product."""
    before, after = await workspace.read(contract.base, path), await workspace.read(commit, path)
    return after is not None and manifest_of_head(before, after, commands_of_suites(contract)) != merge_manifests(
        before, after
    )


def _is_tool(path: str) -> bool:
    """Whether the file is a build file or settings of a tool, which may name tests without being the product."""
    name = PurePosixPath(path).name
    return is_configuration(path) or name in _BUILD_FILES or bool(_SETTINGS.fullmatch(name))


def _is_tried(path: str, test_texts: Iterable[str]) -> bool:
    """Whether a test of the base is about this build file or these settings of a build: the test names the file, or the
    tool that reads it. False for files among tests, because they are helpers."""
    pure = PurePosixPath(path)
    if is_test(path) or is_configuration(path) or not FOLDERS.isdisjoint(pure.parts[:-1]):
        return False
    tools = "|".join(map(re.escape, tool_of_settings(pure.name)))
    words = rf"(?<![\w.-]){re.escape(pure.name)}(?![\w-])" + (rf"|(?<![\w@/.-])(?:{tools})(?![\w/.-])" if tools else "")
    return any(re.search(words, text) or (is_script(path) and f"/{pure.stem}" in text) for text in test_texts)


class _Finder:
    """Finds the files that code uses."""

    def __init__(self, all_files: Collection[str], tests: Collection[str], aliases: ScriptAliases) -> None:
        self._all_files, self._tests, self._aliases = dict.fromkeys(all_files, ""), tests, aliases

    def files_used_by(
        self, product: Iterable[tuple[str, str]], paths: Iterable[str], texts: Sequence[Mapping[str, str]]
    ) -> list[str]:
        """Of these paths, the files that the product uses, directly or through another of these files."""
        used_files, candidates, users = list[str](), [*paths], [*product]
        while candidates and users:
            newly_used = [
                target for target in candidates if any(self._uses(path, text, target) for path, text in users)
            ]
            users = [(user, version.get(user, "")) for user in newly_used if user.endswith(CODE) for version in texts]
            candidates = [target for target in candidates if target not in newly_used]
            used_files += newly_used
        return used_files

    def _uses(self, path: str, text: str, target: str) -> bool:
        """Whether the file `path`, which has this text, uses the file `target`."""
        pure = PurePosixPath(target)
        name = pure.parent.name if pure.stem in ("__init__", "index") else pure.name.partition(".")[0]
        if target.endswith(CODE) and name not in text and not _loads_computed_names(text):
            return False  # true for most texts, which are then not searched further
        if target in self._tests:
            return self._loads(path, text, target) if is_script(target) else may_import(path, text, target)
        if is_package_json(path):
            return target in named_as_product(text, self._all_files)
        if target in text and not is_settings(path):
            return True
        if not path.endswith(CODE):
            return target.endswith(".py") and uses_file(path, text, target, self._all_files)
        if target.endswith(".py"):
            imports = path.endswith(".py") and uses_file(path, text, target, self._all_files)
            return imports or (_loads_computed_names(text) and _leads_to(path, text, target))
        if is_script(target):
            return self._loads(path, text, target) or (_loads_computed_names(text) and _leads_to(path, text, target))
        return _leads_to(path, text, target)

    def _loads(self, path: str, text: str, target: str) -> bool:
        if not is_script(path):
            return False
        folder = posixpath.dirname(path)
        paths = [posixpath.normpath(posixpath.join(folder, reference)) for reference in relative_paths(text)]
        places = [*paths, *self._aliases.loaded_by(path, text)]
        return target in loaded_by(path, text, self._all_files) or any(
            fitting_files(place, [target]) for place in places
        )


@lru_cache(4 * MOST_READ)
def _loads_computed_names(text: str) -> bool:
    """Whether code loads modules whose names it computes."""
    return bool(_LOADS_COMPUTED_NAME.search(text))


def _leads_to(path: str, text: str, target: str) -> bool:
    """Whether code may read or load the file `target`: the code's text names each folder on the way to the file, or
    looks for files with the same ending in all folders below its own."""
    folder, ending = posixpath.dirname(path), PurePosixPath(target).suffix
    above = posixpath.commonpath([folder or ".", posixpath.dirname(target) or "."]) if folder else ""
    inner = posixpath.relpath(target, above or ".").split("/")[:-1]
    if above == folder and folder and LISTS_FOLDERS.search(text) and (ending in text or _LISTS_MODULES.search(text)):
        return True
    if inner:
        return all(part in text and re.search(rf"""["'`/.\\]{re.escape(part)}["'`/.\\]""", text) for part in inner)
    return PurePosixPath(target).name in text or (bool(ending) and ending in text)
