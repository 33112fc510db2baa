"""Steps of the handoff workflow: the files that one coder leaves for the next, and what the engine checks of them."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from trued.errors import AgentFailed, BadInput
from trued.inputs.project.manifests import is_manifest
from trued.model import Figures, Finding, Goal, Outcome, Task, TestsCheck, Verdict
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
    CoderClaims,
    EngineCounts,
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
from trued.workflows.handoff.init_script import SCRIPT, init_script, untouched
from trued.workflows.handoff.progress_file import PROGRESS, notes_below
from trued.workflows.handoff.project import SHOWN, HandoffProject
from trued.workflows.handoff.replies import Coded, Initialized


@dataclass(frozen=True)
class Attempt:
    """One coder's attempt at a feature, and what the engine found."""

    feature: Feature
    reply: Coded
    left: AgentAnswer
    verdict: Verdict
    tests: CountedTests | None  # of the feature's own command

    @property
    def figures(self) -> Figures | None:
        return self.tests.figures if self.tests else None


# -- the beginning -----------------------------------------------------------------------------------------------------


async def find_feature_list(run: Run, goal: Goal) -> HandoffProject | None:
    """The list that the user wrote, or that an earlier run left on the branch; None if there is none."""
    await _refuse_folders(run)
    text, file, author = goal.text, goal.source.file or feature_list.NAME, ""
    if not is_feature_list(text):
        landed = agent_state.parse_agent_state(await run.branch.read(agent_state.NAME, run.branch.base) or "").digest
        if landed and landed != _run_facts(run, goal)["digest"] and not run.branch.is_continued:
            return None  # an earlier run's list, for other words
        theirs = await run.branch.read(feature_list.NAME, run.branch.base) if not landed else None
        # The user's own list is read from the base, not as it is on the branch by now.
        text, file = theirs or await run.branch.read(feature_list.NAME) or "", feature_list.NAME
        author = "" if theirs else "initializer"
    if not text:
        return None
    features = parse_feature_list(text, file)
    if run.branch.is_continued and not author:
        features = _with_status_of(features, await run.branch.read(feature_list.NAME) or "")
    return await _with_branch_state(run, goal, HandoffProject(features=features, author=author, file=file))


async def _refuse_folders(run: Run) -> None:
    """Raise `BadInput` if a folder of the user's has the name of a file that a handoff writes."""
    names = (feature_list.NAME, agent_state.NAME, SCRIPT, run.settings.progress)
    for name in names if not run.branch.is_continued else ():
        if any(path.startswith(f"{name}/") for path in await run.branch.paths()):
            raise BadInput(f"{name} is a folder, but handoff writes a file of that name", then="rename the folder")


def _with_status_of(features: FeatureList, left: str) -> FeatureList:
    """The user's own list, with the status that the list on the branch has for each feature."""
    try:
        known = {one.id: one for one in parse_feature_list(left).features}
    except BadInput:
        return features
    for one in features.features:
        if one.id in known:
            status = {name: getattr(known[one.id], name) for name in STATUS}
            features = features.with_feature(one.model_copy(update=status))
    return features


async def _with_branch_state(run: Run, goal: Goal, project: HandoffProject) -> HandoffProject:
    """The project with what the other files on the branch say."""
    before = agent_state.parse_agent_state(await run.branch.read(agent_state.NAME) or "")
    state = before.model_copy(update=_run_facts(run, goal))
    project = await with_notes(run, project)
    return project.model_copy(update={"state": state, "target": run.settings.coverage_target})


async def with_notes(run: Run, project: HandoffProject) -> HandoffProject:
    """The project with the notes that are in the progress file already; they stay below the line."""
    there = [name for name in (run.settings.progress, *PROGRESS) if await run.branch.read(name) is not None]
    note = there[0] if there else run.settings.progress
    return project.model_copy(update={"note": note, "below": notes_below(await run.branch.read(note) or "")})


