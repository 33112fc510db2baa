"""The commands `ls`, `show`, `watch`, `logs`, `diff` and `report`. Modules that only one command needs are imported
inside that command."""

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from trued.cli.context import (
    AsJson,
    RunName,
    check_writable,
    newest,
    open_store,
    run_ledger,
    runs_of,
    selected_run,
    top_of,
)
from trued.cli.format import GRADE_COLOURS, STATE_COLOURS, ago, line, local_time, spent
from trued.cli.terminal import as_json as one_line
from trued.cli.terminal import err, exit_on_interrupt, hint, out, print_json
from trued.errors import BadInput
from trued.model import Event, RunRecord
from trued.reporting.views.run_rows import all_as_seen, as_seen, run_row
from trued.support.money import least_certain
from trued.support.plain_text import plain
from trued.support.plurals import counted, few
from trued.support.token_count import token_count
from trued.support.user_git import ask_git

if TYPE_CHECKING:
    from rich.text import Text

    from trued.engine.run_store import RunStore
    from trued.wire import Spend

app = typer.Typer(rich_markup_mode=None)

ROWS = 60  # at most this many rows of a tree are printed by `show`; the others are counted
POLL_S = 0.3
LISTED = 50  # unless --limit says otherwise, `ls` prints this many of the newest runs; the others are counted
QUEUED = 3  # for each reason to wait, `ls` names at most this many queued runs
QUEUE_S = 2.0  # seconds between two looks at why a watched run waits in its queue


@app.command()
def ls(
    every: Annotated[bool, typer.Option("--all", help="List the runs of every repository.")] = False,
    most: Annotated[
        int,
        typer.Option(
            "--limit",
            min=0,
            metavar="N",
            help="Print the N newest runs, and older ones that are at work or wait for you; 0 prints all.",
        ),
    ] = LISTED,
    as_json: AsJson = False,
) -> None:
    """List this repository's runs, newest first; outside a repository, all runs. --json ignores --limit."""
    from trued.engine.pending import waits
    from trued.reporting.views.history import estimated_calls

    repository = None if every else top_of(Path.cwd())
    with open_store() as store:
        journal, used = store.journal, defaultdict[str, "list[Spend]"](list)
        landed, to_decide = journal.landed(), journal.runs_to_decide()
        for name, spend in journal.spends_of_runs_since(0.0):
            used[name].append(spend)
        estimated = estimated_calls(journal.answers_since(0.0))
        rows = [
            {
                **run_row(run, landed.get(run.id, ())),
                "waits": len(waits(store, run, to_decide)),
                **_usage(used[run.id], estimated.get(run.id, ())),
            }
            for run in all_as_seen(runs_of(store, repository), journal)
        ]
    if as_json:
        print_json(rows)
    elif rows:
        _print_runs(rows, most or len(rows))
    else:
        others = "" if repository is None else "; `trued ls --all` lists those of other repositories"
        err().print(f"no runs here yet{others}; `trued demo` shows one", soft_wrap=True)


def _usage(rows: "Sequence[Spend]", estimated: Container[str]) -> dict[str, Any]:
    """What a run has used so far: dollars (reported, computed or a ceiling) and tokens. `estimated`: the keys of the
    calls whose tokens are an estimate."""
    cost = least_certain(row.cost for row in rows if row.spent.usd)
    usd, used = sum(row.spent.usd for row in rows), sum(row.spent.tokens for row in rows)
    is_estimate = any(row.spent.tokens and row.step in estimated for row in rows)
    return {"cost_usd": round(usd, 6), "cost": cost, "tokens": used, "tokens_estimated": is_estimate}


