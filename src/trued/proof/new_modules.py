"""Finds the modules that a head adds to the project. If a check misses one of these modules on the base, its result
there is red, not unjudged."""

import ast
import sys
from collections.abc import Iterable

from trued.model import Contract, Evidence
from trued.proof.dependencies.check import declared_by
from trued.proof.dependencies.package_manifests import (
    MOST_BYTES,
    called_name,
    has_literal_requirements,
    own_name,
    unusual_requirements,
)
from trued.proof.room.declared_packages import provides_module
from trued.proof.text.commit_texts import as_text
from trued.proof.text.python_imports import UNREADABLE
from trued.protocols import Workspace
from trued.support.lazy_regex import lazy_regex

SETUP = "setup.py"
# What a setup.py may call without computing its requirements: functions that only find its own files and texts.
_PLAIN_CALLS = frozenset(
    {*("setup", "find_packages", "find_namespace_packages", "open", "read", "read_text", "strip", "Path"), "dirname"}
)
_WORD = lazy_regex(r"[\w.-]+")
_OWN_NAME = lazy_regex(r"""\bsetup\(\s*name\s*=\s*["']([\w.-]+)["']""")


async def new_modules(
    workspace: Workspace, contract: Contract, facts: Iterable[Evidence], modules: frozenset[str]
) -> frozenset[str]:
    """The modules that are missing on the base, as these facts show, and that the project itself provides on the head.

    `modules`: everything that the project's own folders provide on the head. Modules of packages that the base's
    manifests declare are left out, because a head that adds a file of the same name has not installed the package.
    """
    lacking = {result.missing_module.split(".")[0] for fact in facts for result in fact.tried if result.missing_module}
    if not lacking & modules:
        return frozenset()
    packages = await declared_by(workspace, contract.base)
    manifests = await workspace.read_all(contract.base, {*packages.values(), SETUP})
    texts = {path: as_text(content) for path, content in manifests.items()}
    # Extras may refer to the project itself: `all = ["textkit[docs]"]`
    entries = [name for name, path in packages.items() if name != own_name(path, texts.get(path, ""))]
    declared = {word for entry in entries for word in _WORD.findall(entry)}  # an entry may also be a whole line
    if _may_require_more(setup := texts.get(SETUP, "")):
        # Each word of such a setup.py may be a package, except the project's name.
        declared |= {*_WORD.findall(setup)} - {*_OWN_NAME.findall(setup)}
    return frozenset(
        module for module in lacking & modules if not any(provides_module(name, module) for name in declared)
    )


def _may_require_more(setup: str) -> bool:
    """Whether a setup.py may require packages that it does not list literally: by a computed list, an extra, a call, or
    an import that alters `setup`."""
    try:
        if len(setup) >= MOST_BYTES or not has_literal_requirements(setup) or unusual_requirements(setup):
            return True
        nodes = list(ast.walk(ast.parse(setup)))
    except UNREADABLE:
        return True
    called_names = {called_name(node) for node in nodes if isinstance(node, ast.Call)}
    return not called_names <= _PLAIN_CALLS or not _imported_in(nodes) <= {"setuptools", *sys.stdlib_module_names}


def _imported_in(nodes: Iterable[ast.AST]) -> set[str]:
    """The top-level names of the modules that these nodes import. `from a.b import *` gives `a.b.*` instead of `a`."""
    plain = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    froms = [
        (node.module or "", alias.name) for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    return plain | {f"{module}.*" if name == "*" else module.split(".")[0] for module, name in froms}
