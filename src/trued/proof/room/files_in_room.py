"""Writes, removes and compares files of a clean room, and follows no link that the head's code may have left there."""

import base64
import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from trued.errors import CannotJudge
from trued.proof.room.bench import nonce

COMMITTED = "committed"  # beside a room: the commit's version of each file that the room does not have as committed
MOST_BYTES = 64 * 2**20  # at most this many bytes of a frozen file are compared; its size is always compared


def content_inside(room: Path, place: Path) -> bytes:
    """The content of this file; b"" if it is a link that leads out of the room, or not a file."""
    real = Path(os.path.realpath(place))
    return real.read_bytes() if real.is_relative_to(os.path.realpath(room)) and real.is_file() else b""


def real_folder(room: Path, parts: Iterable[str]) -> Path:
    """Make this folder of the room, and return it. Links and files that are in the way are removed."""
    folder = room
    for part in parts:
        folder = folder / part
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            folder.unlink()
        folder.mkdir(exist_ok=True)
    return folder


def remove_path(place: Path) -> None:
    """Remove a file, link or folder, if it exists."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def copy_into(original: Path, room: Path, path: str) -> None:
    """Copy one file into the room without following links that a head left there."""
    pure = PurePosixPath(path)
    place = real_folder(room, pure.parts[:-1]) / pure.name
    remove_path(place)
    shutil.copy2(original / path, place, follow_symlinks=False)


def write_carried(room: Path, path: str, carried: Mapping[str, str]) -> None:
    """Write the content that `carried` has for this path, in place of what the room has there. Follows no link. Raises
    CannotJudge if the path is outside the room."""
    place = checked_place(room, path)
    remove_path(place)
    place.write_bytes(base64.b64decode(carried[path]))


def unlink_in(room: Path, path: str) -> None:
    """Remove one file of the room without following links that a head left there."""
    folder = room
    for part in PurePosixPath(path).parts[:-1]:
        folder = folder / part
        if folder.is_symlink():
            return
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        (room / path).unlink()


def set_aside(room: Path, path: str) -> None:
    """Move one of the commit's files out of the room, to the same path in the folder `COMMITTED` beside it."""
    if any((room / folder).is_symlink() for folder in PurePosixPath(path).parents):
        return  # a link that the head left there
    place, target = room / path, room.parent / COMMITTED / path
    if place.is_symlink() or place.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        place.rename(target)


@contextmanager
def scratch_folder(room: Path) -> Iterator[Path]:
    """Make a folder with a random name in the room, for test runners, and remove it after the block."""
    folder = room / f".{nonce()[:12]}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def temporary_files(room: Path, argv: Iterable[str], files: Mapping[str, str] | None = None) -> Iterator[Path | None]:
    """Make a folder with these files for `Command.temporary`. Yields None if there are no files and the command line
    does not contain `{files}`. The folder is outside the checkout, so that code cannot recognise a check by it."""
    if not files and not any("{files}" in word for word in argv):
        yield None
        return
    with tempfile.TemporaryDirectory(dir=room.parent, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for path, content in (files or {}).items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode())
        yield folder


@contextmanager
def plant_file(room: Path, name: str, content: str) -> Iterator[Path]:
    """Write one of the engine's files into the room, and remove it after the block. Raises FileExistsError if the name
    is taken."""
    pure = PurePosixPath(name)
    place = real_folder(room, pure.parts[:-1]) / pure.name
    _write_new_file(place, content)
    try:
        yield place
    finally:
        with contextlib.suppress(OSError):
            unlink_in(room, name)


def _write_new_file(place: Path, content: str) -> None:
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644), "w") as file:
        file.write(content)


@contextmanager
def replace_files(room: Path, contents: Mapping[str, str]) -> Iterator[None]:
    """Replace files of the room while the block runs. The originals are kept outside the room. No link is followed,
    because code that runs in the room may leave links where files were."""
    with places_cleared(room, contents):
        for path, content in contents.items():
            _write_new_file(checked_place(room, path), content)
        yield


