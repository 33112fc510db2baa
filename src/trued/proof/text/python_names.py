"""Finds the names that a Python module defines, and the names that other code uses from it. Only parses text. Pure."""

import ast
from collections.abc import Sequence

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def modules_asked(text: str) -> set[str]:
    """The first parts of the names of all modules that this text imports, relative imports left out."""
    nodes = [each for one in _statements(text) for each in ast.walk(one)]
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    return {name.split(".")[0] for name in found}


def names_asked(text: str, module: str) -> set[str]:
    """The names that this text uses from a module: `from module import name`, `module.name`."""
    asked, known = set[str](), set[str]()
    nodes = [each for one in _statements(text) for each in ast.walk(one)]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == module:
            asked |= {one.name for one in node.names}
        elif isinstance(node, ast.Import):
            known |= {one.asname or one.name for one in node.names if one.name == module}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in known:
            asked.add(node.attr)
    return asked - {"*"}


def names_defined(text: str) -> set[str]:
    """The names that a module has once it is imported; none if it cannot be parsed."""
    found, waiting = set[str](), [*_statements(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _Definition):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
        else:
            waiting += ast.iter_child_nodes(node)
    return found


def lacks(text: str, asked: set[str]) -> bool:
    """Whether a module with this text lacks one of the names. False if that is unclear: the module re-exports all names
    of another module, or defines names while it runs (`globals()["name"] = …`)."""
    nodes = [each for one in _statements(text) for each in ast.walk(one)]
    if any(isinstance(one, ast.ImportFrom) and one.names[0].name == "*" for one in nodes):
        return False
    made = {one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    defined = names_defined(text)
    return "__getattr__" not in defined and bool(asked - defined - made)


def _statements(text: str) -> Sequence[ast.AST]:
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
