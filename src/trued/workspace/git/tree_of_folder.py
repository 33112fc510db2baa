"""Writes the files of an agent's folder into the store as a git tree, without using the agent's own `.git`.

Git runs with the store as its repository and with an index file that the engine made. Files that the tree's
`.gitignore` matches are left out. Files that the agent hid by other means (`info/exclude`, index flags) are included. A
repository inside the folder counts as plain files.
"""

import asyncio
import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from trued.workspace.git.command import TIMED_OUT, GitFailed
from trued.workspace.git.store import Store

# Files that a set-up installs and Python's cache are not work, even if the project does not ignore them.
SET_UP = (".venv/", "node_modules/", "*.egg-info/", "__pycache__/")


@dataclass(frozen=True, slots=True)
class ChangedPaths:
    """Paths that differ from the index."""

    present: tuple[str, ...]
    gone: tuple[str, ...]


async def git_on_folder(
    store: Store, work: Path, *arguments: str, stdin: bytes = b"", index: Path
) -> tuple[int, bytes, str]:
    """Run git on the folder. If git hangs, a named pipe might be the reason. Pipes contain no work, so they are
    removed, and git is run again."""
    variables = {"GIT_INDEX_FILE": str(index)}
    arguments = (f"--work-tree={work}", *arguments)
    ended = await store.git.attempt(*arguments, stdin=stdin, variables=variables, within_s=store.hang_timeout_s)
    if ended[0] == TIMED_OUT:
        await asyncio.to_thread(_remove_pipes, work)
        ended = await store.git.attempt(*arguments, stdin=stdin, variables=variables)
    return ended


def _remove_pipes(work: Path) -> None:
    for top, _, files in os.walk(work):
        for name in files:
            path = Path(top, name)
            if not stat.S_ISREG(mode := path.lstat().st_mode) and not stat.S_ISLNK(mode):
                path.unlink()


async def write_tree_of_folder(store: Store, work: Path, index: Path, known: str, aside: Path) -> str:
    """Write the files of `work` into the store as a tree, and return its hash. `index`: the index file that the files
    are compared with; it stays unchanged. `known`: the tree of `index`. `aside`: where the index of the new tree is
    written."""
    # copy2 keeps the index's time, so that git rechecks files that changed in the second when the index was written
    shutil.copy2(index, aside)
    listed = await _list_changes(store, work, aside)
    if not listed.gone and not listed.present:
        return known
    if listed.gone:
        await _update(store, work, "--force-remove", paths=listed.gone, index=aside)
    if listed.present:
        await _update(store, work, "--add", "--replace", paths=listed.present, index=aside)
    return await store.git.line("write-tree", variables={"GIT_INDEX_FILE": str(aside)})


async def _update(store: Store, work: Path, *options: str, paths: tuple[str, ...], index: Path) -> None:
    arguments = ("update-index", "-z", *options, "--stdin")
    code, _, stderr = await git_on_folder(store, work, *arguments, stdin=_joined(paths), index=index)
    if code != 0:
        _make_readable(work)
        code, _, stderr = await git_on_folder(store, work, *arguments, stdin=_joined(paths), index=index)
    if code != 0:
        raise GitFailed(arguments, stderr)


async def _list_changes(store: Store, work: Path, index: Path) -> ChangedPaths:
    made = (f"--exclude={name}" for name in SET_UP)
    arguments = ("ls-files", "-z", "-t", "-s", "-m", "-o", "--exclude-standard", *made)
    code, out, stderr = await git_on_folder(store, work, *arguments, index=index)
    if code != 0 or "Permission denied" in stderr:
        _make_readable(work)
        code, out, stderr = await git_on_folder(store, work, *arguments, index=index)
    if code != 0:
        raise GitFailed(arguments, stderr)
    present: list[str] = []
    gone: list[str] = []
    nested: list[str] = []
    for entry in out.decode(errors="surrogateescape").split("\0"):
        if entry.startswith("? "):
            (nested if entry.endswith("/") else present).append(entry[2:])
        elif entry:  # C: the file differs from the index; H: it is in the index, whether it differs or not
            about, _, path = entry[2:].partition("\t")
            if about.startswith("160000"):  # agents may not move a submodule to another commit
                continue
            if not is_content(work, path):
                gone.append(path)
            elif entry.startswith("C "):
                present.append(path)
    if nested:
        present += await _files_of_nested(store, work, nested, index)
    return ChangedPaths(tuple(present), tuple(gone))


def is_content(work: Path, path: str) -> bool:
    """Whether there is a file or a link at this path inside the folder. A path that leads through a link does not
    count."""
    parts = path.split("/")
    if any((work / "/".join(parts[:depth])).is_symlink() for depth in range(1, len(parts))):
        return False
    try:
        mode = os.lstat(work / path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


async def _files_of_nested(store: Store, work: Path, nested: list[str], index: Path) -> list[str]:
    paths: list[str] = []
    for folder in nested:
        for top, folders, files in os.walk(work / folder):
            links = [name for name in folders if Path(top, name).is_symlink()]
            folders[:] = sorted(name for name in folders if name.lower() != ".git" and name not in links)
            paths += [os.path.relpath(os.path.join(top, name), work) for name in (*files, *links)]  # noqa: PTH118
    paths = [path for path in paths if ".git" not in path.lower().split("/") and is_content(work, path)]
    arguments = ("check-ignore", "-z", "--stdin", "--no-index")
    _, out, _ = await git_on_folder(store, work, *arguments, stdin=_joined(tuple(paths)), index=index)
    ignored = set(out.decode(errors="surrogateescape").split("\0"))
    return [path for path in paths if path not in ignored]


def _joined(paths: tuple[str, ...]) -> bytes:
    return b"".join(path.encode(errors="surrogateescape") + b"\0" for path in paths)


def _make_readable(work: Path) -> None:
    """Make all files readable. An agent might have removed its own access to files, but they are still its work."""
    subprocess.run(["chmod", "-R", "u+rwX", "--", str(work)], capture_output=True, check=False)
