"""Commands by which a person speaks: the contract is shown, and changed by nobody else."""

import pytest

from tests.cli.conftest import World
from trued.processes import MARKER


@pytest.mark.spec("LAW-3", "USE-7", "USE-10")
def test_a_planned_contract_is_shown_and_amended_by_a_named_person_only(world: World) -> None:
    planned = world.trued("run", *world.work, "--plan-only", "--yes")
    assert planned.returncode == 0, planned.stderr
    unnamed = world.trued("amend", "--remove", "triple")
    assert (unnamed.returncode, "your name and a reason" in unnamed.stderr) == (2, True)
    given = ("--as", "ann", "--reason", "one is enough")
    inside = world.trued("amend", "--remove", "triple", *given, **{MARKER: "r/x@1"})
    assert (inside.returncode, "refused inside an agent" in inside.stderr) == (2, True)
    done = world.trued("amend", "--remove", "triple", *given)
    assert done.returncode == 0, done.stderr
    assert "tiny:double(21) → 42" in done.stderr
    assert "tiny:triple" not in done.stderr
    assert "triple" not in str([one["id"] for one in world.data("ledger")["requirements"]])
