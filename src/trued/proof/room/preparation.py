"""Runs the `prepare` commands of a contract: once in each room, with network access, in the room's own environment."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trued.proof.room.bench import Bench, cap_output
from trued.proof.room.go_cache import may_fetch
from trued.proof.room.virtualenv import TRUSTED, disarm, make_virtualenv, registries, site_packages
from trued.protocols import Command, CommandResult

PREPARE_S = 600.0
PREPARE_BYTES = 16 * 1024 * 1024  # the most output of one command; installers print much
MOST_ERRORS = 2  # npm prints a code first, and then the reason
_ERROR = r"(?:error\b|\berr!|\bfatal\b|\bnot found\b|\bno such\b)"
FOLDER = "environment"  # beside the checkout, so that it is removed with the room
GIT = ("git", "-c", "core.hooksPath=/dev/null", "-c", "user.name=trued", "-c", "user.email=engine@trued.invalid")


async def prepare_room(bench: Bench, commands: tuple[str, ...]) -> Bench:
    """Run the commands. Returns the bench with what the commands installed. If a command failed, `broken` of this bench
    says why no check can run."""
    environment = bench.room.parent / FOLDER
    make_virtualenv(environment, bench.interpreter, over=True)
    site = site_packages(environment, bench.interpreter)
    with (site / TRUSTED).open("a") as file:  # lets the environment find the packages that only the commit declares
        file.writelines(f"{folder}\n" for folder in bench.site)
    broken = await _run(bench, commands, environment)
    disarm(site)
    programs = str(environment / "bin")
    return replace(
        bench,
        broken=broken,
        prepared=str(environment),
        site=(str(site), *bench.site),
        variables=_with_programs(bench.variables, programs, first=True),
        plain=_with_programs(bench.plain, programs, first=False),
    )


async def _run(bench: Bench, commands: tuple[str, ...], environment: Path) -> str:
    """Run the commands. Returns why one failed, or ""."""
    variables = {
        **registries(os.environ),
        **may_fetch(_with_programs(bench.variables, str(environment / "bin"), first=True)),
        "VIRTUAL_ENV": str(environment),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
    }
    if why := await _make_repository(bench, variables):
        return why
    try:
        for command in commands:
            result = await _execute(bench, ("sh", "-c", command), variables, environment)
            if result.exit_code != 0:
                output = cap_output(result.stdout, result.stderr)
                return f"`{' '.join(command.split())}` failed before any check: {first_errors(output)}\n{output[-600:]}"
    finally:
        _forget(bench.room / ".git")
    return ""


async def _make_repository(bench: Bench, variables: Mapping[str, str]) -> str:
    """Make a git repository with one commit and no tags, because builds often read the version from git, and the room
    has no `.git`. Returns why that failed, or ""."""
    script = " && ".join(
        " ".join((*GIT, *words))
        for words in (("init", "-q"), ("add", "-A", "-f"), ("commit", "-q", "--no-verify", "--allow-empty", "-m", "1"))
    )
    result = await _execute(bench, ("sh", "-c", script), variables, None)
    if result.exit_code == 0:
        return ""
    return f"no repository could be made for the preparation: {cap_output(result.stdout, result.stderr)[-600:]}"


def first_errors(output: str) -> str:
    """The first lines that name an error, joined to one line. If no line does, the last line. Installers print the
    reason of a failure first, and then much that differs between runs, such as the name of a log file."""
    lines = [" ".join(line.split()) for line in output.splitlines() if line.strip()]
    error_lines = [line for line in lines if re.search(rf"{_ERROR}.*\w", line, re.IGNORECASE)]
    return " ".join(error_lines[:MOST_ERRORS] or lines[-1:])


def _forget(repository: Path) -> None:
    if repository.is_dir() and not repository.is_symlink():
        shutil.rmtree(repository, ignore_errors=True)
    else:
        repository.unlink(missing_ok=True)


async def _execute(
    bench: Bench, argv: tuple[str, ...], variables: Mapping[str, str], environment: Path | None
) -> CommandResult:
    command = Command(
        argv=argv,
        folder=bench.room,
        variables=variables,
        readable=(*bench.interpreter.readable, *bench.go),
        writable=(str(environment),) if environment else (),
        within_s=PREPARE_S,
        output_bytes=PREPARE_BYTES,
        network="host" if environment else "none",
        avoided=bench.interpreter.outside,
        mount_points=bench.mount_points,
    )
    return await bench.workspace.execute(command)


def _with_programs(variables: Mapping[str, str], programs: str, *, first: bool) -> dict[str, str]:
    """The variables with the folder of prepared programs on the PATH.

    The folder is first for the code under test. For commands that judge by their exit code, it is last, so that a
    prepared program replaces no tool of these commands.
    """
    path = variables.get("PATH", "")
    return {**variables, "PATH": f"{programs}:{path}" if first else f"{path}:{programs}"}
