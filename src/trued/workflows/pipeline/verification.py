"""Verification: compares what verifiers and reviewers say with the engine's own build, tests and proof."""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from trued.model import Finding, Plan, Severity, Status, TestsCheck
from trued.run.clusters import Returned
from trued.run.judgement import CommitBuild
from trued.run.project import detect_project, is_countable
from trued.workflows.pipeline.decision_tables import (
    CRITICS,
    GATE,
    KNOWLEDGE,
    REVIEW_TABLE,
    REVIEWERS,
    VERIFICATION_TABLE,
    VERIFIERS,
    ClusterDecision,
    Concern,
)
from trued.workflows.pipeline.events import CritiqueClosed
from trued.workflows.pipeline.feature_folder import FEATURE
from trued.workflows.pipeline.memory import Memory
from trued.workflows.pipeline.orchestrator import Orchestrator, graver_replies, unfinished_tasks, worst_severity
from trued.workflows.pipeline.replies import PipelineReply, Reviewed, Verified
from trued.workflows.pipeline.task_plan import Work

TESTS, TASKS = "v-tests", "v-tasks"
COMPILING = ["python3", "-m", "compileall", "-q"]
COMMANDS = 8  # this many test commands of a plan are run
NOT_RUN = (
    f"the plan's test command `{{command}}` was not run: the engine runs at most {COMMANDS} test commands of a plan"
)
NOT_COUNTED = "the plan's test command `{command}` was not run: it uses no test runner whose tests can be counted"
SHOWN = 20  # gaps listed in a brief; the verification files have them all
LINE = 300
GRAVE = ("fail", "Major", "Blocker", "Critical")
AgentAnswers: TypeAlias = Mapping[str, Returned[Any]]  # agent → what it returned
# The memory of critics that are not asked again, for the decision table: they have no objection.
NO_OBJECTION = Memory(agent="nobody", role="nobody", status=Status.DONE)
RANK = (Status.DONE, Status.NEEDS_REVISION, Status.ERROR)


