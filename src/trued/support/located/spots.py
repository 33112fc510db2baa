"""The path to a value inside a file, and the limits of what is read."""

from typing import TypeAlias

Spot: TypeAlias = tuple[str | int, ...]  # the path to a value: ("requirements", 0, "id")

FILE_LIMIT = 32 * 1024 * 1024  # larger than the cases of a check may be; keeps out devices and dumps
NODE_LIMIT = 2_000_000  # most parts of one file: the line of each is stored
YAML_NODE_LIMIT = 200_000  # anchors can make a small file huge
DEPTH_LIMIT = 60
