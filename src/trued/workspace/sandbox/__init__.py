"""Confines a process, so that it sees only what its order names, by the best means that this machine has.

bubblewrap   own mounts, processes, network and users; nothing outside is visible
landlock     the kernel refuses paths and TCP; a small parent process ends the descendants
none         limits and a parent process, nothing else; only if the user allows it explicitly

Start reading at `levels` (which of these works here) and `command_line.confine` (how a command is confined).
"""
