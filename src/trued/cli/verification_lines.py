"""Prints a verification in the terminal: met requirements briefly, unmet ones in detail."""

import shlex
import textwrap
from typing import TYPE_CHECKING

from rich.console import Console
from rich.status import Status
from rich.text import Text

from trued.cli.end_screen import case_lines
from trued.cli.format import GRADE_COLOURS, line
from trued.cli.terminal import err, is_plain_output, out
from trued.model import Grade, Judged
from trued.reporting.views.verification import CheckedSides, Verification, reasons_sentence, short_source
from trued.support.plurals import counted, few

if TYPE_CHECKING:
    from trued.model.events import JournalEvent
    from trued.model.events.run import WorkingTreeDirty

CASES = 5  # at most this many failing cases of one check are shown; the others are counted
DETAIL = 240  # maximum length of the reason why a check run does not count, in characters
MANY = 15  # if there are more requirements than this, met ones are shown without their evidence
NAMES = 28  # maximum width of the column of ids
INDENT = " " * 14
OUTCOME_COLOURS = {"done": "bold green", "waiting": "bold yellow", "unjudged": "bold magenta"}


def verdict_lines(verification: Verification, name: str = "") -> None:
    """Print the verdict: each requirement with its grade, reasons and evidence, then notes and the command that repeats
    the verification."""
    console = out()
    rows = verification.verdict.requirements
    width = min(NAMES, max((len(line(row.id)) for row in rows), default=0))
    where = f"{line(name)}@" if name else ""
    _print_line(
        console,
        Text.assemble(
            ("verify ", "bold"),
            f"{where}{verification.verdict.commit[:12]}",
            (" against base ", "dim"),
            verification.contract.base[:12],
        ),
    )
    for row in rows:
        _print_requirement(console, verification, row, width)
    for suite in verification.verdict.suites:
        _print_suite(console, verification, suite)
    for finding in verification.verdict.remarks:
        _print_line(console, Text.assemble(("✗ ", "red"), line(finding.what)))
    if verification.suite_owner:
        _print_line(
            console,
            Text.assemble(("existing tests  ", "bold"), f"run by the check of {line(verification.suite_owner)}"),
        )
    for heading, notes in (("not checked", verification.unchecked), ("notes", verification.facts)):
        if notes:
            _print_line(console, Text(f"\n{heading}", "bold"))
        for note in notes:
            _print_wrapped(console, Text("  · ", "dim"), line(note, 600), "    ", "dim")
    _print_end(console, verification)


def _print_requirement(console: Console, verification: Verification, row: Judged, width: int) -> None:
    met = row.grade.is_met(verification.accept)
    mark, style = ("✓", "green") if met else ("✗", "red") if verification.has_failed(row) else ("○", "yellow")
    head = Text.assemble(
        (f"{mark} ", style), (f"{row.grade:<12}", GRADE_COLOURS[row.grade]), (f"{line(row.id):<{width}}  ", "bold")
    )
    _print_wrapped(console, head, line(reasons_sentence(row.why)), " " * (width + 16))
    if met and len(verification.verdict.requirements) > MANY:
        return
    checks = verification.checks(row)
    if not met:
        where = f"  {line(short_source(row.source))}" if row.source else ""
        _print_wrapped(console, Text(INDENT), f"“{line(row.text, 300)}”{where}", INDENT, "italic")
    shown = [f"{check.result_line}{', held out' if check.held_out else ''}" for check in checks]
    rests = verification.rests_on(row)
    if summary := " · ".join([*shown, *([f"rests on {line(rests)}"] if rests else [])]):
        _print_wrapped(console, Text(INDENT), summary, INDENT, "dim")
    for check in checks:
        _print_failing(console, check)


def _print_suite(console: Console, verification: Verification, suite: Judged) -> None:
    """Print the result of the existing tests, which have no grade: they pass or fail. A failing test that a requirement
    names refutes that requirement, not the existing tests."""
    checks = verification.checks(suite)
    has_failing = any(check.failing for check in checks)
    mark, style = ("✗", "red") if not suite.holds else ("○", "yellow") if has_failing else ("✓", "green")
    results = " · ".join(check.result_line for check in checks)
    text = results if suite.holds else f"{line(reasons_sentence(suite.why))} · {results}"
    text += " · a failing test is judged with the requirement that names it" if suite.holds and has_failing else ""
    _print_wrapped(console, Text.assemble((f"{mark} ", style), (f"{suite.id}  ", "bold")), text, INDENT)
    for check in checks if not suite.holds else ():
        _print_failing(console, check)


def _print_failing(console: Console, check: CheckedSides) -> None:
    if check.void:
        _print_wrapped(console, Text(INDENT), line(check.void, DETAIL), INDENT, "yellow")
    for tried in check.failing[:CASES]:
        for text in case_lines(check.failed_case(tried, brief=True), INDENT, console):
            _print_line(console, text)
    if len(check.failing) > CASES:
        _print_line(console, Text(f"{INDENT}… {len(check.failing) - CASES} more", "dim"))


def _print_end(console: Console, verification: Verification) -> None:
    conditions = [f"sandbox: {', '.join(verification.isolation) or 'not needed, nothing ran'}"]
    if any(check.kind == "examples" for row in verification.contract.requirements for check in row.checks):
        conditions.insert(0, line(verification.contract.visibility))
    _print_wrapped(console, Text("\n"), " · ".join(conditions), "", "dim")
    if verification.environment:
        _print_wrapped(console, Text(""), f"checks ran with {line('; '.join(verification.environment))}", "", "dim")
    if verification.bar:
        _print_line(console, Text(f"--accept {verification.accept}: {verification.bar}", "yellow"))
    state, _, rest = verification.headline.partition(":")
    _print_line(
        console, Text.assemble((state, OUTCOME_COLOURS.get(verification.outcome.state, "bold red")), f":{rest}")
    )
    if verification.reproduce:
        _print_line(console, Text.assemble(("reproduce: ", "dim"), verification.reproduce))


