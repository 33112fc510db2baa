"""Runs examples that call a function of the project, in Python or Node, and compares what it returns or raises."""

import builtins
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from trued.model import CallCase, Outcomes, Tried, is_node
from trued.proof.checks.program_calls import is_encodable
from trued.proof.checks.values import (
    MOST_ANSWERED,
    UnfitAnswer,
    UnsoundRendering,
    is_exact,
    matches,
    read_rendering,
    show_value,
    size_flaw,
    value_flaw,
)
from trued.proof.checks.watched_process import (
    AWAITED,
    BASE_GRACE_S,
    CALL_RECORD,
    LINGERS,
    PLAIN,
    START_S,
    WATCHING,
    conduct_flaw,
    script_record,
)
from trued.proof.probes.answer import Malformed, build
from trued.proof.room import node
from trued.proof.room.bench import Bench, keepable_text, nonce, probe_text
from trued.protocols import CommandResult
from trued.support.foreign_json import parse_json
from trued.support.lazy_regex import lazy_regex

NODE_FLAGS = ("--no-deprecation", "--no-warnings", "--input-type=module")
# The most bytes over the channel. An answer is JSON inside JSON, so each of its quotation marks takes two bytes.
MOST_SAID = 2 * MOST_ANSWERED + (16 << 20)
_NAME = r"[A-Za-z_$][\w$]*"
_TARGET = lazy_regex(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_NODE_TARGET = lazy_regex(rf"[^:\0]+\.[cm]?[jt]s:{_NAME}(\.{_NAME})*")
_PYTHON_ONLY = ("$tuple", "$frozenset")


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of one call, the process that made it, and the project's files that were loaded."""

    tried: Tried
    ran: CommandResult | None = None
    files: tuple[str, ...] = ()  # the project's files, as the call reports them


# -- is the case well formed? Only the case itself is read, never an answer from the sandbox ---------------------------


def call_flaw(case: CallCase) -> str:
    """Why the case cannot be called as it is written, or ""."""
    if not is_node(case.call) and not _TARGET.fullmatch(case.call):
        return f"`{case.call}` does not name a function as module:function"
    parts = {"args": case.args, "kwargs": case.kwargs, "returns": case.returns, "args_after": case.args_after}
    for name, value in parts.items():
        if why := value_flaw(value):
            return f"{name}: {why}"
    if why := size_flaw(*parts.values()) or (_node_flaw(case) if is_node(case.call) else ""):
        return why
    try:
        build([list(case.args), dict(case.kwargs)])
    except (Malformed, TypeError, ValueError, OverflowError) as error:
        return f"the arguments cannot be made: {error}"
    return ""


def _node_flaw(case: CallCase) -> str:
    path = case.call.rpartition(":")[0]
    if not _NODE_TARGET.fullmatch(case.call) or path.startswith("/") or ".." in path.split("/"):
        return f"`{case.call}` does not name a function as path.js:name"
    if case.kwargs:
        return "Node has no kwargs: pass an object as the last argument"
    text = json.dumps([list(case.args), case.args_after])
    foreign = [tag for tag in _PYTHON_ONLY if f'{{"{tag}": ' in text]
    if foreign:
        return f"{foreign[0]} is not a kind of value in Node"
    lost = next(
        (number for number in _numbers(list(case.args)) if isinstance(number, int) and not is_exact(number)), None
    )
    return "" if lost is None else f"args: Node has no number that is exactly {str(lost)[:50]}"


def _numbers(value: Any) -> Iterator[int | float]:
    if isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)
    elif isinstance(value, int | float):
        yield value


