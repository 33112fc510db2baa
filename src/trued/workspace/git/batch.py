"""Reads the output of `git cat-file --batch`."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class BatchAnswer(NamedTuple):
    """What git answers about one name."""

    name: str  # the object's hash; the name that was asked for if there is no such object
    kind: str  # "blob", "tree", "commit" or "tag"; "missing" or "ambiguous" if there is no such object
    content: bytes | None  # None if there is no such object


def batch_input(names: Iterable[str]) -> bytes:
    """What `git cat-file --batch` reads: one object name on each line."""
    return "".join(f"{name}\n" for name in names).encode()


def parse_batch(output: bytes) -> Iterator[BatchAnswer]:
    """Yield one answer for each name that git was asked for, in the order of the names."""
    begin = 0
    while begin < len(output):
        end = output.index(b"\n", begin)
        line, begin = output[begin:end].decode(errors="replace"), end + 1
        about, _, size = line.rpartition(" ")
        name, _, kind = about.partition(" ")
        if size.isdigit() and kind:
            yield BatchAnswer(name, kind, output[begin : begin + int(size)])
            begin += int(size) + 1  # a newline follows the content
        else:
            yield BatchAnswer(about, size, None)
