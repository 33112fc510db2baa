"""Detects the kind of project on the run's branch from the files of one commit."""

from trued.inputs.project.kind import ProjectKind, files_to_read, project_kind
from trued.run.branch import Branch


async def detect_project(branch: Branch, at: str = "") -> ProjectKind:
    """The kind of project on the newest commit, or on the commit `at`, and how it is built, tested and started."""
    paths = await branch.paths(at)
    texts = await branch.texts(files_to_read(paths), at)
    return project_kind(paths, texts.get)
