"""Finds which tests a file contains, by its text and the ids of tests. Does no I/O."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Mapping

from trued.proof.text.languages import is_script
from trued.proof.text.python_imports import parse
from trued.proof.text.script_imports import without_comments
from trued.support.lazy_regex import lazy_regex

_DEFINED = lazy_regex(r"^\s*(?:async\s+)?(?:def|class)\s+(\w+)", re.MULTILINE)
_GO_FUNCTION = lazy_regex(r"^func\s+(?:\([^)]*\)\s*)?(\w+)", re.MULTILINE)
_TITLE = lazy_regex(r"([\"'`])((?:\\.|(?!\1)[^\\\n])+)\1")  # any text in quotation marks
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def names_in(path: str, text: str) -> Counter[str]:
    """The names by which tests in this file may be known, each with how often the file has it.

    For Python, these are functions and classes (a method also as `Class::name`); for Go, functions; for all other
    files, texts in quotation marks. Comments do not count in Python, Go, JavaScript and TypeScript."""
    if path.endswith(".py"):
        return Counter(_python_names(text))
    if path.endswith(".go"):
        return Counter(_GO_FUNCTION.findall(without_comments(text)))
    plain = without_comments(text) if is_script(path) else text
    return Counter(title.replace("\\", "") for _, title in _TITLE.findall(plain))


def name_of_test(test_id: str, names: Collection[str]) -> str:
    """The one of `names` that stands for the test with this id, or "".

    If the file has the test itself, this is the name of the test's function, or its title. Otherwise a class inherits
    the test, or a decorator makes it: then it is the name of this class, or of the decorated function.
    """
    path, _, inner = test_id.partition("::")
    if path.endswith(".py"):
        *classes, last = inner.split("[")[0].split("::")
        made_of = [last[:end] for end in range(len(last), 4, -1)]
        own = (name for name in made_of if "::".join((*classes, name)) in names)
        return next((name for name in (*own, *reversed(classes), *made_of) if name in names), "")
    if path.endswith(".go"):
        inner = inner.split("/")[0]
    titles = inner.replace("\\", "").split(" > ")  # of groups, and of the test, which may have " > " in it
    return next((name for at in reversed(range(len(titles))) if (name := " > ".join(titles[at:])) in names), "")


def missing_names(
    wanted: Mapping[str, Counter[str]], before: Mapping[str, Counter[str]], after: Mapping[str, Counter[str]]
) -> dict[str, set[str]]:
    """File → the wanted names that the file has lost. A name is left out if other files gained it as often as it was
    lost.

    Each argument: file → names, with how often the file has each name. `before` and `after` are the names before and
    after the change.
    """
    lost: dict[str, Counter[str]] = {}
    for path, names in wanted.items():
        had, has = before.get(path, Counter()), after.get(path, Counter())
        lost[path] = Counter({name: min(count, had[name]) - has[name] for name, count in names.items()})
    gained = Counter[str]()
    for path, names in after.items():
        gained += names - before.get(path, Counter())
    total = Counter[str]()
    for names in lost.values():
        total += names  # only what is above zero
    gone = {name for name, count in total.items() if count > gained[name]}
    found = {
        path: {name for name, count in names.items() if count > 0 and name in gone} for path, names in lost.items()
    }
    return {path: names for path, names in found.items() if names}


def _python_names(text: str) -> list[str]:
    module = parse(text)
    if module is None:
        return _DEFINED.findall(text)
    found = list[str]()
    waiting: list[tuple[str, ast.AST]] = [("", module)]
    while waiting:
        above, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _DEFINITIONS):
                # a method also by the names of its classes, because a class may inherit a test of the same name
                found += [child.name, f"{above}{child.name}"] if above else [child.name]
                inner = f"{above}{child.name}::" if isinstance(child, ast.ClassDef) else above
                waiting.append((inner, child))
            elif isinstance(child, ast.stmt | ast.ExceptHandler):
                waiting.append((above, child))
    return found
