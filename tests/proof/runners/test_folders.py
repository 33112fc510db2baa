"""Tests that a command starts in a folder of the project: they run there, and their ids name files of the project."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Change, Trial
from trued.model import Grade
from trued.proof.text.command_parser import (
    countable_instead,
    files_in_command,
    package_folder,
    recognise_runner,
    with_files_for_patterns,
)

HALF = "def half(x):\n    return x / 2\n"
TESTS = """import os
from app import half

def test_half():
    assert os.path.exists("data.txt")
    assert half(8) == 4
"""
UNIT = """import unittest
from app import half

class Half(unittest.TestCase):
    def test_it(self):
        self.assertEqual(half(8), 4)
"""
NODE = """import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { half } from '../half.js';
test('halves', () => { assert.ok(fs.existsSync('data.txt')); assert.equal(half(8), 4); });
"""
BASE: dict[str, str | None] = {
    "backend/app/__init__.py": "def half(x):\n    raise NotImplementedError\n",
    "backend/tests/test_half.py": TESTS,
    "backend/tests/broken/test_other.py": "assert False\n",
    "backend/pytest.ini": "[pytest]\ntestpaths = tests/test_half.py\n",
    "backend/checks/test_unit.py": UNIT,
    "backend/data.txt": "",
    "frontend/package.json": json.dumps({"type": "module", "scripts": {"test": "node --test"}}),
    "frontend/half.js": "export const half = () => { throw new Error('later'); };\n",
    "frontend/test/half.test.js": NODE,
    "frontend/data.txt": "",
    "other/test/half.test.js": "throw new Error('this is no test of frontend');\n",
}
DONE: dict[str, str | None] = {
    "backend/app/__init__.py": HALF,
    "frontend/half.js": "export const half = (x) => x / 2;\n",
}
PYTHON, SCRIPT = "backend/tests/test_half.py::test_half", "frontend/test/half.test.js::halves"


def requirement(command: str, **more: Any) -> list[dict[str, Any]]:
    return [{"id": "half", "text": "half(x) is half of x", "checks": [{"kind": "tests", "command": command, **more}]}]


def linked(folder: Path) -> None:
    """Do the work, but in a folder to which `backend` is only a link."""
    (folder / "backend").rename(folder / "elsewhere")
    (folder / "backend").symlink_to("elsewhere")
    (folder / "elsewhere/app/__init__.py").write_text(HALF)


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    ("command", "ids"),
    [
        ("cd backend && pytest -q", [PYTHON]),
        ("cd backend && python -m pytest -q tests/test_half.py", [PYTHON]),
        ("cd backend && python -m unittest checks/test_unit.py", ["backend/checks/test_unit.py::Half::test_it"]),
        ("cd backend && python -m unittest discover checks", ["backend/checks/test_unit.py::Half::test_it"]),
        ("cd backend && pytest -q checks/test_*.py", ["backend/checks/test_unit.py::Half::test_it"]),
        ("npm --prefix frontend test", [SCRIPT]),
        ("cd frontend && npm test", [SCRIPT]),
        ("cd frontend && node --test", [SCRIPT]),
    ],
)
async def test_tests_run_in_the_folder_in_which_their_command_starts(
    tmp_path: Path, command: str, ids: list[str]
) -> None:
    trial = Trial(tmp_path, BASE, requirement(command))
    contract = await trial.seal()
    assert list({one.id: 0 for fact in contract.base_facts for one in fact.tried}) == ids
    done, undone = await trial.judged(contract, DONE, {"README": "half is done"})
    assert done.grade is Grade.TESTED, done.why
    assert undone.grade is Grade.REFUTED, undone.why


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.parametrize(
    ("command", "change"),
    [
        (
            "npm --prefix frontend test",
            {"frontend/package.json": json.dumps({"type": "module", "scripts": {"test": "true"}})},
        ),
        ("cd frontend && npm test", {"package.json": json.dumps({"scripts": {"test": "true"}})}),
        ("cd backend && pytest -q", {"backend/tests/test_half.py": "def test_half():\n    pass\n"}),
        ("cd backend && pytest -q", {"backend/pytest.ini": "[pytest]\npython_functions = nothing\n"}),
        (
            "cd backend && pytest -q",
            {"backend/conftest.py": "def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n"},
        ),
        ("cd backend && pytest -q", {"backend/pytest.py": "def main(*_, **__):\n    return 0\n"}),
        ("cd backend && pytest -q", linked),
    ],
)
async def test_no_head_decides_what_runs_in_the_folder(tmp_path: Path, command: str, change: Change) -> None:
    trial = Trial(tmp_path, BASE, requirement(command))
    (lied,) = await trial.judged(await trial.seal(), change)
    assert lied.grade is Grade.REFUTED, lied.why


@pytest.mark.parametrize(
    ("command", "folder", "files"),
    [
        ("pytest -q", "", ()),
        ("cd backend && pytest -q", "backend", ("backend",)),
        ("cd ./backend/ && CI=1 pytest tests", "backend", ("backend/tests",)),
        ("cd web && npm run build && npm test", "web", ("web",)),
        ("npm --prefix web test", "web", ("web",)),
        ("npm test --prefix=web", "web", ("web",)),
        ("yarn --cwd web test", "web", ("web",)),
        ("pnpm -C web test", "web", ("web",)),
    ],
)
def test_the_folder_of_a_command_is_found(command: str, folder: str, files: tuple[str, ...]) -> None:
    assert package_folder(command) == folder
    asked = recognise_runner(command, {"test": "node --test"}, of=folder)
    assert asked is not None
    assert (asked.folder, files_in_command(asked)) == (folder, files)


@pytest.mark.parametrize(
    "command",
    [
        *(
            "cd .. && pytest",
            "cd /tmp && pytest",
            "cd && pytest",
            "cd ~ && pytest",
            "cd $X && pytest",
            "cd - && pytest",
        ),
        *("true && cd web && pytest", "cd a && cd b && pytest", "npm --prefix ../web test", "cd web"),
        *("cd web && npm test", "npm --prefix web test"),
    ],
)
def test_scripts_of_another_folder_and_folders_outside_the_project_are_not_used(command: str) -> None:
    assert recognise_runner(command, {"test": "node --test"}) is None


def test_options_after_the_name_of_a_script_belong_to_the_script() -> None:
    assert package_folder("npm test -- --prefix web") == ""
    assert package_folder("yarn test --cwd web") == ""


def test_patterns_are_replaced_by_the_files_that_a_shell_would_find() -> None:
    known = ["test_a.py", "test_b.py", "tests/test_c.py", "web/test_d.py"]
    for command, arguments in [
        ("pytest -q test_*.py", ("-q", "test_a.py", "test_b.py")),
        ("pytest */test_c.py", ("tests/test_c.py",)),
        ("cd web && pytest ./test_?.py", ("test_d.py",)),
        ("pytest 'none*.py' -k 'test_*'", ("none*.py", "-k", "test_*")),
        ("pytest 'test_a.py::test_it[*]'", ("test_a.py::test_it[*]",)),
    ]:
        asked = recognise_runner(command)
        assert asked is not None
        assert with_files_for_patterns(asked, known).arguments == arguments


def test_what_to_write_instead_is_named() -> None:
    assert "`tox` starts" in countable_instead("tox -e py")
    assert "`make` starts" in countable_instead("cd backend && make test")
    assert "pytest-django" in countable_instead("python manage.py test")
    assert "go test" in countable_instead("cargo test")