def _run_facts(run: Run, goal: Goal) -> dict[str, str]:
    sha256 = hashlib.sha256(goal.text.encode(errors="surrogateescape")).hexdigest()
    return {"run": run.id, "specification": goal.source.file, "digest": sha256, "base": run.branch.base}


def project_of_reply(
    run: Run, goal: Goal, reply: Initialized, *, again: bool
) -> tuple[HandoffProject | None, tuple[Finding, ...]]:
    """The initializer's features as a project, or None and what is wrong with them.

    Raises `AgentFailed` if they cannot be used, and the initializer is not to be asked `again`.
    """
    given = [one.model_dump(mode="json") for one in reply.features]
    text = json.dumps({"features": [{key: part for key, part in one.items() if part} for one in given]})
    try:
        features = parse_feature_list(text, feature_list.NAME)
    except BadInput as error:
        if not again:
            raise AgentFailed(f"the initializer's features cannot be used: {error.what}") from error
        return None, (Finding(what=f"the features cannot be used: {error.what}"),)
    features = parse_feature_list(feature_list.render(features), feature_list.NAME)  # with the lines that it will have
    project = HandoffProject(
        features=features,
        author="initializer",
        note=run.settings.progress,
        target=run.settings.coverage_target,
        state=AgentState(**_run_facts(run, goal), last_agent="initializer"),
        did=(f"wrote down {features.totals['total_features']} features, and how the project is set up",),
        start=reply.start,
        test=reply.test,
        set_up=reply.set_up,
    )
    return project, ()


async def write_first_files(run: Run, project: HandoffProject) -> None:
    """Write the four files, and an example of a browser test if a feature needs one. The user's commit stays the
    base."""
    run.branch.own(*project.owned)
    example, text = e2e_example(project.start) if project.start else e2e_example()
    run.branch.set_background(SCRIPT, example)
    files = {**project.unproven.files, **await _new_script(run, project)}  # nothing passes before it is proven
    if any(one.verification_method == "e2e" for one in project.features.features):
        tests = [path for path in await run.branch.paths() if path.startswith(example.rpartition("/")[0])]
        files |= {} if tests else {example: text}
    await run.branch.write(files, "docs: what is to be built, and how to set up", event=project.list_event())


async def _new_script(run: Run, project: HandoffProject) -> dict[str, str]:
    """`init.sh` for the project as it is now; nothing if it is up to date, or if somebody else wrote or changed it."""
    before = await run.branch.read(SCRIPT)
    if before is not None and not untouched(before):
        return {}
    paths = await run.branch.paths()
    texts = await run.branch.texts(filter(is_manifest, paths))
    script = init_script(paths, texts.get, start=project.start, test=project.test, more=project.set_up)
    return {SCRIPT: script} if script != before else {}


# -- before a feature --------------------------------------------------------------------------------------------------

FIX_SCRIPT = Task(
    id=SCRIPT,
    title=f"{SCRIPT} fails",
    brief=f"./{SCRIPT} must set up this project from a fresh clone, and work twice in a row. It fails. "
    "Find the cause and mend it, in the script or in what it installs. Build no feature.",
    files=(SCRIPT,),
)


async def set_up_clone(run: Run, project: HandoffProject, coder: Session[Coded], attempt: int = 0) -> SetUp:
    """Write the files and an up-to-date `init.sh`, and run that script in the coder's clone."""
    files = {**project.files, **await _new_script(run, project)}
    listed = project.list_event(attempt, run.settings.rounds)
    await run.branch.write(files, "docs: where things stand", accepted=False, event=listed)
    return await run.branch.set_up(coder, SCRIPT)


def set_up_gaps(found: SetUp) -> tuple[Finding, ...]:
    return () if found.works else (Finding(what=f"./{SCRIPT} fails, and ends with:\n{found.said}", where=SCRIPT),)


def last_line(found: SetUp) -> str:
    return next((line.strip() for line in reversed(found.said.splitlines()) if line.strip()), "no message")


