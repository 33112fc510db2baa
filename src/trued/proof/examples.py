"""Data only: calls and command lines run in processes of their own; what they answer is compared here."""

import builtins
import json
import re
import shutil
from pathlib import PurePosixPath
from typing import Any

from trued.protocols import Ran
from trued.types import CallCase, Case, ExamplesCheck, Outcomes, RunCase, Tried

from .bench import INSIDE, SYSTEM_PATH, Bench, Fact, Wanted, capped, clean, nonce, records
from .cleanroom import scratch
from .rendering import equal, shown, sound

START_S = 30.0  # for the interpreter itself, on a busy machine; the cases have their own limits
_TARGET = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_PYTHON = re.compile(r"python(\d(\.\d+)?)?")


def case_id(place: int) -> str:
    return f"case {place + 1}"


async def take(check: ExamplesCheck, bench: Bench, wanted: Wanted) -> Fact:
    """Run the cases once in this room, one after the other."""
    chosen = [(case_id(place), case) for place, case in enumerate(check.cases)]
    if wanted.ids is not None:
        chosen = [(name, case) for name, case in chosen if name in wanted.ids]
    if wanted.second:
        chosen.reverse()
    tried: list[Tried] = []
    rans: list[Ran] = []
    files: set[str] = set()
    calls = [(name, case) for name, case in chosen if isinstance(case, CallCase)]
    if calls:
        rans.append(await _calls(calls, bench, tried, files))
    for name, case in chosen:
        if isinstance(case, RunCase):
            rans.append(await _run(name, case, bench, tried))
    return Fact(
        tried=tuple(tried),
        command=f"{len(chosen)} cases by {bench.interpreter.path}",
        exit_code=rans[0].exit_code if rans else None,
        output=capped(*(stream for ran in rans for stream in (ran.stdout, ran.stderr))),
        seconds=sum(ran.seconds for ran in rans),
        isolation=rans[0].isolation if rans else "",
        ran=bench.inside(files),
    )


# -- calls -------------------------------------------------------------------------------------------------------------


async def _calls(cases: list[tuple[str, CallCase]], bench: Bench, tried: list[Tried], files: set[str]) -> Ran:
    token = nonce()
    order = {
        "nonce": token,
        "paths": list(bench.roots),
        "cases": [
            {
                "n": place,
                "call": case.call,
                "args": list(case.args),
                "kwargs": dict(case.kwargs),
                "within_s": case.within_s,
            }
            for place, (_, case) in enumerate(cases)
            if _TARGET.fullmatch(case.call)
        ],
    }
    argv = (bench.interpreter.path, "-I", "-B", str(INSIDE / "answer.py"))
    within = START_S + sum(case.within_s for _, case in cases)
    ran = await bench.execute(argv, stdin=json.dumps(order).encode(), channel=True, within_s=within)
    said, stray = records(ran.answers, token)
    for place, (name, case) in enumerate(cases):
        mine = [one for one in said if one.get("n") == place]
        outcome, kind, detail = _called(case, bench, mine, stray)
        files.update(_files(mine))
        seconds = float(mine[0]["seconds"]) if mine else 0.0
        tried.append(Tried(id=name, outcome=outcome, kind=kind, detail=clean(detail)[:2000], seconds=seconds))
    return ran


def _called(case: CallCase, bench: Bench, said: list[dict[str, Any]], stray: bool) -> tuple[Outcomes, str, str]:
    if not _TARGET.fullmatch(case.call):
        return Outcomes.BROKEN, "malformed", f"`{case.call}` does not name a function as module:function"
    if stray:
        return Outcomes.FAILED, "no answer", "something else wrote to the engine's channel"
    if len(said) != 1:
        return Outcomes.FAILED, "no answer", f"{len(said)} answers came"
    if said[0]["late"]:
        return Outcomes.FAILED, "time", f"no answer within {case.within_s:g} s"
    answer = _parsed(str(said[0]["said"]))
    if answer is None:
        return Outcomes.FAILED, "no answer", f"the process ended with {said[0]['exit']} and no single answer"
    return _compared(case, bench, answer)


def _files(said: list[dict[str, Any]]) -> list[str]:
    """The files that a call says took part: they tell whether the guards of a kept requirement reach the diff."""
    answer = _parsed(str(said[0]["said"])) if len(said) == 1 else None
    listed = answer.get("ran") if answer else None
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []


def _parsed(text: str) -> dict[str, Any] | None:
    """One line of JSON in the script's own shape. Anything else was not said by it."""
    lines = [one for one in text.split("\n") if one]
    try:
        answer = json.loads(lines[0]) if len(lines) == 1 else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict) or not isinstance(answer.get("raised", []), list):
        return None
    nodes = [answer[name] for name in ("returned", "args", "kwargs") if name in answer]
    return answer if all(sound(one) for one in nodes) else None


def _compared(case: CallCase, bench: Bench, answer: dict[str, Any]) -> tuple[Outcomes, str, str]:
    if "broken" in answer:
        return Outcomes.BROKEN, "malformed", str(answer["broken"])
    if "missing" in answer:
        return Outcomes.MISSING, "missing", str(answer["missing"])
    if "raised" in answer:
        return _raised(case, bench, answer)
    if case.raises is not None:
        return Outcomes.FAILED, "did not raise", f"returned {shown(answer.get('returned'))}"
    if "returned" not in answer:
        return Outcomes.FAILED, "no answer", "the answer is not one"
    if not equal(case.returns, answer["returned"]):
        return Outcomes.FAILED, "returned", f"returned {shown(answer.get('returned'))}"
    return _left_alone(case, answer)


