"""Books, and where they come from."""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Book:
    title: str
    author: str
    year: int | None = None


def load(path: str) -> list[Book]:
    return [Book(**one) for one in json.loads(Path(path).read_text())]
