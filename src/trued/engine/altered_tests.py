"""Finds existing tests that a change removes or alters, by comparing the texts of files. Does no I/O.

Additions do not count (new tests, helpers, imports, cases in a table, lines of data), unless they may keep existing
tests from running.
"""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import TypeAlias

from trued.proof.room.frozen_files import (
    TESTS_MODULES,
    has_tests,
    is_among_tests,
    is_compiled,
    is_test,
    is_tests_module,
)
from trued.proof.text.commit_texts import is_unread
from trued.proof.text.languages import is_script
from trued.proof.text.python_imports import parse
from trued.proof.text.script_imports import without_comments
from trued.support.lazy_regex import lazy_regex

REMOVED, ALTERED = "existing tests are removed", "existing tests are altered"
DOCUMENTS = (".md", ".rst")
WHOLE = ""  # stands for the whole file in a set of names of altered functions and classes

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Names that say how the tests of a module or class are run.
_STEERING = lazy_regex(r"pytestmark|__\w+__|collect_ignore(_glob)?")
_SKIPS = lazy_regex(r"[sS]kip\w*|importorskip|xfail|deselected|_?exit")
# Lines of other languages that keep tests from running: a bare `return`, `process.exit()`, `test.only(…)`.
_ENDS = lazy_regex(
    r"return|.*(?:\bprocess\.exit\b|\bos\.Exit\b|\.only\b|\.(?:SkipNow|Skipf?)\(|\b(?:describe|suite|context)\.skip\b).*"
)
_NOT_RUN = lazy_regex(r"(typing\.)?TYPE_CHECKING|__name__ == ['\"]__main__['\"]")
_SOURCE = lazy_regex(r"^(?:import|export|const|let|var)\b.*[\"'`]([^\"'`]+)[\"'`]\)?$")


def may_be_file_of_tests(path: str) -> bool:
    """Whether the file's name suggests that it holds tests, or helpers or data for tests."""
    is_named = is_test(path) or PurePosixPath(path).name in (*TESTS_MODULES, "conftest.py")
    return is_named and not is_compiled(path) and not path.endswith(DOCUMENTS)


def is_file_of_tests(path: str, content: bytes, collected: Collection[str]) -> bool:
    """Whether the file holds tests, or helpers or data for tests. Product code whose name merely looks like that of a
    test does not count. `collected`: the files in which checks found tests."""
    name = PurePosixPath(path).name
    is_by_name = is_among_tests(path) or name == "conftest.py" or has_tests(path, content)
    return is_by_name or path in collected or is_tests_module(path, content)


def altered_tests(before: Mapping[str, str], after: Mapping[str, str], superseded: Collection[str]) -> dict[str, str]:
    """Path → ALTERED or REMOVED, for each file whose existing tests the change alters or removes. `before` and `after`:
    path → text of each changed file of tests, before and after the change. `superseded`: tests, groups of tests or
    files that need not stay."""
    moved = dict(_moved(before, after))
    pieces_gained = _pieces_gained(before, after)
    found: dict[str, str] = {}
    for path, text in before.items():
        here = after.get(moved.get(path, path))
        names = _altered(path, text, here or "", pieces_gained) - _superseded_in(path, superseded)
        names = {name for name in names if not _is_covered(path, name, superseded)}
        if names and _stays(path, superseded):
            found[path] = ALTERED if here is not None else REMOVED
    return found


