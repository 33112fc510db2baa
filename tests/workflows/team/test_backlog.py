"""`backlog.md` is readable, can be parsed again, and can be edited by a person."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from trued.errors import BadInput
from trued.workflows.team.backlog import render, reopened
from trued.workflows.team.backlog.brief import brief_of
from trued.workflows.team.backlog.items import AcceptanceItem, Backlog, BacklogFeature, BacklogTask, Story
from trued.workflows.team.backlog.merge import merge_edit
from trued.workflows.team.backlog.reading import parse_backlog


def _shop() -> Backlog:
    backlog, login = Backlog().with_new_feature(
        "Log in", ["a user can log in", "a wrong password is refused"], priority="high"
    )
    backlog, story = backlog.with_new_story(login, "Register")
    backlog, model = backlog.with_new_task(story, "Create the `User` model", files=["src/user.py"])
    backlog, _ = backlog.with_new_task(story, "Add the end point", depends_on=(model,))
    backlog, _ = backlog.with_new_feature("Log out", priority="low")
    return backlog.with_task(model, state="done", attempts=3)


WRITTEN = """
## F1: Log in

- **Status**: pending
- **Priority**: high
- **UAT**: pending

### Acceptance criteria

- **F1-C1**: a user can log in
- **F1-C2**: a wrong password is refused

### F1-S1: Register

- **Status**: in_progress
- **Feature**: F1

#### Tasks

- [x] **F1-T1**: Create the `User` model (attempts: 3/10)
  - files: `src/user.py`
- [ ] **F1-T2**: Add the end point (attempts: 0/10)
  - needs: F1-T1

## F2: Log out

- **Status**: pending
- **Priority**: low
- **UAT**: pending
"""


@pytest.mark.spec("TEAM-3")
def test_the_file_shows_features_stories_tasks_criteria_and_attempts() -> None:
    text = render(_shop())
    assert text.startswith("# Backlog\n")
    assert text.endswith(WRITTEN)
    assert parse_backlog(text) == _shop()


@pytest.mark.spec("TEAM-3")
def test_ids_come_from_counters_and_are_never_given_twice() -> None:
    before = _shop()
    gone, said = merge_edit(before, parse_backlog(_without(render(before), "F1-T2", "needs:")), before)
    assert [task.id for task in gone.tasks] == ["F1-T1"]
    assert said == ("F1-T2 is no longer worked on, because you removed it",)
    again = parse_backlog(render(gone))
    assert again == gone
    assert again.with_new_task("F1-S1", "another")[1] == "F1-T3"
    gone, _ = merge_edit(again, parse_backlog(render(again)[: render(again).index("\n## F2")]), again)
    assert parse_backlog(render(gone)).with_new_feature("another")[1] == "F3"


def _without(text: str, *words: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not any(word in line for word in words))


# -- a person's own way of writing -----------------------------------------------------------------------------------

THEIRS = """\
Our list.

## F1: Log in
some words
* **Status**: In progress
* **Priority:** high

<!-- ask Ann -->

### F1-S1 Register
1. [ ] **F1-T1** do it,
   all of it
   ```
   - [ ] **F1-T9**: code
   ```
   - files: a.py, b.py
   - because Bob wants it
2. [!] new thing (attempts: 3/4)

### Ideas
- not a task
- [ ] **not** one either

## Dark mode
- [x] loose
- [ ] more

