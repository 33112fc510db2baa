"""One trial: a small project, a goal, a gang, and the real command line, as a user would start it."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from trued.model import Grade

HERE = Path(__file__).parent
Files: TypeAlias = Mapping[str, str]
WITHIN_S = 600  # long, for a busy machine
SETTINGS = "[team]\nattempts = 2\n\n[team.uat]\ncycles = 1\n"
TASKS = {"purple": ("1A",), "handoff": ("double",)}  # tasks that the user's requirement covers, too

REFUTED, UNJUDGED, UNPROVEN = Grade.REFUTED, Grade.UNJUDGED, Grade.UNPROVEN
SELF_TESTED = Grade.SELF_TESTED
TESTED, EXAMINED, PROVEN = Grade.TESTED, Grade.EXAMINED, Grade.PROVEN


@dataclass(frozen=True)
class Ended:
    """How a run ended: exit code, record, and the end of its messages."""

    code: int
    record: dict[str, Any]
    said: str

    @property
    def grade(self) -> Grade:
        return Grade(self.record.get("grade") or "unproven")

    @property
    def rows(self) -> dict[str, Grade]:
        return {one["id"]: Grade(one["grade"]) for one in self.record.get("requirements", ())}


@dataclass(frozen=True)
class Trial:
    """The task of a gang, and the best grade that it may get for its work."""

    mode: str
    workflow: str
    goal: Sequence[str]  # its sentences
    project: Files
    most: Grade = UNPROVEN
    codes: tuple[int, ...] = (1, 3)
    requirements: Sequence[dict[str, Any]] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)  # other fields of the requirements file
    beside: Files = field(default_factory=dict)  # files beside the requirements file: held-out tests
    options: tuple[str, ...] = ()
    rows: Mapping[str, Grade] = field(default_factory=dict)  # the best grades that single requirements may get
    law: str = "LAW-8"
    covered: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: TASKS)  # by workflow; see TASKS

    @property
    def name(self) -> str:
        return f"{self.workflow}: {self.mode}{' ' + ' '.join(self.options) if self.options else ''}"


class Place:
    """A repository, a HOME and a state folder that belong to one trial."""

    def __init__(self, folder: Path, trial: Trial) -> None:
        self.folder, self.trial = folder, trial
        self.repository, self.state = folder / "repo", folder / "state"
        laid(self.repository, trial.project)
        self.git("init", "-q", "-b", "main")
        self.commit("base")
        self.base = self.git("rev-parse", "HEAD")

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=user", "-c", "user.email=user@example.invalid", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *who, *words], cwd=self.repository, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str) -> None:
        self.git("add", "-A", "-f")
        self.git("commit", "-qm", message)

    def goal(self, workflow: str) -> str:
        """The goal as an argument of `trued run`: a file if the workflow reads one, else the words."""
        lines = self.trial.goal
        table = "| Chunk | Scope |\n| --- | --- |\n" + "".join(
            f"| 1{chr(65 + at)} | {one} |\n" for at, one in enumerate(lines)
        )
        listed = "".join(f"- {one}\n" for one in lines)
        texts = {
            "purple": f"# Plan: numbers\n\n{table}",
            "ticket": f"---\nkey: NUM-7\ntype: bug\n---\n\n# Numbers\n\n## Requirements\n\n{listed}",
            "handoff": f"# Numbers\n\n{' '.join(lines)}\n",
        }
        if workflow not in texts:
            return " ".join(lines)
        file = self.folder / f"{workflow}.md"
        file.write_text(texts[workflow])
        return str(file)

    def run(self, mode: str = "", workflow: str = "", more: Sequence[str] = ()) -> Ended:
        line = (sys.executable, str(HERE / "gang.py"), str(HERE / "modes.py"), mode or self.trial.mode)
        return self.run_with(f"command:{shlex.join(line)}", workflow, more)

    def run_with(
        self, agent: str, workflow: str = "", more: Sequence[str] = (), variables: Mapping[str, str] | None = None
    ) -> Ended:
        """Run the trial's goal with this agent in every role."""
        trial, workflow = self.trial, workflow or self.trial.workflow
        words = ["run", self.goal(workflow), "-w", workflow, "--agent", agent, "--yes", "--json", "--rounds"]
        words += ["2", *trial.options, *more]
        if trial.requirements:
            file = self.folder / "own" / "requirements.json"
            laid(file.parent, trial.beside)
            tasks = trial.covered.get(workflow, ())
            asked = [{**one, "covers": [*one["covers"], *tasks]} for one in trial.requirements]
            file.write_text(json.dumps({**trial.settings, "requirements": asked}))
            words += ["--requirements", str(file)]
        return self.trued(*words, variables=variables)

    def trued(self, *words: str, variables: Mapping[str, str] | None = None) -> Ended:
        home = self.folder / "user"
        laid(home, {".config/trued/config.toml": SETTINGS})
        environ = {"HOME": str(home), "PATH": os.environ["PATH"], "TRUED_HOME": str(self.state), "LANG": "C.UTF-8"}
        done = subprocess.run(
            [sys.executable, "-m", "trued", *words],
            cwd=self.repository,
            env={**environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
        record = json.loads(done.stdout) if done.stdout.strip().startswith("{") else {}
        return Ended(done.returncode, record, done.stderr[-3000:])


def laid(folder: Path, files: Files) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
