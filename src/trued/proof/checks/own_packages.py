"""Decides whether a manifest takes a package from the project itself, such as from a workspace. Pure.

The name alone does not show that. A package manager looks for a name in its registry, unless the manifest names a
folder, or the project is a workspace of this package manager and contains that package in a version that fits.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from trued.proof.checks.package_manifests import declared_in, normal_name, own_name, table_in
from trued.support.tables import table_at

MANIFESTS = ("package.json", "pyproject.toml", "Cargo.toml")
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_RANGE = re.compile(r"(\^|~|>=|=|v)?(\d+)\.(\d+)\.(\d+)")


class OwnPackages:
    """The packages that both the base and the commit contain, in the same folders."""

    def __init__(self, base: Mapping[str, str], commit: Mapping[str, str]) -> None:
        """`base`, `commit`: path → text of the manifests on each of them."""
        self._texts = {path: text for path, text in commit.items() if PurePosixPath(path).name in MANIFESTS}
        kept = {path: own_name(path, text) for path, text in self._texts.items()}
        # (kind of manifest, name) → folders
        self._folders: dict[tuple[str, str], set[str]] = {}
        for path, name in kept.items():
            if name and path in base and own_name(path, base[path]) == name:
                self._folders.setdefault((PurePosixPath(path).name, name), set()).add(_folder(path))

    def provides(self, manifest: str, entry: str) -> bool:
        """Whether this manifest of the commit takes the package that this entry declares from the project itself."""
        name = normal_name(entry)
        if (PurePosixPath(manifest).name, name) not in self._folders:
            return False
        declared = self._entries(manifest, name)
        return bool(declared) and all(self._is_inside(manifest, name, one) for one in declared)

    def linked(self) -> frozenset[str]:
        """The project's own packages that its JavaScript and TypeScript can import."""
        names = [name for kind, name in self._folders if kind == "package.json"]
        users = [path for path in self._texts if path.endswith("package.json")]
        return frozenset(
            name
            for name in names
            if self._members(name, "package.json") or any(self.provides(path, name) for path in users)
        )

    def _entries(self, manifest: str, name: str) -> list[str]:
        found = declared_in(manifest, self._texts.get(manifest, ""), exact=True)
        return sorted(one for one in found if normal_name(one) == name)

    def _is_inside(self, manifest: str, name: str, entry: str) -> bool:
        kind = PurePosixPath(manifest).name
        _, named, place = entry.partition(" @ ")
        if named:
            return self._is_own_place(manifest, name, place)
        if kind == "package.json":
            spec = re.fullmatch(r'\S+ "(.*)"', entry)
            return bool(spec) and any(
                self._is_member(root, manifest) and _fits(spec[1] if spec else "", self._version(folder))
                for root, folder in self._members(name, kind)
            )
        if kind == "Cargo.toml":
            return entry.endswith(' {"workspace": true}') and self._is_shared(name)
        return any(self._is_member(root, manifest) for root, _ in self._members(name, kind)) and self._is_source(
            manifest, name
        )

    def _is_own_place(self, manifest: str, name: str, place: str) -> bool:
        kind = PurePosixPath(manifest).name
        if re.fullmatch(r"workspace:[\w.*^~-]+", place):
            return kind == "package.json"  # an install fails if the workspace lacks the package
        path = re.sub(r"^(?:file|link|portal):", "", place) if kind == "package.json" else place
        found = posixpath.normpath(posixpath.join(_folder(manifest), path))
        return not path.startswith("/") and found in self._folders[kind, name]

    def _is_shared(self, name: str) -> bool:
        """Whether `[workspace.dependencies]` of Cargo takes the package from the project."""
        entries = [
            (path, one) for path in self._texts if path.endswith("Cargo.toml") for one in self._entries(path, name)
        ]
        named = [(path, one) for path, one in entries if not one.endswith(' {"workspace": true}')]
        return bool(named) and all(self._is_inside(path, name, one) for path, one in named)

    def _is_source(self, manifest: str, name: str) -> bool:
        """Whether uv is told to take the package from the workspace."""
        sources = self._table(manifest, "tool", "uv", "sources")
        found = [one for key, one in sources.items() if normal_name(str(key)) == name]
        return found == [{"workspace": True}]

    def _members(self, name: str, kind: str) -> list[tuple[str, str]]:
        """The workspaces that contain the package of this name: for each, its root manifest and the package's
        folder."""
        folders = self._folders.get((kind, name), set())
        roots = [path for path in self._texts if PurePosixPath(path).name == kind]
        return [
            (root, folder)
            for root in roots
            for folder in sorted(folders)
            if folder != _folder(root) and self._is_member(root, posixpath.join(folder, kind))
        ]

    def _is_member(self, root: str, manifest: str) -> bool:
        """Whether the workspace of this root contains the package of this manifest. The root itself counts."""
        if not (patterns := list(self._patterns(root))):
            return False
        if root == manifest:
            return True
        inside = posixpath.relpath(_folder(manifest), _folder(root))
        kept = [one for one in patterns if not one.startswith("!")]
        left_out = [one[1:] for one in patterns if one.startswith("!")]
        return _is_matched(inside, kept) and not any(fnmatchcase(inside, _bare(one)) for one in left_out)

    def _patterns(self, root: str) -> Iterator[str]:
        data: Any
        if root.endswith("package.json"):
            data = self._table(root).get("workspaces")
            data = data.get("packages") if isinstance(data, Mapping) else data
        else:
            whole = self._table(root, "tool", "uv", "workspace")
            data = whole.get("members")
            out = whole.get("exclude")
            yield from (f"!{one}" for one in out) if isinstance(out, list) and data else ()
        yield from (one for one in data if isinstance(one, str)) if isinstance(data, list) else ()

    def _version(self, folder: str) -> str:
        found = self._table(posixpath.normpath(posixpath.join(folder, "package.json"))).get("version")
        return found if isinstance(found, str) else ""

    def _table(self, path: str, *keys: str) -> Mapping[str, Any]:
        return table_at(table_in(path, self._texts.get(path, "")), *keys)


def _folder(path: str) -> str:
    return posixpath.dirname(path) or "."


def _bare(pattern: str) -> str:
    return pattern.removeprefix("./").rstrip("/")


def _is_matched(folder: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern of a workspace matches the folder: `packages/*` matches no folder further below."""
    for one in map(_bare, patterns):
        several = "**" in one
        if fnmatchcase(folder, one) and (several or one.count("/") == folder.count("/")):
            return True
    return False


def _fits(wanted: str, version: str) -> bool:
    """Whether npm would link the workspace's package, which has this version, for the range `wanted`. Only the usual
    ways to write a range are understood."""
    if wanted.strip() in ("", "*"):
        return True
    needed, given = _RANGE.fullmatch(wanted.strip()), _VERSION.fullmatch(version)
    if not needed or not given:
        return False
    low, here = tuple(map(int, needed.groups()[1:])), tuple(map(int, given.groups()))
    kept = {"^": next((at for at, one in enumerate(low) if one), 2) + 1, "~": 2, ">=": 0}.get(needed[1] or "=", 3)
    return here >= low and here[:kept] == low[:kept]
