"""Clean rooms: fresh checkouts with the base's frozen files in place, and the functions that read and write in them."""

import base64
import contextlib
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from trued.errors import CannotJudge
from trued.model import CommandCheck, Contract, TestsCheck
from trued.proof.room.additions import added_packages, with_added_packages
from trued.proof.room.bench import Bench, has_module, nonce
from trued.proof.room.frozen_files import (
    commands_of_suites,
    has_tests,
    is_among_tests,
    is_below,
    is_compiled,
    is_configuration,
    is_customizing,
    is_named_like_a_test,
    is_shared_setting,
    is_test,
)
from trued.proof.room.generated_files import files_of_builds, metadata_of_installation
from trued.proof.room.go_cache import go_variables, uses_go, with_settings
from trued.proof.room.held_out import DATA, files_by_folder
from trued.proof.room.import_shadows import shadowing_files
from trued.proof.room.interpreter import Interpreter
from trued.proof.room.node_modules import node_modules
from trued.proof.room.package_json import is_package_json, manifest_of_cases, manifest_of_head, merge_manifests
from trued.proof.room.preparation import prepare_room
from trued.proof.room.project_folders import (
    owners_of_modules,
    project_folders,
    regular_modules,
    roots_by_project,
    top_level_modules,
)
from trued.proof.room.virtualenv import machine_path
from trued.proof.text.commit_texts import decoded
from trued.protocols import Workspace

NODE_MODULES = "node_modules"
COMMITTED = "committed"  # beside a room: the commit's version of each file that the room does not have as committed
MOST_BYTES = 64 * 2**20  # at most this many bytes of a frozen file are compared; its size is always compared


@dataclass(frozen=True, slots=True)
class Graft:
    """How a head's tests and test settings differ from the base's. Reports list the differences. Files in `not_loaded`
    cap the grade."""

    restored: tuple[str, ...] = ()  # files that the head changed or removed; the base's are used
    removed: tuple[str, ...] = ()  # new test configuration, files among tests and compiled code of the head; not used
    added: tuple[str, ...] = ()  # new or changed test files that are not run, but kept: the product may use them
    merged: tuple[str, ...] = ()  # package.json files: scripts and test settings are the base's, the rest is the head's
    made_up: tuple[str, ...] = ()  # placeholders for files that only a build writes, on base and head
    # those of `removed` that Python would load in a checkout: compiled code, and modules that shadow others
    not_loaded: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()  # sentences about absent large files and submodules, and about packages that differ

    @property
    def paths(self) -> frozenset[str]:
        """Files that the head changed, removed or added, but of which no check used the head's version."""
        return frozenset((*self.restored, *self.removed, *self.added))

    @property
    def differs(self) -> bool:
        """Whether the room differs from a checkout of the commit."""
        return bool(self.restored or self.removed or self.merged)


