"""A state folder with one long run that is at work, as its journal would be: `python -m bench.long_journal N FOLDER`.

A round of a chunk is four calls and a proof in 20 events, with briefs of 13 kB, as runs of the purple workflow write
them: nine tenths of the file are briefs.
"""

import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from tests.page.made_up import add_run
from tests.reporting.html.sample import HEAD, SLUG, START, evidence, judged, material, requirement
from trued.model import Contract, Grade, Outcomes, RunRecord, Verdict

RUN = "r-long"
REQUIREMENTS = 1_000  # at most; with more events each of them is worked on again and again
ROUND = 20  # events
ROUND_S = 60.0
BRIEF = "Keep to the plan and to the code base's own patterns; leave nothing half done. " * 170
AGENT = "claude:sonnet"
ROLES = ("purple-team-a", "purple-team-b")
WHY = ["2 held-out cases: failed before, pass now"]

EventRow: TypeAlias = tuple[float, str, str, dict[str, Any]]  # at, key, kind, data
StepRow: TypeAlias = tuple[str, str, float]  # key, value, ended


def write(home: Path, events: int) -> RunRecord:
    """Write the run into a new state folder; it is at work for as long as somebody holds its lock."""
    rounds = max(0, events - 2) // ROUND
    names = [f"R{number}" for number in range(1, min(REQUIREMENTS, max(1, rounds)) + 1)]
    contract = _contract(names)
    began = {"title": "A long plan", "workflow": "purple", "branch": "trued/r-long", "level": "bubblewrap"}
    sealed = {"contract": "5ea1ed", "requirements": len(names), "held_out": True, "why": ""}
    sample = material(events=(), contract=contract, history=(), state="running")
    record = sample.record.model_copy(update={"id": RUN, "title": "A long plan", "state": "running"})
    add_run(home, material(events=(), contract=contract, history=(), record=record))
    rows: list[EventRow] = [(START, "", "run began", began), (START + 1, "seal", "contract sealed", sealed)]
    _insert(home, [*rows, *_first_call(events - 2 - rounds * ROUND)], [])
    batch, steps = list[EventRow](), list[StepRow]()
    for number in range(rounds):
        name, turn = names[number % len(names)], number // len(names) + 1
        batch += _round(name, turn, START + 10 + number * ROUND_S)
        steps += _steps(name, turn, START + 10 + number * ROUND_S)
        if len(batch) >= 200 * ROUND:
            _insert(home, batch, steps)
            batch, steps = [], []
    _insert(home, batch, steps)
    return record


def more_events(rounds: int) -> Iterator[EventRow]:
    """What a run at work writes next: so many rounds of its first chunk."""
    for number in range(rounds):
        yield from _round("R1", 1_000 + number, START + 100 + number * ROUND_S)


def _contract(names: list[str]) -> Contract:
    wanted = tuple(
        requirement(name, f"chunk {name} slugs its own words", number, SLUG, name) for number, name in enumerate(names)
    )
    facts = tuple(
        evidence(name, SLUG, "base", turn, Outcomes.MISSING, "textkit has no slugify").model_copy(
            update={"id": f"base-{name}-{turn}"}
        )
        for name in names
        for turn in (1, 2, 3)
    )
    return Contract(base="b" * 40, requirements=wanted, held_out=True, base_facts=facts)


def _first_call(events: int) -> list[EventRow]:
    """The beginning of a call, where there is no room for a round."""
    key = "chunk R1/purple-team-a#0"
    return [(START + 2, key, "asked", _asked(ROLES[0])), (START + 3, key, "started", {"pid": 4711})][: max(0, events)]