def _raised(case: CallCase, bench: Bench, answer: dict[str, Any]) -> tuple[Outcomes, str, str]:
    lineage = [str(one) for one in answer["raised"]]
    expected = case.raises is not None and answer.get("stage") != "import" and _is_one(case.raises, lineage)
    foreign = bench.foreign(f"No module named '{answer.get('module', '')}'")
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
    return _left_alone(case, answer)


def _is_one(name: str, lineage: list[str]) -> bool:
    """The class or one of its bases; a built-in name means the built-in class."""
    if "." in name:
        return name in lineage
    if isinstance(getattr(builtins, name, None), type):
        return f"builtins.{name}" in lineage
    return any(one.rpartition(".")[2] == name for one in lineage)


def _left_alone(case: CallCase, answer: dict[str, Any]) -> tuple[Outcomes, str, str]:
    after = list(case.args if case.args_after is None else case.args_after)
    if not equal(after, answer.get("args")):
        kind = "arguments changed" if case.args_after is None else "arguments after"
        return Outcomes.FAILED, kind, f"the arguments are {shown(answer.get('args'))} after the call"
    if not equal(dict(case.kwargs), answer.get("kwargs")):
        return Outcomes.FAILED, "arguments changed", f"the arguments are {shown(answer.get('kwargs'))} after the call"
    return Outcomes.PASSED, "", ""


# -- command lines -----------------------------------------------------------------------------------------------------


async def _run(name: str, case: RunCase, bench: Bench, tried: list[Tried]) -> Ran:
    if why := _malformed(case):
        tried.append(Tried(id=name, outcome=Outcomes.BROKEN, kind="malformed", detail=why))
        return Ran(None, b"", b"", b"", 0.0, timed_out=False, flooded=False, isolation="")
    with scratch(bench.room, case.files) as folder:
        argv = [one.replace("{files}", str(folder)) for one in case.run]
        if _PYTHON.fullmatch(argv[0]):
            argv[0] = bench.interpreter.path
        ran = await bench.execute(argv, stdin=case.stdin.encode(), within_s=case.within_s)
    outcome, kind, detail = _ran(case, bench, ran)
    tried.append(Tried(id=name, outcome=outcome, kind=kind, detail=clean(detail)[:2000], seconds=ran.seconds))
    return ran


def _malformed(case: RunCase) -> str:
    if not case.run:
        return "the command line is empty"
    if any(PurePosixPath(one).is_absolute() or ".." in PurePosixPath(one).parts for one in case.files):
        return "files must be named relative to the scratch folder"
    return ""


def _ran(case: RunCase, bench: Bench, ran: Ran) -> tuple[Outcomes, str, str]:
    if ran.timed_out:
        return Outcomes.FAILED, "time", f"did not end within {case.within_s:g} s"
    if ran.flooded:
        return Outcomes.FAILED, "flood", "wrote more output than is allowed"
    error = ran.stderr.decode("utf-8", "replace")
    seen = f"exit {ran.exit_code}, stdout {ran.stdout[:400]!r}, stderr {error[-400:]!r}"
    if ran.exit_code != case.exit:
        return _unequal_exit(case, bench, error, seen)
    if case.stdout is not None and ran.stdout != case.stdout.encode():
        return Outcomes.FAILED, "stdout", seen
    if case.stdout_json is not None and not _same_json(case.stdout_json, ran.stdout):
        return Outcomes.FAILED, "stdout", seen
    return Outcomes.PASSED, "", ""


def _unequal_exit(case: RunCase, bench: Bench, error: str, seen: str) -> tuple[Outcomes, str, str]:
    program = case.run[0]
    if "/" not in program and not _PYTHON.fullmatch(program) and not shutil.which(program, path=_path(bench)):
        return Outcomes.UNJUDGED, f"program {program}", f"{program} is not installed"
    asked = case.run[2] if len(case.run) > 2 and case.run[1] == "-m" else ""
    if asked and re.search(rf"No module named '?{re.escape(asked)}'?\s*$", error):
        return Outcomes.MISSING, "missing", f"module {asked}"
    if foreign := bench.foreign(error):
        return Outcomes.UNJUDGED, f"module {foreign}", f"module {foreign} is not installed"
    return Outcomes.FAILED, "exit", seen


def _path(bench: Bench) -> str:
    return bench.variables.get("PATH", SYSTEM_PATH)


def _same_json(expected: Any, stdout: bytes) -> bool:
    try:
        found = json.loads(stdout)
    except ValueError:
        return False
    return equal(expected, _node(found))


def _node(data: Any) -> Any:
    """Parsed JSON as a rendered answer."""
    if isinstance(data, bool) or data is None or isinstance(data, str):
        return data
    if isinstance(data, int):
        return ["i", f"{data:x}"]
    if isinstance(data, float):
        return ["f", repr(data)]
    if isinstance(data, list):
        return ["l", *map(_node, data)]
    return ["d", *([key, _node(value)] for key, value in data.items())]


def said(case: Case) -> str:
    """A visible case in one line, for the implementer."""
    if isinstance(case, RunCase):
        return f"run {json.dumps(list(case.run))}"
    listed = [json.dumps(one, ensure_ascii=False) for one in case.args]
    listed += [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in case.kwargs.items()]
    expected = f"raises {case.raises}" if case.raises else f"returns {json.dumps(case.returns, ensure_ascii=False)}"
    return f"{case.call}({', '.join(listed)}) {expected}"
