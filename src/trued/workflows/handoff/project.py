"""HandoffProject: a project that is built feature by feature, its state, and the files that show it."""

from collections.abc import Collection, Iterable, Iterator

from trued.inputs.sentences import sentence_criteria
from trued.model import Figures, Finding, Goal, Grade, Plan, Source, Task, Value, Verdict
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
from trued.workflows.handoff.progress_file import HandoffNote, standing

SHOWN = Grade.SELF_TESTED  # from here on something went from red to green
HOLDS = "holds; a person's word is missing"
TITLE_LIMIT = 80


class HandoffProject(Value):
    """What the next agent needs to know. Every replay rebuilds it from the journal."""

    features: FeatureList
    author: str = ""  # the role that wrote the list; "": the user
    file: str = feature_list.NAME
    note: str = progress.PROGRESS[0]  # the progress file's name
    state: AgentState = AgentState()
    holding: tuple[str, ...] = ()  # features that hold and wait for a person's approval
    green: tuple[str, ...] = ()  # features whose checks turned green, whoever worked on them
    did: tuple[str, ...] = ()
    left_at: str = ""  # path:line, where to continue
    below: str = ""  # what agents wrote under the note
    start: str = ""  # how the app is started
    test: str = ""
    set_up: tuple[str, ...] = ()
    target: float | None = None  # of coverage, in per cent

    # -- what is to be done --------------------------------------------------------------------------------------------

    def plan(self, goal: Goal) -> Plan:
        """The plan to seal: each feature as a task and a requirement, and the sentences of the specification."""
        prose = () if is_feature_list(goal.text) else sentence_criteria(goal)
        features = self.features.features
        return Plan(
            title=goal.title if prose else "the feature list",
            tasks=self.tasks,
            unread=prose,
            source=goal.source,
            requirements=tuple(requirement_of(one, self.file) for one in features),
            author=self.author,
            text=goal.text,
        )

    @property
    def next_feature(self) -> Feature | None:
        return upcoming(self.features, self.holding)

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(map(task_of, self.features.features))

    @property
    def claimed(self) -> frozenset[str]:
        """Features that the file calls passed."""
        return frozenset(one.id for one in self.features.features if one.passes)

    @property
    def awaited(self) -> frozenset[str]:
        """Features that the file calls built, and that a person is to judge."""
        by_hand = [one for one in self.features.features if one.verification_method == "manual"]
        return frozenset(one.id for one in by_hand if one.passes or one.agent_notes.startswith(HOLDS))

    @property
    def unproven(self) -> "HandoffProject":
        """The same project, with every feature open: the file's status is not trusted."""
        fresh = {"passes": False, "status": None, "tests_passing": 0, "tests_total": 0, "coverage": None}
        features = tuple(one.model_copy(update=fresh) for one in self.features.features)
        return self.model_copy(update={"features": self.features.model_copy(update={"features": features})})

    @property
    def finished(self) -> tuple[str, ...]:
        return tuple(one.id for one in self.features.features if one.passes or one.id in self.holding)

    def status_of(self, name: str) -> str:
        """A feature's state, for a commit message."""
        if name in self.holding:
            return "holds, and waits for a person"
        return {"completed": "passes", "failed": "failed"}.get(self.features[name].state, "is open")

    def other_tasks(self, feature: Feature) -> tuple[Task, ...]:
        return tuple(task_of(one) for one in self.features.features if one.id != feature.id)

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
        """With the test counts, and with the gaps as notes for the next coder."""
        counted = (
            {"tests_passing": figures.passing, "tests_total": figures.total, "coverage": figures.coverage}
            if figures
            else {}
        )
        words = [f"{gap.what} ({gap.where})" if gap.where and gap.requirement else gap.what for gap in gaps]
        words += [figures.said] if figures and not figures.good and figures.said else []
        notes = trimmed("\n".join(dict.fromkeys(words)))
        return self._with(
            self.features[feature.id].model_copy(
                update={**counted, "last_tested": utc_timestamp(when), "agent_notes": notes}
            )
        )

    def with_verdict(self, feature: Feature, verdict: Verdict, *, attested: Collection[str] = ()) -> "HandoffProject":
        """With a verdict that holds. The feature passes if it is proven or attested; else it waits for a person."""
        judged = verdict.requirements
        met = bool(judged) and all(one.grade.is_met() or one.id in attested for one in judged)
        lacking = "" if met else "; ".join(dict.fromkeys(one.why[0] for one in verdict.requirements if one.lacks))
        now = self.features[feature.id].model_copy(
            update={
                "passes": met,
                "status": "completed" if met else "in_progress",
                "agent_notes": f"{HOLDS}: {lacking}" if lacking else "",
            }
        )
        waiting = {*self.holding} - {feature.id} | (set() if met else {feature.id})
        return self._with(now, holding=tuple(sorted(waiting)), green=tuple(sorted({*self.green, feature.id})))

    def with_feature_failed(self, feature: Feature) -> "HandoffProject":
        """With the feature failed; features that depend on it are blocked, and say why."""
        found = self._with(self.features[feature.id].model_copy(update={"status": "failed", "passes": False}))
        for one in blocked(found.features):
            found = found._with(found.features[one.feature].model_copy(update={"agent_notes": f"blocked: {one.why}"}))
        return found

    def with_features_reopened(self, names: Iterable[str]) -> "HandoffProject":
        """With these features open again."""
        found, gone = self, set(names)
        for name in gone:
            found = found._with(self.features[name].model_copy(update={"passes": False, "status": "not_started"}))
        left = {"holding": self.holding, "green": self.green}  # green checks are not enough any more
        return found.model_copy(
            update={key: tuple(name for name in names if name not in gone) for key, names in left.items()}
        )

    def _with(self, feature: Feature, **more: object) -> "HandoffProject":
        return self.model_copy(update={"features": self.features.with_feature(feature), **more})

    # -- the files -----------------------------------------------------------------------------------------------------

    @property
    def owned(self) -> tuple[str, ...]:
        """The files that only the engine writes."""
        return feature_list.NAME, self.note, agent_state.NAME

    @property
    def files(self) -> dict[str, str]:
        return {
            feature_list.NAME: feature_list.render(self.features),
            self.note: progress.render(self.handoff_note, self.below),
            agent_state.NAME: agent_state.render(self.state),
        }

    def list_event(self, attempt: int = 0, of: int = 0) -> FeatureListWritten:
        """The feature list as an event; while a coder works on a feature, with the number of the attempt."""
        rows = [{**_row(one), "holds": one.passes or one.id in self.holding} for one in self.features.features]
        if not attempt:
            return FeatureListWritten(features=tuple(rows))
        return FeatureListWritten(features=tuple(rows), feature=self.state.feature, attempt=attempt, of=of)

    @property
    def handoff_note(self) -> HandoffNote:
        current = next((one for one in self.features.features if one.id == self.state.feature), None)
        upcoming_one = self.next_feature
        totals = self.features.totals
        return HandoffNote(
            feature=current.id if current else "",
            status=standing(current.state, current.tests_passing, current.tests_total) if current else "",
            last_agent=self.state.last_agent,
            did=self.did,
            next_agent="coder" if upcoming_one else "",
            to_do=tuple(_to_do(upcoming_one)) if upcoming_one else ("nothing is left to be built",),
            do_not_touch=(*(f"what makes {name} pass" for name in self.finished), f"above the line in {self.note}"),
            context=(f"{totals['completed']} of {totals['total_features']} features pass", f"set up with ./{SCRIPT}"),
            coverage=_measured(self.features),
            target=self.target,
            files=(f"{feature_list.NAME}: counted by the engine", f"{agent_state.NAME}: turn {self.state.iteration}"),
            continue_from=self.left_at,
        )


