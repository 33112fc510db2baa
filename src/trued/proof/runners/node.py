"""Runs tests with Node's own test runner: one process for each file. Every test is reported by its id."""

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from trued.model import Outcomes, TestsCheck
from trued.proof.room import node
from trued.proof.room.bench import (
    INSIDE,
    WHOLE_CHECK,
    Bench,
    CaseSelection,
    Fact,
    keepable_text,
    nonce,
    void_fact,
)
from trued.proof.room.files_in_room import plant_file, scratch_folder
from trued.proof.room.frozen_files import is_below
from trued.proof.runners.counting import (
    CountedRun,
    CountedTest,
    RunnerFacts,
    counted_fact,
    file_text,
    nothing_collected,
    plausible_s,
    worst_outcomes,
)
from trued.proof.runners.made_to_fail import FAILS, FailingFile, failing_javascript, is_es_module, is_set_aside
from trued.proof.runners.reporting_script import run_reporting_script
from trued.proof.runners.sample_files import files_to_copy
from trued.proof.text.command_parser import RunnerCall, node_options
from trued.support.lazy_regex import lazy_regex

WORKERS = 4
SCRIPTS = (".js", ".mjs", ".cjs")
TYPED = (".ts", ".mts", ".cts")
_LOADING = ("-r", "--require", "--import", "--loader", "--experimental-loader")  # options of Node that load a module
_LOADS_TYPESCRIPT = lazy_regex(r"(tsx|ts-node|esbuild-register|@swc-node|@swc/register|@oxc-node|jiti|sucrase)(/|$)")
_NAMED = lazy_regex(r"(test|test-.+|.+[._-]test)")
# Options that choose a reporter, a part of the tests, or when they run. They are dropped, because the engine has its
# own reporter and runs all tests once.
_DROPPED = ("--test-reporter", "--test-reporter-destination", "--test-concurrency", "--test-shard", "--watch")
_USES = lazy_regex(r"""['"](?:node:)?test['"]""")
_EXITS = lazy_regex(r"\bprocess\.exit\s*\(")
_LATER = "function {n}x(code) {{ setTimeout(() => process.exit(code), 5000).unref(); }}"
# A head can tamper with each assertion separately, so each has its own canary, in both kinds of assert (plain and
# strict).
_WAYS = {
    "itself": "m(n === 2)",
    "ok": "m.ok(n === 2)",
    "equal": "m.equal(n, 2)",
    "strictEqual": "m.strictEqual(n, 2)",
    "notEqual": "m.notEqual(n, n)",
    "notStrictEqual": "m.notStrictEqual(n, n)",
    "deepEqual": "m.deepEqual({ x: n }, { x: 2 })",
    "deepStrictEqual": "m.deepStrictEqual({ x: n }, { x: 2 })",
    "match": "m.match(String(n), /none/)",
    "throws": "m.throws(() => {})",
    "rejects": "return m.rejects(Promise.resolve(n))",
    "fail": "m.fail(String(n))",
}
_CANARY = """
;(() => {{
  {load}
  const n = {number};
  t.test('{name} thrown', () => {{ throw new Error(String(n)); }});
  for (const [k, m] of [['assert', a], ['strict', s]]) {{
{tests}
  }}
}})();
"""
_TEST = "    t.test(`{name} ${{k}} {way}`, () => {{ {body}; }});"
_REQUIRED = "const t = require('node:test'), a = require('node:assert'), s = require('node:assert/strict');"
_IMPORTED = "const t = {n}t, a = {n}a, s = {n}s;"
_IMPORTS = (
    "\nimport * as {n}t from 'node:test';\nimport {n}a from 'node:assert';\nimport {n}s from 'node:assert/strict';"
)
CANARIES = 1 + 2 * len(_WAYS)


