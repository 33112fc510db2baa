"""Finds the base's Python code that a change alters, and the code that cases and tests reach. Only parses text.

If the existing tests cannot be run, only this analysis shows which altered code is unverified. It does not depend on
anything that the head's code reports while it runs. An addition counts as harmless only if it is of a kind that surely
changes nothing else: a function, a value made of literals, a new method. Any other addition counts as altering the
base's code.
"""

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from trued.proof.reach.stores_of_python import ANY_NAME, GLOBAL, stored_names
from trued.proof.text.commit_texts import is_unread
from trued.proof.text.python_imports import UNREADABLE
from trued.proof.text.python_names import last_name
from trued.support.lazy_regex import lazy_regex

MODULE = ANY_NAME
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
_NO_GETTERS = DECORATORS - {"property", "cached_property"}  # to read a member with such a decorator runs no code
PROPERTIES = ("setter", "getter", "deleter")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WORD = lazy_regex(r"\w+")


def altered_names(
    before: str, after: str, exported: Collection[str] = (), computed: Collection[str] = ()
) -> frozenset[str]:
    """The functions, methods and variables of a Python file that a change altered or removed. Added names do not count.
    `MODULE` stands for other statements, and for a file that cannot be parsed.

    `exported`: names that this file imports and that other files take from it. If the import of such a name is removed,
    the name counts as altered. `computed`: members that `computed_members` found in other files. To read such a member
    runs code.
    """
    was, now = _outline(before), _outline(after)
    if was is None or now is None:
        return frozenset({MODULE})
    altered = {name for name, body in was.code.items() if now.code.get(name) != body and name not in was.imported}
    altered |= {name for name in was.imported & now.code.keys() if now.code[name] != was.code[name]}
    altered -= {name for name in altered if _has_only_appended(was.collections.get(name), now.collections.get(name))}
    removed_imports = was.imported - now.code.keys()
    altered |= removed_imports & {*exported, *now.exported}
    altered |= {name for name, free_names in now.free_names.items() if not removed_imports.isdisjoint(free_names)}
    altered |= set(_altered_classes(was, now))
    altered |= _stored_by_new_code(was, now)
    is_reordered = _order_of_kept_names(was, now) != _order_of_kept_names(now, was)
    # Reduced only now: `_altered_classes` needs all computed members, but `_has_side_effects` needs only new ones.
    now.computed = now.computed - was.computed | {*computed}
    is_module_altered = was.other_statements != now.other_statements or is_reordered or _has_side_effects(was, now)
    return frozenset(altered | ({MODULE} if is_module_altered else set()))


def computed_members(before: str, after: str) -> frozenset[str]:
    """The members that classes of a Python file have gained, and whose code may run when they are read, such as
    properties. Empty for a file that cannot be parsed."""
    was, now = _outline(before), _outline(after)
    return frozenset(now.computed - was.computed) if was and now else frozenset()


def added_names(before: str, after: str) -> frozenset[str]:
    """The functions, variables, classes and imports that a Python file has gained, and `Class.member` for each new
    member of a class. Empty for a file that cannot be parsed."""
    was, now = _outline(before), _outline(after)
    return frozenset(now.code.keys() - was.code.keys()) if was and now else frozenset()


def _order_of_kept_names(outline: "_Outline", other: "_Outline") -> list[str]:
    """The variables and classes that both files bind equally often, in the order in which `outline` binds them. If this
    order differs between base and head, the change has moved code."""
    return [name for name in outline.order if outline.binding_counts[name] == other.binding_counts[name]]


def new_statements(before: str, after: str) -> frozenset[str]:
    """The names and string literals in a Python file's new statements, and every name that the file's code reaches from
    them. Definitions that the engine recognises as harmless do not count.

    If the file has a syntax error, every word of its text is returned. If the engine cannot read all of the file, or
    its code is nested too deeply, `MODULE` is returned, because the statements may use any name.
    """
    if is_unread(after):
        return frozenset({MODULE})
    mentioned = set[str]()
    try:
        old_statements = {ast.dump(statement) for statement in ast.parse(before).body}
        for statement in ast.parse(after).body:
            if ast.dump(statement) not in old_statements and MODULE in altered_names("", ast.unparse(statement)):
                mentioned |= _mentioned_names(statement)
    except SyntaxError:
        return frozenset(_WORD.findall(after))
    except (ValueError, RecursionError, MemoryError):
        return frozenset({MODULE})
    return reached_names([after], mentioned)


