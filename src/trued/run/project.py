"""The project on the run's branch: its kind, and which test commands the engine can count."""

import posixpath

from trued.inputs.project.kind import ProjectKind, files_to_read, project_kind
from trued.proof.checks.tests import package_scripts
from trued.proof.text.command_parser import package_folder, recognise_runner
from trued.run.branch import Branch


async def detect_project(branch: Branch, commit: str = "") -> ProjectKind:
    """The kind of project on the newest commit, or on `commit`, and how it is built, tested and started."""
    paths = await branch.paths(commit)
    texts = await branch.texts(files_to_read(paths), commit)
    return project_kind(paths, texts.get)


async def is_countable(branch: Branch, command: str) -> bool:
    """Whether the command starts a runner whose tests the engine can count. A package script is resolved as the base
    defines it."""
    folder = package_folder(command)
    manifest = await branch.read(posixpath.join(folder, "package.json"), branch.base) or ""
    return recognise_runner(command, package_scripts(manifest.encode()), of=folder) is not None
