"""The commands by which a person steers a running run: `comment` and `limit`."""

from typing import Annotated, Any

import typer
from rich.text import Text

from trued.cli.context import AsJson, open_store, selected_run
from trued.cli.format import line
from trued.cli.terminal import hint, out, outside_agents, print_json, whoami
from trued.engine.limits import LimitStep, change_limits, limits_in_force
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.inputs.settings.limits import PARTS, QUOTA, WHAT, parse_limits
from trued.model import Comment, Limit, RunRecord

app = typer.Typer(rich_markup_mode=None)


@app.command()
def comment(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN] [TEXT]", show_default=False, help="The run, and what you want to say."),
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            metavar="ROLE|CALL", help="Who gets the comment: a role, or a call in progress.", show_default="every role"
        ),
    ] = "",
    now: Annotated[
        bool,
        typer.Option("--now", help="Stop the call; it continues at once, in the same session, with your comment."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Give a comment to the agents of a run while it works. Without a text: list the comments and who got them.

    The comment goes into the next brief. With --now, a running call is stopped and continues with the comment. Its work
    is kept, what it has used counts, and the stop does not count as an attempt. The journal records your name. No
    comment can raise a grade.
    """
    from trued.engine.comments import record_comment

    parts = arguments or []
    if len(parts) > 2:
        raise BadInput("the text has to be one argument", then='trued comment RUN "what you want to say"')
    with open_store() as store:
        is_run = len(parts) == 1 and any(run.id == parts[0] for run in store.journal.runs())
        record = selected_run(store, parts[0] if is_run or len(parts) == 2 else None)
        if not parts or is_run:
            if to or now:
                raise BadInput("the text is missing", then=f'trued comment {record.id} "what you want to say"')
            comments, driven = store.journal.comments(record.id), True
        else:
            outside_agents("comment")
            comments = [record_comment(store, record, parts[-1], who=whoami(), to=to, now=now)]
            driven = bool(store.journal.driver(record.id))
    if as_json:
        print_json([entry.model_dump(mode="json") for entry in comments])
        return
    for entry in comments:
        out().print(Text(_comment_line(entry)), soft_wrap=True)
    if not comments:
        hint(f'no comments yet: trued comment {record.id} "…"')
    if not driven:
        hint(f"the agents get it when the run continues: trued resume {record.id}")


def _comment_line(comment: Comment) -> str:
    whom = f" ({comment.stops} is stopped)" if comment.stops and not comment.given else ""
    receivers = "; ".join(dict.fromkeys(delivery.call for delivery in comment.given)) or "nobody yet"
    head = f"{comment.id}. {line(comment.who)} to {line(comment.to) or 'every role'}{whom}"
    return f"{head}: {line(comment.text)} [given to: {line(receivers)}]"


@app.command()
def limit(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN] [WHAT=AMOUNT]...",
            show_default=False,
            help="The run, and its new limits: usd=5, tokens=2M, calls=20, time=2h, quota=90 (%), ROLE:calls=9.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Raise or lower limits of a run, even while it works; without a limit, show those in force.

    A working run applies the new limits before its next call. A call in progress keeps what it has reserved.
    The journal records your name.
    """
    assignments = [argument for argument in arguments or () if "=" in argument]
    names = [argument for argument in arguments or () if "=" not in argument]
    with open_store() as store:
        record = selected_run(store, names[0] if names else None)
        steps: list[LimitStep] = []
        if assignments:
            outside_agents("limit")
            steps = change_limits(store, record, parse_limits(assignments, "limit"), whoami())
        rows, driven = _rows(store, record), bool(store.journal.driver(record.id))
    if as_json:
        changed = [{**step.model_dump(), "raised": step.is_higher} for step in steps]
        print_json({"run": record.id, "limits": rows, "changed": changed})
        return
    for step in steps:
        before = f"{step.before:,g}" if step.before else "no limit"
        out().print(Text(f"{record.id}: {_limit_name(step.scope, step.what)}: {before} → {step.to:,g}"), soft_wrap=True)
    for row in () if assignments else rows:
        out().print(Text(f"{_limit_name(row['scope'], row['what'])} {row['limit']:,g}"), soft_wrap=True)
    if not assignments and not rows:
        hint(f"run {record.id} has no limit; set one: trued limit {record.id} usd=5")
    elif assignments:
        hint("it applies from the next call on" if driven else f"it applies when you resume: trued resume {record.id}")


def _limit_name(scope: str, what: str) -> str:
    return line(f"{scope}:{what}" if scope else what)


def _rows(store: RunStore, record: RunRecord) -> list[dict[str, Any]]:
    """Every limit in force: its scope, what it limits, and the amount."""
    limits = limits_in_force(store, record.id)
    parts: dict[str, Limit] = {"": limits, **{name: getattr(limits, name) for name in PARTS}, **limits.roles}
    rows = [
        {"scope": scope, "what": what, "limit": most}
        for scope, part in parts.items()
        for what in WHAT
        if (most := getattr(part, what))
    ]
    return [*rows, *([{"scope": "", "what": QUOTA, "limit": limits.quota}] if limits.quota else [])]
