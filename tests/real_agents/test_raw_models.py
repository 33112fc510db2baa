"""The coder beyond what all agents are tried for: every dialect, its secret, its memory, what it pays for."""

import asyncio
import importlib
import json
import os
import signal
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.agents.supervisor.world import World, wait_for
from tests.real_agents.model import DROP, Answer, Call, Fault, ModelServer, Run, Say, Script, Step, Write
from trued.agents.driver.providers import PROVIDERS
from trued.wire import Amount, Confinement, Order, ProcessLimits, Report
from trued.workspace.sandbox.levels import level_state

pytestmark = pytest.mark.agents

KEY = "sk-planted-key-of-the-user-0123456789"
DONE = Answer({"summary": "done"})
MADE = Write("made.txt", "made\n")
DIALECTS = {
    "anthropic:claude-sonnet-4-5": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", ""),
    "openai:gpt-5": ("OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    "openai-chat:gpt-5": ("OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    "google:gemini-2.5-pro": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", ""),
    "ollama:qwen3:8b": ("OLLAMA_API_KEY", "OLLAMA_BASE_URL", "/v1"),
}
QUICK = "openai-chat:gpt-5"


@dataclass
class Desk:
    """A raw model, the scripted server in its place, and all that is between them in a run."""

    world: World
    server: ModelServer
    model: str = QUICK
    session: str = field(default_factory=lambda: str(uuid.uuid4()))

    def plays(self, *steps: Step, faults: tuple[Fault, ...] = ()) -> None:
        self.server.script = Script(steps, faults=list(faults))

    def order(self, call: str = "one", **changes: Any) -> Order:
        given: dict[str, Any] = {
            "session": self.session,
            "tools": ("read", "edit", "search", "execute"),
            "limits": ProcessLimits(idle_s=60, wall_s=180),
            "confinement": Confinement(level=self.world.level, network="host"),
        }
        return self.world.order(f"coder:{self.model}", call, **(given | changes))

    async def works(self, call: str = "one", **changes: Any) -> Report:
        key, address, path = DIALECTS[self.model]
        variables = {key: KEY, address: f"{self.server.url}{path}"}
        runtime = self.world.runtime(variables=lambda _: variables)
        report = await runtime.work(self.order(call, **changes), self.world.tell)
        assert not self.world.left()
        self.tells_nobody()
        return report

    def tells_nobody(self) -> None:
        written = self.world.files() + json.dumps([one.body for one in self.server.seen])
        for folder in (self.world.clone, self.world.top / "home"):
            written += "".join(file.read_text() for file in folder.rglob("*") if file.is_file())
        assert KEY not in written

    @property
    def history(self) -> Path:
        return self.world.top / "home" / ".trued-coder" / f"{self.session}.json"


@pytest.fixture(params=[QUICK])
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    world = World(tmp_path / "world", level="bubblewrap" if level_state("bubblewrap").works else "none")
    with ModelServer(Script([Say("nothing is scripted")])) as server:
        yield Desk(world, server, request.param)
    assert server.troubles == []


every_dialect = pytest.mark.parametrize("desk", DIALECTS, indirect=True)


def test_the_library_knows_every_provider_of_ours() -> None:
    providers = importlib.import_module("pydantic_ai.providers")
    for name, known in PROVIDERS.items():
        assert providers.infer_provider_class(known.known_as or name)


@pytest.mark.spec("AGT-1", "AGT-3", "AGT-6")
@every_dialect
async def test_it_works_in_every_dialect_and_mends_its_answer_itself(desk: Desk) -> None:
    looks = (Call("grep", {"pattern": "made"}), Call("list_files", {}), Call("read_file", {"path": "made.txt"}))
    desk.plays(MADE, Run("cp made.txt copied.txt"), *looks, Answer({"summary": 7}), DONE)
    report = await desk.works()
    assert (report.state, report.reply, report.asks) == ("done", {"summary": "done"}, 1), report.why
    assert {path.name for path in desk.world.clone.iterdir()} == {"made.txt", "copied.txt"}
    said = "\n".join(desk.server.asked[-1].texts)
    assert "made.txt:1:made" in said
    assert "is not of type 'string'" in said
    total = desk.server.total()
    assert (report.usage.tokens_in, report.usage.tokens_out, report.usage.requests) == (total.sent, total.said, 7)
    assert report.usage.peak == desk.server.peak()


@every_dialect
async def test_a_status_is_told_as_what_it_is_in_every_dialect(desk: Desk) -> None:
    desk.plays(DONE, faults=(Fault(429, times=9, retry_after=90),))
    late = await desk.works()
    assert (late.state, late.kind) == ("failed", "rate"), late.why
    assert 60 < late.until - time.time() <= 90
    desk.plays(DONE, faults=(Fault(401, times=9),))
    refused = await desk.works("two", resume=True)
    assert (refused.state, refused.kind) == ("failed", "auth"), refused.why
    assert len(desk.server.seen) == 2, "each was asked for once"


@pytest.mark.spec("AGT-4")
@pytest.mark.parametrize("level", [level for level in ("bubblewrap", "none") if level_state(level).works])
async def test_its_key_cannot_be_found_by_what_it_runs(desk: Desk, level: str) -> None:
    desk.world.level = level
    above = "p=$PPID; while [ $p -gt 1 ]; do cat /proc/$p/environ; p=$(awk '{print $4}' /proc/$p/stat); done"
    inside = "cat /proc/1/environ; cat /proc/1/fd/0 </dev/null" if level == "bubblewrap" else "true"
    look = f"(env; set; {above if level == 'bubblewrap' else 'cat /proc/$PPID/environ'}; {inside}) > found.txt 2>&1"
    desk.plays(Run(look), Run("tr '\\0' '\\n' < found.txt | grep -c . ; ls -la ~ ~/.trued-coder"), DONE)
    report = await desk.works()
    assert report.state == "done", report.why
    assert "TRUED_CALL=" in (desk.world.clone / "found.txt").read_text()


@pytest.mark.spec("RUN-2")
async def test_after_a_kill_it_goes_on_and_pays_for_nothing_twice(desk: Desk) -> None:
    desk.plays(MADE, Run("echo begun > begun.txt; sleep 300"), DONE)
    work = asyncio.create_task(desk.works())
    await asyncio.to_thread(wait_for, (desk.world.clone / "begun.txt").exists, "the command", 60)
    desk.plays(DONE)
    os.kill(desk.world.supervisor(), signal.SIGKILL)
    report = await work
    assert (report.state, report.resumed) == ("done", True), report.why
    assert len(desk.server.seen) == 3
    sent = desk.server.seen[-1].turn
    assert sent.users[0] == "Build it."
    assert "You were interrupted" in sent.users[-1]
    assert len(sent.texts) == len(sent.users) + 2, "the file that was written, and the command that was interrupted"


@pytest.mark.spec("RUN-2")
async def test_a_second_order_remembers_and_a_lost_memory_begins_afresh(desk: Desk) -> None:
    desk.plays(DONE)
    await desk.works()
    second = await desk.works("two", resume=True, brief="Now this.")
    assert (second.state, second.resumed) == ("done", True)
    assert desk.server.asked[-1].users == ("Build it.", "Now this.")
    desk.history.write_text("[{")
    third = await desk.works("three", resume=True, brief="And that.", anew="From the beginning.")
    assert (third.state, third.resumed) == ("done", False)
    assert list(desk.server.asked[-1].users) == ["From the beginning."]
    assert "session lost" in [event["kind"] for event in desk.world.events("three")]


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize("fault", [Fault(500), Fault(how=DROP, after=1)])
async def test_what_breaks_for_a_moment_is_asked_for_again_at_once(desk: Desk, fault: Fault) -> None:
    desk.plays(MADE, DONE, faults=(fault,))
    report = await desk.works()
    assert report.state == "done", report.why
    assert len(desk.server.seen) == 3
    (refused,) = [event for event in desk.world.events() if event["kind"] == "refused"]
    assert (refused["failure"], refused["final"]) == ("overloaded", False)


@pytest.mark.spec("RUN-6")
async def test_tokens_that_are_used_up_end_it_before_the_next_request(desk: Desk) -> None:
    desk.plays(*(Run(f"echo {number}") for number in range(20)), DONE)
    report = await desk.works(allowance=Amount(tokens=5000))
    assert (report.state, report.kind) == ("failed", "budget"), report.why
    spent = [one.usage.both for one in desk.server.seen]
    assert sum(spent[:-1]) <= 5000 < sum(spent)
    assert report.usage.tokens_in + report.usage.tokens_out == sum(spent)


@every_dialect
async def test_a_key_that_is_not_there_is_said_before_anything_is_sent(desk: Desk) -> None:
    report = await desk.world.runtime().work(desk.order(), desk.world.tell)
    assert (report.state, report.kind) == ("failed", "auth"), report.why
    assert desk.server.seen == []


async def test_a_model_that_nobody_knows_is_said(desk: Desk) -> None:
    desk.plays(DONE, faults=(Fault(404, times=9, message="The model `gpt-nobody` does not exist"),))
    report = await desk.works()
    assert (report.state, report.kind) == ("failed", "crashed")
    assert "gpt-nobody" in report.why


@pytest.mark.spec("AGT-2", "PUR-4")
async def test_it_has_the_tools_of_its_role_alone(desk: Desk) -> None:
    desk.plays(Call("write_file", {"path": "made.txt", "content": "x"}), Call("delegate_task", {}), DONE)
    report = await desk.works(tools=("read", "search", "web", "browser"))
    assert report.state == "done", report.why
    assert set(desk.server.asked[0].tools) == {"read_file", "list_files", "grep", "final_result"}
    assert not (desk.world.clone / "made.txt").exists()
    (denied,) = [event for event in desk.world.events() if event["kind"] == "permission"]
    assert denied["tool"] == "write_file"


@pytest.mark.spec("AGT-5")
async def test_a_tool_that_it_lacks_can_become_a_question(desk: Desk) -> None:
    desk.plays(Call("write_file", {"path": "made.txt", "content": "x"}), DONE)
    report = await desk.works(tools=("read",), prompts="ask")
    assert report.state == "asks"
    assert "write_file" in report.question


@pytest.mark.spec("AGT-3")
async def test_an_answer_as_json_is_as_good_as_one_by_the_tool_and_prose_is_none(desk: Desk) -> None:
    desk.plays(Say('```json\n{"summary": "done"}\n```'))
    report = await desk.works()
    assert (report.state, report.reply, len(desk.server.seen)) == ("done", {"summary": "done"}, 1), report.why
    desk.plays(Say("I would rather talk."))
    talked = await desk.works("two", resume=True)
    assert (talked.state, talked.kind, talked.asks) == ("failed", "contract", 2)


@pytest.mark.spec("AGT-6")
async def test_a_context_that_is_nearly_full_is_made_shorter_and_that_is_told(desk: Desk) -> None:
    much = Run("head -c 48000 /dev/zero | tr '\\0' x")
    desk.model = "ollama:qwen3:8b"  # of which nobody knows how much it takes
    desk.plays(*[much] * 16, DONE)
    report = await desk.works()
    assert report.state == "done", report.why
    assert report.usage.compactions >= 1
    assert "tool result cleared" in json.dumps(desk.server.seen[-1].body)
    assert desk.server.seen[-1].usage.sent < desk.server.peak()
