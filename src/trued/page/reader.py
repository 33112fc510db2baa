"""Reads the state folder for pages: runs, events folded into progress, what waits."""

from collections.abc import Mapping
from pathlib import Path

from trued.engine.pending import Wait, waits
from trued.engine.run_store import RunStore
from trued.model import RunRecord
from trued.reporting.views import state_of
from trued.reporting.views.progress import Progress


class Reader:
    """Everything that pages read. One a server; used from one thread."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self.store = RunStore(home, environ)

    def close(self) -> None:
        self.store.close()

    def newest_event(self) -> int:
        """The id of the journal's newest event."""
        rows = self.store.journal._rows("select coalesce(max(id), 0) as newest from event")
        return int(rows[0]["newest"])

    def runs(self) -> list[RunRecord]:
        journal = self.store.journal
        return [one.model_copy(update={"state": state_of(one, journal.driver(one.id))}) for one in journal.runs()]

    def run(self, name: str) -> RunRecord:
        """Raises BadInput if there is no such run."""
        record = self.store.journal.run(name)
        return record.model_copy(update={"state": state_of(record, self.store.journal.driver(record.id))})

    def progress(self, record: RunRecord) -> Progress:
        return Progress(self.store.journal.events(record.id), record.workflow)

    def waits(self, record: RunRecord) -> list[Wait]:
        return waits(self.store, record)