## Notes
the end"""


@pytest.mark.spec("TEAM-3")
@pytest.mark.parametrize(
    "text", [THEIRS, THEIRS.replace("\n", "\r\n"), "", "\n\n", "no backlog at all\n", f"\ufeff{THEIRS}"]
)
def test_what_a_person_wrote_comes_back_byte_for_byte(text: str) -> None:
    assert render(parse_backlog(text)) == text


@pytest.mark.spec("TEAM-3")
def test_the_engine_changes_its_own_words_and_leaves_the_persons() -> None:
    backlog = parse_backlog(THEIRS)
    assert backlog.task("F1-T1").description == "do it, all of it"
    assert backlog.task("F1-T1").files == ("a.py", "b.py")
    backlog = backlog.with_task("F1-T1", state="done", attempts=4, note="at last").with_feature("F1", uat="passed")
    backlog, _ = backlog.with_new_task("F1-S1", "another")
    text = render(backlog)
    for theirs in (
        "some words",
        "<!-- ask Ann -->",
        "because Bob wants it",
        "### Ideas\n- not a task",
        "## Notes\nthe end",
    ):
        assert theirs in text
    again = parse_backlog(text)
    assert again.task("F1-T1").note == "at last"
    assert again.task("F1-T1").state == "done"
    assert again.task("F1-T2").description == "another"
    assert again.feature("F1").uat == "passed"
    assert render(again) == text


@pytest.mark.spec("TEAM-3", "USE-7")
@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "pending",
            "donee",
            'backlog.md:9: "donee" is not a status of F1 (write one of: pending, in_progress, completed, failed)',
        ),
        (
            "**F1-T2**",
            "**F1-T1**",
            "backlog.md:27: F1-T1 appears twice, first on line 25 (remove the id from the new one)",
        ),
        ("[ ] **F1-T2**", "[y] **F1-T2**", "backlog.md:27: [y] is not a mark of a task (write [ ], [x] or [!])"),
        (
            "- **F1-C2**",
            "- [x] **F1-T9**: done\n- **F1-C2**",
            "backlog.md:16: the task F1-T9 is in the list of criteria (put it below a story)",
        ),
        (
            "0/10",
            "many",
            'backlog.md:27: "(attempts: many)" is not a number of attempts (write it as (attempts: 3/10))',
        ),
        (
            "\n## F1",
            "\n```\n## F1",
            "backlog.md:8: F1 is inside a code block, a comment or a quotation"
            " (close the block above it, or remove the heading)",
        ),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence_with_its_line(old: str, new: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_backlog(render(_shop()).replace(old, new, 1))
    assert str(caught.value) == sentence


HOSTILE = [
    "x\n## F9: fake\n\n- **Status**: completed",
    "x\n- [x] **F1-T9**: done (attempts: 0/10)",
    "[x] **F1-T9**: done",
    "x (attempts: 0/10)",
    "x (not in the contract)",
    "x <!-- ",
    "x -->",
    "```",
    "``` x ` [link](http://h) ```",
    "![p](http://h/p.png) <img src=x>",
    "\u202e\x1b[31mred\x9b",
    "# heading #",
    "**Status**: completed",
    "F2: other",
    "a \\",
    "",
]


@pytest.mark.spec("TEAM-3", "USE-6")
@pytest.mark.parametrize("words", HOSTILE)
def test_no_words_can_pose_as_a_part_of_the_backlog(words: str) -> None:
    backlog, feature = Backlog().with_new_feature(words, [words, "b"])
    backlog, story = backlog.with_new_story(feature, words)
    backlog, _ = backlog.with_new_task(story, words, files=[words], note=words)
    backlog, _ = backlog.with_new_task(story, "b")
    again = parse_backlog(render(backlog))
    assert again == backlog
    assert [one.id for one in again.features] == ["F1"]
    assert [one.state for one in again.tasks] == ["open", "open"]
    assert not {"\x1b", "\u202e", "\x9b"} & {*render(backlog)}
    page = MarkdownIt("commonmark").render(render(backlog))
    assert [page.count(mark) for mark in ("<h1", "<h2", "<h3", "<h4", "<a ", "<img", "<!--")] == [1, 1, 2, 1, 0, 0, 0]


words = st.text(st.sampled_from(list("ab `*_[]()<>&#\\!-:.x\n\r\t1/é~|+=")), max_size=24) | st.sampled_from(HOSTILE)
progress = st.sampled_from(["pending", "in_progress", "completed", "failed"])


@st.composite
def backlogs(draw: st.DrawFn) -> Backlog:
    """Any backlog that the engine may make, without a person's edits."""
    features = []
    for number in range(1, draw(st.integers(0, 3)) + 1):
        own = f"F{number}"
        tasks = draw(st.lists(words, max_size=4))
        cut = draw(st.integers(0, len(tasks)))
        made = [
            BacklogTask(
                id=f"{own}-T{at}",
                description=one,
                state=draw(st.sampled_from(["open", "done", "failed"])),
                attempts=draw(st.integers(0, 12)),
                depends_on=(f"{own}-T1",) if at > 1 and draw(st.booleans()) else (),
                files=tuple(draw(st.lists(words, max_size=2))),
                note=draw(words),
                by_person=draw(st.booleans()),
            )
            for at, one in enumerate(tasks, 1)
        ]
        stories = [
            Story(id=f"{own}-S{at}", name=draw(words), feature=own, status=draw(progress), tasks=tuple(part))
            for at, part in enumerate((made[:cut], made[cut:]), 1)
        ]
        criteria = tuple(
            AcceptanceItem(id=f"{own}-C{at}", text=one) for at, one in enumerate(draw(st.lists(words, max_size=2)), 1)
        )
        features.append(
            BacklogFeature(
                id=own,
                name=draw(words),
                status=draw(progress),
                priority=draw(st.sampled_from(["high", "medium", "low"])),
                uat=draw(st.sampled_from(["pending", "passed", "failed"])),
                depends_on=("F1",) if number > 1 else (),
                criteria=criteria,
                stories=tuple(stories),
                given=draw(st.sampled_from([(0, 0, 0), (0, 4, 9), (3, 0, 0)])),
            )
        )
    return Backlog(features=tuple(features), given=draw(st.sampled_from([0, 7])))


