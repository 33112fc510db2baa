"""Credential files of other programs: what can be found out without a request."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from trued.agents import credentials

CLAUDE = {
    "claudeAiOauth": {
        "accessToken": "planted-access-1",
        "refreshToken": "planted-refresh-1",
        "expiresAt": 2_000_000_000_000,
        "scopes": ["user:inference", "user:profile"],
        "subscriptionType": "max",
    }
}
CODEX = {
    "OPENAI_API_KEY": None,
    "tokens": {"access_token": "planted-access-2", "refresh_token": "planted-refresh-2", "account_id": "account-1"},
    "last_refresh": "2026-11-01T10:00:00.000000Z",
}


def changed(value: dict[str, Any], *path: str, to: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(value))
    inner = copy
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = to
    return copy


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (CLAUDE, changed(CLAUDE, "claudeAiOauth", "accessToken", to="planted-access-9")),
        (CLAUDE, changed(CLAUDE, "claudeAiOauth", "expiresAt", to=2_100_000_000_000)),
        (CODEX, changed(CODEX, "tokens", "refresh_token", to="planted-refresh-9")),
        (CODEX, changed(CODEX, "last_refresh", to="2026-11-02T10:00:00.000000Z")),
    ],
)
def test_other_tokens_and_times_are_the_same_login_renewed(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert credentials.why_not_renewal(old, new) == ""


@pytest.mark.spec("AGT-4")
@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (CLAUDE, {}, "other keys"),
        (CLAUDE, {"claudeAiOauth": {}}, "other keys"),
        (CLAUDE, {**CLAUDE, "apiKeyHelper": "sh -c evil"}, "other keys"),
        (CLAUDE, changed(CLAUDE, "claudeAiOauth", "subscriptionType", to="pro"), "subscriptionType differs"),
        (CLAUDE, changed(CLAUDE, "claudeAiOauth", "scopes", to=["user:inference", "org:admin"]), "scopes differs"),
        (CLAUDE, changed(CLAUDE, "claudeAiOauth", "scopes", to=[]), "other keys"),
        (CLAUDE, changed(CLAUDE, "claudeAiOauth", "expiresAt", to="soon"), "another type"),
        (CLAUDE, changed(CLAUDE, "claudeAiOauth", "accessToken", to={"a": 1}), "other keys"),
        (CLAUDE, changed(CLAUDE, "claudeAiOauth", "refreshToken", to=""), "refreshToken is empty"),
        (CODEX, changed(CODEX, "tokens", "account_id", to="account-2"), "account_id differs"),
        (CODEX, changed(CODEX, "OPENAI_API_KEY", to="a key"), "another type"),
    ],
)
def test_whatever_else_differs_makes_it_another_login(old: dict[str, Any], new: dict[str, Any], why: str) -> None:
    assert why in credentials.why_not_renewal(old, new)


def test_the_newer_of_two_is_told_by_its_times() -> None:
    assert credentials.expiry(CLAUDE) == 2_000_000_000
    assert credentials.expiry(CODEX) == 1793527200
    token = "e30.eyJleHAiOjE4MDAwMDAwMDB9.c2ln"  # {"exp": 1800000000}
    assert credentials.expiry({"access_token": token}) == 1_800_000_000
    assert credentials.expiry({"access_token": "no.json.here", "expiry_date": True}) == 0
    assert credentials.expiry({"key": "x"}) == 0


def test_a_login_that_has_ended_is_good_as_long_as_it_can_be_renewed() -> None:
    ended = changed(CLAUDE, "claudeAiOauth", "expiresAt", to=1000)
    assert not credentials.is_expired(ended, now=5000)
    assert credentials.is_expired(changed(ended, "claudeAiOauth", "refreshToken", to=""), now=5000)
    assert not credentials.is_expired({"key": "without a time"}, now=5000)


def test_only_a_plain_file_of_a_sensible_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b" " * (credentials.LONGEST + 1))
    (tmp_path / "good").write_text(json.dumps(CLAUDE))
    (tmp_path / "link").symlink_to(tmp_path / "good")
    os.mkfifo(tmp_path / "pipe")
    assert [credentials.read_credentials(tmp_path / name) for name in ("large", "pipe", "nowhere", ".")] == [None] * 4
    assert credentials.parse_credentials(credentials.read_credentials(tmp_path / "link")) == CLAUDE
    handle = os.open(tmp_path, os.O_DIRECTORY)
    try:
        assert credentials.read_credentials("link", folder=handle) is None
        assert credentials.read_credentials("good", folder=handle)
    finally:
        os.close(handle)
    assert credentials.parse_credentials(b"[1]") is None
    assert credentials.parse_credentials(b"[" * 100_000) is None


def test_every_text_in_it_may_be_a_secret() -> None:
    assert set(credentials.all_strings(CLAUDE)) >= {"planted-access-1", "planted-refresh-1", "user:inference"}
    assert credentials.has_secret(CODEX)
    assert not credentials.has_secret({"active": "somebody@example.org"})