@asynccontextmanager
async def clean_room(  # noqa: PLR0913 - each is a different thing that only the caller knows
    workspace: Workspace,
    contract: Contract,
    commit: str,
    interpreter: Interpreter,
    *,
    over: Mapping[str, str] | None = None,
    held_out_files: Mapping[str, str] | None = None,
    packages_of: str = "",
    as_committed: bool = False,
    kept: Collection[str] = (),
) -> AsyncIterator[tuple[Bench, Graft]]:
    """Make a fresh checkout that is ready to run checks. It contains nothing that is held out.

    `over` (path → base64): files that replace the commit's as long as the room exists; never anything held out.
    `held_out_files`: the contract's own test files; `write_held_out_files` writes those of one check while it runs.
    Callers that use the room for something else pass none, so that no code in the room can read them.
    `packages_of`: the commit that may declare packages besides the base's; by default `commit`.
    `as_committed`: leave all files as the commit has them, tests and their settings included. Only for cases and pages,
    because nothing in the room can influence how they are judged, and for runs whose results do not count.
    `kept`: files of which the room has the commit's version, although tests usually take them from the base.
    """
    over, held_out_files = over or {}, held_out_files or {}
    frozen_here = {path: blob for path, blob in contract.frozen.items() if path not in kept and not as_committed}
    contract = contract.model_copy(update={"frozen": frozen_here})
    on_base = await workspace.blobs(contract.base)
    in_commit = on_base if commit == contract.base else await workspace.blobs(commit)
    async with workspace.room(commit) as room:
        graft, manifests = Graft(), dict[str, str]()
        served = await _manifests_of_cases(workspace, contract, (on_base, in_commit), room)
        if not as_committed:
            graft = await _restore_base_files(workspace, contract, (on_base, in_commit), room, kept)
            graft = _remove_shadows(graft, contract, (on_base, in_commit), room, interpreter)
            manifests = await _manifests(workspace, contract, (on_base, in_commit), room, kept)
        carried = {**(served if as_committed else manifests), **over}
        for path in manifests:
            _set_aside(room, path)
        for path in served.keys() & {*manifests, *graft.restored}:
            _write_carried(room.parent / COMMITTED, path, served)
        replaced_files = {*graft.restored, *graft.removed, *manifests} - over.keys()
        for path in carried:
            _write_carried(room, path, carried)
        known = {*on_base, *in_commit, *over, *held_out_files}
        graft = replace(graft, made_up=await _write_placeholders(workspace, contract, known, room, interpreter))
        packages = await node_modules(workspace, contract, packages_of or commit)
        for place, folder in packages.folders.items():
            replaced = link_packages(room, place, folder, (on_base, in_commit))
            graft = replace(graft, removed=tuple(sorted({*graft.removed, *replaced})))
        mount_points, replaced = _mount_points(room, workspace.repository, interpreter, (on_base, in_commit))
        graft = replace(graft, removed=tuple(sorted({*graft.removed, *replaced})))
        roots = _roots(room, contract.environment.path or _usual_roots(room, contract.project_roots, on_base))
        variables, go_folders = await _go_variables(workspace, contract, interpreter, {*on_base, *in_commit})
        variables = with_settings(variables, contract.environment.variables)
        bench = Bench(
            workspace=workspace,
            base=contract.base,
            commit=commit,
            room=room,
            interpreter=interpreter,
            roots=roots,
            variables=_variables(interpreter, roots, variables),
            project_roots=_roots(room, contract.project_roots),
            projects=await projects_of_base(workspace, contract),
            owners=owners_of_modules(on_base, contract.project_roots),
            modules=_modules(known, contract.import_folders),
            serve=contract.serve,
            services=contract.environment.services,
            plain=_variables(interpreter, _roots_for_commands(room, contract), variables),
            words=frozenset(
                word for requirement in contract.requirements for word in re.findall(r"\w+", requirement.text)
            ),
        )
        frozen = [path for path, blob in contract.frozen.items() if blob]
        linked = {NODE_MODULES, *(str(PurePosixPath(folder) / NODE_MODULES) for folder in packages.folders)}
        bench = replace(
            bench,
            go=go_folders,
            mount_points=mount_points,
            carried=carried,
            committed=room.parent / COMMITTED,
            replaced=tuple(
                sorted(path for path in replaced_files if not any(is_below(path, folder) for folder in linked))
            ),
            held_out_files={} if as_committed else held_out_files,
            folders=files_by_folder(contract) if held_out_files else {},
            node_modules=packages.readable,
            frozen={path: file_digest(room / path) for path in (*frozen, *carried)},
            guarded=_guarded(contract, over),
            settled=frozenset(_configuration(room)),
        )
        added = await added_packages(workspace, contract.base, packages_of or commit, interpreter)
        added = replace(added, unavailable_in=packages.unavailable)
        bench = replace(with_added_packages(bench, added), added=added)
        if any(isinstance(check, DATA) for requirement in contract.every for check in requirement.checks):
            bench = replace(bench, repository=await workspace.make_repository(room, commit))
        if contract.environment.prepare:
            # The preparation may run the head's code. So frozen files were hashed before it, and are restored after it.
            bench = await prepare_room(bench, contract.environment.prepare)
            await restore_frozen_files(bench)
        lacking = (*workspace.missing_content(commit), *packages.notes, *added.notes)
        yield bench, replace(graft, merged=tuple(manifests), lacking=lacking)


