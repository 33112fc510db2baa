"""The installed workflows: our own and those of other packages. Each is an entry point of the group `trued.workflows`.

Entry points are looked up only when a workflow is needed: commands that only list runs need none.
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
    """The workflow of this name. Raises BadInput if there is none, if two packages register this name, or if the
    workflow is broken."""
    registered = _installed().get(name, [])
    if not registered:
        raise BadInput(f"there is no workflow {name!r}", then=f"there are {', '.join(_installed())}")
    if len(registered) > 1:
        packages = " and ".join(map(str, registered))
        raise BadInput(f"two packages register the workflow {name!r}: {packages}", then="uninstall one of them")
    return _load_descriptor(registered[0])


def find_descriptor(name: str) -> WorkflowDescriptor | None:
    """The workflow of this name, for code that shows an old run and can do without the workflow. None if it is gone or
    broken. If another package registers the name of one of our own workflows, our own is returned."""
    try:
        return _own_descriptor(name) or descriptor(name)
    except BadInput:
        return None


def _own_descriptor(name: str) -> WorkflowDescriptor | None:
    """Our own workflow of this name; None if there is none. Its package is in a folder beside this file.

    The installed packages are not read: that would take most of the time of a short command.
    """
    folders = [path.parent.name for path in Path(__file__).parent.glob("*/__init__.py")]
    for folder in sorted(folders, key=lambda folder: folder != name):  # most workflows have the name of their folder
        for member in vars(import_module(f"trued.workflows.{folder}")).values():
            if isinstance(member, WorkflowDescriptor) and member.name == name:
                return member
    return None


def descriptors() -> Iterator[WorkflowDescriptor]:
    """All workflows that can be used, ours first. `problems` yields an error for each workflow that cannot be used."""
    return (descriptor for name in _installed() if (descriptor := find_descriptor(name)))


def problems() -> Iterator[BadInput]:
    """What is wrong with installed workflows: one BadInput for each that cannot be used."""
    for name in _installed():
        try:
            descriptor(name)
        except BadInput as error:
            yield error


def default_workflow(kind: Input) -> WorkflowDescriptor:
    """The default workflow for this kind of input. Raises BadInput unless there is exactly one."""
    candidates = [descriptor for descriptor in descriptors() if kind in descriptor.default_for]
    if len(candidates) != 1:
        names = " and ".join(descriptor.name for descriptor in candidates)
        what = (
            f"{names} are both the default for a {kind}" if candidates else f"no workflow is the default for a {kind}"
        )
        raise BadInput(what, then="name a workflow: -w NAME")
    return candidates[0]


def registrations(path: Iterable[str]) -> dict[str, list[Registration]]:
    """Name of a workflow → its registrations, ours first. `path`: the folders to search for packages, like `sys.path`.
    If two folders have the same package, the first copy counts."""
    from importlib import metadata  # imported late because it is slow: reading an old run may need no workflow

    packages: dict[str, list[Registration]] = {}
    for distribution in metadata.distributions(path=list(path)):
        if entry_points := distribution.entry_points.select(
            group=GROUP
        ):  # reading a package's other metadata takes longer
            name = distribution.name.lower().replace("_", "-")
            packages.setdefault(
                name,
                [
                    Registration(entry_point.name, entry_point.value, name, distribution.version)
                    for entry_point in entry_points
                ],
            )
    by_name: dict[str, list[Registration]] = {}
    for package in sorted(packages, key=lambda name: (name != OURS, name)):
        for registration in packages[package]:
            by_name.setdefault(registration.name, []).append(registration)
    return by_name


@cache  # what is installed does not change while a command runs
def _installed() -> dict[str, list[Registration]]:
    # `python -m trued` puts the working folder on the path. It is left out: a repository must not inject code that way.
    folder = Path.cwd().resolve()
    registered = registrations(path for path in sys.path if Path(path).resolve() != folder)
    if not any(registration.package == OURS for registered in registered.values() for registration in registered):
        raise BadInput(
            "trued's own workflows are not registered", then="install trued again: its metadata is out of date"
        )
    return registered


def _load_descriptor(registration: Registration) -> WorkflowDescriptor:
    where, then = (
        f"the workflow {registration.name!r} of {registration}",
        f"repair that package, or pip uninstall {registration.package}",
    )
    try:
        descriptor = load(registration.reference)
    except (Exception, SystemExit) as error:  # third-party code may raise anything
        raise BadInput(f"{where} cannot be loaded: {type(error).__name__}: {error}", then=then) from error
    if not isinstance(descriptor, WorkflowDescriptor):
        raise BadInput(
            f"{where} is not a WorkflowDescriptor: {registration.reference} is {type(descriptor).__name__}", then=then
        )
    if descriptor.name != registration.name:
        raise BadInput(f"{where} calls itself {descriptor.name!r}", then=then)
    return descriptor
