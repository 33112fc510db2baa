"""A ticket with its own workflow and with others: all get the same text, and nothing is pushed."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.engine.test_compare import BUILT, RIGHT, driven, ways
from tests.integrations.forges.servers import TOKEN, GitHub, github_server
from tests.workflows.conftest import Ground
from tests.workflows.ticket.test_ticket import REQUIRED, TICKET, script
from trued.engine.compare import prepare_variants
from trued.engine.comparisons import without_front_matter
from trued.engine.engine import Engine
from trued.model import RunRecord
from trued.reporting.views.comparison import comparison_data
from trued.wire import Order

BODY = "Customers ask for doubled numbers.\n\n## Acceptance criteria\n\n- `double(x)` returns twice its argument.\n"


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ExitStack() as stack:
        made = Ground(tmp_path, stack)
        made.require([REQUIRED])
        yield made


@pytest.fixture
def github(ground: Ground) -> Iterator[GitHub]:
    """A GitHub server with an issue; its bare repository is `origin`."""
    bare = ground.folder / "shop.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True, timeout=60)
    ground.git("remote", "add", "origin", str(bare))
    ground.git("push", "-q", "origin", "main")
    with github_server(bare) as server:
        server.issue(12, "Numbers are not doubled", BODY, labels=["bug"])
        yield server


def everybody(order: Order) -> Any:
    (Path(order.folder) / "tiny.py").write_text(RIGHT)
    return BUILT if order.role == "solo" else script()(order)


def on(ground: Ground, github: GitHub) -> tuple[Engine, dict[str, Any]]:
    """An engine that could push, and the flags that say where to."""
    engine, _ = ground.engine(everybody)
    engine.store.environ = {**engine.store.environ, "GITHUB_TOKEN": TOKEN}
    forge = {"kind": "github", "repository": "acme/shop", "url": github.url}
    return engine, {"yes": True, "agents": {"*": "scripted:inside"}, "forge": forge}


@pytest.mark.spec("USE-8", "TIC-10")
@pytest.mark.parametrize("workflows", [(None, "solo"), ("solo", "ticket"), ("purple", "ticket", "team")])
def test_whoever_reads_plans_only_is_given_the_tickets_words(ground: Ground, workflows: tuple[str | None, ...]) -> None:
    (ground.folder / "NUM-7.md").write_text(TICKET)
    engine, _ = ground.engine(everybody)
    found = prepare_variants(engine, ways(ground, *workflows, goal=str(ground.folder / "NUM-7.md")))
    assert [one.inputs.settings.workflow for one in found] == [one or "ticket" for one in workflows]
    assert [one.inputs.ticket is not None for one in found] == [one in (None, "ticket") for one in workflows]
    assert {without_front_matter(one.inputs.goal.text) for one in found} == {without_front_matter(TICKET)}
    plain = [one.inputs.goal for one in found if one.inputs.settings.workflow in ("solo", "purple")]
    assert [(one.source.file, "key: NUM-7" in one.text) for one in plain] == [("", False)]


@pytest.mark.spec("USE-8")
def test_a_plan_stays_a_plan_whoever_else_reads_it(ground: Ground) -> None:
    engine, _ = ground.engine(everybody)
    found = prepare_variants(engine, ways(ground, "solo", "team", "purple", required=False))
    assert {one.inputs.goal.source.file for one in found} == {"PLAN.md"}


@pytest.mark.spec("USE-8")
def test_nothing_that_an_earlier_run_left_is_gone_on_from(ground: Ground) -> None:
    (ground.folder / "spec.md").write_text("# Numbers\n\n`double(x)` returns twice its argument.\n")
    engine, _ = ground.engine(everybody)
    more: dict[str, Any] = {"goal": str(ground.folder / "spec.md"), "required": False, "branch": "trued/r-gone"}
    found = prepare_variants(engine, ways(ground, "handoff", "solo", **more))
    assert [(one.inputs.start, one.inputs.base, one.inputs.branch) for one in found] == [("", "", "")] * 2
    assert found[1].inputs.goal.source.file == ""  # a specification is no plan: solo gets its text


@pytest.mark.spec("USE-8")
def test_a_trackers_ticket_is_fetched_for_those_who_would_not_look_there(ground: Ground, github: GitHub) -> None:
    engine, flags = on(ground, github)
    found = prepare_variants(engine, ways(ground, "solo", "ticket", goal="#12", flags=flags))
    solo, ticket = (one.inputs for one in found)
    assert ticket.ticket
    assert without_front_matter(ticket.ticket.text) == solo.goal.text
    assert "returns twice its argument" in solo.goal.text


@pytest.mark.spec("USE-8", "TIC-10")
@pytest.mark.slow
async def test_ticket_and_solo_side_by_side_show_the_peak_of_each_and_push_nothing(
    ground: Ground, github: GitHub
) -> None:
    engine, flags = on(ground, github)
    made, ended = await driven(engine, ways(ground, "ticket", "solo", goal="#12", flags=flags))
    assert [one.code for one in ended] == [0, 0], [one.why for one in ended if isinstance(one, RunRecord)]
    found = comparison_data(engine.store, made)
    ticket, solo = found["runs"]
    assert {"orchestrator", "impl-agent", "verify-agent", "pr-agent"} <= set(ticket["peak"]["roles"])
    assert set(solo["peak"]["roles"]) == {"solo"}
    assert (found["same_goal"], ticket["rounds"]) == (True, 2)
    assert github.pulls == []
    assert len(ground.git("ls-remote", "--heads", "origin").splitlines()) == 1
    assert (ground.home / "runs" / made.runs[0].run / "files" / "pull-request.md").exists()