def _print_runs(every: list[dict[str, Any]], most: int) -> None:
    """Print the `most` newest runs, and older ones that are at work or wait for a person; count the others."""
    from rich.text import Text

    rows = [row for position, row in enumerate(every) if position < most or row["waits"] or row["state"] == "running"]
    console, columns = out(), ("id", "workflow", "state", "grade", "cost", "tokens")
    shown = [
        {
            "cost": spent(row["cost_usd"], row["cost"]),
            "tokens": token_count(row["tokens"], estimated=row["tokens_estimated"]) if row["tokens"] else "",
        }
        for row in rows
    ]
    rows = [{**row, **more} for row, more in zip(rows, shown, strict=True)]
    rows = [{**row, "word": "landed" if row["landed"] else row["state"]} for row in rows]
    rows = [{**row, "state": f"{row['word']} ({row['waits']})" if row["waits"] else row["word"]} for row in rows]
    width = {name: max(len(name), *(len(row[name]) for row in rows)) + 2 for name in columns}
    console.print(Text("".join(f"{name:<{width[name]}}" for name in columns) + f"{'when':<12}title", "dim"))
    for row in rows:
        styles = {
            "id": "bold",
            "state": STATE_COLOURS.get(row["word"], "yellow"),
            "grade": GRADE_COLOURS.get(row["grade"], ""),
        }
        cells = [(f"{row[name]:<{width[name]}}", styles.get(name, "")) for name in columns]
        console.print(Text.assemble(*cells, f"{ago(row['updated_at']):<12}{line(row['title'], 60)}"), soft_wrap=True)
    if any(row["waits"] for row in rows):
        hint("(n) = things that wait for you; trued show RUN lists them")
    if more := len(every) - len(rows):
        hint(f"{counted(more, 'older run')} not listed; add `--limit 0` to list all")
    for why in dict.fromkeys(row["queued"] for row in every if row["queued"]):
        same = [row["id"] for row in every if row["queued"] == why]
        hint(f"{few(same, QUEUED)}: {line(why, 300)}")


