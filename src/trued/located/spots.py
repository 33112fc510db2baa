"""How a part of a file is named, and how much of a file is read."""

from typing import TypeAlias

Spot: TypeAlias = tuple[str | int, ...]  # the way to a value: ("requirements", 0, "id")

FILE_LIMIT = 8 * 1024 * 1024  # nobody writes more by hand; a device or a dump would never end
NODE_LIMIT = 200_000  # anchors can make a small file huge
DEPTH_LIMIT = 60
