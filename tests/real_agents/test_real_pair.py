"""The demo's plan, built by the real Claude Code, checked by the real Codex, on the scripted model; A lies in 1B."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.real_agents.model import Answer, ModelServer, Read, Run, Script, Write
from tests.real_agents.model.turn import Turn
from trued.cli.demo import agents as demo
from trued.cli.demo.place import DemoPlace, create_place
from trued.engine.engine import Engine
from trued.engine.run_store import RunStore
from trued.model import Event, Grade
from trued.support.hashing import folder_name

PROGRAMS = Path(__file__).parents[2] / ".cache" / "agents" / "bin"
FILES = {"1A": "textkit/slug.py", "1B": "textkit/count.py", "2A": "textkit/__main__.py"}
CODE = {"1A": demo.SLUG, "1B": demo.COUNT, "2A": demo.MAIN}
ENGINE_DIES, KEEPER_DIES = "chunk 1A/purple-team-b#1", "chunk 2A/purple-team-a#1"


def played(turn: Turn) -> Script:
    """Who asks, and for which chunk, stands in what was said; whether it lies depends on whether it was caught."""
    everything = "\n".join(turn.users)
    chunk = re.findall(r"# (?:Your task: |Continue with )(\w+)", everything)[-1]
    caught = "Continue with" in turn.asked or "Continue with" in turn.users[-1]
    if "Purple Team B" in everything:
        review = {"result": "PASS", "steel_man": ["reads well"], "gaps": [], "requirements": [], "fixed": []}
        slow = [Run("sleep 4")] if chunk == "1A" else []
        return Script([Run(f"cat {FILES[chunk]}"), *slow, Answer({**review, "status": "DONE", "summary": "fine"})])
    code = CODE[chunk] if chunk != "1B" or caught else demo.LIE
    read = [Read(FILES[chunk])] if chunk == "2A" or caught else []
    slow = [Run("sleep 4")] if chunk == "2A" else []
    built = {"implemented": [f"all of {chunk}"], "files": [{"path": FILES[chunk], "what": "new"}], "notes": []}
    answer = Answer({**built, "status": "DONE", "summary": "all tests pass"})
    return Script([*read, Write(FILES[chunk], code), *slow, answer])


class Pair:
    """One run of `trued` in processes of its own, and the journal that it leaves."""

    def __init__(self, folder: Path, model: ModelServer) -> None:
        home = folder / "user"
        home.mkdir()
        environ = {
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "HOME": str(home),
            "VIRTUAL_ENV": os.environ.get("VIRTUAL_ENV", ""),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": model.url,
            "CODEX_API_KEY": "none",
            "OPENAI_BASE_URL": f"{model.url}/v1",
        }
        self.place: DemoPlace = create_place(folder / "demo", environ)
        self.engine = Engine(RunStore(self.place.home, environ))
        self.run = ""

    def started(self, *words: str) -> "subprocess.Popen[bytes]":
        with (self.place.folder / "output.txt").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "trued", *words],
                cwd=self.place.repository,
                env=dict(self.place.environ),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def events(self) -> list[Event]:
        self.run = self.run or next((one.id for one in self.engine.store.journal.runs()), "")
        return self.engine.store.journal.events(self.run) if self.run else []

    def until(self, what: Callable[[], Any], child: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + 240
        while not what():
            assert child.poll() is None, (self.place.folder / "output.txt").read_text()[-3000:]
            assert time.monotonic() < deadline, (self.place.folder / "output.txt").read_text()[-3000:]
            time.sleep(0.05)

    def at_work(self, key: str) -> bool:
        """The agent of this call has begun its slow command."""
        file = self.engine.store.folder(self.run) / "spool" / f"{folder_name(key)}.1" / "events.jsonl"
        return any(event.key == key for event in self.events()) and file.exists() and "sleep 4" in file.read_text()

    def keeper(self, key: str) -> int:
        lock = self.engine.store.folder(self.run) / "spool" / f"{folder_name(key)}.1" / "lock"
        return int(lock.read_text().partition(":")[0])


@pytest.mark.agents
@pytest.mark.spec("AGT-1", "RUN-2", "RUN-5", "PUR-5", "PUR-7")
def test_the_demo_plan_is_proven_by_claude_code_and_codex_though_one_lies_and_two_are_killed(tmp_path: Path) -> None:
    with ModelServer(played) as model:
        pair = Pair(tmp_path, model)
        words = ("run", "PLAN.md", "--yes", "--requirements", str(pair.place.requirements))
        child = pair.started(*words, "--agent", "purple-team-a=claude", "--agent", "purple-team-b=codex")
        pair.until(lambda: pair.at_work(ENGINE_DIES), child)
        child.kill()
        assert child.wait() == -signal.SIGKILL
        child = pair.started("resume", pair.run)
        pair.until(lambda: pair.at_work(KEEPER_DIES), child)
        os.kill(pair.keeper(KEEPER_DIES), signal.SIGKILL)
        code = child.wait(240)
        output = (pair.place.folder / "output.txt").read_text()
        record, happened = pair.engine.store.journal.run(pair.run), pair.events()
        kinds = {(event.key, event.kind) for event in happened}
        verdicts = {event.key: event.data for event in happened if event.kind == "proven"}
        pair.engine.close()
    assert (code, record.grade) == (0, Grade.PROVEN), output[-3000:]
    assert not model.troubles
    assert (ENGINE_DIES, "adopted") in kinds or (ENGINE_DIES, "report found") in kinds
    assert (KEEPER_DIES, "session resumed") in kinds
    assert verdicts["chunk 1B/prove"]["holds"], json.dumps(verdicts)
    assert any(event.kind == "judged" and event.data.get("grade") == Grade.REFUTED for event in happened)
    answers = [event for event in happened if event.kind == "answered"]
    assert len(answers) == len({event.key for event in answers}) == 8  # three chunks, and one round more for the lie
    assert not [pid for pid in _alive() if str(tmp_path) in pid]


def _alive() -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found.append((folder / "cmdline").read_bytes().decode("utf-8", "replace"))
        except OSError:
            continue
    return found
