"""The history that every clone of a run begins with, packed once and copied, so that a long run's clones stay cheap.

A clone must hold the history of its head and not one object more. The pack of the base's history is made once; as the
run's own commits grow, further packs are added, each on top of an earlier one. A clone gets copies, never links: what
an agent does to its files must not reach the next one.
"""

import asyncio
import json
import shutil
from pathlib import Path

from trued import durable

from .store import Store

GROWN = 64  # commits above the nearest pack that are packed anew for each clone, before they get a pack of their own
LOOKED_AT = 8  # packs that are tried as the nearest; parallel lines of work have each their own


class History:
    """Packs of one run: commit → (the commit that it stands on, name of the pack)."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.folder, self.grown = store, folder, GROWN
        self._growing = asyncio.Lock()

    async def put(self, head: str, pack: Path, *, present: str = "") -> None:
        """Put all objects of the history of `head` into this folder, which may hold that of `present` already."""
        if present:
            await self._packed(pack, head, present, quickly=True)
            return
        async with self._growing:
            known = await self._known()
            nearest, above = await self._nearest(known, head)
            if above > self.grown:
                known[head] = (nearest, await self._packed(self.folder, head, nearest))
                self._remember(known)
                nearest, above = head, 0
        if above:
            await self._packed(pack, head, nearest, quickly=True)
        step = nearest
        while step:
            step, name = known[step]
            for file in self.folder.glob(f"pack-{name}.*"):
                shutil.copyfile(file, pack / file.name)

    async def _known(self) -> dict[str, tuple[str, str]]:
        path = self.folder / "packs.json"
        if path.exists():
            return {commit: (below, name) for commit, (below, name) in json.loads(path.read_bytes()).items()}
        self.folder.mkdir(parents=True, exist_ok=True)
        base = await self.store.git.line("rev-parse", "--verify", self.store.ref("base"))
        known = {base: ("", await self._packed(self.folder, base, ""))}
        self._remember(known)
        return known

    def _remember(self, known: dict[str, tuple[str, str]]) -> None:
        durable.write(self.folder / "packs.json", json.dumps(known), sync=False)

    async def _nearest(self, known: dict[str, tuple[str, str]], head: str) -> tuple[str, int]:
        """The packed commit below `head`, and how many commits lie between."""
        if head in known:
            return head, 0
        commits = list(known)
        for commit in [*commits[:0:-1][:LOOKED_AT], commits[0]]:
            counted = await self.store.git.line("rev-list", "--left-right", "--count", f"{commit}...{head}")
            beside, above = counted.split()
            if beside == "0":
                return commit, int(above)
        return "", self.grown + 1  # a head that does not stand on the base: all of it is packed

    async def _packed(self, folder: Path, head: str, below: str, *, quickly: bool = False) -> str:
        wanted = f"{head}\n^{below}\n" if below else f"{head}\n"
        search = ("--window=0",) if quickly else ()
        options = ("--revs", "-q", "--non-empty", "--delta-base-offset", "--threads=1", *search)
        return await self.store.git.line("pack-objects", *options, str(folder / "pack"), stdin=wanted.encode())
