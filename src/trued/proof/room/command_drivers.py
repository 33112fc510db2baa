"""Finds a command's drivers: the files that decide what the command does, such as build files, scripts, settings, and
the files that these run.

Changed drivers can make a command pass, whatever the product does. So a command that passed on the base must pass twice
on a head that changed them: with the head's drivers, and with the base's (`trued.proof.room.changed_drivers`).
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from trued.proof.room.started_files import CODE, NODE, SCRIPTED, SHELL, files_fed, files_named, files_run, shell_scripts
from trued.proof.text import node_names, python_names
from trued.proof.text.command_parser import package_folder, scripts_started
from trued.proof.text.commit_texts import decoded
from trued.proof.text.given_code import codes_given, endings_loaded, files_named_in_code, may_load
from trued.proof.text.module_places import possible_places
from trued.proof.text.program_names import is_python, names_package_manager
from trued.proof.text.python_imports import imported_modules
from trued.proof.text.recipes import BUILD_FILES, is_check, recipes_of
from trued.proof.text.script_imports import imported_names
from trued.proof.text.sourced_files import sourced_files
from trued.protocols import Workspace
from trued.support.lazy_regex import lazy_regex
from trued.support.shell_words import shell_words, started_commands
from trued.support.tables import json_table, table_at

MOST_FILES, MOST_BYTES = 200, 200_000  # at most this many files are followed, and bytes of each are read
MOST_MODULES = 2000  # if a commit has more Python files, the engine does not look which of them import a module
# Files that contain settings of many tools.
SHARED = ("pyproject.toml", "setup.cfg", "tox.ini", "package.json", "tsconfig.json", ".editorconfig")
PACKAGES = ("__init__.py", "index.js")  # a folder with such a file is a module
_WORD = lazy_regex(r"[\w.@+/-]+")
_INCLUDED = lazy_regex(r"^(?:-|s)?include\s+(.+)$", re.MULTILINE)
_TOOL = lazy_regex(r"[a-z][a-z0-9]{3,}")
NO_SETTINGS = (".py", ".md", ".rst", ".txt", ".html", ".css")
SCRIPT = "(script)"  # stands for a script of a package.json, which is read like a file in the package's folder
RECIPES = "(recipes)"  # stands for the command lines of a build file's recipes, read like a file in the same folder
RECIPE_FILES = frozenset(BUILD_FILES) - {"package.json"}  # of a package.json, only the started scripts are read
SINGLE_TARGETS = ("tox.ini", "noxfile.py")
BUILD_CODE = {"cargo": "build.rs"}  # tool → code of the project that it runs before it compiles
CODE_GIVEN = "(code).py"  # stands for code that a command line gives to Python
# Ways in which a command line names the folder in which its programs start.
_FOLDER = lazy_regex(r"(?:\bcd|(?<!\S)-C|(?<!\S)--(?:prefix|cwd|dir|directory))(?:\s+|=)[\"']?([\w@./-]+)")


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
    builds: set[str] = field(default_factory=set)  # code that a build runs, if the command starts one; may be product
    folders: set[str] = field(default_factory=lambda: {""})  # where programs may start, and all above; "" is the top

    @property
    def tool_settings(self) -> set[str]:
        """The settings that a started program reads, as their names show. The other files in `settings` are only named
        by a script, and may be the product."""
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

    `product`: whether two kinds of Python modules count as drivers, although they are usually the product: those that a
    script at the top of the project imports, and those that a script imports by a whole name such as `tools.rules`.
    Without `product`, such modules are listed in `Drivers.beside` instead.
    """
    search = _DriverSearch(workspace, commit, await workspace.blobs(commit), product=product)
    return await search.drivers_of(command)


