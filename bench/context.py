"""Fresh contexts against one long session: the loyalty ticket by the real Claude Code, on the scripted model.

Both arms do the same work with the same tool output; what is counted is what reaches the model: a quarter of the
characters of every request, prompts and tools included. A long session sends everything again with each request.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.show import Target, show
from examples.shop import agents as shop
from tests.real_agents.claude import PROGRAM, claude
from tests.real_agents.model import Answer, Edit, ModelServer, Read, Run, Say, Script, Write
from tests.real_agents.model.script import Step
from tests.real_agents.model.server import Seen
from tests.real_agents.model.tools import ANSWER
from tests.real_agents.model.turn import Turn
from trued.engine.engine import Engine
from trued.engine.run_store import RunStore

ROOT = Path(__file__).parent.parent
LIBRARY = Path(sysconfig.get_path("stdlib"))
# What the document promises, in tokens.
DOCUMENT = {
    "orchestrator": 10_000,
    "impl-agent": 40_000,
    "verify-agent": 30_000,
    "fix-agent": 30_000,
    "pr-agent": 30_000,
}
ONE_SESSION = 140_000
ROLES = {"files_changed": "impl-agent", "issues": "verify-agent", "files_modified": "fix-agent", "body": "pr-agent"}


def reading(*places: tuple[str, int, int]) -> list[Step]:
    """Files as a person's project has them: real code, some hundred lines each."""
    return [Run(f"sed -n {first},{last}p {LIBRARY}/{name}.py") for name, first, last in places]


# Tool output of a middling ticket, about as much as the document estimates for each phase (30k, 25k and 20k tokens):
# files read before the first edit, a test run, pages looked at, files read again.
EXPLORED = reading(
    *(("argparse", 1, 260), ("http/server", 1, 300), ("http/cookies", 1, 240), ("html/parser", 1, 260)),
    *(("urllib/parse", 1, 300), ("json/decoder", 1, 260), ("string", 1, 200), ("textwrap", 1, 260)),
)
TESTED = [Run(f"{sys.executable} -m dis {LIBRARY}/string.py | head -n 260")]  # as long as a talkative test run
LOOKED = reading(("html/entities", 1, 420), ("http/client", 1, 440), ("calendar", 1, 440))  # as long as three pages
AGAIN = reading(("http/cookies", 1, 520), ("textwrap", 1, 480))


@dataclass(frozen=True)
class Arm:
    """What one way of working sent."""

    peaks: dict[str, int]  # the fullest context of each agent
    sent: int  # tokens of all requests together
    requests: int

    @property
    def peak(self) -> int:
        return max(self.peaks.values())


def edits() -> list[Step]:
    files: list[Step] = [Write(name, text) for name, text in shop.FILES.items()]
    return [*files, Read("pages.js"), Edit("pages.js", shop.HINGE, shop.HOOKED + shop.HINGE)]


def mend() -> list[Step]:
    return [Read("assets/loyalty.js"), Write("assets/loyalty.js", shop.ALWAYS)]


# -- fresh: the ticket workflow ----------------------------------------------------------------------------------------


def played(turn: Turn) -> Script:
    """Each role's part, known by the shape of its answer; the first verification finds what the engine finds."""
    role = role_of(turn)
    brief = "\n".join(turn.users)
    if role == "impl-agent":
        reply: dict[str, Any] = {**shop.IMPLEMENTED, "branch_name": shop.branch({"brief": brief})}
        return Script([*EXPLORED, *edits(), *TESTED, Answer(reply)])
    if role == "verify-agent":
        found = {"summary": "I looked", "passed": True, "issues": [], "screenshots": []}
        return Script([*LOOKED, *TESTED, Answer(found)])
    if role == "fix-agent":
        return Script([*AGAIN, *mend(), *TESTED, Answer(shop.FIXED)])
    return Script([Answer(shop.WRITTEN)])


def role_of(turn: Turn) -> str:
    shape = next((turn.tools[name] for name in ANSWER if name in turn.tools), {})
    fields = shape.get("properties") or {}
    return next((role for name, role in ROLES.items() if name in fields), "")


