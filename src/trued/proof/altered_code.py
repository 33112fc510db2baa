"""Finds the base's code that a change alters, and which of it the user's cases reach, by the text of the base.

Existing tests would check this code. If they cannot be run, only this analysis shows what is unverified. It does not
depend on anything that the head's code reports while it runs. An addition leaves the base's code alone only if the
engine understands that it does: a function, a value made of literals, a new method. Anything else counts as altering
it. Pure.
"""

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

MODULE = "statements of the module"
# Methods that Python calls while a module is loaded, when somebody makes a class or asks a class for an item.
HOOKS = (
    "__init_subclass__",
    "__class_getitem__",
    "__set_name__",
    "__mro_entries__",
    "_missing_",
    "_generate_next_value_",
)
# What may be called where a module is loaded: it makes a new value and touches no other.
MAKERS = frozenset(
    {
        *("frozenset", "set", "dict", "list", "tuple", "int", "float", "str", "bytes", "bool", "range", "len"),
        *("sum", "abs", "round", "object", "Path", "PurePath", "PurePosixPath", "Decimal", "Fraction", "timedelta"),
        *("namedtuple", "TypeVar", "ParamSpec", "NewType", "field", "auto", "compile", "getLogger", "OrderedDict"),
        *("MappingProxyType", "defaultdict", "Counter", "deque", "Lock", "ContextVar", "cast", "resolve"),
    }
)
# Decorators that change nothing but the function or class below them.
DECORATORS = frozenset(
    {
        *(
            "property",
            "staticmethod",
            "classmethod",
            "cached_property",
            "cache",
            "lru_cache",
            "wraps",
            "total_ordering",
        ),
        *("dataclass", "contextmanager", "asynccontextmanager", "abstractmethod", "overload", "override", "final"),
        *("unique", "runtime_checkable"),
    }
)
PROPERTIES = ("setter", "getter", "deleter")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


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
    found |= set(_altered_classes(was, now))
    moved = was.others != now.others or _reaches_beyond(was, now)
    return frozenset(found | ({MODULE} if moved else set()))


def _altered_classes(was: "_Outline", now: "_Outline") -> Iterator[str]:
    """Classes of the base that got a member which their old code may use: Python's own, or one that a class above may
    have."""
    for name in now.bound.keys() - was.bound.keys():
        owner, _, member = name.rpartition(".")
        if owner in was.classes and (_is_dunder(member) or _may_override(member, was.classes[owner])):
            yield owner


def _may_override(member: str, bases: tuple[str, ...]) -> bool:
    known = [getattr(builtins, one, None) for one in bases]
    return any(one is None or hasattr(one, member) for one in known)


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _reaches_beyond(was: "_Outline", now: "_Outline") -> bool:
    """Whether what was added may change something other than itself when the module is loaded, or hides a built-in."""
    added = now.bound.keys() - was.bound.keys() if was.bound or was.others else set()  # a new file has no old code
    if any("." not in name and (_is_dunder(name) or hasattr(builtins, name)) for name in added):
        return True
    fresh = [one for name, several in now.run.items() for one in several if one not in was.run.get(name, ())]
    return not all(one.decorator in was.decorators or now.is_understood(one) for one in fresh)


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
        self.classes: dict[str, tuple[str, ...]] = {}  # class → names of the classes above it
        self.run: dict[str, list[_Run]] = {}  # name → what is run when it is bound
        self.origins: dict[str, set[str]] = {}  # imported name → top modules that it comes from; "": this package
        for one in module.body:
            self._add(one)
        self.decorators = {one.decorator for several in self.run.values() for one in several if one.decorator}

    def _add(self, one: ast.stmt, above: str = "") -> None:
        if isinstance(one, ast.ClassDef):
            for inner in one.body:
                self._add(inner, f"{one.name}.")
            self.classes[f"{above}{one.name}"] = tuple(map(_last_name, one.bases))
            head = ast.ClassDef(one.name, one.bases, one.keywords, [], one.decorator_list)
            self._bind(f"{above}{one.name}", head, ast.dump(head))
            self.uses[one.name] |= {name.rpartition(".")[2] for name in self.bound if name.startswith(f"{one.name}.")}
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            self._bind(f"{above}{one.name}", one, ast.dump(_without_docstring(one)))
        elif isinstance(one, ast.Import | ast.ImportFrom) and one.names[0].name != "*":
            place = f"{one.level}{one.module}" if isinstance(one, ast.ImportFrom) else ""
            for alias in one.names:
                name = alias.asname or alias.name.split(".")[0]
                module = one.module or "" if isinstance(one, ast.ImportFrom) else alias.name
                own = isinstance(one, ast.ImportFrom) and one.level > 0
                self.origins.setdefault(name, set()).add("" if own else module.split(".")[0])
                self.bound[name] = f"{self.bound.get(name, '')}{place} {alias.name}"
                self.imported.add(name)
                self.uses.setdefault(name, set()).add(alias.name.rpartition(".")[2])
        elif (names := list(_targets(one))) and all(names):
            for name in names:
                self._bind(f"{above}{name}", one, ast.dump(one))
            value = getattr(one, "value", None)
            if isinstance(value, ast.List | ast.Tuple | ast.Set | ast.Dict) and _has_distinct_keys(value):
                self.collections = {**self.collections, f"{above}{names[0]}": tuple(_elements(value))}
        elif not _is_idle(one):
            self.others.append(ast.dump(one))

    def is_understood(self, one: "_Run") -> bool:
        """Whether it makes a value and does nothing else, by functions that are Python's own."""
        return one.understood and all(map(self._is_pythons, one.roots))

    def _is_pythons(self, name: str) -> bool:
        if name in self.origins:
            return self.origins[name] <= sys.stdlib_module_names and name not in self.run
        return name not in self.bound and hasattr(builtins, name)

    def _bind(self, name: str, one: ast.AST, body: str) -> None:
        self.run.setdefault(name, []).extend(_run_by(one))
        self.bound[name] = f"{self.bound.get(name, '')}{body}"  # for a name that is bound twice, both bodies count
        used = {node.id for node in ast.walk(one) if isinstance(node, ast.Name)}
        used |= {node.attr for node in ast.walk(one) if isinstance(node, ast.Attribute)}
        self.uses.setdefault(name.rpartition(".")[2], set()).update(used)