async def run_node_tests(check: TestsCheck, call: RunnerCall, bench: Bench, selection: CaseSelection) -> Fact:
    """Run the check once in this room and return what every test id showed."""
    found_node = node.find_node()
    if found_node is None:
        return void_fact("there is no Node on the path", Outcomes.UNJUDGED, "program node", check.command)
    options, named = node_options(call.arguments)
    files = await _files(
        check, bench, selection, named, TYPED if found_node.strips_types else loaded_endings(options, named)
    )
    if not files:
        return void_fact(nothing_collected(selection), Outcomes.BROKEN, "nothing collected", check.command)
    chosen = _models(check, bench, files, selection)
    copies = {path: _failing(bench, path) for path in [*chosen, *_plain(bench, files)]}
    with ExitStack() as room:
        canaries = [room.enter_context(_canary(bench, path)) for path in chosen]
        loaded = room.enter_context(scratch_folder(bench.room))
        order = {
            **{"room": str(bench.room), "start": str(bench.room / bench.folder), "options": _options(options)},
            "files": list(reversed(files)) if selection.second else files,
            "canaries": [{"file": canary.file, "name": canary.name} for canary in canaries],
            "workers": WORKERS,
            "loaded": "" if selection.second else str(loaded),
            "copies": [{"file": file, "content": failing_file.content} for file, failing_file in copies.items()],
        }
        argv = (found_node.path, str(INSIDE / "nodes.mjs"))
        report = await run_reporting_script(argv, order, check, call, bench, {"NODE_OPTIONS": ""})
    counted = _counted(report.records, bench, canaries, _WantedTests(selection, copies))
    words = RunnerFacts(
        runner="node --test",
        command=f"{found_node.path} nodes.mjs ← {check.command}",
        lacks=node.missing_package,
        canaries=len(canaries),
        nothing=nothing_collected(selection),
    )
    return counted_fact(bench, report.result, counted, words, stray=report.stray)


# -- which files -------------------------------------------------------------------------------------------------------


async def _files(
    check: TestsCheck, bench: Bench, selection: CaseSelection, named: list[str], typed: tuple[str, ...]
) -> list[str]:
    known = {*await bench.workspace.blobs(bench.base), *bench.carried}
    if selection.ids is not None:
        test_files = {test_id.split("::")[0] for test_id in selection.ids if test_id != WHOLE_CHECK} & known
        if test_files:
            return sorted(test_files)
    below = f"{bench.folder}/" if bench.folder else ""
    inner = [path.removeprefix(below) for path in known if path.startswith(below)]
    chosen = [f"{below}{path}" for path in node_test_files(inner, named, typed)]
    extra = [
        path
        for named_file in check.files
        for path in known
        if is_below(path, named_file) and is_node_script(path, typed)
    ]
    return sorted({*chosen, *(path for path in extra if path in check.files or _is_named(path))})


def node_test_files(known: Iterable[str], named: list[str], typed: tuple[str, ...] = ()) -> list[str]:
    """The files among `known` that `node --test` would run. `named`: files, folders and patterns to run; if it is
    empty, all tests run. `typed`: endings of TypeScript files that Node can run."""
    paths = [path for path in known if is_node_script(path, typed) and "node_modules" not in PurePosixPath(path).parts]
    if not named:
        return sorted(path for path in paths if _is_named(path) or "test" in PurePosixPath(path).parts[:-1])
    chosen: set[str] = set()
    for pattern in named:
        clean = pattern.removeprefix("./").rstrip("/")
        inner = [path for path in paths if is_below(path, clean) and path != clean]
        chosen |= {path for path in paths if path == clean or _matches(path, clean)}
        chosen |= {path for path in inner if _is_named(path) or "test" in PurePosixPath(path).parts[:-1]}
    return sorted(chosen)


def loaded_endings(options: Sequence[str], named: Iterable[str]) -> tuple[str, ...]:
    """The endings of TypeScript files that Node can run with these options.

    If the options name a known loader of TypeScript, all endings are returned. If they name another loader, only the
    endings of the files and patterns in `named` are returned. Without a loader, there are none."""
    parted = [(*word.partition("="), after) for word, after in zip(options, [*options[1:], ""], strict=False)]
    loaders = [value or after for name, _, value, after in parted if name in _LOADING]
    if any(map(_LOADS_TYPESCRIPT.match, loaders)):
        return TYPED
    return tuple(ending for ending in TYPED if loaders and any(file.endswith(ending) for file in named))


def is_node_script(path: str, typed: tuple[str, ...] = TYPED) -> bool:
    """Whether Node can run this file. `typed`: TypeScript endings that it supports."""
    return path.endswith((*SCRIPTS, *typed))


def _is_named(path: str) -> bool:
    return bool(_NAMED.fullmatch(PurePosixPath(path).stem))


def _matches(path: str, pattern: str) -> bool:
    """Whether the path matches the pattern, in which `**` stands for any number of folders, or none."""
    if not any(sign in pattern for sign in "*?["):
        return False
    if fnmatchcase(path, pattern) and ("**" in pattern or path.count("/") == pattern.count("/")):
        return True
    return "**/" in pattern and _matches(path, pattern.replace("**/", "", 1))


