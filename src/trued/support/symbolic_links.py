"""Follows symbolic links, in a folder of this machine or in a commit."""

import posixpath
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

LINKS = 40  # a path that leads over more links than this counts as a circle


def name_inside(folder: Path, path: Path) -> str | None:
    """The name of a path below the folder: "" for the folder itself, None if the path does not lead into the folder.

    Symbolic links on the way to the folder are followed. Links below the folder are not followed: somebody may have put
    a link in place of the file or folder that the caller means.
    """
    top, here, links = folder.resolve(), Path("/"), 0
    waiting = [*reversed(path.absolute().parts[1:])]
    while True:
        rest = posixpath.normpath("/".join(reversed(waiting))) if waiting else "."
        if here == top and rest != ".." and not rest.startswith("../"):
            return "" if rest == "." else rest
        if not waiting:
            return None
        part = waiting.pop()
        here = here.parent if part == ".." else here / part
        if here.is_symlink():
            if (links := links + 1) > LINKS:
                return None
            target = here.readlink()
            here = Path("/") if target.is_absolute() else here.parent
            waiting += reversed([part for part in target.parts if part != "/"])


def name_in_commit(name: str, links: Mapping[str, str]) -> str | None:
    """The path to which a name leads in a commit with these symbolic links (path → target). None if it leads out of the
    commit or in a circle."""
    here, followed = list[str](), 0
    waiting = [*reversed(PurePosixPath(name).parts)]
    while waiting:
        part = waiting.pop()
        target = links.get("/".join((*here, part)))
        if target is not None and (followed := followed + 1) <= LINKS:
            waiting += reversed(PurePosixPath(target).parts)
        elif part.startswith("/") or target is not None or (part == ".." and not here):
            return None
        elif part == "..":
            here.pop()
        else:
            here.append(part)
    return "/".join(here)
