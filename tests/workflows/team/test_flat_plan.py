"""An old list of tasks is converted once; nothing is lost, and done tasks stay done."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.errors import BadInput
from trued.model import TeamSettings
from trued.support.markdown import split_lines
from trued.workflows.team.backlog import render
from trued.workflows.team.backlog.reading import parse_backlog
from trued.workflows.team.flat_plan import is_flat_plan, is_list_of_tasks, migrate
from trued.workflows.team.sheen_config import team_settings

FLAT = """\
# My shop

Some words about it.

## Login

- [x] Create the model
  - with a name
  - and a password
- [ ] Add the end point
  - [x] route
  - [ ] handler
- [!] Send a mail

### Later

1. [ ] Two factors
2. ~~Captcha~~

## Notes

- ask Ann

## Success criteria

- [ ] a user can log in

## Search
* Index
  * [ ] words
  * [X] pictures
"""


@pytest.mark.spec("TEAM-12")
def test_headings_become_features_and_items_tasks_and_what_is_done_stays_done() -> None:
    found = migrate(FLAT)
    assert [(one.id, one.name, one.status) for one in found.backlog.features] == [
        ("F1", "Login", "in_progress"),
        ("F2", "Search", "in_progress"),
    ]
    assert [(one.id, one.description, one.state, one.note, one.depends_on) for one in found.backlog.tasks] == [
        ("F1-T1", "Create the model", "done", "with a name; and a password", ()),
        ("F1-T2", "route", "done", "", ()),
        ("F1-T3", "handler", "open", "", ()),
        ("F1-T4", "Add the end point", "open", "", ("F1-T2", "F1-T3")),
        ("F1-T5", "Send a mail", "failed", "", ()),
        ("F1-T6", "Two factors", "open", "", ()),
        ("F1-T7", "Captcha", "done", "", ()),
        ("F2-T1", "words", "open", "", ()),
        ("F2-T2", "pictures", "done", "", ()),
    ]
    assert [one.name for feature in found.backlog.features for one in feature.stories] == ["Tasks", "Later", "Index"]
    assert [(one.text, one.source.line) for one in found.criteria] == [("a user can log in", 26)]
    assert found.context == "# My shop\n\nSome words about it.\n\n## Notes\n\n- ask Ann"
    assert found.said[0] == "9 tasks in 2 features were read from plan.md, 4 of them done, 1 failed"
    assert parse_backlog(render(found.backlog)) == found.backlog


@pytest.mark.spec("TEAM-12")
@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("- a\n- b\n  - c\n", ["a", "c"]),
        ("1. a\n2. b\n", ["a", "b"]),
        ("- [ ] a\n", ["a"]),
        ("# T\n- [ ] a\n- b\n", ["a", "b"]),
        ("no list at all\n", []),
        ("- ✅ a\n- [ ] b\n", ["a", "b"]),
        ("- [~] a\n- [ ] b\n", ["[~] a", "b"]),
        ("- [ ] a\n- [ ] b\n\nNotes:\n\n- [1] see the paper\n- [a] see the other\n", ["a", "b"]),
    ],
)
def test_people_write_lists_in_many_ways(text: str, tasks: list[str]) -> None:
    assert [one.description for one in migrate(text).backlog.tasks] == tasks


PIECES = [
    *FLAT.splitlines(),
    "<!-- hm -->",
    "    - [ ] deep",
    "```",
    "| a |",
    "| - |",
    "> - [ ] q",
    "[x]: y",
    "---",
    "  more",
]


@pytest.mark.spec("TEAM-12")
@settings(max_examples=80, deadline=None)
@given(text=st.lists(st.sampled_from(PIECES), max_size=25).map("\n".join))
def test_every_line_is_accounted_for_and_every_box_is_a_task_or_a_criterion(text: str) -> None:
    found = migrate(text)
    lines = split_lines(text)
    assert [*found.lines] == [number for number, line in enumerate(lines, 1) if line.strip()]
    words = "".join(
        (
            found.context,
            *(f"{one.description} {one.note}" for one in found.backlog.tasks),
            *(one.text for one in found.criteria),
            *(feature.name for feature in found.backlog.features),
            *(story.name for feature in found.backlog.features for story in feature.stories),
        )
    )
    for number, what in found.lines.items():
        bare = lines[number - 1].strip().strip("-*>[ xX!]~.|12#")
        if bare != "Success criteria":
            assert what
            assert "".join(bare.split()) in "".join(words.split())


@pytest.mark.spec("TEAM-12")
def test_a_list_of_boxes_is_told_from_other_plans() -> None:
    assert is_flat_plan(FLAT)
    assert not is_flat_plan("# Goal\n\nBuild a shop.\n\n- fast\n- small\n")
    assert not is_flat_plan(render(migrate(FLAT).backlog))


TABLE = "| Chunk | Scope | Files |\n|---|---|---|\n| 1A | models | a.py |\n| 1B | routes | b.py |\n\n"
BOXES = "- [ ] a user can log in\n- [ ] search finds words\n"


@pytest.mark.spec("TEAM-12", "TEAM-1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FLAT, True),
        (f"# P\n\n## Phase 1: login\n\n{BOXES}\n## Phase 2: more\n\n- [x] c\n", True),
        (f"# P\n\n## 1. Login\n\n{BOXES}", True),
        ("# P\n\n- [ ] 1A: models\n- [ ] 1B: routes\n", True),
        (f"# P\n\n{TABLE}## Notes\n\n{BOXES}", False),
        (f"# P\n\n{TABLE}## Ship criteria\n\n{BOXES}", False),
        (f"# P\n\n{TABLE.replace('1B', '  ')}## Notes\n\n{BOXES}", False),
        (f"# P\n\n### 1A: models\n\n{BOXES}\n### 1B: routes\n\n{BOXES}", False),
        (f"# P\n\n### Task 1: models\n\n{BOXES}", False),
        (f"# P\n\n- 1A: models\n- 1B: routes\n\n## Done when\n\n{BOXES}", False),
        (f"# Shop\n\nBuild a shop.\n\n## Acceptance criteria\n\n{BOXES}", False),
    ],
)
def test_only_a_goal_whose_boxes_are_its_tasks_needs_no_pm(text: str, expected: bool) -> None:
    assert is_flat_plan(text)
    assert is_list_of_tasks(text) is expected
    assert not expected or list(migrate(text).backlog.tasks)


CONFIG = """\
{
  "version": "0.3.0",
  "multiAgent": {
    "enabled": true,
    "maxTaskAttempts": 5,
    "roles": {"pm": {"enabled": true}, "qa": {"enabled": false}, "dev": {"enabled": false}}
  },
  "uatTriggers": {"afterEachFeature": false, "afterAllFeatures": true},
  "autoHeal": {"enabled": true, "maxAttempts": 7},
  "model": "x"
}
"""


@pytest.mark.spec("TEAM-12", "TEAM-11")
def test_an_old_configuration_is_mapped_and_what_means_nothing_is_said() -> None:
    found, said = team_settings(CONFIG)
    assert TeamSettings(**found) == TeamSettings(attempts=7, uat_after_feature=False, off=("qa",))
    assert said == (
        ".sheen/config.json:10: model is not used here",
        ".sheen/config.json: maxTaskAttempts and maxAttempts differ, the latter counts",
        ".sheen/config.json:6: a team without its dev does nothing, so it stays on",
    )
    assert team_settings("{}") == ({}, ())


@pytest.mark.spec("TEAM-12", "USE-7")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[]", "c.json:1: the file is not an object (write { … })"),
        ('{\n"autoHeal": 3}', "c.json:2: autoHeal is not an object (write { … })"),
        (
            '{"autoHeal": {"maxAttempts": 0}}',
            "c.json:1: autoHeal.maxAttempts is not a number of attempts (write 1 or more)",
        ),
        ('{"autoHeal": {"enabled": 1}}', "c.json:1: autoHeal.enabled is neither true nor false (fix the value)"),
    ],
)
def test_a_broken_configuration_is_said_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        team_settings(text, "c.json")
    assert str(caught.value) == sentence