async def broken_features(run: Run, project: HandoffProject) -> tuple[Finding, ...]:
    """Prove the finished features on the newest commit. Returns a gap for each that does not hold."""
    finished = [task for task in project.tasks if task.id in project.finished]
    return regressions(run, project, await run.prove(finished[0], also=finished[1:])) if finished else ()


async def write_files(run: Run, project: HandoffProject, feature: Feature) -> None:
    """Commit the files after a feature: results, note, and an up-to-date `init.sh`."""
    files = {**project.files, **await _new_script(run, project)}
    await run.branch.write(files, f"docs: {feature.id} {project.status_of(feature.id)}", event=project.list_event())


# -- after an attempt --------------------------------------------------------------------------------------------------


async def count_tests(run: Run, feature: Feature) -> CountedTests | None:
    """The tests of the feature's own command on the newest commit; None if it names none."""
    checks = [one for one in requirement_of(feature).checks if isinstance(one, TestsCheck)]
    return await run.judgement.count_named_tests(checks[0]) if checks else None


def is_shown(verdict: Verdict) -> bool:
    """Whether each requirement holds, and a check of it went from red to green or it was satisfied already."""
    judged = verdict.requirements
    return bool(judged) and all(one.holds and one.grade.rank >= SHOWN.rank for one in judged)


async def judge_unbuilt(
    run: Run, project: HandoffProject, feature: Feature, verdict: Verdict, *, awaited: bool = False
) -> tuple[HandoffProject, bool]:
    """Whether a feature that no coder works on holds by this verdict, as if somebody had just built it.

    `awaited`: the files call it built, and a person is to judge it; then no coder works on it again.
    """
    own = run.judgement.verdict_on(feature.id, verdict)
    holds = own.holds and (is_shown(own) or awaited)
    tests = await count_tests(run, feature) if holds else None
    gaps = (*own.gaps, *(tests.gaps if tests else ()))
    project = project.with_test_results(feature, tests.figures if tests else None, gaps, run.branch.when)
    if not holds or gaps:
        return project, False
    return project.with_verdict(feature, own), True


def attempt_gaps(run: Run, project: HandoffProject, attempt: Attempt) -> tuple[Finding, ...]:
    """What keeps the feature from being finished: failing checks, its own tests, finished features that it breaks."""
    own = attempt.tests.gaps if attempt.tests else ()
    return (*attempt.verdict.gaps, *own, *regressions(run, project, attempt.verdict))


def regressions(run: Run, project: HandoffProject, verdict: Verdict) -> tuple[Finding, ...]:
    """A gap for each requirement of a finished feature that does not hold by this verdict."""
    finished = {name: run.judgement.verdict_on(name, verdict).requirements for name in project.finished}
    return tuple(
        Finding(what=f"{name} was finished, and this work breaks it: {one.reason}", requirement=one.id)
        for name, judged in finished.items()
        for one in judged
        if not one.holds
    )


async def damaged_tests(run: Run, project: HandoffProject, since: str) -> tuple[Finding, ...]:
    """A gap for each finished feature whose own tests were changed since that commit and do not pass any more."""
    changed, found = await run.context.workspace.changed_files(since, run.branch.head), list[Finding]()
    for feature in map(project.features.__getitem__, project.finished):
        words = [word.partition("::")[0].removeprefix("./").rstrip("/") for word in feature.test_command.split()]
        if any(path == word or path.startswith(f"{word}/") for path in changed for word in words if word):
            tests = await count_tests(run, feature)
            failing = tests.gaps if tests else ()
            found += [one.model_copy(update={"what": f"{feature.id} was finished: {one.what}"}) for one in failing]
    return tuple(found)


