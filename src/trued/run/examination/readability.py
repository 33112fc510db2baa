"""Tests whether agents can read what is held out, with a canary file in every folder that an examiner used."""

import base64
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from trued.proof.room.frozen_files import is_named_like_a_test
from trued.run.context import RunContext
from trued.support.hashing import folder_name, git_blob_names


async def check_held_out(
    context: RunContext, examiners: Iterable[tuple[str, str]], *, examined: bool
) -> tuple[bool, str]:
    """Whether the engine has made sure that agents cannot read the cases, and the reason in one sentence.

    `examiners`: for each session that saw the cases, its clone and the key of its calls. `examined`: whether there are
    cases by examiners.
    """
    if context.requirements is None and not examined:
        return False, "there is no requirements file"
    workspace = context.workspace
    blobs = await workspace.blobs(workspace.base)
    if copies := [path for path, blob in blobs.items() if blob in context.secret_blobs]:
        return False, f"{copies[0]} in the repository is a copy of the requirements file: its cases count as visible"
    if copies := _copied_tests(context, blobs):
        return False, f"{copies[0]} in the repository is a copy of a test that is held out: the cases count as visible"
    for path in context.hidden_paths:
        if (file := _some_file(path)) and await workspace.can_agents_read(file):
            return False, f"agents can read {path.name}: its cases count as visible"
    for folder in {folder: None for clone, key in examiners for folder in _places(context.folder, clone, key)}:
        what = f"the examiner's {folder.relative_to(context.folder).parts[0]}"
        is_read = await _canary_read(context, folder)
        if is_read is None:
            why = "no file can be written there, so this cannot be tried"
            return False, f"agents may be able to read {what} ({why}): its cases count as visible"
        if is_read:
            return False, f"agents can read {what}: its cases count as visible"
    whose = "the examiner's cases" if context.requirements is None else "the requirements file"
    return True, f"agents cannot read {whose}: tried in their sandbox"


def _copied_tests(context: RunContext, blobs: Mapping[str, str]) -> list[str]:
    """Files of the repository that are copies of a held-out test (one that comes with the requirements file) at another
    path. A held-out test whose own path is in the repository is left out, because it is visible anyway."""
    carried = context.requirements.carried if context.requirements else {}
    tests = {path: base64.b64decode(text) for path, text in carried.items() if is_named_like_a_test(path)}
    secret = {name for path, data in tests.items() if path not in blobs for name in git_blob_names(data)}
    return sorted(path for path, blob in blobs.items() if blob in secret)


def _some_file(path: Path) -> Path | None:
    """The path itself, or some file in it if it is a folder, because agents see a hidden folder as an empty one. None
    if the folder has no file."""
    return path if not path.is_dir() else next((file for file in sorted(path.rglob("*")) if file.is_file()), None)


def _places(run: Path, clone: str, key: str) -> Iterator[Path]:
    """The clone, HOME and transcripts of one session."""
    for name in ("work", "home"):
        yield from run.glob(f"clones/{clone}*/{name}")
    yield from run.glob(f"spool/{folder_name(key)[:40]}*")


async def _canary_read(context: RunContext, folder: Path) -> bool | None:
    """Whether agents can read a new file in this folder; None if no such file can be written, so nothing was tried."""
    canary = folder / f".canary-{secrets.token_hex(8)}"
    try:
        canary.write_text("nobody may read this")
    except OSError:
        return None
    try:
        return await context.workspace.can_agents_read(canary)
    finally:
        canary.unlink(missing_ok=True)
