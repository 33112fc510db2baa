"""The command `compare`: runs one goal with several workflows or agents, or compares existing runs, in a table."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.text import Text

from trued.cli.compare_table import print_table
from trued.cli.concurrent import SideBySide
from trued.cli.context import AsJson, check_writable, open_store, top_of
from trued.cli.format import line
from trued.cli.live import LiveTree
from trued.cli.options import ComparedOptions, RepositoryOption, VariantOptions, is_file, parse_agents, take_options
from trued.cli.terminal import (
    ask_person,
    complain,
    err,
    exit_on_interrupt,
    hint,
    is_plain_output,
    outside_agents,
    print_json,
)
from trued.engine.compare import Variant, begin_comparison, drive_comparison, prepare_variants
from trued.engine.comparisons import FEWEST, ComparedRun, Comparison, comparisons, find_comparison, unique_names
from trued.engine.concurrent_runs import EndedRuns, worst_exit_code
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.errors import BadInput, TruedError
from trued.model import Event, PersonAnswer, Question, RunRecord
from trued.reporting.html import write_comparison
from trued.reporting.html.format import agent_name
from trued.reporting.views.comparison import comparison_data
from trued.support.lazy_regex import lazy_regex
from trued.support.plurals import counted
from trued.workflows.descriptor import Input
from trued.workflows.registry import default_workflow, descriptors

app = typer.Typer(rich_markup_mode=None)

ShowComparison: TypeAlias = Callable[[RunStore, Comparison], None]

NAMED = 24  # maximum length of the run's name that begins each line
_NEXT = lazy_regex(r";\s+(?=[\w.-]+=)")  # separates ROLE=AGENT pairs; AGENT may be a command line that contains ";"


@dataclass(frozen=True)
class OutputOptions:
    """Where the table of a comparison goes."""

    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the comparison as one HTML file.")] = (
        None
    )
    as_json: AsJson = False

    def show(self, store: RunStore, comparison: Comparison) -> None:
        data = comparison_data(store, comparison)
        if self.report:
            err().print(str(write_comparison(data, self.report)), soft_wrap=True)
        if self.as_json:
            print_json(data)
        else:
            print_table(data)


@app.command()
@take_options
def compare(
    *,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GOAL|FILE|TICKET | COMPARISON | RUN RUN…]",
            help="A goal to run. With an existing comparison, or several existing runs, only their table is printed, "
            "and no agent is started.",
            show_default="this repository's newest comparison",
        ),
    ] = None,
    ways: VariantOptions,
    requirements: Annotated[
        Path | None,
        typer.Option(help="Use this requirements file for every run. Without it each run seals its own contract."),
    ] = None,
    together: Annotated[
        bool,
        typer.Option(
            "--together",
            help="Run all variants at the same time. They share the cap on agents, so wall times cannot be compared.",
        ),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the runs of a comparison.")] = False,
    common: ComparedOptions,
    repo: RepositoryOption = Path(),
    output: OutputOptions,
) -> None:
    """Run the same goal with two or more workflows or agents from the same commit, and print one table.

    Each variant is an ordinary run with its own branch: `trued ls`, `show`, `resume` and `land` work on it.
    """
    check_writable(output.report, "--report")
    with open_store() as store:
        existing = _existing_comparison(store, arguments or [])
        if existing and (ways.workflow or ways.cast):
            option = "-w" if ways.workflow else "--with"
            raise BadInput("there is no goal to work on", option, "pass a plan, or the goal in words")
        if existing and not resume:
            output.show(store, existing)
            return
    outside_agents("compare")
    if existing:
        _drive(lambda engine: existing, output.show, yes=common.yes)
    if resume:
        raise BadInput(
            "there is no such comparison to resume", "--resume", "pass its id: trued compare COMPARISON --resume"
        )
    goal = (arguments or [""])[0]
    request = partial(Request, goal=goal, repository=repo, requirements=requirements, trust=common.trust)
    variants = _variants(goal, ways, request, common.settings())
    _drive(
        lambda engine: begin_comparison(engine, prepare_variants(engine, variants), together=together),
        output.show,
        yes=common.yes,
    )


def _variants(
    goal: str, ways: VariantOptions, request: Callable[..., Request], settings: Mapping[str, Any]
) -> list[Variant]:
    """The variants to compare: each workflow with each choice of agents."""
    everywhere = parse_agents(ways.agent or ())
    return [
        Variant(
            request(workflow=workflow, flags={**settings, "agents": {**everywhere, **parse_agents(_parts(cast))}}),
            by=name or _agents_text(cast),
        )
        for workflow in _workflows(goal, ways.workflow or [], ways.cast or [])
        for cast, name in _casts(ways.cast or [], ways.called or [])
    ]


# -- input -------------------------------------------------------------------------------------------------------------


def _existing_comparison(store: RunStore, arguments: Sequence[str]) -> Comparison | None:
    """The comparison that the command's `arguments` name: by its id, or as two or more runs. Without arguments,
    this repository's newest comparison. None if the only argument is a goal to run. Raises BadInput for a single run,
    for an unknown run, and if this repository has no comparison yet."""
    if not arguments:
        return _newest_comparison(store)
    if len(arguments) > 1:
        return _comparison_of_runs(store, arguments)
    (word,) = arguments
    if is_file(word):
        return None
    if (comparison := find_comparison(store, word)) is not None:
        return comparison
    if any(run.id == word for run in store.journal.runs()):
        raise BadInput("a comparison needs two runs", then=f"pass a second run; `trued show {word}` shows this one")
    return None


def _newest_comparison(store: RunStore) -> Comparison:
    repository = top_of(Path.cwd())
    matches = [
        comparison
        for comparison in comparisons(store)
        if repository and Path(comparison.repository).resolve() == repository
    ]
    if not matches:
        raise BadInput(
            "this repository has no comparison yet", then="start with: trued compare PLAN.md -w purple -w solo"
        )
    return matches[0]


def _comparison_of_runs(store: RunStore, arguments: Sequence[str]) -> Comparison:
    runs = {record.id: record for record in store.journal.runs()}
    for word in arguments:
        if not word or not any(run_id.startswith(word) for run_id in runs):
            then = "`trued ls` lists the runs; put quotation marks around a goal in words"
            raise BadInput(f"there is no run {line(word, 80)!r}", then=then)
    records = {record.id: record for record in (store.journal.run(word) for word in arguments)}
    if len(records) < FEWEST:
        raise BadInput("a comparison needs two runs", then="pass a second run")
    names = unique_names(record.workflow for record in records.values())
    entered = tuple(ComparedRun(name=name, run=run) for name, run in zip(names, records, strict=True))
    return Comparison(id="", repository="", at=0.0, runs=entered)


def _workflows(goal: str, named: Sequence[str], casts: Sequence[str]) -> list[str | None]:
    """The workflows to run; None stands for the input's default workflow. If the user named workflows, these are
    `named`. If the user only named agents to compare (`casts`), the only workflow is None. Otherwise there are two:
    None (for a goal in words, the default workflow of a plan) and the baseline."""
    if named or casts:
        return list(named) or [None]
    baseline = next(workflow.name for workflow in descriptors() if workflow.is_baseline)
    # A goal in words gets the default workflow of a plan: the default for words may be the baseline itself.
    in_words = not is_file(goal) and " " in goal.strip()
    return [default_workflow(Input.PLAN).name if in_words else None, baseline]


def _casts(casts: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    if names and len(names) != len(casts):
        what = f"{counted(len(names), 'name')} for {counted(len(casts), 'agent')}"
        raise BadInput(what, "--as", "add a name for each --with: --with codex:gpt-5-mini --as cheap")
    return list(zip(casts, names or [""] * len(casts), strict=True)) or [("", "")]


def _parts(cast: str) -> list[str]:
    return [part.strip() for part in _NEXT.split(cast)] if cast.strip() else []


def _agents_text(cast: str) -> str:
    chosen = parse_agents(_parts(cast))
    return ", ".join(
        agent_name(agent) if role == "*" else f"{role}={agent_name(agent)}" for role, agent in chosen.items()
    )


# -- screen ------------------------------------------------------------------------------------------------------------


class ComparedSideBySide(SideBySide):
    """Prints one plain line for each event of any run. The line begins with the run's name in the comparison."""

    def __init__(self, store: RunStore, names: Mapping[str, str]) -> None:
        super().__init__(store)
        self._names = names

    def name_of(self, record: RunRecord) -> str:
        return line(self._names.get(record.id, record.id), NAMED)


