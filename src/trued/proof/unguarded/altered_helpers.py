"""Finds changed files that only tests use on the base, directly or through other such files: helpers and expected
results outside the folders of tests.

A change that empties such a file blinds the tests that use the file. But the file may also be a part of the product
that nothing else in the project uses, so rooms do not simply use the base's version. Instead, the existing tests are
run once more with the base's version of the file: they must pass with either version
(`CommitTrial.tests_failing_with`).
"""

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from trued.model import CallCase, CommandCheck, Contract, ExamplesCheck, RunCase, TestsCheck
from trued.proof.hashes import check_hash
from trued.proof.reach.altered_python import MODULE, added_names, altered_names, defined_names
from trued.proof.reach.file_readers import PAGES_AND_SETTINGS
from trued.proof.reach.file_users import module_path, name_below_root, uses_file
from trued.proof.room.frozen_files import is_configuration, is_test
from trued.proof.text.commit_texts import MOST_FILES, texts_at
from trued.proof.text.languages import CODE
from trued.proof.text.module_places import possible_places
from trued.proof.text.python_imports import UNREADABLE, imported_modules
from trued.proof.text.script_aliases import ScriptAliases, is_settings, without_aliases
from trued.protocols import Workspace
from trued.support.lazy_regex import lazy_regex

_TAKES_ALL = lazy_regex(
    r"\bimport[ \t]*\(?[ \t]*\*|\b(?:pytest_plugins|load_tests|getmembers|vars|dir|__dict__|register)\b"
)
# A name that is surely code: `name(`, or a name in backticks, which may be that of a method: `Class.name`.
_NAMED_CODE = lazy_regex(r"(?<![\w.])(\w{2,})\(|`([\w.]{2,})(?:\([^`]*\))?`")
_COMPILED = (".so", ".pyd", ".pyc")


@dataclass(frozen=True, slots=True)
class Undoing:
    """How to undo the change of a file that only tests use on the base."""

    files: Mapping[str, str]  # path → blob on the base, or "" for a file to remove
    # path → text: the base's version with the head's new definitions, which other code of the head may need. Empty if
    # the new definitions might affect tests that use the file.
    grown: Mapping[str, str]


async def altered_helpers(
    workspace: Workspace, contract: Contract, commit: str, changed: Iterable[str]
) -> dict[str, Undoing]:
    """Changed file → how to undo its change, for files that only tests use on the base and that no requirement names.

    Files with only harmless additions are left out. New files that only tests of the base mention are undone together:
    all of them are listed under the name of one.
    """
    base_blobs, head_blobs = await workspace.blobs(contract.base), await workspace.blobs(commit)
    user_words = _code_that_the_user_names(contract)
    # file of the base → the changed path that alters it
    changes = {file: path for path in changed if (file := _altered_file(path, base_blobs)) and _may_help(file)}
    suspects = [path for path in changes if not _is_asked_for(path, user_words, base_blobs)]
    added = [
        path
        for path in head_blobs
        if path not in base_blobs and _may_help(path) and not _is_asked_for(path, user_words, base_blobs)
    ]
    code = [path for path in base_blobs if path.endswith(CODE)]
    if not (suspects or added) or not contract.suites or len(code) > MOST_FILES:
        return {}
    others = [path for path in base_blobs if path.endswith(PAGES_AND_SETTINGS) or "." not in PurePosixPath(path).name]
    texts = await texts_at(workspace, contract.base, [*code, *others[:MOST_FILES]])
    tests = {path for path in code if is_test(path) or is_configuration(path)}
    aliases = ScriptAliases(texts)
    # Settings that define a short name for a file do not use the file.
    texts |= {path: without_aliases(path, text) for path, text in texts.items() if is_settings(path)}
    product = {path: text for path, text in texts.items() if path not in tests and not is_test(path)}

    def uses(user: str, path: str) -> bool:
        return uses_file(user, texts.get(user, ""), path, base_blobs, aliases)

    @cache
    def users_of(path: str) -> tuple[str, ...]:
        return tuple(user for user in texts if user != path and uses(user, path))

    def only_tests_use(path: str) -> bool:
        """Whether only tests use the file, directly or through other files. False if no file uses the file or one of
        those other files, or if the user names one of the other files, because then that file counts as the product."""
        chain, waiting = {path}, [path]  # the file, and the files of the product through which it is used
        while waiting:
            file = waiting.pop()
            if not users_of(file) or (file != path and _is_asked_for(file, user_words, base_blobs)):
                return False
            product_users = [user for user in users_of(file) if user in product and user not in chain]
            chain.update(product_users)
            waiting += product_users
        return any(user not in product for file in chain for user in users_of(file))

    helpers = [path for path in suspects if only_tests_use(path)]
    changed_python = [path for path in head_blobs if path.endswith(".py") and head_blobs[path] != base_blobs.get(path)]
    changed_product = [path for path in changed_python if not is_test(path)] if helpers else []
    product_after = await texts_at(workspace, commit, changed_product)
    helpers = [
        path
        for path in helpers
        if not _defines_what_is_asked_for(
            path, user_words, product, product_after, [texts[user] for user in users_of(path)]
        )
    ]
    after = await texts_at(workspace, commit, [*(changed_python if helpers else []), *helpers])
    users = {path: {user: texts[user] for user in users_of(path)} for path in helpers}
    # Some tests run with the base's text, others with the head's. A helper may not make either of them load more.
    put_back = {path: text for path, text in texts.items() if path in tests}

    def has_only_harmless_additions(path: str, texts_after: Mapping[str, str]) -> bool:
        # The other helpers are undone: if two helpers load the same file, neither hides the other's load.
        others_undone = {helper: texts.get(helper, "") for helper in helpers if helper != path}
        return (
            _has_only_harmless_additions(path, texts, texts_after, "\n".join(users[path].values()))
            and not _loads_more(path, users[path], texts, {**texts_after, **others_undone}, head_blobs)
            and not _loads_more(path, users[path], texts, {**texts_after, **others_undone, **put_back}, head_blobs)
        )

    altered: dict[str, Undoing] = {}
    awaited = [path for path in added if any(_mentions(test, texts[test], path, base_blobs) for test in tests)]
    if awaited:
        changed_files = [
            path
            for path in head_blobs
            if head_blobs[path] != base_blobs.get(path) and not is_test(path) and path not in awaited
        ]
        changed_texts = await texts_at(workspace, commit, changed_files)
        possible_users = [*product.items(), *changed_texts.items()]
        awaited = [
            path
            for path in awaited
            if not any(uses_file(user, text, path, head_blobs, aliases) for user, text in possible_users)
        ]
        altered |= {path: Undoing(dict.fromkeys(awaited, ""), {}) for path in awaited[:1]}
    for path in helpers:
        is_changed_itself = changes[path] == path  # else a new package takes its place
        if is_changed_itself and has_only_harmless_additions(path, after):
            continue
        files = {path: base_blobs[path], **_files_in_place_of(path, changes[path], head_blobs)}
        grown = with_new_definitions(texts.get(path, ""), after.get(path, "")) if is_changed_itself else ""
        is_harmless = bool(grown) and has_only_harmless_additions(path, {**after, path: grown})
        altered[path] = Undoing(files, {path: grown} if is_harmless else {})
    return altered


