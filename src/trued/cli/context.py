"""Opens the store of this machine's runs, and selects the run that a command works on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trued.cli.terminal import home
from trued.errors import BadInput
from trued.model import RunRecord
from trued.reporting.views.run_rows import all_as_seen
from trued.support.user_git import ask_git

if TYPE_CHECKING:  # at run time, only the functions that open runs import it, so that help stays quick
    from trued.engine.run_store import RunStore

SHOWN = 200  # at most this many completions are offered: nobody reads a longer list


@contextmanager
def open_store() -> "Iterator[RunStore]":
    """Open the store of this machine's runs, and close it when the block ends."""
    from trued.engine.run_store import RunStore

    with RunStore(home(), os.environ) as store:
        yield store


def runs_of(store: "RunStore", repository: Path | None) -> list[RunRecord]:
    """The runs of the repository whose top folder is `repository`, newest first; all runs if `repository` is None."""
    return [run for run in store.journal.runs() if repository is None or Path(run.repository).resolve() == repository]


def top_of(folder: Path) -> Path | None:
    """The top folder of the repository that contains `folder`; None outside a repository."""
    top = ask_git(folder, "rev-parse", "--show-toplevel")
    return None if top is None else Path(os.fsdecode(top.removesuffix(b"\n"))).resolve()


def repository_here(folder: Path, then: str = "change into one, or pass --repo DIR") -> Path:
    """The top folder of the repository that contains `folder`. Raises BadInput, with the advice `then`, if there is
    none."""
    if (top := top_of(folder)) is None:
        raise BadInput(f"{folder.resolve()} is not in a git repository", then=then)
    return top


def selected_run(store: "RunStore", name: str | None) -> RunRecord:
    """The run whose id is `name` or begins with it. If `name` is None: the only run on this machine, or else the newest
    run of the repository that contains the current folder. Raises BadInput if there is no such run, or if the ids of
    several runs begin with `name`."""
    if name == "":  # probably an unset variable in a script: refuse it instead of picking the newest run
        raise BadInput("the run's id is empty", then="`trued ls` lists the runs")
    if name is not None:
        return store.journal.run(name)
    runs = store.journal.runs()
    if len(runs) == 1:
        return runs[0]
    repository = top_of(Path.cwd()) if runs else None
    if matches := [run for run in runs if repository and Path(run.repository).resolve() == repository]:
        return matches[0]
    if not runs:
        raise BadInput("there is no run yet", then="start one with `trued run`, or watch `trued demo`")
    raise BadInput("this folder's repository has no run", then="pass a run's id; `trued ls --all` lists all runs")


def check_writable(path: Path | None, flag: str) -> None:
    """Raise BadInput, before any work, if the file's folder does not exist or the path is itself a folder."""
    if path is None:
        return
    if not path.absolute().parent.is_dir():
        raise BadInput(f"there is no folder {path.absolute().parent}", flag, "create it, or choose another")
    if path.is_dir():
        raise BadInput(f"{path} is a folder", flag, "pass a file name")


def branch_tip(record: RunRecord) -> str:
    """The commit of the run's branch in the user's repository; "" if there is no branch."""
    wanted = f"refs/heads/{record.branch}^{{commit}}"
    return (ask_git(record.repository, "rev-parse", "--verify", "--quiet", wanted) or b"").decode().strip()


def newest(record: RunRecord, tip: str | None = None) -> str:
    """The run's newest commit; "" before its first commit.

    It is the tip of the run's branch if the tip descends from the recorded head; otherwise it is the recorded head. The
    tip can be newer, because a killed engine may not have recorded its last commit. `tip`: the tip, if the caller knows
    it.
    """
    tip = branch_tip(record) if tip is None else tip
    known = record.head or record.base
    if tip in ("", record.base, known):
        return record.head
    is_ancestor = ask_git(record.repository, "merge-base", "--is-ancestor", known, tip) is not None
    return tip if is_ancestor else record.head


def is_over(store: "RunStore", record: RunRecord) -> bool:
    """Whether the run has ended, or waits for people and has no work left for agents. Only then may held-out cases be
    shown."""
    ended = record.state == "waiting" and store.final_verdict(record.id) is not None
    if record.has_ended or not ended:
        return record.has_ended
    return not store.unprocessed_approvals(record.id) and not store.is_halted_at_work(record.id)


def run_ledger(store: "RunStore", record: RunRecord) -> dict[str, Any]:
    """The run's requirements with grades and reasons, for people and for --json."""
    from trued.reporting.views.ledger import ledger  # imported here, because most commands show no requirement

    return ledger(store.verdict(record.id), store.contract(record.id), over=is_over(store, record))


def run_completions(incomplete: str) -> list[tuple[str, str]]:
    """Run ids for the shell's completion, newest first."""
    with open_store() as store:
        runs = [run for run in store.journal.runs() if run.id.startswith(incomplete)][:SHOWN]
        return [(run.id, f"{run.state}: {run.title}") for run in all_as_seen(runs, store.journal)]


RunName = Annotated[
    str | None,
    typer.Argument(
        metavar="[RUN]",
        help="The run's id, or the beginning of it. Default: the only run, or this repository's newest.",
        autocompletion=run_completions,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