async def _restore_base_files(
    workspace: Workspace,
    contract: Contract,
    sides: tuple[Mapping[str, str], Mapping[str, str]],
    room: Path,
    kept: Collection[str],
) -> Graft:
    """Put the base's frozen files into the room, and remove the head's files that would influence how tests run."""
    on_base, in_commit = sides
    frozen = contract.frozen
    restored = [path for path, blob in frozen.items() if blob and in_commit.get(path) != blob]
    linked = [path for path in frozen if in_commit.get(path) == frozen[path] and (room / path).is_symlink()]
    unfrozen = [path for path in in_commit if frozen and path not in frozen]
    surplus = [path for path in in_commit if is_compiled(path) or (frozen and frozen.get(path) == "")]
    surplus += [
        path for path in unfrozen if is_configuration(path) or is_among_tests(path) or _makes_package(path, frozen)
    ]
    surplus += [path for path in unfrozen if path not in on_base and is_shared_setting(path, frozen)]
    surplus += [path for path in in_commit if is_customizing(path) and path not in on_base]
    surplus += [path for path in unfrozen if path not in on_base and _is_run_unasked(room, path)]
    # The engine recognises packages and their programs by their paths. A link in place of a folder would give them
    # other paths, so such links are removed.
    surplus += [path for path in in_commit if on_base.get(path) != in_commit[path] and _is_link_to_packages(room, path)]
    if any(
        isinstance(check, TestsCheck | CommandCheck) for requirement in contract.every for check in requirement.checks
    ):
        # A `node_modules` that only the head has could bring the test runner of an inner package, or replace what its
        # tests import.
        folders_on_base = {_folder_of_packages(path) for path in on_base}
        surplus += [
            path for path in in_commit if (folder := _folder_of_packages(path)) and folder not in folders_on_base
        ]
    surplus = [path for path in surplus if path not in kept]
    changed = [path for path in surplus if is_compiled(path) and on_base.get(path) != in_commit[path]]
    loaded = tuple(sorted(path for path in changed if _may_be_loaded(room, path)))
    for path in surplus:
        _set_aside(room, path)
    if restored or linked:
        async with workspace.room(contract.base) as original:
            # `linked`: files with the same content as on the base, which the head turned into links.
            restored += [path for path in linked if not (original / path).is_symlink()]
            for path in restored:
                _set_aside(room, path)
            for path in restored:
                copy_into(original, room, path)
    added = [
        path for path in unfrozen if is_test(path) and path not in surplus and on_base.get(path) != in_commit[path]
    ]
    added = [path for path in added if path not in kept]
    return Graft(tuple(restored), tuple(sorted(set(surplus))), tuple(added), not_loaded=loaded)


def _may_be_loaded(room: Path, path: str) -> bool:
    """Whether Python may load this compiled code in a checkout. It does not load a file in `__pycache__` that records
    the time of its source, because a checkout makes the source newer."""
    place = room / path
    head = place.read_bytes()[:8] if place.is_file() and not place.is_symlink() else b""
    return place.parent.name != "__pycache__" or head[4:] != bytes(4)


def _folder_of_packages(path: str) -> str:
    """The `node_modules` of an inner package that contains this file; "" if there is none."""
    above, _, inner = path.partition(f"/{NODE_MODULES}/")
    return f"{above}/{NODE_MODULES}" if inner and not path.startswith(f"{NODE_MODULES}/") else ""


def _is_link_to_packages(room: Path, path: str) -> bool:
    """Whether the path is a link in place of `node_modules` or `node_modules/.bin`."""
    pure = PurePosixPath(path)
    is_packages = pure.name == "node_modules" or pure.parts[-2:] == ("node_modules", ".bin")
    return is_packages and (room / path).is_symlink()


def _is_run_unasked(room: Path, path: str) -> bool:
    """Whether the runner would run this new test file although no check names it. Go and JavaScript runners do so."""
    if path.endswith(".py") or not is_named_like_a_test(path):
        return False
    place = room / path
    content = place.read_bytes() if place.is_file() and not place.is_symlink() else b""
    return has_tests(path, content)


