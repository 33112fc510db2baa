"""Placeholders for files that only a build or an installation writes. Without them, a bare checkout cannot be
imported."""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from trued.support.tables import table_at, toml_table

VERSION = (
    '__version__ = version = "0.0.0"\n__version_tuple__ = version_tuple = (0, 0, 0)\n__commit_id__ = commit_id = None\n'
)
PLACES = (  # settings that tell build tools the version file's name
    ("tool", "hatch", "build", "hooks", "vcs", "version-file"),
    ("tool", "setuptools_scm", "version_file"),
    ("tool", "setuptools_scm", "write_to"),
    ("tool", "pdm", "version", "write_to"),
    ("tool", "versioningit", "write", "file"),
)
_ASKS_FOR_METADATA = re.compile(
    rb"\bimportlib[._]metadata\b|\bfrom importlib import\b[^\n]*\bmetadata\b|\bpkg_resources\b"
)
MOST_MODULES, MODULE_BYTES = 2000, 200_000  # at most this many modules are read, and this much of each
_WRITTEN = re.compile(r"""["']?(?:version_file|write_to)["']?\s*[=:]\s*["']([^"']+)["']""")


def files_of_builds(pyproject: str, setup: str) -> dict[str, str]:
    """Path → placeholder for each file that a build would write, according to the base's own build files."""
    named = [*_named(pyproject), *_WRITTEN.findall(setup)]
    return {path: VERSION if path.endswith(".py") else "0.0.0\n" for path in named if _is_inside_checkout(path)}


def metadata_of_installation(room: Path) -> dict[str, str]:
    """Path → content of the metadata with the project's own name and version, as an editable installation leaves it in
    a checkout. Only for projects whose code asks for metadata, such as `importlib.metadata.version("pkg")`."""
    pyproject = room / "pyproject.toml"
    if pyproject.is_symlink() or not pyproject.is_file() or not _asks_for_metadata(room):
        return {}
    manifest = toml_table(pyproject.read_text("utf-8", "replace"))
    project = table_at(manifest, "project") or table_at(manifest, "tool", "poetry")
    name, version = project.get("name"), project.get("version", "0.0.0")
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name) or not isinstance(version, str):
        return {}
    source = room / "src"
    folder = "src/" if source.is_dir() and not source.is_symlink() else ""
    content = f"Metadata-Version: 2.1\nName: {name}\nVersion: {' '.join(version.split())}\n"
    return {f"{folder}{re.sub(r'[-_.]+', '_', name)}.egg-info/PKG-INFO": content}


def _asks_for_metadata(room: Path) -> bool:
    left = MOST_MODULES
    for folder, folders, names in os.walk(room):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one != "node_modules")
        for path in (Path(folder, one) for one in sorted(names) if one.endswith(".py")):
            if left == 0:
                return False
            left -= 1
            if not path.is_symlink():
                with path.open("rb") as file:
                    if _ASKS_FOR_METADATA.search(file.read(MODULE_BYTES)):
                        return True
    return False


def _named(pyproject: str) -> Iterator[str]:
    settings = toml_table(pyproject)
    for *tables, key in PLACES:
        if isinstance(found := table_at(settings, *tables).get(key), str):
            yield found


def _is_inside_checkout(path: str) -> bool:
    pure = PurePosixPath(path)
    return bool(path) and not pure.is_absolute() and ".." not in pure.parts and "\0" not in path
