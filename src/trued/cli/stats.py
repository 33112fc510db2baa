"""The command `stats`: what runs cost, and what came of it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from trued.cli.context import AsJson, opened, runs_of, top_of
from trued.cli.format import counted, line, money, tokens
from trued.cli.terminal import err, home, out, print_json

app = typer.Typer(rich_markup_mode=None)


@app.command()
def stats(
    every: Annotated[bool, typer.Option("--all", help="The runs of every repository.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add up this repository's runs by week, agent and role: proven runs, met requirements, tokens, cost.

    With --json also every verification that is on record here.
    """
    from trued.engine.verification_log import VerificationLog
    from trued.reporting.views.stats import RunFacts, Total, add_up

    here = None if every else top_of(Path.cwd())
    with opened() as store:
        runs = runs_of(store, here)
        facts = []
        for one in runs:
            verdict = store.verdict(one.id)
            rows = verdict.requirements if verdict else ()
            met = sum(row.grade.is_met() for row in rows)
            facts.append(RunFacts(one, met, len(rows), store.journal.spends(one.id)))
    found, verified = add_up(facts), VerificationLog(home()).records(here)
    if as_json:
        print_json({**found.data, "verifications": [one.model_dump(mode="json") for one in verified]})
        return
    if verified:
        passed = sum(one.code == 0 for one in verified)
        out().print(f"{counted(len(verified), 'verification')}, {passed} with every requirement met", soft_wrap=True)
    if not runs:
        others = "" if here is None else "; `trued stats --all` adds up those of other repositories"
        err().print(f"no runs here yet{others}", soft_wrap=True)
        return

    def cells(one: Total) -> list[str]:
        per = f"{one.met_per_usd:g}" if one.met_per_usd is not None else ""
        spent = money(one.usd, "computed" if one.is_estimated else "")
        used = tokens(one.tokens, estimated=False)
        return [line(one.name, 40), f"{one.proven}/{one.runs}", f"{one.met}/{one.requirements}", used, spent, per]

    console = out()
    for title, rows_of in (("week", found.weeks), ("agent", found.agents), ("role", found.roles), ("", [found.total])):
        table = [[title, "runs proven", "requirements met", "used", "cost", "met per $"], *map(cells, rows_of)]
        widths = [max(len(row[place]) for row in table) + 2 for place in range(len(table[0]))]
        for number, row in enumerate(table):
            text = "".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            console.print(Text(text, "dim" if number == 0 else ""), soft_wrap=True)
    console.print(f"{counted(found.total.calls, 'call')} in {counted(found.total.runs, 'run')}", soft_wrap=True)