def _altered_classes(was: "_Outline", now: "_Outline") -> Iterator[str]:
    """Classes of the base with a new member that may change what their old code does: a special method such as
    `__eq__`, a member that may override one of a base class, a field from which a decorator makes methods, or a
    property in place of an attribute that the old code assigns."""
    for name in now.code.keys() - was.code.keys():
        owner, _, member = name.rpartition(".")
        if owner not in was.classes:
            continue
        stored = member in now.computed and member in was.assigned_attributes  # a property in place of an attribute
        if name in now.fields or stored or _is_dunder(member) or _may_override(member, was.classes[owner]):
            yield owner


def _stored_by_new_code(was: "_Outline", now: "_Outline") -> set[str]:
    """The names that are not local to the new or altered functions, and to which these functions store something. They
    are names of the module that the base has, and attributes of such names or of other modules: `shop.price = …` gives
    `price` and `shop`. `MODULE` stands for any name."""
    stored = set[str]()
    for name, definitions in now.functions.items():
        if now.code.get(name) == was.code.get(name):
            continue
        for definition in definitions:
            stored |= stored_names(definition, now.foreign_names(was))
    own = {name.removeprefix(GLOBAL) for name in stored if name.startswith(GLOBAL)} & was.code.keys()
    return own | {name for name in stored if not name.startswith(GLOBAL)}


def _may_override(member: str, bases: tuple[str, ...]) -> bool:
    built_in = [getattr(builtins, base, None) for base in bases]
    return any(base is None or hasattr(base, member) for base in built_in)


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _has_side_effects(was: "_Outline", now: "_Outline") -> bool:
    """Whether something that the change added may change other code when the module is loaded, or hides a built-in."""
    added = now.code.keys() - was.code.keys()
    if any(name in MODULES_OWN or name.rpartition(".")[2] in HOOKS for name in added):
        return True
    if was.code or was.other_statements:  # a new file has no old code that could be affected
        has_star_import = any("alias(name='*'" in statement for statement in was.other_statements)
        module_names_used = frozenset[str]().union(*was.free_names.values()) if has_star_import else frozenset[str]()
        if any(
            "." not in name and (_is_dunder(name) or hasattr(builtins, name) or name in module_names_used)
            for name in added
        ):
            return True
    new = [
        expression
        for name, expressions in now.load_time_expressions.items()
        for expression in expressions
        if expression not in was.load_time_expressions.get(name, ())
    ]
    registrations = Counter(
        key
        for expressions in was.load_time_expressions.values()
        for expression in expressions
        for key in expression.registers
    )
    # A new decorator may replace what an equal decorator of the base has registered, such as a route. Two kinds count
    # as registering nothing: a function of a module (`click.option`), and a decorator that the base already has twice.
    taken = {key for key, times in registrations.items() if times == 1 and not was.is_in_module(key[0])}
    return not all(
        now.is_understood(expression)
        or (
            expression.decorator in was.decorators
            and now.has_harmless_arguments(expression)
            and taken.isdisjoint(expression.registers)
        )
        for expression in new
    )


def reached_names(texts: Iterable[str], entry_points: Iterable[str]) -> frozenset[str]:
    """The names that these entry points use in these Python files, directly or indirectly. Names are matched without
    their scope, so the result may have too many names, but not too few."""
    return NameGraph(texts).reached(entry_points)


class NameGraph:
    """Which names in some Python files use which other names, whatever the scopes of the names. `smaller`: a graph of
    other files; the new graph includes everything in it."""

    def __init__(self, texts: Iterable[str], smaller: "NameGraph | None" = None) -> None:
        self._uses: dict[str, set[str]] = {name: {*used} for name, used in smaller._uses.items()} if smaller else {}
        for text in texts:
            outline = _outline(text)
            for name, used in outline.uses.items() if outline else ():
                self._uses.setdefault(name, set()).update(used)

    def reached(self, entry_points: Iterable[str]) -> frozenset[str]:
        """The names that these entry points use, directly or indirectly."""
        waiting, reached = list(entry_points), set[str]()
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting += self._uses.get(name, ())
        return frozenset(reached)


def defined_names(text: str) -> frozenset[str]:
    """The functions, methods, classes and variables of a Python file. `Class.method` is listed as `method`."""
    outline = _outline(text)
    names = outline.code.keys() - outline.imported if outline else ()
    return frozenset(name.rpartition(".")[2] for name in names)


