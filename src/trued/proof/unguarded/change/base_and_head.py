"""The files of the two commits between which a change lies, and their texts."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

from trued.proof.room.frozen_files import is_test
from trued.proof.text.commit_texts import MOST_FILES, texts_at
from trued.protocols import Workspace


class BaseAndHead:
    """The files of a base and a head. The base's code is read once, although several searches ask for it."""

    def __init__(self, workspace: Workspace, base: str, head: str) -> None:
        self._workspace, self.base, self.head = workspace, base, head
        self._texts_of_base: dict[str, str] = {}

    async def blobs_of_base(self) -> Mapping[str, str]:
        """Path → blob of every file of the base."""
        return await self._workspace.blobs(self.base)

    async def blobs(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Path → blob of every file, on base and head."""
        return await self._workspace.blobs(self.base), await self._workspace.blobs(self.head)

    async def read_base(self, paths: Collection[str]) -> dict[str, str]:
        """Path → text, for each of these files that the base has."""
        return await texts_at(self._workspace, self.base, paths)

    async def read(self, paths: Collection[str]) -> tuple[dict[str, str], dict[str, str]]:
        """The texts of these files on base and head."""
        return await self.read_base(paths), await texts_at(self._workspace, self.head, paths)

    async def texts_of_tests(self, tests: Iterable[str]) -> dict[str, str]:
        """Test (`file` or `file::name`) → the text of its file on the base; "" if the base has no such file."""
        files = {name: name.split("::")[0] for name in tests}
        texts = await self.read_base({*files.values()})
        return {name: texts.get(path, "") for name, path in files.items()}

    async def texts_of_base(
        self, *, tests: bool = False, suffixes: tuple[str, ...] = (".py",), most: int = MOST_FILES
    ) -> dict[str, str]:
        """Path → text of the base's files with these suffixes, with or without tests and their helpers. The suffix ""
        stands for names without a suffix."""
        ends = tuple(suffix for suffix in suffixes if suffix)
        known = [
            path
            for path in await self.blobs_of_base()
            if path.endswith(ends) or ("" in suffixes and "." not in PurePosixPath(path).name)
        ]
        paths = [path for path in known if tests or not is_test(path)][:most]
        if unread := [path for path in paths if path not in self._texts_of_base]:
            self._texts_of_base |= dict.fromkeys(unread, "") | await self.read_base(unread)
        return {path: self._texts_of_base[path] for path in paths}
