"""Plans are read as people write them, verbatim."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.errors import BadInput
from trued.inputs.plans.plan import CONTEXT_LIMIT, CUT, OWN_LIMIT, PHASE_LIMIT, parse_plan, read_plan, tick_lines
from trued.model import Plan

PLAN = """\
# Plan: Points that add up

**Feature:** points
**Status:** draft
**Updated:** 2026-01-05

## Problem Statement

Totals are wrong when `points` is *empty*.

## Goals

1. Totals are right, even for `None`
2. Old callers
   keep working
   - also those in `legacy/`

## Non-Goals

- A new database

## Constraints

- No new dependency

## Research

| Behavior | v1 | v2 |
|----------|----|----|
| Totals | wrong | right |

- [ ] read the paper by 2B or not 2B

```markdown
| Chunk | Scope | Files |
|---|---|---|
| 9Z | in a fence | `no.py` |

**Ship Criteria:**
- [ ] nothing of this counts
```

<!--
| Chunk | Scope |
|---|---|
| 8Y | in a comment |
-->

## Phases

### Phase 1: Sums ✅

First make it add up.

| Owner | Chunk | Files | Scope | Notes |
|-------|-------|-------|-------|-------|
| Ann | **1A** | `src/sum.py`, `tests/test_sum.py` | add `total(points)` \\| and *round* it | careful |
| Bob | 1B | - | document it | |

**Ship Criteria:**

- [x] `total([])` is 0
- [ ] Zürich's points count – twice <!-- ask Zoë -->
  - [ ] nested: also on Sundays

**Notes:**

- not a criterion

### Phase 2: Test on the shop

Run it for a week.

**Done when**: nobody complains

## Resolved Questions