@dataclass(frozen=True)
class CheckResult:
    """How a round of verification, or a review, ended."""

    decision: ClusterDecision
    said: Mapping[str, Memory | None]  # the agents' own statements
    returned: Mapping[str, Returned[Any]]
    gaps: tuple[Finding, ...] = ()  # found by the engine itself
    beyond: tuple[Finding, ...] = ()  # the gaps that a proof of the contract does not find

    @property
    def settled(self) -> bool:
        return self.decision.status is Status.DONE

    @property
    def silent(self) -> tuple[str, ...]:
        """Agents that were asked, but crashed or replied ERROR. The knowledge role is left out, because it decides
        nothing."""
        return tuple(name for name, back in self.returned.items() if not back.good and name != KNOWLEDGE)

    @property
    def good(self) -> AgentAnswers:
        """The good answers. While the work does not change, these agents need not be asked again."""
        return {name: back for name, back in self.returned.items() if back.good}

    @property
    def needs_revision(self) -> bool:
        return self.decision.status is Status.NEEDS_REVISION

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What has to be fixed: all gaps that the engine found, and all findings in the agents' replies. If there are
        no gaps and no findings: what the memories of agents that object list as findings. A missing answer is no
        finding."""
        objections = (
            finding
            for name, back in self.returned.items()
            for reply in _replies_of(back)
            for finding in _findings_of(name, reply)
        )
        return (*self.gaps, *objections) or tuple(
            finding.model_copy(update={"by": name})
            for name, back in self.returned.items()
            for finding in (_open_findings(name, self) if back.good and name != KNOWLEDGE else ())
        )

    def repeated_critiques(self, known: Mapping[str, Finding]) -> set[str]:
        """Ids of critiques of the design that agents found again in the work. All ids if it is unclear which critique
        an agent means."""
        replies = [
            returned.reply for returned in self.returned.values() if isinstance(returned.reply, Verified | Reviewed)
        ]
        terms = {word for reply in replies for word in reply.repeats if word.strip()}
        return {name for word in terms for name in _critiques_named(word, known)}


@dataclass(frozen=True)
class CheckEnd:
    """How the last verification and review ended. `was_resumed`: a person has resumed the run, and both results were
    replayed from the journal."""

    verified: CheckResult
    reviewed: CheckResult
    critiques: tuple[Finding, ...]  # critiques that their critics still call Critical
    was_resumed: bool

    @property
    def is_good(self) -> bool:
        silent = (*self.verified.silent, *self.reviewed.silent)
        return self.verified.settled and self.reviewed.settled and not silent and not self.critiques

    @property
    def why_again(self) -> str:
        """What is done again because a person resumed the run, for people. The second sentence is also used if only
        critiques are open. The text is an input of a recorded step."""
        silent = (*self.verified.silent, *self.reviewed.silent)
        if silent:
            return f"{', '.join(silent)} gave no answer and {'is' if len(silent) == 1 else 'are'} asked again"
        return "what verification and review found is fixed, and everything is checked again"


def _replies_of(back: Returned[Any]) -> tuple[PipelineReply, ...]:
    """The replies of one agent whose findings count: the last reply and, before it, graver earlier replies of a critic
    or reviewer. Empty if the agent gave no reply."""
    return (*graver_replies(back), back.reply) if back.reply is not None else ()


def _critiques_named(word: str, known: Mapping[str, Finding]) -> Collection[str]:
    number = re.match(r"\W*c?(\d{1,4})\b", word, re.IGNORECASE)
    if number and f"C{int(number[1])}" in known:
        return (f"C{int(number[1])}",)
    return [name for name, critique in known.items() if critique.what.casefold() in word.casefold()] or known


def _findings_of(name: str, reply: PipelineReply) -> tuple[Finding, ...]:
    """What a reply wants fixed: its findings and its unfinished tasks. If it has neither and its status is not DONE,
    its key findings count or, without key findings, its summary. Empty for the knowledge role, which decides
    nothing."""
    if name == KNOWLEDGE:
        return ()
    findings: list[Finding] = [finding.model_copy(update={"by": name}) for finding in reply.findings]
    findings += [Finding(what=f"{task.task}: {task.state}: {task.what}", by=name) for task in unfinished_tasks(reply)]
    if not findings and reply.status is not Status.DONE:
        findings = [Finding(what=what, by=name) for what in reply.key_findings or (reply.summary,) if what]
    return tuple(findings)


# -- the engine's own checks -------------------------------------------------------------------------------------------


async def build_project(lead: Orchestrator) -> CommitBuild | None:
    """Build the project with the user's command, else with the commands found on the base and the head; None if there
    is no command."""
    run = lead.run
    if configured := run.settings.commands.build:
        return await run.judgement.build(configured)
    base, head = await detect_project(run.branch, run.branch.base), await detect_project(run.branch)
    return await run.judgement.build(*build_commands(base.build, head.build))


def build_commands(base: str, head: str) -> list[str]:
    """The build commands to run: the base's, then the head's, because what could be built on the base must still build.
    The base's command is left out if the head's command includes it."""
    more = head.startswith(f"{base} && ") or _compiles(base) <= _compiles(head)
    return [command for command in dict.fromkeys(("" if base and more else base, head)) if command]


def _compiles(command: str) -> set[str]:
    """The paths that a command compiles, if it does nothing else; for any other command, the command itself."""
    arguments = shlex.split(command)
    return (
        {*arguments[len(COMPILING) :]}
        if arguments[: len(COMPILING)] == COMPILING and "&&" not in arguments
        else {command}
    )


def build_in_words(build: CommitBuild | None) -> str:
    """The result of the engine's own build, for v-build's brief."""
    if build is None:
        return "the engine knows no build command for it"
    return f"the engine built it with `{build.command}`: {build.outcome}\n{build.said}"


async def planned_test_gaps(lead: Orchestrator) -> tuple[Finding, ...]:
    """Run the tests that the plan names, and return a gap for each task whose tests do not pass. A command whose tests
    cannot be counted only becomes a warning."""
    named: dict[str, list[Work]] = {}
    for work in lead.tasks:
        if work.tests.strip():
            named.setdefault(work.tests.strip(), []).append(work)
    gaps, unsure = list[Finding](), [NOT_RUN.format(command=command[:LINE]) for command in list(named)[COMMANDS:]]
    for command, works in list(named.items())[:COMMANDS]:
        if not await is_countable(lead.run.branch, command):  # only a warning: no implementer could fix the command
            unsure.append(NOT_COUNTED.format(command=command[:LINE]))
            continue
        tests = await lead.run.judgement.count_named_tests(TestsCheck(command=command))
        gaps += [Finding(what=f"{work.id}: {gap.what}", where=gap.where) for gap in tests.gaps for work in works]
    lead.run.judgement.set_unverified("tests", unsure)
    return tuple(gaps)


async def proof_gaps(lead: Orchestrator, plan: Plan, returned: Mapping[str, Returned[Any]]) -> tuple[Finding, ...]:
    """Prove the work, with the agents' objections. Returns what does not hold, and the objections whose case failed."""
    objections = runnable_objections(returned)
    lead.objected = objections if GATE in returned else (*lead.objected, *objections)
    verdict = await lead.run.prove(plan, lead.objected, disputes=lead.disputes)
    lead.disputes = []
    shown = (objection for objection in verdict.objections if objection.case is not None)  # the case was run and failed
    return (
        *verdict.remarks,
        *(gap for judgement in (*verdict.suites, *verdict.requirements) for gap in judgement.gaps),
        *shown,
    )


