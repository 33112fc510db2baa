"""What lies in a folder that an agent has touched, as a tree in the store: its files, never its git.

The agent's own `.git` decides nothing here. The store is the repository, the index is the engine's, the folder is only
read. Files that the tree's `.gitignore` names stay out; what the agent hid by other means (`info/exclude`, index flags)
does not. A repository inside the folder is taken as the files that it holds.
"""

import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .store import Store


@dataclass(frozen=True, slots=True)
class Listed:
    """Paths that differ from the index."""

    there: tuple[str, ...]
    gone: tuple[str, ...]


async def tree_of(store: Store, work: Path, index: Path, aside: Path) -> str:
    """The tree of `work`, compared with `index`, which stays as it is; `aside` becomes the index of what is there."""
    shutil.copyfile(index, aside)
    variables = {"GIT_INDEX_FILE": str(aside)}
    update = (f"--work-tree={work}", "update-index", "-z")
    listed = await _listed(store, work, variables)
    if listed.gone:
        await store.git(*update, "--force-remove", "--stdin", stdin=_joined(listed.gone), variables=variables)
    if listed.there:
        add = (*update, "--add", "--replace", "--stdin")
        code, _, _ = await store.git.attempt(*add, stdin=_joined(listed.there), variables=variables)
        if code != 0:
            _make_readable(work)
            await store.git(*add, stdin=_joined(listed.there), variables=variables)
    return await store.git.line("write-tree", variables=variables)


async def _listed(store: Store, work: Path, variables: dict[str, str]) -> Listed:
    words = (f"--work-tree={work}", "ls-files", "-z", "-t", "-s", "-m", "-o", "--exclude-standard")
    code, out, said = await store.git.attempt(*words, variables={**variables, "GIT_LITERAL_PATHSPECS": "1"})
    if code != 0 or "Permission denied" in said:
        _make_readable(work)
        out = await store.git(*words, variables=variables)
    there: list[str] = []
    gone: list[str] = []
    nested: list[str] = []
    for entry in out.decode(errors="surrogateescape").split("\0"):
        if entry.startswith("? "):
            (nested if entry.endswith("/") else there).append(entry[2:])
        elif entry:
            about, _, path = entry[2:].partition("\t")
            if not about.startswith("160000"):  # the commit of a submodule is not an agent's to move
                (there if _is_content(work, path) else gone).append(path)
    if nested:
        there += await _inside(store, work, nested, variables)
    return Listed(tuple(there), tuple(gone))


def _is_content(work: Path, path: str) -> bool:
    """A file or link that really lies in the folder, and not beyond a link."""
    parts = path.split("/")
    if any((work / "/".join(parts[:depth])).is_symlink() for depth in range(1, len(parts))):
        return False
    try:
        mode = os.lstat(work / path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


async def _inside(store: Store, work: Path, nested: list[str], variables: dict[str, str]) -> list[str]:
    found: list[str] = []
    for folder in nested:
        for top, folders, files in os.walk(work / folder):
            links = [name for name in folders if Path(top, name).is_symlink()]
            folders[:] = sorted(name for name in folders if name.lower() != ".git" and name not in links)
            found += [os.path.relpath(os.path.join(top, name), work) for name in (*files, *links)]  # noqa: PTH118
    found = [path for path in found if ".git" not in path.lower().split("/") and _is_content(work, path)]
    words = (f"--work-tree={work}", "check-ignore", "-z", "--stdin", "--no-index")
    _, out, _ = await store.git.attempt(*words, stdin=_joined(tuple(found)), variables=variables)
    ignored = set(out.decode(errors="surrogateescape").split("\0"))
    return [path for path in found if path not in ignored]


def _joined(paths: tuple[str, ...]) -> bytes:
    return b"".join(path.encode(errors="surrogateescape") + b"\0" for path in paths)


def _make_readable(work: Path) -> None:
    """The agent may have shut its files away from itself; they are still its work."""
    subprocess.run(["chmod", "-R", "u+rwX", "--", str(work)], capture_output=True, check=False)
