"""Modules that a head adds to the project. A check that lacks one of them on the base is red there, not unjudged."""

import re
from collections.abc import Iterable

from trued.model import Contract, Evidence
from trued.proof.checks.dependencies import declared_by
from trued.proof.room.dependencies import provides_module
from trued.protocols import Workspace

MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "requirements-dev.txt", "Pipfile")


async def own_modules(
    workspace: Workspace, contract: Contract, facts: Iterable[Evidence], modules: frozenset[str]
) -> frozenset[str]:
    """The modules that are missing on the base, as these facts show, and that the project itself provides on the head.

    `modules`: everything that the project's own folders provide on the head. Modules of packages that the base's
    manifests declare are left out, because a head that adds a file of the same name has not installed the package.
    """
    lacking = {
        result.kind.removeprefix("module ").split(".")[0]
        for fact in facts
        for result in fact.tried
        if result.kind.startswith("module ")
    }
    if not lacking & modules:
        return frozenset()
    texts = await workspace.read_all(contract.base, MANIFESTS)
    declared = re.split(r"[^a-z0-9_]+", b"\n".join(texts.values()).decode("utf-8", "replace").lower().replace("-", "_"))
    packages = await declared_by(workspace, contract.base)
    not_declared = (module for module in lacking & modules if module.lower() not in declared)
    return frozenset(module for module in not_declared if not any(provides_module(name, module) for name in packages))
