"""What goes from one agent to the next in a handoff: files that are found, laid down and kept true."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trued.errors import AgentFailed, BadInput
from trued.inputs.project.manifests import is_read
from trued.model import Figures, Finding, Goal, Outcome, Reply, Task, TestsCheck, Verdict
from trued.run.agent_call import AgentAnswer
from trued.run.branch import SetUp
from trued.run.named_tests import CountedTests
from trued.run.run import Run
from trued.run.session import Session
from trued.workflows.handoff import agent_state, feature_list
from trued.workflows.handoff.agent_state import AgentState
from trued.workflows.handoff.e2e_example import e2e_example
from trued.workflows.handoff.events import FAILURE_MODES, FeatureProposed, PassUndone
from trued.workflows.handoff.failure_modes import (
    Claimed,
    Counted,
    Mode,
    guesswork,
    meddling,
    one_shot,
    premature_victory,
)
from trued.workflows.handoff.feature_list import (
    STATUS,
    Feature,
    FeatureList,
    is_feature_list,
    parse_feature_list,
    requirement_of,
)
from trued.workflows.handoff.init_script import init_script, untouched
from trued.workflows.handoff.progress_file import PROGRESS, notes_below
from trued.workflows.handoff.project import MET, SCRIPT, SHOWN, Project

__all__ = ["SCRIPT", "Attempt"]

CLAIMS = ("passes", "tests_passing", "tests_total", "tests", "files")


@dataclass(frozen=True)
class Attempt:
    """One coder's turn on one feature, and what the engine found."""

    feature: Feature
    said: Reply
    left: AgentAnswer
    verdict: Verdict
    tests: CountedTests | None  # of the feature's own command

    @property
    def figures(self) -> Figures | None:
        return self.tests.figures if self.tests else None

    def told(self, name: str) -> tuple[str, ...]:
        return tuple(getattr(self.said, name, ()))


# -- the beginning -----------------------------------------------------------------------------------------------------


async def found(run: Run, goal: Goal) -> Project | None:
    """The list that the user wrote, or that an earlier run left on the branch; None where there is none."""
    await _room_for_files(run)
    text, file, author = goal.text, goal.source.file or feature_list.NAME, ""
    if not is_feature_list(text):
        landed = agent_state.parse_agent_state(await run.branch.read(agent_state.NAME, run.branch.base) or "").digest
        if landed and landed != _about(run, goal)["digest"] and not run.branch.is_continued:
            return None  # an earlier run's list, for other words
        theirs = await run.branch.read(feature_list.NAME, run.branch.base) if not landed else None
        # The user's own list is read as the user wrote it, and not as it may have become on the branch since.
        text, file = theirs or await run.branch.read(feature_list.NAME) or "", feature_list.NAME
        author = "" if theirs else "initializer"
    if not text:
        return None
    features = parse_feature_list(text, file)
    if run.branch.is_continued and not author:
        features = _hinted(features, await run.branch.read(feature_list.NAME) or "")
    return await _as_left(run, goal, Project(features=features, author=author, file=file))


async def _room_for_files(run: Run) -> None:
    """A folder of the user's that has a file's name would be lost."""
    names = (feature_list.NAME, agent_state.NAME, SCRIPT, run.settings.progress)
    for name in names if not run.branch.is_continued else ():
        if any(path.startswith(f"{name}/") for path in await run.branch.paths()):
            raise BadInput(f"{name} is a folder here, and a handoff writes a file of that name", then="rename it")


def _hinted(features: FeatureList, left: str) -> FeatureList:
    """The user's own list, with what the one on the branch says of how far each feature is."""
    try:
        said = {one.id: one for one in parse_feature_list(left).features}
    except BadInput:
        return features
    for one in features.features:
        if one.id in said:
            status = {name: getattr(said[one.id], name) for name in STATUS}
            features = features.with_feature(one.model_copy(update=status))
    return features


