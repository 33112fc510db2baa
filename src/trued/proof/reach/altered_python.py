"""Finds the base's Python code that a change alters, and the code that cases and tests reach. Only parses text. Pure.

If the existing tests cannot be run, only this analysis shows which altered code is unverified. It does not depend on
anything that the head's code reports while it runs. An addition counts as harmless only if the engine understands that
it changes nothing else: a function, a value made of literals, a new method. Any other addition counts as altering the
base's code.
"""

import ast
import builtins
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

MODULE = "statements of the module"
# Methods that Python calls while a module is loaded: when a class is defined, or when a class is subscripted. So a new
# one may change what old code does.
HOOKS = (
    "__init_subclass__",
    "__class_getitem__",
    "__set_name__",
    "__mro_entries__",
    "_missing_",
    "_generate_next_value_",
)
# Names of a module that Python itself sets, reads or calls. If a change adds one, the whole module may behave
# differently.
MODULES_OWN = frozenset(
    {
        *("__name__", "__path__", "__file__", "__spec__", "__loader__", "__package__", "__builtins__"),
        *("__class__", "__getattr__", "__dir__", "__dict__"),
    }
)
# Special names that an enum may define without running code at import: Python uses none of them to make the members.
ENUM_MAY_HAVE = ("__str__", "__repr__", "__format__", "__doc__", "__slots__")
# Functions that a module may call while it is loaded: each makes a new value and changes nothing else.
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
_KEEPING = DECORATORS - {"property", "cached_property"}  # reading what is below these runs nothing
PROPERTIES = ("setter", "getter", "deleter")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ASKS_FOR_FIXTURES = ("usefixtures", "getfixturevalue")  # functions of pytest whose arguments are names of fixtures
_WORD = re.compile(r"\w+")


def altered_names(
    before: str, after: str, exported: Collection[str] = (), computed: Collection[str] = ()
) -> frozenset[str]:
    """The functions, methods and variables of a Python file that a change altered or removed. Added ones do not count.
    `MODULE` stands for other statements, and for a file that cannot be parsed. `exported`: names that this file imports
    and other files take from it. If the import of such a name is removed, the name counts as altered. `computed`:
    what `computed_members` found in other files: reading such an attribute runs code."""
    try:
        was, now = _Outline(ast.parse(before)), _Outline(ast.parse(after))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset({MODULE})
    found = {name for name, body in was.bound.items() if now.bound.get(name) != body and name not in was.imported}
    found |= {name for name in was.imported & now.bound.keys() if now.bound[name] != was.bound[name]}
    found -= {name for name in found if _has_only_grown(was.collections.get(name), now.collections.get(name))}
    gone = was.imported - now.bound.keys()
    found |= gone & {*exported, *now.offered}
    found |= {name for name, used in now.names.items() if not gone.isdisjoint(used)}
    found |= set(_altered_classes(was, now))
    moved = was.others != now.others or _kept_order(was, now) != _kept_order(now, was)
    now.computed = now.computed - was.computed | {*computed}
    return frozenset(found | ({MODULE} if moved or _has_side_effects(was, now) else set()))


def computed_members(before: str, after: str) -> frozenset[str]:
    """The members that classes of a Python file have gained, and whose code may run when they are read, such as
    properties. Empty for a file that cannot be parsed."""
    try:
        return frozenset(_Outline(ast.parse(after)).computed - _Outline(ast.parse(before)).computed)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()


def added_names(before: str, after: str) -> frozenset[str]:
    """The functions, variables, classes and imports that a Python file has gained, and `Class.member` for each new
    member of a class. Empty for a file that cannot be parsed."""
    try:
        was, now = _Outline(ast.parse(before)), _Outline(ast.parse(after))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(now.bound.keys() - was.bound.keys())


def _kept_order(one: "_Outline", other: "_Outline") -> list[str]:
    """The variables and classes that both files bind equally often, in the order in which `one` binds them. If this
    order differs between base and head, the change has moved code."""
    return [name for name in one.order if one.bindings[name] == other.bindings[name]]