def _round(name: str, turn: int, at: float) -> Iterator[EventRow]:
    for key, role, began in _calls(name, turn, at):
        yield began, key, "asked", _asked(role)
        yield began + 0.3, key, "started", {"pid": 4711}
        yield began + 9.0, key, "answered", _answered(role, began)
    yield at + 41.0, key, "quota", {"agent": AGENT, "window": "5h", "used": 12.5, "until": at + 3600}
    yield at + 41.1, f"chunk {name}/log", "committed", {"commit": HEAD, "files": 1}
    for number in range(4):
        data = {"check": "187266e578dc", "sort": "examples", "turn": 1 + number % 2, "void": ""}
        yield at + 43.0 + number, f"chunk {name}/prove", "checked", data
    grade = _grade(turn)
    yield at + 50.0, f"chunk {name}/prove", "judged", {"requirement": name, "grade": grade, "why": WHY}
    verdict = {"subject": name, "commit": HEAD, "grade": grade, "holds": grade == "proven", "gaps": []}
    graded = [{"id": name, "grade": grade, "why": WHY}]
    yield at + 50.1, f"chunk {name}/prove", "proven", {**verdict, "requirements": graded}


def _calls(name: str, turn: int, at: float) -> Iterator[tuple[str, str, float]]:
    for place in range(4):
        role = ROLES[place % 2]
        yield f"chunk {name}/{role}#{turn * 2 - 1 + place // 2}", role, at + place * 10.0


def _grade(turn: int) -> str:
    return "refuted" if turn % 5 == 0 else "proven"


def _asked(role: str) -> dict[str, Any]:
    return {"role": role, "agent": AGENT, "brief": BRIEF, "chars": len(BRIEF), "resume": False}


def _reply(role: str) -> dict[str, Any]:
    built = {"status": "DONE", "summary": "all of it works " * 4, "implemented": ["slugify"], "files": []}
    return built if role == ROLES[0] else {"result": "PASS", "steel_man": ["it is right"], "gaps": [], "fixed": []}


def _answered(role: str, began: float) -> dict[str, Any]:
    tokens = {"in": 3217, "out": 240, "cached": 1000, "peak": 3457, "estimated": False}
    outcome = {"role": role, "agent": AGENT, "state": "done", "kind": "", "why": "", "reply": _reply(role)}
    counts = {"attempts": 1, "asks": 1, "resumed": False, "reaped": 0, "commit": HEAD, "changed": ["textkit/slug.py"]}
    spent = {"tokens": tokens, "cost_usd": 0.01, "cost": "reported", "requests": 3, "compactions": 0}
    return {**outcome, **counts, **spent, "began": began + 0.4, "ended": began + 9.0}


def _steps(name: str, turn: int, at: float) -> Iterator[StepRow]:
    for key, role, began in _calls(name, turn, at):
        yield key, json.dumps({"reply": _reply(role), "failure": "", "head": HEAD, "changed": []}), began + 9.0
    good = _grade(turn) == "proven"
    outcome, grade = (Outcomes.PASSED, Grade.PROVEN) if good else (Outcomes.FAILED, Grade.REFUTED)
    facts = tuple(
        evidence(name, SLUG, "head", number, outcome).model_copy(
            update={"id": f"{name}-{turn}-{number}", "began": at + 42.0 + number}
        )
        for number in (1, 2)
    )
    own = judged(requirement(name, f"chunk {name} slugs its own words", 1, SLUG), grade, *WHY)
    verdict = Verdict(subject=name, commit=HEAD, requirements=(own,), evidence=facts)
    yield f"chunk {name}/prove#{turn}", verdict.model_dump_json(), at + 50.0
    yield f"chunk {name}/log#{turn}", HEAD, at + 51.0


def add_events(db: sqlite3.Connection, rows: list[EventRow]) -> None:
    values = [(RUN, at, key, kind, json.dumps(data, ensure_ascii=False)) for at, key, kind, data in rows]
    db.executemany("insert into event (run, at, key, kind, data) values (?, ?, ?, ?, ?)", values)


def _insert(home: Path, events: list[EventRow], steps: list[StepRow]) -> None:
    db = sqlite3.connect(home / "journal.db")
    with db:
        add_events(db, events)
        values = [(RUN, key, value, ended) for key, value, ended in steps]
        db.executemany("insert into step (run, key, inputs, value, began, ended) values (?, ?, '', ?, 0, ?)", values)
    db.close()


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True)
    write(folder, int(sys.argv[1]))
