"""What providers say, garbled: no text breaks the reader or makes a time that nobody could wait for."""

import tomllib
from functools import cache
from pathlib import Path

from tests.fuzz.mutation import Mutator
from trued.agents.driver.provider_errors import LONGEST, parse_refusal
from trued.agents.driver.reset_time import FARTHEST_S

NOW = 1_794_744_000.0
KINDS = ("auth", "budget", "context", "credit", "other", "overloaded", "rate")
FOLDER = Path(__file__).parents[1] / "agents" / "adapters" / "refusals"


@cache
def seeds() -> tuple[bytes, ...]:
    real = tomllib.loads((FOLDER / "messages.toml").read_text(encoding="utf-8"))["message"]
    none = tomllib.loads((FOLDER / "none.toml").read_text(encoding="utf-8"))["text"]
    return tuple(one["text"].encode() for one in (*real, *none))


def feed(chance: Mutator) -> bytes:
    text = chance.text(seeds()).decode("utf-8", "surrogateescape")
    if chance.random.random() < 0.02:
        text = text[:200] * 5000
    status = chance.random.choice((0, 0, 0, 200, 400, 401, 403, 429, 500, 529, 10**9, -1))
    headers = {chance.random.choice(("Retry-After", "x-ratelimit-reset", "anthropic-ratelimit-x-reset")): text[:80]}
    prose = chance.random.random() < 0.3
    found = parse_refusal(text, now=NOW, status=status, headers=headers, prose=prose)
    if found is None:
        return b"no refusal"
    assert found.kind in KINDS
    assert found.until == 0.0 or NOW < found.until <= NOW + FARTHEST_S
    assert found.until == 0.0 or found.kind in ("rate", "overloaded")
    assert len(found.why) <= LONGEST
    assert not any(character < " " for character in found.why)
    return found.kind.encode() + (b" with a time" if found.until else b"")
