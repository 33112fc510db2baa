"""Modules that the base lacks: the head's own work, or only files in the place of a missing package."""

from pathlib import Path

import pytest

from tests.proof.trial import Trial
from trued.model import Contract, Evidence, Outcomes, Tried
from trued.proof.new_modules import new_modules


def lacks(*modules: str) -> Evidence:
    tried = tuple(Tried(id=one, outcome=Outcomes.UNJUDGED, kind=f"module {one}") for one in modules)
    names = {"id": "base1", "requirement": "r", "check": "c", "kind": "tests", "side": "base", "turn": 1}
    return Evidence.model_validate({**names, "commit": "c", "tree": "t", "isolation": "test", "tried": tried})


@pytest.mark.spec("LAW-5")
async def test_a_file_in_place_of_a_package_that_is_not_installed_is_no_work_of_the_heads(tmp_path: Path) -> None:
    """Otherwise an empty yaml.py beside the tests would turn them from red to green."""
    trial = Trial(tmp_path, {"requirements.txt": "flask\n", "requirements/base.txt": "PyYAML\nsix\n"}, [])
    await trial.workspace.begin()
    names = ("flask", "six", "yaml.loader", "textkit.slug")
    modules = frozenset(one.split(".")[0] for one in names)
    contract = Contract(base=trial.workspace.base, requirements=())
    assert await new_modules(trial.workspace, contract, [lacks(*names)], modules) == {"textkit"}


@pytest.mark.spec("LAW-5")
async def test_a_setup_py_that_computes_what_it_requires_may_require_whatever_it_names(tmp_path: Path) -> None:
    setup = "from setuptools import setup\nneeds = ['flask']\nneeds.append('six')\n"
    trial = Trial(tmp_path, {"setup.py": f"{setup}setup(name='textkit', install_requires=needs)\n"}, [])
    await trial.workspace.begin()
    contract = Contract(base=trial.workspace.base, requirements=())
    modules = frozenset({"six", "textkit"})
    assert await new_modules(trial.workspace, contract, [lacks(*modules)], modules) == {"textkit"}


@pytest.mark.spec("LAW-5")
@pytest.mark.parametrize(
    ("setup", "may_require_six"),
    [
        ("setup(name='textkit', author='six', packages=find_packages())\n", False),
        ("NEEDS = ['flask']\nsetup(name='textkit', license='six', install_requires=NEEDS)\n", False),
        ('setup(name=\'textkit\', install_requires="""flask\nsix""")\n', True),
        ("setup(name='textkit', install_requires=['flask[six]'])\n", True),
        ("import os\nos.system('pip install six')\nsetup(name='textkit')\n", True),
        ("import six\nsetup(name='textkit')\n", True),
        ("from helper import *\nsetup(name='textkit', six=1)\n", True),
        ("setup(name='textkit', **{'x': 'six'})\n", True),
    ],
)
async def test_only_a_setup_py_with_other_code_may_require_whatever_it_names(
    tmp_path: Path, setup: str, may_require_six: bool
) -> None:
    trial = Trial(tmp_path, {"setup.py": f"from setuptools import find_packages, setup\n{setup}"}, [])
    await trial.workspace.begin()
    contract = Contract(base=trial.workspace.base, requirements=())
    modules = frozenset({"six", "textkit"})
    found = await new_modules(trial.workspace, contract, [lacks(*modules)], modules)
    assert found == (modules - {"six"} if may_require_six else modules)


@pytest.mark.spec("LAW-5")
async def test_a_manifest_that_cannot_be_parsed_may_declare_whatever_it_names(tmp_path: Path) -> None:
    trial = Trial(tmp_path, {"pyproject.toml": '[project]\ndependencies = [\n  "six>=1",\n'}, [])
    await trial.workspace.begin()
    contract = Contract(base=trial.workspace.base, requirements=())
    modules = frozenset({"six", "textkit"})
    assert await new_modules(trial.workspace, contract, [lacks(*modules)], modules) == {"textkit"}
