"""A hostile repository runs nothing outside a sandbox, neither on the worker nor on the asker's machine. A worker of
an older trued stops with a sentence when the hub is converted."""

import json
import shutil
import subprocess
import time
from pathlib import Path

import psycopg
import pytest

from tests.crash.world import World
from tests.hub.machines import Beginning, SharedHub, wait_for

HOOKS = (
    *("applypatch-msg", "pre-commit", "post-commit", "post-checkout", "post-merge", "post-rewrite", "pre-push"),
    *("pre-auto-gc", "reference-transaction", "post-index-change", "fsmonitor-watchman", "pre-receive", "update"),
    *("post-receive", "post-update", "push-to-checkout", "proc-receive"),
)
PROGRAMS = (
    *("core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.alternateRefsCommand", "core.editor", "core.pager"),
    *("credential.helper", "uploadpack.packObjectsHook", "gpg.program", "gpg.ssh.program", "diff.external"),
    *("diff.evil.textconv", "diff.evil.command", "merge.evil.driver", "sequence.editor", "core.askPass"),
    *("remote.origin.uploadpack", "remote.origin.receivepack", "remote.origin.vcs", "alias.status", "pager.diff"),
)
FILTERS = ("clean", "smudge", "process")


def trap(folder: Path, name: str) -> Path:
    """A program that leaves a mark with its name."""
    folder.mkdir(exist_ok=True)
    made = folder / name
    made.write_text(f"#!/bin/sh\ntouch '{folder}/{name}.sprung'\ncat\n")
    made.chmod(0o755)
    return made


def sprung(folder: Path) -> list[str]:
    return sorted(one.stem for one in folder.glob("*.sprung"))


def make_hostile(world: World, traps: Path) -> None:
    """Everything that a repository can name to be run: in its tree, in its configuration, in its hooks."""
    world.git("submodule", "init")
    module = f'[submodule "x"]\n\tpath = x\n\turl = ext::{trap(traps, "submodule")}\n\tupdate = !{traps}/submodule\n'
    (world.repository / ".gitmodules").write_text(module)
    (world.repository / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n*.md filter=more\n")
    (world.repository / ".gitconfig").write_text(f'[filter "more"]\n\tclean = {trap(traps, "included")}\n')
    world.git("add", "-A")
    world.git("commit", "-qm", "odd")
    for key in FILTERS:
        world.git("config", f"filter.evil.{key}", str(trap(traps, f"filter-{key}")))
    world.git("config", "filter.evil.required", "true")
    for key in PROGRAMS:
        world.git("config", key, str(trap(traps, key)))
    world.git("config", "include.path", "../.gitconfig")
    world.git("config", "protocol.ext.allow", "always")
    world.git("config", "submodule.recurse", "true")
    world.git("config", "submodule.x.update", f"!{traps}/submodule")
    info = world.repository / ".git" / "info"
    info.mkdir(exist_ok=True)
    (info / "attributes").write_text("* filter=evil\n")
    hooks = world.repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in HOOKS:
        shutil.copy(trap(traps, f"hook-{name}"), hooks / name)
    (world.repository / "tiny.py").touch()  # git has to look at its content to know whether it was changed


@pytest.mark.slow
@pytest.mark.spec("HUB-6", "HUB-7", "LAW-4")
def test_nothing_that_a_hostile_repository_names_runs_on_the_worker_or_on_the_asker(
    tmp_path: Path, shared: SharedHub
) -> None:
    asking, traps = Beginning(World(tmp_path / "asking").make(0), shared.login(), shared.store), tmp_path / "traps"
    shared.askers.append(asking)
    make_hostile(asking.world, traps)
    for one in traps.glob("*.sprung"):  # of the git that laid the traps
        one.unlink()
    for name in ("post-receive", "update", "reference-transaction"):
        shutil.copy(trap(traps, f"store-{name}"), Path(shared.store) / "hooks" / name)
    shared.start(tmp_path / "a")
    wait_for(lambda: [one["state"] for one in asking.data("worker", "ls")] == ["working"])
    asked = asking.begin("--on", "runs")
    assert asked.wait(600) == 0, shared.said() + (asking.folder / "said").read_text()
    (run,) = asking.data("ls")
    assert (run["state"], run["grade"]) == ("done", "proven")
    here = asking.world.repository
    for words in (("ls",), ("show", run["id"]), ("diff", run["id"]), ("report", run["id"]), ("receipt", run["id"])):
        done = asking.command(*words, here=here)
        assert done.returncode == 0, done.stderr
    assert sprung(traps) == []
    asking.world.git("config", "--unset-all", "core.fsmonitor")
    plain = asking.command("land", run["id"], here=here)
    assert not [one for one in sprung(traps) if not one.startswith("filter-") and one != "included"], plain.stderr
    (here / "tiny.py").write_text("changed\n")
    subprocess.run(["git", "-C", str(here), "status"], check=False, capture_output=True)
    assert [one for one in sprung(traps) if one.startswith("filter-")], "the traps themselves work"


@pytest.mark.slow
@pytest.mark.spec("HUB-8")
def test_a_worker_of_an_older_trued_stops_with_a_sentence_when_the_hub_is_converted(
    tmp_path: Path, shared: SharedHub
) -> None:
    shared.start(tmp_path / "a")
    wait_for(lambda: bool(shared.rows("select 1 from worker where not dead")))
    with psycopg.connect(shared.url) as db:  # a conversion locks tables, and its end changes them
        db.execute("set search_path = trued")
        db.execute("lock table worker, run in access exclusive mode")
        time.sleep(6)  # more than one renewal
        db.execute("alter table worker rename column until to ends_at")
        db.execute("insert into format values (99)")
    assert shared.processes["a"].wait(120) == 6, shared.said()
    (said,) = [one for one in shared.said().splitlines() if "another version" in one]
    assert "another version of trued (format 99): a#1 ends" in said
    assert "Traceback" not in shared.said()


@pytest.mark.slow
@pytest.mark.spec("HUB-8")
def test_a_worker_of_an_older_trued_finishes_the_run_that_it_drives_and_takes_no_other(
    tmp_path: Path, shared: SharedHub
) -> None:
    asking = Beginning(World(tmp_path / "asking").make(-1), shared.login(), shared.store)
    shared.askers.append(asking)
    shared.start(tmp_path / "a")
    wait_for(lambda: [one["state"] for one in asking.data("worker", "ls")] == ["working"])
    asking.begin("--on", "runs")
    wait_for(lambda: bool(shared.rows("select 1 from attempt where state = 'open'")))
    shared.rows("insert into format values (99) returning 1")
    wait_for(lambda: "finishes its runs and ends" in shared.said())
    for order in shared.workers["a"].home.glob("runs/*/spool/*/order.json"):
        (Path(json.loads(order.read_bytes())["folder"]) / "go").touch()
    assert shared.processes["a"].wait(300) == 0, shared.said()
    assert shared.rows("select state, grade from run") == [("done", "proven")]
