"""Steps of the handoff workflow: they write the files from which each coder learns where the project is, and check each
attempt."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

from trued.errors import AgentFailed, BadInput, CannotJudge
from trued.inputs.project.manifests import is_manifest
from trued.model import (
    DependenciesCheck,
    Figures,
    Finding,
    Goal,
    Grade,
    Judged,
    Outcome,
    Outcomes,
    Task,
    TestsCheck,
    Verdict,
)
from trued.model.events.run import SealedFileEdited, StepRepeated
from trued.proof.verdict.for_agents import as_gap, reason_for_agents, reasons_for_agents
from trued.run.agent_call import AgentAnswer
from trued.run.branch import SetUp
from trued.run.counted_tests import CountedTests
from trued.run.run import Run
from trued.run.session import Session
from trued.support.path_sets import paths_outside
from trued.workflows.handoff import agent_state, feature_list
from trued.workflows.handoff.agent_state import AgentState
from trued.workflows.handoff.e2e_example import EXAMPLE, e2e_example
from trued.workflows.handoff.events import FAILURE_MODES, FeatureProposed, FinishedFeatureBroken, PassUndone
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
from trued.workflows.handoff.init_script import SCRIPT, init_script, is_untouched
from trued.workflows.handoff.progress_file import PROGRESS, above_line, log_entries, notes_below
from trued.workflows.handoff.project import SHOWN, HandoffProject
from trued.workflows.handoff.replies import Coded, Initialized


@dataclass(frozen=True)
class Attempt:
    """One coder's attempt at a feature, and what the engine found."""

    feature: Feature
    reply: Coded
    left: AgentAnswer
    verdict: Verdict
    tests: CountedTests | None  # the tests of the feature's own command
    changed: tuple[str, ...]  # files that the work on this feature changed

    @property
    def figures(self) -> Figures | None:
        return self.tests.figures if self.tests else None

    @property
    def gaps(self) -> tuple[Finding, ...]:
        """The gaps of the attempt. Something that only the environment lacks is not a gap."""
        idle = () if self.changed or is_met(self.verdict) else (NOTHING_CHANGED,)
        test_gaps = self.tests.gaps if self.tests and not unjudged(self.verdict) else ()
        refuted = [judgement for judgement in self.verdict.requirements if judgement.grade is Grade.REFUTED]
        requirement_gaps = self.verdict.gaps or tuple(map(as_gap, refuted))
        return (*requirement_gaps, *test_gaps, *idle)


# file that only the engine writes → how an agent can add to it
OWNERS = {SCRIPT: "commands that a fresh clone needs go into the reply, as `set_up`"}
NOTHING_CHANGED = Finding(what="nothing was changed for this feature", where="the commit of this attempt")


def unjudged(verdict: Verdict) -> tuple[str, ...]:
    """Why requirements or existing tests could not be judged, with the fix if one is known; () if all were judged. No
    agent could fix these causes."""
    held_up = [judgement for judgement in (*verdict.requirements, *verdict.suites) if _is_unjudged(judgement)]
    return tuple(dict.fromkeys(reason for judgement in held_up for reason in _reasons_not_judged(judgement)))


def _reasons_not_judged(judged: Judged) -> tuple[str, ...]:
    """What the environment lacks. If that is not known: the reasons that agents may see, because the result is written
    into committed files."""
    return tuple(map(str, judged.missing)) or reasons_for_agents(judged)


def _is_unjudged(judged: Judged) -> bool:
    return judged.grade is Grade.UNJUDGED


# -- the beginning -----------------------------------------------------------------------------------------------------


async def find_feature_list(run: Run, goal: Goal) -> HandoffProject | None:
    """The project, with the feature list that the user wrote or that an earlier run left on the branch; None if there
    is no list. Raises `BadInput` if the list cannot be read, or if a folder has the name of a file that a handoff
    writes."""
    await _refuse_folders(run)
    text, file, author = goal.text, goal.source.file or feature_list.NAME, ""
    if not is_feature_list(text):
        landed = agent_state.parse_agent_state(await run.branch.read(agent_state.NAME, run.branch.base) or "").digest
        if landed and landed != _run_facts(run, goal)["digest"] and not run.branch.is_continued:
            return None  # the base has an earlier run's list, for another specification
        theirs = await run.branch.read(feature_list.NAME, run.branch.base) if not landed else None
        # The user's own list is read from the base: the branch may have a changed version.
        text, file = theirs or await run.branch.read(feature_list.NAME) or "", feature_list.NAME
        author = "" if theirs else "initializer"
    if not text:
        return None
    features = parse_feature_list(text, file)
    if run.branch.is_continued and not author:
        features = _with_status_of(features, await run.branch.read(feature_list.NAME) or "")
    return await _with_branch_state(run, goal, HandoffProject(features=features, author=author, file=file))


