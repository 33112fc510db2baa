"""The limits of a run, how people change them, and what its models cost."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.model import RunLimits, RunRecord, Value

if TYPE_CHECKING:  # at run time, imported only to change limits or look up prices: `show` does neither
    from trued.inputs.settings.limits import LimitChange
    from trued.model import Settings
    from trued.run.budget import QuotaWindow
    from trued.run.context import GrantedRounds
    from trued.wire import Price

# The states in which limits cannot change any more; a run that is "not proven" may get more rounds and new limits.
LIMITS_FIXED = ("done", "stopped", "cancelled")


class LimitStep(Value):
    """One change of a limit by a person. 0 stands for no limit."""

    scope: str  # "" is the whole run; "feature", "task", or a role
    what: str  # usd | tokens | calls | time | quota
    before: float
    to: float

    @property
    def is_higher(self) -> bool:
        """Whether the run may cost more than before."""
        return bool(self.before) and self.to > self.before


def limits_in_force(store: RunStore, run_id: str) -> RunLimits:
    """The limits that the run was started with, after all later changes by people."""
    stored = store.stored_inputs(run_id)["settings"]
    limits = RunLimits.model_validate(stored["limits"]) if "limits" in stored else RunLimits()
    changes = store.journal.limit_changes(run_id)
    if not changes:
        return limits
    from trued.inputs.settings.limits import apply_limits

    return apply_limits(limits, changes)


def limit_steps(store: RunStore, record: RunRecord, given: "Sequence[LimitChange]") -> list[LimitStep]:
    """What each change in `given` would do. Records nothing. Raises BadInput if the run can no longer spend anything,
    if a role is unknown, or if a limit already has the new value."""
    from trued.inputs.settings.limits import PARTS, QUOTA, apply_limits, limit_of

    if given and record.state in LIMITS_FIXED:
        raise BadInput(
            f"run {record.id} is {record.state}: it no longer spends anything", then="`trued ls` lists the runs"
        )
    limits, found = limits_in_force(store, record.id), []
    for scope, what, number in given:
        before = limits.quota if what == QUOTA else getattr(limit_of(limits, scope), what)
        if scope and scope not in PARTS and scope not in store.inputs(record.id).roles:
            known = ", ".join(sorted(store.inputs(record.id).roles))
            raise BadInput(f"run {record.id} has no role {scope!r}", "--limit", f"known: {known}")
        if number == before:
            raise BadInput(
                f"the {what} limit of run {record.id} is already {_amount_text(what, before)}",
                "--limit",
                "pass another limit",
            )
        found.append(LimitStep(scope=scope, what=what, before=before, to=number))
        limits = apply_limits(limits, [(scope, what, number)])
    return found


def change_limits(
    store: RunStore,
    record: RunRecord,
    given: "Sequence[LimitChange]",
    who: str,
    *,
    may_raise: bool = True,
    may_lower: bool = True,
) -> list[LimitStep]:
    """Record new limits with the person's name. A running run applies them before its next call.

    Raises BadInput, and records nothing, if a change raises or lowers a limit and the caller may not (`may_raise`,
    `may_lower`). Also raises BadInput if a change raises a limit while a running agent of the run can reach the
    person's session.
    """
    from trued.engine.impersonation import refuse_if_agent_could_answer

    steps = limit_steps(store, record, given)
    for step in steps:
        has = f"the {step.what} limit of run {record.id} is {_amount_text(step.what, step.before)}"
        if step.is_higher and not may_raise:
            raise BadInput(has, "--limit", "raise it in your own terminal: the run may then cost more")
        if step.before and not step.is_higher and not may_lower:
            raise BadInput(has, "--limit", f"pass a higher limit; `trued limit {record.id}` lowers one")
    if steps and (not may_lower or any(step.is_higher for step in steps)):
        refuse_if_agent_could_answer(store, record)
    from trued.model.events.run import LimitLowered, LimitRaised

    for step in steps:
        store.journal.change_limit(record.id, step.scope, step.what, step.to, who)
        if step.is_higher or not may_lower:
            store.writer(record).emit(LimitRaised(scope=step.scope, what=step.what, to=step.to, who=who))
        else:
            store.writer(record).emit(LimitLowered(scope=step.scope, what=step.what, to=step.to, who=who))
    return steps


def _amount_text(what: str, amount: float) -> str:
    from trued.inputs.settings.limits import WHOLE_NUMBERS

    return f"{int(amount) if what in WHOLE_NUMBERS else amount:g}"


def add_rounds(store: RunStore, record: RunRecord, rounds: int, who: str) -> None:
    """Record more rounds for a run that has ended without proof. Raises BadInput, and records nothing, if the run
    cannot use more rounds."""
    from trued.engine.impersonation import refuse_if_agent_could_answer
    from trued.model.events.run import RoundsAdded
    from trued.workflows.registry import descriptor

    if rounds < 1:
        raise BadInput("fewer than 1 round adds nothing", "--rounds", "pass 1 or more")
    if not descriptor(record.workflow).takes_more_rounds:
        what = f"a {record.workflow} run takes no more rounds once it has ended"
        raise BadInput(what, "--rounds", f"`trued show {record.id}` says what it needs")
    if record.state != "not proven":
        what = f"run {record.id} is {record.state}: more rounds are for a run that ended without proof"
        raise BadInput(what, "--rounds", f"leave it out: trued resume {record.id}")
    refuse_if_agent_could_answer(store, record)
    finishes = sum(key.startswith("finish#") for key, _, _ in store.journal.steps(record.id))
    amendments = len(store.amendments(record.id))
    store.writer(record).emit(RoundsAdded(rounds=rounds, finishes=finishes, who=who, amendments=amendments))
    store.journal.update(record.model_copy(update={"state": "interrupted"}))


def rounds_granted(store: RunStore, run_id: str) -> "tuple[GrantedRounds, ...]":
    """The rounds that people granted after the run had finished, oldest first."""
    from trued.model.events import of_kind
    from trued.model.events.run import RoundsAdded
    from trued.run.context import GrantedRounds

    granted = of_kind(store.journal.events_of_kind(run_id, RoundsAdded.KIND), RoundsAdded)
    return tuple(GrantedRounds(added.finishes, added.rounds, added.amendments) for _, added in granted)


def subscription_windows(store: RunStore, run_id: str) -> "dict[str, QuotaWindow]":
    """Kind of agent → what it last reported about the user's subscription."""
    from trued.model.events import of_kind
    from trued.model.events.call import QuotaReported
    from trued.model.settings import agent_kind
    from trued.run.budget import QuotaWindow

    found = store.journal.events_of_kind(run_id, QuotaReported.KIND)
    reported = [event for _, event in of_kind(found, QuotaReported)]
    return {agent_kind(quota.agent): QuotaWindow(quota.window, quota.used, quota.until) for quota in reported}


def price_lookup(settings: "Settings") -> "Callable[[str, str], Price]":
    """A function that returns the price for an agent and a model: the user's own price, else the price in a table, else
    the ceiling from the settings."""
    from trued.agents.adapters import agent_of
    from trued.engine.prices import price_of

    def price(agent: str, model: str) -> "Price":
        kind, _, named = agent.partition(":")
        try:
            sizes = agent_of(agent).models
        except BadInput:  # a test's own agent
            sizes = {}
        meant = sizes.get(named or model, named)
        whole = f"{kind}:{meant}" if meant and kind not in ("command", "acp") else agent
        return price_of(
            whole, model if named or not sizes else "", own=settings.prices, ceiling=settings.limits.ceiling
        )

    return price
