"""The commands `ledger` and `why`: what is proven, and by which evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from trued.cli.context import AsJson, RunName, is_over, open_store, run_ledger, runs_of, selected_run, top_of
from trued.cli.end_screen import case_lines, cases_of
from trued.cli.format import GRADE_COLOURS, line
from trued.cli.terminal import home, out, print_json
from trued.errors import BadInput
from trued.model import Approval, Case, RunRecord
from trued.model.evidence import HELD_BACK
from trued.proof.verdict.conclusion import conclude
from trued.reporting.views.cases import failed_case
from trued.reporting.views.check_lines import check_lines
from trued.reporting.views.notes import sort_notes
from trued.reporting.views.run_rows import as_seen
from trued.support.durations import duration
from trued.support.plain_text import plain

if TYPE_CHECKING:  # at run time, only the functions that need these modules import them, so that help stays quick
    from trued.engine.last_verification import LastVerification
    from trued.engine.run_store import RunStore
    from trued.reporting.views.verification import Verification

app = typer.Typer(rich_markup_mode=None)

CASES = 20  # at most this many cases of one check run are listed; the others are counted
# outcome → mark and colour; every other outcome is a failure (✗)
MARKS = {"skipped": ("–", "dim"), "passed": ("✓", "green")}
DETAIL_LINES = 20  # at most this many lines of a failure text are printed, the last ones
LONGEST_LINE = 300  # in characters


@app.command()
def ledger(run: RunName = None, as_json: AsJson = False) -> None:
    """List every requirement with its grade and reasons."""
    from trued.cli.summary import ledger_lines

    with open_store() as store:
        record = selected_run(store, run)
        ledger_data = run_ledger(store, record)
        if as_json:
            print_json(ledger_data)
        else:
            state = as_seen(record, store.journal).state
            ledger_lines(record, ledger_data, state, accept=store.accepted(record.id))


@app.command()
def why(
    requirement: Annotated[str, typer.Argument(help="The requirement's id, or the beginning of it.")],
    run: RunName = None,
    as_json: AsJson = False,
) -> None:
    """Explain a requirement's grade: where the requirement comes from, all evidence, and who approved it.

    Without RUN: from the newest run, or from the last `trued verify` here if that is newer.
    """
    if run is None and (saved := _newer_verification()):
        from trued.reporting.views.verification import Verification

        outcome = conclude(saved.verdict, saved.contract, saved.accept)
        verification = Verification(saved.contract, saved.verdict, outcome, saved.accept, saved.reproduce)
        explain(verification, requirement, as_json=as_json, where=saved.places[-1])
        return
    with open_store() as store:
        record = selected_run(store, run)
        ledger_data = run_ledger(store, record)
        row = _requirement_row(
            [*ledger_data["requirements"], *ledger_data["existing_tests"]], requirement, f"run {record.id}"
        )
        basis, cases = _authors_and_approvals(store, record, row["id"]), _cases(store, record, row["id"])
        notes = sort_notes(ledger_data).about.get(row["id"], ())
        known = cases_of(store.contract(record.id), row["id"]) if is_over(store, record) else {}
        explanation = Explained(
            basis, cases, notes, known, f"trued amend {record.id} --add FILE" if not row["evidence"] else ""
        )
    _print_explanation(row, explanation, as_json=as_json)


def explain(verification: "Verification", requirement: str, *, as_json: bool = False, where: str = "") -> None:
    """Print one requirement of a verification with all its evidence. `where`: the repository of an earlier
    verification; "" for a verification that has just ended."""
    from trued.reporting.views.verification import verification_data

    ledger_data, owner = (
        verification_data(verification),
        f"the last verification, in {where}," if where else "the verification",
    )
    row = _requirement_row([*ledger_data["requirements"], *ledger_data["existing_tests"]], requirement, owner)
    checks = [check for wanted in verification.contract.every if wanted.id == row["id"] for check in wanted.checks]
    cases = [text for check in checks for text in check_lines(check, cases=True)]
    basis = [row["rests_on"]] if row.get("rests_on") else []
    notes = sort_notes(ledger_data).about.get(row["id"], ())
    _print_explanation(row, Explained(basis, cases, notes, cases_of(verification.contract, row["id"])), as_json=as_json)
    if not as_json and verification.reproduce:
        out().print(Text(f"  reproduce: {verification.reproduce}", "dim"), soft_wrap=True)


def _newer_verification() -> "LastVerification | None":
    """The result of the last `trued verify`; None if there is none, or if a run is newer. In a repository, only
    verifications and runs of this repository count; elsewhere, all count. Raises BadInput if the last verification was
    in another repository and this repository has no run."""
    from trued.engine.last_verification import load_verification

    saved, repository = load_verification(home()), top_of(Path.cwd())
    if saved is None:
        return None
    with open_store() as store:
        runs = runs_of(store, repository)
    if repository and str(repository) not in saved.places:
        if not runs:
            what = f"trued keeps only the last verification, which was in {saved.places[-1]}; {repository} has no run"
            raise BadInput(what, then="run `trued verify` here, or go there")
        return None
    return saved if all(run.updated_at < saved.at for run in runs) else None


@dataclass(frozen=True, slots=True)
class Explained:
    """What `why` prints in addition to a requirement's row."""

    basis: list[str]  # whose checks these are, and who approved them
    cases: list[str]  # the checks, described in lines
    notes: tuple[str, ...] = ()  # why the requirement has no check
    known: Mapping[str, tuple[Case, ...]] = field(default_factory=dict)  # hash of a check → its cases
    add: str = ""  # the command that adds a check if there is none