async def _refuse_folders(run: Run) -> None:
    """Raise `BadInput` if the user has a folder with the name of a file that a handoff writes."""
    names = (feature_list.NAME, agent_state.NAME, SCRIPT, run.settings.progress)
    for name in names if not run.branch.is_continued else ():
        if any(path.startswith(f"{name}/") for path in await run.branch.paths()):
            raise BadInput(f"{name} is a folder, but handoff writes a file of that name", then="rename the folder")


def _with_status_of(features: FeatureList, branch_list: str) -> FeatureList:
    """The user's own list, with the status that the list on the branch has for each feature."""
    try:
        known = {feature.id: feature for feature in parse_feature_list(branch_list).features}
    except BadInput:
        return features
    for feature in features.features:
        if feature.id in known:
            status = {name: getattr(known[feature.id], name) for name in STATUS}
            features = features.with_feature(feature.model_copy(update=status))
    return features


async def _with_branch_state(run: Run, goal: Goal, project: HandoffProject) -> HandoffProject:
    """The project with the state and the notes that are on the branch, in `agent_state.json` and in the progress
    file."""
    before = agent_state.parse_agent_state(await run.branch.read(agent_state.NAME) or "")
    state = before.model_copy(update=_run_facts(run, goal))
    project = await with_notes(run, project)
    update = {"state": state, "target": run.settings.coverage_target, "when": run.branch.when}
    return project.model_copy(update=update)


async def with_notes(run: Run, project: HandoffProject) -> HandoffProject:
    """The project with the name, the log and the agents' notes of the existing progress file. The notes are the part
    below the line "DO NOT EDIT ABOVE THIS LINE"."""
    existing = [name for name in (run.settings.progress, *PROGRESS) if await run.branch.read(name) is not None]
    note = existing[0] if existing else run.settings.progress
    text = await run.branch.read(note) or ""
    return project.model_copy(update={"note": note, "below": notes_below(text), "log": log_entries(text)})


def _run_facts(run: Run, goal: Goal) -> dict[str, str]:
    sha256 = hashlib.sha256(goal.text.encode(errors="surrogateescape")).hexdigest()
    return {"run": run.id, "specification": goal.source.file, "digest": sha256, "base": run.branch.base}


def project_of_reply(
    run: Run, goal: Goal, reply: Initialized, *, again: bool
) -> tuple[HandoffProject | None, tuple[Finding, ...]]:
    """The project with the initializer's features and no findings; or None, and what is wrong with the features.

    `again`: whether the initializer can be asked once more. If not, unusable features raise `AgentFailed`.
    """
    planned = [feature.model_dump(mode="json") for feature in reply.features]
    text = json.dumps({"features": [{key: part for key, part in fields.items() if part} for fields in planned]})
    try:
        features = parse_feature_list(text, feature_list.NAME)
    except BadInput as error:
        if not again:
            raise AgentFailed(f"the initializer's features cannot be used: {error.what}") from error
        return None, (Finding(what=f"the features cannot be used: {error.what}"),)
    # Parsed again, so that each feature has its line number.
    features = parse_feature_list(feature_list.render(features), feature_list.NAME)
    project = HandoffProject(
        features=features,
        author="initializer",
        note=run.settings.progress,
        when=run.branch.when,
        target=run.settings.coverage_target,
        state=AgentState(
            **_run_facts(run, goal),
            last_agent="initializer",
            start=reply.start,
            test=reply.test,
            set_up=reply.set_up,
        ),
        did=(f"wrote down {features.totals['total_features']} features, and how the project is set up",),
    )
    return project, ()


