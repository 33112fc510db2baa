"""A repository may hold several projects: a project is a folder with a manifest of its own."""

import time
from pathlib import Path

import pytest

from tests.proof.trial import Trial, asked_three, lay
from trued.proof.room.environment import declarations_of, declared_changes
from trued.proof.room.import_folders import usual_roots
from trued.proof.room.project_folders import ProjectFolders, import_roots, project_folders, roots_by_project


@pytest.mark.parametrize(
    ("paths", "folders"),
    [
        (["back/pyproject.toml", "web/package.json", "svc/go.mod"], ProjectFolders(("back",), ("web",), ("svc",))),
        (["back/pyproject.toml", "web/package.json", "setup.cfg"], ProjectFolders(node=("web",))),
        (["back/pyproject.toml", "web/package.json", "package.json"], ProjectFolders(python=("back",))),
        (["back/pyproject.toml", "conftest.py"], ProjectFolders()),
        (["a/setup.py", "a/b/setup.py", "c/d/requirements-dev.txt"], ProjectFolders(python=("a", "c/d"))),
        (["a/requirements/base.txt", "b/requirements.in"], ProjectFolders(python=("a", "b"))),
        (["requirements/base.txt", "b/setup.py"], ProjectFolders()),
        (["web/package.json", "web/packages/ui/package.json"], ProjectFolders(node=("web",))),
        (["svc/go.mod", "svc/in/go.mod"], ProjectFolders(go=("svc", "svc/in"))),
        (["go.mod", "svc/go.mod"], ProjectFolders()),
        (
            ["tests/a/setup.py", "examples/b/package.json", "web/node_modules/c/package.json", "docs/requirements.txt"],
            ProjectFolders(),
        ),
    ],
)
def test_a_project_is_a_folder_with_a_manifest_unless_the_top_is_one(paths: list[str], folders: ProjectFolders) -> None:
    assert project_folders(paths) == folders


@pytest.mark.parametrize(
    ("paths", "roots"),
    [
        (["back/setup.py", "back/app/__init__.py", "back/tests/test_a.py"], ("back",)),
        (["back/setup.py", "back/src/app/__init__.py"], ("back/src",)),
        (["back/setup.py", "back/app/prices.py"], ("back",)),
        (["a/setup.py", "a/app/x.py", "b/setup.py", "b/app/y.py", "c/setup.py", "c/kit.py"], ("c",)),
        (["a/setup.py", "a/one.py", "a/tests/t.py", "b/setup.py", "b/two.py", "b/tests/t.py"], ("a", "b")),
        (["a/setup.py", "a/kit/__init__.py", "kit.py"], ()),
        (["a/setup.py", "a/kit/__init__.py", "src/kit/__init__.py"], ()),
        (["a/setup.py", "a/json.py"], ()),
        (["a/setup.py", "a/json/notes.py", "a/kit.py"], ("a",)),
        (["a/setup.py", "a/a/__init__.py"], ("a",)),
        (["a/setup.py", "a/__init__.py", "a/kit.py"], ()),
        (["a/setup.py", "a/kit.py", "setup.py"], ()),
        (["a/requirements.txt", "a/setup.py"], ()),
        (["a/kit.py"], ()),
    ],
)
def test_modules_are_found_in_project_folders_unless_nobody_knows_which_is_meant(
    paths: list[str], roots: tuple[str, ...]
) -> None:
    assert import_roots(paths) == roots


WITH, WITHOUT = ["back/app/__init__.py", "back/app/prices.py"], ["back/app/prices.py"]


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize(
    ("on_base", "added", "roots"),
    [
        (WITH, [], (".", "back")),
        (WITH, ["app/__init__.py"], ("back", ".")),
        (WITH, ["app.py"], ("back", ".")),
        (WITH, ["other.py", "back/other.py"], (".", "back")),
        (WITHOUT, [], (".", "back")),
        (WITHOUT, ["app/__init__.py"], ("back",)),
        (["kit/a.py", *WITH], ["back/kit/__init__.py"], (".",)),
        (["kit/__init__.py", *WITH], ["back/kit/__init__.py"], (".", "back")),
        (["tests/a.py", *WITH], ["back/tests/__init__.py"], (".", "back")),
        (["src/kit.py", *WITH], ["kit.py"], ("src", ".", "back")),
        (["src/kit.py", *WITH], ["src/app/__init__.py"], ("back", ".", "src")),
        (["app/index.html", *WITH], ["app/__init__.py"], ("back", ".")),
        (["app/index.html", *WITH], ["app/notes.py"], (".", "back")),
        (["app/seed.py", *WITH], ["app/__init__.py"], ("back", ".")),
        (["app/seed.py", *WITHOUT], ["app/__init__.py"], ("back",)),
        (["app/seed.py", *WITHOUT], ["app/prices.py"], ("back",)),
        (["app/seed.py", *WITHOUT], ["back/app/tax.py", "back/app/__init__.py"], (".", "back")),
        (["app/seed.py", *WITHOUT], ["app/test_seed.py"], (".", "back")),
        (["back/back/__init__.py"], ["back/__init__.py"], ("back", ".")),
        (["back/back/__init__.py"], ["back/back/tax.py", "back/tax.py"], (".", "back")),
        (["back/back/prices.py"], ["back/prices.py"], ("back",)),
        (["back/back/prices.py"], ["back/__init__.py"], ("back",)),
        (["back/back/prices.py"], ["back/back/tax.py", "back/back/__init__.py", "back/tests/test_a.py"], (".", "back")),
        (["src/kit.py", "kit/notes.txt"], ["kit/__init__.py"], ("src", ".")),
    ],
)
def test_a_copy_of_a_module_in_another_folder_is_not_found_instead_of_it(
    on_base: list[str], added: list[str], roots: tuple[str, ...], tmp_path: Path
) -> None:
    lay(tmp_path, dict.fromkeys([*on_base, *added], ""))
    assert usual_roots(tmp_path, ["back"], on_base) == roots


