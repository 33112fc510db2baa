"""Every spelling of an import is found, by everything that asks what a script loads."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trued.proof.dependencies.source_imports import read_source
from trued.proof.room.command_drivers import _required
from trued.proof.room.runner_modules import loaded_by
from trued.proof.text.script_aliases import relative_imports
from trued.proof.text.script_imports import imported_names, relative_paths

SPELLINGS = [
    'import x from "NAME"',
    "import * as x from 'NAME';",
    'import{a,b}from"NAME"',
    'import x, {\n  a,\n} from\n  "NAME"',
    'import type { A } from "NAME"',
    'import x from "NAME" with { type: "json" }',
    'import "NAME"',
    "import'NAME'",
    'export * from "NAME"',
    'export { a as b } from "NAME"',
    'export type { A } from "NAME"',
    'import x = require("NAME")',
    'const x = require("NAME")',
    "const { a } = require ( 'NAME' )",
    "require(`NAME`).run()",
    'module.require("NAME")',
    'require?.("NAME")',
    'const _require = createRequire(import.meta.url); _require("NAME")',
    'require.resolve("NAME")',
    'require\n  .resolve("NAME")',
    'const x = await import("NAME")',
    "import(`NAME`)",
    'import ( "NAME", { with: {} } )',
    'import.meta.resolve("NAME")',
    'import(/* webpackChunkName: "other" */ "NAME")',
    'import x from /* */ "NAME"',
    'import // why\n  "NAME"',
    'require/**/(/**/"NAME")',
    'import x from "a"; import y from "NAME"; import z from "b"',
    "/* from \" */ import x from 'NAME'; /* \" */",
    "it('reads from \"', () => require('NAME'))",
]
NAMES = ["./x", "./a/b.js", "./it's", "./two words", "./x+y@1"]


@pytest.mark.spec("LAW-11")
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_of_an_import_is_found_by_all_who_ask(spelling: str) -> None:
    for name in NAMES:
        text = spelling.replace("NAME", name)
        if any(f"{quote}{name}{quote}" in text for quote in "\"'`" if quote not in name):
            assert name in imported_names(text)
            assert name in relative_paths(text)
            assert name[2:] in _required(text)
            assert loaded_by("src/t.js", text, [f"src/{name[2:]}"]) == {f"src/{name[2:]}"}
            assert f"src/{name[2:]}" in relative_imports("src/t.js", text)
    assert "pack" in read_source("a.js", spelling.replace("NAME", "pack/part")).imports


def test_the_folder_itself_and_the_one_above_can_be_imported() -> None:
    assert loaded_by("src/a/t.js", 'require(".."); import "."', ["src/index.js", "src/a/index.js"]) == {
        "src/index.js",
        "src/a/index.js",
    }


@pytest.mark.parametrize(
    "text",
    [
        'important "x"',
        'x.imports("x")',
        "require(name)",
        "import(`${a}` + b)",
        'from "',
        "import x from\n\n;",
        'let from = ["x"]',
    ],
)
def test_what_only_resembles_an_import_has_no_name(text: str) -> None:
    assert [one for one in imported_names(text) if "$" not in one] == []


@given(st.text("import from require(\"'`./*x)\n\\$", max_size=200))
def test_no_text_breaks_the_reading(text: str) -> None:
    assert len({*imported_names(text)}) == len(imported_names(text))


@pytest.mark.parametrize("part", ["import/*", 'from "', "from 'from \"", "require   ", "import(`", "'./"])
def test_long_hostile_texts_are_read_at_once(part: str) -> None:
    before = time.process_time()
    imported_names(part * 30_000)
    relative_paths(part * 30_000)
    assert time.process_time() - before < 2
