"""Hands a run over that cannot go on by itself, and says beforehand what one would take."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trued.engine import limits
from trued.engine.estimate import Cast, Estimate, calls_of, estimate
from trued.engine.handover_file import NAME, Standing, handover
from trued.engine.spending import spent_lines
from trued.inputs.plans.plan import parse_plan
from trued.model import Goal, RunRecord
from trued.run.agent_call import Answered
from trued.support import atomic_files as durable
from trued.workflows.handoff.feature_list import is_feature_list, parse_feature_list

if TYPE_CHECKING:
    from trued.engine.engine import Engine

HALTED = ("limited", "not proven", "waiting", "stopped")
PLANNER, INITIALIZER = "planner#", "initializer#"
PIPELINE, TEAM = "pipeline", "team"


def handed_over(engine: "Engine", record: RunRecord) -> str:
    """Write HANDOVER.md where a limit or no progress ended the work; the file's name, or "" where nothing is to hand
    over. What an earlier halt left is gone when the run has got further."""
    events = tuple(engine.journal.events(record.id))
    stuck = any(event.kind == "no progress" for event in events)
    file = engine.folder(record.id) / "files" / NAME
    if record.state != "limited" and not (stuck and record.state in HALTED):
        file.unlink(missing_ok=True)
        return ""
    contract = engine.contract(record.id)
    standing = Standing(
        record,
        record.state,
        record.why or "no progress: the same gaps and not a line changed, twice running",
        engine.verdict(record.id),
        tuple(one.id for one in contract.requirements) if contract else (),
        events,
        tuple(spent_lines(engine, record.id)),
        tuple(_commands(record)),
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    durable.write(file, handover(standing).encode(), sync=False)
    return str(file)


def _commands(record: RunRecord) -> Iterator[tuple[str, str]]:
    name = record.id
    if record.state == "limited":
        _, mark, more = record.why.rpartition("go on with more: ")
        yield (more, "goes on, with a higher limit") if mark else (f"trued resume {name}", "goes on")
    elif record.state == "waiting":
        yield f"trued show {name}", "tells what it waits for"
        yield f"trued resume {name}", "goes on after your answer"
    yield f"trued ledger {name}", "shows every requirement with its grade"
    yield f"trued diff {name}", "shows the work"
    yield f"git switch {record.branch}", "lets you go on by hand; `trued verify` judges what you make of it"


# -- beforehand --------------------------------------------------------------------------------------------------------


def estimated(engine: "Engine", run_id: str) -> Estimate:
    """What the work will take that a planned run has before it."""
    inputs = engine.inputs(run_id)
    settings, price = inputs.settings, limits.prices(inputs.settings)
    rounds = settings.team.attempts if settings.workflow == TEAM else settings.rounds
    wanted = calls_of(settings.workflow, tasks=_tasks(engine, run_id), rounds=rounds)
    cast = [
        Cast(role, agent, fewest, most, price(agent, _model(engine, run_id, role)), len(inputs.goal.text))
        for role, (fewest, most) in wanted.items()
        if (agent := settings.agents.get(role) or settings.agents.get("*", "")) and role not in settings.team.off
    ]
    return estimate(cast, engine.journal.past, limits.in_force(engine, run_id))


def _model(engine: "Engine", run_id: str, role: str) -> str:
    found = engine.inputs(run_id).roles.get(role)
    return found.model if found else ""


def _tasks(engine: "Engine", run_id: str) -> int:
    inputs = engine.inputs(run_id)
    goal = inputs.goal
    if inputs.settings.workflow == "handoff":
        return _features(engine, run_id, goal)
    if inputs.settings.workflow == "ticket":
        return 1
    if inputs.settings.workflow == TEAM:
        told = [one.data for one in engine.journal.events(run_id) if one.kind == TEAM]
        return int(told[-1]["tasks"]) if told else 1
    if goal.source.file and inputs.settings.workflow != PIPELINE:  # its plan is the planner's, whatever the file holds
        return len(parse_plan(goal.text, goal.source.file).tasks)
    return _replied(engine, run_id, PLANNER, "tasks")


def _features(engine: "Engine", run_id: str, goal: Goal) -> int:
    if is_feature_list(goal.text):
        return len(parse_feature_list(goal.text, goal.source.file).features)
    return _replied(engine, run_id, INITIALIZER, "features")


def _replied(engine: "Engine", run_id: str, role: str, what: str) -> int:
    """How many of them an agent of this role named."""
    asked = [key for key, _, _ in engine.journal.steps(run_id) if key.startswith(role)]
    if not asked:
        return 1
    reply = Answered.model_validate_json(engine.journal.step(run_id, asked[-1]) or "").reply or {}
    return max(1, len(reply.get(what) or ()))
