"""Answers Claude Code's hooks: may the agent stop, and may its settings change? Hook input and answers are JSON.

A turn or a subagent that changed no file is not blocked.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trued.errors import BadInput
from trued.gate.judge import Judge, JudgedTree
from trued.gate.messages import headline, missing_approval, missing_from_machine, reasons
from trued.gate.state import Gate, StopHistory
from trued.gate.turn_work import TurnWork, beginning_now, work_since
from trued.gate.turns import Beginning
from trued.model import Value
from trued.support.plain_text import plain_line
from trued.support.plurals import few

SETTINGS_CHANGED = "ConfigChange"
TURN_BEGINS, AGENT_BEGINS = "UserPromptSubmit", "SubagentStart"
BEGINNINGS = (TURN_BEGINS, AGENT_BEGINS)
TURN_ENDS, AGENT_ENDS = "Stop", "SubagentStop"
EVENTS = (TURN_ENDS, AGENT_ENDS, SETTINGS_CHANGED, TURN_BEGINS, AGENT_BEGINS)
NOTHING_CHANGED = "trued gate: no file was changed in this turn, so nothing was checked"
NAMED, LONGEST_PATH = 5, 100  # at most this many paths in one message, and characters of a path
MOST_BYTES = 8 * 2**20  # at most this many bytes of a hook's input, which contains the agent's last message


class HookCall(Value):
    """One call of a Claude Code hook: the fields that the gate uses."""

    event: str
    session: str  # for a subagent: session and subagent, so that its blocked stops are counted separately
    conversation: str = ""  # the session without the subagent
    agent: str = ""  # the subagent's id; "" if the call is not about a subagent
    prompt: str = ""  # the id of the prompt that began the turn; "" in older versions
    folder: str = ""
    active: bool = False  # whether a hook has blocked this turn's stop before


@dataclass(frozen=True, slots=True)
class StopDecision:
    """The answer to a stop hook, and the session's state to save."""

    session: StopHistory
    blocked: str = ""  # the reason that the agent reads; "" lets it stop
    message: str = ""  # the message that the user reads

    def answer(self) -> dict[str, Any]:
        shown_message = {"systemMessage": self.message} if self.message else {}
        return {"decision": "block", "reason": self.blocked, **shown_message} if self.blocked else shown_message


def parse_hook_call(data: bytes) -> HookCall:
    """Parse a hook's input; raises BadInput for input that Claude Code would not send."""
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
    agent, prompt = (field if isinstance(field, str) else "" for field in map(value.get, ("agent_id", "prompt_id")))
    of_agent = event in (AGENT_BEGINS, AGENT_ENDS)
    return HookCall(
        event=event,
        session=f"{session}/{agent}" if of_agent else session,
        conversation=session,
        agent=agent if of_agent else "",
        prompt=prompt,
        folder=folder if isinstance(folder, str) and "\0" not in folder else "",
        active=value.get("stop_hook_active") is True,
    )


def decide(gate: Gate, judged: JudgedTree, session: StopHistory, *, active: bool) -> StopDecision:
    """Block the stop if the requirements are not met, unless only a person can add what is missing.

    At most `gate.attempts` stops in a row are blocked. Then the agent may stop, and the user reads what is not proven.
    After that, the session is blocked again only in a new turn with new work. `active`: whether the turn continues
    because a stop was blocked.
    """
    message = f"trued gate: {headline(judged.outcome, gate.accept)}"
    if judged.passed:
        lowered = gate.accept.is_lowered_bar
        return StopDecision(StopHistory(tree=judged.tree), message=message if lowered else "")
    if judged.needs_person:
        return StopDecision(StopHistory(tree=judged.tree), message=f"{message}; {_persons_part(judged)}")
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


