"""Engine: starts, resumes, cancels and drives runs.

To read about runs and to record what people decide, a RunStore is enough: see run_store, approvals, amendments and
landing. This module loads everything that drives a run, so only commands that drive a run import it.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from trued.agents.adapters import capabilities_of, login_of
from trued.agents.spool.slots import Slots
from trued.agents.spool.spool import SUPERVISOR, Spool
from trued.engine.agent_selection import check_agents
from trued.engine.continuations import CONTINUABLE, is_continuable, reopen
from trued.engine.drive_workflow import drive_workflow, refuse_other_edition
from trued.engine.impersonation import reachable_by_agents
from trued.engine.inputs import Inputs, Request
from trued.engine.journals.run_lock import RunLock
from trued.engine.limits import (
    add_rounds,
    change_limits,
    limits_in_force,
    price_lookup,
    rounds_granted,
    subscription_windows,
)
from trued.engine.pull_request import offer_run
from trued.engine.resume_from_branch import KnownRuns
from trued.engine.run_end import DriveEnd, conclude_run, end_run
from trued.engine.run_store import RunStore
from trued.engine.shared_slots import SharedSlots
from trued.engine.start import new_record, prepare_inputs
from trued.engine.ticket_branch import choose_ticket_branch
from trued.errors import BadInput, Busy, Cancelled, Waiting
from trued.inputs.settings.folders import user_home
from trued.inputs.settings.limits import LimitChange
from trued.model import PersonAnswer, Question, RunRecord
from trued.model.events.people import QuestionNotAsked
from trued.model.events.run import (
    AgentsDetected,
    BranchContinued,
    ForeignRoleUsed,
    RunBegan,
    RunResumed,
    TicketIncomplete,
    WorkingTreeDirty,
)
from trued.model.step_keys import is_sent
from trued.proof.verdict.conclusion import apply_approvals
from trued.protocols import Runtime
from trued.run.budget import Budget
from trued.run.context import AmendedContract, Person, RunContext
from trued.run.run import Run
from trued.wire import Capabilities
from trued.workflows.registry import descriptor
from trued.workspace.git.repository import Repository, create_root_commit, open_repository
from trued.workspace.git.workspace import GitWorkspace

START_S = 5.0  # seconds to wait for the hub's store to answer before a run begins: the store's address may be wrong
CANCEL_S = 30.0  # seconds that a cancelled run's driver may take to end its agents
CANCELLED = DriveEnd("cancelled", Cancelled.code, "cancelled by the user")


async def nobody(_: Question) -> PersonAnswer | None:
    """The `person` of an engine without a terminal: every question stays open."""
    return None


class Engine:
    def __init__(
        self,
        store: RunStore,
        *,
        person: Person = nobody,
        supervisor: Sequence[str] = (),
        runtime: Runtime | None = None,
    ) -> None:
        """`supervisor`: the command that supervises an agent, instead of trued's. `runtime`: plays every agent inside
        this process, for tests and trials, without supervisor or sandbox."""
        self.store, self.person = store, person
        self.supervisor, self.runtime = supervisor, runtime
        # shared by the runs that this process drives at once; None if it drives only one
        self.shared: SharedSlots | None = None

    def close(self) -> None:
        self.store.close()

    # -- the life of a run ---------------------------------------------------------------------------------------------

    async def start(self, request: Request) -> RunRecord:
        """Check the request, then record the run and drive it. Bad input changes nothing."""
        return await self.drive(*self.begin(*await self.ready(request), at_once=True))

    async def ready(self, request: Request) -> tuple[Inputs, Repository]:
        """The checked inputs of a run, and its repository. Nothing is written. Raises BadInput for a request that
        cannot be carried out."""
        self.store.journal.refuse_if_open()
        repository = open_repository(request.repository, empty=True)
        known = KnownRuns.of(self.store.journal.runs(), repository.root)
        inputs = prepare_inputs(
            request, self.store.home, self.store.environ, any_agent=self.runtime is not None, runs=known
        )
        if self.store.hub_store:
            inputs = await self._ready_to_travel(inputs, repository)
        return await choose_ticket_branch(self.store, inputs, repository) if inputs.ticket else inputs, repository

    async def _ready_to_travel(self, inputs: Inputs, repository: Repository) -> Inputs:
        """Check that the hub's store answers and requires a login. Return the inputs, changed so that another machine
        can continue the run."""
        from trued.engine.travel import fit_for_travel  # imported here, because only a store needs it

        hub = self.store.open_hub_store()
        hub.patience_s = START_S
        await hub.refuse_if_open()
        await hub.refs("")
        return await fit_for_travel(inputs, repository)

    async def send(self, record: RunRecord) -> None:
        """Send a new run's base to the hub's store, so any machine can begin the run. Without a store, does nothing."""
        if not (travel := self.store.travel(record)):
            return
        with self.store.journal.claim(record.id):
            await self.store.workspace(record, self.store.inputs(record.id)).begin()
            # not with `store.writer`, which would call `send` again
            await travel.send(self.store.journal.of(record.id))

    def begin(
        self, inputs: Inputs, repository: Repository, *, at_once: bool = False, queue: str = ""
    ) -> tuple[RunRecord, Inputs]:
        """Record a new run, with events for what people should know about its start.

        `at_once`: this process drives the run next. `queue`: the hub's queue into which the run will be put, so that
        workers drive it.
        """
        record = new_record(inputs, repository, {run.id for run in self.store.journal.runs()})
        if not repository.head and not inputs.base:
            base = create_root_commit(repository, record.branch, time.time())
            record = record.model_copy(update={"base": base, "head": base})
        self.store.journal.add(record, inputs.model_dump_json(), queue=queue)
        if at_once:
            self.store.journal.announce(record.id)
        record = self.store.journal.run(record.id)
        emit = self.store.writer(record).emit
        emit(
            RunBegan(
                title=record.title,
                workflow=record.workflow,
                branch=record.branch,
                level=inputs.level,
                run=record.id,
                accept=inputs.settings.accept,
            )
        )
        if inputs.start:
            why = "everything that the branch marks as passed is proven again"
            emit(BranchContinued(branch=record.branch, start=inputs.start, base=record.base, why=why))
        if inputs.ticket and inputs.ticket.missing:
            emit(TicketIncomplete(key=inputs.ticket.key, what=inputs.ticket.missing))
        if inputs.looked:
            emit(AgentsDetected(says=inputs.looked, agents=inputs.settings.agents))
        # no warning about documents that the person gave: the run read them with their uncommitted changes
        given = inputs.person_files(repository.root)
        if dirty := tuple(path for path in inputs.dirty if path not in given):
            emit(WorkingTreeDirty(files=dirty, why="the run starts from HEAD, without them"))
        for role in (role for role in inputs.roles.values() if role.form != "trued"):
            emit(ForeignRoleUsed(role=role.name, origin=role.origin, notes=tuple(role.notes)))
        return record, inputs

    async def resume(
        self,
        run_id: str,
        *,
        yes: bool = False,
        wait: bool | None = None,
        more: Sequence[LimitChange] = (),
        rounds: int = 0,
        who: str = "",
        reopened: Sequence[str] = (),
    ) -> RunRecord:
        """Continue a run.

        `yes`, `wait`: as the options of `trued resume`. `more`: higher limits. `rounds`: further rounds for a run that
        ended without a proof. `who`: the person who gives these limits and rounds. `reopened`: ids of failed features,
        stories or tasks to work on again.

        A finished run stays as it is, with two exceptions: a run that gets more `rounds`, and an unproven run that can
        be continued (`is_continuable`).
        """
        record = self.record_additions(run_id, more=more, rounds=rounds, who=who, reopened=reopened)
        if record.has_ended and not is_continuable(self.store, record):
            return record
        self.check_machine(record)
        inputs = self.store.inputs(record.id)
        overrides: dict[str, object] = {
            "yes": yes or inputs.settings.yes,
            "wait": inputs.settings.wait if wait is None else wait,
        }
        overrides["limits"] = limits_in_force(self.store, record.id)
        settings = inputs.settings.model_copy(update={"plan_only": False, **overrides})
        again = record.has_ended
        return await self.drive(record, inputs.model_copy(update={"settings": settings}), again=again)

    def check_machine(self, record: RunRecord) -> None:
        """Raise BadInput if the run was begun on another machine and this one lacks an agent or the sandbox."""
        travel = self.store.travel(record)
        if travel and not travel.is_origin and self.runtime is None:
            inputs = self.store.inputs(record.id)
            check_agents(inputs.settings.agents.values(), inputs.settings, self.store.environ)
            travel.level(inputs)

    def record_additions(
        self,
        run_id: str,
        *,
        more: Sequence[LimitChange] = (),
        rounds: int = 0,
        who: str = "",
        reopened: Sequence[str] = (),
    ) -> RunRecord:
        """Record the limits, rounds and reopened parts that a person gives a run before it is continued. Raises
        BadInput for an addition that the run cannot use."""
        record = self.store.journal.run(run_id)
        if rounds:
            add_rounds(self.store, record, rounds, who)
            record = self.store.journal.run(run_id)
        if reopened:
            reopen(self.store, record, reopened)
        if not record.has_ended or is_continuable(self.store, record):
            descriptor(record.workflow)  # raises before anything is written if the workflow's package is gone
            change_limits(self.store, record, more, who, may_lower=False)
        elif more:
            what = f"run {record.id} is {record.state}: it is not continued, so a limit changes nothing"
            raise BadInput(what, "--limit", f"`trued show {record.id}` says what it needs")
        return record

    async def cancel(self, run_id: str) -> RunRecord:
        """End a run for good, and stop its agents. The work stays on the run's branch and in its rescue refs. Raises
        Busy if the process that drives the run does not end in time."""
        record = self.store.journal.run(run_id)
        if record.has_ended:
            return record
        self.store.journal.cancel(record.id)
        await self._wait_for_driver(record)
        record = self.store.journal.run(record.id)
        if record.has_ended:
            return record
        with ExitStack() as claimed:
            try:
                claimed.enter_context(self.store.journal.claim(record.id))
            except BadInput:  # the run's clones are elsewhere, and no process drives it: nothing to stop here
                return end_run(self.store, record, CANCELLED)
            return await self._cancel(self.store.journal.run(record.id))

    async def _cancel(self, record: RunRecord) -> RunRecord:
        """Stop the run's agents, and end the run unless it has ended already. The caller has claimed the run."""
        if record.has_ended:
            return record
        inputs = self.store.inputs(record.id)
        await self._spool(record, inputs).stop_all()
        await self.store.workspace(record, inputs).clean_up()
        return end_run(self.store, record, CANCELLED)

    async def clean_up(self, record: RunRecord) -> None:
        """Remove the clones and clean rooms that this machine still has of a run that ended here or on another machine.
        Raises Busy while a process of this machine drives the run."""
        with RunLock(self.store.home, record.id).hold():
            inputs = self.store.inputs(record.id)
            await self._spool(record, inputs).stop_all()
            await self.store.workspace(record, inputs).clean_up()

    async def _wait_for_driver(self, record: RunRecord) -> None:
        """Wait until no process drives the run, which was marked as cancelled. Raises Busy if this takes too long."""
        for _ in range(int(CANCEL_S * 10)):
            if not (driver := self.store.journal.driver(record.id)):
                return
            await asyncio.sleep(0.1)
        if queue := self.store.journal.queue_of(record.id):
            who = f"the worker that drives it, or takes it from {queue} next"
            raise Busy(f"run {record.id} is marked as cancelled; {who}, will end it")
        if self.store.hub:
            raise Busy(f"run {record.id} is still driven elsewhere (epoch {driver}): end it there, and cancel again")
        raise Busy(f"process {driver} still drives run {record.id}: kill it, and cancel again")

    async def drive(self, record: RunRecord, inputs: Inputs, *, again: bool = False) -> RunRecord:
        """Drive the run until it ends or needs a person, and record how it ended. An ended run stays as it is, unless
        it ended as "not proven" and `again` is true."""
        self.store.journal.refuse_if_open()
        refuse_other_edition(record, inputs)
        loop, must_end = asyncio.get_running_loop(), asyncio.Event()
        with self.store.journal.claim(record.id, lambda: _set_soon(loop, must_end)):
            # read again, because the run may have ended before we held the claim
            record = self.store.journal.run(record.id)
            if record.has_ended and not (again and record.state in CONTINUABLE):
                return record
            if self.store.journal.is_cancelled(record.id):
                return await self._cancel(record)
            begun = any(not is_sent(key) for key, _, _ in self.store.journal.steps(record.id))
            if record.state != "running" or begun:
                self.store.writer(record).emit(RunResumed(after=record.state))
            if record.state == "failed":
                self._spool(record, inputs).retire_failed()
            record = record.model_copy(update={"state": "running", "code": 0, "why": ""})
            self.store.journal.update(record)
            if travel := self.store.travel(record):
                await travel.hub.refuse_if_open()
                travel.record_machine(self.store.writer(record), inputs)
            run = self.open_run(record, inputs)
            is_cancelled = partial(self.store.journal.is_cancelled, record.id)
            end = await drive_workflow(run, is_cancelled, must_end, alone=self.shared is None)
            record = record.model_copy(update={"head": run.branch.head})
            # the run's branch could not be moved: a person has to repair that first
            if end.outcome and run.steps.state.position.unpublished:
                return end_run(
                    self.store, record, DriveEnd("waiting", Waiting.code, run.steps.state.position.unpublished)
                )
            if end.outcome or end.state == "cancelled":
                await run.context.workspace.clean_up()
            return conclude_run(self.store, record, end.outcome) if end.outcome else end_run(self.store, record, end)

    # -- the parts of a run --------------------------------------------------------------------------------------------

    def open_run(self, record: RunRecord, inputs: Inputs) -> Run:
        """The object that the run's workflow gets. Starts nothing."""
        return Run(self._context(record, inputs, self.store.workspace(record, inputs)))

    def _context(self, record: RunRecord, inputs: Inputs, workspace: GitWorkspace) -> RunContext:
        workflow = descriptor(inputs.settings.workflow)
        journal, travel = self.store.writer(record), self.store.travel(record)
        at_once = inputs.settings.cap if self.store.hub else sys.maxsize
        budget = Budget(journal, inputs.settings, record.id, price_lookup(inputs.settings), at_once=at_once)
        budget.set_windows(subscription_windows(self.store, record.id))
        context = RunContext(
            run=record.id,
            folder=self.store.folder(record.id),
            journal=journal,
            workspace=workspace,
            runtime=self.runtime or self._spool(record, inputs),
            budget=budget,
            capabilities=self._capabilities,
            settings=inputs.settings,
            roles=inputs.roles,
            goal=inputs.goal,
            requirements=inputs.requirements,
            hidden_paths=(*inputs.held_out_paths(), *self.store.private_files()),
            secret_blobs=frozenset(inputs.requirements_blobs),
            instructions=inputs.instructions,
            redact=self.store.redact(inputs),
            person=partial(self._ask_person, record),
            began=record.created_at,
            amended=tuple(
                AmendedContract(frozenset(amendment.before), amendment.contract, amendment.verdict)
                for amendment in self.store.amendments(record.id)
            ),
            turn=self.shared.turn if self.shared else nullcontext,
            ticket=inputs.ticket,
            branch=record.branch,
            with_approvals=lambda verdict: apply_approvals(verdict, self.store.approvals(record.id)),
            offer=lambda draft: offer_run(self.store, record, workspace, draft=draft),
            records_approvals=workflow.records_approvals,
            repairing_roles=workflow.repairing_roles,
            reviewing_roles=workflow.reviewing_roles,
            more_rounds=rounds_granted(self.store, record.id),
            person_files=inputs.person_files(Path(record.repository)),
            asks_people=workflow.asks_people,
        )
        if travel is None:
            return context
        return replace(context, is_begun_elsewhere=travel.is_begun_elsewhere, has_session=travel.has_session)

    async def _ask_person(self, record: RunRecord, question: Question) -> PersonAnswer | None:
        """The person's answer; None if nobody is there, or while an agent could type in the person's place."""
        reached = reachable_by_agents(self.store, record)
        answer = None if reached else await self.person(question)
        reached = reached or (reachable_by_agents(self.store, record) if answer else "")
        if reached:
            why = f"a running agent can reach {reached}: it could decide in your name"
            self.store.writer(record).emit(QuestionNotAsked(why=why), question.key)
        return None if reached else answer

    def _capabilities(self, agent: str) -> Capabilities:
        return self.runtime.capabilities if self.runtime else capabilities_of(agent)

    def _spool(self, record: RunRecord, inputs: Inputs) -> Spool:
        return Spool(
            self.store.folder(record.id) / "spool",
            slots=self.shared.slots if self.shared else Slots(inputs.settings.cap),
            cap=inputs.settings.cap,
            supervisor=self.supervisor or SUPERVISOR,
            secrets=self.store.secret_values(inputs),
            variables=lambda agent: self._agent_variables(inputs, agent),
            lease=self.store.journal.lease_file(record.id),
        )

    def _agent_variables(self, inputs: Inputs, agent: str) -> dict[str, str]:
        """The environment variables that an agent may see: the ones named in the settings, and the ones for its
        login."""
        login = login_of(agent, inputs.settings.login_of(agent), self.store.environ, user_home(self.store.environ))
        names = (*inputs.settings.variables, *login.variables)
        return {name: self.store.environ[name] for name in names if name in self.store.environ}


def _set_soon(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    """Set an event of a loop from any thread."""
    with suppress(RuntimeError):  # the loop may have ended
        loop.call_soon_threadsafe(event.set)
