"""Placeholders for files that only a build or an installation writes. Without them, a bare checkout cannot be
imported."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from trued.proof.text.package_names import normal_package_name
from trued.support.lazy_regex import lazy_regex
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
_ASKS_FOR_METADATA = lazy_regex(
    rb"\bimportlib[._]metadata\b|\bfrom importlib import\b[^\n]*\bmetadata\b|\bpkg_resources\b"
)
_COMPUTED = ("entry-points", "scripts", "gui-scripts")  # words under `dynamic`, if only a build knows entry points
MOST_MODULES, MODULE_BYTES = 2000, 200_000  # at most this many modules are read, and this much of each
_WRITTEN = lazy_regex(r"""["']?(?:version_file|write_to)["']?\s*[=:]\s*["']([^"']+)["']""")


def files_of_builds(pyproject: str, setup: str) -> dict[str, str]:
    """Path → placeholder for each file that a build would write, according to the base's own build files."""
    paths = [*_named(pyproject), *_WRITTEN.findall(setup)]
    return {path: VERSION if path.endswith(".py") else "0.0.0\n" for path in paths if _is_inside_checkout(path)}


def metadata_of_installation(room: Path, installed: Mapping[str, str]) -> dict[str, str]:
    """Path → content of the metadata with the project's own name, version and entry points, as an editable installation
    leaves it in a checkout. Only for projects whose code asks for metadata, as `importlib.metadata.version` does.

    `installed`: package → version in the interpreter. If the project itself is installed there, the placeholder hides
    the installed metadata. So if the checkout does not state the version, the installed version is used. If the
    checkout does not state the entry points of an installed project, the result is {}.
    """
    pyproject = room / "pyproject.toml"
    if pyproject.is_symlink() or not pyproject.is_file() or not _asks_for_metadata(room):
        return {}
    manifest = toml_table(pyproject.read_text("utf-8", "replace"))
    project = table_at(manifest, "project") or table_at(manifest, "tool", "poetry")
    name = project.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name):
        return {}
    versions = {normal_package_name(package): version for package, version in installed.items()}
    installed_version = versions.get(normal_package_name(name))
    version, computed = project.get("version", (installed_version or "0.0.0").split(" ")[0]), project.get("dynamic")
    if installed_version and isinstance(computed, list) and any(field in _COMPUTED for field in computed):
        return {}
    if not isinstance(version, str):
        return {}
    source = room / "src"
    folder = "src/" if source.is_dir() and not source.is_symlink() else ""
    content = f"Metadata-Version: 2.1\nName: {name}\nVersion: {' '.join(version.split())}\n"
    place = f"{folder}{re.sub(r'[-_.]+', '_', name)}.egg-info"
    points = _entry_points(project)
    return {f"{place}/PKG-INFO": content} | ({f"{place}/entry_points.txt": points} if points else {})


def _entry_points(project: Mapping[str, Any]) -> str:
    """The project's entry points in the format of an installation. Entry points for pytest are left out, because
    nothing of the head may be loaded into the runner of its tests."""
    plugins = table_at(project, "entry-points") or table_at(project, "plugins")
    tables = {"console_scripts": project.get("scripts"), "gui_scripts": project.get("gui-scripts"), **plugins}
    lines: list[str] = []
    for group, points in tables.items():
        if group != "pytest11" and re.fullmatch(r"[\w.-]+", group) and isinstance(points, dict) and points:
            definitions = [f"{name} = {target}" for name, target in points.items() if isinstance(target, str)]
            definitions = [line for line in definitions if line.isprintable() and not line.startswith("[")]
            lines += [f"[{group}]", *definitions, ""]
    return "\n".join(lines)


def _asks_for_metadata(room: Path) -> bool:
    modules_left = MOST_MODULES
    for folder, folders, names in os.walk(room):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        for path in (Path(folder, name) for name in sorted(names) if name.endswith(".py")):
            if modules_left == 0:
                return False
            modules_left -= 1
            if not path.is_symlink():
                with path.open("rb") as file:
                    if _ASKS_FOR_METADATA.search(file.read(MODULE_BYTES)):
                        return True
    return False


def _named(pyproject: str) -> Iterator[str]:
    settings = toml_table(pyproject)
    for *tables, key in PLACES:
        if isinstance(path := table_at(settings, *tables).get(key), str):
            yield path


def _is_inside_checkout(path: str) -> bool:
    pure = PurePosixPath(path)
    return bool(path) and not pure.is_absolute() and ".." not in pure.parts and "\0" not in path
