"""The demo shows what really happened, in about a minute, and touches none of the user's files."""

import json
import os
import re
import resource
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.reporting.html.reading import Read
from tests.warm import Warm
from trued.cli.demo.bill import Bill, bill
from trued.cli.demo.facts import LIE, VICTIM, DemoEnd, check_facts
from trued.model import Event, Grade

pytestmark = pytest.mark.timeout(1800)  # seconds on a very busy machine; the demo itself gives up earlier


@dataclass(frozen=True)
class Shown:
    """A whole demo, played once for all tests of this file."""

    folder: Path
    code: int
    out: str
    err: str
    seconds: float  # processor time, because the machine may be busy with other things
    outside: Path
    waiting: Warm

    @property
    def run(self) -> str:
        found = re.search(r"trued resume (r-\w+)", self.out)
        assert found
        return found[1]

    def trued(self, *words: str) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "TRUED_HOME": str(self.folder / "state"), "HOME": str(self.outside / "home")}
        return self.waiting.run(words, folder=self.folder / "textkit", variables=environ)

    def git(self, *words: str) -> str:
        command = ["git", "-C", str(self.folder / "textkit"), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, waiting: Warm) -> Shown:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "home").mkdir()
    folder = tmp_path_factory.mktemp("demo") / "ein Vorführ-Ordner"
    own = {"HOME": str(outside / "home"), "TRUED_HOME": str(outside / "own"), "TRUED_ROUNDS": "nonsense"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "trued", "demo", "--keep", str(folder)],
        cwd=outside,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=1700,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Shown(folder, done.returncode, done.stdout, done.stderr, used, outside, waiting)


@pytest.mark.spec("USE-1")
def test_the_demo_shows_a_lie_refuted_a_kill_survived_and_a_ledger(shown: Shown) -> None:
    assert shown.code == 0, shown.out + shown.err
    assert "scripted agents, not a model" in shown.out
    for wanted in (
        r"team A\s+claims DONE: “1B is implemented, all tests pass”",
        r"team B\s+claims PASS: “1B does what the plan says”",
        r"count is refuted: ",
        r"\$ kill -9 \d+",
        r"\$ trued resume r-\w+",
        r"finds the (call still running and adopts it|answer that the call wrote)",
        r": 0 calls repeated",
        r"│ proven +count",
        r"done: proven, 4 of 4 requirements met",
    ):
        assert re.search(wanted, shown.out), (wanted, shown.out)
    assert "✗" not in shown.out
    assert shown.out.count("✓") == 5


@pytest.mark.spec("USE-1")
def test_the_demo_takes_about_a_minute(shown: Shown) -> None:
    assert shown.seconds < 45  # usually a quarter of it; the demo takes longer on the clock, because its agents wait


@pytest.mark.spec("USE-1", "RUN-2")
def test_what_the_demo_says_is_what_the_journal_says(shown: Shown) -> None:
    calls = json.loads(shown.trued("show", shown.run, "--json").stdout)["calls"]
    assert len(calls) == 8
    assert {(one["state"], one["attempts"]) for one in calls} == {("done", 1)}
    ledger = json.loads(shown.trued("ledger", shown.run, "--json").stdout)
    assert {one["id"]: one["grade"] for one in ledger["requirements"]} == {
        "slug": "proven",
        "count": "proven",
        "shell": "proven",
        "squeeze": "proven",
    }


