"""Finds which names a Python file binds, and whether a name in the file surely means what the file has bound."""

import ast
from collections.abc import Iterable, Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that these nodes bind in any scope."""
    return frozenset(name for node in nodes for name in _names_bound_by(node))


def is_bound(name: ast.Name, module: ast.Module) -> bool:
    """Whether this name surely means something that the file binds, and not a built-in.

    This is always true of a local name of a function or comprehension. It is true of a name of the module or a class if
    an earlier statement binds the name and nothing in the file deletes the name."""
    path = _path_to(name, module)
    in_function = False  # then names of classes are not visible
    for at in range(len(path) - 2, -1, -1):
        scope, inside = path[at], path[at + 1 :]
        if isinstance(scope, _FUNCTIONS) and _is_body(scope, inside[0]):
            in_function = True
            if name.id in locals_of(scope):
                return True
            if any(isinstance(node, ast.Global) and name.id in node.names for node in _nodes_in_scope(scope)):
                return _is_bound_before(path, 0, name.id, module)
        elif isinstance(scope, _COMPREHENSIONS):
            outside = inside[0] is scope.generators[0] and len(inside) > 1 and inside[1] is scope.generators[0].iter
            targets = {
                id for each in scope.generators for node in ast.walk(each.target) for id in _names_bound_by(node)
            }
            if not outside and name.id in targets:
                return True
        elif isinstance(scope, ast.Module) or (isinstance(scope, ast.ClassDef) and not in_function):
            found = _is_bound_before(path, at, name.id, module)
            if found:
                return True
    return False


def _path_to(node: ast.AST, module: ast.Module) -> list[ast.AST]:
    """The nodes from the module down to this one."""
    above = {id(child): parent for parent in ast.walk(module) for child in ast.iter_child_nodes(parent)}
    path = [node]
    while id(path[0]) in above and path[0] is not module:
        path.insert(0, above[id(path[0])])
    return path


def _is_body(function: ast.AST, child: ast.AST) -> bool:
    """Whether the child is part of the function's body, not of its decorators, defaults or annotations."""
    body = getattr(function, "body", None)
    return child is body or (isinstance(body, list) and any(child is statement for statement in body))


def locals_of(function: ast.AST) -> set[str]:
    """The names that are the function's own: its parameters, and what its body binds."""
    arguments = getattr(function, "args", None)
    names = {node.arg for node in ast.walk(arguments) if isinstance(node, ast.arg)} if arguments else set[str]()
    elsewhere = set[str]()
    for node in _nodes_in_scope(function):
        names |= {*_names_bound_by(node)}
        elsewhere |= {*node.names} if isinstance(node, ast.Global | ast.Nonlocal) else set()
    return names - elsewhere


def _nodes_in_scope(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes in the body of a function or lambda, without the bodies of what is defined in it."""
    body = getattr(scope, "body", [])
    waiting: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)


def _is_bound_before(path: list[ast.AST], at: int, name: str, module: ast.Module) -> bool:
    """Whether a statement of the module or class `path[at]` binds the name before its statement `path[at + 1]`, and
    nothing in the file deletes the name."""
    if any(_takes_away(node, name) for node in ast.walk(module)):
        return False
    for statement in getattr(path[at], "body", []):
        if statement is path[at + 1]:
            return False
        if name in _bound_by_statement(statement):
            return True
    return False


def _takes_away(node: ast.AST, name: str) -> bool:
    is_deleted = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del) and node.id == name
    return is_deleted or (isinstance(node, ast.ExceptHandler) and node.name == name)


def _bound_by_statement(statement: ast.stmt) -> Iterator[str]:
    """The names that the statement itself always binds."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            for part in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
                yield from _names_bound_by(part)
    elif isinstance(statement, ast.AnnAssign) and statement.value:
        yield from _names_bound_by(statement.target)
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        for alias in statement.names:
            yield from _names_bound_by(alias)
    elif isinstance(statement, _DEFINITIONS):
        yield statement.name


def _names_bound_by(node: ast.AST) -> Iterator[str]:
    """The names that this node alone binds."""
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            yield node.id
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.split(".")[0]
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (*_DEFINITIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        yield node.name or ""
    elif isinstance(node, ast.MatchMapping):
        yield node.rest or ""
    elif type(node).__name__ in ("TypeVar", "ParamSpec", "TypeVarTuple"):  # of Python 3.12
        yield str(getattr(node, "name", ""))
