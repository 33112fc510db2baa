"""The examples as they are copied: they start, their tests are green, and what the scripts write is sound."""

import subprocess
import sys
from pathlib import Path

import pytest

from examples.service import agents as service
from examples.shop import agents as shop
from tests.cli.conftest import git
from tests.examples.places import EXAMPLES, begun, started
from trued.documents.feature_list import parse_feature_list, upcoming
from trued.documents.requirements import load_requirements


@pytest.mark.parametrize("name", ["shop", "service"])
def test_start_makes_a_repository_once_and_keeps_the_users_requirements_out_of_it(name: str, tmp_path: Path) -> None:
    place = begun(name, tmp_path)
    assert git(place.repository, "status", "--short") == ""
    assert git(place.repository, "branch", "--show-current") == "main"
    assert "requirements.yaml" not in git(place.repository, "ls-files")
    assert load_requirements(place.requirements).serve is not None
    again = started(name, place.folder)
    assert (again.returncode, again.stderr) == (
        1,
        f"{place.folder} is there already; name another folder: start.sh FOLDER\n",
    )


def test_the_shops_own_tests_are_green_before_and_after_the_ticket(tmp_path: Path) -> None:
    place = begun("shop", tmp_path)
    shop.impl_agent({"brief": ""}, place.repository)
    shop.fix_agent({"brief": ""}, place.repository)
    done = subprocess.run(
        ["node", "--test"], cwd=place.repository, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "# pass 7" in done.stdout


def test_every_feature_of_the_service_is_built_with_tests_that_pass(tmp_path: Path) -> None:
    place = begun("service", tmp_path)
    for name in service.FILES:
        service.coder({"key": f"feature {name}/coder#1"}, place.repository)
    words = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--ignore=tests/e2e"]
    done = subprocess.run(words, cwd=place.repository, capture_output=True, text=True, timeout=60, check=False)
    counted = sum(number for name, number in service.TESTS.items() if name != "page")
    assert f"{counted} passed" in done.stdout, done.stdout


@pytest.mark.spec("HAND-2")
def test_the_list_and_the_initializer_plan_the_same_features_in_the_same_order() -> None:
    listed = parse_feature_list((EXAMPLES / "service" / "feature_list.json").read_text())
    order, holding = list[str](), set[str]()
    while one := upcoming(listed, holding):
        order.append(one.id)
        holding.add(one.id)
    assert order == [str(one["id"]) for one in service.PLANNED] == list(service.FILES)
    assert [one.verification_method for one in listed.features] == ["automated"] * 3 + ["e2e", "manual"]
