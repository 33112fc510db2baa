"""Runs examples that start a program, and compares its exit code and output with what they expect."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from trued.model import Outcomes, RunCase, Tried
from trued.proof.checks.programs import is_not_installed, missing_module, missing_target, resolve_command
from trued.proof.checks.values import MOST_ANSWERED, matches_json, size_flaw, value_flaw
from trued.proof.checks.watched_process import LINGERS, PROGRAM_RECORD, START_S, WATCHING, conduct_flaw, script_record
from trued.proof.room.bench import Bench, keepable_text, nonce, probe_text
from trued.proof.room.files_in_room import temporary_files
from trued.proof.room.go_cache import missing_go_package
from trued.proof.text.interpreter_lines import read_interpreter_line
from trued.protocols import CommandResult
from trued.support.lazy_regex import lazy_regex

_TRACEBACK = "Traceback (most recent call last):"
# The last line of an error that ended a program of Python or Node.
_ENDED = lazy_regex(r"ModuleNotFoundError: .*|Node\.js v[\d.]+")
_WORD = lazy_regex(r"[\w@/.-]+")
LONGEST_NAME, LONGEST_PATH = 255, 1000
LONGEST_WORD, LONGEST_LINE = 100_000, 1_000_000  # characters; the limits of Linux are a little higher


def line_flaw(case: RunCase) -> str:
    """Why the case cannot be run as it is written, or ""."""
    if not case.run or not case.run[0]:
        return "the command line is empty"
    if why := value_flaw(case.stdout_json):
        return f"stdout_json: {why}"
    if not all(map(is_encodable, (*case.run, *case.files, *case.files.values(), case.stdin, case.stdout or ""))):
        return "it contains half of a character (a lone surrogate)"
    words = [word.replace("{files}", "x" * LONGEST_NAME).encode() for word in case.run]
    if any(b"\0" in word for word in words):
        return "the command line contains a NUL character"
    if max(map(len, words)) > LONGEST_WORD or sum(map(len, words)) > LONGEST_LINE:
        return "the command line is too long"
    return _names_flaw(case.files) or size_flaw(case.stdin, case.stdout, case.stdout_json, *case.files.values())


def _names_flaw(names: Iterable[str]) -> str:
    paths = {PurePosixPath(name) for name in names}
    for path in paths:
        if path.is_absolute() or ".." in path.parts or not path.parts:
            return "files must be named relative to the scratch folder"
        if "\0" in str(path) or len(str(path).encode()) > LONGEST_PATH:
            return "a file's name is too long or contains a NUL character"
        if any(len(part.encode()) > LONGEST_NAME for part in path.parts):
            return "a file's name is too long"
        if not paths.isdisjoint(path.parents):
            return f"{path} cannot be written, because a part of its path is also the name of a file"
    return ""


def is_encodable(text: str) -> bool:
    """Whether the text can be encoded as UTF-8. Half of a surrogate pair cannot."""
    return not re.search("[\ud800-\udfff]", text)


async def run_command_line(
    name: str, case: RunCase, bench: Bench, conduct_on_base: frozenset[str] | None = None
) -> tuple[Tried, CommandResult | None]:
    """Run the case once. Returns the result and the finished process; None for a process that could not start.

    A command line has ended when its process has, and when no process that it left keeps its output open: whoever reads
    the output through a pipe waits for that. `conduct_on_base`: see `conduct_flaw`."""
    try:
        ran, record = await _execute(case, bench)
    except (ValueError, OSError) as error:
        return Tried(
            id=name, outcome=Outcomes.BROKEN, kind="malformed", detail=keepable_text(f"not run: {error}")
        ), None
    outcome, kind, detail = _outcome(case, bench, ran, record)
    conduct = (LINGERS,) if record.get("late") and record.get("exit") is not None else ()
    if outcome is Outcomes.PASSED and conduct_flaw(conduct, conduct_on_base)[0]:
        outcome, kind = Outcomes.FAILED, LINGERS
        detail = f"it ended, but something that it started kept its output open for more than {case.within_s:g} s"
    return Tried(
        id=name,
        outcome=outcome,
        kind=keepable_text(kind),
        detail=keepable_text(detail),
        seconds=float(record.get("seconds", ran.seconds)),
        conduct=conduct,
    ), ran


async def _execute(case: RunCase, bench: Bench) -> tuple[CommandResult, dict[str, Any]]:
    """The finished process, with the program's own exit code, and the record of the engine's script."""
    token = nonce()
    with temporary_files(bench.room, case.run, case.files) as folder:
        argv = [word.replace("{files}", str(folder)) for word in resolve_command(case.run, bench)]
        argv = [bench.interpreter.path, *WATCHING, *argv]
        command = bench.starting(case.run).command(argv, within_s=START_S + case.within_s, probes=False)
        order = json.dumps({"nonce": token, "within_s": case.within_s})
        stdin = f"{json.dumps(probe_text('ask.py'))}\n{order}\n".encode() + case.stdin.encode()
        command = replace(command, stdin=stdin, temporary=folder, output_bytes=MOST_ANSWERED, channel=True)
        ran = await bench.workspace.execute(command)
    record = script_record(ran, token, PROGRAM_RECORD)
    code = record.get("exit")
    return replace(ran, exit_code=code if code is None or code >= 0 else 128 - code), record


def _outcome(case: RunCase, bench: Bench, ran: CommandResult, record: dict[str, Any]) -> tuple[Outcomes, str, str]:
    if "unable" in record:
        return Outcomes.UNJUDGED, "interpreter", str(record["unable"])
    if record.get("late") and record.get("exit") is None:
        return Outcomes.FAILED, "time", f"did not end within {case.within_s:g} s"
    if ran.flooded:
        return Outcomes.FAILED, "flood", f"wrote more than {MOST_ANSWERED >> 20} MiB: not compared"
    if "why" in record:
        return Outcomes.FAILED, "no answer", str(record["why"])
    error = ran.stderr.decode("utf-8", "replace")
    printed = ran.stdout[:400].decode("utf-8", "replace")
    seen = f"prints {printed!r}, exit code {ran.exit_code}{f', stderr {error[-400:]!r}' if error else ''}"
    kind = difference(case, ran.exit_code, ran.stdout)
    # A program that does not exist does not pass, even if the case expects an exit code other than 0.
    if ran.exit_code != 0 and (why := _failure_to_begin(case, bench, error, as_expected=not kind)):
        return why
    return (Outcomes.FAILED, kind, seen) if kind else (Outcomes.PASSED, "", "")


def difference(case: RunCase, exit_code: int | None, stdout: bytes) -> str:
    """Which result differs from what the case expects: "exit", "stdout" or ""."""
    if exit_code != case.exit:
        return "exit"
    if case.stdout is not None and stdout != case.stdout.encode():
        return "stdout"
    return "stdout" if "stdout_json" in case.model_fields_set and not matches_json(case.stdout_json, stdout) else ""


def _failure_to_begin(
    case: RunCase, bench: Bench, error: str, *, as_expected: bool
) -> tuple[Outcomes, str, str] | None:
    """Why the program did not begin: it does not exist, or lacks a package. None if it began.

    A program may also report a missing module because that is its work. So a module that the case's own arguments name
    is none that the program lacks. If the result is as expected, only a report of the interpreter itself counts."""
    if is_not_installed(case.run[0], bench):
        return Outcomes.UNJUDGED, f"program {case.run[0]}", f"{case.run[0]} is not installed"
    if absent := missing_target(case.run, bench, error):
        return Outcomes.MISSING, "missing", f"{absent} does not exist"
    if as_expected and not _ends_by_error(error):
        return None
    module = missing_module(error, bench)
    if module and module not in _words_of_arguments(case):
        return Outcomes.UNJUDGED, f"module {module}", f"module {module} is not installed"
    return None


def _ends_by_error(error: str) -> bool:
    """Whether this output ends with the report of an interpreter on an error that nobody has caught, or comes from a
    compiler."""
    last_line = error.rstrip().rpartition("\n")[2]
    has_report = _TRACEBACK in error or not last_line.startswith("ModuleNotFoundError")
    return bool(_ENDED.fullmatch(last_line) and has_report) or bool(missing_go_package(error))


def _words_of_arguments(case: RunCase) -> set[str]:
    """The words, such as `a.b` in `--plugin=a.b`, that the case passes to the program that it starts."""
    started = read_interpreter_line(case.run)
    if started and started.kind not in ("script", "module"):
        return set()  # an interpreter runs the arguments themselves
    return {word for argument in case.run[started.words if started else 1 :] for word in _WORD.findall(argument)}
