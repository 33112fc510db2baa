"""Records of counted tests, as a head may forge them: garbage is never a pass, and never a crash."""

from dataclasses import replace
from typing import Any

from tests.fuzz.mutation import Mutator
from tests.fuzz.rooms import heard, lines, place, said
from trued.model import Evidence
from trued.proof.room.bench import Fact, channel_records
from trued.proof.runners.counting import CountedRun, RunnerFacts, counted_fact
from trued.proof.verdict.case_status import Head, on_head
from trued.protocols import CommandResult

TOKEN, CANARY = "f" * 32, "test_qqqqqqqqqqqqqq"
ONE, TWO, FILE = "tests/test_a.py::test_one", "tests/test_a.py::test_two[a-1]", "tests/test_b.py"
WORDS = RunnerFacts(
    "pytest", "python -m pytest", lambda text: "z" if "No module named 'z'" in text else "", {4: "no start"}
)


def session(outcome: str) -> list[Any]:
    def phases(name: str, result: str, key: str = "id") -> list[dict[str, Any]]:
        return [
            {key: name, "when": when, "outcome": result if when == "call" else "passed", "seconds": 0.01, "text": ""}
            for when in ("setup", "call", "teardown")
        ]

    return [
        {"started": True},
        {"left_out": []},
        {"copying": [ONE]},
        {"collect": FILE, "outcome": "failed", "text": "No module named 'z'"},
        *phases(ONE, outcome),
        *phases(TWO, "passed"),
        *phases(f"{CANARY}.py::{CANARY}", "failed"),
        *phases(ONE, "failed", "copy"),
        {"ran": ["kit.py"]},
        {"note": "a plugin was left out"},
        {"ended": 1, "versions": {"pytest": "8.4.2"}},
    ]


def feed(chance: Mutator) -> bytes:
    outcome = chance.random.choice(("passed", "passed", "failed", "skipped", "xfailed", "marked"))
    ran = _garbled(chance, session(outcome))
    told, stray = channel_records(ran.answers, TOKEN)
    counted = CountedRun.of(told, CANARY)
    shown = kept(counted_fact(place()[1], ran, counted, WORDS, stray="something else spoke" if stray else ""))
    names = {one.id for one in shown.tried} | {ONE, TWO, FILE}
    passing = [name for name in names if on_head(name, [shown, shown])[0] is Head.PASSED]
    for name in passing:
        assert _really(name, ran), f"{name} passed by records that do not say so"
    return b"some passed" if passing else b"nothing passed"


def kept(one: Fact) -> Evidence:
    """As evidence goes into the journal and comes out of it."""
    made = Evidence(
        id="x",
        requirement="r",
        check="c",
        kind="tests",
        side="head",
        commit="0",
        tree="0",
        isolation=one.isolation,
        command=one.command,
        exit_code=one.exit_code,
        output=one.output,
        seconds=one.seconds,
        versions=dict(one.versions),
        tried=one.tried,
        why_void=one.void,
    )
    again = Evidence.model_validate_json(made.model_dump_json())
    assert again == made
    assert "".join([*one.notes, *one.ran]).encode() is not None
    return again


def _garbled(chance: Mutator, told: list[Any]) -> CommandResult:
    level = chance.random.randrange(10)
    if 1 <= level <= 6:
        told = chance.value([told])
    data = lines(TOKEN, told)
    if level == 7:
        data = chance.text([data])
    if level == 8:
        data += chance.text([data])
    ran = said(data, exit_code=1, stdout=chance.text([b"1 passed"]))
    odd: dict[str, Any] = chance.random.choice([{"exit_code": None}, {"timed_out": True}, {"flooded": True}])
    return replace(ran, **odd) if level == 9 else ran


def _really(name: str, ran: CommandResult) -> bool:
    """Do the records say that this test, or every test of this file, passed? Read anew, and strictly."""
    told = heard(ran.answers, TOKEN)
    if told is None or ran.timed_out or ran.flooded or not any(type(one.get("ended")) is int for one in told):
        return False
    about = [one for one in told if str(one.get("id")) == name]
    if not about and "::" not in name:
        about = [one for one in told if str(one.get("id")).startswith(f"{name}::") and one.get("outcome") != "marked"]
    caught = [one for one in told if str(one.get("id")).startswith(CANARY) and _failed(one)]
    copied = [one for one in told if str(one.get("copy")) == name]
    wanted = any(name in map(str, one.get("copying", ())) for one in told) or copied
    shown = not wanted or any(_failed(one) for one in copied)
    called = any(one.get("when", "call") == "call" and one.get("outcome") == "passed" for one in about)
    return bool(caught) and shown and called and all(one.get("outcome") == "passed" for one in about)


def _failed(record: dict[str, Any]) -> bool:
    """Also by a word that nobody knows: plugins have words of their own, and none of them is a pass."""
    return record.get("outcome") not in ("passed", "skipped", "marked", "xfailed", "xpassed", "error")
