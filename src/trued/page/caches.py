"""Two small caches: `Stamped` keeps one value while its stamp stays the same; `Recent` keeps the values used last."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Kept = TypeVar("Kept")


class Stamped(Generic[Kept]):
    """Keeps one value and its stamp, which stands for everything that the value depends on. `get` makes the value again
    only if the stamp has changed."""

    def __init__(self) -> None:
        self._kept: tuple[object, Kept] | None = None

    def get(self, stamp: object, make: Callable[[], Kept]) -> Kept:
        if self._kept is None or self._kept[0] != stamp:
            self._kept = (stamp, make())
        return self._kept[1]


class Recent(Generic[Key, Kept]):
    """A cache of the most recently used values."""

    def __init__(self, most: int) -> None:
        self._most, self._kept = most, OrderedDict[Key, Kept]()

    def drop(self, key: Key) -> None:
        self._kept.pop(key, None)

    def values(self) -> Iterable[Kept]:
        return self._kept.values()

    def __contains__(self, key: Key) -> bool:
        return key in self._kept

    def get(self, key: Key, make: Callable[[], Kept]) -> Kept:
        if key not in self._kept:
            self._kept[key] = make()
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return self._kept[key]
