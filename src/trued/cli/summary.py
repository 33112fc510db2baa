"""Prints how a run ended, on stdout, and what the person can do next, on stderr."""

import re
from collections.abc import Iterator
from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from trued.cli.context import branch_tip, newest, run_ledger
from trued.cli.end_screen import EndScreen, need_lines, result_lines, wrapped
from trued.cli.format import GRADE_COLOURS, STATE_COLOURS, line
from trued.cli.terminal import err, hint, out, print_json
from trued.engine.pending import waits
from trued.engine.run_store import RunStore
from trued.model import Contract, ExamplesCheck, Grade, RunRecord
from trued.reporting.views.contract import contract_terms, described_requirement
from trued.reporting.views.notes import sort_notes
from trued.reporting.views.run_rows import as_seen, run_data
from trued.support.plurals import counted

if TYPE_CHECKING:
    from trued.engine.estimate import Estimate

ASKING = ("waiting", "running", "queued", "interrupted", "limited")


def print_end(store: RunStore, record: RunRecord, *, as_json: bool) -> None:
    """Print a run's result, as JSON or as lines, and the next steps."""
    contract, ledger_data = store.contract(record.id), run_ledger(store, record)
    if as_json:
        agreed: dict[str, Any] = {}
        if record.state == "planned" and contract:
            estimate = _estimate(store, record).data
            agreed = {"contract": contract_data(store, record, contract), "estimate": estimate}
        print_json({**run_as_json(store, record), "requirements": ledger_data["requirements"], **agreed})
    elif record.state == "planned" and contract:
        contract_lines(store, record, contract)
        _work_lines(store, record)
        _estimate_lines(store, record)
        out().print(f"{record.id} planned: {counted(len(contract.requirements), 'requirement')}; no work has started")
    else:
        from trued.cli.status_line import ending, usage

        # imported here, because it loads all event kinds, which `ledger` does not need
        from trued.reporting.views.progress import Progress

        seen, end = Progress(store.journal.events(record.id), record.workflow), _end_screen(store, record, ledger_data)
        console = out()
        workflow_lines = list(ending(seen))
        first = wrapped(headline(end, usage="" if workflow_lines else usage(seen)), "", 2, console)
        for text in (*first, *workflow_lines, *result_lines(end, console)):
            console.print(text, soft_wrap=True)
    advise(store, record, ledger_data)


def run_as_json(store: RunStore, record: RunRecord) -> dict[str, Any]:
    """Return the data that `show --json` and `watch --json` print: `run_data` (from the record, the events and the
    questions), what was spent, limits, pictures, what waits for a person, approvals and comments. A run that ends with
    `--json` prints the same data and its requirements."""
    from trued.engine.limits import limits_in_force
    from trued.engine.spending_by_limit import total_spent

    journal = store.journal
    used = asdict(total_spent(journal.spends(record.id)))
    limits = limits_in_force(store, record.id).model_dump(
        mode="json", include={"usd", "tokens", "calls", "time", "feature", "task", "roles"}
    )
    now = as_seen(record, journal)
    run_facts = run_data(now, journal.events(record.id), journal.questions(record.id))
    pictures = [picture for row in run_ledger(store, record)["requirements"] for picture in row["pictures"]]
    waiting = [wait.model_dump(mode="json") for wait in waits(store, now)]
    decisions = [approval.model_dump(mode="json") for approval in store.approvals(record.id)]
    comments = [comment.model_dump(mode="json") for comment in journal.comments(record.id)]
    people = {"waits": waiting, "approvals": decisions, "comments": comments}
    return {**run_facts, "spent": used, "limits": limits, "pictures": pictures, **people}


def used_lines(store: RunStore, record: RunRecord) -> Iterator[Text]:
    """What the run, each task and each role have used of their limits; nothing for a run without limits."""
    if not store.has_limits(record.id):
        return
    from trued.engine.limits import limits_in_force
    from trued.engine.spending_by_limit import spending_lines
    from trued.model import RunLimits

    if limits_in_force(store, record.id) != RunLimits():
        yield from (Text(f"used by {line(usage)}", "dim") for usage in spending_lines(store, record.id))


