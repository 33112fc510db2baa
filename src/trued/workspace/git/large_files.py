"""Adds LFS files and submodules to a checkout. Both are copied by hash from the user's repository.

A large file is copied only if the base also refers to it; otherwise its pointer stays. A submodule is checked out only
if the base has one at the same path; otherwise its folder stays empty. The checked-out commit of a submodule may differ
from that in the base.
"""

import asyncio
import hashlib
import os
import shutil
from pathlib import Path, PurePosixPath

from trued.errors import BadInput
from trued.support.lazy_regex import lazy_regex
from trued.workspace.git.store import LINK, Store

POINTER = lazy_regex(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:[a-z0-9.-]+ [^\n]*\n)*?oid sha256:([0-9a-f]{64})\nsize (\d+)\n"
)
POINTER_BYTES = 1024  # the LFS specification allows no larger pointer
DEPTH = 3  # levels of submodules in submodules
PIECE_BYTES = 1 << 20


async def complete_checkout(store: Store, base: str, commit: str, work: Path, index: Path) -> tuple[str, ...]:
    """Add large files and submodules to a checkout. Returns sentences about what is missing."""
    large = await _large_files(store, base, commit, work)
    modules = await _Submodules(store, index).bring(base, commit, work)
    return (*large, *modules)


async def files_of_submodules(store: Store, base: str, commit: str) -> dict[str, str]:
    """Path → blob of the files in those submodules of `commit` that are also in the base and on this machine."""
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
            pointer = POINTER.match(file.read_bytes()) if small else None
        except OSError:
            continue
        if pointer and not _replace_pointer(file, objects, pointer.group(1).decode(), int(pointer.group(2))):
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
    """The submodules of the user's repository that are in the base."""

    def __init__(self, store: Store, index: Path) -> None:
        self.store, self.index = store, index

    async def bring(
        self, base: str, commit: str, work: Path, source: Path | None = None, depth: int = DEPTH
    ) -> list[str]:
        """Check out the submodules of `commit` that are also in the base. Returns sentences about what is missing.
        `source`: the git folder of the repository that contains the submodules; by default the user's."""
        base_links = await self.store.links(base)
        head_links = base_links if commit == base else await self.store.links(commit)
        if not head_links or not depth:
            return []
        sources = await self._source_folders(base, source or Path(await self.store.source())) if base_links else {}
        missing = [
            f"{path}: the submodule is not checked out, because the base does not have it"
            for path in head_links
            if path not in base_links
        ]
        for path in sorted(path for path in head_links if path in base_links):
            source_folder = sources.get(path)
            if source_folder is None or not await self._check_out(head_links[path], source_folder, work / path):
                missing.append(f"{path}: the submodule is missing; `git submodule update --init` fetches it")
                continue
            missing += await self.bring(head_links[path], head_links[path], work / path, source_folder, depth - 1)
        return missing

    async def files(
        self, base: str, commit: str, source: Path | None = None, depth: int = DEPTH, above: str = ""
    ) -> dict[str, str]:
        """What `bring` would check out: path → blob."""
        base_links = await self.store.links(base)
        head_links = base_links if commit == base else await self.store.links(commit)
        shared = [path for path in head_links if path in base_links] if depth else []
        sources = await self._source_folders(base, source or Path(await self.store.source())) if shared else {}
        blobs: dict[str, str] = {}
        for path in shared:
            inner, source_folder, folder = head_links[path], sources.get(path), f"{above}{path}/"
            if source_folder is None or not await self._fetch(inner, source_folder):
                continue
            blobs |= {f"{folder}{name}": blob for name, (_, blob) in (await self.store.entries(inner)).items()}
            blobs |= await self.files(inner, inner, source_folder, depth - 1, folder)
        return blobs

    async def _source_folders(self, commit: str, source: Path) -> dict[str, Path]:
        """Path of a submodule → the folder in which the user's git keeps it."""
        arguments = ("config", "--blob", f"{commit}:.gitmodules", "-z", "--get-regexp", r"^submodule\..*\.path$")
        code, out, _ = await self.store.git.attempt(*arguments)
        folders: dict[str, Path] = {}
        for entry in out.decode(errors="replace").split("\0") if code == 0 else ():
            key, _, path = entry.partition("\n")
            name = key.removeprefix("submodule.").removesuffix(".path")
            top = source / "modules"
            for folder in (top / name, source.parent / path / ".git"):
                inside = Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(source.parent))
                if key and inside and ".." not in PurePosixPath(name).parts and (folder / "objects").is_dir():
                    folders.setdefault(path, folder)
        return folders

    async def _fetch(self, commit: str, source: Path) -> bool:
        try:
            await self.store.bring(str(source), commit, f"module/{commit}", depth=1)
        except BadInput:
            return False
        return True

    async def _check_out(self, commit: str, source: Path, work: Path) -> bool:
        if not await self._fetch(commit, source):
            return False
        work.mkdir(parents=True, exist_ok=True)
        await self.store.check_out(commit, work, self.index)
        self.index.unlink(missing_ok=True)
        return True
