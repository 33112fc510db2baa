"""The commands `run`, `resume` and `cancel`."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from trued.cli.concurrent import drive_all
from trued.cli.context import AsJson, RunName, open_store, run_completions, runs_of, selected_run, top_of
from trued.cli.format import line
from trued.cli.live import Lines, LiveTree, Screen
from trued.cli.look import watch_run
from trued.cli.notify import users_notifier
from trued.cli.options import AgentOptions, SafetyOptions, StartOptions, WorkOptions, YesOption, is_file, take_options
from trued.cli.page import page_beside
from trued.cli.summary import print_end
from trued.cli.terminal import (
    exit_on_interrupt,
    hint,
    is_interactive,
    is_plain_output,
    outside_agents,
    print_json,
    read_line,
    whoami,
)
from trued.engine.concurrent_runs import resume_runs, start_runs
from trued.engine.engine import Engine
from trued.engine.inputs import Inputs, Request
from trued.engine.journals.opening import load_hub
from trued.engine.resume_from_branch import ForgottenRun, find_forgotten_run
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.inputs.settings.folders import user_config
from trued.inputs.settings.limits import LimitChange, parse_limits
from trued.inputs.settings.loader import load_settings
from trued.model import Event, RunRecord
from trued.workflows.descriptor import Input
from trued.workflows.registry import default_workflow

app = typer.Typer(rich_markup_mode=None)


@app.command()
@take_options
def run(
    *,
    goals: Annotated[
        list[str],
        typer.Argument(
            metavar="GOAL|FILE|TICKET…",
            help="A goal in words, or a plan, ticket, specification or feature list. Several tickets can be given.",
        ),
    ],
    workflow: Annotated[
        str | None,
        typer.Option(
            "-w",
            "--workflow",
            help="purple (for a plan), ticket, handoff (for a specification), solo (for free text), pipeline or team.",
            show_default="chosen by the input",
        ),
    ] = None,
    requirements: Annotated[
        Path | None,
        typer.Option(help="Your requirements file, with your own checks. Keep it outside the repository."),
    ] = None,
    agents: AgentOptions,
    work: WorkOptions,
    safety: SafetyOptions,
    start: StartOptions,
    as_json: AsJson = False,
) -> None:
    """Let agents work on a goal or a plan until it is proven, or report exactly what is not.

    The run starts from HEAD and works on its own branch, trued/RUN. Your working tree is not touched.
    """
    outside_agents("run")
    request = partial(
        Request,
        repository=start.repo,
        workflow=workflow,
        requirements=requirements,
        flags={**agents.settings(), **work.settings(), **safety.settings()},
        trust=safety.trust,
        branch=start.branch,
        base=start.base,
    )
    if start.on:
        _start_in_queue(start.on, [request(goal=goal) for goal in goals], as_json=as_json)
    with page_beside(start.page):
        if len(goals) > 1:
            requests = [request(goal=goal) for goal in goals]
            drive_all(lambda engine: start_runs(engine, requests), as_json=as_json, notify=start.notify)
        opening = None if workflow else partial(_choice_sentence, goals[0])
        drive(
            lambda engine: engine.start(request(goal=goals[0])), as_json=as_json, opening=opening, notify=start.notify
        )


@app.command()
def resume(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN…]",
            help="Run ids or prefixes of them. Default: this repository's newest unfinished run.",
            autocompletion=run_completions,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Continue all unfinished runs of this repository.")] = False,
    yes: YesOption = False,
    wait: Annotated[
        bool | None,
        typer.Option(
            "--wait/--no-wait",
            help="At a provider's rate limit: wait, or end the run.",
            show_default="as the run was started",
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT=AMOUNT", help="A higher limit for this run: usd=10, feature:usd=5, task:usd=2, ROLE:calls=9."
        ),
    ] = None,
    rounds: Annotated[
        int,
        typer.Option(
            metavar="N", help="For a run that ended not proven: N more rounds for what failed.", show_default=False
        ),
    ] = 0,
    reopen: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Open this failed task, story or feature again, and continue with it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Continue a run. Finished calls are not made again; calls still in progress are adopted.

    A run that ended not proven may need --rounds, --reopen or an edited file (such as backlog.md): `trued show` says
    what the run needs.
    """
    outside_agents("resume")
    more = parse_limits(limit or [])
    with open_store() as store:
        several = list(dict.fromkeys(runs or [])) if len(runs or []) > 1 else []
        named = unfinished(store) if every else [selected_run(store, run_id).id for run_id in several]
        if named and reopen:
            raise BadInput("--reopen is for one run", then="pass only that run")
        queues = {run_id: queue for run_id in named if (queue := store.journal.queue_of(run_id))}
        if queues:
            _refuse_options_of_driver(next(iter(queues)), yes=yes, wait=wait)
        for run_id, queue in queues.items():
            _put_again(store, run_id, more=more, rounds=rounds)
            hint(f"{run_id} is in the queue {queue}: trued watch {run_id}")
        if named and not (named := [run_id for run_id in named if run_id not in queues]):
            if as_json:
                print_json([store.journal.run(run_id).model_dump(mode="json") for run_id in queues])
            raise typer.Exit(0)
    if named:
        drive_all(
            lambda engine: resume_runs(
                engine,
                named,
                lambda run_id: engine.resume(run_id, yes=yes, wait=wait, more=more, rounds=rounds, who=whoami()),
            ),
            as_json=as_json,
        )
    run = runs[0] if runs else None
    if forgotten := _lost_run(run):
        drive(
            lambda engine: engine.start(_continuation_request(forgotten, yes=yes, wait=wait, limit=limit)),
            as_json=as_json,
        )
    with open_store() as store:
        record = selected_run(store, run) if run is not None else newest_unfinished(store, "resume")
        if queue := store.journal.queue_of(record.id):
            _refuse_options_of_driver(record.id, yes=yes, wait=wait)
            _put_again(store, record.id, more=more, rounds=rounds, reopened=reopen or ())
            hint(f"{record.id} is in the queue {queue}; Ctrl-C ends only the watching")
            watch_run(store, record, as_json=as_json)
        before = tuple(store.journal.events(record.id))
    screen = Lines() if is_plain_output() else LiveTree(record.id, before)
    drive(
        lambda engine: engine.resume(
            record.id, yes=yes, wait=wait, more=more, rounds=rounds, who=whoami(), reopened=reopen or ()
        ),
        screen=screen,
        as_json=as_json,
    )


