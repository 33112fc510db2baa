"""Ship criteria as people write them: a criterion that names a command gets it as a check, in plans and tickets."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import CODE, PASSED, Ground, built
from trued.model import CommandCheck, DependenciesCheck, Grade, TestsCheck
from trued.wire import Order

CRITERIA = {
    "`npm test` passes": TestsCheck,
    "npm test passes": TestsCheck,
    "`npm test` is green": TestsCheck,
    "`node --check src/cart.js` passes": CommandCheck,
    "No new dependencies": DependenciesCheck,
    "Customers are happy": None,
}
TABLE = "| Chunk | Scope | Files |\n| --- | --- | --- |\n| 1A | vouchers | src/cart.js |\n"
LISTED = "".join(f"- [ ] {one}\n" for one in CRITERIA)
PLANNED = f"# Plan: cart\n\n{TABLE}\n**Ship criteria:**\n\n{LISTED}"
TICKET = f"---\nkey: CART-7\n---\n\n# Vouchers\n\n## Acceptance criteria\n\n{LISTED}"


@pytest.mark.spec("DAY-9")
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.parametrize("workflow", ["purple", pytest.param("ticket", marks=pytest.mark.slow)])
async def test_a_criterion_that_names_a_command_has_it_as_a_check(ground: Ground, workflow: str) -> None:
    (ground.repository / "src").mkdir()
    ground.write("package.json", json.dumps({"name": "cart", "scripts": {"test": "node --test"}}))
    ground.write("src/cart.js", "exports.total = (list) => list.length;\n")
    ground.write(
        "cart.test.js",
        "const { test } = require('node:test');\ntest('it', () => { require('./src/cart.js').total([]); });\n",
    )
    ground.write("PLAN.md", PLANNED)
    ground.write("ticket.md", TICKET)
    ground.commit()
    engine, _ = ground.engine(lambda _: {"cases": [], "asides": []})
    goal = "PLAN.md" if workflow == "purple" else "ticket.md"
    record = await ground.run(engine, goal, required=False, plan_only=True, workflow=workflow)
    contract = engine.store.contract(record.id)
    assert contract, record.why
    found = {one.text: [type(check) for check in one.checks] for one in contract.requirements if one.text in CRITERIA}
    assert found == {text: [kind] if kind else [] for text, kind in CRITERIA.items()}


@pytest.mark.slow
@pytest.mark.spec("DAY-9", "LAW-5")
@pytest.mark.parametrize("honest", [True, False])
async def test_no_new_dependencies_is_proven_by_the_manifests_and_refuted_by_one_line(
    ground: Ground, honest: bool
) -> None:
    ground.write("PLAN.md", f"# Plan: cart\n\n{TABLE}\n**Constraints:**\n\n- No new dependencies\n")
    ground.write("requirements.txt", "flask\n")
    ground.require([_double()])
    ground.commit()

    def script(order: Order) -> dict[str, Any]:
        if order.role != "purple-team-a":
            return PASSED
        if not honest:
            Path(order.folder, "requirements.txt").write_text("flask\nleft_pad @ https://x.example/left_pad.whl\n")
        return built(order, CODE)

    engine, _ = ground.engine(script)
    record = await ground.run(engine, rounds=1)
    verdict = engine.store.verdict(record.id)
    assert verdict
    grades = {one.text: one.grade for one in verdict.requirements}
    assert grades["No new dependencies"] is (Grade.PROVEN if honest else Grade.REFUTED)
    assert (record.state == "done") is honest
    assert honest or "left-pad" in record.why


def _double() -> dict[str, Any]:
    cases = [{"call": "tiny:double", "args": [n], "returns": 2 * n} for n in (21, 5)]
    return {"id": "double", "text": "double", "covers": ["1A"], "checks": [{"kind": "examples", "cases": cases}]}
