"""Finds which drivers of a command a commit changed, and puts the base's version of drivers into a room.

Drivers are the files that decide what the command does. `trued.proof.room.command_drivers` finds those of one commit.
"""

import shutil
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from trued.proof.room.bench import Bench, nonce
from trued.proof.room.command_drivers import (
    MOST_FILES,
    Drivers,
    find_drivers,
    module_name,
    module_place,
    text_of_driver,
    top_modules,
)
from trued.proof.room.files_in_room import copy_into, file_digest, remove_path
from trued.proof.room.frozen_files import FILES_OF_TOOL
from trued.proof.room.started_files import NODE
from trued.proof.text import node_names, python_names


@dataclass(frozen=True, slots=True)
class ChangedDrivers:
    """The drivers of a command that the head changed, removed or added."""

    paths: frozenset[str]
    settings: frozenset[str]  # of `paths`, those that may be only settings
    by_name: frozenset[str]  # of `paths`, those that scripts import by their whole names, and that may be the product


async def changed_drivers(bench: Bench, command: str) -> ChangedDrivers:
    """The drivers of this command that the head changed."""
    base = await find_drivers(bench.workspace, bench.base, command)
    head = await find_drivers(bench.workspace, bench.commit, command) if bench.commit else base
    on_base, on_head = await bench.workspace.blobs(bench.base), await bench.workspace.blobs(bench.commit or bench.base)
    build_files = {name for family in FILES_OF_TOOL.values() for name in family}
    new = [path for path in on_head if path not in on_base]
    shadows = {path for path in new if _importing_script(path, base)}
    by_name = {path for path in new if _is_found_first(path, base)} | base.by_name
    added = shadows | {
        path
        for path in new
        if path in head.settings
        or base.is_settings(path)
        or (path in head.runs and PurePosixPath(path).name in build_files)
    }
    drivers = {*base.runs, *base.settings, *added, *by_name}
    changed = {path for path in drivers if on_head.get(path) != on_base.get(path)}
    changed -= _frozen(bench, changed)
    return ChangedDrivers(
        frozenset(changed), frozenset(changed - base.runs - by_name), frozenset(changed & (by_name - shadows))
    )


def _is_found_first(path: str, base: Drivers) -> bool:
    """Whether Python would load this new file instead of a driver of the base, or before that driver: a package or a
    compiled module with the driver's name, or an `__init__.py` in a folder above the driver."""
    pure = PurePosixPath(path)
    modules = {module_place(driver) for driver in base.runs if driver.endswith(".py")}
    folders = {str(folder) for driver in base.by_name for folder in PurePosixPath(driver).parents} - {"."}
    stem = pure.name.partition(".")[0]
    return str(pure.parent) in folders | modules if stem == "__init__" else str(pure.parent / stem) in modules


async def drivers_of_change(bench: Bench, command: str, *, settings: bool = True) -> frozenset[str]:
    """The drivers that the change itself wrote. If a command failed on the base and passes now, these drivers may be
    the only reason. Modules that are more likely the product than a part of a script are left out. Without `settings`,
    two more kinds are left out: the settings of tools, and code that a build runs."""
    on_base, on_head = await bench.workspace.blobs(bench.base), await bench.workspace.blobs(bench.commit or bench.base)
    base = await find_drivers(bench.workspace, bench.base, command, product=False)
    head = await find_drivers(bench.workspace, bench.commit or bench.base, command, product=False)
    drivers = base.runs | head.runs
    if settings:
        drivers |= base.tool_settings | head.tool_settings | base.builds | head.builds
    changed = {path for path in drivers if on_head.get(path) != on_base.get(path)}
    changed |= {path for path in on_head if path not in on_base and _replaces_module(bench, base, path, on_base)}
    beside = [path for path in base.beside if on_head.get(path) != on_base[path]]
    changed |= {path for path in beside if not await _is_product(bench, base, path)}
    return frozenset(changed - _frozen(bench, changed))


