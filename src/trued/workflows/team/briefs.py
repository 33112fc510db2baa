"""What each role of a team is told beside its subject, cut to size however long goal and backlog are."""

from collections.abc import Iterable, Sequence

from trued.model import Plan, Task
from trued.workflows.team.backlog.brief import brief_of
from trued.workflows.team.files import FOLDER
from trued.workflows.team.reply_parts import Query
from trued.workflows.team.state import Crew

WORDS = 8_000  # characters of one text; the whole stands in a file that is named
ROWS = 40  # entries of a list
LAST = 6  # decisions that are still fresh


def shortened(text: str, path: str, limit: int = WORDS) -> str:
    """The text; if it is too long, its beginning and the file with the rest."""
    if len(text) <= limit:
        return text
    return f"{text[:limit].rsplit(chr(10), 1)[0]}\n(… {len(text) - limit} characters more: see {FOLDER}{path})"


def rows(lines: Iterable[str], path: str, most: int = ROWS) -> str:
    every = tuple(lines)
    more = [f"(… {len(every) - most} more: see {FOLDER}{path})"] if len(every) > most else []
    return "\n".join((*(one[:400] for one in every[:most]), *more))


def for_pm(crew: Crew) -> dict[str, str]:
    return {"project": _project(crew)}


def for_fixes(crew: Crew, name: str) -> dict[str, str]:
    """For the PM after a failed validation: all features, and the tasks of the one that was validated."""
    known = {"goal": _goal(crew), "features": _features(crew)}
    return {**known, "backlog": brief_of(crew.backlog, name, FOLDER)} if name else known


def for_techlead(crew: Crew, name: str) -> dict[str, str]:
    known = {"goal": _goal(crew), "project": _project(crew), "backlog": brief_of(crew.backlog, name, FOLDER)}
    return {**known, "earlier_decisions": _decisions(crew)}


def for_dev(crew: Crew, task: str) -> dict[str, str]:
    """For a developer, beside the task: its feature, the specification, the project, and the number of the attempt."""
    one, name = crew.backlog.task(task), crew.backlog.feature(task).id
    spec = shortened(crew.specs.get(name, ""), "techlead/specs.md")
    known = {"feature": _feature(crew, name), "specification": spec, "project": _project(crew)}
    return {**known, "backlog": brief_of(crew.backlog, task, FOLDER), "attempt": f"{one.attempts} of {one.limit}"}


def for_qa(crew: Crew, task: str, said: Sequence[str]) -> dict[str, str]:
    known = for_dev(crew, task)
    return {**known, "what_the_developer_says": shortened("\n".join(said), "dev/completed.md")}


def for_uat(crew: Crew, subject: Task | Plan) -> dict[str, str]:
    """For UAT: the goal behind one feature, or the list of features if the whole goal is validated."""
    looked = {"goal": _goal(crew)} if isinstance(subject, Task) else {"features": _features(crew)}
    log = crew.records.logs.get("accepted" if isinstance(subject, Task) else "integration")
    last = [one for one in (log.entries if log else ())[-1:] if isinstance(subject, Plan) or f"{subject.id}:" in one]
    before = shortened("\n".join(last), "uat/results.md", WORDS // 2)
    return {**looked, "project": _project(crew), "the_last_validation": before}


def for_answer(crew: Crew, who: tuple[str, str], query: Query) -> dict[str, str]:
    name = crew.backlog.feature(who[1]).id
    spec = shortened(crew.specs.get(name, ""), "techlead/specs.md", WORDS // 2)
    asked = {"question": f"{who[0]} asks about {who[1]}: {shortened(query.text, f'{query.to}/inbox.md')}"}
    return {**asked, "goal": _goal(crew), "feature": _feature(crew, name), "specification": spec}


def _goal(crew: Crew) -> str:
    return shortened(crew.goal.text, "goal.md")


def _project(crew: Crew) -> str:
    commands = [f"{step}: {command}" for step, command in crew.kind.commands.items()]
    return "\n".join((f"kind: {crew.kind.name}", *commands))


def _feature(crew: Crew, name: str) -> str:
    feature = crew.backlog.feature(name)
    criteria = (f"- {one.id}: {one.text}" for one in feature.criteria)
    return f"{feature.id}: {feature.name}\n{rows(criteria, 'backlog.md')}"


def _features(crew: Crew) -> str:
    every = crew.backlog.features
    return rows((f"{one.id}: {one.name} ({one.status}, UAT {one.uat})" for one in every), "feature-status.md")


def _decisions(crew: Crew) -> str:
    log = crew.records.logs.get("architecture")
    return shortened("\n".join(log.entries[-LAST:]) if log else "", "techlead/architecture.md", WORDS // 2)
