"""Finds a command's drivers: the files that decide what it does, such as build files, scripts, settings, and what these
run.

Changed drivers can make a command pass, whatever the product does. So a command that passed on the base must pass twice
on a head that changed them: with the head's drivers, and with the base's.
"""

import posixpath
import re
import shutil
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from trued.proof.room.bench import Bench, nonce
from trued.proof.room.clean_room import copy_into, file_digest, remove_path
from trued.proof.room.frozen_files import DRIVERS
from trued.proof.text import node_names, python_names
from trued.proof.text.command_parser import node_options, package_folder, scripts_started
from trued.proof.text.commit_texts import decoded
from trued.proof.text.given_code import CODE_OPTION, codes_given, endings_loaded, files_named_in_code, may_load
from trued.proof.text.module_places import possible_places
from trued.proof.text.program_names import NODE_PROGRAMS, SHELLS, is_interpreter, is_python, names_package_manager
from trued.proof.text.python_imports import imported_modules
from trued.proof.text.recipes import BUILD_FILES, text_of_recipes
from trued.proof.text.script_imports import imported_names
from trued.proof.text.sourced_files import files_at, sourced_files
from trued.protocols import Workspace
from trued.support.shell_words import shell_words, started_commands
from trued.support.tables import json_table, table_at

MOST_FILES, MOST_BYTES = 200, 200_000  # at most this many files are followed, and bytes of each are read
MOST_MODULES = 2000  # with more Python files, it is not found out who else imports a module
# Files that contain settings of many tools.
SHARED = ("pyproject.toml", "setup.cfg", "tox.ini", "package.json", "tsconfig.json", ".editorconfig")
CODE = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".bash", ".rb", ".pl")
NODE = (".js", ".mjs", ".cjs", ".ts")
PACKAGES = ("__init__.py", "index.js")  # a folder with such a file is a module
SCRIPTED = (*CODE, ".mk", "")
_WORD = re.compile(r"[\w.@+/-]+")
_INCLUDED = re.compile(r"^(?:-|s)?include\s+(.+)$", re.MULTILINE)
_TOOL = re.compile(r"[a-z][a-z0-9]{3,}")
NO_SETTINGS = (".py", ".md", ".rst", ".txt", ".html", ".css")
SCRIPT = "(script)"  # stands for a script of a package.json, which is read like a file in the package's folder
RECIPES = "(recipes)"  # stands for the command lines of a build file's recipes, read like a file in the same folder
RECIPE_FILES = frozenset(BUILD_FILES) - {"package.json"}  # of a package.json, only the started scripts are read
BUILD_CODE = {"cargo": "build.rs"}  # tool → code of the project that it runs before it compiles
_COMPUTED = re.compile(r"\$[\w{@*]|\{\{")  # how the name of a program begins that only the shell or `just` knows
_CONFIGURED = ("deno", "php")  # interpreters with an option `-c` that names their settings
CODE_GIVEN = "(code).py"  # stands for code that a command line gives to Python
SHELL = ("", ".mk", ".sh", ".bash")  # files that consist of command lines
# Ways in which a command line names the folder in which its programs start.
_FOLDER = re.compile(r"(?:\bcd|(?<!\S)-C|(?<!\S)--(?:prefix|cwd|dir|directory))(?:\s+|=)[\"']?([\w@./-]+)")


def _importing_script(path: str, base: "Drivers") -> tuple[str, str] | None:
    """If a script of the base would import this new file: the script's folder, and the module's name. Otherwise None.

    For example, a script beside a new `configparser.py` would import that file instead of Python's module.
    """
    pure = PurePosixPath(path)
    for folder, names in base.imports.items():
        inner = pure.relative_to(folder).parts if pure.is_relative_to(folder) else ()
        if inner and (inner[0].split(".")[0] in names or inner[0] == "node_modules"):
            return str(folder), inner[0].split(".")[0]
    return None


