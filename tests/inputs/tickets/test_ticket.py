"""Tickets are read as people write them: no sentence is lost or invented."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trued.errors import BadInput
from trued.inputs.tickets.pages import page_check
from trued.inputs.tickets.ticket import LIMIT, is_ticket, parse_ticket, ticket_from_issue
from trued.model import BrowserCheck, Criterion, Ticket
from trued.protocols import TrackerIssue
from trued.support.markdown import split_lines

HEADER = """\
---
key: SHOP-7
summary: Show loyalty points
type: bug
preview: http://127.0.0.1:8000/
areas: [theme, assets/loyalty.js]
pictures:
  - shots/plp.png
acceptance:
  - The page `/plp` shows "Earn 40 points".
  - It is quick.
---
Customers see the wrong words. They should see how many.

It works on phones, too.
"""
HEADINGS = """\
# SHOP-7: Show loyalty points

Customers see the wrong words.
They should see how many.

## Requirements
1. Points are shown on `/plp`.
   - Also in the quick view.
2. Nothing else changes.

## Acceptance criteria

- [ ] `/plp` shows "Earn 40 points"
- [x] the price stays

### On phones
- the same

## Affected areas
`theme`, `assets/loyalty.js`

## Preview
See <https://preview.example.com/x>.

## Expected pictures
![list](shots/the%20list.png)
- `shots/quick.png`

