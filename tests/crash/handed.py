"""The small world of a handoff: two features in a list, held-out examples, and coders that keep a bill."""

import json

from tests.crash.world import WAITS, World

FEATURES = {
    "features": [
        {
            "id": "double",
            "description": "double(x) returns twice its argument",
            "steps": ["double(2) is 4"],
            "test_command": "python -m pytest -q tests/test_double.py",
        },
        {"id": "triple", "description": "triple(x) returns three times its argument", "depends_on": ["double"]},
    ]
}
SCRIPT = """
def coder(order, folder):
    print("paid", file=sys.stderr, flush=True)
    time.sleep(max(SLOW_S, 0))
    if order["key"].startswith("feature double") and order["key"].endswith("#1"):
        told_to_go_on(folder)
    name = "double" if order["key"].startswith("feature double") else "triple"
    factor = {"double": 2, "triple": 3}[name]
    code = folder / "tiny.py"
    if name == "triple" and order["key"].endswith("#1"):  # the first one breaks what is finished
        code.write_text(code.read_text().replace("2 * x", "2"))
    if f"def {name}(" not in code.read_text():  # a call that is resumed after it has ended finds its work
        code.write_text(code.read_text() + f"def {name}(x):\\n    return {factor} * x\\n")
    (folder / "tests").mkdir(exist_ok=True)
    test = f"from tiny import {name}\\n\\n\\ndef test_it():\\n    assert {name}(2) == {2 * factor}\\n"
    (folder / "tests" / f"test_{name}.py").write_text(test)
    return {"passes": True, "implemented": [name]}
"""
OWNED = ("feature_list.json", "progress.txt", "agent_state.json")


def _required(name: str, factor: int) -> dict[str, object]:
    cases = [{"call": f"tiny:{name}", "args": [one], "returns": factor * one} for one in (7, 5)]
    checks = [{"kind": "examples", "cases": cases}]
    return {"id": f"is-{name}", "text": f"{name} multiplies", "covers": [name], "checks": checks}


class Handed(World):
    workflow = "handoff"

    def make(self, slow_s: float = 0.15) -> "Handed":
        super().make(slow_s)
        self.plan = self.folder / "features.json"
        self.plan.write_text(json.dumps(FEATURES))
        self.goal = str(self.plan)
        asked = {"requirements": [_required("double", 2), _required("triple", 3)]}
        self.requirements.write_text(json.dumps(asked))
        return self

    def make_slow(self, seconds: float) -> None:
        self.script.write_text(WAITS.replace("{slow_s}", str(seconds)) + SCRIPT)

    def tree(self) -> str:
        """The branch, commit by commit, without what differs from run to run: names, times and hashes."""
        branch = f"trued/{self.run_folder().name}"
        lines = self.git("ls-tree", "-r", branch).splitlines()
        subjects = self.git("log", "--format=%an: %s", f"main..{branch}")
        features = json.loads(self.git("show", f"{branch}:feature_list.json"))["features"]
        told = [(one["id"], one["passes"], one["tests_passing"], one["agent_notes"]) for one in features]
        kept = [line for line in lines if line.split("\t")[1] not in OWNED]
        return "\n".join((*kept, subjects, json.dumps(told)))
