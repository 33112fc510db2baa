"""Rules for an examiner's cases: which count, which are refused and why, and which words no case covers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from trued.inputs.clauses import clauses, is_only_names, one_line, unquoted_clauses
from trued.inputs.requirements.guard_phrases import guard_kind
from trued.model import (
    BrowserCheck,
    CallCase,
    Case,
    HttpCase,
    HttpRequest,
    Requirement,
    Requirements,
    RunCase,
    Serve,
    Value,
)
from trued.proof.cases.entry_points import KnownNames, why_not_a_server
from trued.proof.cases.mutants import CONSTANT, ECHO, STUB, Shown
from trued.proof.cases.vacuous_cases import declared_entry, passing_mutants, unnamed_entry, why_strange, why_weak
from trued.proof.checks.examples import case_flaw, with_time_limit
from trued.run.examination.replies import Aside, Examined, Proposal, Proposed
from trued.run.examination.second_examiner import Doubt, as_setup, cases_of, is_known_from, proving_cases
from trued.support.lazy_regex import lazy_regex
from trued.support.plurals import counted

LONGEST_LINE = 200
_FUNCTION = lazy_regex(r"`([A-Za-z_][\w.]*)\(")
MOST_CASES = 60  # cases of one proposal; further ones are dropped
BACKGROUND = "text-"  # prefix of the ids of single sentences: only these can be background


def is_open(requirement: Requirement) -> bool:
    """Whether the requirement still lacks a check: the user wrote none, and the base's own tools do not check it."""
    return not requirement.checks and not guard_kind(requirement.text)


class Fault(Value):
    """What is wrong with a case, or with the cases of a requirement."""

    requirement: str
    what: str


