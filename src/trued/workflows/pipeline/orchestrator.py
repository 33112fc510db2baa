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
WORDS = 6_000  # characters of the request in a brief; initial-request.md has all of it
ARTIFACT = 200_000  # characters of one artifact; the rest is cut
FILES = 100  # changed files listed in a brief
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
        """The context of an agent's brief: which files it reads (`memory.md` first), which inputs are missing, which
        documents it writes, and which of its earlier changes were undone."""
        reads = tuple(reads)
        path, own_files = self.folder.path, self.folder.own(name)
        gaps = [
            f"{path(artifact)}: {self.missing.get(artifact, 'it is not there')}"
            for artifact in reads
            if artifact not in self.artifacts
        ]
        undone = [
            f"{foreign}: you wrote this file before, but it is not yours; the change was undone"
            for foreign in self.undone.get(name, ())
        ]
        return {
            "read_first": path(SHARED),
            "artifacts": "\n".join(path(artifact) for artifact in reads if artifact in self.artifacts),
            "missing_inputs": "\n".join(gaps),
            "your_document": "\n".join(own_files),
            "undone_before": "\n".join(undone),
        }

    def errand(self, name: str, reply: type[R], reads: Iterable[str], **context: BriefContext) -> Errand[R]:
        """An errand for one agent. `reads`: the agent's inputs, by path in the folder."""
        role = "researcher" if name.startswith("researcher-") else name
        whole = {**self.context_for(name, reads), **context}
        return Errand(name, role, reply, self.goal_for_briefs, whole, self.folder.own(name))

    @property
    def critique_context(self) -> dict[str, BriefContext]:
        """The open critiques of the design, for the brief of an agent that checks the work. The agent reports which of
        them also apply to the work."""
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
        return tuple(f"tasks/{task.id}.md" for task in self.tasks)

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

        `memories`: used instead of the memories made from the replies. `files`: further files, by path. `notes`: agent
        → findings of the engine, which are appended to the agent's document.
        """
        written = dict(files or {})
        for result in returned.values():
            written |= await self._take_artifact(result)
            await self._record_undone(result)
            if result.reply is None:  # only an event: the decision tables handle a missing reply
                await self.run.record(MemoryMissing(agent=result.name, step=step))
        written |= dict(
            self._document_with_notes(name, lines, written) for name, lines in (notes or {}).items() if lines
        )
        kept_memories = dict(memories) if memories is not None else self.memories(returned)
        written |= {self.folder.path(memory.file): memory.render() for memory in kept_memories.values() if memory}
        documents = {name: self._documents_of(name) for name in kept_memories}
        self.shared = merge_memories(self.shared, kept_memories, documents)
        written |= await self._earlier_rounds(written)
        written[self.folder.path(SHARED)] = self.shared.render()
        await self.run.branch.write(written, f"docs: {step}")
        return kept_memories

    def _document_with_notes(self, name: str, lines: Sequence[str], written: Mapping[str, str]) -> tuple[str, str]:
        """Path and text of an agent's document, with the engine's findings (`lines`) appended. If the agent wrote no
        document in this round, the text says so instead."""
        path = self.folder.artifact(name)
        text = written.get(path, f"# {name}\n\nThe agent left no document in this round.")
        self.artifacts.add(path.removeprefix(self.folder.root))
        self.missing.pop(path.removeprefix(self.folder.root), None)
        return path, f"{text.rstrip()}\n\n## {FOUND_BY_ENGINE}\n\n" + "".join(
            f"- {inert_line(line)}\n" for line in lines
        )

    async def _earlier_rounds(self, written: Mapping[str, str]) -> dict[str, str]:
        """New path → old text, for the documents and memories that this step overwrites. The first version of
        `verification/v-tests.md` is kept as `verification/v-tests.round-1.md`."""
        documents = dict[str, str]()
        for path, text in written.items():
            folder, _, name = path.rpartition("/")
            old = await self.run.branch.read(path) if folder.rpartition("/")[2] in IN_ROUNDS else None
            if old is not None and old != text:
                self.rounds[path] = self.rounds.get(path, 0) + 1
                stem, _, ending = name.partition(".")
                documents[f"{folder}/{stem}.round-{self.rounds[path]}.{ending}"] = old
        return documents

    def memories(self, returned: Mapping[str, Returned[Any]]) -> dict[str, Memory | None]:
        """The memory of each agent, made from the agent's reply; None if the agent gave no reply."""
        return {name: self._memory(result) for name, result in returned.items()}

    def _memory(self, returned: Returned[Any]) -> Memory | None:
        reply: PipelineReply | None = returned.reply
        if reply is None:
            return None
        undone = [f"the engine undid what it wrote into {path}" for path in self._foreign_files(returned)]
        worse = graver_replies(returned)
        findings = (*(line for worse_reply in worse for line in _key_lines(worse_reply)), *_key_lines(reply))
        return Memory(
            agent=returned.name,
            role=returned.role,
            status=allowed_status(returned.name, reply.status),
            findings=(*undone[:2], *findings),
            severity=worst_severity(returned.name, worse[0] if worse else reply),
            decisions=reply.decisions,
            artifacts=self._documents_of(returned.name) or returned.changed,
        )

    def _documents_of(self, name: str) -> tuple[str, ...]:
        artifact = self.folder.artifact(name)
        if name == "planner" and self.tasks:
            return (self.folder.path(PLAN), *(self.folder.task(work.id) for work in self.tasks))
        return (artifact,) if artifact and artifact.removeprefix(self.folder.root) in self.artifacts else ()

    async def _take_artifact(self, returned: Returned[Any]) -> dict[str, str]:
        path = self.folder.artifact(returned.name)
        if not path:
            return {}
        name, commit = path.removeprefix(self.folder.root), returned.written_at(path)
        text = await self.run.branch.read(path, commit=commit) if commit else None
        if text is None:
            if returned.reply is None or name not in self.artifacts:
                old = "the existing document is from an earlier round: " if name in self.artifacts else ""
                problem = "gave no answer" if returned.reply is None else "left no document"
                self.missing[name] = f"{old}{returned.name} {problem}"
                self.artifacts.discard(name)
                await self.run.record(ArtifactMissing(agent=returned.name, path=path, why=self.missing[name]))
            return {}
        self.artifacts.add(name)
        self.missing.pop(name, None)
        more = len(text) - ARTIFACT
        return {path: f"{text[:ARTIFACT]}\n\n[… {more} characters more were cut]\n" if more > 0 else text}

    def _foreign_files(self, returned: Returned[Any]) -> tuple[str, ...]:
        """Files in the feature's folder that the agent was not allowed to write: `memory.md`, another agent's memory or
        document."""
        own_memory = self.folder.path(memory_file(returned.name))
        return tuple(
            sorted(path for path in returned.undone if path.startswith(self.folder.root) and path != own_memory)
        )

    async def _record_undone(self, returned: Returned[Any]) -> None:
        foreign = self._foreign_files(returned)
        if foreign:
            self.undone[returned.name] = foreign
            await self.run.record(MemoryUndone(agent=returned.name, files=tuple(foreign)[:50], why=ONLY_ENGINE))
        others = sorted({*returned.undone} - {*foreign} - {self.folder.path(memory_file(returned.name))})
        if others and self.folder.artifact(returned.name):
            await self.run.record(StrayFilesUndone(agent=returned.name, files=tuple(others[:50])))

    async def send_cluster(
        self,
        step: str,
        errands: Sequence[Errand[R]],
        table: DecisionTable,
    ) -> tuple[ClusterDecision, dict[str, Returned[R]]]:
        """Run a step with a cluster of agents, before the contract is sealed, and decide by the cluster's table.

        If the decision is ERROR, the run ends. When it is resumed, only agents without a good reply are sent again.
        """
        names, returned = [errand.name for errand in errands], dict[str, Returned[R]]()
        while True:
            await self.begin_step(step, names)
            returned |= await self.run.clusters.send_all(
                [errand for errand in errands if errand.name not in returned or not returned[errand.name].good]
            )
            decision = await self.end_step(step, table.decide(await self.write_files(step, returned)), names)
            if decision.status is not Status.ERROR:
                return decision, returned
            await self.run.fail_unless_resumed(f"too few agents answered: {'; '.join(decision.why)}")

    # -- one agent -----------------------------------------------------------------------------------------------------

    async def send_one(self, step: str, errand: Errand[R]) -> R:
        """Run a step with one agent. Without a good reply the run ends; a resumed run sends the agent again."""
        await self.begin_step(step, (errand.name,))
        returned = await self.run.clusters.send_all((errand,))
        await self.write_files(step, returned)
        result = returned[errand.name]
        await self._end_step_of(step, result)
        if result.reply is not None and result.good:
            return result.reply
        await self.run.fail_unless_resumed(_failure_message(step, result))
        return await self.send_one(step, errand)

    async def _end_step_of(self, step: str, returned: Returned[R], wrong: Sequence[str] = ()) -> None:
        """Report the end of a step with one agent. `wrong`: why its reply cannot be used."""
        why = tuple(wrong) if returned.good else (_reason(returned),)
        status = Status.ERROR if why else Status.DONE
        await self.run.record(StepReported(step=step, agents=(returned.name,), result=str(status), why=why))

    # -- the plan ------------------------------------------------------------------------------------------------------

    async def make_plan(self, errand: Errand[TasksPlanned], *, again: bool = False) -> TasksPlanned | None:
        """Have the planner make tasks, and write them as `plan.md` and `tasks/`. If something is wrong with the tasks,
        the planner is asked once to correct the plan. If a first plan gets no usable reply, the run ends.

        `again`: this is a replan. A replan without a usable reply leaves the old plan in place and returns None.
        """
        step = "plan"
        await self.begin_step(step, (errand.name,))
        wrong, returned = tuple[Finding, ...](), Returned[TasksPlanned](errand.name, errand.role, None)
        # At the second try, unknown criteria are no longer an error.
        for known in ({criterion.id for criterion in self.criteria}, ()):
            attempt = replace(errand, context={**errand.context, **({"gaps": wrong} if wrong else {})})
            returned = (await self.run.clusters.send_all((attempt,)))[errand.name]
            tasks = self._with_tasks(returned.reply.tasks if returned.reply and returned.good else ())
            wrong = plan_problems(tasks, known) if returned.good else ()
            if not returned.good or not wrong:
                break
            await self.run.record(PlanRefused(why=tuple(gap.what for gap in wrong)))
        if returned.good and not wrong:
            self.tasks = tasks
            await self.write_files(step, {returned.name: returned}, files=self._plan_files())
            await self._end_step_of(step, returned)
            return returned.reply
        await self.write_files(step, {returned.name: returned})
        why = [gap.what for gap in wrong[:5]]
        await self._end_step_of(step, returned, why)
        if again:
            return None
        await self.run.fail_unless_resumed(
            f"{step}: the plan cannot be used: {'; '.join(why)}" if returned.good else _failure_message(step, returned)
        )
        return await self.make_plan(errand)

    def _with_tasks(self, tasks: Iterable[Work]) -> tuple[Work, ...]:
        """The plan's tasks, with `tasks` in place of the tasks that have the same ids; new tasks come last."""
        tasks = tuple(tasks)
        changed = {task.id: task for task in tasks}
        known = [changed.get(task.id, task) for task in self.tasks]
        ids = {task.id for task in self.tasks}
        return (*known, *(task for task in tasks if task.id not in ids))

    def _plan_files(self) -> dict[str, str]:
        open_ones = [f"{name}: {critique.what} ({critique.by})" for name, critique in self.critiques.items()]
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
            criterion.id: tuple(work.id for work in self.tasks if criterion.id in work.criteria) or every
            for criterion in self.criteria
        }
        return Plan(
            title=self.title,
            tasks=tuple(work.as_task() for work in self.tasks),
            unread=sentence_criteria(self.goal),
            source=self.goal.source,
            requirements=tuple(
                Requirement(id=criterion.id, text=criterion.text, source=source, covers=serving[criterion.id])
                for criterion in self.criteria
            ),
            author="spec",
            text=self.goal.text,
        )