@dataclass(slots=True)
class Drivers:
    """The drivers of a command on one commit: files that it runs, and files that may be its settings."""

    runs: set[str] = field(default_factory=set)
    settings: set[str] = field(default_factory=set)
    imports: dict[PurePosixPath, set[str]] = field(default_factory=dict)  # folder of scripts → modules that they import
    words: set[str] = field(default_factory=set)  # words of the command and of its scripts, including started programs
    # files that are found only because drivers import Python modules by their whole names
    by_name: set[str] = field(default_factory=set)
    # module beside a script at the top of the project → names that the script uses from it
    beside: dict[str, set[str]] = field(default_factory=dict)
    builds: set[str] = field(default_factory=set)  # code that a started build runs; it may be a part of the product
    folders: set[str] = field(default_factory=lambda: {""})  # where programs may start, and all above; "" is the top

    @property
    def tool_settings(self) -> set[str]:
        """Those of the `settings` whose names show that a started program reads them. Other files that a script names
        may be the product."""
        return {path for path in self.settings if self.is_settings(path)}

    def is_settings(self, path: str) -> bool:
        """Whether a program that starts in one of the `folders` may read its settings there: the file has settings of
        many tools, or is named after a started program, like `ruff.toml`, `.eslintrc.json` or `.golangci.yml`."""
        pure, folder = PurePosixPath(path), posixpath.dirname(path)
        if pure.name in SHARED and folder in self.folders:
            return True
        if self.folders.isdisjoint((folder, posixpath.dirname(folder))) or pure.suffix in NO_SETTINGS:
            return False
        name = next(iter(_TOOL.findall(pure.name.lower())), "")
        return bool(name) and any(name.startswith(word) or word.startswith(name) for word in self.words)


async def find_drivers(workspace: Workspace, commit: str, command: str, *, product: bool = True) -> Drivers:
    """The drivers of a command on this commit, found in the command's text and in the texts of the files that it names.

    `product`: also count modules as drivers that a script at the top of the project imports, or that any script imports
    by their whole names. They are more often the product than a part of the script. Without `product`, they are in
    `beside` instead.
    """
    blobs = await workspace.blobs(commit)
    folders = {above for inner in {*map(posixpath.dirname, blobs)} for above in _and_above(inner)}
    drivers, texts_to_read, seen = Drivers(), [("", command)], set[str]()
    known_scripts = {("", command)}
    modules = _ModulesByName(workspace, commit, blobs)
    while texts_to_read and len(seen) < MOST_FILES:
        place, text = texts_to_read.pop()
        drivers.words |= set(_TOOL.findall(text.lower()))
        if PurePosixPath(place).suffix in SHELL:
            folder = posixpath.dirname(place) if PurePosixPath(place).name == SCRIPT else ""
            starts = _folders_started_in(text, {*drivers.folders, folder}) & folders
            drivers.folders |= {above for start in (folder, *starts) for above in _and_above(start)}
        if place.endswith(CODE):
            names = _modules(text) | {name.split("/")[0].split(".")[0] for name in _required(text)}
            drivers.imports.setdefault(PurePosixPath(place).parent, set()).update(names)
        loaded = set[str]()
        for program, code in _code_given(place, text):
            loaded |= await _loaded_by_code(workspace, commit, program, code)
            if is_python(program):
                modules.importing[CODE_GIVEN] = f"{modules.importing.get(CODE_GIVEN, '')}\n{_with_paths(code, blobs)}"
            elif program.endswith("sh") and (place, code) not in known_scripts:
                known_scripts.add((place, code))
                texts_to_read.append((place, code))
        runs, settings = _named(place, text, blobs, drivers.folders, imports=product or "/" in place)
        is_top_script = not product and "/" not in place and place.endswith((".py", *NODE))
        beside = set(_imported(place, text, blobs)) - runs if is_top_script else set()
        runs |= loaded if product else set()
        beside |= loaded - runs
        modules.importing[place] = text
        for path in beside:
            drivers.beside.setdefault(path, set()).update(_names_asked(text, path))
        only_named = runs & drivers.settings  # until now
        drivers.settings -= only_named
        for path in sorted((runs | settings | beside) - seen | only_named):
            seen.add(path)
            if path not in beside:
                (drivers.runs if path in runs else drivers.settings).add(path)
            if path in runs | beside:
                texts_to_read += await _texts_of_driver(workspace, commit, path)
        new_scripts = await _package_scripts(workspace, commit, place, text) - known_scripts  # one may start the other
        known_scripts |= new_scripts
        texts_to_read += sorted(new_scripts)
    await modules.add_to(drivers, product=product)
    settings_of_tools = {path for path in blobs if drivers.is_settings(path)}
    drivers.settings |= settings_of_tools
    drivers.by_name -= settings_of_tools
    drivers.builds = {
        path for path in blobs for tool in drivers.words if PurePosixPath(path).name == BUILD_CODE.get(tool)
    }
    drivers.settings -= drivers.runs | {*drivers.beside}
    return drivers


