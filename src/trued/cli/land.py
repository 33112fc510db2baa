"""The command `land`: merges a finished run, or opens a pull request for it."""

import asyncio
from typing import Annotated, Any

import typer
from rich.text import Text

from trued.cli.context import AsJson, RunName, open_store, selected_run
from trued.cli.format import line
from trued.cli.live import Lines
from trued.cli.summary import ledger_lines
from trued.cli.terminal import err, hint, out, outside_agents, print_json, whoami
from trued.engine.landing.land import MERGED
from trued.engine.landing.land import land as land_run
from trued.engine.landing.records import LandingRequest, LandingResult
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.model import Grade, RunRecord, Verdict
from trued.reporting.views.ledger import ledger
from trued.support.plurals import few

MOST_NAMED = 6  # a sentence names at most this many requirements

app = typer.Typer(rich_markup_mode=None)


@app.command()
def land(  # noqa: PLR0913  a flag is a parameter
    run: RunName = None,
    onto: Annotated[
        str,
        typer.Option(
            metavar="BRANCH", help="The branch to merge into.", show_default="the branch that the run began on"
        ),
    ] = "",
    ff: Annotated[bool, typer.Option("--ff", help="Fast-forward only.")] = False,
    merge: Annotated[bool, typer.Option("--merge", help="Make a merge commit, which is proven again.")] = False,
    pr: Annotated[
        bool, typer.Option("--pr", help="Push the run's branch and open or update its pull request.")
    ] = False,
    draft: Annotated[
        bool,
        typer.Option(
            "--draft", help="Open a draft pull request, even for work that is not proven (its title says so)."
        ),
    ] = False,
    agree: Annotated[
        str,
        typer.Option(
            metavar="DIGEST",
            help="Agree to the run's changes to settings, roles, hooks and CI; `land` shows their digest.",
            show_default=False,
        ),
    ] = "",
    carry: Annotated[
        bool, typer.Option("--carry", help="Carry your manual approvals over to the rebased commit.")
    ] = False,
    commit: Annotated[
        str,
        typer.Option(metavar="SHA", help="Land only if this is the run's newest commit.", show_default=False),
    ] = "",
    through: Annotated[
        str,
        typer.Option(
            metavar="CHUNK",
            help="With purple: land only the plan's chunks up to this one, proven again without the rest.",
            show_default=False,
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Merge a finished run into your branch, or open a pull request. Only proven work lands.

    If your branch has moved, the work is rebased and proven again before anything changes.
    """
    outside_agents("land")
    if sum((ff, merge, pr or draft)) > 1:
        raise BadInput("--ff, --merge and --pr (or --draft) cannot be combined", then="choose one of them")
    if through and (pr or draft):
        raise BadInput(
            f"--through and {'--pr' if pr else '--draft'} cannot be combined",
            then="drop --through: a pull request offers the whole run",
        )
    with open_store() as store:
        record = selected_run(store, run)
    way = "ff" if ff else "merge" if merge else "pr" if pr or draft else ""
    wanted = LandingRequest.model_validate(
        {
            "onto": onto,
            "way": way,
            "draft": draft,
            "agree": agree.strip().lower(),
            "carry": carry,
            "through": through,
            "who": whoami(),
            "commit": commit,
        }
    )
    raise typer.Exit(_land_and_print(record, wanted, as_json=as_json))


def _land_and_print(record: RunRecord, wanted: LandingRequest, *, as_json: bool) -> int:
    screen = Lines()
    with open_store() as store:
        store.listen = lambda _, event: screen.listen(event)
        try:
            landing = asyncio.run(land_run(store, record.id, wanted, screen.ask))
            if as_json:
                print_json(data(landing))
            else:
                _print_landing(store, record, landing, whole=not wanted.through)
        except KeyboardInterrupt:
            hint("interrupted; nothing is half done: run the same command again to continue")
            return 130
    return landing.code


def data(landing: LandingResult) -> dict[str, Any]:
    """The output of `land --json`."""
    result = landing.model_dump(mode="json", exclude={"verdict"})
    judged = ledger(landing.verdict, None, over=True) if landing.verdict else None
    return {**result, "verdict": judged}


def _print_landing(store: RunStore, record: RunRecord, landing: LandingResult, *, whole: bool) -> None:
    for path, kind in landing.asks.items():
        err().print(Text(f"this run changes {line(path)} ({kind})", "bold yellow"), soft_wrap=True)
    if landing.verdict and not landing.landed:
        ledger_data = ledger(landing.verdict, None, over=True)
        ledger_lines(record, ledger_data, "on the new base", accept=store.inputs(record.id).settings.accept)
    for message in landing.said:
        err().print(Text(line(message), "yellow"), soft_wrap=True)
    if landing.landed:
        out().print(Text(landing_sentence(landing)), soft_wrap=True)
        if not landing.url:
            hint(branch_hint(record, landing, whole=whole))
            another = landing.commit != record.head
            receipt = f"trued receipt {record.id}{' --landed' if another else ''}"
            hint(f"`{receipt}` writes the verdict as a file that others can check")
        return
    err().print(Text.assemble(("not landed: ", "bold red"), line(landing.why)), soft_wrap=True)
    if landing.then:
        hint(line(landing.then))


def branch_hint(record: RunRecord, landing: LandingResult, *, whole: bool) -> str:
    """The sentence that says how to remove the run's branch, or why to keep it. `whole`: all of the work has landed. If
    only a part has landed, the branch is kept. After a rebase, the sentence says `git branch -D`: git would refuse -d,
    because the landed commit does not contain the branch's commit."""
    if not whole and landing.commit != record.head:
        return "the run's branch is kept: the rest of the work is only there"
    contained = landing.commit == record.head or landing.how == MERGED
    return f"the run's branch is kept; `git branch {'-d' if contained else '-D'} {record.branch}` removes it"


def landing_sentence(landing: LandingResult) -> str:
    """Where the work landed, and what was checked on the new commit; or which pull request offers the work."""
    if landing.url:
        return f"{landing.run} is offered as a pull request: {line(landing.url)}"
    again = f", {_checked_again(landing.verdict)}" if landing.verdict else ""
    return f"{landing.run} is on {line(landing.onto)} at {landing.commit[:10]} ({landing.how}{again})"


def _checked_again(verdict: Verdict) -> str:
    """Whether the new commit was proven or checked again, and which approvals of the run were carried over to it."""
    approved = [judged.id for judged in verdict.requirements if judged.grade is Grade.ATTESTED]
    others = [judged for judged in verdict.requirements if judged.grade is not Grade.ATTESTED]
    again = "proven again" if all(judged.grade is Grade.PROVEN for judged in others) else "checked again"
    carried = f"approval carried over for {line(few(approved, MOST_NAMED))}" if approved else ""
    return ", ".join(filter(None, (again if others else "not proven again", carried)))
