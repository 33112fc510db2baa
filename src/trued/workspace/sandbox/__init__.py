"""Confines a process: what it sees of the machine is what its order names, by the best means that this machine has.

bubblewrap   own mounts, processes, network and users; nothing outside is even there
landlock     the kernel refuses paths and TCP; descendants are owned by a small parent process
none         limits and a parent process, nothing else; only with the user's explicit word
"""
