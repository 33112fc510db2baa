"""Finds the Node executable for checks: on the PATH of the engine's process, never in a checkout."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from trued.support.lazy_regex import lazy_regex

LOOK_S = 30.0
STRIPS_TYPES = ((22, 18), (23, 6))  # since these versions Node strips types to run TypeScript
_MISSING = lazy_regex(r"Cannot find (?:package|module) '([^']+)'")
_PACKAGE = lazy_regex(r"(@[\w.~-]+/)?[\w.~-]+")


@dataclass(frozen=True, slots=True)
class NodeProgram:
    """A Node executable, its version, and the folders that it needs to start."""

    path: str
    version: str  # such as v20.11.1
    readable: tuple[str, ...]  # folders that Node needs, without the system's own

    @property
    def strips_types(self) -> bool:
        """Whether this Node can run TypeScript by stripping the types."""
        major, minor = (int(part) for part in self.version.lstrip("v").split(".")[:2])
        (first, since), (second, later) = STRIPS_TYPES
        return (major, minor) >= (second, later) or (major == first and minor >= since)


def find_node() -> NodeProgram | None:
    """The first Node on the path, or None."""
    path = shutil.which("node", path=os.environ.get("PATH", os.defpath))
    return _probed(path) if path else None


def node_folders() -> tuple[str, ...]:
    """Folders that a sandbox must show so that a Node outside the system's folders can start."""
    path = shutil.which("node", path=os.environ.get("PATH", os.defpath))
    if path is None or Path(path).resolve().is_relative_to("/usr"):
        return ()
    node = _probed(path)
    return node.readable if node else ()


@lru_cache(maxsize=4)
def _probed(path: str) -> NodeProgram | None:
    # A version manager's shim reports the program that it starts. From here on, only that program is used.
    argv = [path, "-p", "process.execPath + ' ' + process.version"]
    try:
        output = subprocess.run(argv, capture_output=True, cwd="/", timeout=LOOK_S, check=True).stdout.decode()
    except (OSError, subprocess.SubprocessError):
        return None
    real, _, version = output.strip().rpartition(" ")
    if not re.fullmatch(r"v\d+\.\d+\.\S+", version):
        return None
    home = Path(real).parent.parent
    system = home in (Path("/"), Path("/usr")) or Path("/usr") in home.parents
    return NodeProgram(real, version, () if system else (str(home),))


def missing_package(text: str) -> str:
    """The Node package that is missing according to this output; "" if there is none. Names that begin with a dot or
    slash are the project's own and do not count."""
    for name in reversed(_MISSING.findall(text)):
        match = _PACKAGE.match(name)
        if match and not name.startswith((".", "/")) and not name.startswith(("node:", "file:")):
            return match.group()
    return ""
