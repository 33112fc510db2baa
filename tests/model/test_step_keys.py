"""Step keys are parsed into scopes, names and numbers."""

import pytest

from trued.model import step_keys

KEY = "feature F1/task F1-T2/dev#3"


def test_a_key_has_scopes_a_label_and_a_name() -> None:
    assert step_keys.scope_of(KEY) == "feature F1/task F1-T2"
    assert (step_keys.outer_scope(KEY), step_keys.inner_scope(KEY)) == ("feature F1", "task F1-T2")
    assert (step_keys.label_of(KEY), step_keys.step_name(KEY)) == ("dev#3", "dev")
    assert step_keys.feature_scope(KEY) == "feature F1"


def test_a_key_without_scopes_is_its_own_label() -> None:
    assert (step_keys.scope_of("seal"), step_keys.outer_scope("seal"), step_keys.inner_scope("seal")) == ("", "", "")
    assert (step_keys.label_of("seal#1"), step_keys.step_name("seal#1")) == ("seal#1", "seal")
    assert step_keys.feature_scope("feature#1") == ""


@pytest.mark.parametrize(
    ("key", "verdict"),
    [("chunk 1A/prove#2", True), ("finish#1", True), ("proven#1", False), ("prove", False), ("finish/x#1", False)],
)
def test_a_step_with_a_verdict_is_known_by_its_name(key: str, verdict: bool) -> None:
    assert step_keys.is_verdict(key) is verdict


def test_a_landing_is_known_by_its_key() -> None:
    assert step_keys.landing_key("main") == "land onto main"
    assert step_keys.is_landing("land onto main/0123456789/verdict#1")
    assert not step_keys.is_landing("finish#1")
