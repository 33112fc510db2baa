"""The end of a run on one screen: what is met, what failed, and what needs a person, each with its command."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any, assert_never

from rich.console import Console
from rich.text import Text

from trued.cli.format import GRADE_COLOURS, ago, line, short_agent
from trued.engine.pending import Wait
from trued.model import Case, Contract, ExamplesCheck, Grade, RunRecord
from trued.proof.hashes import check_hash
from trued.reporting.views.cases import FailedCase, failed_case
from trued.reporting.views.notes import Notes, sort_notes
from trued.support.plurals import counted, few

NAMES = 12  # at most this many requirements are named in a line; the others are counted
# At most this many failed requirements, findings, and requirements to accept are shown; `trued ledger` lists all.
ROWS = 6
CASES = 2  # at most this many failed cases of one requirement are shown; `trued why` shows all
TEXT = 160  # maximum length of a requirement's text, in characters
VALUE = 300  # maximum length of a reason, a question, or an expected or actual result, in characters
QUESTION_LINES = 8
BY_PEOPLE = ("accepted ", "the contract is approved ")  # the first words of reasons that record a person's decision


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a person has to do, and the command that does it."""

    what: str  # what has to be done, and why
    command: str
    details: tuple[str, ...] = ()  # what to look at first
    otherwise: str = ""  # the command for the opposite decision, such as `trued reject`


