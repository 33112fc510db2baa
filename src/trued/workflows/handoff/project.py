"""HandoffProject: the state of a project that is built feature by feature, and the files that show this state."""

from collections.abc import Collection, Iterable, Iterator
from shlex import quote

from pydantic import Field

from trued.inputs.sentences import sentence_criteria
from trued.model import Figures, Finding, Goal, Grade, Judged, Plan, Source, Task, Value, Verdict
from trued.model.titles import cut_title
from trued.proof.verdict.for_agents import reason_for_agents
from trued.support.plain_text import plain_line
from trued.support.timestamps import utc_timestamp
from trued.workflows.handoff import agent_state, feature_list
from trued.workflows.handoff import progress_file as progress
from trued.workflows.handoff.agent_state import AgentState
from trued.workflows.handoff.events import FeatureListWritten
from trued.workflows.handoff.feature_list import (
    Feature,
    FeatureList,
    blocked,
    is_feature_list,
    requirement_of,
    trimmed,
    upcoming,
)
from trued.workflows.handoff.init_script import SCRIPT
from trued.workflows.handoff.progress_file import HandoffNote, status_text

# The lowest grade that counts as shown: a check went from red to green, or nothing had to be built.
SHOWN = Grade.SELF_TESTED
# How the notes of a feature begin if it is built and does not pass yet; `HandoffProject.awaited` looks for that.
HOLDS = "holds; a person's approval is missing"
KEPT = "built, and nothing speaks against it; a person decides"
NOT_JUDGED_YET = "built, and not judged yet"
BLOCKED = "blocked: "
NOTHING_LEFT = "nothing is left to be built: every feature passes"
PERSON_DECIDES = "no coder is needed until a person has decided about the features below"
ATTEMPTS = 3  # how many further attempts the suggested command grants
LOG_LIMIT = 40  # the running log keeps this many entries, the newest


