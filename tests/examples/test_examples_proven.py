"""What the scripts of the examples end with is proven, and what they begin with is not: by `trued verify` alone."""

import subprocess
from pathlib import Path

import pytest

from examples.service import agents as service
from examples.shop import agents as shop
from tests.cli.conftest import git
from tests.examples.places import Place, begun

pytestmark = pytest.mark.nightly  # `trued verify` of what the whole stories end with


def verified(place: Place, base: str, head: str, requirements: Path) -> subprocess.CompletedProcess[str]:
    where = place.repository
    sides = ["--base", f"{where}@{base}", "--head", f"{where}@{head}"]
    return place.trued("verify", *sides, "--requirements", str(requirements))


@pytest.mark.spec("LAW-5", "USE-5")
def test_the_first_implementation_of_the_ticket_is_refuted_in_the_browser_and_the_fix_is_proven(tmp_path: Path) -> None:
    place = begun("shop", tmp_path)
    base = git(place.repository, "rev-parse", "HEAD")
    shop.impl_agent({"brief": ""}, place.repository)
    first = place.commit("the cards that are there")
    shop.fix_agent({"brief": ""}, place.repository)
    second = place.commit("the cards that come later")
    plain = without_covers(place)
    refuted = verified(place, base, first, plain)
    assert refuted.returncode == 1, refuted.stderr
    assert "✗ refuted     later-cards" in refuted.stdout
    assert "3 of 4 requirements met" in refuted.stdout
    proven = verified(place, base, second, plain)
    assert proven.returncode == 0, proven.stdout
    assert "the worst is proven" in proven.stdout


@pytest.mark.spec("LAW-5", "USE-5")
def test_the_finished_service_is_proven(tmp_path: Path) -> None:
    place = begun("service", tmp_path)
    base = git(place.repository, "rev-parse", "HEAD")
    for name in service.FILES:
        service.coder({"key": f"feature {name}/coder#1"}, place.repository)
    done = verified(place, base, place.commit("all features"), without_covers(place))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the worst is proven" in done.stdout


def without_covers(place: Place) -> Path:
    """For two commits there is no ticket and no list that anything could stand for."""
    lines = place.requirements.read_text().splitlines()
    plain = place.folder / "plain.yaml"
    plain.write_text("\n".join(line for line in lines if "covers:" not in line) + "\n")
    return plain