async def _texts_of_driver(workspace: Workspace, commit: str, path: str) -> list[tuple[str, str]]:
    """The texts in which a driver may name more drivers, each with its place: the driver's own text, if it is code, and
    the recipes of a build file."""
    pure, texts = PurePosixPath(path), list[tuple[str, str]]()
    if pure.suffix in SCRIPTED:
        texts.append((path, await _text(workspace, commit, path)))
    if pure.name in RECIPE_FILES:
        recipes = text_of_recipes(path, await _text(workspace, commit, path))
        texts.append((posixpath.join(posixpath.dirname(path), RECIPES), recipes))
    return texts


async def _package_scripts(workspace: Workspace, commit: str, place: str, text: str) -> set[tuple[str, str]]:
    """The scripts of a package.json that these command lines start, each with its place. The command lines of other
    files start none."""
    package = posixpath.join(posixpath.dirname(place), package_folder(text))
    manifest = posixpath.join(package, "package.json")
    if PurePosixPath(place).name not in ("", SCRIPT) or not names_package_manager(text):
        return set()
    content = await workspace.read(commit, manifest) if manifest in await workspace.blobs(commit) else None
    scripts = table_at(json_table(content or b""), "scripts")
    script_place = posixpath.join(package, SCRIPT) if package else ""
    return {(script_place, str(script)) for script in scripts_started(scripts, text).values()}


async def _loaded_by_code(workspace: Workspace, commit: str, program: str, code: str) -> set[str]:
    """The files that code of Node, Perl or Ruby loads from a command line: `node -e "require('./tools/check.js')"`. A
    file that other code loads, too, is the product, and is left out."""
    blobs = await workspace.blobs(commit)
    loaded = files_named_in_code(program, code, blobs)
    others = [path for path in blobs if path.endswith(endings_loaded(program)) and path not in loaded] if loaded else []
    if len(others) > MOST_MODULES:
        return set()
    texts = [decoded(content, MOST_BYTES) for content in (await workspace.read_all(commit, others)).values()]
    return {path for path in loaded if not any(may_load(program, text, path) for text in texts)}


class _ModulesByName:
    """The Python modules of a commit that scripts import by their whole names: `tools.rules` for `tools/rules.py`, as
    in a script that was started by `python -m tools.lint`."""

    def __init__(self, workspace: Workspace, commit: str, blobs: Mapping[str, str]) -> None:
        self._workspace, self._commit, self._blobs = workspace, commit, blobs
        self._paths = [path for path in blobs if path.endswith(".py")]
        self.importing: dict[str, str] = {}  # path of a driver → its text
        self._texts: Mapping[str, str] | None = None
        self._places: dict[str, frozenset[str]] = {}  # file → where it may find what it imports

    async def add_to(self, drivers: Drivers, *, product: bool) -> None:
        """Add the modules that the drivers import by whole names, directly or through each other, and the settings that
        these modules name. With `product`, the modules go into `runs`, otherwise into `beside`, without the
        settings."""
        known, given = {*drivers.runs, *drivers.beside}, set[str]()
        waiting = [item for item in self.importing.items() if item[0].endswith(".py")]
        while waiting and len(known) < MOST_FILES:
            place, text = waiting.pop()
            found = await self._loaded_by(place, text, known, product=product)
            if place in drivers.by_name or place in given:
                runs, settings = _named(place, text, self._blobs, drivers.folders, imports=True)
                found |= {path for path in runs if path.endswith(".py")}
                new_settings = settings - drivers.settings if product else set()
                drivers.settings |= new_settings
                drivers.by_name |= new_settings
            for path in found - drivers.runs if not product else ():
                drivers.beside.setdefault(path, set()).update(_names_asked_of(text, path))
            for path in sorted(found - known):
                known.add(path)
                is_given = place == CODE_GIVEN or (place in given and _package(path) == _package(place))
                (given if is_given else drivers.by_name).add(path)
                drivers.runs |= {path} if product else set()
                waiting.append((path, await _text(self._workspace, self._commit, path)))

    async def _loaded_by(self, place: str, text: str, runs: Collection[str], *, product: bool) -> set[str]:
        """The modules that the script at this place may import, wherever they are, with the packages that contain them.

        If code that drives nothing (is not among `runs`) may import a module, too, the module is the product, and is
        left out. With `product`, modules of the script's own package always count. Without it, they count unless code
        outside that package may import them.
        """
        if not place.endswith(".py"):
            return set()
        package = _package(place)
        places = possible_places(place, imported_modules(text))
        places |= {str(folder) for found in {*places, place} for folder in PurePosixPath(found).parents}
        targets = {path for path in self._paths if path != place and _module_place(path) in places}
        own = {path for path in targets if package and path.startswith(f"{package}/")}
        kept = own if product else set[str]()
        aside = {*runs, *targets, place}
        for target in targets - kept:
            inside = f"{package}/" if target in own else ""
            if not await self._is_imported_elsewhere(target, aside, inside):
                kept.add(target)
        return kept

    async def _is_imported_elsewhere(self, target: str, aside: Collection[str], inside: str) -> bool:
        """Whether any file outside of `aside`, and not below the folder `inside`, may import this module. True if there
        are too many files to tell."""
        if len(self._paths) > MOST_MODULES:
            return True
        if self._texts is None:
            contents = await self._workspace.read_all(self._commit, self._paths)
            self._texts = {path: decoded(content, MOST_BYTES) for path, content in contents.items()}
        place = _module_place(target)
        for path, text in self._texts.items():
            if path in aside or (inside and path.startswith(inside)) or PurePosixPath(place).name not in text:
                continue
            if path not in self._places:
                self._places[path] = possible_places(path, imported_modules(text))
            if place in self._places[path]:
                return True
        return False


