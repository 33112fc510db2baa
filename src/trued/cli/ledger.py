"""The commands `ledger` and `why`: what is proven, and by which evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from trued.cli.check_lines import check_lines
from trued.cli.context import AsJson, RunName, is_over, open_store, run_ledger, runs_of, selected_run, top_of
from trued.cli.end_screen import case_lines, cases_of
from trued.cli.format import GRADES, line
from trued.cli.terminal import home, out, print_json
from trued.errors import BadInput
from trued.model import Approval, Case, RunRecord
from trued.model.evidence import HELD_BACK
from trued.proof.verdict.conclusion import conclude
from trued.reporting.views.cases import failed_case
from trued.reporting.views.notes import sort_notes
from trued.reporting.views.run_rows import as_seen
from trued.support.durations import duration
from trued.support.redaction import plain

if TYPE_CHECKING:  # at run time, only the commands that need it import it: help stays quick without it
    from trued.engine.last_verification import LastVerification
    from trued.engine.run_store import RunStore
    from trued.reporting.views.verification import Verification

app = typer.Typer(rich_markup_mode=None)

CASES = 20  # at most this many cases of one check run are listed; the others are counted
# outcome → mark and colour; every other outcome is a failure (✗)
MARKS = {"skipped": ("–", "dim"), "passed": ("✓", "green")}
DETAIL_LINES = 20  # at most this many lines of a failure text are printed, the last ones
LONGEST_LINE = 300  # maximum length of a printed line of output, in characters


@app.command()
def ledger(run: RunName = None, as_json: AsJson = False) -> None:
    """List every requirement with its grade and reasons."""
    from trued.cli.summary import ledger_lines

    with open_store() as store:
        record = selected_run(store, run)
        found = run_ledger(store, record)
        if as_json:
            print_json(found)
        else:
            state = as_seen(record, store.journal).state
            ledger_lines(record, found, state, accept=store.accepted(record.id))


@app.command()
def why(
    requirement: Annotated[str, typer.Argument(help="The requirement's id, or the beginning of it.")],
    run: RunName = None,
    as_json: AsJson = False,
) -> None:
    """Explain a requirement's grade: where the requirement comes from, all evidence, and who approved it."""
    if run is None and (kept := _newer_verification()):
        from trued.reporting.views.verification import Verification

        one = Verification(
            kept.contract, kept.verdict, conclude(kept.verdict, kept.accept), kept.accept, kept.reproduce
        )
        explain(one, requirement, as_json=as_json, place=kept.places[-1])
        return
    with open_store() as store:
        record = selected_run(store, run)
        found = run_ledger(store, record)
        row = _requirement_row([*found["requirements"], *found["existing_tests"]], requirement, f"run {record.id}")
        words, cases = _authors_and_approvals(store, record, row["id"]), _cases(store, record, row["id"])
        notes = sort_notes(found).about.get(row["id"], ())
        known = cases_of(store.contract(record.id), row["id"]) if is_over(store, record) else {}
        told = Explained(
            words, cases, notes, known, f"trued amend {record.id} --add FILE" if not row["evidence"] else ""
        )
    _print_explanation(row, told, as_json=as_json)


def explain(one: "Verification", requirement: str, *, as_json: bool = False, place: str = "") -> None:
    """Print one requirement of a verification with all its evidence. `place`: where it was verified, if that was
    earlier."""
    from trued.reporting.views.verification import verification_data

    found, owner = verification_data(one), f"the last verification, in {place}," if place else "the verification"
    row = _requirement_row([*found["requirements"], *found["existing_tests"]], requirement, owner)
    checks = [check for wanted in one.contract.every if wanted.id == row["id"] for check in wanted.checks]
    cases = [text for check in checks for text in check_lines(check, cases=True)]
    words = [row["rests_on"]] if row.get("rests_on") else []
    notes = sort_notes(found).about.get(row["id"], ())
    _print_explanation(row, Explained(words, cases, notes, cases_of(one.contract, row["id"])), as_json=as_json)
    if not as_json and one.reproduce:
        out().print(Text(f"  reproduce: {one.reproduce}", "dim"), soft_wrap=True)