1. **Rounding:** half up.
"""


def ids(plan: Plan) -> list[str]:
    return [task.id for task in plan.tasks]


def criteria(plan: Plan, kind: str) -> list[str]:
    return [one.text for one in plan.criteria if one.kind == kind]


@pytest.mark.spec("PUR-1", "LAW-12")
def test_a_plan_with_everything_around_it_is_read_verbatim_with_file_and_line() -> None:
    plan = parse_plan(PLAN, "docs/PLAN.md")
    lines = PLAN.splitlines()
    assert plan.title == "Plan: Points that add up"
    assert plan.text == PLAN
    assert ids(plan) == ["1A", "1B", "2A"]
    first, second, third = plan.tasks
    assert first.scope == "add `total(points)` | and *round* it\nNotes: careful"
    assert third.scope == "Phase 2: Test on the shop\nRun it for a week."
    assert [(one.kind, one.text) for one in plan.unread] == [("text", "First make it add up.")]
    assert first.title == "add `total(points)` | and *round* it"
    assert first.files == ("src/sum.py", "tests/test_sum.py")
    assert second.files == ()
    assert first.phase == "Phase 1: Sums"
    assert str(first.source) == f"docs/PLAN.md:{lines.index(next(x for x in lines if '**1A**' in x)) + 1}"
    assert criteria(plan, "goal") == [
        "Totals are right, even for `None`",
        "Old callers keep working",
        "also those in `legacy/`",
    ]
    assert criteria(plan, "constraint") == ["No new dependency"]
    assert criteria(plan, "ship") == [
        "`total([])` is 0",
        "Zürich's points count – twice",
        "nested: also on Sundays",
        "nobody complains",
    ]
    for one in plan.criteria:
        assert one.text.split(" <")[0].split(" keep")[0] in lines[one.source.line - 1]
    assert [one.phase for one in plan.criteria if one.kind == "ship"] == ["Phase 1: Sums"] * 3 + [
        "Phase 2: Test on the shop"
    ]


@pytest.mark.spec("PUR-1", "PUR-11")
def test_an_agent_gets_the_chunk_and_its_phase_and_not_the_whole_plan() -> None:
    plan = parse_plan(PLAN, "PLAN.md")
    brief = plan.tasks[0].brief
    assert brief.startswith("### Phase 1: Sums ✅\n")
    assert "First make it add up." in brief
    assert "| Owner | Chunk | Files | Scope | Notes |" in brief
    assert "| Ann | **1A** |" in brief
    assert "- [x] `total([])` is 0" in brief
    assert "1B" not in brief
    assert "Resolved" not in brief
    assert "Phase 2" not in brief
    assert "Totals are wrong" in plan.context
    assert "A new database" in plan.context
    assert "Phase" not in plan.context
    assert "read the paper" not in plan.context


@pytest.mark.spec("PUR-11")
def test_excerpts_stay_bounded_however_long_the_plan_is() -> None:
    prose = "word " * 20_000
    rows = "".join(f"| {n}A | do {n} | |\n" for n in range(1, 4))
    text = f"## Goals\n\n- {prose}\n\n## Phase 1: x\n\n{prose}\n\n| Chunk | Scope | Files |\n|-|-|-|\n{rows}\n{prose}\n"
    plan = parse_plan(text, "PLAN.md")
    for task in plan.tasks:
        assert len(task.brief) < OWN_LIMIT + PHASE_LIMIT + 200
        assert CUT in task.brief
    assert len(plan.context) < CONTEXT_LIMIT + 100


@pytest.mark.spec("PUR-1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("| # | Task | Paths |\n|--|--|--|\n| 1 | do x | a.py, b.py |\n", [("1", "do x", ("a.py", "b.py"))]),
        ("| Id | What |\n|--|--|\n| 1A | do x |\n", [("1A", "do x", ())]),
        ("| Task | Description | Files |\n|--|--|--|\n| T1 | do x | `a.py` |\n", [("T1", "do x", ("a.py",))]),
        (
            "| Scope | Files |\n|--|--|\n| do x | a.py |\n| do y | b.py |\n",
            [("1", "do x", ("a.py",)), ("2", "do y", ("b.py",))],
        ),
        (
            "- [ ] 1A: do x (files: a.py, `b.py`)\n- [x] 1B – do y\n",
            [("1A", "do x", ("a.py", "b.py")), ("1B", "do y", ())],
        ),
        (
            "1. **1A** do x\n2. **1B:** do y\n3. **1C: do** z\n",
            [("1A", "do x", ()), ("1B", "do y", ()), ("1C", "**do** z", ())],
        ),
        ("* `1A`: do x\n* `T-2` do y\n", [("1A", "do x", ()), ("T-2", "do y", ())]),
        ("## Chunks\n\n- Chunk 1: do x\n- Chunk 2: do y\n", [("1", "do x", ()), ("2", "do y", ())]),
        ("## Tasks\n\n- [ ] do x\n- [ ] do y\n", [("1", "do x", ()), ("2", "do y", ())]),
        ("- [ ] do x\n- [ ] do y\n", [("1", "do x", ()), ("2", "do y", ())]),
        (
            "## Phase 1: a\n- [ ] do x\n- [ ] do y\n## Phase 2: b\n- [ ] do z\n",
            [("1A", "do x", ()), ("1B", "do y", ()), ("2A", "do z", ())],
        ),
        (
            "### Task 1: do x\n\n**Files:**\n- `a.py`\n\nProse.\n\n### Task 2: do y\n",
            [("1", "do x", ("a.py",)), ("2", "do y", ())],
        ),
        ("- Phase 1\n  - 1A: do x\n  - 1B: do y\n", [("1A", "do x", ()), ("1B", "do y", ())]),
        (
            "| Chunk | Scope |\n|-|-|\n| 1A | do x |\n\ntext\n\n| Chunk | Scope |\n|-|-|\n| 1B | do y |\n",
            [("1A", "do x", ()), ("1B", "do y", ())],
        ),
        ("---\nstatus: draft\nowner: me\n---\n\n- 1A: do x\n", [("1A", "do x", ())]),
        ("\ufeff# T\r\n\r\n| Chunk\t| Scope |\r\n|--|--|\r\n| 1A | dö x |\r\n", [("1A", "dö x", ())]),
        ("| Chunk | Status |\n|--|--|\n| 1A: do x | open |\n", [("1A", "do x", ())]),
    ],
)
def test_chunks_are_found_in_tables_lists_and_headings(
    text: str, expected: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    plan = parse_plan(text, "PLAN.md")
    assert [(task.id, task.title, task.files) for task in plan.tasks] == expected


@pytest.mark.spec("PUR-1", "LAW-12")
@pytest.mark.parametrize(
    "label",
    [
        "**Ship Criteria:**",
        "**Acceptance criteria**",
        "### Success criteria",
        "Done when:",
        "#### Definition of Done ✅",
    ],
)
def test_criteria_are_found_under_headings_and_labels(label: str) -> None:
    plan = parse_plan(f"## Phase 1: x\n\n- 1A: do x\n\n{label}\n\n- [ ] one\n- two `three`\n\nAfterwards.\n", "PLAN.md")
    assert ids(plan) == ["1A"]
    assert [one.text for one in plan.criteria][:2] == ["one", "two `three`"]
    assert {one.phase for one in plan.criteria} == {"Phase 1: x"}


@pytest.mark.spec("LAW-12")
def test_points_below_a_chunk_are_part_of_its_scope() -> None:
    plan = parse_plan("- 1A: do x\n  - even for `None`\n    - and twice\n  - files: a.py\n- 1B: do y\n", "PLAN.md")
    assert plan.tasks[0].scope == "do x\n- even for `None`\n  - and twice"
    assert plan.tasks[0].files == ("a.py",)
    assert plan.tasks[1].scope == ""


@pytest.mark.spec("LAW-12")
def test_a_checklist_that_is_no_list_of_chunks_is_not_lost() -> None:
    plan = parse_plan(
        "| Chunk | Scope |\n|-|-|\n| 1A | x |\n\n## Rollout\n\n- [ ] tell the shop\n- by the way\n", "PLAN.md"
    )
    assert criteria(plan, "ship") == ["tell the shop"]


@pytest.mark.spec("LAW-12")
def test_a_column_of_acceptance_criteria_is_read() -> None:
    plan = parse_plan("| Chunk | Scope | Acceptance criteria |\n|-|-|-|\n| 1A | x | it `works` |\n", "PLAN.md")
    assert criteria(plan, "ship") == ["it `works`"]


@pytest.mark.spec("PUR-1")
def test_a_heading_that_details_a_chunk_of_the_table_joins_it() -> None:
    plan = parse_plan("| Chunk | Scope |\n|-|-|\n| 1A | x |\n\n### 1A: details\n\nMind the gap.\n", "PLAN.md")
    assert ids(plan) == ["1A"]
    assert "Mind the gap." in plan.tasks[0].brief


@pytest.mark.spec("PUR-1", "USE-7")
@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "empty"),
        (" \n\ufeff\n", 1, "empty"),
        ("# Only words\n\nNothing to do.\n", 1, "no chunks"),
        ("| Chunk | Scope |\n|-|-|\n| 1A | x |\n| 1a | y |\n", 4, "twice, first on line 3"),
        ("| Chunk | Scope |\n|-|-|\n| 1A | |\n", 3, "no scope"),
        ("- [ ] 1A:\n", 1, "no scope"),
        ("| Chunk | Scope |\n|-|-|\n| | x |\n", 3, "no id"),
        ("| Chunk | Scope |\n|-|-|\n| a/b | x |\n", 3, "not a chunk id"),
        ("| Chunk | Owner |\n|-|-|\n| 1A | Ann |\n", 3, "no column for their scope"),
    ],
)
def test_what_cannot_be_read_is_named_with_file_and_line(text: str, line: int, what: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_plan(text, "docs/PLAN.md")
    assert caught.value.where == f"docs/PLAN.md:{line}"
    assert what in caught.value.what
    assert caught.value.then


@pytest.mark.spec("PUR-1", "USE-7")
def test_files_that_are_no_plans_get_one_clear_sentence(tmp_path: Path) -> None:
    latin, empty = tmp_path / "ä ö.md", tmp_path / "empty.md"
    latin.write_bytes("# Plan\nZürich\n".encode("latin-1"))
    empty.write_text("\n")
    os.mkfifo(tmp_path / "pipe.md")
    told = {
        "none.md": "no file",
        ".": "folder",
        latin.name: "not UTF-8",
        "empty.md": "empty",
        "pipe.md": "not a regular file",
    }
    for path, what in ((tmp_path / name, what) for name, what in told.items()):
        with pytest.raises(BadInput, match=what) as caught:
            read_plan(path)
        assert caught.value.then
    with pytest.raises(BadInput, match=":2: "):
        read_plan(latin)


@pytest.mark.spec("PUR-1")
def test_a_thousand_chunks_are_read_in_linear_time() -> None:
    def calls(count: int) -> int:
        rows = "".join(f"| {n}A | do `thing {n}` | `src/f{n}.py` |\n" for n in range(count))
        text = f"# P\n\n## Phase 1: all\n\n| Chunk | Scope | Files |\n|-|-|-|\n{rows}\n**Ship criteria:**\n- [ ] x\n"
        made = 0

        def counted(_frame: object, event: str, _argument: object) -> None:
            nonlocal made
            made += event in ("call", "c_call")

        sys.setprofile(counted)
        try:
            assert len(parse_plan(text, "PLAN.md").tasks) == count
        finally:
            sys.setprofile(None)
        return made

    calls(10)
    assert calls(1000) < 4.2 * calls(250)


cell = st.text(st.characters(categories=("L", "N"), include_characters=" .,'/()–"), min_size=1, max_size=40).map(
    lambda text: " ".join(["do", *text.split()])
)
chunk_list = st.lists(
    st.tuples(cell, st.lists(st.sampled_from(["a.py", "b/c.py", "ü x.py"]), max_size=3, unique=True)),
    min_size=1,
    max_size=8,
)


@pytest.mark.spec("PUR-1", "LAW-12")
@settings(max_examples=40, deadline=None)
@given(phases=st.lists(st.tuples(chunk_list, st.lists(cell, max_size=4)), min_size=1, max_size=4), crlf=st.booleans())
def test_a_written_plan_reads_back(phases: list[tuple[list[tuple[str, list[str]]], list[str]]], crlf: bool) -> None:
    lines = ["# A plan", "", "## Goals", "", "- add up", ""]
    tasks, ships = [], []
    for number, (chunks, ship) in enumerate(phases, 1):
        lines += [f"## Phase {number}: part", "", "| Chunk | Scope | Files |", "|---|---|---|"]
        for letter, (scope, files) in zip("ABCDEFGH", chunks, strict=False):
            lines.append(f"| {number}{letter} | {scope} | {', '.join(f'`{name}`' for name in files)} |")
            tasks.append((f"{number}{letter}", scope, tuple(files), len(lines)))
        lines += ["", "**Ship Criteria:**", ""]
        for text in ship:
            lines.append(f"- [ ] {text}")
            ships.append((text, f"Phase {number}: part", len(lines)))
        lines.append("")
    plan = parse_plan(("\r\n" if crlf else "\n").join(lines), "PLAN.md")
    assert [(one.id, one.title, one.files, one.source.line) for one in plan.tasks] == tasks
    assert [(one.text, one.phase, one.source.line) for one in plan.criteria if one.kind == "ship"] == ships


markdownish = st.lists(
    st.sampled_from(
        [
            "# ",
            "## Phase 1",
            "## Goals",
            "**Ship Criteria:**",
            "| Chunk | Scope |",
            "|-|-|",
            "| 1A | x |",
            "- [ ] ",
            "- 1A: ",
            "1. **",
            "`",
            "```",
            "<!--",
            "-->",
            "---",
            "\t",
            "    ",
            "> ",
            "\r",
            "\x00",
            "\ufeff",
            "é",
            "[x](y)",
            ": ",
            "files:",
        ]
    )
    | st.text(max_size=5)
    | st.just("\n"),
    max_size=60,
).map("".join)


@pytest.mark.spec("PUR-1", "USE-7")
@settings(max_examples=150, deadline=None)
@given(text=markdownish | st.text())
def test_any_text_is_a_plan_or_bad_input(text: str) -> None:
    try:
        plan = parse_plan(text, "PLAN.md")
    except BadInput:
        return
    assert plan.text == text
    assert plan.tasks
    assert all(task.title and task.id and task.source.line for task in plan.tasks)


@pytest.mark.spec("PUR-10")
def test_ticks_say_who_and_what_and_leave_every_other_byte() -> None:
    text = PLAN.replace("\n", "\r\n")
    plan = parse_plan(text, "PLAN.md")
    ship = {one.text: one.source.line for one in plan.criteria}
    zurich, empty = ship["Zürich's points count – twice"], ship["`total([])` is 0"]
    ticked = tick_lines(text, {zurich: "proven by examples on abc123 --> <b>\nAnn", empty: "guards"})
    before, after = text.split("\r\n"), ticked.split("\r\n")
    assert [n for n, (old, new) in enumerate(zip(before, after, strict=True), 1) if old != new] == [empty, zurich]
    assert after[zurich - 1] == (
        "- [x] Zürich's points count – twice <!-- ask Zoë --> <!-- proof: proven by examples on abc123 – <b Ann -->"
    )
    assert after[empty - 1] == "- [x] `total([])` is 0 <!-- proof: guards -->"
    again = parse_plan(ticked, "PLAN.md")
    assert [(one.text, one.source) for one in again.criteria] == [(one.text, one.source) for one in plan.criteria]
    assert tick_lines(ticked, {empty: "guards"}) == ticked


@pytest.mark.spec("PUR-10")
@settings(max_examples=50, deadline=None)
@given(text=markdownish)
def test_no_tick_is_no_change(text: str) -> None:
    assert tick_lines(text, {}) == text