def _mentions(path: str, text: str, added: str, base_files: Mapping[str, str]) -> bool:
    """Whether the test at `path`, with this text on the base, names the file `added`, which only the commit has. Such a
    test may skip something if the file is there."""
    name = PurePosixPath(added).name
    if added.endswith(CODE):
        return uses_file(path, text, added, base_files)
    return name in text and bool(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text))


def with_new_definitions(before: str, after: str) -> str:
    """The Python text `before`, followed by the statements of `after` that only define new names; "" if none do."""
    added = added_names(before, after)
    try:
        old_statements = {ast.dump(statement) for statement in ast.parse(before).body} if added else set[str]()
        statements = ast.parse(after).body if added else []
        new_statements = [statement for statement in statements if ast.dump(statement) not in old_statements]
    except UNREADABLE:
        return ""
    texts = [
        ast.unparse(statement)
        for statement in new_statements
        if not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")
    ]
    additions = [text for text in texts if (names := added_names("", text)) and names <= added]
    return "\n\n".join((before, *additions, "")) if additions else ""


def _has_only_harmless_additions(path: str, before: Mapping[str, str], after: Mapping[str, str], tests: str) -> bool:
    """Whether a Python file has kept everything from the base, and its additions affect no test that uses it.

    For that, the text of these tests (`tests`) must contain none of the added names, import no `*` and load no plugins.
    Also, no class of the base may have a new member, because a test runner might call the member.
    """
    if not path.endswith(".py") or path not in after or _TAKES_ALL.search(tests):
        return False
    was, now = before.get(path, ""), after[path]
    words = frozenset(re.findall(r"\w+", was))  # all count as exported, so that a removed import counts as altered
    new_names = added_names(was, now)
    # new members of classes that the base has
    members = {name for name in new_names if "." in name and name.partition(".")[0] in words}
    return not altered_names(was, now, words) and not members and new_names.isdisjoint(re.findall(r"\w+", tests))


def _loads_more(
    path: str, tests: Iterable[str], before: Mapping[str, str], after: Mapping[str, str], head_files: Collection[str]
) -> bool:
    """Whether the head's version of the helper at `path` makes these tests load a further file that may do something
    while it is loaded, such as replace a function of the product."""
    texts = {**before, **after}
    texts_with_old_helper = {**texts, path: before.get(path, "")}
    newly_loaded = _loaded_from(tests, texts, head_files) - _loaded_from(tests, texts_with_old_helper, head_files)
    return any(
        not module.endswith(".py") or MODULE in altered_names(before.get(module, ""), texts.get(module, ""))
        for module in newly_loaded
    )


