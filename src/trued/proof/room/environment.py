"""Chooses the Python for checks: the caller's, which `find_interpreter` finds, or a new virtual environment.

An environment is built if the caller's Python lacks packages that the base declares or the contract names.
"""

import asyncio
import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath

from trued.errors import CannotJudge, StateFailed
from trued.model import CommandCheck, Contract, Evidence, FactNote, Outcomes
from trued.proof.room.bench import WHOLE_CHECK, cap_output
from trued.proof.room.declared_packages import (
    TOOLS,
    Declarations,
    is_dependency_manifest,
    missing_requirements,
    package_name,
    parse_requirement,
    read_declarations,
)
from trued.proof.room.interpreter import LOOK, Interpreter, environment_interpreter, find_interpreter
from trued.proof.room.project_folders import project_folders
from trued.proof.room.virtualenv import make_virtualenv, put_behind, registries, replaced_folder, write_programs
from trued.proof.text.commit_texts import best_reading
from trued.proof.text.package_names import normal_package_name
from trued.protocols import Command, Workspace
from trued.support import atomic_files
from trued.support.lazy_regex import lazy_regex
from trued.support.plurals import few
from trued.support.shell_words import started_commands
from trued.support.tables import table_at, toml_table

FOLDER = "environments"
BUILD_S = 900.0
TRY_AGAIN_S = 120.0  # seconds after a failed build in which no new build starts, so that other checks need not wait
DONE, FAILED = "complete", "failed"
ABOUT = "about.json"  # what the environment's own Python reported about itself
LOOK_S = 60.0
# Short timeouts: if the registry cannot be reached, the caller's interpreter is used instead.
SHORT_TIMEOUTS = {
    "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_RETRIES": "1", "PIP_DEFAULT_TIMEOUT": "15",
    "PIP_TIMEOUT": "15", "UV_HTTP_TIMEOUT": "15",
}  # fmt: skip
_STARTING_OTHERS = ("uv", "uvx", "poetry", "pipenv", "pdm", "hatch", "rye", "pipx", "env", "time", "xargs", "exec")
_FAILING = (Outcomes.FAILED, Outcomes.BROKEN, Outcomes.UNJUDGED)
UNREACHED = "a registry could not be reached"
_UNREACHED = lazy_regex(
    r"connection|connect error|timed out|name resolution|unreachable|error sending request|certificate|proxy", re.I
)
_CONFLICT = lazy_regex(r"conflict|ResolutionImpossible|Cannot install|No solution|unsatisfiable", re.IGNORECASE)
_UNINSTALLED = lazy_regex(  # pytest's messages about a missing plugin
    r"not natively supported|fixture '\w+' not found|unrecognized arguments|not found in `markers`|required plugins"
)
MOST_NAMED = 5  # at most this many packages are named in a note
MOST_BYTES = 1 << 20  # at most this many bytes of a manifest are read


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that defines an environment besides its Python."""

    requirements: tuple[str, ...]
    locked: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    exact: bool = False  # the pinned versions must not be relaxed
    over: str = ""  # identity of the interpreter whose packages the environment can use, too; "" for none


@dataclass(frozen=True, slots=True)
class EnvironmentChoice:
    """The interpreter to use, and notes about it."""

    interpreter: Interpreter
    notes: tuple[str, ...] = ()
    why: str = ""  # the installer's message, if no environment could be built


async def caller_interpreter(packages: tuple[str, ...] = ()) -> Interpreter | None:
    """The caller's own interpreter, or None if it lacks a package that the contract names."""
    caller = await find_interpreter()
    return None if missing_requirements(packages, caller.versions, caller.version) else caller


def lacks_packages(evidence: Iterable[Evidence]) -> bool:
    """Whether checks on the base fail as if a package were missing. Only then is an environment worth building."""
    tried = [attempt for item in evidence for attempt in item.tried]
    return any(
        attempt.missing_module
        or (attempt.failure == "program" and attempt.named in TOOLS)
        or (attempt.id == WHOLE_CHECK and attempt.outcome in _FAILING)
        for attempt in tried
    ) or any(_UNINSTALLED.search(attempt.detail) for attempt in tried if attempt.outcome in _FAILING)


async def has_recorded_versions(
    workspace: Workspace, base: str, packages: tuple[str, ...], caller: Interpreter, recorded: Mapping[str, str]
) -> bool:
    """Whether the caller's interpreter has the recorded versions of the packages that the base declares or the contract
    names (`packages`)."""
    declared = (await declarations_of(workspace, base)).requirements
    return not _with_other_versions((*declared, *packages), caller, recorded)


