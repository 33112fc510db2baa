"""Where `verify` gets its requirements: a file that the user names, or files in the repository."""

import shlex
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from trued.errors import BadInput, Untrusted
from trued.inputs.requirements.coverage import unique_ids
from trued.model import CommandCheck, Environment, Requirement, Requirements, TestsCheck
from trued.proof.room.frozen_files import is_below
from trued.support.hashing import git_blob_names
from trued.support.located import read_text
from trued.support.located.spots import FILE_LIMIT
from trued.support.plurals import counted, few
from trued.workspace.git.workspace import GitWorkspace

if TYPE_CHECKING:
    from trued.inputs.specifications import SpecificationFormat

MARKDOWN = (".md", ".markdown")
MOST_FILES = 500  # at most this many specification files of one repository are read
FEW = 3  # at most this many files are named in a remark


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


async def refuse_missing_files(workspace: GitWorkspace, given: Requirements, head: str) -> None:
    """Raise BadInput if a check names a file or folder that neither commit has: its verdict would be about a typing
    error, not about the work. Files of a check with `from` come with the requirements."""
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
        raise BadInput(f"`files` names {name}, which is in neither commit", str(source or ""), hint)


async def find_requirements(
    workspace: GitWorkspace, head: str, within: str = ""
) -> tuple[Requirements, tuple[str, ...]]:
    """The requirements in the repository itself, or in its folder `within`, and remarks on them; empty if base and head
    have none.

    Requirements and checks of the base count, whatever the head changed in them or elsewhere. Requirements that the
    head adds also count, but not their checks, which the implementer wrote.
    """
    from trued.inputs import specifications as sources

    base = workspace.base
    blobs = {side: await workspace.blobs(side) for side in (base, head)}
    below = {side: [path for path in blobs[side] if path.startswith(within)] for side in blobs}
    taken = _specification_files(below[base], below[head])
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
    if within:
        left = sources.find_specifications(blobs[base]).keys() - taken.keys()
        said += [f"left out by --requirements: {file}" for file in sorted(left)]
    whole = before.model_copy(update={"requirements": tuple(due)})
    return whole.model_copy(update={"file": ", ".join(sorted(taken))}), tuple(said)


def _remark_on_files(due: Iterable[Requirement], touched: set[str]) -> list[str]:
    """A remark on files that this change does not touch although their requirements are due. They stay due: otherwise
    the author of the change would choose what it is judged by. The user can name the files to judge."""
    files = dict.fromkeys(requirement.source.file for requirement in due)
    rest = [file for file in files if file not in touched]
    if not rest or len(files) == 1:
        return []
    about = next((file for file in files if file in touched), rest[0])
    return [
        f"this change does not touch {few(rest, FEW)}, whose requirements are judged, too: if they belong to earlier "
        f"work, name the file or folder to judge, such as --requirements {shlex.quote(about)}"
    ]


def folder_in_repository(folder: Path, roots: Iterable[Path | None]) -> str:
    """The path of a folder inside one of these working trees, with a slash at its end; "" for the tree itself. Raises
    BadInput if it is in none of them."""
    real = folder.resolve()
    for root in roots:
        if root and real.is_relative_to(root.resolve()):
            inside = real.relative_to(root.resolve()).as_posix()
            return "" if inside == "." else f"{inside}/"
    raise BadInput(f"{folder} is a folder outside of the repositories", then="pass a file, or a folder of the project")


async def with_words_of_base(
    workspace: GitWorkspace, given: Requirements, head: str, file: Path, roots: Iterable[Path | None]
) -> tuple[Requirements, tuple[str, ...]]:
    """The requirements of a Markdown file that the user named, and a remark. If the head has the file as it is now,
    requirements that the file has only on the base are added: otherwise the author of the head would choose what
    counts. A file that is in no commit is the user's own, and counts as it is."""
    from trued.inputs import specifications as sources

    name = await _committed_name(workspace, head, file, roots)
    data = await workspace.read(workspace.base, name) if name else None
    if data is None:
        return given, ()
    try:
        before = sources.read_specification(name, data.decode("utf-8", "replace")).requirements
    except BadInput:  # on the base it held no requirements
        return given, ()
    same = {(requirement.text, requirement.checks) for requirement in given.requirements}
    lost = [requirement for requirement in before if (requirement.text, requirement.checks) not in same]
    if not lost:
        return given, ()
    due = tuple(unique_ids((*given.requirements, *lost)))
    remark = f"the head changed {name}: {counted(len(lost), 'requirement')} of its text on the base counted, too"
    return given.model_copy(update={"requirements": due}), (remark,)


async def _committed_name(workspace: GitWorkspace, head: str, file: Path, roots: Iterable[Path | None]) -> str:
    """The path of this Markdown file in the head, if the head has it with exactly this content; else ""."""
    if file.suffix.lower() not in MARKDOWN:
        return ""
    real = file.resolve()
    for root in roots:
        if root and real.is_relative_to(root.resolve()):
            name = real.relative_to(root.resolve()).as_posix()
            if (await workspace.blobs(head)).get(name) in blobs_of(real.read_bytes()):
                return name
    return ""


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
    if asked.environment != Environment() or asked.serve:
        raise Untrusted(
            f"{asked.file} in the repository sets up an environment or a server and is not trusted",
            then=f"review it, then pass it yourself: --requirements {asked.file.split(', ')[0]}",
        )


def _without_checks(requirement: Requirement) -> Requirement:
    return requirement.model_copy(update={"checks": (), "supersedes": (), "keep": False})
