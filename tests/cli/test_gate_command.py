"""The gate as people, Claude Code and git use it: real repositories, real pushes, real processes."""

import json
import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.gate.yard import GREEN, RED, REQUIREMENTS, SECRET, Yard, yard_in
from tests.warm import Warm
from trued.cli.gate import _command
from trued.engine.worktree import open_checkout
from trued.support.processes import descendants, identity


@pytest.fixture
def yard(tmp_path: Path, waiting: Warm) -> Yard:
    return yard_in(tmp_path, waiting)


def files(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file except git's own data, with its mode and content."""
    inside = [one for one in folder.rglob("*") if one.is_file() and ".git" not in one.relative_to(folder).parts]
    hooks = [one for one in (folder / ".git" / "hooks").glob("*") if one.is_file()]
    return {str(one.relative_to(folder)): (one.stat().st_mode, one.read_bytes()) for one in (*inside, *hooks)}


def recorded(yard: Yard) -> list[str]:
    (folder,) = (yard.state / "gates").iterdir()
    return [json.loads(line)["what"] for line in (folder / "record.jsonl").read_text().splitlines()]


# -- an agent's stop ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("USE-5", "LAW-9")
def test_an_agent_is_not_let_go_while_it_is_red_and_is_when_it_is_green(yard: Yard) -> None:
    yard.install("claude")
    blocked = yard.stop()
    assert blocked["decision"] == "block"
    assert "slug: a held-out example fails: it does not return the expected value" in blocked["reason"]
    assert SECRET not in json.dumps(blocked)
    yard.write("slug.py", GREEN)
    before = yard.seen()
    assert yard.stop(active=True) == {}
    assert yard.seen() == before
    # the work is in a new file, which is not added to git
    yard.write("slug.py", "from words import slugify\n")
    yard.write("words.py", GREEN)
    assert yard.stop(active=True) == {}
    yard.write("words.py", RED)
    assert yard.stop(active=True)["decision"] == "block"


# It saves each text that it is called with, and quotes them all when an existing test calls it again.
QUOTING = """import pathlib

SEEN = pathlib.Path(__file__).with_name("seen.txt")


def slugify(text):
    seen = SEEN.read_text() if SEEN.exists() else ""
    if text == "kept" and seen:
        raise ValueError(seen)
    if text != "kept":
        SEEN.write_text(seen + text)
    return "-".join(text.lower().split())
"""


@pytest.mark.spec("LAW-7")
@pytest.mark.slow
def test_an_agent_that_asks_the_gate_itself_is_not_told_what_its_code_quotes(yard: Yard) -> None:
    yard.write(
        "tests/test_kept.py", "from slug import slugify\n\n\ndef test_kept():\n    assert slugify('kept') == 'kept'\n"
    )
    yard.git("add", ".")
    yard.git("commit", "-qm", "a test")
    yard.install("claude")
    yard.write("slug.py", QUOTING)
    asked = yard.trued("gate", "--json")
    found = json.loads(asked.stdout)
    runs = [one for row in found["existing_tests"] for one in row["evidence"] if one["side"] == "head"]
    assert any(one["tainted"] and one["failed"] for one in runs), runs
    assert not any(word in asked.stdout + asked.stderr for word in ("Quux", SECRET))


def test_the_cap_lets_it_go_loudly_and_a_tree_is_judged_once(yard: Yard) -> None:
    yard.install("claude", more=("--attempts", "2"))
    answers = [yard.stop(active=number > 0) for number in range(4)]
    assert ["decision" in one for one in answers] == [True, True, False, False]
    assert all("NOT PROVEN" in one["systemMessage"] for one in answers[2:])
    assert recorded(yard).count("let go, not proven") == 2
    (folder,) = (yard.state / "gates").iterdir()
    (verdict,) = (folder / "verdicts").rglob("*.json")
    before = verdict.stat()
    yard.stop("another session")
    after = verdict.stat()
    # the stored verdict was used, not written again
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"hook_event_name": "Stop"}', '{"hook_event_name": "X"}'])
def test_a_malformed_question_blocks_nobody(yard: Yard, text: str) -> None:
    done = yard.trued("gate", "hook", "claude", stdin=text)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("trued gate: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_broken_gate_says_so_and_blocks_nobody(yard: Yard) -> None:
    assert "no contract is sealed" in yard.stop()["systemMessage"]
    yard.install("claude")
    (folder,) = (yard.state / "gates").iterdir()
    contract = folder / "contract.json"
    whole = contract.read_text()
    contract.write_text(whole.replace("lower-cases", "upper-cases"))
    answer = yard.stop()
    assert "decision" not in answer
    assert "the sealed contract was changed" in answer["systemMessage"]
    contract.write_text(whole[:100])
    assert "is damaged" in yard.stop()["systemMessage"]
    contract.unlink()
    assert "nothing is proven" in yard.stop()["systemMessage"]
    contract.write_text(whole)
    question = json.dumps({"hook_event_name": "Stop", "session_id": "s", "cwd": str(yard.repository)})
    without = yard.trued("gate", "hook", "claude", stdin=question, variables={"TRUED_SANDBOX": "none"})
    assert (without.returncode, "decision" in without.stdout) == (0, False)
    assert "nothing is proven" in without.stdout


@pytest.mark.slow
def test_checks_that_do_not_end_hold_nobody_up(yard: Yard) -> None:
    yard.install("claude", more=("--within", "3"))
    yard.write("slug.py", f"import time\ntime.sleep(4711)\n{GREEN}")
    answer = yard.stop()
    assert "did not end within 3 s" in answer["systemMessage"]
    assert "decision" not in answer


@pytest.mark.slow
def test_two_gates_at_once_judge_a_tree_once(yard: Yard) -> None:
    yard.install("claude")
    both = [begun(yard, "gate") for _ in range(2)]
    assert [one.wait(120) for one in both] == [1, 1]
    (folder,) = (yard.state / "gates").iterdir()
    assert len(list((folder / "verdicts").rglob("*.json"))) == 1


@pytest.mark.slow
def test_a_gate_that_is_ended_leaves_no_process_behind(yard: Yard) -> None:
    yard.install("claude")
    yard.write("slug.py", f"import time\ntime.sleep(4711)\n{GREEN}")
    process = begun(yard, "gate")
    until = time.monotonic() + 60
    while len(below := descendants(process.pid)) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert below
    process.terminate()
    assert process.wait(60) == 130
    assert not [one for one in below if identity(one)]
    assert not list((yard.state / "verifications").glob("*/*"))


def begun(yard: Yard, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "trued", *words],
        cwd=yard.repository,
        env=yard.variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


# -- installing --------------------------------------------------------------------------------------------------------


def test_installing_and_removing_leaves_no_trace_and_keeps_what_was_there(yard: Yard) -> None:
    yard.write(".claude/settings.json", '{"model":"opus",\n\n "hooks":{"Stop":[]}}')
    hook = yard.write(".git/hooks/pre-push", "#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    before, seen = files(yard.repository), yard.seen()
    more = ("--shared", "--from", "trued==0.1.0")
    yard.install("claude", "git", "github", more=more)
    once = files(yard.repository)
    assert set(once) - set(before) == {".git/hooks/pre-push.before-trued", ".github/workflows/trued-gate.yml"}
    yard.install("github", "git", "claude")  # again without options: still shared, and from the same package
    assert files(yard.repository) == once
    removed = yard.trued("gate", "remove", "claude", "git", "github")
    assert removed.stdout.splitlines() == ["claude: removed", "git: removed", "github: removed"]
    assert files(yard.repository) == before
    assert yard.seen() == seen
    assert not (yard.repository / ".github").exists()
    assert "was not installed" in yard.trued("gate", "remove", "git").stdout


@pytest.mark.spec("DAY-10")
def test_only_this_user_has_the_hook_unless_it_is_shared(yard: Yard) -> None:
    """A colleague without trued would get a hook error at every stop."""
    before = files(yard.repository)
    assert "add .claude/settings.local.json to .gitignore" in yard.install("claude").stderr
    assert set(files(yard.repository)) - set(before) == {".claude/settings.local.json"}
    (yard.repository / ".git" / "info" / "exclude").write_text("settings.local.json\n")
    assert "gitignore" not in yard.install("claude").stderr
    yard.install("claude", more=("--shared",))
    assert set(files(yard.repository)) - set(before) == {".claude/settings.json"}
    yard.install("claude")  # without --shared: the hook stays in the shared file
    assert set(files(yard.repository)) - set(before) == {".claude/settings.json"}
    yard.trued("gate", "remove", "claude")
    assert files(yard.repository) == before


@pytest.mark.slow
def test_the_requirements_are_sealed_at_installation_and_the_file_is_not_needed_later(yard: Yard) -> None:
    yard.install("claude")
    yard.requirements.unlink()
    assert yard.stop()["decision"] == "block"
    yard.write("slug.py", GREEN)
    assert yard.stop(active=True) == {}


@pytest.mark.slow
def test_a_new_base_is_sealed_with_the_requirements_as_they_were_though_their_file_is_gone(yard: Yard) -> None:
    yard.install("git")
    yard.requirements.unlink()
    yard.write("README.md", "others' work\n")
    yard.git("commit", "-qam", "others")
    code, said = at_a_terminal(yard, "gate", "amend", "--base", "HEAD", "--as", "Ann", "--reason", "rebased")
    assert code == 0, said
    gate = json.loads(yard.trued("gate", "status", "--json").stdout)["gate"]
    assert gate["base"] == yard.git("rev-parse", "HEAD").stdout.strip()
    assert gate["requirements_file"] == str(yard.requirements)


def test_a_hooks_folder_that_cannot_be_written_is_one_sentence(yard: Yard) -> None:
    yard.git("config", "core.hooksPath", "/dev/null")
    done = yard.trued("gate", "install", "git", "--requirements", str(yard.requirements))
    assert (done.returncode, "cannot write /dev/null/pre-push" in done.stderr) == (2, True), done.stderr


def test_work_on_a_pushed_branch_begins_where_it_left_the_main_branch(yard: Yard) -> None:
    """The pushed copy of a branch contains the work itself."""
    yard.git("init", "-q", "--bare", str(yard.top / "remote.git"))
    yard.git("remote", "add", "origin", str(yard.top / "remote.git"))
    yard.git("push", "-qu", "origin", "main")
    main = yard.git("rev-parse", "HEAD").stdout.strip()
    yard.git("switch", "-qc", "topic")
    yard.write("slug.py", GREEN)
    yard.git("commit", "-qam", "work")
    yard.git("push", "-qu", "origin", "topic")
    assert open_checkout(yard.repository, yard.variables).start() == main


@pytest.mark.slow
def test_other_requirements_are_no_installation_but_an_amendment(yard: Yard) -> None:
    yard.install("claude")
    yard.requirements.write_text(REQUIREMENTS.replace(SECRET, "anything"))
    done = yard.trued("gate", "install", "claude", "--requirements", str(yard.requirements))
    assert done.returncode == 2
    assert "another contract is already sealed" in done.stderr
    lowered = yard.trued("gate", "install", "git", "--accept", "tested")
    assert lowered.returncode == 2


@pytest.mark.slow
def test_a_file_in_the_working_tree_is_visible_and_the_bar_can_be_lowered(yard: Yard) -> None:
    yard.write("trued.yaml", REQUIREMENTS)
    words = ("gate", "install", "claude", "--requirements", "trued.yaml", "--accept", "tested")
    done = yard.trued(*words)
    assert done.returncode == 0
    assert "count as visible" in done.stderr
    yard.write("slug.py", GREEN)
    assert "--accept tested" in yard.stop()["systemMessage"]
    assert yard.trued("gate").returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("install", "claude"), "no requirements are given"),
        (("install", "claude", "--requirements", "none.yaml"), "there is no file none.yaml"),
        (("install", "svn", "--requirements", "none.yaml"), "cannot be installed in 'svn'"),
        (("install", "git", "--requirements", "../requirements.yaml", "--base", "nope"), "no commit"),
        ((), "no gate is installed here"),
        (("amend",), "no gate is installed here"),
    ],
)
def test_what_cannot_be_installed_is_one_sentence(yard: Yard, words: tuple[str, ...], said: str) -> None:
    before = files(yard.repository)
    done = yard.trued("gate", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert files(yard.repository) == before


def test_private_state_inside_the_repository_is_refused(yard: Yard) -> None:
    words = ("gate", "install", "git", "--requirements", str(yard.requirements))
    done = yard.trued(*words, variables={"TRUED_HOME": str(yard.repository / "state")})
    assert "is inside the repository" in done.stderr


@pytest.mark.spec("LAW-3")
def test_a_gate_that_a_liar_planted_in_the_working_tree_is_not_believed(yard: Yard) -> None:
    yard.install("claude")
    shutil.copytree(yard.state / "gates", yard.repository / "planted" / "gates")
    (gate,) = (yard.repository / "planted" / "gates").glob("*/gate.json")
    gate.write_text(gate.read_text().replace('"accept": "attested"', '"accept": "refuted"'))
    planted = {"TRUED_HOME": str(yard.repository / "planted")}
    yard.write("slug.py", f"{RED}# done\n")
    done = yard.trued("gate", variables=planted)
    assert (done.returncode, "is inside the repository" in done.stderr) == (2, True)
    question = {"hook_event_name": "Stop", "session_id": "s1", "cwd": str(yard.repository)}
    answer = yard.trued("gate", "hook", "claude", stdin=json.dumps(question), variables=planted)
    assert "could not judge, so nothing is proven" in json.loads(answer.stdout)["systemMessage"]


# -- a person's word ---------------------------------------------------------------------------------------------------


def at_a_terminal(yard: Yard, *words: str) -> tuple[int, str]:
    """Run the command at a terminal; return its exit code and what it showed."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "trued", *words],
        cwd=yard.repository,
        env={**yard.variables, "TERM": "xterm"},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    )
    os.close(follower)
    said = b""
    while process.poll() is None or select.select([leader], [], [], 0)[0]:
        if select.select([leader], [], [], 0.1)[0]:
            try:
                said += os.read(leader, 4096)
            except OSError:
                break
    os.close(leader)
    return process.wait(60), said.decode(errors="replace")


@pytest.mark.spec("LAW-3")
def test_only_a_person_amends_the_contract(yard: Yard) -> None:
    yard.install("claude")
    yard.requirements.write_text(REQUIREMENTS.replace(SECRET, "Quux  Zebra"))
    words = ("gate", "amend", "--requirements", str(yard.requirements), "--as", "Ann", "--reason", "it was wrong")
    refused = yard.trued(*words)
    assert (refused.returncode, "needs a terminal" in refused.stderr) == (2, True)
    for name in ("CLAUDECODE", "TRUED_CALL"):
        inside = yard.trued(*words, variables={name: "1"})
        assert (inside.returncode, "refused inside an agent" in inside.stderr) == (2, True)
    assert yard.trued("gate", "remove", "claude", variables={"CLAUDECODE": "1"}).returncode == 2
    code, said = at_a_terminal(yard, *words)
    assert code == 0, said
    status = json.loads(yard.trued("gate", "status", "--json").stdout)["gate"]
    (note,) = status["amendments"]
    assert (note["who"], note["why"]) == ("Ann", "it was wrong")
    assert note["contract"] == status["contract"]
    shown = yard.trued("gate", "status").stdout
    assert ("amended by Ann" in shown, "['" in shown) == (True, False)  # printed as text, not as a Python list


@pytest.mark.slow
def test_a_person_accepts_what_no_check_can_show_for_exactly_this_work(yard: Yard) -> None:
    yard.requirements.write_text(
        REQUIREMENTS + '  - {id: looks, text: it looks right, checks: [{kind: manual, steps: ["look"]}]}\n'
    )
    yard.install("claude")
    yard.write("slug.py", GREEN)
    assert "only your approval is missing for looks" in yard.stop()["systemMessage"]
    assert yard.trued("gate").returncode == 3
    code, said = at_a_terminal(yard, "gate", "amend", "--attest", "looks", "--as", "Ann", "--reason", "I looked")
    assert code == 0, said
    assert yard.trued("gate").returncode == 0
    yard.write("README.md", "other work\n")
    assert yard.trued("gate").returncode == 3


def test_meddling_is_seen(yard: Yard) -> None:
    yard.install("claude", "git")
    assert json.loads(yard.trued("gate", "status", "--json").stdout)["troubles"] == []
    yard.git("config", "core.hooksPath", str(yard.top / "none"))  # git would no longer call the hook
    (trouble,) = json.loads(yard.trued("gate", "status", "--json").stdout)["troubles"]
    assert "git looks for hooks in" in trouble
    yard.git("config", "--unset", "core.hooksPath")
    settings = yard.repository / ".claude" / "settings.local.json"
    settings.write_text("{}")
    (yard.repository / ".git" / "hooks" / "pre-push").write_text("#!/bin/sh\nexit 0\n")
    troubles = json.loads(yard.trued("gate", "status", "--json").stdout)["troubles"]
    assert [("settings.local.json" in one, "pre-push" in one) for one in troubles] == [(True, False), (False, True)]
    assert "changed or removed" in yard.stop()["systemMessage"]
    assert yard.stop(hook_event_name="ConfigChange", source="project_settings")["decision"] == "block"


def test_settings_may_change_whatever_became_of_the_gate_in_other_places(yard: Yard) -> None:
    """A branch without the workflow is checked out, for example."""
    yard.install("claude", "github", more=("--from", "trued==0.1.0"))
    (yard.repository / ".github" / "workflows" / "trued-gate.yml").unlink()
    assert yard.hook("ConfigChange", source="local_settings") == {}


def test_a_repository_that_git_cannot_read_is_not_called_one_without_a_gate(yard: Yard) -> None:
    yard.install("claude")
    (yard.repository / ".git" / "HEAD").write_text("nothing\n")
    assert "could not judge" in yard.stop()["systemMessage"]


@pytest.mark.spec("USE-6")
def test_the_command_of_a_gate_loads_no_module_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("open('ran', 'w')\n")
    done = subprocess.run([*shlex.split(_command()), "--help"], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, (tmp_path / "ran").exists()) == (0, False)
