"""Engine: starts, resumes and ends runs; one of the two places where adapters are chosen.

What drives a run is loaded when one is driven: most commands only look at runs, and have to answer at once.
"""

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trued.engine.approvals import Word, answered, approvals, could_speak, say
from trued.engine.journals.sqlite import RunJournal, SqliteJournal
from trued.engine.records import AMENDED, FINISH, FINISHED, Amendment, Change, End, Inputs, Request, is_contract
from trued.errors import Busy, Cancelled, Waiting
from trued.inputs.settings.limits import Given
from trued.model import Approval, Contract, Event, Outcome, Question, RunRecord, Settings, Verdict
from trued.proof.contract import apply_approvals, conclude, exit_code
from trued.support import atomic_files, processes
from trued.support.redaction import Redactor, secrets_in

if TYPE_CHECKING:
    from trued.agents.spool import Spool
    from trued.engine.concurrent_runs import Shared
    from trued.engine.landing.land import Landing, Wanted
    from trued.engine.resume_from_branch import Known
    from trued.protocols import Capabilities, Runtime
    from trued.run.context import Person, RunContext
    from trued.workspace.git.repository import Repository
    from trued.workspace.git.workspace import GitWorkspace
    from trued.workspace.sandbox.levels import LevelState

__all__ = ["FINISHED", "Engine", "Inputs", "Request", "lent_left", "nobody", "sandboxes", "within_reach"]

CANCEL_S = 30.0  # for a driver to end its agents


async def nobody(_: Question) -> tuple[str, str, str] | None:
    return None


def sandboxes() -> "list[LevelState]":
    """Which sandbox levels work here, tried and not believed."""
    from trued.workspace.sandbox.levels import probe_levels

    return probe_levels()


def within_reach(settings: Settings) -> tuple[str, tuple[str, ...]]:
    """The sandbox that agents would have with these settings, and what of the person's session they could reach."""
    from trued.wire import Confinement
    from trued.workspace.sandbox.levels import choose_level, reachable_sockets

    level = choose_level(settings.sandbox, allow_unsandboxed=True)
    return level, reachable_sockets(Confinement(level=level, network=settings.network, readable=settings.readable))


def lent_left(home: Path) -> list[str]:
    """Runs in which copies of a login were left behind: nobody looks after the call any more."""
    from trued.agents.spool.borrowed_login import NOTE
    from trued.agents.spool.call_folder import is_supervised

    notes = (home / "runs").glob(f"*/spool/*/{NOTE}")
    return list(dict.fromkeys(note.parents[2].name for note in notes if not is_supervised(note.parent)))


