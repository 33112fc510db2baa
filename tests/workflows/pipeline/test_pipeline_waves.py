"""Concurrent implementers: contradicting changes are combined, and the merge is what is proven."""

from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import events
from tests.workflows.pipeline.pipeline_agents import (
    FACTORS,
    GOAL,
    ROOT,
    Crew,
    Halt,
    Line,
    agent_of,
    builds,
    crashes,
    decided,
    halts,
    task,
)
from trued.engine.approvals import Decision, decide
from trued.wire import Order

BESIDE = [task("T01", "double"), task("T02", "triple")]  # neither needs the other


def brings_together(order: Order) -> dict[str, Any]:
    """An implementer that resolves a conflict by removing only the marks."""
    file = Path(order.folder) / "tiny.py"
    if "<<<<<<<" not in file.read_text():
        return builds(order)
    kept = [one for one in file.read_text().splitlines() if one[:7] not in ("<<<<<<<", "=======", ">>>>>>>", "|||||||")]
    file.write_text("".join(f"{one}\n" for one in kept))
    return {"key_findings": ["both are there"]}


@pytest.mark.slow
@pytest.mark.spec("PIPE-11", "RUN-9")
async def test_two_who_edit_the_same_lines_both_survive_and_the_merge_is_proven(line: Line) -> None:
    crew = Crew(planner={"tasks": BESIDE}, implementer_T02=brings_together)
    engine = line.played(crew)
    record = await line.piped(engine)
    assert (record.state, record.code, str(record.grade)) == ("done", 0, "proven")
    assert [one.data["tasks"] for one in events(engine, record, "wave")] == [["T01", "T02"]]
    (conflict,) = events(engine, record, "conflict")
    assert (conflict.data["part"], conflict.data["files"]) == ("wave 1 T02", ["tiny.py"])
    asked = [one for one in crew.orders if agent_of(one) == "implementer-T02"]
    assert len(asked) == 2
    assert asked[0].session == asked[1].session  # the same agent, with its context
    assert "from doubles import double" in asked[1].brief
    assert "from triples import triple" in asked[1].brief
    assert {*line.file(record, "tiny.py").splitlines()} == {"from doubles import double", "from triples import triple"}
    verdict = engine.store.verdict(record.id)
    assert verdict is not None
    assert verdict.commit == record.head == line.git("rev-parse", record.branch)


@pytest.mark.slow
@pytest.mark.spec("PIPE-11", "RUN-2")
async def test_a_wave_that_was_broken_off_goes_on_where_it_was_with_a_writer_among_them(tmp_path: Path) -> None:
    """One implementer asks a question during the merge. The resumed run finds the work of the others done."""
    page = {"id": "T03", "title": "tell of both", "kind": "documentation"}

    def asks(order: Order) -> dict[str, Any]:
        merging = "<<<<<<<" in (Path(order.folder) / "tiny.py").read_text()
        return halts(order) if merging else builds(order)

    def writes(order: Order) -> dict[str, Any]:
        (Path(order.folder) / "README.md").write_text("double and triple\n")
        return {"key_findings": ["README.md tells of both"]}

    crew = Crew(planner={"tasks": [*BESIDE, page]}, documentation_writer=writes)
    halt = await Halt(tmp_path).reached("implementer-T02", crew, act=asks)
    crew = Crew(implementer_T02=brings_together, documentation_writer=crashes)
    async with halt.gone_on(crew) as (line, engine, record):
        assert (record.state, record.code) == ("done", 0)
        assert crew.asked[0] == "implementer-T02"
        assert "documentation-writer-T03" not in crew.asked
        assert line.file(record, "README.md") == "double and triple"
        assert "memory/documentation-writer-T03.mem.md" in line.files(record)
        merged = [one.data["part"] for one in events(engine, record, "merged")]
        assert merged == ["wave 1 T01", "wave 1 T02", "wave 1 T03"]