def _remove_shadows(
    graft: Graft,
    contract: Contract,
    sides: tuple[Mapping[str, str], Mapping[str, str]],
    room: Path,
    interpreter: Interpreter,
) -> Graft:
    """Remove new files of the head that a frozen test would import instead of the intended module."""
    on_base, in_commit = sides
    tests = [path for path, blob in contract.frozen.items() if blob and path.endswith(".py") and is_test(path)]
    added = [path for path in in_commit if path not in on_base and path not in graft.removed]
    if not tests or not added:
        return graft
    folders = {*contract.import_folders, *(str(PurePosixPath(test).parent) for test in tests)}
    texts = {test: (room / test).read_text(errors="replace") for test in tests if (room / test).is_file()}
    installed = {name.replace("-", "_") for name in interpreter.versions}
    shadows = shadowing_files(added, folders, texts, interpreter.standard | installed)
    for path in shadows:
        _set_aside(room, path)
    removed, hidden = {*graft.removed, *shadows}, {*graft.not_loaded, *shadows}
    return replace(graft, removed=tuple(sorted(removed)), not_loaded=tuple(sorted(hidden)))


async def _manifests(
    workspace: Workspace,
    contract: Contract,
    sides: tuple[Mapping[str, str], Mapping[str, str]],
    room: Path,
    kept: Collection[str],
) -> dict[str, str]:
    """Path → content (base64) that replaces the head's package.json at this path. A package.json that may stay is left
    out (see `merge_manifests`)."""
    on_base, in_commit = sides
    changed = [path for path in in_commit if is_package_json(path) and on_base.get(path) != in_commit[path]]
    manifests: dict[str, str] = {}
    for path in changed if contract.frozen or contract.serve else []:  # a server counts, too: `npm start` may start it
        place = room / path
        if contract.frozen.get(path):
            continue
        before = await workspace.read(contract.base, path) if path in on_base else None
        content = content_inside(room, place)
        is_kept = path in kept
        suite_commands = commands_of_suites(contract)
        merged = manifest_of_head(before, content, suite_commands) if is_kept else merge_manifests(before, content)
        if merged is not None:
            manifests[path] = base64.b64encode(merged).decode()
    return manifests


async def _manifests_of_cases(
    workspace: Workspace, contract: Contract, sides: tuple[Mapping[str, str], Mapping[str, str]], room: Path
) -> dict[str, str]:
    """Path → content (base64) that replaces the head's package.json at this path while cases and pages run. Scripts
    that may start the contract's server come from the base, because they drive the check. Everything else is the
    head's."""
    on_base, in_commit = sides
    manifests: dict[str, str] = {}
    for path in (path for path in in_commit if contract.serve and is_package_json(path) and path in on_base):
        if contract.serve is None or on_base[path] == in_commit[path]:
            continue
        before, content = await workspace.read(contract.base, path), content_inside(room, room / path)
        merged = manifest_of_cases(before, content, [" ".join(contract.serve.command)])
        if merged is not None:
            manifests[path] = base64.b64encode(merged).decode()
    return manifests


def content_inside(room: Path, place: Path) -> bytes:
    """The content of this file; b"" if it is a link that leads out of the room, or not a file."""
    real = Path(os.path.realpath(place))
    return real.read_bytes() if real.is_relative_to(os.path.realpath(room)) and real.is_file() else b""


async def _write_placeholders(
    workspace: Workspace, contract: Contract, known: set[str], room: Path, interpreter: Interpreter
) -> tuple[str, ...]:
    """Write placeholders for files that only a build or an installation writes and neither commit has. Returns their
    paths."""
    if contract.environment.prepare:
        return ()
    files = dict[str, str]()
    for project in project_folders(await workspace.blobs(contract.base)).python or (".",):
        if os.path.realpath(room / project) != str(PurePosixPath(os.path.realpath(room)) / project):
            continue  # the head has moved the project, and left a link
        paths = [str(PurePosixPath(project) / name) for name in ("pyproject.toml", "setup.py")]
        texts = [await workspace.read(contract.base, path) or b"" for path in paths]
        in_project = files_of_builds(*(text.decode("utf-8", "replace") for text in texts))
        in_project |= metadata_of_installation(room / project, interpreter.versions)
        files |= {str(PurePosixPath(project) / path): content for path, content in in_project.items()}
    absent = {path: content for path, content in files.items() if path not in known}
    for path, content in absent.items():
        _write_carried(room, path, {path: base64.b64encode(content.encode()).decode()})
    return tuple(absent)


