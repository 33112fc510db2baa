"""Finds a project's entry points in its sources: public functions and HTTP routes. They are only hints for people."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath

from trued.proof.room.frozen_files import is_test
from trued.support.lazy_regex import lazy_regex

ROOTS = ("src", "lib")  # folders that are no part of a Python module's name
_ROUTE = lazy_regex(
    r"""\b(?:app|router|api|bp|blueprint|server)\.(route|get|post|put|patch|delete)\(\s*(['"])(/[^'"\s]*)\2([^)]*)""",
    re.IGNORECASE,
)
_METHODS = lazy_regex(r"methods\s*=\s*\[\s*['\"](\w+)")
_EXPORTED = lazy_regex(r"^export\s+(?:async\s+)?function\s+(\w+)\s*\(([^)]*)\)", re.MULTILINE)
CODE = (".py", ".js", ".mjs", ".cjs", ".ts")


def entry_points(texts: Mapping[str, str], roots: Collection[str] = ()) -> list[str]:
    """The entry points as text: `package.module:function(arguments)`, `path/module.js:name(arguments)` or `GET /path`.
    They are in the order of the files' paths. `roots`: more folders from which Python modules are imported, such as
    `backend/src`; the top, `src` and `lib` are always included."""
    found: dict[str, None] = {}
    for path, text in sorted(texts.items()):
        if not path.endswith(CODE) or is_test(path):
            continue
        functions = _python(path, text, roots) if path.endswith(".py") else _node(path, text)
        found |= dict.fromkeys([*_routes(text), *functions])
    return list(found)


def _python(path: str, text: str, roots: Collection[str]) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    root = max((root for root in (*ROOTS, *roots) if path.startswith(f"{root}/")), key=len, default="")
    parts = PurePosixPath(path.removeprefix(f"{root}/")).with_suffix("").parts
    module = ".".join(part for part in parts if part != "__init__")
    for node in tree.body:
        public = isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not node.decorator_list
        if public and module and parts[-1] not in ("setup", "conftest", "__main__"):
            assert isinstance(node, ast.FunctionDef)  # noqa: S101  (`public` ensures it)
            yield f"{module}:{node.name}({', '.join(argument.arg for argument in node.args.args)})"


def _node(path: str, text: str) -> Iterator[str]:
    for name, arguments in _EXPORTED.findall(text):
        names = [re.split(r"[=:]", argument)[0].strip() for argument in arguments.split(",") if argument.strip()]
        yield f"{path}:{name}({', '.join(names)})"


def _routes(text: str) -> Iterator[str]:
    for verb, _, path, rest in _ROUTE.findall(text):
        named = _METHODS.search(rest)
        method = named.group(1) if named else "GET" if verb.lower() == "route" else verb
        yield f"{method.upper()} {path}"
