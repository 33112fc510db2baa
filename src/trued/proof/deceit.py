"""Code that can deceive tests which share its process: looked for where tests are all that shows anything. Pure."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from .room.frozen import is_test

RUNNERS = ("pytest", "_pytest", "unittest", "pluggy")
LOOKING = {
    "sys": ("_getframe", "_current_frames", "settrace", "setprofile"),
    "gc": ("get_objects", "get_referrers"),
    "inspect": ("stack", "currentframe"),
    "os": ("_exit",),
    "builtins": ("__import__",),
}
COMPARING = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")


def deceit(added: Mapping[str, Sequence[tuple[int, str]]], texts: Mapping[str, str]) -> list[str]:
    """Lines that the head wrote, outside of tests, which only fight a runner or a comparison."""
    found = []
    for path, text in sorted(texts.items()):
        if path.endswith(".py") and not is_test(path):
            new = {number for number, _ in added.get(path, ())}
            found += [f"{path}:{number} {what}" for number, what in _suspicious(text) if number in new]
    return found


def _suspicious(text: str) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        yield from _of(node)


def _of(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
        yield from ((node.lineno, f"imports {one}") for one in _runners(names))
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.attr in LOOKING.get(node.value.id, ()):
            yield node.lineno, f"uses {node.value.id}.{node.attr}"
    elif isinstance(node, ast.FunctionDef) and node.name in COMPARING and _constant(node):
        yield node.body[-1].lineno, f"{node.name} answers without looking"


def _runners(names: Iterable[str]) -> list[str]:
    return [one for one in names if one.split(".")[0] in RUNNERS]


def _constant(function: ast.FunctionDef) -> bool:
    last = function.body[-1]
    value = last.value if isinstance(last, ast.Return) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, bool) and len(function.body) <= 2
