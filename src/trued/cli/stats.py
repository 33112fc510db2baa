"""The command `stats`: what runs cost, what they achieved, and how often an agent's *done* was false."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from trued.cli.context import AsJson, open_store, top_of
from trued.cli.format import line, spent, tokens
from trued.cli.terminal import err, home, out, print_json
from trued.errors import BadInput
from trued.support.plurals import counted

if TYPE_CHECKING:
    from trued.reporting.views.stats import Total

app = typer.Typer(rich_markup_mode=None)

HEAD = ("runs proven", "requirements met", "done was false", "used", "cost", "met per $")


@app.command()
def stats(
    every: Annotated[bool, typer.Option("--all", help="The runs of every repository.")] = False,
    repo: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The runs of this repository.", show_default="this folder's")
    ] = None,
    workflow: Annotated[
        str, typer.Option("-w", "--workflow", help="Only runs of this workflow.", show_default=False)
    ] = "",
    agent: Annotated[
        str, typer.Option(metavar="AGENT", help="Only what this agent did: claude, or codex:MODEL.", show_default=False)
    ] = "",
    role: Annotated[str, typer.Option(metavar="ROLE", help="Only what this role did.", show_default=False)] = "",
    begin: Annotated[
        str,
        typer.Option(
            "--since", metavar="TIME", help="Only runs since this time: 30d, 8w, 2026-11-01.", show_default=False
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Add up runs by week, agent, role and workflow: proven runs, met requirements, false claims, tokens, cost.

    "done was false" counts calls whose agent said that the work was good although the engine's next check failed.
    --json adds every run, and every recorded verification.
    """
    from trued.engine.verification_log import VerificationLog
    from trued.reporting.views.history import history
    from trued.reporting.views.stats import HistoryFilter, add_up, since

    repository = None if every else top_of(repo or Path.cwd())
    if repo is not None and repository is None:
        raise BadInput(f"{repo} is not in a git repository", then="pass another with --repo, or use --all")
    wanted = HistoryFilter(str(repository or ""), workflow, agent, role, since(begin, time.time()))
    with open_store() as store:
        figures = add_up(history(store, wanted))
    # a verification has no workflow, agent or role: if one of these filters is set, no verification is listed
    of_all = not (workflow or agent or role)
    verified = [
        record for record in VerificationLog(home()).records(repository) if of_all and record.at >= wanted.since
    ]
    if as_json:
        print_json({**figures.data, "verifications": [record.model_dump(mode="json") for record in verified]})
        return
    if verified:
        passed = sum(record.code == 0 for record in verified)
        out().print(f"{counted(len(verified), 'verification')}, {passed} with every requirement met", soft_wrap=True)
    if not figures.total.runs:
        others = "" if repository is None else "; `trued stats --all` adds up those of other repositories"
        err().print(f"no such runs{others}" if workflow or agent or role or begin else f"no runs here yet{others}")
        return
    console = out()
    groups = (
        ("week", figures.weeks),
        ("agent", figures.agents),
        ("role", figures.roles),
        ("workflow", figures.workflows),
        ("", [figures.total]),
    )
    for title, rows_of in groups:
        table = [[title, *HEAD], *map(_cells, rows_of)]
        widths = [max(len(row[column]) for row in table) + 2 for column in range(len(table[0]))]
        for number, row in enumerate(table):
            text = "".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            console.print(Text(text, "dim" if number == 0 else ""), soft_wrap=True)
    console.print(f"{counted(figures.total.calls, 'call')} in {counted(figures.total.runs, 'run')}", soft_wrap=True)


def _cells(total: "Total") -> list[str]:
    per = f"{total.met_per_usd:g}" if total.met_per_usd is not None else ""
    used = tokens(total.tokens, estimated=total.has_estimated_tokens)
    proven, met = f"{total.proven}/{total.runs}", f"{total.met}/{total.requirements}"
    return [line(total.name, 40), proven, met, false_claims(total), used, spent(total.usd, total.cost), per]


def false_claims(total: "Total") -> str:
    """The share of false claims, such as `3/40 (8%)`; "" if no call claimed to be done."""
    return f"{total.fell}/{total.claims} ({total.false_share:.0%})" if total.false_share is not None else ""
