"""Commands that only show something load no code that drives runs or proves, so they start fast."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.page.made_up import demo

WORKING = (
    *(
        "trued.run.run",
        "trued.run.session",
        "trued.run.context",
        "trued.proof.prove",
        "trued.proof.room.clean_room",
        "trued.agents.adapters",
    ),
    *("trued.run.examination.examiner", "trued.workspace.git.workspace", "trued.support.markdown"),
    *("jinja2", "markdown_it", "jsonschema", "ruamel", "asyncio"),
)
SAY = """
import atexit, sys
atexit.register(lambda: sys.stderr.write("\\nloaded " + " ".join(sys.modules)))
sys.argv[0] = "trued"
from trued.cli import main
main()
"""


def loaded(folder: Path, *words: str) -> set[str]:
    return set(called(folder, *words).stderr.rpartition("\nloaded ")[2].split())


def called(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    variables = {"HOME": str(folder), "TRUED_HOME": str(folder / "state"), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [sys.executable, "-c", SAY, *words], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with one proven run: calls, evidence, and events of all kinds."""
    folder = tmp_path_factory.mktemp("light")
    demo(folder / "state")
    return folder


COLOURS = ("rich.console", "rich.text")
CONTRACTS = ("trued.model.checks", "trued.model.evidence", "trued.model.requirements", "trued.proof.verdict.conclusion")
EVENTS = ("trued.model.events", "trued.reporting.views.progress", "trued.workflows.descriptor")
INPUTS = ("trued.engine.inputs", "trued.inputs.validation", "trued.support.located", "tomllib")
SETTINGS = ("trued.model.settings",)
SPENDING = ("trued.wire",)
NEVER = ("importlib.metadata", "asyncio", "email", "logging", "trued.run.state", "trued.inputs.settings.loader")


# Modules that a command must not load, because it does not need them: loading them would take most of its time.
@pytest.mark.parametrize(
    ("words", "unneeded"),
    [
        ("ls", (*CONTRACTS, *EVENTS, *INPUTS, *SETTINGS)),
        ("ls --json", (*COLOURS, *CONTRACTS, *EVENTS, *INPUTS, *SETTINGS)),
        ("logs", (*COLOURS, *CONTRACTS, *INPUTS, *SETTINGS, *SPENDING)),
        ("ledger", (*EVENTS, *INPUTS, *SETTINGS, *SPENDING)),
        ("why slug", (*EVENTS, *INPUTS, *SETTINGS, *SPENDING)),
        ("stats", (*CONTRACTS, *EVENTS, *INPUTS, *SETTINGS, "trued.model.events.call", "trued.protocols")),
        ("show", (*INPUTS, *SETTINGS, *SPENDING)),
    ],
)
def test_a_short_command_loads_only_what_it_prints(one_run: Path, words: str, unneeded: tuple[str, ...]) -> None:
    done = called(one_run, *words.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert set(done.stderr.rpartition("\nloaded ")[2].split()).isdisjoint({*WORKING, *NEVER, *unneeded})


def test_of_a_module_with_several_commands_only_the_one_that_runs_is_made(tmp_path: Path) -> None:
    asked = "import trued.cli.look, typer.main as made; real = made.get_params_from_function; seen = []\n"
    asked += "made.get_params_from_function = lambda one: seen.append(one.__name__) or real(one)\n"
    asked += "from trued.cli import load; print(load('show').name, seen)"
    done = subprocess.run([sys.executable, "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("show "), done.stderr
    assert not [name for name in ("ls", "watch", "logs", "diff", "report") if f"'{name}'" in done.stdout]


@pytest.mark.parametrize("words", ["ls", "show none", "ledger none", "logs none", "why it none", "report --help"])
def test_looking_at_runs_loads_nothing_that_works_on_them(tmp_path: Path, words: str) -> None:
    found = loaded(tmp_path, *words.split())
    assert "trued.cli.context" in found
    assert found.isdisjoint(WORKING)


SLOW_TO_LOAD = (
    *("asyncio", "logging", "email", "importlib.metadata", "rich.markdown", "rich.live", "starlette", "playwright"),
    *("trued.cli.summary", "trued.cli.tree", "trued.reporting.views.progress", "trued.workflows.registry"),
    *("trued.proof.room.bench", "trued.engine.trust"),
)


@pytest.mark.parametrize("words", ["ls", "ls --json", "why it", "answer yes"])
def test_short_commands_load_no_more_than_the_records_that_they_read(tmp_path: Path, words: str) -> None:
    found = loaded(tmp_path, *words.split())
    assert "trued.engine.run_store" in found
    assert found.isdisjoint({*WORKING, *SLOW_TO_LOAD})


def test_the_version_needs_neither_values_nor_a_console(tmp_path: Path) -> None:
    found = loaded(tmp_path, "--version")
    assert "trued.cli" in found
    assert found.isdisjoint({"pydantic", "rich", "trued.model", "trued.cli.terminal", "trued.engine"})


@pytest.mark.spec("DAY-15")
def test_a_list_of_runs_looks_for_no_installed_workflow(tmp_path: Path) -> None:
    assert "trued.workflows.registry" not in loaded(tmp_path, "ls")


def test_a_list_of_runs_reads_no_settings(tmp_path: Path) -> None:
    assert loaded(tmp_path, "ls").isdisjoint(
        {"trued.inputs.settings.loader", "trued.engine.limits", "trued.cli.notify"}
    )


@pytest.mark.parametrize("command", ["verify", "ls", "ledger"])
def test_help_loads_no_more(tmp_path: Path, command: str) -> None:
    found = loaded(tmp_path, command, "--help")
    assert "trued.cli.context" in found
    assert found.isdisjoint({*WORKING, "trued.engine.verify"} - {"asyncio"})


@pytest.mark.spec("PAGE-3")
def test_the_page_loads_nothing_that_merges_or_offers_work(tmp_path: Path) -> None:
    asked = "import sys, trued.page.server; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True)
    unneeded = {"trued.workspace.git.workspace", "trued.integrations.forges", "trued.engine.pull_request"}
    assert set(done.stdout.split()).isdisjoint(unneeded)
