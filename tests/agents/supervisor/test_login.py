"""An agent borrows the user's login: a program that plays Claude Code, with planted credentials."""

import json
import os
import shutil
import signal
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.agents.supervisor.world import World, wait_for
from trued.wire import Order, Report

FILE = ".claude/.credentials.json"
PLANTED = ("planted-access-0001", "planted-refresh-0001", "planted-access-0002", "planted-refresh-0002")
SUMMARY = {"summary": "done"}


def login(number: int, until: int = 2_000_000_000_000, **more: Any) -> str:
    value = {"accessToken": f"planted-access-{number:04}", "refreshToken": f"planted-refresh-{number:04}"}
    return json.dumps({"claudeAiOauth": value | {"expiresAt": until, "scopes": ["user:inference"]} | more})


RENEWED = login(2, 2_000_000_500_000)


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The HOME of a user who is logged in to a program on PATH."""
    programs, home = tmp_path / "programs", tmp_path / "user"
    programs.mkdir()
    shutil.copy(Path(__file__).parents[1] / "adapters" / "fake_claude.py", programs / "claude")
    (programs / "claude").chmod(0o755)
    (home / FILE).parent.mkdir(parents=True)
    (home / FILE).write_text(login(1))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{programs}:/usr/local/bin:/usr/bin:/bin")
    return home


@pytest.fixture
def world(user: Path, tmp_path: Path) -> World:
    return World(tmp_path / "world")


def order(world: World, call: str = "one", **changes: Any) -> Order:
    play = changes.pop("play")
    given: dict[str, Any] = {"session": str(uuid.uuid4()), "tools": ("read", "execute"), "login": "auto"}
    return world.order("claude", call, **{**given, "brief": f"PLAY {json.dumps(play)}", **changes})


async def work(world: World, variables: dict[str, str] | None = None, **changes: Any) -> Report:
    runtime = world.runtime(variables=lambda _agent: variables or {})
    report = await runtime.work(order(world, **changes), world.tell)
    assert not world.left()
    assert not list((world.top / "home").rglob(".credentials.json"))
    assert not list(world.spool.rglob("lent.json"))
    return report


def told(world: World, report: Report) -> str:
    """Everything that was written or emitted about the call, without the order, which says what the program prints."""
    kept = [file.read_text("utf-8", "replace") for file in world.folder().iterdir() if file.name != "order.json"]
    return "\n".join([*kept, str(world.told), str(report)])


def kinds(world: World) -> list[str]:
    return [event["kind"] for event in world.events()]


@pytest.mark.spec("RUN-5", "AGT-4")
async def test_the_login_is_there_while_the_agent_works_and_stands_in_no_record(world: World, user: Path) -> None:
    seen = f"cat $HOME/{FILE}; cat $HOME/{FILE} >&2; stat -c %a $HOME/{FILE} > mode; cp $HOME/{FILE} seen"
    texts = f"I found {PLANTED[0]} and {PLANTED[1]}"
    report = await work(world, play={"runs": seen, "reply": {"summary": texts}})
    assert report.state == "done"
    assert (world.clone / "seen").read_text() == login(1)
    assert (world.clone / "mode").read_text().strip() == "600"
    assert "login lent" in kinds(world)
    assert "[redacted login]" in told(world, report)
    assert not [one for one in PLANTED if one in told(world, report)]
    assert (user / FILE).read_text() == login(1)


@pytest.mark.spec("RUN-5", "AGT-4")
async def test_a_login_that_the_agent_renews_is_the_users_and_just_as_hidden(world: World, user: Path) -> None:
    (user / "renewed").write_text(RENEWED)
    renew = f"cp {user}/renewed $HOME/{FILE}; cat $HOME/{FILE} >&2"
    report = await work(world, play={"runs": renew, "text": f"new: {PLANTED[2]} {json.dumps(SUMMARY)}"})
    assert "login refreshed" in kinds(world)
    assert (user / FILE).read_text() == RENEWED
    assert (user / FILE).stat().st_mode & 0o777 == 0o600
    assert not [one for one in PLANTED if one in told(world, report)]


@pytest.mark.spec("AGT-4")
async def test_what_a_hostile_agent_leaves_in_its_place_is_dropped_and_said(world: World, user: Path) -> None:
    (user / "other").write_text(login(2, 2_000_000_500_000, scopes=["user:admin"]))
    await work(world, play={"runs": f"cp {user}/other $HOME/{FILE}", "reply": SUMMARY})
    (event,) = [one for one in world.events() if one["kind"] == "login not taken back"]
    assert event["why"] == "it is not the login that was borrowed: scopes differs"
    assert (user / FILE).read_text() == login(1)


@pytest.mark.spec("AGT-1")
@pytest.mark.parametrize(
    ("policy", "variables", "lends"),
    [
        ("subscription", {"ANTHROPIC_API_KEY": "planted-key-000"}, True),
        ("auto", {"ANTHROPIC_API_KEY": "planted-key-000"}, False),
    ],
)
async def test_only_what_the_policy_takes_is_lent(
    world: World, policy: str, variables: dict[str, str], lends: bool
) -> None:
    seen = f"test -e $HOME/{FILE} && touch seen; true"
    report = await work(world, variables, login=policy, play={"runs": seen, "reply": SUMMARY})
    assert report.state == "done"
    assert (world.clone / "seen").exists() is lends
    assert ("login lent" in kinds(world)) is lends


@pytest.mark.spec("RUN-2", "RUN-5")
async def test_a_killed_supervisors_copy_is_brought_back_and_removed(world: World, user: Path) -> None:
    (user / "renewed").write_text(RENEWED)
    play = {"runs": f"cp {user}/renewed $HOME/{FILE}; touch ready", "sleeps": 60}
    again = {"turn 1": play, "turn 2": {"reply": SUMMARY}}
    given = order(world, play=again)
    engine = world.engine(given)
    wait_for(lambda: (world.clone / "ready").exists(), "the agent renewing its login")
    os.kill(world.supervisor(), signal.SIGKILL)
    engine.communicate(timeout=60)
    report = await world.runtime().work(given, world.tell)
    assert report.state == "done"
    assert (user / FILE).read_text() == RENEWED
    assert not list((world.top / "home").rglob(".credentials.json"))
    assert not [one for one in PLANTED if one in world.files()]