class _DriverSearch:
    """Finds the drivers of a command on one commit: reads the command, then the text of each file that it runs, and so
    on. The place of a text is the path of its file, "" for the command itself, and `SCRIPT` or `RECIPES` in the file's
    folder for scripts of a package.json and recipes of a build file."""

    def __init__(self, workspace: Workspace, commit: str, blobs: Mapping[str, str], *, product: bool) -> None:
        self._workspace, self._commit, self._blobs, self._product = workspace, commit, blobs, product
        self._all_folders = {above for inner in {*map(posixpath.dirname, blobs)} for above in _and_above(inner)}
        self._drivers = Drivers()
        self._modules = _ModulesByName(workspace, commit, blobs)
        self._waiting: list[tuple[str, str]] = []  # the place of a text that is to be read, and the text
        self._known_lines = set[tuple[str, str]]()  # command lines that are no files, with their places
        self._seen = set[str]()  # files
        self._words = set[str]()  # words of the texts that were read

    async def drivers_of(self, command: str) -> Drivers:
        self._follow_lines({("", command)})
        while self._waiting and len(self._seen) < MOST_FILES:
            place, text = self._waiting.pop()
            self._drivers.words |= set(_TOOL.findall(text.lower()))
            self._words |= set(_WORD.findall(text))
            self._add_folders(place, text)
            self._add_imports(place, text)
            loaded_by_code = await self._follow_given_code(place, text)
            await self._add_files(place, text, loaded_by_code)
            self._follow_lines(await _package_scripts(self._workspace, self._commit, place, text))
        await self._modules.add_to(self._drivers, product=self._product)
        self._add_settings_and_builds()
        return self._drivers

    def _follow_lines(self, lines: set[tuple[str, str]]) -> None:
        """Queue these command lines to be read, too. Known lines are skipped, because scripts may start each other."""
        self._waiting += sorted(lines - self._known_lines)
        self._known_lines |= lines

    def _add_folders(self, place: str, text: str) -> None:
        """Add the folders in which the command lines of this text start programs."""
        if PurePosixPath(place).suffix not in SHELL:
            return
        folder = posixpath.dirname(place) if PurePosixPath(place).name == SCRIPT else ""
        starts = _folders_started_in(text, {*self._drivers.folders, folder}) & self._all_folders
        self._drivers.folders |= {above for start in (folder, *starts) for above in _and_above(start)}

    def _add_imports(self, place: str, text: str) -> None:
        """Record which modules the script with this text imports."""
        self._modules.importing[place] = text
        if place.endswith(CODE):
            names = top_modules(text) | {name.split("/")[0].split(".")[0] for name in _required(text)}
            self._drivers.imports.setdefault(PurePosixPath(place).parent, set()).update(names)

    async def _follow_given_code(self, place: str, text: str) -> set[str]:
        """Follow code that command lines give to an interpreter as an argument. Returns the files that code of Node,
        Perl or Ruby loads; the modules that Python code imports are found later, with those of the scripts."""
        loaded = set[str]()
        for program, code in _code_given(place, text):
            loaded |= await _loaded_by_code(self._workspace, self._commit, program, code)
            if is_python(program):
                before = self._modules.importing.get(CODE_GIVEN, "")
                self._modules.importing[CODE_GIVEN] = f"{before}\n{_with_paths(code, self._blobs)}"
            elif program.endswith("sh"):
                self._follow_lines({(place, code)})
        return loaded

    async def _add_files(self, place: str, text: str, loaded_by_code: set[str]) -> None:
        """Add the files that this text runs or names. Queue those that may name further files."""
        drivers, product = self._drivers, self._product
        runs, settings = _named(place, text, self._blobs, drivers.folders, imports=product or "/" in place)
        is_top_script = not product and "/" not in place and place.endswith((".py", *NODE))
        beside = set(_imported(place, text, self._blobs)) - runs if is_top_script else set()
        runs |= loaded_by_code if product else set()
        beside |= loaded_by_code - runs
        for path in beside:
            drivers.beside.setdefault(path, set()).update(_names_asked(text, path))
        only_named = runs & drivers.settings  # until now
        drivers.settings -= only_named
        for path in sorted((runs | settings | beside) - self._seen | only_named):
            self._seen.add(path)
            if path not in beside:
                (drivers.runs if path in runs else drivers.settings).add(path)
            if path in runs | beside:
                self._waiting += await _texts_of_driver(self._workspace, self._commit, path, self._words)

    def _add_settings_and_builds(self) -> None:
        """Add the files that started tools read by themselves."""
        drivers = self._drivers
        settings_of_tools = {path for path in self._blobs if drivers.is_settings(path)}
        drivers.settings |= settings_of_tools
        drivers.by_name -= settings_of_tools
        drivers.builds = {
            path for path in self._blobs for tool in drivers.words if PurePosixPath(path).name == BUILD_CODE.get(tool)
        }
        drivers.settings -= drivers.runs | {*drivers.beside}


