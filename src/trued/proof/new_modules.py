"""Modules that a head adds to the project. A check that lacks one of them on the base is red there, not unjudged."""

import re
from collections.abc import Iterable

from trued.model import Contract, Evidence
from trued.proof.checks.dependencies import declared_by
from trued.proof.checks.package_manifests import is_read_whole, own_name
from trued.proof.room.declared_packages import provides_module
from trued.proof.text.commit_texts import as_text
from trued.protocols import Workspace

SETUP = "setup.py"
_WORD = re.compile(r"[\w.-]+")
_OWN_NAME = re.compile(r"""\bsetup\(\s*name\s*=\s*["']([\w.-]+)["']""")


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
    if not is_read_whole(SETUP, "", setup := texts.get(SETUP, ""), own_modules=(), known_paths=()):
        # Such a setup.py may compute what it requires. So each of its words may be a package, except the project's
        # name.
        declared |= {*_WORD.findall(setup)} - {*_OWN_NAME.findall(setup)}
    return frozenset(
        module for module in lacking & modules if not any(provides_module(name, module) for name in declared)
    )
