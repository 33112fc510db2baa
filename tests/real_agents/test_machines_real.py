"""A purple run by the real Claude Code and Codex on two machines, each with a network of its own; one of them dies."""

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.hub.machines import Machine, SharedHub, wait_for
from tests.postgres import PostgresServer
from tests.real_agents.model import ModelServer
from tests.real_agents.model.listening import Listening
from tests.real_agents.test_real_pair import PROGRAMS, played
from trued.cli.demo.place import create_place
from trued.hub.roles import prepare_hub

NEW_NETWORK = 0x40000000  # CLONE_NEWNET of setns(2)
MAY = ("--agents", "claude,codex", "--runs", "1", "--lease", "60")
DIES_AT = "purple-team-b"  # the first review, which sleeps for a while


class Host(Machine):
    """A machine with a network namespace of its own, in which nothing but its own model answers."""

    def __init__(self, folder: Path, hub: str, store: str) -> None:
        super().__init__(folder, hub, store)
        holds = "ip link set lo up && echo up && exec sleep infinity"
        self.network = subprocess.Popen(["unshare", "--net", "sh", "-c", holds], stdout=subprocess.PIPE)
        assert self.network.stdout
        assert self.network.stdout.readline() == b"up\n"
        self.model = ModelServer(played)

    def start(self, *words: str, here: Path | None = None) -> "subprocess.Popen[bytes]":
        enter = ["nsenter", f"--net=/proc/{self.network.pid}/ns/net", sys.executable, "-m", "trued", *words]
        with (self.folder / "said").open("ab") as said:
            made = subprocess.Popen(
                enter, cwd=here or self.here, env=self.environment(), stdout=subprocess.DEVNULL, stderr=said
            )
        self.begun.append(made)
        return made

    def within(self, do: Callable[[], Listening]) -> Listening:
        """The server that `do` makes, which listens in this machine's network: sockets stay where they were made."""
        made: list[Listening] = []

        def enter() -> None:
            network = os.open(f"/proc/{self.network.pid}/ns/net", os.O_RDONLY)
            assert ctypes.CDLL(None, use_errno=True).setns(network, NEW_NETWORK) == 0, os.strerror(ctypes.get_errno())
            os.close(network)
            made.append(do())

        thread = threading.Thread(target=enter)  # the others stay in the network of the test
        thread.start()
        thread.join()
        return made[0]

    @contextmanager
    def connected(self) -> Iterator[None]:
        """While its model answers, in its own network only."""
        with self.model as model:
            listening = self.within(lambda: Listening(model._answer))
            url = f"http://127.0.0.1:{listening.server_address[1]}"
            keys = {"ANTHROPIC_API_KEY": "none", "CODEX_API_KEY": "none"}
            self.variables |= {**keys, "ANTHROPIC_BASE_URL": url, "OPENAI_BASE_URL": f"{url}/v1"}
            self.variables["PATH"] = f"{PROGRAMS}:{os.environ['PATH']}"
            try:
                yield
            finally:
                listening.end()
                self.network.kill()
                self.network.communicate()

    def is_reviewing(self) -> bool:
        found = self.home.glob("runs/*/spool/*/events.jsonl")
        return any(DIES_AT in one.parent.name and "sleep 4" in one.read_text() for one in found)


@pytest.fixture
def hosts(tmp_path: Path, postgres: PostgresServer) -> Iterator[SharedHub]:
    prepare_hub(url := postgres.new_database())
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "store.git")], check=True)
    with closing(SharedHub(url, str(tmp_path / "store.git"))) as made:
        yield made


@pytest.mark.agents
@pytest.mark.timeout(900)
@pytest.mark.spec("HUB-4", "HUB-6", "HUB-8", "AGT-1", "PUR-5")
def test_claude_code_and_codex_on_two_machines_prove_the_plan_though_the_first_dies_in_the_middle(
    tmp_path: Path, hosts: SharedHub
) -> None:
    user = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "HOME": str(tmp_path / "user")}
    place = create_place(tmp_path / "demo", user)
    asking = Machine(tmp_path / "user", hosts.login(), hosts.store)
    asking.home, asking.variables = place.home, {**place.environ, "CODEX_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}
    hosts.askers.append(asking)
    machines = {name: Host(tmp_path / name, hosts.login(), hosts.store) for name in ("one", "two")}
    with ExitStack() as opened:
        for name, machine in machines.items():
            opened.enter_context(machine.connected())
            hosts.workers[name] = machine
            hosts.processes[name] = machine.start("worker", "--name", name, *MAY)
        for machine in machines.values():
            opened.callback(machine.kill)
        wait_for(lambda: [one["state"] for one in asking.data("worker", "ls")] == ["working"] * 2)
        given = ("--yes", "--requirements", str(place.requirements), "--on", "runs")
        team = ("--agent", "purple-team-a=claude", "--agent", "purple-team-b=codex")
        asked = asking.start("run", "PLAN.md", *given, *team, here=place.repository)
        _until(asked, asking, lambda: any(one.is_reviewing() for one in machines.values()))
        (first,) = [name for name, one in machines.items() if one.is_reviewing()]
        machines[first].kill()
        (second,) = machines.keys() - {first}
        assert asked.wait(600) == 0, hosts.said() + (asking.folder / "said").read_text()
        shown, drivers = asking.data("show"), hosts.rows("select driver from run")
        landed = asking.command("land", shown["id"], here=place.repository)
    assert (shown["state"], shown["grade"]) == ("done", "proven"), hosts.said()
    assert drivers == [(f"{second}#1",)]
    assert landed.returncode == 0, landed.stderr
    assert [one.troubles for one in (machines[first].model, machines[second].model)] == [[], []]
    assert all(one.model.asked for one in machines.values())  # each asked its own model
    done = [row for row in shown["calls"] if row["state"] == "done"]
    assert len(done) == len({row["key"] for row in done}) == 8  # three chunks, and one round more for the lie
    again = {row["key"]: row["attempts"] for row in done if row["attempts"] > 1}
    assert list(again) == ["chunk 1A/purple-team-b#1"], again  # only what was at work when its machine died
    assert hosts.rows("select count(*) from step where key like '%team%#_' group by run, key having count(*) > 1") == []
    assert (place.repository / "textkit" / "slug.py").exists()


def _until(asked: "subprocess.Popen[bytes]", asking: Machine, true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 400
    while not true():
        assert asked.poll() is None, (asking.folder / "said").read_text()[-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.05)
