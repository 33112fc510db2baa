"""How the engine builds a project itself: with the base's command, even if the head changes it."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.run.test_clusters import Stage
from tests.workflows.pipeline.pipeline_agents import Crew, Line
from trued.model import Contract, Goal, Outcomes, Plan
from trued.run.judgement import UNBUILT
from trued.workflows.pipeline.orchestrator import Orchestrator
from trued.workflows.pipeline.verification import build_commands, build_project

COMPILE = "python3 -m compileall -q"


@pytest.mark.spec("PIPE-14")
@pytest.mark.parametrize(
    ("base", "head", "commands"),
    [
        ("", "", []),
        ("", "make build", ["make build"]),
        ("make build", "", ["make build"]),  # the head removed it
        ("make build", "make build", ["make build"]),
        ("make build", "go build ./...", ["make build", "go build ./..."]),
        ("make build", "make build && go build ./...", ["make build && go build ./..."]),
        (f"{COMPILE} a.py", f"{COMPILE} a.py b.py", [f"{COMPILE} a.py b.py"]),
        (f"{COMPILE} a.py", f"{COMPILE} shop", [f"{COMPILE} a.py", f"{COMPILE} shop"]),  # a new package hides a.py
    ],
)
def test_what_the_base_builds_is_built_and_what_the_head_brings_besides(
    base: str, head: str, commands: list[str]
) -> None:
    assert build_commands(base, head) == commands


@pytest.mark.slow
@pytest.mark.spec("PIPE-14", "LAW-11")
async def test_a_build_that_was_taken_away_has_failed_and_what_shows_less_is_said_in_every_verdict(
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        line = Line(tmp_path, stack)
        line.write("package.json", '{"main": "shop.js"}\n')
        line.write("Makefile", "build:\n\t@cat tiny.py\n")
        line.commit()
        run = await Stage(line).run(Crew())
        lead = await Orchestrator.start(run, Goal(text="Name two colours."))
        run.judgement.enforce(Contract(base=run.branch.base, requirements=()))
        here = await build_project(lead)
        assert here is not None
        assert (here.outcome, here.command, here.unsure) == (Outcomes.PASSED, "make build", ())
        await run.branch.write({"Makefile": "build:\n\t@true\n"}, "feat: another build")
        there = await build_project(lead)
        assert there is not None
        assert there.ok
        (said,) = there.unsure
        assert "Makefile controls the build `make build` and is not the base's" in said
        assert said in (await run.prove(Plan())).undecided
        await run.branch.write({"Makefile": "all:\n\t@true\n"}, "feat: no build")
        gone = await build_project(lead)
        assert gone is not None
        assert (gone.outcome, gone.command) == (Outcomes.FAILED, "make build")


@pytest.mark.slow
@pytest.mark.spec("PIPE-14", "LAW-11")
async def test_what_cannot_be_built_here_or_by_anybody_is_said_in_the_verdict(tmp_path: Path) -> None:
    with ExitStack() as stack:
        line = Line(tmp_path, stack)
        line.write("package.json", '{"main": "shop.js"}\n')
        line.commit()
        run = await Stage(line).run(Crew())
        lead = await Orchestrator.start(run, Goal(text="Name two colours."))
        run.judgement.enforce(Contract(base=run.branch.base, requirements=()))
        assert await build_project(lead) is None
        assert UNBUILT in (await run.prove(Plan())).undecided
        found = await run.judgement.build("echo no route to 10.0.0.1; exit 1")
        assert found is not None
        assert found.outcome is Outcomes.UNJUDGED
        (said,) = found.unsure
        assert said.endswith("shows nothing: it fails on the base in the same way: no route to 10.0.0.1")
        undecided = (await run.prove(Plan())).undecided
        assert said in undecided
        assert UNBUILT not in undecided
