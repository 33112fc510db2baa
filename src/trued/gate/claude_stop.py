"""Claude Code's questions: may it stop, and may its settings change? Asked and answered in JSON."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trued.errors import BadInput
from trued.gate.judge import Judgement
from trued.gate.messages import heading, lacking, reasons
from trued.gate.state import Gate, Session
from trued.model import Grade, Value
from trued.proof.contract import success

CHANGED = "ConfigChange"
EVENTS = ("Stop", "SubagentStop", CHANGED)
MOST_BYTES = 8 * 2**20  # the question carries the agent's last message


class Asked(Value):
    """What of the question is used here."""

    event: str
    session: str
    folder: str = ""
    active: bool = False  # it goes on already because a hook did not let it stop


@dataclass(frozen=True, slots=True)
class Decision:
    """What is said to the agent, what to the user, and what is remembered of the session."""

    session: Session
    blocked: str = ""  # the reason that the agent reads; "" lets it go
    said: str = ""

    def answer(self) -> dict[str, Any]:
        told = {"systemMessage": self.said} if self.said else {}
        return {"decision": "block", "reason": self.blocked, **told} if self.blocked else told


def asked(data: bytes) -> Asked:
    """The question, or one sentence on what is wrong with it."""
    then = "this command is for Claude Code's hooks; `trued gate` judges the working tree"
    if len(data) > MOST_BYTES:
        raise BadInput("the hook's input is too long", then=then)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise BadInput("the hook's input is no JSON", then=then) from None
    if not isinstance(value, dict):
        raise BadInput("the hook's input is no JSON object", then=then)
    event, session, folder = (value.get(name, "") for name in ("hook_event_name", "session_id", "cwd"))
    if event not in EVENTS:
        raise BadInput(f"the hook's input is of the event {event!a:.60}, not of {' or '.join(EVENTS)}", then=then)
    if not isinstance(session, str) or not session:
        raise BadInput("the hook's input names no session_id", then=then)
    agent = value.get("agent_id", "")
    name = f"{session}/{agent}" if event == "SubagentStop" and isinstance(agent, str) else session
    return Asked(
        event=event,
        session=name,
        folder=folder if isinstance(folder, str) and "\0" not in folder else "",
        active=value.get("stop_hook_active") is True,
    )


def decide(gate: Gate, found: Judgement, session: Session, *, active: bool) -> Decision:
    """Blocked while the bar is not reached, a bounded number of times; then let go, and loudly not proven."""
    said = f"trued gate: {heading(found.outcome, gate.accept)}"
    if success(found.verdict, gate.accept):
        lowered = gate.accept.rank < Grade.ATTESTED.rank
        return Decision(Session(tree=found.tree), said=said if lowered else "")
    if found.outcome.state == "waiting":  # no work of an agent's can add what is missing
        return Decision(Session(tree=found.tree), said=f"{said}; {lacking(found.outcome)}")
    lines = reasons(found.verdict, gate.accept)
    if session.given_up and (active or session.tree == found.tree):
        return Decision(session, said=_loud(said, lines))
    blocks = 0 if session.given_up else session.blocks  # a new turn, and new work: it is looked at anew
    if blocks >= gate.attempts:
        given_up = Session(blocks=blocks, tree=found.tree, given_up=True)
        return Decision(given_up, said=_loud(f"{said}; let go after {blocks} blocked stops", lines))
    blocks += 1
    return Decision(Session(blocks=blocks, tree=found.tree), blocked=_reason(lines, blocks, gate.attempts))


def changed(troubles: list[str]) -> dict[str, Any]:
    """A change of settings that would take the gate away has no effect on the session that is running."""
    said = f"trued gate: {'; '.join(troubles)}; `trued gate remove claude` is how a person takes it out"
    return {"decision": "block", "reason": said, "systemMessage": said} if troubles else {}


def _reason(lines: list[str], blocks: int, attempts: int) -> str:
    listed = "\n".join(f"- {line}" for line in lines)
    return (
        f"This is not done yet: the checks that were sealed before your work do not hold (stop {blocks} of {attempts}"
        f" that is blocked).\n{listed}\n"
        "Mend the work itself; tests and settings that you change are not what judges it. If it cannot be met, say so."
    )


def _loud(said: str, lines: list[str]) -> str:
    return "\n".join([said, *(f"- {line}" for line in lines)])


def folder_of(question: Asked, project: str, here: Path) -> list[Path]:
    """Where the agent works, as far as it says so: most exact first."""
    return [Path(one) for one in (question.folder, project) if one] + [here]
