"""The file or folder that the user names with `--requirements`, if it is in the repository.

A file outside the repository is the user's own, and is used as it is. A file with uncommitted changes is used as it is,
too. If commits since the base have changed the file, the base's requirements count, and those that the commits add.
Otherwise the author of the head could remove requirements.
"""

import base64
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from trued.engine.requirements_source import blobs_of, read_requirements
from trued.errors import BadInput
from trued.inputs.requirements.coverage import unique_ids
from trued.model import Requirement, Requirements, TestsCheck
from trued.proof.hashes import check_hash
from trued.proof.room.frozen_files import is_below
from trued.support.plurals import counted, few
from trued.support.symbolic_links import name_in_commit, name_inside
from trued.workspace.git.commit_lookup import NamedCommit, is_in_history
from trued.workspace.git.workspace import GitWorkspace

FEW = 3  # at most this many files are named in a remark


async def place_in_commit(workspace: GitWorkspace, commit: str, name: str) -> str:
    """The path in the commit to which `name` leads, following the commit's symbolic links; "" if the links lead out of
    the commit, or in a circle."""
    targets = await workspace.read_all(commit, await workspace.symbolic_links(commit))
    return name_in_commit(name, {path: target.decode(errors="replace") for path, target in targets.items()}) or ""


async def folder_in_commits(workspace: GitWorkspace, head: str, folder: Path, roots: Iterable[Path | None]) -> str:
    """The path of a folder in the repository, with a slash at its end; "" for the whole repository. Follows the
    symbolic links of the base, or those of the head if the base lacks the folder. Raises BadInput if the folder is in
    none of the working trees (`roots`), or if its path is a file in base or head."""
    names = (name_inside(root, folder) for root in roots if root)
    if (name := next((name for name in names if name is not None), None)) is None:
        raise BadInput(
            f"{folder} is a folder outside of the repositories", then="pass a file, or a folder of the project"
        )
    for commit in (workspace.base, head) if name else ():
        place, paths = await place_in_commit(workspace, commit, name), await workspace.blobs(commit)
        if place in paths:
            what = f"{name} is a folder in the working tree, and a file at {commit[:12]}"
            raise BadInput(what, then="name a file or folder that both commits have")
        if place and any(path.startswith(f"{place}/") for path in paths):
            return f"{place}/"
    return f"{name}/" if name else ""


async def with_words_of_base(
    workspace: GitWorkspace, given: Requirements, file: Path, sides: Sequence[NamedCommit]
) -> tuple[Requirements, tuple[str, ...]]:
    """The requirements that count, from the file that the user named and from its version on the base. Also returns
    remarks for people. `sides`: head and base."""
    roots = {side.root.resolve(): name_inside(side.root, file) for side in sides if side.root}
    root, name = next(((root, name) for root, name in roots.items() if name), (Path(), ""))
    if not name:
        return given, ()
    place = await place_in_commit(workspace, workspace.base, name)
    before = await _requirements_on_base(workspace, place)
    content, is_linked = file.read_bytes(), not place or file.resolve() != root / place
    is_committed = is_linked or await is_in_history(sides, blobs_of(content))
    if before is None:
        remark = f"{name} has no requirements that can be read on the base, so the present file counts"
        return given, (remark,) if is_committed else ()
    is_changed = (await workspace.blobs(workspace.base))[place] not in blobs_of(content)
    made, said = _compared(given, before, name, is_committed=is_committed) if is_changed else (given, [])
    folders = await _folders_on_base(workspace, made, place)
    files = await _files_on_base(workspace, made, folders)
    is_linked |= any(base and (file.parent / beside).resolve() != root / base for beside, base in folders.items())
    others = {path: text for path, text in given.carried.items() if files.get(path, text) != text}
    owns = [
        path
        for path, text in others.items()
        if not is_linked and not await is_in_history(sides, blobs_of(base64.b64decode(text)))
    ]
    replaced = {path: text for path, text in files.items() if path not in owns}
    if changed := sorted(path for path, text in replaced.items() if given.carried.get(path) != text):
        said.append(f"the head changed {few(changed, FEW)}: the base's version counted")
    return made.model_copy(update={"carried": given.carried | replaced}), tuple(said)


def _compared(
    given: Requirements, before: Requirements, name: str, *, is_committed: bool
) -> tuple[Requirements, list[str]]:
    """The requirements that count if the named file (`given`) differs from its version on the base (`before`). If the
    change is not committed, all requirements of `given` count. If it is committed, the base's requirements count,
    together with the requirements that the change adds. Added requirements may not supersede existing tests. Also
    returns remarks for people."""
    known, found = ({_words_and_checks(one) for one in side.requirements} for side in (before, given))
    lost = counted(len(known - found), "requirement")
    if not is_committed:
        without = f", without {lost} of its text on the base" if known - found else ""
        return given, [f"{name} has uncommitted changes: it counts as it is in the working tree{without}"]
    further = (one for one in given.requirements if _words_and_checks(one) not in known)
    added = (one.model_copy(update={"supersedes": ()}) for one in further)
    said = [f"the head changed {name}: {lost} of its text on the base counted, too"] if known - found else []
    if (given.environment, given.serve) != (before.environment, before.serve):
        said.append(f"the head changed the environment or the server in {name}: the version of the base counted")
    if {test for one in given.requirements for test in one.supersedes} - {
        test for one in before.requirements for test in one.supersedes
    }:
        said.append(f"the head lets a requirement in {name} supersede existing tests: only you can, in a file of yours")
    whole = before.model_copy(update={"requirements": tuple(unique_ids((*before.requirements, *added)))})
    return whole.model_copy(update={"file": given.file}), said


def _words_and_checks(requirement: Requirement) -> tuple[str, ...]:
    return requirement.text, *map(check_hash, requirement.checks)


async def _requirements_on_base(workspace: GitWorkspace, place: str) -> Requirements | None:
    """The requirements in the file `place` on the base, without the files that their checks take from folders. None if
    the base lacks the file, or if it cannot be read as requirements."""
    data = await workspace.read(workspace.base, place) if place else None
    try:
        return None if data is None else read_requirements(place, data.decode("utf-8", "replace"))
    except BadInput:
        return None


def _checks_with_files(made: Requirements) -> list[TestsCheck]:
    checks = [check for one in made.requirements for check in one.checks]
    return [check for check in checks if isinstance(check, TestsCheck) and check.from_]


async def _folders_on_base(workspace: GitWorkspace, made: Requirements, place: str) -> dict[str, str]:
    """Folder from which checks take files → its path on the base; "" if the folder is outside the repository."""
    above = posixpath.dirname(place)
    named = {check.from_ for check in _checks_with_files(made)}
    return {name: await place_in_commit(workspace, workspace.base, posixpath.join(above, name)) for name in named}


async def _files_on_base(workspace: GitWorkspace, made: Requirements, folders: Mapping[str, str]) -> dict[str, str]:
    """Path in the project → content in base64, of each file on the base that checks take from these folders."""
    links = await workspace.symbolic_links(workspace.base)
    paths = [path for path in await workspace.blobs(workspace.base) if path not in links and "__pycache__" not in path]
    inside = dict[str, str]()  # path on the base → path in the project
    for check in _checks_with_files(made):
        top = f"{folders[check.from_]}/"
        below = {path: path.removeprefix(top) for path in paths if path.startswith(top)}
        inside |= {
            path: name
            for path, name in below.items()
            if not check.files or any(is_below(name, one) for one in check.files)
        }
    texts = await workspace.read_all(workspace.base, inside)
    return {inside[path]: base64.b64encode(text).decode() for path, text in texts.items()}
