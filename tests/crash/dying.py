"""Kills its own process, really and at once, before or after the nth write that is to last."""

import json
import os
import re
import signal
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from trued.engine.journals.sqlite import RunJournal, SqliteJournal
from trued.hub.database import Database
from trued.support import atomic_files
from trued.workspace.git.command import Git

READING = (
    "rev-parse",
    "cat-file",
    "ls-tree",
    "ls-files",
    "diff-tree",
    "rev-list",
    "show-ref",
    "for-each-ref",
    "merge-base",
    "diff",
)


def _is_ours(pid: int) -> bool:
    """Whoever lost its engine before has another parent, that has nothing to do with us."""
    try:
        return b"tests.crash." in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


class Points:
    """Counts writes. `log` gets a line for each, so that a first run tells how many there are, and which."""

    def __init__(self, log: Path, at: int = 0, when: str = "", victim: str = "self") -> None:
        self.log, self.at, self.when, self.victim, self.count = log, at, when, victim, 0

    def reached(self, what: str) -> int:
        self.count += 1
        with self.log.open("a") as log:
            log.write(f"{what}\n")
        return self.count

    def die_if(self, number: int, when: str) -> None:
        if (number, when) == (self.at, self.when):
            if self.victim != "self" and _is_ours(engine := os.getppid()):
                os.kill(engine, signal.SIGKILL)
            if self.victim != "parent":
                os.kill(os.getpid(), signal.SIGKILL)

    def around(self, what: Callable[..., str], write: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            if not (label := what(*arguments)):
                return write(*arguments, **named)
            number = self.reached(label)
            self.die_if(number, "before")
            result = write(*arguments, **named)
            self.die_if(number, "after")
            return result

        return wrapped

    def around_async(
        self, what: Callable[..., str], write: Callable[..., Awaitable[Any]]
    ) -> Callable[..., Awaitable[Any]]:
        async def wrapped(*arguments: Any, **named: Any) -> Any:
            if not (label := what(*arguments)):
                return await write(*arguments, **named)
            number = self.reached(label)
            self.die_if(number, "before")
            result = await write(*arguments, **named)
            self.die_if(number, "after")
            return result

        return wrapped


COMMIT = re.compile(r"[0-9a-f]{40}")
STEP: ContextVar[str] = ContextVar("STEP", default="the start")


def death() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Chain(Points):
    """Dies at whichever of several writes comes first, and never twice at the same: who resumes dies at the next.

    A write is known by the step that it is in or comes after, and by how many like it went before it there: the same
    in every process, whatever is done beside it.
    """

    def __init__(self, log: Path, targets: Mapping[str, str], then: Callable[[], None] = death) -> None:
        super().__init__(log)
        self.then = then
        self.spent = log.with_name("spent.jsonl")
        done = {json.loads(line)[0] for line in self.spent.read_text().splitlines()} if self.spent.exists() else set()
        self.targets = {name: when for name, when in targets.items() if name not in done}
        self.counts, self.names = Counter[str](), dict[int, str]()

    def reached(self, what: str) -> int:
        place = f"{what} | {STEP.get()}"
        self.counts[place] += 1
        name = f"{place} | {self.counts[place]}"
        number = super().reached(name)
        self.names[number] = name
        return number

    def die_if(self, number: int, when: str) -> None:
        if self.targets.get(self.names[number]) == when:
            with self.spent.open("a") as file:
                file.write(f"{json.dumps([self.names[number], when])}\n")
            self.then()


def place_steps() -> None:
    """From now on every write is known to be in a step, or after one."""
    once = RunJournal.once

    async def placed(self: RunJournal, key: str, *rest: Any) -> str:
        STEP.set(key)
        try:
            return await once(self, key, *rest)
        finally:
            STEP.set(f"after {key}")

    RunJournal.once = placed  # type: ignore[method-assign, assignment]


def arm_engine(points: Points) -> None:
    """Every commit of the journal, every file that is there or is not, every git command that writes."""

    def commit_of(journal: SqliteJournal, db: sqlite3.Connection) -> str:
        return "journal" if db is journal._synced else "journal event"

    def git_of(_: Git, *arguments: str) -> str:
        verb = next(one for one in arguments if not one.startswith("-"))
        # A clone that is there already is not made again: nothing else may be counted together with that.
        whole = " of a folder" if any(one.startswith("--work-tree") for one in arguments) else ""
        return "" if verb in READING else f"git {verb}{whole}"

    def sent(_: Database, statement: str, *__: object) -> str:
        return "journal" if statement.split()[0] in ("insert", "update", "delete", "with") else ""

    def sent_unsynced(_: Database, statement: str, *__: object) -> str:
        return "journal event"

    SqliteJournal.commit = points.around(commit_of, SqliteJournal.commit)  # type: ignore[method-assign]
    Database.rows = points.around(sent, Database.rows)  # type: ignore[method-assign]
    Database.rows_unsynced = points.around(sent_unsynced, Database.rows_unsynced)  # type: ignore[method-assign]
    Database.try_unsynced = points.around(sent_unsynced, Database.try_unsynced)  # type: ignore[method-assign]
    Database.transaction = points.around(lambda *_: "journal", Database.transaction)  # type: ignore[method-assign]
    Git.attempt = points.around_async(git_of, Git.attempt)  # type: ignore[method-assign, assignment]
    atomic_files.write = points.around(lambda path, *_: f"file {COMMIT.sub('COMMIT', path.name)}", atomic_files.write)


def arm_supervisor(points: Points) -> None:
    from trued.agents.supervisor.record import CallRecord

    CallRecord._write = points.around(lambda _, event: f"event {event['kind']}", CallRecord._write)  # type: ignore[method-assign]
    atomic_files.write = points.around(lambda path, *_: f"file {path.name}", atomic_files.write)
