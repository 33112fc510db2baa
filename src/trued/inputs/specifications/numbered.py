"""Requirements that are known by a number: FR-001, NFR-2, AC-3 …"""

import re

from trued.inputs.requirements.guard_phrases import NUMBERED
from trued.inputs.specifications.unread_lines import bare
from trued.support.lazy_regex import lazy_regex

LISTED = lazy_regex(rf"{NUMBERED.pattern}(?:[*_`)\]]+|\s*[:|–—-]|\s*$)", re.IGNORECASE)  # not "FR-001 and others"


def numbered_words(line: str) -> str | None:
    """The words of a line if they begin with a number, a separator such as ":", and a text; otherwise None. Without the
    separator, the line may be prose that only mentions a number."""
    words = bare(line)
    match = LISTED.match(words)
    return words if match and words[match.end() :] else None


def words_after_number(words: str) -> str | None:
    """The words of an item, heading or paragraph if they begin with a number and a text follows; otherwise None. A
    separator between number and text is not needed."""
    match = NUMBERED.match(words)
    return words if match and re.search(r"\w", words[match.end() :]) else None


def number_of(words: str) -> str:
    """The number that the words begin with; "" if they begin with none."""
    match = NUMBERED.match(words)
    return match[1].upper() if match else ""
