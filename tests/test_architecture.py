"""Rules of the house that no linter knows."""

import ast
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import trued
from trued.workflows.registry import descriptors

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "trued"

# Whoever writes, connects or starts something while a module is imported is caught by these.
WATCHED = """
import importlib, os, pkgutil, sys
import trued
names = ["trued", *(one.name for one in pkgutil.walk_packages(trued.__path__, "trued."))]
seen = []
def watch(event, args):
    writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if writes or event in ("subprocess.Popen", "os.system", "os.fork", "os.posix_spawn", "os.mkdir", "os.putenv",
                           "socket.connect", "socket.bind", "sqlite3.connect", "signal.pthread_kill"):
        seen.append(f"{event} {args!r}"[:200])
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)  # once for the third parties, which may do as they please
for name in [name for name in sys.modules if name.split(".")[0] == "trued"]:
    del sys.modules[name]
sys.addaudithook(watch)
before = dict(os.environ), os.getcwd()
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
assert seen == [], seen
assert before == (dict(os.environ), os.getcwd())
"""


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@cache
def parsed(path: Path) -> ast.Module:
    """A file's syntax tree. Parsing the whole source takes seconds, and several tests read it."""
    return ast.parse(path.read_text())


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a file's syntax tree."""
    return tuple(ast.walk(parsed(path)))


def tracked(*patterns: str) -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


@pytest.mark.parametrize("module", ["trued", "trued.agents.supervisor"])
def test_what_has_to_start_at_once_brings_nothing_heavy(module: str, tmp_path: Path) -> None:
    heavy = ("pydantic", "typer", "rich", "jinja2", "jsonschema", "markdown_it", "ruamel", "pytest")
    done = python(f"import sys, {module}; print([name for name in {heavy!r} if name in sys.modules])", tmp_path)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_nothing_happens_at_import(tmp_path: Path) -> None:
    done = python(WATCHED, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_there_are_fakes_and_no_mocks() -> None:
    mock = re.compile(r"unittest\.mo" + r"ck|Magic" + r"Mock")
    ours = [path for path in tracked("*.py", "*.toml") if "tests/corpus/" not in str(path)]  # there, a cheat is one
    assert [str(path) for path in ours if mock.search(path.read_text())] == []


def test_no_file_names_a_machine_or_a_registry() -> None:
    registries = (
        "py" + "pi.org",
        "python" + "hosted.org",
        "registry.npm" + "js.org",
        "--find" + "-links /",
        "index-url" + " =",
    )
    # A folder of somebody's machine: at the beginning of a word, unlike `clone/work/file`.
    machine = re.compile(r"(?<![\w.})>*])/(?:wor" + r"k|roo" + r"t|User" + r"s)/[\w.]")
    found = []
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        where = path.relative_to(ROOT)
        found += [f"{where}: {name}" for name in (*registries, f"{ROOT}/") if name in text]
        found += [f"{where}: {hit}" for hit in machine.findall(text)]
    assert found == []


def test_every_dependency_has_its_reason() -> None:
    reasons = "\n".join(path.read_text() for path in sorted((ROOT / "docs" / "decisions").glob("*.md")))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = [re.split(r"[\[<>=!~ ;]", line)[0] for line in project["project"]["dependencies"]]
    assert [name for name in needed if not re.search(rf"^\| `{re.escape(name)}` \| \S", reasons, re.M)] == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in tracked("src/*.py", "bench/*.py", "tools/*.py")
        if path.read_text().strip() and not ast.get_docstring(parsed(path))
    ]
    assert silent == []


def test_names_are_the_domains_own() -> None:
    tired = re.compile(r"\w(Manager|Handler|Service|Helper|Utils?|Base)$")
    found = []
    for path in tracked("src/*.py"):
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef) and tired.search(node.name):
                found.append(f"{path.name}:{node.lineno} {node.name}")
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("get_"):
                found.append(f"{path.name}:{node.lineno} {node.name}")
    assert found == []


def our_classes() -> list[type]:
    names = [one.name for one in pkgutil.walk_packages(trued.__path__, "trued.") if not one.name.endswith("__main__")]
    modules = [importlib.import_module(name) for name in names]
    return [
        one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, type) and one.__module__ == module.__name__
    ]


def test_no_class_name_is_used_for_two_things() -> None:
    seen = Counter(one.__name__ for one in our_classes())
    assert [name for name, times in seen.items() if times > 1] == []


