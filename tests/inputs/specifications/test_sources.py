"""Requirements that a repository already has are read verbatim, with file and line."""

import pytest

from trued.errors import BadInput
from trued.inputs import specifications as sources
from trued.inputs.requirements.guard_phrases import guard_kind, without_number
from trued.inputs.specifications.checklist import Checklist
from trued.inputs.specifications.openspec import OpenSpec
from trued.inputs.specifications.own_file import OwnFile
from trued.inputs.specifications.speckit import SpecKit
from trued.model import CommandCheck, ExamplesCheck, Requirements

SPEC = """# Feature Specification: Slugs

**Feature Branch**: `001-slugs`
**Created**: 2026-01-02
**Status**: Draft
**Input**: User description: "we need slugs"

## User Scenarios & Testing *(mandatory)*

### User Story 1 - Readable links (Priority: P1)

A writer pastes a title and gets a link.

**Why this priority**: links are everywhere

**Independent Test**: Can be tested by calling slugify

**Acceptance Scenarios**:

1. **Given** a title, **When** it is slugged, **Then** it is lower case
2. **Given** two blanks, **When** they are slugged, **Then** one "-" is left

---

### User Story 2 - Old links (Priority: P2)

Old links still work.

**Acceptance Scenarios**:

1. **Given** an old link, **When** it is opened, **Then** the page is there

### Edge Cases

- What happens when the title is empty?
- How does it handle emoji?

## Requirements *(mandatory)*

### Functional Requirements

- **FR-001**: System MUST lower-case
- **FR-002**: System MUST join with "-"
  - also at both ends

### Key Entities *(include if feature involves data)*

- **Title**: what a writer types

## Success Criteria *(mandatory)*

### Measurable Outcomes

- **SC-001**: 99 % of links are readable
"""

AUTH = """# Auth Specification

## Purpose
Sessions.

## Requirements

### Requirement: User Authentication
The system SHALL issue a token.

#### Scenario: Valid credentials
- GIVEN a user
- WHEN the user logs in
- THEN a token is returned

#### Scenario: Invalid credentials
- **WHEN** the password is wrong
- **THEN** there is an error

### Requirement: Session Expiration
The system MUST expire sessions.
"""

DELTA = """## ADDED Requirements

### Requirement: Two-Factor
The system MUST ask for a code.

#### Scenario: Login
- **WHEN** a user logs in
- **THEN** a code is asked for

## REMOVED Requirements

### Requirement: Remember Me
**Reason**: two factors

## RENAMED Requirements

- FROM: `### Requirement: Login`
- TO: `### Requirement: Sign in`
"""


def told(found: Requirements) -> dict[str, str]:
    return {one.id: one.text for one in found.requirements}


def lines(found: Requirements) -> dict[str, int]:
    return {one.id: one.source.line for one in found.requirements}


def test_spec_kit_stories_scenarios_requirements_and_edge_cases_are_read_verbatim() -> None:
    found = SpecKit().read({"specs/001-slugs/spec.md": SPEC})
    texts = told(found)
    assert list(texts) == ["US1", "US1.1", "US1.2", "US2", "US2.1", "edge-1", "edge-2", "FR-001", "FR-002", "SC-001"]
    assert texts["US1"] == "User Story 1 - Readable links (Priority: P1)\nA writer pastes a title and gets a link."
    assert texts["US1.2"] == '**Given** two blanks, **When** they are slugged, **Then** one "-" is left'
    assert texts["edge-2"] == "How does it handle emoji?"
    assert texts["FR-001"] == "**FR-001**: System MUST lower-case"
    assert texts["FR-002"] == '**FR-002**: System MUST join with "-"\nalso at both ends'
    assert lines(found)["FR-001"] == SPEC.splitlines().index("- **FR-001**: System MUST lower-case") + 1
    assert all(one.source.file == "specs/001-slugs/spec.md" and not one.checks for one in found.requirements)


def test_several_specs_keep_their_ids_apart() -> None:
    found = SpecKit().read({"specs/001-a/spec.md": "- **FR-001**: a\n", "specs/002-b/spec.md": "- **FR-001**: b\n"})
    assert list(told(found)) == ["001-a.FR-001", "002-b.FR-001"]