@pytest.mark.spec("TEAM-3")
@settings(max_examples=30, deadline=None)
@given(backlog=backlogs())
def test_what_is_written_reads_back_as_what_it_was(backlog: Backlog) -> None:
    assert parse_backlog(render(backlog)) == backlog


PIECES = [
    *(f"{line}\n" for line in f"{THEIRS}\n{WRITTEN}".splitlines()),
    "<!-- open\n",
    "-->\n",
    "\n",
    "\r\n",
    "\t- [ ] x\n",
    "> ## F7: x\n",
    "  - note: hm\n",
    "    code\n",
    "   - [ ] set in\n",
    "  * **UAT**: failed\n",
    "   1) [ ] **F1-T4**: far in\n     - note: hm\n",
    "Title\n---\n",
    "***\n",
    "<div>\n",
    "- \n",
    "<!-- ids given so far: F4 S2 -->\n",
    "- [ ] x",
]
texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@pytest.mark.spec("TEAM-3")
@settings(max_examples=60, deadline=None)
@given(text=texts)
def test_any_text_that_can_be_read_comes_back_byte_for_byte(text: str) -> None:
    try:
        backlog = parse_backlog(text)
    except BadInput:
        return
    assert render(backlog) == text
    assert merge_edit(backlog, backlog, _shop()) == (_shop(), ())
    settled, _ = merge_edit(_shop(), backlog, _shop())
    again = parse_backlog(render(settled))
    assert [task.model_dump(exclude={"kept"}) for task in again.tasks] == [
        task.model_dump(exclude={"kept"}) for task in settled.tasks
    ]
    assert [(one.id, one.name, one.priority, len(one.criteria)) for one in again.features] == [
        (one.id, one.name, one.priority, len(one.criteria)) for one in settled.features
    ]


# -- a person's edits --------------------------------------------------------------------------------------------------


def _edited(now: Backlog, *changes: tuple[str, str]) -> tuple[Backlog, tuple[str, ...]]:
    """The result of a person's changes to the file of `_shop`, applied to `now`."""
    text = render(_shop())
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    found, said = merge_edit(_shop(), parse_backlog(text), now)
    assert render(parse_backlog(render(found))) == render(found)
    return found, said


@pytest.mark.spec("TEAM-3")
def test_names_priorities_and_limits_are_the_persons() -> None:
    found, said = _edited(
        _shop(), ("F1: Log in", "F1: Sign in"), ("high", "Low"), ("0/10", "0/3"), ("Add the end", "Write the end")
    )
    assert (found.feature("F1").name, found.feature("F1").priority) == ("Sign in", "low")
    assert (found.task("F1-T2").limit, found.task("F1-T2").description) == (3, "Write the end point")
    assert "F1 has your name now" in said


@pytest.mark.spec("TEAM-3")
def test_new_lines_get_ids_and_the_limit_of_the_others() -> None:
    now = _shop().with_task("F1-T1", limit=5)
    added = "- [ ] Send a mail\n- [x] Buy a domain\n\n## F2"
    found, said = _edited(
        now, ("\n## F2", f"{added}"), ("low\n- **UAT**: pending\n", "low\n\n## Search\n- [ ] Index\n")
    )
    assert [(task.id, task.state, task.by_person, task.limit) for task in found.tasks][2:] == [
        ("F1-T3", "open", False, 5),
        ("F1-T4", "done", True, 5),
        ("F3-T1", "open", False, 5),
    ]
    assert found.feature("F3").stories[0].name == "added by hand"
    text = render(found)
    assert "- [ ] **F1-T3**: Send a mail (attempts: 0/5)\n" in text
    assert "## F3: Search\n" in text
    assert any("F1-T4 is new" in one and "not worked on" in one for one in said)


