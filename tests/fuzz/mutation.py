"""Makes hostile inputs out of real ones: by bytes, and by the structure of what they hold. The seed decides all."""

import copy
import random
from collections.abc import Sequence
from typing import Any

TOKENS = (
    *(b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r\n", b"\n", b"\t", b"\x1b[2K", b"\xe2\x80\xae", b"\\"),
    *(
        b'"',
        b"'",
        b"{",
        b"}",
        b"[",
        b"]",
        b"<",
        b">",
        b"&",
        b"&amp;",
        b"<!ENTITY a 'b'>",
        b"<![CDATA[",
        b"]]>",
        b"<!--",
    ),
    *(b":", b",", b"=", b"-", b"- ", b"#", b"|", b"*", b"&a ", b"*a", b"<<: ", b"!!", b"!!"),
    *(
        b"!!python/object:os.system ",
        b"---\n",
        b"0",
        b"-1",
        b"1e999",
        b"NaN",
        b"Infinity",
        b"99999999999999999999999",
        b"0x",
        b"null",
        b"true",
    ),
    *(b"passed", b"failed", b"skipped", b"error", b'"outcome":"passed"', b"PASSED", b"proven", b"returned", b"raised"),
    *(b"id", b"when", b"call", b"kind", b"checks", b"cases", b"requirements", b"keep: true", b"\\ud800", b"\\u0000"),
    *(b"<testcase name='test_one' classname='a'/>", b"<failure/>", b"<skipped/>", b"</testsuite>", b"false", b"None"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, 10**400, 0.0, -0.0, 1.5, 1e308, float("nan"), float("inf")),
    *("", " ", "\n", "\x00", "\x1b[31m", "\ud800", "*", "..", "/", "../x", "a" * 300, "passed", "failed", "proven"),
    *("case 1", "i", "l", "{files}", "\u202e", "0", "nan", "skipped", "call", "setup", "id", "outcome"),
    *([], {}, [[]], [{}], {"": ""}, [None], ["passed"], {"id": "x"}, [10, "8"], [1, 0], [5, 0], [11, "nan"]),
)


class Mutator:
    """One stream of chance."""

    def __init__(self, seed: object) -> None:
        self.random = random.Random(repr(seed))

    def text(self, seeds: Sequence[bytes]) -> bytes:
        """Some bytes near one of the seeds; now and then no neighbour of any."""
        chance = self.random
        if chance.random() < 0.02:
            return chance.randbytes(chance.randrange(200))
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
            self._once(data, seeds)
        return bytes(data)

    def _once(self, data: bytearray, seeds: Sequence[bytes]) -> None:
        chance = self.random
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice((1, 1, 2, 4, 16, 64)))
        match chance.randrange(7):
            case 0 if data:
                data[start % len(data)] ^= 1 << chance.randrange(8)
            case 1:
                del data[start:end]
            case 2:
                data[start:start] = chance.choice(TOKENS)
            case 3:
                data[start:end] = chance.choice(TOKENS)
            case 4:
                data[start:start] = data[start:end] * chance.choice((1, 1, 2, 50))
            case 5:
                other = chance.choice(seeds)
                there = chance.randrange(len(other) + 1)
                data[start:end] = other[there : there + chance.choice((1, 8, 40, 400))]
            case _:
                data[start : start + 1] = bytes([chance.randrange(256)])

    def value(self, seeds: Sequence[Any]) -> Any:
        """Some data near one of the seeds."""
        chance = self.random
        made = copy.deepcopy(chance.choice(seeds))
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            made = self._changed(made, seeds)
        return made

    def _changed(self, made: Any, seeds: Sequence[Any]) -> Any:
        spots = list(_spots(made, ()))
        path = self.random.choice(spots)
        if not path:
            return self._other(made, seeds) if self.random.random() < 0.2 else made
        holder = made
        for part in path[:-1]:
            holder = holder[part]
        last = path[-1]
        match self.random.randrange(6):
            case 0:
                del holder[last]
            case 1 if isinstance(holder, dict):
                holder[self.random.choice([str(one) for one in VALUES if isinstance(one, str)])] = holder.pop(last)
            case 1:
                holder.insert(last, copy.deepcopy(holder[last]))
            case 2:
                holder[last] = [holder[last]]
            case 3:
                there = self.random.choice(list(_spots(made, ())))
                found = made
                for part in there:
                    found = found[part]
                holder[last] = copy.deepcopy(found)
            case _:
                holder[last] = self._other(holder[last], seeds)
        return made

    def _other(self, before: Any, seeds: Sequence[Any]) -> Any:
        chance = self.random
        if isinstance(before, str) and chance.random() < 0.4:
            place = chance.randrange(len(before) + 1)
            return before[:place] + chance.choice(("", "x", "\n", "\x00", "é", '"', "\ud83d")) + before[place + 1 :]
        if isinstance(before, int | float) and not isinstance(before, bool) and chance.random() < 0.5:
            return before + (chance.choice((1, -1)) if isinstance(before, int) else 0.5)
        return copy.deepcopy(chance.choice((*VALUES, *seeds)))


def _spots(value: Any, path: tuple[Any, ...]) -> Any:
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from _spots(part, (*path, name))