def _options(options: list[str]) -> list[str]:
    options_for_node: list[str] = []
    skipping = False
    for word in options:
        if skipping and not word.startswith("-"):
            skipping = False
            continue
        skipping = word in _DROPPED[:-1]
        if word.split("=")[0] not in _DROPPED:
            options_for_node.append(word)
    return options_for_node


# -- tests that must fail ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _NodeCanary:
    file: str
    name: str


def _models(check: TestsCheck, bench: Bench, files: list[str], selection: CaseSelection) -> list[str]:
    """The test files with which the engine finds out whether the runner reports failures.

    Each chosen file gets a copy with canaries: additional tests that must fail. If one passes, the results cannot be
    trusted. The file's own tests are run again, changed so that they must fail.

    All files with tests that failed on the base are chosen, at most as many as `files_to_copy` allows, and one other
    file. If no test is known to have failed on the base, only one file is chosen, preferably one that the check names
    and whose tests can be changed.
    """
    if selection.red:
        return files_to_copy(files, (test_id.split("::")[0] for test_id in selection.red))
    named_by_check = [path for path in files if any(is_below(path, named_file) for named_file in check.files)]
    copyable = [path for path in named_by_check or files if _failing(bench, path).titles]
    return files_to_copy(copyable or named_by_check or files, ())


def _failing(bench: Bench, path: str) -> FailingFile:
    text = file_text(bench.room, path)
    if not _USES.search(text):  # a plain script: its own calls of process.exit must fail, too
        return FailingFile(f"{_EXITS.sub('process.exit(7, ', text)}\n;{FAILS}\n", ())
    return failing_javascript(text)


def _plain(bench: Bench, files: list[str]) -> list[str]:
    """The test scripts that do not use `node:test`. Each of them gets a copy that must fail, because a script that
    exits early would count as passed."""
    return [path for path in files if not _USES.search(file_text(bench.room, path))]


@contextmanager
def _canary(bench: Bench, model: str) -> Iterator[_NodeCanary]:
    """Add a copy of the file `model`, with additional tests that must fail, under a name that nobody can predict."""
    name = f"test{nonce()[:14]}"
    pure = PurePosixPath(model)
    file = str(pure.with_name(f"{name}.test{pure.suffix}"))
    with plant_file(bench.room, file, with_node_canary(file_text(bench.room, model), model, name, _kind(bench, model))):
        yield _NodeCanary(file, name)


def with_node_canary(content: str, path: str, name: str, kind: str) -> str:
    """The text of a test file with additional tests that must fail."""
    module = is_es_module(path, content, kind)
    if not _USES.search(content) and _EXITS.search(content):  # process.exit must not end the script before its canaries
        content = f"{_EXITS.sub(f'{name}x(', content)}\n{_LATER.format(n=name)}\n"
    load = _IMPORTED.format(n=name) if module else _REQUIRED
    tests = "\n".join(_TEST.format(name=name, way=way, body=body) for way, body in _WAYS.items())
    body = _CANARY.format(load=load, name=name, number=random.SystemRandom().random(), tests=tests)
    return f"{content}{_IMPORTS.format(n=name) if module else ''}{body}"


def _kind(bench: Bench, path: str) -> str:
    """The `type` of the nearest package.json; "" if there is none, or if it cannot be read."""
    for folder in PurePosixPath(path).parents:
        place = bench.room / folder / "package.json"
        if place.is_file() and not place.is_symlink():
            try:
                return str(json.loads(place.read_bytes()).get("type", ""))
            except (ValueError, AttributeError, OSError):
                return ""
    return ""


# -- results -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _WantedTests:
    selection: CaseSelection
    copies: Mapping[str, FailingFile]

    def keeps(self, name: str) -> bool:
        ids = self.selection.ids
        return ids is None or name in ids or name.split("::")[0] in ids

    def copied(self, name: str) -> bool:
        file, _, way = name.partition("::")
        failing_file = self.copies.get(file)
        return failing_file is not None and (not way or way.rpartition(" > ")[2] in failing_file.titles)


def _counted(
    records: list[dict[str, Any]], bench: Bench, canaries: list[_NodeCanary], wanted_tests: _WantedTests
) -> CountedRun:
    try:
        return _count_records(records, bench, canaries, wanted_tests)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return CountedRun({})  # the records are not from the engine's script, so nothing counts