def test_openspec_requirements_and_scenarios_are_read_verbatim() -> None:
    found = OpenSpec().read({"openspec/specs/auth/spec.md": AUTH})
    assert told(found) == {
        "auth.user-authentication": "User Authentication\nThe system SHALL issue a token.",
        "auth.user-authentication.valid-credentials": "Valid credentials\nGIVEN a user\nWHEN the user logs in\n"
        "THEN a token is returned",
        "auth.user-authentication.invalid-credentials": "Invalid credentials\n**WHEN** the password is wrong\n"
        "**THEN** there is an error",
        "auth.session-expiration": "Session Expiration\nThe system MUST expire sessions.",
    }
    assert lines(found)["auth.session-expiration"] == 20


def test_an_openspec_change_is_read_by_what_it_adds_and_removes() -> None:
    found = told(OpenSpec().read({"openspec/changes/two-factor/specs/auth/spec.md": DELTA}))
    assert list(found) == ["auth.two-factor", "auth.two-factor.login", "auth.remember-me"]
    assert found["auth.remember-me"] == "Remember Me (removed)\n**Reason**: two factors"


def test_a_checklist_item_is_a_requirement_whether_or_not_somebody_ticked_it() -> None:
    text = (
        "# Done when\n\n- [ ] it works\n  - [x] with emoji\n- no box\n- [x] `make lint` passes\n- [x] see `make all`\n"
    )
    found = Checklist().read({"CHECKLIST.md": text})
    assert list(told(found).values()) == ["it works", "with emoji", "no box", "`make lint` passes", "see `make all`"]
    assert [one.checks for one in found.requirements] == [(), (), (), (CommandCheck(command="make lint"),), ()]


LIES = "double(x) raises a TypeError for lists"


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    "written",
    [
        f"> - [ ] {LIES}",
        f"> It works.\n>\n> 1. [ ] {LIES}",
        f"- [~] {LIES}",
        f"- [] {LIES}",
        f"- [ X ] {LIES}",
        f"-[ ] {LIES}",
        f"- ☐ {LIES}",
        f"[ ] {LIES}",
        f"### [ ] {LIES}",
        f"- plain\n\n  > - [ ] {LIES}",
        f"```markdown\n- [ ] {LIES}\n```",
        f"Some:\n\n    - [ ] {LIES}",
        f"| [ ] | {LIES} |\n|---|---|\n| [x] | more |",
        f"<ul><li><input type='checkbox'> {LIES}\n</ul>",
    ],
)
def test_whatever_looks_like_an_item_of_a_checklist_is_a_requirement(written: str) -> None:
    found = Checklist().read({"CHECKLIST.md": f"# Done\n\n- [ ] No new dependencies.\n\n{written}\n"}).requirements
    assert found[0].text == "No new dependencies."
    lines_of_file = f"# Done\n\n- [ ] No new dependencies.\n\n{written}".splitlines()
    first = next(one for one in found[1:] if LIES in lines_of_file[one.source.line - 1])
    assert LIES in first.text
    assert not first.checks