async def _text(workspace: Workspace, commit: str, path: str) -> str:
    return decoded(await workspace.read(commit, path) or b"", MOST_BYTES)


def _names_asked_of(text: str, path: str) -> set[str]:
    """The names that this text uses from the module at this path. The text may import the module by its whole name, or
    by any last part of it."""
    parts = _module_place(path).split("/")
    return {name for at in range(len(parts)) for name in python_names.names_asked(text, ".".join(parts[at:]))}


def _package(path: str) -> str:
    """The outermost folder of the package in which this module lies; "" for a module at the top."""
    parts = PurePosixPath(path).parts[:-1]
    return "/".join(parts[: 2 if parts[:1] == ("src",) else 1])


def _module_place(path: str) -> str:
    """Where Python finds this module, without its ending."""
    return path.removesuffix("/__init__.py").removesuffix(".py")


def _folders_started_in(text: str, folders: Collection[str]) -> set[str]:
    """The folders to which these command lines change to start programs, from one of the given folders."""
    return {posixpath.normpath(posixpath.join(folder, name)) for folder in folders for name in _FOLDER.findall(text)}


def _and_above(folder: str) -> Iterator[str]:
    """The folder and all folders above it, without the top."""
    while folder:
        yield folder
        folder = posixpath.dirname(folder)


def _named(
    place: str, text: str, blobs: Mapping[str, str], started_in: Collection[str], *, imports: bool
) -> tuple[set[str], set[str]]:
    """The commit's files that the script with this text runs, and the other files, without code, that it only names.
    `imports`: count modules that it imports as run. Names are relative to the script's own folder, or to the folders in
    which its programs start (`started_in`)."""
    folders = {posixpath.dirname(place), *started_in}
    run_files: set[str] = set()
    shell = PurePosixPath(place).suffix in SHELL
    for line in text.splitlines() if shell else ():
        for words in started_commands(line.strip().lstrip("@-+")):
            run_files |= set(files_run(words, blobs, folders))
        run_files |= files_fed(line.strip().lstrip("@-+"), blobs, folders)
    run_files |= sourced_files(text, folders, blobs) if shell else set()
    for match in _INCLUDED.finditer(text):
        run_files |= {path for word in match.group(1).split() for path in _at(word, folders, blobs)}
    if imports:
        run_files |= set(_imported(place, text, blobs))
    named = {path for word in _WORD.findall(text) for path in _at(word, folders, blobs)}
    only_named = {path for path in named if not path.endswith(CODE) and "." in PurePosixPath(path).name}
    lines = [line for line in text.splitlines() if not place]
    only_named |= {path for line in lines for word in shell_words(line) for path in _shell_scripts(word, blobs)}
    return run_files, only_named - run_files


