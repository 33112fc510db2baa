"""SetUpCache: what a project's set-up installed in one clone, cached for the next clones of the same run."""

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from trued.support.hashing import digest
from trued.support.lazy_regex import lazy_regex

INSTALLED = (".venv", "node_modules")  # folders that installers fill
# Files that may declare packages. A pattern that is too wide costs a needless installation; one that is too narrow
# would keep outdated packages.
DECLARING = lazy_regex(r"(?:[^/]+/)?(?:Pipfile|setup\.py|[^/]+\.(?:txt|toml|lock|lockb|json|ya?ml|cfg))")


def set_up_key(blobs: Mapping[str, str], script: str, owned: tuple[str, ...]) -> str:
    """A hash of the script and of every file that may declare packages, without the engine's own files (`owned`)."""
    named = {path: blob for path, blob in blobs.items() if DECLARING.fullmatch(path) and path not in owned}
    return digest(blobs.get(script, ""), dict(sorted(named.items())))


class SetUpCache:
    """Installed packages by key, in a folder of the run. A clone is cached before its agent works in it, so the cache
    holds only what the set-up installed."""

    def __init__(self, folder: Path, key: str) -> None:
        self._kept = folder / key

    def restore(self, clone: Path) -> None:
        """Copy what is cached, if anything, into a fresh clone."""
        for installed in _installed(self._kept):
            target = clone / installed
            if target.parent.is_dir() and not target.is_symlink() and not target.exists():
                _copy(self._kept / installed, target)

    def save(self, clone: Path) -> None:
        """Cache what the set-up installed in this clone, unless it is cached already. May be repeated after a crash."""
        if self._kept.is_dir():
            return
        half = self._kept.with_suffix(".half")
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(parents=True)
        for installed in _installed(clone):
            (half / installed).parent.mkdir(exist_ok=True)
            _copy(clone / installed, half / installed)
        half.replace(self._kept)


def _installed(folder: Path) -> list[Path]:
    """Folders with installed packages, in `folder` and one level down. Paths are relative to `folder`. Links are not
    followed."""
    roots = [folder, *(child for child in sorted(folder.iterdir()) if _is_folder(child))] if folder.is_dir() else []
    inside = [root / name for root in roots if root.name not in INSTALLED for name in INSTALLED]
    return [path.relative_to(folder) for path in inside if _is_folder(path)]


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _copy(source: Path, target: Path) -> None:
    """Copy files, folders and symbolic links (as links). Anything else that a script may have created is left out."""

    def others(folder: str, names: list[str]) -> list[str]:
        modes = {name: os.lstat(Path(folder, name)).st_mode for name in names}
        return [
            name for name, mode in modes.items() if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
        ]

    shutil.copytree(source, target, symlinks=True, ignore=others)
