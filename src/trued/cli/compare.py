"""The command `compare`: runs one goal with several workflows or agents, or compares existing runs, in a table."""

import asyncio
import re
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
from trued.cli.terminal import ask_person, complain, err, hint, is_plain_output, outside_agents, print_json
from trued.engine.compare import Variant, begin_comparison, drive_comparison, prepare_variants
from trued.engine.comparisons import FEWEST, ComparedRun, Comparison, comparisons, find_comparison, unique_names
from trued.engine.concurrent_runs import RunEnds, worst_exit_code
from trued.engine.engine import Engine
from trued.engine.inputs import Request
from trued.engine.run_store import RunStore
from trued.errors import BadInput, TruedError
from trued.model import Event, PersonAnswer, Question, RunRecord
from trued.reporting.html import write_comparison
from trued.reporting.html.format import agent_name
from trued.reporting.views.comparison import of
from trued.support.plurals import counted
from trued.workflows.descriptor import Input
from trued.workflows.registry import default_workflow, descriptors

app = typer.Typer(rich_markup_mode=None)

ShowComparison: TypeAlias = Callable[[RunStore, Comparison], None]

NAMED = 24  # maximum length of the run's name that begins each line
_NEXT = re.compile(r";\s+(?=[\w.-]+=)")  # separates ROLE=AGENT pairs; AGENT may be a command line that contains ";"


@dataclass(frozen=True)
class OutputOptions:
    """Where the table of a comparison goes."""

    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write one HTML file.")] = None
    as_json: AsJson = False

    def show(self, store: RunStore, comparison: Comparison) -> None:
        data = of(store, comparison)
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
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GOAL|FILE|TICKET | COMPARISON | RUN RUN…]",
            help="A goal to run; or an existing comparison or runs, to print their table again without an agent.",
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
            help="Run all at the same time, sharing the cap on agents (wall times are then not comparable).",
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
        there = _existing_comparison(store, words or [])
        if there and (ways.workflow or ways.cast):
            option = "-w" if ways.workflow else "--with"
            raise BadInput("there is no goal to work on", option, "pass a plan, or the goal in words")
        if there and not resume:
            output.show(store, there)
            return
    outside_agents("compare")
    if there:
        _drive(lambda engine: there, output.show, yes=common.yes)
    if resume:
        raise BadInput(
            "there is no such comparison to resume", "--resume", "pass its id: trued compare COMPARISON --resume"
        )
    goal = (words or [""])[0]
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
    """One variant for each workflow with each choice of agents."""
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


def _existing_comparison(store: RunStore, words: Sequence[str]) -> Comparison | None:
    """The comparison that the command's arguments (`words`) name: by its id, or as two or more runs. Without arguments,
    this repository's newest comparison. None if the only argument is a goal to run."""
    if not words:
        return _newest_comparison(store)
    if len(words) > 1:
        return _comparison_of_runs(store, words)
    (word,) = words
    if is_file(word):
        return None
    if (found := find_comparison(store, word)) is not None:
        return found
    if any(one.id == word for one in store.journal.runs()):
        raise BadInput("a comparison needs two runs", then=f"name a second run; `trued show {word}` shows this one")
    return None


def _newest_comparison(store: RunStore) -> Comparison:
    here = top_of(Path.cwd())
    found = [one for one in comparisons(store) if here and Path(one.repository).resolve() == here]
    if not found:
        raise BadInput(
            "this repository has no comparison yet", then="start with: trued compare PLAN.md -w purple -w solo"
        )
    return found[0]


def _comparison_of_runs(store: RunStore, words: Sequence[str]) -> Comparison:
    runs = {one.id: one for one in store.journal.runs()}
    for word in words:
        if not word or not any(one.startswith(word) for one in runs):
            then = "`trued ls` lists the runs; put quotation marks around a goal in words"
            raise BadInput(f"there is no run {line(word, 80)!r}", then=then)
    records = {one.id: one for one in (store.journal.run(word) for word in words)}
    if len(records) < FEWEST:
        raise BadInput("a comparison needs two runs", then="name a second run")
    names = unique_names(one.workflow for one in records.values())
    entered = tuple(ComparedRun(name=name, run=run) for name, run in zip(names, records, strict=True))
    return Comparison(id="", repository="", at=0.0, runs=entered)