@pytest.mark.spec("TEAM-3", "LAW-3")
def test_a_sealed_criterion_cannot_be_edited_away_and_a_new_one_is_no_part_of_the_contract() -> None:
    found, said = _edited(_shop(), ("- **F1-C2**: a wrong password is refused", "- it is fast"))
    assert [(one.id, one.text) for one in found.feature("F1").criteria] == [
        ("F1-C1", "a user can log in"),
        ("F1-C2", "a wrong password is refused"),
        ("F1-C3", "it is fast"),
    ]
    assert "F1-C2 was restored, because the sealed contract contains it: only `trued amend` changes that" in said
    assert any(text.startswith("the team sees F1-C3, but no check covers it, because") for text in said)
    assert "- **F1-C3**: it is fast (not in the contract)\n" in render(found)
    gone, said = merge_edit(found, parse_backlog(_without(render(found), "F1-C3")), found)
    assert [one.id for one in gone.feature("F1").criteria] == ["F1-C1", "F1-C2"]
    text = render(_shop())
    _, said = merge_edit(_shop(), parse_backlog(text[text.index("\n## F2") :]), _shop())
    assert said == (
        "F1 is no longer worked on, because you removed it; F1-C1, F1-C2 stay in the contract: only `trued amend` "
        "changes that",
    )


@pytest.mark.spec("TEAM-3", "LAW-1")
def test_a_persons_tick_stops_the_work_and_proves_nothing() -> None:
    found, said = _edited(_shop(), ("[ ] **F1-T2**", "[x] **F1-T2**"))
    assert (found.task("F1-T2").state, found.task("F1-T2").by_person) == ("done", True)
    assert said == ("F1-T2 is not worked on, as you marked it; your tick proves nothing",)
    assert "  - by: a person\n" in render(found)
    found, said = _edited(
        _shop(), ("**UAT**: pending", "**UAT**: passed"), ("**Status**: pending", "**Status**: completed")
    )
    assert (found.feature("F1").uat, found.feature("F1").status) == ("pending", "pending")
    assert found.task("F1-T2").by_person
    assert said == (
        "open tasks of F1 are not worked on, as you wrote completed; UAT and evidence still decide",
        "the UAT of F1 stays pending: an edit cannot mark it as passed",
    )


@pytest.mark.spec("TEAM-3", "TEAM-5")
def test_what_has_failed_can_be_opened_again_and_attempts_be_set() -> None:
    before = _shop().with_task("F1-T2", state="failed", attempts=10).with_feature("F1", status="failed", uat="failed")
    text = (
        render(before).replace("[!] **F1-T2**", "[ ] **F1-T2**").replace("**Status**: failed", "**Status**: pending", 1)
    )
    found, _ = merge_edit(before, parse_backlog(text), before)
    assert (found.task("F1-T2").state, found.task("F1-T2").attempts) == ("open", 0)
    assert (found.feature("F1").status, found.feature("F1").uat) == ("pending", "pending")
    found, said = _edited(_shop(), ("0/10", "7/10"))
    assert found.task("F1-T2").attempts == 7
    assert said == ("F1-T2 has used 7 attempts, as you wrote",)


@pytest.mark.spec("TEAM-3")
def test_an_edit_is_laid_over_what_happened_meanwhile() -> None:
    now = _shop().with_task("F1-T2", state="done", attempts=2).with_feature("F1", uat="passed", status="completed")
    now, _ = now.with_new_story("F2", "Button")
    now, _ = now.with_new_task("F2-S1", "Draw it")
    found, said = _edited(now, ("F1: Log in", "F1: Sign in"), ("Add the end", "Write the end"))
    assert found.task("F1-T2").model_dump(exclude={"kept"}) == {
        **now.task("F1-T2").model_dump(exclude={"kept"}),
        "description": "Write the end point",
    }
    assert (found.feature("F1").uat, found.feature("F1").status) == ("passed", "completed")
    assert found.task("F2-T1").description == "Draw it"
    assert len(said) == 2


@pytest.mark.spec("TEAM-3")
def test_order_and_place_are_the_persons() -> None:
    text = render(_shop())
    first, second = text.index("\n## F1"), text.index("\n## F2")
    found, said = merge_edit(_shop(), parse_backlog(text[:first] + text[second:] + text[first:second]), _shop())
    assert [one.id for one in found.features] == ["F2", "F1"]
    assert said == ("the features are in your order now",)
    moved = text.replace("- [ ] **F1-T2**: Add the end point (attempts: 0/10)\n  - needs: F1-T1\n", "")
    found, _ = merge_edit(
        _shop(), parse_backlog(f"{moved}\n- [ ] **F1-T2**: Add the end point (attempts: 0/10)\n"), _shop()
    )
    assert [task.id for task in found.feature("F2").tasks] == ["F1-T2"]
    assert found.feature("F1-T2").id == "F2"
    assert found.with_new_task("F1-S1", "next")[1] == "F1-T3"


