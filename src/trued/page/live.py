"""Keeps open pages in step with the journal: renders the pages that are open, and sends the pieces that changed."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

from trued.errors import TruedError
from trued.page.reader import Reader
from trued.page.view import PageView

# time between two checks whether the journal's files have changed: usually, and in calm times
LOOK_S, CALM_LOOK_S = 0.1, 0.4
CALM_S = 5.0  # a time is calm when nothing has changed for this long
PAINT_S = 0.28  # least time between two renderings of a page: on average, an event shows after half of that
# After each rendering a page rests 16 times as long as the rendering took, at most a second: it uses a 17th of a core.
# The page of a long run, which renders slowly, rests only 9 times as long, so that changes show soon enough, and uses a
# tenth of a core.
BRISK, BRISK_S, BUSY = 16, 1.0, 9
# How often to ask the journal itself even if its files look the same, and to check what is not in the journal:
# transcripts grow, processes die.
ASK_S, CALM_ASK_S = 0.5, 2.0
# A page is rendered again even without a known change: after 5 s, then ever later, up to 30 s.
REFRESH_S, CALM_REFRESH_S = 5.0, 30.0
IDLE = 2000  # an unchanged page rests 2000 times as long as its rendering took: viewing it costs almost nothing
LATE_S, IDLE_S = 15.0, 300.0  # the longest rest of a changed and of an unchanged page, however long rendering took
# streams per session: a browser opens six connections to a host, and the page itself needs some
STREAMS = 4
ALL_STREAMS = 64  # streams of all sessions together

Result = TypeVar("Result")
Render = Callable[[Reader], PageView]


class ReaderThread:
    """The one thread that reads the state folder: a SQLite connection belongs to the thread that opened it."""

    def __init__(self, opened: Callable[[], Reader]) -> None:
        self._opened = opened
        self._reader: Reader | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reader")

    async def read(self, what: Callable[[Reader], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._call, what)

    def _call(self, what: Callable[[Reader], Result]) -> Result:
        if self._reader is None:
            self._reader = self._opened()
        return what(self._reader)

    def close(self) -> None:
        def end() -> None:
            if self._reader is not None:
                self._reader.close()

        self._thread.submit(end)
        self._thread.shutdown()


class JournalFiles:
    """The files of an embedded journal. Their sizes and times show whether it may have been written to."""

    def __init__(self, home: Path) -> None:
        self._paths = [home / name for name in ("journal.db", "journal.db-wal")]
        self._stamp: list[tuple[int, int, int]] = []
        self._changed = True

    def may_have_changed(self) -> bool:
        """Whether this call or the call before found a change. After a change, one more read is needed: a writer
        changes the file a little before others can read what it wrote, and a second write within a few milliseconds may
        leave the file's time as it was."""
        stamp = [_stamp(path) for path in self._paths]
        before, self._changed = self._changed, stamp != self._stamp
        self._stamp = stamp
        return before or self._changed


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0, 0)
    return (status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class Painting:
    """A rendered page, and which of its pieces to send: all of them, or those that changed. Streams that get the same
    pieces share one Painting, so that the message is made only once."""

    view: PageView
    pieces: Mapping[str, str]

    @classmethod
    def whole(cls, view: PageView) -> "Painting":
        return cls(view, view.pieces)

    @cached_property
    def message(self) -> bytes:
        """The message to the page's script: the pieces to send, and the ids of all pieces, in their order on the page.
        The script removes every piece whose id is not listed."""
        view = self.view
        parts = {"title": view.title, "layout": view.layout, "event": view.event, "order": list(view.pieces)}
        return json.dumps({**parts, "pieces": dict(self.pieces)}, ensure_ascii=False).encode()

    @cached_property
    def frame(self) -> bytes:
        """The message as a server-sent event. JSON has no line breaks, so the data is one line."""
        return b"id: %d\r\ndata: %b\r\n\r\n" % (self.view.event, self.message)


@dataclass
class WatchedPage:
    """One address that is being viewed, and its last rendering."""

    render: Render
    whole: Painting | None = None
    watchers: "set[Watcher]" = field(default_factory=set)
    is_stale: bool = False  # something has happened since it was rendered
    painted: float = 0.0  # when it was rendered last
    took: float = 0.0  # CPU seconds of that rendering
    refresh_s: float = REFRESH_S

    @property
    def due(self) -> float:
        """When to render the page again, by the monotonic clock."""
        if self.whole and not self.whole.view.is_whole:
            return self.painted + PAINT_S
        if self.is_stale:
            return self.painted + max(PAINT_S, min(BRISK * self.took, BRISK_S), min(BUSY * self.took, LATE_S))
        return self.painted + max(self.refresh_s, min(IDLE * self.took, IDLE_S))


@dataclass(eq=False)
class Watcher:
    """One open stream. Unsent pieces are merged into one update, so that what waits to be sent is never larger than one
    page."""

    address: str
    waiting: Painting | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)
    ended: bool = False

    def show(self, painting: Painting) -> None:
        view, pieces = painting.view, painting.pieces
        if self.waiting is not None:
            unchanged = {name: html for name, html in self.waiting.pieces.items() if name in view.pieces}
            painting = Painting(view, {**unchanged, **pieces})
        self.waiting = painting
        self.news.set()

    def end(self) -> None:
        self.ended = True
        self.news.set()

    async def frames(self) -> AsyncIterator[bytes]:
        """A server-sent event whenever there is something new, until the stream ends."""
        while True:
            await self.news.wait()
            self.news.clear()
            if self.waiting is not None:
                painting, self.waiting = self.waiting, None
                yield painting.frame
            if self.ended:
                return


