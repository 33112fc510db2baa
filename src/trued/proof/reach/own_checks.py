"""Finds the base's own checks beside its test suites: programs that its recipes for checks start (`make check`, `just
test`, `tox`, `nox`, `npm run lint`), and shell scripts among its tests.

A check that no command of the contract runs guards nothing. Only code of the base counts as an own check: test runners
that the engine knows, linters and other installed tools do not.
"""

import ast
import posixpath
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from trued.proof.reach.reachable_files import FROM_OUTSIDE, computes_modules
from trued.proof.room.frozen_files import is_among_tests, is_test
from trued.proof.room.started_files import NODE, files_fed, files_run, hides_program
from trued.proof.text.command_parser import recognise_runner, without_wrappers
from trued.proof.text.commit_texts import as_text
from trued.proof.text.languages import SCRIPTS
from trued.proof.text.program_names import JUSTFILES, MAKEFILES, SHELLS
from trued.proof.text.python_imports import imported_modules, nodes_in
from trued.proof.text.recipes import (
    BUILD_FILES,
    TargetRecipe,
    commands_of,
    is_check,
    recipes_of,
    targets_started,
    text_of_recipe,
)
from trued.proof.text.script_imports import relative_paths
from trued.protocols import Workspace
from trued.support.lazy_regex import lazy_regex

SHELL_SCRIPTS = (".sh", ".bash", ".bats")
# A module after `-m`, or the path of a script, perhaps below a folder that a variable names. The last alternative only
# skips everything else that looks like a path.
STARTS = lazy_regex(
    r"-m[ \t]+([\w.]+)|(?:(?<![^\s\"'(./])|[\w-]++/)((?:[\w-]++/)*+[\w-]++\.(?:py|[cm]?[jt]s|sh))(?![\w.])"
    r"|[\w-][\w/-]*+"
)
_IMPORTS = lazy_regex(r"\b(?:import|from)\s+([\w.]+)")
# A shell script checks something if it compares texts or numbers, and if the result decides how it ends.
_COMPARES = lazy_regex(
    r"(?:\btest|\[)[ \t][^\n]*[ \t](?:==?|!=|=~|-(?:eq|ne|lt|le|gt|ge))[ \t]|\b(?:diff|cmp)[ \t]|\bgrep[ \t]+-\w*q"
)
_ENDS_BY_RESULT = lazy_regex(r"^[ \t]*set[ \t]+-\w*e|\bexit[ \t]+(?:[1-9]|\"?\$)", re.MULTILINE)
# A program whose text names a test runner starts this runner, or has tests that this runner would find.
STARTS_RUNNER = lazy_regex(
    r"\b(?:pytest|unittest|nose2?|tox|nox|vitest|jest|mocha|run_tests|get_runner)\b|[\"' ]--test\b|\bgo\b.{1,6}\btest\b"
)
STARTS_PROCESSES = lazy_regex(r"\b(?:subprocess|os\.system|os\.exec\w*|os\.spawn\w*|pexpect|runpy)\b")
_NO_COMMANDS = (*SCRIPTS, ".go", ".md", ".rst", ".txt")
_WORD = lazy_regex(r"\w+")
_CODE_OPTION = lazy_regex(r"-\w*c|-e|--eval")
_SHELL_PROGRAM = lazy_regex(r"\b(?:ba|da|z|k)?sh\b")
_INSTALLS = ("setup.py", "noxfile.py", "tasks.py")  # programs that build and install, or start recipes


class OwnChecks(NamedTuple):
    """The base's own checks. Each is the file of a program, or `file::target` for a recipe that starts code of the
    product directly."""

    beside: Sequence[str] = ()  # own checks that no given command runs
    run: frozenset[str] = frozenset()  # own checks that the given commands run


async def own_checks(workspace: Workspace, base: str, commands: Sequence[str]) -> OwnChecks:
    """The base's own checks, in two groups: those that these commands run, and the others.

    Only build files at the top are read. A step of a recipe that starts an installed tool is not an own check.
    """
    blobs = await workspace.blobs(base)
    shell = [path for path in blobs if path.endswith(SHELL_SCRIPTS) and is_among_tests(path)]
    build_files = [*_first(MAKEFILES, blobs), *_first(JUSTFILES, blobs)]
    build_files += [name for name in BUILD_FILES if name in blobs and name not in (*MAKEFILES, *JUSTFILES)]
    texts = {path: as_text(content) for path, content in (await workspace.read_all(base, build_files)).items()}
    search = _OwnCheckSearch(workspace, base, blobs, {name: recipes_of(name, text) for name, text in texts.items()})
    run = frozenset(await search.started_by(commands))
    found = [path for path in shell if await search.is_check_among_tests(path)]
    for file, recipes in search.recipes.items():
        for target in recipes:
            if is_check(target):
                found += await search.started_by_recipe(file, target)
    return OwnChecks([place for place in dict.fromkeys(found) if place not in run], run)


