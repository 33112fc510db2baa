"""A login of which several agents have copies: which changes are copied back to the user, and which are not."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from trued.agents.spool import borrowed_login
from trued.agents.supervisor.home_files import write_home_files

FILE = ".claude/.credentials.json"


def login(access: str = "planted-access-1", until: int = 2_000_000_000_000, **more: Any) -> bytes:
    value = {"accessToken": access, "refreshToken": f"{access}-refresh", "expiresAt": until, "subscriptionType": "max"}
    return json.dumps({"claudeAiOauth": value | more}).encode()


class Lender:
    """A user, and the agents of one run that borrow the user's login."""

    def __init__(self, top: Path) -> None:
        self.top, self.file = top, top / "user" / FILE
        self.file.parent.mkdir(parents=True)
        self.file.write_bytes(login())
        self.file.chmod(0o644)

    def call(self, name: str) -> Path:
        folder = self.top / "spool" / name
        folder.mkdir(parents=True, exist_ok=True)
        self.home(name).mkdir(parents=True, exist_ok=True)
        return folder

    def home(self, name: str) -> Path:
        return self.top / "homes" / name

    def copy(self, name: str) -> Path:
        return self.home(name) / FILE

    def lend(self, name: str) -> Path:
        def place(file: str, content: bytes) -> None:
            write_home_files(self.home(name), {file: content})

        borrowed_login.lend_login(self.call(name), self.top / "user", self.home(name), (FILE,), place)
        return self.copy(name)

    def follow(self, name: str) -> list[borrowed_login.LoginEvent]:
        return borrowed_login.sync_login(
            self.call(name), lambda file, content: write_home_files(self.home(name), {file: content})
        )

    def settle(self, name: str) -> list[borrowed_login.LoginEvent]:
        told = borrowed_login.return_login(self.call(name))
        assert not self.copy(name).exists()
        assert not (self.call(name) / borrowed_login.NOTE).exists()
        return told


@pytest.fixture
def lender(tmp_path: Path) -> Lender:
    return Lender(tmp_path)


@pytest.mark.spec("RUN-5", "AGT-4")
def test_a_copy_is_for_its_owner_alone_and_goes_in_the_end(lender: Lender) -> None:
    copy = lender.lend("one")
    assert copy.read_bytes() == login()
    assert copy.stat().st_mode & 0o777 == 0o600
    assert lender.settle("one") == []
    assert lender.file.read_bytes() == login()
    assert lender.settle("one") == []


@pytest.mark.spec("RUN-5")
def test_a_login_that_was_renewed_is_the_users_at_once_and_reaches_the_other_agents(lender: Lender) -> None:
    lender.lend("one").write_bytes(new := login("planted-access-2", 2_000_000_009_000))
    other = lender.lend("two")
    assert lender.follow("one") == [("login refreshed", {"file": FILE})]
    assert lender.file.read_bytes() == new
    assert lender.file.stat().st_mode & 0o777 == 0o600
    assert lender.follow("two") == []
    assert other.read_bytes() == new
    assert (lender.settle("one"), lender.settle("two")) == ([], [])


@pytest.mark.spec("RUN-5")
def test_of_two_that_were_renewed_the_later_one_stays(lender: Lender) -> None:
    one, two, three = lender.lend("one"), lender.lend("two"), lender.lend("three")
    one.write_bytes(login("planted-access-2", 2_000_000_002_000))
    two.write_bytes(newest := login("planted-access-3", 2_000_000_003_000))
    three.write_bytes(login("planted-access-1b", 2_000_000_001_000))
    assert lender.settle("one") == [("login refreshed", {"file": FILE})]
    assert lender.settle("two") == [("login refreshed", {"file": FILE})]
    (said,) = lender.settle("three")
    assert said == ("login not taken back", {"file": FILE, "why": "your file has a newer login from another agent"})
    assert lender.file.read_bytes() == newest


@pytest.mark.spec("RUN-5")
def test_a_login_that_the_user_changed_meanwhile_stays_as_it_is(lender: Lender) -> None:
    lender.lend("one").write_bytes(login("planted-access-2", 2_000_000_009_000))
    lender.file.write_bytes(own := login("the-users-new-one", 2_000_000_001_000))
    (said,) = lender.settle("one")
    assert said[1]["why"] == "your file has changed meanwhile"
    assert lender.file.read_bytes() == own