class Engine:
    def __init__(
        self,
        home: Path,
        environ: Mapping[str, str],
        *,
        person: "Person" = nobody,
        listen: Callable[[Event], None] | None = None,
        hear: Callable[[RunRecord, Event], None] | None = None,
        supervisor: Sequence[str] = (),
        runtime: "Runtime | None" = None,
    ) -> None:
        """`supervisor` is the command that looks after an agent, if it is not ours. `runtime` plays every agent inside
        this process: for tests and trials, without supervisor or sandbox."""
        self.home, self.environ = home, environ
        self.person, self.listen, self.hear = person, listen, hear
        self.supervisor, self.runtime = supervisor, runtime
        self.journal = SqliteJournal(home / "journal.db")
        self.shared: Shared | None = None  # with other runs of this process

    # -- the way of one run --------------------------------------------------------------------------------------------

    async def start(self, request: Request) -> RunRecord:
        """Check everything that can be checked, then begin. Bad input changes nothing."""
        return await self.drive(*self.begin(*await self.ready(request)))

    async def ready(self, request: Request) -> "tuple[Inputs, Repository]":
        """Everything that a run begins with, checked; nothing is written."""
        from trued.engine.start import prepared
        from trued.engine.ticket_branch import placed
        from trued.workspace.git.repository import open_repository

        repository = open_repository(request.repository, empty=True)
        known = self.remembered(repository.root)
        inputs = prepared(request, self.home, self.environ, any_agent=self.runtime is not None, runs=known)
        return await placed(self, inputs, repository) if inputs.ticket else inputs, repository

    def remembered(self, root: Path) -> "Known":
        """What the journal knows of earlier runs in a repository; of several on one branch the newest counts."""
        from trued.engine.resume_from_branch import Known

        every = self.journal.runs()
        bases = {one.branch: one.base for one in reversed(every) if one.repository == str(root)}
        return Known({one.branch for one in every if one.state != "cancelled"}, bases)

    def begin(self, inputs: Inputs, repository: "Repository") -> tuple[RunRecord, Inputs]:
        """Write a new run down, and say what is to be known of it."""
        from trued.engine.start import new_record
        from trued.model.events.run import (
            AgentsDetected,
            BranchContinued,
            ForeignRoleUsed,
            RunBegan,
            TicketIncomplete,
            WorkingTreeDirty,
        )
        from trued.workspace.git.repository import create_root_commit

        record = new_record(inputs, repository, {one.id for one in self.journal.runs()})
        if not repository.head and not inputs.base:
            base = create_root_commit(repository, record.branch, time.time())
            record = record.model_copy(update={"base": base, "head": base})
        self.journal.add(record, inputs.model_dump_json())
        record = self.journal.run(record.id)
        emit = self._of(record).emit
        emit(RunBegan(title=record.title, workflow=record.workflow, branch=record.branch, level=inputs.level))
        if inputs.start:
            why = "what it calls passed is proven again"
            emit(BranchContinued(branch=record.branch, start=inputs.start, base=record.base, why=why))
        if inputs.ticket and inputs.ticket.missing:
            emit(TicketIncomplete(key=inputs.ticket.key, what=inputs.ticket.missing))
        if inputs.looked:
            emit(AgentsDetected(says=inputs.looked, agents=inputs.settings.agents))
        if inputs.dirty:
            emit(WorkingTreeDirty(files=tuple(inputs.dirty), why="the run starts from HEAD, without them"))
        for role in (one for one in inputs.roles.values() if one.form != "trued"):
            emit(ForeignRoleUsed(role=role.name, origin=role.origin, notes=tuple(role.notes)))
        return record, inputs

    async def resume(
        self,
        run_id: str,
        *,
        yes: bool = False,
        wait: bool | None = None,
        more: Sequence[Given] = (),
        who: str = "",
    ) -> RunRecord:
        """Go on where the run stands, with `more` to use if `who` says so. A finished run stays as it is."""
        record = self.journal.run(run_id)
        if record.state in FINISHED:
            return record
        from trued.engine import limits
        from trued.workflows.registry import descriptor

        descriptor(record.workflow)  # refused before anything is written, if its package is gone
        limits.raise_them(self, record, more, who)
        inputs = self.inputs(record.id)
        said: dict[str, object] = {
            "yes": yes or inputs.settings.yes,
            "wait": inputs.settings.wait if wait is None else wait,
        }
        said["limits"] = limits.in_force(self, record.id)
        settings = inputs.settings.model_copy(update={"plan_only": False, **said})
        return await self.drive(record, inputs.model_copy(update={"settings": settings}))

    async def cancel(self, run_id: str) -> RunRecord:
        """End a run for good: its agents go, its work stays on its branch and rescue refs."""
        record = self.journal.run(run_id)
        if record.state in FINISHED:
            return record
        self.folder(record.id).mkdir(parents=True, exist_ok=True)
        self._cancelled(record).touch()
        await self._driver_ended(record)
        with self.journal.claim(record.id):
            return await self._cancel(self.journal.run(record.id))

    async def _cancel(self, record: RunRecord) -> RunRecord:
        """With the claim in hand; a driver may have done it already."""
        if record.state in FINISHED:
            return record
        inputs = self.inputs(record.id)
        await self._spool(record, inputs).stop_all()
        await self._workspace(record, inputs).clean_up()
        return self._ended(record, End("cancelled", Cancelled.code, "cancelled by the user"))

    async def _driver_ended(self, record: RunRecord) -> None:
        """Ask whoever drives the run to end, and wait for that."""
        if not (driver := self.journal.driver(record.id)):
            return
        processes.send(driver, signal.SIGTERM, still=lambda: self.journal.driver(record.id) == driver)
        import asyncio

        for _ in range(int(CANCEL_S * 10)):
            if not self.journal.driver(record.id):
                return
            await asyncio.sleep(0.1)
        raise Busy(f"process {driver}, which drives run {record.id}, does not end; kill it, and cancel again")

    async def drive(self, record: RunRecord, inputs: Inputs) -> RunRecord:
        """Let the run go on until it ends, or cannot go on by itself."""
        from trued.engine.drive import driven
        from trued.model.events.run import RunResumed
        from trued.run.run import Run

        with self.journal.claim(record.id):
            record = self.journal.run(record.id)  # it may have been ended before the claim was ours
            if record.state in FINISHED:
                return record
            if self._cancelled(record).exists():
                return await self._cancel(record)
            spool, workspace = self._spool(record, inputs), self._workspace(record, inputs)
            if record.state != "running" or self.journal.steps(record.id):
                self._of(record).emit(RunResumed(after=record.state))
            if record.state == "failed":
                spool.retire_failed()
            record = record.model_copy(update={"state": "running", "code": 0, "why": ""})
            self.journal.update(record)
            run = Run(self._context(record, inputs, spool, workspace))
            end = await driven(run, self._cancelled(record), alone=self.shared is None)
            record = record.model_copy(update={"head": run.branch.head})
            if end.outcome and run.steps.state.position.unpublished:  # proven or not, it has not been handed over
                return self._ended(record, End("waiting", Waiting.code, run.steps.state.position.unpublished))
            if end.outcome or end.state == "cancelled":
                await workspace.clean_up()
            return self._concluded(record, end.outcome) if end.outcome else self._ended(record, end)

    def _concluded(self, record: RunRecord, outcome: Outcome) -> RunRecord:
        if outcome.verdict and outcome.state != "stopped":
            verdict = apply_approvals(self.final(record.id) or outcome.verdict, self.approvals(record.id))
            outcome = conclude(verdict, self.inputs(record.id).settings.accept)
        self._tick(record, outcome.verdict)
        record = record.model_copy(update={"head": outcome.head, "grade": outcome.grade})
        return self._ended(record, End(outcome.state, exit_code(outcome), "; ".join(outcome.why)))

    def _tick(self, record: RunRecord, verdict: Verdict | None) -> None:
        """The run's copy of the plan: a view, made anew whenever a verdict or a person's word changes it."""
        goal, contract = self.inputs(record.id).goal, self.contract(record.id)
        if not goal.source.file or contract is None or verdict is None:
            return
        from trued.workflows.descriptor import Input
        from trued.workflows.registry import find_descriptor

        workflow = find_descriptor(record.workflow)
        if workflow is None or workflow.takes is not Input.PLAN:
            return
        from trued.inputs.plans.plan import parse_plan
        from trued.inputs.plans.ticks import ticked

        folder = self.folder(record.id) / "files"
        folder.mkdir(exist_ok=True)
        plan = parse_plan(goal.text, goal.source.file)
        atomic_files.write(
            folder / Path(goal.source.file).name, ticked(plan, contract.requirements, verdict), sync=False
        )

    def _ended(self, record: RunRecord, end: End) -> RunRecord:
        from trued.engine.handover import handed_over
        from trued.engine.pull_request import write_rounds
        from trued.model.events.run import HandoverWritten, RunEnded

        ended = record.model_copy(update={"state": end.state, "code": end.code, "why": end.why})
        if file := handed_over(self, ended):
            self._of(record).emit(HandoverWritten(file=file))
        write_rounds(self, ended)
        self._of(record).emit(RunEnded(state=end.state, code=end.code, why=end.why, grade=record.grade))
        self.journal.update(ended)
        return ended

    # -- what a run is made of -----------------------------------------------------------------------------------------

    def _context(self, record: RunRecord, inputs: Inputs, spool: "Spool", workspace: "GitWorkspace") -> "RunContext":
        from trued.engine import limits
        from trued.engine.amendments import amendments
        from trued.engine.pull_request import offered_run
        from trued.run.budget import Budget
        from trued.run.context import RunContext
        from trued.workflows.registry import descriptor

        workflow = descriptor(inputs.settings.workflow)
        secret = (Path(inputs.requirements_file),) if inputs.requirements_file else ()
        journal = self._of(record)
        budget = Budget(journal, inputs.settings, record.id, limits.prices(inputs.settings))
        budget.set_windows(limits.windows(self, record.id))
        return RunContext(
            run=record.id,
            folder=self.folder(record.id),
            journal=journal,
            workspace=workspace,
            runtime=self.runtime or spool,
            budget=budget,
            capabilities=self._capabilities,
            settings=inputs.settings,
            roles=inputs.roles,
            goal=inputs.goal,
            requirements=inputs.requirements,
            secrets=(*secret, self.journal.path),
            secret_blobs=frozenset(inputs.requirements_blobs),
            instructions=inputs.instructions,
            redact=Redactor(self._secrets(inputs)).within,
            person=partial(self._heard, record),
            began=record.created_at,
            amended=tuple((frozenset(one.before), one.contract) for one in amendments(self, record.id)),
            turn=self.shared.turn if self.shared else nullcontext,
            ticket=inputs.ticket,
            branch=record.branch,
            with_approvals=lambda verdict: apply_approvals(verdict, self.approvals(record.id)),
            offer=lambda draft: offered_run(self, record, workspace, draft=draft),
            records_approvals=workflow.records_approvals,
            repairing_roles=workflow.repairing_roles,
            reviewing_roles=workflow.reviewing_roles,
        )

    async def _heard(self, record: RunRecord, question: Question) -> tuple[str, str, str] | None:
        """What the person at the terminal answers; None, as if nobody were there, while an agent could type there."""
        from trued.model.events import people

        reached = could_speak(self, record)
        answer = None if reached else await self.person(question)
        reached = reached or (could_speak(self, record) if answer else "")
        if reached:
            why = f"an agent is at work and can reach {reached}: it could speak for you"
            self._of(record).emit(people.QuestionNotAsked(why=why), question.key)
        return None if reached else answer

    def _capabilities(self, agent: str) -> "Capabilities":
        from trued.agents.adapters import capabilities_of

        return self.runtime.capabilities if self.runtime else capabilities_of(agent)

    def _spool(self, record: RunRecord, inputs: Inputs) -> "Spool":
        from trued.agents.spool import SUPERVISOR, Spool
        from trued.agents.spool.slots import Slots

        return Spool(
            self.folder(record.id) / "spool",
            slots=self.shared.slots if self.shared else Slots(inputs.settings.cap),
            cap=inputs.settings.cap,
            supervisor=self.supervisor or SUPERVISOR,
            secrets=self._secrets(inputs),
            variables=lambda agent: self._given(inputs, agent),
        )

    def _given(self, inputs: Inputs, agent: str) -> dict[str, str]:
        """The variables that an agent may see: by the user's word, and for its own login."""
        from trued.agents.adapters import login_of
        from trued.inputs.settings.loader import user_home

        login = login_of(agent, inputs.settings.login_of(agent), self.environ, user_home(self.environ))
        names = (*inputs.settings.variables, *login.variables)
        return {name: self.environ[name] for name in names if name in self.environ}

    def _secrets(self, inputs: Inputs) -> dict[str, str]:
        """What is kept out of everything that is stored."""
        settings = inputs.settings
        names = (*settings.variables, settings.forge.token_env, settings.tickets.token_env)
        given = {name: self.environ[name] for name in names if name in self.environ}
        return {**secrets_in(self.environ), **given}

    def _workspace(self, record: RunRecord, inputs: Inputs) -> "GitWorkspace":
        from trued.wire import Confinement
        from trued.workspace.git.workspace import GitWorkspace

        pictures = [one for one in (inputs.ticket.pictures if inputs.ticket else ()) if Path(one).is_absolute()]
        confinement = Confinement(
            level=inputs.level,
            readable=(*inputs.settings.readable, *pictures),
            network=inputs.settings.network,
            hidden=(inputs.requirements_file,) if inputs.requirements_file else (),
        )
        workspace = GitWorkspace(Path(record.repository), self.home, record.id, record.branch, record.base, confinement)
        workspace.start = inputs.start or record.base
        workspace.kept = workspace.environments = self.home
        return workspace

    def _of(self, record: RunRecord) -> RunJournal:
        hear = self.hear
        return self.journal.of(record.id, partial(hear, record) if hear else self.listen)

    def _cancelled(self, record: RunRecord) -> Path:
        return self.folder(record.id) / "cancelled"

    # -- what people read and say --------------------------------------------------------------------------------------

    def folder(self, run_id: str) -> Path:
        return self.home / "runs" / run_id

    def inputs(self, run_id: str) -> Inputs:
        return Inputs.model_validate_json(self.journal.inputs(run_id))

    def contract(self, run_id: str) -> Contract | None:
        """The one in force: sealed at first, and anew where a person amended it or a case was replaced."""
        keys = [key for key, _, _ in self.journal.steps(run_id) if is_contract(key)]
        found = self.journal.step(run_id, keys[-1]) if keys else None
        if found and keys[-1].startswith(AMENDED):
            return Amendment.model_validate_json(found).contract
        return Contract.model_validate_json(found) if found else None

    def verdict(self, run_id: str) -> Verdict | None:
        """The last word so far: of `finish`, else the newest on each task; with what people said."""
        last = self.final(run_id) or self._so_far(run_id)
        return apply_approvals(last, self.approvals(run_id)) if last else None

    def final(self, run_id: str) -> Verdict | None:
        """The last verdict on the finished work: of `finish`, or by an amended contract; nobody's word is in it."""
        for key, _, _ in reversed(self.journal.steps(run_id)):
            found = self.journal.step(run_id, key) if key.startswith((FINISH, AMENDED)) else None
            if found and key.startswith(FINISH):
                return Verdict.model_validate_json(found)
            if found and (verdict := Amendment.model_validate_json(found).verdict):
                return verdict
        return None

    def owned(self, run_id: str) -> tuple[str, ...]:
        """Files that are no part of the run's work: as it was last judged, else as its kind has them."""
        from trued.workflows.registry import descriptor

        final, inputs = self.final(run_id), self.inputs(run_id)
        return (final.owned if final else ()) or descriptor(inputs.settings.workflow).owned_files(
            inputs.settings, inputs.goal
        )

    def verdicts(self, run_id: str) -> list[Verdict]:
        """On the tasks, oldest first."""
        keys = [key for key, _, _ in self.journal.steps(run_id) if key.rpartition("/")[2].startswith("prove#")]
        return [Verdict.model_validate_json(self.journal.step(run_id, key) or "") for key in keys]

    def approvals(self, run_id: str) -> list[Approval]:
        """What people said, and what of it stands."""
        return approvals(self, run_id)

    def _so_far(self, run_id: str) -> Verdict | None:
        """The newest verdict on each requirement."""
        verdicts = self.verdicts(run_id)
        judged = {one.id: one for verdict in verdicts for one in verdict.requirements}
        evidence = tuple(one for verdict in verdicts for one in verdict.evidence)
        parts = {"subject": "so far", "requirements": tuple(judged.values()), "evidence": evidence}
        return verdicts[-1].model_copy(update=parts) if verdicts else None

    def approve(self, run_id: str, requirement: str | None, *, who: str, why: str, instead: bool = False) -> RunRecord:
        """A person's word: for one requirement, or for the contract. Grades follow at once; no agent is called."""
        return say(self, run_id, [requirement], Word(who, why, instead=instead))

    def reject(self, run_id: str, requirement: str, *, who: str, why: str, instead: bool = False) -> RunRecord:
        """A person's word against a requirement: those who build are told when the run is resumed."""
        return say(self, run_id, [requirement], Word(who, why, rejected=True, instead=instead))

    async def amend(self, run_id: str, change: Change) -> RunRecord:
        """A person's change of the contract; a run that goes on does so by the new one."""
        from trued.engine.amendments import amend

        return await amend(self, run_id, change)

    async def land(self, run_id: str, wanted: "Wanted") -> "Landing":
        """Bring a finished run home: what was proven, and nothing else."""
        from trued.engine.landing.land import land

        return await land(self, run_id, wanted)

    def answer(self, run_id: str, answer: str, *, comment: str, who: str) -> Question:
        """Answer the open question of a run; `resume` goes on from there."""
        return answered(self, run_id, answer, comment=comment, who=who)

    def close(self) -> None:
        self.journal.close()
