"""Finds the program that a command line starts: an interpreter, a program of the machine, or a file of the project."""

import re
import shutil
from collections.abc import Sequence

from trued.proof.room import node
from trued.proof.room.bench import Bench
from trued.proof.room.go_cache import missing_go_package, module_name
from trued.proof.room.virtualenv import SYSTEM_PATH
from trued.proof.text.interpreter_lines import read_interpreter_line
from trued.proof.text.program_names import NODE_PROGRAMS, is_python


def resolve_command(argv: Sequence[str], bench: Bench) -> list[str]:
    """The command line, with the absolute path of its program if that is Python or Node, so that a head cannot put
    another interpreter in its place."""
    program, *arguments = argv
    if is_python(program):
        return [bench.python, *arguments]
    if program in NODE_PROGRAMS and (node_program := node.find_node()):
        return [node_program.path, *arguments]
    return [program, *arguments]


def is_not_installed(program: str, bench: Bench) -> bool:
    """Whether a program given by name, not by path, is missing on this machine. Python counts as installed."""
    if "/" in program or is_python(program):
        return False
    if program in NODE_PROGRAMS:
        return node.find_node() is None
    return shutil.which(program, path=bench.variables.get("PATH", SYSTEM_PATH)) is None


def missing_target(argv: Sequence[str], bench: Bench, error: str) -> str:
    """The module, script or program that the command line should start, if the project does not have it; else ""."""
    program = argv[0]
    if "/" in program:
        return "" if program.startswith("/") or (bench.room / program).exists() else program
    started = read_interpreter_line(argv)
    if started is None:
        return ""
    if started.kind == "module":
        message = rf"No module named '?{re.escape(started.name)}(\.__main__)?'?(;.*)?\s*$"
        return started.name if started.name and re.search(message, error) else ""
    script = started.name
    if started.kind != "script" or script.startswith(("/", "{files}")):
        return ""
    is_there = (bench.room / script).exists() or (program in NODE_PROGRAMS and _resolves(bench, script))
    return "" if is_there else script


def _resolves(bench: Bench, name: str) -> bool:
    """Whether Node finds a file for a name without its ending, such as `cli.js` for `cli`."""
    return any((bench.room / f"{name}{ending}").exists() for ending in (".js", ".cjs", ".json"))


def missing_module(error: str, bench: Bench) -> str:
    """The third-party module or package that is missing according to this error text, or ""."""
    return bench.foreign(error) or node.missing_package(error) or missing_go_package(error, _go_modules(bench))


def _go_modules(bench: Bench) -> list[str]:
    path = bench.room / bench.folder / "go.mod"
    return (
        [name]
        if path.is_file() and not path.is_symlink() and (name := module_name(path.read_text(errors="replace")))
        else []
    )
