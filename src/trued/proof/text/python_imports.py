"""Parses Python text, and finds the modules that it imports. Runs nothing. What a change may import under "no new
dependencies" is read by `checks/python_source.py`."""

import ast

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # the text is no Python, or is nested too deeply


def parse(text: str) -> ast.Module | None:
    """The parsed text; None if it cannot be parsed."""
    try:
        return ast.parse(text)
    except UNREADABLE:
        return None


def nodes_in(text: str) -> list[ast.AST]:
    """All nodes of a Python text's syntax tree; none if the text cannot be read."""
    module = parse(text)
    return list(ast.walk(module)) if module else []


def strings_in(text: str) -> list[str]:
    """All string literals of a Python text, docstrings included; none if it cannot be read."""
    return [node.value for node in nodes_in(text) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def imported_modules(text: str) -> frozenset[str]:
    """The modules that a Python file imports, and `module.name` for each name that it imports from a module. The
    leading dots of relative imports are left out."""
    nodes = nodes_in(text)
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            modules |= {node.module or "", *(f"{node.module or ''}.{alias.name}".lstrip(".") for alias in node.names)}
    return frozenset(modules - {""})


def modules_asked(text: str) -> set[str]:
    """The first parts of the names of all modules that this text imports, relative imports left out."""
    return {name.split(".")[0] for name in dotted_modules_asked(text)}


def dotted_modules_asked(text: str) -> set[str]:
    """The whole names of all modules that this text imports, and `module.name` for each name that it imports from a
    module, because the name may be that of a submodule. Relative imports are left out."""
    nodes = nodes_in(text)
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    return names | {node.module for node in imports if node.module}