def fresh(folder: Path) -> tuple[Arm, dict[str, int]]:
    """`trued run ticket.md`, with Claude Code in every role; and what the engine itself recorded of each role."""
    place = folder / "shop"
    subprocess.run([ROOT / "examples" / "shop" / "start.sh", str(place)], check=True, capture_output=True)
    home, user = folder / "home", folder / "user"
    user.mkdir()
    with ModelServer(played) as model:
        environ = {
            "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
            "HOME": str(user),
            "TRUED_HOME": str(home),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": model.url,
        }
        words = ("run", "../ticket.md", "--requirements", "../requirements.yaml", "--agent", "claude", "--yes")
        done = subprocess.run(
            [sys.executable, "-m", "trued", *words],
            cwd=place / "shop",
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
    if done.returncode != 0 or model.troubles:
        sys.exit(f"the ticket was not proven: {model.troubles} {done.stdout[-2000:]}{done.stderr[-3000:]}")
    return counted(model.seen), recorded(home, environ)


def recorded(home: Path, environ: dict[str, str]) -> dict[str, int]:
    """The peak of each role as `trued show` tells it, and what the orchestrator held: the ticket, summaries, states."""
    engine = Engine(RunStore(home, environ))
    try:
        run = engine.store.journal.runs()[0].id
        peaks: dict[str, int] = {}
        summaries = len(engine.store.inputs(run).goal.text)
        for event in engine.store.journal.events(run):
            if event.kind == "answered":
                role = str(event.data["role"])
                peaks[role] = max(peaks.get(role, 0), int(event.data["tokens"]["peak"]))
                summaries += len(str(event.data["reply"]))
    finally:
        engine.close()
    return {"orchestrator": -(-summaries // 4), **peaks}


# -- one long session --------------------------------------------------------------------------------------------------


def long(folder: Path) -> Arm:
    """The same steps in one conversation of Claude Code: explore, implement, verify, fix, verify again."""
    place = folder / "long"
    subprocess.run([ROOT / "examples" / "shop" / "start.sh", str(place)], check=True, capture_output=True)
    steps = [*EXPLORED, *edits(), *TESTED, *LOOKED, *TESTED, *AGAIN, *mend(), *TESTED, *LOOKED, *TESTED, Say("Done.")]
    ticket = (
        "Implement this ticket, verify it in the browser, and fix what is wrong.\n\n"
        + (place / "ticket.md").read_text()
    )
    with ModelServer(Script(steps)) as model:
        spoken = claude(ticket, folder=place / "shop", home=folder / "alone", url=model.url, variables={})
    if spoken.code != 0 or model.troubles:
        sys.exit(f"the long session failed: {model.troubles} {spoken.stderr[-2000:]}")
    return counted(model.seen, "one session")


def counted(seen: Iterable[Seen], name: str = "") -> Arm:
    peaks: dict[str, int] = {}
    asked = [one for one in seen if one.turn.tools and not one.fault]
    for one in asked:
        role = name or role_of(one.turn) or "beside"
        peaks[role] = max(peaks.get(role, 0), one.usage.both)
    return Arm(peaks, sum(one.usage.sent for one in asked), len(asked))


def main() -> bool:
    with tempfile.TemporaryDirectory(prefix="trued-context-") as name:
        (apart, told), alone = fresh(Path(name)), long(Path(name))
    peaks = {"orchestrator": told["orchestrator"], **apart.peaks}
    rows = [
        [role, f"{peak:,}", f"{told.get(role, 0):,}", f"{DOCUMENT.get(role, 0):,}" if role in DOCUMENT else ""]
        for role, peak in peaks.items()
    ]
    rows.append(["one long session", f"{alone.peak:,}", "", f"{ONE_SESSION:,}"])
    rows.append(["sent, fresh", f"{apart.sent:,}", "", f"in {apart.requests} requests"])
    rows.append(["sent, long", f"{alone.sent:,}", "", f"in {alone.requests} requests"])
    targets = [Target(f"peak context of {role}", peaks.get(role, 0), limit) for role, limit in DOCUMENT.items()]
    targets += [
        Target("fullest fresh context, to the long session's", apart.peak / alone.peak, 1.0),
        Target("tokens sent by fresh agents, to those of one session", apart.sent / alone.sent, 1.0),
    ]
    data = {"fresh": vars(apart), "recorded": told, "long": vars(alone)}
    return show("context", ["tokens", "peak", "as trued records it", "the document"], rows, targets, data)