# -- what agents object to ---------------------------------------------------------------------------------------------


def runnable_objections(returned: Mapping[str, Returned[Any]]) -> tuple[Finding, ...]:
    """The findings that count as objections in a proof: findings with a case, which the engine runs, and grave findings
    that name a requirement."""
    objections = list[Finding]()
    for name, back in returned.items():
        for reply in _replies_of(back) if name != KNOWLEDGE else ():
            for finding in reply.findings:
                grave = reply.status is not Status.DONE or finding.severity >= Severity.MAJOR
                if finding.case is not None or (finding.requirement and grave):
                    objections.append(Finding.model_validate({**finding.model_dump(), "by": name}))
    return tuple(objections)


# -- decisions ---------------------------------------------------------------------------------------------------------


async def decide_verification(
    lead: Orchestrator, returned: Mapping[str, Returned[Any]], build: CommitBuild | None, gaps: tuple[Finding, ...]
) -> CheckResult:
    """Decide by the table twice: from the agents' own replies, and from these replies with each status lowered where
    the engine found a failure. The worse decision counts."""
    counted_gaps, unfinished_ones = await planned_test_gaps(lead) if len(returned) > 1 else (), open_task_gaps(lead)
    gaps, beyond = (*gaps, *counted_gaps), counted_gaps
    own_words = {name: None for name in VERIFIERS} | lead.memories(returned)
    _keep_objections(lead, own_words)
    seen = dict(own_words)
    if build is not None and not build.ok:
        why = f"the engine's own build (`{build.command}`) ends with {build.outcome}"
        seen[GATE] = overruled(own_words[GATE], GATE, Status.ERROR, (why,))
        beyond = (Finding(what=why, where=build.said[-LINE:]),)
        gaps = (*beyond, *gaps)
    if gaps and len(returned) > 1:
        lines = tuple(f"the engine found: {gap.what}"[:LINE] for gap in gaps)
        seen[TESTS] = overruled(own_words[TESTS], TESTS, Status.NEEDS_REVISION, lines)
    if unfinished_ones:
        lines = tuple(f"the engine knows: {task.what}" for task in unfinished_ones)
        seen[TASKS] = overruled(own_words[TASKS], TASKS, Status.NEEDS_REVISION, lines)
        gaps, beyond = (*gaps, *unfinished_ones), (*beyond, *unfinished_ones)
    memories = {name: seen[name] for name in VERIFIERS if name in returned or seen[name] is not None}
    notes = {GATE: build.said.splitlines()[-SHOWN:]} if build is not None and not build.ok else {}
    notes |= {TESTS: [gap.what for gap in gaps if gap not in unfinished_ones]} if len(returned) > 1 else {}
    notes |= {TASKS: [task.what for task in unfinished_ones]}
    await lead.write_files("verification", returned, memories, notes=notes)
    decision = max(map(VERIFICATION_TABLE.decide, (seen, own_words)), key=lambda decision: RANK.index(decision.status))
    result = CheckResult(_with_engine_notes(decision, own_words, seen), own_words, returned, gaps, beyond)
    await lead.end_step("verification", result.decision, VERIFIERS, result.silent)
    return result