def test_the_roots_of_many_projects_are_found_in_time(tmp_path: Path) -> None:
    projects = [f"svc{number}" for number in range(60)]
    on_base = [f"{one}/pkg_{one}/part{number}.py" for one in projects for number in range(100)]
    lay(tmp_path, {f"{one}/pkg_{one}/__init__.py": "" for one in projects})
    began = time.process_time()
    assert usual_roots(tmp_path, projects, on_base) == (".", *projects)
    assert time.process_time() - began < 5


@pytest.mark.spec("LAW-4")
async def test_what_projects_declare_counts_by_the_folders_of_the_base(tmp_path: Path) -> None:
    base = {
        "back/pyproject.toml": '[project]\nname = "back"\ndependencies = ["alpha>=1", "shared"]\n',
        "back/uv.lock": '[[package]]\nname = "alpha"\nversion = "1.2"\n',
        "shared/pyproject.toml": '[project]\nname = "Shared"\n',
        "shared/requirements/dev.txt": "beta\n",
        "examples/a/requirements.txt": "gamma\n",
    }
    trial = Trial(tmp_path, base, asked_three())
    await trial.workspace.begin()
    declared = await declarations_of(trial.workspace, trial.workspace.base)
    assert declared.requirements == ("alpha>=1", "beta")
    assert declared.locked == ("alpha==1.2",)
    head = await trial.head({"shared/requirements/dev.txt": "beta\ndelta\n", "new/requirements.txt": "epsilon\n"})
    assert (await declared_changes(trial.workspace, trial.workspace.base, head)).added == ("delta",)


def test_a_program_of_a_project_finds_modules_of_those_from_which_the_base_imports() -> None:
    roots = ("a", "b", "b/src", "c")
    texts = {
        "a/one.py": "import os\n\n\ndef f():\n    from three import x\n",
        "b/two.py": "",
        "c/four.py": "import two\n",
    }
    paths = [*(f"{one}/setup.py" for one in "abc"), "b/src/three.py", *texts]
    assert roots_by_project(paths, roots, texts) == {
        "a": frozenset(("a", "b", "b/src")),
        "b": frozenset(("b", "b/src")),
        "c": frozenset(("c", "b", "b/src")),
    }
    texts["b/two.py"] = "from four import y\n"
    assert roots_by_project(paths, roots, texts)["a"] == frozenset(roots)
    assert roots_by_project(paths, ("a", "c"), texts)["a"] == frozenset(("a",))


def test_code_at_the_top_and_in_src_passes_on_what_it_imports() -> None:
    texts = {
        "api/app/prices.py": "from common.money import add\n",
        "worker/src/jobs/__init__.py": "",
        "third/three.py": "",
        "common/__init__.py": "",
        "common/money.py": "from jobs import job; from kit import x\n",
        "src/kit.py": "import os; import three\n",
        "tools.py": "import two\n",
        "other/two.py": "'''\nimport jobs\n'''\n",
        "old/four.py": "from backends.five import six\nfrom . import tools\n",
        "backends/five.py": "from old.four import x\n",
    }
    roots = ("api", "worker/src", "third", "other", "old")
    paths = [*(f"{one}/setup.py" for one in ("api", "worker", "third", "other", "old")), *texts]
    assert roots_by_project(paths, roots, texts) == {
        "api": frozenset(("api", "worker/src", "third", ".", "src")),
        "worker": frozenset(("worker/src",)),
        "third": frozenset(("third",)),
        "other": frozenset(("other",)),
        "old": frozenset(("old", ".")),
    }


def test_the_imports_of_many_files_are_read_in_time() -> None:
    text = "def f(x):\n    return [x, {1: 2}]\n" * 300
    texts = {f"svc{one}/part{one}_{n}/m.py": f"import part{one}_1.m\n{text}" for one in range(9) for n in range(100)}
    texts |= {f"lib/part{n}.py": f"import lib.part{n}\n{text}" for n in range(900)}
    paths = [*(f"svc{one}/setup.py" for one in range(9)), *texts]
    began = time.process_time()
    found = roots_by_project(paths, [f"svc{one}" for one in range(9)], texts)
    assert time.process_time() - began < 5
    assert found == {f"svc{one}": frozenset((f"svc{one}",)) for one in range(9)}
