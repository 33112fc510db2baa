"""Decides whether a command line starts the project's own module, script or program, or something else. Runs nothing.

A case that an agent wrote may start only the project. The command line is parsed as the interpreter would parse it. It
is refused unless it certainly leads to a file of the project.
"""

import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import PurePosixPath
from typing import Literal

from trued.proof.room.declared_packages import is_dependency_manifest, provides_module, read_declarations
from trued.proof.room.project_folders import project_folders
from trued.proof.room.virtualenv import SYSTEM_PATH
from trued.proof.text.interpreter_lines import read_interpreter_line
from trued.proof.text.program_names import is_python
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import json_table, table_at, toml_table

NODE = ("node", "nodejs")
# Node has hundreds of options, some of which load code; these common ones do not.
_NODE_OPTION = lazy_regex(
    r"--(?:no-warnings|no-deprecation|enable-source-maps|experimental-strip-types|experimental-vm-modules|use-strict"
    r"|trace-warnings|trace-uncaught|stack-trace-limit=\d+|max-old-space-size=\d+|unhandled-rejections=[a-z-]+)"
)
# Other programs that run a file of the project → the word that must precede the file.
_OTHER_PROGRAMS = {"ruby": "", "perl": "", "php": "", "tsx": "", "ts-node": "", "bun": "", "deno": "run", "go": "run"}
_CARGO = ("cargo", "run")
_MODULE = lazy_regex(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_SCRIPTS = ("setup.py", "setup.cfg")
_ROOTS = ("src", "lib", "python")  # folders that modules are imported from, besides the root
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Texts in which names are looked up: the user's words, and the files of the base."""

    words: str
    base: Mapping[str, str] = field(default_factory=dict)  # path → text

    def is_in_words(self, name: str) -> bool:
        """Whether the user's words contain this name."""
        return _has(self.words, name)

    def is_in_base(self, name: str) -> bool:
        """Whether the base contains this name, in a text or a path."""
        return any(_has(text, name) for text in (*self.base.values(), *self.base))

    def names(self, name: str) -> bool:
        """Whether the user's words or the base contain this name."""
        return self.is_in_words(name) or self.is_in_base(name)


def _has(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


@dataclass(frozen=True, slots=True)
class StartedProgram:
    """The module, script or program that a command line starts, judged only by the line's syntax."""

    kind: Literal["module", "script", "program", "nothing"]
    name: str = ""
    words: int = 1  # the number of words at the start of the line, up to and including `name`
    why: str = ""  # why the line starts no file, if `kind` is "nothing"


def started_program(line: Sequence[str]) -> StartedProgram:
    """The module, script or program that the line starts. If the line starts no file, the kind is "nothing", and `why`
    gives the reason, for example that the line contains its own code."""
    if not line or not line[0]:
        return StartedProgram("nothing", words=0, why="the command line is empty")
    program, *arguments = line
    if is_python(program):
        return _started_by_python(line)
    if program in NODE:
        options = next((at for at, word in enumerate(arguments) if not _NODE_OPTION.fullmatch(word)), len(arguments))
        return _started_script(program, arguments, options)
    if program in _OTHER_PROGRAMS:
        before = _OTHER_PROGRAMS[program]
        has_word = bool(before) and arguments[:1] == [before]
        if before and not has_word:
            return _starts_nothing(f"{program} without `{before}` starts no file of the project")
        return _started_script(program, arguments, int(has_word or arguments[:1] == ["run"]))
    if (program, *arguments[:1]) == _CARGO:
        stray = next((word for word in arguments[1:] if word not in ("-q", "--quiet")), "--")
        return (
            StartedProgram("program", "cargo run", 2)
            if stray == "--"
            else _starts_nothing(f"`cargo run {stray}` is not supported in a case")
        )
    return StartedProgram("program", program)


def _starts_nothing(why: str) -> StartedProgram:
    return StartedProgram("nothing", why=why)


def _started_by_python(line: Sequence[str]) -> StartedProgram:
    started = read_interpreter_line(line)
    assert started is not None  # noqa: S101  (the line starts Python)
    if started.kind == "code":
        return _starts_nothing("the command line itself contains code")
    if started.kind == "unknown":
        return _starts_nothing(f"the option {started.name[:80]} of Python starts nothing of the project")
    if started.kind == "module":
        fits = _MODULE.fullmatch(started.name)
        return (
            StartedProgram("module", started.name, started.words)
            if fits
            else _starts_nothing(f"-m {started.name[:80]} names no module")
        )
    return _started_script("python", line[1:], started.words - 2)


def _started_script(program: str, words: Sequence[str], name_at: int) -> StartedProgram:
    name = next(iter(words[name_at:]), "")
    if name in ("", "-"):
        return _starts_nothing("it reads its code from stdin")
    if name.startswith("-"):
        return _starts_nothing(f"the option {name[:80]} of {program} may load other code")
    return StartedProgram("script", name, 2 + name_at)


# -- is it the project's? ----------------------------------------------------------------------------------------------


def why_outside_project(line: Sequence[str], known_names: KnownNames) -> str:
    """Why the command line starts something other than the project, or ""."""
    started = started_program(line)
    if started.kind == "nothing":
        return started.why
    if started.kind == "module":
        return why_foreign_module(started.name, known_names)
    if started.kind == "script" or "/" in started.name:
        return why_foreign_path(started.name, known_names)
    if started.name == " ".join(_CARGO) or started.name in _own_programs(known_names.base):
        return ""
    if known_names.is_in_words(started.name) and not _is_on_path(started.name):
        return ""
    return f"it starts {started.name}, which is not part of the project"


def why_not_a_server(line: Sequence[str], known_names: KnownNames) -> str:
    """Why a server's command line starts neither the project nor a dependency that serves it, or ""."""
    why, started = why_outside_project(line, known_names), started_program(line)
    if not why or started.kind not in ("module", "program") or "/" in started.name:
        return why
    top = started.name.split(".")[0]
    if top in _dependencies(known_names.base) or (started.kind == "program" and _is_npm_script(line)):
        return ""
    is_users_word = known_names.is_in_words(top) and top not in sys.stdlib_module_names
    return "" if is_users_word and shutil.which(top, path=SYSTEM_PATH) is None else why


def _is_npm_script(line: Sequence[str]) -> bool:
    """Whether the line runs a script of the project's own manifest."""
    return tuple(line) == ("npm", "start") or (len(line) == 3 and tuple(line[:2]) == ("npm", "run"))


def why_foreign_module(name: str, known_names: KnownNames) -> str:
    """Why a Python module is not the project's, or "". A module that the base does not have is not the project's if it
    has the name of a module of Python, of a declared dependency or of an installed package."""
    top = name.split(".")[0]
    if any(_is_file_of(path, top, known_names.base) for path in known_names.base):
        return ""
    if top in sys.stdlib_module_names:
        return f"{name} is part of Python, not of the project"
    if top in _dependencies(known_names.base) or _is_installed(top):
        return f"{name} is a third-party package, not part of the project"
    return ""


def _is_file_of(path: str, top: str, base: Mapping[str, str]) -> bool:
    """Whether this file of the base is the top-level module `top`, or is inside the top-level package `top`. A module
    of the same name inside another package does not count."""
    parts = PurePosixPath(path).parts
    for at, part in enumerate(parts):
        if part == f"{top}.py" or (part == top and at + 1 < len(parts)):
            root = "/".join(parts[:at])
            return root in ("", *_ROOTS) or (top not in sys.stdlib_module_names and f"{root}/__init__.py" not in base)
    return False


def why_foreign_path(name: str, known_names: KnownNames) -> str:
    """Why a path does not lead to a file of the project, or ""."""
    if "{files}" in name:
        return "it runs a file that the case itself contains"
    path = PurePosixPath(name)
    if name.startswith(("/", "~")) or ".." in path.parts or ":" in name or "\\" in name:
        return f"{name[:80]} is outside the project"
    if str(path) in known_names.base:
        return ""
    strange = [part for part in path.parts if part == "node_modules" or part.startswith(".")]
    return f"{name[:80]} is not a file of the project" if strange else ""


def _is_on_path(program: str) -> bool:
    return shutil.which(program) is not None or shutil.which(program, path=SYSTEM_PATH) is not None


def _is_installed(top: str) -> bool:
    """Whether the engine's own interpreter has a package of that name."""
    try:
        spec = PathFinder.find_spec(top)
    except (ImportError, ValueError):
        return False
    paths = [spec.origin or "", *(spec.submodule_search_locations or ())] if spec else []
    return any(part in _PACKAGE_FOLDERS for path in paths for part in PurePosixPath(path).parts)


def _dependencies(base: Mapping[str, str]) -> "_DeclaredModules":
    folders = project_folders(base).python
    manifests = {path: text for path, text in base.items() if is_dependency_manifest(path, folders)}
    return _DeclaredModules(tuple(read_declarations(manifests).names))


@dataclass(frozen=True, slots=True)
class _DeclaredModules:
    """Modules of the packages that a manifest declares."""

    packages: tuple[str, ...]

    def __contains__(self, module: object) -> bool:
        return isinstance(module, str) and any(provides_module(name, module) for name in self.packages)


def _own_programs(base: Mapping[str, str]) -> set[str]:
    """Programs that the project's own manifests define."""
    return {name for path, text in base.items() for name in _programs_in(path, text)}


def _programs_in(path: str, text: str) -> Iterator[str]:
    if path == "pyproject.toml":
        data = toml_table(text)
        script_tables = (("project", "scripts"), ("project", "gui-scripts"), ("tool", "poetry", "scripts"))
        yield from (name for keys in script_tables for name in table_at(data, *keys))
    elif path == "package.json":
        data = json_table(text)
        yield from table_at(data, "bin")
        if isinstance(data.get("bin"), str) and "name" in data:
            yield str(data["name"])
    elif path in _SCRIPTS and "console_scripts" in text:
        yield from re.findall(r"""(?m)^[\s"'\[]*([\w.-]+)\s*=\s*[\w.]+:[\w.]+""", text)