async def answer_stop(call: HookCall, judge: Judge) -> tuple[dict[str, Any], JudgedTree | None]:
    """The answer to the end of a turn or subagent, and the verdict if the tree was judged.

    A turn may be blocked if it changed files or if its beginning is unknown.

    A turn that changed nothing is never blocked. The tree is still judged, to inform the user, because an interrupted
    turn or a process that outlived its turn may have changed it. If the tree is still as the user handed it to the
    session, the checks do not run: only an earlier verdict on this tree is reported.

    A subagent may be blocked if its beginning is known, it changed files, and no other subagent worked at the same
    time. Otherwise its work is judged at the end of the turn.
    """
    log, taken = judge.store.turns(call.conversation), await judge.snapshot()
    began = log.agent(call.agent) if call.event == AGENT_ENDS else log.turn(call.prompt)
    busy = judge.store.busy_worktrees(call.conversation)
    changed = await work_since(began, judge, taken, busy) if began else TurnWork((taken,))
    work = changed.to_judge
    if call.event == AGENT_ENDS:
        if began is None or not work or not log.is_alone(call.agent):
            log.end_agent(call.agent)
            return {}, None
    elif not work:
        first, unseen = log.first(), _unseen_note(began, busy) if began else ""
        if first and first.is_still(judge.checkout.root, taken.tree) and not judge.is_known(taken.tree):
            return _message(NOTHING_CHANGED, unseen), None
        judged = await judge.judge_snapshot(taken)
        return _message("" if judged.passed else _verdict_note(judge.gate, judged), unseen), judged
    judged = await judge.judge_each(work)
    decision = decide(judge.gate, judged, judge.store.session(call.session), active=call.active)
    judge.store.save_session(call.session, decision.session)
    if call.agent and not decision.blocked:
        log.end_agent(call.agent)
    if changed.inside and not decision.blocked:
        told = "\n".join(filter(None, [decision.message, _unjudged_note(changed.inside)]))
        decision = replace(decision, message=told)
    return decision.answer(), judged


async def record_beginning(call: HookCall, judge: Judge) -> None:
    """Record the working tree at the beginning of a turn or subagent, and the work that this tree does not contain: on
    branches, under tags, in other worktrees, and in repositories nested in the working tree."""
    beginning = await beginning_now(judge, judge.store.busy_worktrees(call.conversation))
    log = judge.store.turns(call.conversation)
    if call.event == AGENT_BEGINS:
        log.begin_agent(call.agent, beginning)
    else:
        log.begin_turn(call.prompt, beginning)


def _message(*notes: str) -> dict[str, Any]:
    """The answer that lets the agent stop, with what the user reads."""
    told = "\n".join(filter(None, notes))
    return {"systemMessage": told} if told else {}


def _unseen_note(began: Beginning, busy: Collection[str]) -> str:
    worktrees = [root for root, tree in began.elsewhere.items() if not tree and root not in busy]
    places = {"repositories inside this one": began.unseen, "other worktrees": worktrees}
    named = [f"{what}: {_named(paths)}" for what, paths in places.items() if paths]
    return f"trued gate: it is unknown whether this turn changed {'; '.join(named)}" if named else ""


def _named(paths: Sequence[str]) -> str:
    return few([plain_line(path, LONGEST_PATH) for path in paths], NAMED)


def _unjudged_note(inside: Sequence[str]) -> str:
    return f"trued gate: this turn changed repositories inside this one, which are not judged: {_named(inside)}"


def _verdict_note(gate: Gate, judged: JudgedTree) -> str:
    message = f"trued gate: no file was changed in this turn; {headline(judged.outcome, gate.accept)}"
    if judged.needs_person:
        return f"{message}; {_persons_part(judged)}"
    return _with_reasons(message, reasons(judged.verdict, gate.accept))


def _persons_part(judged: JudgedTree) -> str:
    """What is missing and only a person can add: an approval, or something that this machine lacks."""
    return missing_from_machine(judged.verdict) if judged.lacks_machine else missing_approval(judged.outcome)


def join_answers(answers: Sequence[dict[str, str]]) -> dict[str, str]:
    """The answers of several gates as one answer, which blocks if one of the gates blocks."""
    blocked = {"decision": "block"} if any("decision" in answer for answer in answers) else {}
    told = {
        name: "\n".join(answer[name] for answer in answers if answer.get(name)) for name in ("reason", "systemMessage")
    }
    return blocked | {name: text for name, text in told.items() if text}


def answer_settings_change(problems: list[str]) -> dict[str, Any]:
    """The answer to a settings change. It blocks a change that would remove the gate from the running session."""
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


def work_folders(call: HookCall, project: str, fallback: Path) -> list[Path]:
    """Folders in which the agent may be working, the most specific first: the folder of the hook call, `project` if it
    is not "", and `fallback`."""
    return [Path(folder) for folder in (call.folder, project) if folder] + [fallback]
