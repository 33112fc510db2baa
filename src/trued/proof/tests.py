"""Counted tests: every id is known, named and reported; the exit code is believed by nobody."""

import json
import random
import re
import shlex
import string
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from trued.protocols import Ran
from trued.types import Outcomes, TestsCheck, Tried

from .bench import INSIDE, WHOLE, Bench, Fact, Wanted, capped, clean, nonce, records, void
from .cleanroom import meddled, planted
from .frozen import below, candidates, configures

SUPPORTED = "python -m pytest … and pytest …"
# The engine loads plugins itself, so that pytest could not tell which distributions they come from.
NEUTRAL = (
    *("-p", "no:cacheprovider", "--continue-on-collection-errors", "--maxfail=0", "--color=no"),
    *("-o", "required_plugins="),
)
_PYTHON = re.compile(r"python(\d(\.\d+)?)?")
_WORST = ("failed", "error", "xpassed", "xfailed", "skipped", "marked", "passed")


async def take(check: TestsCheck, bench: Bench, wanted: Wanted) -> Fact:
    """Run the check once in this room."""
    arguments = pytest_arguments(check.command)
    if arguments is None:
        why = f"`{check.command}` is not a runner whose results can be counted; supported: {SUPPORTED}"
        return void(why, Outcomes.BROKEN, "runner", check.command)
    if bench.interpreter.lacks:
        return void(bench.interpreter.lacks, Outcomes.UNJUDGED, "module pytest", check.command)
    if lost := await _not_on_base(check, bench):
        why = f"{lost} is not on the base, and tests that the head adds are left out of evidence"
        return void(why, Outcomes.BROKEN, "no such file", check.command)
    token = nonce()
    path, text = await _configuration(check, bench, arguments)
    with _canary(bench) as canary, planted(bench.room, _disguised(path), text) as configuration:
        argv = (bench.interpreter.path, "-I", "-B", str(INSIDE / "counted.py"))
        given = _order(check, bench, wanted, [*arguments, *_settings(bench, configuration)])
        order = {**given, "nonce": token, "canary": canary.path}
        ran = await bench.execute(argv, stdin=json.dumps(order).encode(), channel=True, within_s=check.within_s)
    said, stray = records(ran.answers, token)
    counted = _Counted.of(said, canary.id)
    return _fact(check, bench, ran, counted, "something else wrote to the engine's channel" if stray else "")