async def _texts_of_driver(
    workspace: Workspace, commit: str, path: str, words: Collection[str]
) -> list[tuple[str, str]]:
    """The texts in which a driver may name more drivers, each with its place: the driver's own text, if it is code, and
    its recipes, if it is a build file.

    A command starts single environments of tox and nox. So only environments count whose names are among `words`; if
    there are none, those that are named like checks.
    """
    pure, texts = PurePosixPath(path), list[tuple[str, str]]()
    if pure.suffix in SCRIPTED:
        texts.append((path, await text_of_driver(workspace, commit, path)))
    if pure.name in RECIPE_FILES:
        recipes = recipes_of(path, await text_of_driver(workspace, commit, path))
        targets = [*recipes]
        if pure.name in SINGLE_TARGETS:
            named = [target for target in targets if target in words]
            targets = named or [target for target in targets if is_check(target)]
        lines = "\n".join(line for target in targets for line in recipes[target].lines)
        texts.append((posixpath.join(posixpath.dirname(path), RECIPES), lines))
    return texts


async def _package_scripts(workspace: Workspace, commit: str, place: str, text: str) -> set[tuple[str, str]]:
    """The scripts of a package.json that these command lines start, each with its place. Empty if the command lines
    come from a file other than a package.json."""
    package = posixpath.join(posixpath.dirname(place), package_folder(text))
    manifest = posixpath.join(package, "package.json")
    if PurePosixPath(place).name not in ("", SCRIPT) or not names_package_manager(text):
        return set()
    content = await workspace.read(commit, manifest) if manifest in await workspace.blobs(commit) else None
    scripts = table_at(json_table(content or b""), "scripts")
    script_place = posixpath.join(package, SCRIPT) if package else ""
    return {(script_place, str(script)) for script in scripts_started(scripts, text).values()}


async def _loaded_by_code(workspace: Workspace, commit: str, program: str, code: str) -> set[str]:
    """The files that this code loads. A command line gives the code to Node, Perl or Ruby, as in
    `node -e "require('./check.js')"`. A file that other code of the commit loads, too, is the product, and is left
    out."""
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
        """Add the modules that the drivers import by whole names, directly or through each other. With `product`, the
        modules go into `runs`, and the settings that they name are added, too. Otherwise they go into `beside`."""
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
                waiting.append((path, await text_of_driver(self._workspace, self._commit, path)))

    async def _loaded_by(self, place: str, text: str, runs: Collection[str], *, product: bool) -> set[str]:
        """The modules that the script at this place may import from any folder, with the packages that contain them.

        A module is left out as the product if code that is not among `runs` may import it, too. Modules of the script's
        own package are an exception. With `product`, they always count. Without `product`, they count unless code
        outside the package may import them.
        """
        if not place.endswith(".py"):
            return set()
        package = _package(place)
        places = possible_places(place, imported_modules(text))
        places |= {str(folder) for found in {*places, place} for folder in PurePosixPath(found).parents}
        targets = {path for path in self._paths if path != place and module_place(path) in places}
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
        place = module_place(target)
        for path, text in self._texts.items():
            if path in aside or (inside and path.startswith(inside)) or PurePosixPath(place).name not in text:
                continue
            if path not in self._places:
                self._places[path] = possible_places(path, imported_modules(text))
            if place in self._places[path]:
                return True
        return False