def _first(names: Iterable[str], blobs: Collection[str]) -> list[str]:
    return [name for name in names if name in blobs][:1]


class _OwnCheckSearch:
    """Follows command lines through the recipes and shell scripts of a base."""

    def __init__(
        self,
        workspace: Workspace,
        base: str,
        blobs: Mapping[str, str],
        recipes: Mapping[str, Mapping[str, TargetRecipe]],
    ) -> None:
        self._workspace, self._base, self._blobs, self.recipes = workspace, base, blobs, recipes
        scripts = recipes.get("package.json", {})
        self._scripts = {name: "".join(recipe.lines) for name, recipe in scripts.items()}
        product = [path for path in blobs if path.endswith(".py") and not is_test(path)]
        self._modules = {part for path in product for part in PurePosixPath(path.removesuffix(".py")).parts[:2]}
        self._product = {path for path in blobs if path.endswith((".py", *NODE)) and not is_test(path)}
        self._imported: frozenset[str] | None = None

    async def started_by(self, commands: Iterable[str]) -> list[str]:
        return await self._follow("\n".join(commands), "", {""}, set())

    async def started_by_recipe(self, file: str, target: str) -> list[str]:
        return await self._follow_recipe(file, target, set())

    async def is_check_among_tests(self, path: str) -> bool:
        """Whether a shell script among the tests checks something by itself: it starts no test runner, and it either
        starts code of the product or makes a comparison that decides how the script ends."""
        text = await self._text(path)
        if any(recognise_runner(shlex.join(words), self._scripts) for words in commands_of(text)):
            return False
        started = {place for pair in STARTS.findall(text) for place in pair}
        modules = {name.split(".")[0] for name in (*started, *_IMPORTS.findall(text))}
        programs = {words[0] for words in commands_of(text)}
        if not self._product.isdisjoint(started) or not self._modules.isdisjoint(modules | programs):
            return True
        return bool(_COMPARES.search(text) and _ENDS_BY_RESULT.search(text))

    async def _follow_recipe(self, file: str, target: str, visited: set[str]) -> list[str]:
        place = f"{file}::{target}"
        if place in visited:
            return []
        visited.add(place)
        recipe = self.recipes[file].get(target, TargetRecipe())
        lines = "\n".join(recipe.lines)
        program = lines.split("\n")[0] if lines.startswith("#!") else ""
        if recipe.is_unread or (program and not _SHELL_PROGRAM.search(program)):
            found = [place] if recipe.is_unread or self._is_using_product(lines) else []
        else:
            found = await self._follow(lines, place, {""}, visited)
        for other in recipe.others():
            found += await self._follow_recipe(file, other, visited)
        return found

    async def _follow(self, lines: str, place: str, folders: set[str], visited: set[str]) -> list[str]:
        """The own checks that these command lines start. `place`: where the lines are written. If a line starts code of
        the product directly, `place` is the own check."""
        found = list[str]()
        for line in lines.replace("\\\n", " ").splitlines():
            for line_words in commands_of(line):
                words = without_wrappers(line_words)
                if words[:1] == ["cd"] and len(words) == 2:
                    folders = {*folders, posixpath.normpath(words[1])}
                elif words and recognise_runner(shlex.join(words), self._scripts) is None:
                    found += await self._started(words, place, folders, visited)
            fed = sorted(files_fed(line, self._blobs, folders))
            found += await self._checks_in(fed, [], place, folders, visited)
            found += [place] if "::" in place and not fed and hides_program(line) else []
        return found

    async def _started(self, words: list[str], place: str, folders: set[str], visited: set[str]) -> list[str]:
        if targets := targets_started(words, self.recipes):
            inner = [await self._follow_recipe(file, target, visited) for file, target in targets]
            return [check for several in inner for check in several]
        if SHELLS.fullmatch(PurePosixPath(words[0]).name) and (code := _code_in(words)):
            if PurePosixPath(words[0]).name.endswith("sh"):
                return await self._follow(code, place, folders, visited)
            found = [place] if self._is_using_product(code) else []
        else:
            found = []
        return found + await self._checks_in(files_run(words, self._blobs, folders), words, place, folders, visited)

    def _is_using_product(self, code: str) -> bool:
        """Whether code that a command line or a recipe contains may use the product."""
        return any(name.split(".")[0] in self._modules for name in _IMPORTS.findall(code))

    async def _checks_in(
        self, paths: Iterable[str], words: list[str], place: str, folders: set[str], visited: set[str]
    ) -> list[str]:
        found = list[str]()
        for path in paths:
            if path in visited or path in BUILD_FILES or PurePosixPath(path).name in _INSTALLS:
                continue
            visited.add(path)
            found += await self._check_in(path, words, place, folders, visited)
        return [check for check in found if check]

    async def _check_in(
        self, path: str, words: list[str], place: str, folders: set[str], visited: set[str]
    ) -> list[str]:
        """The own checks behind a program of the base.

        For a shell script outside tests, these are the checks that the script starts. A shell script among tests is
        itself a check if `is_check_among_tests` says so. For code of the product, the check is `place`. Any other
        program is itself a check if it is a test or may use the product, and if it starts no test runner.
        """
        if path.endswith(SHELL_SCRIPTS):
            if is_among_tests(path):
                return [path] if await self.is_check_among_tests(path) else []
            return await self._follow(await self._text(path), path, folders, visited)
        if "test" in words[1:3] or STARTS_RUNNER.search(await self._text(path)):  # `manage.py test`
            return []
        if path.endswith(".py") and not is_test(path) and await self._is_product(path):
            return [place]
        return [path] if is_test(path) or await self._may_use_product(path) else []

    async def _may_use_product(self, path: str) -> bool:
        """Whether a program may load code of the product, start it or speak to it. False for a program that only reads
        texts, such as the project's own linter."""
        text = await self._text(path)
        if FROM_OUTSIDE.search(text) or computes_modules(path, text):
            return True
        if path.endswith(".py"):
            return not self._modules.isdisjoint(part for name in imported_modules(text) for part in name.split("."))
        return not path.endswith(NODE) or bool(relative_paths(text))

    async def _is_product(self, path: str) -> bool:
        """Whether a Python file is part of the product rather than a program beside it: it is at the top, it is in a
        package, or some file imports it."""
        folder = posixpath.dirname(path)
        if not folder or f"{folder}/__init__.py" in self._blobs:
            return True
        if self._imported is None:
            files = [name for name in self._blobs if name.endswith(".py")]
            texts = await self._workspace.read_all(self._base, files)
            imported = {name for text in texts.values() for name in imported_modules(as_text(text))}
            self._imported = frozenset(part for name in imported for part in name.split("."))
        return PurePosixPath(path).stem in self._imported

    async def _text(self, path: str) -> str:
        return as_text(await self._workspace.read(self._base, path) or b"")


