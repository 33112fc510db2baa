"""People: a run's questions to people, and their decisions."""

from collections.abc import Iterable, Sequence

from trued.model import Answer, Approval, Finding, Plan, Task, Verdict
from trued.run import manual_review
from trued.run.judgement import Judgement, subject_name
from trued.run.questions import ask_or_pause, ask_person
from trued.run.steps import Steps
from trued.support.hashing import digest
from trued.support.plain_text import plain_line

GAP = 600  # characters of one gap in a question
FINISH = "finish"  # the name of the step that proves the whole plan


class People:
    """Questions to people, in one scope of a run. Every wait survives a restart."""

    def __init__(self, steps: Steps, judgement: Judgement) -> None:
        self._steps, self._judgement = steps, judgement

    async def answer(self, name: str, text: str, *, can_pause: bool = False) -> Answer:
        """Ask a person to continue, redo or stop. The comment of a redo becomes the first gap of the next round.

        With `--yes` the answer is to continue. Raises `Waiting` if nobody is there. With `can_pause`, "stop" pauses the
        run: the same question is asked again on resume.
        """
        context, key = self._steps.context, self._steps.key(name)

        async def step() -> str:
            if context.settings.yes:
                return f"{Answer.GO_ON}\n--yes\n"
            ask = ask_or_pause if can_pause else ask_person
            answer, comment, who = await ask(context, key, text, [str(answer_option) for answer_option in Answer])
            return "\n".join((answer, who, comment))

        answer, who, comment = (await self._steps.once(key, digest(text), step)).split("\n", 2)
        if answer == Answer.REDO and comment:
            self._steps.state.people.comments[self._steps.path] = Finding(what=comment, where=f"{who}'s word")
        return Answer(answer)

    async def review(self, subject: Task | str) -> Approval | None:
        """A person's decision on a task, or on one requirement, at this head: the first rejection or, without one, the
        last approval. A requirement that gets no decision is parked: the run continues with work that does not need it.
        None if a requirement is parked and nothing is rejected."""
        name = subject if isinstance(subject, str) else subject.id
        key = self._steps.key(f"by hand {name}")
        contract = self._judgement.contract(key)
        decided = await manual_review.review(self._steps, key, manual_review.due(contract, subject))
        rejected = next((decision for decision in decided.words if decision.rejected), None)
        return rejected or (decided.words[-1] if decided.words and not decided.parked else None)

    def approved_now(self, approval: Approval | None) -> tuple[str, ...]:
        """The requirements that the last `review` approved. Other requirements of the same task need evidence of their
        own. `approval`: the result of this `review`. It must not be a rejection; None means that nothing was
        approved."""
        return (
            tuple(decision.requirement for decision in self._steps.state.people.processed[-1].words) if approval else ()
        )

    async def final_approvals(self) -> tuple[Approval, ...]:
        """People's decisions on the finished work: approvals and rejections."""
        return await manual_review.final_approvals(self._steps, self._judgement.contract())

    async def decisions(self) -> tuple[Approval, ...]:
        """After `finish`: ask people about requirements that only a person can judge. Then return all rejections, and
        all approvals of parked requirements, unless a step has already processed them. If the workflow records
        approvals in its files, all other unprocessed approvals are returned, too.

        If there are no new decisions, no step is recorded, so that a resumed run looks for decisions again. If there
        are new decisions, the workflow acts on them and calls `finish` again.
        """
        # People decide on the newest contract. It comes into force only with the next step that needs a contract: a
        # replay could not know which amendments had been made when the run was here the first time.
        amended = self._steps.context.amended
        contract = amended[-1].contract if amended else self._judgement.contract()
        await manual_review.ask_about_missing(self._steps, contract, self._steps.state.proof.final)
        every = self._steps.context.records_approvals
        return await manual_review.new_approvals(self._steps, contract, every=every)

    async def rejected_tasks(self, plan: Plan, whole: Sequence[Task] = ()) -> tuple[Task, ...] | None:
        """The tasks to redo because of new decisions; `take_feedback` returns the reasons for each. None if there are
        no new decisions; () if none of them is a rejection.

        `whole`: the tasks to redo if no task serves a rejected requirement; default: all.
        """
        decisions = await self.decisions()
        if not decisions:
            return None
        people = self._steps.state.people
        amendments = people.processed[-1].amendments
        if amendments is None:
            whole = ()  # a run of an earlier version is replayed as it was
        else:
            self._judgement.amended_since("", amendments)  # people decided by this contract
        return manual_review.tasks_to_redo(people, self._judgement.contract(), plan, decisions, whole or plan.tasks)

    def granted_rounds(self) -> int:
        """After `finish`: the rounds that a person granted since, with `trued resume RUN --rounds N`; else 0."""
        return self._granted()[0]

    def amended_verdict(self) -> Verdict | None:
        """The verdict by the amended contract, if a person amended the contract between `finish` and the grant of more
        rounds; else None. The amended contract comes into force here."""
        return self._judgement.amended_since(f"{FINISH}#{self._steps.state.counts[FINISH]}", self._granted()[1])

    def take_feedback(self, subject: Task | Plan) -> Verdict:
        """Return what a person wrote about this subject (a comment on a redo, or a rejection) as the gaps of a verdict.

        Each comment or rejection is returned once: a second call returns a verdict without gaps.
        """
        people = self._steps.state.people
        comment = people.comments.pop(self._steps.path, None)
        rejections = people.rejections.pop(subject_name(subject), ())
        return Verdict.open(subject_name(subject), *([comment] if comment else []), *rejections)

    def keep_gaps_for(self, task: str, gaps: Iterable[Finding]) -> None:
        """Keep gaps for the next agent that works on this task. They replace earlier gaps and rejections of the task.
        `take_feedback` returns them."""
        self._steps.state.people.rejections[task] = tuple(gaps)

    def _granted(self) -> tuple[int, int]:
        """The rounds that a person granted since the last `finish`, and the number of amendments by then."""
        finishes = self._steps.state.counts[FINISH]
        granted = self._steps.context.more_rounds
        return next(((grant.rounds, grant.amendments) for grant in granted if grant.finishes == finishes), (0, 0))


def confirmation(subject: Task, verdict: Verdict, *, stalled: bool = False) -> str:
    """The question whether to continue after a task: why its rounds ended, and what each answer does."""
    if verdict.holds:
        state, missing = "holds", []
    elif verdict.lacks_only_environment:
        state, missing = (
            "⚠ could not be judged on this machine:",
            [str(fix) for fix in verdict.missing_from_environment],
        )
    else:
        why = "no progress, the last rounds changed nothing" if stalled else "rounds are used up"
        state, missing = f"⚠ {why}, with gaps:", [gap.what for gap in verdict.gaps]
    # A gap may be an agent's words: on one line they cannot look like the engine's.
    state += "".join(f"\n  - {plain_line(line, GAP)}" for line in missing)
    ways = " (yes: the next chunk · redo: this one again, with your comment · stop: pause until you resume)"
    return f"{subject.id} {subject.title}: {verdict.grade}, {state}\nContinue?{ways}"