async def text_of_driver(workspace: Workspace, commit: str, path: str) -> str:
    return decoded(await workspace.read(commit, path) or b"", MOST_BYTES)


def _names_asked_of(text: str, path: str) -> set[str]:
    """The names that this text uses from the module at this path. The text may import the module by its whole name, or
    by any last part of it."""
    parts = module_place(path).split("/")
    return {name for at in range(len(parts)) for name in python_names.names_asked(text, ".".join(parts[at:]))}


def _package(path: str) -> str:
    """The outermost folder of the package in which this module lies; "" for a module at the top."""
    parts = PurePosixPath(path).parts[:-1]
    return "/".join(parts[: 2 if parts[:1] == ("src",) else 1])


def module_place(path: str) -> str:
    """The path of this module, or of its folder if it is an `__init__.py`, without its ending."""
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
    """The commit's files that the script with this text runs, and the files other than code that the script only names.
    The script names files relative to its own folder, or to the folders in which its programs start (`started_in`).
    `imports`: modules that the script imports count as run, too."""
    folders = {posixpath.dirname(place), *started_in}
    run_files: set[str] = set()
    shell = PurePosixPath(place).suffix in SHELL
    for line in text.splitlines() if shell else ():
        for words in started_commands(line.strip().lstrip("@-+")):
            run_files |= set(files_run(words, blobs, folders))
        run_files |= files_fed(line.strip().lstrip("@-+"), blobs, folders)
    run_files |= sourced_files(text, folders, blobs) if shell else set()
    for match in _INCLUDED.finditer(text):
        run_files |= {path for word in match.group(1).split() for path in files_named(word, folders, blobs)}
    if imports:
        run_files |= set(_imported(place, text, blobs))
    named = {path for word in _WORD.findall(text) for path in files_named(word, folders, blobs)}
    only_named = {path for path in named if not path.endswith(CODE) and "." in PurePosixPath(path).name}
    lines = [line for line in text.splitlines() if not place]
    only_named |= {path for line in lines for word in shell_words(line) for path in shell_scripts(word, blobs)}
    return run_files, only_named - run_files


def _code_given(place: str, text: str) -> Iterator[tuple[str, str]]:
    """The program and its code, for each interpreter in these command lines that gets code as an argument. In the
    command itself, such code may have several lines."""
    lines = {*text.splitlines(), *(() if place else (text,))} if PurePosixPath(place).suffix in SHELL else ()
    for line in sorted(lines):
        for words in started_commands(line.strip().lstrip("@-+")):
            yield from codes_given(words)


def _with_paths(code: str, blobs: Mapping[str, str]) -> str:
    """Python code, with an import of each module whose path it names: `runpy.run_path("tools/lint.py")`."""
    paths = [path for word in _WORD.findall(code) for path in files_named(word, (), blobs) if path.endswith(".py")]
    return "\n".join((code, *(f"import {path.removesuffix('.py').replace('/', '.')}" for path in paths)))


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


def module_name(path: str) -> str:
    """The name by which a script in the same folder imports this module or package."""
    pure = PurePosixPath(path)
    return pure.parent.name if pure.name in PACKAGES else pure.stem


def _names_asked(text: str, path: str) -> set[str]:
    """The names that a script uses from this module. The script and the module are in the same folder, or Node loads
    the module by its path from the top."""
    if not path.endswith(NODE):
        return python_names.names_asked(text, module_name(path))
    from_top = path.rpartition(".")[0]
    return node_names.names_asked(text, module_name(path)) | node_names.names_asked(text, from_top)


def top_modules(text: str) -> set[str]:
    """The first parts of the names of the modules that a Python script imports."""
    return {name.split(".")[0] for name in imported_modules(text)}
