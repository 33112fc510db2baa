"""Turns every sentence of the user into a requirement, unless a requirement in the user's file covers it."""

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from trued.errors import BadInput
from trued.inputs.clauses import comparable, one_line
from trued.inputs.requirements.guard_phrases import guard_kind, quoted_command
from trued.inputs.sentences import sentence_criteria, sentences
from trued.model import (
    EXISTING_TESTS,
    BrowserCheck,
    Check,
    CommandCheck,
    Criterion,
    Goal,
    ManualCheck,
    Plan,
    Requirement,
    Requirements,
    Source,
)
from trued.support.lazy_regex import lazy_regex

PREFIXES = ("ship", "goal", "constraint", "text")
KINDS = (*PREFIXES, "acceptance")  # tickets say "acceptance" where plans say "ship", so `ship:` matches both
# Ids that only the engine gives: to the user's sentences, to parts of them that no case quotes, and to existing tests.
_ENGINES_OWN = lazy_regex(rf"(?:{'|'.join(PREFIXES)})(?:-\d+.*)?|plan(?:-\d+)?|{EXISTING_TESTS}.*|.*-rest(?:-\d+)?")


def user_requirements(plan: Plan | None, goal: Goal, requirements: Requirements | None) -> tuple[Requirement, ...]:
    """All requirements of a run.

    The user's requirements stay unchanged. Every part of the plan or text that they do not cover is added as a
    requirement without a check, and ends unproven. If the text of a user's requirement is a sentence of the plan or
    goal, or the whole goal, the requirement covers this text, even if its `covers` does not say so. Without a
    requirements file, one more requirement stands for the whole plan or goal. Raises BadInput if a requirement covers
    something that the plan or goal does not have.
    """
    users_own = requirements.requirements if requirements else ()
    if plan is None:
        if not users_own:
            return _with_parts(tuple(_of_text(goal)), goal.id)
        source = _Words(_as_plan(goal), "the goal", goal)
    else:
        source = _Words(plan, whole=goal)
    users_own = tuple(
        requirement.model_copy(
            update={
                "covers": tuple(
                    source.covered(entry, requirement)
                    for entry in (*requirement.covers, *source.repeated_by(requirement))
                )
            }
        )
        for requirement in users_own
    )
    taken = {requirement.id for requirement in users_own}
    whole_plan = [] if users_own or plan is None else [_whole_plan(plan)]
    all_requirements = (*users_own, *unique_ids([*source.left(taken), *whole_plan], taken))
    return _with_parts(all_requirements, all_requirements[-1].id) if whole_plan else all_requirements


def _with_manual_checks_only(requirement: Requirement) -> Requirement:
    """The requirement with only its manual checks; visible checks are added later, with the held-out cases."""
    return requirement.model_copy(
        update={"checks": tuple(check for check in requirement.checks if isinstance(check, ManualCheck))}
    )


def with_visible_checks(requirements: Requirements, planned: Iterable[Requirement]) -> Requirements:
    """These requirements, with visible checks added.

    A requirement gets the checks of a planned requirement of the same author and with the same text, whose id it has or
    covers. Id and text alone do not suffice: an agent may give those of the user's requirement to its own, but its
    check never counts for the user's. If a requirement covers another planned requirement of the user's, it also gets
    the browser checks of the covered one. A failed browser check then refutes the covering requirement.
    """
    planned = tuple(planned)
    checks = {_identity(requirement): requirement.checks for requirement in planned}
    kept = {_identity(requirement) for requirement in planned if requirement.keep}
    listed = {
        _identity(requirement, name)
        for requirement in requirements.requirements
        for name in (requirement.id, *requirement.covers)
    }
    pages: dict[str, tuple[Check, ...]] = {}
    for requirement in planned:
        if (
            not requirement.author
            and _identity(requirement) not in listed
            and (holder := _covering(requirement, requirements.requirements))
        ):
            browser_checks = tuple(check for check in requirement.checks if isinstance(check, BrowserCheck))
            pages[holder] = (*pages.get(holder, ()), *browser_checks)

    def with_planned_checks(requirement: Requirement) -> Requirement:
        identities = [_identity(requirement, name) for name in (requirement.id, *requirement.covers)]
        same = next((checks[identity] for identity in identities if identity in checks), ())
        planned_checks = (*same, *pages.get(requirement.id, ()))
        added = [check for check in planned_checks if check not in requirement.checks]
        keep = requirement.keep or (not requirement.checks and _identity(requirement) in kept)
        return requirement.model_copy(update={"checks": (*added, *requirement.checks), "keep": keep})

    with_checks = tuple(map(with_planned_checks, requirements.requirements))
    return requirements.model_copy(update={"requirements": with_checks})


