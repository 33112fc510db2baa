"""All rules on one set of files."""

from collections.abc import Iterable
from itertools import chain

from .around import around
from .findings import Found
from .form import form
from .leading import leading
from .members import members
from .removed import removed
from .sets import Set


def judged(files: Set) -> list[Found]:
    """TS-1 to TS-16, by file and line."""
    found: Iterable[Found] = chain(form(files), removed(files), members(files), leading(files), around(files))
    return sorted(set(found), key=lambda one: (one.file, one.line, one.rule, one.says))
