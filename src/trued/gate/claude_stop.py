"""Answers Claude Code's hooks: may the agent stop, and may its settings change? Both sides speak JSON."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trued.errors import BadInput
from trued.gate.judge import JudgedTree
from trued.gate.messages import headline, missing_approval, reasons
from trued.gate.state import Gate, StopHistory
from trued.model import Value
from trued.proof.contract import is_success

SETTINGS_CHANGED = "ConfigChange"
EVENTS = ("Stop", "SubagentStop", SETTINGS_CHANGED)
MOST_BYTES = 8 * 2**20  # the hook's input carries the agent's last message


class HookCall(Value):
    """One call of a Claude Code hook: the fields that the gate uses."""

    event: str
    session: str
    folder: str = ""
    active: bool = False  # a hook has already blocked this turn's stop once


@dataclass(frozen=True, slots=True)
class StopDecision:
    """The answer to a stop hook, and the session's state to save."""

    session: StopHistory
    blocked: str = ""  # the reason that the agent reads; "" lets it stop
    message: str = ""  # the message that the user reads

    def answer(self) -> dict[str, Any]:
        shown = {"systemMessage": self.message} if self.message else {}
        return {"decision": "block", "reason": self.blocked, **shown} if self.blocked else shown


def parse_hook_call(data: bytes) -> HookCall:
    """Parse a hook's input; raises BadInput if it is not one of Claude Code's."""
    then = "this command is for Claude Code's hooks; `trued gate` judges the working tree"
    if len(data) > MOST_BYTES:
        raise BadInput("the hook's input is too long", then=then)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise BadInput("the hook's input is not JSON", then=then) from None
    if not isinstance(value, dict):
        raise BadInput("the hook's input is not a JSON object", then=then)
    event, session, folder = (value.get(name, "") for name in ("hook_event_name", "session_id", "cwd"))
    if event not in EVENTS:
        raise BadInput(f"the hook's event is {event!a:.60}; expected {' or '.join(EVENTS)}", then=then)
    if not isinstance(session, str) or not session:
        raise BadInput("the hook's input has no session_id", then=then)
    agent = value.get("agent_id", "")
    name = f"{session}/{agent}" if event == "SubagentStop" and isinstance(agent, str) else session
    return HookCall(
        event=event,
        session=name,
        folder=folder if isinstance(folder, str) and "\0" not in folder else "",
        active=value.get("stop_hook_active") is True,
    )


def decide(gate: Gate, judged: JudgedTree, session: StopHistory, *, active: bool) -> StopDecision:
    """Block the stop until the requirements are met, at most `gate.attempts` times in a row.

    After that the agent may stop, and the user reads that nothing is proven. A session that was let go is blocked
    again only in a new turn with new work.
    """
    message = f"trued gate: {headline(judged.outcome, gate.accept)}"
    if is_success(judged.verdict, gate.accept):
        lowered = gate.accept.is_lowered_bar
        return StopDecision(StopHistory(tree=judged.tree), message=message if lowered else "")
    if judged.outcome.state == "waiting":  # only a person can add what is missing
        return StopDecision(StopHistory(tree=judged.tree), message=f"{message}; {missing_approval(judged.outcome)}")
    lines = reasons(judged.verdict, gate.accept)
    if session.given_up and (active or session.tree == judged.tree):
        return StopDecision(session, message=_with_reasons(message, lines))
    blocks = 0 if session.given_up else session.blocks  # a new turn with new work starts at zero
    if blocks >= gate.attempts:
        given_up = StopHistory(blocks=blocks, tree=judged.tree, given_up=True)
        return StopDecision(
            given_up, message=_with_reasons(f"{message}; allowed to stop after {blocks} blocked stops", lines)
        )
    blocks += 1
    return StopDecision(
        StopHistory(blocks=blocks, tree=judged.tree), blocked=_block_reason(lines, blocks, gate.attempts)
    )


def answer_settings_change(problems: list[str]) -> dict[str, Any]:
    """The answer to a settings change: blocked if it would remove the gate from the running session."""
    message = f"trued gate: {'; '.join(problems)}; to remove the gate, a person runs `trued gate remove claude`"
    return {"decision": "block", "reason": message, "systemMessage": message} if problems else {}


def _block_reason(lines: list[str], blocks: int, attempts: int) -> str:
    listed = "\n".join(f"- {line}" for line in lines)
    return (
        f"This is not done yet: checks that were sealed before you started do not pass (blocked stop {blocks} of"
        f" {attempts}).\n{listed}\n"
        "Fix the work itself: the sealed checks ignore your changes to tests and settings. If a requirement cannot be"
        " met, say so."
    )


def _with_reasons(message: str, lines: list[str]) -> str:
    return "\n".join([message, *(f"- {line}" for line in lines)])


def work_folders(call: HookCall, project: str, here: Path) -> list[Path]:
    """Folders in which the agent may be working, the most specific first."""
    return [Path(one) for one in (call.folder, project) if one] + [here]
