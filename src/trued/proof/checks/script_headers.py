"""Reads the head of a script: its first line, which names the program that runs it, and its own manifest (PEP 723).
Pure."""

from pathlib import PurePosixPath

from trued.proof.checks.package_manifests import is_package_manifest
from trued.proof.checks.package_words import DATA_FILES, DOCUMENTS, INERT, MARKUP
from trued.proof.checks.source_imports import GO_AND_RUST, Words
from trued.proof.text.languages import SCRIPTS
from trued.proof.text.program_names import NODE_PROGRAMS, is_python
from trued.support.lazy_regex import lazy_regex

UNKNOWN: Words = ("",)  # a command of which nothing is known
_SHELL = lazy_regex(r"(?:ba|da|z|k|a)?sh")
_OTHERS = ("perl", "ruby", "awk", "gawk")  # they load a package only if the text of the script says so
# In other folders, and below `/proc`, may be a program of the project.
_SYSTEM_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin")
# An option that needs no value names nothing. A value would be the script itself, which follows these words.
_OPTION = lazy_regex(r"-[A-Za-z]|--[a-z][a-z-]*")
_SHELL_OPTION = lazy_regex(r"-[efuvx]+o?|pipefail")
_SPLITTING = ("-S", "--split-string")  # options of `env`, for a first line of more than two words
_MANIFEST_START = lazy_regex(r"#[ \t]*///[ \t]*[\w-]+")


def first_command(path: str, text: str) -> Words | None:
    """The command of the script's first line. None if there is none, or if it only runs the script in the language in
    which the engine reads the file at this path. `UNKNOWN` if it runs the script in another language, or is not
    understood."""
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
    """The blocks of metadata in a script, each without the ends of its lines, which differ from system to system."""
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
    """The program that a first line starts, and its options. A program of the system is given by its name, without the
    folder. Nothing if the line asks `env` to do more than to find a program, such as to set variables."""
    program = _program(words[0]) if words else ""
    if program == "env":
        words = words[2:] if words[1:2] and words[1] in _SPLITTING else words[1:]
        if not words or words[0].startswith("-") or "=" in words[0]:
            return []
        program = _program(words[0]) if "/" in words[0] else _usual_name(words[0])
    return [program, *words[1:]] if words else []


def _program(path: str) -> str:
    """The name of a program in a folder of the system. Any other path stays as it is."""
    pure = PurePosixPath(path)
    return _usual_name(pure.name) if str(pure.parent) in _SYSTEM_FOLDERS else f"./{path}"


def _usual_name(name: str) -> str:
    if is_python(name):
        return "python"
    return "node" if name in NODE_PROGRAMS else name


def _languages_read(path: str) -> tuple[str, ...]:
    """The languages in which the file at this path can be run without doing more than the engine reads in it. These are
    all languages if the engine compares the file's single words."""
    if path.endswith(".py"):
        return ("python",)
    if path.endswith(SCRIPTS):
        return ("node",)
    is_read_otherwise = path.endswith((*DATA_FILES, *GO_AND_RUST, *DOCUMENTS, *MARKUP)) or is_package_manifest(path)
    return () if is_read_otherwise or PurePosixPath(path).name in INERT else ("python", "node", "words")
