"""Estimates what a planned run will take, from its inputs, its plan and earlier calls of the same agents."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from trued.engine.estimate import Estimate, PlannedRole, estimate
from trued.engine.limits import limits_in_force, price_lookup
from trued.engine.run_store import RunStore
from trued.run.agent_call import AgentAnswer
from trued.workflows.descriptor import SealedWork
from trued.workflows.registry import descriptor


def estimate_run(store: RunStore, run_id: str) -> Estimate:
    """The estimate for a planned run."""
    inputs = store.inputs(run_id)
    settings, price = inputs.settings, price_lookup(inputs.settings)
    events, reply = store.journal.events(run_id), partial(_last_reply, store, run_id)
    wanted = descriptor(settings.workflow).calls(SealedWork(inputs.goal, settings, events, reply))
    cast = [
        PlannedRole(role, agent, fewest, most, price(agent, _model(store, run_id, role)), len(inputs.goal.text))
        for role, (fewest, most) in wanted.items()
        if (agent := settings.agents.get(role) or settings.agents.get("*", ""))
    ]
    return estimate(cast, store.journal.past, limits_in_force(store, run_id))


def _model(store: RunStore, run_id: str, role: str) -> str:
    found = store.inputs(run_id).roles.get(role)
    return found.model if found else ""


def _last_reply(store: RunStore, run_id: str, role: str) -> Mapping[str, Any]:
    """The role's last reply before the run's first task; {} if there is none."""
    asked = [key for key, _, _ in store.journal.steps(run_id) if key.startswith(f"{role}#")]
    found = store.journal.step(run_id, asked[-1]) if asked else None
    return (AgentAnswer.model_validate_json(found).reply or {}) if found else {}
