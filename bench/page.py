"""What the live page costs: opening long runs, memory, events on their way to a tab, idle tabs, the run beside it.

All in one run, of real `trued page` processes. CPU where a busy machine would lie; `--only open,live,idle,beside` for
a part: what is not measured is not shown, and everything is measured without it.
"""

import argparse
import contextlib
import json
import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import long_journal
from bench.overhead import module
from bench.show import ROOT, Target, show
from tests.page.served import Served, page
from tests.reporting.html.reading import Read
from trued.engine.journals.sqlite import FOLDED, SqliteJournal

FEW, MANY, MOST = 4, 20_000, 100_000  # events
RUN = f"/r/{long_journal.RUN}"
READING = "events are being read"  # what a page says that does not show all of a long run yet
COLD_S, WARM_S = 1.5, 0.15
NODES, WIRE = 6_000, 120_000  # bytes of the first page of a run
MIB = 120.0
MEDIAN_S, P95_S = 0.2, 0.5
STREAMS, TABS = 4, 10  # a session has four streams; other tabs ask every two seconds, as the page's script does
POLL_S = 2.0
RATE, LIVE_S = 200, 8.0  # events a second, and for how long
LIVE_SHARE, IDLE_SHARE = 0.05, 0.005  # of a core
SETTLE_S, IDLE_S = 8.0, 60.0
CHUNKS, TURNS, SLOWER = 8, 3, 1.01
TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Found:
    """What was measured so far."""

    rows: list[list[str]] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)

    def add(self, what: str, shown: str, target: Target) -> None:
        held = "not measured" if not target.measured else "holds" if target.holds else "missed"
        self.rows.append([what, shown, f"{target.value / target.limit:.2f} ×", held])
        self.targets.append(target)
        self.data[target.what] = target.value


# -- a server and its tabs -------------------------------------------------------------------------------------------


def cpu_of(process: int) -> float:
    """Seconds of CPU that a process and the children it has waited for have used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICK


def memory_of(process: int) -> float:
    """The most that was ever resident, in MiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


@contextlib.contextmanager
def opened(home: Path) -> Iterator[Served]:
    with page(home, "--look") as served:
        served.enter()
        yield served


class Tab:
    """One stream of a page, read to its end in a thread; it knows when each journal id was shown first."""

    def __init__(self, served: Served, address: str) -> None:
        self.seen: list[tuple[float, int]] = []  # when, and the newest event that was shown
        self._connection = socket.create_connection(("127.0.0.1", served.port), timeout=120)
        head = {"Host": served.authority, **served.session, "Accept": "text/event-stream"}
        lines = [f"GET /live?address={address} HTTP/1.1", *(f"{name}: {text}" for name, text in head.items()), "", ""]
        self._connection.sendall("\r\n".join(lines).encode())
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._connection.makefile("rb") as file:
            for line in file:
                if line.startswith(b"id: "):
                    self.seen.append((time.monotonic(), int(line[4:])))

    def is_open(self) -> bool:
        return bool(self.seen) and self._thread.is_alive()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        self._thread.join(10)


@contextlib.contextmanager
def tabs(served: Served, addresses: Sequence[str]) -> Iterator[list[Tab]]:
    every = [Tab(served, one) for one in addresses]
    try:
        _until(lambda: all(one.is_open() for one in every), "a stream did not open")
        yield every
    finally:
        for one in every:
            one.close()


def _until(is_so: Callable[[], bool], what: str, within_s: float = 120.0) -> None:
    end = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit(f"nothing was measured: {what} within {within_s:.0f} s")
        time.sleep(0.05)


def _until_read(served: Served) -> None:
    """Wait until the server has read the whole run: on a busy machine that takes many seconds."""
    _until(lambda: READING not in served.get(RUN).body, "the run was not read")


def _home(folder: Path, events: int) -> Path:
    home = folder / f"state-{events}"
    home.mkdir()
    long_journal.write(home, events)
    with contextlib.closing(SqliteJournal(home / "journal.db")) as journal:
        journal.announce(long_journal.RUN)  # it is at work as long as we are
    return home


# -- figures ---------------------------------------------------------------------------------------------------------