class _Run(NamedTuple):
    """An expression that is run when a module is loaded."""

    text: str
    understood: bool  # it can only make a new value, if the functions that it calls are what their names say
    roots: frozenset[str] = frozenset()  # the names by which it finds these functions
    decorator: str = ""  # the function that decorates, if it is one


def _run_by(one: ast.AST) -> Iterator[_Run]:
    """What is run when this function, class or variable is bound."""
    for decorator in getattr(one, "decorator_list", ()):
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        own = isinstance(function, ast.Attribute) and function.attr in PROPERTIES  # of a property in the same class
        plain = (own or _last_name(function) in DECORATORS) and _is_plain(decorator, beside=function)
        roots = _roots(decorator) | (frozenset() if own else {_first_name(function)})
        yield _Run(ast.dump(decorator), plain, roots, ast.unparse(function))
    values: list[ast.AST | None] = []
    if isinstance(one, _FUNCTIONS):
        if one.name in HOOKS:
            yield _Run(ast.dump(one.args), understood=False)
        values = [*one.args.defaults, *one.args.kw_defaults, *_annotations(one)]
    elif isinstance(one, ast.ClassDef):
        values = [*one.bases, *(keyword.value for keyword in one.keywords)]
        if any(keyword.arg != "total" for keyword in one.keywords):
            yield _Run(ast.dump(one), understood=False)  # a metaclass, or an argument of __init_subclass__
    elif isinstance(one, ast.Assign | ast.AnnAssign):
        values = [one.value, getattr(one, "annotation", None)]
    for value in values:
        if value is not None:
            yield _Run(ast.dump(value), _is_plain(value), _roots(value))


def _annotations(one: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST | None]:
    given = one.args
    for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        yield argument.annotation if argument else None
    yield one.returns


def _is_plain(value: ast.AST, beside: ast.AST | None = None) -> bool:
    """Whether the expression makes a new value and does nothing else. What is inside a lambda is not run."""
    if value is beside or isinstance(value, ast.Lambda):
        return True
    if isinstance(value, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
        return False
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Call):
        return False
    if isinstance(value, ast.Call) and value.func is not beside and _last_name(value.func) not in MAKERS:
        return False
    return all(_is_plain(inner, beside) for inner in ast.iter_child_nodes(value))


def _roots(value: ast.AST) -> frozenset[str]:
    calls = [one.func for one in ast.walk(value) if isinstance(one, ast.Call)]
    return frozenset(_first_name(one) for one in calls)


def _first_name(value: ast.expr) -> str:
    """The name with which a chain of attributes and calls begins."""
    while isinstance(value, ast.Attribute | ast.Call | ast.Subscript):
        value = value.func if isinstance(value, ast.Call) else value.value
    return getattr(value, "id", "")


def _last_name(value: ast.expr) -> str:
    while isinstance(value, ast.Subscript):
        value = value.value
    return value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")


def _is_idle(one: ast.stmt) -> bool:
    """Whether the statement does nothing when the module is imported: a text, or what is run only as a program or by a
    type checker."""
    if isinstance(one, ast.If) and not one.orelse:
        return ast.unparse(one.test) in ("__name__ == '__main__'", "TYPE_CHECKING", "typing.TYPE_CHECKING")
    return isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))


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


def _has_distinct_keys(value: ast.expr) -> bool:
    """Whether no entry of a dict replaces another: all its keys are literals, and no two are equal."""
    if not isinstance(value, ast.Dict):
        return True
    try:
        keys = [ast.literal_eval(key) for key in value.keys if key is not None]
        return len({*keys}) == len(value.keys)
    except (ValueError, TypeError):
        return False


def _elements(value: ast.List | ast.Tuple | ast.Set | ast.Dict) -> Iterator[str]:
    if isinstance(value, ast.Dict):
        for key, part in zip(value.keys, value.values, strict=True):
            yield f"{ast.dump(key) if key else ''}: {ast.dump(part)}"
    else:
        yield from map(ast.dump, value.elts)


def _only_grew(before: tuple[str, ...] | None, after: tuple[str, ...] | None) -> bool:
    return before is not None and after is not None and after[: len(before)] == before