def _print_explanation(row: dict[str, Any], explanation: Explained, *, as_json: bool) -> None:
    if as_json:
        print_json({**row, "word": explanation.basis, "notes": list(explanation.notes)})
        return
    console = out()
    # the existing tests have no grade: they pass or fail
    grade = row.get("grade") or ("passes" if row["holds"] else "fails")
    console.print(Text.assemble((line(row["id"]), "bold"), " ", (grade, GRADE_COLOURS.get(grade, ""))), soft_wrap=True)
    console.print(Text(f"  {line(row['text'])}", "italic"), soft_wrap=True)
    facts = (("from", row["source"]), ("because", row["why"]), *(("no case", note) for note in explanation.notes))
    for label, text in (*facts, ("rests on", "; ".join(explanation.basis))):
        if text:
            console.print(Text(f"  {label}: {line(text)}"), soft_wrap=True)
    for text in explanation.cases:
        console.print(Text(f"  {text}", "dim"), soft_wrap=True)
    if not row["evidence"]:
        console.print("  no evidence")
    if explanation.add:
        console.print(Text(f"  add a check of your own: {explanation.add}", "dim"), soft_wrap=True)
    before: dict[str, Any] = {}
    for evidence in row["evidence"]:
        _print_evidence(console, evidence, before, explanation.known)
        before = evidence


def _requirement_row(rows: list[dict[str, Any]], name: str, owner: str) -> dict[str, Any]:
    fitting = [row for row in rows if row["id"] == name] or [row for row in rows if row["id"].startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    known = ", ".join(row["id"] for row in rows)
    raise BadInput(
        f"{owner} has {len(fitting) or 'no'} requirements whose id begins with {name!r}",
        then=f"it has {known}" if known else "it has none yet",
    )


def _authors_and_approvals(store: "RunStore", record: RunRecord, requirement: str) -> list[str]:
    """A line that names the user's requirements file, if no agent wrote a check; then a line for each decision of a
    person about the contract or the requirement."""
    contract, file = store.contract(record.id), store.stored_inputs(record.id).get("requirements_file", "")
    sources = [f"your own checks in {file}"] if file and contract and not contract.authors else []
    approvals = [
        approval
        for approval in store.approvals(record.id)
        if approval.requirement in ("*", requirement) and not approval.stale
    ]
    return sources + [f"{approval.who}, who {_decision_text(approval)}: {approval.why}" for approval in approvals]


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
        check
        for sealed in (contract.requirements if contract else ())
        if sealed.id == requirement
        for check in sealed.checks
    ]
    visible = is_over(store, record) or not (contract and contract.held_out)
    return [text for check in checks for text in check_lines(check, cases=visible)]


