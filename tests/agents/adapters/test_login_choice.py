"""How an agent would log in: every policy with every combination of credentials."""

import json
from pathlib import Path

import pytest

from trued.agents.driver.agent import Login
from trued.agents.driver.login import choose_login

FILE = ".agent/credentials.json"
LOGIN = Login(keys=("A_KEY", "B_KEY"), weak=("B_KEY",), tokens=("A_TOKEN",), files=(FILE, ".agent/account.json"))
NOW = 1_800_000_000.0
GOOD = {"access_token": "x", "refresh_token": "y", "expires_at": NOW - 9}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".agent").mkdir()
    return tmp_path


@pytest.mark.spec("AGT-1")
@pytest.mark.parametrize(
    ("policy", "given", "file", "how"),
    [
        ("auto", "A_KEY B_KEY A_TOKEN", True, "A_KEY"),
        ("auto", "B_KEY A_TOKEN", True, "A_TOKEN"),
        ("auto", "B_KEY", True, "file"),
        ("auto", "B_KEY", False, "B_KEY"),
        ("auto", "", True, "file"),
        ("auto", "", False, ""),
        ("key", "A_KEY A_TOKEN", True, "A_KEY"),
        ("key", "B_KEY", True, "B_KEY"),
        ("key", "A_TOKEN", True, ""),
        ("subscription", "A_KEY A_TOKEN", True, "A_TOKEN"),
        ("subscription", "A_KEY", True, "file"),
        ("subscription", "A_KEY", False, ""),
        ("none", "A_KEY A_TOKEN", True, "none"),
    ],
)
def test_what_is_used_by_policy_and_by_what_there_is(home: Path, policy: str, given: str, file: bool, how: str) -> None:
    if file:
        (home / FILE).write_text(json.dumps(GOOD))
    found = choose_login(LOGIN, policy, dict.fromkeys(given.split(), "a-secret-value"), home, NOW)
    assert found.ready is bool(how)
    assert found.files == ((FILE,) if how == "file" else ())
    assert found.variables == ((how,) if how.isupper() else ())
    assert "a-secret-value" not in str(found)
    assert (how in found.says) or how == "file"


@pytest.mark.spec("AGT-1")
@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "contains no login"),
        ("{}", "contains no login"),
        ('{"access_token": ""}', "contains no login"),
        ('{"access_token": "x", "expires_at": 1000}', "has expired"),
        ("[1, 2]", "contains no login"),
    ],
)
def test_a_file_that_is_no_login_is_told_from_one(home: Path, content: str, says: str) -> None:
    (home / FILE).write_text(content)
    found = choose_login(LOGIN, "auto", {}, home, NOW)
    assert (found.ready, found.files) == (False, ())
    assert says in found.says


def test_what_belongs_to_a_login_goes_along(home: Path) -> None:
    (home / FILE).write_text(json.dumps(GOOD))
    (home / ".agent/account.json").write_text('{"active": "ann"}')
    assert choose_login(LOGIN, "auto", {}, home, NOW).files == (FILE, ".agent/account.json")
    both = Login(keys=("A_KEY",), files=(FILE,), along=("A_URL",), together=True)
    found = choose_login(both, "auto", {"A_KEY": "k", "A_URL": "u", "OTHER": "o"}, home, NOW)
    assert (found.variables, found.files) == (("A_KEY", "A_URL"), (FILE,))
    assert choose_login(Login(), "key", {}, home, NOW).ready