async def choose_environment(
    workspace: Workspace,
    base: str,
    packages: tuple[str, ...] = (),
    recorded: Mapping[str, str] | None = None,
    building: Callable[[tuple[str, ...]], None] | None = None,
    tools: Collection[str] = (),
) -> EnvironmentChoice:
    """The interpreter for checks on base and head: the caller's, or one in an environment built from the base's
    manifests and the contract's packages, never from the head's. A version that the contract names replaces the base's.

    `recorded`: the versions (name → version, and `python`) with which the checks ran on the base, to be installed
    again.
    `building`: called with the missing packages before an environment is built, which may take minutes.
    `tools`: the `TOOLS` that checks start. If one of them is missing, an environment is built.
    """
    caller = await find_interpreter()
    declared = _without(await declarations_of(workspace, base), packages)
    requirements = tuple(dict.fromkeys((*declared.requirements, *packages)))
    lacking = missing_requirements(requirements, caller.versions, caller.version)
    lacking += tuple(
        requirement
        for requirement in _with_other_versions(requirements, caller, recorded or {})
        if requirement not in lacking
    )
    needed = [
        requirement
        for requirement in lacking
        if requirement in packages or package_name(requirement) in tools or not is_tool(requirement)
    ]
    if not needed:
        return EnvironmentChoice(caller)
    met = [requirement for requirement in declared.requirements if requirement not in lacking]
    names = ", ".join(needed[:8]) + (", …" if len(needed) > 8 else "")
    if workspace.environments is None:
        return EnvironmentChoice(caller, (f"the interpreter lacks packages that the base declares: {names}",))
    recipe = Recipe(requirements, declared.locked, _pinned(caller, met, declared.locked))
    if recorded:
        recipe = await _recipe_for_recorded(workspace, caller, recipe, workspace.environments, recorded)
    if building and not is_built(caller, recipe, workspace.environments):
        building(tuple(needed))
    environment, why = await build_environment(workspace, caller, recipe, workspace.environments)
    if environment is None:
        note = f"the interpreter lacks packages that the base declares, and they could not be installed: {names}: {why}"
        return EnvironmentChoice(caller, (note,), why)
    origins = [f"the base's {', '.join(declared.files)}"] if declared.files else []
    origin = " and ".join([*origins, *(["packages that the contract names"] if packages else [])])
    return EnvironmentChoice(environment, (FactNote(f"checks ran in an environment built from {origin}"),))


def _without(declared: Declarations, packages: Iterable[str]) -> Declarations:
    """The declarations without each package for which `packages` names a version. The user may ask for another version
    than the base's, such as the one to which the work upgrades."""
    parsed = [requirement for requirement in map(parse_requirement, packages) if requirement and requirement.specifier]
    chosen = {normal_package_name(requirement.name) for requirement in parsed}
    requirements_left, locked_left = (
        tuple(requirement for requirement in requirements if package_name(requirement) not in chosen)
        for requirements in (declared.requirements, declared.locked)
    )
    return replace(declared, requirements=requirements_left, locked=locked_left)


def recorded_versions(contract: Contract) -> dict[str, str]:
    """The packages that were installed when the checks ran on the base, by name, and the version of Python."""
    return next(
        (dict(item.versions) for item in contract.base_facts if item.turn == 1 and "python" in item.versions), {}
    )


async def interpreter_of(workspace: Workspace, contract: Contract) -> Interpreter:
    """The interpreter with which the contract's checks ran on the base, or an equal one. Raises CannotJudge if there is
    none."""
    interpreter = await find_interpreter()
    if contract.interpreter not in ("", interpreter.identity):
        packages, recorded = contract.environment.packages, recorded_versions(contract)
        tools = started_tools(contract)
        interpreter = (await choose_environment(workspace, contract.base, packages, recorded, tools=tools)).interpreter
    if contract.interpreter and not interpreter.is_like(contract.interpreter):
        raise CannotJudge(
            f"checks ran on the base with {contract.interpreter}, but the interpreter is now {interpreter.identity}: "
            "activate the same environment and resume, or start a new run"
        )
    return interpreter


async def declarations_of(workspace: Workspace, commit: str, base: str = "") -> Declarations:
    """What a commit declares in its own manifests, at the top and in project folders. Packages that are projects of the
    commit itself are left out.

    `base`: the commit whose project folders count; by default `commit`.
    """
    folders = project_folders(await workspace.blobs(base or commit)).python
    paths = [path for path in await workspace.blobs(commit) if is_dependency_manifest(path, folders)]
    texts = {path: best_reading(await workspace.read(commit, path) or b"", MOST_BYTES) for path in paths}
    declared = read_declarations(texts)
    tables = [table_at(toml_table(text), "project") for path, text in texts.items() if path.endswith("/pyproject.toml")]
    own_names = {normal_package_name(table["name"]) for table in tables if isinstance(table.get("name"), str)}
    foreign = tuple(requirement for requirement in declared.requirements if package_name(requirement) not in own_names)
    return replace(declared, requirements=foreign) if own_names else declared


