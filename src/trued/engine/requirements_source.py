"""Where `verify` gets its requirements: a file that the user names, or files in the repository."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trued.errors import BadInput, Untrusted
from trued.inputs.requirements.coverage import unique_ids
from trued.model import Environment, Requirement, Requirements
from trued.support.hashing import git_blob_names
from trued.support.located import read_text
from trued.support.located.spots import FILE_LIMIT
from trued.workspace.git.workspace import GitWorkspace

if TYPE_CHECKING:
    from trued.inputs.specifications import SpecificationFormat

MARKDOWN = (".md", ".markdown")
MOST_FILES = 500  # at most this many specification files of one repository are read


def load_named_requirements(path: Path) -> Requirements:
    """Load the user's file: a requirements file with checks, or a specification in Markdown."""
    if path.suffix.lower() in MARKDOWN:
        from trued.inputs import specifications as sources  # imported here, because only Markdown needs it

        return sources.read_specification(str(path), read_text(path))
    from trued.inputs.requirements.file import load_requirements

    return load_requirements(path)


def blobs_of(content: bytes) -> tuple[str, ...]:
    """The ids that git gives this content, with SHA-1 and SHA-256, and with either line ending."""
    plain = content.replace(b"\r\n", b"\n")
    ways = dict.fromkeys((content, plain, plain.replace(b"\n", b"\r\n")))
    return tuple(name for way in ways for name in git_blob_names(way))


async def find_requirements(workspace: GitWorkspace, head: str) -> tuple[Requirements, tuple[str, ...]]:
    """The requirements in the repository itself, and remarks on them; empty if base and head have none.

    Requirements and checks of the base count, whatever the head changed in them. Requirements that the head adds also
    count, but not their checks, which the implementer wrote.
    """
    from trued.inputs import specifications as sources

    base = workspace.base
    blobs = {side: await workspace.blobs(side) for side in (base, head)}
    taken = _specification_files(blobs[base], blobs[head])
    if not taken:
        return Requirements(requirements=()), ()
    touched = taken.keys() & set(await workspace.changed_files(base, head))
    before = sources.read_specifications(taken, await _read_specification_texts(workspace, base, taken, blobs[base]))
    _refuse_untrusted(before)
    after = sources.read_specifications(taken, await _read_specification_texts(workspace, head, taken, blobs[head]))
    due, left = _due(before.requirements, touched)
    added = [
        _without_checks(requirement)
        for requirement in after.requirements
        if requirement.text not in {same.text for same in before.requirements}
    ]
    due += [
        requirement
        for requirement in unique_ids(added, {requirement.id for requirement in before.requirements})
        if requirement.source.file in touched
    ]
    said = [f"not touched by this change, and not judged: {file}" for file in left]
    if any(
        requirement.checks
        for requirement in after.requirements
        if requirement.text not in {same.text for same in before.requirements}
    ):
        said.append("checks that the head adds to its own requirements are left out")
    whole = before.model_copy(update={"requirements": tuple(due)})
    return whole.model_copy(update={"file": ", ".join(sorted(taken))}), tuple(said)


def _specification_files(on_base: Iterable[str], here: Iterable[str]) -> "dict[str, SpecificationFormat]":
    """Path → format of each file with requirements. If the base has such files, only their formats count."""
    from trued.inputs import specifications as sources

    if not (taken := sources.find_specifications(on_base)):
        return sources.find_specifications(here)
    kinds = set(taken.values())
    return taken | {path: source for source in kinds for path in source.matching_paths(sorted(here))}


async def _read_specification_texts(
    workspace: GitWorkspace, commit: str, taken: "Mapping[str, SpecificationFormat]", there: Mapping[str, str]
) -> dict[str, str]:
    paths = [path for path in sorted(taken) if path in there]
    if len(paths) > MOST_FILES:
        raise BadInput(f"{len(paths)} files hold requirements", then="name one of them with --requirements")
    texts = {}
    for path in paths:
        data = await workspace.read(commit, path) or b""
        if len(data) > FILE_LIMIT:
            raise BadInput(f"{path} at {commit[:12]} is too large to be read", then="name a file with --requirements")
        texts[path] = data.decode("utf-8", "replace")
    return texts


def _refuse_untrusted(asked: Requirements) -> None:
    """Raise Untrusted if requirements set up an environment or a server: only the user may do that."""
    if asked.environment != Environment() or asked.serve:
        raise Untrusted(
            f"{asked.file} in the repository sets up an environment or a server and is not trusted",
            then=f"review it, then pass it yourself: --requirements {asked.file.split(', ')[0]}",
        )


def _due(every: Sequence[Requirement], touched: set[str]) -> tuple[list[Requirement], list[str]]:
    """The requirements to judge, and the files that are left out. A file is left out if it has no check and this change
    touches other files with requirements, but not this one."""
    files = {requirement.source.file for requirement in every}
    about = (touched or files) | {requirement.source.file for requirement in every if requirement.checks}
    return [requirement for requirement in every if requirement.source.file in about], sorted(files - about)


def _without_checks(requirement: Requirement) -> Requirement:
    return requirement.model_copy(update={"checks": (), "supersedes": (), "keep": False})
