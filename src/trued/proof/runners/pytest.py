"""Runs pytest with the engine's plugin, which reports the id and outcome of every test."""

import posixpath
import random
import string
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from trued.model import Outcomes, TestsCheck
from trued.proof.room.bench import INSIDE, Bench, CaseSelection, Fact, nonce, void_fact
from trued.proof.room.files_in_room import plant_file
from trued.proof.room.frozen_files import configures_pytest, is_below, pytest_configuration_paths
from trued.proof.runners.browser_tests import with_pictures
from trued.proof.runners.counting import CountedRun, RunnerFacts, counted_fact, nothing_collected
from trued.proof.runners.made_to_fail import unittest_failures
from trued.proof.runners.reporting_script import python_order, run_reporting_script
from trued.proof.text.command_parser import RunnerCall
from trued.support.lazy_regex import lazy_regex

# The engine loads plugins itself. So pytest does not know their packages and cannot check the setting
# `required_plugins`, which is therefore emptied.
NEUTRAL = (
    *("-p", "no:cacheprovider", "--continue-on-collection-errors", "--maxfail=0", "--color=no"),
    *("-o", "required_plugins="),
    # Warnings about pytest's next version must not fail tests, even if the project treats warnings as errors.
    *("-W", "default::pytest.PytestDeprecationWarning", "-W", "default::pytest.PytestConfigWarning"),
)
CANARY = """import unittest
import pytest


def {name}():
    assert {number} == 2


def {name}_raises():
    with pytest.raises(ZeroDivisionError):
        pass


def {name}_unit():
    try:
        unittest.TestCase().assertEqual({number}, 2)
    except AssertionError as error:
        raise error.with_traceback(None)


def {name}_ways():
    for way, given in {ways!r}.items():
        try:
            getattr(unittest.TestCase(), way)(*given)
        except AssertionError:
            continue
        return
    if {number} != pytest.approx(2):
        raise ValueError({number})
"""
# A head can tamper with each kind of failure separately, so there are several canaries; the last one covers many
# assertions at once. No traceback leads into a library module, because pytest would parse the whole module to show it.
CANARIES = ("", "_raises", "_unit", "_ways")
_STOPS = {3: "pytest crashed", 4: "pytest could not start"}
_OPTION = lazy_regex(r"(?:unrecognized arguments|no such option|Unknown config option): (-*[\w-]+)")
# Option of a plugin → the plugin. Options that only measure are not listed, because the probe ignores them.
_PLUGINS = {
    "asyncio": "pytest-asyncio",
    "benchmark": "pytest-benchmark",
    "ds": "pytest-django",
    "django": "pytest-django",
    "reruns": "pytest-rerunfailures",
    "snapshot": "syrupy",
    "doctest-plus": "pytest-doctestplus",
    "mypy": "pytest-mypy",
    "flake8": "pytest-flake8",
    "hypothesis": "hypothesis",
    "html": "pytest-html",
    "json-report": "pytest-json-report",
    "randomly": "pytest-randomly",
    "forked": "pytest-forked",
    "trio": "pytest-trio",
    "anyio": "anyio",
}


async def run_pytest(check: TestsCheck, call: RunnerCall, bench: Bench, selection: CaseSelection) -> Fact:
    """Run the check once in this room and return what every test id showed."""
    if bench.interpreter.lacks:
        return void_fact(bench.interpreter.lacks, Outcomes.UNJUDGED, "module pytest", check.command)
    path, text = await _configuration(bench, call.arguments)
    with _canary(bench) as canary, plant_file(bench.room, _disguised(path), text) as configuration:
        settings = _order(check, bench, selection, [*call.arguments, *_settings(bench, configuration)])
        order = {**settings, "canary": canary.path, "canaries": [canary.name + suffix for suffix in CANARIES]}
        report = await run_reporting_script(bench.script("counted.py"), order, check, call, bench)
    counted = CountedRun.of(report.records, f"{canary.name}.py::")
    words = RunnerFacts(
        runner="pytest",
        command=f"{bench.interpreter.path} -I -B counted.py ← {check.command}",
        lacks=lambda output: missing_for_pytest(bench, output),
        stops=_STOPS,
        canaries=len(CANARIES),
        nothing=nothing_collected(selection),
    )
    fact = counted_fact(bench, report.result, counted, words, stray=report.stray)
    return replace(await with_pictures(bench, fact, report.records), seed=order["seed"])


