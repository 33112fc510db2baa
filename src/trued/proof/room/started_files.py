"""Finds the files of the project that one command line starts: scripts, modules, build files. Does no I/O."""

import posixpath
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath

from trued.proof.room.frozen_files import FILES_OF_TOOL
from trued.proof.text.command_parser import node_options
from trued.proof.text.given_code import CODE_OPTION
from trued.proof.text.program_names import NODE_PROGRAMS, SHELLS, is_interpreter, is_python
from trued.proof.text.recipes import commands_of
from trued.proof.text.sourced_files import files_at
from trued.support.lazy_regex import lazy_regex
from trued.support.shell_words import shell_words, started_commands

CODE = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".bash", ".rb", ".pl")
NODE = (".js", ".mjs", ".cjs", ".ts")
SCRIPTED = (*CODE, ".mk", "")
SHELL = ("", ".mk", ".sh", ".bash")  # files that consist of command lines
_COMPUTED = lazy_regex(r"\$[\w{@*]|\{\{")  # begins a word whose value only the shell or `just` knows
_CONFIGURED = ("deno", "php")  # interpreters with an option `-c` that names their settings


def files_run(words: list[str], blobs: Mapping[str, str], folders: Collection[str]) -> Iterator[str]:
    """The files that one simple command starts: its build file, script or module, or the main program of a folder.

    An interpreter starts the first script or module of the project among its arguments. The arguments before it are
    options or values of options. A program such as `time` starts its first argument that is no option.
    """
    program = PurePosixPath(words[0]).name
    build_folder = words[words.index("-C") + 1] if "-C" in words[:-1] else "."
    for name in FILES_OF_TOOL.get(program, ()):
        yield from files_named(name, {build_folder, *folders}, blobs)
    starts = [at for at, word in enumerate(words) if is_interpreter(word)]
    if starts[:1] > [0]:
        yield from files_run(words[starts[0] :], blobs, folders)  # `uv run python tools/lint.py`
    is_computed = bool(_COMPUTED.match(words[0]))
    arguments = words[1:] if is_interpreter(program) else words[:1]
    if is_interpreter(program):
        yield from files_named(words[0], folders, blobs)  # a program of the project with the name of an interpreter
    if is_computed or (SHELLS.fullmatch(program) and not is_interpreter(program)):  # `time tools/check.sh`
        arguments = [word for word in words[1:] if word == "-m" or not (word.startswith("-") or "=" in word)]
        arguments = arguments[: 2 if arguments[:1] == ["-m"] else 1]
    if program in NODE_PROGRAMS:
        options, files = node_options(arguments)
        yield from (path for word in options for path in _started_at(word, blobs, folders))
        arguments = files[:1]
    for before, word in zip(("", *arguments), arguments, strict=False):
        if CODE_OPTION.fullmatch(before) and program not in _CONFIGURED:
            return
        if (is_computed or is_python(program)) and (before == "-m" or word.startswith("-m")) and word != "-m":
            module_path = word.removeprefix("-m").replace(".", "/")
            for module_file in (f"{module_path}.py", f"{module_path}/__main__.py"):
                yield from files_named(module_file, folders, blobs)
            return
        found = _started_at(word, blobs, folders)
        yield from sorted(found)
        if any(PurePosixPath(path).suffix in SCRIPTED for path in found):
            return


def files_fed(line: str, blobs: Mapping[str, str], folders: Collection[str]) -> set[str]:
    """The files that an interpreter on this command line may run although they are not its arguments.

    An interpreter without a script of its own may run any file that the line names (`cat FILE | python -`,
    `for f in *.sh; do sh $f`). A shell also reads files that variables name (`BASH_ENV=FILE`). Empty if the line starts
    no interpreter."""
    words, commands = shell_words(line), started_commands(line)
    starts = [command[at:] for command in commands for at, word in enumerate(command) if is_interpreter(word)][:20]
    lacking = [rest for rest in starts if all(word.startswith(("-", "$")) for word in rest[1:])]
    values = [value for word in words for value in word.partition("=")[2].split()]
    named = {path for word in (*words, *values) for path in _started_at(word, blobs, folders)}
    in_variables = {path for word in values for path in _started_at(word, blobs, folders)}
    named = named if any({"-c", "-m"}.isdisjoint(rest) for rest in lacking) else in_variables
    return (
        {path for path in named if path.endswith(CODE) and (lacking or not path.endswith(".py"))} if starts else set()
    )


def hides_program(line: str) -> bool:
    """Whether only the shell knows what this line starts, because one of its commands consists of variables alone:
    `$TOOL`, `sh $TOOL`, `exec $TOOL`."""
    for command in commands_of(line):
        starters = [at for at, word in enumerate(command) if SHELLS.fullmatch(PurePosixPath(word).name)]
        words = [word for word in command[starters[0] + 1 if starters else 0 :] if not word.startswith("-")]
        words = [word.removeprefix("./") for word in words if not starters or "=" not in word]
        if words and all(map(_COMPUTED.match, words)):
            return True
    return False


def _started_at(word: str, blobs: Mapping[str, str], folders: Collection[str]) -> set[str]:
    """The files that run if this word is a program: the file at this path, or the main program of the folder at this
    path. If the word is a pattern, the files that match."""
    mains = (posixpath.join(word, name) for name in ("__main__.py", "index.js"))
    found = {path for name in (word, *mains) for path in files_named(name, folders, blobs)}
    return found | (files_at(word, folders, blobs) if not {"*", "?", "["}.isdisjoint(word) else set())


def files_named(word: str, folders: Collection[str], blobs: Mapping[str, str]) -> Iterator[str]:
    """The files of the commit that a word names: from the top of the project, or from one of these folders."""
    clean = word.strip("\"'`")
    if not clean or clean.startswith("/"):
        return
    paths = {posixpath.normpath(posixpath.join(folder, clean)) for folder in ("", *folders)}
    yield from (path for path in sorted(paths) if path in blobs)


def shell_scripts(word: str, blobs: Mapping[str, str]) -> Iterator[str]:
    """The shell script at the path `word`. If `word` is a folder, the shell scripts directly in it, because `run-parts
    DIR` runs them."""
    place = posixpath.normpath(word) if word else ""
    near = (path for path in blobs if path == place or posixpath.dirname(path) == place)
    yield from (path for path in near if PurePosixPath(path).suffix in SHELL and place != ".")
