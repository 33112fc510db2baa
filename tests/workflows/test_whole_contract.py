"""A run ends with the verdict on its whole contract, whatever its workflow judged before, or passes in at the end."""

import json
import sys
from pathlib import Path

import pytest

from tests.workflows.test_registry import package, repository, trued  # noqa: F401 (a fixture)

WORKFLOW = """
from trued.model import Reply, Task
from trued.workflows.descriptor import WorkflowDescriptor
OWN = WorkflowDescriptor(name="own", flow="own:flow", roles=("solo",))

class Built(Reply):
    pass

async def flow(run, goal):
    plan = await run.seal(await run.plan(goal, planner=""))
    await run.ask("solo", goal, Built)
    first, rest = Task(id="double", title="double"), Task(id="triple", title="triple")
    {ending}
"""
ENDINGS = {
    # like a handoff that judges its features again, after the environment failed
    "a verdict on a part is the last": "await run.prove(first, also=[rest]); return await run.finish(plan)",
    "a part is passed in": "return await run.finish(first)",
    "the outcome of a part is returned": "await run.finish(first); return await run.scope('x').finish(first)",
}
AGENT = """
import json, sys
json.load(sys.stdin)
open("tiny.py", "w").write("def double(x):\\n    return 2 * x\\n")
print(json.dumps({}))
"""
DOUBLE = {
    "id": "double",
    "text": "double(x) doubles",
    "covers": ["Build it."],
    "checks": [{"kind": "examples", "cases": [{"call": "tiny:double", "args": [n], "returns": 2 * n} for n in (7, 5)]}],
}
TRIPLE = {
    "id": "triple",
    "text": "the page explains triple",
    "checks": [{"kind": "manual", "steps": ["Open the page"]}],
}


@pytest.mark.slow
@pytest.mark.spec("LAW-3", "LAW-8", "DAY-15")
@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
@pytest.mark.parametrize("whole", [True, False], ids=["two requirements", "one requirement"])
def test_only_a_verdict_on_every_requirement_of_the_contract_ends_a_run_as_done(
    repository: Path,  # noqa: F811
    tmp_path: Path,
    ending: str,
    *,
    whole: bool,
) -> None:
    """The second requirement lacks a person's approval; without it (the honest twin) the run is done."""
    installed = package(
        tmp_path / "installed", "own-package", {"own": "own:OWN"}, own=WORKFLOW.format(ending=ending), player=AGENT
    )
    asked = tmp_path / "own.json"
    asked.write_text(json.dumps({"requirements": [DOUBLE, *([TRIPLE] if whole else [])]}))
    words = ["-w", "own", "--agent", f"command:{sys.executable} {installed / 'player.py'}", "--yes"]
    done = trued(repository, installed, "run", "Build it.", *words, "--requirements", str(asked), "--json")
    record = json.loads(done.stdout)
    assert (done.returncode, record["state"]) == ((3, "waiting") if whole else (0, "done")), done.stderr
    landed = trued(repository, installed, "land", record["id"], "--ff")
    assert (landed.returncode == 0) is not whole, landed.stderr
    if whole:
        rows = json.loads(trued(repository, installed, "ledger", record["id"], "--json").stdout)["requirements"]
        assert [row["grade"] for row in rows] == ["proven", "unproven"]
        said = ("triple", "--as", "ann", "--reason", "I read the page")
        approved = trued(repository, installed, "approve", record["id"], *said)
        assert approved.returncode == 0, approved.stderr
        assert trued(repository, installed, "resume", record["id"]).returncode == 0
