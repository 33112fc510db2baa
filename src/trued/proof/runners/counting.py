"""Counts the results of one test run by id, and decides whether they can be trusted. Shared by all runners."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trued.model import FactNote, Outcomes, Tried
from trued.proof.room.bench import WHOLE_CHECK, Bench, CaseSelection, Fact, cap_output, strip_controls
from trued.proof.room.files_in_room import content_inside
from trued.proof.room.files_of_checks import changed_frozen_files
from trued.protocols import CommandResult
from trued.support.lazy_regex import lazy_regex
from trued.support.plurals import counted as numbered

EQUALS_ALL = "equals all"  # kind of a test that counts as failed, because it also passed with another expected value
_EQUAL = {
    "outcome": Outcomes.FAILED,
    "kind": EQUALS_ALL,
    "detail": "it also passes with another expected value: its result equals everything, or is not compared",
}
_WORST = ("failed", "error", "xpassed", "xfailed", "skipped", "marked", "passed")
_RANK = {name: place for place, name in enumerate(_WORST)}
_FAILED = ("failed", "error")
_OUTCOMES = {
    "passed": Outcomes.PASSED,
    "failed": Outcomes.FAILED,
    "error": Outcomes.FAILED,
    "skipped": Outcomes.SKIPPED,
    "marked": Outcomes.SKIPPED,  # skipped by the test file itself, not while the test ran
    "xfailed": Outcomes.SKIPPED,  # the test is expected to fail, so it shows nothing
    "xpassed": Outcomes.SKIPPED,
}


@dataclass(frozen=True, slots=True)
class CountedTest:
    """How one test ended."""

    outcome: str
    phase: str = "call"
    text: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class CountedRun:
    """The results of one run, by test id."""

    outcomes: Mapping[str, CountedTest]  # by id
    # file that the runner could not collect → outcome of the file, and the text of the error
    collected: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    canaries: Mapping[str, str] = field(default_factory=dict)  # test with a random name that must fail → how it ended
    copies: Mapping[str, str] = field(default_factory=dict)  # id of a test whose copy must fail → how the copy ended
    # id of a test that also ran with another expected value, and had to fail then → how that second run ended
    altered: Mapping[str, str] = field(default_factory=dict)
    ended: int | None = None  # the run's exit code; None if it did not finish
    started: bool = True  # whether the runner was loaded; failures after that are not the environment's fault
    left_out: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    garbled: bool = False  # something was reported that the engine's own plugin would not report

    @classmethod
    def of(cls, records: Iterable[dict[str, Any]], canary: str) -> "CountedRun":
        """The results in these records. Ids that begin with `canary` are the engine's own tests."""
        all_records = list(records)
        sound = [record for record in all_records if _is_sound(record)]
        outcomes = worst_outcomes((str(record["id"]), _seen(record)) for record in sound if "id" in record)
        copies = worst_outcomes((str(record["copy"]), _seen(record)) for record in sound if "copy" in record)
        planned_copies = {
            str(name): "" for record in sound for name in (*record.get("copying", ()), *_optional(record.get("copy")))
        }
        altered = worst_outcomes((str(record["altered"]), _seen(record)) for record in sound if "altered" in record)
        planned_alterations = {str(name): "" for record in sound for name in record.get("altering", ())}
        last = next((record for record in sound if "ended" in record), {})
        return cls(
            outcomes={name: test for name, test in outcomes.items() if not name.startswith(canary)},
            collected={
                str(record["collect"]): (str(record["outcome"]), str(record.get("text", "")))
                for record in sound
                if "collect" in record
            },
            canaries={name: test.outcome for name, test in outcomes.items() if name.startswith(canary)},
            copies=planned_copies | {name: test.outcome for name, test in copies.items()},
            altered=planned_alterations | {name: test.outcome for name, test in altered.items()},
            ended=last.get("ended"),
            started=any("started" in record for record in sound),
            left_out=tuple(str(name) for record in sound for name in record.get("left_out", ())),
            ran=tuple(str(name) for record in sound for name in record.get("ran", ())),
            notes=tuple(strip_controls(str(record["note"])) for record in sound if "note" in record),
            versions={str(name): str(value) for name, value in last.get("versions", {}).items()},
            garbled=len(sound) < len(all_records),
        )

    def how(self, name: str) -> str:
        """The outcome of the test `name`. If it has none: "failed" if the test's file could not be imported, else
        ""."""
        if name in self.outcomes:
            return self.outcomes[name].outcome
        return "failed" if name.split("::")[0] in self.collected else ""


