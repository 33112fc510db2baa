"""Finds changed files that on the base only tests use, directly or through other such files: helpers and expected
results outside the folders of tests.

A change that empties such a file blinds the tests that use it. The file may also be a part of the product that nothing
else in the project uses, so the base's version does not simply replace it. Instead, the existing tests are run once
more with the base's version of the file: they must pass with either version (`CommitTrial.tests_failing_with`).
"""

import ast
import posixpath
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import PurePosixPath

from trued.model import CallCase, CommandCheck, Contract, ExamplesCheck, RunCase, TestsCheck
from trued.proof.hashes import check_hash
from trued.proof.reach.altered_python import MODULE, added_names, altered_names, defined_names, imported_modules
from trued.proof.reach.file_readers import NAMING, may_read
from trued.proof.room.frozen_files import is_configuration, is_test
from trued.proof.room.runner_modules import loaded_by
from trued.proof.text.commit_texts import MOST_FILES, as_text
from trued.proof.text.languages import CODE, is_script
from trued.proof.text.script_aliases import ScriptAliases, fitting_files, is_settings, without_aliases
from trued.protocols import Workspace

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#(]*)|import[ \t]+([\w., \t]+))", re.MULTILINE
)
_TAKES_ALL = re.compile(
    r"\bimport[ \t]*\(?[ \t]*\*|\b(?:pytest_plugins|load_tests|getmembers|vars|dir|__dict__|register)\b"
)
# A name that is surely code: `name(`, or a name in backticks, perhaps of a method: `Class.name`.
_NAMED_CODE = re.compile(r"(?<![\w.])(\w{2,})\(|`([\w.]{2,})(?:\([^`]*\))?`")
NO_ALIASES = ScriptAliases({})
_COMPILED = (".so", ".pyd", ".pyc")
_PACKAGE = re.compile(r".*?\bnode_modules/((?:@[^/]+/)?[^/]+)/")


@dataclass(frozen=True, slots=True)
class Undoing:
    """How to undo the change of a file that on the base only tests use."""

    files: Mapping[str, str]  # path → blob on the base, or "" for a file to remove
    # path → text: the base's version with the head's new definitions. Other code of the head may need these. Empty if
    # the new definitions might affect tests that use the file.
    grown: Mapping[str, str]