def measure_open(folder: Path, found: Found) -> None:
    """The first page of a run, cold and warm; nodes, bytes and memory."""
    bare = _bare(_home(folder, MOST))
    for events in (FEW, MANY, MOST):
        home = folder / f"state-{events}" if (folder / f"state-{events}").is_dir() else _home(folder, events)
        with opened(home) as served:
            before = cpu_of(served.process.pid)
            first = whole = served.get(RUN)
            cold = cpu_of(served.process.pid) - before
            while READING in whole.body:
                whole = served.get(RUN)
            read = cpu_of(served.process.pid) - before
            before = cpu_of(served.process.pid)
            again = [served.get(RUN) for _ in range(10)]
            warm = (cpu_of(served.process.pid) - before) / len(again)
            memory = memory_of(served.process.pid)
        if {one.status for one in (first, *again)} != {200}:
            raise SystemExit(f"nothing was measured: the page of {events} events answered {first.status}")
        what = f"{events:,} events"
        found.add(f"first page, {what}", f"{cold:.2f} s CPU", Target(f"CPU s, cold, {what}", cold, COLD_S))
        found.add(f"again, {what}", f"{warm * 1000:.0f} ms CPU", Target(f"CPU s, warm, {what}", warm, WARM_S))
        found.rows.append([f"… all of it read, {what}", f"{read:.2f} s CPU", "", ""])
        found.data[f"CPU s, all read, {what}"] = read
        nodes, size = Read(whole.body).nodes, len(whole.body.encode())
        found.add(f"its nodes, {what}", f"{nodes}", Target(f"nodes, {what}", nodes, NODES))
        found.add(f"its bytes, {what}", f"{size / 1000:.0f} kB", Target(f"bytes, {what}", size, WIRE))
        found.add(f"server, {what}", f"{memory:.0f} MiB", Target(f"MiB, {what}", memory, MIB))
        if events == MOST:
            found.rows.append([f"… to reading {what} as JSON", f"{bare:.2f} s CPU", f"{read / bare:.2f} ×", ""])
            found.data["bare_s"] = bare


def _bare(home: Path) -> float:
    """CPU of the least that one can do with all events of a run: fetch and parse them."""
    db = sqlite3.connect(home / "journal.db")
    began = time.process_time()
    for (text,) in db.execute(f"select {FOLDED} from event where run = ? order by id", (long_journal.RUN,)):
        json.loads(text)
    taken = time.process_time() - began
    db.close()
    return taken


def measure_live(folder: Path, found: Found) -> None:
    """Ten tabs of one run at 200 events a second: how late they are, and what the server needs for it."""
    home = _home(folder, FEW)
    with opened(home) as served, tabs(served, [RUN] * STREAMS) as every:
        ended = threading.Event()
        asking = [threading.Thread(target=_poll, args=(served, ended), daemon=True) for _ in range(TABS - STREAMS)]
        for one in asking:
            one.start()
        before, began = cpu_of(served.process.pid), time.monotonic()
        written = _write(home)
        share = (cpu_of(served.process.pid) - before) / (time.monotonic() - began)
        _until(lambda: all(one.seen[-1][1] >= written[-1][1] for one in every), "the last event was not shown")
        ended.set()
    late = [_shown_at(one, number) - at for one in every for at, number in written]
    median, p95 = statistics.median(late), statistics.quantiles(late, n=20)[-1]
    what = f"{RATE} events a second"
    found.add("an event's way to a tab, median", f"{median * 1000:.0f} ms", Target(f"s, {what}", median, MEDIAN_S))
    found.add("… of 20 the slowest", f"{p95 * 1000:.0f} ms", Target(f"s, p95, {what}", p95, P95_S))
    found.add(f"server, {TABS} tabs, {what}", f"{share:.1%} of a core", Target(f"share, {what}", share, LIVE_SHARE))


def _poll(served: Served, ended: threading.Event) -> None:
    while not ended.wait(POLL_S):
        served.get(f"/pieces?address={RUN}")


