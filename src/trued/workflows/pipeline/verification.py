"""Checks: what verifiers and reviewers say, held against the engine's own build, tests and proof; the worse counts."""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trued.model import Finding, Plan, Severity, Status, TestsCheck
from trued.proof.checks.tests import package_scripts
from trued.proof.runners.command_parser import recognise_runner
from trued.run.clusters import Returned
from trued.run.judgement import Built
from trued.run.project import detect_project
from trued.run.run import Run
from trued.workflows.pipeline import decision_tables as decide
from trued.workflows.pipeline.decision_tables import CRITICS, GATE, REVIEWERS, VERIFIERS, Decision
from trued.workflows.pipeline.events import CritiqueClosed
from trued.workflows.pipeline.memory import Memory
from trued.workflows.pipeline.orchestrator import Desk, outweighing, unfinished, worst
from trued.workflows.pipeline.task_plan import Work

TESTS, TASKS = "v-tests", "v-tasks"
COMPILING = ["python3", "-m", "compileall", "-q"]
COMMANDS = 8  # that a plan names for its tests, and the engine runs
NOT_RUN = f"`{{command}}`, which the plan names for its tests, was not run: the engine runs {COMMANDS} such commands"
NOT_COUNTED = "`{command}`, which the plan names for its tests, is of no runner whose tests can be counted"
SHOWN = 20  # gaps in a brief: the verification files have them all
LINE = 300
GRAVE = ("fail", "Major", "Blocker", "Critical")
RANK = (Status.DONE, Status.NEEDS_REVISION, Status.ERROR)


@dataclass(frozen=True)
class Checked:
    """What a round of verification, or a review, came to."""

    decision: Decision
    said: Mapping[str, Memory | None]  # what they say themselves
    returned: Mapping[str, Returned[Any]]
    gaps: tuple[Finding, ...] = ()  # that the engine found itself
    beyond: tuple[Finding, ...] = ()  # those of them that no proof of the contract has

    @property
    def settled(self) -> bool:
        return self.decision.status is Status.DONE

    @property
    def revises(self) -> bool:
        return self.decision.status is Status.NEEDS_REVISION

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that stands in the way, whoever found it; who names nothing is taken by its key findings."""
        said = (one for name, back in self.returned.items() for each in _heard_of(back) for one in _said(name, each))
        return (*self.gaps, *said)

    def repeated(self, known: Mapping[str, Finding]) -> set[str]:
        """Critiques of the design that somebody found again in the work; by whatever name nobody knows, all of them."""
        words = {word for back in self.returned.values() for word in getattr(back.reply, "repeats", ()) if word.strip()}
        return {name for word in words for name in _named(word, known)}


def _heard_of(back: Returned[Any]) -> tuple[Any, ...]:
    return (*outweighing(back), back.reply)


def _named(word: str, known: Mapping[str, Finding]) -> Collection[str]:
    number = re.match(r"\W*c?(\d{1,4})\b", word, re.IGNORECASE)
    if number and f"C{int(number[1])}" in known:
        return (f"C{int(number[1])}",)
    return [name for name, one in known.items() if one.what.casefold() in word.casefold()] or known


def _said(name: str, reply: Any) -> tuple[Finding, ...]:
    if reply is None or name == decide.KNOWLEDGE:
        return ()
    found = [one.model_copy(update={"by": name}) for one in reply.findings]
    found += [Finding(what=f"{one.task}: {one.state}: {one.what}", by=name) for one in unfinished(reply)]
    if not found and reply.status is not Status.DONE:
        found = [Finding(what=what, by=name) for what in reply.key_findings or (reply.summary,) if what]
    return tuple(found)


# -- the engine's own look ---------------------------------------------------------------------------------------------


async def built(desk: Desk) -> Built | None:
    """The project's build, run by the engine; None where nobody knows how it is built. How the base is built is the
    user's: what the head makes of it does not take its place."""
    run = desk.run
    if own := run.settings.commands.build:
        return await run.judgement.build(own)
    base, head = await detect_project(run.branch, run.branch.base), await detect_project(run.branch)
    return await run.judgement.build(*to_build(base.build, head.build))