@dataclass(frozen=True, slots=True)
class EndScreen:
    """What a run's end screen shows: its ledger, what it waits for, its contract, and findings."""

    record: RunRecord
    ledger: Mapping[str, Any]
    waits: Sequence[Wait] = ()
    contract: Contract | None = None
    accept: Grade = Grade.ATTESTED
    findings: Sequence[str] = ()  # objections and remarks that are not about one requirement

    @property
    def notes(self) -> Notes:
        return sort_notes(self.ledger)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The requirements that the screen lists. A requirement that only has the lowest grade of its parts is left
        out, because its parts are in the list."""
        return [row for row in self.ledger["requirements"] if row["basis"] != "parts"]

    @property
    def met(self) -> int:
        return sum(self.is_met(row) for row in self.ledger["requirements"])

    def is_met(self, row: Mapping[str, Any]) -> bool:
        return Grade(row["grade"]).is_met(self.accept)

    # -- results -------------------------------------------------------------------------------------------------------

    def results(self) -> Iterator[tuple[str, str, str, str]]:
        """The result of each requirement that `needs` does not list, as rows of mark, grade, requirements and reason.

        Met requirements (✓) come first, then those that lack only a person's decision (○); both are grouped by grade
        and reason. Then come all other unmet requirements (✗): one row each, at most ROWS, and a row that counts the
        ones left out.
        """
        alike: dict[tuple[str, str], list[str]] = {}
        for row in filter(self.is_met, self.rows):
            first = str(row["why"]).partition(";")[0]
            alike.setdefault((row["grade"], first if first.startswith(BY_PEOPLE) else ""), []).append(line(row["id"]))
        for (grade, why), names in alike.items():
            yield "✓", grade, _few_names(names), why
        waits = {wait.requirement for wait in self.waits} | {f"lacks {wait.kind}" for wait in self.waits}
        unmet = [row for row in self.rows if not self.is_met(row)]
        lacking: dict[tuple[str, str], list[str]] = {}
        for row in unmet:
            if row["lacks"] and waits.isdisjoint((row["id"], f"lacks {row['lacks']}")):
                lacking.setdefault((row["grade"], self.reason(row)), []).append(line(row["id"]))
        for (grade, why), names in lacking.items():
            yield "○", grade, _few_names(names), line(why, VALUE)
        failed = [row for row in unmet if not row["lacks"]]
        for row in failed[:ROWS]:
            cases = [case for case in self.failed_cases(row["id"]) if case.expected]
            why = f"{counted(len(cases), 'case fails', 'cases fail')}" if cases else self.reason(row)
            yield "✗", row["grade"], line(row["id"]), line(why, VALUE)
        if (more := len(failed) - ROWS) > 0:
            yield "✗", "", f"and {more} more", ""

    def reason(self, row: Mapping[str, Any]) -> str:
        """Why a requirement is not met; if it has no check, why it has none."""
        about = "; ".join(self.notes.about.get(row["id"], ()))
        return f"no check was written: {about}" if about and row["basis"] == "no check" else str(row["why"])

    def failed_cases(self, name: str) -> list[FailedCase]:
        """The failed cases of a requirement on the head, each once; none if the requirement is met or unknown."""
        row = next((candidate for candidate in self.ledger["requirements"] if candidate["id"] == name), None)
        if row is None or self.is_met(row):
            return []
        cases: dict[str, FailedCase] = {}
        known = cases_of(self.contract, name)
        for fact in row["evidence"]:
            for tried in fact["tried"] if fact["side"] == "head" else ():
                if tried["outcome"] != "passed" and tried.get("detail"):
                    case = failed_case(tried["id"], tried["detail"], tried["kind"], known.get(fact["check"], ()))
                    cases.setdefault(f"{fact['check']} {tried['id']}", case)
        return list(cases.values())

    # -- what needs a person -------------------------------------------------------------------------------------------

    def needs(self) -> list[Need]:
        """Everything that waits for a person, each thing once, with its command."""
        needs = [need for wait in self.waits if (need := self._need_for(wait))]
        if bare := [wait for wait in self.waits if wait.kind == "attest"]:
            needs.append(self._need_to_look(bare))
        if any(wait.kind == "approve" for wait in self.waits):
            needs.append(self._need_to_approve())
        return needs

    def _need_for(self, wait: Wait) -> Need | None:
        name = self.record.id
        match wait.kind:
            case "go on" | "answer":
                question, *more = [line(text, VALUE) for text in wait.what.splitlines() if text.strip()][
                    :QUESTION_LINES
                ]
                return Need(f"it asks: {question}", f"{wait.command}, then trued resume {name}", tuple(more))
            case "judge":
                what = f"please check by hand: {line(wait.what)} (at {wait.commit[:10]}, {ago(wait.since)})"
                steps = tuple(f"[ ] {line(step)}" for step in wait.steps)
                return Need(what, wait.command, steps, wait.command.replace("approve", "reject", 1))
            case "branch":
                return Need(f"the work is not on its branch {self.record.branch}: {line(wait.what)}", wait.command)
            case "amend":
                return Need(line(wait.what, VALUE), wait.command)
            case "limit" | "resume":
                return Need(line(wait.what.removesuffix(wait.command).rstrip(" :;"), VALUE), wait.command)
            case "attest" | "approve":  # nothing here: `needs` adds one command for all waits of this kind
                return None
        assert_never(wait.kind)

    def _need_to_look(self, waits: Sequence[Wait]) -> Need:
        """One Need for all requirements that no check proves: it asks the person to look at the work, and its command
        accepts them all."""
        run, names = self.record.id, [wait.requirement for wait in waits]
        rows = {row["id"]: row for row in self.ledger["requirements"]}
        bare = all(rows[name]["basis"] == "no check" for name in names if name in rows)
        why = f"no check was written for {_few_names(names)}" if bare else f"no check proves {_few_names(names)}"
        details = [self._description(rows[name], bare=bare) for name in names[:ROWS] if name in rows]
        details += [f"and {len(names) - ROWS} more: trued ledger {run}"] if len(names) > ROWS else []
        command = f"trued approve {run} {' '.join(line(quote(name)) for name in names)}"
        what = f"{why}: look at the work (trued diff {run}), then accept it"
        return Need(what, command, tuple(details), f"trued amend {run} --add FILE (adds a check of your own)")

    def _description(self, row: Mapping[str, Any], *, bare: bool) -> str:
        about = "; ".join(self.notes.about.get(row["id"], ()))
        why = about if row["basis"] == "no check" else str(row["why"])
        more = f" ({line(why, VALUE)})" if why and (about or not bare) else ""
        return f"{line(row['id'])}: {line(row['text'], TEXT)}{more}"

    def _need_to_approve(self) -> Need:
        names = [line(row["id"]) for row in self.rows if row["lacks"] == "approve"]
        written = self.contract.authors.values() if self.contract else ()
        agents = ", ".join(dict.fromkeys(short_agent(author.agent or author.role) for author in written))
        cases = f"cases by {agents} that" if agents else "cases that"
        verb = "passes" if len(names) == 1 else "pass"
        return Need(f"{_few_names(names)} {verb} on {cases} nobody has approved", f"trued approve {self.record.id}")


def cases_of(contract: Contract | None, requirement: str) -> dict[str, tuple[Case, ...]]:
    """The cases of a requirement's checks, keyed by the check's hash (evidence refers to a check by its hash)."""
    checks = [
        check for sealed in (contract.every if contract else ()) if sealed.id == requirement for check in sealed.checks
    ]
    return {check_hash(check): check.cases for check in checks if isinstance(check, ExamplesCheck)}


def _few_names(names: Sequence[str]) -> str:
    return few([line(name) for name in names], NAMES)


# -- lines -------------------------------------------------------------------------------------------------------------


def result_lines(end: EndScreen, console: Console) -> Iterator[Text]:
    """The results (see `EndScreen.results`), the first failed cases of each failed requirement, and findings."""
    for mark, grade, names, why in end.results():
        style = GRADE_COLOURS.get(grade, "")
        head = Text.assemble((f"{mark} ", style), (f"{grade:<12}", style), (names, "bold"))
        yield from wrapped(head, f"  {why}" if why else "", 14, console)
        if mark == "✗":
            for case in end.failed_cases(names)[:CASES]:
                yield from case_lines(case, "  ", console)
    for finding in end.findings[:ROWS]:
        yield from wrapped(Text("✗ ", "red"), line(finding, VALUE), 4, console)


def case_lines(case: FailedCase, indent: str, console: Console) -> Iterator[Text]:
    """A failed case: its name and input, then expected and actual result below each other. If no result was expected,
    the failure text follows the input."""
    head = Text.assemble(
        indent, ("✗ ", "red"), f"{line(case.name, 200)}{f': {exact(case.asked)}' if case.asked else ''}"
    )
    if not case.expected:
        yield from wrapped(head, f": {exact(_assertion_lines(case.got))}", len(indent) + 4, console)
        return
    yield from wrapped(head, "", len(indent) + 4, console)
    for label, value in (("expected", case.expected), ("got", case.got)):
        label_text = Text(f"{indent}    {label:<9} ", "dim")
        yield from wrapped(label_text, exact(value), len(indent) + 14, console)


def exact(text: str) -> str:
    """The text on one line, without control characters. It keeps every space, because two texts may differ only in
    spaces. A long text is cut in the middle, not at the end: the end of a trace says what went wrong."""
    from trued.support.plain_text import plain

    flat = " ".join(plain(text).splitlines())
    first = VALUE // 3
    return flat if len(flat) <= VALUE else f"{flat[:first]} … {flat[first + 3 - VALUE :]}"


def _assertion_lines(output: str) -> str:
    """The lines that pytest marks with `E`, joined into one; the whole output if it has no such line."""
    assertions = [text[1:].strip() for text in output.splitlines() if text.startswith(("E ", "E\t"))]
    return "; ".join(assertions) or output


def need_lines(needs: Sequence[Need], console: Console) -> Iterator[Text]:
    """`2 things need you:` and a numbered list; each command is on a line of its own, ready to be copied."""
    if not needs:
        return
    yield Text(f"{counted(len(needs), 'thing needs', 'things need')} you:", "bold yellow")
    for number, need in enumerate(needs, 1):
        yield from wrapped(Text(f"{number:>3}. "), need.what, 5, console)
        for detail in need.details:
            yield from wrapped(Text("       ", "dim"), detail, 9, console, "dim")
        yield Text.assemble("       ", (need.command, "bold"))
        if need.otherwise:
            yield Text.assemble(("       or: ", "dim"), need.otherwise)


def wrapped(head: Text, text: str, indent: int, console: Console, style: str = "") -> Iterator[Text]:
    """`head` followed by `text`: wrapped on a terminal, with later lines indented; one line on a pipe."""
    whole = head.copy().append(text, style)
    if not console.is_terminal or console.width < indent + 30 or whole.cell_len <= console.width:
        yield whole
        return
    first, *rest = textwrap.wrap(
        whole.plain.lstrip(),
        console.width - indent - 1,
        break_on_hyphens=False,
        break_long_words=False,
        drop_whitespace=True,
    )
    started = len(whole.plain) - len(whole.plain.lstrip())
    yield whole[: started + len(first)]
    yield from (Text(" " * indent).append(part, style) for part in rest)
