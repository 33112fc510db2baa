"""What a person sees of a purple run: its id, the files that it did not touch, its diff, and how to continue."""

from io import StringIO

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tests.workflows.conftest import Ground, events
from tests.workflows.purple.test_purple import lazy
from trued.cli import look
from trued.cli.live import LiveTree
from trued.cli.summary import advise
from trued.model import Event
from trued.model.events.run import RunBegan, WorkingTreeDirty
from trued.reporting.views.ledger import ledger


@pytest.mark.spec("DAY-12")
async def test_the_diff_begins_with_the_work_and_ends_with_the_engines_log(ground: Ground) -> None:
    ground.one_chunk()
    engine, _ = ground.engine()
    record = await ground.run(engine)
    shown = CliRunner().invoke(look.app, ["diff", record.id], env={"TRUED_HOME": str(ground.home)})
    files = [one for one in shown.output.splitlines() if one.startswith("diff --git")]
    assert files == ["diff --git a/tiny.py b/tiny.py", "diff --git a/MEMORY.md b/MEMORY.md"]


async def test_the_plan_of_the_run_is_not_among_the_changes_that_are_left_alone(ground: Ground) -> None:
    ground.write("PLAN.md", (ground.repository / "PLAN.md").read_text() + "\nStatus: draft\n")
    ground.write("scratch.txt", "the user's own")
    engine, _ = ground.engine()
    record = await ground.run(engine, plan_only=True)
    assert [event.data["files"] for event in events(engine, record, WorkingTreeDirty.KIND)] == [["scratch.txt"]]
    assert [event.data["run"] for event in events(engine, record, RunBegan.KIND)] == [record.id]


@pytest.mark.spec("RUN-3")
def test_the_header_names_the_run_also_where_its_branch_is_called_otherwise() -> None:
    console = Console(file=StringIO(), width=200)
    began = RunBegan(title="x", workflow="ticket", branch="feat/SHELF-12-filter", level="none", run="r-abc12")
    with LiveTree(console=console) as tree:
        tree.listen(Event(id=1, at=0.0, key="", kind=RunBegan.KIND, data=began.stored_data()))
    assert "trued resume r-abc12" in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.spec("DAY-6")
async def test_a_run_that_ends_without_proof_names_the_way_on(
    ground: Ground, capsys: pytest.CaptureFixture[str]
) -> None:
    ground.one_chunk()
    engine, _ = ground.engine(lazy(9))
    record = await ground.run(engine, rounds=1)
    found = ledger(engine.store.verdict(record.id), engine.store.contract(record.id), over=True)
    advise(engine.store, record, found)
    assert f"trued resume {record.id} --rounds 3" in " ".join(capsys.readouterr().err.split())