def _pinned(caller: Interpreter, requirements: Iterable[str], locked: Iterable[str]) -> tuple[str, ...]:
    """`name==version` for each of these requirements that the caller has, with the caller's version. pytest is added,
    because its newest version may be too new. Packages that a lock file fixes (`locked`) are left out."""
    fixed = {lock.split("==")[0] for lock in locked}
    parsed = [requirement for requirement in map(parse_requirement, requirements) if requirement]
    names = {normal_package_name(requirement.name) for requirement in parsed} | {"pytest"}
    versions = {normal_package_name(name): version.split(" ")[0] for name, version in caller.versions.items()}
    return tuple(f"{name}=={versions[name]}" for name in sorted(names - fixed) if name in versions)


def _with_other_versions(requirements: Iterable[str], caller: Interpreter, recorded: Mapping[str, str]) -> list[str]:
    """The requirements whose recorded version differs from the version that the caller has now."""
    installed = _versions(caller.versions)
    before = _versions(recorded)
    names = [
        (requirement, normal_package_name(parsed.name))
        for requirement in requirements
        if (parsed := parse_requirement(requirement))
    ]
    return [requirement for requirement, name in names if name in before and installed.get(name) != before[name]]


def _versions(installed: Mapping[str, str]) -> dict[str, str]:
    """The versions of installed packages, except those that the engine supplied."""
    return {normal_package_name(name): version for name, version in installed.items() if " " not in version}


async def _recipe_for_recorded(
    workspace: Workspace, caller: Interpreter, recipe: Recipe, home: Path, recorded: Mapping[str, str]
) -> Recipe:
    """The recipe that gives the recorded versions. This is `recipe` itself if its environment exists and has only
    recorded versions; otherwise, a copy that pins the recorded versions. Raises CannotJudge if the versions were
    recorded with another Python."""
    python = recorded.get("python", "").split(".")[:2]
    if python != [""] and python != [str(part) for part in caller.version[:2]]:
        needs, has = ".".join(python), ".".join(map(str, caller.version[:2]))
        raise CannotJudge(
            f"the checks ran on the base with Python {needs} and packages that this Python {has} does not have: "
            f"activate a Python {needs} and try again"
        )
    folder = _folder(caller, recipe, home)
    if (folder / DONE).is_file():
        built = await _built_interpreter(workspace, folder, caller)
        if _versions(built.versions).items() <= _versions(recorded).items():
            return recipe
    fixed = {lock.split("==")[0] for lock in recipe.locked}
    pins = [f"{name}=={version}" for name, version in sorted(_versions(recorded).items()) if name not in fixed]
    return replace(recipe, pinned=tuple(pin for pin in pins if parse_requirement(pin)), exact=True)


def started_tools(contract: Contract) -> frozenset[str]:
    """The `TOOLS` that commands of the contract start, such as `ruff check .` or `python -m mypy src`. Other words of a
    command do not count: `make build` starts a target, not the tool `build`."""
    checks = [
        check for requirement in contract.every for check in requirement.checks if isinstance(check, CommandCheck)
    ]
    programs = set[str]()
    for words in (words for check in checks for words in started_commands(check.command)):
        positions = range(len(words)) if PurePosixPath(words[0]).name in _STARTING_OTHERS else (0,)
        programs |= {PurePosixPath(words[position]).name for position in positions}
        programs |= {word for before, word in pairwise(words) if before == "-m"}
    return TOOLS & programs


def is_tool(requirement: str) -> bool:
    """Whether the required package is one of the `TOOLS`. A missing tool matters only if a check starts it or the
    contract names it."""
    parsed = parse_requirement(requirement)
    return parsed is not None and parsed.name.lower() in TOOLS