@pytest.mark.spec("AGT-4")
@pytest.mark.parametrize(
    "left",
    [
        b"{}",
        b"not json",
        b"",
        b" " * 300_000,
        login("planted-access-2", subscriptionType="other"),
        login("planted-access-2", 1_000_000_000_000),
        login("planted-access-2", more="than before"),
    ],
    ids=["empty object", "no JSON", "empty", "huge", "another account", "older", "another shape"],
)
def test_what_is_not_the_login_renewed_is_dropped_and_said(lender: Lender, left: bytes) -> None:
    lender.lend("one").write_bytes(left)
    assert lender.follow("one") == []
    told = lender.settle("one")
    assert [kind for kind, _ in told] == (["login not taken back"] if len(left) < 300_000 else [])
    assert lender.file.read_bytes() == login()


def with_time(digits: str) -> bytes:
    return login("planted-access-2").replace(b"2000000000000", digits.encode())


@pytest.mark.spec("AGT-4", "USE-6")
@pytest.mark.parametrize(
    "left",
    [
        with_time("1" + "0" * 400),
        with_time("NaN"),
        with_time("2" + "0" * 4500),
        login("planted-access-2", 2_000_000_009_000).decode().encode("utf-16"),
        b'{"claudeAiOauth": {}, ' + login("planted-access-2", 2_000_000_009_000)[1:],
        b'{"a": ' * 900 + b"1" + b"}" * 900,
        login("planted-access-2", access_token=f"a.{'W1tb' * 2000}.c"),
    ],
    ids=["endless time", "no time", "digits", "another encoding", "a key twice", "deep", "deep claims"],
)
def test_what_other_programs_could_not_read_never_reaches_the_user(lender: Lender, left: bytes) -> None:
    lender.lend("one").write_bytes(left)
    assert lender.follow("one") == []
    assert [kind for kind, _ in lender.settle("one")] == ["login not taken back"]
    assert lender.file.read_bytes() == login()


@pytest.mark.spec("RUN-2", "RUN-5")
def test_what_a_crash_left_beside_the_users_file_is_in_nobodys_way(lender: Lender) -> None:
    aside = lender.file.with_name(f".{lender.file.name}.trued-{os.getpid()}")
    aside.write_bytes(b"half of a log")
    lender.lend("one").write_bytes(new := login("planted-access-2", 2_000_000_009_000))
    assert lender.settle("one") == [("login refreshed", {"file": FILE})]
    assert (lender.file.read_bytes(), aside.exists()) == (new, False)


@pytest.mark.spec("AGT-4", "USE-6")
def test_a_link_in_place_of_the_copy_leads_nowhere(lender: Lender) -> None:
    copy = lender.lend("one")
    elsewhere = lender.top / "elsewhere"
    elsewhere.write_bytes(login("planted-access-2", 2_000_000_009_000))
    copy.unlink()
    copy.symlink_to(elsewhere)
    assert lender.settle("one") == []
    assert (lender.file.read_bytes(), elsewhere.exists()) == (login(), True)
    folder = lender.home("two") / ".claude"
    lender.call("two")
    folder.symlink_to(lender.file.parent)
    lender.lend("two")
    assert not folder.is_symlink()
    lender.settle("two")
    assert lender.file.read_bytes() == login()


@pytest.mark.spec("RUN-2", "RUN-5")
def test_what_a_killed_supervisor_left_is_settled_when_the_call_is_taken_up_again(lender: Lender) -> None:
    lender.lend("one").write_bytes(new := login("planted-access-2", 2_000_000_009_000))
    copy = lender.lend("one")  # the first loan was never returned
    assert (lender.file.read_bytes(), copy.read_bytes()) == (new, new)
    copy.write_bytes(newer := login("planted-access-3", 2_000_000_010_000))
    borrowed_login.return_login_of_dead_call(lender.call("one"))  # this call is not resumed
    assert (lender.file.read_bytes(), copy.exists()) == (newer, False)
    assert "login refreshed" in (lender.call("one") / "events.jsonl").read_text()


def test_a_link_that_the_user_keeps_stays_one(lender: Lender) -> None:
    kept = lender.top / "dotfiles.json"
    kept.write_bytes(login())
    lender.file.unlink()
    lender.file.symlink_to(kept)
    lender.lend("one").write_bytes(new := login("planted-access-2", 2_000_000_009_000))
    assert lender.settle("one") == [("login refreshed", {"file": FILE})]
    assert (lender.file.is_symlink(), kept.read_bytes()) == (True, new)


def test_a_note_that_cannot_be_read_is_none(lender: Lender) -> None:
    for text in ("", "[]", '{"user": 1}', "{"):
        (lender.call("one") / borrowed_login.NOTE).write_text(text)
        assert lender.follow("one") == borrowed_login.return_login(lender.call("one")) == []
