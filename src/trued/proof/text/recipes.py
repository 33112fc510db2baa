"""Reads the recipes of build files: the command lines behind `make check`, `just test`, `tox`, `nox`, `npm run lint`.

Only files at the top of a project are read, and only what is written there: nothing is included or computed.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from trued.proof.text.program_names import JUSTFILES, MAKEFILES, MANAGERS
from trued.proof.text.python_imports import nodes_in, parse
from trued.support.lazy_regex import lazy_regex
from trued.support.shell_words import is_operator, shell_words
from trued.support.tables import ini_tables, json_table, table_at

BUILD_FILES = (*MAKEFILES, *JUSTFILES, "tox.ini", "noxfile.py", "package.json")
# Program that starts recipes → the files that may hold them.
STARTERS = {
    **dict.fromkeys(("make", "gmake", "MAKE"), MAKEFILES),
    "just": JUSTFILES,
    **dict.fromkeys(MANAGERS, ("package.json",)),
}
# Names by which a project offers its checks: `check`, `test-api`, `unit_tests`, `typecheck`, `lint`.
_CHECKS = lazy_regex(r"(?:.*[-_.:])?(?:\w*(?<!la)(?:tests?|checks?)|lint|verify|smoke|ci)(?:[-_.:].*)?")
_RULE = lazy_regex(r"([^\s#:=@][^#:=]*?)\s*::?(?![:=])([^;#]*)(?:;(.*))?")
_SETTING = lazy_regex(r"\s*(?:export\s+)?([\w.-]+)\s*(?:\?|::?)?=\s*(.*)")
# In a justfile: a recipe's name, its parameters with quoted values, and the recipes that it needs. No setting matches.
_JUST_RULE = lazy_regex(
    r"@?([A-Za-z_][\w-]*)(?:\s(?:[^:\"'`#]|\"[^\"]*\"|'[^']*'|`[^`]*`)*)?:(?!=)\s*((?:[^#\"']|\"[^\"]*\"|'[^']*')*)(?:#.*)?"
)
_NAME = lazy_regex(r"[A-Za-z_][\w-]*")
_JUST_ALIAS = lazy_regex(r"alias\s+([\w-]+)\s*:=\s*([\w:-]+)")
_JUST_VALUE = lazy_regex(r"\{\{\s*([A-Za-z_][\w-]*)\s*\}\}")
_VARIABLE = lazy_regex(r"\$[({]([\w.-]+)[)}]")
_PLACE = lazy_regex(r"\{(?:tox_?ini_?dir|tox_root|justfile_directory\(\))\}/|\{\{\s*justfile_directory\(\)\s*\}\}/")
_KEYWORDS = ("if", "then", "elif", "else", "while", "until", "do", "!", "{")  # words of the shell before a command
_ASSIGNMENT = lazy_regex(r"\w+=")
DEEPEST = 8  # at most this many variables are replaced inside each other


@dataclass(frozen=True, slots=True)
class TargetRecipe:
    """The command lines of one target, and the targets that are made before it."""

    lines: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    is_unread: bool = False  # what it starts is written elsewhere, or is not understood

    def others(self) -> Iterator[str]:
        """The targets in `needs` that count as a part of this target. If this target has no command lines of its own,
        all count. Otherwise only those that are named like checks do, because the others build or install something."""
        yield from (need for need in self.needs if not self.lines or is_check(need))


def is_check(target: str) -> bool:
    """Whether a target is named like a check."""
    return bool(_CHECKS.fullmatch(target))


def recipes_of(path: str, text: str) -> Mapping[str, TargetRecipe]:
    """Target → its recipe, for a build file at the top of a project."""
    name = PurePosixPath(path).name
    if name == "package.json":
        scripts = table_at(json_table(text), "scripts")
        return {target: TargetRecipe((line,)) for target, line in scripts.items() if isinstance(line, str)}
    if name == "tox.ini":
        return _of_tox(text)
    if name == "noxfile.py":
        return _of_nox(text)
    return _of_just(text) if name in JUSTFILES else _of_make(text)


def _of_just(text: str) -> dict[str, TargetRecipe]:
    """The recipes of a justfile. If a header cannot be parsed, its first word counts as the name of a recipe."""
    recipes, targets, settings = dict[str, TargetRecipe](), list[str](), dict[str, str]()
    for line in text.replace("\\\n", " ").splitlines():
        if line[:1].isspace() and targets:
            _add(recipes, targets, TargetRecipe((line.strip(),)))
        elif alias := _JUST_ALIAS.match(line):
            recipes[alias[1]] = TargetRecipe(needs=(alias[2],))
        elif setting := _SETTING.fullmatch(line):
            settings |= {setting[1]: setting[2].strip("\"'")} if setting[2][:1] in ("'", '"') else {}
        elif rule := _JUST_RULE.fullmatch(line):
            targets = [rule[1]]
            _add(recipes, targets, TargetRecipe(needs=tuple(_NAME.findall(rule[2]))))
        elif line[:1] not in ("", "#", "[", " ", "\t") and (names := _NAME.findall(line)):
            targets = names[:1]
            _add(recipes, targets, TargetRecipe(is_unread=True))
    return {
        target: replace(recipe, lines=tuple(_plain_just(line, settings) for line in recipe.lines))
        for target, recipe in recipes.items()
    }


def _plain_just(line: str, settings: Mapping[str, str]) -> str:
    """A command line of a justfile, with the values of its variables. The name of an unknown variable stays."""
    for _ in range(DEEPEST):
        line = _JUST_VALUE.sub(lambda found: settings.get(found[1], f"{{{{{found[1]}}}}}"), line)[:10_000]
    return _PLACE.sub("", line).lstrip("@-")


def _of_make(text: str) -> dict[str, TargetRecipe]:
    """The rules of a Makefile: a line `target: needs`, and indented command lines below it."""
    recipes, targets, settings = dict[str, TargetRecipe](), list[str](), dict[str, str]()
    for line in text.replace("\\\n", " ").splitlines():
        if line[:1].isspace() and targets:
            _add(recipes, targets, TargetRecipe((line.strip(),)))
        elif setting := _SETTING.fullmatch(line):
            settings[setting[1]] = setting[2]
        elif rule := _RULE.match(line):
            targets = rule[1].split()
            _add(recipes, targets, TargetRecipe((rule[3].strip(),) if rule[3] else (), tuple(rule[2].split())))
    return {
        target: TargetRecipe(
            tuple(_plain(line, settings) for line in recipe.lines),
            tuple(word for need in recipe.needs for word in _plain(need, settings).split()),
        )
        for target, recipe in recipes.items()
    }


def _add(recipes: dict[str, TargetRecipe], targets: Sequence[str], more: TargetRecipe) -> None:
    """Add the command lines and needed targets of `more` to the recipe of each target. The recipe becomes unread if
    `more` is unread."""
    for target in targets:
        known = recipes.get(target, TargetRecipe())
        is_unread = known.is_unread or more.is_unread
        recipes[target] = TargetRecipe((*known.lines, *more.lines), (*known.needs, *more.needs), is_unread)


def _plain(line: str, settings: Mapping[str, str]) -> str:
    """A command line as the shell gets it: with the values of variables, and without make's signs at its beginning
    (`@`, `-`, `+`)."""
    for _ in range(DEEPEST):
        replaced = _VARIABLE.sub(lambda found: settings.get(found[1], found[1]), line)
        if replaced == line or len(replaced) > 10_000:
            break
        line = replaced
    return _PLACE.sub("", line).lstrip("@-+ ").replace("$$", "$")


def _of_tox(text: str) -> dict[str, TargetRecipe]:
    """The environments of a tox.ini. The section `testenv` counts as the target `test`: tox uses it for environments
    without a section of their own."""
    sections = {name: table for name, table in ini_tables(text).items() if name.partition(":")[0] == "testenv"}
    lines = {
        name.partition(":")[2] or "test": str(table.get("commands", "")).replace("\\\n", " ").splitlines()
        for name, table in sections.items()
    }
    return {name: TargetRecipe(tuple(_plain(line, {}) for line in several)) for name, several in lines.items()}


def _of_nox(text: str) -> dict[str, TargetRecipe]:
    """The sessions of a noxfile, each with the commands that it gives to `session.run`. Every function counts as a
    session."""
    module = parse(text)
    functions = [node for node in nodes_in(text) if isinstance(node, ast.FunctionDef)] if module else []
    return {_name_of_session(function): TargetRecipe(tuple(_lines_of_session(function))) for function in functions}


def _name_of_session(function: ast.FunctionDef) -> str:
    """The name that the decorator gives to a session (`@nox.session(name="check")`), or else its function's name."""
    keywords = [keyword for call in function.decorator_list if isinstance(call, ast.Call) for keyword in call.keywords]
    names = [
        keyword.value.value for keyword in keywords if keyword.arg == "name" and isinstance(keyword.value, ast.Constant)
    ]
    return str(names[0]) if names else function.name