def to_build(base: str, head: str) -> list[str]:
    """The base's command, so that what was taken away is missed; and the head's, where it builds more than that."""
    more = head.startswith(f"{base} && ") or _compiles(base) <= _compiles(head)
    return [one for one in dict.fromkeys(("" if base and more else base, head)) if one]


def _compiles(command: str) -> set[str]:
    """What a command compiles that does nothing else; of any other, itself."""
    words = shlex.split(command)
    return {*words[len(COMPILING) :]} if words[: len(COMPILING)] == COMPILING and "&&" not in words else {command}


def shown(found: Built | None) -> str:
    if found is None:
        return "the engine knows no build of it"
    return f"the engine built it by `{found.command}`: {found.outcome}\n{found.said}"


async def counted(desk: Desk) -> tuple[Finding, ...]:
    """The tests that the plan names, run by the engine: they can only add gaps. What nobody could count is said."""
    named: dict[str, list[Work]] = {}
    for work in desk.works:
        if work.tests.strip():
            named.setdefault(work.tests.strip(), []).append(work)
    found, unsure = list[Finding](), [NOT_RUN.format(command=one[:LINE]) for one in list(named)[COMMANDS:]]
    for command, works in list(named.items())[:COMMANDS]:
        if not await _is_counted(desk.run, command):  # no implementer could mend that
            unsure.append(NOT_COUNTED.format(command=command[:LINE]))
            continue
        check = TestsCheck(command=command)
        tests = await desk.run.judgement.count_named_tests(check)
        figures = tests.figures
        if figures.good or (
            figures.skipped and figures.good_beside(await desk.run.judgement.count_tests(check, desk.run.branch.base))
        ):
            continue
        found += [Finding(what=f"{one.id}: {tests.problem}", where="run by the engine") for one in works]
    desk.run.judgement.set_unverified("tests", unsure)
    return tuple(found)


async def _is_counted(run: Run, command: str) -> bool:
    """Does it come to a runner whose tests the engine can count?"""
    manifest = await run.branch.read("package.json", at=run.branch.base) or ""
    return recognise_runner(command, package_scripts(manifest.encode())) is not None


async def proven(desk: Desk, plan: Plan, returned: Mapping[str, Returned[Any]]) -> tuple[Finding, ...]:
    """What the engine's own proof lacks. What agents give a case for is run with it; the rest is in their own words."""
    own = objections(returned)
    desk.objected = own if GATE in returned else (*desk.objected, *own)
    verdict = await desk.run.prove(plan, desk.objected, disputes=desk.disputes)
    desk.disputes = []
    shown = (one for one in verdict.objections if one.case is not None)  # it was run, and it fails
    return (*verdict.remarks, *(gap for one in (*verdict.suites, *verdict.requirements) for gap in one.gaps), *shown)


# -- what agents object to ---------------------------------------------------------------------------------------------


def objections(returned: Mapping[str, Returned[Any]]) -> tuple[Finding, ...]:
    """Findings that the engine can run, and those on a requirement by somebody who asks for a revision."""
    found = list[Finding]()
    for name, back in returned.items():
        for reply in _heard_of(back) if back.reply is not None and name != decide.KNOWLEDGE else ():
            for one in reply.findings:
                grave = reply.status is not Status.DONE or one.severity >= Severity.MAJOR
                if one.case is not None or (one.requirement and grave):
                    found.append(Finding.model_validate({**one.model_dump(), "by": name}))
    return tuple(found)


# -- decisions ---------------------------------------------------------------------------------------------------------


