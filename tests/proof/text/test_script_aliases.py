"""Short names of JavaScript and TypeScript code."""

import json
from typing import Any

import pytest

from trued.proof.text.script_aliases import (
    MOST_SETTINGS,
    ScriptAliases,
    has_unread_aliases,
    leads_elsewhere,
    without_aliases,
)

BASE = {"name": "a", "imports": {"#lib/*": "./lib/*.js", "#c": {"default": "./c.js"}}, "exports": {".": "./a.js"}}
DEEP = '{"imports": {"#c": ' + "[" * 1200 + '"./c.js"' + "]" * 1200 + "}}"


@pytest.mark.spec("LAW-11")
@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (BASE, {**BASE, "version": "2", "scripts": {"test": "node --test"}}, False),
        (BASE, {**BASE, "imports": {**BASE["imports"], "#d": "./d.js"}}, False),  # type: ignore[dict-item]
        (BASE, {**BASE, "exports": {".": "./a.js", "./b": "./b.js"}}, False),
        ({"exports": "./a.js"}, {"exports": {".": "./a.js", "./b": "./b.js"}}, False),
        ({"name": "a"}, {"name": "a", "imports": {"#d": "./d.js"}}, False),
        (BASE, {**BASE, "imports": {**BASE["imports"], "#lib/core": "./evil.js"}}, True),  # type: ignore[dict-item]
        (BASE, {**BASE, "imports": {**BASE["imports"], "#lib/a/*": "./evil/*.js"}}, True),  # type: ignore[dict-item]
        (
            {"imports": {"#c": {"default": "./c.js"}}},
            {"imports": {"#c": {"node": "./evil.js", "default": "./c.js"}}},
            True,
        ),
        ({"imports": {"#c": {"a": "./a", "b": "./b"}}}, {"imports": {"#c": {"b": "./b", "a": "./a"}}}, True),
        ({"imports": {"#c": "./c.js"}}, {}, True),
        ({"main": "./a.js"}, {"main": "./a.js", "exports": "./evil.js"}, True),
        *(({"name": "a"}, {"name": "a", key: "module"}, True) for key in ("main", "module", "browser", "type")),
    ],
)
def test_additions_that_redirect_a_name_lead_elsewhere(
    before: dict[str, Any], after: dict[str, Any], found: bool
) -> None:
    assert leads_elsewhere(json.dumps(before), json.dumps(after)) is found


@pytest.mark.spec("LAW-11")
def test_data_nested_too_deeply_leads_elsewhere() -> None:
    assert leads_elsewhere('{"imports": {"#c": "./c.js"}}', DEEP)
    assert leads_elsewhere("{}", "{")
    assert not leads_elsewhere("{}", "{}")
    ScriptAliases({"package.json": DEEP})
    assert without_aliases("package.json", f'{{"a": {DEEP}}}')


@pytest.mark.spec("LAW-11")
@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece", ["/* ", "alias:{", "alias:[{alias:", '\\"', "alias:{a:'./a'" + " " * 20_000, "alias: a ?\n\n", "`alias:{}"]
)
def test_settings_of_any_text_are_read_in_time(piece: str) -> None:
    text = piece * (MOST_SETTINGS // len(piece))
    has_unread_aliases("", text)
    without_aliases("vite.config.js", text)
    ScriptAliases({"vite.config.js": text}).places("a.js", "@/a")


@pytest.mark.spec("LAW-11")
def test_settings_that_are_not_read_count_as_unread() -> None:
    aliases = "export default { alias: { '@': './src' } };\n"
    assert not has_unread_aliases("", aliases)
    assert has_unread_aliases("", aliases + " " * MOST_SETTINGS)
    assert has_unread_aliases("", f"const a = /[/*]/;\n{aliases.replace('./src', 'evil')}")
