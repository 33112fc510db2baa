"""Data only: calls and command lines run in processes of their own; what they answer is compared here."""

import builtins
import json
import re
import shutil
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from trued.protocols import Ran
from trued.types import CallCase, Case, ExamplesCheck, HttpCase, Outcomes, RunCase, Tried

from .bench import INSIDE, SYSTEM_PATH, Bench, Fact, Wanted, capped, clean, nonce, records
from .cleanroom import scratch
from .inside.answer import Malformed, build
from .rendering import equal, flaw, shown, sound

START_S = 30.0  # for the interpreter itself, on a busy machine; the cases have their own limits
LONGEST_S = 1e9  # no time that anybody waited
BOUND_S = 30.0  # for a case that an agent wrote down: the engine waits no longer, whatever it says
LONGEST_NAME, LONGEST_PATH = 255, 1000
LONGEST_WORD, LONGEST_LINE = 100_000, 1_000_000  # of a command line; Linux takes a little more
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
    for name, case in chosen:
        if why := malformed(case):
            tried.append(Tried(id=name, outcome=Outcomes.BROKEN, kind="malformed", detail=_told(why)))
        elif isinstance(case, HttpCase):
            tried.append(Tried(id=name, outcome=Outcomes.UNJUDGED, kind="environment", detail="exchanges: not yet"))
        elif isinstance(case, CallCase):
            rans.append(await _call(name, case, bench, tried, files))
        else:
            rans += await _run(name, case, bench, tried)
    return Fact(
        tried=tuple(tried),
        command=f"{len(chosen)} cases by {bench.interpreter.path}",
        exit_code=rans[0].exit_code if rans else None,
        output=capped(*(stream for ran in rans for stream in (ran.stdout, ran.stderr))),
        seconds=sum(ran.seconds for ran in rans),
        isolation=rans[0].isolation if rans else "",
        ran=bench.inside(files),
    )


def bounded(case: Case) -> Case:
    """The same case with a time limit that the engine can wait for: for cases that an agent wrote down."""
    return case if 0 < case.within_s <= BOUND_S else case.model_copy(update={"within_s": BOUND_S})


# -- is it a case at all? Asked here, as data, so that no answer from the sandbox can say that it is none --------------


def malformed(case: Case) -> str:
    """Why the case cannot be run at all, or ""."""
    if not 0 < case.within_s < float("inf"):
        return "within_s must be a number of seconds above zero"
    if isinstance(case, HttpCase):
        return ""
    return _call_flaw(case) if isinstance(case, CallCase) else _run_flaw(case)


def _call_flaw(case: CallCase) -> str:
    if not _TARGET.fullmatch(case.call):
        return f"`{case.call}` does not name a function as module:function"
    given = {"args": case.args, "kwargs": case.kwargs, "returns": case.returns, "args_after": case.args_after}
    for name, value in given.items():
        if why := flaw(value):
            return f"{name}: {why}"
    try:
        build([list(case.args), dict(case.kwargs)])
    except (Malformed, TypeError, ValueError, OverflowError) as error:
        return f"the arguments cannot be made: {error}"
    return ""


def _run_flaw(case: RunCase) -> str:
    if not case.run or not case.run[0]:
        return "the command line is empty"
    if why := flaw(case.stdout_json):
        return f"stdout_json: {why}"
    if not all(map(_encodable, (*case.run, *case.files, *case.files.values(), case.stdin, case.stdout or ""))):
        return "it holds half of a character (a lone surrogate)"
    words = [one.replace("{files}", "x" * LONGEST_NAME).encode() for one in case.run]
    if any(b"\0" in one for one in words):
        return "the command line holds a NUL"
    if max(map(len, words)) > LONGEST_WORD or sum(map(len, words)) > LONGEST_LINE:
        return "the command line is too long"
    return _names_flaw(case.files)


def _names_flaw(names: Iterable[str]) -> str:
    paths = {PurePosixPath(one) for one in names}
    for path in paths:
        if path.is_absolute() or ".." in path.parts or not path.parts:
            return "files must be named relative to the scratch folder"
        if "\0" in str(path) or len(str(path).encode()) > LONGEST_PATH:
            return "a file's name is too long or holds a NUL"
        if any(len(part.encode()) > LONGEST_NAME for part in path.parts):
            return "a file's name is too long"
        if not paths.isdisjoint(path.parents):
            return f"{path} cannot lie in a file"
    return ""


def _encodable(text: str) -> bool:
    return not re.search("[\ud800-\udfff]", text)


def _told(text: str) -> str:
    """Whatever a head says, as text that can be kept."""
    return clean(text[:4000].encode("utf-8", "replace").decode())[:2000]


