"""Real Claude Code with an empty environment, a HOME of its own, a key that is none, and the scripted model."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parents[2] / ".cache" / "agents" / "bin" / "claude"
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
}
TOOLS = "Bash,Write,Edit,Read,Agent"


@dataclass(frozen=True)
class Spoken:
    """How a run of Claude Code ended, and every event that it told of."""

    code: int
    events: list[dict[str, Any]]
    stderr: str

    @property
    def result(self) -> dict[str, Any]:
        return next(one for one in reversed(self.events) if one["type"] == "result")

    @property
    def text(self) -> str:
        return json.dumps(self.events)


def claude(prompt: str, *, folder: Path, home: Path, url: str, variables: Mapping[str, str]) -> Spoken:
    """One turn without anybody at the keyboard."""
    home.mkdir(exist_ok=True)
    words = [str(PROGRAM), "-p", prompt, "--output-format", "stream-json", "--verbose"]
    permissions = ["--permission-mode", "acceptEdits", "--tools", TOOLS, "--allowedTools", "Bash"]
    done = subprocess.run(
        [*words, *permissions],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": url,
            **QUIET,
            **variables,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return Spoken(done.returncode, events, done.stderr)