async def write_first_files(run: Run, project: HandoffProject) -> None:
    """Write the feature list, the state, the progress file and `init.sh`, and an example of a browser test if a feature
    needs one. The work is still compared with the user's commit, not with the commit of these files."""
    run.branch.own(*project.owned)
    run.branch.allow_notes(project.note)
    run.branch.set_background(SCRIPT, EXAMPLE)
    before = await run.branch.read(SCRIPT)
    if before is not None and not is_untouched(before):
        run.branch.count_as_work(SCRIPT)  # the script is the user's own
    listed = project.unproven  # nothing passes before it is proven
    files = {**listed.files, **await _new_script(run, project)}
    if any(feature.verification_method == "e2e" for feature in project.features.features):
        tests = [path for path in await run.branch.paths() if path.startswith(EXAMPLE.rpartition("/")[0])]
        files |= {} if tests else {EXAMPLE: e2e_example(project.state.start)}
    await run.branch.write(
        files, "docs: the features to build, and how to set up the project", event=listed.list_event()
    )


async def _new_script(run: Run, project: HandoffProject) -> dict[str, str]:
    """`init.sh` for the project as it is now; {} if it is up to date, or if somebody else wrote or changed it."""
    before = await run.branch.read(SCRIPT)
    if before is not None and not is_untouched(before):
        return {}
    paths = await run.branch.paths()
    texts = await run.branch.texts(filter(is_manifest, paths))
    state = project.state
    script = init_script(paths, texts.get, start=state.start, test=state.test, more=state.set_up)
    return {SCRIPT: script} if script != before else {}


def with_requirements(run: Run, project: HandoffProject) -> HandoffProject:
    """The project, with the ids of the requirements that the contract has for each feature."""
    contract = run.judgement.contract()
    names = {
        feature.id: tuple(requirement.id for requirement in contract.serving(feature.id))
        for feature in project.features.features
    }
    return project.model_copy(update={"requirements": {key: ids for key, ids in names.items() if ids}})


def with_unmet_reopened(run: Run, project: HandoffProject, amended: Verdict | None) -> HandoffProject:
    """Reopen the features that failed. If the contract was amended, also reopen the features that do not hold by the
    amended contract, and keep their gaps for the next coders.

    `amended`: the verdict by the amended contract; None if the contract was not amended.
    """
    if amended is None:
        return project.with_features_reopened(project.failed)
    project, unmet = with_requirements(run, project), list[str]()
    for feature in project.features.features:
        judged = [
            judgement for judgement in run.judgement.verdict_on(feature.id, amended).requirements if not judgement.holds
        ]
        if judged:
            unmet.append(feature.id)
            run.people.keep_gaps_for(feature.id, (gap for judgement in judged for gap in judgement.gaps))
    return project.with_features_reopened((*project.failed, *unmet))


# -- before a feature --------------------------------------------------------------------------------------------------

FIX_SCRIPT = Task(
    id=SCRIPT,
    title=f"{SCRIPT} fails",
    brief=f"./{SCRIPT} must set up this project from a fresh clone, and work twice in a row. It fails. "
    "Find the cause and fix it, in the script or in what it installs. Build no feature.",
    files=(SCRIPT,),
)


async def set_up_clone(
    run: Run, project: HandoffProject, coder: Session[Coded], attempt: int = 0, of: int = 0
) -> SetUp:
    """Write the files and an up-to-date `init.sh`, and run that script in the coder's clone.

    `attempt`: the number of the coder's attempt at its feature. `of`: how many attempts the feature may have.
    """
    files = {**project.files, **await _new_script(run, project)}
    listed = project.list_event(attempt, of)
    await run.branch.write(files, "docs: the current state", accepted=False, event=listed)
    return await run.branch.set_up(coder, SCRIPT)


def set_up_gaps(set_up: SetUp) -> tuple[Finding, ...]:
    return () if set_up.works else (Finding(what=f"./{SCRIPT} fails, and ends with:\n{set_up.said}", where=SCRIPT),)


def last_line(set_up: SetUp) -> str:
    return next((line.strip() for line in reversed(set_up.said.splitlines()) if line.strip()), "no message")


async def broken_features(run: Run, project: HandoffProject) -> tuple[Finding, ...]:
    """Prove the finished features on the newest commit. Returns a gap for each requirement that was judged and does not
    hold."""
    finished = [task for task in project.tasks if task.id in project.finished]
    return regressions(run, project, await run.prove(finished[0], also=finished[1:])) if finished else ()