async def altered_helpers(
    workspace: Workspace, contract: Contract, commit: str, changed: Iterable[str]
) -> dict[str, Undoing]:
    """The changed files that only tests use on the base, and that no requirement names. Files with only harmless
    additions are left out. Each file comes with what undoes its change. New files that only tests of the base ask for
    are undone together, under the name of the first."""
    known, here = await workspace.blobs(contract.base), await workspace.blobs(commit)
    asked = _code_that_the_user_names(contract)
    meant = {one: path for path in changed if (one := _meant(path, known)) and _may_help(one)}
    suspects = [path for path in meant if not _is_asked_for(path, asked, known)]
    added = [path for path in here if path not in known and _may_help(path) and not _is_asked_for(path, asked, known)]
    code = [path for path in known if path.endswith(CODE)]
    if not (suspects or added) or not contract.suites or len(code) > MOST_FILES:
        return {}
    naming = [path for path in known if path.endswith(NAMING) or "." not in PurePosixPath(path).name][:MOST_FILES]
    texts = {path: as_text(one) for path, one in (await workspace.read_all(contract.base, [*code, *naming])).items()}
    tests = {path for path in code if is_test(path) or is_configuration(path)}
    others = [path for path in texts if path not in tests and not is_test(path)]
    aliases = ScriptAliases(texts)
    # Settings that define a short name for a file do not use the file.
    texts |= {path: without_aliases(path, text) for path, text in texts.items() if is_settings(path)}

    def uses(one: str, path: str) -> bool:
        return uses_file(one, texts.get(one, ""), path, known, aliases)

    @cache
    def users_of(path: str) -> tuple[str, ...]:
        return tuple(one for one in texts if one != path and uses(one, path))

    def only_tests_use(path: str) -> bool:
        """Whether tests use the file, directly or through other files that only tests use. What no file uses is the
        product."""
        found, waiting = {path}, [path]
        while waiting:
            one = waiting.pop()
            if not users_of(one) or (one != path and _is_asked_for(one, asked, known)):
                return False
            more = [each for each in users_of(one) if each in product and each not in found]
            found.update(more)
            waiting += more
        return any(each not in product for one in found for each in users_of(one))

    product = {one: texts[one] for one in others}
    left = [path for path in suspects if only_tests_use(path)]
    here_code = [path for path in here if path.endswith(".py") and not is_test(path) and here[path] != known.get(path)]
    fresh = {path: as_text(one) for path, one in (await workspace.read_all(commit, here_code if left else [])).items()}
    left = [
        path
        for path in left
        if not _defines_what_is_asked_for(
            path,
            asked,
            product,
            fresh,
            [texts[one] for one in users_of(path)],
        )
    ]
    new = [path for path in here if path.endswith(".py") and here[path] != known.get(path)] if left else []
    after = {path: as_text(one) for path, one in (await workspace.read_all(commit, [*new, *left])).items()}
    users = {path: {one: texts[one] for one in users_of(path)} for path in left}
    # Some tests are put back to the base's text, the others run with the head's. In neither case may a helper load
    # more.
    put_back = {path: text for path, text in texts.items() if path in tests}

    def has_only_grown(path: str, texts_after: Mapping[str, str]) -> bool:
        # The other helpers are undone: if two helpers load the same file, neither hides the other's load.
        others_undone = {one: texts.get(one, "") for one in left if one != path}
        return (
            _has_only_grown(path, texts, texts_after, "\n".join(users[path].values()))
            and not _loads_more(path, users[path], texts, {**texts_after, **others_undone}, here)
            and not _loads_more(path, users[path], texts, {**texts_after, **others_undone, **put_back}, here)
        )

    altered: dict[str, Undoing] = {}
    awaited = [path for path in added if any(_mentions(one, texts[one], path, known) for one in tests)]
    if awaited:
        changed_here = [one for one in here if here[one] != known.get(one) and not is_test(one) and one not in awaited]
        now = {one: as_text(text) for one, text in (await workspace.read_all(commit, changed_here)).items()}
        others_now = [*product.items(), *now.items()]
        awaited = [
            one for one in awaited if not any(uses_file(at, text, one, here, aliases) for at, text in others_now)
        ]
        altered |= {one: Undoing(dict.fromkeys(awaited, ""), {}) for one in awaited[:1]}
    for path in left:
        if meant[path] == path and has_only_grown(path, after):
            continue
        files = {path: known[path], **_files_in_place_of(path, meant[path], here)}
        grown = with_new_definitions(texts.get(path, ""), after.get(path, "")) if meant[path] == path else ""
        helps = bool(grown) and has_only_grown(path, {**after, path: grown})
        altered[path] = Undoing(files, {path: grown} if helps else {})
    return altered


def _mentions(path: str, text: str, new: str, known: Mapping[str, str]) -> bool:
    """Whether a test of the base, which has this text, asks for a file that only the commit has: it may skip something
    if the file is there."""
    name = PurePosixPath(new).name
    if new.endswith(CODE):
        return uses_file(path, text, new, known)
    return name in text and bool(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text))


def with_new_definitions(before: str, after: str) -> str:
    """The Python text `before`, followed by the statements of `after` that only define new names; "" if none do."""
    added = added_names(before, after)
    try:
        known = {ast.dump(one) for one in ast.parse(before).body} if added else set[str]()
        fresh = [one for one in ast.parse(after).body if ast.dump(one) not in known] if added else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    texts = [ast.unparse(one) for one in fresh if not (isinstance(one, ast.ImportFrom) and one.module == "__future__")]
    new = [one for one in texts if (names := added_names("", one)) and names <= added]
    return "\n\n".join((before, *new, "")) if new else ""


def _has_only_grown(path: str, before: Mapping[str, str], after: Mapping[str, str], tests: str) -> bool:
    """Whether a Python file has kept everything from the base, and its additions affect no test that uses it.

    For that, the text of these tests (`tests`) must contain none of the added names, import no `*` and load no plugins.
    Also, no class of the base may have a new member, because a test runner might call it.
    """
    if not path.endswith(".py") or path not in after or _TAKES_ALL.search(tests):
        return False
    was, now = before.get(path, ""), after[path]
    words = frozenset(re.findall(r"\w+", was))  # all count as exported, so that a removed import counts as altered, too
    new = added_names(was, now)
    # new members of classes that the base has
    members = {one for one in new if "." in one and one.partition(".")[0] in words}
    return not altered_names(was, now, words) and not members and new.isdisjoint(re.findall(r"\w+", tests))


def _loads_more(
    path: str, tests: Iterable[str], before: Mapping[str, str], after: Mapping[str, str], here: Collection[str]
) -> bool:
    """Whether the helper at `path` now makes these tests load another file that may do something while it is loaded,
    such as replace a function of the product."""
    now = {**before, **after}
    more = _loaded_from(tests, now, here) - _loaded_from(tests, {**now, path: before.get(path, "")}, here)
    return any(
        not one.endswith(".py") or MODULE in altered_names(before.get(one, ""), now.get(one, "")) for one in more
    )