BOXES = [
    *(
        f"{mark} [ ] {LIES}"
        for mark in ("b)", "B.", "(b)", "iv.", "1.1", "1.1.", "#1", "C-1:", "•", "◦", "–", "→", "\\-")
    ),
    *(f"- {box} {LIES}" for box in ("⬜", "☐", "☑", "◻️", "□", "🔲", "🗹", "✔️")),
    *(
        f"- {box} {LIES}"
        for box in (
            r"\[ \]",
            r"\[x\]",
            r"\[ ]",
            "\uff3b \uff3d",
            "\uff3b\u3000\uff3d",
            "【 】",
            "[\u00a0]",
            "[__]",
            "***[ ]***",
            "==[ ]==",
        )
    ),
    f"-\u00a0[ ] {LIES}",
    f"\u200b- [ ] {LIES}",
    f"- [ ]({LIES})",
    f"- **1A** [ ] {LIES}",
    f"- P1: [x] {LIES}",
    f"- Step [ ] {LIES}",
    f"- {LIES} [ ]",
    f"- {LIES} ☑",
    f"{LIES} [ ]",
    f"| What | Done |\n|---|---|\n| {LIES} | ⬜ |",
    f"What | Done\n---|---\n{LIES} | \\[ \\]",
    f"Term\n: [ ] {LIES}",
    f"<ul><li>a</li><li>[ ] {LIES}</li></ul>",
    f"<li>[ ]\n{LIES}</li>",
    f"<li>\n<input type='checkbox'\n disabled> {LIES}</li>",
    f"- a\n  - b\n    - ⬜ {LIES}",
    "".join(f"{'  ' * depth}- a\n" for depth in range(40)) + f"{'  ' * 40}- [ ] {LIES}",
    f"{'> ' * 70}- [ ] {LIES}",
]
SIGNS = [
    *(f"- {box} {LIES}" for box in ("❏", "❑", "▢", "○", "( )", "([ ])", "[done]", "[1]", "[^1]", "{ }", "★", "!!")),
    *(f"- {box} {LIES}" for box in ('<INPUT TYPE="CHECKBOX">', ":white_check_mark:", "&#9744;", "[&nbsp;]", ":x:")),
    *(f"- {box}{LIES}" for box in ("[ ]: ", "[ ], ", "[x]—", "[ ] ", "")),
    f'- [ ]"{LIES}"',
    f"1. {LIES}",
    f"- Group:\n  - {LIES}\n  - [ ] tidy",
    f"- {LIES}\n  - [ ] tidy",
]
ELSEWHERE = [
    *(f"{box} {LIES}" for box in ('<INPUT TYPE="CHECKBOX">', "&#9744;", "[&nbsp;]", "[ ]:", "( )", "([ ])")),
    *(f"| {box} | {LIES} |\n|---|---|" for box in ("❏", "▢", "○", ":white_check_mark:", "&#x2610;", "( )")),
]
WORDS_BELOW = [
    f"- [ ]\n  {LIES}",
    f"- [ ]\n\n  {LIES}",
    f"- [ ]\n  - {LIES}",
    f"- [ ]\n  1. {LIES}",
    f"- [ ]\n\n  ```\n  {LIES}\n  ```",
    f"> - [ ]\n>   {LIES}",
    f"> - [ ]\n>\n>   {LIES}",
]
BELOW_A_COMMENT = [
    f"Write `<!--` before a comment.\n\n| Done | What |\n|---|---|\n| [ ] | {LIES} |",
    f"Write \\<!-- before it.\n\n> - [ ] {LIES}",
    f"Write <!-- before it.\n\n> - [ ] {LIES}",
    f"```\n<!--\n```\n\n> - [ ] {LIES}",
    f"<!---> [ ] {LIES}",
]
NO_BOXES = [
    "The sign ✅ means done, and `[ ]` is open.",
    "**Legend:** [ ] open · [x] done",
    "- Legend: [ ] open, [x] done",
    "- Use ✅ for what is done",
    "- an array `[ ]` of numbers\n- a[ ] and b[x]\n- [], {} and None\n- it returns []",
    "- [x](https://a.example) is a link\n- ![ ](a.png) a picture\n- [^1] a note\n- [1] a source\n\n[x]: https://a.example",
    "- [NEEDS CLARIFICATION: what?]\n- [...] left out\n- [perf] faster\n- [[page]]\n\n> [!NOTE]\n> Mind it.",
    "■ Part one\n\n※ A remark.\n\nstd::check::all, 12:square:3, AT&amp;T",
    '- later. [J]\n- left out […]\n- `a [b | -] [--] [more]`\n\n```\n"needs": []\n// argv: [] by default\n```',
    "- (optional) more\n- (a) first\n\n1. one\n2) two\n\na) three",
    "<!-- - [ ] template -->\n\n<!--\n| [ ] | template |\n\n- ⬜ template\n-->\n\n> <!-- [ ] template -->",
]


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize("written", [*BOXES, *SIGNS, *ELSEWHERE, *WORDS_BELOW, *BELOW_A_COMMENT])
def test_a_box_is_a_requirement_in_every_form_that_a_person_reads_as_one(written: str) -> None:
    text = f"# Done\n\n- [ ] No new dependencies.\n\n{written}\n\nThat is all.\n"
    found = Checklist().read({"CHECKLIST.md": text}).requirements
    assert [not one.checks for one in found if LIES in one.text] == [True]
    assert [one.text for one in sources.read_specification("wishes.md", text).requirements] == [
        one.text for one in found
    ]


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize("written", [f"- [ ] {LIES}", *BOXES, *SIGNS, *ELSEWHERE, *WORDS_BELOW, *BELOW_A_COMMENT])
def test_a_box_outside_of_the_sections_of_a_format_is_a_requirement_of_its_own(written: str) -> None:
    openspec = f"## Requirements\n\n### Requirement: Double\nIt doubles.\n\n## Review\n\n{written}\n"
    found = OpenSpec().read({"openspec/specs/a/spec.md": openspec}).requirements
    assert [one.source.line >= 8 for one in found if LIES in one.text] == [True]
    speckit = f"## Functional Requirements\n\n- **FR-001**: It doubles.\n\n## Review\n\n{written}\n"
    found = SpecKit().read({"specs/001-a/spec.md": speckit}).requirements
    assert [one.source.line >= 7 for one in found if LIES in one.text] == [True]


