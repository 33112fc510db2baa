"""Finds out whether one file of a project uses another, as far as its text shows. Does no I/O."""

import posixpath
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import PurePosixPath

from trued.proof.reach.file_readers import may_read
from trued.proof.room.frozen_files import is_test
from trued.proof.room.runner_modules import loaded_by
from trued.proof.text.languages import CODE, is_script
from trued.proof.text.module_places import possible_places
from trued.proof.text.script_aliases import ScriptAliases, fitting_files
from trued.support.lazy_regex import lazy_regex

_IMPORT_STATEMENT = lazy_regex(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#(]*)|import[ \t]+([\w., \t]+))", re.MULTILINE
)
NO_ALIASES = ScriptAliases({})
_NODE_PACKAGE = lazy_regex(r".*?\bnode_modules/((?:@[^/]+/)?[^/]+)/")


def uses_file(
    path: str, text: str, target: str, all_files: Mapping[str, str], aliases: ScriptAliases = NO_ALIASES
) -> bool:
    """Whether the file `path`, which has this text, uses the file `target`, as far as the text shows. `aliases`: the
    short names by which scripts import files."""
    folder, _, name = target.rpartition("/")
    folder_name = PurePosixPath(folder).name
    if package := _NODE_PACKAGE.match(target):
        is_outside = path.endswith(CODE) and package[0] not in f"{path}/"  # not a manifest, which names every package
        return is_outside and bool(re.search(rf"""["']{re.escape(package[1])}["'/]""", text))
    if not target.endswith(CODE):
        return may_read(path, text, target, all_files)
    if target.endswith(".go"):
        is_outside = path.endswith(".go") and posixpath.dirname(path) != folder
        import_path = folder.rpartition("vendor/")[2]
        return bool(folder) and is_outside and bool(re.search(rf'["/]{re.escape(import_path)}"', text))
    if not path.endswith(CODE):
        return name in text or _is_named(target, text)  # `path` is a page, a template or a manifest
    if target.endswith(".py"):
        if not path.endswith(".py"):
            return _is_named(target, text)
        imported_names = _imported_names(text)
        places, import_name = possible_places(path, imported_names), name_below_root(target, all_files)
        # `import_name` is what any code imports the file by, if the file's root is on the import path. In code of the
        # product, a name without a package does not count, because it may belong to another module.
        counts_by_name = is_test(path) or "/" in import_name
        # An `__init__.py` runs whenever anything of its package is imported. Files of the same package do not count as
        # its users.
        if name == "__init__.py":
            imports_package = any(f"{place}/".startswith(f"{folder}/") for place in places)
            imports_package |= counts_by_name and any(
                f"{imported}/".startswith(f"{import_name}/") for imported in imported_names
            )
            return not path.startswith(f"{folder}/") and (imports_package or _is_named(target, text))
        if counts_by_name and import_name in imported_names:
            return True
        imports_folder = folder in places and "/" in folder.removeprefix("src/")  # a package may load all that is in it
        return target.removesuffix(".py") in places or (imports_folder and not is_test(path)) or _is_named(target, text)
    # Code that loads a whole folder names only the folder.
    if folder_name and not is_test(path) and re.search(rf"""["'/]{re.escape(folder_name)}/?["']""", text):
        return True
    if is_script(target):
        loads = is_script(path) and (
            target in loaded_by(path, text, all_files)
            or any(fitting_files(place, [target]) for place in aliases.loaded_by(path, text))
        )
        return loads or _is_named(target, text)
    return name in text


def module_path(path: str) -> str:
    """The path of a file as a module: without `src` and suffix, and without `__init__` for a package."""
    bare = path.removeprefix("src/")
    return bare.removesuffix("/__init__.py") if bare.endswith("/__init__.py") else bare.rpartition(".")[0] or bare


def name_below_root(path: str, all_files: Collection[str]) -> str:
    """The name by which a module is imported if its root is on the import path, with slashes instead of dots. The root
    is the nearest folder above the module that is no package. For `lib/kit/core.py`, if only `kit` has an
    `__init__.py`: `kit/core`."""
    file = PurePosixPath(path)
    root = next(
        folder
        for folder in file.parents
        if f"{folder}/__init__.py".removeprefix("./") not in all_files or str(folder) == "."
    )
    name = file.relative_to(root).with_suffix("")
    return str(name.parent if name.name == "__init__" and name.parent.name else name)


def _is_named(path: str, text: str) -> bool:
    """Whether a text names the file, by its path or as a module."""
    bare = module_path(path)
    # a quick first test: most texts have none of these names
    names = [name for name in (path, bare, bare.replace("/", ".")) if name in text]
    return any(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) for name in names)


@lru_cache(4_000)  # every text is searched again for each changed file
def _imported_names(text: str) -> frozenset[str]:
    """The modules that a Python text may import, with slashes instead of dots. Found by a regular expression, because
    parsing whole files would take seconds in a large project."""
    names = set[str]()
    for package, taken, modules in _IMPORT_STATEMENT.findall(text):
        names |= {module.split()[0] for module in modules.split(",") if module.split()}
        names_taken = [name.split()[0] for name in taken.strip("()").replace("\n", " ").split(",") if name.split()]
        names |= {package.lstrip("."), *(f"{package.lstrip('.')}.{name}".lstrip(".") for name in names_taken)} - {""}
    return frozenset(name.replace(".", "/") for name in names)
