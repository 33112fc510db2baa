"""agent_state.json: usable fields are read, and nonsense is ignored."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.workflows.handoff.agent_state import AgentState, parse_agent_state, render

STATE = AgentState(
    run="quiet-otter",
    iteration=42,
    feature="feat_001",
    last_agent="coder#2",
    specification="docs/größe.md",
    digest="0" * 64,
    base="1" * 40,
    start="python -m words",
    test="pytest -q",
    set_up=("mkdir -p data", "make assets"),
    more={"mood": ["fine"]},
)


@pytest.mark.spec("HAND-1")
def test_the_state_comes_back_as_it_was_written() -> None:
    text = render(STATE)
    assert parse_agent_state(text) == STATE
    assert render(parse_agent_state(text)) == text
    written = json.loads(text)
    assert (written["run_id"], written["iteration"], written["current_feature"]) == ("quiet-otter", 42, "feat_001")
    assert next(iter(written)) == "version"
    assert "größe" in text


@pytest.mark.spec("HAND-1", "HAND-12")
@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "7", "null", "[" * 100_000, '{"iteration": -1}', '{"a": 1e999}', '{"a": NaN}'),
        *('{"iteration": "42", "run_id": 7}', '{"iteration": true}', '{"iteration": 1' + "0" * 4000 + "}"),
    ],
    ids=range(12),
)
def test_nonsense_says_nothing(text: str) -> None:
    found = parse_agent_state(text)
    assert found.model_copy(update={"more": {}}) == AgentState()
    assert render(parse_agent_state(render(found))) == render(found)


@pytest.mark.spec("HAND-12")
@settings(max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(["run_id", "iteration", "current_feature", "last_agent", "x", "more", "run"]),
        st.text(max_size=9) | st.integers() | st.none() | st.booleans() | st.lists(st.text(max_size=3), max_size=2),
    )
)
def test_whatever_was_read_is_written_alike_from_then_on(value: dict[str, object]) -> None:
    once = render(parse_agent_state(json.dumps(value)))
    assert render(parse_agent_state(once)) == once


def test_a_state_cannot_draw_on_a_terminal() -> None:
    assert parse_agent_state('{"run_id": "a\\u001b[2Jb\\nc"}').run == "ab c"
