"""Environments that the engine builds: code of their packages runs only in the sandbox, and replaces no Python."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.proof.room.test_additions import CASES, registry, wheel  # noqa: F401  (a fixture)
from tests.proof.trial import Trial, only
from trued.errors import CannotJudge
from trued.model import Grade
from trued.proof.room.environment import ABOUT, Recipe, build_environment, is_built
from trued.proof.room.interpreter import environment_interpreter, find_interpreter
from trued.proof.room.virtualenv import TRUSTED, make_virtualenv, put_behind, replaced_folder, write_programs

UP = "import evil\n\n\ndef up(word):\n    return word{}\n"


@pytest.mark.spec("LAW-4", "DAY-2", "USE-6")
@pytest.mark.slow
async def test_what_a_package_runs_at_every_start_of_python_runs_in_the_sandbox_only(
    tmp_path: Path,
    registry: Path,  # noqa: F811
) -> None:
    """The base declares the package, so its environment is built; honest work is still proven in it."""
    escaped = tmp_path / "escaped"
    line = f"import pathlib; pathlib.Path({str(escaped)!r}).write_text('x')\n"
    wheel(registry / "evil", "evil", {"evil.py": "", "evil.pth": line})
    base = {"requirements.txt": "evil\n", "up.py": UP.format("")}
    trial = Trial(tmp_path / "t", base, [{"id": "r", "text": "up('ox') is 'oxen'", "checks": [CASES]}])
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    verdict = await trial.verdict({"up.py": UP.format(" + 'en'")})
    assert only(verdict).grade is Grade.PROVEN, (only(verdict).why, verdict.undecided)
    assert any(one.versions.get("evil") == "1.0" for one in verdict.evidence)
    assert [*(tmp_path / "kept").glob(f"environments/*/{ABOUT}")]
    assert not escaped.exists()


@pytest.mark.spec("DAY-2")
@pytest.mark.slow
async def test_versions_that_must_be_exact_are_not_taken_from_an_environment_that_relaxed_them(
    tmp_path: Path,
    registry: Path,  # noqa: F811
) -> None:
    for version in ("1.0", "2.0"):
        wheel(registry / "kit", "kit", {"kit.py": f"V = '{version}'\n"}, version)
    caller, recipe = await find_interpreter(), Recipe(("kit>=2",), pinned=("kit==1.0",))
    trial = Trial(tmp_path / "t", {"a.py": ""}, [{"id": "r", "text": "up", "checks": [CASES]}])
    made, why = await build_environment(trial.workspace, caller, recipe, tmp_path / "kept")
    assert made is not None, why
    assert made.versions["kit"] == "2.0"
    assert is_built(caller, recipe, tmp_path / "kept")
    assert not is_built(caller, replace(recipe, exact=True), tmp_path / "kept")
    assert (await build_environment(trial.workspace, caller, replace(recipe, exact=True), tmp_path / "kept"))[0] is None


@pytest.mark.spec("LAW-4", "DAY-2")
async def test_no_package_replaces_the_environments_python_or_its_folders(tmp_path: Path) -> None:
    caller = await find_interpreter()
    made, outside = tmp_path / "made", tmp_path / "outside"
    outside.mkdir()
    make_virtualenv(made, caller, over=True)
    fresh = {one.name: one.readlink() for one in (made / "bin").iterdir() if one.is_symlink()}
    settings = (made / "pyvenv.cfg").read_text()
    for name in ("python", "python3", "pip", "python3-config", "cat"):
        (made / "bin" / name).unlink(missing_ok=True)
        (made / "bin" / name).write_text("#!/bin/sh\nexit 0\n")
    (made / "pyvenv.cfg").write_text(f"home = {outside}\n")
    site = next(made.glob("lib/*/site-packages"))
    (site / TRUSTED).unlink(missing_ok=True)
    (site / TRUSTED).symlink_to(outside / "written")
    (made / "added").symlink_to(outside)
    put_behind(made, caller)
    write_programs(made, caller)
    assert {one.name: one.readlink() for one in (made / "bin").iterdir() if one.is_symlink()} == fresh
    assert (made / "pyvenv.cfg").read_text() == settings
    assert not (made / "bin" / "cat").exists()
    assert [*outside.iterdir()] == []
    assert replaced_folder(made, caller) == ""
    (made / "bin").rename(made / "away")
    (made / "bin").symlink_to(outside)
    assert replaced_folder(made, caller) == "bin"


@pytest.mark.spec("LAW-7", "DAY-2")
async def test_an_environment_is_believed_about_its_packages_alone(tmp_path: Path) -> None:
    """The environment claims that its packages are in the folder of held-out cases; that folder stays unreadable."""
    caller, private = await find_interpreter(), str(tmp_path / "private")
    said: dict[str, Any] = {
        "executable": str(tmp_path / "e/bin/python"),
        "version": [*caller.version],
        "prefixes": [private, "/"],
        "base": f"{private}/python",
        "path": [f"{private}/site-packages", str(tmp_path / "e/lib/site-packages")],
        "standard": [],
        "pytest": True,
        "plugins": [],
        "versions": {"evil": "1.0"},
    }
    found = environment_interpreter(json.loads(json.dumps(said)), tmp_path / "e", caller)
    assert (found.base, found.standard, found.versions) == (caller.base, caller.standard, {"evil": "1.0"})
    assert found.site == (str(tmp_path / "e/lib/site-packages"),)
    assert not any(private in one or one == "/" for one in found.readable)
    with pytest.raises(CannotJudge, match="a package has replaced it"):
        environment_interpreter({**said, "executable": f"{private}/python"}, tmp_path / "e", caller)
