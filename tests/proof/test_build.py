"""The engine's own build: which results count against the work, and which do not."""

from pathlib import Path

import pytest

from tests.proof.trial import Trial
from trued.model import Outcomes, Tried
from trued.proof.build import NOT_ON_BASE, ON_BASE, correct_by_base, ends_alike, run_build

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
    assert (await run_build(one.workspace, contract, COMPILES, good)).tried.outcome is Outcomes.PASSED
    assert (await run_build(one.workspace, contract, COMPILES, bad)).tried.outcome is Outcomes.FAILED
    here = (await run_build(one.workspace, contract, FETCHES, bad)).tried
    assert here.outcome is Outcomes.UNJUDGED
    assert here.detail.startswith(ON_BASE)


@pytest.mark.spec("PIPE-14")
async def test_no_words_of_the_head_excuse_a_build_that_passes_on_the_base(tmp_path: Path) -> None:
    """A module that the output calls missing is the environment's fault only if the base lacks it, too."""
    base = {**BASE, "Makefile": "build:\n\t@true\n"}
    one = Trial(tmp_path, base, [{"id": "a", "text": "a", "checks": [{"kind": "command", "command": "false"}]}])
    await one.workspace.begin()
    contract = await one.seal()
    excused = await one.head({"Makefile": "build:\n\t@echo \"No module named 'numpy'\"; exit 1\n"})
    found = await run_build(one.workspace, contract, "make build", excused)
    assert found.tried.outcome is Outcomes.FAILED
    assert found.tried.detail.startswith(NOT_ON_BASE)
    assert found.drivers == ("Makefile",)
    gone = await one.head({"Makefile": None})
    assert (await run_build(one.workspace, contract, "make build", gone)).tried.outcome is Outcomes.FAILED
    same = await run_build(one.workspace, contract, "make build", contract.base)
    assert (same.tried.outcome, same.drivers) == (Outcomes.PASSED, ())


@pytest.mark.slow
@pytest.mark.spec("PIPE-14", "LAW-11")
async def test_a_script_that_is_another_than_on_the_base_is_named(tmp_path: Path) -> None:
    base = {**BASE, "web/package.json": '{"scripts": {"build": "tsc"}}', "package.json": '{"scripts": {"lint": "x"}}'}
    one = Trial(tmp_path, base, [{"id": "a", "text": "a", "checks": [{"kind": "command", "command": "false"}]}])
    await one.workspace.begin()
    contract = (await one.seal()).model_copy(update={"frozen": {}})
    more = '{"scripts": {"lint": "x", "more": "y"}}'
    head = await one.head({"web/package.json": '{"scripts": {"build": "true"}}', "package.json": more})
    found = await run_build(one.workspace, contract, "true npm run build", head)
    assert (found.tried.outcome, found.drivers) == (Outcomes.PASSED, ("web/package.json",))
    assert (await run_build(one.workspace, contract, "true", head)).drivers == ()


def ended(outcome: str, kind: str = "", detail: str = "") -> Tried:
    return Tried(id="make build", outcome=Outcomes(outcome), kind=kind, detail=detail)


NO_ROUTE, NO_NUMPY = ended("failed", "exit 1", "no route"), ended("unjudged", "module numpy", "No module named 'numpy'")


@pytest.mark.spec("PIPE-14", "LAW-8")
@pytest.mark.parametrize(
    ("head", "base", "outcome"),
    [
        (NO_ROUTE, NO_ROUTE, "unjudged"),
        (NO_ROUTE, ended("failed", "exit 2", "no route"), "failed"),  # the same output with another exit code
        (NO_ROUTE, ended("passed"), "failed"),
        (NO_ROUTE, NO_NUMPY, "failed"),
        (NO_NUMPY, ended("passed"), "failed"),
        (NO_NUMPY, NO_NUMPY, "unjudged"),
        (NO_NUMPY, NO_ROUTE, "unjudged"),  # the base cannot be built here, either
        (ended("unjudged", "environment", "no room"), ended("passed"), "unjudged"),
        (ended("unjudged", "prepare", "no registry"), ended("passed"), "unjudged"),
    ],
)
def test_a_build_is_excused_only_by_what_the_base_shows_in_the_same_room(
    head: Tried, base: Tried, outcome: str
) -> None:
    assert str(correct_by_base(head, base).outcome) == outcome


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
    assert ends_alike(head, base) is same