## Actual behaviour
It says this: ![wrong](shots/wrong.png)
"""


def texts(criteria: tuple[Criterion, ...]) -> list[str]:
    return [one.text for one in criteria]


@pytest.mark.spec("TIC-1")
def test_a_header_says_it_by_name_and_each_sentence_below_is_a_requirement() -> None:
    ticket = parse_ticket(HEADER, "SHOP-7.md")
    assert (ticket.key, ticket.summary, ticket.kind) == ("SHOP-7", "Show loyalty points", "fix")
    assert ticket.branch == "fix/SHOP-7-show-loyalty-points"
    assert texts(ticket.requirements) == [
        "Customers see the wrong words.",
        "They should see how many.",
        "It works on phones, too.",
    ]
    assert [one.source.line for one in ticket.requirements] == [13, 13, 15]
    assert texts(ticket.acceptance) == ['The page `/plp` shows "Earn 40 points".', "It is quick."]
    assert [str(one.source) for one in ticket.acceptance] == ["SHOP-7.md:10", "SHOP-7.md:11"]
    assert (ticket.areas, ticket.pictures) == (("theme", "assets/loyalty.js"), ("shots/plp.png",))
    assert (ticket.preview, ticket.missing, ticket.text) == ("http://127.0.0.1:8000/", (), HEADER)


@pytest.mark.spec("TIC-1")
def test_headings_say_it_as_well() -> None:
    ticket = parse_ticket(HEADINGS, "x.md")
    assert (ticket.key, ticket.summary, ticket.kind) == ("SHOP-7", "Show loyalty points", "feat")
    assert texts(ticket.requirements) == [
        "Customers see the wrong words.",
        "They should see how many.",
        "Points are shown on `/plp`.",
        "Also in the quick view.",
        "Nothing else changes.",
        "It says this: ![wrong](shots/wrong.png)",
    ]
    assert texts(ticket.acceptance) == ['`/plp` shows "Earn 40 points"', "the price stays", "the same"]
    assert ticket.areas == ("theme", "assets/loyalty.js")
    assert ticket.preview == "https://preview.example.com/x"
    assert ticket.pictures == ("shots/the list.png", "shots/quick.png")  # without the picture of the wrong behaviour
    assert ticket.missing == ()


def test_json_of_the_same_names_is_the_same_ticket() -> None:
    said = {
        "key": "SHOP-7",
        "summary": "Show loyalty points",
        "description": "Customers see the wrong words. They should see how many.",
        "acceptance_criteria": ["It is quick."],
        "affected areas": "theme",
        "screenshots": ["a.png"],
        "preview_url": "/plp",
        "labels": ["Bug"],
    }
    ticket = parse_ticket(json.dumps(said, indent=1), "t.json")
    assert texts(ticket.requirements) == ["Customers see the wrong words.", "They should see how many."]
    assert (ticket.kind, ticket.areas, ticket.preview, ticket.pictures) == ("fix", ("theme",), "/plp", ("a.png",))
    assert str(ticket.acceptance[0].source) == "t.json:6"


@pytest.mark.spec("TIC-1")
def test_what_is_missing_is_said_and_not_invented() -> None:
    ticket = parse_ticket("Make it faster.", "notes/idea.md")
    assert (ticket.key, ticket.summary) == ("idea", "Make it faster.")
    assert ticket.missing == (
        "key",
        "summary",
        "acceptance criteria",
        "affected areas",
        "pictures of the expected behaviour",
        "preview URL",
    )
    alone = ticket_from_issue(TrackerIssue("SHOP-9", "Faster", "", url="https://example.com/SHOP-9"))
    assert texts(alone.requirements) == ["Faster"]
    assert "requirements" in alone.missing


def test_labels_in_bold_or_plain_begin_a_part() -> None:
    body = "Do it.\n\n**Acceptance criteria:** It is quick. It is safe.\n\nAffected areas: `a.py`, `b.py`\n\n"
    body += "**Definition of done**\n\n- reviewed\n\n## Else\nMore of it.\n"
    ticket = ticket_from_issue(TrackerIssue("#1", "Do", body))
    assert texts(ticket.acceptance) == ["It is quick.", "It is safe.", "reviewed"]
    assert ticket.areas == ("a.py", "b.py")
    assert texts(ticket.requirements) == ["Do it.", "More of it."]


@pytest.mark.parametrize(
    ("title", "kind", "expected"),
    [
        ("Points are wrong", "", "fix"),
        ("Points don't show", "", "fix"),
        ("Add points", "", "feat"),
        ("Fix nothing, add points", "feature", "feat"),
        ("Add points", "bug", "fix"),
    ],
)
def test_fix_or_feature_is_known_by_type_then_by_words(title: str, kind: str, expected: str) -> None:
    assert ticket_from_issue(TrackerIssue("#1", title, kind=kind)).kind == expected


def test_fields_of_a_tracker_are_parts_even_after_code_that_never_ends() -> None:
    fields = {"Acceptance criteria": "* one\n* two", "Preview URL": "https://p.example.com", "Rank": "0|i:"}
    ticket = ticket_from_issue(TrackerIssue("OPS-1", "Do", "First:\n```\nnever closed", fields=fields))
    assert texts(ticket.requirements) == ["First:\n```\nnever closed"]
    assert texts(ticket.acceptance) == ["one", "two"]
    assert ticket.preview == "https://p.example.com"
    lines = split_lines(ticket.text)
    assert [lines[one.source.line - 1].strip() for one in ticket.acceptance] == ["* one", "* two"]
    assert "0|i:" not in ticket.text


ODD = {
    "crlf": "First.\r\n\r\n## Acceptance criteria\r\n- a\r\n- b\r\n",
    "emoji": "Say 🎉 when done. ✅ It works.\n\n### ✅ Acceptance Criteria\n- 🎉 is seen\n",
    "html": "<details><summary>More</summary>\n\nIt works. <script>x</script>\n\n</details>\n<!-- template -->\n",
    "nested": "- a\n  - b\n    - c\n      1. d\n\n        ```\n        code\n        ```\n",
    "control": "It \x1b[31mmust\x07 work.\x00 \u202eevil\u2066 It stays.\n",
    "table": "| case | result |\n| --- | --- |\n| one | `1` |\n| two | 2 |\n",
    "quotation": "> It was said.\n> Twice.\n\nDo it.\n",
    "only a picture": "![what](a.png)\n",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_tickets_lose_no_word(name: str) -> None:
    ticket = ticket_from_issue(TrackerIssue("#1", "Odd \x1b]0;x\x07 one", ODD[name]))
    assert ticket.summary == "Odd one"
    assert ODD[name] in ticket.text
    said = " ".join((*texts(ticket.requirements), *texts(ticket.acceptance)))
    for word in ("First", "a", "b", "works", "🎉", "c", "d", "code", "evil", "stays", "one", "two", "Twice"):
        if word in ODD[name].replace("|", " ").split():
            assert word in said, (name, word)
    assert_placed(ticket)


def assert_placed(ticket: Ticket) -> None:
    """Assert that every criterion begins on the line in its source."""
    lines = split_lines(ticket.text)
    for one in (*ticket.requirements, *ticket.acceptance):
        first = one.text.split()[0].strip("`*_")
        assert first in "".join(lines[one.source.line - 1 : one.source.line + 1]), one


@given(st.text(alphabet="ab #-*>|`\n\r:1.![]()<\\\t", max_size=80), st.booleans())
def test_whatever_is_written_is_read_or_refused_in_one_sentence(text: str, header: bool) -> None:
    try:
        ticket = parse_ticket(f"---\nkey: A-1\n---\n{text}" if header else text, "t.md")
    except BadInput as refused:
        said, ticket = str(refused), None
    if ticket is None:
        assert "\n" not in said
        return
    assert ticket.key
    assert ticket.requirements or ticket.acceptance
    assert ticket.summary or ticket.requirements


@pytest.mark.parametrize(
    ("text", "file", "words"),
    [
        ("", "t.md", "t.md:1: the ticket is empty"),
        (" \n\ufeff", "t.md", "the ticket is empty"),
        ("<!-- nothing -->\n", "t.md", "asks for nothing"),
        ("x" * (LIMIT + 1), "t.md", "the ticket is longer than 256 KB"),
        ("[" * 5001, "t.md", "the ticket has more than 5000 brackets"),
        ("---\nkey: A-1\nacceptance: {a: 1}\n---\n", "t.md", "t.md:3: acceptance is not a list of texts"),
        ("---\nkey: A-1\nsummary: [a]\n---\n", "t.md", "t.md:3: summary is not a line of text"),
        ("---\nkey: A-1\nsummary: a\nsummary: b\n---\n", "t.md", 't.md:4: "summary" occurs twice'),
        ("---\nkey: A-1\npreview: javascript:alert(1)\n---\nx", "t.md", "t.md:3: the preview"),
        ('{"key": "A-1",\n"summary": }', "t.json", "t.json:2: this is not JSON"),
        ("[1]", "t.json", "a ticket in JSON must be an object"),
        ('{"key": "A-1", "description": 5}', "t.json", "description is not text"),
    ],
)
def test_a_ticket_that_cannot_be_read_is_refused_with_its_line(text: str, file: str, words: str) -> None:
    with pytest.raises(BadInput) as error:
        parse_ticket(text, file)
    assert words in str(error.value)
    with pytest.raises(BadInput, match="longer than"):
        ticket_from_issue(TrackerIssue("#1", "x", "y" * 1_000_000))


@pytest.mark.parametrize(
    ("text", "file", "is_one"),
    [
        (HEADER, "x.md", True),
        ('{"key": "A-1", "summary": "x"}', "x.json", True),
        ('{"key": "A-1"}', "x.json", False),
        ('{"features": []}', "feature_list.json", False),
        (HEADINGS, "x.md", False),
        ("---\ntitle: a plan\n---\n# Plan\n", "x.md", False),
        ("---\nkey: [\n---\n", "x.md", False),
        ("", "x.md", False),
    ],
)
def test_a_file_with_a_key_is_a_ticket(text: str, file: str, is_one: bool) -> None:
    assert is_ticket(text, file) is is_one


@pytest.mark.parametrize(
    ("text", "page", "sees", "hides"),
    [
        ('The page /plp shows "Earn 40 points" and not "+ points".', "/plp", ("Earn 40 points",), ("+ points",)),
        ('"+ points" is no longer shown on `/plp`.', "/plp", (), ("+ points",)),
        ("`/plp?a=1` shows “Earn 40” instead of “+ points”", "/plp?a=1", ("Earn 40",), ("+ points",)),
        ('On /cart a customer sees "A", "B" and "C".', "/cart", ("A", "B", "C"), ()),
        ("The page / displays 'Welcome'", "/", ("Welcome",), ()),
        ("`/quick-view` doesn't show 'old'", "/quick-view", (), ("old",)),
        ('The page /x shows "A" but never "B", and "C" is hidden.', "/x", ("A",), ("B", "C")),
    ],
)
def test_a_criterion_that_names_a_page_and_what_is_seen_is_a_check(
    text: str, page: str, sees: tuple[str, ...], hides: tuple[str, ...]
) -> None:
    assert page_check(Criterion(text=text)) == BrowserCheck(
        page=page, sees=sees, hides=hides, quotes=text, visible=True
    )


@pytest.mark.parametrize(
    "text",
    [
        'If it is empty, /cart shows "Nothing".',
        'GET /api/x returns "ok"',
        '/a and /b show "x"',
        'The page /x shows "Earn X points"',
        'The page /x shows "Earn {n} points"',
        'prices / offers show "x"',
        'The file /src/app.py shows "x"',
        'The page shows "x"',
        "The page /x shows the points",
        'A signed-in customer sees "x" on /account',
        'After a click on "Buy", /cart shows "1 item"',
        'The page /x shows "A" or "B"',
        'The title of /x reads "Shop"',
        '/x shows "A" and not "A"',
        "",
    ],
)
def test_where_there_is_a_doubt_there_is_no_check(text: str) -> None:
    assert page_check(Criterion(text=text)) is None


def test_sentences_among_areas_previews_and_summaries_are_requirements_too() -> None:
    body = """\
