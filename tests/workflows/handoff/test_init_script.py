"""init.sh is made for projects of many kinds, and really run, twice."""

import hashlib
import json
import os
import re
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.inputs.project.manifests import is_manifest, projects
from trued.proof.room.declared_packages import is_dependency_manifest, read_declarations
from trued.support.plain_text import plain_line
from trued.workflows.handoff.e2e_example import e2e_example
from trued.workflows.handoff.init_script import init_script, is_untouched

PACKAGE = json.dumps({"name": "web", "version": "1.0.0", "scripts": {"test": "node --test", "start": "node x.js"}})
LOCK = json.dumps(
    {"name": "web", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {"name": "web", "version": "1.0.0"}}}
)
NODE = {"package.json": PACKAGE, "package-lock.json": LOCK}
PYTHON = {"app/__init__.py": "VALUE = 1\n", "requirements.txt": "", "tests/test_app.py": ""}


def made(files: dict[str, str], *, start: str = "", test: str = "", more: tuple[str, ...] = ()) -> str:
    return init_script(files, files.get, start=start, test=test, more=more)


def lay(folder: Path, files: dict[str, str], script: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "init.sh").write_text(script or made(files))
    return folder


def run(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script from another folder, with a HOME of its own and without a registry."""
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    python = f"{Path(sys.base_prefix) / 'bin'}"
    closed = {"PIP_NO_INDEX": "1", "npm_config_registry": "http://127.0.0.1:9", "PIP_CONFIG_FILE": os.devnull}
    given = {"PATH": f"{python}:{os.environ['PATH']}", "HOME": str(home), **closed, **environment}
    command = ["bash", str(folder / "init.sh")]
    return subprocess.run(
        command, cwd="/", env=given, capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL
    )


def commands(files: dict[str, str]) -> list[str]:
    return [" ".join((one.tool, *each)) for one in projects(files, files.get) for each in one.commands]


@pytest.mark.spec("HAND-4")
def test_an_empty_repository_is_set_up_at_once(tmp_path: Path) -> None:
    folder = lay(tmp_path / 'it\'s a "path" $HOME `x`', {"README.md": "# hello"})
    for _ in range(2):
        done = run(folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert "nothing to set up yet" in done.stdout
    assert sorted(one.name for one in folder.iterdir()) == ["README.md", "init.sh"]


@pytest.mark.spec("HAND-4")
def test_node_is_set_up_once_and_the_second_time_is_quick(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.fail("npm is missing: make setup")
    folder = lay(tmp_path / 'it\'s a "path" $HOME `x`', NODE)
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=60)
    (folder / ".git" / "info" / "exclude").write_text("*.mine")
    first = run(folder)
    assert first.returncode == 0, first.stderr
    assert "Node v" in first.stdout
    assert "Run the tests: npm test\nStart the app: npm start\n" in first.stdout
    second = run(folder)
    assert second.returncode == 0, second.stderr
    assert "installed already" in second.stdout
    left = subprocess.run(
        ["git", "-C", str(folder), "status", "--porcelain"], capture_output=True, text=True, check=True, timeout=60
    )
    assert "node_modules" not in left.stdout
    assert (folder / ".git" / "info" / "exclude").read_text() == "*.mine\nnode_modules/\n"
    assert not (folder / ".gitignore").exists()


@pytest.mark.spec("HAND-4")
def test_python_without_a_manifest_is_only_looked_at(tmp_path: Path) -> None:
    folder = lay(tmp_path / "a b", {"app/__init__.py": "", "tests/test_app.py": ""})
    done = run(folder)
    assert done.returncode == 0, done.stderr
    assert "imports app" in done.stdout
    assert "Run the tests: python3 -m pytest" in done.stdout
    assert not (folder / ".venv").exists()
    (folder / "app" / "__init__.py").write_text("import nothing_of_that_name\n")
    broken = run(folder)
    assert broken.returncode != 0
    assert "the package app cannot be imported: ModuleNotFoundError" in broken.stderr


@pytest.mark.slow
@pytest.mark.spec("HAND-4")
def test_python_gets_an_environment_of_its_own_with_what_is_pinned(tmp_path: Path) -> None:
    folder = lay(tmp_path / "it's here", {**PYTHON, **pinned(tmp_path / "it's here")})
    (folder / "app" / "__init__.py").write_text("import brought\n")
    first = run(folder)
    assert first.returncode == 0, first.stderr
    assert "imports app" in first.stdout
    assert (folder / ".venv" / "bin" / "python").exists()
    again = run(folder)
    assert again.returncode == 0, again.stderr
    assert "installed already" in again.stdout
    with (folder / "requirements.txt").open("a") as file:
        file.write("-r gone.txt\n")
    broken = run(folder)
    assert broken.returncode != 0
    assert "gone.txt" in broken.stderr
    assert "Ready." not in broken.stdout


def only_pytest(folder: Path) -> Path:
    """A folder with links to this machine's pytest, so that no registry is needed; playwright is not in it."""
    folder.mkdir()
    for place in site.getsitepackages():
        for one in Path(place).iterdir():
            if re.match(r"_?pytest(-\d|\b)|pluggy|iniconfig|packaging|pygments|py\.py$", one.name, re.IGNORECASE):
                (folder / one.name).symlink_to(one)
    return folder


@pytest.mark.slow
@pytest.mark.spec("DAY-7")
def test_what_the_script_prints_works_when_a_person_follows_it(tmp_path: Path) -> None:
    """The commands that the initializer named work as they are printed; the browser example does not stop other
    tests."""
    example = e2e_example()
    tests = {"tests/test_app.py": "import app\n\n\ndef test_it():\n    assert app.VALUE == 1\n"}
    files = {**PYTHON, **tests, "tests/e2e/test_example.py": example}
    folder = lay(tmp_path / "it's here", files, made(files, test="pytest -q", start="python -m app"))
    links = str(only_pytest(tmp_path / "packages"))
    done = run(folder, PYTHONPATH=links)
    assert done.returncode == 0, done.stderr
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    assert (said["Run the tests"], said["Start the app"]) == ("pytest -q", "python -m app")
    entered = f"{said['Enter the environment, once in each shell']} && python -m {said['Run the tests']}"
    ran = subprocess.run(
        ["bash", "-c", f"{entered}; command -v python"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{folder}:{links}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr
    assert "error" not in ran.stdout
    assert ran.stdout.splitlines()[-1] == f"{folder}/.venv/bin/python"


def pinned(folder: Path) -> dict[str, str]:
    """A project with a wheel in it, required by its hash: a dependency that needs no registry."""
    folder.mkdir(parents=True)
    wheel = folder / "brought-1.0-py3-none-any.whl"
    info = "brought-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("brought.py", "")
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        record = "".join(
            f"{name},,\n" for name in ("brought.py", f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD")
        )
        file.writestr(f"{info}/RECORD", record)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return {"requirements.txt": f"./{wheel.name} --hash=sha256:{digest}\n"}


@pytest.mark.slow
@pytest.mark.spec("HAND-4")
def test_python_and_node_side_by_side_and_a_copy_elsewhere(tmp_path: Path) -> None:
    files = {f"back end/{name}": text for name, text in PYTHON.items()}
    files |= {f"frontend/{name}": text for name, text in NODE.items()}
    script = made(files, more=('cd "back end" && python -c "import app, sys; print(sys.prefix)"', "touch made"))
    folder = lay(tmp_path / "one place", files, script)
    first = run(folder)
    assert first.returncode == 0, first.stderr
    assert f"{folder}/back end/.venv\n" in first.stdout
    assert "Run the tests: (cd 'back end' && .venv/bin/python -m pytest) and (cd frontend && npm test)" in first.stdout
    assert (folder / "made").exists()
    copied = tmp_path / "another place"
    shutil.copytree(folder, copied, symlinks=True)
    done = run(copied)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("installed already") == 2
    assert f"{copied}/back end/.venv\n" in done.stdout
    for program in ("pip", "activate"):
        text = (copied / "back end" / ".venv" / "bin" / program).read_text()
        assert str(copied) in text
        assert str(folder) not in text


@pytest.mark.slow
@pytest.mark.spec("HAND-4")
def test_a_package_is_installed_from_its_folder(tmp_path: Path) -> None:
    """The package has a build backend of its own, so that no registry is needed."""
    backend = (
        "import zipfile, pathlib\n"
        "def build_editable(folder, settings=None, metadata=None):\n"
        "    name, info = 'shop-1.0-py3-none-any.whl', 'shop-1.0.dist-info'\n"
        "    with zipfile.ZipFile(pathlib.Path(folder) / name, 'w') as file:\n"
        "        file.writestr('shop.pth', str(pathlib.Path('src').resolve()) + '\\n')\n"
        "        file.writestr(f'{info}/METADATA', 'Metadata-Version: 2.1\\nName: shop\\nVersion: 1.0\\n')\n"
        "        file.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n"
        "        names = ('shop.pth', f'{info}/METADATA', f'{info}/WHEEL', f'{info}/RECORD')\n"
        "        file.writestr(f'{info}/RECORD', ''.join(f'{name},,\\n' for name in names))\n"
        "    return name\n"
    )
    system = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    files = {
        "pyproject.toml": f'{system}[project]\nname = "shop"\nversion = "1.0"\n',
        "backend.py": backend,
        "src/shop/__init__.py": "",
    }
    folder = lay(tmp_path / "shop", files)
    for _ in range(2):
        done = run(folder)
        assert done.returncode == 0, done.stderr
        assert "imports shop" in done.stdout
    python = folder / ".venv" / "bin" / "python"
    subprocess.run([python, "-c", "import shop"], cwd="/", check=True, timeout=60)


@pytest.mark.spec("HAND-4")
@pytest.mark.parametrize(("files", "missing"), [(PYTHON, "python3"), (NODE, "node")], ids=["python", "node"])
def test_a_missing_program_is_named(files: dict[str, str], missing: str, tmp_path: Path) -> None:
    folder = lay(tmp_path / "p", files)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "dirname", "basename"):
        (tools / name).symlink_to(str(shutil.which(name)))
    done = run(folder, PATH=str(tools))
    assert done.returncode == 1
    assert f"init.sh: {missing} is missing: install" in done.stderr


@pytest.mark.spec("HAND-4")
def test_nothing_outside_the_project_is_touched(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "exclude").write_text("as it was\n")
    script = made(NODE).replace("npm ci", "true")
    linked, worktree = lay(tmp_path / "linked", NODE, script), lay(tmp_path / "worktree", NODE, script)
    (linked / "node_modules").symlink_to(outside)
    assert "is a link out of the project" in run(linked).stderr
    (linked / "node_modules").unlink()
    (linked / ".git").mkdir()
    (linked / ".git" / "info").symlink_to(outside)
    (worktree / ".git").write_text("gitdir: elsewhere\n")
    assert [run(one).returncode for one in (linked, worktree)] == [0, 0]
    assert [one.name for one in outside.iterdir()] == ["exclude"]
    assert (outside / "exclude").read_text() == "as it was\n"


@pytest.mark.spec("HAND-4")
@settings(max_examples=8, deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(["$(touch x)", "'; touch x; '"])
)
def test_words_are_said_and_never_run(words: str) -> None:
    script = made({}, start=words, test=words)
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Start the app: {plain_line(words) or 'it is not known yet how'}\n" in done.stdout
    assert not Path("x").exists()


@pytest.mark.spec("HAND-4")
def test_further_commands_are_run_each_in_a_shell_of_its_own_until_one_fails(tmp_path: Path) -> None:
    more = ("touch 'a b'", "echo \"$(printf 'two\\nlines')\"", "false | true", "touch never")
    folder = lay(tmp_path / "p", {}, made({}, more=more))
    done = run(folder)
    assert done.returncode == 1
    assert "two\nlines" in done.stdout
    assert "init.sh: this failed: false | true" in done.stderr
    assert sorted(one.name for one in folder.iterdir()) == ["a b", "init.sh"]
    (folder / "init.sh").write_text(made({}, more=("echo 'unbalanced", "touch never")))
    assert run(folder).returncode != 0
    assert not (folder / "never").exists()


PROJECT = '[project]\nname = "a"\nversion = "1"\ndependencies = ["x>1", "-e evil"]\n'
GROUPS = '[dependency-groups]\ndev = ["ruff", {include-group = "lint"}]\nlint = ["mypy"]\n'
BUILD = '[build-system]\nrequires = ["setuptools"]\n'
EXTRA = '[project.optional-dependencies]\ntest = ["pytest"]\n'


@pytest.mark.spec("HAND-4")
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"uv.lock": "", "pyproject.toml": PROJECT}, ["uv sync --frozen --quiet"]),
        ({"uv.lock": "", "pyproject.toml": PROJECT + EXTRA}, ["uv sync --frozen --quiet --extra test"]),
        ({"poetry.lock": "", "pyproject.toml": ""}, ["poetry install --no-interaction --quiet"]),
        ({"Pipfile.lock": "{}", "Pipfile": ""}, ["pipenv sync --dev"]),
        ({"pyproject.toml": PROJECT}, ["pip install x>1"]),
        ({"pyproject.toml": PROJECT + GROUPS + BUILD}, ["pip install -e . ruff mypy"]),
        ({"pyproject.toml": PROJECT + BUILD + EXTRA}, ["pip install -e .[test]"]),
        ({"pyproject.toml": "[tool.ruff]\n", "setup.cfg": "[flake8]\n"}, []),
        ({"pyproject.toml": "not toml"}, ["pip install -e ."]),
        ({"setup.py": ""}, ["pip install -e ."]),
        ({"setup.py": "setup(extras_require={'test': ['x'], 'dev': ['y']})"}, ["pip install -e .[test]"]),
        (
            {"setup.cfg": "[metadata]\nname = a\n[options.extras_require]\ndevelop = x\n"},
            ["pip install -e .[develop]"],
        ),
        ({"pyproject.toml": "# nothing yet\n"}, []),
        (
            {"requirements.txt": "a==1 --hash=sha256:0", "requirements-dev.txt": "b", "setup.py": ""},
            [
                "pip install --require-hashes -r requirements.txt",
                "pip install -r requirements-dev.txt",
                "pip install --no-deps -e .",
            ],
        ),
        ({"docs/requirements.txt": "sphinx", "examples/package.json": "{}", ".x/package.json": "{}"}, []),
        (NODE, ["npm ci --no-audit --no-fund"]),
        ({"package.json": "{}"}, ["npm install --no-package-lock --no-audit --no-fund"]),
        ({"package.json": "broken"}, ["npm install --no-package-lock --no-audit --no-fund"]),
        ({"package.json": "{}", "pnpm-lock.yaml": ""}, ["pnpm install --frozen-lockfile"]),
        ({"package.json": "{}", "yarn.lock": "# yarn lockfile v1\n"}, ["yarn install --frozen-lockfile"]),
        ({"package.json": "{}", "yarn.lock": "__metadata:\n"}, ["yarn install --immutable"]),
        (
            {"package.json": '{"packageManager": "pnpm@9"}', "package-lock.json": "{}", "pnpm-lock.yaml": ""},
            ["pnpm install --frozen-lockfile"],
        ),
        (
            {"package.json": '{"workspaces": ["web"]}', "package-lock.json": "{}", "web/package.json": "{}"},
            ["npm ci --no-audit --no-fund"],
        ),
        (
            {"backend/requirements.txt": "", "frontend/package.json": "{}", "frontend/package-lock.json": "{}"},
            ["pip install -r requirements.txt", "npm ci --no-audit --no-fund"],
        ),
    ],
    ids=range(24),
)
def test_manifests_and_locks_say_how_a_project_is_installed(files: dict[str, str], expected: list[str]) -> None:
    assert commands(files) == expected
    needed = {name: text for name, text in files.items() if is_manifest(name)}
    assert init_script(files, needed.get) == made(files)
    checked = subprocess.run(["bash", "-n"], input=made(files), capture_output=True, text=True, timeout=60, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


OPTIONAL = "[project.optional-dependencies]\n"


@pytest.mark.spec("HAND-4", "DAY-2")
@pytest.mark.parametrize(
    "more",
    [
        "",
        OPTIONAL + 'test = ["t"]\ndev = ["d"]\n',
        OPTIONAL + 'dev = ["d"]\ndocs = ["n"]\n',
        OPTIONAL + 'Testing = ["t"]\ndevelop = ["d"]\n',
        OPTIONAL + 'development = ["d"]\nlint = ["n"]\n',
        '[dependency-groups]\ntests = ["t", {include-group = "more"}]\ndev = ["d"]\nmore = ["m", "t"]\n',
        OPTIONAL + 'test = ["t"]\n[dependency-groups]\ndev = ["d", {include-group = "dev"}]\n',
        '[tool.poetry.dependencies]\npython = "^3.11"\ng = "^1.2"\n[tool.poetry.group.test.dependencies]\nk = "*"\n',
    ],
    ids=range(8),
)
def test_a_script_installs_the_packages_that_a_clean_room_has(more: str) -> None:
    manifest = PROJECT.replace(', "-e evil"', "") + more
    (command,) = commands({"pyproject.toml": manifest})
    assert command.split()[2:] == [*read_declarations({"pyproject.toml": manifest}).requirements]


@pytest.mark.spec("HAND-4", "DAY-2")
@pytest.mark.parametrize(
    "name", ["requirements.txt", "requirements_test.txt", "dev_requirements.txt", "requirements/base.txt"]
)
def test_a_clean_room_reads_every_list_that_a_script_installs(name: str) -> None:
    assert commands({name: "x"}) == [f"pip install -r {name}"]
    assert is_dependency_manifest(name)
    assert read_declarations({name: "x"}).requirements == ("x",)


def test_a_script_that_was_edited_is_told_from_one_that_was_not() -> None:
    script = made(PYTHON)
    assert is_untouched(script)
    assert made(PYTHON) == script
    assert not is_untouched(script + "make assets\n")
    assert not is_untouched("#!/bin/sh\n")
    assert not is_untouched("")


def test_names_of_folders_are_hostile_text() -> None:
    files = {"$(touch x); 'a'\n/package.json": "{}"}
    script = made(files)
    assert "cd -- '$(touch x); '\"'\"'a'\"'\"'\n'" in script
