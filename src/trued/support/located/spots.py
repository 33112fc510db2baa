"""The path to a value inside a file, and the limits of what is read."""

from typing import TypeAlias

Spot: TypeAlias = tuple[str | int, ...]  # the path to a value: ("requirements", 0, "id")

FILE_LIMIT = 32 * 1024 * 1024  # bytes of a file: enough for all cases of a check
NODE_LIMIT = 2_000_000  # parts of one file; limited, because the line of each is kept in memory
YAML_NODE_LIMIT = 200_000  # parts of a YAML file; fewer, because anchors can make a small file huge
DEPTH_LIMIT = 60
