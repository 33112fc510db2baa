"""Where `verify` gets its requirements: a file that the user names, or files in the repository."""

import shlex
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from trued.errors import BadInput, Untrusted
from trued.inputs.requirements.coverage import unique_ids
from trued.model import CommandCheck, Environment, Requirement, Requirements, TestsCheck
from trued.proof.room.frozen_files import is_below
from trued.support.hashing import git_blob_names
from trued.support.located import read_text
from trued.support.located.spots import FILE_LIMIT
from trued.support.plurals import few
from trued.workspace.git.workspace import GitWorkspace

if TYPE_CHECKING:
    from trued.inputs.specifications import SpecificationFormat

MARKDOWN = (".md", ".markdown")
MOST_FILES = 500  # at most this many specification files of one repository are read
FEW = 3  # at most this many files are named in a remark


def load_named_requirements(path: Path) -> Requirements:
    """Load the user's file: a requirements file with checks, or a specification in Markdown."""
    if path.suffix.lower() in MARKDOWN:
        return read_requirements(str(path), read_text(path))
    from trued.inputs.requirements.file import load_requirements

    return load_requirements(path)


def read_requirements(path: str, text: str) -> Requirements:
    """Read the text of a requirements file or of a specification in Markdown. Folders from which checks take files are
    not read."""
    if PurePosixPath(path).suffix.lower() in MARKDOWN:
        from trued.inputs import specifications as sources  # imported here, because only Markdown needs it

        return sources.read_specification(path, text)
    from trued.inputs.requirements.file import parse_requirements

    return parse_requirements(text, path)


def blobs_of(content: bytes) -> tuple[str, ...]:
    """The ids that git may give this content: by SHA-1 or SHA-256, and with the line ends of Unix or Windows."""
    plain = content.replace(b"\r\n", b"\n")
    ways = dict.fromkeys((content, plain, plain.replace(b"\n", b"\r\n")))
    return tuple(name for way in ways for name in git_blob_names(way))


async def refuse_missing_files(workspace: GitWorkspace, given: Requirements, head: str) -> None:
    """Raise BadInput if a check names a file or folder that neither base nor head has. Otherwise the verdict would be
    about a typing error, not about the work. Ignores checks that have `from`, because their files come with the
    requirements."""
    named = {
        name: requirement.source
        for requirement in given.requirements
        for check in requirement.checks
        if isinstance(check, CommandCheck) or (isinstance(check, TestsCheck) and not check.from_)
        for name in check.files
    }
    if not named:
        return
    paths = {path for side in (workspace.base, head) for path in await workspace.blobs(side)}
    submodules = {path for side in (workspace.base, head) for path in await workspace.submodules(side)}
    for name, source in named.items():
        if any(is_below(path, name) for path in paths) or any(is_below(name, path) for path in submodules):
            continue
        close = get_close_matches(name, sorted(paths), 1, 0.6)
        hint = f"did you mean {close[0]}?" if close else "correct the path, or remove it if the work lacks this file"
        raise BadInput(f"`files` names {name}, which neither base nor head has", str(source or ""), hint)


