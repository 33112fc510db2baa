"""Every command that looks at runs or decides about them works on a hub as it does on the embedded journal."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.bare_inputs import BARE_INPUTS
from tests.cli.conftest import World, world_in
from tests.hub.conftest import record
from tests.postgres import PASSWORD, PostgresServer
from tests.warm import Warm
from trued.hub.postgres import PostgresJournal


@pytest.mark.spec("HUB-8")
@pytest.mark.slow
def test_a_run_on_a_hub_is_asked_about_answered_continued_reported_and_landed(
    tmp_path: Path, waiting: Warm, postgres: PostgresServer
) -> None:
    world: World = world_in(tmp_path, waiting)
    settings = tmp_path / "home" / ".config" / "trued" / "trued.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[hub]\nurl = "{postgres.new_database()}"\n')
    asked = world.trued("run", *world.work)
    assert asked.returncode == 3, asked.stderr
    (run,) = world.data("ls")
    name = run["id"]
    assert (run["state"], world.data("show")["questions"][0]["options"]) == ("waiting", ["yes", "stop", "redo"])
    assert world.trued("ls", "--json", TRUED_HUB="").stdout.strip() == "[]"  # the embedded journal has none of it
    assert world.trued("comment", name, "keep it short").returncode == 0
    assert world.trued("limit", name, "usd=9").returncode == 0
    assert world.trued("answer", name, "yes").returncode == 0
    done = world.trued("resume", name, "--yes")
    assert done.returncode == 0, done.stderr
    shown = world.data("show", name)
    assert (shown["state"], shown["grade"]) == ("done", "proven")
    assert {one["grade"] for one in world.data("ledger", name)["requirements"]} == {"proven"}
    assert "keep it short" in world.trued("logs", name).stdout
    assert world.trued("why", "double", name).returncode == 0
    assert "scripted" in world.trued("stats", "--json").stdout
    for words in (("diff", name), ("report", name, "-o", str(tmp_path / "a.html")), ("watch", name), ("land", name)):
        ended = world.trued(*words)
        assert ended.returncode == 0, (words, ended.stderr)
    assert "triple" in (world.repository / "tiny.py").read_text()
    assert world.trued("cancel", name).returncode == 0  # it has ended: nothing happens
    files = [one for one in (*world.home.rglob("*"), tmp_path / "a.html") if one.is_file()]
    assert [one for one in files if PASSWORD.encode() in one.read_bytes()] == []


def test_several_runs_of_a_queue_are_given_back_to_it_and_not_driven_here(
    tmp_path: Path, waiting: Warm, postgres: PostgresServer, prepared: str
) -> None:
    world, url = world_in(tmp_path, waiting), postgres.new_database(prepared)
    settings = tmp_path / "home" / ".config" / "trued" / "trued.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[hub]\nurl = "{url}"\n')
    names = ("r-one", "r-two")
    with closing(PostgresJournal(url)) as journal:
        for name in names:
            made = record(name).model_copy(update={"repository": str(world.repository)})
            journal.add(made, BARE_INPUTS, queue="runs")
        for which in (names, ("--all",)):
            refused = world.trued("resume", *which, "--yes")
            assert (refused.returncode, "--yes" in refused.stderr) == (2, True), refused.stderr
            assert not journal.queued()
        done = world.trued("resume", *names)
        assert done.returncode == 0, done.stderr
        assert {*journal.queued()} == {*names}
        assert [event.kind for name in names for event in journal.events(name)] == []