# -- calls -------------------------------------------------------------------------------------------------------------


async def _call(name: str, case: CallCase, bench: Bench, tried: list[Tried], files: set[str]) -> Ran:
    """An execution for each call: nothing that it can reach has ever held another one's arguments."""
    token = nonce()
    told = {
        "call": case.call,
        "args": list(case.args),
        "kwargs": dict(case.kwargs),
        "paths": list(bench.roots),
        "within_s": case.within_s,
    }
    order = json.dumps({"nonce": token, "case": told}).encode()
    argv = (bench.interpreter.path, "-I", "-B", str(INSIDE / "answer.py"))
    ran = await bench.execute(argv, stdin=order, channel=True, within_s=START_S + case.within_s)
    said = _said_by_the_script(ran, token)
    answer = _parsed(str(said.get("said", "")))
    outcome, kind, detail = _called(case, bench, said, answer)
    files.update(_files(answer))
    seconds = float(said.get("seconds", ran.seconds))
    tried.append(Tried(id=name, outcome=outcome, kind=_told(kind), detail=_told(detail), seconds=seconds))
    return ran


def _said_by_the_script(ran: Ran, token: str) -> dict[str, Any]:
    """Its one record, if it came to its own end and nobody else spoke."""
    said, stray = records(ran.answers, token)
    if ran.timed_out:
        return {"late": True}
    if stray:
        return {"why": "something else wrote to the engine's channel"}
    if ran.exit_code != 0 or ran.flooded or len(said) != 1:
        return {"why": f"{len(said)} answers came, and the exit code is {ran.exit_code}"}
    return said[0] if _is_a_record(said[0]) else {"why": "what came is no answer of the engine's script"}


def _is_a_record(said: dict[str, Any]) -> bool:
    """In the shape in which the script writes it: all of it, each of its kind."""
    if said.keys() == {"unable"}:
        return isinstance(said["unable"], str)
    kinds = {"said": str, "exit": int, "late": bool, "seconds": float | int}
    fitting = said.keys() == kinds.keys() and all(isinstance(said[name], kind) for name, kind in kinds.items())
    return fitting and 0 <= said["seconds"] < LONGEST_S


def _called(
    case: CallCase, bench: Bench, said: dict[str, Any], answer: dict[str, Any] | None
) -> tuple[Outcomes, str, str]:
    if "unable" in said:
        return Outcomes.UNJUDGED, "interpreter", str(said["unable"])
    if "why" in said:
        return Outcomes.FAILED, "no answer", str(said["why"])
    if said["late"]:
        return Outcomes.FAILED, "time", f"no answer within {case.within_s:g} s"
    if answer is None:
        return Outcomes.FAILED, "no answer", f"the process ended with {said['exit']} and no single answer"
    return _compared(case, bench, answer)


def _files(answer: dict[str, Any] | None) -> list[str]:
    """The files that a call says took part: they tell whether the guards of a kept requirement reach the diff."""
    listed = answer.get("ran") if answer else None
    return [one for one in listed if isinstance(one, str) and _encodable(one)] if isinstance(listed, list) else []


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


async def _run(name: str, case: RunCase, bench: Bench, tried: list[Tried]) -> list[Ran]:
    try:
        ran = await _executed(case, bench)
    except (ValueError, OSError) as error:
        tried.append(Tried(id=name, outcome=Outcomes.BROKEN, kind="malformed", detail=_told(f"not run: {error}")))
        return []
    outcome, kind, detail = _ran(case, bench, ran)
    tried.append(Tried(id=name, outcome=outcome, kind=_told(kind), detail=_told(detail), seconds=ran.seconds))
    return [ran]


async def _executed(case: RunCase, bench: Bench) -> Ran:
    with scratch(bench.room, case.files) as folder:
        argv = [one.replace("{files}", str(folder)) for one in case.run]
        if _PYTHON.fullmatch(argv[0]):
            argv[0] = bench.interpreter.path
        return await bench.execute(argv, stdin=case.stdin.encode(), within_s=case.within_s)


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
        return equal(expected, _node(json.loads(stdout)))
    except (ValueError, RecursionError):
        return False


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
    if isinstance(case, HttpCase):
        return f"{case.http.method} {case.http.path}"
    listed = [json.dumps(one, ensure_ascii=False) for one in case.args]
    listed += [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in case.kwargs.items()]
    expected = f"raises {case.raises}" if case.raises else f"returns {json.dumps(case.returns, ensure_ascii=False)}"
    return f"{case.call}({', '.join(listed)}) {expected}"