def _outline(text: str) -> "_Outline | None":
    """The outline of a Python file; None if the text cannot be parsed."""
    try:
        return _Outline(ast.parse(text))
    except UNREADABLE:  # its parts may also be nested too deeply for `ast.dump`
        return None


class _Outline:
    """What a module binds: functions, `Class.method`, variables and imports, each with its code."""

    def __init__(self, module: ast.Module) -> None:
        self.code: dict[str, str] = {}  # name → its code
        self.binding_counts: Counter[str] = Counter()  # name → how often it is bound
        self.uses: dict[str, set[str]] = {}  # last part of the name → names that it uses
        self.free_names: dict[str, set[str]] = {}  # whole name → names that it takes from the module, no attributes
        self.imported: set[str] = set()
        self.collections: dict[str, tuple[str, ...]] = {}  # variable that is bound once → elements of its list or dict
        self.other_statements: list[str] = []  # statements that bind nothing, in order
        self.order: list[str] = []  # variables and classes, in order
        self.classes: dict[str, tuple[str, ...]] = {}  # class → names of its base classes
        self.fields: set[str] = set()  # variables of decorated classes
        self.computed: set[str] = set()  # members of classes whose code may run when they are read
        self.functions: dict[str, list[ast.AST]] = {}  # name → what it is bound to
        self.load_time_expressions: dict[str, list[_LoadTimeExpression]] = {}  # name → what is run when it is bound
        self.origins: dict[str, set[str]] = {}  # imported name → top-level modules it comes from; "": this package
        self.assigned_attributes = {
            node.attr
            for node in ast.walk(module)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        }
        for statement in module.body:
            self._add(statement)
        # Which blocks do nothing is known only after all names have been read.
        idle = {ast.dump(block) for block in module.body if isinstance(block, ast.If) and self._is_idle_block(block)}
        self.other_statements = [dump for dump in self.other_statements if dump not in idle]
        self.collections = {
            name: elements for name, elements in self.collections.items() if self.binding_counts[name] == 1
        }
        self.decorators = {
            expression.decorator
            for expressions in self.load_time_expressions.values()
            for expression in expressions
            if expression.decorator
        }
        export_lists = [statement for statement in module.body if "__all__" in _targets(statement)]
        self.exported = {
            str(node.value)
            for statement in export_lists
            for node in ast.walk(statement)
            if isinstance(node, ast.Constant)
        }

    def _add(self, statement: ast.stmt, above: str = "") -> None:
        if isinstance(statement, ast.ClassDef):
            self._add_class(statement, above)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            self._bind(f"{above}{statement.name}", statement, ast.dump(_without_docstring(statement)))
        elif isinstance(statement, ast.Import | ast.ImportFrom) and statement.names[0].name != "*":
            self._add_import(statement)
        elif (names := list(_targets(statement))) and all(names):
            for name in names:
                self._bind(f"{above}{name}", statement, ast.dump(statement))
                self.order.append(f"{above}{name}")
            value = getattr(statement, "value", None)
            if isinstance(value, ast.List | ast.Tuple | ast.Set | ast.Dict) and _has_distinct_keys(value):
                self.collections[f"{above}{names[0]}"] = tuple(_elements(value))
        elif not _is_idle(statement) or isinstance(statement, ast.If):
            self.other_statements.append(ast.dump(statement))
            self.free_names.setdefault(MODULE, set()).update(_free_names(statement))

    def _add_class(self, definition: ast.ClassDef, above: str) -> None:
        for statement in definition.body:
            self._add(statement, f"{definition.name}.")
            self.computed |= {*_possible_properties(statement)}
            if definition.decorator_list:
                self.fields |= {f"{definition.name}.{name}" for name in _targets(statement)}
        self.classes[f"{above}{definition.name}"] = tuple(map(last_name, definition.bases))
        is_enum = any("enum" in self.origins.get(_first_name(base), ()) for base in definition.bases)
        if is_enum and not self._is_plain_enum(definition):
            # An enum's own methods may run when the class is defined, because Python uses them to make the members.
            self.load_time_expressions.setdefault(f"{above}{definition.name}", []).append(
                _LoadTimeExpression("members of an enum", understood=False)
            )
        head = ast.ClassDef(definition.name, definition.bases, definition.keywords, [], definition.decorator_list)
        self._bind(f"{above}{definition.name}", head, ast.dump(head))
        self.order.append(f"{above}{definition.name}")
        self.uses[definition.name] |= {
            name.rpartition(".")[2] for name in self.code if name.startswith(f"{definition.name}.")
        }

    def _is_plain_enum(self, definition: ast.ClassDef) -> bool:
        members = [name.rpartition(".")[2] for name in self.code if name.startswith(f"{definition.name}.")]
        base_names = [_first_name(base) for base in definition.bases]
        are_known = [self.origins.get(name) == {"enum"} or self._is_from_python(name) for name in base_names]
        return all(are_known) and not any(_is_dunder(name) and name not in ENUM_MAY_HAVE for name in members)

    def _add_import(self, statement: ast.Import | ast.ImportFrom) -> None:
        place = f"{statement.level}{statement.module}" if isinstance(statement, ast.ImportFrom) else ""
        for alias in statement.names:
            name = alias.asname or alias.name.split(".")[0]
            module = statement.module or "" if isinstance(statement, ast.ImportFrom) else alias.name
            is_relative = isinstance(statement, ast.ImportFrom) and statement.level > 0
            self.origins.setdefault(name, set()).add("" if is_relative else module.split(".")[0])
            self.code[name] = f"{self.code.get(name, '')}{place} {alias.name}"
            self.binding_counts[name] += 1
            self.imported.add(name)
            self.uses.setdefault(name, set()).add(alias.name.rpartition(".")[2])

    def _is_idle_block(self, block: ast.If) -> bool:
        """Whether the block begins with `if TYPE_CHECKING` or `if __name__ == "__main__"`, and the file has not bound
        these names to something else."""
        if not _is_idle(block):
            return False
        name = _first_name(block.test.left if isinstance(block.test, ast.Compare) else block.test)
        return self.code.get(name, "") == {"__name__": "", "typing": " typing"}.get(name, "0typing TYPE_CHECKING")

    def foreign_names(self, was: "_Outline") -> dict[str, frozenset[str]]:
        """The names in the module that stand for something whose attributes new code should not set. They are the names
        that the base has, and the imports from outside the standard library. Returns name → all names of the thing for
        which the name stands."""
        imports = {name for name, origins in self.origins.items() if not origins <= sys.stdlib_module_names}
        names = {name: frozenset({name}) for name in was.code if "." not in name and name not in was.imported}
        return names | {name: frozenset({name, *self.uses.get(name, ())}) for name in imports}

    def is_understood(self, expression: "_LoadTimeExpression") -> bool:
        """Whether we know that evaluating the expression only creates a new value and changes nothing else: all that it
        calls is built in or from the standard library."""
        return (
            expression.understood
            and self.computed.isdisjoint(expression.attributes)
            and all(map(self._is_from_python, expression.roots))
        )

    def has_harmless_arguments(self, expression: "_LoadTimeExpression") -> bool:
        """Whether the arguments of this decorator only create values, and call only built-ins and the standard library.
        The decorator itself may be any function."""
        is_plain = expression.arguments is not None and self.computed.isdisjoint(expression.attributes)
        return is_plain and all(map(self._is_from_python, expression.arguments or ()))

    def is_in_module(self, name: str) -> bool:
        """Whether the name is `module.function`, and the file contains `import module`."""
        return name.count(".") == 1 and self.code.get(name.partition(".")[0], "").startswith(" ")

    def _is_from_python(self, name: str) -> bool:
        if name in self.origins:
            return self.origins[name] <= sys.stdlib_module_names and name not in self.load_time_expressions
        return name not in self.code and hasattr(builtins, name)

    def _bind(self, name: str, binding: ast.AST, body: str) -> None:
        is_rebinding = name in self.code and name not in self.imported
        self.load_time_expressions.setdefault(name, []).extend(
            _load_time_expressions(binding, is_rebinding=is_rebinding)
        )
        self.functions.setdefault(name, []).append(binding)
        self.code[name] = f"{self.code.get(name, '')}{body}"  # for a name that is bound twice, both bodies count
        self.binding_counts[name] += 1
        self.free_names.setdefault(name, set()).update(_free_names(binding))
        used = {node.id for node in ast.walk(binding) if isinstance(node, ast.Name)}
        used |= {node.attr for node in ast.walk(binding) if isinstance(node, ast.Attribute)}
        self.uses.setdefault(name.rpartition(".")[2], set()).update(used)