def _loaded_from(files: Iterable[str], texts: Mapping[str, str], here: Collection[str]) -> set[str]:
    """The project's modules that these Python files import, at any depth."""
    binary: dict[str, list[str]] = {}  # module → compiled modules of that name
    for one in here:
        if one.endswith(_COMPILED):
            file = PurePosixPath(one)
            binary.setdefault(str(file.with_name(file.name.partition(".")[0])), []).append(one)
    at_root: dict[str, list[str]] = {}  # name that an absolute import has → modules of that name, one for each root
    for one in here:
        if one.endswith(".py"):
            at_root.setdefault(_name_below_root(one, here), []).append(one)
    found, waiting = set[str](), [*files]
    while waiting:
        path = waiting.pop()
        modules = imported_modules(texts.get(path, ""))
        for place in {*_places(path, modules), *(one.replace(".", "/") for one in modules)}:
            packages = [place, *map(str, PurePosixPath(place).parents)]
            names = [f"{place}.py", *(f"{one}/__init__.py" for one in packages), *binary.get(place, [])]
            names += [one for package in packages for one in at_root.get(package, ())]
            more = [one for one in names if one in here and one not in found]
            found.update(more)
            waiting += [one for one in more if one.endswith(".py")]
    return found


def _code_that_the_user_names(contract: Contract) -> str:
    """The user's own words and checks, as far as they can name code. Text that an agent wrote is left out, because an
    agent must not decide which files are the product."""
    words = [one.text for one in contract.requirements if not one.author]
    checks = [one for each in contract.requirements for one in each.checks if check_hash(one) not in contract.authors]
    if contract.serve and not contract.authors:  # else an agent may have written the server's command
        words.append(" ".join(contract.serve.command))
    for check in checks:
        if isinstance(check, ExamplesCheck):
            words += [one.call for one in check.cases if isinstance(one, CallCase)]
            words += [" ".join(one.run) for one in check.cases if isinstance(one, RunCase)]
        elif isinstance(check, CommandCheck | TestsCheck):
            words.append(f"{check.command}")
    return "\n".join(words)


def _files_in_place_of(path: str, changed: str, here: Iterable[str]) -> dict[str, str]:
    """Path → "" for each file of a new package that Python finds instead of the module `path`. These files have to be
    removed, so that Python finds the module again. Empty if there is no such package."""
    if changed == path:
        return {}
    return dict.fromkeys((one for one in here if one.startswith(changed.removesuffix("__init__.py"))), "")


def _meant(path: str, known: Mapping[str, str]) -> str:
    """The file of the base that a changed file alters: the file itself; or, for a new package, the module of the same
    name that Python would no longer find. "" if there is none."""
    module = f"{path.removesuffix('/__init__.py')}.py"
    return path if path in known else module if path.endswith("/__init__.py") and module in known else ""


def _may_help(path: str) -> bool:
    return not is_test(path) and not is_configuration(path)


def _is_asked_for(path: str, text: str, known: Collection[str]) -> bool:
    """Whether this text of the user names the file: by its path, after `-m`, or as a module, with dots or slashes. The
    name of a top-level module counts only with a function or submodule after it, because alone it may be an ordinary
    word: `support`, `checks`."""
    forms = [re.escape(path)]
    for module in {_module(path), _name_below_root(path, known)}:
        code = re.escape(module.replace("/", "."))
        forms += [rf"-m {code}", rf"{code}[.:]\w+", *([re.escape(module), code] if "/" in module else [])]
    return any(re.search(rf"(?<![\w.-])(?:{one})(?![\w-])", text) for one in forms)


def _defines_what_is_asked_for(
    path: str, text: str, product: Mapping[str, str], changed: Mapping[str, str], tests: Iterable[str]
) -> bool:
    """Whether this text of the user names, as `name(…)` or in backticks, all that these tests may use from this Python
    file of the base. False if another file of the product defines such a name, too: the user may mean that file.
    `product`: path → text on the base; `changed`: path → text on the commit."""
    if not path.endswith(".py"):
        return False
    asked = {one for both in _NAMED_CODE.findall(text) for part in both for one in part.split(".") if one}
    words = {one for each in tests for one in re.findall(r"\w+", each)}
    used = (defined_names(product.get(path, "")) & words) - {"__init__"}
    elsewhere = [content for one, content in (*product.items(), *changed.items()) if one != path]
    return bool(used) and used <= asked and not any(used & defined_names(one) for one in elsewhere)