_TEXTS = frozenset({"id", "copy", "altered", "collect", "note", "when", "outcome", "text"})
_SHAPES: Mapping[str, type] = {
    **dict.fromkeys(_TEXTS, str),
    **dict.fromkeys(("copying", "altering", "left_out", "ran"), list),
    "ended": int,
    "versions": dict,
}
_HALVES = lazy_regex("[\ud800-\udfff]")  # halves of surrogate pairs, which no file can contain
_LONGEST_S = 1e9  # a longer duration comes from a clock that the tests replaced


def _is_sound(record: Mapping[str, Any]) -> bool:
    """Whether the engine's plugin could have written this record. Code of the head could write anything else, if it
    found the plugin's channel."""
    if not all(type(record[name]) is kind for name, kind in _SHAPES.items() if name in record):
        return False
    ids = [record[key] for key in ("id", "copy", "altered", "collect") if key in record]
    if WHOLE_CHECK in ids or (ids and "outcome" not in record):
        return False
    versions = record.get("versions", {})
    names = [name for key in ("copying", "altering", "left_out", "ran") for name in record.get(key, ())]
    texts = [*names, *versions.keys(), *versions.values(), *(record[key] for key in record.keys() & _TEXTS)]
    has_sound_time = type(record.get("seconds", 0.0)) in (int, float)
    return has_sound_time and all(isinstance(text, str) and not _HALVES.search(text) for text in texts)


