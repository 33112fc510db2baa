"""A namespace package: there is no __init__.py on purpose."""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib

Point = collections.namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Box:
    width: int
    lid: str = "shut"


def pair(text):
    key, _, value = text.partition("=")
    return key, value


def words(text):
    return set(text.split())


def price(text):
    return decimal.Decimal(text).quantize(decimal.Decimal("0.01"))


def day(year, month, number):
    return datetime.date(year, month, number)


def moment(text):
    return datetime.datetime.fromisoformat(text)


def point(x, y):
    return Point(x, y)


def counted(text):
    return collections.Counter(text)


def squares(number):
    for one in range(number):
        yield one * one


def half(number):
    return fractions.Fraction(number, 2)


def level():
    return Level.LOW


def box(width):
    return Box(width)


def raw(text):
    return text.encode()


def by_number(names):
    return {place: name for place, name in enumerate(names)}


def path(*parts):
    return pathlib.PurePosixPath(*parts)