class OneAfterTheOther:
    """Shows the live tree of one run at a time: the runs of a comparison work one after the other."""

    def __init__(self) -> None:
        self._tree: LiveTree | None = None
        self._run = ""

    def turn(self, store: RunStore, name: str, record: RunRecord) -> None:
        self.close()
        err().print(Text(f"\n{line(name)} ({record.id})", style="bold"))
        self._run, self._tree = record.id, LiveTree(record.id, tuple(store.journal.events(record.id)))
        self._tree.follow(record.id, store.folder(record.id))
        self._tree.__enter__()

    def show_event(self, record: RunRecord, event: Event) -> None:
        if self._tree and record.id == self._run:
            self._tree.listen(event)

    async def ask(self, question: Question) -> PersonAnswer | None:
        return await (self._tree.ask(question) if self._tree else ask_person(question))

    def close(self) -> None:
        if self._tree:
            self._tree.__exit__(None, None, None)
            self._tree = None


def _drive(make: Callable[[Engine], Comparison], show: ShowComparison, *, yes: bool) -> None:
    """Begin or find the comparison with `make`, drive its runs, show the table, and exit with the worst exit code of
    the runs."""
    interrupted = "interrupted, nothing is lost; continue with `trued compare --resume`"
    with open_store() as store, closing(OneAfterTheOther()) as turns, exit_on_interrupt(interrupted):
        engine = Engine(store)
        comparison = make(engine)
        names = {run.run: run.name for run in comparison.runs}
        alone = not comparison.together and not is_plain_output()
        screen: OneAfterTheOther | ComparedSideBySide = turns if alone else ComparedSideBySide(store, names)
        engine.person, store.listen = screen.ask, screen.show_event

        def turn(record: RunRecord) -> None:
            if alone:
                turns.turn(store, names[record.id], record)

        _announce(store, comparison)
        ended = asyncio.run(drive_comparison(engine, comparison, partial(engine.resume, yes=yes), turn))
        turns.close()
        _conclude(store, comparison, ended, show)
    raise typer.Exit(worst_exit_code(ended))


def _announce(store: RunStore, comparison: Comparison) -> None:
    runs = ", ".join(f"{line(entry.name)} ({entry.run})" for entry in comparison.runs)
    base = store.journal.run(comparison.runs[0].run).base
    how = "side by side" if comparison.together else "one after the other"
    err().print(Text(f"{comparison.id or 'comparing'}: {runs}; {how}, from {base[:10]}"), soft_wrap=True)


def _conclude(store: RunStore, comparison: Comparison, ended: EndedRuns, show: ShowComparison) -> None:
    for error in (end for end in ended if isinstance(end, TruedError)):
        complain(str(error))
    show(store, comparison)
    unfinished = [entry for entry in comparison.runs if not store.journal.run(entry.run).has_ended]
    named = f"{comparison.id} " if comparison.id else f"{' '.join(entry.run for entry in comparison.runs)} "
    if unfinished:
        hint(f"continue with: trued compare {named}--resume; status: trued show {unfinished[0].run}")
    else:
        hint(f"show this again: trued compare {named.rstrip()}; merge one of them: trued land RUN")
