"""Confines a process to the paths and the network that it needs, at the best level that this machine supports.

bubblewrap   its own mounts, processes, network and users; nothing outside is visible
landlock     the kernel refuses access to paths and TCP; a small parent process ends all descendants
none         only resource limits and the parent process; only if the user allows it explicitly

Start reading at `levels`, which finds the levels that work here, and at `confined_command.confine`, which confines a
command.
"""