@pytest.mark.parametrize("box", ["- ⬜ ", "b) [ ] ", "• ☐ ", "- **[ ]** ", "- `[ ]` ", "> - [ ] ", r"- \[ \] "])
def test_words_beside_a_box_stay_as_they_are_and_may_name_a_command(box: str) -> None:
    found = Checklist().read({"TODO.md": f"{box}`make lint` passes\n\n{box}**it** works, `f` and _g_\n"}).requirements
    assert [one.text for one in found] == ["`make lint` passes", "**it** works, `f` and _g_"]
    assert [len(one.checks) for one in found] == [1, 0]


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize("written", NO_BOXES)
def test_ordinary_text_has_no_boxes(written: str) -> None:
    assert told(Checklist().read({"CHECKLIST.md": f"- [ ] a\n\n## Notes\n\n{written}\n"})) == {"1": "a"}
    assert list(told(SpecKit().read({"specs/1/spec.md": f"- **FR-001**: a\n\n## Notes\n\n{written}\n"}))) == ["FR-001"]
    found = OpenSpec().read({"openspec/specs/a/spec.md": f"## Purpose\n\n{written}\n\n### Requirement: B\nb\n"})
    assert list(told(found)) == ["a.b"]


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    "written",
    [
        f"- **FR-007**: it doubles\n\n  {LIES}\n",
        f"- FR-007: it doubles\n  - {LIES}\n",
        f"b) FR-007: {LIES}\n",
        f"| FR-007 | {LIES} |\n|---|---|\n",
        f"### FR-007: doubling\n\n{LIES}\n",
        f"### FR-007: doubling\n\n#### Lists\n\n- {LIES}\n",
        f"- FR-007 {LIES}\n",
        f"- FR-007. {LIES}\n",
        f"### FR-007 {LIES}\n",
        f"FR-007 {LIES}\n",
    ],
)
def test_a_number_is_a_requirement_beside_boxes_too(written: str) -> None:
    coverage = "## Coverage\n\n| ID | Story |\n|---|---|\n| FR-001 | 1 |\n"
    text = f"# All\n\n- [ ] FR-001: it doubles\n\n## More\n\n{written}\n{coverage}"
    found = Checklist().read({"REQUIREMENTS.md": text}).requirements
    assert [one.text.splitlines()[0] for one in found][:1] == ["FR-001: it doubles"]
    assert [LIES in one.text and "FR-007" in one.text for one in found[1:]] == [True]


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    "title",
    [
        *("Security Requirements", "Constraints & Dependencies", "Data Quality Requirements", "Definition of Done"),
        *("Business Rules", "Invariants", "Assumptions and Constraints", "Acceptance", "Security", "Behaviour"),
        *("Review", "Dependencies on time", "Release checklist", "Error handling"),
    ],
)
def test_items_below_any_heading_count_unless_the_whole_heading_is_known_to_ask_for_nothing(title: str) -> None:
    head = "# Feature\n\n## Requirements\n\n### Constraints\n\n- No new dependencies\n\n"
    text = f"{head}### {title}\n\n- {LIES}\n"
    for path in ("specs/001-a/spec.md", "openspec/specs/a/spec.md", "wishes.md"):
        assert LIES in [one.text for one in sources.read_specification(path, text).requirements][-1]
    other = f"### Requirement: Tidy\nIt is.\n\n## {title}\n\n- {LIES}\n"
    assert LIES in list(told(OpenSpec().read({"openspec/specs/a/spec.md": other})).values())