class HandoffProject(Value):
    """The state of a project: what the next agent needs to know. Every replay rebuilds it from the journal."""

    features: FeatureList
    author: str = ""  # the role that wrote the list; "": the user
    file: str = feature_list.NAME
    note: str = progress.PROGRESS[0]  # the progress file's name
    state: AgentState = AgentState()
    holding: tuple[str, ...] = ()  # features that hold and wait for a person's approval
    unjudged: tuple[str, ...] = ()  # built features that cannot be judged, because the environment lacks something
    # feature → ids of the requirements that stand for it in the contract
    requirements: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    # failed feature → the branches with its work, the newest last
    side_branches: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    green: tuple[str, ...] = ()  # features whose checks turned green, whichever feature was being worked on
    did: tuple[str, ...] = ()  # what the last agent did
    log: tuple[str, ...] = ()  # how each attempt and feature ended, oldest first
    when: float = 0.0  # the recorded time of the last entry of `log`
    commands: dict[str, str] = Field(default_factory=dict)  # waiting feature → the command that a person has to run
    left_at: str = ""  # path:line, where to continue
    below: str = ""  # what agents wrote under the note
    target: float | None = None  # target coverage, in per cent

    # -- what is to be done --------------------------------------------------------------------------------------------

    def plan(self, goal: Goal) -> Plan:
        """The plan to seal: a task and a requirement for each feature, and the sentences of the specification."""
        prose = () if is_feature_list(goal.text) else sentence_criteria(goal)
        features = self.features.features
        return Plan(
            title=cut_title(goal.heading) if prose else "the feature list",
            tasks=self.tasks,
            unread=prose,
            source=goal.source,
            requirements=tuple(requirement_of(feature, self.file) for feature in features),
            author=self.author,
            text=goal.text,
        )

    @property
    def next_feature(self) -> Feature | None:
        return upcoming(self.features, self.holding, aside=self.unjudged)

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(task_of(feature) for feature in self.features.features)

    @property
    def claimed(self) -> frozenset[str]:
        """Features that the file marks as passed."""
        return frozenset(feature.id for feature in self.features.features if feature.passes)

    @property
    def awaited(self) -> frozenset[str]:
        """Features that are built, according to the file: those marked as passed, and those whose notes say that they
        wait for a person or are not judged yet."""
        built = (HOLDS, KEPT, NOT_JUDGED_YET)
        return frozenset(
            feature.id for feature in self.features.features if feature.passes or feature.agent_notes.startswith(built)
        )

    @property
    def unproven(self) -> "HandoffProject":
        """The same project with every feature open, because the status in the file is not trusted."""
        fresh = {"passes": False, "status": None, "tests_passing": 0, "tests_total": 0, "coverage": None}
        features = tuple(feature.model_copy(update=fresh) for feature in self.features.features)
        return self.model_copy(update={"features": self.features.model_copy(update={"features": features})})

    @property
    def finished(self) -> tuple[str, ...]:
        return tuple(feature.id for feature in self.features.features if feature.passes or feature.id in self.holding)

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(feature.id for feature in self.features.features if feature.state == "failed")

    def status_of(self, name: str) -> str:
        """A feature's state, for a commit message."""
        if name in self.holding:
            return "holds, and waits for a person"
        if name in self.unjudged:
            return "is built, and could not be judged"
        return {"completed": "passes", "failed": "failed"}.get(self.features[name].state, "is open")

    def other_tasks(self, feature: Feature) -> tuple[Task, ...]:
        return tuple(task_of(other) for other in self.features.features if other.id != feature.id)

    # -- what happened -------------------------------------------------------------------------------------------------

    def with_feature_begun(self, feature: Feature, when: float) -> "HandoffProject":
        now = feature.model_copy(
            update={
                "status": "in_progress",
                "assigned_to": "coder",
                "started_at": feature.started_at or utc_timestamp(when),
            }
        )
        state = self.state.model_copy(
            update={"feature": feature.id, "iteration": self.state.iteration + 1, "last_agent": "coder"}
        )
        return self._with(now, state=state)

    def with_test_results(
        self, feature: Feature, figures: Figures | None, gaps: Iterable[Finding], when: float
    ) -> "HandoffProject":
        """A copy with the test counts, and with the gaps as notes for the next coder."""
        counted = (
            {"tests_passing": figures.passing, "tests_total": figures.total, "coverage": figures.coverage}
            if figures
            else {}
        )
        reasons = [f"{gap.what} ({gap.where})" if gap.where and gap.requirement else gap.what for gap in gaps]
        reasons += [figures.said] if figures and not figures.good and figures.said else []
        notes = trimmed("\n".join(dict.fromkeys(reasons)))
        return self._with(
            self.features[feature.id].model_copy(
                update={**counted, "last_tested": utc_timestamp(when), "agent_notes": notes}
            )
        )

    def with_verdict(self, feature: Feature, verdict: Verdict, *, attested: Collection[str] = ()) -> "HandoffProject":
        """A copy with a verdict on this feature that has no gap. The feature passes if it is proven or attested.
        Otherwise it waits for a person, and its notes say what is missing."""
        judged = verdict.requirements
        met = (
            verdict.holds
            and bool(judged)
            and all(judgement.grade.is_proven_or_attested or judgement.id in attested for judgement in judged)
        )
        lacking = (
            [reason_for_agents(judgement) for judgement in judged if judgement.lacks or not judgement.holds]
            if not met
            else []
        )
        accepted = "; ".join(
            dict.fromkeys(reason_for_agents(judgement) for judgement in judged if judgement.grade is Grade.ATTESTED)
        )
        notes = f"{HOLDS if verdict.holds else KEPT}: {'; '.join(dict.fromkeys(lacking))}" if lacking else accepted
        now = self.features[feature.id].model_copy(
            update={"passes": met, "status": "completed" if met else "in_progress", "agent_notes": notes}
        )
        waiting = {*self.holding} - {feature.id} | (set() if met else {feature.id})
        parked = tuple(name for name in self.unjudged if name != feature.id)
        commands = {**self.commands, feature.id: self._command_for(judged)}
        green = tuple(sorted({*self.green, feature.id}))
        return self._with(now, holding=tuple(sorted(waiting)), green=green, unjudged=parked, commands=commands)

    def _command_for(self, judged: Iterable[Judged]) -> str:
        """The command by which a person accepts these requirements. It names each requirement that needs an approval of
        its own. If only the contract's approval is missing, the command names no requirement and approves the
        contract."""
        names = [
            judgement.id
            for judgement in judged
            if not judgement.grade.is_proven_or_attested and judgement.lacks != "approve"
        ]
        return f"trued approve {' '.join(map(quote, (self.state.run, *names)))} --as NAME --reason TEXT"

    def with_feature_unjudged(self, feature: Feature, why: Iterable[str], command: str) -> "HandoffProject":
        """A copy in which the feature is built and not judged, because the environment lacks something. `command`: the
        command that judges it again."""
        notes = trimmed(f"{NOT_JUDGED_YET}: {'; '.join(why)}")
        now = self.features[feature.id].model_copy(
            update={"passes": False, "status": "in_progress", "agent_notes": notes}
        )
        parked = tuple(sorted({*self.unjudged, feature.id}))
        holding = tuple(name for name in self.holding if name != feature.id)
        return self._with(now, unjudged=parked, holding=holding, commands={**self.commands, feature.id: command})

    def with_feature_failed(self, feature: Feature, branch: str = "") -> "HandoffProject":
        """A copy in which the feature has failed; `branch` has its work. Features that depend on it are blocked, and
        their notes say why."""
        failed = self.features[feature.id].model_copy(update={"status": "failed", "passes": False})
        branches = (*self.side_branches.get(feature.id, ()), *([branch] if branch else []))
        project = self._with(failed, side_branches={**self.side_branches, feature.id: branches})
        for block in blocked(project.features):
            project = project._with(
                project.features[block.feature].model_copy(update={"agent_notes": f"{BLOCKED}{block.why}"})
            )
        return project

    def with_features_reopened(self, names: Iterable[str]) -> "HandoffProject":
        """A copy in which these features are open again. Other features lose their notes that they are blocked."""
        project, gone = self, set(names)
        for feature in self.features.features:
            if feature.id in gone:
                project = project._with(feature.model_copy(update={"passes": False, "status": "not_started"}))
            elif feature.agent_notes.startswith(BLOCKED):
                project = project._with(feature.model_copy(update={"agent_notes": ""}))
        remaining = {"holding": self.holding, "green": self.green, "unjudged": self.unjudged}
        return project.model_copy(
            update={key: tuple(name for name in names if name not in gone) for key, names in remaining.items()}
        )

    def with_set_up(self, commands: Iterable[str]) -> "HandoffProject":
        """A copy with further commands for `init.sh` to run."""
        more = tuple(dict.fromkeys((*self.state.set_up, *(command.strip() for command in commands if command.strip()))))
        return self.model_copy(update={"state": self.state.model_copy(update={"set_up": more})})

    def with_log(self, text: str, when: float) -> "HandoffProject":
        """A copy with one more entry in the running log. `when`: a recorded time, so that a replay writes the same
        entry."""
        entry = f"[{utc_timestamp(when).replace('T', ' ').rstrip('Z')}] {text}"
        return self.model_copy(update={"log": (*self.log, entry)[-LOG_LIMIT:], "when": when})

    def with_result_logged(self, feature: Feature, when: float) -> "HandoffProject":
        """A copy with a log entry on the result of a feature, when the work on it has ended."""
        if feature.id in self.holding:
            result = "WAITS for a person"
        elif feature.id in self.unjudged:
            result = "NOT JUDGED, the environment lacks something"
        else:
            result = {"completed": "PASS", "failed": "FAILED"}.get(self.features[feature.id].state, "OPEN")
        return self.with_log(f"{'Gave up' if result == 'FAILED' else 'Completed'} {feature.id}: {result}", when)

    def _with(self, feature: Feature, **more: object) -> "HandoffProject":
        return self.model_copy(update={"features": self.features.with_feature(feature), **more})

    # -- the files -----------------------------------------------------------------------------------------------------

    @property
    def owned(self) -> tuple[str, ...]:
        """The files that only the engine writes."""
        return feature_list.NAME, self.note, agent_state.NAME, SCRIPT

    @property
    def files(self) -> dict[str, str]:
        return {
            feature_list.NAME: feature_list.render(self.features),
            self.note: progress.render(self.handoff_note, self.below),
            agent_state.NAME: agent_state.render(self.state),
        }

    def list_event(self, attempt: int = 0, of: int = 0) -> FeatureListWritten:
        """The feature list as an event; during an attempt, also the feature and the attempt's number."""
        rows = [
            {**_row(feature), "holds": feature.passes or feature.id in self.holding}
            for feature in self.features.features
        ]
        if not attempt:
            return FeatureListWritten(features=tuple(rows))
        return FeatureListWritten(features=tuple(rows), feature=self.state.feature, attempt=attempt, of=of)

    @property
    def handoff_note(self) -> HandoffNote:
        current = next((feature for feature in self.features.features if feature.id == self.state.feature), None)
        upcoming_one, totals = self.next_feature, self.features.totals
        failed, waiting = tuple(self._failed()), tuple(self._waiting())
        person = bool(failed or waiting) and not upcoming_one
        return HandoffNote(
            session=f"{utc_timestamp(self.when)}, run {self.state.run}" if self.when else "",
            feature=current.id if current else "",
            status=status_text(current.state, current.tests_passing, current.tests_total) if current else "",
            last_agent=self.state.last_agent,
            did=self.did,
            next_agent="coder" if upcoming_one else "none; a person decides" if person else "",
            to_do=tuple(_to_do(upcoming_one)) if upcoming_one else (PERSON_DECIDES if person else NOTHING_LEFT,),
            failed=failed,
            waiting=waiting,
            do_not_touch=(*(f"what makes {name} pass" for name in self.finished), f"above the line in {self.note}"),
            context=(
                f"{totals['completed']} of {totals['total_features']} features pass",
                f"set up with ./{SCRIPT}",
                *(f"a fresh clone also needs: {command}" for command in self.state.set_up),
            ),
            coverage=_measured(self.features),
            target=self.target,
            files=(f"{feature_list.NAME}: counted by the engine", f"{agent_state.NAME}: turn {self.state.iteration}"),
            log=self.log,
            continue_from=self.left_at,
        )

    def _failed(self) -> Iterator[str]:
        """Failed features: the last error, the branch with the work, and how to continue."""
        for feature in self.features.features:
            if feature.state == "failed":
                error = _first_line(feature.agent_notes) or "its attempts are used up"
                branches = " and ".join(self.side_branches.get(feature.id, ()))
                yield f"{feature.id}: {error}; {f'its work is on {branches}' if branches else 'no work is left'}"
                yield f"{feature.id}: to try again with a hint for the next coder: {self.reopening(feature.id)}"
        if self.failed:
            yield f"more attempts at all of these: trued resume {quote(self.state.run)} --rounds {ATTEMPTS}"

    def side_name(self, feature: Feature) -> str:
        """A name for the branch that keeps the failed work. Work that failed earlier keeps its own branch."""
        number = len(self.side_branches.get(feature.id, ())) + 1
        return feature.id if number == 1 else f"{feature.id}-{number}"

    def reopening(self, name: str) -> str:
        """The command line with which a person gives a failed feature more attempts, and its next coder a hint."""
        run = quote(self.state.run)
        what = " ".join(map(quote, self.requirements.get(name, (name,))))
        return f"trued reject {run} {what} --as NAME --reason 'what to do differently' && trued resume {run}"

    def _waiting(self) -> Iterator[str]:
        """A line for each feature that waits, in the file's order. If the feature waits for a person or is not judged
        yet, the line has the command to run. If the feature depends on one that has failed or is not judged yet, the
        line says so."""
        for feature in self.features.features:
            if feature.id in self.holding:
                yield f"{feature.id}: {_first_line(feature.agent_notes)}: {self.commands.get(feature.id, '')}".rstrip(
                    ": "
                )
            elif feature.id in self.unjudged:
                yield f"{feature.id}: {_first_line(feature.agent_notes)}; then: {self.commands[feature.id]}"
            elif feature.state != "failed" and not feature.passes:
                aside = [name for name in feature.depends_on if name in self.unjudged]
                if aside or feature.agent_notes.startswith(BLOCKED):
                    reason = _first_line(feature.agent_notes) or f"it needs {aside[0]}, which is not judged yet"
                    yield f"{feature.id}: {reason}"


