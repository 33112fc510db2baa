"""Dependencies checks: the commit must declare no package that the base does not declare.

With `unchanged`, the commit must declare exactly the base's packages and versions. The check reads manifests and runs
nothing. `undeclared_additions.py` looks for packages that a change adds without a manifest.
"""

from collections.abc import Collection
from pathlib import PurePosixPath

from trued.model import DependenciesCheck, Outcomes, Tried
from trued.proof.dependencies.own_packages import MANIFESTS, OwnPackages
from trued.proof.dependencies.package_manifests import (
    MOST_BYTES,
    declared_in,
    is_package_manifest,
    references_in,
)
from trued.proof.room.bench import Bench, Fact
from trued.proof.room.frozen_files import is_test
from trued.proof.text.commit_texts import best_reading
from trued.protocols import Workspace

ID = "dependencies"


async def run_dependencies(check: DependenciesCheck, bench: Bench) -> Fact:
    """Compare what the commit declares with what the base declares."""
    before = await declared_by(bench.workspace, bench.base, exact=check.unchanged)
    after = await declared_by(bench.workspace, bench.commit, exact=check.unchanged)
    manifest_of_new = await newly_declared(bench.workspace, bench.base, bench.commit, exact=check.unchanged)
    added = sorted(manifest_of_new)
    gone = sorted(name for name in before if name not in after) if check.unchanged else []
    outcome, kind, detail = Outcomes.PASSED, "", ""
    if added:
        outcome, kind = Outcomes.FAILED, f"declares {', '.join(added[:5])}, which the base does not"
        detail = "\n".join(f"{manifest_of_new[name]}: {name}" for name in added[:50])
    elif gone:
        outcome, kind = Outcomes.FAILED, f"does not declare {', '.join(gone[:5])}, which the base does"
        detail = "\n".join(f"{before[name]}: {name}" for name in gone[:50])
    return Fact(tried=(Tried(id=ID, outcome=outcome, kind=kind, detail=detail),), command="read the manifests")


async def declared_by(workspace: Workspace, commit: str, *, exact: bool = False) -> dict[str, str]:
    """Package → the manifest of this commit that declares it. `exact`: the package's version is part of the key."""
    manifest_of: dict[str, str] = {}
    for path, entries in (await entries_by_manifest(workspace, commit, exact=exact)).items():
        for name in entries:
            manifest_of.setdefault(name, path)
    return manifest_of


async def newly_declared(workspace: Workspace, base: str, commit: str, *, exact: bool = False) -> dict[str, str]:
    """Package → manifest, for each package that the commit declares and the base does not. Without `exact`, versions do
    not count, and packages that the manifest takes from the project itself are left out."""
    before = await declared_by(workspace, base, exact=exact)
    manifests = await entries_by_manifest(workspace, commit, exact=exact)
    new = [(name, path) for path, names in manifests.items() for name in names if name not in before]
    if new and not exact:
        project_packages = await own_packages(workspace, base, commit)
        new = [(name, path) for name, path in new if not project_packages.provides(path, name)]
    return dict(reversed(new))


async def own_packages(workspace: Workspace, base: str, commit: str) -> OwnPackages:
    """The packages that the project itself contains on both commits. Packages among tests do not count."""
    texts = []
    for version in (base, commit):
        paths = [path for path in await workspace.blobs(version) if PurePosixPath(path).name in MANIFESTS]
        paths = sorted(path for path in paths if is_package_manifest(path) and not is_test(path))
        texts.append({path: text_of(content) for path, content in (await workspace.read_all(version, paths)).items()})
    return OwnPackages(*texts)


async def entries_by_manifest(workspace: Workspace, commit: str, *, exact: bool = False) -> dict[str, list[str]]:
    """Manifest of this commit → what it declares. A reference to a list of packages (`-r base.txt`) or to a folder
    counts as a declaration only if the commit does not have that list or folder."""
    blobs = await workspace.blobs(commit)
    paths = with_folders(blobs)
    return {
        path: sorted(
            entry
            for entry in declared_in(path, text, exact=exact)
            if not (targets := references_in(path, entry)) or not {*targets} <= paths
        )
        for path, text in (await manifest_texts(workspace, commit)).items()
    }


async def manifest_texts(workspace: Workspace, commit: str) -> dict[str, str]:
    """Manifest of this commit → text. If a manifest refers to a list of packages (`-r base.txt`), that list counts as a
    manifest, too, whatever its name."""
    blobs = await workspace.blobs(commit)
    texts: dict[str, str] = {}
    waiting = sorted(filter(is_package_manifest, blobs))
    while waiting:
        path = waiting.pop(0)
        texts[path] = text_of(await workspace.read(commit, path) or b"")
        lists = {
            target
            for entry in declared_in(path, texts[path])
            for target in references_in(path, entry)
            if target in blobs
        }
        waiting += sorted(lists.difference(texts, waiting))
    return texts


def with_folders(paths: Collection[str]) -> set[str]:
    """These paths of files, and the folders above them."""
    return {*paths, *(str(folder) for path in paths for folder in PurePosixPath(path).parents)}


def text_of(content: bytes) -> str:
    """The beginning of a file's content as text."""
    return best_reading(content, MOST_BYTES)
