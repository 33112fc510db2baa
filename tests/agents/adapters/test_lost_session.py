"""A session that is lost in mid-work: the next session gets all facts, and only its own usage is charged to it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trued.agents.driver.agent import Agent
from trued.agents.driver.program import LogLine, Program, ProgramExit
from trued.agents.driver.reply_format import ask_with_retry
from trued.agents.driver.streaming_runtime import StreamingRuntime
from trued.agents.driver.transcript import Transcript
from trued.agents.spool.call_folder import usage_reported
from trued.wire import Capabilities, Order, Report, Usage

ORDER = Order(
    "r", "a#2", "a", 1, "solo", "x", "go on", {"type": "object", "required": ["summary"]}, "s", True, "/", "/"
)
ORDER = replace(ORDER, native="old", anew="all facts", before=Usage(1000, 100, estimated=False))


def quiet(kind: str, **data: object) -> None:
    pass


def fold(event: dict[str, Any], transcript: Transcript) -> None:
    transcript.set_session(event["id"])
    transcript.add_request(Usage(event["sent"], 1))
    transcript.text, transcript.finished = event.get("text", ""), "text" in event


class Played:
    """A launcher: each run prints its line and has its exit."""

    def __init__(self, *runs: tuple[str, ProgramExit]) -> None:
        self.runs, self.orders = list(runs), list[Order]()

    async def __call__(self, order: Order, program: Program, log: LogLine) -> ProgramExit:
        self.orders.append(order)
        line, ended = self.runs.pop(0)
        if line and program.listener:
            program.listener.handle_line(line)
        return ended


def talking(launch: Played) -> StreamingRuntime:
    can = Capabilities(resume=True)
    return StreamingRuntime(
        Agent("X", can, program="sh", build_program=lambda *_: Program(("sh",)), fold=fold, lost=("lost",)), launch
    )


LOST, KILLED = ("", ProgramExit(1, stderr="that thread is lost")), ProgramExit(-9)
DONE = ('{"id": "new", "sent": 70, "text": "{\\"summary\\": \\"x\\"}"}', ProgramExit(0))


@pytest.mark.spec("RUN-6", "AGT-6")
async def test_what_the_lost_one_had_used_is_not_taken_off_what_the_new_one_counts() -> None:
    launch = Played(LOST, ('{"id": "new", "sent": 50}', KILLED), DONE)
    report = await talking(launch).work(ORDER, quiet)
    assert (report.state, report.resumed) == ("done", False)
    assert [(one.native, one.before.tokens_in) for one in launch.orders] == [("old", 1000), ("", 0), ("new", 50)]


@pytest.mark.spec("RUN-2")
async def test_killed_before_it_had_a_name_it_is_told_all_facts_again() -> None:
    launch = Played(LOST, ("", KILLED), DONE)
    await talking(launch).work(ORDER, quiet)
    assert not launch.orders[-1].resume
    assert "all facts" in launch.orders[-1].brief


@pytest.mark.spec("RUN-6", "AGT-3")
async def test_asked_again_in_the_new_one_the_lost_one_is_not_counted() -> None:
    asked: list[Order] = []

    async def ask(order: Order) -> Report:
        asked.append(order)
        reply = {"summary": "x"} if len(asked) == 2 else {}
        return Report("a", 1, "done", reply=reply, native="new", resumed=False, usage=Usage(50, 1, estimated=False))

    assert (await ask_with_retry(ORDER, ask, quiet, remembers=True)).asks == 2
    assert asked[1].before.tokens_in == 50


@pytest.mark.spec("RUN-6")
@pytest.mark.parametrize("between", ["began", "contract broken", "agent died", "session lost"])
def test_whoever_dies_in_the_second_ask_had_used_the_first_too(tmp_path: Path, between: str) -> None:
    told = [{"kind": "usage", "tokens_in": 60}, {"kind": "usage", "tokens_in": 100}, {"kind": between}]
    lines = [json.dumps(event) for event in (*told, {"kind": "usage", "tokens_in": 50})]
    (tmp_path / "events.jsonl").write_text("\n".join(lines))
    assert usage_reported(tmp_path).tokens_in == 150
