"""Runners that leave a report: vitest, jest and mocha as they are known, and any command that writes JUnit's XML."""

import json
import os
import random
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from trued.protocols import Ran
from trued.types import Outcomes, TestsCheck

from ...room.bench import WHOLE, Bench, Fact, Wanted, nonce, void
from ...room.cleanroom import planted, scratch
from ...room.frozen import below, is_script, named_like_a_script_test
from .. import node
from .commands import Asked
from .counting import Counted, Seen, Words, fact, nothing, worst
from .failing import Made, javascript
from .junit import MOST_BYTES, Garbled, Reported, read, way

NOT_FOUND = 127
_UNRESOLVED = re.compile(r"(?:Failed to resolve import|Failed to load url) \"?([^\"'./ ][^\"' ]*)")
_DROPPED = re.compile(r"--?(reporters?|outputFile|coverage|json|watch|watchAll|ui|reporter-options?|R|O)([.=].*)?")
_VITEST = """
import {{ test as {n}t, expect as {n}e }} from 'vitest';
{n}t('{n} a', () => {{ {n}e({number}).toBe(2); }});
{n}t('{n} b', () => {{ {n}e({{ x: {number} }}).toEqual({{ x: 2 }}); }});
{n}t('{n} c', () => {{ throw new Error('{number}'); }});
"""
_GLOBAL = """
;(() => {{ const t = globalThis.test ?? globalThis.it, e = globalThis.expect;
t('{n} a', () => {{ if (e && e({number}).toBe) e({number}).toBe(2); else throw new Error('{number}'); }});
t('{n} b', () => {{ if (e && e({number}).toEqual) e({number}).toEqual(2); else throw new Error('{number}'); }});
t('{n} c', () => {{ throw new Error('{number}'); }}); }})();
"""
CANARIES = 3


@dataclass(frozen=True, slots=True)
class _Room:
    """What one execution is about."""

    check: TestsCheck
    asked: Asked | None
    bench: Bench
    wanted: Wanted
    known: frozenset[str]  # files of base and contract

    @property
    def runner(self) -> str:
        return self.asked.runner if self.asked else self.check.command.split()[0]


async def take(check: TestsCheck, asked: Asked | None, bench: Bench, wanted: Wanted) -> Fact:
    """Run the check once in this room. `asked`: a runner whose options are known; else `check.report` says where."""
    room = _Room(check, asked, bench, wanted, frozenset({*await bench.workspace.blobs(bench.base), *bench.carried}))
    model = _model(room)
    with _canary(room, model) as canary, scratch(bench.room, {}) as folder:
        report = bench.room / check.report if asked is None else folder / "report"
        if why := _cleared(bench.room, report):
            return void(why, Outcomes.BROKEN, "report", check.command)
        ran = await _execute(room, report, "")
        if not _present(report):
            return _silent(room, ran)
        counted = _counted(room, report, canary)
    if isinstance(counted, str):
        return void(f"the report cannot be read: {counted}", Outcomes.FAILED, "report", check.command)
    counted = replace(counted, ended=ran.exit_code, copies=await _copies(room, model, counted))
    return _concluded(room, ran, counted, planted_one=bool(canary))


def _concluded(room: _Room, ran: Ran, counted: Counted, *, planted_one: bool) -> Fact:
    words = Words(
        runner=room.runner,
        command=room.check.command,
        lacks=lacks,
        canaries=CANARIES if planted_one else 0,
        nothing=nothing(room.wanted),
    )
    failed = any(one.outcome in ("failed", "error") for one in counted.outcomes.values()) or counted.collected
    stray = ""
    if ran.exit_code == 0 and (planted_one or failed):
        stray = "tests failed, and the command says that none did: no result of this run is worth anything"
    elif ran.exit_code not in (0, None) and not planted_one and not failed:
        stray = f"every test is said to have passed, and the command ended with {ran.exit_code}"
    return fact(room.bench, ran, counted, words, stray=stray)


def lacks(text: str) -> str:
    found = _UNRESOLVED.findall(text)
    return node.foreign(text) or (found[-1] if found else "")


# -- running -----------------------------------------------------------------------------------------------------------


async def _execute(room: _Room, report: Path, only: str) -> Ran:
    bench, asked = room.bench, room.asked
    given = asked.variables if asked else {}
    variables = {**bench.plain, **given, "NODE_OPTIONS": ""}
    argv = _argv(room, asked, report, only) if asked else ["sh", "-c", room.check.command]
    return await bench.execute(argv, within_s=room.check.within_s, network=room.check.network, variables=variables)


