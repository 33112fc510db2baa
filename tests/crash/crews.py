"""The small worlds of a pipeline and a team: two functions in one file, built side by side, and members with a bill."""

import json
import re
from pathlib import Path
from typing import Any

from tests.crash.world import WAITS, World
from trued.agents.adapters.scripted import ScriptedRuntime
from trued.wire import Order
from trued.workflows.team.backlog.reading import parse_backlog

GOAL = "- double(x) returns twice its argument\n- triple(x) returns three times its argument\n"
PAID = """
from pathlib import Path

CODE = {
    "double": "def double(x):\\n    return 2 * x\\n",
    "triple": "def triple(x):\\n    return 3 * x\\n",
}

def paid():
    print("paid", file=sys.stderr, flush=True)
    time.sleep(max(SLOW_S, 0))

"""
PIPELINE = """
TASKS = [
    {"id": "T01", "title": "write double", "files": ["tiny.py"], "criteria": ["AC-1"]},
    {"id": "T02", "title": "write triple", "files": ["tiny.py"], "criteria": ["AC-2"]},
]
CRITERIA = [
    {"id": "AC-1", "text": "double(x) multiplies its argument by two"},
    {"id": "AC-2", "text": "triple(x) multiplies its argument by three"},
]
MORE = {"spec": {"criteria": CRITERIA}, "planner": {"tasks": TASKS}}
FOLDERS = {"researcher": "research/", "ct": "ct-review/ct-", "v": "verification/v-", "r": "review/r-"}
DOCUMENTS = {"spec": "feature.md", "designer": "design.md"}

def looks(order, folder):
    paid()
    agent = order["key"].rpartition("/")[2].partition("#")[0]
    kind, _, focus = agent.partition("-")
    name = f"{FOLDERS[kind]}{focus}.md" if kind in FOLDERS else DOCUMENTS.get(agent)
    if name:
        (place,) = (folder / "docs" / "feature").iterdir()
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(f"# {agent}\\n\\nAll that there is to say.\\n")
    severity = "pass" if kind == "v" else ""
    return {"key_findings": [f"{agent} has looked"], "severity": severity, **MORE.get(agent, {})}

researcher = spec = designer = planner = looks
ct_security = ct_scalability = ct_maintainability = ct_strategy = looks
v_build = v_tests = v_tasks = v_feature = r_quality = r_security = r_testing = r_knowledge = looks

def implementer(order, folder):
    paid()
    first = "T01" in order["key"]
    merges = not first and order["turn"] > 1  # the earlier one stands
    names = ("double", "triple") if merges else ("double",) if first else ("triple",)
    (folder / "tiny.py").write_text("\\n\\n".join(CODE[name] for name in names))
    return {"key_findings": ["it is there"], "files": ["tiny.py"]}
"""
TEAM = """
FEATURE = {
    "name": "numbers",
    "criteria": ["double(x) returns twice its argument", "triple(x) returns three times its argument"],
    "stories": [{"name": "numbers", "tasks": [{"title": "write double"}, {"title": "write triple"}]}],
}

def pm(order, folder):
    paid()
    return {"features": [FEATURE], "decisions": ["one function a task"]}

def techlead(order, folder):
    paid()
    return {"spec": "Functions in tiny.py.", "decisions": ["plain functions"]}

def dev(order, folder):
    paid()
    turn, code = order["turn"], folder / "tiny.py"
    if turn == 1:
        told_to_go_on(folder)
    if "F1-T1" in order["key"]:
        code.write_text(CODE["double"])
    elif turn == 1:  # the same lines as the other
        code.write_text(CODE["triple"])
    elif turn == 2:  # both, and its own is wrong
        code.write_text(CODE["double"] + "\\n\\n" + CODE["triple"].replace("3", "4"))
    else:
        code.write_text(CODE["double"] + "\\n\\n" + CODE["triple"])
    return {"summary": "it is there", "files": ["tiny.py"]}

def qa(order, folder):
    paid()
    return {"result": "PASS", "tried": ["import tiny"]}

def uat(order, folder):
    paid()
    return {"decision": "passed", "tried": ["called both"]}
"""
TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z| UTC|[+-]\d\d:\d\d)?|\b\d\d:\d\d(:\d\d)?\b")


def required() -> dict[str, Any]:
    """The user's own held-out data for the whole goal."""
    rows = (("double", 7, 14), ("triple", 7, 21))
    cases = [{"call": f"tiny:{name}", "args": [given], "returns": back} for name, given, back in rows]
    checks = [{"kind": "examples", "cases": cases}]
    return {"requirements": [{"id": "both", "text": GOAL, "covers": ["goal"], "checks": checks}]}


