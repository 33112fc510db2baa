"""Everything that a goal asks for is kept, with its line."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.errors import BadInput
from trued.inputs.goals import GoalParts, parse_goal
from trued.inputs.sentences import sentences_of
from trued.model import Goal, Source
from trued.support.markdown import parse as parse_markdown

WRITTEN = """\
# Goal

Build a shop. It sells
books, e.g. old ones.

## Success Criteria

- A user can log in
  - with a password
- [ ] `GET /books` lists books

Nothing is slower than 1 s.

## Constraints

1. No new dependency.
2. Python 3.11 stays supported

## Non-goals

- a mobile app

## Delivery

- one package
"""


def _lines(found: object) -> list[tuple[str, int]]:
    assert isinstance(found, tuple)
    return [(one.text, one.source.line) for one in found]


def _parsed(text: str) -> GoalParts:
    return parse_goal(Goal(text=text, source=Source(file="goal.md", line=1)))


@pytest.mark.spec("TEAM-1", "LAW-12")
def test_criteria_constraints_and_sentences_are_told_apart_each_with_its_line() -> None:
    parts = _parsed(WRITTEN)
    assert _lines(parts.sentences) == [
        ("Build a shop.", 3),
        ("It sells books, e.g. old ones.", 3),
        ("one package", 25),
    ]
    assert _lines(parts.criteria) == [
        ("A user can log in", 8),
        ("with a password", 9),
        ("`GET /books` lists books", 10),
        ("Nothing is slower than 1 s.", 12),
    ]
    assert _lines(parts.constraints) == [("No new dependency.", 16), ("Python 3.11 stays supported", 17)]
    assert _lines(parts.background) == [("a mobile app", 21)]
    assert {one.kind for one in parts.criteria} == {"ship"}
    assert {one.kind for one in parts.constraints} == {"constraint"}
    assert [one.source.line for one in parts.all_criteria] == sorted(one.source.line for one in parts.all_criteria)


@pytest.mark.spec("TEAM-1")
@pytest.mark.parametrize(
    ("text", "criteria", "constraints", "sentences"),
    [
        ("Add a login.", [], [], ["Add a login."]),
        ("# Add a login", [], [], ["Add a login"]),
        ("# Add a login\n\n## Acceptance criteria\n* it works", ["it works"], [], ["Add a login"]),
        ("Add x.\n\nSuccess criteria:\n- a\n- b\n\nConstraints: no network", ["a", "b"], ["no network"], ["Add x."]),
        ("Add x.\n\n**Constraints**\n- a\n\nThen stop.", [], ["a"], ["Add x.", "Then stop."]),
        ("**Done when:** it runs\n\nMake it.", ["it runs"], [], ["Make it."]),
        ("Do a:\n- b\n- c", [], [], ["Do a:", "b", "c"]),
        ("x\n\n## Must be fast\n\n## Goals\ny", [], [], ["x", "Must be fast", "y"]),
        ("x\n\n## Dark mode everywhere\n\n## Other\ny", [], [], ["x", "Dark mode everywhere", "y"]),
        ("Print this:\n\n```\nhi\n```", [], [], ["Print this:\n```\nhi\n```"]),
        ("## Constraints\n\nSee above", [], ["See above"], []),
    ],
)
def test_people_write_goals_in_many_ways(
    text: str, criteria: list[str], constraints: list[str], sentences: list[str]
) -> None:
    parts = _parsed(text)
    assert [one.text for one in parts.criteria] == criteria
    assert [one.text for one in parts.constraints] == constraints
    assert [one.text for one in parts.sentences] == sentences


PIECES = [
    *WRITTEN.splitlines(),
    "",
    "```",
    "code",
    "Constraints:",
    "**Success criteria:** yes.",
    "| a | b |",
    "| - | - |",
    "> quoted",
]


@pytest.mark.spec("TEAM-1", "LAW-12")
@settings(max_examples=60, deadline=None)
@given(text=st.lists(st.sampled_from(PIECES), min_size=1, max_size=20).map("\n".join))
def test_no_sentence_is_lost(text: str) -> None:
    if not text.strip():
        return
    parts = _parsed(text)
    kept = Counter(word for one in (*parts.all_criteria, *parts.background) for word in one.text.split())
    blocks, lines = parse_markdown(text), text.splitlines(keepends=True)
    said = Counter(word for block in blocks for one, _ in sentences_of(block, lines) for word in one.split())
    for label in ("**Success", "criteria:**", "Constraints:"):
        del said[label]
    assert said <= kept


@pytest.mark.spec("TEAM-1", "USE-7")
def test_an_empty_goal_is_said() -> None:
    with pytest.raises(BadInput, match=r"goal.md:1: the goal is empty"):
        _parsed(" \n")


@pytest.mark.spec("TEAM-1")
def test_a_long_paragraph_keeps_the_line_of_each_sentence() -> None:
    found = parse_goal(Goal(text="# Much\n\n" + "One thing holds. Another\ndoes. \n" * 300)).sentences
    assert [one.source.line for one in found] == [3 + 2 * number for number in range(300) for _ in "ab"]
