"""The installed workflows. Our own and a user's are entry points of the group `trued.workflows`.

They are looked up only when a workflow is needed: commands that only list runs need none.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from trued.errors import BadInput
from trued.workflows.descriptor import Input, WorkflowDescriptor, load

GROUP = "trued.workflows"
OURS = "trued"


@dataclass(frozen=True, slots=True)
class Registration:
    """One entry point: a workflow's name, where its descriptor is, and the package that registers it."""

    name: str
    reference: str
    package: str
    version: str

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


def descriptor(name: str) -> WorkflowDescriptor:
    """The workflow of this name. Raises BadInput if there is none, if two packages register one, or if it is broken."""
    found = _installed().get(name, [])
    if not found:
        raise BadInput(f"there is no workflow {name!r}", then=f"there are {', '.join(_installed())}")
    if len(found) > 1:
        packages = " and ".join(map(str, found))
        raise BadInput(f"two packages register the workflow {name!r}: {packages}", then="uninstall one of them")
    return _load_descriptor(found[0])


def find_descriptor(name: str) -> WorkflowDescriptor | None:
    """The workflow of this name, for code that shows an old run and can do without the workflow. None if it is gone or
    broken; ours if another package registers the same name."""
    try:
        return _own_descriptor(name) or descriptor(name)
    except BadInput:
        return None


def _own_descriptor(name: str) -> WorkflowDescriptor | None:
    """Our own workflow of this name, which is in a folder beside this file.

    It is found without reading the installed packages, which would take most of the time of a short command.
    """
    folders = [one.parent.name for one in Path(__file__).parent.glob("*/__init__.py")]
    for folder in sorted(folders, key=lambda one: one != name):  # most workflows have the name of their folder
        for found in vars(import_module(f"trued.workflows.{folder}")).values():
            if isinstance(found, WorkflowDescriptor) and found.name == name:
                return found
    return None


def descriptors() -> Iterator[WorkflowDescriptor]:
    """All workflows that can be used, ours first. `problems` says what is wrong with the others."""
    return (found for name in _installed() if (found := find_descriptor(name)))


def problems() -> Iterator[BadInput]:
    """What is wrong with installed workflows: one BadInput for each that cannot be used."""
    for name in _installed():
        try:
            descriptor(name)
        except BadInput as error:
            yield error


def default_workflow(given: Input) -> WorkflowDescriptor:
    """The default workflow for this kind of input. Raises BadInput unless there is exactly one."""
    found = [one for one in descriptors() if given in one.default_for]
    if len(found) != 1:
        names = " and ".join(one.name for one in found)
        what = f"{names} are both the default for a {given}" if found else f"no workflow is the default for a {given}"
        raise BadInput(what, then="name a workflow: -w NAME")
    return found[0]


def registrations(path: Iterable[str]) -> dict[str, list[Registration]]:
    """Name of a workflow → its registrations, ours first. `path`: the folders to search for packages, like `sys.path`.
    If two folders have the same package, the first copy counts."""
    from importlib import metadata  # imported late because it is slow: reading an old run may need no workflow

    packages: dict[str, list[Registration]] = {}
    for one in metadata.distributions(path=list(path)):
        if own := one.entry_points.select(group=GROUP):  # reading a package's other metadata takes longer
            name = one.name.lower().replace("_", "-")
            packages.setdefault(name, [Registration(each.name, each.value, name, one.version) for each in own])
    found: dict[str, list[Registration]] = {}
    for package in sorted(packages, key=lambda name: (name != OURS, name)):
        for each in packages[package]:
            found.setdefault(each.name, []).append(each)
    return found


@cache  # what is installed does not change while a command runs
def _installed() -> dict[str, list[Registration]]:
    # `python -m trued` puts the working folder on the path. It is left out: a repository must not inject code that way.
    here = Path.cwd().resolve()
    found = registrations(one for one in sys.path if Path(one).resolve() != here)
    if not any(one.package == OURS for each in found.values() for one in each):
        raise BadInput(
            "trued's own workflows are not registered", then="install trued again: its metadata is out of date"
        )
    return found


def _load_descriptor(one: Registration) -> WorkflowDescriptor:
    where, then = f"the workflow {one.name!r} of {one}", f"repair that package, or pip uninstall {one.package}"
    try:
        found = load(one.reference)
    except (Exception, SystemExit) as error:  # third-party code may raise anything
        raise BadInput(f"{where} cannot be loaded: {type(error).__name__}: {error}", then=then) from error
    if not isinstance(found, WorkflowDescriptor):
        raise BadInput(f"{where} is not a WorkflowDescriptor: {one.reference} is {type(found).__name__}", then=then)
    if found.name != one.name:
        raise BadInput(f"{where} calls itself {found.name!r}", then=then)
    return found