def _moved(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each path that is gone, and the path of a new file with the same text or, failing that, the same name."""
    fresh = [path for path in after if path not in before]
    for path in (path for path in before if path not in after):
        alike = [new for new in fresh if after[new] == before[path]]
        alike += [new for new in fresh if PurePosixPath(new).name == PurePosixPath(path).name]
        if alike:
            yield path, alike[0]


def _stays(path: str, superseded: Collection[str]) -> bool:
    return not any(path == named or path.startswith(f"{named.rstrip('/')}/") for named in superseded)


def _superseded_in(path: str, superseded: Collection[str]) -> set[str]:
    inner = (named.partition("::") for named in superseded)
    return {name.split("[")[0].replace("::", ".") for file, _, name in inner if file == path and name}


def _is_covered(path: str, name: str, superseded: Collection[str]) -> bool:
    """Whether this function or method is in a superseded class."""
    return any(name.startswith(f"{one}.") for one in _superseded_in(path, superseded))


def _altered(path: str, before: str, after: str, gained: Counter[str]) -> set[str]:
    """The names of the file's altered functions and classes, and `WHOLE` if other statements are altered. If an altered
    file is not Python or cannot be parsed, the only name is `WHOLE`."""
    if path.endswith(".py"):
        if is_unread(after) and after != before:
            return {WHOLE}
        old, new = parse(before), parse(after)
        if old is not None and new is not None:
            return _altered_in(old, new, gained)
    return {WHOLE} if _lines_altered(path, before, after) else set()


# -- Python ------------------------------------------------------------------------------------------------------------


def _altered_in(old: ast.Module, new: ast.Module, gained: Counter[str]) -> set[str]:
    names = _altered_scope(old.body, new.body, "", gained)
    used = {node.id for node in ast.walk(new) if isinstance(node, ast.Name)}
    had, has = dict(_imports(old)), dict(_imports(new))
    if any(has.get(name, "") != source and (name in used or name in has) for name, source in had.items()):
        names.add(WHOLE)  # an import that nothing uses any more may go
    if "*" in has and "*" not in had:
        names.add(WHOLE)
    return names


def _altered_scope(old: list[ast.stmt], new: list[ast.stmt], above: str, gained: Counter[str]) -> set[str]:
    """The dotted names of the functions and classes that were altered or removed in a scope (a module or a class). For
    a removed class: its methods, or the class if it has none.

    The scope's own name (`WHOLE` for a module) is included if its remaining statements were altered, or if new ones may
    keep its tests from running. Code that `gained` shows was moved elsewhere is left out. `above`: the class's name and
    a dot, or "" for a module.
    """
    was, now = _Scope(old), _Scope(new)
    names = set[str]()
    for name, functions in was.functions.items():
        here = now.functions.get(name, [])
        if len(here) != len(functions) or not all(map(_is_same_function, functions, here)):
            elsewhere = not here and all(gained[_text(one)] > 0 for one in functions)
            names |= set() if elsewhere else {f"{above}{name}"}
    for name, classes in was.classes.items():
        here_classes = now.classes.get(name, [])
        if not here_classes and all(gained[_text(one)] > 0 for one in classes):
            continue
        if len(here_classes) != len(classes):
            inner = [] if here_classes else [*_Scope(classes[0].body).functions]
            names |= {f"{above}{name}.{method}" for method in inner} or {f"{above}{name}"}
            continue
        for one, other in zip(classes, here_classes, strict=True):
            if not _is_same_head(one, other):
                names.add(f"{above}{name}")
            names |= _altered_scope(one.body, other.body, f"{above}{name}.", gained)
    own = above.rstrip(".")
    if not _statements_stay(was.others, now.others) or _is_steered(was, now):
        names.add(own)
    return names


class _Scope:
    """The functions, classes and other statements of a module or class."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self.functions: dict[str, list[_Function]] = {}
        self.classes: dict[str, list[ast.ClassDef]] = {}
        self.others: list[ast.stmt] = []
        for node in body:
            if isinstance(node, _FUNCTIONS):
                self.functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.ClassDef):
                self.classes.setdefault(node.name, []).append(node)
            elif not isinstance(node, ast.Import | ast.ImportFrom | ast.Pass) and not _is_remark(node):
                self.others.append(node)
        self.names = {*self.functions, *self.classes, *(name for node in self.others for name in _bound(node))}
        self.names |= {name for node in body for name, _ in _imports(node)}


def _is_steered(was: _Scope, now: _Scope) -> bool:
    """Whether new statements may keep existing tests of this scope from running as they did."""
    for name, functions in now.functions.items():
        if name not in was.functions and (name in was.names or any(map(_may_skip, functions))):
            return True
    if any(name in was.names for name in now.classes if name not in was.classes):
        return True
    known = [ast.dump(node) for node in was.others]
    fresh = [node for node in now.others if ast.dump(node) not in known and not _is_no_part_of_tests(node)]
    for node in fresh:
        bound = _bound(node)
        grown = any(set(_bound(old)) == set(bound) and _is_grown(old, node) for old in was.others if bound)
        if not grown and (not bound or any(name in was.names or _STEERING.fullmatch(name) for name in bound)):
            return True
    return False


def _is_no_part_of_tests(node: ast.stmt) -> bool:
    """Whether the statement has no effect in a test run, such as `if __name__ == …` and `if TYPE_CHECKING`."""
    return isinstance(node, ast.If) and not node.orelse and bool(_NOT_RUN.fullmatch(ast.unparse(node.test)))


def _may_skip(function: _Function) -> bool:
    """Whether this new function, a helper or a fixture, may skip existing tests. A new test can skip only itself."""
    names = [node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)]
    names += [node.id for node in ast.walk(function) if isinstance(node, ast.Name)]
    return not function.name.startswith("test") and any(map(_SKIPS.fullmatch, names))


def _statements_stay(old: Iterable[ast.stmt], new: Iterable[ast.stmt]) -> bool:
    left = [*new]
    for node in old:
        steers = any(map(_STEERING.fullmatch, _bound(node)))
        same = next(
            (one for one in left if (ast.dump(node) == ast.dump(one) if steers else _is_grown(node, one))), None
        )
        if same is None:
            return False
        left.remove(same)
    return True


