"""Commands by which a person decides: the contract is shown first, and nobody else can change it."""

import asyncio
import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Each, World
from tests.cli.test_command_line import one_sentence
from tests.cli.test_own_words import terminal
from tests.engine.ended_run import RUN, ended_run
from trued.cli.terminal import ask_person
from trued.model import Question
from trued.support.processes import MARKER


@pytest.mark.spec("LAW-3", "USE-7", "USE-10")
def test_a_planned_contract_is_shown_and_amended_by_a_named_person_only(world: World) -> None:
    planned = world.trued("run", *world.work, "--plan-only", "--yes")
    assert planned.returncode == 0, planned.stderr
    unnamed = world.trued("amend", "--remove", "triple")
    assert (unnamed.returncode, "--as NAME --reason TEXT" in unnamed.stderr) == (2, True)
    named = world.trued("approve", "--as", "ann")
    assert (named.returncode, "pass --reason TEXT" in named.stderr, "a name" in named.stderr) == (2, True, False)
    given = ("--as", "ann", "--reason", "one is enough")
    inside = world.trued("amend", "--remove", "triple", *given, **{MARKER: "r/x@1"})
    assert (inside.returncode, "refused inside an agent" in inside.stderr) == (2, True)
    done = world.trued("amend", "--remove", "triple", *given)
    assert done.returncode == 0, done.stderr
    assert "tiny:double(21) → 42" in done.stderr
    assert "tiny:triple" not in done.stderr
    assert "triple" not in str([one["id"] for one in world.data("ledger")["requirements"]])


@pytest.mark.slow
@pytest.mark.spec("LAW-3", "USE-7")
def test_an_amendment_exits_with_0_and_watch_with_the_code_that_the_run_then_has(world: World, tmp_path: Path) -> None:
    done = world.trued("run", *world.work, "--yes")
    assert done.returncode == 0, done.stderr
    more = tmp_path / "more.json"
    case = {"call": "tiny:double", "args": [1], "returns": 3}
    asked = {"id": "more", "text": "more", "checks": [{"kind": "examples", "cases": [case]}]}
    more.write_text(json.dumps({"requirements": [asked]}))
    amended = world.trued("amend", "--add", str(more), "--as", "ann", "--reason", "it was forgotten")
    assert (amended.returncode, "not proven" in amended.stdout) == (0, True), amended.stderr
    assert world.trued("watch").returncode == 1
    assert "exit code is 0" in " ".join(world.trued("amend", "--help").stdout.split())


ANN = ("--as", "ann", "--reason", "the legend is cut off")


@pytest.mark.spec("RUN-8", "LAW-8", "USE-7", "PAGE-4")
def test_what_waits_is_shown_rejected_and_only_taken_back_by_name(each: Each, tmp_path: Path) -> None:
    with ended_run(tmp_path) as place:
        commit = place.commits[0]
    alone = each(["reject", RUN, "look"])[0]
    assert "--as NAME --reason TEXT" in one_sentence(alone)
    data, rows, table, shown, done = each(
        ["show", RUN, "--json"], ["ls", "--json"], ["ls"], ["show", RUN], ["reject", RUN, "look", *ANN]
    )
    (wait,) = json.loads(data.stdout)["waits"]
    assert {name: wait[name] for name in ("kind", "what", "command")} == {
        "kind": "judge",
        "what": "look: look",
        "command": f"trued approve {RUN} look --as NAME --reason TEXT",
    }
    assert wait["since"] > 0
    assert [row["waits"] for row in json.loads(rows.stdout)] == [1]
    assert "waiting (1)" in table.stdout
    assert "1 thing needs you:" in shown.stderr
    assert f"check by hand: look: look (at {commit[:10]}" in shown.stderr
    assert [line.strip() for line in shown.stderr.splitlines() if "[ ]" in line] == ["[ ] open it", "[ ] look"]
    assert f"or: trued reject {RUN} look --as NAME --reason TEXT" in shown.stderr
    assert (done.returncode, "[ ] open it" in done.stderr, f"at commit {commit[:10]}" in done.stderr) == (0, True, True)
    assert "rejected by ann: the legend is cut off" in done.stdout
    assert f"trued resume {RUN}" in done.stderr
    again, instead, why, whole = each(
        ["approve", RUN, "look", "--as", "bob", "--reason", "I like it"],
        ["approve", RUN, "look", "--as", "ann", "--reason", "my mistake", "--instead"],
        ["why", "look", RUN],
        ["show", RUN, "--json"],
    )
    assert [(one["who"], one["way"]) for one in json.loads(whole.stdout)["approvals"]] == [("ann", "command")]
    assert "ann has rejected look already" in one_sentence(again)
    assert "accepted by ann: my mistake" in instead.stdout
    assert f"ann, who accepted it at {commit[:10]}, by command: my mistake" in why.stdout


@pytest.mark.spec("LAW-8", "RUN-8")
def test_no_agent_speaks_for_a_person(each: Each, tmp_path: Path) -> None:
    with ended_run(tmp_path):
        pass
    lines = [[word, RUN, "look", *ANN] for word in ("approve", "reject")] + [["answer", RUN, "yes"]]
    for done in each(*lines, variables={MARKER: "r/x@1"}):
        assert "is refused inside an agent" in one_sentence(done)


@pytest.mark.spec("RUN-8", "HAND-8")
async def test_at_the_terminal_a_decision_goes_with_a_reason_and_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, question = asyncio.get_running_loop(), Question(key="k", text="?", options=("accept", "reject"))
    with terminal(monkeypatch) as person:
        for number, words in enumerate((b"r\n", b"too dark\n", b"Ann Lee\n"), 1):
            loop.call_later(0.2 * number, os.write, person, words)
        async with asyncio.timeout(300):
            no = await ask_person(question)
        for number, words in enumerate((b"a\n", b"\n"), 1):
            loop.call_later(0.2 * number, os.write, person, words)
        async with asyncio.timeout(300):
            later = await ask_person(question)
    assert (no, later) == (("reject", "too dark", "Ann Lee"), None)


