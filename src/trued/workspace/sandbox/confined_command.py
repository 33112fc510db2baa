"""Builds the command line that starts a program confined, for each level of the sandbox."""

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from trued.errors import BadInput
from trued.wire import Confinement, ProcessLimits
from trued.workspace.sandbox.surroundings import CheckSurroundings
from trued.workspace.sandbox.visible_folders import (
    LINKED,
    SECRETS,
    folder_contains,
    parts_without,
    spellings,
    system_folders,
    system_links,
)

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FILE_BYTES = 8 * 1024**3  # the size limit of a file that a confined process writes, so that it cannot fill the disk
SCRATCH_BYTES = 2 * 1024**3  # size of /tmp and of /dev/shm, which are in memory
# The kernel lets uid 0 write to these without any capability, so they are read-only in root's sandbox.
KERNEL = ("/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi", "/proc/sysrq-trigger")
# The sandbox has its own versions of these folders. No setting may replace them by the host's, which contain sockets.
OWN = ("/proc", "/dev", "/dev/shm", "/tmp", "/run")  # noqa: S108
SOCKETS = ("/run",)  # services and the user's session listen there; the folder is empty inside, even if / is shown
KEEPERS = ("TRUED_PARENT", "TRUED_GROUP", "TRUED_STATUS")  # the keeper's own variables; no setting may change them
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def confine(
    argv: Sequence[str],
    confinement: Confinement,
    *,
    folder: str | os.PathLike[str],
    variables: Mapping[str, str],
    limits: ProcessLimits | None = None,
    setting: CheckSurroundings | None = None,
) -> tuple[list[str], dict[str, str]]:
    """The command line and the whole environment that start `argv` in `folder`, confined.

    `folder` is writable; HOME has to be listed in `confinement.writable`. `setting.paths_inside`: folders that
    bubblewrap shows at other paths; at the other levels it must be empty. Raises BadInput for an unknown level.

    Variables are not on the command line, which every user of the machine can read. Inherited file descriptors stay
    open. When the thread that started the command ends, all processes of the command end."""
    where = os.path.abspath(folder)  # noqa: PTH100
    environment = {"PATH": PATH, "LANG": "C.UTF-8", **variables}
    for name in KEEPERS:
        environment.pop(name, None)
    bounds = limits or ProcessLimits()
    if confinement.level == "bubblewrap":
        options = _bubblewrap(confinement, where, setting or CheckSurroundings())
        return [*_launcher_words(confinement, bounds), *options, *_started_by_shell(argv, bounds)], environment
    if confinement.level in ("landlock", "none"):
        return _landlock_words(argv, confinement, where, bounds), environment
    raise BadInput(f"there is no sandbox level {confinement.level!r}", then="bubblewrap, landlock or none")


# -- bubblewrap ----------------------------------------------------------------------------------------------------


def _launcher_words(confinement: Confinement, limits: ProcessLimits) -> list[str]:
    """The start of the command line. It runs `scope.py`, which starts bubblewrap and hides bubblewrap's options. With
    `confinement.scoped`, `scope.py` also bars processes inside from abstract sockets and processes outside."""
    scopes = "scoped" if confinement.scoped else "open"
    return [*_kept_words("scope.py"), scopes, ",".join(f"{name}={bound}" for name, bound in _bounds(limits))]


def _kept_words(script: str) -> list[str]:
    """The start of a command line that runs `script` under the keeper, which ends all processes of the sandbox."""
    module = Path(__file__)
    return [sys.executable, "-I", "-S", str(module.with_name("keeper.py")), str(module.with_name(script))]


def _bounds(limits: ProcessLimits) -> list[tuple[str, int]]:
    # DATA limits used memory. A limit on address space would stop runtimes that reserve more than they use.
    memory = [("DATA", limits.memory_bytes)] if limits.memory_bytes else []
    return [("CORE", 0), ("FSIZE", FILE_BYTES), *memory]


