"""Files of one check: those that it finds in the room only while it runs, and those that it must leave unchanged."""

import contextlib
import os
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath

from trued.model import CommandCheck, Contract, TestsCheck
from trued.proof.room.bench import Bench
from trued.proof.room.files_in_room import (
    copy_into,
    digest_of_encoded,
    file_digest,
    footprint,
    places_cleared,
    remove_path,
    unlink_in,
    write_carried,
)
from trued.proof.room.frozen_files import is_among_tests, is_configuration, is_customizing


@contextmanager
def write_held_out_files(bench: Bench, files: Mapping[str, str], named: Collection[str]) -> Iterator[Bench]:
    """Write the held-out files of one check into the room while that check runs.

    Afterwards they are removed and what was there before is restored, so that no other check in the room finds them.
    """
    if not files:
        yield bench
        return
    with places_cleared(bench.room, files):
        for path in files:
            write_carried(bench.room, path, files)
        guarded = {path for path in files if path.endswith(".py") or path in named}
        yield replace(
            bench,
            carried={**bench.carried, **files},
            frozen={**bench.frozen, **{path: file_digest(bench.room / path) for path in files}},
            guarded=frozenset({*bench.guarded, *guarded}),
        )


def held_out_files_left(bench: Bench) -> list[str]:
    """Held-out files that are in the room although no check that names them is running."""
    digests = {path: digest_of_encoded(content) for path, content in bench.held_out_files.items()}
    return [
        path for path, digest in digests.items() if file_digest(bench.room / path) == digest != bench.frozen.get(path)
    ]


@contextmanager
def write_files_of_commit(bench: Bench) -> Iterator[None]:
    """Write every file as the commit has it, tests and their settings included, while a case or page runs. Afterwards
    the room is again as tests need it.

    New modules that every Python loads at its start, such as sitecustomize.py, are not written. Python finds them only
    through the engine's PYTHONPATH, so the product must work without them. A room `as_committed` has them.
    """
    replaced = [path for path in bench.replaced if (bench.room / path).exists() or not _is_loaded_at_start(bench, path)]
    if not replaced:
        yield
        return
    with places_cleared(bench.room, replaced):
        _copy_committed(bench, replaced)
        yield


@contextmanager
def write_superseded_files(bench: Bench) -> Iterator[Bench]:
    """Write the files of superseded tests as the commit has them while a command runs. Afterwards the base's version is
    back. Yields the bench, in which these files may not change, either."""
    with places_cleared(bench.room, bench.superseded):
        _copy_committed(bench, bench.superseded)
        digests = {path: file_digest(bench.room / path) for path in bench.superseded}
        yield replace(bench, frozen={**bench.frozen, **digests})


def _copy_committed(bench: Bench, paths: Iterable[str]) -> None:
    for path in paths:
        if (bench.committed / path).is_symlink() or (bench.committed / path).is_file():
            copy_into(bench.committed, bench.room, path)


def superseded_files(contract: Contract) -> frozenset[str]:
    """The frozen files whose tests, or some of them, the user's `supersedes` names. What agents propose does not
    count."""
    named = {test for requirement in contract.requirements for test in requirement.supersedes}
    return frozenset(test.partition("::")[0] for test in named) & contract.frozen.keys()


def _is_loaded_at_start(bench: Bench, path: str) -> bool:
    """Whether Python would load the file at its start: a module such as sitecustomize.py, in a folder from which the
    project imports."""
    place = bench.room / path
    from_roots = [place.relative_to(root) for root in bench.roots if place.is_relative_to(root)]
    return any(is_customizing(part) for path in from_roots for part in path.parts[:1])


@contextmanager
def write_repository(bench: Bench) -> Iterator[None]:
    """Give the room a `.git` while the block runs. A `.git` that a check left there is removed.

    A checkout has a `.git`, an unpacked archive has none. Cases have to pass in one room of each kind, so that code
    that works in only one of them is noticed. Git's objects are hard links, as in a clone from a path on the same disk.
    So a check could change the originals: see `has_changed_objects`.
    """
    place = bench.room / ".git"
    if bench.repository is None:
        yield
        return
    remove_path(place)
    try:
        shutil.copytree(bench.repository, place, copy_function=partial(_link_object, f"{bench.repository}/objects/"))
        soon = time.time() + 1  # if the index is not newer than all files, git reads all files and rewrites it
        os.utime(place / "index", (soon, soon))
        before = footprint(bench.repository / "objects", whole=True)
        yield
        if footprint(bench.repository / "objects", whole=True) != before:
            _mark_of_changed_objects(bench.repository).touch()
    finally:
        with contextlib.suppress(OSError):
            remove_path(place)


def has_changed_objects(bench: Bench) -> bool:
    """Whether a check may have changed objects of the room's `.git`, which the next check would find."""
    return bench.repository is not None and _mark_of_changed_objects(bench.repository).exists()


def _mark_of_changed_objects(repository: Path) -> Path:
    return repository.with_name(f"{repository.name}-changed")


def _link_object(objects: str, source: str, target: str) -> None:
    """Make a hard link to a file in the folder `objects`; copy a file from anywhere else."""
    if source.startswith(objects):
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def guarded_files(contract: Contract, over: Iterable[str]) -> frozenset[str]:
    """The frozen files that no run may change: code, and files that a check names. Tests may change other frozen files,
    such as data, which are restored afterwards."""
    checks = [
        check
        for requirement in contract.every
        for check in requirement.checks
        if isinstance(check, TestsCheck | CommandCheck)
    ]
    named = {name.removeprefix("./") for check in checks for name in check.files}
    drivers = {path for path in contract.frozen if not is_among_tests(path)}
    paths = {path for path, blob in contract.frozen.items() if blob} | set(over)
    return frozenset(path for path in paths if path.endswith(".py") or path in named | drivers)


def changed_frozen_files(bench: Bench) -> list[str]:
    """Frozen files that a run changed, although it must not."""
    return [path for path in sorted(bench.guarded) if file_digest(bench.room / path) != bench.frozen.get(path)]


async def restore_frozen_files(bench: Bench) -> None:
    """Restore frozen files before a check, and remove test configuration that an earlier check left behind."""
    for path in configuration_files(bench.room) - bench.settled:
        unlink_in(bench.room, path)
    changed = [path for path, before in bench.frozen.items() if file_digest(bench.room / path) != before]
    for path in bench.carried.keys() & set(changed):
        write_carried(bench.room, path, bench.carried)
    if changed := [path for path in changed if path not in bench.carried]:
        async with bench.workspace.room(bench.base) as original:
            for path in changed:
                copy_into(original, bench.room, path)


def configuration_files(room: Path) -> set[str]:
    """The files of test configuration that are in the room now, except those below a `node_modules`."""
    configuration = set()
    for folder, folders, names in os.walk(room):
        # The configuration of packages does not count.
        folders[:] = [name for name in folders if name != "node_modules"]
        inner = PurePosixPath(folder).relative_to(room)
        configuration |= {str(inner / name) for name in names if is_configuration(str(inner / name))}
    return configuration