class _LoadTimeExpression(NamedTuple):
    """An expression, or other code, that is run when a module is loaded."""

    text: str
    understood: bool  # it can only make a new value, provided that the functions it calls are what their names say
    roots: frozenset[str] = frozenset()  # the first names of these functions: `a` of `a.b.c()`
    decorator: str = ""  # the decorating function, if this is a decorator
    arguments: frozenset[str] | None = None  # roots of a decorator's arguments; None if they do more than make values
    registers: frozenset[tuple[str, ...]] = frozenset()  # what the decorator may register (see `_registrations`)
    attributes: frozenset[str] = frozenset()  # the attributes that it reads


def _load_time_expressions(binding: ast.AST, *, is_rebinding: bool) -> Iterator[_LoadTimeExpression]:
    """What is run when this function, class or variable is bound. `is_rebinding`: its name was bound before, so a
    decorator such as `@price.setter` may belong to that earlier binding."""
    decorators = getattr(binding, "decorator_list", ())
    for decorator in decorators:
        yield _decorator_expression(decorator, binding, is_rebinding=is_rebinding)
    names = {*map(last_name, decorators)}
    if {"property", "cached_property"} & names and "classmethod" in names:
        # Its code may run while the class is defined.
        yield _LoadTimeExpression("a property of a class", understood=False)
    values: list[ast.AST | None] = []
    if isinstance(binding, _FUNCTIONS):
        values = [*binding.args.defaults, *binding.args.kw_defaults, *_annotations(binding)]
    elif isinstance(binding, ast.ClassDef):
        values = [*binding.bases, *(keyword.value for keyword in binding.keywords)]
        if any(keyword.arg != "total" for keyword in binding.keywords):
            yield _LoadTimeExpression(
                ast.dump(binding), understood=False
            )  # a metaclass or `__init_subclass__` runs code
    elif isinstance(binding, ast.Assign | ast.AnnAssign):
        values = [binding.value, getattr(binding, "annotation", None)]
    for value in values:
        if value is not None:
            yield _LoadTimeExpression(ast.dump(value), _is_plain(value), _roots(value), attributes=_attributes(value))