def _print_evidence(
    console: Console, evidence: dict[str, Any], before: dict[str, Any], known: Mapping[str, tuple[Case, ...]]
) -> None:
    """Print one run of a check: command, sandbox, interpreter, and the result of each case.

    `before`: the check run printed before this one; facts that both share are not printed again. `known`: the cases of
    each check, by the check's hash.
    """
    held = ", held out" if evidence["held_out"] else ""
    skipped = f", {evidence['skipped']} skipped" if evidence.get("skipped") else ""
    counts = f"{evidence['passed']} passed, {evidence['failed']} failed{skipped}"
    result = counts if evidence["tried"] else f"exit code {evidence['exit_code']}"
    head = (
        f"  {evidence['kind']} on {evidence['side']} {evidence['commit'][:10]}, turn {evidence['turn']}{held}: {result}"
    )
    console.print(
        Text.assemble((head, "bold"), (f"  {duration(evidence['seconds'])}, evidence {evidence['id']}", "dim")),
        soft_wrap=True,
    )
    shown, printed = _circumstances(evidence), _circumstances(before) if before else {}
    for label, text in shown.items():
        if text and text != printed.get(label):
            console.print(Text(f"    {label}: {line(text, 300)}"), soft_wrap=True)
    if before and _results(evidence) == _results(before):
        console.print(Text(f"    the same results as in turn {before['turn']}", "dim"), soft_wrap=True)
        return
    _print_cases(console, evidence["tried"], known.get(evidence["check"], ()))
    has_details = any(tried["outcome"] != "passed" and tried.get("detail") for tried in evidence["tried"])
    if evidence["output"] and evidence["output"] != HELD_BACK and evidence["failed"] and not has_details:
        for text in line_by_line(evidence["output"]):
            console.print(Text(f"    │ {text}", "dim"), soft_wrap=True)


def _circumstances(evidence: dict[str, Any]) -> dict[str, str]:
    """How a check was run: command, sandbox and interpreter, and why the run does not count ("" if it counts)."""
    from trued.reporting.views.verification import ran_by

    interpreter = ran_by(evidence["interpreter"], evidence["versions"], evidence["command"])
    return {
        "command": evidence["command"],
        "isolation": evidence["isolation"],
        "interpreter": interpreter,
        "void": evidence["why_void"],
    }


def _results(evidence: dict[str, Any]) -> tuple[object, ...]:
    """What a check's run found, without its duration. If two runs found the same, it is printed only once."""
    tried = sorted((case["id"], case["outcome"], case["kind"], case.get("detail", "")) for case in evidence["tried"])
    return evidence["check"], evidence["side"], evidence["why_void"], evidence["exit_code"], tried


def _print_cases(console: Console, every: list[dict[str, Any]], cases: Sequence[Case] = ()) -> None:
    """Print the first CASES cases (the evidence lists failed ones first): expected and actual result, or the failure
    text as it was printed."""
    for tried in every[:CASES]:
        failed = failed_case(tried["id"], tried.get("detail") or "", tried["kind"], cases)
        if tried["outcome"] == "failed" and failed.expected and tried.get("detail"):
            for case_line in case_lines(failed, "    ", console):
                console.print(case_line, soft_wrap=True)
            continue
        mark, style = MARKS.get(tried["outcome"], ("✗", "red"))
        kind = f" ({line(tried['kind'], 80)})" if tried["kind"] not in ("", tried["outcome"]) else ""
        detail = line_by_line(tried.get("detail") or "", DETAIL_LINES)
        sentence = f"{line(tried['id'], 200)} {tried['outcome']}{kind}{f': {detail[0]}' if len(detail) == 1 else ''}"
        console.print(Text.assemble((f"    {mark} ", style), sentence), soft_wrap=True)
        for detail_line in detail if len(detail) > 1 else ():
            console.print(Text(f"      │ {detail_line}", "dim"), soft_wrap=True)
    if len(every) > CASES:
        console.print(f"    … {len(every) - CASES} more")


def line_by_line(output: str, most: int = 15) -> list[str]:
    """The last `most` lines of a text. Blank lines and control characters are left out; spaces inside lines stay."""
    lines = [plain(text).rstrip()[:LONGEST_LINE] for text in output.splitlines() if text.strip()]
    return lines if len(lines) <= most else ["…", *lines[-most:]]