def ledger_lines(
    record: RunRecord, ledger_data: dict[str, Any], state: str = "", *, accept: Grade = Grade.ATTESTED
) -> None:
    """Print every requirement with grade and reason, then notes, then the run in one line."""
    console, rows = out(), ledger_data["requirements"]
    width = min(32, max((len(line(row["id"])) for row in rows), default=0))
    for row in rows:
        text = Text.assemble(
            (f"{row['grade']:<12}", GRADE_COLOURS.get(row["grade"], "")), (f"{line(row['id']):<{width}}  ", "bold")
        )
        console.print(text.append(line(row["why"])), soft_wrap=True)
    notes = sort_notes(ledger_data)
    for row in rows:
        for note in notes.about.get(row["id"], ()):
            console.print(Text(f"{'':<12}{line(row['id']):<{width}}  {line(note)}", "dim"), soft_wrap=True)
    for label, every in (("not checked", notes.unchecked), ("note", notes.facts)):
        for note in every:
            console.print(Text(f"{label:<12}{line(note)}", "dim"), soft_wrap=True)
    if accept.is_lowered_bar:
        console.print(Text(f"--accept {accept}: a requirement counts as met if it is {accept} or better", "yellow"))
    console.print(headline(EndScreen(record, ledger_data, accept=accept), state), soft_wrap=True)


def headline(end: EndScreen, state: str = "", *, usage: str = "") -> Text:
    """The run in one line: state, grade, how much is met, where the work is, and `usage`."""
    record, ledger_data, state = end.record, end.ledger, state or end.record.state
    number = len(ledger_data["requirements"])
    grade = (
        (ledger_data["grade"], GRADE_COLOURS.get(ledger_data["grade"], ""))
        if number
        else ("no contract is sealed yet", "")
    )
    met = f"{end.met} of {counted(number, 'requirement')} met, " if number else ""
    return Text.assemble(
        (record.id, "bold"),
        " ",
        (state, STATE_COLOURS.get(state, "yellow")),
        ": ",
        grade,
        f", {met}{_branch_text(record)}{f' · {usage}' if usage else ''}",
    )


def _end_screen(store: RunStore, record: RunRecord, ledger_data: dict[str, Any]) -> EndScreen:
    """The data for the end screen of a run that has ended or halted."""
    verdict = store.final_verdict(record.id)
    now = as_seen(record, store.journal)
    findings = (*verdict.remarks, *verdict.objections) if verdict else ()
    return EndScreen(
        record,
        ledger_data,
        waits(store, now) if now.state in ASKING else [],
        store.contract(record.id),
        store.accepted(record.id) if ledger_data["requirements"] else Grade.ATTESTED,
        tuple(dict.fromkeys(finding.what for finding in findings)),
    )


def _branch_text(record: RunRecord) -> str:
    """Where the work is. The branch can be at another commit than the recorded one: the engine moves no branch that the
    user has checked out, and a killed engine may have moved it without recording that."""
    tip = branch_tip(record)
    head = newest(record, tip)
    if head in ("", record.base):
        return f"branch {record.branch} has no commit yet"
    if tip == head:
        return f"branch {record.branch} at {head[:10]}"
    position = f"is at {tip[:10]}" if tip else "is not here"
    return f"work at {head[:10]}, branch {record.branch} {position}"


def contract_lines(
    store: RunStore, record: RunRecord, contract: Contract, *, console: Console | None = None, cases: bool = False
) -> None:
    """Print the contract, for a person to read before money is spent or before they approve it. `cases`: print the
    cases, too."""
    console = console or out()
    for requirement in contract.requirements:
        shown = described_requirement(requirement, cases=cases)
        where = f"  ({shown.source})" if shown.source else ""
        console.print(Text.assemble((shown.id, "bold"), f"{where}\n  {shown.words}"), soft_wrap=True)
        for text in shown.facts:
            console.print(Text(f"  {text}"), soft_wrap=True)
        for text in shown.checks:
            console.print(Text(f"  {text}", style="dim"), soft_wrap=True)
    for term in contract_terms(contract, cases=cases):
        console.print(Text(line(term)), soft_wrap=True)
    agents: dict[str, str] = store.stored_inputs(record.id)["settings"].get("agents", {})
    console.print(Text(f"base {contract.base[:10]}; {line(contract.visibility)}"), soft_wrap=True)
    for role, agent in agents.items():
        every = "every other role" if len(agents) > 1 else "every role"
        console.print(Text(f"{every if role == '*' else role}: {line(agent)}"), soft_wrap=True)


def _estimate(store: RunStore, record: RunRecord) -> "Estimate":
    from trued.engine.estimate import estimate_run  # imported here, because only a planned run needs it

    return estimate_run(store, record.id)


