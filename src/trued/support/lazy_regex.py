"""Regular expressions that are compiled when they are first used.

A command's modules define several hundred, and it uses few of them. Compiling them all takes a sixth of its start.
"""

import re
from typing import Any, AnyStr, cast


class LazyRegex:
    """Stands for a compiled regular expression. Takes each of its methods and attributes when it is first used, and
    keeps it."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._source = (text, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python asks for these, for example to copy the object
            raise AttributeError(name)
        text, flags = self._source
        found = getattr(re.compile(text, flags), name)
        setattr(self, name, found)
        return found


def lazy_regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like `re.compile`, for a regular expression that a module defines. An error in it shows only at its first use, so
    a test compiles all of them. Functions of `re` do not take it as an argument: call its methods."""
    return cast("re.Pattern[AnyStr]", LazyRegex(text, flags))