def _print_wrapped(console: Console, head: Text, text: str, indent: str, style: str = "") -> None:
    """Print `head` and `text`, with wrapped lines indented by `indent`; on a pipe all on one line."""
    if not console.is_terminal or console.width < len(indent) + 30:
        _print_line(console, head.copy().append(text, style))
        return
    room = console.width - len(indent) - 1
    parts = textwrap.wrap(text, room, break_on_hyphens=False, break_long_words=False, replace_whitespace=False) or [""]
    _print_line(console, head.copy().append(parts[0], style))
    for part in parts[1:]:
        _print_line(console, Text(indent).append(part, style))


def _print_line(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=True)


class VerifyProgress:
    """Shows on stderr what a verification is doing. On a terminal, one line keeps changing. Elsewhere, there is a line
    for each stage, and for each check that lacks something or whose run does not count."""

    def __init__(self) -> None:
        self._console = err()
        self._status: Status | None = None
        self._side = ""

    def __enter__(self) -> "VerifyProgress":
        if not is_plain_output():
            self._status = self._console.status("reading both commits")
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def show(self, event: "JournalEvent") -> None:
        """Show the progress that this event reports; ignore events of other kinds."""
        from trued.model.events import proof, run

        side = f"{self._side}: " if self._side else ""
        match event:
            case run.WorkingTreeDirty():
                self._warn(event)
            case proof.SealingStarted():
                self._side = f"base {event.base[:12]}"
                number = counted(event.requirements, "requirement")
                what = f"the checks of {number}" if event.requirements else "the existing tests"
                self._show_progress(f"running {what} on the {self._side}")
            case proof.ProvingStarted():
                self._side = f"head {event.head[:12]}"
                self._show_progress(f"running the checks on the {self._side}")
            case proof.EnvironmentBuilding():
                self._show_progress(f"installing packages for the checks: {line(', '.join(event.packages), 200)}")
            case proof.CheckSealed():
                lacks = f": {line('; '.join(event.lacks), 200)}" if event.lacks else ""
                self._show_progress(f"{side}{event.sort} done{lacks}", passing=not lacks)
            case proof.CheckRan():
                void = f": {line(event.void, 120)}" if event.void else ""
                self._show_progress(f"{side}{event.sort} done, turn {event.turn}{void}", passing=not void)
            case _:
                pass

    def _show_progress(self, sentence: str, *, passing: bool = False) -> None:
        """Show a sentence. `passing`: the sentence is soon out of date, so plain output, which keeps all lines, leaves
        it out."""
        if self._status:
            self._status.update(Text(sentence))  # as Text, because rich would read markup in a plain string
        elif not passing:
            self._console.print(Text(sentence, "dim"), soft_wrap=True)

    def _warn(self, event: "WorkingTreeDirty") -> None:
        names = [line(file, 60) for file in event.files]
        sentence = f"{line(event.place)} has uncommitted changes, which are not checked: {few(names, 3)}"
        self._console.print(Text(sentence, "yellow"), soft_wrap=True)


def advice(verification: Verification) -> list[str]:
    """Hints for the next step, by outcome."""
    unmet = next((row.id for row in verification.verdict.requirements if not row.grade.is_met(verification.accept)), "")
    hints = []
    if verification.outcome.state == "waiting":
        hints.append(f"nothing failed, but it is not proven yet: {_missing(verification)}")
    if verification.is_quick and any(
        row.grade is Grade.TESTED and not row.grade.is_met(verification.accept)
        for row in verification.verdict.requirements
    ):
        hints.append("--quick grades no higher than `tested`: use --accept tested, or leave out --quick")
    if unmet:
        hints.append(f"`trued why {shlex.quote(unmet)}` shows what was expected, what was seen and all other evidence")
    return hints


def _missing(verification: Verification) -> str:
    """What the person can do: if only manual checks are left, follow their steps; otherwise add held-out cases, accept
    the grade, or look at the work. For `keep` requirements no cases are suggested: they would pass on the base."""
    worst = min(row.grade for row in verification.verdict.requirements)
    short = {row.id for row in verification.verdict.requirements if not row.grade.is_met(verification.accept)}
    checks = [check for row in verification.contract.requirements if row.id in short for check in row.checks]
    bar = f"accept this grade with --accept {worst}" if worst >= Grade.TESTED and worst.is_lowered_bar else ""
    if checks and all(check.kind == "manual" for check in checks):
        steps = ", ".join(f"`trued why {shlex.quote(name)}`" for name in sorted(short))
        unrecorded = "`trued verify` does not record your decision"
        return f"check the work by hand (steps: {steps}) and decide whether to merge; {unrecorded}"
    added = sorted(row.id for row in verification.contract.requirements if row.id in short and not row.keep)
    lifts = ""
    if not verification.contract.requirements:
        lifts = "add held-out cases in a requirements file outside the repository (trued verify --requirements FILE)"
    elif added and verification.contract.held_out_why and not verification.contract.held_out:
        lifts = f"for {', '.join(added)}, use a requirements file outside the repository, with cases that no commit has"
    elif added:
        lifts = f"for {', '.join(added)}, add held-out cases that fail before the change"
    base, head = verification.contract.base[:12], verification.verdict.commit[:12]
    look = f"look at it yourself (git diff {base} {head}) and decide whether to merge"
    return "; or ".join(filter(None, (", or ".join(filter(None, (lifts, bar))), look)))
