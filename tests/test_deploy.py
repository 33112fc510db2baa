"""What `deploy/` holds fits this version of trued. No container is built here, and no service is started."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from ruamel.yaml import YAML
from typer.core import TyperGroup

from tests.postgres import PASSWORD, PostgresServer
from trued.cli import load

DEPLOY = Path(__file__).parents[1] / "deploy"
TRUED = "deploy/Containerfile"

pytestmark = pytest.mark.spec("HUB-7", "HUB-8")


def parsed(words: Sequence[str]) -> dict[str, Any]:
    """The options of a command of trued, read by its own command line; nothing is run."""
    name, *rest = words
    command = load(name)
    while isinstance(command, TyperGroup) and rest and rest[0] in command.commands:
        command, rest = command.commands[rest[0]], rest[1:]
    return dict(command.make_context(name, list(rest)).params)


@pytest.fixture
def unit() -> configparser.ConfigParser:
    found = configparser.ConfigParser(interpolation=None, strict=True)
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read(DEPLOY / "trued-worker.service")
    return found


def test_the_unit_starts_a_worker_and_leaves_it_ended_when_it_was_drained(
    unit: configparser.ConfigParser, tmp_path: Path
) -> None:
    service = unit["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert program == "%h/.local/bin/trued"
    assert parsed(words)["agents"] == "claude,codex"
    assert (service["Restart"], service["KillMode"]) == ("on-failure", "process")
    if not (verify := shutil.which("systemd-analyze")):
        return
    (tmp_path / ".local" / "bin").mkdir(parents=True)
    (tmp_path / ".local" / "bin" / "trued").symlink_to("/bin/true")
    (tmp_path / "run").mkdir(mode=0o700)
    shutil.copy(DEPLOY / "trued-worker.service", tmp_path)
    variables = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    done = subprocess.run(
        [verify, "--user", "verify", str(tmp_path / "trued-worker.service")],
        env={**variables, "SYSTEMD_LOG_LEVEL": "warning"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if "trued-worker" in line]
    assert said == [], done.stderr


def test_every_command_and_file_of_the_compose_file_is_there() -> None:
    compose = YAML(typ="safe").load((DEPLOY / "compose.yaml").read_text())
    services = compose["services"]
    ours = {name: one for name, one in services.items() if "build" in one}
    assert {name: parsed(one["command"]).get("name", "") for name, one in ours.items()} == {
        "init": "",
        "w1": "w1",
        "w2": "w2",
    }
    assert {one["build"]["dockerfile"] for one in ours.values()} == {TRUED}
    assert {name for one in services.values() for name in one.get("depends_on", {})} <= services.keys()
    mounted = [place.split(":")[0] for one in services.values() for place in one.get("volumes", [])]
    named = {one for one in mounted if not one.startswith(".")}
    assert named == compose["volumes"].keys()
    files = [one for one in mounted if one.startswith(".") and one != "./git"]
    assert [one for one in files if not (DEPLOY / one).is_file()] == []
    assert all("TRUED_HUB" in one["environment"] for one in ours.values())
    copied = re.findall(r"^COPY (.+) \S+$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    assert [name for name in names if not (DEPLOY.parent / name).exists()] == []


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    made = postgres.new_database()
    yield made
    with psycopg.connect(made, autocommit=True) as db:
        for name in ("worker", "asker"):
            db.execute(f"drop role if exists {name}")


def test_the_script_for_logins_gives_each_its_role_and_password(database: str, postgres: PostgresServer) -> None:
    variables = {
        "PATH": f"{postgres.programs}:{os.environ['PATH']}",
        "PGHOST": str(postgres.folder),
        "PGPASSWORD": PASSWORD,
        "POSTGRES_USER": "trued",
        "POSTGRES_DB": database.partition("?")[0].rpartition("/")[2],
        "WORKER_PASSWORD": "it's \\ the worker's",
        "ASKER_PASSWORD": "another",
    }
    for _ in range(2):  # again
        done = subprocess.run([DEPLOY / "logins.sh"], env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    for name, other in (("worker", "asker"), ("asker", "worker")):
        password = variables[f"{name.upper()}_PASSWORD"]
        with psycopg.connect(database, user=name, password=password) as db:
            held = "select pg_has_role(%s, 'member'), pg_has_role(%s, 'member')"
            assert db.execute(held, (f"trued_{name}", f"trued_{other}")).fetchone() == (True, False)
    lacking = {name: value for name, value in variables.items() if name != "ASKER_PASSWORD"}
    assert subprocess.run([DEPLOY / "logins.sh"], env=lacking, capture_output=True, check=False).returncode != 0