def new_statements(before: str, after: str) -> frozenset[str]:
    """The names and string literals in a Python file's new statements, and every name that the file's code reaches from
    them. Definitions that the engine recognises as harmless do not count. If the file is no Python, every word of it is
    returned; if its code is nested too deeply to be read, `MODULE`, because its statements may use any name."""
    first = set[str]()
    try:
        known = {ast.dump(one) for one in ast.parse(before).body}
        for one in ast.parse(after).body:
            if ast.dump(one) not in known and altered_names("", ast.unparse(one)) == {MODULE}:
                first |= _mentioned(one)
    except SyntaxError:
        return frozenset(_WORD.findall(after))
    except (ValueError, RecursionError, MemoryError):
        return frozenset({MODULE})
    return reached_names([after], first)


def _altered_classes(was: "_Outline", now: "_Outline") -> Iterator[str]:
    """Classes of the base with a new member that their old code may use. Such a member is a method that Python calls,
    may override a member of a base class, or is a field from which a decorator makes methods."""
    for name in now.bound.keys() - was.bound.keys():
        owner, _, member = name.rpartition(".")
        if owner not in was.classes:
            continue
        stored = member in now.computed and member in was.stored  # a property in place of an attribute
        if name in now.fields or stored or _is_dunder(member) or _may_override(member, was.classes[owner]):
            yield owner


def _may_override(member: str, bases: tuple[str, ...]) -> bool:
    known = [getattr(builtins, one, None) for one in bases]
    return any(one is None or hasattr(one, member) for one in known)


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _has_side_effects(was: "_Outline", now: "_Outline") -> bool:
    """Whether an addition may change something other than itself when the module is loaded, or hides a built-in."""
    added = now.bound.keys() - was.bound.keys()
    if any(name in MODULES_OWN or name.rpartition(".")[2] in HOOKS for name in added):
        return True
    if was.bound or was.others:  # a new file has no old code that could be affected
        starred = any("alias(name='*'" in one for one in was.others)
        hidden = frozenset[str]().union(*was.names.values()) if starred else frozenset[str]()
        if any("." not in name and (_is_dunder(name) or hasattr(builtins, name) or name in hidden) for name in added):
            return True
    fresh = [one for name, several in now.run.items() for one in several if one not in was.run.get(name, ())]
    registered = Counter(key for several in was.run.values() for one in several for key in one.registers)
    # A new decorator may replace what an equal decorator of the base has registered, such as a route. A function of a
    # module (`click.option`) registers nothing, and neither does a decorator that the base already has twice.
    taken = {key for key, times in registered.items() if times == 1 and not was.is_in_module(key[0])}
    return not all(
        now.is_understood(one)
        or (one.decorator in was.decorators and now.makes_arguments(one) and taken.isdisjoint(one.registers))
        for one in fresh
    )


def reached_names(texts: Iterable[str], entry_points: Iterable[str]) -> frozenset[str]:
    """The names that these entry points use in these Python files, directly or indirectly. Names are matched without
    their scope, so the result may have too many names, but not too few."""
    return NameGraph(texts).reached(entry_points)


class NameGraph:
    """Which names of some Python files use which other names, without their scopes. `smaller`: a graph of other files,
    all of which is part of this one."""

    def __init__(self, texts: Iterable[str], smaller: "NameGraph | None" = None) -> None:
        self._uses: dict[str, set[str]] = {name: {*used} for name, used in smaller._uses.items()} if smaller else {}
        for text in texts:
            try:
                outline = _Outline(ast.parse(text))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            for name, used in outline.uses.items():
                self._uses.setdefault(name, set()).update(used)

    def reached(self, entry_points: Iterable[str]) -> frozenset[str]:
        """The names that these entry points use, directly or indirectly."""
        left, found = list(entry_points), set[str]()
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += self._uses.get(name, ())
        return frozenset(found)


