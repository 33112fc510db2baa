"""The orchestrator's desk: artifacts collected, memories merged, gaps told; nobody else writes memory.md."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trued.inputs.sentences import sentence_criteria
from trued.model import Finding, Goal, Plan, Reply, Requirement, Severity, Source, Status
from trued.run.clusters import Errand, Returned
from trued.run.run import Run
from trued.run.session import BriefContext, R
from trued.workflows.pipeline import decision_tables as decide
from trued.workflows.pipeline.decision_tables import CRITICS, VERIFIERS, Concern, Decision, Flaw, Scale
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
from trued.workflows.pipeline.memory import SHARED, Memory, Shared, file_of, merged
from trued.workflows.pipeline.task_plan import Work, wrong_with

RESEARCH = tuple(f"research/{focus}.md" for focus in FOCUSES)
CRITIQUES = tuple(f"ct-review/{name}.md" for name in CRITICS)
VERIFICATION = tuple(f"verification/{name}.md" for name in VERIFIERS)
WORDS = 6_000  # characters of the request in a brief; the rest is in initial-request.md
ARTIFACT = 200_000  # characters of one artifact
FILES = 100  # that are named in a brief
ONLY_ENGINE = "only the engine writes it"
SCALES: dict[str, type[Scale]] = {"ct": Concern, "r": Flaw}


@dataclass
class Desk:
    """All that the orchestrator knows. Made anew from the journal with every replay."""

    run: Run
    goal: Goal
    folder: FeatureFolder
    shared: Shared
    there: set[str] = field(default_factory=set)  # artifacts, by path in the folder
    gone: dict[str, str] = field(default_factory=dict)  # artifacts that should be there, and why they are not
    works: tuple[Work, ...] = ()
    criteria: tuple[Acceptance, ...] = ()
    critiques: dict[str, Finding] = field(default_factory=dict)  # of the design, still High: by the id that they got
    failed: set[str] = field(default_factory=set)  # tasks that are open
    disputes: list[Finding] = field(default_factory=list)  # of implementers, about cases that they cannot see
    objected: tuple[Finding, ...] = ()  # of those who check, on the work as it is now
    objecting: dict[str, Memory] = field(default_factory=dict)  # who checks, and has not taken back what it said
    meddled: dict[str, tuple[str, ...]] = field(default_factory=dict)  # agent → files that were not its to write
    wave: int = 0

    # -- what an agent is told -----------------------------------------------------------------------------------------

    @property
    def words(self) -> Goal:
        """The request as far as it fits into every brief."""
        text, more = self.goal.text, len(self.goal.text) - WORDS
        if more > 0:
            text = f"{text[:WORDS]}\n[… {more} characters more: {self.folder.path(REQUEST)}]"
        return self.goal.model_copy(update={"text": text})

    def told(self, name: str, reads: Iterable[str]) -> dict[str, BriefContext]:
        """`memory.md` first, then paths; what is missing is said, so that nobody looks for it."""
        reads = tuple(reads)
        path, own = self.folder.path, self.folder.own(name)
        gaps = [f"{path(one)}: {self.gone.get(one, 'it is not there')}" for one in reads if one not in self.there]
        undone = [
            f"{one}: you wrote it before, it is not yours, and it was undone" for one in self.meddled.get(name, ())
        ]
        return {
            "read_first": path(SHARED),
            "artifacts": "\n".join(path(one) for one in reads if one in self.there),
            "missing_inputs": "\n".join(gaps),
            "your_document": "\n".join(own),
            "undone_before": "\n".join(undone),
        }

    def errand(self, name: str, reply: type[R], reads: Iterable[str], **context: BriefContext) -> Errand[R]:
        role = "researcher" if name.startswith("researcher-") else name
        told = {**self.told(name, reads), **context}
        return Errand(name, role, reply, self.words, told, self.folder.own(name))

    @property
    def about_design(self) -> dict[str, BriefContext]:
        """Critiques that are still open: whoever finds one again in the work names it."""
        return {"open_critiques": dict(self.critiques)} if self.critiques else {}

    async def diff(self) -> dict[str, BriefContext]:
        """What whoever checks has to look at: since which commit, and in which files."""
        changed = await self.run.branch.changes()
        more = [f"… {len(changed) - FILES} more"] if len(changed) > FILES else []
        return {
            "the_work": "\n".join([f"all that changed since commit {self.run.branch.base}:", *changed[:FILES], *more])
        }

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(f"tasks/{one.id}.md" for one in self.works)

    # -- what it leaves ------------------------------------------------------------------------------------------------

    async def begins(self, step: str, agents: Iterable[str]) -> None:
        await self.run.record(StepReported(step=step, agents=tuple(agents)))

    async def ends(self, step: str, decision: Decision, agents: Iterable[str]) -> Decision:
        decided = ClusterDecided(cluster=step, result=decision.status, why=decision.why)
        await self.run.record(decided, step="decision")  # `decided` is what people have
        ended = StepReported(step=step, agents=tuple(agents), result=str(decision.status), why=decision.why)
        await self.run.record(ended)
        return decision

    async def filed(
        self,
        step: str,
        returned: Mapping[str, Returned[Any]],
        memories: Mapping[str, Memory | None] | None = None,
        files: Mapping[str, str] | None = None,
    ) -> dict[str, Memory | None]:
        """After an agent or a cluster: artifacts, memories and `memory.md`, in one commit of the engine's own."""
        written = dict(files or {})
        for one in returned.values():
            written |= await self._artifact(one)
            await self._meddling(one)
            if one.reply is None:  # a warning, and no more: the tables know what to make of it
                await self.run.record(MemoryMissing(agent=one.name, step=step))
        kept = dict(memories) if memories is not None else self.memories(returned)
        written |= {self.folder.path(memory.file): memory.render() for memory in kept.values() if memory}
        left = {name: self._left_by(name) for name in kept}
        self.shared = merged(self.shared, kept, left)
        written[self.folder.path(SHARED)] = self.shared.render()
        await self.run.branch.write(written, f"docs: {step}")
        return kept

    def memories(self, returned: Mapping[str, Returned[Any]]) -> dict[str, Memory | None]:
        return {name: self._memory(one) for name, one in returned.items()}

    def _memory(self, one: Returned[Any]) -> Memory | None:
        reply = one.reply
        if reply is None:
            return None
        undone = [f"the engine undid what it wrote into {path}" for path in self._foreign(one)]
        worse = outweighing(one)
        said = (*(line for each in worse for line in _words(each)), *_words(reply))
        return Memory(
            agent=one.name,
            role=one.role,
            status=decide.spoken(one.name, reply.status),
            findings=(*undone[:2], *said),
            severity=worst(one.name, worse[0] if worse else reply),
            decisions=reply.decisions,
            artifacts=self._left_by(one.name) or one.changed,
        )

    def _left_by(self, name: str) -> tuple[str, ...]:
        own = self.folder.artifact(name)
        if name == "planner" and self.works:
            return (self.folder.path(PLAN), *(self.folder.task(work.id) for work in self.works))
        return (own,) if own and own.removeprefix(self.folder.root) in self.there else ()

    async def _artifact(self, one: Returned[Any]) -> dict[str, str]:
        path = self.folder.artifact(one.name)
        if not path:
            return {}
        name, commit = path.removeprefix(self.folder.root), one.written_at(path)
        text = await self.run.branch.read(path, at=commit) if commit else None
        if text is None:
            if one.reply is None or name not in self.there:
                old = "what is there is of an earlier round: " if name in self.there else ""
                said = "gave no answer" if one.reply is None else "left no document"
                self.gone[name] = f"{old}{one.name} {said}"
                self.there.discard(name)
                await self.run.record(ArtifactMissing(agent=one.name, path=path, why=self.gone[name]))
            return {}
        self.there.add(name)
        self.gone.pop(name, None)
        more = len(text) - ARTIFACT
        return {path: f"{text[:ARTIFACT]}\n\n[… {more} characters more were cut]\n" if more > 0 else text}

    def _foreign(self, one: Returned[Any]) -> tuple[str, ...]:
        """What it wrote in the feature's folder and was not its own: `memory.md`, another's memory or document."""
        own = self.folder.path(file_of(one.name))
        return tuple(sorted(path for path in one.undone if path.startswith(self.folder.root) and path != own))

    async def _meddling(self, one: Returned[Any]) -> None:
        foreign = self._foreign(one)
        if foreign:
            self.meddled[one.name] = foreign
            await self.run.record(MemoryUndone(agent=one.name, files=tuple(foreign)[:50], why=ONLY_ENGINE))
        others = sorted({*one.undone} - {*foreign} - {self.folder.path(file_of(one.name))})
        if others and self.folder.artifact(one.name):
            await self.run.record(StrayFilesUndone(agent=one.name, files=tuple(others[:50])))

    async def needed(
        self,
        step: str,
        errands: Sequence[Errand[R]],
        decides: Callable[[Mapping[str, Memory | None]], Decision],
    ) -> tuple[Decision, dict[str, Returned[R]]]:
        """Pattern A, before anything is sealed: a cluster that failed ends the run. Whoever resumes it sends those
        again who gave nothing."""
        names, found = [one.name for one in errands], dict[str, Returned[R]]()
        while True:
            await self.begins(step, names)
            found |= await self.run.clusters.send_all(
                [one for one in errands if one.name not in found or not found[one.name].good]
            )
            decision = await self.ends(step, decides(await self.filed(step, found)), names)
            if decision.status is not Status.ERROR:
                return decision, found
            await self.run.fail_unless_resumed(f"too few of them answered: {'; '.join(decision.why)}")

    # -- one agent -----------------------------------------------------------------------------------------------------

    async def one(self, step: str, errand: Errand[R]) -> R:
        """A step with one agent: without it there is nothing to go on with."""
        await self.begins(step, (errand.name,))
        returned = await self.run.clusters.send_all((errand,))
        await self.filed(step, returned)
        one = returned[errand.name]
        await self._ended(step, one)
        if one.reply is not None and one.good:
            return one.reply
        await self.run.fail_unless_resumed(_failed(step, one))
        return await self.one(step, errand)

    async def _ended(self, step: str, one: Returned[R], wrong: Sequence[str] = ()) -> None:
        """An answer that cannot be used is as good as none."""
        why = tuple(wrong) if one.good else (_why(one),)
        status = Status.ERROR if why else Status.DONE
        await self.run.record(StepReported(step=step, agents=(one.name,), result=str(status), why=why))

    # -- the plan ------------------------------------------------------------------------------------------------------

    async def planned(self, errand: Errand[R], *, again: bool = False) -> R | None:
        """The planner's tasks as `plan.md` and `tasks/`; what is wrong with them it is told once. Where there is a plan
        already, a planner that fails leaves it as it is."""
        step = "plan"
        await self.begins(step, (errand.name,))
        wrong, one = tuple[Finding, ...](), Returned[R](errand.name, errand.role, None)
        for known in ({each.id for each in self.criteria}, ()):  # a name that nobody knows ends no run
            asked = replace(errand, context={**errand.context, **({"gaps": wrong} if wrong else {})})
            one = (await self.run.clusters.send_all((asked,)))[errand.name]
            works = self._with(getattr(one.reply, "tasks", ()) if one.good else ())
            wrong = wrong_with(works, known) if one.good else ()
            if not one.good or not wrong:
                break
            await self.run.record(PlanRefused(why=tuple(each.what for each in wrong)))
        if one.good and not wrong:
            self.works = works
            await self.filed(step, {one.name: one}, files=self._plan_files())
            await self._ended(step, one)
            return one.reply
        await self.filed(step, {one.name: one})
        why = [each.what for each in wrong[:5]]
        await self._ended(step, one, why)
        if again:
            return None
        await self.run.fail_unless_resumed(
            f"{step}: the plan cannot be used: {'; '.join(why)}" if one.good else _failed(step, one)
        )
        return await self.planned(errand)

    def _with(self, tasks: Iterable[Work]) -> tuple[Work, ...]:
        """Known tasks keep their place; what a replan says of one replaces it."""
        tasks = tuple(tasks)
        said = {one.id: one for one in tasks}
        known = [said.get(one.id, one) for one in self.works]
        ids = {one.id for one in self.works}
        return (*known, *(one for one in tasks if one.id not in ids))

    def _plan_files(self) -> dict[str, str]:
        open_ones = [f"{name}: {one.what} ({one.by})" for name, one in self.critiques.items()]
        notes = {"Critiques of the design that are still open": open_ones}
        self.there |= {PLAN, *self.tasks}
        return plan_files(self.folder, self.goal.title, self.works, self.criteria, notes)

    @property
    def plan(self) -> Plan:
        """What is sealed: the request's sentences, the criteria of `feature.md`, and the tasks that serve them."""
        source = Source(file=self.folder.path(FEATURE))
        every = tuple(work.id for work in self.works)
        serving = {
            one.id: tuple(work.id for work in self.works if one.id in work.criteria) or every for one in self.criteria
        }
        return Plan(
            title=self.goal.title,
            tasks=tuple(work.task for work in self.works),
            unread=sentence_criteria(self.goal),
            source=self.goal.source,
            requirements=tuple(
                Requirement(id=one.id, text=one.text, source=source, covers=serving[one.id]) for one in self.criteria
            ),
            author="spec",
            text=self.goal.text,
        )


