"""Decides whether a manifest takes a package from the project itself, such as from a workspace. Does no I/O.

A package's name alone does not show where the package comes from. A package manager looks for the name in its registry,
unless the manifest names a folder, or the project is a workspace of this package manager and contains the package in a
version that fits.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from trued.proof.dependencies.package_manifests import declared_in, named_package, own_name, table_in
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import table_at

MANIFESTS = ("package.json", "pyproject.toml", "Cargo.toml")
_VERSION = lazy_regex(r"(\d+)\.(\d+)\.(\d+)")
_RANGE = lazy_regex(r"(\^|~|>=|=|v)?(\d+)\.(\d+)\.(\d+)")


class OwnPackages:
    """The packages that both the base and the commit contain, in the same folders."""

    def __init__(self, base: Mapping[str, str], commit: Mapping[str, str]) -> None:
        """`base`, `commit`: path → text of each manifest on the base and on the commit."""
        self._texts = {path: text for path, text in commit.items() if PurePosixPath(path).name in MANIFESTS}
        names = {path: own_name(path, text) for path, text in self._texts.items()}
        # (kind of manifest, name) → folders
        self._folders: dict[tuple[str, str], set[str]] = {}
        for path, name in names.items():
            if name and path in base and own_name(path, base[path]) == name:
                self._folders.setdefault((PurePosixPath(path).name, name), set()).add(_folder(path))

    def provides(self, manifest: str, entry: str) -> bool:
        """Whether the project itself provides the package that `entry` declares. `manifest`: the manifest of the commit
        that has this entry."""
        name = named_package(entry)
        if (PurePosixPath(manifest).name, name) not in self._folders:
            return False
        declared = self._entries(manifest, name)
        return bool(declared) and all(self._is_from_project(manifest, name, written) for written in declared)

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
        entries = declared_in(manifest, self._texts.get(manifest, ""), exact=True)
        return sorted(entry for entry in entries if named_package(entry) == name)

    def _is_from_project(self, manifest: str, name: str, entry: str) -> bool:
        kind = PurePosixPath(manifest).name
        _, has_source, source = entry.partition(" @ ")
        if has_source:
            return self._is_own_source(manifest, name, source)
        if kind == "package.json":
            spec = re.fullmatch(r'\S+ "(.*)"', entry)
            return bool(spec) and any(
                self._is_member(root, manifest) and _is_in_range(spec[1] if spec else "", self._version(folder))
                for root, folder in self._members(name, kind)
            )
        if kind == "Cargo.toml":
            return entry.endswith(' {"workspace": true}') and self._is_shared_from_project(name)
        return any(self._is_member(root, manifest) for root, _ in self._members(name, kind)) and self._is_taken_by_uv(
            manifest, name
        )

    def _is_own_source(self, manifest: str, name: str, source: str) -> bool:
        kind = PurePosixPath(manifest).name
        if re.fullmatch(r"workspace:[\w.*^~-]+", source):
            return kind == "package.json"  # an install fails if the workspace lacks the package
        path = re.sub(r"^(?:file|link|portal):", "", source) if kind == "package.json" else source
        folder = posixpath.normpath(posixpath.join(_folder(manifest), path))
        return not path.startswith("/") and folder in self._folders[kind, name]

    def _is_shared_from_project(self, name: str) -> bool:
        """Whether Cargo takes the package from the project: some Cargo.toml (usually in `[workspace.dependencies]`)
        names the package's own folder, and no other Cargo.toml names another source."""
        entries = [
            (path, entry) for path in self._texts if path.endswith("Cargo.toml") for entry in self._entries(path, name)
        ]
        not_from_workspace = [(path, entry) for path, entry in entries if not entry.endswith(' {"workspace": true}')]
        return bool(not_from_workspace) and all(
            self._is_from_project(path, name, entry) for path, entry in not_from_workspace
        )

    def _is_taken_by_uv(self, manifest: str, name: str) -> bool:
        """Whether uv is told to take the package from the workspace."""
        sources = self._table(manifest, "tool", "uv", "sources")
        values = [value for key, value in sources.items() if named_package(str(key)) == name]
        return values == [{"workspace": True}]

    def _members(self, name: str, kind: str) -> list[tuple[str, str]]:
        """Root manifest and folder of the package, for each workspace that contains the package of this name."""
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
        included = [pattern for pattern in patterns if not pattern.startswith("!")]
        left_out = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
        return _is_matched(inside, included) and not any(
            fnmatchcase(inside, _plain_pattern(pattern)) for pattern in left_out
        )

    def _patterns(self, root: str) -> Iterator[str]:
        data: Any
        if root.endswith("package.json"):
            data = self._table(root).get("workspaces")
            data = data.get("packages") if isinstance(data, Mapping) else data
        else:
            workspace = self._table(root, "tool", "uv", "workspace")
            data = workspace.get("members")
            out = workspace.get("exclude")
            yield from (f"!{pattern}" for pattern in out) if isinstance(out, list) and data else ()
        yield from (pattern for pattern in data if isinstance(pattern, str)) if isinstance(data, list) else ()

    def _version(self, folder: str) -> str:
        version = self._table(posixpath.normpath(posixpath.join(folder, "package.json"))).get("version")
        return version if isinstance(version, str) else ""

    def _table(self, path: str, *keys: str) -> Mapping[str, Any]:
        return table_at(table_in(path, self._texts.get(path, "")), *keys)


def _folder(path: str) -> str:
    return posixpath.dirname(path) or "."


def _plain_pattern(pattern: str) -> str:
    return pattern.removeprefix("./").rstrip("/")


def _is_matched(folder: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern of a workspace matches the folder: `packages/*` matches no folder further below."""
    for pattern in map(_plain_pattern, patterns):
        any_depth = "**" in pattern
        if fnmatchcase(folder, pattern) and (any_depth or pattern.count("/") == folder.count("/")):
            return True
    return False


def _is_in_range(range_: str, version: str) -> bool:
    """Whether npm would link the workspace's package, which has this version, for this range. False if the range is
    written in an unusual way."""
    if range_.strip() in ("", "*"):
        return True
    needed, numbers = _RANGE.fullmatch(range_.strip()), _VERSION.fullmatch(version)
    if not needed or not numbers:
        return False
    low, actual = tuple(map(int, needed.groups()[1:])), tuple(map(int, numbers.groups()))
    significant = {"^": next((at for at, number in enumerate(low) if number), 2) + 1, "~": 2, ">=": 0}.get(
        needed[1] or "=", 3
    )
    return actual >= low and actual[:significant] == low[:significant]