# -- how the head's declarations differ --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeclaredChanges:
    """How a head's declared dependencies differ from the base's."""

    added: tuple[str, ...] = ()  # requirements of packages that the base does not name
    locked: tuple[str, ...] = ()  # locked versions of packages that the base does not name
    other: tuple[str, ...] = ()  # every other difference, as `+…` and `-…`; checks still use the base's version
    moved: tuple[str, ...] = ()  # of `other`, the head's requirements for packages that base and head declare; no TOOLS

    def unused(self, interpreter: Interpreter) -> dict[str, str]:
        """Requirement of the head → the installed version, which does not meet the requirement. Only packages that base
        and head both declare are listed."""
        versions = _versions({name: version.split(" ")[0] for name, version in interpreter.versions.items()})
        unmet = missing_requirements(self.moved, interpreter.versions, interpreter.version)
        without_markers = {text.partition(";")[0].strip(): package_name(text) for text in unmet}
        return {requirement: versions[name] for requirement, name in without_markers.items() if name in versions}

    def notes(self, interpreter: Interpreter) -> tuple[str, ...]:
        words = [*(f"+{name}" for name in self.added), *self.other]
        listed = ", ".join(words[:20]) + (", …" if len(words) > 20 else "")
        used = dict.fromkeys(
            f"{package_name(requirement)} {version}" for requirement, version in self.unused(interpreter).items()
        )
        used_versions = f"; checks still used {few(list(used), MOST_NAMED)}" if used else ""
        return (FactNote(f"dependencies changed: {listed}{used_versions}"),) if words else ()


async def declared_changes(workspace: Workspace, base: str, head: str) -> DeclaredChanges:
    """Compare what base and head declare."""
    folders = project_folders(await workspace.blobs(base)).python
    touched = [path for path in await workspace.changed_files(base, head) if is_dependency_manifest(path, folders)]
    if not touched:
        return DeclaredChanges()
    before, after = await declarations_of(workspace, base), await declarations_of(workspace, head, base)
    on_base, on_head = {*before.requirements, *before.locked}, {*after.requirements, *after.locked}
    known = {*before.names, *(name.split("==")[0] for name in before.locked)}
    added = tuple(text for text in after.requirements if package_name(text) not in before.names)
    locked = tuple(text for text in after.locked if text.split("==")[0] not in known)
    plus, minus = sorted(on_head - on_base - {*added, *locked}), sorted(on_base - on_head)
    declared_twice = (before.names & after.names) - TOOLS
    moved = tuple(text for text in plus if package_name(text) in declared_twice)
    return DeclaredChanges(added, locked, (*(f"+{name}" for name in plus), *(f"-{name}" for name in minus)), moved)


# -- building ----------------------------------------------------------------------------------------------------------


async def build_environment(
    workspace: Workspace, caller: Interpreter, recipe: Recipe, home: Path
) -> tuple[Interpreter | None, str]:
    """The environment for this recipe, and "". If it cannot be built: None, and why. An environment is built once,
    cached by hash, and then read-only."""
    folder = _folder(caller, recipe, home)
    async with exclusive_build(folder):
        if not (folder / DONE).is_file():
            if why := recent_failure(folder):
                return None, why
            await asyncio.to_thread(remove_folder, folder)
            why = await _build(workspace, caller, recipe, folder)
            if (
                _CONFLICT.search(why) and recipe.pinned and not recipe.exact
            ):  # the caller's versions may conflict with the missing packages, so build without them
                await asyncio.to_thread(remove_folder, folder)
                why = await _build(workspace, caller, replace(recipe, pinned=()), folder)
            if why:
                await asyncio.to_thread(remove_folder, folder)
                atomic_files.write(folder.with_suffix(f".{FAILED}"), why, sync=False)
                return None, why
    origin = f"environment {folder.name[:12]}"
    return replace(await _built_interpreter(workspace, folder, caller), origin=origin), ""


async def _built_interpreter(workspace: Workspace, folder: Path, caller: Interpreter) -> Interpreter:
    """The Python of an existing environment. Its packages may run code whenever it starts, so it is inspected once, in
    the sandbox, and never started outside a sandbox. Raises CannotJudge if it cannot be used."""
    about = folder / ABOUT
    try:
        report = json.loads(about.read_bytes())
    except (OSError, ValueError):  # an earlier version of the engine built the environment, and did not write this file
        if why := await _look_inside(workspace, folder, caller):
            raise CannotJudge(f"the environment {folder} cannot be used: {why}") from None
        report = json.loads(about.read_bytes())
    try:
        return environment_interpreter(report, folder, caller)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CannotJudge(f"{about} is damaged: remove {folder}, then trued builds it again") from None