def newly_green(run: Run, project: HandoffProject, attempt: Attempt) -> tuple[str, ...]:
    """Other features, not begun yet, that this commit shows to be there."""
    known = {*project.finished, *project.green, attempt.feature.id}
    others = [one.id for one in project.features.features if one.id not in known]
    return tuple(name for name in others if is_shown(run.judgement.verdict_on(name, attempt.verdict)))


async def record_attempt(
    run: Run, project: HandoffProject, attempt: Attempt, gaps: Sequence[Finding]
) -> HandoffProject:
    """Record how an attempt ended, for the files and the next coder, and emit its failure modes."""
    reply, green = attempt.reply, newly_green(run, project, attempt)
    modes = [*await _failure_modes(run, project, attempt, gaps), *one_shot(attempt.feature.id, green)]
    for mode in modes:
        event = FAILURE_MODES[mode.name](feature=mode.feature or attempt.feature.id, evidence=mode.evidence)
        await run.record(event)
    for proposed in reply.proposed:
        await run.record(FeatureProposed(feature=attempt.feature.id, proposed=str(proposed)))
    left = attempt.left.undone
    undone = [f"changes to {path} were undone: only the engine writes it" for path in left if path != project.note]
    modes_said = [f"{mode.name}: {mode.evidence}" for mode in modes]
    below = left.get(project.note)
    project = project.model_copy(
        update={
            "did": (*reply.implemented, *reply.notes, *undone, *modes_said),
            "left_at": reply.continue_from,
            "below": notes_below(below) if below else project.below,
            "green": tuple(sorted({*project.green, *green})),
        }
    )
    return project.with_test_results(attempt.feature, attempt.figures, gaps, run.branch.when)


async def _failure_modes(run: Run, project: HandoffProject, attempt: Attempt, gaps: Sequence[Finding]) -> list[Mode]:
    feature, left, list_file = attempt.feature.id, attempt.left, feature_list.NAME
    modes: list[Mode] = []
    if list_file in left.undone:
        modes += meddling(project.files[list_file], left.undone[list_file], list_file, feature)
    modes += guesswork(left.commands, await run.branch.read(SCRIPT) or "", feature)
    reply = attempt.reply
    claims = CoderClaims(
        passes=reply.passes,
        tests_passing=reply.tests_passing,
        tests_total=reply.tests_total,
        tests=reply.tests,
        files=reply.files,
    )
    there = frozenset(await run.branch.paths())
    named = {test.partition("::")[0].removeprefix("./") for test in claims.tests}
    texts = await run.branch.texts(sorted(named & there))
    found = attempt.figures or Figures()
    counts = EngineCounts(passes=not gaps, tests_passing=found.passing, tests_total=found.total, files=there)
    if attempt.figures is None:  # nothing was counted, so no claimed count is refuted
        claims = claims.model_copy(update={"tests_passing": 0, "tests_total": 0})
    return [*modes, *premature_victory(feature, claims, counts, texts.get)]


async def correct_list(run: Run, project: HandoffProject, outcome: Outcome) -> HandoffProject:
    """Correct the feature list by the final proof: a feature that does not hold no longer passes, and one that a person
    accepted meanwhile does."""
    verdict, wrong, corrected = outcome.verdict, list[str](), project
    for feature in project.features.features if verdict else ():
        own = run.judgement.verdict_on(feature.id, verdict) if verdict else Verdict.open(feature.id)
        met = bool(own.requirements) and all(one.grade.is_met() for one in own.requirements)
        if feature.passes and not met:
            wrong.append(feature.id)
        elif met and feature.id in project.holding:
            corrected = corrected.with_verdict(feature, own)
    if wrong:
        await run.record(PassUndone(features=tuple(wrong), why="the proof of the last commit found otherwise"))
        reopened = corrected.with_features_reopened(wrong)
        # A feature that is still green is proven again before a coder works on it.
        corrected = reopened.model_copy(update={"green": corrected.green})
    if corrected != project:
        await run.branch.write(
            corrected.files, "docs: the list says what was found on the last commit", event=corrected.list_event()
        )
    return corrected