def test_the_work_is_on_the_runs_branch_and_really_works(shown: Shown, tmp_path: Path) -> None:
    branches = shown.git("for-each-ref", "--format=%(refname:short)").split()
    assert sorted(branches) == ["main", f"trued/{shown.run}"]
    assert shown.git("status", "--porcelain") == ""
    assert shown.git("log", "--format=%s", "main") == "feat: squeeze white space\n"
    subprocess.run(
        ["git", "clone", "-q", "-b", f"trued/{shown.run}", str(shown.folder / "textkit"), str(tmp_path / "clone")],
        check=True,
        timeout=600,
    )
    command = [sys.executable, "-m", "textkit", "slug", "It is: done!"]
    done = subprocess.run(command, cwd=tmp_path / "clone", capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout == "it-is-done\n"


def test_nothing_of_the_users_own_is_touched(shown: Shown) -> None:
    assert not (shown.outside / "own").exists()
    assert [path.name for path in shown.outside.iterdir()] == ["home"]
    left = [path for path in (shown.outside / "home").rglob("*") if path.is_file()]
    assert left == []


@pytest.mark.spec("RUN-10", "PUR-10")
def test_its_report_tells_the_lie_the_crash_and_the_ticked_plan(shown: Shown) -> None:
    read = Read((shown.folder / "report.html").read_text(encoding="utf-8"))
    words = " ".join(read.text.split())
    assert "said PASS, refuted" in words
    assert "scripts, not models" in words
    assert "- [x] both commands work in a shell" in words
    assert "Implementation Log" in words
    assert [one for one in read.having("a", "refuted") if "chunk 1B/purple-team-b#1" in one["aria-label"]]
    assert read.having("a", "crash")
    assert read.unbalanced == []


def test_every_command_that_the_demo_names_works(shown: Shown) -> None:
    for words in (("why", "count"), ("show",), ("diff",)):
        done = shown.trued(*words)
        assert done.returncode == 0, (words, done.stderr)
        assert done.stdout


def test_a_folder_that_is_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    command = [sys.executable, "-m", "trued", "demo", "--keep", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


# -- it says so when something did not happen -------------------------------------------------------------------------


def answered(key: str, **reply: str) -> Event:
    return Event(id=1, at=1.0, key=key, kind="answered", data={"reply": reply})


EVENTS = [
    answered(f"{LIE}purple-team-a#1", status="DONE"),
    answered(f"{LIE}purple-team-b#1", result="PASS"),
    Event(id=2, at=2.0, key=VICTIM, kind="adopted"),
]
GOOD = DemoEnd(events=EVENTS, lie=Grade.REFUTED, killed=True, code=0, grade=Grade.PROVEN)
PAID = Bill(Counter({"a": 1}), frozenset({"a"}))


@pytest.mark.parametrize(
    ("end", "paid", "missing"),
    [
        (GOOD, PAID, []),
        (DemoEnd(EVENTS, Grade.PROVEN, True, 0, Grade.PROVEN), PAID, [0]),  # the lie went through
        # no event shows that team B believed the lie
        (DemoEnd(EVENTS[::2], Grade.REFUTED, True, 0, Grade.PROVEN), PAID, [0]),
        (DemoEnd(EVENTS, Grade.REFUTED, False, 0, Grade.PROVEN), PAID, [1]),
        (DemoEnd(EVENTS[:2], Grade.REFUTED, True, 0, Grade.PROVEN), PAID, [2]),
        (GOOD, Bill(Counter({"a": 2}), frozenset({"a"})), [3]),  # a call was made twice
        (GOOD, Bill(Counter(), frozenset({"a"})), [3]),  # no bill was kept
        (GOOD, Bill(Counter(), frozenset()), [3]),
        (DemoEnd(EVENTS, Grade.REFUTED, True, 1, Grade.PROVEN), PAID, [4]),
        (DemoEnd(EVENTS, Grade.REFUTED, True, 0, Grade.EXAMINED), PAID, [4]),
    ],
)
@pytest.mark.spec("USE-1")
def test_what_did_not_happen_is_said(end: DemoEnd, paid: Bill, missing: list[int]) -> None:
    assert [place for place, (is_so, _) in enumerate(check_facts(end, paid)) if not is_so] == missing


def test_the_bill_counts_processes_and_not_words(tmp_path: Path) -> None:
    def log(call: str, *lines: str) -> None:
        folder = tmp_path / "spool" / call
        folder.mkdir(parents=True)
        events = [json.dumps({"at": 1.0, "kind": "log", "text": line}) for line in lines]
        (folder / "events.jsonl").write_text("\n".join([*events, '{"at": 1.0, "kind": "log", "te']))

    log("one.1", "bill 11 chunk 1A/a#1", "something else")
    log("two.1", "bill 22 chunk 1A/b#1")
    log("two.2", "bill 33 chunk 1A/b#1")
    found = bill(tmp_path, [answered("chunk 1A/a#1"), answered("chunk 1A/b#1")])
    assert (found.paid, found.repeated, found.complete) == (3, 1, True)
