"""Every sentence of the user ends up in the contract."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.errors import BadInput
from trued.inputs.plans.plan import parse_plan
from trued.inputs.plans.plan_to_seal import plan_to_seal
from trued.inputs.requirements.coverage import unique_ids, user_requirements, with_visible_checks
from trued.inputs.sentences import sentences
from trued.model import (
    BrowserCheck,
    CommandCheck,
    Criterion,
    Goal,
    Plan,
    Requirement,
    Requirements,
    Settings,
    Source,
    Task,
)

PLAN = parse_plan(
    "## Goals\n\n- be fast\n- be right\n\n## Phase 1: x\n\n| Chunk | Scope |\n|-|-|\n| 1A | add `f` |\n"
    "| 1B | docs |\n\n**Ship Criteria:**\n- [ ] `f` is documented\n- [ ] tests pass\n",
    "docs/PLAN.md",
)
GOAL = Goal(text=PLAN.text, source=PLAN.source)


def users(*requirements: Requirement) -> Requirements:
    return Requirements(file="r.yaml", requirements=requirements)


def own(name: str, *covers: str) -> Requirement:
    return Requirement(id=name, text="t", covers=covers, source=Source(file="r.yaml", line=7))


@pytest.mark.spec("LAW-12")
def test_without_a_requirements_file_every_line_and_the_whole_plan_are_requirements() -> None:
    found = user_requirements(PLAN, GOAL, None)
    assert [(one.id, one.text, str(one.source)) for one in found] == [
        ("1A", "add `f`", "docs/PLAN.md:10"),
        ("1B", "docs", "docs/PLAN.md:11"),
        ("goal-1", "be fast", "docs/PLAN.md:3"),
        ("goal-2", "be right", "docs/PLAN.md:4"),
        ("ship-1", "`f` is documented", "docs/PLAN.md:14"),
        ("ship-2", "tests pass", "docs/PLAN.md:15"),
        ("plan", "the whole of PLAN.md", "docs/PLAN.md:1"),
    ]
    assert not any(one.checks for one in found)


@pytest.mark.spec("LAW-12")
def test_what_the_users_file_does_not_cover_stands_beside_it_without_a_check() -> None:
    found = user_requirements(
        PLAN, GOAL, users(own("f", "1a", "ship:  `f`  is documented", "be fast"), own("ship-2", "goal: be right"))
    )
    assert [one.id for one in found] == ["f", "ship-2", "1B", "ship-2-2"]
    assert found[0].covers == ("1A", "ship:  `f`  is documented", "be fast")


@pytest.mark.spec("LAW-12")
def test_a_list_of_tasks_is_covered_by_its_own_words_where_they_are_said_once() -> None:
    plan = parse_plan("# Lists\n\n- `a` prints a list\n- docs\n- docs\n", "request.md")
    goal = Goal(text=plan.text, source=plan.source)
    found = user_requirements(plan, goal, users(own("a", "`a`  prints a list")))
    assert [(one.id, one.covers) for one in found] == [("a", ("1",)), ("2", ()), ("3", ())]
    with pytest.raises(BadInput, match='covers "docs"'):
        user_requirements(plan, goal, users(own("a", "docs")))


@pytest.mark.spec("LAW-12")
def test_an_id_that_is_taken_gets_another_and_nothing_vanishes() -> None:
    plan = Plan(
        tasks=(Task(id="ship-1", title="x"), Task(id="plan", title="y")), criteria=(Criterion(text="works"),), text="z"
    )
    found = user_requirements(plan, GOAL, None)
    assert [(one.id, one.text) for one in found] == [
        ("ship-1", "x"),
        ("plan", "y"),
        ("ship-1-2", "works"),
        ("plan-2", "the whole of the plan"),
    ]


@pytest.mark.spec("LAW-12", "USE-7")
@pytest.mark.parametrize(
    ("entry", "near"),
    [
        ("ship: `f` is documentd", "`f` is documented"),
        ("goal: tests pass", "tests pass"),
        ("1C", 'did you mean "1'),
        ("zzzzzzzz", "1A, 1B"),
    ],
)
def test_covering_what_is_not_there_is_refused_with_the_nearest(entry: str, near: str) -> None:
    with pytest.raises(BadInput) as caught:
        user_requirements(PLAN, GOAL, users(own("f", entry)))
    assert caught.value.where == "r.yaml:7"
    assert near in caught.value.then


words = st.text("ab `*:-", min_size=1, max_size=6).map(lambda text: " ".join(text.split()) or "x")


@pytest.mark.spec("LAW-12")
@settings(max_examples=150, deadline=None)
@given(data=st.data(), texts=st.lists(st.tuples(words, st.sampled_from(["ship", "goal", "constraint"])), max_size=6))
def test_every_criterion_is_covered_or_a_requirement(data: st.DataObject, texts: list[tuple[str, str]]) -> None:
    tasks = tuple(Task(id=f"{n}A", title=f"do {n}") for n in range(1, 4))
    plan = Plan(tasks=tasks, criteria=tuple(Criterion(text=text, kind=kind) for text, kind in texts), text="x")
    entries = [f"{kind}: {text}" for text, kind in texts] + [task.id for task in tasks]
    covers = data.draw(st.lists(st.sampled_from(entries), unique=True))
    names = data.draw(st.lists(st.sampled_from(["a", "ship-1", "goal-2", "2A"]), unique=True, max_size=3))
    given_file = users(*(own(name, *(covers if name == names[0] else ())) for name in names)) if names else None
    found = user_requirements(plan, GOAL, given_file)
    assert len({one.id for one in found}) == len(found)
    added = [one.text for one in found[len(names) :]]
    covered = set(covers) if names else set()
    for text, kind in texts:
        assert text in added or f"{kind}: {text}" in covered or text in {entry.partition(": ")[2] for entry in covered}
    for task in tasks:
        assert task.title in added or task.id in covered or task.id in names
    assert ("the whole of the plan" in added) == (not names)


@pytest.mark.spec("LAW-12")
def test_the_sentences_of_plain_text_are_requirements_and_so_is_the_whole() -> None:
    text = (
        "Add slugify (e.g. for URLs, cf. RFC 3986). It keeps `a. B` as one.\n"
        "Version 2.0 of the\nAPI stays! Isn't it nice?"
    )
    found = user_requirements(None, Goal(text=text), None)
    assert [(one.id, one.text, one.source.line) for one in found] == [
        ("text-1", "Add slugify (e.g. for URLs, cf. RFC 3986).", 1),
        ("text-2", "It keeps `a. B` as one.", 1),
        ("text-3", "Version 2.0 of the API stays!", 2),
        ("text-4", "Isn't it nice?", 3),
        ("goal", text, 0),
    ]
    assert [one.id for one in user_requirements(None, Goal(text="Make it fast"), None)] == ["goal"]


@pytest.mark.spec("LAW-12")
def test_lists_tables_and_code_of_a_goal_are_kept() -> None:
    text = "Do this:\n\n- first. Really.\n  - nested\n\n```\nf(1) == 2\n```\n\n"
    text += "| a | b |\n|-|-|\n| 1 | 2 |\n\n他说。好\uff01\n"
    assert sentences(text) == [
        ("Do this:", 1),
        ("first. Really.", 3),
        ("nested\n```\nf(1) == 2\n```", 4),
        ("| 1 | 2 |", 12),
        ("他说。", 14),
        ("好\uff01", 14),
    ]


@pytest.mark.spec("LAW-12")
@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from(list("abA .!?…`()\"'e.g\n")), max_size=80).map(lambda text: f"x{text}"))
def test_no_word_of_a_paragraph_is_lost_between_sentences(text: str) -> None:
    paragraph = " ".join(text.split())
    assert " ".join(one for one, _ in sentences(paragraph)).split() == paragraph.split()


@pytest.mark.spec("LAW-12")
def test_sentences_of_plain_text_that_the_users_file_does_not_cover_stand_beside_it() -> None:
    goal = Goal(text="Do it.  Do it well. Tell Ann.")
    found = user_requirements(None, goal, users(own("f", "Do it."), own("text-3", "text: Do it  well.")))
    assert [(one.id, one.text) for one in found] == [("f", "t"), ("text-3", "t"), ("text-3-2", "Tell Ann.")]
    assert [one.text for one in user_requirements(None, goal, users(own("f")))] == [
        "t",
        "Do it.",
        "Do it well.",
        "Tell Ann.",
    ]
    assert not any(one.checks for one in found)


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize("entry", ["goal", "Do it. Well."])
def test_a_requirement_may_cover_the_whole_of_plain_text(entry: str) -> None:
    assert [one.id for one in user_requirements(None, Goal(text="Do it. Well."), users(own("f", entry)))] == ["f"]


@pytest.mark.spec("LAW-12", "USE-7")
def test_covering_what_plain_text_does_not_say_is_refused() -> None:
    with pytest.raises(BadInput, match="the goal has nothing with that name") as caught:
        user_requirements(None, Goal(text="Do it. Well."), users(own("f", "zzzzzzzz")))
    assert caught.value.then


@pytest.mark.spec("LAW-12")
def test_what_a_plan_says_besides_tasks_and_criteria_is_a_requirement_unless_it_is_covered() -> None:
    plan = parse_plan("| Chunk | Scope |\n|-|-|\n| 1A | x |\n\n## Speed\n\nIt is fast.\n\n- at night, too\n", "PLAN.md")
    found = user_requirements(plan, Goal(text=plan.text), users(own("f", "1A", "text: It is fast.")))
    assert [(one.id, one.text, str(one.source)) for one in found[1:]] == [("text-2", "at night, too", "PLAN.md:9")]
    assert [one.id for one in user_requirements(plan, GOAL, None)] == ["1A", "text-1", "text-2", "plan"]


@pytest.mark.spec("LAW-12")
def test_a_requirement_may_cover_all_words_of_a_plan_and_tasks_are_named_one_by_one() -> None:
    goal = Goal(text="It is fast. It is small.", source=Source(file="spec.md"))
    prose = tuple(Criterion(text=text, kind="text") for text in ("It is fast.", "It is small."))
    whole = Requirement(id="whole", text="all of it", covers=("goal",))
    plan = Plan(tasks=(Task(id="A", title="a"), Task(id="B", title="b")), unread=prose, source=goal.source)
    one = Requirement(id="a", text="a", covers=("A",))
    assert [each.id for each in user_requirements(plan, goal, Requirements(requirements=(whole, one)))] == [
        "whole",
        "a",
        "B",
    ]
    bare = plan.model_copy(update={"unread": ()})
    assert [each.id for each in user_requirements(bare, goal, Requirements(requirements=(whole,)))] == [
        "whole",
        "A",
        "B",
    ]


@pytest.mark.spec("TIC-6", "LAW-12")
@pytest.mark.parametrize(
    ("entry", "holder"), [("goal", "whole"), ("The page / shows x.", "a"), ("ship: The page / shows x.", "a")]
)
def test_a_page_that_a_covered_criterion_names_is_looked_at_beside_the_users_own_cases(entry: str, holder: str) -> None:
    page = BrowserCheck(page="/", sees=("x",), visible=True)
    brought = Requirement(id="ship-1", text="The page / shows x.", checks=(page,))
    whole = Requirement(id="whole", text="all of it", covers=("goal",))
    one = Requirement(id="a", text="a", covers=(entry,) if entry != "goal" else ())
    found = with_visible_checks(Requirements(requirements=(whole, one)), [brought])
    assert {each.id: each.checks for each in found.requirements if each.checks} == {holder: (page,)}
    listed = with_visible_checks(
        Requirements(requirements=(whole, brought.model_copy(update={"checks": ()}))), [brought]
    )
    assert {each.id: each.checks for each in listed.requirements if each.checks} == {"ship-1": (page,)}


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize("name", ["text-1", "text-2", "existing tests", "plan", "goal", "ship-1", "AC-1-rest"])
def test_an_agents_criterion_has_no_name_of_the_users_words_nor_of_the_engines_rows(name: str) -> None:
    words = (Criterion(text="It doubles.", kind="text"), Criterion(text="It triples.", kind="text"))
    theirs = Requirement(id=name, text="something is done", covers=("T1",))
    tasks = (Task(id="T1", title="all"),)
    plan = Plan(tasks=tasks, unread=words, requirements=(theirs,), author="spec", source=Source(file="request.md"))
    found = user_requirements(plan, Goal(text="It doubles. It triples."), None)
    assert {one.id: one.text for one in found} == {
        f"spec.{name}": "something is done",
        "text-1": "It doubles.",
        "text-2": "It triples.",
        "plan": "the whole of request.md",
    }
    assert [one.author for one in found] == ["spec", "", "", ""]
    assert found[0].covers == ("T1", name)  # the old id still leads to it
    page = BrowserCheck(page="/", sees=("x",))
    (planned,) = plan.model_copy(
        update={"requirements": (theirs.model_copy(update={"checks": (page,)}),)}
    ).signed_requirements
    seen = with_visible_checks(users(*found), [planned])
    assert [one.id for one in seen.requirements if one.checks] == [f"spec.{name}"]


@pytest.mark.spec("LAW-1", "LAW-12")
@pytest.mark.parametrize("name", ["text-1", "mine", "ticket", "other"])
@pytest.mark.parametrize("author", ["initializer", ""])
def test_a_check_is_found_for_a_requirement_of_its_author_only_whatever_an_agent_calls_it(
    name: str, author: str
) -> None:
    """The agent's criterion has the user's id and the user's words. (The user's own list finds its check, the twin.)"""
    words, check = (Criterion(text="It doubles.", kind="text"),), CommandCheck(command="true")
    planned = Requirement(id=name, text="It doubles.", checks=(check,), keep=True)
    plan = Plan(
        tasks=(Task(id=name, title="It doubles."),),
        unread=words,
        requirements=(planned,),
        author=author,
        source=Source(file="request.md"),
        whole="ticket",
    )
    goal = Goal(text="It doubles.")
    given = users(Requirement(id="mine", text="It doubles.", covers=("It doubles.", name))) if name == "mine" else None
    found = user_requirements(plan, goal, given)
    seen = with_visible_checks(users(*found), plan.signed_requirements).requirements
    with_check = [(one.author, one.keep) for one in seen if one.checks]
    assert with_check == ([] if author and given else [(author, True)])
    if author:
        assert all(one.id != name for one in seen if one.author) or name == "other"
        assert [one.id for one in seen if not one.author][-1] == ("mine" if given else "ticket")


@pytest.mark.spec("LAW-12")
def test_agents_take_no_id_of_the_users_even_by_giving_one_twice() -> None:
    theirs = tuple(Requirement(id="acceptance", text=text, covers=("T",)) for text in ("a", "b"))
    listed = [*(one.model_copy(update={"author": "pm"}) for one in theirs), own("acceptance-2")]
    assert [one.id for one in unique_ids(listed)] == ["acceptance", "acceptance-3", "acceptance-2"]


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize("author", ["spec", "pm", "initializer"])
def test_agents_that_merge_rephrase_or_drop_take_no_words_from_the_user(author: str) -> None:
    words = tuple(Criterion(text=text, kind="text") for text in ("It doubles.", "It triples.", "It is fast."))
    goals = (Criterion(text="numbers stay exact", kind="constraint"),)
    merged = Requirement(id="AC-1", text="It doubles and triples.", covers=("T1", "It doubles.", "It triples."))
    plan = Plan(
        tasks=(Task(id="T1", title="all"),),
        criteria=goals,
        unread=words,
        requirements=(merged,),
        author=author,
        source=Source(file="request.md"),
    )
    found = {one.id: one for one in user_requirements(plan, Goal(text="It doubles. It triples. It is fast."), None)}
    assert [one.text for one in found.values()] == [
        "It doubles and triples.",
        "numbers stay exact",
        "It doubles.",
        "It triples.",
        "It is fast.",
        "the whole of request.md",
    ]
    assert set(found["plan"].parts) == set(found) - {"plan"}


@pytest.mark.spec("DAY-11", "LAW-12")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("It doubles", ["text-2"]),
        ("it  TRIPLES.", ["text-1"]),
        ("It doubles.\nIt triples", []),
        ("It doubles more", ["text-1", "text-2"]),
    ],
)
def test_a_users_requirement_that_repeats_a_sentence_covers_it_without_being_told(text: str, left: list[str]) -> None:
    mine = Requirement(id="mine", text=text)
    found = user_requirements(None, Goal(text="It doubles. It triples."), users(mine))
    assert [one.id for one in found] == ["mine", *left]
    if len(left) == 1:
        assert found[0].covers == ({"text-2": "It doubles.", "text-1": "It triples."}[left[0]],)


@pytest.mark.spec("DAY-11", "LAW-12")
@pytest.mark.parametrize("text", ["Add double. Add no new dependencies.", "Add no new dependencies"])
def test_what_is_to_be_kept_is_never_covered_without_being_told(text: str) -> None:
    goal = Goal(text="Add double. Add no new dependencies.")
    found = user_requirements(None, goal, users(Requirement(id="mine", text=text)))
    assert "Add no new dependencies." in [one.text for one in found if one.id != "mine"]


@pytest.mark.spec("DAY-11", "LAW-12")
def test_a_plans_criterion_and_a_line_of_prose_are_covered_by_their_own_words() -> None:
    text = f"{PLAN.text}\n## Looks\n\nIt is small.\n\nIt is old.\n"
    plan = parse_plan(text, "docs/PLAN.md")
    given = users(Requirement(id="1", text="Be fast."), Requirement(id="2", text="it is small"))
    part = plan_to_seal(plan, Settings(), given)
    found = user_requirements(part, Goal(text=text, source=plan.source), given)
    assert [one.covers for one in found[:2]] == [("be fast",), ("It is small.",)]
    left = {one.text for one in found[2:]}
    assert left >= {"be right", "tests pass", "`f` is documented", "It is old."}
    assert not left & {"be fast", "It is small."}


@pytest.mark.spec("LAW-1", "LAW-12")
def test_an_agents_requirement_that_repeats_a_sentence_covers_nothing() -> None:
    words = (Criterion(text="It doubles.", kind="text"),)
    theirs = Requirement(id="AC-1", text="It doubles.", covers=("T1",))
    tasks = (Task(id="T1", title="all"),)
    plan = Plan(tasks=tasks, unread=words, requirements=(theirs,), author="pm", source=Source(file="request.md"))
    for users_file in (None, users(own("other"))):
        found = user_requirements(plan, Goal(text="It doubles."), users_file)
        assert [one.author for one in found if one.text == "It doubles."] == ["pm", ""]