def _decorator_expression(decorator: ast.expr, binding: ast.AST, *, is_rebinding: bool) -> _LoadTimeExpression:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    # `is_accessor`: the decorator is `@price.setter` above a function `price`, for a property of the same class
    is_accessor = is_rebinding and isinstance(function, ast.Attribute) and function.attr in PROPERTIES
    is_accessor = is_accessor and ast.unparse(function) == f"{getattr(binding, 'name', '')}.{last_name(function)}"
    is_plain = _is_plain(decorator, beside=function)
    roots = _roots(decorator) | (frozenset() if is_accessor else {_first_name(function)})
    understood = is_plain and (is_accessor or last_name(function) in DECORATORS)
    argument_nodes = [*decorator.args, *decorator.keywords] if isinstance(decorator, ast.Call) else []
    arguments = frozenset[str]().union(*map(_roots, argument_nodes)) if is_plain else None
    attributes = frozenset() if is_accessor else _attributes(decorator)
    return _LoadTimeExpression(
        ast.dump(decorator), understood, roots, ast.unparse(function), arguments, _registrations(decorator), attributes
    )


def _attributes(value: ast.AST) -> frozenset[str]:
    return frozenset(node.attr for node in ast.walk(value) if isinstance(node, ast.Attribute))


def _possible_properties(statement: ast.stmt) -> Iterator[str]:
    """The members that this statement of a class body binds and that may be properties: decorated functions, and values
    that are computed from other names."""
    if isinstance(statement, _FUNCTIONS) and not {*map(_last_name_called, statement.decorator_list)} <= _NO_GETTERS:
        yield statement.name
    value = getattr(statement, "value", None)
    callee_ids = {id(node.func) for node in ast.walk(value) if isinstance(node, ast.Call)} if value else set[int]()
    if value and any(isinstance(node, ast.Name) and id(node) not in callee_ids for node in ast.walk(value)):
        yield from _targets(statement)


