"""Two runs of a team from the same commit land one after the other; the view files describe the last one."""

from typing import Any

import pytest

from tests.engine.landing.landable import EXAMPLES, Landable
from tests.engine.two_commits import DOUBLE
from trued.model import RunRecord

TEAM = ".trued/team"
CASES = [{"call": "other:triple", "args": [one], "returns": 3 * one} for one in (7, 5)]
TRIPLE = [{"id": "triple", "text": "triple(x)", "checks": [{"kind": "examples", "cases": CASES}]}]


async def teamed(place: Landable, name: str, code: dict[str, str | None], asked: list[dict[str, Any]]) -> RunRecord:
    """A run of a team, with the view files that it leaves."""
    pages = {f"{TEAM}/backlog.md": f"# {name}\n\nmany words\n", f"{TEAM}/history.jsonl": f'{{"step": "{name}"}}\n'}
    same = {f"{TEAM}/config.toml": "[team]\n", f"{TEAM}/pm/{name}.md": f"{name}\n"}
    return await place.run({**code, **pages, **same}, requirements=asked, workflow="team")


def page(place: Landable, name: str, at: str = "main") -> str:
    return place.git("show", f"{at}:{TEAM}/{name}")


@pytest.mark.spec("USE-11", "TEAM-2")
@pytest.mark.parametrize("way", ["", pytest.param("merge", marks=pytest.mark.slow)])
async def test_a_second_team_from_the_same_base_lands_and_its_pages_take_the_place_of_the_firsts(
    place: Landable, way: str
) -> None:
    one = await teamed(place, "one", {"tiny.py": DOUBLE}, EXAMPLES)
    two = await teamed(place, "two", {"other.py": "def triple(x):\n    return 3 * x\n"}, TRIPLE)
    first = await place.land(one)
    assert first.landed
    second = await place.land(two, way=way)
    assert (second.landed, second.code) == (True, 0), second.why
    assert second.verdict  # proven again, because it is not the run's own commit
    assert page(place, "backlog.md") == "# two\n\nmany words"
    assert (page(place, "pm/one.md"), page(place, "pm/two.md")) == ("one", "two")
    assert page(place, "backlog.md", first.commit) == "# one\n\nmany words"  # still in the first commit
    assert (place.repository / "tiny.py").read_text() == DOUBLE
    (said,) = second.said
    assert f"describe an earlier run: {TEAM}/backlog.md, {TEAM}/history.jsonl" in said
    assert first.commit[:12] in said


@pytest.mark.spec("USE-11")
async def test_work_that_contradicts_the_first_is_a_conflict_as_ever_and_no_page_is_named(place: Landable) -> None:
    one = await teamed(place, "one", {"tiny.py": DOUBLE}, EXAMPLES)
    two = await teamed(place, "two", {"tiny.py": "def double(x):\n    return x + x\n"}, EXAMPLES)
    assert (await place.land(one)).landed
    before = place.state()
    landing = await place.land(two)
    assert (landing.landed, landing.code, landing.conflicts) == (False, 1, ("tiny.py",))
    assert place.state() == before