def _refuse_options_of_driver(run_id: str, *, yes: bool, wait: bool | None) -> None:
    """Refuse --yes and --wait for a run of a worker: a worker uses the options that the run was started with."""
    if yes or wait is not None:
        what = f"workers drive run {run_id} with the options that it was started with"
        raise BadInput(what, then="leave out --yes and --wait; `trued answer` answers its questions")


def _put_again(
    store: RunStore,
    run_id: str,
    *,
    more: Sequence[LimitChange],
    rounds: int,
    reopened: Sequence[str] = (),
) -> None:
    """Record a person's additions to a run, and put the run into its queue again, so that a worker continues it."""
    Engine(store).record_additions(run_id, more=more, rounds=rounds, who=whoami(), reopened=reopened)
    store.journal.put(run_id)


def _start_in_queue(queue: str, requests: Sequence[Request], *, as_json: bool) -> NoReturn:
    """Record these runs and put them into a queue for workers; then watch a single run, or list several."""
    with open_store() as store:
        engine = Engine(store)
        ready = [asyncio.run(engine.ready(request)) for request in requests]
        if store.hub:
            for inputs, _ in ready:
                check_workers_of_queue(store.hub, queue, inputs)
        records = [engine.begin(inputs, repository, queue=queue)[0] for inputs, repository in ready]
        for record in records:
            asyncio.run(engine.send(record))
            store.journal.put(record.id)
        if len(records) > 1 and as_json:
            print_json([record.model_dump(mode="json") for record in records])
        for record in records:
            hint(f"{record.id} is in the queue {queue}: trued watch {record.id}")
        if len(records) > 1:
            raise typer.Exit(0)
        watch_run(store, records[0], as_json=as_json)


def check_workers_of_queue(hub: str, queue: str, inputs: Inputs) -> None:
    """Refuse a queue that has never had a worker; print a hint if no running worker can take this run."""
    module = load_hub("workers")
    with module.opened_workers(hub) as workers:
        joined = [worker for worker in workers.stored() if worker.queue == queue]
    if not joined:
        raise BadInput(f"the queue {queue} has no worker", "--on", "`trued worker ls` lists the workers")
    missing = [module.what_is_missing(worker, inputs, inputs.level) for worker in joined if worker.state != "dead"]
    if not missing:
        hint(f"no worker of the queue {queue} is running now: the run waits for one")
    elif all(missing):
        hint(f"no worker of the queue {queue} has {missing[0]}: the run waits for one that has it")


def newest_unfinished(store: RunStore, verb: str) -> RunRecord:
    """This repository's newest unfinished run; outside a repository, the only unfinished run on this machine. Raises
    BadInput if there is none or, outside a repository, more than one. `verb`: the command, for the error's text."""
    repository = top_of(Path.cwd())
    runs = runs_of(store, repository)
    open_runs = [record for record in runs if not record.has_ended]
    if open_runs and (repository is not None or len(open_runs) == 1):
        return open_runs[0]
    if open_runs:
        raise BadInput("several runs are unfinished, and this folder is not in a repository", then=f"trued {verb} RUN")
    newest = f"; the newest run, {runs[0].id}, is {runs[0].state}" if runs else ""
    raise BadInput(
        f"there is no run to {verb} here{newest}", then="`trued ls` lists the runs, `trued ls --all` those elsewhere"
    )


