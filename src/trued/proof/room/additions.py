"""Installs packages that only the head declares, on top of the base's environment, and caches them by hash.

These packages are for the code under test only. The runner and its plugins come from the base and are loaded first. No
added package runs code at the start of an interpreter or replaces a package of the base's environment.
"""

import os
import re
from collections.abc import Collection
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from trued.model import FactNote
from trued.proof.room.bench import Bench
from trued.proof.room.declared_packages import AddedPackages, missing_requirements, package_name, provides_module
from trued.proof.room.environment import (
    UNREACHED,
    DeclaredChanges,
    Recipe,
    build_environment,
    declared_changes,
    is_built,
    is_tool,
)
from trued.proof.room.interpreter import Interpreter
from trued.proof.room.virtualenv import BEHIND, registries
from trued.proof.text.package_names import normal_package_name
from trued.protocols import Workspace
from trued.support.lazy_regex import lazy_regex

NO_REGISTRY = "no environment can be built here"
# Messages of installers if the registry has no such package or version.
_UNKNOWN = lazy_regex(r"No matching distribution|not found in the package registry|there (is|are) no version", re.I)


async def added_packages(workspace: Workspace, base: str, head: str, interpreter: Interpreter) -> AddedPackages:
    """Install the packages that the head's manifests declare and the base's do not. Returns which were installed, and
    which could not be."""
    changes = await declared_changes(workspace, base, head)
    needed, notes, unused = _needed(changes, interpreter), changes.notes(interpreter), changes.unused(interpreter)
    if not needed:
        return AddedPackages(unused=unused, notes=notes)
    if workspace.environments is None:
        failures = dict.fromkeys(map(package_name, needed), NO_REGISTRY)
        return AddedPackages(unavailable=failures, unused=unused, notes=notes)
    environment, failures = await _build(workspace, interpreter, needed, changes.locked)
    unavailable = {name: why for name, why in failures.items() if not _is_unknown(why)}
    unknown = tuple(name for name in failures if name not in unavailable)
    failure_notes = [
        f"the package {name}, which the change declares, could not be installed: {why}"
        for name, why in failures.items()
    ]
    if environment is None:
        return AddedPackages(unavailable=unavailable, unknown=unknown, unused=unused, notes=(*notes, *failure_notes))
    folder = Path(environment.path).parent.parent
    before = {"pip", *(normal_package_name(name) for name in interpreter.versions)}
    versions = {
        name: version for name, version in environment.versions.items() if normal_package_name(name) not in before
    }
    listed = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    declared = "packages that only the change declares, and those that they need,"
    found_note = FactNote(f"{declared} were installed for the checks on the change: {listed}")
    return AddedPackages(
        str(folder),
        str(folder / BEHIND),
        versions,
        unavailable,
        unknown=unknown,
        unused=unused,
        notes=(*notes, *failure_notes, found_note),
    )


def packages_behind(interpreter: Interpreter, modules: Collection[str]) -> frozenset[str]:
    """The installed packages that provide these top-level modules, and all packages that those need, directly or
    indirectly. Names are normalised."""
    needs, packages = dict[str, set[str]](), set[str]()
    for distribution in metadata.distributions(path=list(interpreter.site)):
        name = package_name(str(distribution.metadata["Name"]))
        needs[name] = {package_name(text.partition(";")[0].strip()) for text in distribution.requires or ()}
        provided = {path.parts[0].partition(".")[0] for path in distribution.files or () if path.parts}
        if not provided.isdisjoint(modules) or any(provides_module(name, module) for module in modules):
            packages.add(name)
    unfollowed = [*packages]
    while unfollowed:
        newly_needed = needs.get(unfollowed.pop(), set[str]()) - packages
        packages |= newly_needed
        unfollowed += newly_needed
    return frozenset(packages)


async def packages_to_install(workspace: Workspace, base: str, head: str, interpreter: Interpreter) -> tuple[str, ...]:
    """The packages that have to be installed for the head's checks, which may take minutes; () if all are installed."""
    changes = await declared_changes(workspace, base, head)
    needed, home = _needed(changes, interpreter), workspace.environments
    if not needed or home is None or is_built(interpreter, _recipe(interpreter, needed, changes.locked), home):
        return ()
    return needed


def _needed(changes: DeclaredChanges, interpreter: Interpreter) -> tuple[str, ...]:
    lacking = missing_requirements(changes.added, interpreter.versions, interpreter.version)
    return tuple(requirement for requirement in lacking if not is_tool(requirement))


def _recipe(interpreter: Interpreter, needed: tuple[str, ...], locked: tuple[str, ...]) -> Recipe:
    pinned = tuple(f"{name}=={version}" for name, version in sorted(interpreter.versions.items()) if _is_plain(version))
    return Recipe(needed, locked, pinned, over=interpreter.identity)


async def _build(
    workspace: Workspace, interpreter: Interpreter, needed: tuple[str, ...], locked: tuple[str, ...]
) -> tuple[Interpreter | None, dict[str, str]]:
    """Build an environment with the `needed` packages, or with those of them that can be installed; None if none can.
    Also returns why the others could not be installed: package → why. `locked`: versions to use (`name==version`)."""
    assert workspace.environments is not None  # noqa: S101  (callers have checked it)
    recipe = _recipe(interpreter, needed, locked)
    environment, why = await build_environment(workspace, interpreter, recipe, workspace.environments)
    if environment is not None:
        return environment, {}
    if len(needed) == 1 or why.startswith(UNREACHED):
        return None, dict.fromkeys(map(package_name, needed), why)
    failures: dict[str, str] = {}
    for requirement in needed:  # each alone, because a package that cannot be installed must not stop the others
        _, why = await build_environment(
            workspace, interpreter, replace(recipe, requirements=(requirement,)), workspace.environments
        )
        failures |= {package_name(requirement): why} if why else {}
    installable = tuple(requirement for requirement in needed if package_name(requirement) not in failures)
    if not installable or not failures:
        return None, failures or dict.fromkeys(map(package_name, needed), "they cannot be installed together")
    environment, why = await build_environment(
        workspace, interpreter, replace(recipe, requirements=installable), workspace.environments
    )
    return environment, failures if environment else failures | dict.fromkeys(map(package_name, installable), why)


def _is_unknown(why: str) -> bool:
    """Whether the installer says that the registry has no such package or version."""
    return bool(_UNKNOWN.search(why)) and not why.startswith(UNREACHED) and not _has_no_registry()


def _has_no_registry() -> bool:
    """Whether the user's settings tell the installer to use no registry, as `PIP_NO_INDEX` does."""
    return any(name.endswith("_NO_INDEX") and value not in ("", "0") for name, value in registries(os.environ).items())


def _is_plain(version: str) -> bool:
    return bool(version) and " " not in version


def with_added_packages(bench: Bench, added: AddedPackages) -> Bench:
    """The bench with these packages. Python searches them after the base's packages. Without added packages, the bench
    as it is."""
    if not added.environment:
        return bench
    # This folder can come first: besides Python and pip, it has no program that would replace another (`put_behind`).
    programs = f"{added.environment}/bin"
    return replace(
        bench,
        prepared=added.environment,
        site=(added.site,),
        variables={**bench.variables, "PATH": f"{programs}:{bench.variables.get('PATH', '')}"},
        plain={**bench.plain, "PATH": f"{programs}:{bench.plain.get('PATH', '')}"},
    )