def _optional(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _seen(record: dict[str, Any]) -> CountedTest:
    outcome, phase = str(record["outcome"]), str(record.get("when", "call"))
    if outcome not in _RANK:
        outcome = "failed"  # for instance "rerun": the test failed, whatever its next run shows
    if outcome == "failed" and phase != "call":
        outcome = "error"
    return CountedTest(
        outcome, phase, strip_controls(str(record.get("text", ""))), plausible_s(record.get("seconds", 0))
    )


def plausible_s(seconds: float) -> float:
    """The duration of a test; 0 if it is none. Tests may replace the clock that the runner reads, so no number makes a
    record a forged one."""
    return float(seconds) if 0 <= seconds < _LONGEST_S else 0.0


def worst_outcomes(tests: Iterable[tuple[str, CountedTest]]) -> dict[str, CountedTest]:
    """The worst outcome of each test. A test may be reported once for each phase (setup, call, teardown). It passed
    only if its call passed and no phase failed."""
    worst: dict[str, CountedTest] = {}
    for name, test in tests:
        if test.outcome == "passed" and test.phase != "call":
            continue
        before = worst.get(name)
        if before is None or _RANK.get(test.outcome, 0) < _RANK.get(before.outcome, 0):
            worst[name] = test
    return worst


@dataclass(frozen=True, slots=True)
class RunnerFacts:
    """What `counted_fact` needs to know about a runner."""

    runner: str
    command: str
    lacks: Callable[[str], str]  # the third-party module that is missing according to this text, or ""
    stops: Mapping[int, str] = field(default_factory=dict)  # exit code of a runner that ran nothing → why
    canaries: int = 1  # how many tests with random names must have failed
    nothing: str = "no test was collected"


def file_text(room: Path, path: str) -> str:
    """The text of a file in the clean room; "" if it cannot be read, is a pipe, or is a link that leads out."""
    try:
        return content_inside(room, room / path).decode("utf-8", "replace")
    except OSError:
        return ""


def nothing_collected(selection: CaseSelection) -> str:
    """The sentence for a run that found no test."""
    if selection.ids is None:
        return "no test was collected on the base: name the test files in `files`"
    return "no test was collected"


def counted_fact(
    bench: Bench, result: CommandResult, counted: CountedRun, words: RunnerFacts, *, stray: str = ""
) -> Fact:
    """What this run showed. If the run cannot be trusted, no test counts as passed.

    `stray`: why nothing that came over the channel can be trusted, or "".
    """
    tried = [_tried(name, test) for name, test in counted.outcomes.items()]
    equal = {name for name, how in counted.altered.items() if how in ("passed", "") and _has_passed(counted, name)}
    tried = [attempt.model_copy(update=_EQUAL) if attempt.id in equal else attempt for attempt in tried]
    tried += [_uncollected(words, name, *outcome_and_text) for name, outcome_and_text in counted.collected.items()]
    why = stray or why_worthless(bench, result, counted, words)
    if why:
        tried = _failures_only(result, counted, words, tried, why)
    elif not tried:
        why = words.nothing
        tried = [Tried(id=WHOLE_CHECK, outcome=Outcomes.BROKEN, kind="nothing collected", detail=why)]
    return Fact(
        tried=tuple(tried),
        command=words.command,
        exit_code=result.exit_code,
        output=cap_output(result.stdout, result.stderr),
        seconds=result.seconds,
        isolation=result.isolation,
        void=why,
        versions=counted.versions,
        notes=(*counted.notes, *_left_out(counted), *_uncopied(counted, words)),
        ran=bench.inside(counted.ran),
    )


def why_worthless(bench: Bench, result: CommandResult, counted: CountedRun, words: RunnerFacts) -> str:
    """Why no result of this run can be trusted, or ""."""
    if changed := changed_frozen_files(bench):
        return f"frozen code was changed while the tests ran: {', '.join(changed[:5])}"
    if result.timed_out:
        return "the tests did not end in time"
    if result.flooded:
        return "the tests wrote more output than is allowed"
    if counted.garbled:
        return "something was reported that the engine's own plugin would not report"
    if counted.ended is None:
        return f"the test process ended before its results were counted (exit code {result.exit_code})"
    if counted.ended in words.stops:
        return words.stops[counted.ended]
    if len(counted.canaries) < words.canaries or any(outcome not in _FAILED for outcome in counted.canaries.values()):
        return "a test that must fail was not reported as failed: the results of this run cannot be trusted"
    forged = [name for name, how in counted.copies.items() if how not in _FAILED and _has_passed(counted, name)]
    if forged:
        return f"a copy of {forged[0]} that must fail was not reported as failed: the results cannot be trusted"
    return ""


def _has_passed(counted: CountedRun, name: str) -> bool:
    """Whether the test itself passed. The failing copy of any other test shows nothing: the copy of a skipped test, for
    example, is skipped, too."""
    return name in counted.outcomes and counted.outcomes[name].outcome == "passed"


def _failures_only(
    result: CommandResult, counted: CountedRun, words: RunnerFacts, tried: list[Tried], why: str
) -> list[Tried]:
    failed = [attempt for attempt in tried if attempt.outcome is not Outcomes.PASSED]
    output = cap_output(result.stdout, result.stderr)
    if result.timed_out:
        return [*failed, Tried(id=WHOLE_CHECK, outcome=Outcomes.FAILED, kind="time", detail=why)]
    stopped = counted.ended in words.stops
    lack = words.lacks(output) if stopped else ""
    if lack or not counted.started:
        kind, detail = f"module {lack}" if lack else "start", f"{why}: {lack or output[-600:]}"
        return [*failed, Tried(id=WHOLE_CHECK, outcome=Outcomes.UNJUDGED, kind=kind, detail=detail)]
    if stopped:
        return [*failed, Tried(id=WHOLE_CHECK, outcome=Outcomes.FAILED, kind="start", detail=f"{why}: {output[-600:]}")]
    return [*failed, Tried(id=WHOLE_CHECK, outcome=Outcomes.FAILED, kind="worthless", detail=why)]


def _tried(name: str, test: CountedTest) -> Tried:
    failure = test.outcome if test.phase == "call" else f"{test.outcome} in {test.phase}"
    kind = "" if test.outcome == "passed" else failure
    outcome = _OUTCOMES.get(test.outcome, Outcomes.FAILED)
    if outcome is not Outcomes.PASSED and (lack := missing_plugin(test.text)):
        outcome, kind = Outcomes.UNJUDGED, f"module {lack}"
    return Tried(id=name, outcome=outcome, kind=kind, detail=test.text, seconds=test.seconds)


def missing_plugin(text: str) -> str:
    """The pytest plugin without which a test could not start, or ""."""
    return "pytest-asyncio" if "async def functions are not natively supported" in text else ""


def _uncollected(words: RunnerFacts, name: str, outcome: str, text: str) -> Tried:
    if outcome == "skipped":
        return Tried(id=name, outcome=Outcomes.SKIPPED, kind="skipped", detail=strip_controls(text))
    if foreign := words.lacks(text):
        return Tried(id=name, outcome=Outcomes.UNJUDGED, kind=f"module {foreign}", detail=strip_controls(text))
    return Tried(id=name, outcome=Outcomes.FAILED, kind="collection", detail=strip_controls(text))


def _left_out(counted: CountedRun) -> list[str]:
    number = len(counted.left_out)
    left_out_tests = numbered(number, "test that the base does not have was", "tests that the base does not have were")
    return [FactNote(f"{left_out_tests} not run")] if number else []


def _uncopied(counted: CountedRun, words: RunnerFacts) -> list[str]:
    unnoticed = "a manipulated test runner would not be noticed"
    notes = [] if words.canaries else [f"{words.runner}: no test that must fail could be added, so {unnoticed}"]
    passed = [name for name, test in counted.outcomes.items() if test.outcome == "passed"]
    if passed and not any(_has_passed(counted, name) for name in counted.copies):
        why = "no failing copy of a test could be added"
        if counted.copies:
            why = "failing copies could be added only of tests that did not pass themselves"
        notes.append(f"{words.runner}: {why}, so forged results would not be noticed")
    return notes
