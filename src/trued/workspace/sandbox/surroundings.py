"""The surroundings in which a check is run: the same neutral ones each first time, others the second time."""

import os
import pwd
import socket
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

FIRST_HOST, SECOND_HOST = "localhost", "builder"
OTHER_USERS = (1, 65534, 2)  # of every Unix: programs look up the name of whoever they run as
EAST, WEST = ("Pacific/Kiritimati", "<+14>-14", 14), ("Etc/GMT+12", "<-12>12", -12)
PORTS = 8  # for a server and what it talks to
ZONES = Path("/usr/share/zoneinfo")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Host name and user of a confined process, where the level can give it others than ours; and its folders."""

    host: str = ""  # "": the machine's own
    user: int | None = None  # None: our own
    hosts: str = ""  # a file to be seen as /etc/hosts, in which the host name stands
    home: str = "home"
    scratch: str = "tmp"

    def hosts_text(self) -> str:
        return f"127.0.0.1 localhost {self.host}\n::1 localhost {self.host}\n"


def surroundings_for(*, second: bool) -> Surroundings:
    if second:
        return Surroundings(SECOND_HOST, other_user().pw_uid, home="house", scratch="scratch")
    return Surroundings(FIRST_HOST)


def other_user() -> pwd.struct_passwd:
    """Somebody whom the system knows, and who is not us."""
    for number in OTHER_USERS:
        try:
            found = pwd.getpwuid(number)
        except KeyError:
            continue
        if number != os.getuid():
            return found
    return pwd.struct_passwd(("other", "x", os.getuid() + 1, os.getgid() + 1, "", "/", "/bin/sh"))


def surroundings_variables(*, second: bool) -> dict[str, str]:
    """What tells a program who it is and where."""
    return {"USER": other_user().pw_name, "LOGNAME": other_user().pw_name, "TZ": other_zone()} if second else {}


def other_zone(now: float | None = None) -> str:
    """A time zone in which it is another day than here: the hours from here to there are more than to midnight."""
    here = time.localtime(now)
    hours_ahead = here.tm_gmtoff / 3600
    hour = here.tm_hour + here.tm_min / 60
    name, rule, _ = EAST if hour + EAST[2] - hours_ahead >= 24 else WEST
    return name if (ZONES / name).is_file() else rule


def describe_second_surroundings(level: str) -> str:
    """What is said of the second setting in the record."""
    common = "HOME, TMPDIR, user's name in the environment, time zone and date"
    return f"host name, user, {common}" if level == "bubblewrap" else common


def free_ports() -> tuple[int, ...]:
    """Ports on which nobody listens here: without a network of its own a check may use these and no others."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(PORTS)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return tuple(one.getsockname()[1] for one in sockets)