def worst_severity(name: str, reply: PipelineReply) -> str:
    """The severity that the reply states, or the severity of its worst finding if that is worse, in the agent's own
    scale."""
    own_word, kind = reply.severity, name.partition("-")[0]
    scale, worst = SCALES.get(kind), max((finding.severity for finding in reply.findings), default=Severity.NONE)
    if kind == "v" and (unfinished_tasks(reply) or worst >= Severity.MAJOR):
        return "fail"
    if scale is None or worst is Severity.NONE:
        return own_word
    rank = {Severity.LOW: 0, Severity.MEDIUM: 1, Severity.HIGH: 2, Severity.CRITICAL: 3}[worst]
    scale_words = list(scale)
    by_findings = scale_words[rank] if scale is Concern else scale_words[max(0, rank - 1)]
    stated = scale.read(own_word)
    return str(by_findings) if stated is None or stated.rank < by_findings.rank else own_word


def graver_replies(returned: Returned[Any]) -> tuple[PipelineReply, ...]:
    """Earlier replies of a critic or reviewer that are graver than its last reply, gravest first. If an agent failed
    and a second one replaced it, the first agent's replies are among them."""
    scale = SCALES.get(returned.name.partition("-")[0])
    if scale is None or returned.reply is None:
        return ()

    def rank(reply: PipelineReply) -> int:
        concern = scale.read(worst_severity(returned.name, reply))
        return -1 if concern is None else concern.rank

    worse = [reply for reply in returned.before if rank(reply) > rank(returned.reply)]
    return tuple(sorted(worse, key=rank, reverse=True))


def _key_lines(reply: PipelineReply) -> tuple[str, ...]:
    return reply.key_findings or tuple(finding.what for finding in reply.findings) or (reply.summary,)


def unfinished_tasks(reply: PipelineReply) -> tuple[TaskState, ...]:
    """Tasks that a verifier does not call done."""
    return tuple(task for task in reply.tasks if task.state != "done") if isinstance(reply, Verified) else ()


def _failure_message(step: str, returned: Returned[Any]) -> str:
    return f"{step}: {returned.name} failed {returned.tries} times: {_reason(returned)}"


def _reason(returned: Returned[Any]) -> str:
    """The summary of an agent's reply, or why it gave none."""
    if returned.reply is not None:
        return returned.reply.summary or "it says ERROR"
    return next((answer.failure for answer in reversed(returned.answers) if answer.failure), "no answer")