def _with_engine_notes(
    decision: ClusterDecision, own_words: Mapping[str, Memory | None], with_engine: Mapping[str, Memory | None]
) -> ClusterDecision:
    """The decision, with a note on each reason in which the engine overruled an agent that said DONE."""

    def with_note(line: str) -> str:
        name = line.partition(":")[0]
        memory = own_words.get(name)
        better = memory is not None and memory != with_engine.get(name) and memory.status is Status.DONE
        return f"{line} (by the engine's own run; {name} said DONE)" if better else line

    return decision.model_copy(update={"why": tuple(map(with_note, decision.why))})


async def decide_review(
    lead: Orchestrator, returned: Mapping[str, Returned[Any]], gaps: tuple[Finding, ...]
) -> CheckResult:
    """Decide by the table; if the engine's proof found a gap, at least a revision is needed."""
    memories = await lead.write_files("review", returned)
    _keep_objections(lead, memories)
    decision = REVIEW_TABLE.decide(memories)
    if gaps and decision.status is Status.DONE:  # the reviewers are content, but the engine found a gap
        why = tuple(f"the engine found: {gap.what}"[:LINE] for gap in gaps[:SHOWN])
        decision = ClusterDecision(status=Status.NEEDS_REVISION, why=why)
    result = CheckResult(decision, memories, returned, gaps)
    await lead.end_step("review", decision, REVIEWERS, result.silent)
    return result


def overruled(memory: Memory | None, agent: str, status: Status, why: Sequence[str]) -> Memory:
    """An agent's memory, corrected because the engine found a failure. Its findings begin with up to three of `why`,
    its severity is "fail", and its status is the agent's or `status`, whichever is worse.

    Exception: NEEDS_REVISION replaces the agent's ERROR, because an ERROR must not hide what is known to fail.
    """
    if memory is None:
        return Memory(agent=agent, role=agent, status=status, severity="fail", findings=why)
    worse = status if RANK.index(status) > RANK.index(memory.status) else memory.status
    if status is Status.NEEDS_REVISION and memory.status is Status.ERROR:
        worse = status  # an agent's ERROR must not hide what is known to fail
    findings = (*why[:3], *memory.findings)
    return memory.model_copy(update={"status": worse, "severity": "fail", "findings": findings[:5]})


# -- what is open at the end -------------------------------------------------------------------------------------------


