"""A benchmark's figure holds only where something was measured."""

import math
from pathlib import Path

import pytest

from bench.show import Target, held
from bench.traced import _sees_a_sync, started, syncs


@pytest.mark.parametrize("value", [0.0, math.nan, math.inf, -1.0])
@pytest.mark.parametrize("at_least", [False, True])
def test_nothing_measured_never_holds(value: float, at_least: bool) -> None:
    target = Target("syncs a call", value, 0.0 if at_least else 5.0, at_least=at_least)
    assert not target.holds
    assert "nothing was measured" in str(target)


def test_finding_none_holds_where_it_is_said_among_how_many() -> None:
    assert Target("wrong verdicts", 0, 0, of=12).holds
    assert "0 of 12" in str(Target("wrong verdicts", 0, 0, of=12))
    assert not Target("wrong verdicts", 1, 0, of=12).holds
    assert not Target("wrong verdicts", 0, 0, of=0).holds


def test_a_benchmark_without_any_figure_is_not_held() -> None:
    assert not held([])
    assert held([Target("syncs", 1.0, 5.0)])
    assert not held([Target("syncs", 1.0, 5.0), Target("processes", 0, 5.0)])


def test_a_tracer_that_sees_nothing_is_no_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blind = tmp_path / "strace"
    blind.write_text('#!/bin/sh\nwhile [ "$1" != "-o" ]; do shift; done\nlog="$2"; shift 2\n: > "$log"\nexec "$@"\n')
    blind.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    _sees_a_sync.cache_clear()
    with pytest.raises(SystemExit, match="nothing was measured"):
        syncs(["true"], tmp_path)
    with pytest.raises(SystemExit, match="nothing was measured"):
        started(["true"], tmp_path)
