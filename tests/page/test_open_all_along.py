"""At every event, step, answer and approval of a run, a page that was open all along is the one opened now."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.page.made_up import add_events, add_run, add_steps, addresses, view_of
from tests.reporting.html.sample import BASE, CONTRACT, HEAD, LIE, events, history, material
from trued.engine.journals.sqlite import SqliteJournal
from trued.errors import BadInput
from trued.model import Approval
from trued.model.events.people import decision_event
from trued.page.reader import Reader
from trued.page.view import PageView

RUN, CALL = "r-demo", "chunk 1B/purple-team-a#1"


def happenings(home: Path, journal: SqliteJournal) -> Iterator[tuple[float, Callable[[], object]]]:
    """When, and what is written then, in the order of the demo; heads move as work is proven."""
    writer = journal.of(RUN)
    yield 0.2, lambda: add_steps(home, RUN, CONTRACT, ())
    for one in events():
        yield one.at - events_begin(), lambda one=one: add_events(home, RUN, [one])  # type: ignore[misc]
    for proved in history():
        yield proved.at - events_begin(), lambda one=proved: add_steps(home, RUN, None, [one])  # type: ignore[misc]
    for at, head in ((5.5, HEAD), (11.5, LIE), (19.0, HEAD)):
        yield at, lambda head=head: journal.update(journal.run(RUN).model_copy(update={"head": head}))  # type: ignore[misc]
    yield 9.2, lambda: writer.question("go on#1", "Shall it go on?", ("yes", "stop"))
    yield 12.2, lambda: writer.answer("go on#1", "yes", "", "Ann")
    word = Approval(requirement="slug", who="Ann", why="I looked", commit=HEAD, at=1.0)

    def approve() -> None:  # as `trued approve` does
        writer.approve(word)
        writer.emit(decision_event(word))

    yield 24.2, approve
    done = {"state": "done"}
    yield 28.2, lambda: journal.update(journal.run(RUN).model_copy(update=done))


def events_begin() -> float:
    return next(events()).at


def seen(reader: Reader, address: str) -> PageView | str:
    try:
        return view_of(reader, address)
    except BadInput as error:  # no such call yet
        return str(error)


@pytest.mark.slow
@pytest.mark.spec("PAGE-2")
def test_at_every_event_a_page_that_was_open_all_along_is_the_one_opened_now(tmp_path: Path) -> None:
    bare = material(events=(), contract=None, history=(), state="running")
    add_run(
        tmp_path, material(events=(), contract=None, history=(), record=bare.record.model_copy(update={"head": BASE}))
    )
    pages = [*addresses(RUN, CALL, "count"), f"/r/{RUN}?only=open", f"/r/{RUN}?lanes=10+min"]
    shown: set[str] = set()
    with closing(SqliteJournal(tmp_path / "journal.db")) as journal, closing(Reader(tmp_path, {})) as open_reader:
        journal.announce(RUN)
        for _, happens in sorted(happenings(tmp_path, journal), key=lambda one: one[0]):
            happens()
            with closing(Reader(tmp_path, {})) as fresh:
                for address in pages:
                    found = seen(open_reader, address)
                    assert found == seen(fresh, address), address
                    shown |= {"".join(found.pieces.values())} if isinstance(found, PageView) else set()
    whole = "".join(shown)
    assert all(words in whole for words in ("at work", "g-refuted", "g-proven", "1 claim refuted", "Ann"))