def _shell_scripts(word: str, blobs: Mapping[str, str]) -> Iterator[str]:
    """The shell scripts at this path or directly in this folder, which a program may run (`run-parts DIR`)."""
    place = posixpath.normpath(word) if word else ""
    near = (path for path in blobs if path == place or posixpath.dirname(path) == place)
    yield from (path for path in near if PurePosixPath(path).suffix in SHELL and place != ".")


def files_run(words: list[str], blobs: Mapping[str, str], folders: Collection[str]) -> Iterator[str]:
    """The files that one simple command starts: its build file, script or module, or the main program of a folder.

    An interpreter starts the first code of the project that its words name: whatever stands before it is an option or
    the value of one. Of any other program that may start another, only the first argument counts.
    """
    program = PurePosixPath(words[0]).name
    build_folder = words[words.index("-C") + 1] if "-C" in words[:-1] else "."
    for name in DRIVERS.get(program, ()):
        yield from _at(name, {build_folder, *folders}, blobs)
    starts = [at for at, word in enumerate(words) if is_interpreter(word)]
    if starts[:1] > [0]:
        yield from files_run(words[starts[0] :], blobs, folders)  # `uv run python tools/lint.py`
    is_computed = bool(_COMPUTED.match(words[0]))
    arguments = words[1:] if is_interpreter(program) else words[:1]
    if is_interpreter(program):
        yield from _at(words[0], folders, blobs)  # a program of the project with the name of an interpreter
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
                yield from _at(module_file, folders, blobs)
            return
        found = _started_at(word, blobs, folders)
        yield from sorted(found)
        if any(PurePosixPath(path).suffix in SCRIPTED for path in found):
            return


def files_fed(line: str, blobs: Mapping[str, str], folders: Collection[str]) -> set[str]:
    """The files that a command line may run although no interpreter has them as its argument. An interpreter without a
    script of its own may run whatever the line names (`cat FILE | python -`, `for f in *.sh; do sh $f`). A shell also
    reads files that variables name (`BASH_ENV=FILE`)."""
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
    """Whether only the shell knows what this line starts: there are only variables, perhaps after an interpreter."""
    for command in started_commands(line):
        starts = [at for at, word in enumerate(command) if is_interpreter(word)]
        words = [word for word in command[starts[0] + 1 if starts else 0 :] if not word.startswith("-")]
        if words and all(map(_COMPUTED.match, words)):
            return True
    return False


def _code_given(place: str, text: str) -> Iterator[tuple[str, str]]:
    """The program and its code, for each interpreter in these command lines that gets code as an argument. In the
    command itself, such code may have several lines."""
    lines = {*text.splitlines(), *(() if place else (text,))} if PurePosixPath(place).suffix in SHELL else ()
    for line in sorted(lines):
        for words in started_commands(line.strip().lstrip("@-+")):
            yield from codes_given(words)


def _with_paths(code: str, blobs: Mapping[str, str]) -> str:
    """Python code, with an import of each module whose path it names: `runpy.run_path("tools/lint.py")`."""
    paths = [path for word in _WORD.findall(code) for path in _at(word, (), blobs) if path.endswith(".py")]
    return "\n".join((code, *(f"import {path.removesuffix('.py').replace('/', '.')}" for path in paths)))


def _started_at(word: str, blobs: Mapping[str, str], folders: Collection[str]) -> set[str]:
    """The files that run if this word is a program: the file at this path, the main program of the folder there, or
    what a pattern matches."""
    mains = (posixpath.join(word, name) for name in ("__main__.py", "index.js"))
    found = {path for name in (word, *mains) for path in _at(name, folders, blobs)}
    return found | (files_at(word, folders, blobs) if not {"*", "?", "["}.isdisjoint(word) else set())


def _at(word: str, folders: Collection[str], blobs: Mapping[str, str]) -> Iterator[str]:
    """The files of the commit that a word names: from the top of the project, or from one of these folders."""
    clean = word.strip("\"'`")
    if not clean or clean.startswith("/"):
        return
    paths = {posixpath.normpath(posixpath.join(folder, clean)) for folder in ("", *folders)}
    yield from (path for path in sorted(paths) if path in blobs)