ASIDES = [
    *("Notes", "Open Questions", "Key Entities *(include if feature involves data)*", "Dependencies & Assumptions"),
    *("Assumptions", "Out of Scope", "Clarifications", "References (for reviewers)", "Overview", "Why", "Legend"),
    "Review & Acceptance Checklist *(mandatory)*",
]


@pytest.mark.parametrize("title", ASIDES)
def test_notes_links_and_background_ask_for_nothing(title: str) -> None:
    text = f"## {title}\n\n- Nothing is asked for here.\n\nNor here.\n"
    assert list(told(SpecKit().read({"specs/1/spec.md": f"- **FR-001**: a\n\n{text}"}))) == ["FR-001"]
    assert list(told(OpenSpec().read({"openspec/specs/a/spec.md": f"### Requirement: B\nb\n\n{text}"}))) == ["a.b"]
    assert list(told(Checklist().read({"CHECKLIST.md": f"- [ ] a\n\n{text}"}))) == ["1"]
    links = "- [a](b.md)\n- see https://a.example\n- **Owner**: Ann\n- Note: mind it\n- Setup\n  - [ ] b\n"
    found = Checklist().read({"CHECKLIST.md": f"A paragraph.\n\n{links}\n\n{text}"})
    assert list(told(found).values()) == ["b"]


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    "written",
    [
        f"### Requirement 2: {LIES}",
        f"### Requirement 2 {LIES}",
        f"### Requirement - {LIES}",
        f"### **Requirement: {LIES}**",
        f"### Requirement\uff1a{LIES}",
        f"**Requirement: {LIES}**",
        f"Requirement: {LIES}",
        f"### Scenario Outline: {LIES}",
        f"- {LIES}",
        f"## ADDED and RENAMED Requirements\n\n### Requirement: {LIES}",
        f"## ADDED and RENAMED Requirements\n\n{LIES}",
        f"## RENAMED Requirements\n\n### Requirement: {LIES}",
        f"## RENAMED Requirements\n\n- FROM: `a`\n- {LIES}",
    ],
)
def test_a_requirement_of_openspec_counts_however_its_title_is_written(written: str) -> None:
    text = f"# A\n\n## Rules\n\n### Requirement: No new dependencies\n\n## More\n\n{written}\n"
    found = list(told(OpenSpec().read({"openspec/changes/b/specs/a/spec.md": text})).values())
    assert found == ["No new dependencies", LIES]


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize("folder", ["", "/", "./", "repo/"])
def test_a_change_of_openspec_is_known_by_a_relative_path(folder: str) -> None:
    text = f"## Constraints\n\n- No new dependencies\n\n## ADDED Requirements\n\n### Requirement: A\n{LIES}\n"
    found = sources.read_specification(f"{folder}openspec/changes/add/specs/a/spec.md", text)
    assert told(found)["a.a"] == f"A\n{LIES}"


def test_a_numbered_sentence_that_names_a_command_has_it_as_its_check() -> None:
    found = SpecKit().read({"specs/1/spec.md": "- **FR-001**: `make lint` passes\n"}).requirements
    assert [(one.text, one.checks, one.keep) for one in found] == [
        ("**FR-001**: `make lint` passes", (CommandCheck(command="make lint"),), True)
    ]


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("**FR-001**: No new dependencies", "dependencies"),
        ("FR-002. All existing tests pass", "tests"),
        ("Python3: all tests pass", ""),
        ("FR-003: all tests pass within a second", ""),
    ],
)
def test_only_a_number_is_left_out_before_a_sentence_is_recognised(sentence: str, kind: str) -> None:
    assert guard_kind(without_number(sentence)) == kind


def test_a_numbered_title_of_boxes_is_no_requirement_unless_it_says_more() -> None:
    text = f"# All\n\n## AC-1: Login\n\n- [ ] a\n- [ ] b\n\n## AC-2: {LIES}\n\n- [ ] c\n"
    assert list(told(Checklist().read({"TODO.md": text})).values()) == ["a", "b", f"AC-2: {LIES}", "c"]


