"""A small repository with a red requirement and a gate."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.warm import Warm

RED = "def slugify(text):\n    return text\n"
GREEN = 'def slugify(text):\n    return "-".join(text.lower().split())\n'
SECRET = "quux-zebra"  # an expected value that only the engine may see
REQUIREMENTS = f"""requirements:
  - id: slug
    text: slugify(text) lower-cases and joins words with one "-"
    checks:
      - kind: examples
        cases:
          - {{call: "slug:slugify", args: ["Quux  Zebra"], returns: "{SECRET}"}}
          - {{call: "slug:slugify", args: ["A"], returns: "a"}}
"""
WHO = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@dataclass(frozen=True)
class Yard:
    """A repository, a HOME, a TRUED_HOME and a requirements file beside it."""

    top: Path
    warm: Warm | None = None  # without it, every command starts a new interpreter

    @property
    def repository(self) -> Path:
        return self.top / "mein Projekt ä"

    @property
    def requirements(self) -> Path:
        return self.top / "requirements.yaml"

    @property
    def state(self) -> Path:
        return self.top / "state"

    @property
    def variables(self) -> dict[str, str]:
        inherited = {
            name: os.environ[name] for name in ("PATH", "LANG", "VIRTUAL_ENV", "PYTHONPATH") if name in os.environ
        }
        places = {"HOME": str(self.top / "home"), "TRUED_HOME": str(self.state)}
        return {**inherited, **places, **WHO, "GIT_CONFIG_NOSYSTEM": "1"}

    def write(self, path: str, content: str) -> Path:
        place = self.repository / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
        return place

    def git(self, *words: str, at: Path | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *words]
        return subprocess.run(
            command, cwd=at or self.repository, env=self.variables, capture_output=True, text=True, check=check
        )

    def trued(
        self, *words: str, stdin: str = "", at: Path | None = None, variables: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        surroundings = {**self.variables, **(variables or {})}
        if self.warm:
            return self.warm.run(words, folder=at or self.repository, variables=surroundings, stdin=stdin)
        return subprocess.run(
            [sys.executable, "-m", "trued", *words],
            cwd=at or self.repository,
            env=surroundings,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def install(self, *places: str, more: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        done = self.trued("gate", "install", *places, "--requirements", str(self.requirements), *more)
        assert done.returncode == 0, done.stderr
        return done

    def stop(self, session: str = "s1", *, active: bool = False, **more: Any) -> dict[str, Any]:
        """The gate's answer to Claude Code's hook at the end of a turn."""
        return self.hook("Stop", session, stop_hook_active=active, **more)

    def prompt(self, number: str = "p1", session: str = "s1", **more: Any) -> None:
        """Begin a turn of Claude Code. The hook prints nothing, since Claude Code would show it to the model."""
        assert self.hook("UserPromptSubmit", session, prompt_id=number, prompt="?", **more) == {}

    def hook(self, event: str, session: str = "s1", **more: Any) -> dict[str, Any]:
        question = {
            "session_id": session,
            "transcript_path": str(self.top / "none.jsonl"),
            "cwd": str(self.repository),
            "hook_event_name": event,
            **more,
        }
        done = self.trued("gate", "hook", "claude", stdin=json.dumps(question))
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
        return answer

    def seen(self) -> tuple[str, bytes, str, str]:
        """Everything that a snapshot must not change: status, index, refs, HEAD."""
        refs = self.git("for-each-ref").stdout
        status = self.git("--no-optional-locks", "status", "--porcelain=v1", "--ignored").stdout
        return status, (self.repository / ".git" / "index").read_bytes(), refs, self.git("rev-parse", "HEAD").stdout


def yard_in(top: Path, warm: Warm | None = None) -> Yard:
    yard = Yard(top, warm)
    yard.repository.mkdir(parents=True)
    (top / "home").mkdir()
    yard.requirements.write_text(REQUIREMENTS)
    yard.write("slug.py", RED)
    yard.write("README.md", "slugs\n")
    yard.git("init", "-q")
    yard.git("add", ".")
    yard.git("commit", "-qm", "base")
    return yard