def _replaces_module(bench: Bench, base: Drivers, path: str, on_base: Collection[str]) -> bool:
    """Whether a new file replaces a module that a script of the base imports.

    If only a script at the top of the project imports the module, and no module of that name is on the base or
    installed, the new file is the product and does not count.
    """
    shadowed = _importing_script(path, base)
    if shadowed is None:
        return False
    folder, name = shadowed
    installed = {package.replace("-", "_") for package in bench.interpreter.versions}
    modules_on_base = {path.split("/")[0].split(".")[0] for path in on_base}
    return folder != "." or name in {"node_modules", *bench.interpreter.standard, *installed, *modules_on_base}


def _importing_script(path: str, base: "Drivers") -> tuple[str, str] | None:
    """The folder of a script of the base that would import this new file, and the module's name; None if no script
    would import the file.

    For example, a script beside a new `configparser.py` would import that file instead of Python's module.
    """
    pure = PurePosixPath(path)
    for folder, names in base.imports.items():
        inner = pure.relative_to(folder).parts if pure.is_relative_to(folder) else ()
        if inner and (inner[0].split(".")[0] in names or inner[0] == "node_modules"):
            return str(folder), inner[0].split(".")[0]
    return None


async def _is_product(bench: Bench, base: Drivers, path: str) -> bool:
    """Whether a module beside a top-level script is the product that the script checks, and not a part of the script.

    The module is the product if a requirement mentions it, or mentions a name that the script uses from it. It is also
    the product if other code of the base imports it, or if its version on the base lacks a name that the script uses.
    """
    name, used_names = module_name(path), base.beside[path]
    if bench.words & {name, *used_names} or await _lacks_names(bench, base, path):
        return True
    ending = NODE if path.endswith(NODE) else ".py"
    others = [
        module
        for module in await bench.workspace.blobs(bench.base)
        if module.endswith(ending) and module not in base.runs
    ]
    for module in [text for text in others if text not in base.beside][:MOST_FILES]:
        text = await _text_on_base(bench, module)
        if node_names.loads_module(text, name) if ending == NODE else name in top_modules(text):
            return True
    return False


async def _lacks_names(bench: Bench, base: Drivers, path: str) -> bool:
    """Whether the base's version of the module `path` lacks a name that a script beside it uses. False if that is
    unclear."""
    used_names = base.beside[path]
    if not path.endswith(NODE):
        return python_names.lacks(await _text_on_base(bench, path), used_names)
    # The names may be in any of these modules, because one may re-export names of another.
    texts = [await _text_on_base(bench, module) for module in base.beside if module.endswith(NODE)]
    return bool(used_names.difference(*map(node_names.names_mentioned, texts)))


async def _text_on_base(bench: Bench, path: str) -> str:
    return await text_of_driver(bench.workspace, bench.base, path)


def _frozen(bench: Bench, paths: Collection[str]) -> set[str]:
    """Of these paths, the frozen files that are unchanged in the room."""
    return {path for path in paths if bench.frozen.get(path) and file_digest(bench.room / path) == bench.frozen[path]}


@asynccontextmanager
async def as_on_base(bench: Bench, paths: Collection[str]) -> AsyncIterator[None]:
    """Put the base's version of these files into the room, and restore the head's after the block. Files that the base
    lacks are absent while the block runs."""
    on_base = await bench.workspace.blobs(bench.base)
    aside = bench.room.parent / f"drivers-{nonce()[:12]}"
    aside.mkdir(mode=0o700)
    moved = {place: aside / str(number) for number, place in enumerate(sorted(_in_the_way(bench.room, paths)))}
    try:
        for place, saved in moved.items():
            place.rename(saved)
        async with bench.workspace.room(bench.base) as original:
            for path in paths:
                if path in on_base:
                    copy_into(original, bench.room, path)
        yield
    finally:
        for path in paths:
            remove_path(bench.room / path)
        for place, saved in moved.items():
            remove_path(place)
            place.parent.mkdir(parents=True, exist_ok=True)
            saved.rename(place)
        shutil.rmtree(aside, ignore_errors=True)


def _in_the_way(room: Path, paths: Collection[str]) -> set[Path]:
    """What the head has at these paths (files, folders, links), or in place of a folder that should contain them."""
    in_the_way: set[Path] = set()
    for path in paths:
        place = room
        for part in PurePosixPath(path).parts:
            place = place / part
            if place.is_symlink() or place.is_file() or (place.exists() and place == room / path):
                in_the_way.add(place)
                break
    return in_the_way
