"""The real command line: what it prints for newcomers, for scripts, and for bad input."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Each, Trued, git
from trued.cli import COMMANDS
from trued.engine.journals.sqlite import SqliteJournal
from trued.model import RunRecord
from trued.workspace.sandbox import scope
from trued.workspace.sandbox.levels import level_state

NAMED = [
    "demo", "run", "resume", "cancel", "ls", "show", "logs", "ledger", "why", "reject",
    "approve", "answer", "diff", "land", "report", "agents", "roles", "lint", "init", "trust", "doctor", "gate",
    "amend", "verify", "receipt", "key", "compare", "requirements", "watch", "stats", "preview", "hub",
    "comment", "limit", "page", "worker",
]  # fmt: skip
PLAN = "# Plan: numbers\n\n| Chunk | Scope | Files |\n| --- | --- | --- |\n| 1A | `double(x)` doubles | tiny.py |\n"
AGENT = ("--agent", "command:true")


def one_sentence(done: subprocess.CompletedProcess[str], code: int = 2) -> str:
    """The one line on stderr that bad input gets: it begins with our name; stdout is empty, no traceback."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    said = [line for line in done.stderr.splitlines() if line.startswith("trued: ")]
    assert len(said) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return said[0]


# -- help ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("USE-2")
def test_help_names_every_command_in_groups(trued: Trued) -> None:
    done = trued("--help")
    assert (done.returncode, done.stderr) == (0, "")
    listed = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ") and line.split()]
    assert set(NAMED) <= set(listed)
    assert sorted(COMMANDS) == sorted(NAMED)
    assert [line for line in done.stdout.splitlines() if line.endswith(":") and not line.startswith(" ")] == [
        "Options:",
        "Start:",
        "Work:",
        "Look:",
    ]