async def record_open_objections(lead: Orchestrator, verification: CheckResult, review: CheckResult) -> None:
    """Record, for the final proof, every objection that is still open, under the name of the agent that raised it."""
    lead.run.judgement.object("the engine", verification.beyond)
    for name in VERIFIERS:
        stands = _open_findings(name, verification) if not verification.settled else ()
        lead.run.judgement.object(name, stands or _unretracted(lead, name, verification))
    named = {line.partition(":")[0] for line in review.decision.why}
    for name in REVIEWERS:
        heavy = name != KNOWLEDGE and (memory := review.said.get(name)) and memory.severity in GRAVE
        stands = _open_findings(name, review) if not review.settled and (name in named or heavy) else ()
        lead.run.judgement.object(name, stands or _unretracted(lead, name, review))
    again = verification.repeated_critiques(lead.critiques) | review.repeated_critiques(lead.critiques)
    feature = verification.returned.get("v-feature")
    looked = (feature and feature.good) or review.decision.status is not Status.ERROR
    remaining = {name: critique for name, critique in lead.critiques.items() if name in again or not looked}
    remaining |= {name: critique for name, critique in lead.critiques.items() if critique.severity >= Severity.CRITICAL}
    lead.run.judgement.set_unverified("critiques", [_as_note(*critique) for critique in lead.critiques.items()])
    for critic in CRITICS:
        lead.run.judgement.object(critic, [critique for critique in remaining.values() if critique.by == critic])
    closed = sorted(lead.critiques.keys() - remaining.keys())
    if lead.critiques:
        await lead.run.record(CritiqueClosed(stands=tuple(sorted(remaining)), closed=tuple(closed)))


def note_unchecked_criteria(lead: Orchestrator) -> None:
    """Record a warning for each criterion of `feature.md` that is not in the contract, for example because the user's
    file covers the whole request."""
    held = {
        name
        for requirement in lead.run.judgement.contract().requirements
        for name in (requirement.id, *requirement.covers)
    }
    notes = [
        f"{criterion.id} of {FEATURE} has no check of its own: {criterion.text}"
        for criterion in lead.criteria
        if criterion.id not in held
    ]
    lead.run.judgement.set_unverified("criteria", notes)


def _as_note(name: str, critique: Finding) -> str:
    """A note for verdicts: after the design's revision, the critic still upholds this critique."""
    severity = "Critical" if critique.severity >= Severity.CRITICAL else "High"
    return f"no check decides {name}: {critique.by} rated it {severity} after the design's revision: {critique.what}"


def withdrawn_by(returned: Mapping[str, Returned[Any]]) -> set[str]:
    """Critics that withdrew their critique when they were asked about the work. Only a critic itself can do that."""
    return {
        name
        for name, back in returned.items()
        if back.good and not any(_is_grave(worst_severity(name, reply), reply.status) for reply in _replies_of(back))
    }


def _open_findings(name: str, checked: CheckResult) -> tuple[Finding, ...]:
    """The agent's open findings; if it was asked and gave no answer, one finding that says so."""
    memory = checked.said.get(name)
    if memory is None:
        silent = Finding(what=f"{name} gave no answer", where=checked.decision.status)
        # An agent that is not in `returned` was not asked, because v-build did not pass.
        return (silent,) if name in checked.returned else ()
    if memory.status is Status.DONE and memory.severity in ("", "pass", "Minor"):
        return ()
    return tuple(Finding(what=line) for line in memory.findings) or (Finding(what=f"{name}: {memory.status}"),)


def _keep_objections(lead: Orchestrator, own_words: Mapping[str, Memory | None]) -> None:
    """Remember which agents object. Only the agent itself can withdraw an objection; silence or failure does not."""
    for name, memory in own_words.items():
        if memory is None or memory.status is Status.ERROR or name == KNOWLEDGE:
            continue
        lead.objecting.pop(name, None)
        if memory.status is Status.NEEDS_REVISION or memory.severity in GRAVE:
            lead.objecting[name] = memory


def _unretracted(lead: Orchestrator, name: str, checked: CheckResult) -> tuple[Finding, ...]:
    """The objections that an agent raised earlier and has not withdrawn, if it has given no good answer since."""
    now, before = checked.said.get(name), lead.objecting.get(name)
    if before is None or (now is not None and now.status is not Status.ERROR):
        return ()
    findings = before.findings or (f"{name}: {before.status}",)
    return tuple(
        Finding(what=f"{line} (said before the last change; {name} gave no answer since)") for line in findings
    )