def test_ticks_and_crosses_in_prose_and_output_are_no_items_of_a_specification() -> None:
    shown = "```\n✓ 3 tests passed\n```\n\n✅ Good: `a`\n\n❌ Bad: `b`\n\n"
    listed = "- ✅ it doubles\n\n| What | Done |\n|---|---|\n| it halves | ✅ |\n"
    found = OpenSpec().read({"openspec/specs/a/spec.md": f"## Purpose\n\n{shown}{listed}"})
    assert list(told(found).values()) == ["it doubles", "it halves | ✅"]
    found = SpecKit().read({"specs/1/spec.md": f"## Review\n\n{shown}{listed}"})
    assert list(told(found).values()) == ["it doubles", "it halves | ✅"]


def test_a_box_about_the_specification_itself_asks_for_nothing() -> None:
    review = (
        "## Review & Acceptance Checklist\n\n### Content Quality\n\n- [ ] No implementation details\n\n> - [x] clear\n"
    )
    assert list(told(SpecKit().read({"specs/1/spec.md": f"- **FR-001**: a\n\n{review}"}))) == ["FR-001"]
    nongoal = "## Non-goals\n\n- [ ] colours\n"
    found = OpenSpec().read({"openspec/specs/a/spec.md": f"### Requirement: B\nb\n\n{nongoal}"})
    assert list(told(found)) == ["a.b"]


@pytest.mark.spec("LAW-12")
def test_a_file_whose_words_cannot_be_assigned_is_refused_with_the_line() -> None:
    with pytest.raises(BadInput, match=r"CHECKLIST\.md:3: this box has no words"):
        Checklist().read({"CHECKLIST.md": f"- [ ] a\n\n- [ ]\n\n{LIES}\n"})
    hidden = f"<!-- not closed\n\n### Requirement: B\n{LIES}\n"
    with pytest.raises(BadInput, match=r"spec\.md:4: this comment is never closed"):
        OpenSpec().read({"openspec/specs/a/spec.md": f"### Requirement: A\na\n\n{hidden}"})
    with pytest.raises(BadInput, match=r"spec\.md:3: this comment is never closed"):
        SpecKit().read({"specs/1/spec.md": f"- **FR-001**: a\n\n{hidden}"})
    found = Checklist().read({"CHECKLIST.md": f"- [ ] a\n\n<!-- not closed\n\n- [ ] {LIES}\n"})
    assert list(told(found).values()) == ["a", LIES]  # there it hides nothing
    assert list(told(Checklist().read({"CHECKLIST.md": "- [ ] a\n- [ ]\n\n## Later\n\nMore.\n"})).values()) == ["a"]


@pytest.mark.spec("LAW-12")
def test_plain_items_below_a_box_belong_to_it_and_a_command_shows_nothing_about_them() -> None:
    text = f"- [ ] `make lint` passes\n  - {LIES}\n    - even nested\n  - [ ] other\n- [ ] `make all` passes\n"
    found = Checklist().read({"CHECKLIST.md": text})
    assert list(told(found).values()) == [
        f"`make lint` passes\n{LIES}\neven nested",
        "other",
        "`make all` passes",
    ]
    assert [len(one.checks) for one in found.requirements] == [0, 0, 1]


def test_what_only_resembles_a_box_is_no_item() -> None:
    text = "- [ ] a\n\n<!--\n- [ ] template\n-->\n\n- [b](c) d\n![e](f)\n\nIt is `[ ]` or [x].\n"
    assert list(told(Checklist().read({"CHECKLIST.md": text})).values()) == ["a"]


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    "written",
    [
        f"| ID | Text |\n|---|---|\n| FR-007 | {LIES} |",
        f"| FR-007 | {LIES} |\n|---|---|",
        f"> FR-007: {LIES}",
        f"> First.\n>\n> - **FR-007**: {LIES}",
        f"```\nFR-007: {LIES}\n```",
        f"***FR-007***: {LIES}",
        f"`FR-007`: {LIES}",
        f"[FR-007]: {LIES}",
        f"(FR-007) {LIES}",
        f"### FR-007: doubling\n\n{LIES}",
        f"### FR-007: doubling\n\n- {LIES}",
        f"### FR-007: doubling\n\n> {LIES}",
        f"### FR-007: doubling\n\n#### Lists\n\n{LIES}",
        f"FR-007: doubling.\n\nAlso {LIES}",
    ],
)
@pytest.mark.parametrize("section", ["## Functional Requirements", "## Doubling"])
def test_a_number_of_spec_kit_begins_a_requirement_wherever_it_is_written(section: str, written: str) -> None:
    text = f"# S\n\n{section}\n\n- **FR-001**: No new dependencies.\n\n{written}\n"
    found = SpecKit().read({"specs/001-a/spec.md": text})
    assert list(told(found)) == ["FR-001", "FR-007"]
    assert LIES in told(found)["FR-007"]
    assert "FR-007" in text.splitlines()[lines(found)["FR-007"] - 1]


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    ("section", "name"), [("### Edge Cases", "edge-1"), ("## Constraints", "constraint-1"), ("## Requirements", "")]
)
@pytest.mark.parametrize("written", [LIES, f"| {LIES} |\n|---|\n| {LIES} |", f"> {LIES}", f"#### Lists\n\n- {LIES}"])
def test_everything_in_a_section_that_asks_counts(section: str, name: str, written: str) -> None:
    found = told(SpecKit().read({"specs/001-a/spec.md": f"{section}\n\n{written}\n\n### Key Entities\n\n- x\n"}))
    assert list(found) == [name or "requirement-1"]
    assert LIES in next(iter(found.values()))