async def _look_inside(workspace: Workspace, folder: Path, caller: Interpreter) -> str:
    """Save what the environment's Python reports about itself. Returns why that failed, or ""."""
    if replaced := replaced_folder(folder, caller):
        return f"a package has replaced its folder {replaced}"
    write_programs(folder, caller)
    with tempfile.TemporaryDirectory(prefix="trued-look-") as aside:
        result = await workspace.execute(
            Command(
                argv=(str(folder / "bin" / "python"), "-I", "-B", "-c", LOOK),
                folder=Path(aside),
                readable=(*caller.readable, str(folder)),
                within_s=LOOK_S,
            )
        )
    try:
        report = json.loads(result.stdout) if result.exit_code == 0 else None
    except (ValueError, RecursionError):
        report = None
    if not isinstance(report, dict):
        return f"its Python does not start: {cap_output(result.stderr, result.stdout)[-300:]}"
    atomic_files.write(folder / ABOUT, json.dumps(report))
    return ""


def is_built(caller: Interpreter, recipe: Recipe, home: Path) -> bool:
    """Whether this environment has been built already."""
    return (_folder(caller, recipe, home) / DONE).is_file()


def _folder(caller: Interpreter, recipe: Recipe, home: Path) -> Path:
    parts = [caller.base, list(caller.version), recipe.requirements, recipe.locked, recipe.pinned]
    parts += [recipe.over] if recipe.over else []
    parts += ["exact"] if recipe.exact else []  # otherwise the folder may hold other versions than the pinned ones
    return home / FOLDER / hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


async def _build(workspace: Workspace, caller: Interpreter, recipe: Recipe, folder: Path) -> str:
    """Build the environment, in the sandbox, because packages may run code during installation. Returns why that
    failed, or ""."""
    make_virtualenv(folder, caller, over=bool(recipe.over))
    (folder / "requirements.txt").write_text("\n".join(recipe.requirements) + "\n")
    (folder / "constraints.txt").write_text("\n".join((*recipe.locked, *recipe.pinned)) + "\n")
    result = await workspace.execute(
        Command(
            argv=(*_installer(folder), "-r", "requirements.txt", "-c", "constraints.txt"),
            folder=folder,
            variables={**registries(os.environ), **SHORT_TIMEOUTS},
            readable=(*caller.readable, *_real_uv()),
            within_s=BUILD_S,
            network="host",
        )
    )
    if result.exit_code != 0:
        lines = [line for line in cap_output(result.stderr, result.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if line.lower().startswith(("error", "  ×", "  ╰"))] or lines[-2:]
        why = " ".join(" ".join(errors[:2]).split())[:300] or "the installer printed nothing"
        return f"{UNREACHED}: {why}" if any(map(_UNREACHED.search, lines)) else why
    if replaced := replaced_folder(folder, caller):
        return f"a package has replaced its folder {replaced}"
    if recipe.over:
        put_behind(folder, caller)
    if why := await _look_inside(workspace, folder, caller):
        return why
    await asyncio.to_thread(make_read_only, folder)
    atomic_files.write(folder / DONE, "")
    return ""


def _installer(folder: Path) -> tuple[str, ...]:
    python = str(folder / "bin" / "python")
    if uv := _real_uv():
        return (uv[0], "pip", "install", "--quiet", "--no-cache", "--compile-bytecode", "--python", python)
    return (python, "-I", "-m", "pip", "install", "--quiet", "--no-cache-dir")


def _real_uv() -> tuple[str, ...]:
    """The path of uv; () if there is no uv, or only a version manager's shim, which would look for uv in folders that
    the sandbox hides."""
    shim = shutil.which("uv")
    if not shim:
        return ()
    real = os.path.realpath(shim)
    with open(real, "rb") as file:  # noqa: PTH123
        return (real,) if file.read(4) == b"\x7fELF" else ()


def recent_failure(folder: Path) -> str:
    """Why building this environment failed a short while ago, or ""."""
    note = folder.with_suffix(f".{FAILED}")
    try:
        return note.read_text(errors="replace") if time.time() - note.stat().st_mtime < TRY_AGAIN_S else ""
    except OSError:
        return ""


def make_read_only(folder: Path) -> None:
    """Make every file below the folder read-only."""
    for top, _, names in os.walk(folder):
        for name in names:
            path = Path(top, name)
            if not path.is_symlink():
                path.chmod(path.stat().st_mode & ~0o222)


def remove_folder(folder: Path) -> None:
    """Remove the folder with everything in it."""
    shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def exclusive_build(folder: Path) -> AsyncIterator[None]:
    """Hold the lock on an environment, so that concurrent verifications build it only once. Raises StateFailed if the
    lock file cannot be written."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = folder.with_suffix(".lock").open("a")
    except OSError as error:
        raise StateFailed(f"cannot write {folder.parent}: {error.strerror}; free space or make it writable") from error
    with file:
        await asyncio.to_thread(fcntl.flock, file, fcntl.LOCK_EX)
        yield