def grave_critiques(
    returned: Mapping[str, Returned[Any]], before: Mapping[str, Returned[Any]] | None = None
) -> dict[str, Finding]:
    """Critiques that are High or worse after the revision, by id. If a critic gave no second answer, its first answer
    (in `before`) counts."""
    critiques = list[Finding]()
    for name, now in returned.items():
        back = now if now.good or not before else before[name]
        for reply in _replies_of(back):
            if _is_grave(worst_severity(name, reply), reply.status):
                critiques += [
                    finding.model_copy(update={"by": name})
                    for finding in _grave_lines(reply, worst_severity(name, reply))
                ]
    return {f"C{number}": finding for number, finding in enumerate(critiques, 1)}


def _grave_lines(reply: PipelineReply, worst: str) -> list[Finding]:
    """The findings of a critic's reply that is High or worse. `worst`: the severity of the whole reply; all but
    Critical counts as High.

    If some findings are High or worse, only they are returned, and the gravest of them get the reply's severity.
    Otherwise all findings get the reply's severity. If the reply has no findings, its key findings are used instead or,
    without key findings, its summary.
    """
    whole = Severity.CRITICAL if worst == Concern.CRITICAL else Severity.HIGH
    grave = [finding for finding in reply.findings if finding.severity >= Severity.HIGH]
    if grave:
        most = max(finding.severity for finding in grave)
        return [
            Finding(what=finding.what[:LINE], severity=whole if finding.severity == most else finding.severity)
            for finding in grave
        ]
    lines = (
        [finding.what for finding in reply.findings] or list(reply.key_findings) or [reply.summary or reply.severity]
    )
    return [Finding(what=line[:LINE], severity=whole) for line in lines]


def _is_grave(severity: str, status: Status) -> bool:
    """Whether a critique is High or worse; a request for a revision without a severity counts as grave."""
    return severity in ("High", "Critical") or (not severity and status is Status.NEEDS_REVISION)


# -- which tasks are to be fixed ---------------------------------------------------------------------------------------


def gaps_by_task(
    lead: Orchestrator,
    findings: Iterable[Finding],
    assigned: Iterable[tuple[str, str]] = (),
    before: Sequence[Work] = (),
) -> dict[str, list[Finding]]:
    """Task → the gaps that it has to fix. `assigned`: pairs of task and failure from the planner's replan. `before`:
    the tasks before that replan; empty if there was none. Tasks that the replan added or changed are in the result even
    without a gap.

    The engine assigns a finding to tasks by requirement, file and task id, and adds a gap for each unfinished task. A
    finding that fits no task goes to all tasks of the result or, if the result is empty, to all tasks of the plan.
    """
    gaps_of: dict[str, list[Finding]] = {}
    known = {work.id for work in lead.tasks}
    for task, what in assigned:
        if task in known:
            gaps_of.setdefault(task, []).append(Finding(what=what, where="the planner"))
    for planned in lead.tasks if before else ():
        if planned not in before:
            gaps_of.setdefault(planned.id, [])
    findings, unassigned = tuple(findings), list[Finding]()
    for finding in (*(gap for gap in open_task_gaps(lead) if gap not in findings), *findings):
        served = [work.id for work in lead.tasks if _concerns(work, finding)]
        unassigned += [finding] if not served else []
        for task in served:
            gaps_of.setdefault(task, []).append(finding)
    for task in gaps_of or (sorted(known) if unassigned else ()):
        gaps_of.setdefault(task, []).extend(unassigned)
    return {task: gaps[:SHOWN] for task, gaps in gaps_of.items()}


def open_task_gaps(lead: Orchestrator) -> tuple[Finding, ...]:
    """A gap for each task that no agent has finished, whatever the verifiers say."""
    ids = (task.id for task in lead.tasks if task.id in lead.unfinished)
    return tuple(Finding(what=f"{task} is open: nobody has finished it") for task in ids)


def _concerns(work: Work, finding: Finding) -> bool:
    where, named = finding.where.partition(":")[0].removeprefix("./"), (f"{work.id}:", f"{work.id} is open")
    return (
        finding.requirement in work.criteria or (bool(where) and where in work.files) or finding.what.startswith(named)
    )
