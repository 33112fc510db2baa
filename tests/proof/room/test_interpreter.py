"""Which Python runs checks: the project's, never the one that trued itself was installed with."""

import asyncio
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from trued.proof.room.import_shadows import StandardLibrary, files_in_place_of_others
from trued.proof.room.interpreter import LOOK, chosen_python, find_interpreter

OURS = Path(__file__).parents[3] / ".venv" / "bin"


def with_python(folder: Path) -> str:
    folder.mkdir(parents=True)
    (folder / "python3").symlink_to(sys.executable)
    return str(folder)


@pytest.mark.spec("DAY-2")
def test_the_environment_of_trueds_own_checkout_is_not_taken_for_the_projects(tmp_path: Path) -> None:
    users = with_python(tmp_path / "users")
    assert chosen_python({"PATH": f"{OURS}{os.pathsep}{users}"}) == f"{users}/python3"


@pytest.mark.spec("DAY-2")
def test_another_environment_that_is_first_on_the_path_is_the_projects(tmp_path: Path) -> None:
    theirs, users = with_python(tmp_path / "venv" / "bin"), with_python(tmp_path / "users")
    assert chosen_python({"PATH": f"{theirs}{os.pathsep}{users}"}) == f"{theirs}/python3"


@pytest.mark.spec("DAY-2")
def test_without_another_python_trueds_own_is_used() -> None:
    assert chosen_python({"PATH": str(OURS)}) == sys.executable


@pytest.mark.spec("LAW-4")
def test_what_a_new_module_replaces_is_read_from_the_python_that_runs_the_checks(tmp_path: Path) -> None:
    """Of another version than the engine's: its `traceback` imports a module that the engine's Python lacks."""
    (tmp_path / "traceback.py").write_text("import of_this_version\n")
    (tmp_path / "of_this_version.py").write_text("")
    theirs = StandardLibrary(frozenset({"traceback", "of_this_version"}), str(tmp_path))
    added = ["of_this_version.py", "linecache.py", "cgi.py"]  # the engine's `traceback` imports linecache
    assert files_in_place_of_others(added, ["."], {"app.py": "import traceback, cgi\n"}, theirs, ()) == [
        "of_this_version.py"
    ]


def test_the_interpreters_own_library_is_recorded() -> None:
    interpreter = asyncio.run(find_interpreter())
    listed = subprocess.run(
        [interpreter.path, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert interpreter.library == listed.stdout.strip()


def test_a_python_that_does_not_list_its_library_is_looked_through() -> None:
    """Before 3.10, Python has no `sys.stdlib_module_names`."""
    older = f"import sys\ndel sys.stdlib_module_names\n{LOOK}"
    report = json.loads(subprocess.run([sys.executable, "-I", "-c", older], capture_output=True, check=True).stdout)
    assert {"json", "decimal", "sys", "_json", "textwrap", "concurrent"} <= {*report["standard"]}
    assert {"test", "pytest", "site-packages"}.isdisjoint(report["standard"])
    assert report["library"] == sysconfig.get_path("stdlib")
