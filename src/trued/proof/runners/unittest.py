"""Runs unittest with the engine's own result class, which reports the id and outcome of every test."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trued.model import Outcomes, TestsCheck
from trued.proof.room.bench import Bench, CaseSelection, Fact, nonce, void_fact
from trued.proof.runners.counting import CountedRun, RunnerFacts, counted_fact, nothing_collected
from trued.proof.runners.made_to_fail import unittest_failures
from trued.proof.runners.reporting_script import python_order, run_reporting_script
from trued.proof.text.command_parser import RunnerCall

_STOPS = {4: "unittest could not start"}
_VALUED = {"-s": "start", "--start-directory": "start", "-p": "pattern", "--pattern": "pattern"}
_VALUED |= {"-t": "top", "--top-level-directory": "top", "-k": "k"}
_PLAIN = ("-v", "--verbose", "-q", "--quiet", "--locals", "-f", "--failfast", "-c", "--catch", "-b", "--buffer")


@dataclass(frozen=True, slots=True)
class _UnittestCall:
    """The parsed arguments of `python -m unittest …`."""

    names: tuple[str, ...] = ()
    start: str = "."
    pattern: str = "test*.py"
    top: str = ""
    patterns: tuple[str, ...] = ()  # the values of -k


async def run_unittest(check: TestsCheck, runner_call: RunnerCall, bench: Bench, selection: CaseSelection) -> Fact:
    """Run the check once in this room and return what every test id showed."""
    call = _read(runner_call.arguments)
    if call is None:
        return void_fact(
            f"`{check.command}` has options that trued does not support", Outcomes.BROKEN, "runner", check.command
        )
    canary, number = f"Canary{nonce()[:12]}", random.SystemRandom().random()
    ways = unittest_failures(number)
    order = {**_order(check, call, bench, selection), "canary": canary, "number": number, "ways": ways}
    report = await run_reporting_script(bench.script("units.py"), order, check, runner_call, bench)
    counted = CountedRun.of([_with_canary_id(record, canary) for record in report.records], canary)
    words = RunnerFacts(
        runner="unittest",
        command=f"{bench.interpreter.path} -I -B units.py ← {check.command}",
        lacks=bench.foreign,
        stops=_STOPS,
        canaries=2 + len(ways),  # the 2: a plain assert, and an expected exception that is not raised
        nothing=nothing_collected(selection),
    )
    return counted_fact(bench, report.result, counted, words, stray=report.stray)


def _with_canary_id(record: dict[str, Any], canary: str) -> dict[str, Any]:
    """The record, unchanged unless it is about a canary. The id of a canary's record gets the canary's name in place of
    the file, because `CountedRun.of` recognises canaries by the beginning of their ids."""
    _, is_canary, name = str(record.get("id", "")).partition(f"::{canary}::")
    return {**record, "id": f"{canary}::{name}"} if is_canary else record


def _read(arguments: tuple[str, ...]) -> _UnittestCall | None:
    words = [argument for argument in arguments if argument not in _PLAIN]
    discover = not words or words[0] == "discover" or words[0].startswith("-")
    words_left = words[1:] if words[:1] == ["discover"] else words
    values: dict[str, str] = {}
    names: list[str] = []
    patterns: list[str] = []
    while words_left:
        word = words_left.pop(0)
        option, equals, value = word.partition("=")
        if option in _VALUED and (equals or words_left):
            value = value if equals else words_left.pop(0)
            patterns += [value] if _VALUED[option] == "k" else []
            values[_VALUED[option]] = value
        elif word.startswith("-"):
            return None
        else:
            names.append(word)
    values.pop("k", None)
    if discover:
        values |= dict(zip(("start", "pattern", "top"), names, strict=False))
        names = []
    return _UnittestCall(names=tuple(names), patterns=tuple(patterns), **values)


def _order(check: TestsCheck, call: _UnittestCall, bench: Bench, selection: CaseSelection) -> dict[str, Any]:
    start_folder = bench.room / bench.folder
    start = start_folder / call.start
    return {
        **python_order(bench, selection),
        "begun": str(start_folder),
        "start": str(start),
        "pattern": call.pattern,
        "top": str(start_folder / call.top) if call.top else str(start),
        "names": list(call.names),
        "patterns": list(call.patterns),
        "more": _unfound(check, call),
    }


def _unfound(check: TestsCheck, call: _UnittestCall) -> list[str]:
    """The check's `.py` files that unittest's discovery would not find, because its name pattern does not match
    them."""
    return [file for file in check.files if file.endswith(".py") and not Path(file).match(call.pattern)]
