"""Orchestrator: starts the pipeline's agents, collects their documents, and merges their memories into memory.md."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trued.inputs.sentences import sentence_criteria
from trued.model import Finding, Goal, Plan, Requirement, Severity, Source, Status
from trued.model.titles import cut_title
from trued.run.clusters import Errand, Returned
from trued.run.run import Run
from trued.run.session import BriefContext, R
from trued.workflows.pipeline.decision_tables import (
    CRITICS,
    VERIFIERS,
    ClusterDecision,
    Concern,
    DecisionTable,
    Flaw,
    Scale,
    allowed_status,
)
from trued.workflows.pipeline.events import (
    ArtifactMissing,
    ClusterDecided,
    MemoryMissing,
    MemoryUndone,
    PlanRefused,
    StepReported,
    StrayFilesUndone,
)
from trued.workflows.pipeline.feature_folder import (
    FEATURE,
    FOCUSES,
    PLAN,
    REQUEST,
    Acceptance,
    FeatureFolder,
    folder_for,
    initial_request,
    plan_files,
)
from trued.workflows.pipeline.memory import SHARED, Memory, SharedMemory, inert_line, memory_file, merge_memories
from trued.workflows.pipeline.replies import PipelineReply, TasksPlanned, TaskState, Verified
from trued.workflows.pipeline.task_plan import Work, plan_problems

RESEARCH_FILES = tuple(f"research/{focus}.md" for focus in FOCUSES)
CRITIQUES = tuple(f"ct-review/{name}.md" for name in CRITICS)
VERIFICATION = tuple(f"verification/{name}.md" for name in VERIFIERS)
WORDS = 6_000  # at most this many characters of the request in a brief; initial-request.md has all of it
ARTIFACT = 200_000  # at most this many characters of one artifact; the rest is cut
FILES = 100  # at most this many changed files are listed in a brief
ONLY_ENGINE = "only the engine writes it"
FOUND_BY_ENGINE = "What the engine found itself"
IN_ROUNDS = ("ct-review", "verification", "review", "memory")  # folders whose documents each round writes again
SCALES: dict[str, type[Scale]] = {"ct": Concern, "r": Flaw}


@dataclass
class Orchestrator:
    """The state of one pipeline, and the methods that start its agents. Every replay rebuilds it from the journal.

    No agent plays this role: the engine does. Only the engine writes `memory.md`.
    """

    run: Run
    goal: Goal
    folder: FeatureFolder
    shared: SharedMemory
    artifacts: set[str] = field(default_factory=set)  # existing documents, by path in the folder
    missing: dict[str, str] = field(default_factory=dict)  # missing document → why it is missing
    tasks: tuple[Work, ...] = ()
    criteria: tuple[Acceptance, ...] = ()
    critiques: dict[str, Finding] = field(default_factory=dict)  # id → critique of the design, still High or worse
    unfinished: set[str] = field(default_factory=set)  # tasks that no agent has finished
    disputes: list[Finding] = field(default_factory=list)  # raised by implementers, about cases that they cannot see
    objected: tuple[Finding, ...] = ()  # objections of verifiers and reviewers to the current work
    # Agent → its memory with objections that it has not withdrawn.
    objecting: dict[str, Memory] = field(default_factory=dict)
    undone: dict[str, tuple[str, ...]] = field(default_factory=dict)  # agent → files that it was not allowed to write
    wave: int = 0
    rounds: dict[str, int] = field(default_factory=dict)  # document → how many versions of earlier rounds are kept

    @classmethod
    async def start(cls, run: Run, goal: Goal) -> "Orchestrator":
        """Step 0: create a folder for the feature, with the request verbatim and an empty memory."""
        folder = folder_for(goal, await run.branch.paths())
        run.branch.own(folder.root)
        lead = cls(run, goal, folder, SharedMemory(slug=folder.slug), {REQUEST})
        files = {REQUEST: initial_request(goal, run.branch.base), SHARED: lead.shared.render(), "memory/.gitkeep": ""}
        await run.branch.write({folder.path(name): text for name, text in files.items()}, "docs: the request")
        await run.record(StepReported(step="set-up", result=str(Status.DONE)))
        return lead

    # -- briefs --------------------------------------------------------------------------------------------------------

    @property
    def goal_for_briefs(self) -> Goal:
        """The request, cut to what fits into every brief."""
        text, more = self.goal.text, len(self.goal.text) - WORDS
        if more > 0:
            text = f"{text[:WORDS]}\n[… {more} characters more: {self.folder.path(REQUEST)}]"
        return self.goal.model_copy(update={"text": text})

    def context_for(self, name: str, reads: Iterable[str]) -> dict[str, BriefContext]:
        """The context of an agent's brief: `memory.md`, which it reads first, the paths of its inputs, the missing
        inputs, the documents that it writes, and earlier changes of its own that were undone."""
        reads = tuple(reads)
        path, own = self.folder.path, self.folder.own(name)
        gaps = [
            f"{path(one)}: {self.missing.get(one, 'it is not there')}" for one in reads if one not in self.artifacts
        ]
        undone = [
            f"{one}: you wrote this file before, but it is not yours; the change was undone"
            for one in self.undone.get(name, ())
        ]
        return {
            "read_first": path(SHARED),
            "artifacts": "\n".join(path(one) for one in reads if one in self.artifacts),
            "missing_inputs": "\n".join(gaps),
            "your_document": "\n".join(own),
            "undone_before": "\n".join(undone),
        }

    def errand(self, name: str, reply: type[R], reads: Iterable[str], **context: BriefContext) -> Errand[R]:
        """An errand for one agent. `reads`: its inputs, by path in the folder."""
        role = "researcher" if name.startswith("researcher-") else name
        whole = {**self.context_for(name, reads), **context}
        return Errand(name, role, reply, self.goal_for_briefs, whole, self.folder.own(name))

    @property
    def critique_context(self) -> dict[str, BriefContext]:
        """Open critiques of the design, so that an agent that finds one in the work can name it."""
        return {"open_critiques": dict(self.critiques)} if self.critiques else {}

    async def changes_context(self) -> dict[str, BriefContext]:
        """What a verifier or reviewer has to check: the base commit, and the files that changed since."""
        changed = await self.run.branch.changes()
        more = [f"… {len(changed) - FILES} more"] if len(changed) > FILES else []
        return {
            "the_work": "\n".join([f"all that changed since commit {self.run.branch.base}:", *changed[:FILES], *more])
        }

    @property
    def task_files(self) -> tuple[str, ...]:
        return tuple(f"tasks/{one.id}.md" for one in self.tasks)

    # -- events and files ----------------------------------------------------------------------------------------------

    async def begin_step(self, step: str, agents: Iterable[str]) -> None:
        await self.run.record(StepReported(step=step, agents=tuple(agents)))

    async def end_step(
        self, step: str, decision: ClusterDecision, agents: Iterable[str], silent: Sequence[str] = ()
    ) -> ClusterDecision:
        """Record the result of a step. `silent`: agents that were asked and gave no good answer."""
        decided = ClusterDecided(cluster=step, result=decision.status, why=decision.why, silent=tuple(silent))
        # Not the default step name "decided": a step of that name is a person's decision.
        await self.run.record(decided, step="decision")
        ended = StepReported(step=step, agents=tuple(agents), result=str(decision.status), why=decision.why)
        await self.run.record(ended)
        return decision

    async def write_files(
        self,
        step: str,
        returned: Mapping[str, Returned[Any]],
        memories: Mapping[str, Memory | None] | None = None,
        files: Mapping[str, str] | None = None,
        notes: Mapping[str, Sequence[str]] | None = None,
    ) -> dict[str, Memory | None]:
        """Commit what an agent or a cluster left: documents, memories and `memory.md`. Returns the memories.

        `notes`: agent → what the engine found itself; it is appended to the agent's document.
        """
        written = dict(files or {})
        for one in returned.values():
            written |= await self._take_artifact(one)
            await self._record_undone(one)
            if one.reply is None:  # only an event: the decision tables handle a missing reply
                await self.run.record(MemoryMissing(agent=one.name, step=step))
        written |= dict(
            self._document_with_notes(name, lines, written) for name, lines in (notes or {}).items() if lines
        )
        kept = dict(memories) if memories is not None else self.memories(returned)
        written |= {self.folder.path(memory.file): memory.render() for memory in kept.values() if memory}
        left = {name: self._documents_of(name) for name in kept}
        self.shared = merge_memories(self.shared, kept, left)
        written |= await self._earlier_rounds(written)
        written[self.folder.path(SHARED)] = self.shared.render()
        await self.run.branch.write(written, f"docs: {step}")
        return kept

    def _document_with_notes(self, name: str, lines: Sequence[str], written: Mapping[str, str]) -> tuple[str, str]:
        """Path and text of an agent's document of this round, with what the engine found; a new document if the agent
        left none."""
        path = self.folder.artifact(name)
        text = written.get(path, f"# {name}\n\nThe agent left no document in this round.")
        self.artifacts.add(path.removeprefix(self.folder.root))
        self.missing.pop(path.removeprefix(self.folder.root), None)
        return path, f"{text.rstrip()}\n\n## {FOUND_BY_ENGINE}\n\n" + "".join(f"- {inert_line(one)}\n" for one in lines)

    async def _earlier_rounds(self, written: Mapping[str, str]) -> dict[str, str]:
        """The old versions of documents and memories that this step overwrites, under names with the number of their
        round."""
        found = dict[str, str]()
        for path, text in written.items():
            folder, _, name = path.rpartition("/")
            old = await self.run.branch.read(path) if folder.rpartition("/")[2] in IN_ROUNDS else None
            if old is not None and old != text:
                self.rounds[path] = self.rounds.get(path, 0) + 1
                stem, _, ending = name.partition(".")
                found[f"{folder}/{stem}.round-{self.rounds[path]}.{ending}"] = old
        return found

    def memories(self, returned: Mapping[str, Returned[Any]]) -> dict[str, Memory | None]:
        """The memory of each agent, made from its reply; None if it gave no reply."""
        return {name: self._memory(one) for name, one in returned.items()}

    def _memory(self, one: Returned[Any]) -> Memory | None:
        reply: PipelineReply | None = one.reply
        if reply is None:
            return None
        undone = [f"the engine undid what it wrote into {path}" for path in self._foreign_files(one)]
        worse = graver_replies(one)
        said = (*(line for each in worse for line in _key_lines(each)), *_key_lines(reply))
        return Memory(
            agent=one.name,
            role=one.role,
            status=allowed_status(one.name, reply.status),
            findings=(*undone[:2], *said),
            severity=worst_severity(one.name, worse[0] if worse else reply),
            decisions=reply.decisions,
            artifacts=self._documents_of(one.name) or one.changed,
        )

    def _documents_of(self, name: str) -> tuple[str, ...]:
        own = self.folder.artifact(name)
        if name == "planner" and self.tasks:
            return (self.folder.path(PLAN), *(self.folder.task(work.id) for work in self.tasks))
        return (own,) if own and own.removeprefix(self.folder.root) in self.artifacts else ()

    async def _take_artifact(self, one: Returned[Any]) -> dict[str, str]:
        path = self.folder.artifact(one.name)
        if not path:
            return {}
        name, commit = path.removeprefix(self.folder.root), one.written_at(path)
        text = await self.run.branch.read(path, at=commit) if commit else None
        if text is None:
            if one.reply is None or name not in self.artifacts:
                old = "the existing document is from an earlier round: " if name in self.artifacts else ""
                said = "gave no answer" if one.reply is None else "left no document"
                self.missing[name] = f"{old}{one.name} {said}"
                self.artifacts.discard(name)
                await self.run.record(ArtifactMissing(agent=one.name, path=path, why=self.missing[name]))
            return {}
        self.artifacts.add(name)
        self.missing.pop(name, None)
        more = len(text) - ARTIFACT
        return {path: f"{text[:ARTIFACT]}\n\n[… {more} characters more were cut]\n" if more > 0 else text}

    def _foreign_files(self, one: Returned[Any]) -> tuple[str, ...]:
        """Files in the feature's folder that the agent was not allowed to write: `memory.md`, another agent's memory or
        document."""
        own = self.folder.path(memory_file(one.name))
        return tuple(sorted(path for path in one.undone if path.startswith(self.folder.root) and path != own))

    async def _record_undone(self, one: Returned[Any]) -> None:
        foreign = self._foreign_files(one)
        if foreign:
            self.undone[one.name] = foreign
            await self.run.record(MemoryUndone(agent=one.name, files=tuple(foreign)[:50], why=ONLY_ENGINE))
        others = sorted({*one.undone} - {*foreign} - {self.folder.path(memory_file(one.name))})
        if others and self.folder.artifact(one.name):
            await self.run.record(StrayFilesUndone(agent=one.name, files=tuple(others[:50])))

    async def send_cluster(
        self,
        step: str,
        errands: Sequence[Errand[R]],
        table: DecisionTable,
    ) -> tuple[ClusterDecision, dict[str, Returned[R]]]:
        """Pattern A, before anything is sealed: send the cluster and decide by its table.

        A cluster that failed ends the run. When the run is resumed, only agents without a good reply are sent again.
        """
        names, found = [one.name for one in errands], dict[str, Returned[R]]()
        while True:
            await self.begin_step(step, names)
            found |= await self.run.clusters.send_all(
                [one for one in errands if one.name not in found or not found[one.name].good]
            )
            decision = await self.end_step(step, table.decide(await self.write_files(step, found)), names)
            if decision.status is not Status.ERROR:
                return decision, found
            await self.run.fail_unless_resumed(f"too few agents answered: {'; '.join(decision.why)}")

    # -- one agent -----------------------------------------------------------------------------------------------------

    async def send_one(self, step: str, errand: Errand[R]) -> R:
        """Run a step with one agent. Without a good reply the run ends; a resumed run sends the agent again."""
        await self.begin_step(step, (errand.name,))
        returned = await self.run.clusters.send_all((errand,))
        await self.write_files(step, returned)
        one = returned[errand.name]
        await self._end_step_of(step, one)
        if one.reply is not None and one.good:
            return one.reply
        await self.run.fail_unless_resumed(_failure_message(step, one))
        return await self.send_one(step, errand)

    async def _end_step_of(self, step: str, one: Returned[R], wrong: Sequence[str] = ()) -> None:
        """Report the end of a step with one agent. `wrong`: why its reply cannot be used."""
        why = tuple(wrong) if one.good else (_reason(one),)
        status = Status.ERROR if why else Status.DONE
        await self.run.record(StepReported(step=step, agents=(one.name,), result=str(status), why=why))

    # -- the plan ------------------------------------------------------------------------------------------------------

    async def make_plan(self, errand: Errand[TasksPlanned], *, again: bool = False) -> TasksPlanned | None:
        """Have the planner make tasks, and write them as `plan.md` and `tasks/`. If something is wrong with the tasks,
        the planner is asked once to correct it. Without a usable reply the run ends. `again`: this is a replan, and
        without a usable reply the old plan stays; the result is then None."""
        step = "plan"
        await self.begin_step(step, (errand.name,))
        wrong, one = tuple[Finding, ...](), Returned[TasksPlanned](errand.name, errand.role, None)
        # At the second try, unknown criteria are no longer an error.
        for known in ({each.id for each in self.criteria}, ()):
            asked = replace(errand, context={**errand.context, **({"gaps": wrong} if wrong else {})})
            one = (await self.run.clusters.send_all((asked,)))[errand.name]
            tasks = self._with_tasks(one.reply.tasks if one.reply and one.good else ())
            wrong = plan_problems(tasks, known) if one.good else ()
            if not one.good or not wrong:
                break
            await self.run.record(PlanRefused(why=tuple(each.what for each in wrong)))
        if one.good and not wrong:
            self.tasks = tasks
            await self.write_files(step, {one.name: one}, files=self._plan_files())
            await self._end_step_of(step, one)
            return one.reply
        await self.write_files(step, {one.name: one})
        why = [each.what for each in wrong[:5]]
        await self._end_step_of(step, one, why)
        if again:
            return None
        await self.run.fail_unless_resumed(
            f"{step}: the plan cannot be used: {'; '.join(why)}" if one.good else _failure_message(step, one)
        )
        return await self.make_plan(errand)

    def _with_tasks(self, tasks: Iterable[Work]) -> tuple[Work, ...]:
        """The plan's tasks, with these in place of the tasks that have the same ids; new tasks come last."""
        tasks = tuple(tasks)
        said = {one.id: one for one in tasks}
        known = [said.get(one.id, one) for one in self.tasks]
        ids = {one.id for one in self.tasks}
        return (*known, *(one for one in tasks if one.id not in ids))

    def _plan_files(self) -> dict[str, str]:
        open_ones = [f"{name}: {one.what} ({one.by})" for name, one in self.critiques.items()]
        notes = {"Critiques of the design that are still open": open_ones}
        self.artifacts |= {PLAN, *self.task_files}
        return plan_files(self.folder, self.title, self.tasks, self.criteria, notes)

    @property
    def title(self) -> str:
        """The goal's title."""
        return cut_title(self.goal.heading)

    @property
    def plan(self) -> Plan:
        """The plan to seal: the request's sentences, the criteria of `feature.md`, and the tasks that serve them."""
        source = Source(file=self.folder.path(FEATURE))
        every = tuple(work.id for work in self.tasks)
        serving = {
            one.id: tuple(work.id for work in self.tasks if one.id in work.criteria) or every for one in self.criteria
        }
        return Plan(
            title=self.title,
            tasks=tuple(work.as_task() for work in self.tasks),
            unread=sentence_criteria(self.goal),
            source=self.goal.source,
            requirements=tuple(
                Requirement(id=one.id, text=one.text, source=source, covers=serving[one.id]) for one in self.criteria
            ),
            author="spec",
            text=self.goal.text,
        )