def _work_lines(store: RunStore, record: RunRecord) -> None:
    """Print what will be built, in the workflow's own terms, and the file in which a person may still change it."""
    from trued.cli.status_line import planned
    from trued.engine.continuations import editable_copy  # imported here, because only a planned run needs it
    from trued.reporting.views.progress import Progress

    for text in planned(Progress(store.journal.events(record.id), record.workflow)):
        out().print(text, soft_wrap=True)
    if path := editable_copy(store, record):
        out().print(Text(f"  all of it: {path} (your edits there are read when the work starts)"), soft_wrap=True)


def _estimate_lines(store: RunStore, record: RunRecord) -> None:
    """Print the estimate of calls, cost and time."""
    estimate = _estimate(store, record)
    out().print(Text.assemble(("estimate: ", ""), (line(estimate.sentence), "bold")), soft_wrap=True)
    for remark in estimate.remarks:
        out().print(Text(f"  {line(remark)}", "dim"), soft_wrap=True)


def contract_data(store: RunStore, record: RunRecord, contract: Contract) -> dict[str, Any]:
    """The contract as JSON: its requirements, and the terms for the whole contract. Each check of a requirement has its
    kind and number of cases, but not the cases themselves."""
    numbers = {
        requirement.id: [
            {"kind": check.kind, "cases": len(check.cases) if isinstance(check, ExamplesCheck) else 1}
            for check in requirement.checks
        ]
        for requirement in contract.requirements
    }
    rows = [
        {
            "id": requirement.id,
            "text": requirement.text,
            "source": str(requirement.source),
            "covers": list(requirement.covers),
            "checks": numbers[requirement.id],
        }
        for requirement in contract.requirements
    ]
    agents = store.stored_inputs(record.id)["settings"].get("agents", {})
    served = {"serve": list(contract.serve.command) if contract.serve else [], "unserved": contract.unserved}
    terms = {"interface": list(contract.interface), **served, "undecided": list(contract.undecided)}
    return {"base": contract.base, "held_out": contract.held_out, "agents": agents, "requirements": rows, **terms}


def advise(store: RunStore, record: RunRecord, ledger_data: dict[str, Any]) -> None:
    """Print what needs a person, each thing with its command, and the next steps for the run's state."""
    from trued.engine.continuations import continuations  # imported here, because only the end of a run needs it

    name, end, console = record.id, _end_screen(store, record, ledger_data), err()
    state = as_seen(record, store.journal).state
    needs = end.needs()
    judged = store.final_verdict(name) is not None and state in ("waiting", "done", "not proven", "unjudged")
    if record.why and not needs and not judged and state not in ("done", "planned", record.why.strip().rstrip(".")):
        hint(line(record.why, 600))
    for text in need_lines(needs, console):
        console.print(text, soft_wrap=True)
    unmet = min((row for row in end.rows if not end.is_met(row)), key=lambda row: bool(row["lacks"]), default=None)
    why = f"trued why {quote(unmet['id']) if unmet else 'REQUIREMENT'} {name}"
    then = {
        "planned": f"next: trued approve {name} (approve the contract) · trued resume {name} (start the work)",
        "limited": _handover_hint(store, name) if state == "limited" else "",
        "interrupted": f"continue with: trued resume {name}",
        "failed": f"retry the failed call with: trued resume {name}; details: trued logs {name}",
        "unjudged": f"try again with: {_command_to_try_again(record)}",
        "not proven": f"next: {why} (the evidence) · trued diff {name} (the work)",
        "done": f"next: {_landing_step(store, name)}trued diff {name} · trued report {name}",
    }
    for command, does in continuations(store, record):
        hint(f"{command}  ({does})")
    if then.get(state):
        hint(then[state])
    if (count := end.notes.count) and state != "planned":
        hint(f"details: trued ledger {name} ({counted(count, 'note')})")


def _command_to_try_again(record: RunRecord) -> str:
    """The command at the end of `record.why` (", then `trued …`"); `trued resume` if there is none. A command elsewhere
    in that text does not count: it may be quoted from a project's output."""
    named = re.search(r", then `(trued (?:run|resume) [^`]+)`$", record.why)
    return named[1] if named else f"trued resume {record.id}"


def _landing_step(store: RunStore, name: str) -> str:
    return "" if store.journal.landed().get(name) else f"trued land {name} (merge it) · "


def _handover_hint(store: RunStore, name: str) -> str:
    from trued.engine.handover_file import NAME

    file = store.folder(name) / "files" / NAME
    return f"status and next steps: {file}" if file.exists() else ""