def _argv(room: _Room, asked: Asked, report: Path, only: str) -> list[str]:
    program = str(room.bench.room / "node_modules" / ".bin" / asked.runner)
    rest = _kept(asked.arguments)
    match asked.runner:
        case "vitest":
            rest = [one for one in rest if one not in ("run", "watch", "dev")]
            order = ["--sequence.shuffle.tests", "--sequence.shuffle.files"] if room.wanted.second else []
            words = ["run", *([only] if only else rest), *order, "--reporter=junit", f"--outputFile={report}"]
        case "jest":
            files = ["--runTestsByPath", only] if only else rest
            order = ["--randomize"] if room.wanted.second and not only else []
            words = ["--ci", "--json", f"--outputFile={report}", "--coverage=false", *order, *files]
        case _:
            order = ["--sort"] if room.wanted.second else []
            words = [
                *([only] if only else rest),
                *order,
                "--reporter",
                "xunit",
                "--reporter-option",
                f"output={report}",
            ]
    return [program, *words]


def _kept(arguments: tuple[str, ...]) -> list[str]:
    """Without what chooses a reporter or a measurement: the engine has its own."""
    kept: list[str] = []
    skipping = False
    for word in arguments:
        if skipping and not word.startswith("-"):
            skipping = False
            continue
        match = _DROPPED.fullmatch(word)
        skipping = bool(match) and "=" not in word and not word.startswith(("--coverage", "--watch", "--json", "--ui"))
        if not match:
            kept.append(word)
    return kept


def _cleared(room: Path, report: Path) -> str:
    """A report that lies there already is nobody's evidence. Why it cannot be taken away, or ""."""
    try:
        if not report.parent.resolve().is_relative_to(room.resolve()) or report == room:
            return f"{report.relative_to(room)} leads out of the checkout"
        if report.is_dir() and not report.is_symlink():
            shutil.rmtree(report)
        else:
            report.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        return f"the report's place cannot be used: {error}"
    return ""


def _present(report: Path) -> bool:
    try:
        return stat.S_ISREG(report.lstat().st_mode)
    except OSError:
        return False


def _silent(room: _Room, ran: Ran) -> Fact:
    """No report: nothing was counted, whatever was printed."""
    counted = Counted({}, ended=None)
    made = fact(room.bench, ran, counted, Words(room.runner, room.check.command, lacks))
    missing = room.asked and not (room.bench.room / "node_modules" / ".bin" / room.asked.runner).exists()
    if ran.exit_code == NOT_FOUND or missing:
        why = f"{room.runner} is not installed"
        return replace(void(why, Outcomes.UNJUDGED, f"module {room.runner}", room.check.command), output=made.output)
    if ran.timed_out or ran.flooded:
        return made
    why = f"the command ended with {ran.exit_code} and wrote no report"
    return replace(void(why, Outcomes.FAILED, "report", room.check.command), output=made.output)


# -- tests that must fail ----------------------------------------------------------------------------------------------


def _model(room: _Room) -> str:
    """A real test file at random: red on the base, or named by the check, if there is one; "" where none will do."""
    ids = room.wanted.ids
    held = {one.split("::")[0] for one in ids or ()} & room.known
    files = held or {path for path in room.known if named_like_a_script_test(path)}
    red = {one.split("::")[0] for one in room.wanted.red}
    asked = [path for path in files if path in red]
    asked = asked or [path for path in files if any(below(path, one) for one in room.check.files)]
    able = sorted(path for path in asked or files if is_script(path) and (room.bench.room / path).is_file())
    good = [path for path in able if javascript(_text(room, path)).titles]
    return random.SystemRandom().choice(good or able) if able else ""


def _text(room: _Room, path: str) -> str:
    try:
        return (room.bench.room / path).read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


@contextmanager
def _canary(room: _Room, model: str) -> Iterator[str]:
    """The model once more, under a random name, with tests that must fail; "" where no model is."""
    if not model:
        yield ""
        return
    name = f"t{nonce()[:14]}"
    pure = PurePosixPath(model)
    content = _text(room, model)
    vitest = room.runner == "vitest" or "'vitest'" in content or '"vitest"' in content
    body = (_VITEST if vitest else _GLOBAL).format(n=name, number=random.SystemRandom().random())
    with planted(room.bench.room, str(pure.with_name(name + pure.name[pure.name.index(".") :])), content + body):
        yield name


