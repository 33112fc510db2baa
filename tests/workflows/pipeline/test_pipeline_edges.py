"""EC-1 to EC-11: things that go wrong in a pipeline, each in a whole run."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import events
from tests.workflows.pipeline.pipeline_agents import (
    CRITERIA,
    ROOT,
    SENTENCES,
    TASKS,
    Crew,
    Halt,
    Line,
    builds,
    crashes,
    decided,
    folder_of,
    honest,
    leaves,
    task,
)
from trued.engine.estimate import estimate_run
from trued.run.clusters import TRIES
from trued.wire import Order
from trued.workflows.pipeline.decision_tables import CHECKERS, CRITICS, RESEARCH, REVIEWERS, VERIFIERS
from trued.workflows.pipeline.feature_folder import FOCUSES


@pytest.fixture(scope="module")
def before_verification(tmp_path_factory: pytest.TempPathFactory) -> Halt:
    """A run with everything built, interrupted before verification; `triple`, from T02, is wrong."""
    wrong = [lambda order: builds(order, factor=4)]
    crew = Crew(implementer_T02=wrong)
    return asyncio.run(Halt(tmp_path_factory.mktemp("pipeline")).reached("v-build", crew))


def falls(order: Order) -> dict[str, Any]:
    leaves(order, "# half of it\n\nStatus: DONE\n")
    return crashes(order)


def rated(severity: str, *findings: str) -> Any:
    def act(order: Order) -> dict[str, Any]:
        leaves(order)
        status = "NEEDS_REVISION" if severity in ("High", "Critical", "Major", "Blocker") else "DONE"
        return {"status": status, "severity": severity, "key_findings": [*findings]}

    return act


# -- before the plan is sealed -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("PIPE-1", "PIPE-3", "PIPE-5", "PIPE-10", "PIPE-12", "PIPE-15", "PIPE-17", "USE-10")
async def test_a_missing_memory_a_missing_file_and_contradictions_stop_nobody_and_are_told(line: Line) -> None:
    """EC-1, EC-7, EC-8, EC-9, EC-10."""
    late, early = rated("Low", "the lock is safe"), rated("High", "the lock can be picked")
    crew = Crew(
        researcher_impact=falls,
        researcher_patterns=crashes,
        ct_strategy=late,
        ct_security=[early, rated("Low", "the lock holds")],
    )
    engine = line.played(crew)
    (line.folder / "request.md").write_text("\n\n".join(SENTENCES))  # prose, without tasks
    record = await line.piped(engine, str(line.folder / "request.md"), plan_only=True)
    assert (record.state, record.code) == ("planned", 0)
    missing = [one.data["agent"] for one in events(engine, record, "memory missing")]
    assert missing == ["researcher-impact", "researcher-patterns"]
    files = line.files(record)
    assert "research/impact.md" in files  # the document is kept, but is no answer
    assert "memory/researcher-impact.mem.md" not in files
    assert "research/patterns.md" not in files
    for agent in ("spec", "designer", "planner"):
        brief = crew.briefs(agent)[0]
        assert f"{ROOT}research/patterns.md: researcher-patterns gave no answer" in brief
        assert 0 < brief.index(f"{ROOT}memory.md") < brief.index(f"{ROOT}research/impact.md")
        assert all(f"{ROOT}research/{focus}.md" in brief for focus in FOCUSES)  # each file by itself, none combined
        assert f"memory/{agent}.mem.md" in files
    expected = {one.role: one.calls for one in estimate_run(engine.store, record.id).parts}
    assert (expected["implementer"], expected["v-build"]) == ((2, 8), (1, 4))  # for two tasks
    assert decided(engine, record) == [
        ("research", "DONE"),
        ("critique", "NEEDS_REVISION"),  # the worst of contradicting answers
        ("critique", "DONE"),
    ]
    first, second = crew.briefs("designer")
    assert f"{ROOT}ct-review" not in first
    assert all(f"{ROOT}ct-review/{name}.md" in second for name in CRITICS)
    at = line.git("log", "--format=%H", "--grep=docs: critique", record.branch).splitlines()[-1]
    shared = line.git("show", f"{at}:{ROOT}memory.md")
    assert "the lock is safe" in shared
    assert "the lock can be picked" in shared


@pytest.mark.spec("PIPE-5", "RUN-2")
async def test_whoever_resumes_a_run_that_failed_sends_those_again_who_gave_nothing(line: Line) -> None:
    silent = [name for name in RESEARCH if name != RESEARCH[1]]
    crew = Crew(**{name.replace("-", "_"): [crashes] * TRIES for name in silent}, spec=[crashes] * 2 * TRIES)
    engine = line.played(crew)
    record = await line.piped(engine)
    assert (record.state, record.code, len(crew.asked)) == ("failed", 5, 1 + TRIES * len(silent))
    crew.orders.clear()
    record = await engine.resume(record.id)
    assert (record.state, sorted(crew.asked)) == ("failed", sorted([*silent, *["spec"] * TRIES]))
    crew.orders.clear()
    assert (await engine.resume(record.id)).state == "failed"
    assert crew.asked == ["spec"] * TRIES


@pytest.mark.slow
@pytest.mark.spec("PIPE-5", "PIPE-15")
async def test_fewer_than_two_critics_are_an_error_and_two_are_enough(line: Line) -> None:
    """EC-2."""
    crew = Crew(**{name.replace("-", "_"): crashes for name in CRITICS[1:]})
    engine = line.played(crew)
    record = await line.piped(engine)
    assert (record.state, record.code) == ("failed", 5)
    assert decided(engine, record)[-1] == ("critique", "ERROR")
    assert "planner" not in crew.asked
    crew = Crew(**{name.replace("-", "_"): crashes for name in CRITICS[2:]})
    record = await line.piped(line.played(crew), plan_only=True)
    assert (record.state, record.code) == ("planned", 0)


@pytest.mark.slow
@pytest.mark.spec("PIPE-5", "PIPE-8")
async def test_a_plan_that_is_none_is_told_to_its_planner_once(line: Line) -> None:
    circle = {"tasks": [task("T01", "double", depends_on=["T02"]), task("T02", "triple", depends_on=["T01", "T09"])]}
    crew = Crew(planner=[circle])
    record = await line.piped(line.played(crew), plan_only=True)
    assert (record.state, record.code) == ("planned", 0)
    first, second = crew.briefs("planner")
    assert "wait for each other" not in first
    assert "these tasks wait for each other: T01, T02" in second
    assert "T02 depends on 'T09', and there is no such task" in second
    crew = Crew(planner=circle)
    engine = line.played(crew)
    record = await line.piped(engine)
    assert (record.state, record.code) == ("failed", 5)
    assert "the plan cannot be used" in record.why
    ended = events(engine, record, "step")[-1].data
    assert (ended["step"], ended["result"]) == ("plan", "ERROR")
    assert "these tasks wait for each other: T01, T02" in ended["why"]
    assert crew.asked.count("planner") == 2
    assert "implementer-T01" not in crew.asked


# -- verification ------------------------------------------------------------------------------------------------------


def maps(order: Order) -> dict[str, Any]:
    """An honest planner in a replan: it reads the verification files in its clone."""
    said = (folder_of(order) / "verification" / "v-tasks.md").read_text()
    return {"tasks": [], "failures": [{"task": "T02", "what": f"seen in v-tasks.md: {said}"}]}


def finds(order: Order) -> dict[str, Any]:
    leaves(order, "T02 is wrong: 4 instead of 3")
    (folder_of(order) / "memory" / "v-feature.mem.md").write_text("# v-feature\n\nStatus: ERROR\n")
    states = [{"task": "T01", "state": "done"}, {"task": "T02", "state": "partial", "what": "4"}]
    return {"status": "NEEDS_REVISION", "severity": "fail", "key_findings": ["T02 is wrong"], "tasks": states}


@pytest.mark.slow
@pytest.mark.spec("PIPE-6", "PIPE-8", "PIPE-14", "PIPE-15")
async def test_a_replan_reads_the_verification_files_and_only_the_failing_task_is_done_again(
    before_verification: Halt,
) -> None:
    """EC-11. v-tests says that all is well, which changes nothing: the engine has run the tests itself."""
    crew = Crew(planner=maps, v_tasks=[finds])
    async with before_verification.gone_on(crew) as (line, engine, record):
        assert (record.state, record.code, str(record.grade)) == ("done", 0, "proven")
        assert decided(engine, record)[2:] == [
            ("verification", "NEEDS_REVISION"),
            ("verification", "DONE"),
            ("review", "DONE"),
        ]
        assert crew.asked.count("implementer-T02") == 1
        assert "implementer-T01" not in crew.asked
        (planner,) = crew.briefs("planner")
        assert all(f"{ROOT}verification/{name}.md" in planner for name in CHECKERS)
        assert "seen in v-tasks.md: T02 is wrong: 4 instead of 3" in crew.briefs("implementer-T02")[0]
        assert "verifier.md" not in planner
        told_again = (
            f"{ROOT}memory/v-feature.mem.md: you wrote this file before, but it is not yours; the change was undone"
        )
        assert [told_again in brief for brief in crew.briefs("v-tasks")] == [False, True]
        told = line.git("log", "-1", "--format=%H", "--grep=docs: verification", "--skip=1", record.branch)
        memory = line.git("show", f"{told}:{ROOT}memory/v-tests.mem.md")
        assert "Status: NEEDS_REVISION" in memory
        assert "the engine found" in memory


@pytest.mark.slow
@pytest.mark.spec("PIPE-6", "PIPE-8", "PIPE-15")
async def test_a_build_that_fails_closes_the_gate_and_the_next_round_opens_it(before_verification: Halt) -> None:
    """EC-5."""
    failing = {"status": "ERROR", "severity": "fail", "key_findings": ["it does not build"]}
    crew = Crew(v_build=[failing, failing], planner={"tasks": [], "failures": [{"task": "T02", "what": "build"}]})
    async with before_verification.gone_on(crew) as (_, engine, record):
        assert (record.state, record.code) == ("done", 0)
        assert decided(engine, record)[2:] == [("verification", "ERROR"), ("verification", "DONE"), ("review", "DONE")]
        assert crew.asked.index("planner") < crew.asked.index("v-tests")
        assert crew.asked.count("v-build") == 3
        assert crew.asked.count("v-tests") == 1


@pytest.mark.slow
@pytest.mark.spec("PIPE-6", "PIPE-8")
async def test_where_only_an_answer_is_missing_it_is_asked_for_again_and_nothing_is_built_again(
    before_verification: Halt,
) -> None:
    crew = Crew(v_build=[crashes] * TRIES, planner={"tasks": [], "failures": []})
    async with before_verification.gone_on(crew) as (_, engine, record):
        assert (record.state, record.code) == ("done", 0)
        assert [result for cluster, result in decided(engine, record) if cluster == "verification"] == [
            "ERROR",
            "NEEDS_REVISION",  # `triple` is found to be wrong
            "DONE",
        ]
        built = [one for one in crew.asked if one.startswith("implementer")]
        assert built == ["implementer-T01", "implementer-T02"]  # once, for what the second round found
        assert crew.asked.index("v-tests") < crew.asked.index(built[0])


@pytest.mark.slow
@pytest.mark.spec("PIPE-14")
async def test_what_the_engine_cannot_build_does_not_build_whatever_v_build_says(line: Line) -> None:
    def broken(order: Order) -> dict[str, Any]:
        (Path(order.folder) / "doubles.py").write_text("def double(:\n")
        return {"key_findings": ["double is there"]}

    crew = Crew(
        implementer_T01=[broken], planner=[{"tasks": TASKS}, {"tasks": [], "failures": [{"task": "T01", "what": "x"}]}]
    )
    engine = line.played(crew)
    record = await line.piped(engine)
    assert (record.state, record.code) == ("done", 0)
    assert decided(engine, record)[2] == ("verification", "ERROR")
    assert crew.asked.count("v-build") == 2
    assert crew.asked.count("v-tests") == 1
    told = line.git("log", "--format=%H", "--grep=docs: verification", record.branch).splitlines()[-1]
    assert "the engine's own build" in line.git("show", f"{told}:{ROOT}memory/v-build.mem.md")


@pytest.mark.slow
@pytest.mark.spec("PIPE-8", "PIPE-15")
async def test_after_three_rounds_the_run_goes_on_to_review_and_is_no_success(before_verification: Halt) -> None:
    """EC-6: all checks pass and all other agents approve; only one verifier objects."""
    crew = Crew(v_feature=finds, planner=maps)
    async with before_verification.gone_on(crew) as (line, engine, record):
        assert (record.state, record.code) == ("not proven", 1)
        assert [result for cluster, result in decided(engine, record) if cluster == "verification"] == [
            "NEEDS_REVISION"
        ] * 3
        assert decided(engine, record)[-1] == ("review", "DONE")
        assert crew.asked.count("planner") == 2
        assert "v-feature" in record.why
        assert "T02 is wrong" in record.why
        assert "verification/v-feature.md" in line.files(record)


# -- review ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("PIPE-7", "PIPE-15")
async def test_what_a_reviewer_calls_major_is_mended_once_and_all_is_looked_at_again(before_verification: Halt) -> None:
    mends = {"tasks": [], "failures": [{"task": "T02", "what": "4"}]}
    major = {"what": "it is slow", "where": "triples.py:1", "severity": "major"}

    def grumbles(order: Order) -> dict[str, Any]:
        leaves(order)
        return {"status": "NEEDS_REVISION", "severity": "Major", "findings": [major]}

    crew = Crew(planner=mends, r_quality=[grumbles])
    async with before_verification.gone_on(crew) as (_, engine, record):
        assert (record.state, record.code) == ("done", 0)
        assert decided(engine, record)[3:] == [
            ("verification", "DONE"),
            ("review", "NEEDS_REVISION"),
            ("verification", "DONE"),
            ("review", "DONE"),
        ]
        assert "it is slow" in crew.briefs("implementer-T02")[1]
        assert "implementer-T01" not in crew.asked
    crew = Crew(planner=mends, r_quality=grumbles)
    async with before_verification.gone_on(crew) as (_, engine, record):
        assert (record.state, record.code) == ("not proven", 1)
        assert "it is slow" in record.why
        assert crew.asked.count("r-quality") == 2


@pytest.mark.slow
@pytest.mark.spec("PIPE-7", "PIPE-15")
async def test_two_reviewers_that_fail_are_an_error_and_a_case_of_a_reviewer_is_run(before_verification: Halt) -> None:
    """EC-2; and by the law, the engine runs a case that an agent gives."""
    mends = {"tasks": [], "failures": [{"task": "T02", "what": "4"}]}
    crew = Crew(planner=mends, r_quality=crashes, r_testing=crashes)
    async with before_verification.gone_on(crew) as (_, engine, record):
        assert (record.state, record.code) == ("not proven", 1)
        assert decided(engine, record)[-1] == ("review", "ERROR")

    def shows(order: Order) -> dict[str, Any]:
        leaves(order)
        case = {"call": "tiny:double", "args": [2], "returns": 5}
        return {"severity": "Minor", "findings": [{"what": "two is special", "requirement": "both", "case": case}]}

    crew = Crew(planner=mends, r_testing=shows)
    async with before_verification.gone_on(crew) as (_, engine, record):
        assert (record.state, record.code, str(record.grade)) == ("not proven", 1, "refuted")
        assert [result for cluster, result in decided(engine, record) if cluster == "review"] == ["NEEDS_REVISION"] * 2


# -- a critique that outlives the revision -----------------------------------------------------------------------------


def repeats(order: Order) -> dict[str, Any]:
    return {**honest(order), "repeats": ["C1"]}


@pytest.mark.slow
@pytest.mark.spec("PIPE-5", "PIPE-7")
@pytest.mark.parametrize("again", [False, True])
async def test_a_critique_stands_only_if_somebody_finds_it_again_in_the_work(line: Line, again: bool) -> None:
    crew = Crew(ct_security=rated("High", "the lock can be picked"), **({"r_security": repeats} if again else {}))
    engine = line.played(crew)
    record = await line.piped(engine)
    assert crew.asked.count("designer") == 2, record.why
    assert crew.asked.count("ct-security") == 2, record.why
    for agent in ("planner", "v-feature", "r-quality"):
        assert "the lock can be picked" in crew.briefs(agent)[0]
    assert "C1: the lock can be picked (ct-security)" in line.document(record, "plan.md")
    (told,) = events(engine, record, "critique")
    assert (told.data["stands"], told.data["closed"]) == ((["C1"], []) if again else ([], ["C1"]))
    assert (record.state, record.code) == (("not proven", 1) if again else ("done", 0)), record.why
    assert ("ct-security" in record.why) == again


@pytest.mark.slow
@pytest.mark.spec("PIPE-8")
async def test_a_task_that_nobody_finishes_stays_open_and_verification_finds_it(line: Line) -> None:
    crew = Crew(implementer_T01=[crashes, crashes], planner=[{"tasks": TASKS}, {"tasks": []}])
    engine = line.played(crew)
    record = await line.piped(engine)
    assert (record.state, record.code) == ("done", 0)
    assert crew.asked.count("implementer-T01") == 3
    assert crew.asked.index("implementer-T02") < crew.asked.index("v-build")  # no threshold in waves
    assert decided(engine, record)[2][1] in ("NEEDS_REVISION", "ERROR")
    assert "T01 is open" in crew.briefs("implementer-T01")[2]


def succeeds(order: Order) -> dict[str, Any]:
    """Any agent: it reports success, and changes nothing."""
    said: dict[str, dict[str, Any]] = {
        "spec": {"criteria": CRITERIA},
        "planner": {"tasks": TASKS},
        "examiner": {"cases": [], "interface": []},
    }
    return said.get(order.role, {})


@pytest.mark.slow
@pytest.mark.spec("PIPE-14", "LAW-2")
@pytest.mark.parametrize("required", [True, False])
async def test_a_crew_that_only_says_that_all_is_done_is_never_done(line: Line, required: bool) -> None:
    crew = Crew(**dict.fromkeys(("researcher", "spec", "designer", "planner", "implementer", "examiner"), succeeds))
    crew.acts |= dict.fromkeys((*CRITICS, *VERIFIERS, *REVIEWERS), succeeds)
    engine = line.played(crew)
    record = await line.piped(engine, required=required, without_cases=True)
    assert (record.state, record.code) == ("not proven", 1)
    assert "the diff is empty" in record.why
    assert "research/impact.md" not in line.files(record)
    assert f"{ROOT}research/impact.md: researcher-impact left no document" in crew.briefs("spec")[0]
