"""A turn without changes is not blocked, and an agent cannot disguise its work as such a turn."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gate.yard import GREEN, RED, Yard
from trued.gate.turns import Beginning, TurnLog

WRONG = RED + "# done\n"


def recorded(yard: Yard) -> list[dict[str, Any]]:
    (folder,) = (yard.state / "gates").iterdir()
    return [json.loads(line) for line in (folder / "record.jsonl").read_text().splitlines()]


def judged(yard: Yard) -> int:
    return sum(one["what"] == "judged" for one in recorded(yard))


@pytest.mark.spec("DAY-10")
@pytest.mark.slow
def test_only_turns_that_changed_files_are_blocked(yard: Yard) -> None:
    yard.install("claude")
    yard.write("notes.txt", "the user's own unfinished work")
    yard.prompt("question")
    answer = yard.stop(prompt_id="question")
    assert "decision" not in answer
    assert "no file was changed in this turn" in answer["systemMessage"]
    assert judged(yard) == 0  # a turn with only a question runs no check

    yard.prompt("work")
    yard.write("slug.py", WRONG)
    assert yard.stop(prompt_id="work")["decision"] == "block"
    # a question after blocked work: the verdict is shown again, nothing is blocked
    yard.prompt("why")
    asked = yard.stop(prompt_id="why")
    assert ("decision" in asked, "NOT PROVEN" in asked["systemMessage"]) == (False, True)
    # the next turn works again
    yard.prompt("more")
    yard.write("slug.py", GREEN)
    assert yard.stop(prompt_id="more") == {}
    yard.prompt("thanks")
    assert yard.stop(prompt_id="thanks") == {}


@pytest.mark.spec("DAY-10")
@pytest.mark.slow
def test_a_liar_does_not_pass_its_work_off_as_talk(yard: Yard) -> None:
    yard.install("claude")
    yard.prompt("work")
    yard.write("slug.py", WRONG)
    # the agent sends the event of its own prompt again, and one of a prompt that does not exist
    yard.prompt("work")
    yard.prompt("made up")
    yard.prompt("work")
    assert yard.stop(prompt_id="work")["decision"] == "block"
    # a turn without a recorded beginning is judged
    assert yard.stop(prompt_id="unknown")["decision"] == "block"
    # a linked worktree with the files of the beginning is not the place where the turn began
    other = yard.top / "other"
    yard.git("worktree", "add", "-q", str(other), "HEAD")
    assert yard.stop(prompt_id="work", cwd=str(other))["decision"] == "block"
    # a turn that was interrupted: its work is judged in the next turn, and the user reads it
    yard.prompt("more", "s2")
    yard.write("slug.py", RED + "# other\n")
    yard.prompt("are you done?", "s2")
    before = judged(yard)
    answer = yard.stop("s2", prompt_id="are you done?")
    assert judged(yard) == before + 1
    assert "NOT PROVEN" in answer["systemMessage"]


@pytest.mark.spec("DAY-10")
@pytest.mark.slow
def test_only_a_subagent_that_changed_files_is_judged(yard: Yard) -> None:
    yard.install("claude")
    yard.prompt()
    yard.hook("SubagentStart", agent_id="explorer", agent_type="Explore", prompt_id="p1")
    assert yard.hook("SubagentStop", agent_id="explorer", prompt_id="p1") == {}
    yard.hook("SubagentStart", agent_id="coder", prompt_id="p1")
    yard.write("slug.py", WRONG)
    assert yard.hook("SubagentStop", agent_id="coder", prompt_id="p1")["decision"] == "block"
    # the coder has not ended, so it is unknown who changed what: the end of the turn is judged
    yard.hook("SubagentStart", agent_id="reader", prompt_id="p1")
    yard.write("slug.py", WRONG + "#\n")
    assert yard.hook("SubagentStop", agent_id="reader", prompt_id="p1") == {}
    assert yard.stop(prompt_id="p1")["decision"] == "block"


@pytest.mark.spec("DAY-10")
def test_without_ids_of_prompts_the_newest_prompt_begins_the_turn(yard: Yard) -> None:
    """Older versions of Claude Code send no prompt ids."""
    yard.install("claude")
    for _ in range(2):
        assert yard.hook("UserPromptSubmit") == {}
        assert "decision" not in yard.stop()
    yard.write("slug.py", WRONG)
    assert yard.stop()["decision"] == "block"


def test_a_beginning_is_written_once_and_subagents_at_the_same_time_are_told_apart(tmp_path: Path) -> None:
    log = TurnLog(tmp_path, "s")
    one, two = (Beginning(root="/r", tree=tree, at=at) for tree, at in (("t1", 1.0), ("t2", 2.0)))
    log.begin_turn("p", one)
    log.begin_turn("p", two)
    log.begin_turn("q", two)
    assert (log.turn("p"), log.turn("q"), log.first(), log.turn("r")) == (one, two, one, None)
    log.begin_agent("a", one)
    assert log.is_alone("a")
    log.begin_agent("b", two)
    assert (log.is_alone("a"), log.is_alone("b"), log.is_alone("unknown")) == (False, False, False)
    log.end_agent("a")
    assert not log.is_alone("b")  # they worked side by side for a while
    log.begin_agent("c", Beginning(root="/r", tree="t", at=9e12))
    log.end_agent("b")
    assert log.is_alone("c")
    (tmp_path / log.folder.name / "first.json").write_text("{")
    assert log.first() is None
