"""The book: who paid what, for whom."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Expense:
    payer: str
    cents: int
    people: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.payer} paid {money(self.cents)} for {', '.join(self.people)}"


def money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def load(path: str) -> list[Expense]:
    """A book that is not there is an empty one."""
    if not Path(path).exists():
        return []
    return [Expense(one["payer"], one["cents"], tuple(one["people"])) for one in json.loads(Path(path).read_text())]


def save(path: str, book: list[Expense]) -> None:
    Path(path).write_text(json.dumps([asdict(one) for one in book], indent=2) + "\n")