async def set_up(run: Run, goal: Goal) -> Desk:
    """Step 0: a folder that is nobody's yet, the request verbatim, and an empty memory."""
    folder = folder_for(goal, await run.branch.paths())
    run.branch.own(folder.root)
    desk = Desk(run, goal, folder, Shared(slug=folder.slug), {REQUEST})
    files = {REQUEST: initial_request(goal, run.branch.base), SHARED: desk.shared.render(), "memory/.gitkeep": ""}
    await run.branch.write({folder.path(name): text for name, text in files.items()}, "docs: the request")
    await run.record(StepReported(step="set-up", result=str(Status.DONE)))
    return desk


def worst(name: str, reply: Reply) -> str:
    """The highest severity in the agent's own scale: what it says, or what its findings say where that is worse."""
    said = str(getattr(reply, "severity", ""))
    kind = name.partition("-")[0]
    scale, found = (
        SCALES.get(kind),
        max((one.severity for one in getattr(reply, "findings", ())), default=Severity.NONE),
    )
    if kind == "v" and (unfinished(reply) or found >= Severity.MAJOR):
        return "fail"
    if scale is None or found is Severity.NONE:
        return said
    own = {Severity.LOW: 0, Severity.MEDIUM: 1, Severity.HIGH: 2, Severity.CRITICAL: 3}[found]
    words = list(scale)
    by_findings = words[own] if scale is Concern else words[max(0, own - 1)]
    stated = scale.read(said)
    return str(by_findings) if stated is None or stated.rank < by_findings.rank else said