async def find_requirements(
    workspace: GitWorkspace, head: str, within: str = ""
) -> tuple[Requirements, tuple[str, ...]]:
    """The requirements in the repository itself, or in its folder `within`, and remarks for people. Empty if neither
    base nor head has requirements.

    Requirements and checks of the base count, even if the head changes or removes them. Requirements that the head adds
    count without their checks, because the implementer wrote these checks. Raises BadInput if `within` is given and
    holds no requirements, and Untrusted if requirements of the base set up an environment or a server.
    """
    from trued.inputs import specifications as sources

    base = workspace.base
    blobs = {side: await workspace.blobs(side) for side in (base, head)}
    below = {side: [path for path in blobs[side] if path.startswith(within)] for side in blobs}
    taken = await _specification_files(workspace, below[base], below[head])
    if not taken and within:
        raise BadInput(f"no file below {within} holds requirements", then="name another folder, or a file")
    if not taken:
        return Requirements(requirements=()), ()
    before = sources.read_specifications(taken, await _read_specification_texts(workspace, base, taken, blobs[base]))
    _refuse_untrusted(before)
    after = sources.read_specifications(taken, await _read_specification_texts(workspace, head, taken, blobs[head]))
    known = {requirement.text for requirement in before.requirements}
    added = [requirement for requirement in after.requirements if requirement.text not in known]
    due = [
        *before.requirements,
        *unique_ids(map(_without_checks, added), {requirement.id for requirement in before.requirements}),
    ]
    said = _remark_on_files(due, set(await workspace.changed_files(base, head)))
    if any(requirement.checks for requirement in added):
        said.append("checks that the head adds to its own requirements are left out")
    superseded = _superseded(before)
    if superseded:
        said.append(f"requirements in the repository supersede existing tests: {few(sorted(superseded), FEW)}")
    if _superseded(after) - superseded:
        said.append("the head lets its own requirements supersede existing tests: only you can, in a file of yours")
    if _sets_up(after) and not _sets_up(before):
        what = "settings in the head's requirements files for an environment or a server"
        said.append(f"{what} are left out, because the base has none")
    if any(isinstance(check, TestsCheck) and check.from_ for one in before.requirements for check in one.checks):
        said.append("files that a check takes `from` a folder come only with a file that you pass: --requirements FILE")
    if within:
        left = sources.find_specifications(blobs[base]).keys() - taken.keys()
        said += [f"left out by --requirements: {file}" for file in sorted(left)]
    whole = before.model_copy(update={"requirements": tuple(due)})
    return whole.model_copy(update={"file": ", ".join(sorted(taken))}), tuple(said)


def _superseded(asked: Requirements) -> set[str]:
    return {test for requirement in asked.requirements for test in requirement.supersedes}


def _remark_on_files(due: Iterable[Requirement], touched: set[str]) -> list[str]:
    """A remark on requirements files that the change does not touch, although their requirements are judged. If they
    were left out, the author of the change would choose what the change is judged by. The user can name the files to
    judge."""
    files = dict.fromkeys(requirement.source.file for requirement in due)
    rest = [file for file in files if file not in touched]
    if not rest or len(files) == 1:
        return []
    about = next((file for file in files if file in touched), rest[0])
    return [
        f"this change does not touch {few(rest, FEW)}, whose requirements are judged, too: if they belong to earlier "
        f"work, name the file or folder to judge, such as --requirements {shlex.quote(about)}"
    ]


async def _specification_files(
    workspace: GitWorkspace, on_base: Iterable[str], here: Iterable[str]
) -> "dict[str, SpecificationFormat]":
    """Path → format of each file with requirements. If the base has such files, a file of the head counts only if its
    format is the format of a file on the base.

    Files of the base in which no requirement is found do not count, so they hide no files of other formats.
    """
    from trued.inputs import specifications as sources

    left = set(on_base)
    while taken := sources.find_specifications(left):
        texts = await _read_specification_texts(workspace, workspace.base, taken, left)
        if sources.read_specifications(taken, texts).requirements:
            kinds = set(taken.values())
            return taken | {path: source for source in kinds for path in source.matching_paths(sorted(here))}
        left -= taken.keys()
    return sources.find_specifications(here)


async def _read_specification_texts(
    workspace: GitWorkspace, commit: str, taken: "Mapping[str, SpecificationFormat]", there: Collection[str]
) -> dict[str, str]:
    paths = [path for path in sorted(taken) if path in there]
    if len(paths) > MOST_FILES:
        raise BadInput(
            f"{len(paths)} files hold requirements", then="name one of them, or a folder, with --requirements"
        )
    texts = {}
    for path in paths:
        data = await workspace.read(commit, path) or b""
        if len(data) > FILE_LIMIT:
            raise BadInput(f"{path} at {commit[:12]} is too large to be read", then="name a file with --requirements")
        texts[path] = data.decode("utf-8", "replace")
    return texts


def _refuse_untrusted(asked: Requirements) -> None:
    """Raise Untrusted if requirements set up an environment or a server: only the user may do that."""
    if _sets_up(asked):
        raise Untrusted(
            f"{asked.file} in the repository sets up an environment or a server and is not trusted",
            then=f"review it, then pass it yourself: --requirements {asked.file.split(', ')[0]}",
        )


def _sets_up(asked: Requirements) -> bool:
    return asked.environment != Environment() or asked.serve is not None


def _without_checks(requirement: Requirement) -> Requirement:
    return requirement.model_copy(update={"checks": (), "supersedes": (), "keep": False})
