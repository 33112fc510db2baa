"""Who may write which file: documents that agents cannot change, and live copies that people read and edit."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from trued.run.state import FileState
from trued.support import atomic_files
from trued.support.hashing import content_hash, folder_name
from trued.support.path_sets import includes_path


@dataclass(frozen=True, slots=True)
class ForeignEdits:
    """Files that an agent changed although it may not. The files in `put_back` have their old content again. The files
    in `kept` stay changed on the branch for people to read, while evidence uses the version that the contract
    sealed."""

    put_back: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        return (*self.put_back, *self.kept)


def protected_files(owned: Collection[str], persons: Collection[str]) -> tuple[str, ...]:
    """Documents that no agent may write, in any workflow: the engine's (`owned`: a workflow declares them with
    `Branch.own`) and people's (`persons`: plan, ticket, specification, requirements file). An agent's changes to these
    files are undone when its work is committed, before anything else reads the files."""
    return tuple(dict.fromkeys((*owned, *persons)))


def foreign_edits(
    changed: Iterable[str], undone: Iterable[str], protected: Collection[str], frozen: Collection[str]
) -> ForeignEdits:
    """An agent's changes to files that it may not change. `changed`: files in the agent's commit. `undone`: files whose
    change was undone before the commit. `protected` and `frozen`: files that the agent may not change; changes to
    `frozen` files may be in the commit."""
    return ForeignEdits(
        put_back=tuple(sorted(path for path in {*undone} if includes_path({*protected, *frozen}, path))),
        kept=tuple(sorted(path for path in {*changed} if includes_path(frozen, path))),
    )


class LiveCopies:
    """The copies, in the run's folder, of files that the engine writes on the branch. A replay writes the copies again,
    but keeps a person's edit that the run has not read yet."""

    def __init__(self, folder: Path, files: FileState, counts: Counter[str]) -> None:
        self._folder, self._files, self._counts = folder, files, counts

    def write_copy(self, path: str, text: bytes) -> None:
        """Write the copy, over whatever is there. For a copy that people may edit, see `put_editable`."""
        copy = self.place(path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        atomic_files.write(copy, text, sync=False)

    def put_editable(self, path: str, text: bytes) -> None:
        """Write a copy that a person can also edit. An edit that has not been read yet stays.

        A replay writes the copy only if the engine was killed before the copy was in place.
        """
        self._counts[f"copy {path}"] += 1
        number, written = self._counts[f"copy {path}"], self._written(path)
        if written and (max(written) > number or [*written] == [number]):
            return
        if self.is_edited(path):
            return
        versions = self._versions_folder(path)
        versions.mkdir(parents=True, exist_ok=True)
        atomic_files.write(versions / str(number), text, sync=False)
        self.write_copy(path, text)
        for older in written:
            if older != number:
                (versions / str(older)).unlink()

    def known_versions(self, path: str) -> dict[str, str]:
        """Texts of the copy that do not count as a new edit, by hash: what the engine wrote, what it was about to write
        when it was killed, and a person's edit that was read."""
        versions = {content_hash(content): content.decode(errors="replace") for content in self._written(path).values()}
        return versions | dict([self._files.edits[path]] if path in self._files.edits else [])

    def is_edited(self, path: str) -> bool:
        """Whether the copy has a person's edit that the run has not read yet, or could not read."""
        copy = self.place(path)
        return copy.is_file() and content_hash(copy.read_bytes()) not in self.known_versions(path)

    def is_new_refusal(self, path: str, content: bytes) -> bool:
        """Whether this unreadable edit still has to be reported. Marks it as reported."""
        known, name = self._versions_folder(path) / "unread", content_hash(content).encode()
        if known.is_file() and known.read_bytes() == name:
            return False
        known.parent.mkdir(parents=True, exist_ok=True)
        atomic_files.write(known, name, sync=False)
        return True

    def place(self, path: str) -> Path:
        """The path of the live copy of this file, in `files/` of the run's folder. A file from a folder that the engine
        owns keeps its path below that folder; any other file keeps only its name."""
        inside = [folder for folder in self._files.owned if folder.endswith("/") and path.startswith(folder)]
        return self._folder / "files" / (path.removeprefix(inside[0]) if inside else path.rpartition("/")[2])

    def _written(self, path: str) -> dict[int, bytes]:
        """The stored versions of what the engine wrote, by version number: only the last one, unless the engine was
        killed before it deleted the previous one."""
        versions = self._versions_folder(path)
        numbers = (
            sorted(int(version.name) for version in versions.iterdir() if version.name.isdigit())
            if versions.is_dir()
            else []
        )
        return {number: (versions / str(number)).read_bytes() for number in numbers}

    def _versions_folder(self, path: str) -> Path:
        return self._folder / "put" / folder_name(path)


def closest_version(versions: Iterable[str], text: str) -> str:
    """The version that a person most likely edited to get this text."""
    lines = {*text.splitlines()}
    return min(versions, key=lambda version: len(lines ^ {*version.splitlines()}), default="")
