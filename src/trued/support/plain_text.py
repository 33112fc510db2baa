"""Remove control characters from text from outside, or put it on one line.

| function | removes | use it for |
| --- | --- | --- |
| `plain` | escape sequences, control and invisible characters; not line ends, tabs | a text of several lines |
| `plain_line` | what `plain` removes, and line ends | one line in a terminal, a list, a record or a file |
| `inert` | what a forge acts on: mentions, ticket numbers, CI skips | text inside a commit message |
| `subject_line` | what `plain_line` and `inert` remove | the first line of a commit message |
"""

import re

from trued.support.lazy_regex import lazy_regex

_CONTROL = lazy_regex(
    "\x1b\\[[0-?]*[ -/]*[@-~]?"  # CSI
    "|\x9b[0-?]*[ -/]*[@-~]?"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    "|\x1b[ -/]*[0-~]?"
    "|\r(?=\n)"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    "|[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"  # zero width, bidirectional
    "|[\U000e0000-\U000e007f\ud800-\udfff]"  # tags that no terminal shows; halves of characters
)

_LINE_ENDS = str.maketrans("\u2028\u2029", "  ")  # two that only browsers and editors treat as line ends
_BRACKETS = lazy_regex(r"\[([^\[\]]*)\]")
SUBJECT, SCOPE = 72, 24  # characters of a commit's first line, as is usual, and of the scope in its parentheses
_ACTED_ON = lazy_regex(r"(?i)(#(?=\d)|@(?=\w)|\bgh-(?=\d)|:(?=//))")


def plain(text: str) -> str:
    """The text without control and invisible characters; newlines and tabs stay."""
    return _CONTROL.sub("", text).translate(_LINE_ENDS)


def plain_line(text: str, longest: int = 0) -> str:
    """`plain`, on one line; cut to `longest` characters that end with "…" (0: not cut)."""
    flat = " ".join(plain(text).split())
    return f"{flat[: longest - 1]}…" if 0 < longest < len(flat) else flat


def unix_lines(text: str) -> str:
    """The text with `\\n` at the end of each line."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def inert(text: str) -> str:
    """Text for a commit message that triggers nothing on a forge: no CI skip, closed ticket or mention."""
    return _BRACKETS.sub(r"(\1)", _ACTED_ON.sub(r"\1 ", text)).replace("***", "")


def subject_line(kind: str, scope: str, title: str) -> str:
    """The first line of a commit message: `feat(F2-T2): what it is about`. The title may be hostile."""
    about = re.sub(r"[^A-Za-z0-9._-]+", "-", plain(scope))[:SCOPE].strip("-.")
    subject = inert(plain_line(title).lstrip("# ")).strip() or "work"
    head = f"{kind}({about}): " if about else f"{kind}: "
    room = SUBJECT - len(head)
    cut = subject[: room - 1]
    return f"{head}{subject}" if len(subject) <= room else f"{head}{cut.rpartition(' ')[0] or cut}…"
