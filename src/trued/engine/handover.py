"""Hands a run over that cannot go on by itself, and says beforehand what one would take."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from trued.engine import limits
from trued.engine.estimate import Cast, Estimate, estimate
from trued.engine.handover_file import NAME, Standing, handover
from trued.engine.spending import spent_lines
from trued.model import RunRecord
from trued.model.events.proof import NoProgress
from trued.run.agent_call import AgentAnswer
from trued.support import atomic_files
from trued.workflows.descriptor import SealedWork
from trued.workflows.registry import descriptor

if TYPE_CHECKING:
    from trued.engine.engine import Engine

HALTED = ("limited", "not proven", "waiting", "stopped")


def handed_over(engine: "Engine", record: RunRecord) -> str:
    """Write HANDOVER.md where a limit or no progress ended the work; the file's name, or "" where nothing is to hand
    over. What an earlier halt left is gone when the run has got further."""
    events = tuple(engine.journal.events(record.id))
    stuck = any(event.kind == NoProgress.KIND for event in events)
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
    atomic_files.write(file, handover(standing).encode(), sync=False)
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
    events, reply = engine.journal.events(run_id), partial(_last_reply, engine, run_id)
    wanted = descriptor(settings.workflow).calls(SealedWork(inputs.goal, settings, events, reply))
    cast = [
        Cast(role, agent, fewest, most, price(agent, _model(engine, run_id, role)), len(inputs.goal.text))
        for role, (fewest, most) in wanted.items()
        if (agent := settings.agents.get(role) or settings.agents.get("*", ""))
    ]
    return estimate(cast, engine.journal.past, limits.in_force(engine, run_id))


def _model(engine: "Engine", run_id: str, role: str) -> str:
    found = engine.inputs(run_id).roles.get(role)
    return found.model if found else ""


def _last_reply(engine: "Engine", run_id: str, role: str) -> Mapping[str, Any]:
    """What an agent of this role replied last, before the run's first task; {} if nobody has."""
    asked = [key for key, _, _ in engine.journal.steps(run_id) if key.startswith(f"{role}#")]
    found = engine.journal.step(run_id, asked[-1]) if asked else None
    return (AgentAnswer.model_validate_json(found).reply or {}) if found else {}
