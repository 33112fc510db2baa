"""Finds the names that a Python module defines, and the names that other code uses from it. Only parses text. Pure."""

import ast

from trued.proof.text.python_imports import nodes_in, parse

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def names_asked(text: str, module: str) -> set[str]:
    """The names that this text uses from a module: `from module import name`, `module.name`."""
    used_names, aliases = set[str](), set[str]()
    nodes = nodes_in(text)
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
    module = parse(text)
    names, waiting = set[str](), list[ast.AST](module.body if module else ())
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
    nodes = nodes_in(text)
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in nodes):
        return False
    made_at_run_time = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    defined = names_defined(text)
    return "__getattr__" not in defined and bool(names - defined - made_at_run_time)