def _is_same_function(old: _Function, new: _Function) -> bool:
    bodies = [[ast.dump(node) for node in one.body if not _is_remark(node)] for one in (old, new)]
    same = type(old) is type(new) and bodies[0] == bodies[1] and ast.dump(old.args) == ast.dump(new.args)
    return same and _all_grown(old.decorator_list, new.decorator_list)


def _is_same_head(old: ast.ClassDef, new: ast.ClassDef) -> bool:
    heads = [[ast.dump(node) for node in (*one.bases, *one.keywords)] for one in (old, new)]
    return heads[0] == heads[1] and _all_grown(old.decorator_list, new.decorator_list)


def _all_grown(old: list[ast.expr], new: list[ast.expr]) -> bool:
    return len(old) == len(new) and all(map(_is_grown, old, new))


def _is_grown(old: ast.AST, new: ast.AST) -> bool:
    """Whether the new node equals the old one, apart from elements added to its lists, tuples, sets and dicts."""
    if type(old) is not type(new):
        return False
    if isinstance(old, ast.List | ast.Tuple | ast.Set) and isinstance(new, ast.List | ast.Tuple | ast.Set):
        left = [ast.dump(one) for one in new.elts]
        return not Counter(ast.dump(one) for one in old.elts) - Counter(left)
    if isinstance(old, ast.Dict) and isinstance(new, ast.Dict):
        pairs = [
            [f"{key and ast.dump(key)}: {ast.dump(value)}" for key, value in zip(one.keys, one.values, strict=True)]
            for one in (old, new)
        ]
        keys = [key and ast.dump(key) for key in new.keys]
        return not Counter(pairs[0]) - Counter(pairs[1]) and len(keys) == len({*keys})
    if isinstance(old, ast.Assign | ast.AnnAssign | ast.Call | ast.keyword) and not isinstance(new, ast.Constant):
        parts = [[*ast.iter_child_nodes(one)] for one in (old, new)]
        return len(parts[0]) == len(parts[1]) and all(map(_is_grown, *parts))
    return ast.dump(old) == ast.dump(new)


def _imports(scope: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each name that an import in the scope binds, with its source: a module, or a module and a name. The source
    is "" for `import a` and `import a.b`, which both bind `a`."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Import):
            yield from ((one.asname or one.name.split(".")[0], one.name if one.asname else "") for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = f"{'.' * node.level}{node.module or ''}"
            yield from ((one.asname or one.name, f"{source} {one.name}") for one in node.names)


def _bound(node: ast.stmt) -> list[str]:
    """The plain names that an assignment binds. [] if it also assigns to an attribute or an item, and for any other
    statement."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return names if len(names) == len(targets) else []


def _is_remark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _text(node: ast.AST) -> str:
    return ast.dump(node)


def _pieces_gained(before: Mapping[str, str], after: Mapping[str, str]) -> Counter[str]:
    """Code of a top-level function or class → how many copies of this code the change adds to Python files. Copies that
    the change removes from other files are not subtracted, so a function that was moved counts as added."""
    gained = Counter[str]()
    for path, text in after.items():
        if path.endswith(".py"):
            gained += Counter(_pieces(text)) - Counter(_pieces(before.get(path, "")))
    return gained


def _pieces(text: str) -> list[str]:
    module = parse(text)
    return [_text(node) for node in module.body if isinstance(node, (*_FUNCTIONS, ast.ClassDef))] if module else []


# -- other languages and data ------------------------------------------------------------------------------------------


def _lines_altered(path: str, before: str, after: str) -> bool:
    """Whether lines were removed, or lines were added that keep tests from running.

    Ignores the order of lines, their indentation, and a comma or semicolon at their end. Also ignores an import that
    now takes more names from the same file.
    """
    old, new = _lines(path, before), _lines(path, after)
    removed, added = Counter(old) - Counter(new), Counter(new) - Counter(old)
    for line in removed:
        source = _SOURCE.match(line)
        words = {*re.findall(r"\w+", line)}
        if not source or not any(
            (here := _SOURCE.match(other)) and here[1] == source[1] and words <= {*re.findall(r"\w+", other)}
            for other in added
        ):
            return True
    return any(map(_ENDS.fullmatch, added))


def _lines(path: str, text: str) -> list[str]:
    plain = without_comments(text) if is_script(path) or path.endswith(".go") else text
    lines = (line.strip().rstrip(",;").rstrip() for line in plain.splitlines())
    marks = "#" if path.endswith((".py", ".sh", ".rb", ".yaml", ".yml", ".toml")) else "\0"
    return [line for line in lines if line and not line.startswith(marks)]
