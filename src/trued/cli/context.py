"""The engine as commands use it: opened on this machine's private state, and asked for the run that is meant."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trued.cli.terminal import home
from trued.errors import BadInput
from trued.model import RunRecord
from trued.reporting.views import OVER, state_of

if TYPE_CHECKING:  # loaded when a run is looked at: help needs none of it
    from trued.engine.engine import Engine

SHOWN = 200  # completions; nobody reads more


@contextmanager
def opened() -> "Iterator[Engine]":
    from trued.engine.engine import Engine

    engine = Engine(home(), os.environ)
    try:
        yield engine
    finally:
        engine.close()


def top_of(folder: Path) -> Path | None:
    """The repository that a folder lies in."""
    command = ["git", "-C", str(folder), "rev-parse", "--show-toplevel"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        return None
    return Path(os.fsdecode(done.stdout.removesuffix(b"\n"))).resolve() if done.returncode == 0 else None


def chosen(engine: "Engine", name: str | None) -> RunRecord:
    """The run that is named, or the newest of this repository, or the only one there is."""
    if name == "":  # a variable of a script that is not set: the newest is not what it means
        raise BadInput("the name of the run is empty", then="`trued ls` lists the runs")
    if name is not None:
        return engine.journal.run(name)
    runs = engine.journal.runs()
    here = top_of(Path.cwd())
    own = [one for one in runs if here and Path(one.repository).resolve() == here]
    if own or len(runs) == 1:
        return (own or runs)[0]
    if not runs:
        raise BadInput("there is no run yet", then="start one with `trued run`, or see `trued demo`")
    raise BadInput("which run? none of them is of this folder's repository", then="`trued ls --all` lists the runs")


def writable(path: Path | None, flag: str) -> None:
    """Refuse, before anything is done, a file that could not be written in the end."""
    if path is None:
        return
    if not path.absolute().parent.is_dir():
        raise BadInput(f"there is no folder {path.absolute().parent}", flag, "name one that is there")
    if path.is_dir():
        raise BadInput(f"{path} is a folder", flag, "name a file")


def branch_at(record: RunRecord) -> str:
    """The commit that the run's branch has in the user's repository; empty where there is none."""
    done = _asked(record, "rev-parse", "--verify", "--quiet", f"refs/heads/{record.branch}^{{commit}}")
    return done.stdout.decode().strip() if done and done.returncode == 0 else ""


def newest(record: RunRecord) -> str:
    """The last accepted commit. What was killed is on its branch and not yet in the record."""
    there = branch_at(record)
    if not there or there == record.base:
        return record.head
    known = record.head or record.base
    done = _asked(record, "merge-base", "--is-ancestor", known, there)
    return there if done and done.returncode == 0 else record.head


def _asked(record: RunRecord, *words: str) -> subprocess.CompletedProcess[bytes] | None:
    command = ["git", "-c", "core.fsmonitor=false", "-C", record.repository, *words]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None


def is_over(engine: "Engine", record: RunRecord) -> bool:
    """No agent will be asked again, so nothing needs to be kept from anybody."""
    from trued.engine.approvals import untaken

    ended = record.state == "waiting" and engine.final(record.id) is not None
    return record.state in OVER or (ended and not untaken(engine, record.id))


def completed(incomplete: str) -> list[tuple[str, str]]:
    """Run ids for the shell, newest first."""
    with opened() as engine:
        runs = [one for one in engine.journal.runs() if one.id.startswith(incomplete)][:SHOWN]
        return [(one.id, f"{state_of(one, engine.journal.driver(one.id))}: {one.title}") for one in runs]


RunName = Annotated[
    str | None,
    typer.Argument(
        metavar="[RUN]", help="Its id, or the beginning of it; else this repository's newest.", autocompletion=completed
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