def link_packages(
    room: Path, project: str, packages: Path, sides: tuple[Collection[str], Collection[str]]
) -> list[str]:
    """Make `node_modules` in the folder of a project a link to the packages that the engine installed, unless the base
    has a `node_modules` there. If only the head has one, it is removed, because it could fake anything that tests
    import. Returns the removed files."""
    on_base, in_commit = sides
    path = str(PurePosixPath(project) / NODE_MODULES)
    if any(is_below(file, path) for file in on_base):
        return []  # the base has its packages in the repository
    if os.path.realpath(room / project) != str(PurePosixPath(os.path.realpath(room)) / project):
        return []  # the head has moved the project, and left a link
    if not (room / project).is_dir():
        return []
    remove_path(room / path)
    (room / path).symlink_to(packages)
    return [file for file in in_commit if is_below(file, path)]


def _mount_points(
    room: Path, repository: str, interpreter: Interpreter, sides: tuple[Collection[str], Collection[str]]
) -> tuple[tuple[str, ...], list[str]]:
    """Make an empty folder in the room for each folder of the interpreter that is inside the user's repository, such as
    `.venv`, so that the sandbox can show it there. Returns these folders, and the head's files that were removed
    because they were in the way. If files of the base are in the way, the folder is left out.

    If the head's files stayed, the sandbox would have to show the room at another path than the repository's own, and
    the head could recognise the room by that path.
    """
    on_base, in_commit = sides
    mount_points, in_the_way = [], set[str]()
    for path in interpreter.readable:
        if not path.startswith(f"{repository}/"):
            continue
        below = PurePosixPath(path).relative_to(repository)
        above = {str(folder) for folder in (below, *below.parents)}
        if any(file in above or file.startswith(f"{below}/") for file in on_base):
            continue
        in_the_way |= {file for file in in_commit if file in above or file.startswith(f"{below}/")}
        place = _real_folder(room, below.parts[:-1]) / below.name
        remove_path(place)
        place.mkdir()
        mount_points.append(path)
    return tuple(mount_points), sorted(in_the_way)


def _makes_package(path: str, frozen: Mapping[str, str]) -> bool:
    """Whether the file is an `__init__.py` beside frozen tests. A new one would change how the tests are imported."""
    folder, _, name = path.rpartition("/")
    return name == "__init__.py" and any(
        frozen_path.rpartition("/")[0] == folder and is_test(frozen_path) for frozen_path in frozen
    )


# -- writing into a room, without following links, which the head may have left there ----------------------------------


def _real_folder(room: Path, parts: Iterable[str]) -> Path:
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
    place = _real_folder(room, pure.parts[:-1]) / pure.name
    remove_path(place)
    shutil.copy2(original / path, place, follow_symlinks=False)


def _write_carried(room: Path, path: str, carried: Mapping[str, str]) -> None:
    """Write the content that `carried` has for this path, in place of what the commit has there."""
    place = _checked_place(room, path)
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


def _set_aside(room: Path, path: str) -> None:
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
    place = _real_folder(room, pure.parts[:-1]) / pure.name
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
        soon = time.time() + 1  # the index must be newer than all files: else git reads them all, and rewrites it
        os.utime(place / "index", (soon, soon))
        before = footprint(bench.repository / "objects", whole=True)
        yield
        if footprint(bench.repository / "objects", whole=True) != before:
            _mark_of_changed_objects(bench.repository).touch()
    finally:
        with contextlib.suppress(OSError):
            remove_path(place)


def has_changed_objects(bench: Bench) -> bool:
    """Whether a check may have changed objects of the room's `.git`. The next check would find the changed objects."""
    return bench.repository is not None and _mark_of_changed_objects(bench.repository).exists()