def defined_names(text: str) -> frozenset[str]:
    """The functions, methods, classes and variables of a Python file. `Class.method` is listed as `method`."""
    try:
        outline = _Outline(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(name.rpartition(".")[2] for name in outline.bound.keys() - outline.imported)


def imported_modules(text: str) -> frozenset[str]:
    """The modules that a Python file imports, and `module.name` for each name that it imports from a module. The
    leading dots of relative imports are left out."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module or ''}.{alias.name}".lstrip(".") for alias in node.names)}
    return frozenset(found - {""})


def used_attributes(text: str) -> frozenset[str]:
    """`owner.name` for each attribute that a Python file uses. The owner is the last name before the attribute, or the
    real name of the module if that name is an alias. The owner need not be a module, so the result may have too many
    names, but not too few."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    aliases = {node.asname: node.name for node in nodes if isinstance(node, ast.alias) and node.asname}
    chains = [(_last_name(node.value), node.attr) for node in nodes if isinstance(node, ast.Attribute)]
    return frozenset(f"{aliases.get(owner, owner).rpartition('.')[2]}.{name}" for owner, name in chains)


def used_names(text: str) -> frozenset[str]:
    """Every name and attribute that a Python file uses or imports from elsewhere."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found = {node.id for node in nodes if isinstance(node, ast.Name)}
    found |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return frozenset(found | {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names})


def names_of_tests(texts: Mapping[str, str], ids: Iterable[str], *, strings: bool) -> frozenset[str]:
    """The names that these tests (`file::group::test`, or a whole file) use, directly or through helpers and fixtures
    in the same files. `strings`: any string in a test may be a name that it uses; otherwise only names of fixtures
    are read from strings."""
    wanted: dict[str, set[tuple[str, ...]]] = {}
    for path, *inner in map(_parts, ids):
        wanted.setdefault(path, set()).add(tuple(inner))
    found = set[str]()
    for path, tests in wanted.items():
        text = texts.get(path, "")
        if () in tests:
            found |= used_names(text)
        else:
            found |= reached_names([text], _used_by_tests(text, tests, strings=strings))
    return frozenset(found)


def without_idle_tests(texts: Mapping[str, str], idle: Collection[str], guarding: Collection[str]) -> dict[str, str]:
    """These Python files without the functions that only idle tests run. A function stays if a guarding test runs it,
    too: with other parameters, or because a class inherits it. Other files may use helpers of a file that is idle as a
    whole, so only the functions that are named like tests are removed from it."""
    off, on = {*map(_parts, idle)}, {*map(_parts, guarding)}
    files = {one[0] for one in off | on}
    read = {path: text for path, text in texts.items() if path in files or "def test" in text}
    known = {(path, *name) for path, text in read.items() if (path,) not in on for name in _function_names(text)}
    names = {one[-1] for one in known}
    inherited_off, inherited_on = (
        {_origin(one[-1], names) for one in ids - known if len(one) > 1} - {""} for ids in (off, on)
    )
    removed: dict[str, list[str]] = {}
    for one in known - on:
        in_idle_file = (one[0],) in off and one[-1].startswith("test")
        if (in_idle_file or one in off or one[-1] in inherited_off) and one[-1] not in inherited_on:
            removed.setdefault(one[0], []).append("::".join(one))
    return {path: without_tests(text, path, removed.get(path, ())) for path, text in texts.items()}


def _parts(name: str) -> tuple[str, ...]:
    """File, classes and function of a test, without its parameters."""
    return tuple(name.split("[")[0].split("::"))


def _origin(name: str, functions: Collection[str]) -> str:
    """The function of which a class inherits a test of this name, or from which a decorator makes it (`test_a_0` from
    `test_a`); "" if there is none."""
    return next((name[:end] for end in range(len(name), 0, -1) if name[:end] in functions), "")


def _function_names(text: str) -> Iterable[tuple[str, ...]]:
    try:
        return _functions_in(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def without_tests(text: str, path: str, ids: Collection[str]) -> str:
    """The text of a Python file without these tests (`file::group::test`, or a whole file)."""
    own = {one[1:] for one in map(_parts, ids) if one[0] == path}
    if () in own:
        return ""
    if not own:
        return text
    try:
        module = ast.parse(text)
        for name, nodes in _functions_in(module).items():
            for one in nodes if name in own else ():
                one.body, one.decorator_list = [ast.Pass()], []
        return ast.unparse(module)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


def _functions_in(module: ast.Module) -> dict[tuple[str, ...], list[ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions of a module and the methods of its classes, each by the names of its classes and its own."""
    found: dict[tuple[str, ...], list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
    left: list[tuple[tuple[str, ...], ast.AST]] = [((), module)]
    while left:
        above, node = left.pop()
        for one in ast.iter_child_nodes(node):
            if isinstance(one, _FUNCTIONS):
                found.setdefault((*above, one.name), []).append(one)
            elif isinstance(one, ast.ClassDef):
                left.append(((*above, one.name), one))
            elif isinstance(one, ast.stmt | ast.ExceptHandler):
                left.append((above, one))
    return found


def _used_by_tests(text: str, tests: Collection[tuple[str, ...]], *, strings: bool) -> set[str]:
    """The names that these tests of a file use, fixtures among them, and the functions that a test framework calls
    before or after any test. `strings`: all their strings count as names. A test that is not found in the file is
    inherited, or made by a decorator: its own name is returned, and the functions from whose names it may be made."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {one[-1] for one in tests}
    functions = _functions_in(module)
    found = {name[-1] for name, nodes in functions.items() if any(_runs_around_tests(one) for one in nodes)}
    for test in tests:
        for node in functions.get(test, ()):
            found |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
            found |= {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
            found |= {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
            inside = [node] if strings else [one for one in ast.walk(node) if _asks_for_fixtures(one)]
            found |= {str(one.value) for each in inside for one in ast.walk(each) if isinstance(one, ast.Constant)}
        if test in functions and not test[-1].startswith("test"):
            found.add(test[-1])  # a function with examples in its docstring, which test the function itself
        if test not in functions:
            found |= {test[-1], *test[:-1], *(name[-1] for name in functions if test[-1].startswith(name[-1]))}
    return found


def _asks_for_fixtures(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _last_name(node.func) in _ASKS_FOR_FIXTURES


def _runs_around_tests(node: ast.AST) -> bool:
    """Whether a test framework calls this function by itself: `setUp`, `teardown_module`, an `autouse` fixture."""
    name = getattr(node, "name", "").lower().removeprefix("async")
    decorators = [one for each in getattr(node, "decorator_list", ()) for one in ast.walk(each)]
    autouse = any(isinstance(one, ast.keyword) and one.arg == "autouse" for one in decorators)
    return autouse or name.startswith(("setup", "teardown", "pytest_"))


class _Outline:
    """What a module binds: functions, `Class.method`, variables and imports, each with its code."""

    def __init__(self, module: ast.Module) -> None:
        self.bound: dict[str, str] = {}  # name → its code
        self.bindings: Counter[str] = Counter()  # name → how often it is bound
        self.uses: dict[str, set[str]] = {}  # last part of the name → names that it uses
        self.names: dict[str, set[str]] = {}  # whole name → names that it takes from the module, without attributes
        self.imported: set[str] = set()
        self.collections: dict[str, tuple[str, ...]] = {}  # variable that is bound once → elements of its list or dict
        self.others: list[str] = []  # statements that bind nothing, in order
        self.order: list[str] = []  # variables and classes, in order
        self.classes: dict[str, tuple[str, ...]] = {}  # class → names of its base classes
        self.fields: set[str] = set()  # variables of decorated classes
        self.computed: set[str] = set()  # members of classes whose code may run when they are read
        self.run: dict[str, list[_Run]] = {}  # name → what is run when it is bound
        self.origins: dict[str, set[str]] = {}  # imported name → top-level modules it comes from; "": this package
        self.stored = {
            one.attr for one in ast.walk(module) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
        }
        for one in module.body:
            self._add(one)
        # Which blocks do nothing is known only after all names have been read.
        idle = {ast.dump(one) for one in module.body if isinstance(one, ast.If) and self._is_idle_block(one)}
        self.others = [one for one in self.others if one not in idle]
        self.collections = {name: one for name, one in self.collections.items() if self.bindings[name] == 1}
        self.decorators = {one.decorator for several in self.run.values() for one in several if one.decorator}
        offers = [one for one in module.body if "__all__" in _targets(one)]
        self.offered = {str(one.value) for each in offers for one in ast.walk(each) if isinstance(one, ast.Constant)}

    def _add(self, one: ast.stmt, above: str = "") -> None:
        if isinstance(one, ast.ClassDef):
            self._add_class(one, above)
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            self._bind(f"{above}{one.name}", one, ast.dump(_without_docstring(one)))
        elif isinstance(one, ast.Import | ast.ImportFrom) and one.names[0].name != "*":
            self._add_import(one)
        elif (names := list(_targets(one))) and all(names):
            for name in names:
                self._bind(f"{above}{name}", one, ast.dump(one))
                self.order.append(f"{above}{name}")
            value = getattr(one, "value", None)
            if isinstance(value, ast.List | ast.Tuple | ast.Set | ast.Dict) and _has_distinct_keys(value):
                self.collections[f"{above}{names[0]}"] = tuple(_elements(value))
        elif not _is_idle(one) or isinstance(one, ast.If):
            self.others.append(ast.dump(one))
            self.names.setdefault(MODULE, set()).update(_names_in(one))

    def _add_class(self, one: ast.ClassDef, above: str) -> None:
        for inner in one.body:
            self._add(inner, f"{one.name}.")
            self.computed |= {*_computed_by(inner)}
            if one.decorator_list:
                self.fields |= {f"{one.name}.{name}" for name in _targets(inner)}
        self.classes[f"{above}{one.name}"] = tuple(map(_last_name, one.bases))
        is_enum = any("enum" in self.origins.get(_first_name(base), ()) for base in one.bases)
        if is_enum and not self._is_plain_enum(one):
            # An enum's own methods may run when the class is defined, because Python uses them to make the members.
            self.run.setdefault(f"{above}{one.name}", []).append(_Run("members of an enum", understood=False))
        head = ast.ClassDef(one.name, one.bases, one.keywords, [], one.decorator_list)
        self._bind(f"{above}{one.name}", head, ast.dump(head))
        self.order.append(f"{above}{one.name}")
        self.uses[one.name] |= {name.rpartition(".")[2] for name in self.bound if name.startswith(f"{one.name}.")}

    def _is_plain_enum(self, one: ast.ClassDef) -> bool:
        members = [name.rpartition(".")[2] for name in self.bound if name.startswith(f"{one.name}.")]
        first = [_first_name(base) for base in one.bases]
        known = [self.origins.get(name) == {"enum"} or self._is_pythons(name) for name in first]
        return all(known) and not any(_is_dunder(name) and name not in ENUM_MAY_HAVE for name in members)

    def _add_import(self, one: ast.Import | ast.ImportFrom) -> None:
        place = f"{one.level}{one.module}" if isinstance(one, ast.ImportFrom) else ""
        for alias in one.names:
            name = alias.asname or alias.name.split(".")[0]
            module = one.module or "" if isinstance(one, ast.ImportFrom) else alias.name
            own = isinstance(one, ast.ImportFrom) and one.level > 0
            self.origins.setdefault(name, set()).add("" if own else module.split(".")[0])
            self.bound[name] = f"{self.bound.get(name, '')}{place} {alias.name}"
            self.bindings[name] += 1
            self.imported.add(name)
            self.uses.setdefault(name, set()).add(alias.name.rpartition(".")[2])

    def _is_idle_block(self, one: ast.If) -> bool:
        """Whether the block begins with `if TYPE_CHECKING` or `if __name__ == "__main__"`, and the file has not bound
        these names to something else."""
        if not _is_idle(one):
            return False
        name = _first_name(one.test.left if isinstance(one.test, ast.Compare) else one.test)
        return self.bound.get(name, "") == {"__name__": "", "typing": " typing"}.get(name, "0typing TYPE_CHECKING")

    def is_understood(self, one: "_Run") -> bool:
        """Whether the expression only makes a value, and calls only built-ins and the standard library."""
        return one.understood and self.computed.isdisjoint(one.read) and all(map(self._is_pythons, one.roots))

    def makes_arguments(self, one: "_Run") -> bool:
        """Whether the arguments of this decorator only make values, and call only built-ins and the standard
        library."""
        plain = one.arguments is not None and self.computed.isdisjoint(one.read)
        return plain and all(map(self._is_pythons, one.arguments or ()))

    def is_in_module(self, name: str) -> bool:
        """Whether the name is `module.function`, and the file contains `import module`."""
        return name.count(".") == 1 and self.bound.get(name.partition(".")[0], "").startswith(" ")

    def _is_pythons(self, name: str) -> bool:
        if name in self.origins:
            return self.origins[name] <= sys.stdlib_module_names and name not in self.run
        return name not in self.bound and hasattr(builtins, name)

    def _bind(self, name: str, one: ast.AST, body: str) -> None:
        again = name in self.bound and name not in self.imported
        self.run.setdefault(name, []).extend(_run_by(one, again=again))
        self.bound[name] = f"{self.bound.get(name, '')}{body}"  # for a name that is bound twice, both bodies count
        self.bindings[name] += 1
        self.names.setdefault(name, set()).update(_names_in(one))
        used = {node.id for node in ast.walk(one) if isinstance(node, ast.Name)}
        used |= {node.attr for node in ast.walk(one) if isinstance(node, ast.Attribute)}
        self.uses.setdefault(name.rpartition(".")[2], set()).update(used)


class _Run(NamedTuple):
    """An expression that is run when a module is loaded."""

    text: str
    understood: bool  # it can only make a new value, provided that the functions it calls are what their names say
    roots: frozenset[str] = frozenset()  # the first names of these functions: `a` of `a.b.c()`
    decorator: str = ""  # the decorating function, if this is a decorator
    arguments: frozenset[str] | None = None  # roots of a decorator's arguments; None if they do more than make values
    registers: frozenset[tuple[str, ...]] = frozenset()  # what the decorator may register (see `_registered`)
    read: frozenset[str] = frozenset()  # the attributes that it reads


def _run_by(one: ast.AST, *, again: bool) -> Iterator[_Run]:
    """What is run when this function, class or variable is bound. `again`: its name was bound before, so a decorator
    such as `@price.setter` may belong to that earlier binding."""
    decorators = getattr(one, "decorator_list", ())
    for decorator in decorators:
        yield _decorator_run(decorator, one, again=again)
    if {"property", "cached_property"} & (named := {*map(_last_name, decorators)}) and "classmethod" in named:
        yield _Run("a property of a class", understood=False)  # its code may run while the class is defined
    values: list[ast.AST | None] = []
    if isinstance(one, _FUNCTIONS):
        values = [*one.args.defaults, *one.args.kw_defaults, *_annotations(one)]
    elif isinstance(one, ast.ClassDef):
        values = [*one.bases, *(keyword.value for keyword in one.keywords)]
        if any(keyword.arg != "total" for keyword in one.keywords):
            yield _Run(ast.dump(one), understood=False)  # a metaclass or `__init_subclass__` runs code
    elif isinstance(one, ast.Assign | ast.AnnAssign):
        values = [one.value, getattr(one, "annotation", None)]
    for value in values:
        if value is not None:
            yield _Run(ast.dump(value), _is_plain(value), _roots(value), read=_attributes(value))


def _decorator_run(decorator: ast.expr, one: ast.AST, *, again: bool) -> _Run:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    # `own`: the decorator is `@price.setter` above a function `price`, for a property of the same class
    own = again and isinstance(function, ast.Attribute) and function.attr in PROPERTIES
    own = own and ast.unparse(function) == f"{getattr(one, 'name', '')}.{_last_name(function)}"
    plain = _is_plain(decorator, beside=function)
    roots = _roots(decorator) | (frozenset() if own else {_first_name(function)})
    understood = plain and (own or _last_name(function) in DECORATORS)
    given = [*decorator.args, *decorator.keywords] if isinstance(decorator, ast.Call) else []
    arguments = frozenset[str]().union(*map(_roots, given)) if plain else None
    read = frozenset() if own else _attributes(decorator)
    return _Run(ast.dump(decorator), understood, roots, ast.unparse(function), arguments, _registered(decorator), read)


def _attributes(value: ast.AST) -> frozenset[str]:
    return frozenset(one.attr for one in ast.walk(value) if isinstance(one, ast.Attribute))


def _computed_by(one: ast.stmt) -> Iterator[str]:
    """The names of members that this statement of a class binds to a decorated function, or to a value that another
    name stands for: each may be a property."""
    if isinstance(one, _FUNCTIONS) and not {*map(_last_name_called, one.decorator_list)} <= _KEEPING:
        yield one.name
    value = getattr(one, "value", None)
    called = {id(each.func) for each in ast.walk(value) if isinstance(each, ast.Call)} if value else set[int]()
    if value and any(isinstance(each, ast.Name) and id(each) not in called for each in ast.walk(value)):
        yield from _targets(one)


def _registered(decorator: ast.expr) -> frozenset[tuple[str, ...]]:
    """What a decorator may register. `@app.route("/a", methods=["PUT"])` gives `("app.route", "/a", "PUT")`, one such
    tuple for each method. If two decorators register the same thing, such as a route, one may replace the other."""
    if not isinstance(decorator, ast.Call):
        return frozenset()
    given = [*decorator.args, *(one.value for one in decorator.keywords)]
    texts = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    methods = [one.value for one in decorator.keywords if one.arg == "methods"]
    named = [one.value for value in methods for one in ast.walk(value) if isinstance(one, ast.Constant)]
    return frozenset((ast.unparse(decorator.func), texts[0], str(one).upper()) for one in named or ["GET"] if texts)


def _annotations(one: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST | None]:
    given = one.args
    for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        yield argument.annotation if argument else None
    yield one.returns


def _is_plain(value: ast.AST, beside: ast.AST | None = None) -> bool:
    """Whether the expression makes a new value and does nothing else. For a lambda only the defaults count, because its
    body does not run. `beside`: a part of the expression that is judged elsewhere."""
    if value is beside:
        return True
    if isinstance(value, ast.Lambda):
        return all(_is_plain(one, beside) for one in (*value.args.defaults, *value.args.kw_defaults) if one)
    if isinstance(value, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
        return False
    if isinstance(value, ast.Attribute | ast.Subscript) and not isinstance(value.ctx, ast.Load):
        return False  # `[0 for module.name in …]` assigns to `module.name`
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Call):
        return False
    if isinstance(value, ast.Call) and value.func is not beside and not _is_maker(value.func):
        return False
    factory = _factory(value)
    if factory and not (_is_plain(factory.body) if isinstance(factory, ast.Lambda) else _is_maker(factory)):
        return False
    return all(_is_plain(inner, beside) for inner in ast.iter_child_nodes(value))


def _is_maker(function: ast.expr) -> bool:
    """Whether the function's name is one of `MAKERS`, which only make values. `x[0].list()` does not count: `x[0]` may
    be anything."""
    while isinstance(function, ast.Subscript):  # `list[int]()`
        function = function.value
    named = _last_name(function) in MAKERS
    while isinstance(function, ast.Attribute | ast.Call):
        function = function.func if isinstance(function, ast.Call) else function.value
    return named and isinstance(function, ast.Name)


def _factory(value: ast.AST) -> ast.expr | None:
    """The function that a `defaultdict(…)` calls for a missing key; None if `value` is not such an expression."""
    is_one = isinstance(value, ast.Call) and _last_name(value.func) == "defaultdict"
    return value.args[0] if is_one and isinstance(value, ast.Call) and value.args else None


def _roots(value: ast.AST) -> frozenset[str]:
    nodes = list(ast.walk(value))
    calls = [one.func for one in nodes if isinstance(one, ast.Call)]
    factories = [one for one in map(_factory, nodes) if one and not isinstance(one, ast.Lambda)]
    return frozenset(_first_name(one) for one in (*calls, *factories))


def _names_in(one: ast.AST) -> set[str]:
    """The names that this code takes from its module: those that it reads and does not bind itself."""
    nodes = list(ast.walk(one))
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    if isinstance(one, _FUNCTIONS):
        read -= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        read -= {node.arg for node in nodes if isinstance(node, ast.arg)}
        read -= {node.asname or node.name for node in nodes if isinstance(node, ast.alias)}
    return read


def _mentioned(one: ast.AST) -> set[str]:
    """Every name, attribute and string literal in this code, except in the bodies of functions. Of `module.name` only
    `name` is included, but of `module.__dict__` both parts are, because it gives access to the whole module."""
    if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and not _is_dunder(one.attr):
        return {one.attr}
    found = {
        str(getattr(one, field)) for field in ("id", "attr", "value") if isinstance(getattr(one, field, None), str)
    }
    skipped = one.body if isinstance(one, _FUNCTIONS) else ()
    for inner in ast.iter_child_nodes(one):
        found |= _mentioned(inner) if inner not in skipped else set()
    return found


def _first_name(value: ast.expr) -> str:
    """The name with which a chain of attributes and calls begins."""
    while isinstance(value, ast.Attribute | ast.Call | ast.Subscript):
        value = value.func if isinstance(value, ast.Call) else value.value
    return getattr(value, "id", "")


def _last_name_called(value: ast.expr) -> str:
    return _last_name(value.func if isinstance(value, ast.Call) else value)


def _last_name(value: ast.expr) -> str:
    while isinstance(value, ast.Subscript):
        value = value.value
    return value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")


def _is_idle(one: ast.stmt) -> bool:
    """Whether the statement does nothing when the module is imported: a docstring, `pass`, or a block that only runs
    when the file is started as a program or read by a type checker."""
    if isinstance(one, ast.If) and not one.orelse:
        return ast.unparse(one.test) in ("__name__ == '__main__'", "TYPE_CHECKING", "typing.TYPE_CHECKING")
    return isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))


def _without_docstring(one: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
    if ast.get_docstring(one, clean=False) is None:
        return one
    copied = ast.parse(ast.unparse(one)).body[0]
    assert isinstance(copied, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101  (the text of `one` was parsed again)
    copied.body = copied.body[1:] or [ast.Pass()]
    return copied


def _targets(one: ast.stmt) -> Iterator[str]:
    targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
    for target in targets:
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        yield from (part.id if isinstance(part, ast.Name) else "" for part in parts)


def _has_distinct_keys(value: ast.expr) -> bool:
    """Whether all keys of a dict are literals and differ from each other. True for any other collection."""
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


def _has_only_grown(before: tuple[str, ...] | None, after: tuple[str, ...] | None) -> bool:
    return before is not None and after is not None and after[: len(before)] == before