async def verified(
    desk: Desk, returned: Mapping[str, Returned[Any]], build: Built | None, gaps: tuple[Finding, ...]
) -> Checked:
    """The table's word on what they say, or on what the engine saw where that is worse."""
    counted_gaps, unfinished_ones = await counted(desk) if len(returned) > 1 else (), open_tasks(desk)
    gaps, beyond = (*gaps, *counted_gaps), counted_gaps
    said = {name: None for name in VERIFIERS} | desk.memories(returned)
    _heard(desk, said)
    seen = dict(said)
    if build is not None and not build.ok:
        why = f"the engine's own build (`{build.command}`) ends with {build.outcome}"
        seen[GATE] = overruled(said[GATE], GATE, Status.ERROR, (why,))
        beyond = (Finding(what=why, where=build.said[-LINE:]),)
        gaps = (*beyond, *gaps)
    if gaps and len(returned) > 1:
        lines = tuple(f"the engine found: {one.what}"[:LINE] for one in gaps)
        seen[TESTS] = overruled(said[TESTS], TESTS, Status.NEEDS_REVISION, lines)
    if unfinished_ones:
        lines = tuple(f"the engine knows: {one.what}" for one in unfinished_ones)
        seen[TASKS] = overruled(said[TASKS], TASKS, Status.NEEDS_REVISION, lines)
        gaps, beyond = (*gaps, *unfinished_ones), (*beyond, *unfinished_ones)
    asked = {name: seen[name] for name in VERIFIERS if name in returned or seen[name] is not None}
    await desk.filed("verification", returned, asked)
    decision = max(map(decide.verification, (seen, said)), key=lambda one: RANK.index(one.status))
    decision = await desk.ends("verification", _by_engine(decision, said, seen), VERIFIERS)
    return Checked(decision, said, returned, gaps, beyond)


def _by_engine(decision: Decision, said: Mapping[str, Memory | None], seen: Mapping[str, Memory | None]) -> Decision:
    """Whose word was better than what the engine saw is not named as if it had said that."""

    def told(line: str) -> str:
        name = line.partition(":")[0]
        own = said.get(name)
        better = own is not None and own != seen.get(name) and own.status is Status.DONE
        return f"{line} (by the engine's own run; {name} said DONE)" if better else line

    return decision.model_copy(update={"why": tuple(map(told, decision.why))})


async def reviewed(desk: Desk, returned: Mapping[str, Returned[Any]], gaps: tuple[Finding, ...]) -> Checked:
    memories = await desk.filed("review", returned)
    _heard(desk, memories)
    decision = decide.review(memories)
    if gaps and decision.status is Status.DONE:  # a reviewer's case was run, and it fails
        why = tuple(f"the engine found: {one.what}"[:LINE] for one in gaps[:SHOWN])
        decision = Decision(status=Status.NEEDS_REVISION, why=why)
    decision = await desk.ends("review", decision, REVIEWERS)
    return Checked(decision, memories, returned, gaps)


def overruled(memory: Memory | None, agent: str, status: Status, why: Sequence[str]) -> Memory:
    """What the engine saw goes before what was said; what was said stays below it."""
    if memory is None:
        return Memory(agent=agent, role=agent, status=status, severity="fail", findings=why)
    worse = status if RANK.index(status) > RANK.index(memory.status) else memory.status
    if status is Status.NEEDS_REVISION and memory.status is Status.ERROR:
        worse = status  # who gave up may not hide what is known to fail
    findings = (*why[:3], *memory.findings)
    return memory.model_copy(update={"status": worse, "severity": "fail", "findings": findings[:5]})


# -- what is left at the end -------------------------------------------------------------------------------------------


async def on_record(desk: Desk, verification: Checked, review: Checked) -> None:
    """What nobody settled stands when the run is finished, by whose word it is; what was settled stands no more."""
    desk.run.judgement.object("the engine", verification.beyond)
    for name in VERIFIERS:
        stands = _standing(name, verification) if not verification.settled else ()
        desk.run.judgement.object(name, stands or _said_before(desk, name, verification))
    named = {line.partition(":")[0] for line in review.decision.why}
    for name in REVIEWERS:
        heavy = name != decide.KNOWLEDGE and (memory := review.said.get(name)) and memory.severity in GRAVE
        stands = _standing(name, review) if not review.settled and (name in named or heavy) else ()
        desk.run.judgement.object(name, stands or _said_before(desk, name, review))
    again = verification.repeated(desk.critiques) | review.repeated(desk.critiques)
    feature = verification.returned.get("v-feature")
    looked = (feature and feature.good) or review.decision.status is not Status.ERROR
    left = {name: one for name, one in desk.critiques.items() if name in again or not looked}
    for critic in CRITICS:
        desk.run.judgement.object(critic, [one for one in left.values() if one.by == critic])
    closed = sorted(desk.critiques.keys() - left.keys())
    if desk.critiques:
        await desk.run.record(CritiqueClosed(stands=tuple(sorted(left)), closed=tuple(closed)))


