"""Reads everything that a report needs from the journal and the run's folder."""

import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from trued.agents.spool.call_folder import attempts_of
from trued.engine.comparisons import comparison_with
from trued.engine.pending import waits
from trued.engine.run_store import RunStore
from trued.model import Approval, Goal, RunRecord, Verdict
from trued.model.step_keys import is_verdict
from trued.proof.hashes import contract_hash
from trued.reporting.html.documents import papers, texts
from trued.reporting.html.material import Material, Proved, Spooled
from trued.reporting.html.pictures import reader
from trued.reporting.views.comparison import comparison_data
from trued.reporting.views.run_rows import as_seen
from trued.support.foreign_json import parse_json

DOCUMENTS = 12  # at most this many documents that are not on the branch are shown
READ = 256 * 1024  # only this many bytes at the end of an event file are read


def gather(store: RunStore, run_id: str) -> Material:
    """The material of a run's report."""
    journal = store.journal
    record = as_seen(journal.run(run_id), journal)
    inputs, contract, folder = store.inputs(record.id), store.contract(record.id), store.folder(record.id)
    history, among = tuple(_history(store, record.id)), comparison_with(store, record.id)
    return Material(
        record=record,
        events=journal.events(record.id),
        settings=inputs.settings,
        goal=inputs.goal,
        level=inputs.level,
        version=inputs.version,
        contract=contract,
        contract_hash=contract_hash(contract) if contract else "",
        verdict=store.verdict(record.id),
        history=history,
        approvals=tuple(all_approvals(store, record.id)),
        comments=journal.comments(record.id),
        waits=waits(store, record),
        questions=journal.questions(record.id),
        documents=documents_of(record, folder, inputs.goal),
        folder=folder,
        spool=lambda key, lines: spooled(folder / "spool", key, lines),
        kept=reader(folder / "artifacts"),
        now=time.time(),
        compared=comparison_data(store, among) if among else None,
    )


def all_approvals(store: RunStore, run_id: str) -> Iterator[Approval]:
    """All decisions of people. A decision that no longer applies says why in `stale`."""
    standing = {(approval.requirement, approval.at): approval for approval in store.approvals(run_id)}
    for approval in store.journal.approvals(run_id):
        later = approval.model_copy(update={"stale": "replaced by a later decision, or made about other work"})
        yield standing.get((approval.requirement, approval.at), later)


def _history(store: RunStore, run_id: str) -> Iterator[Proved]:
    for key, _, ended in store.journal.steps(run_id):
        if is_verdict(key):
            yield Proved(key, ended, Verdict.model_validate_json(store.journal.step(run_id, key) or ""))


# files that are not listed as documents: they are not text, and pictures are shown with the evidence
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".zip")


def documents_of(record: RunRecord, folder: Path, goal: Goal) -> dict[str, str]:
    """Name → current text of each document that a run keeps. `folder`: the run's folder."""
    return dict(_papers(record, folder / "files")) | _memory(record, goal)


def _papers(record: RunRecord, folder: Path) -> Iterator[tuple[str, str]]:
    """The documents on the branch, and the documents in `folder` that are not on the branch."""
    on_branch = papers(record)
    yield from on_branch.items()
    for name, text in _documents(folder):
        if not any(path.endswith(f"/{name}") for path in on_branch):
            yield name, text


def _documents(folder: Path) -> Iterator[tuple[str, str]]:
    entries = folder.rglob("*") if folder.is_dir() else ()
    files = sorted(path for path in entries if path.is_file() and path.suffix.lower() not in PICTURES)
    for path in files[:DOCUMENTS]:
        yield path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8", errors="replace")


def _memory(record: RunRecord, goal: Goal) -> dict[str, str]:
    """Path → text of `MEMORY.md`, the implementation log beside the plan on the run's branch; empty without a log."""
    plan = PurePosixPath(goal.source.file)
    if not goal.source.file or plan.is_absolute() or ".." in plan.parts:
        return {}
    return texts(record, [str(plan.with_name("MEMORY.md"))])


def spooled(folder: Path, key: str, lines: int) -> Spooled:
    """What the attempts of one call wrote to their event files: the newest events (at most `lines`), and how many
    earlier events were read and left out. Also how many bytes were not read, and the folder of the last attempt."""
    events: list[dict[str, Any]] = []
    unread = 0
    event_files = [path for _, attempt in attempts_of(folder, key) if (path := attempt / "events.jsonl").exists()]
    for path in event_files:
        with path.open("rb") as file:
            unread += _skip_lines(file, path.stat().st_size - READ)
            events += [event for line in file.read().splitlines() if (event := _event(line))]
    newest = events[-lines:]
    return Spooled(tuple(newest), len(events) - len(newest), unread, str(event_files[-1].parent) if event_files else "")


def _skip_lines(file: IO[bytes], least: int) -> int:
    """Skip whole lines, at least this many bytes, without reading them. Returns how many bytes were skipped."""
    if least > 0:
        file.seek(least - 1)
        file.readline()
    return file.tell()


def _event(line: bytes) -> dict[str, Any] | None:
    value = parse_json(line)
    return value if isinstance(value, dict) else None
