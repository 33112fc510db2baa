"""The commands `run`, `resume` and `cancel`."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from trued.cli.concurrent import drive_all
from trued.cli.context import AsJson, RunName, chosen, completed, opened, top_of
from trued.cli.live import Lines, Screen, Tree
from trued.cli.summary import conclude
from trued.cli.terminal import hint, home, is_plain_output, outside_agents, whoami
from trued.engine.concurrent_runs import resume as resume_several
from trued.engine.concurrent_runs import start as start_several
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.resume_from_branch import Unknown, unknown
from trued.engine.run_store import FINISHED, RunStore
from trued.errors import BadInput
from trued.inputs.settings.limits import changes
from trued.model import RunRecord

app = typer.Typer(rich_markup_mode=None)


@app.command()
def run(  # noqa: PLR0913  a flag is a parameter
    goals: Annotated[
        list[str],
        typer.Argument(
            metavar="GOAL|FILE|TICKET…",
            help="A plan, a ticket, a specification, a feature list, or the goal in words; several tickets at once.",
        ),
    ],
    workflow: Annotated[
        str | None,
        typer.Option(
            "-w",
            "--workflow",
            help="purple (for a plan), ticket, handoff (for a specification), solo (for words), pipeline or team.",
            show_default="chosen by the input",
        ),
    ] = None,
    requirements: Annotated[
        Path | None,
        typer.Option(help="Your requirements file, with your own checks. Keep it outside the repository."),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ROLE=]AGENT",
            help="The agent for all roles or one: claude, codex:MODEL, command:PROGRAM ARGS, …; see `trued agents`.",
            show_default="the installed agents",
        ),
    ] = None,
    login: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[AGENT=]HOW", help="How agents may log in: auto, key, subscription or none.", show_default="auto"
        ),
    ] = None,
    prompts: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="For actions outside a role's tools: policy refuses, ask asks you.",
            show_default="policy",
        ),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=NAME", help="Use another role file for a role; see `trued roles`."),
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Most rounds of a pair for one chunk.", show_default="3")] = None,
    cap: Annotated[int | None, typer.Option(help="Most agents working at the same time.", show_default="4")] = None,
    parallel: Annotated[int | None, typer.Option(help="With team: most tasks at once.", show_default="1")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Continue after each chunk without asking. Approves nothing.")
    ] = False,
    accept: Annotated[
        str | None,
        typer.Option(
            metavar="GRADE", help="The lowest grade that counts as met: tested, examined.", show_default="attested"
        ),
    ] = None,
    wait: Annotated[
        bool | None,
        typer.Option("--wait/--no-wait", help="At a provider's rate limit: wait, or end the run.", show_default="wait"),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="WHAT=AMOUNT", help="Limit what the run may use: usd=5, tokens=2M, calls=20, time=2h."),
    ] = None,
    plan_only: Annotated[bool, typer.Option("--plan-only", help="Seal and show the contract; start no work.")] = False,
    draft: Annotated[
        bool, typer.Option("--draft", help="With ticket: open a draft pull request for work that is not proven.")
    ] = False,
    sandbox: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="auto, bubblewrap, landlock or none.", show_default="auto")
    ] = None,
    allow_unsandboxed: Annotated[
        bool, typer.Option("--allow-unsandboxed", help="Run agents and checks even if no sandbox works.")
    ] = False,
    trust: Annotated[
        str,
        typer.Option(
            metavar="DIGEST", help="Trust this repository: the digest from `trued trust`.", show_default=False
        ),
    ] = "",
    branch: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="BRANCH",
            help="With handoff: continue from this branch of an earlier run; HEAD starts again.",
            show_default=False,
        ),
    ] = "",
    base: Annotated[
        str,
        typer.Option(
            metavar="COMMIT",
            help="With --from: the commit of yours that the branch began at, if git cannot tell.",
            show_default=False,
        ),
    ] = "",
    repo: Annotated[Path, typer.Option(metavar="DIR", help="The repository.", show_default="this folder")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Let agents work on a goal or a plan until it is proven, or report exactly what is not.

    The run starts from HEAD and works on its own branch, trued/RUN. Your working tree is not touched.
    """
    outside_agents("run")
    flags: dict[str, Any] = {
        "agents": agents(agent or []),
        "login": logins(login or []),
        "prompts": prompts,
        "roles": chosen_roles(role or []),
        "rounds": rounds,
        "cap": cap,
        "parallel": parallel,
        "yes": yes or None,
        "accept": accept,
        "wait": wait,
        "limits": limit or None,
        "plan_only": plan_only or None,
        "draft": draft or None,
        "sandbox": sandbox,
        "allow_unsandboxed": allow_unsandboxed or None,
    }
    request = partial(
        Request,
        repository=repo,
        workflow=workflow,
        requirements=requirements,
        flags=flags,
        trust=trust,
        branch=branch,
        base=base,
    )
    if len(goals) > 1:
        requests = [request(goal=goal) for goal in goals]
        drive_all(lambda engine: start_several(engine, requests), as_json=as_json)
    _advise(goals[0], workflow)
    drive(lambda engine: engine.start(request(goal=goals[0])), as_json=as_json)


