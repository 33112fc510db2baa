"""The context of each role's brief: what it says besides the subject of the work. Long goals and backlogs are cut."""

from collections.abc import Iterable, Sequence

from trued.model import Plan, Task
from trued.workflows.team.backlog.brief import brief_of
from trued.workflows.team.backlog.items import MARKS
from trued.workflows.team.files import FOLDER, LOGS, NOTES, context_notes
from trued.workflows.team.reply_parts import Query
from trued.workflows.team.state import Crew

WORDS = 8_000  # characters of one text; the brief names the file with the whole text
ROWS = 40  # entries of a list
LAST = 6  # how many decisions count as recent


def shortened(text: str, path: str, limit: int = WORDS) -> str:
    """The text; if it is too long, its beginning and the name of the file that has the whole text."""
    if len(text) <= limit:
        return text
    return f"{text[:limit].rsplit(chr(10), 1)[0]}\n(… {len(text) - limit} characters more: see {FOLDER}{path})"


def rows(lines: Iterable[str], path: str, most: int = ROWS) -> str:
    every = tuple(lines)
    more = [f"(… {len(every) - most} more: see {FOLDER}{path})"] if len(every) > most else []
    return "\n".join((*(line[:400] for line in every[:most]), *more))


def for_pm(crew: Crew) -> dict[str, str]:
    """For the PM at the beginning: the project, what is known about it, and what the backlog already has."""
    known = {"project": _project(crew)}
    known |= {"context": _context(crew), "in_the_backlog_already": _listed_work(crew)}
    known |= {"earlier_decisions": _tail(crew, "decisions", "pm/decisions.md")}
    return {name: text for name, text in known.items() if text}


def _context(crew: Crew) -> str:
    """What people and older tools say about the project, beyond its kind and commands."""
    notes = context_notes(crew.records.context) if NOTES in crew.records.context else ()
    return rows(notes, "context.md") if notes else ""


def _listed_work(crew: Crew) -> str:
    """The features and tasks that are planned already, so that none is planned twice."""
    lines = []
    for feature in crew.backlog.features:
        lines.append(f"{feature.id}: {feature.name} ({feature.status})")
        lines += [
            f"- {MARKS[task.state]} {task.id}: {task.description}" for task in feature.tasks if task.state != "done"
        ]
    return rows(lines, "backlog.md", 2 * ROWS)


def _tail(crew: Crew, log: str, path: str) -> str:
    """The end of a log, cut to size: the newest entries count most."""
    text, most = crew.records.tail(log, LAST), WORDS // 2
    return text if len(text) <= most else f"(earlier ones: see {FOLDER}{path})\n{text[-most:].partition(chr(10))[2]}"


def for_fixes(crew: Crew, name: str) -> dict[str, str]:
    """For the PM after a failed validation: all features, and the tasks of the validated feature."""
    known = {"goal": _goal(crew), "features": _features(crew)}
    return {**known, "backlog": brief_of(crew.backlog, name, FOLDER)} if name else known


def for_techlead(crew: Crew, name: str) -> dict[str, str]:
    known = {"goal": _goal(crew), "project": _project(crew), "backlog": brief_of(crew.backlog, name, FOLDER)}
    known |= {"context": _context(crew)} if _context(crew) else {}
    return {**known, "earlier_decisions": _tail(crew, "architecture", "techlead/architecture.md")}


def for_dev(crew: Crew, task: str) -> dict[str, str]:
    """For a developer, besides the task: the task's feature and its specification, the project, the task's place in the
    backlog, the number of the attempt, and the results from before the task was reopened."""
    backlog_task, name = crew.backlog.task(task), crew.backlog.feature(task).id
    spec = shortened(crew.specs.get(name, ""), "techlead/specs.md")
    known = {"feature": _feature(crew, name), "specification": spec, "project": _project(crew)}
    # Results of attempts before the task was reopened.
    if backlog_task.attempts == 1 and (before := crew.records.results.get(task)):
        known["earlier_results"] = shortened(before, "qa/results.md", WORDS // 2)
    return {
        **known,
        "backlog": brief_of(crew.backlog, task, FOLDER),
        "attempt": f"{backlog_task.attempts} of {backlog_task.limit}",
    }


def for_qa(crew: Crew, task: str, claims: Sequence[str]) -> dict[str, str]:
    known = for_dev(crew, task)
    return {**known, "what_the_developer_says": shortened("\n".join(claims), "dev/completed.md")}


def for_uat(crew: Crew, subject: Task | Plan) -> dict[str, str]:
    """For UAT: the goal behind one feature, or the list of features if the whole goal is validated; also the project
    and the result of the last validation."""
    looked = {"goal": _goal(crew)} if isinstance(subject, Task) else {"features": _features(crew)}
    name = "accepted" if isinstance(subject, Task) else "integration"
    log, (path, _) = crew.records.logs.get(name), LOGS[name]
    last = [
        entry for entry in (log.entries if log else ())[-1:] if isinstance(subject, Plan) or f"{subject.id}:" in entry
    ]
    before = shortened("\n".join(last), path, WORDS // 2)
    return {**looked, "project": _project(crew), "the_last_validation": before}


def for_answer(crew: Crew, who: tuple[str, str], query: Query) -> dict[str, str]:
    name = crew.backlog.feature(who[1]).id
    spec = shortened(crew.specs.get(name, ""), "techlead/specs.md", WORDS // 2)
    inbox = f"{crew.answering(query.to)}/inbox.md"
    context = {"question": f"{who[0]} asks about {who[1]}: {shortened(query.text, inbox)}"}
    return {**context, "goal": _goal(crew), "feature": _feature(crew, name), "specification": spec}


def _goal(crew: Crew) -> str:
    return shortened(crew.goal.text, "goal.md")


def _project(crew: Crew) -> str:
    commands = [f"{step}: {command}" for step, command in crew.kind.commands.items()]
    return "\n".join((f"kind: {crew.kind.name}", *commands, f"more about the project: {FOLDER}context.md"))


def _feature(crew: Crew, name: str) -> str:
    feature = crew.backlog.feature(name)
    criteria = (f"- {criterion.id}: {criterion.text}" for criterion in feature.criteria)
    return f"{feature.id}: {feature.name}\n{rows(criteria, 'backlog.md')}"


def _features(crew: Crew) -> str:
    every = crew.backlog.features
    return rows(
        (f"{feature.id}: {feature.name} ({feature.status}, UAT {feature.uat})" for feature in every),
        "feature-status.md",
    )