def outweighing(one: Returned[Any]) -> tuple[Any, ...]:
    """What a critic or reviewer said before it was asked again, worst first, where that is worse than its last word:
    who failed may be followed by another, and what was found is not unsaid by that."""
    scale = SCALES.get(one.name.partition("-")[0])
    if scale is None or one.reply is None:
        return ()

    def rank(reply: Any) -> int:
        found = scale.read(worst(one.name, reply))
        return -1 if found is None else found.rank

    worse = [reply for reply in one.before if rank(reply) > rank(one.reply)]
    return tuple(sorted(worse, key=rank, reverse=True))


def _words(reply: Any) -> tuple[str, ...]:
    return reply.key_findings or tuple(finding.what for finding in reply.findings) or (reply.summary,)


def unfinished(reply: Reply) -> tuple[Any, ...]:
    """Tasks that a verifier calls anything but done."""
    return tuple(one for one in getattr(reply, "tasks", ()) if getattr(one, "state", "done") != "done")


def _failed(step: str, one: Returned[Any]) -> str:
    return f"{step}: {one.name} failed {one.tries} times: {_why(one)}"


def _why(one: Returned[Any]) -> str:
    """What it said, or why it said nothing."""
    if one.reply is not None:
        return one.reply.summary or "it says ERROR"
    return next((left.failure for left in reversed(one.lefts) if left.failure), "no answer")