class WeighedCases(Value):
    """An examiner's cases that the rules allow, the faults of its other cases, and the clauses that no case covers."""

    kept: tuple[Proposed, ...] = ()
    origins: tuple[Proposed, ...] = ()  # the kept cases, as they were proposed
    faults: tuple[Fault, ...] = ()  # the examiner is asked once to fix them; faults that remain become notes
    interface: tuple[str, ...] = ()
    serve: Serve | None = None
    caps: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 (a frozen value)
    rests: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  requirement → its clauses that no case covers
    background: tuple[Aside, ...] = ()
    vague: tuple[Aside, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    unsure: tuple[str, ...] = ()  # clauses covered only by cases that a second examiner is not sure of


@dataclass(frozen=True, slots=True)
class _Item:
    """A proposal as it was made, and the part of it that will be run."""

    origin: Proposed
    run: Proposed


class CaseRules:
    """The rules for an examiner's cases, with the facts about one run that they need."""

    def __init__(
        self, asked: Requirements, words: str, base: Mapping[str, str], *, named: Sequence[str] | None = None
    ) -> None:
        """`named`: the user's own lines of the interface, if those of `asked` are not all the user's. What only an
        examiner named stays unknown to the user's words and to the base."""
        self.asked, self.words = asked, words
        self.open = {requirement.id: requirement for requirement in asked.requirements if is_open(requirement)}
        user_texts = [requirement.text for requirement in asked.requirements if not requirement.author]
        known_text = "\n".join((words, *user_texts, *(asked.interface if named is None else named)))
        self.known = KnownNames(known_text, base)

    def text_of(self, name: str) -> str:
        """The text that a case of this requirement may quote: the requirement's own text. If the requirement stands for
        the whole plan, ticket or specification, also the goal's text."""
        requirement = self.open[name]
        return f"{requirement.text}\n{self.words}" if requirement.parts else requirement.text

    def weigh(
        self, replies: Sequence[Examined], doubts: Sequence[Doubt] = (), own: Sequence[Proposed] = ()
    ) -> WeighedCases:
        """Apply the rules to all replies of one examiner, and to the second examiner's `own` cases.

        `doubts`: the second examiner's doubts. A case that the second examiner answers differently is dropped. Cases of
        which the second examiner is not sure are dropped if the requirement's other cases cover the same clauses and
        test the same entry points.
        """
        proposed = [part for reply in replies for case in reply.cases for part in split(case)]
        lines = dict.fromkeys(line.strip() for reply in replies for line in reply.interface)
        unfit = {line: why for line in lines if (why := self._interface_flaw(line, proposed))}
        interface = tuple(dict.fromkeys((*self.asked.interface, *(line for line in lines if line not in unfit))))
        serve = self.asked.serve or next((reply.serve for reply in reversed(replies) if reply.serve), None)
        faults = [Fault(requirement="", what=f"interface {line!r}: {why}") for line, why in unfit.items()]
        if serve and not self.asked.serve and (why := why_not_a_server(serve.command, self.known)):
            faults, serve = [*faults, Fault(requirement="", what=f"serve: {why}")], None
        runnable: dict[str, list[_Item]] = {}
        for proposal in {proposal.model_dump_json(): proposal for proposal in (*proposed, *own)}.values():
            runnable_part, new_faults = self._runnable_part(proposal, interface, serve)
            faults += new_faults
            if runnable_part and (runnable_part := _without_doubted(proposal, runnable_part, doubts, "otherwise")):
                runnable.setdefault(proposal.requirement, []).append(_Item(proposal, _bounded(runnable_part)))
        kept: dict[str, list[_Item]] = {}
        unsure: list[str] = []
        for name, items in runnable.items():
            remaining, new_faults = self._without_vacuous_cases(name, items, interface)
            firm, _ = self._without_vacuous_cases(name, _without_unsure(items, doubts), interface)
            lost = self._shows(name, remaining, interface) - self._shows(name, firm, interface)
            faults += new_faults
            if remaining and firm != remaining and lost:
                unsure += [
                    f"{name}: a second examiner is not sure of any case of “{self._quoted(name, firm, remaining)}”"
                ]
            if remaining:
                kept[name] = remaining if lost else firm
        return self._assemble(kept, faults, replies, interface, serve).model_copy(update={"unsure": tuple(unsure)})

    def _shows(self, name: str, items: Sequence[_Item], interface: Sequence[str]) -> set[str]:
        """The entry points that the cases of a requirement test, and the clauses that they cover."""
        entries = {declared_entry(case, interface) for item in items for _, case in proving_cases(item.run)}
        rest = self._rest(name, items)
        return entries | {
            clause for clause in clauses(self.open[name].text) if not any(clause in uncovered for uncovered in rest)
        }

    def _quoted(self, name: str, firm: Sequence[_Item], remaining: Sequence[_Item]) -> str:
        """The clauses that are quoted only by cases of which the second examiner is not sure."""
        sure = {case.quotes for item in firm for _, case in proving_cases(item.run)}
        quotes = dict.fromkeys(
            case.quotes for item in remaining for _, case in proving_cases(item.run) if case.quotes not in sure
        )
        return "; ".join(quotes) or one_line(self.open[name].text)

    def _without_vacuous_cases(
        self, name: str, items: Sequence[_Item], interface: Sequence[str]
    ) -> tuple[list[_Item], list[Fault]]:
        """The items without their vacuous cases (those that a mutant passes; see `proof/cases/mutants.py`), and the
        faults of these cases. A vacuous exchange stays as set-up for later exchanges."""
        numbered = [(item, number, case) for item in items for number, case in proving_cases(item.run)]
        reasons = passing_mutants([case for _, _, case in numbered], interface)
        vacuous = [(item.origin, number) for (item, number, _), reason in zip(numbered, reasons, strict=True) if reason]
        kept = [
            remaining
            for item in items
            if (remaining := _without(item, {number for origin, number in vacuous if origin == item.origin}))
        ]
        if items and not kept:
            common = next((mutant for mutant in (CONSTANT, ECHO, STUB) if mutant in reasons), STUB)
            return [], [Fault(requirement=name, what=f"all its cases are refused: {common}")]
        faults = [
            Fault(
                requirement=name,
                what=f"{declared_entry(case, interface)}: its cases show nothing, because {reason.rpartition(': ')[2]}",
            )
            for (_, _, case), reason in zip(numbered, reasons, strict=True)
            if reason and not isinstance(case, HttpCase)
        ]
        return kept, list(dict.fromkeys(faults))

    def _assemble(
        self,
        kept: Mapping[str, list[_Item]],
        faults: list[Fault],
        replies: Sequence[Examined],
        interface: tuple[str, ...],
        serve: Serve | None,
    ) -> WeighedCases:
        background = tuple(aside for reply in replies for aside in reply.background if self._is_background(aside, kept))
        set_aside = {aside.requirement for aside in background}
        rests = {name: rest for name in kept if (rest := self._rest(name, kept[name]))}
        faults += [Fault(requirement=name, what=f"no case shows: {'; '.join(rest)}") for name, rest in rests.items()]
        set_aside |= {aside.requirement for reply in replies for aside in reply.vague}
        without_cases = [
            requirement
            for name, requirement in self.open.items()
            if name not in kept and name not in set_aside and not requirement.parts
        ]
        faults += [Fault(requirement=requirement.id, what="it has no case") for requirement in without_cases]
        return WeighedCases(
            kept=tuple(item.run for items in kept.values() for item in items),
            origins=tuple(item.origin for items in kept.values() for item in items),
            faults=tuple(dict.fromkeys(faults)),
            interface=interface,
            serve=serve,
            caps={name: entries for name in kept if (entries := self._unnamed_entries(kept[name], interface))},
            rests=rests,
            background=tuple(dict.fromkeys(background)),
            vague=tuple(dict.fromkeys(aside for reply in replies for aside in reply.vague)),
            proposals=tuple(dict.fromkeys(proposal for reply in replies for proposal in reply.proposals)),
        )

    def _runnable_part(
        self, proposal: Proposed, interface: Sequence[str], serve: Serve | None
    ) -> tuple[Proposed | None, list[Fault]]:
        """The part of a proposal that can be run (None if there is none), and the faults of the other parts.

        Each exchange is judged separately. An exchange that shows little is kept as set-up for the other exchanges. An
        exchange that cannot be run is dropped, together with all exchanges after it.
        """

        def fault(what: str) -> list[Fault]:
            return [Fault(requirement=proposal.requirement, what=what)]

        if proposal.requirement not in self.open:
            return None, fault(f"{describe_proposal(proposal)}: there is no open requirement {proposal.requirement!r}")
        if not cases_of(proposal):
            return None, fault("a proposal: it has neither cases nor a page")
        cases: list[Case] = []
        text = self.text_of(proposal.requirement)
        for number, case in enumerate(cases_of(proposal)):
            unfit = self._unfit(case, interface, serve)
            if unfit:
                after = len(proposal.cases) - number - 1
                more = f", and {counted(after, 'exchange')} after it with it" if after > 0 else ""
                return (_trimmed(proposal, cases) if cases else None), fault(f"{describe_shown(case)}: {unfit}{more}")
            shows_little = self._why_known(case) or why_weak(case, text, self.known)
            if isinstance(case, HttpCase):
                cases.append(as_setup(case) if case.setup or shows_little else case)
            elif shows_little:
                return None, fault(f"{describe_shown(case)}: {shows_little}")
        runnable = _trimmed(proposal, cases) if cases else proposal
        if runnable is None:
            reasons = [
                self._why_known(case) or why_weak(case, text, self.known) or "it only prepares others"
                for case in cases_of(proposal)
            ]
            return None, fault(
                "; ".join(f"{describe_shown(case)}: {why}" for case, why in zip(proposal.cases, reasons, strict=True))
            )
        return runnable, []

    def _why_known(self, case: Shown) -> str:
        known = any(is_known_from(disclosed, case) for disclosed in self.asked.disclosed)
        return "the implementers were shown this case, so it no longer counts" if known else ""

    def _unfit(self, case: Shown, interface: Sequence[str], serve: Serve | None) -> str:
        """Why the case cannot be run, or why it calls something that will not be built; "" if nothing is wrong."""
        if not isinstance(case, BrowserCheck) and (why := case_flaw(case)):
            return f"it is broken: {why}"
        if isinstance(case, RunCase) and case.has_unnamed_files:
            return "it is broken: its command line does not name its files, as in {files}/NAME"
        if isinstance(case, HttpCase | BrowserCheck) and serve is None:
            return "it is broken: nothing says how the server is started"
        return why_strange(case, interface, self.known)

    def _is_background(self, aside: Aside, kept: Mapping[str, object]) -> bool:
        """Whether the examiner may call this requirement background. Only a single sentence without cases may be
        background, and only if it is a part of a requirement that stands for the whole source."""
        whole = any(aside.requirement in requirement.parts for requirement in self.open.values())
        return whole and aside.requirement.startswith(BACKGROUND) and aside.requirement not in kept

    def _rest(self, name: str, kept: Sequence[_Item]) -> tuple[str, ...]:
        """The clauses of the requirement that no case covers. If all clauses are covered, but there are more clauses
        than cases, returns the whole text: a case that quotes several clauses may not show all of them."""
        requirement = self.open[name]
        if requirement.parts:
            return ()
        cases = [case for item in kept for _, case in proving_cases(item.run)]
        started = " ".join(case.model_dump_json(exclude={"quotes"}) for case in cases)
        rest = unquoted_clauses(requirement.text, [case.quotes for case in cases])
        rest = tuple(clause for clause in rest if not is_only_names(clause, partial(_is_used, cases)))
        all_clauses = [clause.rstrip(" .") for clause in clauses(requirement.text)]
        unused = [
            clause
            for clause in all_clauses
            if not all(KnownNames(started).is_in_words(name) for name in _named_functions(clause))
        ]
        if rest := (*rest, *(clause for clause in unused if not any(clause in uncovered for uncovered in rest))):
            return rest
        return (one_line(requirement.text),) if len(cases) < len(clauses(requirement.text)) else ()

    def _unnamed_entries(self, kept: Sequence[_Item], interface: Sequence[str]) -> tuple[str, ...]:
        entries = [unnamed_entry(case, interface, self.known) for item in kept for case in cases_of(item.run)]
        return tuple(
            f"{entry} is named neither by the user's words nor by the base"
            for entry in dict.fromkeys(filter(None, entries))
        )

    def _interface_flaw(self, line: str, proposed: Sequence[Proposed]) -> str:
        """Why an interface line is refused; "" if it is not. Implementers see these lines, so they may contain names
        and shapes, but no expected values."""
        if not line or "\n" in line or len(line) > LONGEST_LINE:
            return "it is no single line with an entry point"
        values = {value for proposal in proposed for case in cases_of(proposal) for value in _results(case)}
        revealed = [
            value for value in values if KnownNames(line).is_in_words(value) and not self.known.is_in_words(value)
        ]
        return f"it holds a result of a case ({revealed[0]})" if revealed else ""


def split(proposal: Proposed) -> Iterator[Proposed]:
    """Split a proposal into its calls, its command lines, its page, and its exchanges. The exchanges stay together,
    because they build on each other. A proposal without cases and page is returned as it is."""
    exchanges = tuple(case for case in proposal.cases if isinstance(case, HttpCase))
    for case in proposal.cases[:MOST_CASES]:
        if not isinstance(case, HttpCase):
            yield Proposed(requirement=proposal.requirement, cases=(case,))
    if exchanges:
        yield Proposed(requirement=proposal.requirement, cases=exchanges[:MOST_CASES])
    if proposal.page:
        # Always hidden: the examiner does not decide whether implementers see the check.
        hidden = proposal.page.model_copy(update={"visible": False})
        yield Proposed(requirement=proposal.requirement, page=hidden)
    if not proposal.cases and not proposal.page:
        yield proposal


def _trimmed(proposal: Proposed, cases: Sequence[Case]) -> Proposed | None:
    """The proposal with these cases. Set-up at the end is left out, because it prepares no case. None if all cases are
    set-up."""
    last = max((number for number, case in enumerate(cases) if not getattr(case, "setup", False)), default=-1)
    return proposal.model_copy(update={"cases": tuple(cases[: last + 1])}) if last >= 0 else None


def _without_doubted(origin: Proposed, run: Proposed, doubts: Sequence[Doubt], what: str) -> Proposed | None:
    """The proposal `run` without the cases that the second examiner doubts; None if nothing is left. A doubted exchange
    stays as set-up for the exchanges after it.

    `origin`: the proposal as the examiner made it, which the doubts name. `what`: the kind of doubt that counts,
    "otherwise" (the second examiner gives another answer) or "unsure".
    """
    numbers = {doubt.number for doubt in doubts if doubt.of == origin and doubt.what == what}
    if not numbers or not run.cases:
        return None if numbers else run
    if not isinstance(run.cases[0], HttpCase):
        return None
    cases = [
        as_setup(case, status=what == "unsure") if number in numbers and isinstance(case, HttpCase) else case
        for number, case in enumerate(run.cases)
    ]
    return _trimmed(run, cases)


def _without_unsure(items: Sequence[_Item], doubts: Sequence[Doubt]) -> list[_Item]:
    remaining = [(item, _without_doubted(item.origin, item.run, doubts, "unsure")) for item in items]
    return [_Item(item.origin, run) for item, run in remaining if run]


def _without(item: _Item, numbers: set[int]) -> _Item | None:
    if not numbers:
        return item
    if not item.run.cases or not isinstance(item.run.cases[0], HttpCase):
        return None
    cases = [
        as_setup(case) if number in numbers and isinstance(case, HttpCase) else case
        for number, case in enumerate(item.run.cases)
    ]
    trimmed = _trimmed(item.run, cases)
    return _Item(item.origin, trimmed) if trimmed else None


def _bounded(proposal: Proposed) -> Proposed:
    return proposal.model_copy(update={"cases": tuple(map(with_time_limit, proposal.cases))})


def _is_used(cases: Sequence[Shown], name: str) -> bool:
    """Whether a case uses the entry point `name`: requests this route, calls this function, or starts this file or its
    Python module. What cases expect does not count."""
    method, route, path = name.partition(" /")
    if route:
        return any(_asks_for(case.http, method, f"/{path}") for case in cases if isinstance(case, HttpCase))
    called_names = KnownNames(" ".join(filter(None, map(_asked_name, cases))))
    function, parenthesis, _ = name.partition("(")
    if parenthesis:
        return called_names.is_in_words(function)
    module = name.removesuffix(".py").replace("/", ".") if name.endswith(".py") else name
    return any(map(called_names.is_in_words, (name, module, module.removeprefix("src."))))


def _asked_name(case: Shown) -> str:
    """The entry point of a case as the user may write it: `module.function` as well as `path/file.js:function`."""
    if isinstance(case, CallCase):
        return f"{case.call} {case.call.replace(':', '.')}"
    return " ".join(case.run) if isinstance(case, RunCase) else ""


def _asks_for(request: HttpRequest, method: str, route: str) -> bool:
    """Whether the request matches this route: same method, same path with any value for `<id>`, `{id}` or `:id`, and a
    query that has all names of the route's query."""
    path, _, query = route.partition("?")
    shape = "".join(
        "[^/]+" if re.fullmatch(r"<[^>]*>|\{[^}]*\}|:\w+", part) else re.escape(part)
        for part in re.split(r"(<[^>]*>|\{[^}]*\}|:\w+)", path.rstrip("/"))
    )
    asked_path, _, asked_query = request.path.partition("?")
    names = set(re.findall(r"(\w+)=", query))
    return (
        request.method == method
        and bool(re.fullmatch(f"{shape}/?", asked_path))
        and names <= set(re.findall(r"(\w+)=", asked_query))
    )


def _named_functions(clause: str) -> list[str]:
    """The functions that a clause names. Cases cover the clause only if they call these functions."""
    return [name.rpartition(".")[2] for name in _FUNCTION.findall(clause)]


def _results(case: Shown) -> Iterator[str]:
    """The words and numbers of a case's expected result, if they are long enough to be distinctive."""
    if isinstance(case, BrowserCheck):
        yield from (word for word in case.sees if len(word) > 2)
        return
    data = case.model_dump(mode="json", include={"returns", "stdout", "stdout_json", "json_", "body"}, by_alias=False)
    waiting: list[object] = list(data.values())
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
        elif value is not None and not isinstance(value, bool) and len(str(value).strip()) > 1:
            yield str(value).strip()


def describe_proposal(proposal: Proposed) -> str:
    """A short name of a proposal, for messages."""
    case = next((case for _, case in proving_cases(proposal)), None) or next(iter(cases_of(proposal)), None)
    return describe_shown(case) if case else "a proposal"


def describe_shown(case: Shown) -> str:
    """A short name of a case, for messages."""
    if isinstance(case, BrowserCheck):
        return f"page {case.page}"
    if isinstance(case, HttpCase):
        return f"{case.http.method} {case.http.path}"
    return str(getattr(case, "call", "")) or " ".join(getattr(case, "run", ()))[:80]


def leftover_requirements(requirement: Requirement, rests: Sequence[str], taken: set[str]) -> Iterator[Requirement]:
    """Requirements made of the words that no case covers. They are unproven until a person reviews them.

    `taken`: ids that are in use; the new ids are added to it.
    """
    for rest in rests:
        name, number = f"{requirement.id}-rest", 2
        while name in taken:
            name, number = f"{requirement.id}-rest-{number}", number + 1
        taken.add(name)
        covers = (*requirement.covers, requirement.id, requirement.text)
        yield Requirement(id=name, text=rest, source=requirement.source, covers=covers, author=requirement.author)