def _row(feature: Feature) -> dict[str, object]:
    shown = ("id", "description", "priority", "passes", "tests_passing", "tests_total", "coverage", "agent_notes")
    more = {"state": feature.state, "method": feature.verification_method, "needs": list(feature.depends_on)}
    return {**{name: getattr(feature, name) for name in shown}, **more}


def _measured(features: FeatureList) -> float | None:
    """The coverage that was measured last."""
    found = [one for one in features.features if one.coverage is not None]
    return max(found, key=lambda one: one.last_tested).coverage if found else None


def task_of(feature: Feature) -> Task:
    lines = [feature.description, *(f"{number}. {step}" for number, step in enumerate(feature.steps, 1))]
    lines += [f"It is shown by: {feature.test_command}"] if feature.test_command else []
    lines += [f"A person will look at it: {feature.verification_method}"] * (feature.verification_method == "manual")
    return Task(
        id=feature.id,
        title=" ".join(feature.description.split())[:TITLE_LIMIT],
        scope=feature.description,
        brief="\n".join(lines),
        source=Source(line=feature.line),
    )


def message_of(feature: Feature, run: str) -> str:
    """The commit message of a feature, with its id and the run in trailers."""
    kind = "fix" if feature.category.strip().lower() in ("bug", "bugfix", "fix") else "feat"
    words = " ".join("".join(char if char.isprintable() else " " for char in feature.description).split())
    title = words if len(words) <= TITLE_LIMIT else words[:TITLE_LIMIT].rpartition(" ")[0]
    return f"{kind}: {title.rstrip(' .,;:')}\n\nFeature: {feature.id}\nRun: {run}"


def _to_do(feature: Feature) -> Iterator[str]:
    yield f"build {feature.id}, and nothing else: {feature.description}"
    yield from feature.agent_notes.splitlines()[:5]
    if feature.test_command:
        yield f"verify with: {feature.test_command}"
