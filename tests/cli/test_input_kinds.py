"""A file that a newcomer passes to a run is read as what it looks like; a refusal names what to do instead."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from tests.cli.conftest import REQUIREMENTS, Each, Trued, World
from tests.cli.test_command_line import AGENT, one_sentence
from trued.cli.live import LiveTree

TICKET = "# SHELF-12 Filter books\n\n## Acceptance criteria\n\n- `GET /books?author=X` lists only the books of X\n"
PROSE = "# Greetings\n\n`greet(name)` says hello to the name.\n"


@pytest.mark.spec("DAY-13", "USE-2")
def test_tickets_and_prose_are_taken_without_w(each: Each, trued: Trued, project: Path) -> None:
    (project / "ticket.md").write_text(TICKET)
    (project / "greetings.md").write_text(PROSE)
    taken = each(
        ["run", "ticket.md", *AGENT], ["run", "greetings.md", *AGENT], ["run", "say hello", *AGENT], cwd=project
    )
    for done, name in zip(taken, ("ticket", "solo", "solo"), strict=True):
        assert done.returncode == 3, done.stderr  # nobody writes cases, so a person is asked first
        assert f"using {name}" in done.stderr
    assert ["plain words" in one.stderr or "one agent builds it" in one.stderr for one in taken] == [False, False, True]
    runs = json.loads(trued("ls", "--json", cwd=project).stdout)
    assert sorted(one["workflow"] for one in runs) == ["solo", "solo", "ticket"]


@pytest.mark.spec("DAY-13")
def test_the_choice_is_not_explained_if_the_settings_made_it(trued: Trued, project: Path) -> None:
    (project / "greetings.md").write_text(PROSE)
    done = trued("run", "greetings.md", *AGENT, cwd=project, variables={"TRUED_WORKFLOW": "solo"})
    assert (done.returncode, "using" in done.stderr) == (3, False), done.stderr
    assert [one["workflow"] for one in json.loads(trued("ls", "--json", cwd=project).stdout)] == ["solo"]


@pytest.mark.spec("DAY-13", "USE-7")
def test_a_refusal_names_w_and_nothing_stands_before_it(each: Each, project: Path) -> None:
    (project / "PLAN.md").write_text(PROSE)
    (project / "greetings.md").write_text(PROSE)
    (project / "requirements.yaml").write_text("requirements: []\n")
    lines = [
        ["run", "PLAN.md", *AGENT],
        ["run", "greetings.md", "-w", "purple", *AGENT],
        ["run", "requirements.yaml", *AGENT],
        ["run", "textkit.py", *AGENT],
    ]
    for done in each(*lines, cwd=project):
        assert "-w solo" in one_sentence(done)
        assert len(done.stderr.splitlines()) == 1
    missing, empty = each(["run", "nope.md", *AGENT], ["run", " ", *AGENT], cwd=project)
    assert "there is no file nope.md" in one_sentence(missing)
    assert [len(one.stderr.splitlines()) for one in (missing, empty)] == [1, 1]


@pytest.mark.spec("DAY-13")
def test_roles_without_an_agent_are_named(trued: Trued, project: Path, tmp_path: Path) -> None:
    (project / "spec.md").write_text("# Words\n\nIt counts words.\n")
    nothing = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "nobody")}
    said = one_sentence(trued("run", "spec.md", "--agent", "coder=command:true", cwd=project, variables=nothing))
    assert "no agent is named for initializer" in said
    assert "--agent initializer=" in said


def test_the_choice_is_printed_above_a_live_tree() -> None:
    """Printed to another console, the sentence would be drawn over."""
    screen = io.StringIO()
    with LiveTree(console=Console(file=screen, force_terminal=True, width=80)) as tree:
        tree.print_sentence("using solo\x1b[2J")
    assert "using solo" in screen.getvalue()
    assert "\x1b[2J" not in screen.getvalue()


@pytest.mark.slow
@pytest.mark.spec("DAY-13", "LAW-12")
def test_a_goal_in_a_file_is_proven_sentence_by_sentence(world: World, tmp_path: Path) -> None:
    (world.repository / "doubling.md").write_text("# Doubling\n\n`double(x)` returns twice its argument.\n")
    requirements = tmp_path / "own.yaml"
    requirements.write_text(REQUIREMENTS.partition("  - id: triple")[0].replace('"1A"', '"goal"'))
    script = Path(__file__).with_name("agents_for_cli.py")
    words = ("--requirements", str(requirements), "--agent", f"scripted:{script}", "--yes")
    done = world.trued("run", "doubling.md", *words, "--json")
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["id"]
    (one,) = world.data("ledger", run)["requirements"]
    assert (one["id"], one["grade"]) == ("double", "proven")
    # the same goal with a lying agent: work on prose is checked like work on a plan
    lie = tmp_path / "liar.py"
    lie.write_text(script.read_text().replace('"turn": 2', '"turn": 1'))
    words = ("--requirements", str(requirements), "--agent", f"scripted:{lie}", "--yes")
    assert world.trued("run", "doubling.md", *words).returncode == 1
