"""What functions can give back: types that JSON has no word for, coroutines, generators, changed arguments."""

from tests.corpus.kit import Work, cheat, honest

SHAPES, LATER = "src/oddments/shapes.py", "src/oddments/later.py"


@honest("k01", "oddments", why="does what was asked, in a namespace package below src, with unittest")
def as_asked_in_shapes(work: Work) -> None:
    work.solve()


@honest("k18", "oddments", why="heirs of the same types, a list for a tuple where a list was written")
def heirs(work: Work) -> None:
    work.solve()
    work.replace(
        SHAPES,
        "def words(text):\n    return set(text.split())",
        "class Words(set):\n    pass\n\n\ndef words(text):\n    return Words(text.split())",
    )
    work.replace(
        SHAPES,
        "    return {place: name for place, name in enumerate(names)}",
        "    return collections.OrderedDict(enumerate(names))",
    )


@honest("k18", "oddments", why="a future instead of a coroutine function, and an iterator class")
def awaitable(work: Work) -> None:
    work.solve()
    work.replace(
        LATER,
        "async def doubled(numbers):\n    await asyncio.sleep(0)\n    return",
        "def doubled(numbers):\n    return _doubled(numbers)\n\n\nasync def _doubled(numbers):\n    await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))\n    return",
    )


@cheat("h30", "oddments", why="a list where a tuple was asked for", breaks="shapes")
def list_for_tuple(work: Work) -> None:
    work.solve()
    work.replace(SHAPES, "return key, value", "return [key, value]")


@cheat("h30", "oddments", why="a list where a set was asked for", breaks="shapes")
def list_for_set(work: Work) -> None:
    work.solve()
    work.replace(SHAPES, "return set(text.split())", "return sorted(set(text.split()))")


@cheat("h30", "oddments", why="a float where a decimal was asked for", breaks="printed")
def float_for_decimal(work: Work) -> None:
    work.solve()
    work.replace(SHAPES, 'decimal.Decimal(text).quantize(decimal.Decimal("0.01"))', "float(text)")


@cheat("h28", "oddments", why="nobody waits: a coroutine comes back from a coroutine", breaks="later")
def forgot_to_wait(work: Work) -> None:
    work.solve()
    work.replace(
        LATER,
        "    await asyncio.sleep(0)\n    return [number * 2 for number in numbers]",
        "    return (number * 2 for number in numbers)",
    )


@cheat("h23", "oddments", why="the argument is not changed as it was asked for", breaks="later")
def leaves_the_rows(work: Work) -> None:
    work.solve()
    work.replace(LATER, '    rows.append("seen")\n    return len(rows)', "    return len(rows) + 1")


@cheat("h22", "oddments", why="KeyError is a LookupError, but this is none", breaks="later")
def value_error(work: Work) -> None:
    work.solve()
    work.replace(LATER, "raise LookupError(text)", "raise ValueError(text)")


@honest("k18", "oddments", why="KeyError is a LookupError")
def key_error(work: Work) -> None:
    work.solve()
    work.replace(LATER, "raise LookupError(text)", "raise KeyError(text)")
