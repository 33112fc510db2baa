"""Formats numbers and texts for a terminal: short, on one line, without control characters."""

import re
import time

from trued.model.titles import cut_title
from trued.support.durations import duration
from trued.support.money import money
from trued.support.plain_text import plain, plain_line
from trued.support.token_count import token_count

GRADE_COLOURS = {  # colour of each grade
    "refuted": "bold red",
    "unjudged": "magenta",
    "unproven": "yellow",
    "self-tested": "yellow",
    "tested": "cyan",
    "examined": "cyan",
    "attested": "green",
    "proven": "bold green",
}
STATE_COLOURS = {
    "running": "bold",
    "queued": "cyan",
    "done": "green",
    "landed": "bold green",
    "failed": "red",
    "not proven": "red",
    "waiting": "yellow",
    "unjudged": "magenta",
}


def line(text: object, length: int = 0) -> str:
    """The text on one line, without control characters, cut to `length` characters (0: not cut)."""
    flat = plain_line(str(text))
    return cut_title(flat, length) if length else flat


def sentences_line(text: str, length: int) -> str:
    """A question's lines, joined into one line. A line without punctuation at its end gets a period if the next line
    begins with a capital letter."""
    return line(re.sub(r"(?<=[^\s.!?:;,…])[^\S\n]*\n\s*(?=[A-Z])", ". ", plain(text)), length)


def short_agent(agent: str) -> str:
    """An agent's name. A scripted agent's name is its file, which is shown without its folders."""
    kind, colon, rest = line(agent).partition(":")
    return f"{kind}{colon}{rest.rpartition('/')[2]}" if kind == "scripted" else line(agent, 32)


def ago(moment: float) -> str:
    seconds = max(0.0, time.time() - moment)
    for unit, word in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{int(seconds // unit)} {word} ago"
    return "now"


def tokens(number: int, *, estimated: bool) -> str:
    """A number of tokens; "" if there were none."""
    return f"{token_count(number, estimated=estimated)} tokens" if number else ""


def spent(usd: float, known: str = "") -> str:
    """A sum that was spent, marked by how it is known (see `money`); "" if nothing was spent."""
    return money(usd, known) if usd else ""


def until(moment: float, now: float) -> str:
    """A future time and how far off it is: `14:05 (in 12m00s)`."""
    near = moment - now < 12 * 3600
    shown = time.strftime("%H:%M" if near else "%a %d %b %H:%M", time.localtime(moment))
    return f"{shown} (in {duration(moment - now)})" if moment > now else shown


def local_time(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(moment))