@pytest.mark.spec("USE-2")
def test_every_command_has_help_of_its_own() -> None:
    """All commands run in one process, because imports take most of the time."""
    code = (
        "import sys\nfrom trued.cli import COMMANDS, main\nfor name in COMMANDS:\n"
        "    sys.argv = ['trued', name, '--help']\n"
        "    try: main()\n    except SystemExit as end: assert not end.code, name\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    usages = [line.split()[2] for line in done.stdout.splitlines() if line.startswith("Usage: trued ")]
    assert sorted(usages) == sorted(NAMED)


def test_help_is_instant() -> None:
    """Help takes at most twice as long as a bare interpreter plus 0.3 s, or more on a slower machine. Processor time is
    measured, because the machine may be busy."""

    def spent(*command: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *command], capture_output=True, check=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    help_s = min(spent("-m", "trued", "--help") for _ in range(3))
    bare_s = min(spent("-c", "pass") for _ in range(3))
    assert help_s <= max(2 * bare_s + 0.3, 20 * bare_s)


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['trued', '--help']\nfrom trued.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in ('rich', 'pydantic', 'trued.engine') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.spec("USE-3")
def test_wrong_usage_ends_with_2_and_says_what_is_wrong(each: Each) -> None:
    for done in each(["bogus"], ["run"], ["ls", "--bogus"], ["run", "x", "--rounds", "many"]):
        assert (done.returncode, done.stdout) == (2, ""), done.args
        assert "Error: " in done.stderr
        assert "Traceback" not in done.stderr


def test_the_shell_completes_commands_and_runs(trued: Trued, journal: object, record: object) -> None:
    def complete(words: str) -> str:
        variables = {"_TRUED_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        return trued(variables=variables).stdout

    assert complete("trued le").split() == ["ledger"]
    assert complete("trued show r-").split() == ["r-abcde"]


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("USE-7")
def test_a_missing_plan_is_named(trued: Trued, project: Path) -> None:
    assert "PLAN.md" in one_sentence(trued("run", "PLAN.md", *AGENT, cwd=project))


@pytest.mark.spec("USE-7", "PUR-1")
def test_a_plan_without_chunks_is_named(trued: Trued, project: Path) -> None:
    (project / "PLAN.md").write_text("# Plan: nothing\n\nSome prose.\n")
    said = one_sentence(trued("run", "PLAN.md", *AGENT, cwd=project))
    assert "PLAN.md" in said
    assert "chunk" in said


@pytest.mark.spec("USE-7")
def test_an_unknown_role_is_named_with_those_that_there_are(trued: Trued, project: Path) -> None:
    (project / "PLAN.md").write_text(PLAN)
    said = one_sentence(trued("run", "PLAN.md", *AGENT, "--agent", "purple-team-c=command:true", cwd=project))
    assert "purple-team-c" in said
    assert "purple-team-a" in said


@pytest.mark.spec("USE-7")
def test_an_unknown_workflow_is_named(each: Each, project: Path) -> None:
    (project / "PLAN.md").write_text(PLAN)
    names = {"rainbow": "no workflow", "Pipeline": "no workflow"}
    lines = [["run", "PLAN.md", "-w", name, *AGENT] for name in names]
    for done, (name, words) in zip(each(*lines, cwd=project), names.items(), strict=True):
        assert name in one_sentence(done)
        assert words in one_sentence(done)


@pytest.mark.spec("USE-7")
def test_a_bad_key_in_the_config_is_named_with_file_and_line(trued: Trued, project: Path) -> None:
    (project / "PLAN.md").write_text(PLAN)
    (project / "trued.toml").write_text("# settings\n\nronds = 2\n")
    digest = json.loads(trued("trust", "--json", cwd=project).stdout)["digest"]
    said = one_sentence(trued("run", "PLAN.md", *AGENT, "--trust", digest, cwd=project))
    assert "trued.toml:3" in said
    assert "ronds" in said


@pytest.mark.spec("USE-7")
def test_a_folder_that_is_no_repository_is_named(trued: Trued, tmp_path: Path) -> None:
    said = one_sentence(trued("run", "Do something", *AGENT, cwd=tmp_path))
    assert "git repository" in said


@pytest.mark.spec("USE-7")
def test_a_repository_without_a_commit_is_named(trued: Trued, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    assert "commit" in one_sentence(trued("run", "Do something", *AGENT, cwd=empty))


@pytest.mark.spec("USE-7")
def test_an_agent_that_there_is_not_is_named(each: Each, project: Path) -> None:
    agents = ["claude", "command:", "purple-team-a=codex", "scripted:nowhere.py"]
    for done in each(*(["run", "Do something", "--agent", agent] for agent in agents), cwd=project):
        one_sentence(done)


@pytest.mark.spec("USE-7")
def test_no_agent_at_all_is_said_with_the_way_to_name_one(trued: Trued, project: Path) -> None:
    assert "--agent" in one_sentence(trued("run", "Do something", cwd=project))


@pytest.mark.spec("USE-7")
def test_a_flag_with_a_value_that_cannot_be_is_named(each: Each, project: Path) -> None:
    flags = [("--accept", "refuted"), ("--rounds", "0"), ("--sandbox", "magic"), ("--requirements", "no.yaml")]
    for done in each(*(["run", "Do something", *AGENT, *given] for given in flags), cwd=project):
        one_sentence(done)


@pytest.mark.spec("USE-7", "USE-2")
def test_a_ticket_that_nobody_can_fetch_is_one_sentence(each: Each, project: Path) -> None:
    for done, goal in zip(
        each(*(["run", goal, *AGENT] for goal in ("SSI-1883", "#12")), cwd=project), "JG", strict=True
    ):
        assert ("jira" if goal == "J" else "repository") in one_sentence(done).lower()


@pytest.mark.spec("USE-7", "USE-2")
def test_a_feature_list_that_cannot_be_read_is_named_with_its_line(trued: Trued, project: Path) -> None:
    (project / "feature_list.json").write_text('{"features": [\n  {"description": "a"},\n  {"steps": []}\n]}\n')
    assert "feature_list.json:3" in one_sentence(trued("run", "feature_list.json", *AGENT, cwd=project))


@pytest.mark.spec("USE-7")
def test_bad_input_leaves_no_run_and_no_branch(trued: Trued, project: Path) -> None:
    trued("run", "PLAN.md", *AGENT, cwd=project)
    assert json.loads(trued("ls", "--json", cwd=project).stdout) == []
    assert git(project, "branch", "--list") == "* main"
    assert git(project, "status", "--porcelain") == ""


@pytest.mark.spec("USE-7")
def test_where_there_is_no_run_a_sentence_says_so(each: Each, project: Path) -> None:
    commands = ["show", "logs", "ledger", "diff", "report", "resume", "cancel", "approve"]
    for done in each(*([one] for one in commands), cwd=project):
        assert "no run" in (said := one_sentence(done)) or "nothing to" in said
    for done in each(*([one, "r-zzzzz"] for one in commands), cwd=project):
        assert "r-zzzzz" in one_sentence(done)


@pytest.mark.spec("USE-7")
def test_a_state_folder_that_cannot_be_used_is_named(trued: Trued, project: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = trued("ls", cwd=project, variables={"TRUED_HOME": str(tmp_path / "file" / "state")})
    assert "TRUED_HOME" in one_sentence(done, code=6)


@pytest.mark.spec("USE-7")
def test_a_mistake_of_ours_is_one_sentence_and_a_file(
    trued: Trued, journal: SqliteJournal, record: RunRecord, home: Path
) -> None:
    """The run in the journal has no inputs. No command writes such a run, so no code handles it."""
    journal.add(record.model_copy(update={"id": "r-empty"}))
    said = one_sentence(trued("resume", "r-empty"), code=1)
    (file,) = (home / "tracebacks").iterdir()
    assert str(file) in said
    assert "Traceback" in file.read_text()


# -- inside an agent -----------------------------------------------------------------------------------------------


@pytest.mark.spec("PUR-4")
def test_an_agent_can_neither_start_agents_nor_speak_for_a_person(each: Each, project: Path) -> None:
    lines = [
        ["run", "Do it", *AGENT],
        ["resume"],
        ["approve", "--as", "me", "--reason", "ok"],
        ["answer", "yes"],
        ["cancel"],
        ["trust"],
    ]
    for done in each(*lines, cwd=project, variables={"TRUED_CALL": "chunk-1A-purple-team-a.1"}):
        assert "inside an agent" in one_sentence(done)


# -- setting up ----------------------------------------------------------------------------------------------------


def test_init_writes_a_commented_file_and_never_overwrites(trued: Trued, project: Path) -> None:
    done = trued("init", cwd=project)
    assert (done.returncode, done.stdout.strip()) == (0, str(project / "trued.toml"))
    (project / "trued.toml").write_text("rounds = 2\n")
    assert "already" in one_sentence(trued("init", cwd=project))
    assert (project / "trued.toml").read_text() == "rounds = 2\n"


@pytest.mark.spec("USE-6")
def test_trust_shows_every_byte_and_wants_the_digest(trued: Trued, project: Path) -> None:
    (project / "PLAN.md").write_text(PLAN)
    (project / "trued.toml").write_text('[agents]\ndefault = "command:rm \x1b[2Keverything"\n')
    assert "not trusted" in one_sentence(trued("run", "PLAN.md", cwd=project))
    shown = trued("trust", cwd=project)
    assert shown.returncode == 2  # a control character is no TOML, so no run could use it; it is shown all the same
    assert 'default = "command:rm everything"' in shown.stdout
    assert "\x1b" not in shown.stdout + shown.stderr
    (project / "trued.toml").write_text('[agents]\ndefault = "command:rm everything"\n')
    shown = trued("trust", cwd=project)
    assert shown.returncode == 3
    digest = json.loads(trued("trust", "--json", cwd=project).stdout)["digest"]
    assert digest in shown.stdout
    one_sentence(trued("trust", "0" * 64, cwd=project))
    assert trued("trust", digest, cwd=project).returncode == 0
    assert json.loads(trued("trust", "--json", cwd=project).stdout)["trusted"] is True
    (project / "trued.toml").write_text("rounds = 2\n")
    assert json.loads(trued("trust", "--json", cwd=project).stdout)["trusted"] is False


def test_roles_are_listed_with_their_origin_and_printed_whole(trued: Trued, project: Path) -> None:
    listed = json.loads(trued("roles", "--json", cwd=project).stdout)
    assert {"purple-team-a", "purple-team-b", "solo"} <= {one["name"] for one in listed}
    assert all(one["origin"].startswith("packaged") for one in listed)
    whole = trued("roles", "purple-team-a", cwd=project)
    assert len(whole.stdout.splitlines()) > 5
    assert "purple-team-b" in one_sentence(trued("roles", "purple-team-z", cwd=project))


def test_doctor_tries_and_makes_nothing(trued: Trued, home: Path) -> None:
    done = trued("doctor", "--json")
    found = {one["name"]: one for one in json.loads(done.stdout)}
    machine = {"python", "git", "bubblewrap", "landlock", "session", "state", "disk", "chromium"}
    assert machine | {"roles", "login", "network"} <= found.keys()
    assert done.returncode == (6 if any(one["state"] == "broken" for one in found.values()) else 0)
    assert all(one["fix"] for one in found.values() if one["state"] == "broken")
    assert not home.exists()


@pytest.mark.spec("USE-7")
@pytest.mark.parametrize(("version", "state"), [("2.30.2", "broken"), ("2.34.1", "missing"), ("2.38.0", "ok")])
def test_doctor_says_what_an_old_git_cannot_do(trued: Trued, tmp_path: Path, version: str, state: str) -> None:
    program = tmp_path / "old" / "git"
    program.parent.mkdir()
    real = shutil.which("git")
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec echo "git version {version}"\nexec {real} "$@"\n')
    program.chmod(0o755)
    done = trued("doctor", "--json", variables={"PATH": f"{program.parent}:{os.environ['PATH']}"})
    (found,) = [one for one in json.loads(done.stdout) if one["name"] == "git"]
    assert (found["state"], "gate ci" in found["says"], "2.38" in found["fix"]) == (state, *[state == "missing"] * 2)


@pytest.mark.spec("LAW-7", "USE-7")
@pytest.mark.parametrize(("level", "reached"), [("bubblewrap", []), ("landlock", ["unix sockets by path"])])
def test_doctor_tries_whether_agents_could_speak_for_the_person(trued: Trued, level: str, reached: list[str]) -> None:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    done = trued("doctor", "--json", variables={"TRUED_SANDBOX": level})
    (found,) = [one for one in json.loads(done.stdout) if one["name"] == "session"]
    scopes = [] if scope.can_scope() else ["abstract unix sockets"]
    assert sorted(found["facts"]["reached"]) == sorted([*reached, *scopes])
    assert found["state"] == ("missing" if found["facts"]["reached"] else "ok")
    assert ("could act as you" in found["says"]) is bool(found["fix"]) is bool(found["facts"]["reached"])


@pytest.mark.spec("LAW-7", "USE-7")
def test_a_network_that_landlock_cannot_give_is_named_by_doctor(trued: Trued) -> None:
    if not level_state("landlock").works:
        pytest.skip(level_state("landlock").why)
    done = trued("doctor", "--json", variables={"TRUED_SANDBOX": "landlock", "TRUED_NETWORK": "loopback"})
    (found,) = [one for one in json.loads(done.stdout) if one["name"] == "network"]
    assert found["state"] == "broken"
    assert "bubblewrap" in found["fix"]


@pytest.mark.spec("USE-9")
def test_private_state_is_where_trued_home_says(trued: Trued, home: Path, tmp_path: Path) -> None:
    assert trued("ls").returncode == 0
    assert (home / "journal.db").exists()
    assert (home.stat().st_mode & 0o777) == 0o700
    assert not (tmp_path / "home").exists()
