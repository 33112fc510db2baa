"""A project whose version file is written by a build can be checked without a build."""

from importlib import metadata
from pathlib import Path

import pytest

from tests.proof.trial import Trial
from trued.model import Grade
from trued.proof.room.generated_files import files_of_builds, metadata_of_installation

HATCH = '[tool.hatch.build.hooks.vcs]\nversion-file = "src/pkg/_version.py"\n'


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize(
    ("pyproject", "setup", "paths"),
    [
        (HATCH, "", ["src/pkg/_version.py"]),
        ('[tool.setuptools_scm]\nversion_file = "a/_v.py"\n', "", ["a/_v.py"]),
        ("", "setup(use_scm_version={'write_to': 'a/VERSION.txt'})", ["a/VERSION.txt"]),
        ('[tool.setuptools_scm]\nwrite_to = "../a.py"\n', "setup(write_to='/etc/x')", []),
        ("not toml", "", []),
        ("tool = 5", "", []),
    ],
)
def test_the_base_names_the_files_that_its_build_writes(pyproject: str, setup: str, paths: list[str]) -> None:
    assert list(files_of_builds(pyproject, setup)) == paths


@pytest.mark.spec("LAW-4", "LAW-11")
async def test_a_generated_version_is_made_up_for_both_sides_and_said(tmp_path: Path) -> None:
    package = {"pyproject.toml": HATCH, "src/pkg/__init__.py": "from ._version import __version__\n"}
    base = {**package, "src/pkg/a.py": "def one():\n    return 0\n"}
    cases = [{"call": "pkg.a:one", "returns": 1}]
    trial = Trial(tmp_path, base, [{"id": "r", "text": "t", "checks": [{"kind": "examples", "cases": cases}]}])
    verdict = await trial.prove(await trial.seal(), await trial.head({"src/pkg/a.py": "def one():\n    return 1\n"}))
    assert verdict.grade is Grade.PROVEN, verdict.requirements[0].why
    assert any("src/pkg/_version.py: only a build writes it" in word for word in verdict.undecided)


NAMED = '[project]\nname = "Tiny-Pkg"\nversion = "1.4.0"\n'
ASKING = "from importlib.metadata import version\n\n__version__ = version('tiny-pkg')\n"


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize("folder", ["", "src/"])
@pytest.mark.slow
async def test_code_that_asks_for_its_own_version_finds_it_as_if_the_project_were_installed(
    folder: str, tmp_path: Path
) -> None:
    package = f"{folder}tiny_pkg"
    base = {
        "pyproject.toml": NAMED,
        f"{package}/__init__.py": ASKING,
        f"{package}/a.py": "def one():\n    return 0\n",
        "tests/test_a.py": "from tiny_pkg import __version__\n\n\ndef test_version():\n    assert __version__\n",
    }
    cases = [
        {"call": "tiny_pkg.a:one", "returns": 1},
        {"run": ["python", "-c", "import tiny_pkg; print(tiny_pkg.__version__)"], "stdout": "1.5.0\n"},
    ]
    trial = Trial(tmp_path, base, [{"id": "r", "text": "t", "checks": [{"kind": "examples", "cases": cases}]}])
    head = {f"{package}/a.py": "def one():\n    return 1\n", "pyproject.toml": NAMED.replace("1.4.0", "1.5.0")}
    verdict = await trial.prove(await trial.seal(), await trial.head(head))
    assert verdict.grade is Grade.PROVEN, verdict.requirements[0].why


@pytest.mark.spec("LAW-4")
def test_metadata_is_made_up_only_for_projects_that_ask_for_it(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(NAMED)
    (tmp_path / "a.py").write_text("version = 1\n")
    assert metadata_of_installation(tmp_path, {}) == {}
    (tmp_path / "a.py").write_text(ASKING)
    assert list(metadata_of_installation(tmp_path, {})) == ["Tiny_Pkg.egg-info/PKG-INFO"]
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "../evil"\n')
    assert metadata_of_installation(tmp_path, {}) == {}


PLUGINS = """[project]
name = "Tiny-Pkg"
dynamic = ["version"]

[project.scripts]
tiny = "tiny_pkg:main"

[project.entry-points."tiny_pkg.readers"]
csv = "tiny_pkg.readers:Csv"

[project.entry-points.pytest11]
tiny = "tiny_pkg.evil"
"""


@pytest.mark.spec("LAW-4")
def test_metadata_that_is_made_up_hides_nothing_of_an_installed_project(tmp_path: Path) -> None:
    """Plugins are found by their entry points. Those of pytest are left out: they could replace what judges."""
    (tmp_path / "a.py").write_text(ASKING)
    (tmp_path / "pyproject.toml").write_text(PLUGINS)
    files = metadata_of_installation(tmp_path, {"tiny_pkg": "1.4.2"})
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    (found,) = metadata.distributions(path=[str(tmp_path)])
    assert (found.version, found.name) == ("1.4.2", "Tiny-Pkg")
    points = {(one.group, one.name, one.value) for one in found.entry_points}
    assert points == {
        ("console_scripts", "tiny", "tiny_pkg:main"),
        ("tiny_pkg.readers", "csv", "tiny_pkg.readers:Csv"),
    }
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "tiny-pkg"\ndynamic = ["version", "entry-points"]\n')
    assert metadata_of_installation(tmp_path, {"tiny-pkg": "1.4.2"}) == {}, "only the installation knows these"
    assert [*metadata_of_installation(tmp_path, {})] == ["tiny_pkg.egg-info/PKG-INFO"]