def _code_in(words: list[str]) -> str:
    """The code after `-c` or `-e`; "" if the first argument is no such option."""
    options = [number for number, word in enumerate(words[1:-1], 1) if _CODE_OPTION.fullmatch(word)]
    return words[options[0] + 1] if options and options[0] == 1 else ""


def starts_unknown_program(name: str, text: str, blobs: Mapping[str, str]) -> bool:
    """Whether the engine cannot tell what this own check starts. This is so if the engine cannot parse the header of
    the check's recipe, or if only the shell can tell which program a line starts, and the line names no script of the
    base. `text`: the text of the check's file. `blobs`: the files of the base."""
    path, _, target = name.partition("::")
    if not target or path not in BUILD_FILES:
        return False
    recipe = recipes_of(path, text).get(target, TargetRecipe())
    return recipe.is_unread or any(hides_program(line) and not files_fed(line, blobs, {""}) for line in recipe.lines)


def words_of_commands(tests: Mapping[str, str]) -> frozenset[str]:
    """The words in the command lines of these own checks: the words of a recipe or a shell script, and the words in the
    strings of a Python program that starts other programs. `tests`: own check → text of its file."""
    words = set[str]()
    for name, text in tests.items():
        path, _, target = name.partition("::")
        if target:
            lines = [text_of_recipe(path, text, target)] if path in BUILD_FILES else []
        elif path.endswith(".py"):
            lines = [str(node.value) for node in nodes_in(text) if isinstance(node, ast.Constant)]
            lines = lines if STARTS_PROCESSES.search(text) else []
        else:
            lines = [] if path.endswith(_NO_COMMANDS) else [text]
        words |= {word for line in lines for word in _WORD.findall(line)}
    return frozenset(words)