def pytest_arguments(command: str) -> list[str] | None:
    """The arguments, if this is a call of pytest and nothing else."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    match words:
        case [python, "-m", "pytest", *rest] if _PYTHON.fullmatch(PurePosixPath(python).name):
            return rest
        case ["pytest" | "py.test", *rest]:
            return rest
    return None


# -- what goes in ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Canary:
    path: str
    id: str


@contextmanager
def _canary(bench: Bench) -> Iterator[_Canary]:
    """A test that must fail, of a name that nobody can know beforehand."""
    name = "test_" + "".join(random.SystemRandom().choices(string.ascii_lowercase, k=14))
    with planted(
        bench.room, f"{name}.py", f"def {name}():\n    assert {random.SystemRandom().random()} == 2\n"
    ) as path:
        yield _Canary(str(path), f"{name}.py::{name}")


async def _not_on_base(check: TestsCheck, bench: Bench) -> str:
    known = await bench.workspace.blobs(bench.base)
    return next((named for named in check.files if not any(below(path, named) for path in known)), "")


async def _configuration(check: TestsCheck, bench: Bench, arguments: list[str]) -> tuple[str, str]:
    """The base's own configuration of pytest: its path and text. The head's is never read."""
    known = await bench.workspace.blobs(bench.base)
    named = [one for one in arguments if not one.startswith("-")]
    for path in candidates([one for one in named if any(below(path, one.split("::")[0]) for path in known)]):
        if path in known:
            text = (await bench.workspace.read(bench.base, path) or b"").decode("utf-8", "replace")
            if configures(path, text):
                return path, text
    return "pytest.ini", "[pytest]\n"


def _disguised(path: str) -> str:
    """Beside the file that it stands for: paths in it are relative. Under a random name: nobody prepares for it."""
    pure = PurePosixPath(path)
    return str(pure.with_name(f".{nonce()[:12]}{'.ini' if pure.name == '.pytest.ini' else pure.suffix}"))


def _settings(bench: Bench, configuration: Path) -> list[str]:
    workers = ["-n0"] if any(name == "xdist" for name, _ in bench.interpreter.plugins) else []
    return ["-c", str(configuration), "--rootdir", str(bench.room), *NEUTRAL, *workers]


def _order(check: TestsCheck, bench: Bench, wanted: Wanted, arguments: list[str]) -> dict[str, Any]:
    files = None if wanted.ids is None else sorted({one.split("::")[0] for one in wanted.ids if one != WHOLE})
    return {
        "arguments": arguments,
        "room": str(bench.room),
        "paths": list(bench.roots),
        "supplied": dict(bench.interpreter.supplied),
        "pluggy": bench.interpreter.versions.get("pluggy", ""),
        "plugins": [list(one) for one in bench.interpreter.plugins],
        "files": files or None,
        "more": list(check.files),
        "ids": None if not files else list(wanted.ids or ()),
        "whole": [] if not files else [one for one in wanted.ids or () if "::" not in one],
        "reverse": wanted.second,
    }


# -- what comes out ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Counted:
    """The records of one session, told apart."""

    outcomes: Mapping[str, tuple[str, str, str, float]]  # id → outcome, phase, text, seconds
    collected: Mapping[str, tuple[str, str]]  # file → outcome, text of a collection that did not succeed
    canary: str
    ended: int | None
    version: str
    started: bool  # our pytest was loaded; what went wrong later is not the environment's
    left_out: tuple[str, ...]
    doctests: bool
    ran: tuple[str, ...]
    plugins: tuple[str, ...]

    @classmethod
    def of(cls, said: list[dict[str, Any]], canary: str) -> "_Counted":
        outcomes: dict[str, tuple[str, str, str, float]] = {}
        for record in said:
            if "id" in record:
                _keep_worst(outcomes, record)
        caught = outcomes.pop(canary, ("", "", "", 0.0))[0]
        collected = {str(one["collect"]): (str(one["outcome"]), str(one["text"])) for one in said if "collect" in one}
        last = next((one for one in said if "ended" in one), {})
        return cls(
            outcomes=outcomes,
            collected=collected,
            canary=caught,
            ended=last.get("ended"),
            version=str(last.get("pytest", "")),
            started=any("started" in one for one in said),
            left_out=tuple(name for one in said for name in one.get("left_out", ())),
            doctests=any(one.get("doctests") for one in said),
            ran=tuple(str(name) for one in said for name in one.get("ran", ())),
            plugins=tuple(f"{one['plugin']}: {one['text']}" for one in said if "plugin" in one),
        )


def _keep_worst(outcomes: dict[str, tuple[str, str, str, float]], record: dict[str, Any]) -> None:
    """A test has three phases; it passed if it ran its body and none of them failed."""
    phase, outcome = str(record["when"]), str(record["outcome"])
    if outcome == "passed" and phase != "call":
        return
    if outcome == "failed" and phase != "call":
        outcome = "error"
    now = (outcome, phase, clean(str(record["text"])), float(record["seconds"]))
    before = outcomes.get(str(record["id"]))
    rank = {name: place for place, name in enumerate(_WORST)}
    if before is None or rank.get(outcome, 0) < rank.get(before[0], 0):
        outcomes[str(record["id"])] = now


def _fact(check: TestsCheck, bench: Bench, ran: Ran, counted: _Counted, stray: str) -> Fact:
    tried = [_tried(name, *one) for name, one in counted.outcomes.items()]
    tried += [_uncollected(bench, name, *one) for name, one in counted.collected.items()]
    why = stray or _worthless(bench, ran, counted)
    if why:
        tried = _salvaged(bench, ran, counted, tried, why)
    elif not tried:
        why = "no test was collected"
        tried = [Tried(id=WHOLE, outcome=Outcomes.BROKEN, kind="nothing collected", detail=why)]
    return Fact(
        tried=tuple(tried),
        command=f"{bench.interpreter.path} -I -B counted.py ← {check.command}",
        exit_code=ran.exit_code,
        output=capped(ran.stdout, ran.stderr),
        seconds=ran.seconds,
        isolation=ran.isolation,
        void=why,
        versions={"pytest": counted.version} if counted.version else {},
        notes=_notes(bench, counted),
        ran=bench.inside(counted.ran),
    )


def _worthless(bench: Bench, ran: Ran, counted: _Counted) -> str:
    if changed := meddled(bench):
        return f"frozen code was changed while the tests ran: {', '.join(changed[:5])}"
    if ran.timed_out:
        return "the tests did not end in time"
    if ran.flooded:
        return "the tests wrote more output than is allowed"
    if counted.ended is None:
        return f"the test process ended before its results were counted (exit code {ran.exit_code})"
    if counted.ended in (3, 4):
        return "pytest could not start" if counted.ended == 4 else "pytest broke down"
    if counted.canary not in ("failed", "error"):
        return "a test that must fail was not reported as failed: no result of this run is worth anything"
    return ""


def _salvaged(bench: Bench, ran: Ran, counted: _Counted, tried: list[Tried], why: str) -> list[Tried]:
    """Of a worthless run only what failed is kept; what is missing is the judge's to see."""
    failed = [one for one in tried if one.outcome is not Outcomes.PASSED]
    output = capped(ran.stdout, ran.stderr)
    if ran.timed_out:
        return [*failed, Tried(id=WHOLE, outcome=Outcomes.FAILED, kind="time", detail=why)]
    lack = bench.foreign(output) if counted.ended == 4 else ""
    if lack or not counted.started:
        kind = f"module {lack}" if lack else "start"
        return [
            *failed,
            Tried(id=WHOLE, outcome=Outcomes.UNJUDGED, kind=kind, detail=f"{why}: {lack or output[-600:]}"),
        ]
    if counted.ended == 4:
        return [*failed, Tried(id=WHOLE, outcome=Outcomes.FAILED, kind="start", detail=f"{why}: {output[-600:]}")]
    return [*failed, Tried(id=WHOLE, outcome=Outcomes.FAILED, kind="worthless", detail=why)]