def _newer_verification() -> "LastVerification | None":
    """The last result of `trued verify`, if it is about this repository and newer than the repository's runs; else
    None. Outside a repository, it only has to be newer than all runs. Raises BadInput if it is about another repository
    and this one has no run."""
    from trued.engine.last_verification import load_verification

    kept, here = load_verification(home()), top_of(Path.cwd())
    if kept is None:
        return None
    with open_store() as store:
        runs = runs_of(store, here)
    if here and str(here) not in kept.places:
        if not runs:
            what = f"trued keeps only the last verification, which was in {kept.places[-1]}; {here} has no run"
            raise BadInput(what, then="run `trued verify` here, or go there")
        return None
    return kept if all(one.updated_at < kept.at for one in runs) else None


@dataclass(frozen=True, slots=True)
class Explained:
    """What `why` prints in addition to a requirement's row."""

    words: list[str]  # whose checks these are, and who approved them
    cases: list[str]  # the checks, described in lines
    notes: tuple[str, ...] = ()  # why the requirement has no check
    known: Mapping[str, tuple[Case, ...]] = field(default_factory=dict)  # hash of a check → its cases
    add: str = ""  # the command that adds a check if there is none


def _print_explanation(row: dict[str, Any], told: Explained, *, as_json: bool) -> None:
    if as_json:
        print_json({**row, "word": told.words, "notes": list(told.notes)})
        return
    console = out()
    # the existing tests have no grade: they pass or fail
    grade = row.get("grade") or ("passes" if row["holds"] else "fails")
    console.print(Text.assemble((line(row["id"]), "bold"), " ", (grade, GRADES.get(grade, ""))), soft_wrap=True)
    console.print(Text(f"  {line(row['text'])}", "italic"), soft_wrap=True)
    said = (("from", row["source"]), ("because", row["why"]), *(("no case", one) for one in told.notes))
    for label, text in (*said, ("rests on", "; ".join(told.words))):
        if text:
            console.print(Text(f"  {label}: {line(text)}"), soft_wrap=True)
    for text in told.cases:
        console.print(Text(f"  {text}", "dim"), soft_wrap=True)
    if not row["evidence"]:
        console.print("  no evidence")
    if told.add:
        console.print(Text(f"  add a check of your own: {told.add}", "dim"), soft_wrap=True)
    before: dict[str, Any] = {}
    for one in row["evidence"]:
        _print_evidence(console, one, before, told.known)
        before = one