def _imported(place: str, text: str, blobs: Mapping[str, str]) -> Iterator[str]:
    """The modules that a script imports from its own folder. Modules from elsewhere are the product, or are
    installed."""
    folder, candidates = PurePosixPath(place).parent, list[str]()
    if place.endswith(".py"):
        module_paths = [name.replace(".", "/") for name in imported_modules(text)]
        candidates = [
            candidate
            for module_path in module_paths
            for candidate in (f"{module_path}.py", f"{module_path}/__init__.py")
        ]
    elif place.endswith(NODE):
        candidates = [f"{name}{ending}" for name in _required(text) for ending in ("", *NODE, ".json", "/index.js")]
    yield from (path for candidate in candidates if (path := str(folder / candidate)) in blobs)


def _required(text: str) -> set[str]:
    """The files that a Node script loads from its own folder or below it."""
    names = [name for name in imported_names(text) if name.startswith("./") and ".." not in name.split("/")]
    return {name.removeprefix("./") for name in names}


def _module(path: str) -> str:
    """The name by which a script in the same folder imports this module or package."""
    pure = PurePosixPath(path)
    return pure.parent.name if pure.name in PACKAGES else pure.stem


def _names_asked(text: str, path: str) -> set[str]:
    """The names that a script uses from this module, which is in the same folder, or which Node loads by its path from
    the top."""
    if not path.endswith(NODE):
        return python_names.names_asked(text, _module(path))
    from_top = path.rpartition(".")[0]
    return node_names.names_asked(text, _module(path)) | node_names.names_asked(text, from_top)


def _modules(text: str) -> set[str]:
    """The first parts of the names of the modules that a Python script imports."""
    return {name.split(".")[0] for name in imported_modules(text)}


# -- running a command with the base's drivers -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChangedDrivers:
    """The drivers of a command that the head changed, removed or added."""

    paths: frozenset[str]
    settings: frozenset[str]  # of `paths`, those that may be only settings
    by_name: frozenset[str]  # of `paths`, those that scripts import by their whole names, and that may be the product


async def changed_drivers(bench: Bench, command: str) -> ChangedDrivers:
    """The drivers of this command that the head changed."""
    base = await find_drivers(bench.workspace, bench.base, command)
    head = await find_drivers(bench.workspace, bench.commit, command) if bench.commit else base
    on_base, on_head = await bench.workspace.blobs(bench.base), await bench.workspace.blobs(bench.commit or bench.base)
    build_files = {name for family in DRIVERS.values() for name in family}
    new = [path for path in on_head if path not in on_base]
    shadows = {path for path in new if _importing_script(path, base)}
    by_name = {path for path in new if _is_found_first(path, base)} | base.by_name
    added = shadows | {
        path
        for path in new
        if path in head.settings
        or base.is_settings(path)
        or (path in head.runs and PurePosixPath(path).name in build_files)
    }
    drivers = {*base.runs, *base.settings, *added, *by_name}
    changed = {path for path in drivers if on_head.get(path) != on_base.get(path)}
    changed -= _frozen(bench, changed)
    return ChangedDrivers(
        frozenset(changed), frozenset(changed - base.runs - by_name), frozenset(changed & (by_name - shadows))
    )


def _is_found_first(path: str, base: Drivers) -> bool:
    """Whether Python would load this new file instead of a driver of the base, or before it: a package or a compiled
    module with its name, or an `__init__.py` above it."""
    pure = PurePosixPath(path)
    modules = {_module_place(driver) for driver in base.runs if driver.endswith(".py")}
    folders = {str(folder) for driver in base.by_name for folder in PurePosixPath(driver).parents} - {"."}
    stem = pure.name.partition(".")[0]
    return str(pure.parent) in folders | modules if stem == "__init__" else str(pure.parent / stem) in modules


async def drivers_of_change(bench: Bench, command: str, *, settings: bool = True) -> frozenset[str]:
    """The drivers that the change itself wrote. If a command failed on the base and passes now, they may be the only
    reason. Modules that are more likely the product than a part of a script do not count. Without `settings`, files
    that the command runs count, but neither settings of tools nor code that a build runs."""
    on_base, on_head = await bench.workspace.blobs(bench.base), await bench.workspace.blobs(bench.commit or bench.base)
    base = await find_drivers(bench.workspace, bench.base, command, product=False)
    head = await find_drivers(bench.workspace, bench.commit or bench.base, command, product=False)
    drivers = base.runs | head.runs
    if settings:
        drivers |= base.tool_settings | head.tool_settings | base.builds | head.builds
    changed = {path for path in drivers if on_head.get(path) != on_base.get(path)}
    changed |= {path for path in on_head if path not in on_base and _replaces_module(bench, base, path, on_base)}
    beside = [path for path in base.beside if on_head.get(path) != on_base[path]]
    changed |= {path for path in beside if not await _is_product(bench, base, path)}
    return frozenset(changed - _frozen(bench, changed))


