"""Finds the sandbox levels that work on this machine, by letting a canary try to escape from each."""

import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from trued.errors import BadInput
from trued.wire import Confinement
from trued.workspace.sandbox import cgroup, landlock, scope
from trued.workspace.sandbox.confined_command import confine
from trued.workspace.sandbox.visible_folders import interpreter_folders

BUBBLEWRAP, LANDLOCK, NONE = "bubblewrap", "landlock", "none"
LEVELS = (BUBBLEWRAP, LANDLOCK, NONE)  # best first
WITHIN_S = 20.0  # timeout of one canary: enough on a busy machine
_TRYING = Lock()  # one thread runs the canary; the others wait and then use the cached answer


@dataclass(frozen=True, slots=True)
class LevelState:
    """Whether one level of the sandbox works on this machine."""

    level: str
    works: bool
    unconfined: tuple[str, ...]  # what this level leaves open
    why: str = ""  # why it does not work
    fix: str = ""  # what would make it work


def describe_isolation(level: str, network: str = "none") -> str:
    """The level, and what is not confined at it. Every piece of evidence records this text."""
    unconfined = _unconfined(level)
    if network == "loopback" and level == LANDLOCK and "TCP" not in unconfined:
        unconfined += ("a few TCP ports",)
    if network == "host" and level != NONE:
        unconfined += ("network",)
    # Abstract sockets belong to a network namespace. Only a sandbox with the host's network can reach the host's.
    if network == "host" and level == BUBBLEWRAP and not scope.can_scope():
        unconfined += ("abstract unix sockets",)
    return f"{level} (not confined: {', '.join(unconfined)})" if unconfined else level


def _unconfined(level: str) -> tuple[str, ...]:
    if level == NONE:
        return ("files", "network", "processes")
    if level == BUBBLEWRAP:
        return ("number of processes",) if os.getuid() == 0 and cgroup.cgroup_parent() is None else ()
    version = landlock.abi()
    unconfined = ["UDP", "unix sockets by path", "System V shared memory", "names of the host's processes"]
    unconfined += ["number of processes"] if cgroup.cgroup_parent() is None else []
    unconfined += ["TCP"] if version < 4 else []
    unconfined += ["abstract unix sockets", "signals"] if version < 6 else []
    return tuple(unconfined)


def probe_levels() -> list[LevelState]:
    """All levels, best first; each is tried once per process."""
    return [level_state(level) for level in LEVELS]


def choose_level(level_wanted: str, allow_unsandboxed: bool) -> str:
    """Return the level to use. `level_wanted` is the name of a level, or "auto" for the best level that works. Raises
    BadInput, with the reason and a fix, if the wanted level does not work. Also raises BadInput if the result would be
    "none" and `allow_unsandboxed` is not set."""
    if level_wanted not in ("auto", *LEVELS):
        raise BadInput(f"there is no sandbox level {level_wanted!r}", then=f"use one of auto, {', '.join(LEVELS)}")
    if level_wanted == NONE or (level_wanted == "auto" and not any(level_state(level).works for level in LEVELS[:2])):
        if not allow_unsandboxed:
            raise BadInput(_refusal(level_wanted), then="or use --allow-unsandboxed, with which nothing is confined")
        return NONE
    if level_wanted == "auto":
        return next(level for level in LEVELS if level_state(level).works)
    wanted = level_state(level_wanted)
    if not wanted.works:
        raise BadInput(f"the sandbox {level_wanted} does not work here: {wanted.why}", then=wanted.fix)
    return level_wanted


def check_agent_network(level: str, network: str) -> None:
    """Raise BadInput if this level cannot limit agents to that network."""
    if level == LANDLOCK and network == "loopback":
        raise BadInput(
            'agents cannot have network = "loopback" in the sandbox landlock, which cannot tell addresses apart',
            then='set network = "none" or "host", or install bubblewrap',
        )


def _refusal(level_wanted: str) -> str:
    if level_wanted == NONE:
        return "without a sandbox, agents and checks could read and write everything that you can"
    reasons = "; ".join(f"{state.level}: {state.why}: {state.fix}" for state in map(level_state, LEVELS[:2]))
    return f"no sandbox works on this machine: {reasons}"


# -- the canary ----------------------------------------------------------------------------------------------------


def level_state(level: str) -> LevelState:
    """Whether one level works; tried once per process."""
    with _TRYING:
        return _try_level(level)


@functools.cache
def _try_level(level: str) -> LevelState:
    """Try one level by running the canary in it."""
    unconfined = _unconfined(level)
    missing = _missing(level)
    if missing:
        return LevelState(level, False, unconfined, *missing)
    try:
        succeeded, complaint = _run_canary(level)
    except (OSError, subprocess.SubprocessError) as error:
        succeeded, complaint = None, str(error)
    if succeeded is None:
        return LevelState(level, False, unconfined, complaint or "the canary printed nothing", _fix(level, complaint))
    escaped = [name for name in _forbidden(level) if succeeded[name]]
    if not succeeded["inside"]:
        return LevelState(level, False, unconfined, "the canary cannot write where it should", _fix(level, ""))
    if escaped:
        return LevelState(level, False, unconfined, f"the canary got out: {', '.join(escaped)}", _fix(level, ""))
    return LevelState(level, True, unconfined)


def _forbidden(level: str) -> tuple[str, ...]:
    if level == NONE:
        return ()
    listener = () if level == LANDLOCK and landlock.abi() < 4 else ("listener",)
    return ("outside", "secret", *listener, *(("processes",) if level == BUBBLEWRAP else ()))


