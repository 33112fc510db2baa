"""Finds what a source file imports by name, and its statements that may load a module or start a program without naming
it. Does no I/O.

Each language has its own reader: `python_source`, `script_source` and `go_and_rust_source`. A started program may
install packages, so its command must be known.
"""

import ast
from collections.abc import Collection, Iterable

from trued.proof.dependencies.go_and_rust_source import commands_in_go_or_rust, hidden_in_go, hidden_in_rust
from trued.proof.dependencies.python_source import PythonSource
from trued.proof.dependencies.script_source import read_script
from trued.proof.dependencies.source_text import SourceText, Words
from trued.proof.text.python_imports import UNREADABLE
from trued.support.lazy_regex import lazy_regex

# Of these languages, imports of packages are not read, because the compiler accepts only those of go.mod or Cargo.toml.
GO_AND_RUST = (".go", ".rs")
WITHOUT_PACKAGES = ("git",)  # programs whose arguments name no package
_OPTION = lazy_regex(r"-[A-Za-z]|--[a-z][a-z-]*|\d+")


def read_source(path: str, text: str, own_names: Collection[str] = ()) -> SourceText:
    """Read a source file. `own_names`: in Python, modules of the project, which code may pass on as values; in Go, the
    first parts of the names of its modules."""
    text = text.removeprefix("\ufeff")
    if path.endswith(".py"):
        try:
            return PythonSource(ast.parse(text), own_names).read()
        except UNREADABLE:
            return SourceText(parsed=False)
    if path.endswith(GO_AND_RUST):
        hidden = hidden_in_go(text, own_names) if path.endswith(".go") else hidden_in_rust(text)
        return SourceText(hidden=hidden, starts=commands_in_go_or_rust(text))
    return read_script(text)


def is_known_command(words: Words, base_commands: Iterable[Words], paths: Collection[str]) -> bool:
    """Whether a command cannot install anything new: it starts a file of the project, or a program that the base also
    starts, with only words that the base also uses. A program of `WITHOUT_PACKAGES` may have other words, but no URL.
    `base_commands`: commands that the base starts. `paths`: the project's paths."""
    if not words or not words[0]:
        return False
    program, arguments = words[0], words[1:]
    new_arguments = [
        argument
        for argument in arguments
        if not _OPTION.fullmatch(argument) and argument.removeprefix("./") not in paths
    ]
    if (
        program in ("python", "node")
        and arguments
        and not new_arguments
        and any(argument.removeprefix("./") in paths for argument in arguments)
    ):
        return True
    same_program = [command for command in base_commands if command[:1] == (program,)]
    if program in WITHOUT_PACKAGES:
        return bool(same_program) and not any("://" in argument or "!" in argument for argument in arguments)
    return bool(same_program) and {*new_arguments} <= {word for command in same_program for word in command if word}
