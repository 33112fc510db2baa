"""HANDOVER.md: where a run stands that cannot go on by itself, for whoever takes it up."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trued.model import Event, Grade, RunRecord, Verdict

NAME = "HANDOVER.md"
TRIED = 40  # rows of what was tried: the last ones tell most
LONGEST = 400
_CONTROLS = {code: " " for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}


@dataclass(frozen=True, slots=True)
class Standing:
    """All that is told; every word of it comes from the journal."""

    record: RunRecord
    state: str
    why: str
    verdict: Verdict | None
    wanted: tuple[str, ...]  # requirements of the contract, judged or not
    events: tuple[Event, ...]
    spent: tuple[str, ...]  # in words, one line each
    commands: tuple[tuple[str, str], ...]  # what to type, and what it does


def handover(one: Standing) -> str:
    record = one.record
    parts = [
        f"# Hand-over: {_line(record.title)}",
        f"Run {record.id} ({record.workflow}) has come to a halt: {_line(one.state)}.\n\n{_line(one.why, 1200)}",
        "## Where it stands\n\n" + "\n".join(_place(record)),
        *_requirements(one),
        _section("What was tried", tuple(_tried(one.events))[-TRIED:], "Nobody has worked yet."),
        _section("What was used", one.spent, "Nothing."),
        _section("How to go on", tuple(f"`{command}`: {does}" for command, does in one.commands), ""),
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _place(record: RunRecord) -> Iterator[str]:
    yield f"- repository: {_line(record.repository)}"
    work = f"at {record.head}" if record.head not in ("", record.base) else "without a commit yet"
    yield f"- branch: {record.branch}, {work}"
    yield f"- base: {record.base}"


def _requirements(one: Standing) -> Iterator[str]:
    judged = {each.id: each for each in one.verdict.requirements} if one.verdict else {}
    enough = [each for each in judged.values() if each.grade.rank >= Grade.ATTESTED.rank]
    yield _section("What is proven", tuple(f"{_line(each.id)}: {each.grade}" for each in enough), "Nothing yet.")
    lines: list[str] = []
    for each in judged.values():
        if each not in enough:
            lines.append(f"{_line(each.id)}: {each.grade}. {_line('; '.join(each.why))}")
            lines += [f"  - {_line(gap.what)}" for gap in each.gaps]
    lines += [f"{_line(name)}: no check has been run on it yet" for name in one.wanted if name not in judged]
    if one.verdict:
        lines += [f"objection: {_line(each.what)}" for each in one.verdict.objections]
    yield _section("What is not", tuple(lines), "Everything is proven.")


def _tried(events: Iterable[Event]) -> Iterator[str]:
    """The agents' calls and the engine's verdicts, in the order in which they came."""
    for event in events:
        data, key = event.data, _line(event.key)
        if event.kind == "answered":
            reply = data.get("reply") or {}
            said = _line(str(reply.get("summary") or reply.get("result") or data.get("why") or ""))
            changed = len(data.get("changed") or ())
            words = [f"{_line(str(data.get('agent')), 60)}: {data.get('state')}"]
            words += [f"{changed} file{'' if changed == 1 else 's'} changed"] if changed else []
            yield f"{key} ({', '.join(words)}){f': {said}' if said else ''}"
        elif event.kind == "proven":
            gaps = [str(gap) for gap in data.get("gaps") or ()]
            left = f", {len(gaps)} left: {_line('; '.join(gaps))}" if gaps else ""
            yield f"{key}, the engine's own checks: {data.get('grade')}{left}"
        elif event.kind == "no progress":
            yield f"{key}: no progress; the same gaps and not a line changed, twice running"


def _section(title: str, lines: tuple[str, ...], nothing: str) -> str:
    body = "\n".join(line if line.startswith("  - ") else f"- {line}" for line in lines) or nothing
    return f"## {title}\n\n{body}" if body else ""


def _line(text: str, longest: int = LONGEST) -> str:
    """One line, without anything that could draw on a terminal or begin a block of its own."""
    plain = " ".join(text.translate(_CONTROLS).encode("utf-8", "replace").decode().split())
    return plain if len(plain) <= longest else f"{plain[:longest]} […]"
