"""The progress file: the engine's note above the dividing line, agents' notes below; neither can pass for the other."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.workflows.handoff.progress_file import (
    BELOW_LIMIT,
    HEADINGS,
    LINE,
    PROGRESS,
    HandoffNote,
    notes_below,
    render,
    status_text,
    tidied,
)

NOTE = HandoffNote(
    feature="feat_001",
    status=status_text("in_progress", 15, 20),
    last_agent="coder#1",
    did=("made the chain", "15 tests pass"),
    next_agent="coder#2",
    to_do=("handle null input", "run `python -m pytest tests/test_chain.py`"),
    do_not_touch=("feature_list.json", "what feat_000 does"),
    context=("a chain of validators",),
    coverage=88.44,
    target=95,
    files=("feature_list.json: feat_001", "agent_state.json: iteration 42"),
    continue_from="tests/test_chain.py:127",
)


def above(text: str) -> list[str]:
    return text.split(LINE)[0].splitlines()


@pytest.mark.spec("HAND-6")
def test_the_note_says_where_things_stand_and_where_to_go_on() -> None:
    text = render(NOTE, "I tried a set first.")
    for words in (
        "CURRENT FEATURE: feat_001\nSTATUS: In progress (15/20 tests)\n",
        "LAST AGENT: coder#1\nWHAT WAS DONE:\n- made the chain\n- 15 tests pass\n",
        "NEXT AGENT: coder#2\nWHAT TO DO:\n- handle null input\n",
        "DO NOT TOUCH:\n- feature_list.json\n",
        "- a chain of validators\n- coverage now: 88.44 %, target: 95 %\n",
        "STATE FILES UPDATED:\n- feature_list.json: feat_001\n- agent_state.json: iteration 42\n",
        "CONTINUE FROM: tests/test_chain.py:127\n",
        f"{LINE}\n",
    ):
        assert words in text
    assert text.index("127") < text.index(LINE) < text.index("I tried a set first.")


@pytest.mark.spec("HAND-6")
def test_a_note_without_words_still_has_all_its_parts() -> None:
    text = render(HandoffNote())
    assert [heading for heading in HEADINGS if f"\n{heading}:" not in text] == []
    assert notes_below(text) == ""
    assert status_text("not_started") == "Not started"


@pytest.mark.spec("HAND-6")
def test_both_names_of_the_file_are_known() -> None:
    assert PROGRESS == ("progress.txt", "claude-progress.txt")


TEXT = st.text(max_size=40) | st.sampled_from([LINE, "STATUS: done", "===", f"a\n{LINE}\nb", "\x1b[2J", "=== HANDOFF"])


@pytest.mark.spec("HAND-6")
@settings(max_examples=60)
@given(st.lists(TEXT, max_size=6).map("\n".join))
def test_what_agents_wrote_is_read_back_as_it_was_written(below: str) -> None:
    kept = tidied(below)
    assert notes_below(render(NOTE, below)).strip() == kept.strip()
    assert tidied(kept) == kept


@pytest.mark.spec("HAND-6", "HAND-3")
@settings(max_examples=60)
@given(TEXT, TEXT, st.lists(TEXT, max_size=3))
def test_no_words_can_forge_the_line_or_a_heading(one: str, other: str, many: list[str]) -> None:
    one, other = (word.encode("utf-8", "replace").decode() for word in (one, other))
    many = [word.encode("utf-8", "replace").decode() for word in many]
    note = HandoffNote(feature=one, status=other, did=tuple(many), to_do=tuple(many), continue_from=one)
    text = render(note, "\n".join([one, other, *many]))
    lines = text.splitlines()
    assert lines.count(LINE) == 1
    headings = [line.partition(":")[0] for line in lines if line.startswith(HEADINGS)]
    assert headings == list(HEADINGS)
    assert len([line for line in lines if line.startswith("===")]) == 1
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for line in lines for char in line)


@pytest.mark.spec("HAND-6")
@pytest.mark.parametrize(
    ("text", "theirs"),
    [
        ("", ""),
        ("I was here", "I was here"),
        (f"{LINE}\nmine\n{LINE}\nalso mine", f"mine\n| {LINE}\nalso mine"),
        (f"note\n  {LINE}  \n(agents add their notes below)\n\nmine", "mine"),
        ("note\n-- do not edit anything above this line! --\nmine", "mine"),
        ("note\n--- \uff24\uff2f NOT EDIT ABOVE ---\nmine", "mine"),
        ("STATUS: x\nCONTINUE FROM: a.py:1\n\nmine", "mine"),
        ("STATUS: finished\nmine", "| STATUS: finished\nmine"),
        (f"{LINE}\r\nmine\r\n\x1b[31mred\x1b[0m\x00\u202eturned", "mine\nredturned"),
        (f"{LINE}\n**Status**: all done\n=== HANDOFF ===", "| **Status**: all done\n| === HANDOFF ==="),
    ],
)
def test_a_missing_doubled_or_altered_line_loses_nothing(text: str, theirs: str) -> None:
    assert notes_below(text) == theirs


@pytest.mark.spec("HAND-6")
def test_an_entry_that_speaks_of_the_line_is_not_the_line() -> None:
    text = render(NOTE.model_copy(update={"to_do": ("do not edit above line 7", LINE)}), "mine")
    assert notes_below(text) == "mine"
    assert notes_below(text.replace(f"\n{LINE}", "\n-- do NOT edit above --")) == "mine"


@pytest.mark.spec("HAND-6")
@pytest.mark.parametrize(
    "below", ["x" * 200_000, "=" * 200_000, "word\n" * 100_000], ids=["one line", "a rule", "lines"]
)
def test_agents_cannot_fill_the_file(below: str) -> None:
    text = render(NOTE, below)
    assert len(text) < BELOW_LIMIT + 2000
    kept = notes_below(text)
    assert kept.startswith("[… earlier notes left out …]\n")
    assert tidied(kept) == kept
    long = HandoffNote(did=tuple(["y" * 5000] * 500))
    assert len(render(long)) < 60_000