def _confirm_cancel(record: RunRecord) -> None:
    """Ask before ending a run that the user did not name. Raises BadInput without a terminal, or if the user
    declines."""
    if not is_interactive():
        raise BadInput("the run to cancel is not named", then=f"trued cancel {record.id} ({line(record.title, 60)})")
    answer = asyncio.run(read_line(f"Cancel {record.id} ({line(record.title, 60)}) for good? yes / no: "))
    if (answer or "").lower() not in ("y", "yes"):
        raise BadInput(f"run {record.id} was not cancelled", then=f"`trued show {record.id}` shows its state")


def unfinished(store: RunStore) -> list[str]:
    """Ids of this repository's unfinished runs that no process drives, oldest first. Raises BadInput if there is no
    such run."""
    runs = runs_of(store, repository) if (repository := top_of(Path.cwd())) else []
    drivers = store.journal.drivers()
    named = [record.id for record in runs if not record.has_ended and not drivers.get(record.id)]
    if not named:
        raise BadInput("this repository has no run to resume", then="`trued ls` lists its runs")
    return list(reversed(named))


def _lost_run(run: str | None) -> ForgottenRun | None:
    """What the branch of a lost run records about the run; None if the journal still has the run, or if this repository
    has no branch of that run."""
    repository = top_of(Path.cwd()) if run else None
    if not run or repository is None:
        return None
    with open_store() as store:
        return None if any(record.id == run for record in store.journal.runs()) else find_forgotten_run(repository, run)


def _continuation_request(forgotten: ForgottenRun, *, yes: bool, wait: bool | None, limit: list[str] | None) -> Request:
    """The request for a new run that continues a lost run from its branch. The new run seals the contract again, proves
    everything again, and builds only what is missing. Raises BadInput if the specification is not in the repository."""
    repository = top_of(Path.cwd()) or Path.cwd()
    file = repository / forgotten.specification
    if not forgotten.specification or not file.is_file():
        what = f"the run's private state is lost, and the specification that {forgotten.branch} names is not here"
        raise BadInput(
            what, forgotten.specification, f"continue with: trued run SPECIFICATION --from {forgotten.branch}"
        )
    sources = f"{forgotten.branch} and {forgotten.specification}"
    hint(f"the run's private state is lost: continuing from {sources}; everything will be checked again")
    hint(f"to choose agents or requirements: trued run {forgotten.specification} --from {forgotten.branch} …")
    flags: dict[str, Any] = {"yes": yes or None, "wait": wait, "limits": limit or None}
    return Request(
        goal=str(file), repository=repository, workflow=forgotten.workflow, flags=flags, branch=forgotten.branch
    )


@app.command()
def cancel(run: RunName = None, as_json: AsJson = False) -> None:
    """End a run for good: stop its agents; its work stays on its branch."""
    outside_agents("cancel")
    with open_store() as store:
        named = selected_run(store, run) if run is not None else newest_unfinished(store, "cancel")
        if run is None:
            _confirm_cancel(named)
        record = asyncio.run(Engine(store).cancel(named.id))
        print_end(store, record, as_json=as_json)
    raise typer.Exit(0 if record.state == "cancelled" else record.code)


def drive(
    work: Callable[[Engine], Coroutine[Any, Any, RunRecord]],
    *,
    screen: Screen | None = None,
    as_json: bool = False,
    opening: Callable[[RunRecord], str] | None = None,
    notify: bool | None = None,
) -> None:
    """Drive a run with a live screen, print how it ended, and exit with its code.

    `opening` makes a sentence that is printed when the run has begun; a run that is refused prints only its error.
    `notify`: None means the user's settings.
    """
    screen = screen or (Lines() if is_plain_output() else LiveTree())
    openings = [opening] if opening else []
    interrupted = "interrupted, nothing is lost; continue with `trued resume` (`trued ls` lists the runs)"
    with (
        open_store() as store,
        closing(users_notifier(store, notify)) as notifier,
        exit_on_interrupt(interrupted),
    ):

        def listen(record: RunRecord, event: Event) -> None:
            screen.follow(record.id, store.folder(record.id))
            while openings:
                screen.print_sentence(openings.pop()(record))
            screen.listen(event)
            notifier.notify_of(record, event)

        store.listen = listen
        with screen:
            record = asyncio.run(work(Engine(store, person=screen.ask)))
        print_end(store, record, as_json=as_json)
    raise typer.Exit(record.code)


def _choice_sentence(goal: str, record: RunRecord) -> str:
    """The sentence that names the chosen workflow and how to choose another one. "" if the settings name a workflow, or
    if the goal is neither a file nor built by the default workflow for words."""
    settings = load_settings({}, os.environ, Path(record.repository), user_config(os.environ))
    if "workflow" in settings.model_fields_set:
        return ""
    for_words, plan = default_workflow(Input.WORDS), default_workflow(Input.PLAN)
    if is_file(goal):
        return f"{goal}: using {record.workflow}; -w NAME chooses another workflow"
    if record.workflow == for_words.name:
        advice = f"With a plan, {plan.name} lets a second agent check each chunk"
        return f"using {for_words.name}: one agent builds it. {advice}"
    return ""
