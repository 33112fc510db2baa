"""Finds the names that a Python text defines, and the names that it uses. Only parses text."""

import ast

from trued.proof.text.python_imports import nodes_in, parse, strings_in

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def names_asked(text: str, module: str) -> set[str]:
    """The names that this text uses from a module: `from module import name`, `module.name`."""
    names, aliases = set[str](), set[str]()
    nodes = nodes_in(text)
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == module:
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            aliases |= {alias.asname or alias.name for alias in node.names if alias.name == module}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            names.add(node.attr)
    return names - {"*"}


def names_after_import(text: str) -> set[str]:
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
    """Whether a module with this text surely lacks one of the names. A module that re-exports all names of another
    module, or that defines names while it runs (`globals()["name"] = …`), may have the name."""
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in nodes_in(text)):
        return False
    defined, made_at_run_time = names_after_import(text), strings_in(text)
    return "__getattr__" not in defined and bool(names - defined - {*made_at_run_time})


def used_attributes(text: str) -> frozenset[str]:
    """`owner.name` for each attribute that a Python file uses. The owner is the last name before the attribute, or the
    real name of the module if that name is an alias. The owner need not be a module, so the result may have too many
    names, but not too few."""
    nodes = nodes_in(text)
    aliases = {node.asname: node.name for node in nodes if isinstance(node, ast.alias) and node.asname}
    chains = [(last_name(node.value), node.attr) for node in nodes if isinstance(node, ast.Attribute)]
    return frozenset(f"{aliases.get(owner, owner).rpartition('.')[2]}.{name}" for owner, name in chains)


def used_names(text: str) -> frozenset[str]:
    """Every name and attribute that a Python file uses or imports from elsewhere."""
    nodes = nodes_in(text)
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return frozenset(names | {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names})


def names_at_load(text: str) -> frozenset[str]:
    """Every name that the statements of a Python file use when it is loaded or started, outside of definitions."""
    module = parse(text)
    definitions = (_Definition, ast.Import, ast.ImportFrom)
    statements = [statement for statement in module.body if not isinstance(statement, definitions)] if module else []
    nodes = [node for statement in statements for node in ast.walk(statement)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return frozenset(names | {node.attr for node in nodes if isinstance(node, ast.Attribute)})


def last_name(value: ast.expr) -> str:
    """The last name of a name or attribute, also with subscripts: `c` of `c`, `a.b.c` and `a.b.c[0]`. "" for any
    other expression."""
    while isinstance(value, ast.Subscript):
        value = value.value
    return value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