def _write(home: Path) -> list[tuple[float, int]]:
    """Write events as a run does, each in a transaction; when each was there, and its id."""
    db = sqlite3.connect(home / "journal.db", isolation_level=None)
    db.execute("pragma synchronous=normal")
    rows = list(long_journal.more_events(int(RATE * LIVE_S) // long_journal.ROUND))
    began, found = time.monotonic(), []
    for number, row in enumerate(rows):
        time.sleep(max(0.0, began + number / RATE - time.monotonic()))
        long_journal.add_events(db, [row])
        (newest,) = db.execute("select max(id) from event").fetchone()
        found.append((time.monotonic(), newest))
    db.close()
    return found


def _shown_at(tab: Tab, number: int) -> float:
    return next(at for at, newest in tab.seen if newest >= number)


def measure_idle(folder: Path, found: Found) -> None:
    """Four tabs of a run at which nothing happens."""
    for events in (FEW, MANY):
        home = folder / f"state-{events}" if (folder / f"state-{events}").is_dir() else _home(folder, events)
        with opened(home) as served, tabs(served, ["/", RUN, f"{RUN}/calls", f"{RUN}/verdicts"]) as every:
            _until_read(served)
            time.sleep(SETTLE_S)  # what was just opened is watched more closely
            before, began = cpu_of(served.process.pid), time.monotonic()
            time.sleep(IDLE_S)
            share = (cpu_of(served.process.pid) - before) / (time.monotonic() - began)
            if not all(one.is_open() for one in every):
                raise SystemExit("nothing was measured: a tab was closed")
        what = f"{events:,} events"
        # an idle server may need less than the clock can tell
        share = max(share, 1 / TICK / IDLE_S)
        found.add(f"{STREAMS} idle tabs, {what}", f"{share:.2%} of a core", Target(f"idle, {what}", share, IDLE_SHARE))


def measure_beside(folder: Path, found: Found) -> None:
    """The same run with its page open, and with none: in turns, the best of each."""
    place = folder / "beside"
    (place / "state").mkdir(parents=True)
    _plan(place)  # the first one makes what the others find
    taken: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(2 * TURNS):
        is_watched = turn % 2 == 0
        with _watched(place / "state") if is_watched else contextlib.nullcontext():
            taken[is_watched].append(_plan(place))
    ratio = min(taken[True]) / min(taken[False])
    shown = f"{min(taken[True]):.2f} to {min(taken[False]):.2f} s CPU"
    found.add(f"a run of {CHUNKS} chunks, with its page to without", shown, Target("watched run", ratio, SLOWER))
    found.data["runs_s"] = {"watched": taken[True], "alone": taken[False]}


@contextlib.contextmanager
def _watched(home: Path) -> Iterator[None]:
    """The list of runs is open, and the page of the next run as soon as there is one."""
    known, ended, opened_tabs = set(_runs(home)), threading.Event(), list[Tab]()

    def follow(served: Served) -> None:
        while not ended.wait(0.05):
            if new := set(_runs(home)) - known:
                opened_tabs.append(Tab(served, f"/r/{new.pop()}"))
                return

    with opened(home) as served, tabs(served, ["/"]) as every:
        following = threading.Thread(target=follow, args=(served,))
        following.start()
        yield
        ended.set()
        following.join()
        shown = [len({number for _, number in one.seen}) for one in (*every, *opened_tabs)]
        for one in opened_tabs:
            one.close()
    if len(shown) < 2 or min(shown) < 2:
        raise SystemExit(f"nothing was measured: the pages beside the run showed {shown} pictures")


def _runs(home: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(home / "journal.db")) as db:
        return [str(name) for (name,) in db.execute("select id from run")]


def _plan(place: Path) -> float:
    command = module("plan_at", CHUNKS, place)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr[-2000:]}")
    return float(json.loads(done.stdout)["cpu_s"])


PARTS = {"open": measure_open, "live": measure_live, "idle": measure_idle, "beside": measure_beside}


def main(only: Sequence[str] = ()) -> bool:
    found = Found()
    for name in only or PARTS:
        with tempfile.TemporaryDirectory(prefix="trued-bench-") as folder:
            PARTS[name](Path(folder), found)
    header = ["the live page", "figure", "to what is asked", ""]
    return show("page", header, found.rows, found.targets, found.data)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help=f"some of {', '.join(PARTS)}, with commas between them")
    chosen = [one for one in parser.parse_args().only.split(",") if one]
    if unknown := set(chosen) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    sys.exit(0 if main(chosen) else 1)
