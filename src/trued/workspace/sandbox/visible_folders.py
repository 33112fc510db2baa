"""Finds the folders of the machine that a confined process needs to see, and leaves out those that it must not see."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

# The system folders that every sandbox shows.
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store")
# Nearly every program needs /etc. But these files in it are secret, and visible if root runs the engine.
SECRETS = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/ssl/private")
LINKED = ("/etc/resolv.conf", "/var/lib/ca-certificates")  # the network needs them; their files are often outside /etc
_PREFIXES = "import json, sys; print(json.dumps([sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]))"


def folder_contains(folder: str, path: str) -> bool:
    """Whether `path` is `folder` or inside it; both must be absolute and normalised."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def spellings(paths: Iterable[str]) -> list[str]:
    """Each existing path as written and with its links resolved, so that both names work inside the sandbox."""
    names: dict[str, None] = {}
    for path in paths:
        written = os.path.abspath(path)  # noqa: PTH100  (links in the path must not be resolved)
        if os.path.lexists(written):
            real = os.path.realpath(written)
            if os.path.exists(real):  # noqa: PTH110
                names.setdefault(real)
                names.setdefault(written)
    return list(names)


def parts_without(path: str, hidden: Iterable[str]) -> list[str]:
    """`path` itself, if nothing in it is hidden. Otherwise the files and folders in it that contain nothing hidden."""
    inside = [hidden_path for hidden_path in hidden if folder_contains(path, hidden_path)]
    if path in inside:
        return []
    if not inside or not os.path.isdir(path):  # noqa: PTH112
        return [path]
    parts: list[str] = []
    with os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            parts += parts_without(entry.path, inside)
    return parts


def system_folders() -> list[str]:
    """The system's own folders that exist on this machine and are not links; for the links, see `system_links`."""
    return [path for path in SYSTEM_FOLDERS if os.path.isdir(path) and not os.path.islink(path)]  # noqa: PTH112, PTH114


def system_links() -> list[tuple[str, str]]:
    """Links such as /bin → usr/bin, as (target, link)."""
    return [(os.readlink(path), path) for path in SYSTEM_FOLDERS if os.path.islink(path)]  # noqa: PTH114, PTH115


@functools.cache
def interpreter_folders(python: str) -> tuple[str, ...]:
    """Folders that must be readable so that this interpreter starts and finds its packages.

    Folders that every sandbox shows, and folders that contain the user's HOME, are left out. The source folder of an
    editable install is not in the result either, because evidence must not come from the user's working tree.
    """
    if python == sys.executable:
        prefixes = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]
    else:
        # -I, so that no module in the current folder can change the answer
        answer = subprocess.run([python, "-I", "-c", _PREFIXES], capture_output=True, check=True, timeout=30)
        prefixes = json.loads(answer.stdout)
    folders = [*prefixes, *_prefixes_along_links(python)]
    return tuple(dict.fromkeys(path for path in folders if _may_be_shown(path)))


def _prefixes_along_links(python: str) -> list[str]:
    """For the interpreter's path, and for each path in its chain of symbolic links: the folder two levels up (`/usr`
    for `/usr/bin/python3`)."""
    folders, path = [], os.path.abspath(python)  # noqa: PTH100
    for _ in range(16):
        folders.append(str(Path(path).parent.parent))
        if not os.path.islink(path):  # noqa: PTH114
            break
        path = os.path.normpath(Path(path).parent / os.readlink(path))  # noqa: PTH115
    return folders


def _may_be_shown(path: str) -> bool:
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111
    return not folder_contains(os.path.realpath(path), home) and not any(
        folder_contains(folder, path) for folder in SYSTEM_FOLDERS
    )