async def _as_left(run: Run, goal: Goal, project: Project) -> Project:
    """With what the files on the branch say beside the list."""
    before = agent_state.parse_agent_state(await run.branch.read(agent_state.NAME) or "")
    state = before.model_copy(update=_about(run, goal))
    project = await with_notes(run, project)
    return project.model_copy(update={"state": state, "target": run.settings.coverage_target})


async def with_notes(run: Run, project: Project) -> Project:
    """What somebody wrote into the progress file before stays below the line."""
    there = [name for name in (run.settings.progress, *PROGRESS) if await run.branch.read(name) is not None]
    note = there[0] if there else run.settings.progress
    return project.model_copy(update={"note": note, "below": notes_below(await run.branch.read(note) or "")})


def _about(run: Run, goal: Goal) -> dict[str, str]:
    sha256 = hashlib.sha256(goal.text.encode(errors="surrogateescape")).hexdigest()
    return {"run": run.id, "specification": goal.source.file, "digest": sha256, "base": run.branch.base}


def initialized(run: Run, goal: Goal, reply: Reply, *, again: bool) -> tuple[Project | None, tuple[Finding, ...]]:
    """The initializer's features as a project; what is wrong with them it is told once."""
    said = reply.model_dump(mode="json")
    text = json.dumps({"features": [{key: part for key, part in one.items() if part} for one in said["features"]]})
    try:
        features = parse_feature_list(text, feature_list.NAME)
    except BadInput as error:
        if not again:
            raise AgentFailed(f"the initializer's features cannot be used: {error.what}") from error
        return None, (Finding(what=f"the features cannot be used: {error.what}"),)
    made = json.loads(feature_list.render(features))
    features = parse_feature_list(feature_list.render(features), feature_list.NAME)  # with the lines that it will have
    state = AgentState(**_about(run, goal), last_agent="initializer")
    project = Project(
        features=features,
        author="initializer",
        note=run.settings.progress,
        target=run.settings.coverage_target,
        state=state,
        did=(f"wrote down {made['total_features']} features, and how the project is set up",),
        start=said["start"],
        test=said["test"],
        set_up=tuple(said["set_up"]),
    )
    return project, ()


async def laid_down(run: Run, project: Project) -> None:
    """The four files on top of the user's commit, which stays the base; an example where a browser is to be driven."""
    run.branch.own(*project.owned)
    example, text = e2e_example(project.start) if project.start else e2e_example()
    run.branch.set_background(SCRIPT, example)
    files = {**project.unproven.files, **await _script(run, project)}  # nothing passes before it was looked at
    if any(one.verification_method == "e2e" for one in project.features.features):
        tests = [path for path in await run.branch.paths() if path.startswith(example.rpartition("/")[0])]
        files |= {} if tests else {example: text}
    await run.branch.write(files, "docs: what is to be built, and how to set up", event=project.list_event())


async def _script(run: Run, project: Project) -> dict[str, str]:
    """`init.sh` for the project as it is now; one that somebody wrote or changed is theirs."""
    before = await run.branch.read(SCRIPT)
    if before is not None and not untouched(before):
        return {}
    paths = await run.branch.paths()
    texts = await run.branch.texts(filter(is_read, paths))
    script = init_script(paths, texts.get, start=project.start, test=project.test, more=project.set_up)
    return {SCRIPT: script} if script != before else {}


# -- before a feature --------------------------------------------------------------------------------------------------

MENDING = Task(
    id=SCRIPT,
    title=f"{SCRIPT} fails",
    brief=f"./{SCRIPT} must set up this project from a fresh clone, and work twice in a row. It fails. "
    "Find the cause and mend it, in the script or in what it installs. Build no feature.",
    files=(SCRIPT,),
)


