"""Regular expressions that are compiled when they are first used.

The modules that a command loads define several hundred expressions, and the command uses few of them. Compiling all of
them would take a sixth of the command's start.
"""

import re
from typing import Any, AnyStr, cast


class LazyRegex:
    """Stands for a compiled regular expression. When a method or attribute is first used, the expression is compiled,
    and the method or attribute is kept."""

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
    """Like `re.compile`, for a regular expression that a module defines. A mistake in the expression shows only at its
    first use, so a test compiles all expressions. Call methods of the result: functions such as `re.sub` reject it."""
    return cast("re.Pattern[AnyStr]", LazyRegex(text, flags))