## Summary
Show the points. They must be right everywhere.

## Affected areas
- `theme`
- Nothing in the checkout may be changed by this.

## Preview
https://p.example.com/x is the place. Log in as the demo customer.

## Keep the footer as it is

## Done
Preview: https://other.example.com
Components: a, b
It is documented.
"""
    ticket = parse_ticket(body, "SHOP-7.md")
    assert ticket.summary == "Show the points."
    assert texts(ticket.requirements) == [
        "They must be right everywhere.",
        "Nothing in the checkout may be changed by this.",
        "Log in as the demo customer.",
        "Keep the footer as it is",
        "https://other.example.com Components: a, b It is documented.",
    ]
    assert (ticket.areas, ticket.preview) == (("theme",), "https://p.example.com/x")


def test_a_title_that_is_too_long_for_one_is_a_requirement() -> None:
    ticket = ticket_from_issue(TrackerIssue("#1", "very " * 60, "And quick."))
    assert len(ticket.summary) == 200
    assert texts(ticket.requirements) == [("very " * 60).strip(), "And quick."]
    assert len(ticket.branch) < 60


LIES = "`double(x)` raises a TypeError when x is a list"
FRONT = "---\nkey: NUM-7\nsummary: Numbers\n---\n\n## Requirements\n\n- It doubles.\n\n"


@pytest.mark.spec("LAW-12", "TIC-1")
@pytest.mark.parametrize(
    ("written", "lost"),
    [
        (f"## Affected components\n\n- `tiny.py`: {LIES}.", LIES),
        (f"## Affected components\n\n- tiny.py – {LIES}", LIES),
        (f"## Components\n\n1. src/tiny.py ({LIES})", LIES),
        (f"Modules: `tiny.py`: {LIES}", LIES),
        ("## Modules\n\n- lists raise TypeErrors", "lists raise TypeErrors"),
        ("## Modules\n\n- Reject lists.", "Reject lists."),
        ("## Components\n\n- `reject every list`", "reject every list"),
        ("## Components\n\n- [reject every list](a.md)", "reject every list"),
        ("## Preview\n\npoints are shown", "points are shown"),
        ("## Preview\n\nhttps://p.example.com shows 40 points", "shows 40 points"),
        ("## Screenshots\n\npoints are red", "points are red"),
        ("## Screenshots\n\nshots/a.png: red points", "red points"),
    ],
)
def test_what_is_said_about_areas_previews_and_pictures_is_a_requirement(written: str, lost: str) -> None:
    ticket = parse_ticket(f"{FRONT}{written}\n", "NUM-7.md")
    assert texts(ticket.requirements)[0] == "It doubles."
    assert [lost in one for one in texts(ticket.requirements)[1:]] == [True]
    assert_placed(ticket)


@pytest.mark.parametrize(
    "written",
    [
        "## Affected areas\n\n- `theme`\n- Checkout page\n- assets/loyalty.js, `a.py` and `b.py`\n- cart/*.liquid",
        "Components: theme, checkout page, Web Frontend",
        "## Preview\n\nSee <https://p.example.com/x>.",
        "## Preview\n\n/plp",
        "## Screenshots\n\n![the list](a.png)\n\n- `shots/b.png`\n- see attachment\n- https://x.example.com/c.png",
        "## Screenshots\n\nn/a",
    ],
)
def test_names_of_areas_addresses_and_pictures_are_no_requirements(written: str) -> None:
    assert texts(parse_ticket(f"{FRONT}{written}\n", "NUM-7.md").requirements) == ["It doubles."]


@pytest.mark.spec("LAW-12", "TIC-1")
@pytest.mark.parametrize(
    "fields",
    [
        {"constraints": [LIES]},
        {"definition_of_done": [LIES]},
        {"definition of done": LIES},
        {"notes": LIES},
        {"anything": ["fast", LIES]},
        {"acceptance": ["It is quick."], "acceptance_criteria": [LIES]},
        {"description": "Do it.", "body": LIES},
        {"components": [LIES]},
        {"affected_areas": f"`tiny.py`: {LIES}"},
        {"screenshots": [LIES]},
        {"summary": f"Numbers. {LIES}."},
    ],
)
def test_a_text_in_any_field_is_a_requirement(fields: dict[str, object]) -> None:
    said = {"key": "NUM-7", "summary": "Numbers", "requirements": ["It doubles."], **fields}
    header = "".join(f"{name}: {json.dumps(value)}\n" for name, value in said.items())
    for text, file in ((json.dumps(said, indent=1), "t.json"), (f"---\n{header}---\n", "t.md")):
        ticket = parse_ticket(text, file)
        every = [*texts(ticket.requirements), *texts(ticket.acceptance)]
        assert sum(LIES in one for one in every) == 1
        assert "It doubles." in every


@pytest.mark.spec("LAW-12")
def test_fields_about_the_ticket_itself_ask_for_nothing() -> None:
    front = """\
key: NUM-7
id: 12
summary: Numbers
status: in progress
assignee: Ann Smith
reporter: {name: Ann Smith}
created: 2026-01-02
story_points: 5
team: payments
epic: NUM-1
sprint: Sprint 12
links: [{type: blocks, to: NUM-8 and NUM-9}]
labels: [a b]
estimate: two days
urgent: true
weight: 3
"""
    ticket = parse_ticket(f"---\n{front}---\nIt doubles.\n", "NUM-7.md")
    assert (texts(ticket.requirements), ticket.acceptance) == (["It doubles."], ())
    front = f"key: NUM-7\nconstraints:\n  - latency: at most 10 ms\n  - {LIES!r}\n"
    with pytest.raises(BadInput, match=r"NUM-7\.md:3: constraints is not a list of texts"):
        parse_ticket(f"---\n{front}---\nIt doubles.\n", "NUM-7.md")