def _registrations(decorator: ast.expr) -> frozenset[tuple[str, ...]]:
    """What a decorator may register. `@app.route("/a", methods=["PUT"])` gives `("app.route", "/a", "PUT")`, one such
    tuple for each method. If two decorators register the same thing, such as a route, one may replace the other."""
    if not isinstance(decorator, ast.Call):
        return frozenset()
    arguments = [*decorator.args, *(keyword.value for keyword in decorator.keywords)]
    texts = [node.value for node in arguments if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    method_lists = [keyword.value for keyword in decorator.keywords if keyword.arg == "methods"]
    methods = [node.value for value in method_lists for node in ast.walk(value) if isinstance(node, ast.Constant)]
    return frozenset(
        (ast.unparse(decorator.func), texts[0], str(method).upper()) for method in methods or ["GET"] if texts
    )


def _annotations(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST | None]:
    args = function.args
    for parameter in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        yield parameter.annotation if parameter else None
    yield function.returns


def _is_plain(value: ast.AST, beside: ast.AST | None = None) -> bool:
    """Whether the expression makes a new value and does nothing else. For a lambda only the defaults count, because its
    body does not run. `beside`: a part of the expression that is judged elsewhere."""
    if value is beside:
        return True
    if isinstance(value, ast.Lambda):
        return all(_is_plain(default, beside) for default in (*value.args.defaults, *value.args.kw_defaults) if default)
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
    is_named_like_maker = last_name(function) in MAKERS
    while isinstance(function, ast.Attribute | ast.Call):
        function = function.func if isinstance(function, ast.Call) else function.value
    return is_named_like_maker and isinstance(function, ast.Name)


def _factory(value: ast.AST) -> ast.expr | None:
    """The function that a `defaultdict(…)` calls for a missing key; None if `value` is not such an expression."""
    is_defaultdict = isinstance(value, ast.Call) and last_name(value.func) == "defaultdict"
    return value.args[0] if is_defaultdict and isinstance(value, ast.Call) and value.args else None


def _roots(value: ast.AST) -> frozenset[str]:
    nodes = list(ast.walk(value))
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    factories = [factory for factory in map(_factory, nodes) if factory and not isinstance(factory, ast.Lambda)]
    return frozenset(_first_name(function) for function in (*calls, *factories))


def _free_names(code: ast.AST) -> set[str]:
    """The names that this code takes from its module: those that it reads and does not bind itself."""
    nodes = list(ast.walk(code))
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    if isinstance(code, _FUNCTIONS):
        read -= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        read -= {node.arg for node in nodes if isinstance(node, ast.arg)}
        read -= {node.asname or node.name for node in nodes if isinstance(node, ast.alias)}
    return read


def _mentioned_names(node: ast.AST) -> set[str]:
    """Every name, attribute and string literal in this code, except in the bodies of functions. Of `module.name` only
    `name` is included, but of `module.__dict__` both parts are, because it gives access to the whole module."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and not _is_dunder(node.attr):
        return {node.attr}
    mentioned = {
        str(getattr(node, field)) for field in ("id", "attr", "value") if isinstance(getattr(node, field, None), str)
    }
    skipped = node.body if isinstance(node, _FUNCTIONS) else ()
    for child in ast.iter_child_nodes(node):
        mentioned |= _mentioned_names(child) if child not in skipped else set()
    return mentioned


def _first_name(value: ast.expr) -> str:
    """The name with which a chain of attributes and calls begins."""
    while isinstance(value, ast.Attribute | ast.Call | ast.Subscript):
        value = value.func if isinstance(value, ast.Call) else value.value
    return getattr(value, "id", "")


def _last_name_called(value: ast.expr) -> str:
    return last_name(value.func if isinstance(value, ast.Call) else value)


def _is_idle(statement: ast.stmt) -> bool:
    """Whether the statement does nothing when the module is imported: a docstring, `pass`, or a block that only runs
    when the file is started as a program or read by a type checker."""
    if isinstance(statement, ast.If) and not statement.orelse:
        return ast.unparse(statement.test) in ("__name__ == '__main__'", "TYPE_CHECKING", "typing.TYPE_CHECKING")
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _without_docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
    if ast.get_docstring(function, clean=False) is None:
        return function
    copy = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(copy, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101  (its text was parsed again)
    copy.body = copy.body[1:] or [ast.Pass()]
    return copy


def _targets(statement: ast.stmt) -> Iterator[str]:
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
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


def _has_only_appended(before: tuple[str, ...] | None, after: tuple[str, ...] | None) -> bool:
    return before is not None and after is not None and after[: len(before)] == before