def _requirement_row(rows: list[dict[str, Any]], name: str, owner: str) -> dict[str, Any]:
    fitting = [row for row in rows if row["id"] == name] or [row for row in rows if row["id"].startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    known = ", ".join(row["id"] for row in rows)
    raise BadInput(
        f"{owner} has {len(fitting) or 'no'} requirements that begin with {name!r}",
        then=f"it has {known}" if known else "it has none yet",
    )


def _authors_and_approvals(store: "RunStore", record: RunRecord, requirement: str) -> list[str]:
    """Whose checks the requirement has, and what people decided about them or about the requirement."""
    contract, file = store.contract(record.id), store.stored_inputs(record.id).get("requirements_file", "")
    own = [f"your own checks in {file}"] if file and contract and not contract.authors else []
    said = [one for one in store.approvals(record.id) if one.requirement in ("*", requirement) and not one.stale]
    return own + [f"{one.who}, who {_decision_text(one)}: {one.why}" for one in said]


def _decision_text(decision: Approval) -> str:
    way = f", {decision.came_by}" if decision.way else ""
    if decision.requirement == "*":
        return f"approved the contract{way}"
    where = f" at {decision.commit[:10]}" if decision.commit else ""
    return f"{'rejected' if decision.rejected else 'accepted'} it{where}{way}"


def _cases(store: "RunStore", record: RunRecord, requirement: str) -> list[str]:
    """The checks as lines. Held-out cases are included only after the run, when no agent can read them."""
    contract = store.contract(record.id)
    checks = [
        check for one in (contract.requirements if contract else ()) if one.id == requirement for check in one.checks
    ]
    visible = is_over(store, record) or not (contract and contract.held_out)
    return [text for check in checks for text in check_lines(check, cases=visible)]


def _print_evidence(
    console: Console, one: dict[str, Any], before: dict[str, Any], known: Mapping[str, tuple[Case, ...]]
) -> None:
    """Print one run of a check: command, sandbox, interpreter, and the result of each case.

    `before`: the check run printed before this one; facts that both share are not printed again.
    """
    held = ", held out" if one["held_out"] else ""
    skipped = f", {one['skipped']} skipped" if one.get("skipped") else ""
    counts = f"{one['passed']} passed, {one['failed']} failed{skipped}"
    result = counts if one["tried"] else f"exit code {one['exit_code']}"
    head = f"  {one['kind']} on {one['side']} {one['commit'][:10]}, turn {one['turn']}{held}: {result}"
    console.print(
        Text.assemble((head, "bold"), (f"  {duration(one['seconds'])}, evidence {one['id']}", "dim")), soft_wrap=True
    )
    shown, printed = _circumstances(one), _circumstances(before) if before else {}
    for label, text in shown.items():
        if text and text != printed.get(label):
            console.print(Text(f"    {label}: {line(text, 300)}"), soft_wrap=True)
    if before and _results(one) == _results(before):
        console.print(Text(f"    the same results as in turn {before['turn']}", "dim"), soft_wrap=True)
        return
    _print_cases(console, one["tried"], known.get(one["check"], ()))
    told = any(tried["outcome"] != "passed" and tried.get("detail") for tried in one["tried"])
    if one["output"] and one["output"] != HELD_BACK and one["failed"] and not told:
        for text in line_by_line(one["output"]):
            console.print(Text(f"    │ {text}", "dim"), soft_wrap=True)


def _circumstances(one: dict[str, Any]) -> dict[str, str]:
    """How a check was run: command, sandbox and interpreter; for a void run also why it does not count."""
    from trued.reporting.views.verification import ran_by

    interpreter = ran_by(one["interpreter"], one["versions"], one["command"])
    return {
        "command": one["command"],
        "isolation": one["isolation"],
        "interpreter": interpreter,
        "void": one["why_void"],
    }


def _results(one: dict[str, Any]) -> tuple[object, ...]:
    """A check run's results without its time, to compare two runs: equal results are not printed again."""
    tried = sorted((each["id"], each["outcome"], each["kind"], each.get("detail", "")) for each in one["tried"])
    return one["check"], one["side"], one["why_void"], one["exit_code"], tried


def _print_cases(console: Console, every: list[dict[str, Any]], cases: Sequence[Case] = ()) -> None:
    """Print the first CASES cases (the evidence lists failed ones first): expected and actual result, or the failure
    text as it was printed."""
    for tried in every[:CASES]:
        failed = failed_case(tried["id"], tried.get("detail") or "", tried["kind"], cases)
        if tried["outcome"] == "failed" and failed.expected and tried.get("detail"):
            for told in case_lines(failed, "    ", console):
                console.print(told, soft_wrap=True)
            continue
        mark, style = MARKS.get(tried["outcome"], ("✗", "red"))
        kind = f" ({line(tried['kind'], 80)})" if tried["kind"] not in ("", tried["outcome"]) else ""
        detail = line_by_line(tried.get("detail") or "", DETAIL_LINES)
        said = f"{line(tried['id'], 200)} {tried['outcome']}{kind}{f': {detail[0]}' if len(detail) == 1 else ''}"
        console.print(Text.assemble((f"    {mark} ", style), said), soft_wrap=True)
        for words in detail if len(detail) > 1 else ():
            console.print(Text(f"      │ {words}", "dim"), soft_wrap=True)
    if len(every) > CASES:
        console.print(f"    … {len(every) - CASES} more")


def line_by_line(output: str, most: int = 15) -> list[str]:
    """The last `most` lines of a text. Blank lines and control characters are left out; spaces inside lines stay."""
    lines = [plain(text).rstrip()[:LONGEST_LINE] for text in output.splitlines() if text.strip()]
    return lines if len(lines) <= most else ["…", *lines[-most:]]