def _row(feature: Feature) -> dict[str, object]:
    shown = ("id", "description", "priority", "passes", "tests_passing", "tests_total", "coverage", "agent_notes")
    more = {"state": feature.state, "method": feature.verification_method, "needs": list(feature.depends_on)}
    return {**{name: getattr(feature, name) for name in shown}, **more}


def _measured(features: FeatureList) -> float | None:
    """The coverage that was measured last."""
    covered = [feature for feature in features.features if feature.coverage is not None]
    return max(covered, key=lambda feature: feature.last_tested).coverage if covered else None


def _first_line(notes: str) -> str:
    return next((line.strip() for line in notes.splitlines() if line.strip()), "")


def task_of(feature: Feature) -> Task:
    lines = [feature.description, *(f"{number}. {step}" for number, step in enumerate(feature.steps, 1))]
    lines += [f"Tests that will show it: {feature.test_command}"] if feature.test_command else []
    lines += ["A person will check it."] * (feature.verification_method == "manual")
    return Task(
        id=feature.id,
        title=cut_title(" ".join(feature.description.split())),
        scope=feature.description,
        brief="\n".join(lines),
        source=Source(line=feature.line),
    )


def message_of(feature: Feature, run: str) -> str:
    """The commit message of a feature, with its id and the run in trailers."""
    kind = "fix" if feature.category.strip().lower() in ("bug", "bugfix", "fix") else "feat"
    title = plain_line(feature.description)
    return f"{kind}: {cut_title(title).rstrip(' .,;:')}\n\nFeature: {feature.id}\nRun: {run}"


def _to_do(feature: Feature) -> Iterator[str]:
    yield f"build {feature.id}, and nothing else: {feature.description}"
    yield from feature.agent_notes.splitlines()[:5]
    if feature.test_command:
        yield f"verify with: {feature.test_command}"