def _standing(name: str, checked: Checked) -> tuple[Finding, ...]:
    memory = checked.said.get(name)
    if memory is None:
        silent = Finding(what=f"{name} gave no answer", where=checked.decision.status)
        return (silent,) if name in checked.returned else ()  # behind a closed gate nobody was asked
    if memory.status is Status.DONE and memory.severity in ("", "pass", "Minor"):
        return ()
    return tuple(Finding(what=line) for line in memory.findings) or (Finding(what=f"{name}: {memory.status}"),)


def _heard(desk: Desk, said: Mapping[str, Memory | None]) -> None:
    """Whoever objected takes it back itself: falling silent, or failing, is no yes."""
    for name, memory in said.items():
        if memory is None or memory.status is Status.ERROR or name == decide.KNOWLEDGE:
            continue
        desk.objecting.pop(name, None)
        if memory.status is Status.NEEDS_REVISION or memory.severity in GRAVE:
            desk.objecting[name] = memory


def _said_before(desk: Desk, name: str, checked: Checked) -> tuple[Finding, ...]:
    now, before = checked.said.get(name), desk.objecting.get(name)
    if before is None or (now is not None and now.status is not Status.ERROR):
        return ()
    words = before.findings or (f"{name}: {before.status}",)
    return tuple(Finding(what=f"{line} (said before the last change; {name} gave no answer since)") for line in words)


def critiques(
    returned: Mapping[str, Returned[Any]], before: Mapping[str, Returned[Any]] | None = None
) -> dict[str, Finding]:
    """What is still High or worse after the revision, by an id that others can name. Of a critic that did not look
    again, what it said `before` stands."""
    found = list[Finding]()
    for name, now in returned.items():
        back = now if now.good or not before else before[name]
        for reply in _heard_of(back):
            if reply is not None and _is_grave(worst(name, reply), reply.status):
                found += [Finding(what=what[:LINE], severity=Severity.HIGH, by=name) for what in _held_against(reply)]
    return {f"C{number}": one for number, one in enumerate(found, 1)}


def _held_against(reply: Any) -> list[str]:
    """Its grave findings; else all of them, or whatever words there are."""
    grave = [one for one in reply.findings if one.severity >= Severity.HIGH] or [*reply.findings]
    return [one.what for one in grave] or list(reply.key_findings) or [reply.summary or reply.severity]


def _is_grave(severity: str, status: Status) -> bool:
    """Who asks for a revision and does not say how badly, means it."""
    return severity in ("High", "Critical") or (not severity and status is Status.NEEDS_REVISION)


# -- which tasks are to be mended --------------------------------------------------------------------------------------


def to_mend(
    desk: Desk,
    findings: Iterable[Finding],
    mapped: Iterable[tuple[str, str]] = (),
    before: Sequence[Work] = (),
) -> dict[str, list[Finding]]:
    """Failures by task: as the planner maps them, and as the engine knows by requirement, file and open task; what is
    new in the plan. What belongs to no task goes to all of them."""
    found: dict[str, list[Finding]] = {}
    known = {one.id for one in desk.works}
    for task, what in mapped:
        if task in known:
            found.setdefault(task, []).append(Finding(what=what, where="the planner"))
    for one in desk.works if before else ():
        if one not in before:
            found.setdefault(one.id, [])
    findings, left = tuple(findings), list[Finding]()
    for finding in (*(one for one in open_tasks(desk) if one not in findings), *findings):
        served = [work.id for work in desk.works if _concerns(work, finding)]
        left += [finding] if not served else []
        for task in served:
            found.setdefault(task, []).append(finding)
    for task in found or sorted(known):
        found.setdefault(task, []).extend(left)
    return {task: gaps[:SHOWN] for task, gaps in found.items()}


def open_tasks(desk: Desk) -> tuple[Finding, ...]:
    """Tasks that nobody has finished: the engine knows that itself, whatever those who verify say."""
    ids = (one.id for one in desk.works if one.id in desk.failed)
    return tuple(Finding(what=f"{one} is open: nobody has finished it") for one in ids)


def _concerns(work: Work, one: Finding) -> bool:
    where, named = one.where.partition(":")[0].removeprefix("./"), (f"{work.id}:", f"{work.id} is open")
    return one.requirement in work.criteria or (bool(where) and where in work.files) or one.what.startswith(named)
