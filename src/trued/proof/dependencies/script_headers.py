"""Reads the header of a script: the first line, which names the program that runs the script, and the script's own
manifest (PEP 723). Does no I/O."""

from pathlib import PurePosixPath

from trued.proof.dependencies.package_manifests import is_package_manifest
from trued.proof.dependencies.package_words import DATA_FILES, DOCUMENTS, INERT, MARKUP
from trued.proof.dependencies.source_imports import GO_AND_RUST
from trued.proof.dependencies.source_text import Words
from trued.proof.text.languages import SCRIPTS
from trued.proof.text.program_names import NODE_PROGRAMS, is_python
from trued.support.lazy_regex import lazy_regex

UNKNOWN: Words = ("",)  # a command of which nothing is known
_SHELL = lazy_regex(r"(?:ba|da|z|k|a)?sh")
_OTHERS = ("perl", "ruby", "awk", "gawk")  # they load a package only if the text of the script says so
# Folders with programs of the system. A program in any other folder, or below `/proc`, may be the project's own.
_SYSTEM_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin")
# Options that name no package. One that takes a value would get the script's path, which the system adds at the end.
_OPTION = lazy_regex(r"-[A-Za-z]|--[a-z][a-z-]*")
_SHELL_OPTION = lazy_regex(r"-[efuvx]+o?|pipefail")
_SPLITTING = ("-S", "--split-string")  # options of `env`, for a first line of more than two words
_MANIFEST_START = lazy_regex(r"#[ \t]*///[ \t]*[\w-]+")


def first_command(path: str, text: str) -> Words | None:
    """The command in the script's first line (`#!…`). None if the script has no such line.

    The result is also None if the command only starts the interpreter of the language in which the engine reads the
    file. It is `UNKNOWN` if the command starts the interpreter of another language, or cannot be parsed.
    """
    line = text.removeprefix("\ufeff").partition("\n")[0]
    if not line.startswith("#!") or line[2:].lstrip().startswith("["):  # `#![…]` is an attribute of Rust
        return None
    words = _started_words(line[2:].split())
    if not words:
        return UNKNOWN
    program, options = words[0], words[1:]
    is_shell = bool(_SHELL.fullmatch(program))
    if not all(_OPTION.fullmatch(word) or (is_shell and _SHELL_OPTION.fullmatch(word)) for word in options):
        return (program, *options)
    language = "python" if program == "python" else "node" if program == "node" else "words"
    if language == "words" and not is_shell and program not in _OTHERS:
        return (program, *options)
    return None if language in _languages_read(path) else UNKNOWN


def own_manifests(text: str) -> set[str]:
    """The blocks of metadata (`# /// script`) in a script. The ends of their lines are made alike, because they differ
    between systems."""
    found, block = set[str](), list[str]()
    for line in text.removeprefix("\ufeff").splitlines():
        words = line.strip()
        if block and words.startswith("#"):
            block.append(words)
        else:
            found |= {"\n".join(block)} if block else set()
            block = [words] if _MANIFEST_START.fullmatch(words) else []
    return (found | {"\n".join(block)}) - {""}


def _started_words(words: list[str]) -> list[str]:
    """The program that a first line starts (see `_program`), and its options. Empty if the line names no program, or
    asks `env` to do more than to find one, such as to set variables."""
    program = _program(words[0]) if words else ""
    if program == "env":
        words = words[2:] if words[1:2] and words[1] in _SPLITTING else words[1:]
        if not words or words[0].startswith("-") or "=" in words[0]:
            return []
        program = _program(words[0]) if "/" in words[0] else _usual_name(words[0])
    return [program, *words[1:]] if words else []


def _program(path: str) -> str:
    """The usual name of a program in a folder of the system; for any other path, `./` and the path."""
    pure = PurePosixPath(path)
    return _usual_name(pure.name) if str(pure.parent) in _SYSTEM_FOLDERS else f"./{path}"


def _usual_name(name: str) -> str:
    if is_python(name):
        return "python"
    return "node" if name in NODE_PROGRAMS else name


def _languages_read(path: str) -> tuple[str, ...]:
    """The languages in which the engine reads the file at this path. All languages if the engine compares the file word
    by word; none if it reads the file in another way, such as a document."""
    if path.endswith(".py"):
        return ("python",)
    if path.endswith(SCRIPTS):
        return ("node",)
    is_read_otherwise = path.endswith((*DATA_FILES, *GO_AND_RUST, *DOCUMENTS, *MARKUP)) or is_package_manifest(path)
    return () if is_read_otherwise or PurePosixPath(path).name in INERT else ("python", "node", "words")
