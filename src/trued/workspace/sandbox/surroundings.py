"""Host name, user, folders, time zone and ports of a check: neutral in its first run, different in its second."""

import os
import pwd
import socket
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

FIRST_HOST, SECOND_HOST = "localhost", "builder"
OTHER_USERS = (1, 65534, 2)  # ids that exist on every Unix, since programs look up their user's name
EAST, WEST = ("Pacific/Kiritimati", "<+14>-14", 14), ("Etc/GMT+12", "<-12>12", -12)
PORTS = 8  # enough for a server and the programs that it talks to
ZONES = Path("/usr/share/zoneinfo")


@dataclass(frozen=True, slots=True)
class CheckSurroundings:
    """Host name and user of a confined process (where the sandbox level can change them), and names of its folders."""

    host: str = ""  # "": the host name of the machine
    user: int | None = None  # None: our own user
    hosts: str = ""  # a file to mount as /etc/hosts, with the host name in it
    home: str = "home"
    scratch: str = "tmp"

    def hosts_text(self) -> str:
        """The content of /etc/hosts."""
        return f"127.0.0.1 localhost {self.host}\n::1 localhost {self.host}\n"


def surroundings_for(*, second: bool) -> CheckSurroundings:
    """The surroundings of the first or the second run of a check."""
    if second:
        return CheckSurroundings(SECOND_HOST, other_user().pw_uid, home="house", scratch="scratch")
    return CheckSurroundings(FIRST_HOST)


def other_user() -> pwd.struct_passwd:
    """A user other than ours that exists on this system."""
    for number in OTHER_USERS:
        try:
            found = pwd.getpwuid(number)
        except KeyError:
            continue
        if number != os.getuid():
            return found
    return pwd.struct_passwd(("other", "x", os.getuid() + 1, os.getgid() + 1, "", "/", "/bin/sh"))


def surroundings_variables(*, second: bool) -> dict[str, str]:
    """Environment variables that tell a program its user and time zone."""
    return {"USER": other_user().pw_name, "LOGNAME": other_user().pw_name, "TZ": other_zone()} if second else {}


def other_zone(now: float | None = None) -> str:
    """A time zone in which it is another day than here."""
    here = time.localtime(now)
    hours_ahead = here.tm_gmtoff / 3600
    hour = here.tm_hour + here.tm_min / 60
    name, rule, _ = EAST if hour + EAST[2] - hours_ahead >= 24 else WEST
    return name if (ZONES / name).is_file() else rule


def describe_second_surroundings(level: str) -> str:
    """What the second run changes at this sandbox level, for the record of the evidence."""
    common = "HOME, TMPDIR, user's name in the environment, time zone and date"
    return f"host name, user, {common}" if level == "bubblewrap" else common


def free_ports() -> tuple[int, ...]:
    """Free ports: a check without its own network may use only these."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(PORTS)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return tuple(one.getsockname()[1] for one in sockets)