def waiting(world: World) -> list[dict[str, Any]]:
    done = world.trued("show", "--json")
    found: list[dict[str, Any]] = json.loads(done.stdout)["waits"] if done.returncode == 0 else []
    return [{name: one[name] for name in ("kind", "what", "requirement", "steps")} for one in found]


@pytest.mark.slow
@pytest.mark.spec("RUN-8", "RUN-2")
def test_the_list_is_the_same_after_kill_9_and_nothing_that_was_answered_is_asked_again(world: World) -> None:
    """The engine is killed while a manual check waits and another chunk is at work, and again before the end."""
    asks = '  - {id: look, text: it reads well, covers: ["1A"], checks: [{kind: manual, steps: [read it]}]}\n'
    file = world.top / "requirements.yaml"
    file.write_text(file.read_text() + asks)
    expected = [{"kind": "judge", "what": "look: it reads well", "requirement": "look", "steps": ["read it"]}]
    run = [sys.executable, "-m", "trued", "run", *world.work, "--yes"]
    with subprocess.Popen(
        run, cwd=world.repository, env=world.variables, stdin=subprocess.DEVNULL, stdout=-3, stderr=-3
    ) as driver:
        until = time.monotonic() + 600
        while waiting(world) != expected:
            assert time.monotonic() < until
            # the run may have ended since `waiting` was called
            assert driver.poll() is None or waiting(world) == expected
            time.sleep(0.2)
        driver.send_signal(signal.SIGKILL)
    assert waiting(world) == expected
    resumed = world.trued("resume")
    assert (resumed.returncode, "look" in resumed.stderr) == (3, True)
    assert waiting(world) == expected
    done = world.trued("approve", world.data("ls")[0]["id"], "look", "--as", "ann", "--reason", "it does")
    assert (done.returncode, "accepted by ann: it does" in done.stdout) == (0, True)
    (row,) = world.data("ls")
    assert (row["state"], row["grade"], row["waits"]) == ("done", "attested", 0)
    assert waiting(world) == []
    second = world.trued("approve", row["id"], "look", "--as", "bob", "--reason", "me too")
    assert "ann has accepted look already" in one_sentence(second)


BLIND_SPOT = """
WORDS = "`python -m loud WORD` prints WORD in upper case"


def examiner(order, folder):
    def case(word):
        shown = {"stdout": f"{word.upper()}\\n", "exit": 0, "quotes": WORDS}
        return {"run": ["python", "-m", "loud", f"{word}\\u200b"], **shown}
    cases = [{"requirement": "goal", "cases": [case("abc"), case("hello")]}]
    return {"interface": ["python -m loud WORD"], "cases": cases}


def solo(order, folder):
    code = "import sys\\nword = sys.argv[1]\\nprint(word[:-1].upper() if word.endswith('\\u200b') else 'no')\\n"
    (folder / "loud.py").write_text(code)
    return {"implemented": ["loud"], "files": [{"path": "loud.py", "what": "new"}]}
"""


@pytest.mark.slow
@pytest.mark.spec("USE-6", "LAW-7", "RUN-8")
def test_who_approves_cases_sees_what_is_invisible_in_them(world: World) -> None:
    """The program answers only to words that end with a character that no terminal shows."""
    script = world.top / "agents.py"
    script.write_text(BLIND_SPOT)
    given = ("--agent", f"scripted:{script}", "--yes")
    assert world.trued("run", "`python -m loud WORD` prints WORD in upper case", *given).returncode == 3
    name = world.data("ls")[0]["id"]
    shown = world.trued("approve", name, "--as", "Bea", "--reason", "I read them").stderr
    assert r"$ python -m loud 'abc\u200b' → prints 'ABC\n'" in shown
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "trued", "diff", name]
    subprocess.run(command, cwd=world.repository, env=world.variables, stdout=theirs, check=True, timeout=300)
    assert rb"word.endswith('\u200b')" in os.read(mine, 65536)
    os.close(theirs)
    os.close(mine)


@pytest.mark.slow
@pytest.mark.spec("LAW-3", "LAW-8", "RUN-8")
@pytest.mark.parametrize("amended", [True, False])
def test_who_signs_has_approved_what_was_shown_and_nothing_newer(world: World, amended: bool) -> None:
    """The contract changes while a person reads it. Nothing is recorded: they have not seen the new one."""
    assert world.trued("run", *world.work, "--plan-only", "--yes").returncode == 0
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "trued", "approve"]
    with subprocess.Popen(
        command, cwd=world.repository, env=world.variables, stdin=theirs, stdout=theirs, stderr=theirs
    ) as person:
        os.close(theirs)
        seen = b""
        while b"Your name" not in seen:
            seen += os.read(mine, 65536)
        if amended:
            given = ("--as", "bob", "--reason", "one is enough")
            assert world.trued("amend", "--remove", "triple", *given).returncode == 0
        os.write(mine, b"ann\n")
        while b"Reason" not in seen:
            seen += os.read(mine, 65536)
        os.write(mine, b"I read it\n")
        with contextlib.suppress(OSError):  # how Linux says that the other end is closed
            while more := os.read(mine, 65536):
                seen += more
    os.close(mine)
    assert (person.returncode, b"has moved on since you looked" in seen) == ((2, True) if amended else (0, False))
    approvals = json.loads(world.trued("show", "--json").stdout)["approvals"]
    assert [one["who"] for one in approvals] == ([] if amended else ["ann"])