@pytest.mark.slow
@pytest.mark.spec("PIPE-11")
async def test_who_never_brings_both_together_loses_its_turn_and_not_its_work(line: Line) -> None:
    crew = Crew(planner=[{"tasks": BESIDE}], implementer_T02=[builds, {}, {}])
    engine = line.played(crew)
    record = await line.piped(engine)
    assert (record.state, record.code) == ("done", 0)  # the next round builds it on the other's work
    (aside,) = events(engine, record, "set aside")
    branch = str(aside.data["branch"])
    assert branch == f"trued/{record.id}-failed-T02"
    assert "return 3 * x" in line.git("show", f"{branch}:triples.py")
    assert crew.asked.count("implementer-T02") == 4  # the work, two tries to merge it, and once more after a replan
    assert "<<<<<<<" not in line.file(record, "tiny.py")


@pytest.mark.slow
@pytest.mark.spec("PIPE-11", "PIPE-14")
async def test_two_green_branches_that_break_together_are_found_on_the_merge(line: Line) -> None:
    line.write("tiny.py", "from doubles import double\nfrom triples import triple\n")
    line.write("factor.py", "FACTOR = 1\n")
    for name in FACTORS:
        line.write(f"{name}s.py", f"def {name}(x):\n    raise NotImplementedError\n")
    line.commit()

    def changes_the_factor(order: Order) -> dict[str, Any]:
        (Path(order.folder) / "factor.py").write_text("FACTOR = 2\n")
        body = "from factor import FACTOR\n\n\ndef double(x):\n    return FACTOR * x\n"
        (Path(order.folder) / "doubles.py").write_text(body)
        return {}

    def relies_on_it(order: Order) -> dict[str, Any]:
        body = "from factor import FACTOR\n\n\ndef triple(x):\n    return 3 * FACTOR * x\n"
        (Path(order.folder) / "triples.py").write_text(body)
        return {}

    crew = Crew(planner={"tasks": BESIDE}, implementer_T01=[changes_the_factor], implementer_T02=[relies_on_it])
    crew.acts["planner"] = [{"tasks": BESIDE}, {"tasks": [], "failures": [{"task": "T02", "what": "42 for 7"}]}]
    engine = line.played(crew)
    record = await line.piped(engine)
    assert events(engine, record, "conflict") == []
    assert decided(engine, record)[2:4] == [("verification", "NEEDS_REVISION"), ("verification", "DONE")]
    assert (record.state, record.code) == ("done", 0)
    first = events(engine, record, "proven")[0]
    assert (first.data["holds"], first.data["grade"]) == (False, "refuted")


# -- whose words they are ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("PIPE-1", "PIPE-12")
async def test_without_a_users_file_held_out_cases_examine_it_and_a_person_has_the_last_word(line: Line) -> None:
    (line.repository / ROOT).mkdir(parents=True)
    line.write(f"{ROOT}mine.md", "mine\n")
    line.commit()
    crew = Crew()
    engine = line.played(crew)
    record = await line.piped(engine, required=False)
    assert (record.state, record.code, str(record.grade)) == ("waiting", 3, "examined")
    verdict = engine.store.verdict(record.id)
    assert verdict is not None
    assert {"AC-double", "AC-triple", "text-1", "text-2"} <= {one.id for one in verdict.requirements}
    folder = f"{ROOT.rstrip('/')}-2/"
    assert line.file(record, f"{folder}feature.md").startswith("# spec")
    assert line.file(record, f"{ROOT}mine.md") == "mine"
    asked = len(crew.orders)
    decide(engine.store, record.id, [None], Decision(who="ann", why="I read it"))
    done = await engine.resume(record.id)
    assert (done.state, done.code, str(done.grade)) == ("done", 0, "proven")
    assert len(crew.orders) == asked


@pytest.mark.slow
@pytest.mark.spec("RUN-2", "RUN-3")
async def test_what_a_person_rejects_is_built_verified_and_reviewed_again(line: Line) -> None:
    crew = Crew()
    engine = line.played(crew)
    (line.folder / "request.md").write_text(f"# Numbers\n\n{GOAL}")
    record = await line.piped(engine, str(line.folder / "request.md"), required=False)
    assert record.code == 3
    decide(engine.store, record.id, ["AC-triple"], Decision(who="ann", why="three is too few", rejected=True))
    crew.orders.clear()
    again = await engine.resume(record.id)
    assert "implementer-T02" in crew.asked
    assert "implementer-T01" not in crew.asked
    assert "three is too few" in crew.briefs("implementer-T02")[0]
    assert {"v-build", "v-tests", "r-security"} <= {*crew.asked}
    assert again.code != 0
    assert "planner" not in crew.asked