async def set_up(run: Run, project: Project, coder: Session[Any], attempt: int = 0) -> SetUp:
    """The files as they stand and a script for the project as it has become; then that script, in the coder's clone."""
    files = {**project.files, **await _script(run, project)}
    listed = project.list_event(attempt, run.settings.rounds)
    await run.branch.write(files, "docs: where things stand", accepted=False, event=listed)
    return await run.branch.set_up(coder, SCRIPT)


def fails(found: SetUp) -> tuple[Finding, ...]:
    return () if found.works else (Finding(what=f"./{SCRIPT} fails, and ends with:\n{found.said}", where=SCRIPT),)


def last_line(found: SetUp) -> str:
    return next((line.strip() for line in reversed(found.said.splitlines()) if line.strip()), "no message")


async def hurt(run: Run, project: Project) -> tuple[Finding, ...]:
    """Finished features that do not hold on the newest commit."""
    finished = [task for task in project.tasks if task.id in project.finished]
    return broken(run, project, await run.prove(finished[0], also=finished[1:])) if finished else ()


async def noted(run: Run, project: Project, feature: Feature) -> None:
    """The engine's commit after a feature: results, note, and a set-up for the project as it has become."""
    files = {**project.files, **await _script(run, project)}
    await run.branch.write(files, f"docs: {feature.id} {project.standing_of(feature.id)}", event=project.list_event())


# -- after an attempt --------------------------------------------------------------------------------------------------


async def count_tests(run: Run, feature: Feature) -> CountedTests | None:
    """The tests of the feature's own command on the newest commit; None if it names none."""
    checks = [one for one in requirement_of(feature).checks if isinstance(one, TestsCheck)]
    return await run.judgement.count_named_tests(checks[0]) if checks else None


def shown(verdict: Verdict) -> bool:
    """Something went from red to green, or held already."""
    judged = verdict.requirements
    return bool(judged) and all(one.holds and one.grade.rank >= SHOWN.rank for one in judged)


async def there(
    run: Run, project: Project, feature: Feature, verdict: Verdict, *, awaited: bool = False
) -> tuple[Project, bool]:
    """A feature that nobody works on, held against a verdict: does it hold as if somebody had just built it? What a
    person has to judge, and is said to be built, is for that person to look at, not for a coder."""
    own = run.judgement.verdict_on(feature.id, verdict)
    holds = own.holds and (shown(own) or awaited)
    tests = await count_tests(run, feature) if holds else None
    gaps = (*own.gaps, *(tests.gaps if tests else ()))
    project = project.tested(feature, tests.figures if tests else None, gaps, run.branch.when)
    if not holds or gaps:
        return project, False
    return project.judged(feature, own), True


def gaps_of(run: Run, project: Project, attempt: Attempt) -> tuple[Finding, ...]:
    """All that stands in the way: checks that fail, the feature's own tests, finished features that break."""
    own = attempt.tests.gaps if attempt.tests else ()
    return (*attempt.verdict.gaps, *own, *broken(run, project, attempt.verdict))


def broken(run: Run, project: Project, verdict: Verdict) -> tuple[Finding, ...]:
    """What was finished and does not hold on this commit."""
    finished = {name: run.judgement.verdict_on(name, verdict).requirements for name in project.finished}
    return tuple(
        Finding(what=f"{name} was finished, and this work breaks it: {one.reason}", requirement=one.id)
        for name, judged in finished.items()
        for one in judged
        if not one.holds
    )


async def bent(run: Run, project: Project, since: str) -> tuple[Finding, ...]:
    """Finished features whose own tests were changed since, and do not pass any more."""
    changed, found = await run.context.workspace.changed_files(since, run.branch.head), list[Finding]()
    for feature in map(project.features.__getitem__, project.finished):
        words = [word.partition("::")[0].removeprefix("./").rstrip("/") for word in feature.test_command.split()]
        if any(path == word or path.startswith(f"{word}/") for path in changed for word in words if word):
            tests = await count_tests(run, feature)
            failing = tests.gaps if tests else ()
            found += [one.model_copy(update={"what": f"{feature.id} was finished: {one.what}"}) for one in failing]
    return tuple(found)


