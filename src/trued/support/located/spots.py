"""How a part of a file is named, and how much of a file is read."""

from typing import TypeAlias

Spot: TypeAlias = tuple[str | int, ...]  # the way to a value: ("requirements", 0, "id")

FILE_LIMIT = 32 * 1024 * 1024  # more than the cases of a check may hold; a device or a dump would never end
NODE_LIMIT = 2_000_000  # parts of one file: each of them has a line
YAML_NODE_LIMIT = 200_000  # anchors can make a small file huge; what is larger is no YAML that anybody writes
DEPTH_LIMIT = 60
