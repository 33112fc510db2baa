"""A call can see only its own case, nothing can answer for the engine's script, and no case can stop the engine."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from tests.proof.trial import Trial, only
from trued.agents.driver.reply_format import BrokenReply, parse_reply
from trued.model import Case, Finding, Grade
from trued.proof.checks.examples import BOUND_S, case_flaw, with_time_limit

BASE: dict[str, str | None] = {"README.md": "x\n"}


def case(**data: Any) -> Case:
    made: Case = TypeAdapter(Case).validate_python(data)
    return made


def checked_by(*cases: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": "it", "text": "it works", "checks": [{"kind": "examples", "cases": list(cases)}]}]


ROUND_TRIP = checked_by(
    {"call": "codec:encode", "args": ["Hello"], "returns": "Uryyb"},
    {"call": "codec:decode", "args": ["Uryyb"], "returns": "Hello"},
)
# Searches its own memory, and everything about other processes that the kernel lets it read.
LOOKS_AROUND = r"""import gc, os, re, sys


def _found():
    frame = sys._getframe()
    while frame:
        yield from map(repr, frame.f_locals.values())
        frame = frame.f_back
    yield from (repr(one) for one in gc.get_objects() if type(one) is dict and "args" in one)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
                for line in maps:
                    low, high = (int(one, 16) for one in line.split()[0].split("-"))
                    if "rw" in line and high - low < 1 << 26:
                        memory.seek(low)
                        yield memory.read(high - low).decode("latin-1")
        except (OSError, ValueError):
            pass


def encode(text):
    for found in _found():
        for one in re.findall(r"args['\"]: \[['\"](\w+)['\"]\]", found):
            if one != text:
                return one


decode = encode
"""


@pytest.mark.spec("LAW-6", "LAW-7")
async def test_a_call_cannot_find_the_arguments_of_another(tmp_path: Path) -> None:
    verdict = await Trial(tmp_path, BASE, ROUND_TRIP).verdict({"codec.py": LOOKS_AROUND})
    assert only(verdict).grade is Grade.REFUTED


QUICK = checked_by({"call": "m:slow", "args": [[1, 2]], "returns": 3, "within_s": 1})
STOPS_THE_CLOCK = """import os, signal, time


def slow(x):
    parent = os.getppid()
    os.kill(parent, signal.SIGSTOP)
    time.sleep(2)
    os.kill(parent, signal.SIGCONT)
    return sum(x)
"""
ANSWERS_ITSELF = """import gc, json, os, re, signal, sys


def slow(x):
    parent = os.getppid()
    os.kill(parent, signal.SIGSTOP)
    said = json.dumps({"returned": [10, "3"], "args": [1, 1, 10, "1", 10, "2", 0, 0], "kwargs": [5, 0]})
    record = {"n": 0, "said": said, "exit": 0, "late": False, "large": False, "seconds": 0.01}
    words = {one for kept in gc.get_objects() if type(kept) is dict for one in kept.values() if type(one) is str}
    frame = sys._getframe()
    while frame:
        words |= {str(one) for one in frame.f_locals.values()}
        words |= {str(one.get("nonce")) for one in frame.f_locals.values() if type(one) is dict}
        frame = frame.f_back
    for pid in (os.getpid(), parent):
        for number in range(3, 30):
            try:
                with open(f"/proc/{pid}/fd/{number}", "wb", buffering=0) as pipe:
                    for word in words:
                        if re.fullmatch("[0-9a-f]{32}", word):
                            pipe.write((word + " " + json.dumps(record) + chr(10)).encode())
            except OSError:
                pass
    os.kill(parent, signal.SIGKILL)
"""
READS_THE_SCRIPT = """import os


def slow(x):
    parent = os.getppid()
    try:
        os.listdir(f"/proc/{parent}/fd")
        open(f"/proc/{parent}/mem", "rb").close()
    except OSError:
        return "hidden"
    return sum(x)
