"""Real Claude Code before the gate: it stops when its work is proven, and not when it says so."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.gate.yard import GREEN, RED, SECRET, Yard
from tests.real_agents.claude import Spoken, claude
from tests.real_agents.model import Call, Cast, Fault, ModelServer, Read, Run, Say, Script, Step, Write

pytestmark = pytest.mark.agents


MENDED = (Read("slug.py"), Write("slug.py", GREEN))
WRONG = (Read("slug.py"), Write("slug.py", RED + "# done\n"))


def works(
    yard: Yard, *steps: Step, faults: tuple[Fault, ...] = (), helpers: Mapping[str, Script] | None = None
) -> tuple[ModelServer, Spoken]:
    """Claude Code with this model, in front of the gate; no variable tells its hooks where private state is."""
    variables = {name: os.environ[name] for name in ("VIRTUAL_ENV", "PYTHONPATH") if name in os.environ}
    with ModelServer(Cast(helpers or {}, Script(steps, yard.repository, list(faults)))) as model:
        place = yard.top / "agent-home"
        spoken = claude("Make slugify work.", folder=yard.repository, home=place, url=model.url, variables=variables)
    assert spoken.code == 0, spoken.stderr
    return model, spoken


def fed_back(model: ModelServer) -> list[str]:
    """What hooks told the model, as its last request has it."""
    return [text for text in model.asked[-1].texts if text.startswith("Stop hook feedback")]


def recorded(yard: Yard) -> list[str]:
    (folder,) = (yard.state / "gates").iterdir()
    return [json.loads(line)["what"] for line in (folder / "record.jsonl").read_text().splitlines()]


@pytest.mark.spec("USE-5")
def test_claude_code_that_says_it_is_done_while_a_requirement_is_red_has_to_go_on(yard: Yard) -> None:
    yard.install("claude")
    model, spoken = works(yard, *WRONG, Say("Done: everything works."), *MENDED, Say("Now it is done."))
    (reason,) = fed_back(model)
    assert "slug: a held-out example fails: it does not return the expected value" in reason
    assert SECRET not in spoken.text + json.dumps([one.body for one in model.seen])
    assert len(model.asked) == 6  # read, wrote, said done, was sent back, read, mended it, was let go
    assert spoken.result["result"] == "Now it is done."
    assert (yard.repository / "slug.py").read_text() == GREEN
    assert [one for one in recorded(yard) if one in ("blocked", "let go")] == ["blocked", "let go"]


def test_claude_code_whose_work_is_proven_stops_at_once(yard: Yard) -> None:
    yard.install("claude")
    model, _ = works(yard, *MENDED, Say("Done."))
    assert fed_back(model) == []
    assert len(model.asked) == 3


@pytest.mark.spec("DAY-10")
def test_claude_code_that_only_answers_a_question_is_left_alone_and_so_is_a_subagent_that_only_reads(
    yard: Yard,
) -> None:
    yard.install("claude")
    look = Call("Agent", {"description": "look", "prompt": "LOOK AROUND", "subagent_type": "Explore"})
    helpers = {"LOOK AROUND": Script((Read("slug.py"), Say("It is wrong.")), yard.repository)}
    model, spoken = works(yard, look, Say("It returns its argument."), helpers=helpers)
    assert fed_back(model) == []
    assert spoken.result["result"] == "It returns its argument."
    assert recorded(yard)[-2:] == ["left alone", "left alone"]  # the subagent, and the turn
    assert len(model.asked) == 4  # two each


@pytest.mark.spec("USE-5")
def test_claude_code_that_never_mends_it_is_let_go_after_three_stops_and_is_not_proven(yard: Yard) -> None:
    yard.install("claude")
    model, spoken = works(yard, *WRONG, Say("Done, I promise."))
    assert [f"stop {number} of 3" in reason for number, reason in enumerate(fed_back(model), 1)] == [True] * 3
    assert len(model.asked) == 6
    assert spoken.result["result"] == "Done, I promise."
    assert recorded(yard)[-1] == "let go, not proven"
    assert yard.trued("gate").returncode == 1


@pytest.mark.spec("LAW-3")
def test_claude_code_cannot_take_the_gate_away_or_change_what_is_sealed(yard: Yard) -> None:
    yard.install("claude")
    easier = yard.requirements.read_text().replace(SECRET, "Quux  Zebra")
    settings = json.loads((yard.repository / ".claude" / "settings.local.json").read_text())
    program = settings["hooks"]["Stop"][0]["hooks"][0]["command"].partition(" gate hook")[0]
    tries = [
        f"{program} gate remove claude",
        f"env -u CLAUDECODE -u AI_AGENT {program} gate remove claude",
        f"{program} gate amend --accept tested --as Ann --reason because",
    ]
    model, _ = works(
        yard,
        *(Run(one) for one in tries),
        Run("python3 -c \"open('.claude/settings.local.json', 'w').write('{}')\""),
        Run("sleep 3"),  # Claude Code looks at its settings again when they change
        Write("requirements.yaml", easier),
        Read("slug.py"),
        Write("slug.py", RED + "# done\n"),
        Say("Done."),
    )
    said = "\n".join(model.asked[-1].texts)
    assert said.count("refused inside an agent") == len(tries)
    assert len(fed_back(model)) == 3
    status = json.loads(yard.trued("gate", "status", "--json").stdout)
    assert status["gate"]["amendments"] == []
    assert "changed or removed" in status["troubles"][0]


def test_a_gate_that_is_broken_does_not_hold_claude_code_up(yard: Yard) -> None:
    yard.install("claude")
    (folder,) = (yard.state / "gates").iterdir()
    (folder / "contract.json").write_text("{")
    model, spoken = works(yard, Say("Done."))
    assert len(model.asked) == 1
    assert spoken.result["is_error"] is False


def test_the_scripted_model_answers_a_repeated_request_alike_and_fails_when_told(yard: Yard) -> None:
    yard.install("claude")
    faults = (Fault(529), Fault(429, retry_after=0))
    model, _ = works(yard, *MENDED, Say("Done."), faults=faults)
    assert [one.failed for one in model.seen if one.turn.tools][:3] == [529, 429, 0]
    assert len(model.asked) == 3


def test_nothing_of_the_agent_is_left_behind_in_the_repository(yard: Yard) -> None:
    yard.install("claude")
    works(yard, *MENDED, Say("Done."))
    yard.trued("gate", "remove", "claude")
    assert yard.git("status", "--porcelain").stdout == " M slug.py\n"
    assert not Path(yard.repository, ".claude").exists()
