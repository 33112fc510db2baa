"""Confines a process: what it sees of the machine is what its order names, by the best means that this machine has.

bubblewrap   own mounts, processes, network and users; nothing outside is even there
landlock     the kernel refuses paths and TCP; descendants are owned by a small parent process
none         limits and a parent process, nothing else; only with the user's explicit word
"""

from trued.workspace.sandbox.command_line import confine
from trued.workspace.sandbox.levels import (
    BUBBLEWRAP,
    LANDLOCK,
    LEVELS,
    NONE,
    LevelState,
    best,
    describe,
    probe,
    reach,
    state,
)
from trued.workspace.sandbox.visible_folders import interpreter_folders

__all__ = [
    "BUBBLEWRAP",
    "LANDLOCK",
    "LEVELS",
    "NONE",
    "LevelState",
    "best",
    "confine",
    "describe",
    "interpreter_folders",
    "probe",
    "reach",
    "state",
]
