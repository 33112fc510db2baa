"""Finds the names outside of a Python function to which the function stores something when it runs. Only parses text.

A name is *foreign* if it stands for something that new code should not change: a definition of the base, or an import
from outside the standard library.
"""

import ast
import sys
from collections.abc import Iterator, Mapping

from trued.proof.text.python_scopes import locals_of

ANY_NAME = "statements of the module"
GLOBAL = "global "  # prefix of a name of the module itself
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ANY_CODE = ("exec", "eval")
_SETTERS = ("setattr", "delattr")
_SETTING_METHODS = ("__setattr__", "__delattr__")
_CHANGES = ("update", "pop", "clear", "setdefault", "popitem", "__setitem__", "__delitem__")
_Others = dict[str, frozenset[str]]  # foreign name → the names of what it stands for
_NAMESPACE = "\0"  # prefix of a name that stands for a module's namespace, such as `vars(module)`


def stored_names(code: ast.AST, foreign: Mapping[str, frozenset[str]]) -> set[str]:
    """The names outside of this code to which the code may store something, by `global` or by setting an attribute of
    something foreign (see the top of this file).

    `foreign`: each foreign name of the module → all names of the thing for which it stands. In the result, `ANY_NAME`
    stands for any name, and a name of the code's own module has the prefix `GLOBAL`.
    """
    stored = set[str]()
    first = (
        [code] if isinstance(code, _FUNCTIONS) else [node for node in ast.walk(code) if isinstance(node, _FUNCTIONS)]
    )
    waiting = [(function, {**foreign}) for function in first]
    while waiting:
        function, above = waiting.pop()
        nodes = _run_with(function)
        others = _others_in(function, nodes, above)
        waiting += [(inner, others) for inner in nodes if isinstance(inner, _FUNCTIONS)]
        declared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
        for node in nodes:
            stored |= {f"{GLOBAL}{name}" for name in declared if _binds(node, name)}
            stored |= {*_stored_by(node, others)}
    return stored


def _run_with(function: ast.AST) -> list[ast.AST]:
    """The nodes that are run when this function is called, and the functions and lambdas that it defines."""
    body = getattr(function, "body", [])
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [*body] if isinstance(body, list) else [body]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += ast.iter_child_nodes(node) if not isinstance(node, _FUNCTIONS) else _run_by_definition(node)
    return found


def _run_by_definition(function: ast.AST) -> Iterator[ast.AST]:
    """The parts of a function that are run when it is defined."""
    arguments = getattr(function, "args", None)
    yield from getattr(function, "decorator_list", ())
    if isinstance(arguments, ast.arguments):
        yield from (default for default in (*arguments.defaults, *arguments.kw_defaults) if default)


def _others_in(function: ast.AST, nodes: list[ast.AST], others: _Others) -> _Others:
    """The foreign names that this function can see, each with all names of the thing for which it stands. They are the
    visible names of `others` (the foreign names around the function), imports from outside the standard library, and
    names that are bound to something foreign."""
    own = locals_of(function)
    visible = {name: names for name, names in others.items() if name.removeprefix(_NAMESPACE) not in own}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            is_beside = isinstance(node, ast.ImportFrom) and (node.level or not node.module)
            for alias in node.names:
                module = getattr(node, "module", "") or alias.name
                if is_beside or module.split(".")[0] not in sys.stdlib_module_names:
                    name = alias.asname or alias.name.split(".")[0]
                    visible[name] = frozenset({name, alias.name.rpartition(".")[2]})
    for _ in range(3):  # one name may stand for another
        for node in nodes:
            for target, value in _bindings(node):
                parts = [part for part in ast.walk(target) if isinstance(part, ast.Name)]
                names = {part.id for part in parts if isinstance(part.ctx, ast.Store)}
                is_foreign, is_namespace = _is_foreign(value, visible), _is_namespace(value, visible)
                for name in names:
                    if is_foreign:
                        visible[name] = visible.get(name, frozenset()) | {*_names_of(value, visible)}
                    if is_namespace:
                        visible[f"{_NAMESPACE}{name}"] = frozenset({name})
    return visible