async def write_files(run: Run, project: HandoffProject, feature: Feature) -> None:
    """Commit the feature list, the state, the progress file and an up-to-date `init.sh`, once the feature has its
    result."""
    files = {**project.files, **await _new_script(run, project)}
    await run.branch.write(files, f"docs: {feature.id} {project.status_of(feature.id)}", event=project.list_event())


# -- after an attempt --------------------------------------------------------------------------------------------------


async def count_tests(run: Run, feature: Feature, changed: Sequence[str] = ()) -> CountedTests | None:
    """The tests of the feature's own command on the newest commit; None if the feature has no such command.

    `changed`: files that were changed for this feature. Coverage is measured only for these files, because the feature
    need not test what was built for other features.
    """
    checks = [check for check in requirement_of(feature).checks if isinstance(check, TestsCheck)]
    return await run.judgement.count_named_tests(checks[0], of=changed) if checks else None


def is_shown(verdict: Verdict, by: Grade = SHOWN) -> bool:
    """Whether each requirement holds with at least the grade `by`. The default grade is reached if a check went from
    red to green (even one of the implementer's own tests), if the requirement was already satisfied, or if a person
    accepted it."""
    judged = verdict.requirements
    return bool(judged) and all(judgement.holds and judgement.grade >= by for judgement in judged)


def is_met(verdict: Verdict) -> bool:
    """Whether each requirement is proven or attested."""
    return bool(verdict.requirements) and all(
        judgement.grade.is_proven_or_attested for judgement in verdict.requirements
    )


async def changes_of_work(run: Run, since: str) -> tuple[str, ...]:
    """Files that differ between the newest commit and the commit `since`, except files that do not count as work."""
    changed = await run.context.workspace.changed_files(since, run.branch.head)
    return tuple(paths_outside(changed, run.steps.not_part_of_work))


async def judge_unbuilt(
    run: Run, project: HandoffProject, feature: Feature, verdict: Verdict, *, awaited: bool = False
) -> tuple[HandoffProject, bool]:
    """Record what a verdict shows about a feature without sending a coder. Returns the project, and whether the feature
    holds.

    `awaited`: the files say that the feature is built. It is not built again just because nobody has accepted it yet,
    or because it cannot be judged here. For a feature that is not `awaited`, coders' own tests do not count: they were
    written for another feature.
    """
    feature_verdict = run.judgement.verdict_on(feature.id, verdict)
    if awaited and (why := unjudged(feature_verdict)) and not feature_verdict.gaps:
        return project.with_feature_unjudged(feature, why, command_to_judge_again(run)), False
    by_hand = feature.verification_method == "manual"
    holds = feature_verdict.holds and (
        is_shown(feature_verdict, SHOWN if awaited else Grade.TESTED) or (awaited and by_hand)
    )
    tests = await count_tests(run, feature) if holds else None
    gaps = (*feature_verdict.gaps, *(tests.gaps if tests else ()))
    project = project.with_test_results(feature, tests.figures if tests else None, gaps, run.branch.when)
    if not holds or gaps:
        return project, False
    return project.with_verdict(feature, feature_verdict), True


async def stop_for_environment(run: Run, project: HandoffProject) -> None:
    """End the run with `CannotJudge`, because features cannot be judged in this environment.

    When a person has resumed the run, the replay reaches this call again. Then it returns, and the caller judges again.
    """
    notes = {name: project.features[name].agent_notes.partition(": ")[2] for name in project.unjudged}
    why = "; ".join(dict.fromkeys(notes.values()))
    if run.is_live:
        notice = f"the work for {', '.join(notes)} is kept on {run.branch.name}"
        raise CannotJudge(
            f"{why}. No check failed, and {notice}: fix the environment, then `{command_to_judge_again(run)}`"
        )
    await run.record(StepRepeated(why=why))


def command_to_judge_again(run: Run) -> str:
    """The command that judges kept work again, once the environment is fixed. It is usually `trued resume`.

    If checks could not be judged on the base either, the contract was sealed without their results. Then the command is
    `trued run … --from` the run's branch: a new run seals a new contract.
    """
    blind = any(
        tried.outcome is Outcomes.UNJUDGED for fact in run.judgement.contract().base_facts for tried in fact.tried
    )
    file = run.context.goal.source.file
    return f"trued run {quote(file)} --from {run.branch.name}" if blind and file else f"trued resume {run.id}"


