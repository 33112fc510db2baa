"""How a run ended, on stdout, and on stderr what a person can do next."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from trued.cli.context import branch_at, is_over, newest
from trued.cli.format import GRADES, STATES, ago, case, counted, line
from trued.cli.status_line import ending
from trued.cli.terminal import hint, out, print_json
from trued.engine.engine import Engine
from trued.engine.handover_file import NAME as HANDOVER
from trued.engine.limits import in_force
from trued.engine.pending import Wait, waits
from trued.engine.spending import spent_by, spent_lines
from trued.model import (
    BrowserCheck,
    Check,
    Contract,
    ExamplesCheck,
    Grade,
    ManualCheck,
    Requirement,
    RunRecord,
    Spending,
)
from trued.reporting.views import Progress, ledger, shown, state_of

if TYPE_CHECKING:
    from trued.engine.estimate import Estimate

ASKING = ("waiting", "running", "interrupted")


def conclude(engine: Engine, record: RunRecord, *, as_json: bool) -> None:
    contract = engine.contract(record.id)
    found = ledger(engine.verdict(record.id), contract, over=is_over(engine, record))
    if as_json:
        agreed: dict[str, Any] = {}
        if record.state == "planned" and contract:
            estimate = _estimated(engine, record).data
            agreed = {"contract": contract_data(engine, record, contract), "estimate": estimate}
        print_json({**whole(engine, record), "requirements": found["requirements"], **agreed})
    elif record.state == "planned" and contract:
        contract_lines(engine, record, contract)
        _estimate_lines(engine, record)
        out().print(f"{record.id} planned: {counted(len(contract.requirements), 'requirement')}; nobody has worked yet")
    else:
        for text in ending(Progress(engine.journal.events(record.id))):
            out().print(text, soft_wrap=True)
        ledger_lines(record, found, accept=engine.inputs(record.id).settings.accept)
    advise(engine, record, found)


def whole(engine: Engine, record: RunRecord) -> dict[str, Any]:
    journal = engine.journal
    used = asdict(spent_by(journal.spends(record.id)))
    limits = in_force(engine, record.id).model_dump(
        mode="json", include={"usd", "tokens", "calls", "time", "feature", "task", "roles"}
    )
    found = shown(record, journal.driver(record.id), journal.events(record.id), journal.questions(record.id))
    judged = ledger(engine.verdict(record.id), engine.contract(record.id), over=is_over(engine, record))
    pictures = [picture for row in judged["requirements"] for picture in row["pictures"]]
    waiting = [one.model_dump(mode="json") for one in waits(engine, record)]
    return {**found, "spent": used, "limits": limits, "pictures": pictures, "waits": waiting}


def used_lines(engine: Engine, record: RunRecord) -> Iterator[Text]:
    """What a run with limits has used of them."""
    if in_force(engine, record.id) != Spending():
        yield from (Text(f"used by {line(one)}", "dim") for one in spent_lines(engine, record.id))


def ledger_lines(record: RunRecord, found: dict[str, Any], state: str = "", *, accept: Grade = Grade.ATTESTED) -> None:
    """Every requirement with grade and reason, then the run in one line."""
    console, rows = out(), found["requirements"]
    width = min(32, max((len(line(row["id"])) for row in rows), default=0))
    for row in rows:
        text = Text.assemble(
            (f"{row['grade']:<12}", GRADES.get(row["grade"], "")), (f"{line(row['id']):<{width}}  ", "bold")
        )
        console.print(text.append(line(row["why"])), soft_wrap=True)
    for text in found["undecided"]:
        console.print(Text(f"undecided   {line(text)}", "dim"), soft_wrap=True)
    if accept.rank < Grade.ATTESTED.rank:
        console.print(Text(f"--accept {accept}: the bar was lowered, and {accept} counts as met", "yellow"))
    state = state or record.state
    met = sum(Grade(row["grade"]).rank >= accept.rank for row in rows)
    console.print(
        Text.assemble(
            (record.id, "bold"),
            " ",
            (state, STATES.get(state, "yellow")),
            ": ",
            (found["grade"], GRADES.get(found["grade"], "")),
            f", {met} of {len(rows)} requirements met, {_place(record)}",
        ),
        soft_wrap=True,
    )


def _place(record: RunRecord) -> str:
    """Where the work is, as it is: the branch may have been held fast by somebody, or be ahead of the record."""
    head, there = newest(record), branch_at(record)
    if head in ("", record.base):
        return f"branch {record.branch} has no commit yet"
    if there == head:
        return f"branch {record.branch} at {head[:10]}"
    at = f"is at {there[:10]}" if there else "is not there"
    return f"work at {head[:10]}, branch {record.branch} {at}"


def contract_lines(
    engine: Engine, record: RunRecord, contract: Contract, *, console: Console | None = None, cases: bool = False
) -> None:
    """The contract as a person reads it before money is spent, or before they give their word."""
    console = console or out()
    for one in contract.requirements:
        for text in _requirement(one, cases=cases):
            console.print(text, soft_wrap=True)
    for term in _terms(contract, cases=cases):
        console.print(Text(line(term, 600)), soft_wrap=True)
    settings = engine.inputs(record.id).settings
    held = "held out" if contract.held_out else "visible"
    console.print(Text(f"base {contract.base[:10]}; cases are {held}: {line(contract.held_out_why)}"), soft_wrap=True)
    for role, agent in settings.agents.items():
        every = "every other role" if len(settings.agents) > 1 else "every role"
        console.print(Text(f"{every if role == '*' else role}: {line(agent)}"), soft_wrap=True)


def _estimated(engine: Engine, record: RunRecord) -> "Estimate":
    from trued.engine.handover import estimated  # loaded for a planned run only

    return estimated(engine, record.id)


def _estimate_lines(engine: Engine, record: RunRecord) -> None:
    """What the work would take, before it is begun."""
    found = _estimated(engine, record)
    out().print(Text.assemble(("it would take ", ""), (line(found.sentence), "bold")), soft_wrap=True)
    for remark in found.remarks:
        out().print(Text(f"  {line(remark)}", "dim"), soft_wrap=True)


def _terms(contract: Contract, *, cases: bool) -> Iterator[str]:
    """What holds for the whole contract: names that both sides know, whose word the cases are, what stays open."""
    if contract.interface:
        yield "interface (everybody sees it):"
        yield from (f"  {one}" for one in contract.interface)
    if contract.serve:
        yield f"server: {' '.join(contract.serve.command)} (port in {contract.serve.port_env})"
    for author in {one.model_dump_json(): one for one in contract.authors.values()}.values():
        alike = f"; answered alike, blind, by {', '.join(author.agreed)}" if author.agreed else ""
        stands = "" if author.independent else ": examined at most, until you approve"
        yield f"cases by {author.role} ({author.agent}){alike}{stands}"
    for name, caps in contract.caps.items():
        yield from (f"{name} is examined at most, until you approve: {why}" for why in caps)
    if cases:
        yield from (f"undecided: {one}" for one in contract.undecided)


def _requirement(one: Requirement, *, cases: bool) -> Iterator[Text]:
    where = f"  ({line(one.source)})" if str(one.source) else ""
    yield Text.assemble((line(one.id), "bold"), f"{where}\n  {line(one.text)}")
    if one.covers:
        yield Text(f"  stands for {line(', '.join(one.covers))}")
    if one.keep:
        yield Text("  kept: guards of the base decide")
    if one.supersedes:
        yield Text(f"  supersedes {line(', '.join(one.supersedes))}")
    if one.proposed:
        yield Text(f"  an agent proposes that it supersedes {line(', '.join(one.proposed))}: unproven, until you agree")
    if one.aside:
        yield Text(f"  {line(one.aside)}: unproven, until you agree")
    if one.parts:
        yield Text(f"  as good as the worst of {line(', '.join(one.parts))}")
    if not one.checks and not one.parts:
        yield Text("  no check of its own", style="dim")
    for check in one.checks:
        yield from (Text(f"  {text}", style="dim") for text in check_lines(check, cases=cases))


def contract_data(engine: Engine, record: RunRecord, contract: Contract) -> dict[str, Any]:
    """The contract by number and kind of its checks: what can be known before money is spent."""
    numbers = {
        one.id: [
            {"kind": check.kind, "cases": len(check.cases) if isinstance(check, ExamplesCheck) else 1}
            for check in one.checks
        ]
        for one in contract.requirements
    }
    rows = [
        {
            "id": one.id,
            "text": one.text,
            "source": str(one.source),
            "covers": list(one.covers),
            "checks": numbers[one.id],
        }
        for one in contract.requirements
    ]
    agents = engine.inputs(record.id).settings.agents
    terms = {"interface": list(contract.interface), "undecided": list(contract.undecided)}
    return {"base": contract.base, "held_out": contract.held_out, "agents": agents, "requirements": rows, **terms}


def check_lines(check: Check, *, cases: bool) -> list[str]:
    """A check in words; its cases one by one where they are wanted."""
    if isinstance(check, ExamplesCheck):
        listed = [f"  {case(one)}" for one in check.cases] if cases else []
        return [f"{counted(len(check.cases), 'example')}, called by the engine", *listed]
    if isinstance(check, ManualCheck):
        return ["by hand:", *(f"  [ ] {line(step)}" for step in check.steps)]
    if isinstance(check, BrowserCheck):
        return [line(f"browser: {check.page}: {', '.join(_expected(check))}")]
    files = f" on {', '.join(check.files)}" if check.files else ""
    return [line(f"{check.kind}: {check.command}{files}")]


def _expected(check: BrowserCheck) -> list[str]:
    """What must be seen of a page, and what not."""
    words = [*(f"sees {one!r}" for one in check.sees), *(f"hides {one!r}" for one in check.hides)]
    words += [f"has {one}" for one in check.tree]
    words += [f"leads to {check.url}"] if check.url is not None else []
    return words + (["no error on the console"] if check.quiet else [])


def advise(engine: Engine, record: RunRecord, found: dict[str, Any]) -> None:
    """The next step, by state."""
    name = record.id
    state = state_of(record, engine.journal.driver(name))
    if record.why and state not in ("done", "planned", state_words(record.why)):
        hint(line(record.why, 600))
    for one in wait_lines(record, waits(engine, record) if state in ASKING else []):
        hint(one)
    unmet = next((row["id"] for row in found["requirements"] if row["grade"] not in ("attested", "proven")), "")
    then = {
        "planned": f"trued resume {name} begins the work; trued approve {name} gives your word for the contract",
        "limited": _handed(engine, name),
        "interrupted": f"go on with: trued resume {name}",
        "failed": f"go on with: trued resume {name} (the failed call is made again); trued logs {name} tells more",
        "unjudged": f"go on with: trued resume {name}",
        "not proven": f"trued why {unmet or 'REQUIREMENT'} {name} shows the evidence; trued diff {name} the work",
        "done": f"{_home(engine, name)}trued diff {name} shows the work, trued report {name} the story",
    }
    if then.get(state):
        hint(then[state])


def _home(engine: Engine, name: str) -> str:
    return "" if engine.journal.landed().get(name) else f"trued land {name} brings it home; "


def _handed(engine: Engine, name: str) -> str:
    file = engine.folder(name) / "files" / HANDOVER
    return f"where it stands, and how to go on: {file}" if file.exists() else ""


def state_words(why: str) -> str:
    """A reason that only repeats the state needs no line of its own."""
    return why.strip().rstrip(".")


def wait_lines(record: RunRecord, every: Sequence[Wait]) -> Iterator[str]:
    """What a person is waited for, as one list, with the command for each."""
    name = record.id
    for one in every:
        if one.kind in ("go on", "answer"):
            yield f"asks: {one.what}"
            yield f"answer with: {one.command}, then trued resume {name}"
        elif one.kind == "judge":
            yield f"somebody has to look at {line(one.what)} (at {one.commit[:10]}, {ago(one.since)})"
            yield from (f"  [ ] {line(step)}" for step in one.steps)
            yield f"  then: {one.command}"
            yield f"  or:   {one.command.replace('approve', 'reject', 1)}"
        elif one.kind == "branch":
            yield f"the work is not on its branch {record.branch}; trued diff {name} shows it"
        elif one.kind == "resume":
            yield f"go on with: {one.command}"
    if attest := " ".join(quote(one.requirement) for one in every if one.kind == "attest"):
        yield f"no check can prove {attest}; if you have looked and accept it: trued approve {name} {attest}"
    if any(one.kind == "approve" for one in every):
        yield f"only your word for the contract is missing: trued approve {name}"