def _bindings(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Each pair of a target that this node binds and a value that the target may get."""
    value = node.iter if isinstance(node, ast.For | ast.comprehension) else getattr(node, "value", None)
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if isinstance(node, ast.withitem):
        targets, value = [node.optional_vars], node.context_expr
    for target in targets:
        for each in value.elts if isinstance(value, ast.Tuple | ast.List) else [value]:
            if target is not None and each is not None and not isinstance(node, ast.AugAssign):
                yield target, each


def _is_foreign(value: ast.AST, others: _Others) -> bool:
    """Whether the expression is a foreign name or an attribute of one, comes from the namespace of a module, or imports
    a module by name."""
    is_attribute = True
    while isinstance(value, ast.Attribute | ast.Subscript | ast.Call):
        if _is_namespace(value, others) or _last_name(value) in ("import_module", "__import__"):
            return True
        is_attribute = is_attribute and isinstance(value, ast.Attribute)
        value = value.func if isinstance(value, ast.Call) else value.value
    return isinstance(value, ast.Name) and (
        (is_attribute and value.id in others) or f"{_NAMESPACE}{value.id}" in others
    )


def _last_name(value: ast.AST) -> str:
    function = value.func if isinstance(value, ast.Call) else value
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _is_namespace(value: ast.AST, others: _Others) -> bool:
    """Whether the expression is the namespace of a module (`globals()`, `vars(module)`, `module.__dict__`) or
    `sys.modules`."""
    if isinstance(value, ast.Call):
        name = getattr(value.func, "id", "")
        return name == "globals" or (name == "vars" and bool(value.args) and _is_foreign(value.args[0], others))
    if isinstance(value, ast.Attribute):
        is_table = value.attr == "modules" and getattr(value.value, "id", "self") not in ("self", "cls")
        return (
            is_table or value.attr == "__globals__" or (value.attr == "__dict__" and _is_foreign(value.value, others))
        )
    return isinstance(value, ast.Name) and f"{_NAMESPACE}{value.id}" in others


def _stored_by(node: ast.AST, others: _Others) -> Iterator[str]:
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        yield from _named(node.value, node.attr, others)
    elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        if _is_namespace(node.value, others):
            yield _text(node.slice) or ANY_NAME
    elif isinstance(node, ast.Call):
        name, owner = _last_name(node), getattr(node.func, "value", None)
        if isinstance(node.func, ast.Name) and name in _ANY_CODE:
            yield ANY_NAME
        is_setter = name in _SETTERS and (owner is None or getattr(owner, "id", "") == "builtins")
        if (is_setter or name in _SETTING_METHODS) and len(node.args) > 1:
            yield from _named(node.args[0], _text(node.args[1]) or ANY_NAME, others)
        if owner is not None and name in _SETTING_METHODS and node.args:
            yield from _named(owner, _text(node.args[0]) or ANY_NAME, others)
        if owner is not None and name in _CHANGES and _is_namespace(owner, others):
            yield ANY_NAME


def _named(owner: ast.AST, attribute: str, others: _Others) -> Iterator[str]:
    """The names to which code stores something by setting this attribute: the attribute, unless it is special
    (`__name__`), and the names of its owner. Yields nothing if the owner is not foreign."""
    if _is_foreign(owner, others):
        names = {*_names_of(owner, others)}
        yield from names if names and attribute.startswith("__") else {attribute, *names}


def _names_of(value: ast.AST, others: _Others) -> Iterator[str]:
    """The names of the foreign thing for which this expression stands."""
    while isinstance(value, ast.Attribute | ast.Subscript) and not _is_namespace(value, others):
        yield value.attr if isinstance(value, ast.Attribute) else _text(value.slice) or ANY_NAME
        value = value.value
    if isinstance(value, ast.Name):
        yield from others.get(value.id, ())


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.alias):
        return (node.asname or node.name.split(".")[0]) == name
    return getattr(node, "name", None) == name
