"""The path to a value inside a file, and the limits of what is read."""

from typing import TypeAlias

Spot: TypeAlias = tuple[str | int, ...]  # the way to a value: ("requirements", 0, "id")

FILE_LIMIT = 32 * 1024 * 1024  # more than the cases of a check may hold; a device or a dump would never end
NODE_LIMIT = 2_000_000  # parts of one file: each of them has a line
YAML_NODE_LIMIT = 200_000  # anchors can make a small file huge
DEPTH_LIMIT = 60