def worst_severity(name: str, reply: PipelineReply) -> str:
    """The agent's highest severity, in its own scale: what it states, or the worst of its findings if that is worse."""
    said, kind = reply.severity, name.partition("-")[0]
    scale, found = SCALES.get(kind), max((one.severity for one in reply.findings), default=Severity.NONE)
    if kind == "v" and (unfinished_tasks(reply) or found >= Severity.MAJOR):
        return "fail"
    if scale is None or found is Severity.NONE:
        return said
    own = {Severity.LOW: 0, Severity.MEDIUM: 1, Severity.HIGH: 2, Severity.CRITICAL: 3}[found]
    words = list(scale)
    by_findings = words[own] if scale is Concern else words[max(0, own - 1)]
    stated = scale.read(said)
    return str(by_findings) if stated is None or stated.rank < by_findings.rank else said


def graver_replies(one: Returned[Any]) -> tuple[PipelineReply, ...]:
    """Earlier replies of a critic or reviewer that are worse than its last one, worst first. If an agent failed and a
    second one replaced it, what the first one found still counts."""
    scale = SCALES.get(one.name.partition("-")[0])
    if scale is None or one.reply is None:
        return ()

    def rank(reply: PipelineReply) -> int:
        found = scale.read(worst_severity(one.name, reply))
        return -1 if found is None else found.rank

    worse = [reply for reply in one.before if rank(reply) > rank(one.reply)]
    return tuple(sorted(worse, key=rank, reverse=True))


def _key_lines(reply: PipelineReply) -> tuple[str, ...]:
    return reply.key_findings or tuple(finding.what for finding in reply.findings) or (reply.summary,)


def unfinished_tasks(reply: PipelineReply) -> tuple[TaskState, ...]:
    """Tasks that a verifier does not call done."""
    return tuple(one for one in reply.tasks if one.state != "done") if isinstance(reply, Verified) else ()


def _failure_message(step: str, one: Returned[Any]) -> str:
    return f"{step}: {one.name} failed {one.tries} times: {_reason(one)}"


def _reason(one: Returned[Any]) -> str:
    """The summary of an agent's reply, or why it gave none."""
    if one.reply is not None:
        return one.reply.summary or "it says ERROR"
    return next((answer.failure for answer in reversed(one.answers) if answer.failure), "no answer")
