"""A ticket of a repository with a GitHub remote, put into a queue: a worker proves it, and the asker's machine, which
has the remote and the token, opens its pull request. Who waits is told for what."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.machines import LEASE_S, Beginning, SharedHub, wait_for
from tests.hub.test_workflows import Ticketed
from tests.integrations.forges.servers import TOKEN, GitHub, github_server
from tests.workflows.ticket.test_ticket import BRANCH

FORGE = """[forge]
kind = "github"
repository = "acme/shop"
url = "{url}"
"""


@pytest.fixture
def github(tmp_path: Path) -> Iterator[GitHub]:
    bare = tmp_path / "shop.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    with github_server(bare) as server:
        yield server


@pytest.fixture
def asking(tmp_path: Path, shared: SharedHub, github: GitHub) -> Beginning:
    made = Beginning(Ticketed(tmp_path / "asking").make(0), shared.login(), shared.store)
    made.world.git("remote", "add", "origin", str(tmp_path / "shop.git"))
    made.world.git("push", "-q", "origin", "main")
    settings = made.folder / ".config" / "trued" / "trued.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(FORGE.format(url=github.url))
    made.variables["GITHUB_TOKEN"] = TOKEN
    shared.askers.append(made)
    return made


@pytest.mark.slow
@pytest.mark.spec("HUB-7", "HUB-8")
def test_a_ticket_with_a_forge_is_proven_by_a_worker_and_its_pull_request_is_opened_by_the_asker(
    tmp_path: Path, shared: SharedHub, asking: Beginning, github: GitHub
) -> None:
    shared.start(tmp_path / "a", {"GITHUB_TOKEN": "the worker's own"})
    wait_for(lambda: [one["state"] for one in asking.data("worker", "ls")] == ["working"])
    asked = asking.begin("--workflow", "ticket", "--on", "runs")
    assert asked.wait(600) == 0, shared.said() + (asking.folder / "said").read_text()
    (run,) = asking.data("ls")
    assert (run["state"], run["grade"]) == ("done", "proven")
    assert github.pulls == []
    assert f"trued land {run['id']} --pr" in (asking.folder / "said").read_text()
    landed = asking.command("land", run["id"], "--pr", here=asking.world.repository)
    assert landed.returncode == 0, landed.stderr
    (pull,) = github.pulls
    assert (pull.branch, pull.onto, pull.draft) == (BRANCH, "main", False)
    assert asking.world.git("ls-remote", "origin", BRANCH).split()[0] == run["head"]


@pytest.mark.slow
@pytest.mark.spec("HUB-7", "HUB-8")
def test_who_waits_is_told_what_each_worker_lacks_until_one_may(
    tmp_path: Path, shared: SharedHub, asking: Beginning
) -> None:
    may = ("--agents", "claude", "--runs", "1", "--lease", str(LEASE_S))
    shared.start(tmp_path / "a", options=may)
    wait_for(lambda: [one["state"] for one in asking.data("worker", "ls")] == ["working"])
    asked = asking.begin("--workflow", "ticket", "--on", "runs")
    lacks = "no worker of the queue runs can drive it: a: a may not use the agent scripted"
    wait_for(lambda: [one["queued"] for one in asking.data("ls")] == [lacks])
    (run,) = asking.data("ls")
    assert asking.data("show", run["id"])["queued"] == lacks
    for words in (("ls",), ("show", run["id"])):
        done = asking.command(*words)
        assert lacks in done.stdout + done.stderr
    wait_for(lambda: lacks in (asking.folder / "said").read_text())
    shared.processes["a"].terminate()
    assert shared.processes["a"].wait(300) == 0
    nobody = "no worker of the queue runs is running: the run waits for one"
    wait_for(lambda: [one["queued"] for one in asking.data("ls")] == [nobody])
    shared.start(tmp_path / "b")
    assert asked.wait(600) == 0, shared.said() + (asking.folder / "said").read_text()
    assert [one["queued"] for one in asking.data("ls")] == [""]


@pytest.mark.slow
@pytest.mark.spec("HUB-7", "HUB-8")
def test_a_worker_looks_again_when_its_own_settings_change(
    tmp_path: Path, shared: SharedHub, asking: Beginning
) -> None:
    """It may not work without a sandbox, then its owner allows that."""
    may = ("--agents", "scripted", "--allow-programs", "--sandbox", "none", "--lease", str(LEASE_S))
    shared.start(tmp_path / "a", options=may)
    wait_for(lambda: [one["state"] for one in asking.data("worker", "ls")] == ["working"])
    asked = asking.begin("--workflow", "ticket", "--on", "runs", "--sandbox", "none", "--allow-unsandboxed")
    wait_for(lambda: any("a: " in one["queued"] for one in asking.data("ls")))
    settings = tmp_path / "a" / ".config" / "trued" / "trued.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('allow_unsandboxed = true\nsandbox = "none"\n')
    assert asked.wait(600) == 3, shared.said() + (asking.folder / "said").read_text()  # nothing is held out there
    assert "can be driven here now" in shared.said()
    assert shared.rows("select driver from run") == [("a#1",)]