async def _copies(room: _Room, model: str, counted: Counted) -> Mapping[str, str]:
    """The model's tests made to fail, in its own place, in a short run of their own."""
    passed = [name for name, one in counted.outcomes.items() if one.outcome == "passed"]
    made = javascript(_text(room, model)) if model else Made("", ())
    ours = [one for one in passed if one.startswith(f"{model}::") and _title(one) in made.titles]
    if room.asked is None or not ours:
        return {}
    place = room.bench.room / model
    original = place.read_bytes()
    with scratch(room.bench.room, {}) as folder:
        place.write_text(made.content)
        try:
            await _execute(room, folder / "report", model)
        finally:
            place.write_bytes(original)
        again = _counted(room, folder / "report", "") if _present(folder / "report") else "none"
    if isinstance(again, str):
        return dict.fromkeys(ours, "")
    broken = "failed" if model in again.collected else ""
    return {one: again.outcomes[one].outcome if one in again.outcomes else broken for one in ours}


def _title(name: str) -> str:
    return name.partition("::")[2].rpartition(" > ")[2]


# -- what comes out ----------------------------------------------------------------------------------------------------


def _counted(room: _Room, report: Path, canary: str) -> Counted | str:
    """What the report says, or why it says nothing."""
    try:
        with os.fdopen(os.open(report, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            data = file.read(MOST_BYTES + 1)
        found = _jest(data) if room.asked and room.asked.runner == "jest" else read(data)
    except (OSError, Garbled) as error:
        return str(error)
    placed = [(_file(room, one), one) for one in found]
    ours = {way(one, file): one.outcome for file, one in placed if canary and canary in one.name}
    rest = [(file, one) for file, one in placed if not canary or not _is_canary(canary, file, one)]
    whole = {file: ("failed", one.text) for file, one in rest if file and _of_the_file(file, one)}
    outcomes = worst((_id(file, one), Seen(one.outcome, text=one.text, seconds=one.seconds)) for file, one in rest)
    kept = {name: one for name, one in outcomes.items() if name not in whole and _keeps(room, name)}
    return Counted(
        outcomes=kept,
        collected=whole,
        canaries=ours or ({"file": "failed"} if _broken(placed, canary) else {}),
        left_out=tuple(name for name in outcomes if name not in kept and name not in whole),
    )


def _keeps(room: _Room, name: str) -> bool:
    ids = room.wanted.ids
    return ids is None or name in ids or name.split("::")[0] in ids or WHOLE in ids


def _file(room: _Room, one: Reported) -> str:
    """The file of the base that holds the test, if the report lets one tell."""
    for word in (one.file, one.group, *reversed(one.suites), one.name):
        path = word.removeprefix(f"{room.bench.room}/").removeprefix("./")
        if path in room.known or (path and is_script(path) and (room.bench.room / path).is_file()):
            return path
    return ""


def _id(file: str, one: Reported) -> str:
    if file:
        return f"{file}::{way(one, file)}" if way(one, file) else file
    return f"{one.group}::{one.name}" if one.group else one.name


def _of_the_file(file: str, one: Reported) -> bool:
    return one.outcome in ("failed", "error") and not way(one, file)


def _is_canary(canary: str, file: str, one: Reported) -> bool:
    return canary in file or canary in one.name or canary in one.group or any(canary in name for name in one.suites)


def _broken(placed: list[tuple[str, Reported]], canary: str) -> bool:
    """The file with the canary could not even be loaded, like the one that it is a copy of."""
    return bool(canary) and any(_is_canary(canary, file, one) and one.outcome != "passed" for file, one in placed)


def _jest(data: bytes) -> list[Reported]:
    """jest's own report in JSON."""
    try:
        whole = json.loads(data)
        return [one for part in whole["testResults"] for one in _jest_file(part)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Garbled(f"not jest's: {error}") from error


def _jest_file(part: dict[str, Any]) -> Iterator[Reported]:
    file = str(part["name"])
    if not part["assertionResults"] and part.get("status") == "failed":
        yield Reported(name=file, file=file, outcome="failed", text=str(part.get("message", ""))[-4000:])
    for one in part["assertionResults"]:
        status = str(one["status"])
        outcome = {"passed": "passed", "failed": "failed"}.get(status, "skipped")
        text = "\n".join(map(str, one.get("failureMessages") or ()))[:4000]
        seconds = one.get("duration") or 0
        title = " > ".join(map(str, [*one.get("ancestorTitles", ()), one["title"]]))
        yield Reported(name=title, file=file, outcome=outcome, text=text, seconds=float(seconds) / 1000)