@app.command()
def show(
    run: RunName = None,
    full: Annotated[bool, typer.Option("--all", help="Print every row.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one run: calls and checks, tokens, cost, and what it waits for."""
    from rich.text import Text

    from trued.cli.summary import advise, run_as_json, used_lines
    from trued.cli.tree import footer, header, scope_lines
    from trued.reporting.views.progress import Progress

    with open_store() as store:
        record = selected_run(store, run)
        if as_json:
            print_json(run_as_json(store, record))
            return
        seen = Progress(store.journal.events(record.id, lean=True), record.workflow)
        console = out()
        console.print(header(record.id, seen), soft_wrap=True)
        lines = [
            text
            for scope, names in seen.scopes.items()
            for text in scope_lines(
                scope,
                [seen.rows[name] for name in names],
                seen.last,
                accept=seen.accept,
                called=seen.names.get(scope, ""),
            )
        ]
        for text in _shorten(lines, full=full):
            console.print(text, soft_wrap=True)
        now = as_seen(record, store.journal)
        state, ledger_data = now.state, run_ledger(store, record)
        if state != "running":  # an approval changes a grade, but no event of a check records the new grade
            seen.grades.update({row["id"]: row["grade"] for row in ledger_data["requirements"]})
        for text in footer(seen, time.time() if state == "running" else seen.last, at_work=state == "running"):
            console.print(text, soft_wrap=True)
        for text in used_lines(store, record):
            console.print(text, soft_wrap=True)
        landed = f", {line(seen.landed_text)}" if seen.landed_text else ""
        colour = STATE_COLOURS.get(state, "yellow")
        console.print(Text.assemble("state ", (state, colour), f", grade {record.grade}{landed}"), soft_wrap=True)
        if state == "queued":
            hint(line(now.why, 600))
        advise(store, record, ledger_data)


def _shorten(lines: "list[Text]", *, full: bool) -> "Iterator[Text]":
    """Leave out the middle of a long tree, and keep more lines of its end than of its beginning: people look there."""
    from rich.text import Text

    if full or len(lines) <= ROWS:
        yield from lines
        return
    yield from lines[: ROWS // 4]
    yield Text(f"… {counted(len(lines) - ROWS, 'line')} left out; `trued show --all` prints them …", style="dim")
    yield from lines[-(ROWS - ROWS // 4) :]


@app.command()
def logs(
    run: RunName = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Keep printing until the run ends.")] = False,
    call: Annotated[str, typer.Option(metavar="KEY", help="Show this call's transcript.", show_default=False)] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Show a run's events, one a line, or the transcript of one call."""
    with open_store() as store:
        record = selected_run(store, run)
        lines = _transcript(store, record, call, follow) if call else _events(store, record, follow)
        for row, text in lines:
            print(one_line(row) if as_json else plain(text), flush=follow)


@app.command()
def watch(run: RunName = None, as_json: AsJson = False) -> None:
    """Watch a run that another terminal drives: the same tree, until the run ends or halts.

    Exits with the run's own exit code. Ctrl-C ends only the watching (exit code 130). A run that no process drives is
    shown as it is. With --json the run is printed when it has ended, as by `trued show --json`.
    """
    with open_store() as store:
        watch_run(store, selected_run(store, run), as_json=as_json)


def watch_run(store: "RunStore", record: RunRecord, *, as_json: bool) -> NoReturn:
    """Show the run until it is neither driven nor queued; then exit with the run's exit code, or with 130 if the run
    was interrupted."""
    from trued.cli.live import Lines, LiveTree
    from trued.cli.summary import print_end, run_as_json
    from trued.cli.terminal import is_plain_output

    screen = Lines(record.workflow) if is_plain_output() or as_json else LiveTree(record.id)
    screen.follow(record.id, store.folder(record.id))
    interrupted = f"no longer watching; the run continues: trued watch {record.id}"
    with exit_on_interrupt(interrupted), screen if not as_json else nullcontext():
        warn = hint if as_json else screen.print_sentence
        for event in _stored_events(store, record, follow=True, lean=True, warn=warn):
            if not as_json:
                screen.listen(event)
    record = store.journal.run(record.id)
    if as_json:
        print_json(run_as_json(store, record))
    else:
        print_end(store, record, as_json=False)
    raise typer.Exit(130 if as_seen(record, store.journal).state == "interrupted" else record.code)


def _stored_events(
    store: "RunStore",
    record: RunRecord,
    *,
    follow: bool,
    lean: bool = False,
    warn: Callable[[str], None] | None = None,
) -> Iterator[Event]:
    """A run's events in order. With `follow`, also new events, as long as a process drives the run or the run is in a
    worker's queue. While it waits in the queue, `warn` is called with each new reason for waiting."""
    last, due, printed = 0, time.monotonic() + QUEUE_S, ""
    while True:
        if warn and time.monotonic() >= due:
            due, why = time.monotonic() + QUEUE_S, store.journal.queued(record.id).get(record.id, "")
            if why and why != printed:
                warn(line(why, 600))
            printed = why
        # The driver is read before the events. If the driver ends in between, its last events are still read.
        driven = store.journal.driver(record.id)
        for event in store.journal.events(record.id, last, lean=lean):
            last = event.id
            yield event
        if not follow or not driven:
            return
        time.sleep(POLL_S)


def _events(store: "RunStore", record: RunRecord, follow: bool) -> Iterator[tuple[dict[str, Any], str]]:
    from trued.cli.event_lines import event_line
    from trued.workflows.view import view_of

    view = view_of(record.workflow)
    for event in _stored_events(store, record, follow=follow):
        yield event.model_dump(mode="json"), event_line(event, view)


def _transcript(store: "RunStore", record: RunRecord, name: str, follow: bool) -> Iterator[tuple[dict[str, Any], str]]:
    from trued.agents.spool.call_folder import attempts_of, read_events_from

    key, spool = _call_named(store, record, name), store.folder(record.id) / "spool"
    read: dict[Path, int] = {}  # an attempt's file → how many of its bytes have been read
    while True:
        done = not follow or not store.journal.driver(record.id) or _is_answered(store, record, key)
        for number, path in attempts_of(spool, key):
            rows, read[path] = read_events_from(path, read.get(path, 0))
            for row in rows:
                yield {"call": key, "attempt": number, **row}, _transcript_line(row)
        if done:
            return
        time.sleep(POLL_S)


def _is_answered(store: "RunStore", record: RunRecord, key: str) -> bool:
    """Whether the call has ended for good, that is, the journal has its answer as a step."""
    return store.journal.step(record.id, key) is not None


def _call_named(store: "RunStore", record: RunRecord, name: str) -> str:
    """The key of the one call whose key is `name` or contains it; raises BadInput if there is not exactly one."""
    from trued.model.events.call import CallAsked

    events = store.journal.events_of_kind(record.id, CallAsked.KIND, lean=True)
    keys = list(dict.fromkeys(event.key for event in events))
    fitting = [key for key in keys if key == name] or [key for key in keys if name in key]
    if len(fitting) == 1:
        return fitting[0]
    number = len(fitting) or "no"
    raise BadInput(
        f"{number} calls of {record.id} have {name!r} in their key", then=f"its calls: {'; '.join(keys) or 'none yet'}"
    )


def _transcript_line(row: dict[str, Any]) -> str:
    from trued.reporting.html.format import facts_line

    rest = {name: value for name, value in row.items() if name not in ("at", "kind")}
    return f"{local_time(float(row.get('at', 0)))} {row.get('kind')}: {facts_line(rest)}"


@app.command()
def diff(
    run: RunName = None,
    stat: Annotated[bool, typer.Option("--stat", help="List files and line counts only.")] = False,
) -> None:
    """Show what the run changed: its base against its newest commit. Files that the engine owns come last."""
    with open_store() as store:
        record = selected_run(store, run)
        record = record.model_copy(update={"head": newest(record)})
        if record.head in ("", record.base):
            err().print(f"{record.id} has changed nothing yet")
            return
        text = _stored_diff(store, record, stat=stat)
        if text is None and store.travel(record):  # the commit was made on another machine: fetch it
            import asyncio

            asyncio.run(store.workspace(record, store.inputs(record.id)).store.begin(record.base))
            text = _stored_diff(store, record, stat=stat)
    if text is None:
        raise BadInput(
            f"cannot find commit {record.head[:10]} of run {record.id}",
            then="check whether the run's repository has moved",
        )
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(text)
        return
    from rich.text import Text

    from trued.support.visible_text import visible_lines  # imported here, because only a diff at a terminal needs it

    console = out()
    for diff_line in visible_lines(text.decode("utf-8", "replace")).removesuffix("\n").split("\n"):
        console.print(Text(diff_line, _colour(diff_line)), soft_wrap=True)


def _stored_diff(store: "RunStore", record: RunRecord, *, stat: bool) -> bytes | None:
    """The diff from any repository on this machine that has the commits; None if no repository has them."""
    places, owned = (
        [Path(record.repository), *sorted((store.home / "stores").glob("*.git"))],
        store.owned_files(record.id),
    )
    return next(
        (text for repository in places if (text := _diff(repository, record, owned, stat=stat)) is not None), None
    )


def _diff(repository: Path, record: RunRecord, owned: tuple[str, ...], *, stat: bool) -> bytes | None:
    """The diff of the work, then the diff of the files that the engine owns. None if git fails, for example because the
    repository lacks the commits."""
    options = ["--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", *(["--stat"] if stat else [])]
    logs = [f":(top,literal){path}" for path in owned]
    parts = [[]] if stat or not logs else [[f":(top,exclude,literal){path}" for path in owned], logs]
    diffs = [ask_git(repository, "diff", *options, record.base, record.head, "--", *paths) for paths in parts]
    return None if None in diffs else b"".join(filter(None, diffs))


def _colour(text: str) -> str:
    if text.startswith(("diff ", "+++", "---", "index ")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(text[:1], "")


@app.command()
def report(
    run: RunName = None,
    path: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The file to write.", show_default="in the state folder"),
    ] = None,
    show_it: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write the whole run as one self-contained HTML file: timeline, ledger, transcripts, tokens and cost.

    Without --output the file goes to the run's folder in the private state, not into your working tree.
    """
    from trued.reporting.html import write

    check_writable(path, "--output")
    with open_store() as store:
        record = selected_run(store, run)
        written = write(store, record.id, path)
    print(written)
    if show_it:
        _open(written)


def _open(file: Path) -> None:
    """Open the file with the desktop's default program. Raises BadInput if no such program is installed."""
    from trued.cli.browser import find_opener, open_file  # imported here, because only `report --open` needs it

    opener = find_opener()
    if opener is None:
        raise BadInput(
            "no program that opens web pages is installed", "--open", f"open it yourself: {file.resolve().as_uri()}"
        )
    open_file(opener, file.resolve())