async def judge_again(run: Run, project: HandoffProject, feature: Feature, verdict: Verdict) -> HandoffProject:
    """Judge a built feature that could not be judged before. It is reopened if it has gaps, it stays unjudged if the
    environment still lacks something, and otherwise it gets its result."""
    feature_verdict = run.judgement.verdict_on(feature.id, verdict)
    gaps, why = feature_verdict.gaps, unjudged(feature_verdict)
    if why and not gaps:
        return project.with_feature_unjudged(feature, why, command_to_judge_again(run))
    tests = await count_tests(run, feature)
    gaps = (*gaps, *(tests.gaps if tests else ()))
    project = project.with_test_results(feature, tests.figures if tests else None, gaps, run.branch.when)
    return project.with_features_reopened([feature.id]) if gaps else project.with_verdict(feature, feature_verdict)


def regressions(run: Run, project: HandoffProject, verdict: Verdict) -> tuple[Finding, ...]:
    """A gap for each requirement of a finished feature that was judged and does not hold in this verdict."""
    finished = {name: run.judgement.verdict_on(name, verdict).requirements for name in project.finished}
    return tuple(
        Finding(
            what=f"{name} was finished, and this work breaks it: {reason_for_agents(judgement)}",
            requirement=judgement.id,
        )
        for name, judged in finished.items()
        for judgement in judged
        if not judgement.holds and not _is_unjudged(judgement)
    )


async def damaged_tests(run: Run, project: HandoffProject, since: str) -> tuple[Finding, ...]:
    """Gaps for finished features whose own tests were changed after the commit `since` and no longer pass."""
    changed, gaps = await run.context.workspace.changed_files(since, run.branch.head), list[Finding]()
    for feature in map(project.features.__getitem__, project.finished):
        test_paths = [word.partition("::")[0].removeprefix("./").rstrip("/") for word in feature.test_command.split()]
        if any(path == word or path.startswith(f"{word}/") for path in changed for word in test_paths if word):
            tests = await count_tests(run, feature)
            failing = tests.gaps if tests else ()
            gaps += [gap.model_copy(update={"what": f"{feature.id} was finished: {gap.what}"}) for gap in failing]
    return tuple(gaps)


def newly_green(run: Run, project: HandoffProject, attempt: Attempt) -> tuple[str, ...]:
    """Other features that checks now show to be built, although they were neither finished nor green before this
    attempt."""
    known = {*project.finished, *project.green, attempt.feature.id}
    others = [feature.id for feature in project.features.features if feature.id not in known]
    verdicts = {name: run.judgement.verdict_on(name, attempt.verdict) for name in others}
    return tuple(name for name, verdict in verdicts.items() if is_shown(verdict, Grade.TESTED))


async def record_attempt(
    run: Run, project: HandoffProject, attempt: Attempt, gaps: Sequence[Finding], broken: Sequence[Finding] = ()
) -> HandoffProject:
    """Record how an attempt ended, for the files and the next coder, and emit its failure modes.

    `gaps`: all gaps of the attempt. `broken`: the gaps about finished features that the attempt breaks.
    """
    reply, green = attempt.reply, newly_green(run, project, attempt)
    modes = [*await _failure_modes(run, project, attempt, gaps), *one_shot(attempt.feature.id, green)]
    for mode in modes:
        event = FAILURE_MODES[mode.name](feature=mode.feature or attempt.feature.id, evidence=mode.evidence)
        await run.record(event)
    if broken:
        await run.record(FinishedFeatureBroken(feature=attempt.feature.id, broken=tuple(gap.what for gap in broken)))
    for proposed in reply.proposed:
        await run.record(FeatureProposed(feature=attempt.feature.id, proposed=str(proposed)))
    undone_files = attempt.left.undone
    undone = [
        f"changes to {path} were undone: {OWNERS.get(path, 'only the engine writes it')}" for path in undone_files
    ]
    if project.note in undone_files and not _is_forged(project, undone_files[project.note]):
        undone.remove(f"changes to {project.note} were undone: only the engine writes it")
    elif project.note in undone_files:
        await run.record(SealedFileEdited(role="coder", files=(project.note,), put_back=(project.note,)))
    modes_said = [f"{mode.name}: {mode.evidence}" for mode in modes]
    below = undone_files.get(project.note)
    project = project.model_copy(
        update={
            "did": (*reply.implemented, *reply.notes, *undone, *modes_said),
            "left_at": reply.continue_from,
            "below": notes_below(below) if below else project.below,
            "green": tuple(sorted({*project.green, *green})),
        }
    )
    project = project if gaps else project.with_set_up(reply.set_up)
    if gaps:
        why = gaps[0].what.partition("\n")[0]
        project = project.with_log(f"Attempt at {attempt.feature.id}: FAIL, {why}", run.branch.when)
    return project.with_test_results(attempt.feature, attempt.figures, gaps, run.branch.when)


