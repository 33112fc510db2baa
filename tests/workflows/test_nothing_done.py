"""Every workflow with an agent that reports success in all roles, and does nothing or writes wrong code."""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import Ground, Script, events, example
from tests.workflows.yes_agent import yes_reply
from trued import workflows
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest
from trued.model import Grade, Reply, Status
from trued.wire import Order
from trued.workflows.registry import descriptors

SENTENCE = "`double(x)` returns twice its argument."
TABLE = f"| Chunk | Scope | Files |\n| --- | --- | --- |\n| 1A | {SENTENCE} | tiny.py |\n"
GOALS = {
    "purple": f"# Plan: numbers\n\n## Goals\n\n- {SENTENCE}\n\n{TABLE}",
    "solo": SENTENCE,
    "ticket": f"---\nkey: NUM-7\ntype: bug\n---\n\n# Numbers\n\n## Requirements\n\n- {SENTENCE}\n",
    "handoff": f"# Numbers\n\n{SENTENCE}\n",
    "pipeline": SENTENCE,
    "team": SENTENCE,
}
REQUIRED = {
    "id": "double",
    "text": SENTENCE,
    "covers": ["goal"],
    "checks": [{"kind": "examples", "cases": [example("double", 21, 42), example("double", 5, 10)]}],
}
ONCE = {"rounds": 1, "team": {"attempts": 1, "cycles": 1}}  # a further round would be the same


def idle(order: Order) -> dict[str, Any]:
    return yes_reply(order.schema, branch_name="fix/NUM-7-numbers")


def wrong(order: Order) -> dict[str, Any]:
    """An agent that writes a constant, which passes one of the two examples."""
    (Path(order.folder) / "tiny.py").write_text("def double(x):\n    return 42\n")
    return yes_reply(order.schema, branch_name="fix/NUM-7-numbers", files_changed=["tiny.py"])


def goal_of(ground: Ground, workflow: str) -> str:
    """The goal for a workflow: a file beside the repository if it reads one, else the words."""
    text, file = GOALS[workflow], ground.folder / f"{workflow}.md"
    if text == SENTENCE:
        return text
    file.write_text(text)
    return str(file)


LONG = {"handoff", "pipeline", "team"}
QUICK = {"purple", "solo", "ticket"}  # for a goal in words, they need only a few calls


def played() -> Iterator[Any]:
    for workflow in GOALS:
        for act in (idle, wrong):
            for required in (True, False):
                words = f"{workflow}, {act.__name__}, {'with examples of the user' if required else 'in words'}"
                if workflow in LONG and act is wrong and not required:
                    continue  # it would wait for a person, like the quick ones
                quick = workflow in QUICK and not required and act is idle
                marks = [] if quick else [pytest.mark.slow]
                yield pytest.param(workflow, act, required, id=words, marks=marks)


@pytest.mark.spec("LAW-1", "LAW-2", "LAW-8", "LAW-9")
@pytest.mark.parametrize(("workflow", "act", "required"), played())
async def test_an_agent_that_is_content_with_everything_proves_nothing_and_lands_nothing(
    ground: Ground, workflow: str, act: Script, required: bool
) -> None:
    ground.require([REQUIRED])
    engine, runtime = ground.engine(act)
    record = await ground.run(
        engine, goal_of(ground, workflow), required=required, without_cases=True, workflow=workflow, **ONCE
    )
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert record.code in (1, 3), record.why
    assert record.state != "done"
    grades = {one.id: one.grade for one in verdict.requirements}
    assert grades
    assert set(grades.values()) <= {Grade.REFUTED, Grade.UNPROVEN}
    assert not required or grades["double"] is Grade.REFUTED
    assert act is not idle or ("nothing was done" in record.why and record.code == 1)
    keys = [order.key for order in runtime.orders]
    assert len(keys) == len({*keys}), "nobody was asked again: nothing is wrong with the form of its answers"
    for way in ("", "pr"):
        assert not (await land(engine.store, record.id, LandingRequest(way=way, who="ann"), engine.person)).landed
    assert ground.git("rev-parse", "main") == record.base
    assert events(engine, record, "offered") == []
    assert workflow != "handoff" or '"passes": true' not in ground.file(record, "feature_list.json")


def subclasses(of: type[Reply]) -> Iterator[type[Reply]]:
    for one in of.__subclasses__():
        yield from (one, *subclasses(one))


def every_answer() -> list[type[Reply]]:
    """All reply classes that workflows and sealing ask agents for."""
    for module in pkgutil.walk_packages(workflows.__path__, f"{workflows.__name__}."):
        importlib.import_module(module.name)
    return [one for one in subclasses(Reply) if one.__module__.startswith("trued.")]


@pytest.mark.spec("AGT-3")
def test_there_is_no_answer_that_it_cannot_fill() -> None:
    answers = every_answer()
    assert {"Examined", "Review", "PullRequest", "Coded", "Verified", "Breakdown"} <= {one.__name__ for one in answers}
    for one in answers:
        claimed = one.model_validate(yes_reply(one.model_json_schema()))
        assert claimed.status is Status.DONE
        assert not claimed.question


def test_every_workflow_is_tried() -> None:
    assert set(GOALS) == {one.name for one in descriptors()}
