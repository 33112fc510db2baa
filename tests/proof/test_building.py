"""The engine's own build: what it holds against work, and what it does not."""

from pathlib import Path

import pytest

from tests.proof.trial import Trial
from trued.proof.building import ON_BASE, alike, built
from trued.types import Outcomes

BASE: dict[str, str | None] = {"shop.py": "def price():\n    return 1\n"}
COMPILES = "python3 -m compileall -q shop.py"
FETCHES = "echo resolving 17 packages; echo 'no route to the registry, tried port 4711' >&2; exit 1"


@pytest.mark.spec("PIPE-14")
async def test_a_build_that_breaks_is_held_against_the_work_and_one_that_cannot_be_made_here_is_not(
    tmp_path: Path,
) -> None:
    one = Trial(tmp_path, BASE, [{"id": "a", "text": "a", "checks": [{"kind": "command", "command": "false"}]}])
    await one.workspace.begin()
    contract = await one.seal()
    good = await one.head({"shop.py": "def price():\n    return 2\n"})
    bad = await one.head({"shop.py": "def price(:\n"})
    assert (await built(one.workspace, contract, COMPILES, good)).outcome is Outcomes.PASSED
    assert (await built(one.workspace, contract, COMPILES, bad)).outcome is Outcomes.FAILED
    here = await built(one.workspace, contract, FETCHES, bad)
    assert here.outcome is Outcomes.UNJUDGED
    assert here.detail.startswith(ON_BASE)


@pytest.mark.spec("PIPE-14")
@pytest.mark.parametrize(
    ("head", "base", "same"),
    [
        ("dial tcp 10.0.0.1:443: refused", "dial tcp 10.0.0.7:443: refused", True),
        ("[ERROR] Plugin not found\n\n", "[INFO] 3 s\n[ERROR] Plugin not found", False),
        ("[INFO] 12 s\n[ERROR] Plugin not found\n\n", "[INFO] 3 s\n[ERROR] Plugin not found", True),
        ("Can't list 'shop.py'", "SyntaxError: invalid syntax", False),
        ("", "", False),
    ],
)
def test_failures_are_alike_by_their_last_words(head: str, base: str, same: bool) -> None:
    assert alike(head, base) is same
