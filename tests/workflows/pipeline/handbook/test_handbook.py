"""The pipeline by hand: the files say what the engine does, and change with it."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from trued.agents.roles import find_roles, load_roles
from trued.agents.roles.export import LONGEST, is_unchanged, plan_exports, write_exports
from trued.agents.roles.other_tools import FORMS
from trued.model import Settings, Status
from trued.run import clusters as patterns
from trued.workflows.pipeline import decision_tables as decide
from trued.workflows.pipeline import flow as pipeline
from trued.workflows.pipeline import memory
from trued.workflows.pipeline.decision_tables import CRITIQUE_TABLE, TABLES, VERIFICATION_TABLE, Concern, DecisionTable
from trued.workflows.pipeline.feature_folder import DESIGN
from trued.workflows.pipeline.handbook import handbook, texts
from trued.workflows.pipeline.handbook.facts import ORCHESTRATOR, READS, STEPS, TASKS, expectations
from trued.workflows.pipeline.lint.select import lint_sets, named_sets
from trued.workflows.pipeline.orchestrator import CRITIQUES, VERIFICATION

pytestmark = pytest.mark.spec("PIPE-13")

LEAD, PATTERNS, PROMPT = range(3)


def parts(tables: tuple[DecisionTable, ...] = TABLES) -> list[str]:
    return list(texts(FORMS["github"], tables).values())


@pytest.mark.parametrize("form", FORMS)
def test_everything_that_is_exported_passes_the_lint_and_is_one_pipeline(tmp_path: Path, form: str) -> None:
    write_exports(
        [*plan_exports(load_roles(None, None).values(), FORMS[form], tmp_path), *handbook(FORMS[form], tmp_path)]
    )
    look = lint_sets(named_sets([tmp_path]))
    assert (look.found, look.pipelines, look.unjudged) == ([], 1, 0)
    assert look.files == len(load_roles(None, None)) + 3
    assert {one.state for one in handbook(FORMS[form], tmp_path)} == {"same"}


def test_an_orchestrator_fits_where_it_has_to() -> None:
    lead = parts()[LEAD]
    assert len(lead) < LONGEST["github"]
    assert len(lead.splitlines()) < 300


def test_every_table_stands_there_as_the_engine_has_it() -> None:
    for table in TABLES:
        assert table.render() in parts()[LEAD]


def test_another_table_is_another_text_and_a_wrong_one_is_found(tmp_path: Path) -> None:
    rules = (
        CRITIQUE_TABLE.rules[0],
        CRITIQUE_TABLE.rules[1].model_copy(update={"are": Concern.CRITICAL, "note": "to nobody"}),
    )
    lenient = CRITIQUE_TABLE.model_copy(update={"rules": rules})
    others = tuple(lenient if table is CRITIQUE_TABLE else table for table in TABLES)
    before, after = parts(), parts(others)
    assert "at High or worse" in before[LEAD]
    assert "at High or worse" not in after[LEAD]
    assert "| critique | at least 1 of" in after[LEAD]
    assert after[LEAD].count("to nobody") == 2  # in the step's table, and in the table of revisions
    (tmp_path / "orchestrator.agent.md").write_text(after[LEAD])
    assert {one.rule for one in lint_sets(named_sets([tmp_path])).found} == {"TS-6.2"}


def test_a_verification_that_lets_a_broken_build_pass_is_found(tmp_path: Path) -> None:
    opened = VERIFICATION_TABLE.model_copy(update={"rules": VERIFICATION_TABLE.rules[1:]})
    text = parts(tuple(opened if table is VERIFICATION_TABLE else table for table in TABLES))[LEAD]
    (tmp_path / "orchestrator.agent.md").write_text(text)
    assert {one.rule for one in lint_sets(named_sets([tmp_path])).found} == {"TS-7.1"}


def test_numbers_and_names_are_the_engines() -> None:
    lead, dispatch, prompt = parts()
    assert f"At most {Settings().cap} agents work at a time" in lead
    assert f"at most {patterns.ROUNDS} rounds" in lead
    assert f"Fewer than {decide.LEAST} outputs" in lead
    assert f"Fewer than {decide.LEAST} outputs" in dispatch
    assert f"at most {memory.MOST_LINES} lines" in prompt
    for name in (*decide.RESEARCH, *decide.CRITICS, *decide.VERIFIERS, *decide.REVIEWERS):
        assert f"memory/{name}.mem.md" in lead
        assert f"`{name}`" in prompt
    assert sum(rule.then is Status.NEEDS_REVISION for table in TABLES for rule in table.rules) == lead.count(
        "\n| critique |"
    ) + lead.count("\n| verification |") + lead.count("\n| review |")


def test_the_first_four_rules_are_those_of_the_packaged_roles() -> None:
    words = " ".join(load_roles(None, None)["planner"].prompt.split())
    lead = " ".join(parts()[LEAD].split())
    for rule in range(1, 5):
        start = lead.index(f" {rule}. ", lead.index("## Operating rules"))
        assert lead[start : lead.index(f" {rule + 1}. ", start)] in words


def test_every_agent_has_a_row_with_what_it_leaves_says_and_leads_to() -> None:
    rows = {row["agent"]: row for row in expectations()}
    assert {*rows} == {name for step in STEPS[1:] for name in step.who}
    asks = {name for name, row in rows.items() if "NEEDS_REVISION" in row["says"]}
    assert asks == {*decide.REVISING}
    assert all(f"| `{name}` | {row['leaves']} |" in parts()[LEAD] for name, row in rows.items())


def test_what_each_step_reads_is_what_the_workflow_gives() -> None:
    given = dict(errands())
    steps = {"research": "research", "criticize": "critique", "verify": "verification", "review": "review"}
    assert {steps[where]: read for (where, _), read in given.items() if where in steps} == {
        step: set(READS[step]) for step in steps.values()
    }
    assert given["pipeline", "'spec'"] == set(READS["spec"])
    assert given["pipeline", "'planner'"] == set(READS["plan"])
    assert given["replan", "'planner'"] >= {TASKS, *VERIFICATION}
    assert given["design", "'designer'"] == {*READS["design"], DESIGN, *CRITIQUES}  # the last errand: a revision
    assert {step.name for step in STEPS} == {"set-up", *READS}


def errands() -> Iterator[tuple[tuple[str, str], set[str]]]:
    """Read from the workflow's code: (function, agent) → the files that the function gives the agent to read."""
    for function in ast.parse(inspect.getsource(pipeline)).body:
        if not isinstance(function, ast.AsyncFunctionDef):
            continue
        known: dict[str, ast.expr] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                known[node.targets[0].id] = node.value
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
                known |= {ast.unparse(one): value for one, value in zip(*_sides(node), strict=True)}
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        for node in sorted(calls, key=lambda one: one.lineno):
            if isinstance(node.func, ast.Attribute) and node.func.attr == "errand":
                yield (function.name, ast.unparse(node.args[0])), set(_read(node.args[2], known))


def _sides(node: ast.Assign) -> tuple[list[ast.expr], list[ast.expr]]:
    target = node.targets[0]
    assert isinstance(target, ast.Tuple)
    assert isinstance(node.value, ast.Tuple)
    return target.elts, node.value.elts


def _read(node: ast.expr, known: Mapping[str, ast.expr]) -> Iterator[str]:
    if isinstance(node, ast.Tuple):
        for one in node.elts:
            yield from _read(one, known)
    elif isinstance(node, ast.Starred):
        yield from _read(node.value, known)
    elif (name := ast.unparse(node)) == "lead.task_files":
        yield TASKS
    elif name in known:
        yield from _read(known[name], known)
    else:
        value = getattr(pipeline, name)
        yield from (value,) if isinstance(value, str) else value


@pytest.mark.parametrize("form", FORMS)
def test_an_orchestrator_that_nobody_changed_is_no_role_here(tmp_path: Path, form: str) -> None:
    exports = handbook(FORMS[form], tmp_path)
    write_exports(exports)
    assert all(is_unchanged(one.path.read_text()) for one in exports)
    assert find_roles(tmp_path, None).roles == load_roles(None, None)
    assert [one.role for one in exports] == [ORCHESTRATOR] * 3
