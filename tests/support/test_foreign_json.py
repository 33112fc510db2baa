"""JSON that somebody else wrote: text that cannot be read gives None."""

import pytest

from trued.agents.supervisor.record import _command
from trued.reporting.views.activity import describe_activity
from trued.support.foreign_json import parse_json


@pytest.mark.parametrize("text", ["", "{", "[" * 9_000, b"\xff", '{"a": ' * 5_000])
def test_what_is_no_json_or_too_deep_is_nothing(text: str | bytes) -> None:
    assert parse_json(text) is None
    assert parse_json('{"a": [1]}') == {"a": [1]}


@pytest.mark.spec("PAGE-6", "AGT-2")
def test_an_agents_tool_input_that_is_nested_too_deeply_breaks_neither_its_record_nor_the_screen() -> None:
    deep = "[" * 9_000
    assert _command("tool", {"name": "Bash", "what": deep}) == deep
    assert describe_activity({"kind": "tool", "name": "Bash", "what": deep})
