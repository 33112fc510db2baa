"""The surroundings of a check: host name, user, folders, time zone and free ports.

Code must not be able to tell a check from ordinary use: it could then work in checks only. So no name here reveals the
engine. The checks of a head run in at least two turns. In the first turn, the surroundings are like the user's own. In
the second turn, everything is different that can differ between two ordinary machines.
"""

import os
import pwd
import secrets
import socket
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from trued.support.lazy_regex import lazy_regex
from trued.workspace.sandbox.visible_folders import SYSTEM_FOLDERS, folder_contains

OTHER_USERS = (1, 65534, 2)  # ids with a name on every Unix, because programs look up their user's name
EAST, WEST = ("Pacific/Kiritimati", "<+14>-14", 14), ("Etc/GMT+12", "<-12>12", -12)
PORTS = 8  # how many ports a check may use: enough for a server and the programs that it talks to
ZONES = Path("/usr/share/zoneinfo")
TEMPORARY, OTHER_TEMPORARY = "/tmp", "/var/tmp"  # noqa: S108  (inside the sandbox)
# A path that needs no quoting in JSON, in lists of paths and in shell scripts.
_PLAIN = lazy_regex(r"[A-Za-z0-9._/@+-]+")
ELSEWHERE = "/srv"  # a usual folder for checkouts; the host's /srv is not shown in any sandbox
NO_PLACE = ("/proc", "/dev", "/run", "/sys")  # no folder can be shown below these


@dataclass(frozen=True, slots=True)
class CheckSurroundings:
    """Host name, user and paths that a confined process sees, as far as the sandbox level can change them. `home` and
    `scratch`: the names that its HOME and its TMPDIR have on the host."""

    host: str = ""  # "": the host name of the machine
    user: int | None = None  # None: our own user
    hosts: str = ""  # a file to mount as /etc/hosts, with the host name in it
    home: str = "home"
    scratch: str = "tmp"
    paths_inside: Mapping[str, str] = field(default_factory=dict)  # path on the host → path inside
    aliases: Mapping[str, str] = field(default_factory=dict)  # path on the host → another path inside, read-only

    def hosts_text(self) -> str:
        """The content of /etc/hosts."""
        name = self.host or socket.gethostname()
        return f"127.0.0.1 localhost {name}\n::1 localhost {name}\n"


def surroundings_for(*, second: bool) -> CheckSurroundings:
    """The surroundings of the first or the second turn of a check."""
    if second:  # a random host name, like those of containers
        return CheckSurroundings(secrets.token_hex(6), other_user().pw_uid, home="house", scratch="scratch")
    return CheckSurroundings()


def usual_home(shown: Iterable[str], *, second: bool) -> str:
    """The path of HOME inside the sandbox: the path of the user's own HOME if possible; in the second turn, the path of
    another user's HOME. `shown`: folders that the sandbox shows at their own paths; HOME cannot be inside one of
    them."""
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111
    fits = (
        _PLAIN.fullmatch(home)
        and _can_be_shown(home)
        and not any(folder_contains(folder, home) for folder in (*SYSTEM_FOLDERS, *shown))
    )
    return home if fits and not second else f"/home/{other_user().pw_name}"


def usual_place(repository: str, shown: Iterable[str], *, copy: bool) -> str:
    """The path at which the sandbox shows a checkout: the path of the user's repository if possible. `copy`: whether
    the checkout is a copy of a clean room, which is always shown at another path.

    `shown`: folders that the sandbox shows at their own paths, and folders to which an editable install points. None of
    them may be inside the checkout's path. Otherwise the sandbox would have to create folders in the checkout, or the
    interpreter would import code from the checkout that is not under test.
    """
    seen, name = list(shown), Path(repository).name
    name = name if _PLAIN.fullmatch(name) else "project"
    candidates = (*(() if copy or not _PLAIN.fullmatch(repository) else (repository,)), f"{ELSEWHERE}/{name}")
    fitting = (
        candidate
        for candidate in candidates
        if _can_be_shown(candidate)
        and _has_mount_point(candidate, seen)
        and not any(folder_contains(candidate, path) for path in seen)
    )
    return next(fitting, f"{ELSEWHERE}/checkouts/{name}")


def _can_be_shown(path: str) -> bool:
    """Whether a folder can be shown at this path without hiding folders that every program needs."""
    return not any(folder_contains(folder, path) for folder in NO_PLACE) and not any(
        folder_contains(path, folder) for folder in (*SYSTEM_FOLDERS, *NO_PLACE)
    )


def _has_mount_point(path: str, seen: Iterable[str]) -> bool:
    """Whether a folder can be mounted at this path: the path exists, or it can be created because it is not inside a
    folder that is shown read-only. The path may be missing if the run was started on another machine."""
    return Path(path).is_dir() or not any(folder_contains(folder, path) for folder in (*SYSTEM_FOLDERS, *seen))


def other_user() -> pwd.struct_passwd:
    """A user other than ours that exists on this system."""
    for number in OTHER_USERS:
        try:
            user = pwd.getpwuid(number)
        except KeyError:
            continue
        if number != os.getuid():
            return user
    return pwd.struct_passwd(("other", "x", os.getuid() + 1, os.getgid() + 1, "", "/", "/bin/sh"))


def surroundings_variables(*, second: bool) -> dict[str, str]:
    """Environment variables that tell a program its user; in the second turn another user, and also another time zone,
    shell and terminal."""
    if second:
        name = other_user().pw_name
        return {"USER": name, "LOGNAME": name, "TZ": other_zone(), "SHELL": "/bin/sh", "TERM": "dumb"}
    name = own_name()
    return {"USER": name, "LOGNAME": name} if name else {}


def own_name() -> str:
    """Our own user's name, or "" if the system does not know it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def other_zone(now: float | None = None) -> str:
    """A time zone in which it is another day than here."""
    local = time.localtime(now)
    hours_ahead = local.tm_gmtoff / 3600
    hour = local.tm_hour + local.tm_min / 60
    name, rule, _ = EAST if hour + EAST[2] - hours_ahead >= 24 else WEST
    return name if (ZONES / name).is_file() else rule


def describe_second_surroundings(level: str) -> str:
    """What the second turn changes at this sandbox level, as the evidence records it."""
    common = "HOME, TMPDIR, user's name in the environment, time zone and date"
    return f"host name, user, {common}" if level == "bubblewrap" else common


def free_ports() -> tuple[int, ...]:
    """Free ports. A check without a network of its own may use only these."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(PORTS)]
        for listener in sockets:
            listener.bind(("127.0.0.1", 0))
        return tuple(listener.getsockname()[1] for listener in sockets)
