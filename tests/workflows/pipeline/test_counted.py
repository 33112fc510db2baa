"""Tests that a plan names can only add gaps, and no gap that nobody could fix."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.run.test_clusters import Stage
from tests.workflows.pipeline.pipeline_agents import Crew, Line
from trued.model import Contract, Figures, Goal
from trued.workflows.pipeline.orchestrator import Orchestrator
from trued.workflows.pipeline.task_plan import Work
from trued.workflows.pipeline.verification import COMMANDS, NOT_COUNTED, NOT_RUN, planned_test_gaps

LATER = "import pytest\n\n\n@pytest.mark.skip(reason='later')\ndef test_a():\n    pass\n\n\n"
SUITE = "python -m pytest -q"


@pytest.mark.parametrize(
    ("passing", "total", "skipped", "on_base", "good"),
    [
        (1, 2, ("a",), ("a",), True),
        (1, 2, ("a",), ("b",), False),  # skipped here, but not on the base
        (0, 1, ("a",), ("a",), False),  # all are skipped, so none passes
        (1, 3, ("a",), ("a",), False),  # one fails
        (2, 2, (), (), True),
    ],
)
def test_what_the_base_skips_too_is_no_gap(
    passing: int, total: int, skipped: tuple[str, ...], on_base: tuple[str, ...], good: bool
) -> None:
    found = Figures(passing=passing, total=total, skipped=skipped)
    assert found.good_beside(Figures(skipped=on_base)) is good


@pytest.mark.slow
@pytest.mark.spec("PIPE-14", "LAW-11")
async def test_a_command_that_is_no_runners_is_said_and_a_test_that_fails_is_a_gap(tmp_path: Path) -> None:
    with ExitStack() as stack:
        line = Line(tmp_path, stack)
        line.write("test_tiny.py", f"{LATER}def test_b():\n    pass\n")
        line.write("Makefile", f"test:\n\t{SUITE}\n")
        line.commit()
        run = await Stage(line).run(Crew())
        lead = await Orchestrator.start(run, Goal(text="Name two colours."))
        run.judgement.enforce(Contract(base=run.branch.base, requirements=()))
        more = [Work(id=f"T{number}", title="more", tests=f"true {number}") for number in range(COMMANDS)]
        lead.tasks = (Work(id="A", title="a", tests=SUITE), Work(id="B", title="b", tests="make test"))
        assert await planned_test_gaps(lead) == ()
        assert run.steps.state.proof.unverified["tests"] == (NOT_COUNTED.format(command="make test"),)
        await run.branch.write({"test_tiny.py": "def test_b():\n    raise ValueError\n"}, "test: another")
        lead.tasks = (lead.tasks[0], *more)
        (gap,) = await planned_test_gaps(lead)
        assert gap.what == f"A: `{SUITE}`: 0 of 1 tests pass"
        assert run.steps.state.proof.unverified["tests"][0] == NOT_RUN.format(command=f"true {COMMANDS - 1}")