@pytest.mark.spec("LAW-12")
def test_a_story_goes_on_until_its_labels() -> None:
    story = f"### User Story 1 - Doubling (Priority: P1)\n\nA user doubles.\n\nIn that case {LIES}.\n\n- always\n\n"
    aside = "**Why this priority**: links\n\n**Independent Test**: call it\n\n#### Notes\n\nNothing.\n"
    found = told(SpecKit().read({"specs/001-a/spec.md": story + aside}))
    assert list(found) == ["US1"]
    assert found["US1"].endswith(f"A user doubles.\nIn that case {LIES}.\nalways")


def test_a_requirement_that_is_mentioned_is_not_required_twice() -> None:
    more = "## Coverage\n\n| ID | Story |\n|---|---|\n| FR-001 | US1 |\n\n## Notes\n\nSee\nFR-001 and FR-002.\n"
    found = told(SpecKit().read({"specs/001-a/spec.md": f"- **FR-001**: a\n\n{more}"}))
    assert found == {"FR-001": "**FR-001**: a\nFR-001 | US1"}


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    "written",
    [f"| {LIES} |\n|---|\n| 1 |", f"```\n{LIES}\n```", f"> {LIES}", f"#### Lists\n\n{LIES}", f"#### {LIES}"],
)
def test_everything_below_a_requirement_of_openspec_belongs_to_it(written: str) -> None:
    head = "## Purpose\n\nNone.\n\n## Requirements\n\n### Requirement: Double\nIt doubles.\n\n"
    text = f"{head}{written}\n\n## Notes\n\nx\n"
    found = told(OpenSpec().read({"openspec/specs/a/spec.md": text}))
    assert list(found) == ["a.double"]
    assert LIES in found["a.double"]


@pytest.mark.spec("LAW-12")
def test_words_among_requirements_of_openspec_are_one_themselves() -> None:
    text = f"## ADDED Requirements\n\n{LIES}\n\n### Requirement: Double\nIt doubles.\n"
    assert list(told(OpenSpec().read({"openspec/changes/b/specs/a/spec.md": text})).values()) == [
        LIES,
        "Double\nIt doubles.",
    ]


@pytest.mark.spec("LAW-12")
@pytest.mark.parametrize(
    "written",
    [
        f"### Requirement: Double\n{LIES}\n\n`make lint` passes\n",
        f"### Requirement: Double\n`make lint` passes\n\n{LIES}\n",
        f"### Requirement: {LIES}\n`make lint` passes\n",
    ],
)
def test_a_command_in_openspec_shows_nothing_about_the_words_beside_it(written: str) -> None:
    main, command = OpenSpec().read({"openspec/specs/a/spec.md": written}).requirements
    assert LIES in main.text
    assert not main.checks
    assert (command.text, command.checks) == ("`make lint` passes", (CommandCheck(command="make lint"),))


def test_a_requirement_of_openspec_that_only_names_a_command_has_it_as_its_check() -> None:
    text = "### Requirement: Lint\n`make lint` passes\n\n## Done\n\n- [ ] `make all` passes\n"
    found = OpenSpec().read({"openspec/specs/a/spec.md": text}).requirements
    assert [one.checks for one in found] == [(CommandCheck(command="make lint"),), (CommandCheck(command="make all"),)]


