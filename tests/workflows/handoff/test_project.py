"""HandoffProject without agents: a failed feature says why, and features that do not need it are still built."""

import pytest

from trued.model import Figures, Finding
from trued.workflows.handoff.feature_list import Feature, FeatureList
from trued.workflows.handoff.project import HandoffProject


@pytest.mark.spec("HAND-9")
def test_a_feature_that_is_given_up_is_failed_with_what_it_said_and_only_what_needs_it_waits() -> None:
    names = {"a": (), "b": ("a",), "c": ("b",), "d": ()}
    features = (Feature(id=name, description=name, depends_on=needs) for name, needs in names.items())
    project = HandoffProject(features=FeatureList(features=tuple(features)))
    first = project.next_feature
    assert first
    assert first.id == "a"
    failing = Figures(passing=1, total=2, said="E   assert 1 == 2\x1b[0m")
    held_out = Finding(
        what="a held-out example fails: it does not return the expected value", where="the clause", requirement="a"
    )
    tried = project.with_feature_begun(first, 0.0).with_test_results(first, failing, [held_out], 0.0)
    assert tried.features["a"].agent_notes == (
        "a held-out example fails: it does not return the expected value (the clause)\nE   assert 1 == 2"
    )
    assert (tried.features["a"].tests_passing, tried.features["a"].tests_total) == (1, 2)
    assert tried.next_feature == tried.features["a"]  # a failed attempt leaves the feature open
    left = tried.with_feature_failed(first)
    assert [one.state for one in left.features.features] == ["failed", "not_started", "not_started", "not_started"]
    assert "assert 1 == 2" in left.features["a"].agent_notes
    assert left.features["b"].agent_notes == "blocked: it needs a, which failed"
    assert left.features["c"].agent_notes == "blocked: it needs b, which waits for a, which failed"
    assert left.next_feature == left.features["d"]
    done = left.features["d"].model_copy(update={"passes": True, "status": "completed"})
    assert left.model_copy(update={"features": left.features.with_feature(done)}).next_feature is None