def _identity(requirement: Requirement, name: str = "") -> tuple[str, str, str]:
    """What makes two requirements the same one: author, id (or one of the names that it covers) and text."""
    return requirement.author, name or requirement.id, requirement.text


def with_named_commands(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Only the requirements whose whole text asks that a command succeeds. Each gets the command as its check, and
    `keep`, because a command that succeeds on the base must still succeed."""
    quoted = [(requirement, quoted_command(requirement.text)) for requirement in requirements if not requirement.parts]
    return tuple(
        requirement.model_copy(update={"checks": (CommandCheck(command=command),), "keep": True})
        for requirement, command in quoted
        if command
    )


def _covering(planned: Requirement, users_own: Iterable[Requirement]) -> str:
    """The id of the user's requirement that covers `planned`; "" if there is none. A requirement that names `planned`
    takes precedence over a requirement that covers the whole goal."""
    entries = {one_line(entry): by.id for by in users_own for entry in by.covers}
    kinds = (f"{kind}: {one_line(planned.text)}" for kind in KINDS)
    return next((entries[name] for name in (planned.id, one_line(planned.text), *kinds, "goal") if name in entries), "")


def _with_parts(requirements: tuple[Requirement, ...], whole: str) -> tuple[Requirement, ...]:
    """Make the requirement with the id `whole` stand for the whole plan or goal: all other requirements become its
    parts."""
    parts = tuple(requirement.id for requirement in requirements if requirement.id != whole)
    return tuple(
        requirement.model_copy(update={"parts": parts}) if requirement.id == whole and parts else requirement
        for requirement in requirements
    )


def _numbered_criteria(criteria: tuple[Criterion, ...]) -> Iterator[tuple[str, Criterion]]:
    """Criteria by kind and number: `ship-3` is the third ship criterion of the plan."""
    counts: dict[str, int] = {}
    for criterion in criteria:
        counts[criterion.kind] = counts.get(criterion.kind, 0) + 1
        yield f"{criterion.kind}-{counts[criterion.kind]}", criterion


def _whole_plan(plan: Plan) -> Requirement:
    name = PurePosixPath(plan.source.file).name or "the plan"
    return Requirement(id=plan.whole or "plan", text=f"the whole of {name}", source=plan.source)


def _as_plan(goal: Goal) -> Plan:
    """Plain text as a plan without tasks, in which each sentence has to be covered."""
    return Plan(source=goal.source, unread=sentence_criteria(goal))


def _of_text(goal: Goal) -> Iterator[Requirement]:
    found_sentences = sentences(goal.text)
    if len(found_sentences) > 1:
        for number, (text, line) in enumerate(found_sentences, 1):
            yield Requirement(id=f"text-{number}", text=text, source=Source(file=goal.source.file, line=line))
    yield Requirement(id=goal.id, text=goal.text.strip(), source=goal.source)


def unique_ids(wanted: Iterable[Requirement], taken: Iterable[str] = ()) -> Iterator[Requirement]:
    """The requirements with unique ids. An id that is in `taken`, or that an earlier requirement has, gets a number:
    `a`, `a-2`, `a-3`. The user's requirements get their ids first, so that an agent can take none of them."""
    requirements, known = list(wanted), set(taken)
    for place in sorted(range(len(requirements)), key=lambda place: bool(requirements[place].author)):
        requirement = requirements[place]
        name, number = requirement.id, 2
        while name in known:
            name, number = f"{requirement.id}-{number}", number + 1
        known.add(name)
        requirements[place] = requirement if name == requirement.id else requirement.model_copy(update={"id": name})
    yield from requirements


class _Words:
    """The plan's tasks and criteria by id and by text, and which of them are covered."""

    def __init__(self, plan: Plan, name: str = "the plan", whole: Goal | None = None) -> None:
        self.plan, self.name = plan, name
        self.words = tuple(_numbered_criteria((*plan.criteria, *plan.unread)))
        self.goal = whole
        self.whole = {one_line(whole.text), whole.id} if whole else set()
        self.tasks = {task.id.casefold(): task.id for task in plan.tasks}
        titles = Counter(one_line(task.title) for task in plan.tasks)
        self.titles = {one_line(task.title): task.id for task in plan.tasks if titles[one_line(task.title)] == 1}
        self.criteria: dict[str, list[tuple[str, str]]] = {}
        for name, criterion in self.words:
            self.criteria.setdefault(one_line(criterion.text), []).append((name, criterion.kind))
        self.done: set[str] = set()  # ids of covered tasks
        self.met: set[str] = set()  # names of covered criteria

    def covered(self, entry: str, by: Requirement) -> str:
        """Mark as covered what an entry of `by.covers` names: a task, criteria or the whole goal.

        Returns the task's id; if the entry names no task, the entry itself. Raises BadInput if the plan or goal has
        nothing that the entry names.
        """
        if (task := self.tasks.get(one_line(entry).casefold())) is not None:
            self.done.add(task)
            return task
        names = self._matching_criteria(entry)
        if not names and (task := self.titles.get(one_line(entry))) is not None:  # the title of a task
            self.done.add(task)
            return task
        if not names and one_line(entry) not in self.whole:  # an entry may also name the whole goal
            raise BadInput(
                f'requirement {by.id} covers "{entry}", but {self.name} has nothing with that name or wording',
                str(by.source),
                self._nearest(entry),
            )
        self.met.update(names)
        return entry

    def repeated_by(self, requirement: Requirement) -> Iterator[str]:
        """The sentences or criteria that the text of the user's requirement repeats, ignoring case and a final period.
        If the text is the whole goal, it repeats all of them.

        Two sorts are left out: texts that the requirement's `covers` already names, and sentences that ask to keep
        something, because the engine has its own checks for them.
        """
        if any(one_line(entry) in self.whole for entry in requirement.covers):
            return
        same = comparable(requirement.text)
        named = {comparable(text) for entry in requirement.covers for text in (entry, entry.partition(":")[2])}
        texts = dict.fromkeys(criterion.text for _, criterion in self.words if not guard_kind(criterion.text))
        repeated = [text for text in texts if comparable(text) == same]
        if not repeated and self.goal and comparable(self.goal.text) == same:
            repeated = list(texts)
        yield from (text for text in repeated if comparable(text) not in named)

    def left(self, taken: set[str]) -> Iterator[Requirement]:
        """A requirement for every task and criterion that is not covered.

        If an agent wrote the plan, tasks for which the agent wrote no requirement are left out. The agent's
        requirements that are about no task are added if they cover something, unless the user's own requirements cover
        every sentence. `taken`: the ids of the user's requirements. A task, or an agent's requirement, that has one of
        these ids is left out.
        """
        planned = {requirement.id: requirement for requirement in self.plan.signed_requirements}
        agents = planned or self.plan.author  # true: an agent chose the tasks, and the user did not ask for them
        users = {*taken, *(name for name, _ in self.words), self.plan.whole}
        for task in self.plan.tasks:
            if task.id not in self.done and task.id not in taken and (task.id in planned or not agents):
                aside = f"{task.source} marks it as done" if task.id in self.plan.done else ""
                of_task = Requirement(id=task.id, text=task.scope or task.title, source=task.source, aside=aside)
                yield self._apart(_with_manual_checks_only(planned.get(task.id, of_task)), users)
        for requirement in planned.values() if not self._covers_every_sentence() else ():
            if requirement.covers and requirement.id not in self.tasks.values() and requirement.id not in taken:
                yield self._apart(_with_manual_checks_only(requirement), users)
        for name, criterion in self.words:
            if name not in self.met:
                yield Requirement(id=name, text=criterion.text, source=criterion.source)

    def _apart(self, requirement: Requirement, users: set[str]) -> Requirement:
        """Rename an agent's requirement if the user already uses its id, or if the id is reserved for the engine."""
        if not requirement.author or (requirement.id not in users and not _ENGINES_OWN.fullmatch(requirement.id)):
            return requirement
        return requirement.model_copy(
            update={"id": f"{requirement.author}.{requirement.id}", "covers": (*requirement.covers, requirement.id)}
        )

    def _covers_every_sentence(self) -> bool:
        """Whether the user's own requirements cover every sentence, so that an agent's criteria add nothing."""
        return bool(self.plan.author and self.words) and all(name in self.met for name, _ in self.words)

    def _matching_criteria(self, entry: str) -> list[str]:
        if one_line(entry) in self.whole:
            return [name for name, _ in self.words]
        names = [name for name, _ in self.criteria.get(one_line(entry), ())]
        kind, _, text = entry.partition(":")
        if not names and kind.strip().lower() in KINDS:
            wanted = kind.strip().lower()
            kinds = (wanted, "acceptance") if wanted == "ship" else (wanted,)
            names = [name for name, of in self.criteria.get(one_line(text), ()) if of in kinds]
        return names

    def _nearest(self, entry: str) -> str:
        kind, _, text = entry.partition(":")
        wanted = one_line(text) if kind.strip().lower() in KINDS else one_line(entry)
        known: Mapping[str, str] = {
            **{text: text for text in self.criteria},
            **{task: task for task in self.tasks.values()},
        }
        close = difflib.get_close_matches(wanted, list(known), 1, 0.3)
        if close or not self.tasks:
            return (
                f'did you mean "{close[0]}"?'
                if close
                else "name a sentence of the text, word for word, or write `goal` for the whole text"
            )
        return f"its chunks are {', '.join(list(self.tasks.values())[:20])}"