def _bubblewrap(confinement: Confinement, folder: str, setting: CheckSurroundings) -> list[str]:
    program = shutil.which("bwrap", path=PATH) or shutil.which("bwrap") or "bwrap"
    argv = [program, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    argv += ["--cap-drop", "ALL"]  # root has no privileges inside either
    argv += ["--hostname", setting.host] if setting.host else []
    if setting.user is not None:  # the kernel maps our user to this one, so our files stay accessible
        argv += ["--uid", str(setting.user), "--gid", str(setting.user)]
    if confinement.network == "host":
        argv.append("--share-net")
    for target, link in system_links():
        argv += ["--symlink", target, link]
    mounts = _mounts(confinement, folder, setting.paths_inside)
    mounts |= {inside: ["--ro-bind", path, inside] for path, inside in setting.aliases.items()}
    if setting.hosts and os.path.isfile("/etc/hosts") and not os.path.islink("/etc/hosts"):  # noqa: PTH113, PTH114
        mounts["/etc/hosts"] = ["--ro-bind", setting.hosts, "/etc/hosts"]
    argv += [word for _, mount in sorted(mounts.items(), key=_depth) for word in mount]
    return [*argv, "--chdir", shown_as(folder, setting.paths_inside), "--"]


def _mounts(confinement: Confinement, folder: str, paths_inside: Mapping[str, str]) -> dict[str, list[str]]:
    """Path inside → mount options. Deeper paths are mounted later, so they replace what is mounted above them.

    `paths_inside`: path on the host → path inside, for folders that are shown at another path.
    """
    mounts = {path: ["--ro-bind", path, path] for path in [*system_folders(), *_linked(confinement)]}
    if os.getuid() == 0:
        mounts |= {path: ["--ro-bind", path, path] for path in KERNEL if os.path.exists(path)}  # noqa: PTH110
    scratch = ["--size", str(SCRATCH_BYTES), "--tmpfs"]
    mounts |= {"/proc": ["--proc", "/proc"], "/dev": ["--dev", "/dev"]}
    mounts |= {path: [*scratch, path] for path in ("/tmp", "/dev/shm")}  # noqa: S108
    for kind, paths in (("--ro-bind", confinement.readable), ("--bind", (*confinement.writable, folder))):
        for path in spellings(paths):
            if os.path.realpath(path) not in OWN:
                inside = shown_as(path, paths_inside)
                mounts[inside] = [kind, path, inside]
    shown = [path for path, mount in mounts.items() if mount[0] in ("--ro-bind", "--bind") and mount[1] == path]
    for path in spellings(_hidden(confinement)):
        if any(folder_contains(folder, path) for folder in shown):
            mounts[path] = ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]  # noqa: PTH112
    return mounts


def shown_as(path: str, paths_inside: Mapping[str, str]) -> str:
    """The path inside the sandbox for a path of the host."""
    for outside, inside in paths_inside.items():
        if folder_contains(outside, path):
            return inside + path[len(outside) :]
    return path


def _hidden(confinement: Confinement) -> list[str]:
    return [*confinement.hidden, *SOCKETS, *(path for path in SECRETS if os.access(path, os.R_OK))]


def _depth(mount: tuple[str, list[str]]) -> tuple[int, str]:
    return mount[0].rstrip("/").count("/"), mount[0]


def _linked(confinement: Confinement) -> list[str]:
    if confinement.network != "host":
        return []
    real = [os.path.realpath(path) for path in LINKED]
    return [path for path in real if os.path.exists(path) and not folder_contains("/etc", path)]  # noqa: PTH110


def _started_by_shell(argv: Sequence[str], limits: ProcessLimits) -> list[str]:
    """A command line that starts `argv` through a shell inside the sandbox. If the program is missing, the shell ends
    with an exit code. The shell also limits the number of processes: inside, only the sandbox's processes count."""
    wish = ""
    if limits.processes and os.getuid() != 0:  # the kernel does not limit the processes of root
        wish = f"{{ ulimit -u {limits.processes} || ulimit -p {limits.processes}; }} 2>/dev/null; "
    return ["/bin/sh", "-c", f'{wish}exec "$@"', "sh", *argv]


# -- landlock, none ------------------------------------------------------------------------------------------------


def _landlock_words(argv: Sequence[str], confinement: Confinement, folder: str, limits: ProcessLimits) -> list[str]:
    writable = spellings((*confinement.writable, folder))
    seen = spellings([*system_folders(), *_linked(confinement), *confinement.readable])
    hidden = [path for path in spellings(_hidden(confinement)) if path not in writable]
    restrict = confinement.level == "landlock"
    policy = {
        "restrict": restrict,
        "readable": ["/proc", *(part for path in seen for part in parts_without(path, hidden))] if restrict else [],
        "writable": [part for path in writable for part in parts_without(path, hidden)] if restrict else [],
        "devices": list(DEVICES),
        "network": confinement.network,
        "ports": list(confinement.ports),
        "scoped": confinement.scoped,
        "folder": folder,
        "limits": dict(_bounds(limits)),
    }
    return [*_kept_words("landlock.py"), json.dumps(policy, separators=(",", ":")), "--", *argv]