def turned_green(run: Run, project: Project, attempt: Attempt) -> tuple[str, ...]:
    """Other features, not begun yet, that this commit shows to be there."""
    known = {*project.finished, *project.green, attempt.feature.id}
    others = [one.id for one in project.features.features if one.id not in known]
    return tuple(name for name in others if shown(run.judgement.verdict_on(name, attempt.verdict)))


async def recorded(run: Run, project: Project, attempt: Attempt, gaps: Sequence[Finding]) -> Project:
    """What the turn came to, for the files and for whoever works next; what went wrong with it is named on record."""
    green = turned_green(run, project, attempt)
    modes = [*await _modes(run, project, attempt, gaps), *one_shot(attempt.feature.id, green)]
    for mode in modes:
        event = FAILURE_MODES[mode.name](feature=mode.feature or attempt.feature.id, evidence=mode.evidence)
        await run.record(event)
    for proposed in attempt.told("proposed"):
        await run.record(FeatureProposed(feature=attempt.feature.id, proposed=str(proposed)))
    left = attempt.left.undone
    undone = [f"changes to {path} were undone: only the engine writes it" for path in left if path != project.note]
    modes_said = [f"{mode.name}: {mode.evidence}" for mode in modes]
    below = left.get(project.note)
    project = project.model_copy(
        update={
            "did": (*attempt.told("implemented"), *attempt.told("notes"), *undone, *modes_said),
            "left_at": str(getattr(attempt.said, "continue_from", "")),
            "below": notes_below(below) if below else project.below,
            "green": tuple(sorted({*project.green, *green})),
        }
    )
    return project.tested(attempt.feature, attempt.figures, gaps, run.branch.when)


async def _modes(run: Run, project: Project, attempt: Attempt, gaps: Sequence[Finding]) -> list[Mode]:
    feature, left, list_file = attempt.feature.id, attempt.left, feature_list.NAME
    modes: list[Mode] = []
    if list_file in left.undone:
        modes += meddling(project.files[list_file], left.undone[list_file], list_file, feature)
    modes += guesswork(left.commands, await run.branch.read(SCRIPT) or "", feature)
    said = attempt.said.model_dump(mode="json")
    claimed = Claimed.model_validate({name: said[name] for name in CLAIMS if name in said})
    there = frozenset(await run.branch.paths())
    named = {test.partition("::")[0].removeprefix("./") for test in claimed.tests}
    texts = await run.branch.texts(sorted(named & there))
    found = attempt.figures or Figures()
    counted = Counted(passes=not gaps, tests_passing=found.passing, tests_total=found.total, files=there)
    if attempt.figures is None:  # nobody counted: then no count is held against anybody
        claimed = claimed.model_copy(update={"tests_passing": 0, "tests_total": 0})
    return [*modes, *premature_victory(feature, claimed, counted, texts.get)]


async def kept_true(run: Run, project: Project, outcome: Outcome) -> Project:
    """The last word is `finish`'s: what it did not find so does not pass in the list, and what somebody accepted
    meanwhile does."""
    verdict, wrong, true = outcome.verdict, list[str](), project
    for feature in project.features.features if verdict else ():
        own = run.judgement.verdict_on(feature.id, verdict) if verdict else Verdict.open(feature.id)
        met = bool(own.requirements) and all(one.grade in MET for one in own.requirements)
        if feature.passes and not met:
            wrong.append(feature.id)
        elif met and feature.id in project.holding:
            true = true.judged(feature, own)
    if wrong:
        await run.record(PassUndone(features=tuple(wrong), why="the proof of the last commit found otherwise"))
        true = true.reopened(wrong).model_copy(update={"green": true.green})  # to be proven again before it is built
    if true != project:
        await run.branch.write(
            true.files, "docs: the list says what was found on the last commit", event=true.list_event()
        )
    return true