def _module(path: str) -> str:
    """The path of a file as a module: without `src` and suffix, and without `__init__` for a package."""
    bare = path.removeprefix("src/")
    return bare.removesuffix("/__init__.py") if bare.endswith("/__init__.py") else bare.rpartition(".")[0] or bare


def _is_named(path: str, text: str) -> bool:
    """Whether a text names the file, by its path or as a module."""
    bare = _module(path)
    names = [one for one in (path, bare, bare.replace("/", ".")) if one in text]  # quick: most texts have none of them
    return any(re.search(rf"(?<![\w.-]){re.escape(one)}(?![\w-])", text) for one in names)


def uses_file(path: str, text: str, one: str, known: Mapping[str, str], aliases: ScriptAliases = NO_ALIASES) -> bool:
    """Whether the file `path`, which has this text, uses the file `one`, as far as the text shows. `aliases`: the short
    names by which scripts import files."""
    folder, _, name = one.rpartition("/")
    above = PurePosixPath(folder).name
    if package := _PACKAGE.match(one):
        outside = path.endswith(CODE) and package[0] not in f"{path}/"  # not a manifest, which names every package
        return outside and bool(re.search(rf"""["']{re.escape(package[1])}["'/]""", text))
    if not one.endswith(CODE):
        return may_read(path, text, one, known)
    if one.endswith(".go"):
        outside = path.endswith(".go") and posixpath.dirname(path) != folder
        imported = folder.rpartition("vendor/")[2]
        return bool(folder) and outside and bool(re.search(rf'["/]{re.escape(imported)}"', text))
    if not path.endswith(CODE):
        return name in text or _is_named(one, text)  # `path` is a page, a template or a manifest
    if one.endswith(".py"):
        if not path.endswith(".py"):
            return _is_named(one, text)
        names = _imported_names(text)
        places, own = _places(path, names), _name_below_root(one, known)
        # `own`: the name by which any code imports the file, if the file's root is on the import path. In code of the
        # product, a name without a package does not count, because it may belong to another module.
        by_name = is_test(path) or "/" in own
        # An `__init__.py` runs whenever anything of its package is imported. Files of that package are not its users.
        if name == "__init__.py":
            inside = any(f"{place}/".startswith(f"{folder}/") for place in places)
            inside |= by_name and any(f"{each}/".startswith(f"{own}/") for each in names)
            return not path.startswith(f"{folder}/") and (inside or _is_named(one, text))
        if by_name and own in names:
            return True
        whole = folder in places and "/" in folder.removeprefix("src/")  # a package may load all that is in it
        return one.removesuffix(".py") in places or (whole and not is_test(path)) or _is_named(one, text)
    # Code that loads a whole folder names only the folder.
    if above and not is_test(path) and re.search(rf"""["'/]{re.escape(above)}/?["']""", text):
        return True
    if is_script(one):
        loads = is_script(path) and (
            one in loaded_by(path, text, known)
            or any(fitting_files(place, [one]) for place in aliases.loaded_by(path, text))
        )
        return loads or _is_named(one, text)
    return name in text


@lru_cache(4_000)  # every text is asked about again for each changed file
def _imported_names(text: str) -> frozenset[str]:
    """The modules that a Python text may import, with slashes instead of dots. Found by a regular expression, because
    parsing whole files would take seconds in a large project."""
    names = set[str]()
    for package, taken, modules in _IMPORT.findall(text):
        names |= {one.split()[0] for one in modules.split(",") if one.split()}
        parts = [one.split()[0] for one in taken.strip("()").replace("\n", " ").split(",") if one.split()]
        names |= {package.lstrip("."), *(f"{package.lstrip('.')}.{one}".lstrip(".") for one in parts)} - {""}
    return frozenset(one.replace(".", "/") for one in names)


def _name_below_root(path: str, known: Collection[str]) -> str:
    """The name by which a module is imported if its root is on the import path, with slashes instead of dots. The root
    is the nearest folder above the module that is no package. For `lib/kit/core.py`, if only `kit` has an
    `__init__.py`: `kit/core`."""
    file = PurePosixPath(path)
    root = next(one for one in file.parents if f"{one}/__init__.py".removeprefix("./") not in known or str(one) == ".")
    name = file.relative_to(root).with_suffix("")
    return str(name.parent if name.name == "__init__" and name.parent.name else name)


def _places(path: str, modules: Iterable[str]) -> frozenset[str]:
    """The paths, without their suffix, at which the file at `path` may find these modules."""
    names, folders = [one.replace(".", "/") for one in modules], ["src", *map(str, PurePosixPath(path).parents)]
    return frozenset(posixpath.normpath(f"{folder}/{name}") for folder in folders for name in names)