"""


@pytest.mark.spec("LAW-2", "LAW-6")
@pytest.mark.parametrize(
    "text", [STOPS_THE_CLOCK, ANSWERS_ITSELF, READS_THE_SCRIPT], ids=["stops the clock", "answers itself", "reads"]
)
@pytest.mark.many(1)
async def test_a_call_neither_stops_the_clock_nor_answers_for_the_script(tmp_path: Path, text: str) -> None:
    verdict = await Trial(tmp_path, BASE, QUICK).verdict({"m.py": text})
    assert only(verdict).grade is Grade.REFUTED


@pytest.mark.spec("LAW-7")
async def test_honest_calls_are_proven_also_when_they_are_awaited(tmp_path: Path) -> None:
    text = "import asyncio\n\n\nasync def slow(x):\n    await asyncio.sleep(0)\n    return sum(x)\n"
    asked = checked_by({"call": "m:slow", "args": [[1, 2]], "returns": 3})
    assert only(await Trial(tmp_path, BASE, asked).verdict({"m.py": text})).grade is Grade.PROVEN


@pytest.mark.slow
@pytest.mark.spec("LAW-7")
async def test_a_call_may_start_processes_of_its_own_and_ask_git(tmp_path: Path) -> None:
    text = (
        "import multiprocessing\nimport pathlib\nimport subprocess\n\n\n"
        "def slow(x):\n"
        "    here = pathlib.Path(__file__).parent\n"
        "    if (here / '.git').exists():\n"
        "        subprocess.run(['git', 'rev-parse', 'HEAD'], check=True, cwd=here, capture_output=True)\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        return pool.apply(sum, (x,))\n"
    )
    asked = checked_by(
        {"call": "m:slow", "args": [[1, 2]], "returns": 3}, {"call": "m:slow", "args": [[]], "returns": 0}
    )
    assert only(await Trial(tmp_path, BASE, asked).verdict({"m.py": text})).grade is Grade.PROVEN


LEFT = "import {}\n\n\ndef wait(seconds=600):\n    time.sleep(seconds)\n\n\ndef slow(x):\n    {}\n    return sum(x)\n"
THREAD = LEFT.format("threading, time", "threading.Thread(target=wait).start()")
PROCESS = LEFT.format("multiprocessing, time", "multiprocessing.Process(target=wait).start()")
LEFT_OPEN = (
    "import multiprocessing\nimport queue\nimport threading\nfrom concurrent import futures\n\n\n"
    "def slow(x):\n"
    "    pool = futures.ThreadPoolExecutor(2)\n"
    "    threading.Thread(target=queue.Queue().get, daemon=True).start()\n"
    "    threading.Timer(0.2, print).start()\n"
    "    multiprocessing.Process(target=queue.Queue().get, daemon=True).start()\n"
    "    return sum(pool.map(int, x))\n"
)


MANAGER = (
    "import multiprocessing\n\n\ndef slow(x):\n    global manager\n    manager = multiprocessing.Manager()\n"
    "    return sum(manager.list(x))\n"
)


@pytest.mark.many(1)
@pytest.mark.spec("LAW-2", "LAW-7")
@pytest.mark.parametrize(
    ("text", "deserved"),
    [
        pytest.param(MANAGER, Grade.PROVEN, id="an honest manager"),
        pytest.param(THREAD, Grade.REFUTED, id="a thread"),
        pytest.param(PROCESS, Grade.REFUTED, id="a process"),
        pytest.param(LEFT_OPEN, Grade.PROVEN, id="honest"),
    ],
)
async def test_a_call_has_passed_when_its_process_would_end(tmp_path: Path, text: str, deserved: Grade) -> None:
    asked = checked_by({"call": "m:slow", "args": [[1, 2]], "returns": 3, "within_s": 3})
    verdict = await Trial(tmp_path, BASE, asked).verdict({"m.py": text})
    assert only(verdict).grade is deserved, verdict.evidence
    details = {one.detail for fact in verdict.evidence for one in fact.tried}
    assert any("did not end" in one for one in details) is (deserved is Grade.REFUTED)


# -- malformed cases --------------------------------------------------------------------------------------------------

DEEP: list[Any] = []
for _ in range(200):
    DEEP = [DEEP]
NONE: list[dict[str, Any]] = [
    {"call": "no target"},
    {"call": "m:f", "returns": {"$float": "abc"}},
    {"call": "m:f", "returns": {"$float": [1]}},
    {"call": "m:f", "returns": [{"$set": 5}]},
    {"call": "m:f", "returns": {"$bytes": "\ud800"}},
    {"call": "m:f", "returns": DEEP},
    {"call": "m:f", "args": [{"$set": [[1]]}]},
    {"call": "m:f", "args": [{"$tupel": [1]}]},
    {"call": "m:f", "args": [{"$bytes": 5}]},
    {"call": "m:f", "args_after": [{"$tuple": None}]},
    {"call": "m:f", "within_s": math.nan},
    {"call": "m:f", "within_s": math.inf},
    {"call": "m:f", "within_s": 0},
    {"run": []},
    {"run": ["tr\0ue"]},
    {"run": ["true", "x" * 200_000]},
    {"run": ["true", "{files}" * 10_000]},
    {"run": ["true", "\ud800"]},
    {"run": ["true"], "stdin": "\ud800"},
    {"run": ["true"], "stdout": "\ud800"},
    {"run": ["true"], "stdout_json": {"$float": "abc"}},
    {"run": ["true"], "files": {"a": "", "a/b": ""}},
    {"run": ["true"], "files": {"x" * 300: ""}},
    {"run": ["true"], "files": {"x/" * 900 + "x": ""}},
    {"run": ["true"], "files": {"a\0": ""}},
    {"run": ["true"], "files": {"": ""}},
    {"run": ["true"], "files": {"../a": ""}},
    {"run": ["true"], "files": {"a": "\udfff"}},
]
SOME: list[dict[str, Any]] = [
    {"call": "m:f", "args": [{"$set": [1]}, {"$bytes": "é"}], "returns": {"$ref": "#/a"}},
    {"call": "m:f", "returns": {"$iterator": [{"$object": "a.B"}, {"$float": "nan"}]}},
    {"run": ["true", "{files}/a"], "files": {"a": "", "b/c": "x", "b/d": ""}, "stdout": "é"},
]


@pytest.mark.spec("LAW-2")
@pytest.mark.parametrize("data", NONE, ids=[ascii(one)[:60] for one in NONE])
def test_a_case_that_cannot_be_run_is_told_by_its_flaw(data: dict[str, Any]) -> None:
    assert case_flaw(case(**data))


@pytest.mark.parametrize("data", SOME, ids=[ascii(one)[:60] for one in SOME])
def test_a_case_that_can_be_run_has_no_flaw(data: dict[str, Any]) -> None:
    assert not case_flaw(case(**data))


@pytest.mark.spec("LAW-2")
async def test_no_objection_and_no_answer_ends_the_engine(tmp_path: Path) -> None:
    trial = Trial(tmp_path, BASE, checked_by({"call": "m:f", "returns": {"a": 1}}))
    contract = await trial.seal()
    flawed = ({"run": ["tr\0ue"]}, {"run": ["true"], "files": {"x" * 300: ""}}, {"call": "m:f", "returns": NONE[1]})
    objections = [Finding(what="x", requirement="it", case=case(**one)) for one in flawed]
    honest = await trial.head({"m.py": "def f():\n    return {'a': 1}\n"})
    assert only(await trial.prove(contract, honest, *objections)).grade is not Grade.REFUTED
    huge = await trial.head({"m.py": "def f():\n    return {10**5000: 1}\n"})
    assert only(await trial.prove(contract, huge)).grade is Grade.REFUTED
    half = await trial.head({"m.py": "def f():\n    raise ValueError('\\ud800')\n"})
    verdict = await trial.prove(contract, half)
    assert only(verdict).grade is Grade.REFUTED
    assert json.loads(verdict.model_dump_json())


@pytest.mark.spec("LAW-2")
@pytest.mark.parametrize("asked", [1e9, math.inf, math.nan, -1.0, 0.0])
def test_an_agents_case_is_waited_for_no_longer_than_the_engine_can(asked: float) -> None:
    assert with_time_limit(case(call="m:f", within_s=asked)).within_s == BOUND_S
    assert with_time_limit(case(run=["true"], within_s=asked)).within_s == BOUND_S
    modest = case(call="m:f", within_s=2)
    assert with_time_limit(modest) is modest


@pytest.mark.spec("LAW-2")
@pytest.mark.parametrize("text", ["1e999", "-1e999", "NaN", "Infinity", '"\\ud800"', "[" * 5000 + "]" * 5000])
def test_a_reply_that_cannot_be_kept_breaks_the_contract(text: str) -> None:
    with pytest.raises(BrokenReply):
        parse_reply(f'{{"a": {text}}}'.encode())
    assert parse_reply(b'{"a": 1.5e300}') == {"a": 1.5e300}
