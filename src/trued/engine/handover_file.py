"""HANDOVER.md: the state of a run that cannot continue without help, for the person or agent that takes over."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trued.engine.run_store import RunStore
from trued.engine.spending_by_limit import spending_lines
from trued.model import Event, Grade, RunRecord, Verdict
from trued.model.events import of_kind
from trued.model.events.call import CallAnswered
from trued.model.events.proof import NoProgress, VerdictReached
from trued.model.events.run import WorkSetAside
from trued.support import atomic_files
from trued.support.plain_text import plain_line
from trued.support.plurals import counted

NAME = "HANDOVER.md"
HALTED = ("limited", "not proven", "waiting", "stopped")
TRIED = 40  # maximum number of lines about what was tried; the last ones are kept, because they tell most
LONGEST = 400


@dataclass(frozen=True, slots=True)
class HandoverFacts:
    """Everything that HANDOVER.md says; all of it comes from the journal."""

    record: RunRecord
    state: str
    why: str
    verdict: Verdict | None
    accept: Grade  # with this grade or a better one, a requirement is met
    wanted: tuple[str, ...]  # all requirements of the contract, judged or not
    events: tuple[Event, ...]
    spent: tuple[str, ...]  # texts of one line each
    commands: tuple[tuple[str, str], ...]  # what to type, and what it does


def write_handover(store: RunStore, record: RunRecord) -> str:
    """Write HANDOVER.md if the run needs help, and return the file's path. Otherwise remove an old file and return "".

    A run needs help if a limit or the environment stopped it. It also needs help if it stopped unfinished, and a round
    made no progress or some work was set aside.
    """
    from trued.engine.continuations import continuations  # imported here, because it is needed only when a run ends

    events = tuple(store.journal.events(record.id))
    stuck = any(event.kind in (NoProgress.KIND, WorkSetAside.KIND) for event in events)
    file = store.folder(record.id) / "files" / NAME
    if record.state not in ("limited", "unjudged") and not (stuck and record.state in HALTED):
        file.unlink(missing_ok=True)
        return ""
    contract = store.contract(record.id)
    facts = HandoverFacts(
        record,
        record.state,
        record.why or "no progress: the last round had the same gaps as before and changed nothing",
        store.verdict(record.id),
        store.accepted(record.id),
        tuple(requirement.id for requirement in contract.requirements) if contract else (),
        events,
        tuple(spending_lines(store, record.id)),
        (*continuations(store, record), *_commands(record)),
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic_files.write(file, handover_text(facts).encode(), sync=False)
    return str(file)


def _commands(record: RunRecord) -> Iterator[tuple[str, str]]:
    name = record.id
    if record.state == "limited":
        from trued.run.budget import command_for_more  # imported here, because most runs are not limited

        more = command_for_more(record.why)
        yield (more, "continues with a higher limit") if more else (f"trued resume {name}", "continues it")
    elif record.state == "unjudged":
        yield f"trued resume {name}", "judges the work again, once the environment has what was missing"
    elif record.state == "waiting":
        yield f"trued show {name}", "shows what it waits for"
        yield f"trued resume {name}", "continues after your answer"
    yield f"trued ledger {name}", "shows every requirement with its grade"
    yield f"trued diff {name}", "shows the work"
    yield f"git switch {record.branch}", "lets you continue by hand; `trued verify` judges the result"


def handover_text(facts: HandoverFacts) -> str:
    record = facts.record
    parts = [
        f"# Hand-over: {_short_line(record.title)}",
        f"Run {record.id} ({record.workflow}) has stopped: {_short_line(facts.state)}.\n\n"
        f"{_short_line(facts.why, 1200)}",
        "## State\n\n" + "\n".join((*_state_lines(record), *_given_up(facts.events))),
        *_requirements(facts),
        _section("What was tried", tuple(_tried(facts.events))[-TRIED:], "No work has started."),
        _section("What was used", facts.spent, "Nothing."),
        _section("How to continue", tuple(f"`{command}`: {does}" for command, does in facts.commands), ""),
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _state_lines(record: RunRecord) -> Iterator[str]:
    yield f"- repository: {_short_line(record.repository)}"
    work = f"at {record.head}" if record.head not in ("", record.base) else "without a commit yet"
    yield f"- branch: {record.branch}, {work}"
    yield f"- base: {record.base}"


def _given_up(events: Iterable[Event]) -> Iterator[str]:
    """A line for each branch that keeps work which was set aside."""
    for _, event in of_kind(events, WorkSetAside):
        if event.branch:
            yield f"- work that was given up is kept on {event.branch}, at {event.head}"


def _requirements(facts: HandoverFacts) -> Iterator[str]:
    judged = {requirement.id: requirement for requirement in facts.verdict.requirements} if facts.verdict else {}
    enough = [requirement for requirement in judged.values() if requirement.grade.is_met(facts.accept)]
    met = tuple(f"{_short_line(requirement.id)}: {requirement.grade}" for requirement in enough)
    yield _section("What is met", met, "Nothing yet.")
    lines: list[str] = []
    for requirement in judged.values():
        if requirement not in enough:
            lines.append(
                f"{_short_line(requirement.id)}: {requirement.grade}. {_short_line('; '.join(requirement.why))}"
            )
            lines += [f"  - {_short_line(gap.what)}" for gap in requirement.gaps]
    lines += [f"{_short_line(name)}: no check has been run on it yet" for name in facts.wanted if name not in judged]
    if facts.verdict:
        lines += [f"objection: {_short_line(objection.what)}" for objection in facts.verdict.objections]
    yield _section("What is not met", tuple(lines), "Everything is met.")


def _tried(events: Iterable[Event]) -> Iterator[str]:
    """A line for each agent call, each verdict of the engine, and each round without progress, oldest first."""
    for stored in events:
        key = _short_line(stored.key)
        if answer := CallAnswered.read(stored):
            reply, changed = answer.reply or {}, len(answer.changed)
            said = _short_line(str(reply.get("summary") or reply.get("result") or answer.why))
            words = [f"{_short_line(answer.agent, 60)}: {answer.state}"]
            words += [f"{counted(changed, 'file')} changed"] if changed else []
            yield f"{key} ({', '.join(words)}){f': {said}' if said else ''}"
        elif verdict := VerdictReached.read(stored):
            left = f", {len(verdict.gaps)} left: {_short_line('; '.join(verdict.gaps))}" if verdict.gaps else ""
            yield f"{key}, the engine's own checks: {verdict.grade}{left}"
        elif NoProgress.read(stored):
            yield f"{key}: no progress; the last round had the same gaps as before and changed nothing"


def _section(title: str, lines: tuple[str, ...], nothing: str) -> str:
    body = "\n".join(line if line.startswith("  - ") else f"- {line}" for line in lines) or nothing
    return f"## {title}\n\n{body}" if body else ""


def _short_line(text: str, longest: int = LONGEST) -> str:
    return plain_line(text, longest)
