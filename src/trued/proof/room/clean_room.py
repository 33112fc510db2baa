"""Clean rooms: fresh checkouts with the base's frozen files in place, and everything set up that checks need."""

import base64
import os
import re
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from trued.model import CommandCheck, Contract, TestsCheck
from trued.proof.room.additions import added_packages, with_added_packages
from trued.proof.room.bench import Bench
from trued.proof.room.files_in_room import (
    COMMITTED,
    content_inside,
    copy_into,
    file_digest,
    real_folder,
    remove_path,
    set_aside,
    write_carried,
)
from trued.proof.room.files_of_checks import (
    configuration_files,
    guarded_files,
    restore_frozen_files,
    superseded_files,
)
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
from trued.proof.room.import_folders import (
    NEW_SOURCE,
    SOURCE,
    finds_source,
    modules_of_project,
    paths_in_room,
    projects_of_base,
    roots_for_commands,
    roots_found_everywhere,
    usual_roots,
)
from trued.proof.room.import_shadows import shadowing_files
from trued.proof.room.interpreter import Interpreter
from trued.proof.room.node_modules import node_modules
from trued.proof.room.package_json import is_package_json, manifest_of_cases, manifest_of_head, merge_manifests
from trued.proof.room.preparation import prepare_room
from trued.proof.room.project_folders import (
    owners_of_modules,
    project_folders,
)
from trued.proof.room.virtualenv import machine_path
from trued.protocols import Workspace

NODE_MODULES = "node_modules"


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
        """Files that the head changed, removed or added, if no check used the head's version of them."""
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
    """Make a fresh checkout that is ready to run checks. It contains nothing that is held out. Yields the bench for it,
    and how it differs from the commit.

    `over` (path → base64): files that replace the commit's as long as the room exists; never anything held out.
    `held_out_files`: the contract's own test files. They are not written here: `write_held_out_files` writes those of
    one check while the check runs. Pass none if the room is for anything but checks, so that no code in the room can
    read them. `packages_of`: the commit that may declare packages besides the base's; by default `commit`.
    `as_committed`: leave all files as the commit has them, tests and their settings included. This is allowed for cases
    and pages, because nothing in the room can influence how they are judged, and for runs whose results do not count.
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
            set_aside(room, path)
        for path in served.keys() & {*manifests, *graft.restored}:
            write_carried(room.parent / COMMITTED, path, served)
        replaced_files = {*graft.restored, *graft.removed, *manifests} - over.keys()
        for path in carried:
            write_carried(room, path, carried)
        known = {*on_base, *in_commit, *over, *held_out_files}
        graft = replace(graft, made_up=await _write_placeholders(workspace, contract, known, room, interpreter))
        packages = await node_modules(workspace, contract, packages_of or commit)
        for place, folder in packages.folders.items():
            replaced = link_packages(room, place, folder, (on_base, in_commit))
            graft = replace(graft, removed=tuple(sorted({*graft.removed, *replaced})))
        mount_points, replaced = _mount_points(room, workspace.repository, interpreter, (on_base, in_commit))
        graft = replace(graft, removed=tuple(sorted({*graft.removed, *replaced})))
        named = contract.environment.path
        with_source = not named and await finds_source(workspace, contract.base, commit)
        names = named or usual_roots(room, contract.project_roots, on_base, with_source=with_source)
        everywhere = named or await roots_found_everywhere(workspace, contract.base, commit, names)
        roots = paths_in_room(room, names)
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
            project_roots=paths_in_room(room, contract.project_roots),
            roots_everywhere=frozenset(paths_in_room(room, tuple(everywhere))),
            projects=await projects_of_base(workspace, contract),
            owners=owners_of_modules(on_base, contract.project_roots),
            modules=modules_of_project(known, contract.import_folders),
            serve=contract.serve,
            services=contract.environment.services,
            plain=_variables(interpreter, roots_for_commands(room, contract), variables),
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
            superseded=tuple(sorted(replaced_files & superseded_files(contract))),
            held_out_files={} if as_committed else held_out_files,
            folders=files_by_folder(contract) if held_out_files else {},
            node_modules=packages.readable,
            frozen={path: file_digest(room / path) for path in (*frozen, *carried)},
            guarded=guarded_files(contract, over),
            settled=frozenset(configuration_files(room)),
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
        has_source = any(is_below(path, SOURCE) and path.endswith(".py") for path in in_commit)
        new_source = [NEW_SOURCE] if has_source and not named and not with_source else []
        lacking = (*workspace.missing_content(commit), *packages.notes, *added.notes, *new_source)
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
        set_aside(room, path)
    if restored or linked:
        async with workspace.room(contract.base) as original:
            # `linked`: files with the same content as on the base, which the head turned into links.
            restored += [path for path in linked if not (original / path).is_symlink()]
            for path in restored:
                set_aside(room, path)
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
    """The `node_modules` folder that contains this file, if that folder is below the top; "" for the `node_modules` at
    the top and for all other files."""
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
        set_aside(room, path)
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
    that may start the contract's server come from the base, because they decide what is checked. Everything else is the
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
        write_carried(room, path, {path: base64.b64encode(content.encode()).decode()})
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
        place = real_folder(room, below.parts[:-1]) / below.name
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
