"""Prepares a plan for its contract: the chosen parts, prose joined by section, and what the plan marks as done."""

from trued.inputs.plans.done_marks import marked_done
from trued.inputs.plans.prose import joined_prose
from trued.inputs.plans.selection import chosen_parts
from trued.model import Plan, Requirements, Settings


def plan_to_seal(plan: Plan, settings: Settings, requirements: Requirements | None) -> Plan:
    """The plan reduced to `settings.chunks` and `settings.phases`; `requirements`: the user's own file for that part.

    Raises BadInput for a part that the plan does not have.
    """
    given = requirements.requirements if requirements else ()
    part = chosen_parts(plan, settings.chunks, settings.phases, [one.covers for one in given])
    part = joined_prose(part, [entry for one in given for entry in one.covers])
    marked = marked_done(plan.text, plan.source.file)
    return part.model_copy(update={"done": tuple(one.id for one in part.tasks if one.id in marked)})