def _replaces_module(bench: Bench, base: Drivers, path: str, on_base: Collection[str]) -> bool:
    """Whether a new file replaces a module that a script of the base imports.

    If only a script at the top of the project imports the module, and no module of that name is on the base or
    installed, the new file is the product and does not count.
    """
    shadowed = _importing_script(path, base)
    if shadowed is None:
        return False
    folder, name = shadowed
    installed = {package.replace("-", "_") for package in bench.interpreter.versions}
    modules_on_base = {path.split("/")[0].split(".")[0] for path in on_base}
    return folder != "." or name in {"node_modules", *bench.interpreter.standard, *installed, *modules_on_base}


async def _is_product(bench: Bench, base: Drivers, path: str) -> bool:
    """Whether a module beside a top-level script is the product that the script checks, and not a part of the script.

    It is the product if a requirement mentions it, or mentions a name that the script uses from it. It is also the
    product if other code of the base imports it, or if its version on the base lacks a name that the script uses.
    """
    name, used_names = _module(path), base.beside[path]
    if bench.words & {name, *used_names} or await _lacks_names(bench, base, path):
        return True
    ending = NODE if path.endswith(NODE) else ".py"
    others = [
        module
        for module in await bench.workspace.blobs(bench.base)
        if module.endswith(ending) and module not in base.runs
    ]
    for module in [text for text in others if text not in base.beside][:MOST_FILES]:
        text = await _text_on_base(bench, module)
        if node_names.loads_module(text, name) if ending == NODE else name in _modules(text):
            return True
    return False


async def _lacks_names(bench: Bench, base: Drivers, path: str) -> bool:
    """Whether the module on the base lacks names that the script uses; False if that is unclear."""
    used_names = base.beside[path]
    if not path.endswith(NODE):
        return python_names.lacks(await _text_on_base(bench, path), used_names)
    # The names may be in any of these modules, because one may re-export names of another.
    texts = [await _text_on_base(bench, module) for module in base.beside if module.endswith(NODE)]
    return bool(used_names.difference(*map(node_names.names_mentioned, texts)))


async def _text_on_base(bench: Bench, path: str) -> str:
    return await _text(bench.workspace, bench.base, path)


def _frozen(bench: Bench, paths: Collection[str]) -> set[str]:
    """Of these paths, the frozen files that are unchanged in the room."""
    return {path for path in paths if bench.frozen.get(path) and file_digest(bench.room / path) == bench.frozen[path]}


@asynccontextmanager
async def as_on_base(bench: Bench, paths: Collection[str]) -> AsyncIterator[None]:
    """Put the base's version of these files into the room, and restore the head's after the block."""
    on_base = await bench.workspace.blobs(bench.base)
    aside = bench.room.parent / f"drivers-{nonce()[:12]}"
    aside.mkdir(mode=0o700)
    moved = {place: aside / str(number) for number, place in enumerate(sorted(_in_the_way(bench.room, paths)))}
    try:
        for place, saved in moved.items():
            place.rename(saved)
        async with bench.workspace.room(bench.base) as original:
            for path in paths:
                if path in on_base:
                    copy_into(original, bench.room, path)
        yield
    finally:
        for path in paths:
            remove_path(bench.room / path)
        for place, saved in moved.items():
            remove_path(place)
            place.parent.mkdir(parents=True, exist_ok=True)
            saved.rename(place)
        shutil.rmtree(aside, ignore_errors=True)


def _in_the_way(room: Path, paths: Collection[str]) -> set[Path]:
    """What the head has at these paths (files, folders, links), or in place of a folder that should contain them."""
    in_the_way: set[Path] = set()
    for path in paths:
        place = room
        for part in PurePosixPath(path).parts:
            place = place / part
            if place.is_symlink() or place.is_file() or (place.exists() and place == room / path):
                in_the_way.add(place)
                break
    return in_the_way
