"""Decides from which folders of a clean room Python imports, and which modules are the project's own."""

from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath

from trued.model import Contract
from trued.proof.room.bench import has_module
from trued.proof.room.frozen_files import is_below, is_test
from trued.proof.room.project_folders import project_folders, regular_modules, roots_by_project, top_level_modules
from trued.proof.text.commit_texts import decoded
from trued.protocols import Workspace


def paths_in_room(room: Path, folders: tuple[str, ...]) -> tuple[str, ...]:
    """The absolute paths of these folders of the room."""
    return tuple(str(room / folder) if folder != "." else str(room) for folder in folders)


async def projects_of_base(
    workspace: Workspace, contract: Contract, *, with_top: bool = False
) -> dict[str, frozenset[str]]:
    """Project folder of the base → the folders in which its programs find modules (see `roots_by_project`).

    If the base has only one project, its code is read only `with_top`, to find out whether it imports modules from the
    top or from `src`.
    """
    on_base = await workspace.blobs(contract.base)
    folders = project_folders(on_base).python if contract.project_roots else ()
    is_read = with_top or len(folders) > 1
    code = [path for path in on_base if path.endswith(".py") and not is_test(path)] if is_read and folders else []
    read = await workspace.read_all(contract.base, code)
    texts = {path: decoded(content) for path, content in read.items()}
    return roots_by_project(on_base, contract.project_roots, texts) if folders else {}


def usual_roots(room: Path, projects: Collection[str], on_base: Collection[str]) -> tuple[str, ...]:
    """The folders from which a project imports, if nobody names them: the top, `src`, and the import roots of the
    base's project folders (`projects`).

    A module that the commit adds to one of these folders may have the name of a module that the base has in another.
    Users get the base's module, so its folder comes before the folder of the new module. If Python would find the new
    module even then, because the base's package has no `__init__.py`, the folder of the new module is left out.
    """
    roots = [root for root in (".", "src", *projects) if (room / root).is_dir()]
    names = {root: _names_on_base(root, on_base) for root in roots}
    # Names that the base has in both folders are no copies. At the top and in `src`, only modules and packages with an
    # `__init__.py` count as such names: a folder without one is no module of the project, whatever a commit adds to it.
    there = {root: names[root] if root in projects else regular_modules(root, on_base) for root in roots}
    code = [path for path in on_base if path.endswith(".py")] if projects else []
    own_modules = {root: top_level_modules(root, code) for root in roots}
    first, left_out = set[str](), set[str]()
    for root, other in ((root, other) for root in roots for other in roots if root != other):
        copies = [name for name in names[root] - there[other] if _is_found(room, name, (root, other), on_base)]
        if {root, other}.isdisjoint(projects):
            first |= {"src"} if root == "src" and copies else set()
            continue
        are_code = [
            has_module(room / root, name)
            for name in copies
            if name in own_modules[root] and _has_code(room / root, name)
        ]
        first |= {root} if any(are_code) else set()
        left_out |= {other} if not all(are_code) else set()
    used = [root for root in roots if root not in left_out]
    return (*(root for root in used if root in first), *(root for root in used if root not in first))


def _is_found(room: Path, name: str, places: tuple[str, str], on_base: Collection[str]) -> bool:
    """Whether the second of these places has a module or package of this name that Python finds.

    If neither place has one, Python joins their folders of this name that have no `__init__.py`. Then new files in the
    second place's folder count, too.
    """
    root, other = places
    if has_module(room / other, name) or root == "." or has_module(room / root, name):
        return has_module(room / other, name)
    parts = (str(path.relative_to(room)) for path in (room / other / name).rglob("*.py"))
    return any(path not in on_base and not is_below(path, f"{root}/{name}") and not is_test(path) for path in parts)


def _has_code(root: Path, name: str) -> bool:
    return has_module(root, name) or (root / name).is_dir()


def _names_on_base(root: str, on_base: Collection[str]) -> frozenset[str]:
    """The names of the files and folders that the base has directly in this folder, without the suffix `.py`. In a
    folder below the top, only Python files and folders with Python files count."""
    if root == ".":
        return frozenset(path.split("/")[0].removesuffix(".py") for path in on_base)
    inner = (path.removeprefix(f"{root}/") for path in on_base if path.startswith(f"{root}/") and path.endswith(".py"))
    return frozenset(path.split("/")[0].removesuffix(".py") for path in inner)


def roots_for_commands(room: Path, contract: Contract) -> tuple[str, ...]:
    """The import folders for commands: only those that the contract names. From any other folder, the tools that a
    command starts could import modules of the head in place of the tools' own."""
    return paths_in_room(room, contract.environment.path) if contract.environment.path else ()


def modules_of_project(paths: Iterable[str], roots: Iterable[str]) -> frozenset[str]:
    """Top-level modules that the project's own folders provide. If one of these cannot be imported, that is the
    project's fault, never the environment's."""
    code = [PurePosixPath(path) for path in paths if path.endswith((".py", ".so", ".pyx"))]
    places = {PurePosixPath(root) for root in roots} | {path.parent for path in code if is_test(str(path))}
    modules = set()
    for path in code:
        for place in places.intersection(path.parents):
            modules.add(path.relative_to(place).parts[0].split(".")[0])
    return frozenset(modules)
