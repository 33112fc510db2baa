"""Adds to a checkout the content that the commit only refers to: LFS files and submodules. They are copied by hash from
the user's repository.

Only large files to which the base refers are copied, and only submodules at the paths at which the base has them, at
the commit that the checkout's own commit names. Where a head refers to anything else, its checkout has what is
committed: a pointer or an empty folder.
"""

import asyncio
import hashlib
import os
import re
import shutil
from pathlib import Path, PurePosixPath

from trued.errors import BadInput
from trued.workspace.git.store import LINK, Store

POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:[a-z0-9.-]+ [^\n]*\n)*?oid sha256:([0-9a-f]{64})\nsize (\d+)\n"
)
POINTER_BYTES = 1024  # the LFS specification allows no larger pointer
DEPTH = 3  # at most this many levels of submodules in submodules
PIECE_BYTES = 1 << 20


async def complete_checkout(store: Store, base: str, commit: str, work: Path, index: Path) -> tuple[str, ...]:
    """Add large files and submodules to a checkout. Returns sentences about what is missing."""
    large = await _large_files(store, base, commit, work)
    modules = await _Submodules(store, index).bring(base, commit, work)
    return (*large, *modules)


async def files_of_submodules(store: Store, base: str, commit: str) -> dict[str, str]:
    """Path → blob of the files in the submodules of `commit` that the base has, too, and that are on this machine."""
    return await _Submodules(store, Path()).files(base, commit)


# -- large files -------------------------------------------------------------------------------------------------------


async def _large_files(store: Store, base: str, commit: str, work: Path) -> list[str]:
    on_base = await store.entries(base)
    attributes = [path for path in on_base if PurePosixPath(path).name == ".gitattributes"]
    texts = [await store.read(base, path) or b"" for path in attributes]
    if not any(b"filter=lfs" in text for text in texts):
        return []
    named = {blob for _, blob in on_base.values()}
    paths = [path for path, (mode, blob) in (await store.entries(commit)).items() if mode != LINK and blob in named]
    source = Path(await store.source())
    return await asyncio.to_thread(_replace_pointers, work, paths, source / "lfs" / "objects")


def _replace_pointers(work: Path, paths: list[str], objects: Path) -> list[str]:
    lost = []
    for path in paths:
        file = work / path
        try:
            small = file.lstat().st_size <= POINTER_BYTES
            found = POINTER.match(file.read_bytes()) if small else None
        except OSError:
            continue
        if found and not _replace_pointer(file, objects, found.group(1).decode(), int(found.group(2))):
            lost.append(f"{path}: the repository has only a pointer to its content; `git lfs pull` fetches the content")
    return lost


def _replace_pointer(file: Path, objects: Path, name: str, size: int) -> bool:
    """Replace a pointer by its content. Returns False if the content is missing or has another hash."""
    content = objects / name[:2] / name[2:4] / name
    aside = file.with_name(f".{name[:16]}")
    hashed = hashlib.sha256()
    try:
        if content.stat().st_size != size:
            return False
        with content.open("rb") as read, aside.open("xb") as write:
            while piece := read.read(PIECE_BYTES):
                hashed.update(piece)
                write.write(piece)
        if hashed.hexdigest() == name:
            shutil.copymode(file, aside)
            aside.replace(file)
            return True
    except OSError:
        return False
    finally:
        aside.unlink(missing_ok=True)
    return False


# -- submodules --------------------------------------------------------------------------------------------------------


class _Submodules:
    """The submodules of the user's repository that the base names."""

    def __init__(self, store: Store, index: Path) -> None:
        self.store, self.index = store, index

    async def bring(
        self, base: str, commit: str, work: Path, source: Path | None = None, depth: int = DEPTH
    ) -> list[str]:
        """Check out the submodules of `commit` that the base has, too. Returns sentences about what is missing.
        `source`: the repository that contains the submodules: the user's own, or a submodule."""
        wanted = await self.store.links(base)
        here = wanted if commit == base else await self.store.links(commit)
        if not here or not depth:
            return []
        places = await self._places(base, source or Path(await self.store.source())) if wanted else {}
        missing = [
            f"{path}: the submodule is not checked out, because the base does not have it"
            for path in here
            if path not in wanted
        ]
        for path in sorted(path for path in here if path in wanted):
            place = places.get(path)
            if place is None or not await self._check_out(here[path], place, work / path):
                missing.append(f"{path}: the submodule is missing; `git submodule update --init` fetches it")
                continue
            missing += await self.bring(here[path], here[path], work / path, place, depth - 1)
        return missing

    async def files(
        self, base: str, commit: str, source: Path | None = None, depth: int = DEPTH, above: str = ""
    ) -> dict[str, str]:
        """What `bring` would check out: path → blob."""
        wanted = await self.store.links(base)
        here = wanted if commit == base else await self.store.links(commit)
        shared = [path for path in here if path in wanted] if depth else []
        places = await self._places(base, source or Path(await self.store.source())) if shared else {}
        found: dict[str, str] = {}
        for path in shared:
            inner, place, folder = here[path], places.get(path), f"{above}{path}/"
            if place is None or not await self._fetch(inner, place):
                continue
            found |= {f"{folder}{name}": blob for name, (_, blob) in (await self.store.entries(inner)).items()}
            found |= await self.files(inner, inner, place, depth - 1, folder)
        return found

    async def _places(self, commit: str, source: Path) -> dict[str, Path]:
        """Path of a submodule → the folder in which the user's git keeps it."""
        words = ("config", "--blob", f"{commit}:.gitmodules", "-z", "--get-regexp", r"^submodule\..*\.path$")
        code, out, _ = await self.store.git.attempt(*words)
        found: dict[str, Path] = {}
        for entry in out.decode(errors="replace").split("\0") if code == 0 else ():
            key, _, path = entry.partition("\n")
            name = key.removeprefix("submodule.").removesuffix(".path")
            top = source / "modules"
            for place in (top / name, source.parent / path / ".git"):
                inside = Path(os.path.realpath(place)).is_relative_to(os.path.realpath(source.parent))
                if key and inside and ".." not in PurePosixPath(name).parts and (place / "objects").is_dir():
                    found.setdefault(path, place)
        return found

    async def _fetch(self, commit: str, place: Path) -> bool:
        try:
            await self.store.bring(str(place), commit, f"module/{commit}", depth=1)
        except BadInput:
            return False
        return True

    async def _check_out(self, commit: str, place: Path, work: Path) -> bool:
        if not await self._fetch(commit, place):
            return False
        work.mkdir(parents=True, exist_ok=True)
        await self.store.check_out(commit, work, self.index)
        self.index.unlink(missing_ok=True)
        return True