def _loaded_from(files: Iterable[str], texts: Mapping[str, str], head_files: Collection[str]) -> set[str]:
    """The project's modules that these Python files import, at any depth."""
    compiled: dict[str, list[str]] = {}  # module → compiled modules of that name
    for path in head_files:
        if path.endswith(_COMPILED):
            file = PurePosixPath(path)
            compiled.setdefault(str(file.with_name(file.name.partition(".")[0])), []).append(path)
    at_root: dict[str, list[str]] = {}  # name that an absolute import has → modules of that name, one for each root
    for path in head_files:
        if path.endswith(".py"):
            at_root.setdefault(name_below_root(path, head_files), []).append(path)
    loaded, waiting = set[str](), [*files]
    while waiting:
        path = waiting.pop()
        modules = imported_modules(texts.get(path, ""))
        for place in {*possible_places(path, modules), *(module.replace(".", "/") for module in modules)}:
            packages = [place, *map(str, PurePosixPath(place).parents)]
            names = [f"{place}.py", *(f"{package}/__init__.py" for package in packages), *compiled.get(place, [])]
            names += [module for package in packages for module in at_root.get(package, ())]
            newly_loaded = [name for name in names if name in head_files and name not in loaded]
            loaded.update(newly_loaded)
            waiting += [name for name in newly_loaded if name.endswith(".py")]
    return loaded


def _code_that_the_user_names(contract: Contract) -> str:
    """The texts in which the user can name code: requirements, the calls and commands of checks, and the server's
    command. Texts that an agent wrote are left out, because an agent must not decide which files are the product."""
    words = [requirement.text for requirement in contract.requirements if not requirement.author]
    checks = [
        check
        for requirement in contract.requirements
        for check in requirement.checks
        if check_hash(check) not in contract.authors
    ]
    if contract.serve and not contract.authors:  # else an agent may have written the server's command
        words.append(" ".join(contract.serve.command))
    for check in checks:
        if isinstance(check, ExamplesCheck):
            words += [case.call for case in check.cases if isinstance(case, CallCase)]
            words += [" ".join(case.run) for case in check.cases if isinstance(case, RunCase)]
        elif isinstance(check, CommandCheck | TestsCheck):
            words.append(f"{check.command}")
    return "\n".join(words)


def _files_in_place_of(path: str, changed: str, head_files: Iterable[str]) -> dict[str, str]:
    """Path → "" for each file of the new package `changed`, which Python finds instead of the module `path`. Without
    these files, Python finds the module again. Empty if `changed` is the module itself."""
    if changed == path:
        return {}
    return dict.fromkeys((file for file in head_files if file.startswith(changed.removesuffix("__init__.py"))), "")


def _altered_file(path: str, base_files: Mapping[str, str]) -> str:
    """The file of the base that a changed file alters. This is the file itself, or, for a new package, the module of
    the same name, which Python would no longer find. "" if there is none."""
    module = f"{path.removesuffix('/__init__.py')}.py"
    return path if path in base_files else module if path.endswith("/__init__.py") and module in base_files else ""


def _may_help(path: str) -> bool:
    return not is_test(path) and not is_configuration(path)


def _is_asked_for(path: str, text: str, base_files: Collection[str]) -> bool:
    """Whether this text of the user names the file: by its path, after `-m`, or as a module, with dots or slashes. The
    name of a top-level module counts only with a function or submodule after it, because alone it may be an ordinary
    word: `support`, `checks`."""
    forms = [re.escape(path)]
    for module in {module_path(path), name_below_root(path, base_files)}:
        code = re.escape(module.replace("/", "."))
        forms += [rf"-m {code}", rf"{code}[.:]\w+", *([re.escape(module), code] if "/" in module else [])]
    return any(re.search(rf"(?<![\w.-])(?:{form})(?![\w-])", text) for form in forms)


def _defines_what_is_asked_for(
    path: str, text: str, product: Mapping[str, str], changed: Mapping[str, str], tests: Iterable[str]
) -> bool:
    """Whether the user's text names everything that these tests may use from a Python file of the base: as `name(…)` or
    in backticks. False if another file of the product defines one of these names, too, because the user may mean the
    other file.

    `product`: path → text on the base. `changed`: path → text on the commit.
    """
    if not path.endswith(".py"):
        return False
    asked_for = {
        name for alternatives in _NAMED_CODE.findall(text) for code in alternatives for name in code.split(".") if name
    }
    words = {word for test in tests for word in re.findall(r"\w+", test)}
    used = (defined_names(product.get(path, "")) & words) - {"__init__"}
    elsewhere = [content for other, content in (*product.items(), *changed.items()) if other != path]
    return bool(used) and used <= asked_for and not any(used & defined_names(content) for content in elsewhere)
