"""Finds the base's code that a change alters, and which of it the user's cases reach, by the text of the base.

Existing tests would check this code. If they cannot be run, only this analysis shows what is unverified. It does not
depend on anything that the head's code reports while it runs. Pure.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping

MODULE = "statements of the module"


def altered_names(before: str, after: str) -> frozenset[str]:
    """Functions, methods and variables of a Python file that were changed or removed, but not those that were added.
    `MODULE` stands for other statements, and for a file that cannot be parsed."""
    try:
        was, now = _Outline(ast.parse(before)), _Outline(ast.parse(after))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset({MODULE})
    found = {name for name, body in was.bound.items() if now.bound.get(name) != body and name not in was.imported}
    found |= {name for name in was.imported & now.bound.keys() if now.bound[name] != was.bound[name]}
    found -= {name for name in found if _only_grew(was.collections.get(name), now.collections.get(name))}
    return frozenset(found | ({MODULE} if was.others != now.others else set()))


def reached_names(texts: Iterable[str], entry_points: Iterable[str]) -> frozenset[str]:
    """The names that these entry points use in these Python files, directly or indirectly. Names are matched without
    their scope, so the result has rather too many than too few."""
    uses: dict[str, set[str]] = {}
    for text in texts:
        try:
            outline = _Outline(ast.parse(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for name, used in outline.uses.items():
            uses.setdefault(name, set()).update(used)
    left, found = list(entry_points), set[str]()
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += uses.get(name, ())
    return frozenset(found)


def used_names(text: str) -> frozenset[str]:
    """Every name and attribute that a Python file uses or imports from elsewhere."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found = {node.id for node in nodes if isinstance(node, ast.Name)}
    found |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return frozenset(found | {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names})


def names_of_tests(texts: Mapping[str, str], ids: Iterable[str]) -> frozenset[str]:
    """The names that these tests (`file::group::test`, or a whole file) use, with the helpers and fixtures in their
    files."""
    wanted: dict[str, set[str]] = {}
    for name in ids:
        path, *inner = name.split("[")[0].split("::")
        wanted.setdefault(path, set()).add(inner[-1] if inner else "")
    found = set[str]()
    for path, tests in wanted.items():
        text = texts.get(path, "")
        found |= used_names(text) if "" in tests else reached_names([text], {*tests, *_set_up(text)})
    return frozenset(found)


def _set_up(text: str) -> set[str]:
    """Functions and methods of a test file that are not tests."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    functions = [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {name for name in functions if not name.startswith("test")}


class _Outline:
    """What a module binds: functions, `Class.method`, variables and imports, each with its code."""

    def __init__(self, module: ast.Module) -> None:
        self.bound: dict[str, str] = {}
        self.uses: dict[str, set[str]] = {}  # last part of the name → names that it uses
        self.imported: set[str] = set()
        self.collections: Mapping[str, tuple[str, ...]] = {}
        self.others: list[str] = []  # statements that bind nothing, in order
        for one in module.body:
            self._add(one)

    def _add(self, one: ast.stmt, above: str = "") -> None:
        if isinstance(one, ast.ClassDef):
            for inner in one.body:
                self._add(inner, f"{one.name}.")
            head = ast.ClassDef(one.name, one.bases, one.keywords, [], one.decorator_list)
            self._bind(f"{above}{one.name}", head, ast.dump(head))
            self.uses[one.name] |= {name.rpartition(".")[2] for name in self.bound if name.startswith(f"{one.name}.")}
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            self._bind(f"{above}{one.name}", one, ast.dump(_without_docstring(one)))
        elif isinstance(one, ast.Import | ast.ImportFrom) and one.names[0].name != "*":
            place = f"{one.level}{one.module}" if isinstance(one, ast.ImportFrom) else ""
            for alias in one.names:
                name = alias.asname or alias.name.split(".")[0]
                self.bound[name] = f"{self.bound.get(name, '')}{place} {alias.name}"
                self.imported.add(name)
                self.uses.setdefault(name, set()).add(alias.name.rpartition(".")[2])
        elif (names := list(_targets(one))) and all(names):
            for name in names:
                self._bind(f"{above}{name}", one, ast.dump(one))
            if isinstance(value := getattr(one, "value", None), ast.List | ast.Tuple | ast.Set | ast.Dict):
                self.collections = {**self.collections, f"{above}{names[0]}": tuple(_elements(value))}
        elif not (isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))):
            self.others.append(ast.dump(one))

    def _bind(self, name: str, one: ast.AST, body: str) -> None:
        self.bound[name] = f"{self.bound.get(name, '')}{body}"  # for a name that is bound twice, both bodies count
        used = {node.id for node in ast.walk(one) if isinstance(node, ast.Name)}
        used |= {node.attr for node in ast.walk(one) if isinstance(node, ast.Attribute)}
        self.uses.setdefault(name.rpartition(".")[2], set()).update(used)


def _without_docstring(one: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
    if ast.get_docstring(one, clean=False) is None:
        return one
    copied = ast.parse(ast.unparse(one)).body[0]
    assert isinstance(copied, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101  (it was one)
    copied.body = copied.body[1:] or [ast.Pass()]
    return copied


def _targets(one: ast.stmt) -> Iterator[str]:
    targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
    for target in targets:
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        yield from (part.id if isinstance(part, ast.Name) else "" for part in parts)


def _elements(value: ast.List | ast.Tuple | ast.Set | ast.Dict) -> Iterator[str]:
    if isinstance(value, ast.Dict):
        for key, part in zip(value.keys, value.values, strict=True):
            yield f"{ast.dump(key) if key else ''}: {ast.dump(part)}"
    else:
        yield from map(ast.dump, value.elts)


def _only_grew(before: tuple[str, ...] | None, after: tuple[str, ...] | None) -> bool:
    return before is not None and after is not None and after[: len(before)] == before
