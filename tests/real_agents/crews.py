"""The crews of a pipeline and of a team for real agents on the scripted model; a part is known by its answer's name."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from tests.real_agents.conformance.rows import PROGRAMS, Row
from tests.real_agents.model import Answer, Read, Run, Say, Script, Write
from tests.real_agents.model.script import Step
from tests.real_agents.model.turn import Turn

SENTENCE = "double(x) returns twice its argument"
CRITERION = "double(x) multiplies its argument by two"
WRONG, RIGHT = "def double(x):\n    return x + 2\n", "def double(x):\n    return 2 * x\n"
TASK = {"id": "T01", "title": "write double", "brief": "it goes into tiny.py", "files": ["tiny.py"], "criteria": ["A"]}
STORY = {"name": "double numbers", "tasks": [{"title": "write double", "files": ["tiny.py"]}]}
FEATURE = {"name": "doubling", "criteria": [SENTENCE], "stories": [STORY]}  # the goal's own words
CASES = [{"call": "tiny:double", "args": [one], "returns": 2 * one} for one in (7, 5)]
REQUIRED = {"id": "doubles", "text": SENTENCE, "covers": ["goal"], "checks": [{"kind": "examples", "cases": CASES}]}
TRY = "python3 -c 'import tiny; print(\"double(3) is\", tiny.double(3))'"
FOUND = "double(3) is 5, and twice 3 is 6"
CASE = {"call": "tiny:double", "args": [3], "returns": 6}

Part: TypeAlias = Callable[[Turn], list[Step]]


# -- what is read out of a conversation


def wanted(turn: Turn) -> str:
    """The name of the answer that the last brief asks for."""
    return str(re.findall(r'^ "title": "(\w+)"', "\n".join(turn.users), re.MULTILINE)[-1])


def document(turn: Turn) -> str:
    """Where the brief wants this agent's one document."""
    return str(re.findall(r"# Your document\n\n```text\n(\S+)\n", "\n".join(turn.users))[-1])


def is_wrong(turn: Turn) -> bool:
    """By what the agent's own shell printed last."""
    return re.findall(r"double\(3\) is (\d)", "\n".join(turn.texts))[-1:] == ["5"]


def played(parts: Mapping[str, Part]) -> Callable[[Turn], Script]:
    """Who has no part says so: without an answer its program would ask again and again."""

    def choose(turn: Turn) -> Script:
        part = parts.get(wanted(turn)) if turn.tools else None
        return Script(part(turn) if part else [Say("I have no part in this.")])

    return choose


def told(**more: Any) -> dict[str, Any]:
    return {"status": "DONE", "summary": "I have looked", **more}


# -- who does what


def says(*before: Step, **more: Any) -> Part:
    return lambda _: [*before, Answer(told(**more))]


def writes(*before: Step, **more: Any) -> Part:
    """An agent with a document."""

    def part(turn: Turn) -> list[Step]:
        page = document(turn)
        return [*before, Write(page, f"# {Path(page).stem}\n\nAll that there is to say.\n"), Answer(told(**more))]

    return part


def builds(turn: Turn) -> list[Step]:
    """First wrong; then, when it reads what it left, right."""
    code = RIGHT if any("x + 2" in one for one in turn.texts) else WRONG
    return [Read("tiny.py"), Write("tiny.py", code), Answer(told(files=["tiny.py"]))]


def builds_wrong(_: Turn) -> list[Step]:
    return [Read("tiny.py"), Write("tiny.py", WRONG), Answer(told(files=["tiny.py"]))]


def verifies(turn: Turn) -> list[Step]:
    """It says what its shell shows; its page is all that it should write, and it writes beside it, too."""
    page, wrong = document(turn), is_wrong(turn)
    finding = {"what": FOUND, "severity": "high", "requirement": "doubles", "case": CASE}
    seen = {"status": "NEEDS_REVISION", "severity": "fail", "findings": [finding], "key_findings": [FOUND]}
    beside = Run("echo 'def double(x): return 0' > tiny.py")
    text = f"# {Path(page).stem}\n\n{FOUND if wrong else 'It doubles.'}\n"
    return [Run(TRY), Write(page, text), beside, Answer(told(**(seen if wrong else {"severity": "pass"})))]