_OUTCOMES = {
    "passed": Outcomes.PASSED,
    "failed": Outcomes.FAILED,
    "error": Outcomes.FAILED,
    "skipped": Outcomes.SKIPPED,
    "marked": Outcomes.SKIPPED,  # by the test file itself, not while the test ran
    "xfailed": Outcomes.SKIPPED,  # expected to fail: it shows nothing
    "xpassed": Outcomes.SKIPPED,
}


def _tried(name: str, outcome: str, phase: str, text: str, seconds: float) -> Tried:
    kind = "" if outcome == "passed" else outcome if phase == "call" else f"{outcome} in {phase}"
    return Tried(id=name, outcome=_OUTCOMES.get(outcome, Outcomes.FAILED), kind=kind, detail=text, seconds=seconds)


def _uncollected(bench: Bench, name: str, outcome: str, text: str) -> Tried:
    if outcome == "skipped":
        return Tried(id=name, outcome=Outcomes.SKIPPED, kind="skipped", detail=clean(text))
    if foreign := bench.foreign(text):
        return Tried(id=name, outcome=Outcomes.UNJUDGED, kind=f"module {foreign}", detail=clean(text))
    return Tried(id=name, outcome=Outcomes.FAILED, kind="collection", detail=clean(text))


def _notes(bench: Bench, counted: _Counted) -> tuple[str, ...]:
    notes = [f"the pytest plugin {one} could not be loaded" for one in counted.plugins]
    if bench.interpreter.supplied:
        notes.append(f"pytest {bench.interpreter.versions['pytest']}: {bench.interpreter.path} has none")
    if counted.doctests:
        notes.append("doctests in modules were not counted: they stand in the code under test")
    if counted.left_out:
        notes.append(f"{len(counted.left_out)} tests that the base does not have were not run")
    return tuple(notes)