class Crewed(World):
    """A goal in words. What is left of it is compared file by file, without what is a time."""

    script_text = ""
    first_waits = False
    exact: tuple[str, ...] = ()  # files in which there is no time: to be the same byte for byte

    def make(self, slow_s: float = 0.0) -> "Crewed":
        super().make(slow_s)
        self.goal = GOAL
        self.requirements.write_text(json.dumps(required()))
        return self

    def make_slow(self, seconds: float) -> None:
        self.script.write_text(WAITS.replace("{slow_s}", str(seconds)) + PAID + self.script_text)

    def files(self) -> dict[str, str]:
        branch = f"trued/{self.run_folder().name}"
        names = self.git("ls-tree", "-r", "--name-only", branch).splitlines()
        return {name: self.git("show", f"{branch}:{name}") for name in names}

    def tree(self) -> str:
        """The branch, file by file and commit by commit, without what differs from run to run: times."""
        texts = {
            name: text if name.endswith(self.exact) else TIMES.sub("(when)", text)
            for name, text in self.files().items()
        }
        subjects = self.git("log", "--topo-order", "--format=%an: %s", f"main..trued/{self.run_folder().name}")
        return json.dumps([texts, subjects.splitlines()], indent=1)

    def stale(self) -> list[str]:
        """Live copies that do not say what the branch says."""
        place, branch = self.run_folder() / "files", self.files()
        copies = {
            one.relative_to(place).as_posix(): one.read_text().strip() for one in place.rglob("*") if one.is_file()
        }
        return [
            name for name, text in copies.items() if text not in [branch[one] for one in branch if one.endswith(name)]
        ]

    def live(self, name: str) -> Path:
        return self.run_folder() / "files" / name


class Piped(Crewed):
    workflow = "pipeline"
    script_text = PIPELINE
    exact = ("memory.md", ".mem.md", "plan.md", "tiny.py")


class Teamed(Crewed):
    workflow = "team"
    script_text = TEAM
    exact = ("backlog.md", "tiny.py")

    def make(self, slow_s: float = 0.0) -> "Teamed":
        super().make(slow_s)
        self.flags = {"parallel": 2}
        return self


ADDED = "- [ ] write notes\n"
LATER = "- [ ] write more notes\n"


class Healing(Teamed):
    """A developer who needs several attempts, and nobody else but a PM; all of them inside the engine's process."""

    def make(self, slow_s: float = 0.0, attempts: int = 8) -> "Healing":
        super().make(slow_s)
        self.attempts = attempts
        self.goal = "double(x) returns twice its argument"
        case = {"call": "tiny:double", "args": [7], "returns": 14}
        asked = {"id": "is", "text": self.goal, "covers": ["goal"], "checks": [{"kind": "examples", "cases": [case]}]}
        self.requirements.write_text(json.dumps({"requirements": [asked]}))
        self.flags = {"team": {"off": ["techlead", "qa", "uat"]}}
        self.runtime = ScriptedRuntime(self.played)
        return self

    def played(self, order: Order) -> dict[str, Any]:
        if order.role == "pm":
            story = {"name": "numbers", "tasks": [{"title": "write double"}]}
            return {"features": [{"name": "numbers", "criteria": [self.goal], "stories": [story]}]}
        task, _, turn = order.key.rpartition("#")
        if "F1-T1/" in task:
            factor = 2 if int(turn) >= self.attempts else 10 + int(turn)
            (Path(order.folder) / "tiny.py").write_text(f"def double(x):\n    return {factor} * x\n")
        else:
            (Path(order.folder) / f"{task.split('/')[1]}.md").write_text("Notes.\n")
        return {"summary": "it is there"}

    def adds(self, line: str = ADDED) -> None:
        """A person writes a line below the first task of the live copy."""
        place = self.live("backlog.md")
        lines = place.read_text().splitlines(keepends=True)
        at = next(number for number, one in enumerate(lines) if "F1-T1" in one and "[" in one)
        place.write_text("".join((*lines[: at + 1], line, *lines[at + 1 :])))

    def tasks(self) -> dict[str, str]:
        backlog = parse_backlog(self.files()[".trued/team/backlog.md"])
        return {one.id: f"{one.description}: {one.state} {one.attempts}/{one.limit}" for one in backlog.tasks}
