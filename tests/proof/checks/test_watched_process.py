"""What a case does not say stays as on the base: whether callers await a result, and whether the process ends."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, only
from trued.model import Grade, Verdict

PLAIN = "def total(x):\n    return sum(x) + 1\n"
RIGHT = "def total(x):\n    return sum(x)\n"
ASYNC = "async def total(x):\n    return sum(x)\n"
ASYNC_BASE = "async def total(x):\n    return sum(x) + 1\n"
REFUSES = "def total(x):\n    raise NotImplementedError\n"
# A call with an argument that the base's function lacks raises an error before there is a coroutine.
NO_SUCH_ARGUMENT = "async def total():\n    return 0\n"


def asked(*cases: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": "it", "text": "it works", "checks": [{"kind": "examples", "cases": list(cases)}]}]


TOTAL = asked({"call": "m:total", "args": [[1, 2]], "returns": 3, "within_s": 3})


def kinds(verdict: Verdict) -> set[str]:
    return {one.kind for fact in verdict.evidence for one in fact.tried}


@pytest.mark.many(1)
@pytest.mark.spec("LAW-6", "LAW-7")
@pytest.mark.parametrize(
    ("base", "head", "deserved"),
    [
        pytest.param(PLAIN, ASYNC, Grade.REFUTED, id="a plain function becomes async"),
        pytest.param(REFUSES, ASYNC, Grade.REFUTED, id="a function that only raised becomes async"),
        pytest.param(ASYNC_BASE, RIGHT, Grade.REFUTED, id="an async function becomes plain"),
        pytest.param(PLAIN, RIGHT, Grade.PROVEN, id="plain stays plain"),
        pytest.param(ASYNC_BASE, ASYNC, Grade.PROVEN, id="async stays async"),
        pytest.param(NO_SUCH_ARGUMENT, ASYNC, Grade.PROVEN, id="async stays async, with a new argument"),
        pytest.param("", ASYNC, Grade.PROVEN, id="a new function may be async"),
    ],
)
async def test_callers_await_a_result_if_they_do_on_the_base(
    tmp_path: Path, base: str, head: str, deserved: Grade
) -> None:
    verdict = await Trial(tmp_path, {"m.py": base}, TOTAL).verdict({"m.py": head})
    assert only(verdict).grade is deserved, only(verdict).why
    assert ("awaited" in kinds(verdict)) is (deserved is Grade.REFUTED)


LATE = "import {}\n\n\ndef total(x):\n    {}\n    return sum(x)\n"
EXIT_HANDLER = LATE.format("atexit, time", "atexit.register(time.sleep, 600)")
HONEST_HANDLER = LATE.format("atexit, logging", "atexit.register(logging.shutdown)")
CHILD = LATE.format("subprocess", "subprocess.Popen(['sleep', '600'])")
DETACHED = LATE.format("subprocess", "subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL)")
KEPT = "import threading\n\nthreading.Thread(target=threading.Event().wait).start()\n"


@pytest.mark.many(1)
@pytest.mark.spec("LAW-6", "LAW-7")
@pytest.mark.parametrize(
    ("base", "head", "deserved"),
    [
        pytest.param("", EXIT_HANDLER, Grade.REFUTED, id="an exit handler that never ends"),
        pytest.param("", CHILD, Grade.REFUTED, id="a child that keeps the output open"),
        pytest.param("", KEPT + RIGHT, Grade.REFUTED, id="a thread of a new module"),
        pytest.param("", HONEST_HANDLER, Grade.PROVEN, id="an exit handler that ends"),
        pytest.param("", DETACHED, Grade.PROVEN, id="a detached child"),
        pytest.param(KEPT + PLAIN, KEPT + RIGHT, Grade.PROVEN, id="a thread that the base has, too"),
        pytest.param(KEPT, KEPT + RIGHT, Grade.PROVEN, id="a new function beside a thread of the base"),
    ],
)
async def test_a_call_leaves_nothing_running_for_which_its_caller_waits(
    tmp_path: Path, base: str, head: str, deserved: Grade
) -> None:
    verdict = await Trial(tmp_path, {"m.py": base}, TOTAL).verdict({"m.py": head})
    assert only(verdict).grade is deserved, (only(verdict).why, verdict.evidence)
    assert ("lingers" in kinds(verdict)) is (deserved is Grade.REFUTED)


TIMER = "setInterval(() => {}, 1000);\n"
NODE_PLAIN = "export const total = (x) => x.length;\n"
NODE_RIGHT = "export const total = (x) => x.reduce((a, b) => a + b);\n"
NODE_ASYNC = "export const total = async (x) => x.reduce((a, b) => a + b);\n"
UNREFERENCED = "setInterval(() => {}, 1000).unref();\n"


@pytest.mark.many(1)
@pytest.mark.spec("LAW-6", "LAW-7")
@pytest.mark.skipif(shutil.which("node") is None, reason="no Node on the path")
@pytest.mark.parametrize(
    ("base", "head", "kind"),
    [
        pytest.param(NODE_PLAIN, NODE_ASYNC, "awaited", id="a plain function becomes async"),
        pytest.param(NODE_PLAIN, TIMER + NODE_RIGHT, "lingers", id="a timer"),
        pytest.param(NODE_PLAIN, NODE_RIGHT, "", id="plain stays plain"),
        pytest.param(NODE_PLAIN, UNREFERENCED + NODE_RIGHT, "", id="a timer for which Node does not wait"),
        pytest.param("export {};\n", NODE_ASYNC, "", id="a new function may be async"),
        pytest.param(NODE_PLAIN.replace("(x)", "async (x)"), NODE_RIGHT, "", id="async becomes plain"),
        pytest.param(TIMER + NODE_PLAIN, TIMER + NODE_RIGHT, "", id="a timer that the base has, too"),
        pytest.param(TIMER, TIMER + NODE_RIGHT, "", id="a new function beside a timer of the base"),
    ],
)
async def test_node_is_held_to_the_same(tmp_path: Path, base: str, head: str, kind: str) -> None:
    case = {"call": "m.mjs:total", "args": [[1, 2]], "returns": 3, "within_s": 3}
    verdict = await Trial(tmp_path, {"m.mjs": base}, asked(case)).verdict({"m.mjs": head})
    assert only(verdict).grade is (Grade.REFUTED if kind else Grade.PROVEN), (only(verdict).why, verdict.evidence)
    assert kinds(verdict) == {kind}


SAYS = "import os, subprocess, sys, time\nprint('hi{}', flush=True)\n{}"
LEAVES = "subprocess.Popen(['sleep', '600'])\n"
FORKS = "os._exit(3) if os.fork() else time.sleep(600)\n"
DAEMON = "subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL)\n"
SHORT = "subprocess.Popen(['sleep', '0.3'])\n"


@pytest.mark.many(1)
@pytest.mark.spec("LAW-6", "LAW-7")
@pytest.mark.parametrize(
    ("base", "head", "code", "deserved"),
    [
        pytest.param("", LEAVES, 0, Grade.REFUTED, id="a child"),
        pytest.param("", FORKS, 3, Grade.REFUTED, id="a fork"),
        pytest.param("", DAEMON, 0, Grade.PROVEN, id="a detached child"),
        pytest.param("", SHORT, 0, Grade.PROVEN, id="a child that ends"),
        pytest.param(LEAVES, LEAVES, 0, Grade.PROVEN, id="a child that the base leaves, too"),
    ],
)
async def test_a_command_line_ends_when_nobody_keeps_its_output_open(
    tmp_path: Path, base: str, head: str, code: int, deserved: Grade
) -> None:
    case = {"run": ["python", "say.py"], "stdin": "x", "stdout": "hi\n", "exit": code, "within_s": 2}
    trial = Trial(tmp_path, {"say.py": SAYS.format("?", base)}, asked(case))
    verdict = await trial.verdict({"say.py": SAYS.format("", head)})
    assert only(verdict).grade is deserved, (only(verdict).why, verdict.evidence)
    assert ("lingers" in kinds(verdict)) is (deserved is Grade.REFUTED)
