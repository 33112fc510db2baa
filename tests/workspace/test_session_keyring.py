"""A confined process shares no keyring of the kernel with the user's session or with a later confined process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trued.wire import Confinement
from trued.workspace.sandbox.confined_command import confine
from trued.workspace.sandbox.keeper import JOIN_SESSION_KEYRING, KEYCTL
from trued.workspace.sandbox.levels import level_state
from trued.workspace.sandbox.visible_folders import interpreter_folders

ADD_KEY = {"x86_64": 248, "aarch64": 217}
SESSION = -3  # the session keyring of the calling process
SEARCH = 10
WORLD = f"""
import ctypes, os, subprocess, sys
call = ctypes.CDLL(None).syscall
machine = os.uname().machine
add, control = {ADD_KEY!r}[machine], {KEYCTL!r}[machine]
def leave(name): return call(add, b"user", name.encode(), b"secret", 6, {SESSION})
def find(name): return call(control, {SEARCH}, {SESSION}, b"user", name.encode(), 0)
"""
LEAVE = WORLD + "print('left' if leave('by-a-check') > 0 and find('by-a-check') > 0 else 'cannot')"
FIND = WORLD + "print(*(name for name in ('by-a-check', 'of-the-user') if find(name) > 0))"
# As after a login: one session keyring for all, with a key of the user in it. Then the confined programs, one by one.
LOGIN = (
    WORLD
    + f"""
if call(control, {JOIN_SESSION_KEYRING}, None) < 0 or leave("of-the-user") < 0 or find("of-the-user") < 0:
    sys.exit("no keyring")
import json
for argv in json.loads(sys.argv[1]):
    subprocess.run(argv, check=True)
"""
)


@pytest.mark.spec("LAW-7")
@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
def test_a_keyring_hands_nothing_from_one_confined_process_to_the_next(level: str, tmp_path: Path) -> None:
    if os.uname().machine not in ADD_KEY or not level_state(level).works:
        pytest.skip("cannot be tried on this machine")
    sight = Confinement(level=level, network="none", readable=interpreter_folders(sys.executable))
    confined, environment = list[list[str]](), dict[str, str]()
    for code in (LEAVE, FIND):
        argv, environment = confine([sys.executable, "-I", "-c", code], sight, folder=tmp_path, variables={})
        confined.append(argv)
    # The programs end with their parent, as always, so the "login" starts them itself.

    ran = subprocess.run(
        [sys.executable, "-I", "-c", LOGIN, json.dumps(confined)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if "no keyring" in ran.stderr:
        pytest.skip("this kernel has no keyrings")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() in (["left", ""], ["cannot", ""]), ran.stdout
