"""Placeholders for version files that only a build writes. Without them, a bare checkout cannot be imported."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

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
_WRITTEN = re.compile(r"""["']?(?:version_file|write_to)["']?\s*[=:]\s*["']([^"']+)["']""")


def files_of_builds(pyproject: str, setup: str) -> dict[str, str]:
    """Path → placeholder for each file that a build would write, according to the base's own build files."""
    named = [*_named(pyproject), *_WRITTEN.findall(setup)]
    return {path: VERSION if path.endswith(".py") else "0.0.0\n" for path in named if _is_inside_checkout(path)}


def _named(pyproject: str) -> Iterator[str]:
    settings = toml_table(pyproject)
    for *tables, key in PLACES:
        if isinstance(found := table_at(settings, *tables).get(key), str):
            yield found


def _is_inside_checkout(path: str) -> bool:
    pure = PurePosixPath(path)
    return bool(path) and not pure.is_absolute() and ".." not in pure.parts and "\0" not in path