@contextmanager
def places_cleared(room: Path, paths: Iterable[str]) -> Iterator[None]:
    """Clear these paths of the room while the block runs, and then restore what was there. Raises CannotJudge if that
    fails, because no other check may run beside files that the block left."""
    aside = room.parent / f"aside-{nonce()[:12]}"
    aside.mkdir(mode=0o700)
    made_folders = _missing_folders(room, paths)
    moved = {path: aside / str(number) for number, path in enumerate(paths)}
    try:
        for path, saved in moved.items():
            _move(checked_place(room, path), saved)
        yield
    finally:
        _restore_places(room, moved, made_folders)
        shutil.rmtree(aside, ignore_errors=True)


def _restore_places(room: Path, moved: Mapping[str, Path], made_folders: Iterable[Path]) -> None:
    try:
        for path, saved in reversed(list(moved.items())):
            place = checked_place(room, path)
            remove_path(place)
            _move(saved, place)
        for folder in made_folders:
            with contextlib.suppress(OSError):  # a folder that is not empty stays
                folder.rmdir()
    except OSError as error:
        raise CannotJudge(f"files of one check could not be removed from the room: {error.strerror}") from error


def checked_place(room: Path, path: str) -> Path:
    """The place at which to write a file of the room. Makes the folder of the file. Raises CannotJudge if the place is
    outside the room."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise CannotJudge(f"the contract contains the file {path!r}, which is outside the checkout")
    return real_folder(room, pure.parts[:-1]) / pure.name


def _move(place: Path, to: Path) -> None:
    """Move a file, a link or a folder, if it exists."""
    with contextlib.suppress(FileNotFoundError):
        place.rename(to)


def _missing_folders(room: Path, files: Iterable[str]) -> list[Path]:
    """The folders that have to be created for these files, the innermost first."""
    above = {folder for path in files for folder in PurePosixPath(path).parents if folder.parts}
    return sorted((room / folder for folder in above if not (room / folder).exists()), reverse=True)


def footprint(room: Path, besides: Collection[str] = (), *, whole: bool = False) -> frozenset[tuple[str, int, int]]:
    """The state of every file and folder of the room. Equal footprints mean that nothing was written.

    A file's entry has its inode and its change time, which no program can set back. A folder's entry has its mode in
    place of the change time, because the engine's own files change that. `besides`: files of the room to ignore.
    `whole`: include the folders' change times, for rooms in which only cases run. Then the room's own folder counts,
    too, with its mode and number of attributes, but not with its change time, because the engine puts `.git` there.
    """
    entries, ignored = set(), {f"{room}/{path}" for path in besides}
    if whole:
        with contextlib.suppress(OSError):
            entries.add((str(room), room.stat().st_mode, len(os.listxattr(room))))
    for folder, folders, names in os.walk(room):
        for name in (*folders, *names):
            if f"{folder}/{name}" in ignored:
                continue
            with contextlib.suppress(OSError):
                state = os.lstat(os.path.join(folder, name))  # noqa: PTH118  (many files, and a Path for each is slow)
                mark = state.st_mode if stat.S_ISDIR(state.st_mode) and not whole else state.st_ctime_ns
                entries.add((f"{folder}/{name}", state.st_ino, mark))
    return frozenset(entries)


def file_digest(place: Path) -> str:
    """A digest of the file's present content. A link or a pipe that the head left in its place is not followed or
    read."""
    try:
        if place.is_symlink():
            return f"link {place.readlink()}"
        with os.fdopen(os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return "no file"
            return f"{status.st_size} {hashlib.sha256(file.read(MOST_BYTES)).hexdigest()}"
    except OSError as error:
        return f"unreadable: {error.strerror}"


def digest_of_encoded(content: str) -> str:
    """The `file_digest` of a file with this content (base64)."""
    data = base64.b64decode(content)
    return f"{len(data)} {hashlib.sha256(data[:MOST_BYTES]).hexdigest()}"