@app.command()
def resume(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN…]",
            help="Run ids or their beginnings; else this repository's newest run.",
            autocompletion=completed,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All unfinished runs of this repository.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Continue after each chunk without asking.")] = False,
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
    as_json: AsJson = False,
) -> None:
    """Continue a run. Finished calls are not made again; calls still in progress are adopted."""
    outside_agents("resume")
    more = changes(limit or [])
    with opened() as store:
        named = unfinished(store) if every else [store.journal.run(one).id for one in runs or [] if len(runs or []) > 1]
    if named:
        drive_all(
            lambda engine: resume_several(
                engine, named, lambda one: engine.resume(one, yes=yes, wait=wait, more=more, who=whoami())
            ),
            as_json=as_json,
        )
    run = runs[0] if runs else None
    if left := _only_left(run):
        drive(lambda engine: engine.start(_from(left, yes=yes, wait=wait, limit=limit)), as_json=as_json)
    with opened() as store:
        record = chosen(store, run)
        before = tuple(store.journal.events(record.id))
    screen = Lines() if is_plain_output() else Tree(record.id, before)
    drive(
        lambda engine: engine.resume(record.id, yes=yes, wait=wait, more=more, who=whoami()),
        screen=screen,
        as_json=as_json,
    )


def unfinished(store: RunStore) -> list[str]:
    """Ids of this repository's unfinished runs that no process drives, oldest first."""
    here = top_of(Path.cwd())
    found = [one for one in store.journal.runs() if here and Path(one.repository).resolve() == here]
    named = [one.id for one in found if one.state not in FINISHED and not store.journal.driver(one.id)]
    if not named:
        raise BadInput("this repository has no run to resume", then="`trued ls` lists its runs")
    return list(reversed(named))


def _only_left(run: str | None) -> Unknown | None:
    """The run's branch, if the journal does not know the run but this repository still has its branch."""
    here = top_of(Path.cwd()) if run else None
    if not run or here is None:
        return None
    with opened() as store:
        return None if any(one.id == run for one in store.journal.runs()) else unknown(here, run)


def _from(left: Unknown, *, yes: bool, wait: bool | None, limit: list[str] | None) -> Request:
    """A request that continues a lost run from its branch: sealed and proven again, only missing work is built."""
    here = top_of(Path.cwd()) or Path.cwd()
    file = here / left.specification
    if not left.specification or not file.is_file():
        what = f"only the branch {left.branch} is left of that run, and its specification is missing"
        raise BadInput(what, left.specification, f"pass it: trued run SPECIFICATION --from {left.branch}")
    hint(f"the run's private state is lost: continuing from {left.branch} and {left.specification}, proving all again")
    hint(f"to choose agents or requirements: trued run {left.specification} --from {left.branch} …")
    flags: dict[str, Any] = {"yes": yes or None, "wait": wait, "limits": limit or None}
    return Request(goal=str(file), repository=here, workflow=left.workflow, flags=flags, branch=left.branch)


@app.command()
def cancel(run: RunName = None, as_json: AsJson = False) -> None:
    """End a run for good: stop its agents; its work stays on its branch."""
    outside_agents("cancel")
    with opened() as store:
        record = asyncio.run(Engine(store).cancel(chosen(store, run).id))
        conclude(store, record, as_json=as_json)
    raise typer.Exit(0 if record.state == "cancelled" else record.code)


def drive(
    work: Callable[[Engine], Awaitable[RunRecord]], *, screen: Screen | None = None, as_json: bool = False
) -> None:
    """Drive a run with a live screen, print how it ended, and exit with its code."""
    eyes = screen or (Lines() if is_plain_output() else Tree())
    store = RunStore(home(), os.environ, listen=lambda _, event: eyes.listen(event))
    try:
        with eyes:
            record = asyncio.run(_awaited(work(Engine(store, person=eyes.ask))))
        conclude(store, record, as_json=as_json)
    except KeyboardInterrupt:
        hint("interrupted, nothing is lost; continue with `trued resume` (`trued ls` lists the runs)")
        raise typer.Exit(130) from None
    finally:
        store.close()
    raise typer.Exit(record.code)


async def _awaited(work: Awaitable[RunRecord]) -> RunRecord:
    return await work


def agents(given: list[str]) -> dict[str, str]:
    """`--agent` as role → agent; `*` stands for all others."""
    chosen_agents: dict[str, str] = {}
    for one in given:
        role, _, named = one.partition("=")
        role, named = (role, named) if re.fullmatch(r"[\w.-]+", role) and named else ("*", one)
        chosen_agents[role] = _absolute(named)
    return chosen_agents


def chosen_roles(given: list[str]) -> dict[str, str]:
    """`--role` as role of the workflow → name of a role file."""
    pairs = [one.partition("=") for one in given]
    for (role, _, name), one in zip(pairs, given, strict=True):
        if not (role.strip() and name.strip()):
            raise BadInput(f"{one!r} is not ROLE=NAME", "--role", "write purple-team-b=my-reviewer")
    return {role.strip(): name.strip() for role, _, name in pairs}


def logins(given: list[str]) -> dict[str, str]:
    """`--login` as agent → how; `*` stands for all others."""
    pairs = [one.rpartition("=") for one in given]
    return {agent if equals else "*": how for agent, equals, how in pairs}


def _absolute(agent: str) -> str:
    """A scripted agent with an absolute path: its process runs in another folder."""
    kind, _, where = agent.partition(":")
    if kind != "scripted":
        return agent
    file, mark, name = where.partition("#")
    try:
        path = Path(file).expanduser().absolute()
    except RuntimeError:
        raise BadInput(f"cannot expand {file}", "--agent", "write the whole path") from None
    if not path.is_file():
        raise BadInput(f"there is no script {file}", "--agent", "pass a Python file with a function for each role")
    return f"scripted:{path}{mark}{name}"


def _advise(goal: str, workflow: str | None) -> None:
    """Print what the person may want to know before the run starts."""
    if workflow is None and not _is_file(goal):
        hint("using solo: one agent, one pass. With a plan file, purple lets a second agent check each chunk")


def _is_file(goal: str) -> bool:
    try:
        return Path(goal).is_file()
    except (OSError, ValueError):
        return False