def _lines_of_session(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.startswith("run"):
            words = [part.value if isinstance(part, ast.Constant) else "$_" for part in node.args]
            yield " ".join(_quoted(str(word)) for word in words)


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\"'\"'") + "'"


def targets_started(words: Sequence[str], known: Mapping[str, Mapping[str, TargetRecipe]]) -> list[tuple[str, str]]:
    """Build file and target of each recipe that a simple command starts (`make check`, `npm run lint`). `known`: build
    file → the recipes in it."""
    program = PurePosixPath(words[0]).name if words else ""
    file = next((name for name in STARTERS.get(program, ()) if name in known), "")
    return [(file, word) for word in words[1:] if file and word in known[file]]


def text_of_recipe(path: str, text: str, target: str) -> str:
    """The command lines of a target, as one text."""
    return "\n".join(recipes_of(path, text).get(target, TargetRecipe()).lines)


def commands_of(lines: str) -> Iterator[list[str]]:
    """The simple commands of several command lines, without redirections and without variables that are set before
    them."""
    for line in lines.replace("\\\n", " ").splitlines():
        command, is_file = list[str](), False
        for word in (*shell_words(line.strip()), ";"):
            if not is_operator(word):
                if not is_file and (command or not (word in _KEYWORDS or _ASSIGNMENT.match(word))):
                    command.append(word)
                is_file = False
                continue
            is_file = word.strip("&|") in ("<", ">", ">>")
            if command and not is_file:
                yield command
                command = []
