"""Files are recognised as plan, ticket or goal in words."""

import pytest

from trued.inputs.recognition import FileKind, is_plan, recognise_file
from trued.inputs.tickets.ticket import parse_ticket

ACCEPTANCE = "\n## Acceptance criteria\n\n- GET /books?author=X lists only the books of X\n"
TABLE = "\n| Chunk | Scope | Files |\n| --- | --- | --- |\n| 1A | the list | a.py |\n"
TASKS = "\n## Tasks\n\n- [ ] the list\n- [ ] the page\n"


@pytest.mark.spec("DAY-13", "USE-2")
@pytest.mark.parametrize(
    ("file", "text", "kind"),
    [
        ("ticket.md", f"# SHELF-12 Filter books by author\n{ACCEPTANCE}", "ticket"),
        ("ticket.md", "# SHELF-12: Filter books\n\nThe list takes an author.\n", "ticket"),
        ("ticket.md", f"# Filter books\n{ACCEPTANCE}", "ticket"),
        ("ticket.md", f"# Filter books\n{ACCEPTANCE.replace('- GET', '- [ ] GET')}", "ticket"),
        ("ticket.md", "# Filter books\n\n**Acceptance criteria:**\n\n1. only the books of X\n", "ticket"),
        ("ticket.txt", "Filter books.\n\nAcceptance criteria:\n\n- only the books of X\n", "ticket"),
        ("SHELF-12-filter.md", "# Filter books\n\nThe list takes an author.\n", "ticket"),
        ("ticket.md", f"# SHELF-12 Filter books\n{TASKS}", "ticket"),  # a tracker's sub-tasks
        ("ticket.md", "---\nkey: SHELF-12\n---\n\nFilter books.\n", "ticket"),
        ("ticket.json", '{"key": "SHELF-12", "summary": "Filter books"}', "ticket"),
        ("shelf.md", f"# Shelf\n{TABLE}", "plan"),
        ("shelf.md", f"# SHELF-12 Shelf\n{TABLE}{ACCEPTANCE}", "plan"),
        ("shelf.md", f"# Shelf\n{TASKS}{ACCEPTANCE}", "plan"),
        ("SHELF-12-plan.md", f"# Shelf\n{TASKS}{ACCEPTANCE}", "plan"),
        ("shelf.md", "# Shelf\n\n## Phase 1: the list\n\nIt takes an author.\n", "plan"),
        (
            "shelf.md",
            f"# Shelf\n{TABLE}| 1A | twice | b.py |\n",
            "plan",
        ),  # a plan with a mistake, which is reported later
        ("PLAN.md", "# Shelf\n\nThe list takes an author.\n", "plan"),  # a plan without chunks, which is reported later
        ("todo.md", "- [ ] the list\n- [ ] the page\n", "plan"),
        ("notes-2.md", "# Shelf\n\nThe list takes an author.\n", "words"),
        ("goal.md", "# Shelf\n\nIt takes an author.\n\n## Success criteria\n\n- it is quick\n", "words"),
        ("goal", "The acceptance of books is a long story: read it.\n", "words"),
        ("app.py", "print(1)\n", "unknown"),
        ("requirements.yaml", "requirements: []\n", "unknown"),
        ("data.json", '{"key": "SHELF-12"}', "unknown"),
    ],
)
def test_a_file_is_what_it_looks_like(file: str, text: str, kind: str) -> None:
    found = recognise_file(text, file)
    assert found.kind is FileKind[kind.upper()]
    assert found.why


def test_a_runs_file_is_its_plan_only_with_chunks() -> None:
    """Flows ask for this many times: a file without chunks is a goal, however it was recognised."""
    assert is_plan(f"# Shelf\n{TABLE}", "shelf.md")
    assert not is_plan("# Shelf\n\nThe list takes an author.\n", "PLAN.md")
    assert not is_plan(f"# Shelf\n{TABLE}", "")  # a goal on the command line


@pytest.mark.spec("DAY-13")
def test_lines_that_only_name_an_affected_area_are_no_requirements() -> None:
    areas = [
        "`src/`, checkout page and [the theme](theme/)",
        "templates/list.html",
        "`assets/`: scripts that run on the page",
        "templates/cart.html – the template of the cart",
        "The cart must not show points when it is empty.",
        "`cart.js` must not be changed by this at all",
    ]
    ticket = parse_ticket("# S-1 Points\n\n## Affected areas\n\n" + "".join(f"- {one}\n" for one in areas), "t.md")
    assert [one.text for one in ticket.requirements] == areas[2:]  # sentences stay requirements
    assert {"src/", "templates/list.html", "assets/", "templates/cart.html", "cart.js"} <= set(ticket.areas)