def _for_node(value: Any) -> Any:
    """The arguments in a form that Node's JSON parser accepts: NaN and infinity are written as `{"$float": …}`."""
    if isinstance(value, list | tuple):
        return [_for_node(inner) for inner in value]
    if isinstance(value, dict):
        return {key: _for_node(inner) for key, inner in value.items()}
    return {"$float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


# -- one call ----------------------------------------------------------------------------------------------------------


async def call_function(
    name: str, case: CallCase, bench: Bench, conduct_on_base: frozenset[str] | None = None
) -> CallResult:
    """Call the function once, in a process of its own, and compare the answer in the engine's process.
    `conduct_on_base`: see `conduct_flaw`."""
    token = nonce()
    bench = bench if is_node(case.call) else bench.calling([case.call.partition(":")[0]])
    order: dict[str, Any] = {
        "call": case.call,
        "args": list(case.args),
        "kwargs": dict(case.kwargs),
        "paths": list(bench.roots),
        "site": list(bench.site),
        "room": str(bench.room),
        "within_s": case.within_s,
        "by_file": bench.second,
    }
    program: tuple[str, ...] = (bench.interpreter.path, "-")
    script, library = "call.py", "answer.py"
    if is_node(case.call):
        node_program = node.find_node()
        if node_program is None or (case.call.rpartition(":")[0].endswith("ts") and not node_program.strips_types):
            return CallResult(_tried_without_node(name, node_program))
        program, script, library = (node_program.path, *NODE_FLAGS, "-"), "answer.mjs", ""
        order["args"] = _for_node(case.args)
    request = {
        "nonce": token,
        "case": order,
        "program": program,
        "script": probe_text(script),
        "library": probe_text(library) if library else "",
        "grace_s": _grace_s(conduct_on_base),
    }
    stdin = f"{json.dumps(probe_text('ask.py'))}\n{json.dumps(request)}".encode()
    command = bench.command((bench.interpreter.path, *WATCHING), within_s=START_S + case.within_s, probes=False)
    ran = await bench.workspace.execute(replace(command, stdin=stdin, channel=True, output_bytes=MOST_SAID))
    record = script_record(ran, token, CALL_RECORD)
    answer = _parse_answer(str(record.get("said", "")))
    conduct = _conduct(record, answer)
    outcome, kind, detail = _compare(case, bench, record, answer)
    if outcome is Outcomes.PASSED:
        kind, detail = conduct_flaw(conduct, conduct_on_base, node=is_node(case.call))
        outcome = Outcomes.FAILED if kind else outcome
        if kind == LINGERS:
            detail = f"it answered, but its process did not end within {case.within_s:g} s: {detail}"
    tried = Tried(
        id=name,
        outcome=outcome,
        kind=keepable_text(kind),
        detail=keepable_text(detail),
        seconds=float(record.get("seconds", ran.seconds)),
        conduct=conduct,
    )
    return CallResult(tried, ran, tuple(_loaded_files(answer)))


def _grace_s(conduct_on_base: frozenset[str] | None) -> float | None:
    """How long to wait for the end of a call that has answered; None: until its time is up. What lingers on the base
    need not end."""
    if conduct_on_base is None:
        return BASE_GRACE_S
    return 0.0 if LINGERS in conduct_on_base else None


def _conduct(record: dict[str, Any], answer: dict[str, Any] | None) -> tuple[str, ...]:
    if answer is None:
        return ()
    form = answer.get("form")
    lingers = (LINGERS,) if record.get("late") else ()
    return (*((form,) if form in (PLAIN, AWAITED) else ()), *lingers)


def _tried_without_node(name: str, node_program: node.NodeProgram | None) -> Tried:
    if node_program is None:
        return Tried(id=name, outcome=Outcomes.UNJUDGED, kind="program node", detail="node is not installed")
    why = f"Node {node_program.version} cannot run TypeScript"
    return Tried(id=name, outcome=Outcomes.UNJUDGED, kind="version node", detail=why)


def _compare(
    case: CallCase, bench: Bench, record: dict[str, Any], answer: dict[str, Any] | None
) -> tuple[Outcomes, str, str]:
    if "unable" in record:
        return Outcomes.UNJUDGED, "interpreter", str(record["unable"])
    if "why" in record:
        return Outcomes.FAILED, "no answer", str(record["why"])
    if record["late"] and answer is None:
        return Outcomes.FAILED, "time", f"no answer within {case.within_s:g} s"
    if record.get("large"):
        return Outcomes.FAILED, "returned", f"answers with {UnfitAnswer('large').reason}"
    if answer is None:
        return Outcomes.FAILED, "no answer", f"the process sent no valid answer (exit code {record['exit']})"
    return compare_call(case, answer, _missing_package(case, bench, str(answer.get("module", ""))))


def _loaded_files(answer: dict[str, Any] | None) -> list[str]:
    """The files that the call reports as loaded."""
    listed = answer.get("ran") if answer else None
    return [path for path in listed if isinstance(path, str) and is_encodable(path)] if isinstance(listed, list) else []


def _parse_answer(text: str) -> dict[str, Any] | None:
    """The answer, from one line of JSON in the script's format; None for anything else."""
    lines = [line for line in text.split("\n") if line]
    answer = parse_json(lines[0]) if len(lines) == 1 else None
    if not isinstance(answer, dict) or not isinstance(answer.get("raised", []), list):
        return None
    try:
        return answer | {
            name: read_rendering(answer[name]) for name in ("returned", "args", "kwargs") if name in answer
        }
    except UnsoundRendering:
        return None


def compare_call(case: CallCase, answer: dict[str, Any], foreign: str = "") -> tuple[Outcomes, str, str]:
    """Outcome, kind of failure and detail, from the script's record. `foreign`: the third-party module that the call
    failed to import, or ""."""
    if "missing" in answer:
        return Outcomes.MISSING, "missing", f"there is no {answer['missing']}"
    if "raised" in answer:
        return _compare_error(case, answer, foreign)
    if case.raises is not None:
        return Outcomes.FAILED, "did not raise", f"returned {show_value(answer.get('returned'))}"
    if "returned" not in answer:
        return Outcomes.FAILED, "no answer", "the answer contains no result"
    if not matches(case.returns, answer["returned"]):
        return Outcomes.FAILED, "returned", f"returned {show_value(answer.get('returned'))}"
    return _compare_arguments(case, answer)


def _compare_error(case: CallCase, answer: dict[str, Any], foreign: str) -> tuple[Outcomes, str, str]:
    lineage = [str(class_name) for class_name in answer["raised"]]
    expected = case.raises is not None and answer.get("stage") != "import" and _is_expected_error(case, lineage)
    if foreign and not expected:
        return Outcomes.UNJUDGED, f"module {foreign}", f"module {foreign} is not installed"
    what = f"raised {lineage[0] if lineage else '?'}: {answer.get('text', '')}"
    if lineage[:1] == ["builtins.MemoryError"] and case.raises is None:
        return Outcomes.FAILED, "memory", what
    if answer.get("stage") == "import":
        return Outcomes.FAILED, "import", what
    if case.raises is None:
        return Outcomes.FAILED, "raised", what
    if not expected:
        return Outcomes.FAILED, "raised another error", what
    return _compare_arguments(case, answer)


def _missing_package(case: CallCase, bench: Bench, module: str) -> str:
    """The name of a module that could not be imported, if it is a third-party module; "" if it is the project's or the
    language's own."""
    if is_node(case.call):
        return node.missing_package(f"Cannot find package '{module}'")
    return bench.foreign(f"No module named '{module}'")


def _is_expected_error(case: CallCase, lineage: list[str]) -> bool:
    """Whether the expected class is the raised class or one of its bases. A case may name the class as
    `package.module:Class`, by any module that has it. A built-in name means the built-in class, and any other bare name
    a class that some module has: callers could not catch another one."""
    name = (case.raises or "").replace(":", ".")
    if "." in name or is_node(case.call):
        return name in lineage
    if isinstance(getattr(builtins, name, None), type):
        return f"builtins.{name}" in lineage
    return any(class_name.rpartition(".")[2] == name for class_name in lineage if not class_name.startswith("another "))


def _compare_arguments(case: CallCase, answer: dict[str, Any]) -> tuple[Outcomes, str, str]:
    after = list(case.args if case.args_after is None else case.args_after)
    if not matches(after, answer.get("args")):
        kind = "arguments changed" if case.args_after is None else "arguments after"
        return Outcomes.FAILED, kind, f"the arguments are {show_value(answer.get('args'))} after the call"
    if not matches(dict(case.kwargs), answer.get("kwargs")):
        return (
            Outcomes.FAILED,
            "arguments changed",
            f"the arguments are {show_value(answer.get('kwargs'))} after the call",
        )
    return Outcomes.PASSED, "", ""