def _render_timed(render: Render, spares: bool, reader: Reader) -> tuple[PageView, float]:
    began = time.thread_time()
    with reader.sparing() if spares else nullcontext():
        return render(reader), time.thread_time() - began


class Live:
    """All open streams. While no stream is open, nothing is polled or rendered."""

    def __init__(
        self, reader: ReaderThread, files: JournalFiles | None, report: Callable[[BaseException], None]
    ) -> None:
        """`files`: the files of the journal; None if the journal is on a hub."""
        self._reader, self._files, self._report = reader, files, report
        self._pictures: dict[str, WatchedPage] = {}
        self._task: asyncio.Task[None] | None = None
        self._moved = 0.0  # when something changed last
        self._asked = 0.0  # when everything was checked last, not only the journal's files
        self._version: int | None = None  # the journal's version at the last poll
        self._outside: object = None

    @property
    def streams(self) -> int:
        return sum(len(picture.watchers) for picture in self._pictures.values())

    def picture(self, address: str) -> Painting | None:
        """The page that the streams of this address show; None if there is no stream."""
        picture = self._pictures.get(address)
        return picture.whole if picture else None

    async def join(self, address: str, render: Render) -> Watcher:
        """Open a stream of this address; its first message has all current pieces.

        Raises BadInput for a page that does not exist.
        """
        watcher = Watcher(address)
        picture = self._pictures.setdefault(address, WatchedPage(render))
        picture.watchers.add(watcher)
        try:
            await self._paint(picture)
        except BaseException:
            self.leave(watcher)
            raise
        if picture.whole is not None:
            watcher.show(picture.whole)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._follow())
        return watcher

    def leave(self, watcher: Watcher) -> None:
        picture = self._pictures.get(watcher.address)
        if picture is not None:
            picture.watchers.discard(watcher)
            if not picture.watchers:
                del self._pictures[watcher.address]

    async def _follow(self) -> None:
        """Render changed pages again, until no stream is open; one poll serves all pages."""
        self._moved = time.monotonic()
        while True:
            await asyncio.sleep(self._pause(time.monotonic()))
            if not self._pictures:
                return
            if await self._has_changed(time.monotonic()):
                self._moved = time.monotonic()
                for picture in self._pictures.values():
                    picture.is_stale = True
            for picture in list(self._pictures.values()):
                if picture.due <= time.monotonic():
                    await self._repaint(picture)

    def _is_calm(self, now: float) -> bool:
        return now - self._moved >= CALM_S

    def _pause(self, now: float) -> float:
        """How long to sleep before the next poll: the usual time, or less if a changed page is due sooner."""
        due = min((picture.due for picture in self._pictures.values() if picture.is_stale), default=now + CALM_LOOK_S)
        return max(0.0, min(due - now, CALM_LOOK_S if self._is_calm(now) else LOOK_S))

    async def _has_changed(self, now: float) -> bool:
        """Whether something has happened since the last poll. Most polls only look at the journal's files: asking the
        journal wakes another thread, which costs twenty times as much."""
        asks_all = now - self._asked >= (CALM_ASK_S if self._is_calm(now) else ASK_S)
        moved = (self._files is None or self._files.may_have_changed() or asks_all) and await self._has_moved()
        if not asks_all:
            return moved
        self._asked = now
        return await self._has_changed_outside() or moved

    async def _has_moved(self) -> bool:
        """Whether the journal was written to since the last call of this method; also True if it cannot be read."""
        try:
            version = await self._reader.read(Reader.version)
        except TruedError:
            return True  # so that the page is made again and shows the error
        moved, self._version = version != self._version, version
        return moved

    async def _has_changed_outside(self) -> bool:
        """Whether something has changed that the journal does not record."""
        try:
            found = await self._reader.read(Reader.outside_journal)
        except TruedError:
            return False  # the journal cannot be read now; the next poll tries again
        changed, self._outside = found != self._outside, found
        return changed

    async def _repaint(self, picture: WatchedPage, *, spares: bool = True) -> None:
        try:
            await self._paint(picture, spares=spares)
        except TruedError:
            picture.painted = time.monotonic()  # the page cannot be read now: it is tried again when it is due
        except Exception as error:  # noqa: BLE001  one page that cannot be made must not end all streams
            picture.is_stale, picture.painted = False, time.monotonic()
            self._report(error)

    async def _paint(self, picture: WatchedPage, *, spares: bool = False) -> None:
        was_stale, picture.is_stale = picture.is_stale, False
        before = picture.whole.view if picture.whole else None
        known = before.pieces if before else {}
        try:
            view, picture.took = await self._reader.read(partial(_render_timed, picture.render, spares))
        except BaseException:
            picture.is_stale = was_stale
            raise
        picture.whole, picture.painted = Painting.whole(view), time.monotonic()
        picture.is_stale |= view.is_behind
        changed = {name: html for name, html in view.pieces.items() if known.get(name) != html}
        moved = before is None or list(before.pieces) != list(view.pieces) or before.title != view.title
        calm = min(picture.refresh_s * 2, CALM_REFRESH_S)
        picture.refresh_s = REFRESH_S if was_stale or changed or moved else calm
        if changed or moved or (before and before.event != view.event):
            painting = Painting(view, changed)
            for watcher in picture.watchers:
                watcher.show(painting)

    async def finish(self) -> None:
        """Send the final state to all streams, and end them."""
        if self._task is not None:
            self._task.cancel()
        for picture in list(self._pictures.values()):
            await self._repaint(picture, spares=False)
        self.close()

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        for picture in self._pictures.values():
            for watcher in picture.watchers:
                watcher.end()
