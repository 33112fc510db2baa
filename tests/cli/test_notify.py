"""Notifications when a run ends or waits, by the person's own command. A failing one does not disturb a run."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.bare_inputs import BARE_INPUTS
from tests.cli.conftest import World
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.inputs.settings.loader import load_settings
from trued.model import Event, RunRecord
from trued.model.settings import NotifySettings
from trued.reporting.notifications.notifier import Notifier

RECORD = RunRecord(id="r-note", workflow="solo", title="x\x1b[31m", repository="/r", base="b", branch="trued/r-note")
WRITES = "import os, sys; open(sys.argv[1], 'a').write(sys.stdin.read() + ' ' + os.environ['NOTIFY_STATE'] + chr(10))"


def ended(state: str = "waiting") -> Event:
    return Event(id=1, at=0.0, key="", kind="ended", data={"state": state, "code": 3, "why": "w", "grade": "unproven"})


@pytest.fixture
def notifier(tmp_path: Path) -> Iterator[Callable[..., Notifier]]:
    with RunStore(tmp_path / "state", {}) as store:
        store.journal.add(RECORD, BARE_INPUTS)
        yield lambda *command: Notifier(NotifySettings(command=command), store, {})


@pytest.mark.spec("DAY-12")
def test_an_end_and_a_question_reach_the_command_with_their_facts(
    notifier: Callable[..., Notifier], tmp_path: Path
) -> None:
    one = notifier(sys.executable, "-c", WRITES, str(tmp_path / "told"))
    one.notify_of(RECORD, Event(id=1, at=0.0, key="", kind="asked", data={}))
    one.notify_of(RECORD, ended())
    one.close()
    one.notify_of(RECORD, Event(id=2, at=0.0, key="k", kind="question", data={"text": "Go on?", "options": ["yes"]}))
    one.close()
    first, second = (json.JSONDecoder().raw_decode(text)[0] for text in (tmp_path / "told").read_text().splitlines())
    assert (first["event"], first["run"], first["state"], first["code"]) == ("ended", "r-note", "waiting", 3)
    assert (second["event"], second["text"]) == ("asks", "r-note waits for your answer: trued answer r-note")
    assert "\x1b" not in first["title"]


@pytest.mark.spec("DAY-12")
@pytest.mark.parametrize("command", [("/nowhere/at/all",), (sys.executable, "-c", "raise SystemExit(3)"), ("\0",)])
def test_a_notification_that_fails_is_not_noticed(notifier: Callable[..., Notifier], command: tuple[str, ...]) -> None:
    one = notifier(*command)
    one.notify_of(RECORD, ended())
    one.close()


def test_one_that_hangs_keeps_nobody_waiting_for_long(notifier: Callable[..., Notifier]) -> None:
    one, began = notifier(sys.executable, "-c", "import time; time.sleep(60)"), time.monotonic()
    one.notify_of(RECORD, ended())
    assert time.monotonic() - began < 3


@pytest.mark.spec("DAY-12", "USE-6")
def test_a_repository_cannot_name_a_command(tmp_path: Path) -> None:
    (tmp_path / "trued.toml").write_text('[notify]\ncommand = ["touch", "/tmp/owned"]\n')
    with pytest.raises(BadInput, match="a project's settings cannot set notify"):
        load_settings({}, {}, tmp_path, None)
    assert load_settings({}, {}, None, tmp_path).notify.command == ("touch", "/tmp/owned")


@pytest.mark.slow
@pytest.mark.spec("DAY-12")
def test_a_whole_run_notifies_once_at_its_end(world: World) -> None:
    config = world.top / "home" / ".config" / "trued"
    config.mkdir(parents=True)
    told, script = world.top / "told", world.top / "tell.py"
    script.write_text(WRITES)
    command = json.dumps([sys.executable, str(script), str(told)])
    (config / "trued.toml").write_text(f"[notify]\ncommand = {command}\nbell = true\ndesktop = true\n")
    done = world.trued("run", *world.work, "--yes")
    assert done.returncode == 0, done.stderr
    (line,) = told.read_text().splitlines()
    assert json.JSONDecoder().raw_decode(line)[0]["state"] == "done"