def _workflows(goal: str, named: Sequence[str], casts: Sequence[str]) -> list[str | None]:
    """The workflows to run: the named ones; if only agents (`casts`) are named, the default workflow. If neither is
    named, the default workflow and the baseline. None stands for the default workflow of the input."""
    if named or casts:
        return list(named) or [None]
    baseline = next(one.name for one in descriptors() if one.is_baseline)
    # A goal in words gets the default workflow of a plan, because its own default may be the baseline itself.
    in_words = not is_file(goal) and " " in goal.strip()
    return [default_workflow(Input.PLAN).name if in_words else None, baseline]


def _casts(casts: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    if names and len(names) != len(casts):
        what = f"{counted(len(names), 'name')} for {counted(len(casts), 'agent')}"
        raise BadInput(what, "--as", "give each --with a name: --with codex:gpt-5-mini --as cheap")
    return list(zip(casts, names or [""] * len(casts), strict=True)) or [("", "")]


def _parts(cast: str) -> list[str]:
    return [one.strip() for one in _NEXT.split(cast)] if cast.strip() else []


def _agents_text(cast: str) -> str:
    chosen = parse_agents(_parts(cast))
    return ", ".join(agent_name(one) if role == "*" else f"{role}={agent_name(one)}" for role, one in chosen.items())


# -- screen ------------------------------------------------------------------------------------------------------------


class ComparedSideBySide(SideBySide):
    """Plain lines, each prefixed by its run's name in the comparison."""

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
    """Drive the runs, print the table, and exit with the worst of their codes."""
    with open_store() as store, closing(OneAfterTheOther()) as turns:
        engine = Engine(store)
        try:
            comparison = make(engine)
            names = {one.run: one.name for one in comparison.runs}
            alone = not comparison.together and not is_plain_output()
            eyes: OneAfterTheOther | ComparedSideBySide = turns if alone else ComparedSideBySide(store, names)
            engine.person, store.listen = eyes.ask, eyes.show_event

            def turn(record: RunRecord) -> None:
                if alone:
                    turns.turn(store, names[record.id], record)

            _announce(store, comparison)
            ended = asyncio.run(drive_comparison(engine, comparison, partial(engine.resume, yes=yes), turn))
            turns.close()
            _conclude(store, comparison, ended, show)
        except KeyboardInterrupt:
            hint("interrupted, nothing is lost; continue with `trued compare --resume`")
            raise typer.Exit(130) from None
    raise typer.Exit(worst_exit_code(ended))


def _announce(store: RunStore, comparison: Comparison) -> None:
    runs = ", ".join(f"{line(one.name)} ({one.run})" for one in comparison.runs)
    base = store.journal.run(comparison.runs[0].run).base
    how = "side by side" if comparison.together else "one after the other"
    err().print(Text(f"{comparison.id or 'comparing'}: {runs}; {how}, from {base[:10]}"), soft_wrap=True)


def _conclude(store: RunStore, comparison: Comparison, ended: RunEnds, show: ShowComparison) -> None:
    for error in (one for one in ended if isinstance(one, TruedError)):
        complain(str(error))
    show(store, comparison)
    left = [one for one in comparison.runs if not store.journal.run(one.run).has_ended]
    named = f"{comparison.id} " if comparison.id else f"{' '.join(one.run for one in comparison.runs)} "
    if left:
        hint(f"continue with: trued compare {named}--resume; status: trued show {left[0].run}")
    else:
        hint(f"show this again: trued compare {named.rstrip()}; merge one of them: trued land RUN")
