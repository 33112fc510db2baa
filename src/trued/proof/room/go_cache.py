"""The Go build cache for checks: Go's standard library, compiled once from the toolchain alone, and read-only.

Without the cache, each check would compile the standard library again, which takes minutes on a busy machine. The cache
never contains code of a base or a head. What a command compiles of the project is in a scratch folder of that command,
so that no check can read what an earlier one wrote.
"""

import asyncio
import hashlib
import json
import re
import shutil
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from trued.model import CommandCheck, Contract, ExamplesCheck, RunCase, TestsCheck
from trued.proof.room.bench import cap_output
from trued.proof.room.environment import (
    BUILD_S,
    DONE,
    FAILED,
    FOLDER,
    exclusive_build,
    make_read_only,
    recent_failure,
    remove_folder,
)
from trued.proof.room.frozen_files import is_below
from trued.proof.room.virtualenv import SYSTEM_PATH
from trued.protocols import Command, Workspace
from trued.support import atomic_files
from trued.support.lazy_regex import lazy_regex

USES_GO = lazy_regex(r"(?:^|[\s;&|(/])(?:go|gotestsum)\s")
# Checks have no network, and use the installed Go, whatever version a go.mod asks for.
OFFLINE = {"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOTELEMETRY": "off"}
CACHE = "cache"
NO_INDEX = "goindex=0"  # otherwise Go would write an index of the project's packages into the cache, and fail
_MODULE = "module standard\n\ngo 1.16\n"
_LIST = "{{if ne .Name `main`}}{{.ImportPath}}{{end}}"
_UNIMPORTABLE = lazy_regex(r"(?:^|/)(?:internal|vendor|cmd|builtin|cgo|race|msan|asan)(?:/|$)")
_MISSING = lazy_regex(r"(?:cannot find module providing package|no required module provides package) ([^\s;:]+)")
_UNFETCHED = lazy_regex(r"([^\s:@]+)@[^\s:]+: module lookup disabled by GOPROXY=off")
_NAME = lazy_regex(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)


def uses_go(contract: Contract, files: Collection[str]) -> bool:
    """Whether checks of the contract may run Go: a command line names it, or the repository is a Go module and the
    contract has any command line."""
    commands = [
        check.command
        for requirement in contract.every
        for check in requirement.checks
        if isinstance(check, TestsCheck | CommandCheck)
    ]
    commands += [
        " ".join(case.run)
        for requirement in contract.every
        for check in requirement.checks
        if isinstance(check, ExamplesCheck)
        for case in check.cases
        if isinstance(case, RunCase)
    ]
    commands += [" ".join(contract.serve.command)] if contract.serve else []
    return any(USES_GO.search(command) for command in commands) or ("go.mod" in files and bool(commands))


async def go_variables(workspace: Workspace, path: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Environment variables for checks that run Go, and the folders that the sandbox must show. Both are empty if there
    is no Go on this `path`."""
    program = shutil.which("go", path=path or SYSTEM_PATH)
    if program is None:
        return {}, ()
    cache = await _standard_library(workspace, program, path)
    if cache is None:
        return dict(OFFLINE), ()
    return {**OFFLINE, "GOCACHE": str(cache), "GODEBUG": NO_INDEX}, (str(cache),)


def may_fetch(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables without the one that forbids downloads, for a command with network access (`go mod vendor`)."""
    return {name: value for name, value in variables.items() if (name, value) != ("GOPROXY", OFFLINE["GOPROXY"])}


def with_settings(defaults: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Both sets of variables. If a variable is in both, the contract's value (in `settings`) replaces the default,
    except for GODEBUG: its two values are joined."""
    values = [variables["GODEBUG"] for variables in (defaults, settings) if variables.get("GODEBUG")]
    return {**defaults, **settings, **({"GODEBUG": ",".join(values)} if values else {})}


async def _standard_library(workspace: Workspace, program: str, path: str) -> Path | None:
    """The folder of the compiled standard library. None if it cannot be compiled or shared: then each command compiles
    the library itself."""
    # Without a sandbox, a head could write to the shared folder.
    if workspace.environments is None or workspace.confinement().level == "none":
        return None
    real = Path(program).resolve()
    status = real.stat()
    about = json.dumps([str(real), status.st_size, status.st_mtime_ns])
    folder = workspace.environments / FOLDER / f"go-{hashlib.sha256(about.encode()).hexdigest()[:24]}"
    async with exclusive_build(folder):
        if not (folder / DONE).is_file():
            if recent_failure(folder):
                return None
            await asyncio.to_thread(remove_folder, folder)
            if why := await _build(workspace, folder, program, path):
                await asyncio.to_thread(remove_folder, folder)
                atomic_files.write(folder.with_suffix(f".{FAILED}"), why, sync=False)
                return None
    return folder / CACHE


async def _build(workspace: Workspace, folder: Path, program: str, path: str) -> str:
    """Compile the standard library into the folder. Returns why that failed, or ""."""
    (folder / CACHE).mkdir(parents=True)
    (folder / "go.mod").write_text(_MODULE)
    with_c = {**OFFLINE, "PATH": path, "GOCACHE": str(folder / CACHE), "GOFLAGS": "-mod=mod"}
    without_c = {**with_c, "CGO_ENABLED": "0"}

    async def run(variables: Mapping[str, str], *words: str) -> tuple[bool, str, str]:
        command = Command(argv=(program, *words), folder=folder, variables=variables, within_s=BUILD_S)
        result = await workspace.execute(command)
        output = cap_output(result.stderr, result.stdout)[-300:]
        return result.exit_code == 0, result.stdout.decode("utf-8", "replace"), output

    is_built, _, output = await run(without_c, "build", "std")
    if not is_built:
        return output or "go printed nothing"
    # What follows only saves more time: it compiles what `go vet` needs of each package, and packages that use C.
    _, package_list, _ = await run(without_c, "list", "-f", _LIST, "std")
    names = [name for name in package_list.split() if not _UNIMPORTABLE.search(name)]
    lines = "".join(f'\t_ "{name}"\n' for name in {*names, "testing"})
    (folder / "standard_test.go").write_text(f"package standard\n\nimport (\n{lines})\n")
    await run(without_c, "test", "-count=1", "-run=^$", ".")
    await run(with_c, "build", "std")
    await asyncio.to_thread(make_read_only, folder)
    atomic_files.write(folder / DONE, "")
    return ""


def module_name(manifest: str) -> str:
    """The module that a go.mod declares, or ""."""
    match = _NAME.search(manifest)
    return match.group(1) if match else ""


def missing_go_package(text: str, own_modules: Iterable[str] = ()) -> str:
    """The third-party package or module that is missing according to this text, or "". Third-party means that its first
    part is a host name, and that it is in none of the project's `own_modules`."""
    modules = tuple(own_modules)
    missing = [*_MISSING.findall(text), *_UNFETCHED.findall(text)]
    foreign = [package for package in missing if not any(is_below(package, module) for module in modules)]
    return next((package for package in foreign if "." in package.split("/")[0]), "")
