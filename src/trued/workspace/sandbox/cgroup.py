"""A control group for one execution, in which the kernel limits processes and memory, even for root."""

import contextlib
import functools
import os
import secrets
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
OWN = Path("/proc/self/cgroup")
PREFIX = "trued-"
EMPTY_S = 2.0  # how long to wait until the kernel has removed the last process of a group


@dataclass(frozen=True, slots=True)
class CgroupParent:
    """A folder of the cgroup file system in which groups can be created."""

    folder: Path
    memory: bool  # groups in this folder can also limit the memory of all their processes together


@contextlib.contextmanager
def limited_group(processes: int, memory_bytes: int) -> Iterator[str]:
    """Make a group with these limits, and remove it at the end of the `with` block. Yields the group's folder; "" if no
    group can be created, or if the number of processes is not limited."""
    parent = cgroup_parent()
    if parent is None or not processes:
        yield ""
        return
    group = parent.folder / f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
    try:
        group.mkdir()
        (group / "pids.max").write_text(str(processes))
        if parent.memory and memory_bytes:
            (group / "memory.max").write_text(str(memory_bytes))
    except OSError:
        _remove(group)
        yield ""
        return
    try:
        yield str(group)
    finally:
        _remove(group)


@functools.cache
def cgroup_parent() -> CgroupParent | None:
    """A group in which this process can create others, found by trying; None if there is none. The limits of this
    process also apply to the new groups."""
    for folder, memory in _candidates():
        group = folder / f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
        try:
            group.mkdir()
            (group / "pids.max").write_text("64")
        except OSError:
            continue
        else:
            return CgroupParent(folder, memory and (group / "memory.max").exists())
        finally:
            _remove(group)
    return None


def _candidates() -> list[tuple[Path, bool]]:
    try:
        memberships = [line.split(":", 2) for line in OWN.read_text().splitlines()]
        mounts = [line.split() for line in MOUNTS.read_text().splitlines()]
    except (OSError, ValueError):
        return []
    candidates: list[tuple[Path, bool]] = []
    for _, controllers, path in memberships:
        if "pids" in controllers.split(","):
            top = next(
                (Path(mount[4]) for mount in mounts if "cgroup" in mount and "pids" in mount[-1].split(",")), None
            )
            candidates += [(top / path.lstrip("/"), False)] if top else []
        elif not controllers:
            top = next((Path(mount[4]) for mount in mounts if "cgroup2" in mount), None)
            candidates += _unified(top, path) if top else []
    return candidates


def _unified(top: Path, path: str) -> list[tuple[Path, bool]]:
    """For cgroup v2: the group in which to create new groups, and whether memory can be limited there. Empty if there
    is no suitable group.

    New groups are created beside this process's group, because a group that contains processes cannot limit groups
    inside it. Only the root group can: if this process is in the root group, new groups are created there.

    No group is suitable if this process's group has limits, because groups beside it would escape these limits, or if
    the number of processes cannot be limited in new groups.
    """
    group = top / path.lstrip("/")
    if any(_read_or_empty(group / name) not in ("", "max") for name in ("pids.max", "memory.max")):
        return []
    beside = group if group == top else group.parent
    controllers = _read_or_empty(beside / "cgroup.subtree_control").split()
    return [(beside, "memory" in controllers)] if "pids" in controllers else []


def _read_or_empty(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _remove(group: Path) -> None:
    """Remove a group, and kill all processes that are still in it."""
    until = time.monotonic() + EMPTY_S
    while group.is_dir():
        try:
            group.rmdir()
        except OSError:
            for process in _read_or_empty(group / "cgroup.procs").split():
                with contextlib.suppress(OSError, ValueError):
                    os.kill(int(process), signal.SIGKILL)
            if time.monotonic() > until:
                return
            time.sleep(0.002)


def remove_stale_groups() -> None:
    """Remove empty groups that a killed engine left."""
    parent = cgroup_parent()
    for group in parent.folder.glob(f"{PREFIX}*") if parent else ():
        owner = group.name.removeprefix(PREFIX).split("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            with contextlib.suppress(OSError):
                group.rmdir()