def _count_records(
    records: list[dict[str, Any]], bench: Bench, canaries: list[_NodeCanary], wanted_tests: _WantedTests
) -> CountedRun:
    plain = CountedRun.of([record for record in records if not record.keys() & {"test", "canary", "copied"}], "")
    tests = [record for record in records if "test" in record]
    texts = {file: file_text(bench.room, file) for file in {str(record["test"]) for record in tests}}
    outcomes = worst_outcomes((_id(record, "test"), _seen(record, texts)) for record in tests if _counts(record))
    collected: dict[str, tuple[str, str]] = {}
    for record in tests:
        if _is_failed_file(record):
            file = str(record["test"])
            collected[file] = ("failed", str(record["text"]))
            outcomes.pop(file, None)
    for file in [path for path in outcomes if "::" not in path and _USES.search(texts.get(path, ""))]:
        del outcomes[file]
        collected[file] = ("failed", "it uses node:test, but none of its tests was reported")
    kept_outcomes = {name: test for name, test in outcomes.items() if wanted_tests.keeps(name)}
    return CountedRun(
        outcomes=kept_outcomes,
        collected=collected,
        canaries={
            canary.name: _canary_outcome([record for record in records if record.get("canary") == canary.file], canary)
            for canary in canaries
        },
        copies=_copies([record for record in records if "copied" in record], kept_outcomes, wanted_tests),
        ended=plain.ended,
        started=plain.started,
        left_out=tuple(name for name in outcomes if name not in kept_outcomes),
        ran=plain.ran,
        versions=plain.versions,
    )


def _id(record: dict[str, Any], key: str) -> str:
    way = " > ".join(str(title).encode("utf-8", "replace").decode() for title in record["way"])
    return f"{record[key]}::{way}" if way else str(record[key])


def _counts(record: dict[str, Any]) -> bool:
    """Whether the record counts as a test. A group does not count, because its tests have records of their own. A plain
    script counts unless it failed: a failed script is a failed file (`_is_failed_file`)."""
    return not record["group"] and not (not record["way"] and record["outcome"] == "failed")


def _is_failed_file(record: dict[str, Any]) -> bool:
    """Whether the file failed as a whole: it could not be loaded, or a group failed outside of any test."""
    if record["outcome"] != "failed" or record["inner"]:
        return False
    return not record["way"] or bool(record["group"])


def _seen(record: dict[str, Any], texts: dict[str, str]) -> CountedTest:
    outcome, way = str(record["outcome"]), record["way"]
    content = texts.get(str(record["test"]), "")
    if outcome in ("skipped", "todo"):
        aside = any(is_set_aside(content, str(title)) for title in way)
        outcome = "marked" if aside else "skipped"
    return CountedTest(outcome, text=keepable_text(str(record["text"])), seconds=plausible_s(record["seconds"]))


def _canary_outcome(records: list[dict[str, Any]], canary: _NodeCanary) -> str:
    """Returns "failed" if all of the engine's own tests failed, or if the file could not be loaded; else "passed"."""
    has_failed_file = any(_is_failed_file(record) and not record["way"] for record in records)
    if has_failed_file and not any(record["way"] for record in records):
        return "failed"
    outcomes = {
        str(record["way"][-1]): record["outcome"]
        for record in records
        if record["way"] and canary.name in record["way"][-1]
    }
    return "failed" if len(outcomes) == CANARIES and set(outcomes.values()) == {"failed"} else "passed"


def _copies(
    records: list[dict[str, Any]], outcomes: dict[str, CountedTest], wanted_tests: _WantedTests
) -> dict[str, str]:
    """How the failing copies of passed tests ended: test id → outcome."""
    failed_files = {str(record["copied"]) for record in records if _is_failed_file(record) and not record["way"]}
    copies = worst_outcomes(
        (_id(record, "copied"), CountedTest(str(record["outcome"]))) for record in records if _counts(record)
    )
    passed = [name for name, test in outcomes.items() if test.outcome == "passed" and wanted_tests.copied(name)]

    def how(name: str) -> str:
        if name in copies:
            return copies[name].outcome
        if name.split("::")[0] in failed_files:
            return "failed"
        if any(copies[outer].outcome == "failed" for outer in _around(name, copies)):
            return "failed"
        return ""

    return {name: how(name) for name in passed}


def _around(name: str, ended: Mapping[str, CountedTest]) -> list[str]:
    """The outer tests that contain the test `name` and have ended. If one of them failed, `name` was not reached."""
    steps = name.split(" > ")
    outer = [" > ".join(steps[:many]) for many in range(1, len(steps))]
    return [name for name in outer if name in ended]