@functools.cache
def reachable_sockets(sight: Confinement) -> tuple[str, ...]:
    """The kinds of sockets of the user's session to which a process with this confinement can connect; () if none.

    Through sockets of window systems, buses, terminals or key agents a process could act as the user. This function
    listens on sockets of each kind and lets the canary try to connect. At the level none, the only item is
    "everything". If the canary cannot run, the only item says that the answer is unknown.
    """
    if sight.level == NONE:
        return ("everything",)
    try:
        with ExitStack() as stack:
            reached_sockets = _try_sockets(sight, stack)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return (f"unknown: the canary did not run ({str(error).splitlines()[0][:200]})",)
    return tuple(dict.fromkeys(_KINDS[name] for name, reached in reached_sockets.items() if reached))


_KINDS = {"abstract": "abstract unix sockets", "scratch": "unix sockets by path", "session": "unix sockets by path"}


def _try_sockets(sight: Confinement, stack: ExitStack) -> dict[str, bool]:
    """Listen on sockets like those of a session's services (abstract, in the temporary folder, in the user's /run), and
    let the canary try to connect. Returns socket → whether the canary reached it."""
    top = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trued-canary-"))).resolve()
    (top / "inside").mkdir()
    (top / "outside").mkdir()
    shutil.copy(Path(__file__).with_name("canary.py"), top / "inside" / "canary.py")
    sockets = {"abstract": f"@trued-{uuid.uuid4().hex}", "scratch": str(top / "outside" / "socket")}
    session = Path(f"/run/user/{os.getuid()}")
    if os.access(session, os.W_OK):
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="trued-canary-", dir=session))
        sockets["session"] = f"{folder}/socket"
    for address in sockets.values():
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind("\0" + address[1:] if address.startswith("@") else address)
        listener.listen(8)
    script = [sys.executable, "-I", "-S", str(top / "inside" / "canary.py"), json.dumps({"sockets": sockets})]
    sight = replace(sight, readable=(*interpreter_folders(sys.executable), *sight.readable))
    argv, environment = confine(script, sight, folder=top / "inside", variables={"HOME": str(top / "inside")})
    ran = subprocess.run(argv, env=environment, capture_output=True, timeout=WITHIN_S, check=False)
    if ran.returncode != 0:
        raise OSError(ran.stderr.decode(errors="replace").strip() or f"exit code {ran.returncode}")
    reached: dict[str, bool] = json.loads(ran.stdout)
    return {name: reached[name] for name in sockets}


def _run_canary(level: str) -> tuple[dict[str, bool] | None, str]:
    with tempfile.TemporaryDirectory(prefix="trued-canary-") as temporary, socket.socket() as listener:
        top = Path(temporary).resolve()
        for name in ("inside", "outside"):
            (top / name).mkdir()
        (top / "outside" / "secret").write_text("nobody may read this")
        shutil.copy(Path(__file__).with_name("canary.py"), top / "inside" / "canary.py")
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        request = {
            "inside": str(top / "inside"),
            "outside": str(top / "outside"),
            "secret": str(top / "outside" / "secret"),
            "port": str(listener.getsockname()[1]),
            "pidns": str(Path("/proc/self/ns/pid").readlink()),
        }
        sight = Confinement(level=level, readable=interpreter_folders(sys.executable), hidden=(request["outside"],))
        script = [sys.executable, "-I", "-S", str(top / "inside" / "canary.py"), json.dumps(request)]
        argv, environment = confine(script, sight, folder=top / "inside", variables={"HOME": request["inside"]})
        ran = subprocess.run(argv, env=environment, capture_output=True, timeout=WITHIN_S, check=False)
    complaint = ran.stderr.decode(errors="replace").strip().splitlines()[-1:] or [f"exit code {ran.returncode}"]
    try:
        return json.loads(ran.stdout), ""
    except ValueError:
        return None, complaint[0]


# -- what a person can do about it ---------------------------------------------------------------------------------


def _missing(level: str) -> tuple[str, str] | None:
    if level == BUBBLEWRAP and not shutil.which("bwrap"):
        return "bubblewrap is not installed", "install it: apt install bubblewrap, or the same with dnf or pacman"
    if level == LANDLOCK and landlock.abi() < 1:
        return (
            "the kernel has no Landlock",
            "use Linux 5.13 or newer with landlock in its list of security modules (lsm=)",
        )
    return None


def _fix(level: str, complaint: str) -> str:
    if level != BUBBLEWRAP:
        return "report this with the output of trued doctor"
    if "nknown option" in complaint:
        return "install bubblewrap 0.8 or newer"
    if _kernel_setting("kernel/apparmor_restrict_unprivileged_userns") == "1" and os.getuid() != 0:
        return (
            "AppArmor forbids user namespaces: sudo apt install apparmor-profiles && sudo ln -s"
            " /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo apparmor_parser -r"
            " /etc/apparmor.d/bwrap-userns-restrict"
            " (or, for all programs: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0)"
        )
    if _kernel_setting("kernel/unprivileged_userns_clone") == "0":
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if _kernel_setting("user/max_user_namespaces") == "0":
        return "sudo sysctl -w user.max_user_namespaces=15000"
    if "proc" in complaint:
        return "this container masks /proc: start it with --security-opt systempaths=unconfined"
    return "allow user namespaces; in a container: --security-opt seccomp=unconfined --security-opt apparmor=unconfined"


def _kernel_setting(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""
