"""Finds the names that a Python module defines, and the names that other code uses from it. Only parses text. Pure."""

import ast
from collections.abc import Sequence

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def modules_asked(text: str) -> set[str]:
    """The first parts of the names of all modules that this text imports, relative imports left out."""
    nodes = [node for statement in _statements(text) for node in ast.walk(statement)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    return {name.split(".")[0] for name in names}


def dotted_modules_asked(text: str) -> set[str]:
    """The whole names of all modules that this text imports, and `module.name` for each name that it imports from a
    module, because that may be a module, too. Relative imports are left out."""
    nodes = [node for statement in _statements(text) for node in ast.walk(statement)]
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    return names | {node.module for node in imports if node.module}


def names_asked(text: str, module: str) -> set[str]:
    """The names that this text uses from a module: `from module import name`, `module.name`."""
    used_names, aliases = set[str](), set[str]()
    nodes = [node for statement in _statements(text) for node in ast.walk(statement)]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == module:
            used_names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            aliases |= {alias.asname or alias.name for alias in node.names if alias.name == module}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            used_names.add(node.attr)
    return used_names - {"*"}


def names_defined(text: str) -> set[str]:
    """The names that a module has once it is imported; none if it cannot be parsed."""
    names, waiting = set[str](), [*_statements(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _Definition):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        else:
            waiting += ast.iter_child_nodes(node)
    return names


def lacks(text: str, names: set[str]) -> bool:
    """Whether a module with this text lacks one of the names. False if that is unclear: the module re-exports all names
    of another module, or defines names while it runs (`globals()["name"] = …`)."""
    nodes = [node for statement in _statements(text) for node in ast.walk(statement)]
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in nodes):
        return False
    made_at_run_time = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    defined = names_defined(text)
    return "__getattr__" not in defined and bool(names - defined - made_at_run_time)


def _statements(text: str) -> Sequence[ast.AST]:
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