def missing_for_pytest(bench: Bench, output: str) -> str:
    """The module or plugin without which pytest cannot start, according to its output, or ""."""
    if lack := bench.foreign(output):
        return lack
    for name in _OPTION.findall(output):
        plain = name.lstrip("-").replace("_", "-")
        for known, package in _PLUGINS.items():
            if plain == known or plain.startswith(f"{known}-"):
                return package
    return ""


# -- the order for the reporting script --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _PytestCanary:
    path: str
    name: str


@contextmanager
def _canary(bench: Bench) -> Iterator[_PytestCanary]:
    """Add tests that must fail, with names that nobody can predict."""
    name, number = random_name(), random.SystemRandom().random()
    text = CANARY.format(name=name, number=number, ways=unittest_failures(number))
    with plant_file(bench.room, f"{name}.py", text) as path:
        yield _PytestCanary(str(path), name)


def random_name() -> str:
    """A name for a test that nobody can predict."""
    return "test_" + "".join(random.SystemRandom().choices(string.ascii_lowercase, k=14))


async def _configuration(bench: Bench, arguments: tuple[str, ...]) -> tuple[str, str]:
    """The path and text of the base's own configuration of pytest; an empty `pytest.ini` if the base has none. The
    head's configuration is never read."""
    known = await bench.workspace.blobs(bench.base)
    arguments_as_paths = [
        posixpath.join(bench.folder, argument) for argument in arguments if not argument.startswith("-")
    ]
    existing = [
        argument for argument in arguments_as_paths if any(is_below(path, argument.split("::")[0]) for path in known)
    ]
    for path in pytest_configuration_paths(existing or [bench.folder or "."]):
        if path in known:
            text = (await bench.workspace.read(bench.base, path) or b"").decode("utf-8", "replace")
            if configures_pytest(path, text):
                return path, text
    return "pytest.ini", "[pytest]\n"


def _disguised(path: str) -> str:
    """A random path for the configuration, which a head cannot predict. The folder is still the configuration's own,
    because the configuration contains paths relative to this folder."""
    pure = PurePosixPath(path)
    return str(pure.with_name(f".{nonce()[:12]}{'.ini' if pure.name == '.pytest.ini' else pure.suffix}"))


def _settings(bench: Bench, configuration: Path) -> list[str]:
    workers = ["-n0"] if any(name == "xdist" for name, _ in bench.interpreter.plugins) else []
    without_coverage = (
        ["--no-cov"] if bench.measuring and any(name == "pytest_cov" for name, _ in bench.interpreter.plugins) else []
    )
    return ["-c", str(configuration), "--rootdir", str(bench.room), *NEUTRAL, *workers, *without_coverage]


def _order(check: TestsCheck, bench: Bench, selection: CaseSelection, arguments: list[str]) -> dict[str, Any]:
    return {
        **python_order(bench, selection),
        "arguments": arguments,
        "supplied": dict(bench.interpreter.supplied),
        "pluggy": bench.interpreter.versions.get("pluggy", ""),
        "plugins": [list(plugin) for plugin in bench.interpreter.plugins],
        "more": list(check.files),
        "stage": _stage(bench),
        "altered": bool(selection.doubted) or bench.commit != bench.base,
        "doubted": bool(selection.doubted),
        "seed": selection.doubted or nonce(),
    }


def _stage(bench: Bench) -> dict[str, Any] | None:
    if bench.stage is None:
        return None
    return {
        "plugin": str(INSIDE / "pages.py"),
        "chromium": bench.stage.chromium,
        "kept": str(bench.stage.kept),
        "supplied": dict(bench.stage.supplied),
    }
