"""`trued` in processes that do not begin with an empty interpreter: imports are most of a short command."""

import contextlib
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

# Waits for orders and forks for each of them; nothing of trued ever runs in the waiting process itself. Most imports of
# a command are late ones, inside its functions, so all modules are loaded here, and all values are ready for use. Left
# out: scripts that run elsewhere, and what few commands need and takes long to load.
WAITING = """
import gc, json, os, pkgutil, signal, sys
from importlib import import_module
import trued.cli
from pydantic import BaseModel

def make_ready(classes):
    for one in classes:
        one.model_rebuild(raise_errors=False)
        make_ready(one.__subclasses__())

elsewhere = ("trued.hub", "trued.page", "trued.proof.probes", "trued.agents.driver.inside")
for found in pkgutil.walk_packages(trued.__path__, "trued."):
    if not found.name.startswith(elsewhere) and not found.name.endswith("__main__"):
        import_module(found.name)
make_ready(BaseModel.__subclasses__())
gc.freeze()  # forks share what is loaded
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if child == 0:
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            handle = os.open(order[name], os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, number)
            os.close(handle)
        os.environ.clear()
        os.environ.update(order["variables"])
        os.chdir(order["folder"])
        signal.alarm(order["within_s"])
        sys.argv = [os.path.join(os.path.dirname(trued.__file__), "__main__.py"), *order["words"]]
        errors = ("strict", "strict", "backslashreplace")
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(n, "rw"[n > 0], encoding="utf-8", errors=errors[n]) for n in range(3)
        )
        code = 0
        try:
            trued.cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


@dataclass(frozen=True)
class Warm:
    """An interpreter that has loaded everything; each command is a process of its own."""

    orders: IO[str]
    codes: IO[str]
    scratch: Path
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def run(
        self, words: Sequence[str], *, folder: Path, variables: Mapping[str, str], stdin: str = "", within_s: int = 240
    ) -> subprocess.CompletedProcess[str]:
        place = self.scratch / str(next(self.numbers))  # what a command left behind may still write to its own
        place.mkdir()
        names = {name: str(place / name) for name in ("stdin", "stdout", "stderr")}
        Path(names["stdin"]).write_text(stdin)
        order = {**names, "variables": dict(variables), "folder": str(folder), "words": list(words)}
        self.orders.write(json.dumps({**order, "within_s": within_s}) + "\n")
        self.orders.flush()
        code = int(self.codes.readline())
        return subprocess.CompletedProcess(
            list(words), code, Path(names["stdout"]).read_text(), Path(names["stderr"]).read_text()
        )


@contextlib.contextmanager
def warm(scratch: Path) -> Iterator[Warm]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TRUED_", "GIT_"))}
    command = [sys.executable, "-c", WAITING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean, text=True) as process:
        assert process.stdin
        assert process.stdout
        yield Warm(process.stdin, process.stdout, scratch)
