"""The examples as they are copied: they start, their tests are green, and what the scripts write is sound."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from examples.expenses import agents as expenses
from examples.reading import agents as reading
from examples.service import agents as service
from examples.shop import agents as shop
from tests.cli.conftest import git
from tests.examples.places import EXAMPLES, Place, begun, started
from trued.inputs.requirements.file import load_requirements
from trued.workflows.handoff.feature_list import parse_feature_list, upcoming


@pytest.mark.parametrize("name", ["shop", "service", "reading", "expenses"])
def test_start_makes_a_repository_once_and_keeps_the_users_requirements_out_of_it(name: str, tmp_path: Path) -> None:
    place = begun(name, tmp_path)
    assert git(place.repository, "status", "--short") == ""
    assert git(place.repository, "branch", "--show-current") == "main"
    assert "requirements.yaml" not in git(place.repository, "ls-files")
    asked = load_requirements(place.requirements)
    assert (asked.serve is not None) == (name in ("shop", "service"))
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
    counted = sum(number for name, number in service.TESTS.items() if name != "page")
    assert f"{counted} passed" in ran(place, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--ignore=tests/e2e")


def test_the_reading_lists_own_test_is_green_before_and_after_and_both_forms_are_there(tmp_path: Path) -> None:
    place = begun("reading", tmp_path)
    assert "1 passed" in ran(place, *PYTEST)
    for key in ("wave 1 T01/implementer-T01#1", "wave 1 T02/implementer-T02#1", "wave 3 T01/implementer-T01#1"):
        reading.implementer({"key": key}, place.repository)
    reading.documentation_writer({"key": "wave 2 T03/documentation-writer-T03#1"}, place.repository)
    assert "1 passed" in ran(place, *PYTEST)
    assert "- **Invisible Cities** by Italo Calvino (1972)" in ran(place, "-m", "reading", "markdown", "books.json")
    assert "Invisible Cities,Italo Calvino,1972" in ran(place, "-m", "reading", "csv", "books.json")


@pytest.mark.slow
def test_the_expenses_own_tests_are_green_before_and_after_and_it_says_who_owes_whom(tmp_path: Path) -> None:
    place = begun("expenses", tmp_path)
    assert "1 passed" in ran(place, *PYTEST)
    for name in ("F1-T1/dev#1", "F1-T2/dev#2", "F1-T3/dev#1", "F2-T1/dev#2", "F2-T2/dev#2"):
        feature = name.partition("-")[0]
        expenses.dev({"key": f"feature {feature}/task {name}", "brief": ""}, place.repository)
    assert "3 passed" in ran(place, *PYTEST)
    assert ran(place, "-m", "expenses", "owes", "flat.json") == "Ben owes Ann 6.00\nCem owes Ann 10.00\n"
    assert "Ben paid 1.00 for Ann, Cem" in ran(place, "-m", "expenses", "add", "flat.json", "Ben", "1", "Ann , Cem")


PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")


def ran(place: Place, *words: str) -> str:
    line = [sys.executable, "-B", *words]
    variables = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the plugins of these tests take seconds to load
    done = subprocess.run(
        line, cwd=place.repository, env=variables, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.spec("HAND-2")
def test_the_list_and_the_initializer_plan_the_same_features_in_the_same_order() -> None:
    listed = parse_feature_list((EXAMPLES / "service" / "feature_list.json").read_text())
    order, holding = list[str](), set[str]()
    while one := upcoming(listed, holding):
        order.append(one.id)
        holding.add(one.id)
    assert order == [str(one["id"]) for one in service.PLANNED] == list(service.FILES)
    assert [one.verification_method for one in listed.features] == ["automated"] * 3 + ["e2e", "manual"]