def _is_forged(project: HandoffProject, text: str | None) -> bool:
    """Whether an agent deleted the progress file or changed the engine's part of it. Notes below that part are
    allowed."""
    return text is None or above_line(text) != above_line(project.files[project.note])


async def _failure_modes(run: Run, project: HandoffProject, attempt: Attempt, gaps: Sequence[Finding]) -> list[Mode]:
    feature, answer, list_file = attempt.feature.id, attempt.left, feature_list.NAME
    modes: list[Mode] = []
    if list_file in answer.undone:
        modes += meddling(project.files[list_file], answer.undone[list_file], list_file, feature)
    modes += guesswork(answer.commands, await run.branch.read(SCRIPT) or "", feature)
    reply = attempt.reply
    claims = CoderClaims(
        passes=reply.passes,
        tests_passing=reply.tests_passing,
        tests_total=reply.tests_total,
        tests=reply.tests,
        files=reply.files,
    )
    paths = frozenset(await run.branch.paths())
    named = {test.partition("::")[0].removeprefix("./") for test in claims.tests}
    texts = await run.branch.texts(sorted(named & paths))
    figures = attempt.figures or Figures()
    counts = EngineCounts(
        passes=not gaps,
        tests_passing=figures.passing,
        tests_total=figures.total,
        files=paths,
        changed=frozenset(attempt.changed),
    )
    if attempt.figures is None or unjudged(attempt.verdict):  # nothing was counted, so no claimed count is refuted
        claims = claims.model_copy(update={"tests_passing": 0, "tests_total": 0})
    return [*modes, *premature_victory(feature, claims, counts, texts.get)]


async def count_what_may_install(run: Run, project: HandoffProject) -> None:
    """If a check forbids new dependencies, count `init.sh` and the example test as work, because both can bring in a
    package. The final verdict then judges them. Each file counts only if an agent has added something to it."""
    checks = [check for requirement in run.judgement.contract().requirements for check in requirement.checks]
    if not any(isinstance(check, DependenciesCheck) for check in checks):
        return
    texts = await run.branch.texts((SCRIPT, EXAMPLE))
    script = texts[SCRIPT]
    if project.state.set_up or (script is not None and not is_untouched(script)):
        run.branch.count_as_work(SCRIPT)
    if texts[EXAMPLE] not in (None, e2e_example(project.state.start)):
        run.branch.count_as_work(EXAMPLE)


async def correct_list(run: Run, project: HandoffProject, outcome: Outcome) -> HandoffProject:
    """Correct the feature list by the final proof. A passed feature that does not hold, or that could not be judged,
    loses its mark. A feature that lacked only a person's approval, and has it now, is marked as passed."""
    verdict, wrong, corrected = outcome.verdict, list[str](), project
    for feature in project.features.features if verdict else ():
        feature_verdict = run.judgement.verdict_on(feature.id, verdict) if verdict else Verdict.open(feature.id)
        met = is_met(feature_verdict)
        if feature.passes and unjudged(feature_verdict):
            corrected = corrected.with_feature_unjudged(feature, unjudged(feature_verdict), command_to_judge_again(run))
        elif feature.passes and not met:
            wrong.append(feature.id)
        elif met and feature.id in project.holding:
            corrected = corrected.with_verdict(feature, feature_verdict).with_result_logged(feature, run.branch.when)
    if wrong:
        await run.record(PassUndone(features=tuple(wrong), why="the proof of the last commit found otherwise"))
        reopened = corrected.with_features_reopened(wrong)
        # A reopened feature that is still green is proven again before a coder works on it.
        corrected = reopened.model_copy(update={"green": corrected.green})
    if corrected != project:
        await run.branch.write(
            corrected.files, "docs: the list corrected by the proof of the last commit", event=corrected.list_event()
        )
    return corrected