def _mark_of_changed_objects(repository: Path) -> Path:
    return repository.with_name(f"{repository.name}-changed")


def _link_object(objects: str, source: str, target: str) -> None:
    """Link a file below the folder `objects`, and copy any other."""
    if source.startswith(objects):
        os.link(source, target)
    else:
        shutil.copy2(source, target)


@contextmanager
def replace_files(room: Path, contents: Mapping[str, str]) -> Iterator[None]:
    """Replace files of the room while the block runs. The originals are kept outside the room. No link is followed,
    because code that runs in the room may leave links where files were."""
    with _places_cleared(room, contents):
        for path, content in contents.items():
            _write_new_file(_checked_place(room, path), content)
        yield


# -- what a run must not change ----------------------------------------------------------------------------------------


def _guarded(contract: Contract, over: Iterable[str]) -> frozenset[str]:
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


def footprint(room: Path, besides: Collection[str] = (), *, whole: bool = False) -> frozenset[tuple[str, int, int]]:
    """Every folder of the room, and every file with its inode and change time, which no program can set back.

    Equal footprints mean that nothing was written. A folder's change time is left out, because the engine's own files
    change it. `besides`: files of the room to ignore.
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


def changed_frozen_files(bench: Bench) -> list[str]:
    """Frozen files that a run changed, although it must not."""
    return [path for path in sorted(bench.guarded) if file_digest(bench.room / path) != bench.frozen.get(path)]


async def restore_frozen_files(bench: Bench) -> None:
    """Restore frozen files before a check, and remove test configuration that an earlier check left behind."""
    for path in _configuration(bench.room) - bench.settled:
        unlink_in(bench.room, path)
    changed = [path for path, before in bench.frozen.items() if file_digest(bench.room / path) != before]
    for path in bench.carried.keys() & set(changed):
        _write_carried(bench.room, path, bench.carried)
    if changed := [path for path in changed if path not in bench.carried]:
        async with bench.workspace.room(bench.base) as original:
            for path in changed:
                copy_into(original, bench.room, path)


@contextmanager
def write_held_out_files(bench: Bench, files: Mapping[str, str], named: Collection[str]) -> Iterator[Bench]:
    """Write the held-out files of one check into the room while that check runs.

    Afterwards they are removed and what was there before is restored, so that no other check in the room finds them.
    """
    if not files:
        yield bench
        return
    with _places_cleared(bench.room, files):
        for path in files:
            _write_carried(bench.room, path, files)
        guarded = {path for path in files if path.endswith(".py") or path in named}
        yield replace(
            bench,
            carried={**bench.carried, **files},
            frozen={**bench.frozen, **{path: file_digest(bench.room / path) for path in files}},
            guarded=frozenset({*bench.guarded, *guarded}),
        )


@contextmanager
def write_files_of_commit(bench: Bench) -> Iterator[None]:
    """Write every file as the commit has it, tests and their settings included, while a case or page runs. Afterwards
    the room is again as tests need it.

    New modules that every Python loads at its start, such as sitecustomize.py, stay out. Python finds them only through
    the engine's PYTHONPATH, so the product must work without them here, and with them in a room `as_committed`.
    """
    replaced = [path for path in bench.replaced if (bench.room / path).exists() or not _is_loaded_at_start(bench, path)]
    if not replaced:
        yield
        return
    committed = bench.committed
    with _places_cleared(bench.room, replaced):
        for path in replaced:
            if (committed / path).is_symlink() or (committed / path).is_file():
                copy_into(committed, bench.room, path)
        yield


def _is_loaded_at_start(bench: Bench, path: str) -> bool:
    """Whether Python would load the file at its start: a module such as sitecustomize.py, in a folder from which the
    project imports."""
    place = bench.room / path
    from_roots = [place.relative_to(root) for root in bench.roots if place.is_relative_to(root)]
    return any(is_customizing(part) for path in from_roots for part in path.parts[:1])


@contextmanager
def _places_cleared(room: Path, paths: Iterable[str]) -> Iterator[None]:
    """Clear these paths of the room while the block runs, and then restore what was there. Raises CannotJudge if that
    fails, because no other check may run beside files that the block left."""
    aside = room.parent / f"aside-{nonce()[:12]}"
    aside.mkdir(mode=0o700)
    made_folders = _missing_folders(room, paths)
    moved = {path: aside / str(number) for number, path in enumerate(paths)}
    try:
        for path, saved in moved.items():
            _move(_checked_place(room, path), saved)
        yield
    finally:
        _restore_places(room, moved, made_folders)
        shutil.rmtree(aside, ignore_errors=True)


def _restore_places(room: Path, moved: Mapping[str, Path], made_folders: Iterable[Path]) -> None:
    try:
        for path, saved in reversed(list(moved.items())):
            place = _checked_place(room, path)
            remove_path(place)
            _move(saved, place)
        for folder in made_folders:
            with contextlib.suppress(OSError):  # a folder that is not empty stays
                folder.rmdir()
    except OSError as error:
        raise CannotJudge(f"files of one check could not be removed from the room: {error.strerror}") from error


def _checked_place(room: Path, path: str) -> Path:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise CannotJudge(f"the contract contains the file {path!r}, which is outside the checkout")
    return _real_folder(room, pure.parts[:-1]) / pure.name


def _move(place: Path, to: Path) -> None:
    """Move a file, a link or a folder, if it exists."""
    with contextlib.suppress(FileNotFoundError):
        place.rename(to)


def _missing_folders(room: Path, files: Iterable[str]) -> list[Path]:
    """The folders that have to be created for these files, the innermost first."""
    above = {folder for path in files for folder in PurePosixPath(path).parents if folder.parts}
    return sorted((room / folder for folder in above if not (room / folder).exists()), reverse=True)


def held_out_files_left(bench: Bench) -> list[str]:
    """Held-out files that are in the room although no check that names them is running."""
    digests = {path: _as_digest(content) for path, content in bench.held_out_files.items()}
    return [
        path for path, digest in digests.items() if file_digest(bench.room / path) == digest != bench.frozen.get(path)
    ]


def _as_digest(content: str) -> str:
    data = base64.b64decode(content)
    return f"{len(data)} {hashlib.sha256(data[:MOST_BYTES]).hexdigest()}"


def _configuration(room: Path) -> set[str]:
    configuration = set()
    for folder, folders, names in os.walk(room):
        # The configuration of packages does not count.
        folders[:] = [name for name in folders if name != "node_modules"]
        inner = PurePosixPath(folder).relative_to(room)
        configuration |= {str(inner / name) for name in names if is_configuration(str(inner / name))}
    return configuration


# -- environment variables and modules ---------------------------------------------------------------------------------


def _roots(room: Path, folders: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(room / folder) if folder != "." else str(room) for folder in folders)


async def projects_of_base(
    workspace: Workspace, contract: Contract, *, with_top: bool = False
) -> dict[str, frozenset[str]]:
    """What `roots_by_project` finds on the base. `with_top`: also if the base has only one project, read its code to
    find out whether it imports modules from the top or `src`."""
    on_base = await workspace.blobs(contract.base)
    folders = project_folders(on_base).python if contract.project_roots else ()
    is_read = with_top or len(folders) > 1
    code = [path for path in on_base if path.endswith(".py") and not is_test(path)] if is_read and folders else []
    read = await workspace.read_all(contract.base, code)
    texts = {path: decoded(content) for path, content in read.items()}
    return roots_by_project(on_base, contract.project_roots, texts) if folders else {}


def _usual_roots(room: Path, projects: Collection[str], on_base: Collection[str]) -> tuple[str, ...]:
    """The folders from which a project imports, if nobody names them: the top, `src`, and the import roots of the
    base's project folders (`projects`).

    The commit may add a module to one of these folders that the base has in another. Users get the base's module, so
    its folder comes before the one with the copy. If Python would find the copy even then, because the base's package
    has no `__init__.py`, the folder with the copy is left out.
    """
    roots = [root for root in (".", "src", *projects) if (room / root).is_dir()]
    names = {root: _names_on_base(root, on_base) for root in roots}
    # Names that the base has in both folders are no copies. At the top and in `src`, only modules and packages with an
    # `__init__.py` count as such names: a folder without one is no module of the project, whatever a commit adds to it.
    there = {root: names[root] if root in projects else regular_modules(root, on_base) for root in roots}
    code = [path for path in on_base if path.endswith(".py")] if projects else []
    own_modules = {root: top_level_modules(root, code) for root in roots}
    first, left_out = set[str](), set[str]()
    for root, other in ((root, other) for root in roots for other in roots if root != other):
        copies = [name for name in names[root] - there[other] if _is_found(room, name, (root, other), on_base)]
        if {root, other}.isdisjoint(projects):
            first |= {"src"} if root == "src" and copies else set()
            continue
        are_code = [
            has_module(room / root, name)
            for name in copies
            if name in own_modules[root] and _has_code(room / root, name)
        ]
        first |= {root} if any(are_code) else set()
        left_out |= {other} if not all(are_code) else set()
    used = [root for root in roots if root not in left_out]
    return (*(root for root in used if root in first), *(root for root in used if root not in first))


def _is_found(room: Path, name: str, places: tuple[str, str], on_base: Collection[str]) -> bool:
    """Whether Python finds something of this name in the second of these places: a module or package, or new files of a
    package whose folders have no `__init__.py`. Python joins all such folders of one name."""
    root, other = places
    if has_module(room / other, name) or root == "." or has_module(room / root, name):
        return has_module(room / other, name)
    parts = (str(path.relative_to(room)) for path in (room / other / name).rglob("*.py"))
    return any(path not in on_base and not is_below(path, f"{root}/{name}") and not is_test(path) for path in parts)


def _has_code(root: Path, name: str) -> bool:
    return has_module(root, name) or (root / name).is_dir()


def _names_on_base(root: str, on_base: Collection[str]) -> frozenset[str]:
    """The names of the files and folders that the base has directly in this folder, without the suffix `.py`. In a
    folder below the top, only Python files and folders with Python files count."""
    if root == ".":
        return frozenset(path.split("/")[0].removesuffix(".py") for path in on_base)
    inner = (path.removeprefix(f"{root}/") for path in on_base if path.startswith(f"{root}/") and path.endswith(".py"))
    return frozenset(path.split("/")[0].removesuffix(".py") for path in inner)


def _roots_for_commands(room: Path, contract: Contract) -> tuple[str, ...]:
    """The import folders for commands: only those that the contract names. From any other folder, the tools of a
    command could import the head's modules in place of their own."""
    return _roots(room, contract.environment.path) if contract.environment.path else ()


