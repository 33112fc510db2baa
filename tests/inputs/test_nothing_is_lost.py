"""Every block of a plan is a task, a criterion, unread, or background because of its heading."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.inputs.goals import parse_goal
from trued.inputs.plans.plan import parse_plan
from trued.inputs.tickets.ticket import parse_ticket
from trued.inputs.vocabulary import section_kind
from trued.model import Goal, Plan, Source

TABLE = "## Phase 1: slugs\n\n| Chunk | Scope | Files |\n| --- | --- | --- |\n| 1A | slug | a.py |\n\n"


def said(plan: Plan) -> str:
    """The texts of all tasks, criteria and unread lines."""
    return "\n".join(
        [*(task.scope or task.title for task in plan.tasks), *(one.text for one in (*plan.criteria, *plan.unread))]
    )


def tasks(text: str) -> list[tuple[str, str]]:
    return [(task.id, task.scope or task.title) for task in parse_plan(text, "PLAN.md").tasks]


@pytest.mark.spec("LAW-12", "PUR-1")
@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        ("- write it\n- tell\n", [("2A", "write it"), ("2B", "tell")]),
        ("1. write it\n   - well\n2. tell\n", [("2A", "write it\n- well"), ("2B", "tell")]),
        ("- [ ] write it\n", [("2A", "write it")]),
        ("Write it.\n\nTell.\n", [("2A", "Phase 2: cli\nWrite it.\nTell.")]),
        ("", [("2A", "Phase 2: cli")]),
        ("**Ship criteria:**\n- [ ] it runs\n", [("2A", "Phase 2: cli")]),
        ("| Step | Detail |\n|-|-|\n| first | write it |\n", [("2A", "first | write it")]),
        ("### Work\n- write it\n", [("2A", "write it")]),
    ],
)
def test_a_phase_without_ids_is_work_though_another_phase_has_a_table(
    phase: str, expected: list[tuple[str, str]]
) -> None:
    assert tasks(f"# T\n\n{TABLE}## Phase 2: cli\n\n{phase}") == [("1A", "slug"), *expected]


@pytest.mark.spec("LAW-12", "PUR-1")
def test_a_phase_whose_chunks_stand_elsewhere_is_no_chunk_itself() -> None:
    plan = parse_plan(f"# T\n\n{TABLE}- [ ] 2A: cli\n\n## Phase 2: cli\n\nMind the shell.\n", "PLAN.md")
    assert [task.id for task in plan.tasks] == ["1A", "2A"]
    assert [one.text for one in plan.unread] == ["Mind the shell."]


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    ("kind", "titles"),
    [
        ("ship", "Definition of Done (DoD)|DoD|Success metrics|What success looks like|Quality gates|Verification"),
        ("ship", "Outcomes|Acceptance tests|Exit criteria|Test plan|Acceptance checklist|Done when"),
        ("constraint", "Constraints and assumptions|Technical constraints|Rules|Assumptions & constraints"),
        ("goal", "Goals and non-goals|Must have|Non-functional requirements|Goals / Objectives|Background and goals"),
        ("nongoal", "Non-goals|Non goals|Out of scope"),
        ("aside", "Resolved questions|Open questions about requirements|Approach|Architecture|Notes|References"),
        ("problem", "Problem Statement|Background|Why two agents?|Overview"),
        ("", "Implementation steps and verification|Tasks|Rollout|Agent Specs|Scope"),
    ],
)
def test_headings_mean_what_their_words_say(kind: str, titles: str) -> None:
    assert {title: section_kind(title) for title in titles.split("|")} == dict.fromkeys(titles.split("|"), kind)


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("No slug is longer than 80 bytes:\n\n- never\n", ["No slug is longer than 80 bytes:", "never"]),
        ("> make slugs\n> fast\n", ["make slugs\nfast"]),
        ("```\nf(1)\n```\n", ["f(1)"]),
        ("| Metric | Target | Owner |\n|-|-|-|\n| latency | 10 ms | Ann |\n", ["latency | 10 ms"]),
        ("<!-- no --> \n\n<b>yes</b>\n\n---\n", ["<b>yes</b>"]),
        ("- c\n\n  | x | y |\n  |---|---|\n  | 1 | 2 |\n", ["c\nx | y\n1 | 2"]),
        ("### Fast\n\n### Right\n", ["Fast", "Right"]),
        ("**Note:** even at night\n", ["**Note:** even at night"]),
    ],
)
def test_every_block_of_a_section_of_criteria_counts(block: str, expected: list[str]) -> None:
    plan = parse_plan(f"# T\n\n{TABLE}## Goals\n\n{block}", "PLAN.md")
    assert [one.text for one in plan.criteria] == expected
    assert not plan.unread


@pytest.mark.spec("LAW-12")
def test_header_fields_are_no_requirements_and_those_that_ask_are() -> None:
    head = "**Status:** draft\n**Goal:** be fast\n**Owner:** Ann\n**Latency goal:** 10 ms\n"
    plan = parse_plan(f"# T\n\n{head}\nBranch: main\nDone when: it runs\n\n{TABLE}", "PLAN.md")
    assert [(one.kind, one.text, one.source.line) for one in plan.criteria] == [
        ("goal", "be fast", 4),
        ("goal", "**Latency goal:** 10 ms", 6),
        ("ship", "it runs", 9),
    ]
    assert not plan.unread


@pytest.mark.spec("LAW-12")
def test_what_stands_under_a_chunks_heading_is_part_of_its_scope() -> None:
    more = (
        "### 1A: slugs\n\nStrip accents.\n\n- at most 80\n  - bytes\n\n```\nf(1)\n```\n\n| a | b |\n|-|-|\n| 1 | 2 |\n"
    )
    assert tasks(f"# T\n\n{TABLE}{more}") == [
        ("1A", "slug\nslugs\nStrip accents.\n- at most 80\n  - bytes\nf(1)\n1 | 2"),
    ]


SHAPES = {
    "paragraph": "It keeps {}.",
    "lead": "It always keeps {} in mind:\n\n- {}",
    "bold": "**It keeps {}.**",
    "label": "**Limit:** {}",
    "done": "Done when: {} works",
    "list": "- {}\n  - {}\n- [ ] {}",
    "numbers": "1. {}\n2. {}\n\n   and {}",
    "quotation": "> {}\n>\n> - {}",
    "code": "```\n{}\n```",
    "table": "| One | Two |\n|-|-|\n| {} | {} |",
    "html": "<p>{}</p>",
    "nested": "- {}\n\n  | a | b |\n  |-|-|\n  | {} | {} |\n\n  > {}",
    "heading": "#### Keep {}",
}
ASKS = ["Phase 2: cli", "Phase 3", "Goals", "Rollout", "Success metrics", "Tasks", "User stories", "1B: more", "Speed"]
TELLS = ["Background", "Non-goals", "Research", "Resolved questions", "Architecture", "Notes"]
shape = st.sampled_from(sorted(set(SHAPES) - {"heading"}))
shapes_of = st.builds(
    lambda some, last: [*some, "heading"] if last or not some else some, st.lists(shape, max_size=4), st.booleans()
)
section = st.tuples(st.sampled_from([*ASKS, *TELLS, ""]), shapes_of)


@pytest.mark.spec("LAW-12", "PUR-1")
@settings(max_examples=150, deadline=None)
@given(
    sections=st.lists(section, max_size=6, unique_by=lambda one: one[0]),
    table_at=st.integers(0, 6),
    title=st.booleans(),
)
def test_every_block_of_a_plan_is_accounted_for(
    sections: list[tuple[str, list[str]]], table_at: int, title: bool
) -> None:
    asked: list[str] = []
    told: list[str] = []
    parts = ["# T"] if title else []
    for number, (heading, shapes) in enumerate(sections):
        if number == table_at:
            parts.append(TABLE.strip())
        parts += [f"## {heading}"] if heading else ["## Phase 9: others" if parts[1:] else "Before."]
        for at, name in enumerate(shapes):
            marks = [f"mark{number}x{at}x{n}y" for n in range(SHAPES[name].count("{}"))]
            parts += [SHAPES[name].format(*marks), "<!-- apart -->"]
            if name == "done" or heading not in TELLS:
                asked += marks
            elif "done" not in shapes:  # what follows a label may belong to it
                told += marks
    if table_at >= len(sections):
        parts.append(TABLE.strip())
    plan = parse_plan("\n\n".join(parts) + "\n", "PLAN.md")
    words = said(plan)
    assert [mark for mark in asked if mark not in words] == []
    assert [mark for mark in told if mark in words] == []


DEEP = "".join(f"{'  ' * depth}- a\n" for depth in range(40)) + f"{'  ' * 40}- {{}}"
HIDDEN = [
    "<!-- not closed\n\n- {}",
    "<!---> {}",
    "```\n<!--\n```\n\n- {}",
    DEEP,
    f"{'> ' * 70}{{}}",
    "- [ ]\n\n  {}",
    "- [ ]\n  - {}",
]


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize("written", HIDDEN)
def test_what_the_parser_hides_or_leaves_out_is_read(written: str) -> None:
    wish = written.format("mark every wish")
    assert "mark every wish" in said(parse_plan(f"# T\n\n{TABLE}## Goals\n\n{wish}\n", "PLAN.md"))
    goal = parse_goal(Goal(id="g", text=f"Make slugs.\n\n{wish}\n", source=Source(file="g.md", line=1)))
    assert any("mark every wish" in one.text for one in goal.sentences)
    ticket = parse_ticket(f"# SHOP-7: slugs\n\nMake slugs.\n\n{wish}\n", "SHOP-7.md")
    assert any("mark every wish" in one.text for one in ticket.requirements)


@pytest.mark.spec("LAW-12")
def test_a_list_between_two_rules_is_no_front_matter() -> None:
    goal = Goal(id="g", text="---\n- mark every wish: always\n---\n\nMake slugs.\n", source=Source(file="g.md", line=1))
    assert [one.text for one in parse_goal(goal).sentences] == ["mark every wish: always", "Make slugs."]


def test_comments_and_front_matter_ask_for_nothing() -> None:
    text = "---\nauthor: Ann\ntags:\n- a\n---\n\nMake slugs.\n\n<!-- now? -->\n\n<!--\n- [ ] template\n\n- more\n-->\n"
    goal = parse_goal(Goal(id="g", text=text, source=Source(file="g.md", line=1)))
    assert [one.text for one in goal.all_criteria] == ["Make slugs."]
