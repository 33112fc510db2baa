"""Packages that a head is the first to declare: installed over the base's environment, and kept by hash.

They are for the code under test only. The runner and its plugins are the base's and are loaded first; nothing here is
run at the start of an interpreter, and no package of the base's environment is replaced.
"""

import os
import re
from dataclasses import replace
from pathlib import Path

from packaging.utils import canonicalize_name

from trued.proof.room.bench import Bench
from trued.proof.room.dependencies import AddedPackages, missing_requirements, parse_requirement
from trued.proof.room.environment import UNREACHED, Recipe, build_environment, declared_changes, is_tool
from trued.proof.room.interpreter import Interpreter
from trued.proof.room.virtualenv import registries, site_packages
from trued.protocols import Workspace

NO_REGISTRY = "no environment can be built here"
# How installers say that a registry answered, and has no such package or version.
_UNKNOWN = re.compile(r"No matching distribution|not found in the package registry|there (is|are) no version", re.I)


async def added_packages(workspace: Workspace, base: str, head: str, interpreter: Interpreter) -> AddedPackages:
    """Install what the head's manifests declare and the base's do not."""
    changes = await declared_changes(workspace, base, head)
    lacking = missing_requirements(changes.added, interpreter.versions, interpreter.version)
    needed = tuple(one for one in lacking if not is_tool(one))
    if not needed:
        return AddedPackages(said=changes.said)
    names = tuple(str(canonicalize_name(found.name)) for one in needed if (found := parse_requirement(one)))
    if workspace.environments is None:
        return AddedPackages(unavailable=dict.fromkeys(names, NO_REGISTRY), said=changes.said)
    pinned = tuple(f"{name}=={version}" for name, version in sorted(interpreter.versions.items()) if _is_plain(version))
    recipe = Recipe(needed, changes.locked, pinned, over=interpreter.identity)
    built, why = await build_environment(workspace, interpreter, recipe, workspace.environments)
    if built is None:
        no_such = bool(_UNKNOWN.search(why)) and not why.startswith(UNREACHED) and not _has_no_registry()
        said = f"packages that the change declares could not be installed: {', '.join(names)}: {why}"
        lost = {} if no_such else dict.fromkeys(names, why)
        return AddedPackages(unavailable=lost, unknown=names if no_such else (), said=(*changes.said, said))
    folder = Path(built.path).parent.parent
    before = {"pip", *(str(canonicalize_name(name)) for name in interpreter.versions)}
    versions = {name: one for name, one in built.versions.items() if str(canonicalize_name(name)) not in before}
    listed = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    said = f"checks of the change also found packages that it declares: {listed}"
    return AddedPackages(str(folder), str(site_packages(folder, interpreter)), versions, said=(*changes.said, said))


def _has_no_registry() -> bool:
    """Was the installer told to ask none?"""
    return any(name.endswith("_NO_INDEX") and value not in ("", "0") for name, value in registries(os.environ).items())


def _is_plain(version: str) -> bool:
    return bool(version) and " " not in version


def with_added_packages(bench: Bench, added: AddedPackages) -> Bench:
    """The bench with these packages behind the base's own."""
    if not added.environment:
        return bench
    programs = f"{added.environment}/bin"
    last = {"PATH": f"{bench.plain.get('PATH', '')}:{programs}"}
    first = {"PATH": f"{programs}:{bench.variables.get('PATH', '')}"}
    return replace(
        bench,
        prepared=added.environment,
        site=(added.site,),
        variables={**bench.variables, **first},
        plain={**bench.plain, **last},
    )