def _variables(interpreter: Interpreter, roots: tuple[str, ...], more: Mapping[str, str]) -> dict[str, str]:
    programs = machine_path(os.environ.get("PATH", ""), os.environ.get("HOME", ""))
    return {
        "PATH": f"{Path(interpreter.path).parent}:{programs}",
        "LANG": "C.UTF-8",
        **(
            {"PYTHONPATH": ":".join(roots)} if roots else {}
        ),  # for programs that checks start; the engine's scripts ignore it
        "PYTHONDONTWRITEBYTECODE": "1",
        **more,
    }


async def _go_variables(
    workspace: Workspace, contract: Contract, interpreter: Interpreter, files: Collection[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Environment variables and folders for checks that run Go; both empty if no check does."""
    if not uses_go(contract, files):
        return {}, ()
    return await go_variables(workspace, _variables(interpreter, (), contract.environment.variables)["PATH"])


def _modules(paths: Iterable[str], roots: Iterable[str]) -> frozenset[str]:
    """Top-level modules that the project's own folders provide. If one of these cannot be imported, that is the
    project's fault, never the environment's."""
    code = [PurePosixPath(path) for path in paths if path.endswith((".py", ".so", ".pyx"))]
    places = {PurePosixPath(root) for root in roots} | {path.parent for path in code if is_test(str(path))}
    modules = set()
    for path in code:
        for place in places.intersection(path.parents):
            modules.add(path.relative_to(place).parts[0].split(".")[0])
    return frozenset(modules)
