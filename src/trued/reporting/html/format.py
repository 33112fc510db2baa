"""Times, sizes and sums as people read them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from trued.support.money import money


def moment(timestamp: float) -> str:
    if timestamp <= 0:
        return ""
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def clock(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).strftime("%H:%M:%S") if timestamp > 0 else ""


def amount(number: int) -> str:
    """The number with a thin space between groups of three digits: 12 345."""
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def cost(usd: float, known: str = "") -> str:
    """The cost with a mark for how it is known. 0 becomes "not reported", because a call without a reported cost was
    not free."""
    return money(usd, known) if usd else "not reported"


def counted(number: int, singular: str, plural: str = "") -> str:
    return f"{amount(number)} {singular if number == 1 else plural or singular + 's'}"


def short(commit: str) -> str:
    return commit[:10]


def cut(text: str, length: int) -> tuple[str, int]:
    """The beginning of a text, and how many characters are left out."""
    return (text, 0) if len(text) <= length else (text[:length], len(text) - length)


def facts_line(data: Mapping[str, Any]) -> str:
    """All fields of a record that have a value, in one line; a field named `text` comes first, without its name."""
    rest = {name: value for name, value in data.items() if name != "text" and value not in ("", None, [], {})}
    text = [str(data["text"])] if data.get("text") else []
    return " · ".join([*text, *(f"{name} {_value_text(value)}" for name, value in rest.items())])


def _value_text(value: object) -> str:
    """A value as people write it, complete."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def agent_name(agent: str) -> str:
    """An agent's name without the folders of its file."""
    kind, _, rest = agent.partition(":")
    name = " ".join(PurePosixPath(word).name if word.startswith("/") else word for word in rest.split(" "))
    return cut(f"{kind}: {name}" if rest else agent, 60)[0]


def agent_names(agents: Iterable[str]) -> dict[str, str]:
    """Agent → its name, which is different for each agent. Agents with equal names are shown with the folder of their
    file, and if that is not enough, with their full name."""
    every = list(dict.fromkeys(agents))
    names = {agent: agent_name(agent) for agent in every}
    for longer in (_with_folder, str):
        often = Counter(names.values())
        names = {agent: name if often[name] == 1 else longer(agent) for agent, name in names.items()}
    return names


def _with_folder(agent: str) -> str:
    kind, _, rest = agent.partition(":")
    words = ("/".join(PurePosixPath(word).parts[-2:]) if word.startswith("/") else word for word in rest.split(" "))
    return f"{kind}: {' '.join(words)}" if rest else agent