@pytest.mark.spec("TEAM-3", "TEAM-14")
def test_nobody_waits_for_what_is_gone_or_for_each_other() -> None:
    found, said = _edited(
        _shop(), ("needs: F1-T1", "needs: F1-T1, F9-T9"), ("  - files: `src/user.py`\n", "  - needs: F1-T2\n")
    )
    assert found.task("F1-T1").depends_on == ()
    assert found.task("F1-T2").depends_on == ("F1-T1",)
    assert {*said} >= {
        "F1-T1 cannot depend on F1-T2: they would depend on each other",
        "F1-T2 cannot depend on F9-T9: not in the backlog",
    }


@pytest.mark.spec("TEAM-3")
def test_an_emptied_file_is_a_slip() -> None:
    assert merge_edit(_shop(), parse_backlog("# Backlog\n"), _shop())[0] == _shop()


@pytest.mark.spec("TEAM-3")
@settings(max_examples=15, deadline=None)
@given(before=backlogs(), now=backlogs())
def test_honouring_nothing_changes_nothing(before: Backlog, now: Backlog) -> None:
    assert merge_edit(before, parse_backlog(render(before)), now) == (now, ())


# -- what an agent is told ---------------------------------------------------------------------------------------------


def _long(features: int, tasks: int = 10) -> Backlog:
    backlog = Backlog()
    for number in range(features):
        backlog, own = backlog.with_new_feature(f"Part {number}", ["it is there"])
        backlog, story = backlog.with_new_story(own, "Story")
        for task in range(tasks):
            backlog, _ = backlog.with_new_task(story, f"Step {task}")
    return backlog


@pytest.mark.spec("TEAM-15")
def test_a_brief_tells_of_the_feature_at_hand_and_counts_the_rest() -> None:
    backlog = _long(3, 2).with_task("F1-T1", state="done").with_task("F2-T1", attempts=3)
    assert brief_of(backlog, "F2-T1", ".trued/team/") == (
        "1 of 6 tasks are done; 0 of 3 features are completed. All of it: .trued/team/backlog.md\n"
        "before it: F1: Part 0 (pending, 1 of 2 tasks done)\n"
        "after it: F3: Part 2 (pending, 0 of 2 tasks done)\n"
        "F2: Part 1 (pending, 0 of 2 tasks done), UAT pending\n"
        "- F2-S1: Story (0 of 2 tasks done)\n"
        "  - [ ] F2-T1: Step 0, attempt 3 of 10 (this one)\n"
        "  - [ ] F2-T2: Step 1"
    )


@pytest.mark.spec("TEAM-15")
def test_a_thousand_tasks_do_not_grow_a_brief() -> None:
    few, many = (len(brief_of(_long(features), "F5-T5")) for features in (10, 100))
    assert many <= 1.05 * few
    tasks = tuple(BacklogTask(id=f"F1-T{number}", description="Step") for number in range(1, 1001))
    story = Story(id="F1-S1", name="Story", feature="F1", tasks=tasks)
    wide = brief_of(Backlog(features=(BacklogFeature(id="F1", name="Part", stories=(story,)),)), "F1-T500")
    assert len(wide) < 3 * few
    assert "F1-T500: Step (this one)" in wide


@pytest.mark.spec("TEAM-3")
def test_the_example_of_the_guide_is_a_backlog() -> None:
    page = (Path(__file__).parents[3] / "docs" / "guide" / "team-files.md").read_text()
    example = page.partition("```markdown\n")[2].partition("```")[0]
    backlog = parse_backlog(example)
    assert [task.state for task in backlog.tasks] == ["done", "open", "failed"]
    assert not any(feature.kept for feature in backlog.features)
    assert render(backlog) == example


@pytest.mark.spec("TEAM-2")
def test_a_story_that_is_reopened_has_its_failed_tasks_open_again_and_no_other() -> None:
    backlog, feature = Backlog().with_new_feature("login")
    for story in ("first", "second"):
        backlog, name = backlog.with_new_story(feature, story)
        for state in ("done", "failed"):
            backlog, task = backlog.with_new_task(name, f"{story} {state}")
            backlog = backlog.with_task(task, state=state, attempts=3)
    backlog = backlog.with_feature(feature, status="failed", uat="failed")

    def states(*names: str) -> list[str]:
        found = parse_backlog(reopened(render(backlog), names))
        assert (found.features[0].status, found.features[0].uat) == ("in_progress", "pending")
        return [one.state for one in found.tasks]

    assert states("F1-S2") == ["done", "failed", "done", "open"]
    assert states("F1") == ["done", "open", "done", "open"]
    assert states("F1-T2") == ["done", "open", "done", "failed"]
    for unknown in ("F9", "F1-S9", "F1-C1"):
        with pytest.raises(BadInput, match=f"no task, story or feature '{unknown}'"):
            reopened(render(backlog), [unknown])