def test_no_class_has_more_than_two_of_ours_above_it() -> None:
    """Composition instead of towers. Protocols do not count: they say what a class can do, and bring nothing."""

    def depth(one: type) -> int:
        above = [base for base in one.__bases__ if base.__module__.split(".")[0] == "trued"]
        return max((1 + depth(base) for base in above if not getattr(base, "_is_protocol", False)), default=0)

    assert [f"{one.__module__}.{one.__name__}" for one in our_classes() if depth(one) > 2] == []


@pytest.mark.parametrize(
    "line",
    [
        "import time",
        "import random",
        "import subprocess",
        "import asyncio",
        "from pathlib import Path",
        "from datetime import datetime",
        "import os",
    ],
)
@pytest.mark.spec("RUN-1")
def test_a_workflow_that_reaches_past_its_run_fails_the_check(line: str) -> None:
    for folder, refused in (("workflows", True), ("cli", False)):
        name = SOURCE / folder / ("some/flow.py" if folder == "workflows" else "sample.py")
        command = [
            sys.executable,
            "-m",
            "ruff",
            "check",
            "--no-cache",
            "--select",
            "TID251",
            "--stdin-filename",
            str(name),
            "-",
        ]
        done = subprocess.run(
            command, cwd=ROOT, input=f"{line}\n", capture_output=True, text=True, timeout=60, check=False
        )
        assert ("TID251" in done.stdout) is refused, done.stdout + done.stderr


# Words that are a workflow's name and mean something else, or that only people read: (file, word) → why.
NO_NAME = {
    ("model/settings.py", "purple"): "the default of a setting, which the input's kind overrules",
    ("model/requirements.py", "ticket"): "a branch's name for a ticket without a key",
    ("inputs/settings/loader.py", "team"): "the settings table [team]",
    ("inputs/settings/file_format.py", "team"): "the settings table [team]",
    ("inputs/tickets/ticket.py", "ticket"): "a field of a ticket's front matter",
    ("workflows/descriptor.py", "ticket"): "a kind of input",
    ("engine/travel.py", "ticket"): "a field of a run's inputs",
}


# Shared code that imports from a workflow's folder: (file, folder) → why.
KNOWN_FOLDERS = {
    ("engine/start.py", "handoff"): "a feature list is recognised by its form, before a workflow is chosen",
    ("engine/pull_request.py", "ticket"): "a pull request lists the rounds of a ticket, if there were any",
    ("engine/role_spending.py", "ticket"): "a ticket's rounds tell how large its orchestrator's context is",
    ("cli/roles.py", "pipeline"): "`trued lint` and `roles export` are about files of a pipeline",
}


def shared_code() -> Iterator[tuple[str, ast.AST]]:
    """Every node outside of the workflows' own folders, with its file."""
    own = {path.parent for path in SOURCE.glob("workflows/*/__init__.py")}
    for path in (one for one in tracked("src/*.py") if not own & set(one.parents)):
        file = str(path.relative_to(SOURCE))  # once a file: there are very many nodes
        yield from ((file, node) for node in nodes_of(path))


@pytest.mark.spec("DAY-15")
def test_shared_code_names_no_workflow() -> None:
    names = {one.name for one in descriptors()}
    found = {(file, node.value) for file, node in shared_code() if isinstance(node, ast.Constant)}
    assert {one for one in found if one[1] in names} == set(NO_NAME)


def test_our_own_code_imports_nothing_from_the_top_of_the_package() -> None:
    """`from trued import …` is for workflows of others; from below, it would be an import upward."""
    modules = [(path, nodes_of(path)) for path in tracked("src/*.py")]
    found = [(path, one.module) for path, nodes in modules for one in nodes if isinstance(one, ast.ImportFrom)]
    assert [str(path) for path, module in found if module == "trued"] == []


def test_regular_expressions_of_modules_are_compiled_when_they_are_used() -> None:
    """Compiling them all would take a sixth of a command's start. What runs without our package is left out."""
    found = []
    for path in (one for one in tracked("src/*.py") if "from trued." in one.read_text()):
        places = (
            value
            for node in parsed(path).body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for value in ast.walk(node)
        )
        calls = [node for node in places if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"]
        found += [f"{path.relative_to(SOURCE)}:{node.lineno}" for node in calls]
    assert found == []


@pytest.mark.spec("DAY-15")
def test_shared_code_knows_no_workflows_folder() -> None:
    folders = {path.parent.name for path in SOURCE.glob("workflows/*/__init__.py")}
    imports = [(file, f"{node.module}.") for file, node in shared_code() if isinstance(node, ast.ImportFrom)]
    named = {(file, folder) for file, module in imports for folder in folders if f".workflows.{folder}." in module}
    assert named == set(KNOWN_FOLDERS)