def test_a_fenced_block_gives_its_checks_to_the_requirement_above() -> None:
    text = "- [ ] a\n- [ ] b\n\n  ```trued\n  - {kind: examples, cases: [{call: 'm:f', returns: 1}]}\n  ```\n- [ ] c\n"
    found = Checklist().read({"CHECKLIST.md": text}).requirements
    assert [len(one.checks) for one in found] == [0, 1, 0]
    assert isinstance(found[1].checks[0], ExamplesCheck)


def test_fenced_checks_that_cannot_be_read_are_refused_with_their_line() -> None:
    with pytest.raises(BadInput, match=r"CHECKLIST\.md:2.*unknown kind"):
        Checklist().read({"CHECKLIST.md": "- [ ] a\n```trued\n- {kind: magic}\n```\n"})
    with pytest.raises(BadInput, match="above the first requirement"):
        Checklist().read({"CHECKLIST.md": "```trued\n- {kind: command, command: x}\n```\n\n- [ ] a\n"})


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("specs/001-slugs/spec.md", SpecKit),
        (".specify/specs/001-slugs/spec.md", SpecKit),
        ("openspec/specs/auth/spec.md", OpenSpec),
        ("openspec/changes/add-x/specs/auth/spec.md", OpenSpec),
        ("openspec/changes/approved/add-x/specs/auth/spec.md", OpenSpec),
        ("TODO.md", Checklist),
        ("docs/Acceptance_Criteria.md", Checklist),
        ("trued.requirements.yaml", OwnFile),
        (".trued/requirements/slugs.toml", OwnFile),
        ("openspec/changes/archive/2026-add-x/specs/auth/spec.md", None),
        ("openspec/changes/add-x/tasks.md", None),
        ("specs/001-slugs/plan.md", None),
        ("src/TODO.md", None),
        ("requirements.txt", None),
    ],
)
def test_a_source_knows_its_own_paths(path: str, source: type | None) -> None:
    taken = sources.find_specifications([path, "README.md", "src/main.py"])
    assert [type(one) for one in taken.values()] == ([source] if source else [])


def test_who_wrote_a_requirements_file_has_said_what_counts() -> None:
    paths = ["TODO.md", "specs/001/spec.md", "trued.requirements.json"]
    assert list(sources.find_specifications(paths)) == ["trued.requirements.json"]
    assert list(sources.find_specifications(paths[:2])) == ["specs/001/spec.md"]


def test_several_requirements_files_together_say_all_that_each_says() -> None:
    first = """
interface: ["tiny:double(x)"]
environment: {variables: {MODE: first}, path: [src]}
requirements: [{id: a, text: a}]
"""
    second = """
interface: ["tiny:double(x)", "tiny:triple(x)"]
environment: {variables: {MODE: second, MORE: "1"}}
serve: {command: [./serve]}
requirements: [{id: b, text: b}]
"""
    files = {".trued/requirements/a.yaml": first, ".trued/requirements/b.yaml": second}
    whole = sources.read_specifications(sources.find_specifications(files), files)
    assert [one.id for one in whole.requirements] == ["a", "b"]
    assert whole.interface == ("tiny:double(x)", "tiny:triple(x)")
    assert whole.environment.path == ("src",)
    assert whole.environment.variables == {"MODE": "first", "MORE": "1"}
    assert whole.serve
    assert whole.serve.command == ("./serve",)


def test_two_sources_share_no_id() -> None:
    files = {"specs/a/spec.md": "- **FR-001**: a\n- **FR-001**: b\n", "openspec/specs/x/spec.md": AUTH}
    found = sources.read_specifications(sources.find_specifications(files), files)
    names = [one.id for one in found.requirements]
    assert len(set(names)) == len(names) == 6
    assert "FR-001-2" in names


def test_a_markdown_file_that_the_user_names_is_read_by_its_shape() -> None:
    assert list(told(sources.read_specification("/elsewhere/specs/1/spec.md", "- **FR-001**: a\n"))) == ["FR-001"]
    assert list(told(sources.read_specification("wishes.md", "- [ ] a\n"))) == ["1"]
    assert list(told(sources.read_specification("x.md", "### Requirement: A\nb\n"))) == ["spec.a"]
    with pytest.raises(BadInput, match="no requirements were recognised"):
        sources.read_specification("x.md", "hello\n")
