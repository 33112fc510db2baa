"""In every workflow, agents write into documents of people and of the engine: all of that is undone."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import Ground, events
from tests.workflows.test_nothing_done import GOALS, LONG, ONCE, REQUIRED, SENTENCE
from tests.workflows.yes_agent import yes_reply
from trued.run.editable_files import ForeignEdits, foreign_edits, protected_files
from trued.wire import Order

FALSE = "\n- [x] everything is done\n"
NAMES = {"purple": "PLAN.md", "solo": "PLAN.md", "ticket": "ticket.md", "handoff": "spec.md"}


def meddler(order: Order) -> dict[str, Any]:
    """An agent that works, and also edits every document in its clone except its own, and adds MEMORY.md."""
    folder = Path(order.folder)
    own = {folder / name for name in re.findall(r"# Your document\n\n```text\n(\S+)\n", order.brief)}
    (folder / "tiny.py").write_text("def double(x):\n    return 42\n")
    documents = [path for path in folder.rglob("*") if path.suffix in (".md", ".json", ".yaml", ".txt", ".toml")]
    for path in [*documents, folder / "MEMORY.md"]:
        if ".git" not in path.parts and path not in own:
            path.write_text((path.read_text() if path.exists() else "") + FALSE)
    return yes_reply(order.schema, branch_name="fix/NUM-7-numbers", files_changed=["tiny.py"])


@pytest.mark.many(1)
@pytest.mark.spec("DAY-5", "LAW-3")
@pytest.mark.parametrize(
    "workflow", [pytest.param(one, marks=pytest.mark.slow if one in LONG else ()) for one in GOALS]
)
async def test_what_an_agent_writes_into_a_document_of_others_is_put_back_and_said(
    ground: Ground, workflow: str
) -> None:
    name = NAMES.get(workflow, "goal.md")
    text = GOALS[workflow] if GOALS[workflow] != SENTENCE or workflow != "solo" else GOALS["purple"]
    ground.write("PLAN.md", "")  # the fixture's plan; each workflow has its own goal here
    ground.write(name, text)
    ground.requirements = ground.repository / "requirements.json"
    ground.require([REQUIRED])
    ground.commit()
    engine, _ = ground.engine(meddler)
    record = await ground.run(engine, name, required=True, workflow=workflow, **ONCE)
    for path in (name, "requirements.json"):
        assert ground.file(record, path) == ground.git("show", f"main:{path}"), path
    for path in ground.git("ls-tree", "-r", "--name-only", record.branch).splitlines():
        owned = path in engine.store.owned_files(record.id) or path.startswith((".trued/", "docs/feature/"))
        notes = path == "progress.txt"  # a handoff keeps an agent's notes there, below the engine's own part
        assert notes or not owned or FALSE.strip() not in ground.file(record, path).replace("\\[", "["), path
    put_back = {path for event in events(engine, record, "sealed file edited") for path in event.data["put_back"]}
    assert {name, "requirements.json"} <= put_back


@pytest.mark.spec("DAY-5")
def test_a_frozen_test_that_an_agent_changed_stays_for_people_to_read_and_is_not_called_put_back() -> None:
    protected = protected_files((".trued/team/",), ("PLAN.md",))
    found = foreign_edits(
        ["a.py", "tests/test_a.py"], ["PLAN.md", ".trued/team/backlog.md"], protected, ["tests/test_a.py"]
    )
    assert found == ForeignEdits(put_back=(".trued/team/backlog.md", "PLAN.md"), kept=("tests/test_a.py",))