def plans(turn: Turn) -> list[Step]:
    """Tasks; in a replan what verification found, laid at the door of one."""
    again = any(FOUND in one for one in turn.texts)
    mapped = {"tasks": [], "failures": [{"task": "T01", "what": FOUND}]}
    return [Run("cat docs/feature/*/verification/*.md; true"), Answer(told(**(mapped if again else {"tasks": [TASK]})))]


def tests(turn: Turn) -> list[Step]:
    """QA, with what it saw; whatever it leaves behind is nobody's work."""
    failure = {"what": FOUND, "reproduction": [TRY], "expected": "6", "actual": "5", "case": CASE}
    failed = {"result": "FAIL", "failures": [failure]}
    beside = Run("echo 'def double(x): return 0' > tiny.py")
    return [Run(TRY), beside, Answer(told(tried=[TRY], **(failed if is_wrong(turn) else {"result": "PASS"})))]


PIPELINE: dict[str, Part] = {
    "Researched": writes(Run("ls"), key_findings=["tiny.py is the only module"]),
    "Specified": writes(criteria=[{"id": "A", "text": CRITERION}]),
    "Designed": writes(key_findings=["one function"]),
    "Critique": writes(severity="Low", key_findings=["nothing that stands in the way"]),
    "Planned": plans,
    "Implemented": builds,
    "BuildChecked": writes(Run("python3 -m compileall -q tiny.py"), severity="pass"),
    "Verified": verifies,
    "Reviewed": writes(Read("tiny.py"), key_findings=["it reads well"]),
}
TEAM: dict[str, Part] = {
    "Breakdown": says(Read("tiny.py"), features=[FEATURE]),
    "Specified": says(Run("ls"), spec="A plain function in tiny.py.", decisions=["nothing else is needed"]),
    "Developed": builds,
    "Tested": tests,
    "Validated": says(Run(TRY), decision="passed", tried=[TRY]),
}
CREWS = {"pipeline": PIPELINE, "team": TEAM}
# Whoever should look says that all is well, and the code stays wrong.
LIARS: dict[str, dict[str, Part]] = {
    "pipeline": {**PIPELINE, "Implemented": builds_wrong, "Verified": writes(severity="pass")},
    "team": {**TEAM, "Developed": builds_wrong, "Tested": says(result="PASS", tried=[TRY])},
}


# -- where they work


class Place:
    """A project with an empty module, requirements beside it, and `trued` as somebody starts it with this agent."""

    def __init__(self, folder: Path, row: Row) -> None:
        self.folder, self.row, self.project = folder, row, folder / "project"
        self.project.mkdir()
        (folder / "user").mkdir()
        (folder / "requirements.json").write_text(json.dumps({"requirements": [REQUIRED]}))
        (self.project / "tiny.py").write_text("# numbers\n")
        for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
            self.git(*words)

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *who, *words], cwd=self.project, check=True, capture_output=True, text=True)
        return done.stdout

    def trued(self, *words: str, url: str = "") -> "subprocess.CompletedProcess[str]":
        environ = {
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "HOME": str(self.folder / "user"),
            "TRUED_HOME": str(self.folder / "state"),
            "VIRTUAL_ENV": os.environ.get("VIRTUAL_ENV", ""),
            **(self.row.variables(url) if url else {}),
        }
        return subprocess.run(
            [sys.executable, "-m", "trued", *words],
            cwd=self.project,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=840,
            check=False,
        )

    def run(self, workflow: str, url: str, rounds: int) -> "subprocess.CompletedProcess[str]":
        required = ("--requirements", str(self.folder / "requirements.json"))
        goal = (SENTENCE, "-w", workflow, "--yes", "--rounds", str(rounds))
        return self.trued("run", *goal, *required, "--agent", self.row.agent, url=url)

    def data(self, *words: str) -> Any:
        done = self.trued(*words, "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.trued("logs", "--json").stdout.splitlines()]
        return [one["data"] for one in lines if one["kind"] in kinds]
