"""Rules for an examiner's cases: which count, which are refused and why, and which words no case covers. Pure."""

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
from trued.support.plurals import counted

LONGEST_LINE = 200
_FUNCTION = re.compile(r"`([A-Za-z_][\w.]*)\(")
MOST_CASES = 60  # at most this many cases of one proposal; further ones are dropped
BACKGROUND = "text-"  # prefix of the ids of single sentences: only these can be background


def is_open(one: Requirement) -> bool:
    """Whether the requirement still lacks a check: the user wrote none, and the base's own tools do not check it."""
    return not one.checks and not guard_kind(one.text)


class Fault(Value):
    """What is wrong with a case, or with the cases of a requirement."""

    requirement: str
    what: str


class WeighedCases(Value):
    """What the rules leave of an examiner's proposals."""

    kept: tuple[Proposed, ...] = ()
    origins: tuple[Proposed, ...] = ()  # the kept cases, as they were proposed
    faults: tuple[Fault, ...] = ()  # the examiner is asked once to fix them; those that remain become notes
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

    def __init__(self, asked: Requirements, words: str, base: Mapping[str, str]) -> None:
        self.asked, self.words = asked, words
        self.open = {one.id: one for one in asked.requirements if is_open(one)}
        users = [one.text for one in asked.requirements if not one.author]
        every = "\n".join((words, *users, *asked.interface))
        self.known = KnownNames(every, base)

    def text_of(self, name: str) -> str:
        """The text that a case of this requirement may quote: the requirement's own text. If the requirement stands for
        the whole plan, ticket or specification, also the goal's text."""
        one = self.open[name]
        return f"{one.text}\n{self.words}" if one.parts else one.text

    def weigh(self, replies: Sequence[Examined], doubts: Sequence[Doubt] = ()) -> WeighedCases:
        """Apply the rules to all replies of one examiner. `doubts`: those of the second examiner. A case to which it
        gives another answer is dropped."""
        proposed = [each for reply in replies for one in reply.cases for each in _split(one)]
        proposed = list({one.model_dump_json(): one for one in proposed}.values())
        lines = dict.fromkeys(line.strip() for reply in replies for line in reply.interface)
        unfit = {line: why for line in lines if (why := self._interface_flaw(line, proposed))}
        interface = tuple(dict.fromkeys((*self.asked.interface, *(line for line in lines if line not in unfit))))
        serve = self.asked.serve or next((reply.serve for reply in reversed(replies) if reply.serve), None)
        faults = [Fault(requirement="", what=f"interface {line!r}: {why}") for line, why in unfit.items()]
        if serve and not self.asked.serve and (why := why_not_a_server(serve.command, self.known)):
            faults, serve = [*faults, Fault(requirement="", what=f"serve: {why}")], None
        runnable: dict[str, list[_Item]] = {}
        for one in proposed:
            left, more = self._runnable_part(one, interface, serve)
            faults += more
            if left and (left := _without_doubted(one, left, doubts, "otherwise")):
                runnable.setdefault(one.requirement, []).append(_Item(one, _bounded(left)))
        kept: dict[str, list[_Item]] = {}
        unsure: list[str] = []
        for name, items in runnable.items():
            remaining, more = self._without_vacuous_cases(name, items, interface)
            firm, _ = self._without_vacuous_cases(name, _without_unsure(items, doubts), interface)
            lost = self._shows(name, remaining, interface) - self._shows(name, firm, interface)
            faults += more
            if remaining and firm != remaining and lost:
                unsure += [
                    f"{name}: a second examiner is not sure of any case of “{self._quoted(name, firm, remaining)}”"
                ]
            if remaining:
                kept[name] = remaining if lost else firm
        return self._assemble(kept, faults, replies, interface, serve).model_copy(update={"unsure": tuple(unsure)})

    def _shows(self, name: str, items: Sequence[_Item], interface: Sequence[str]) -> set[str]:
        """The entry points that the cases of a requirement test, and the clauses that they cover."""
        entries = {declared_entry(one, interface) for item in items for _, one in proving_cases(item.run)}
        rest = self._rest(name, items)
        return entries | {clause for clause in clauses(self.open[name].text) if not any(clause in one for one in rest)}

    def _quoted(self, name: str, firm: Sequence[_Item], remaining: Sequence[_Item]) -> str:
        """The clauses that are quoted only by cases of which the second examiner is not sure."""
        sure = {one.quotes for item in firm for _, one in proving_cases(item.run)}
        quotes = dict.fromkeys(
            one.quotes for item in remaining for _, one in proving_cases(item.run) if one.quotes not in sure
        )
        return "; ".join(quotes) or one_line(self.open[name].text)

    def _without_vacuous_cases(
        self, name: str, items: Sequence[_Item], interface: Sequence[str]
    ) -> tuple[list[_Item], list[Fault]]:
        """The items without the cases that a mutant passes (see `proof/cases/mutants.py`), and what is wrong with these
        cases. An exchange that a mutant passes stays as set-up for later ones."""
        places = [(item, place, one) for item in items for place, one in proving_cases(item.run)]
        why = passing_mutants([one for _, _, one in places], interface)
        vacuous = [(item.origin, place) for (item, place, _), said_so in zip(places, why, strict=True) if said_so]
        kept = [left for item in items if (left := _without(item, {at for of, at in vacuous if of == item.origin}))]
        if items and not kept:
            whole = next((one for one in (CONSTANT, ECHO, STUB) if one in why), STUB)
            return [], [Fault(requirement=name, what=f"all its cases are refused: {whole}")]
        faults = [
            Fault(
                requirement=name,
                what=f"{declared_entry(one, interface)}: its cases show nothing, {said_so.rpartition(': ')[2]}",
            )
            for (_, _, one), said_so in zip(places, why, strict=True)
            if said_so and not isinstance(one, HttpCase)
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
        background = tuple(one for reply in replies for one in reply.background if self._is_background(one, kept))
        asides = {one.requirement for one in background}
        rests = {name: rest for name in kept if (rest := self._rest(name, kept[name]))}
        faults += [Fault(requirement=name, what=f"no case shows: {'; '.join(rest)}") for name, rest in rests.items()]
        asides |= {one.requirement for reply in replies for one in reply.vague}
        bare = [one for name, one in self.open.items() if name not in kept and name not in asides and not one.parts]
        faults += [Fault(requirement=one.id, what="it has no case") for one in bare]
        return WeighedCases(
            kept=tuple(one.run for every in kept.values() for one in every),
            origins=tuple(one.origin for every in kept.values() for one in every),
            faults=tuple(dict.fromkeys(faults)),
            interface=interface,
            serve=serve,
            caps={name: entries for name in kept if (entries := self._unnamed_entries(kept[name], interface))},
            rests=rests,
            background=tuple(dict.fromkeys(background)),
            vague=tuple(dict.fromkeys(one for reply in replies for one in reply.vague)),
            proposals=tuple(dict.fromkeys(one for reply in replies for one in reply.proposals)),
        )

    def _runnable_part(
        self, one: Proposed, interface: Sequence[str], serve: Serve | None
    ) -> tuple[Proposed | None, list[Fault]]:
        """The part of a proposal that can be run, and why the rest cannot.

        Each exchange is judged separately. One that shows little is kept as set-up for the others; one that cannot be
        run is dropped, together with all exchanges after it.
        """

        def fault(what: str) -> list[Fault]:
            return [Fault(requirement=one.requirement, what=what)]

        if one.requirement not in self.open:
            return None, fault(f"{describe_proposal(one)}: there is no open requirement {one.requirement!r}")
        if not cases_of(one):
            return None, fault("a proposal: it has neither cases nor a page")
        cases: list[Case] = []
        text = self.text_of(one.requirement)
        for place, shown in enumerate(cases_of(one)):
            unfit = self._unfit(shown, interface, serve)
            if unfit:
                after = len(one.cases) - place - 1
                more = f", and {counted(after, 'exchange')} after it with it" if after > 0 else ""
                return (_trimmed(one, cases) if cases else None), fault(f"{describe_shown(shown)}: {unfit}{more}")
            shows_little = self._why_known(shown) or why_weak(shown, text, self.known)
            if isinstance(shown, HttpCase):
                cases.append(as_setup(shown) if shown.setup or shows_little else shown)
            elif shows_little:
                return None, fault(f"{describe_shown(shown)}: {shows_little}")
        left = _trimmed(one, cases) if cases else one
        if left is None:
            little = [
                self._why_known(shown) or why_weak(shown, text, self.known) or "it only prepares others"
                for shown in cases_of(one)
            ]
            return None, fault(
                "; ".join(f"{describe_shown(each)}: {why}" for each, why in zip(one.cases, little, strict=True))
            )
        return left, []

    def _why_known(self, shown: Shown) -> str:
        known = any(is_known_from(one, shown) for one in self.asked.disclosed)
        return "the implementers were shown this case, so it no longer counts" if known else ""

    def _unfit(self, shown: Shown, interface: Sequence[str], serve: Serve | None) -> str:
        """Why the case cannot be run, or calls something that nobody will build; "" if nothing is wrong."""
        if not isinstance(shown, BrowserCheck) and (why := case_flaw(shown)):
            return f"it is broken: {why}"
        if isinstance(shown, RunCase) and shown.has_unnamed_files:
            return "it is broken: its command line does not name its files, as in {files}/NAME"
        if isinstance(shown, HttpCase | BrowserCheck) and serve is None:
            return "it is broken: nothing says how the server is started"
        return why_strange(shown, interface, self.known)

    def _is_background(self, aside: Aside, kept: Mapping[str, object]) -> bool:
        """Whether the examiner may call this requirement background: it is a single sentence without cases, and a part
        of the requirement that stands for the whole source."""
        whole = any(aside.requirement in one.parts for one in self.open.values())
        return whole and aside.requirement.startswith(BACKGROUND) and aside.requirement not in kept

    def _rest(self, name: str, kept: Sequence[_Item]) -> tuple[str, ...]:
        """The clauses that no case covers. If each is covered, but there are fewer cases than clauses, the whole text:
        a case that quotes several clauses may not show all of them."""
        one = self.open[name]
        if one.parts:
            return ()
        shown = [each for every in kept for _, each in proving_cases(every.run)]
        started = " ".join(each.model_dump_json(exclude={"quotes"}) for each in shown)
        rest = unquoted_clauses(one.text, [each.quotes for each in shown])
        rest = tuple(each for each in rest if not is_only_names(each, partial(_is_used, shown)))
        every = [clause.rstrip(" .") for clause in clauses(one.text)]
        unused = [
            clause
            for clause in every
            if not all(KnownNames(started).is_in_words(name) for name in _named_functions(clause))
        ]
        if rest := (*rest, *(clause for clause in unused if not any(clause in each for each in rest))):
            return rest
        return (one_line(one.text),) if len(shown) < len(clauses(one.text)) else ()

    def _unnamed_entries(self, kept: Sequence[_Item], interface: Sequence[str]) -> tuple[str, ...]:
        entries = [unnamed_entry(shown, interface, self.known) for one in kept for shown in cases_of(one.run)]
        return tuple(
            f"{entry} is named neither by the user's words nor by the base"
            for entry in dict.fromkeys(filter(None, entries))
        )

    def _interface_flaw(self, line: str, proposed: Sequence[Proposed]) -> str:
        """Why an interface line is refused; "" if it is not. Implementers see these lines, so they may contain names
        and shapes, but no expected values."""
        if not line or "\n" in line or len(line) > LONGEST_LINE:
            return "it is no single line with an entry point"
        values = {value for one in proposed for shown in cases_of(one) for value in _results(shown)}
        revealed = [
            value for value in values if KnownNames(line).is_in_words(value) and not self.known.is_in_words(value)
        ]
        return f"it holds a result of a case ({revealed[0]})" if revealed else ""


def _split(one: Proposed) -> Iterator[Proposed]:
    """Split a proposal into single calls and command lines. Exchanges stay together: they build on each other."""
    exchanges = tuple(case for case in one.cases if isinstance(case, HttpCase))
    for case in one.cases[:MOST_CASES]:
        if not isinstance(case, HttpCase):
            yield Proposed(requirement=one.requirement, cases=(case,))
    if exchanges:
        yield Proposed(requirement=one.requirement, cases=exchanges[:MOST_CASES])
    if one.page:
        # Always hidden: the examiner does not decide whether implementers see the check.
        hidden = one.page.model_copy(update={"visible": False})
        yield Proposed(requirement=one.requirement, page=hidden)
    if not one.cases and not one.page:
        yield one


def _trimmed(one: Proposed, cases: Sequence[Case]) -> Proposed | None:
    """The proposal with these exchanges, up to the last one that shows something; None if no exchange shows anything.
    (Set-up after that one would prepare nothing.)"""
    last = max((place for place, case in enumerate(cases) if not getattr(case, "setup", False)), default=-1)
    return one.model_copy(update={"cases": tuple(cases[: last + 1])}) if last >= 0 else None


def _without_doubted(origin: Proposed, run: Proposed, doubts: Sequence[Doubt], what: str) -> Proposed | None:
    """The proposal without its doubted cases; None if nothing is left. `what`: which doubts count: "otherwise" (the
    second examiner gives another answer) or "unsure". A doubted exchange stays as set-up for later ones."""
    places = {one.number for one in doubts if one.of == origin and one.what == what}
    if not places or not run.cases:
        return None if places else run
    if not isinstance(run.cases[0], HttpCase):
        return None
    cases = [
        as_setup(one, status=what == "unsure") if place in places and isinstance(one, HttpCase) else one
        for place, one in enumerate(run.cases)
    ]
    return _trimmed(run, cases)


def _without_unsure(items: Sequence[_Item], doubts: Sequence[Doubt]) -> list[_Item]:
    left = [(item, _without_doubted(item.origin, item.run, doubts, "unsure")) for item in items]
    return [_Item(item.origin, run) for item, run in left if run]


def _without(item: _Item, places: set[int]) -> _Item | None:
    if not places:
        return item
    if not item.run.cases or not isinstance(item.run.cases[0], HttpCase):
        return None
    cases = [
        as_setup(one) if place in places and isinstance(one, HttpCase) else one
        for place, one in enumerate(item.run.cases)
    ]
    left = _trimmed(item.run, cases)
    return _Item(item.origin, left) if left else None


def _bounded(one: Proposed) -> Proposed:
    return one.model_copy(update={"cases": tuple(map(with_time_limit, one.cases))})


def _is_used(shown: Sequence[Shown], name: str) -> bool:
    """Whether a case uses the entry point `name`: requests this route, calls this function, or starts this file or its
    Python module. What cases expect does not count."""
    method, route, path = name.partition(" /")
    if route:
        return any(_asks_for(one.http, method, f"/{path}") for one in shown if isinstance(one, HttpCase))
    asked = KnownNames(" ".join(filter(None, map(_asked_name, shown))))
    function, called, _ = name.partition("(")
    if called:
        return asked.is_in_words(function)
    module = name.removesuffix(".py").replace("/", ".") if name.endswith(".py") else name
    return any(map(asked.is_in_words, (name, module, module.removeprefix("src."))))


def _asked_name(shown: Shown) -> str:
    """The entry point of a case as the user may write it: `module.function` as well as `path/file.js:function`."""
    if isinstance(shown, CallCase):
        return f"{shown.call} {shown.call.replace(':', '.')}"
    return " ".join(shown.run) if isinstance(shown, RunCase) else ""


def _asks_for(request: HttpRequest, method: str, route: str) -> bool:
    """Whether the request matches this route: same method, same path with any value for `<id>`, `{id}` or `:id`, and a
    query that has all names of the route's query."""
    path, _, query = route.partition("?")
    shape = "".join(
        "[^/]+" if re.fullmatch(r"<[^>]*>|\{[^}]*\}|:\w+", one) else re.escape(one)
        for one in re.split(r"(<[^>]*>|\{[^}]*\}|:\w+)", path.rstrip("/"))
    )
    asked, _, given = request.path.partition("?")
    names = set(re.findall(r"(\w+)=", query))
    return (
        request.method == method
        and bool(re.fullmatch(f"{shape}/?", asked))
        and names <= set(re.findall(r"(\w+)=", given))
    )


def _named_functions(clause: str) -> list[str]:
    """The functions that a clause names. Cases cover the clause only if they call these functions."""
    return [name.rpartition(".")[2] for name in _FUNCTION.findall(clause)]


def _results(shown: Shown) -> Iterator[str]:
    """The words and numbers of a case's expected result, if they are long enough to be distinctive."""
    if isinstance(shown, BrowserCheck):
        yield from (word for word in shown.sees if len(word) > 2)
        return
    data = shown.model_dump(mode="json", include={"returns", "stdout", "stdout_json", "json_", "body"}, by_alias=False)
    waiting: list[object] = list(data.values())
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
        elif value is not None and not isinstance(value, bool) and len(str(value).strip()) > 1:
            yield str(value).strip()


def describe_proposal(one: Proposed) -> str:
    """A short name of a proposal, for messages."""
    shown = next((each for _, each in proving_cases(one)), None) or next(iter(cases_of(one)), None)
    return describe_shown(shown) if shown else "a proposal"


def describe_shown(shown: Shown) -> str:
    """A short name of a case, for messages."""
    if isinstance(shown, BrowserCheck):
        return f"page {shown.page}"
    if isinstance(shown, HttpCase):
        return f"{shown.http.method} {shown.http.path}"
    return str(getattr(shown, "call", "")) or " ".join(getattr(shown, "run", ()))[:80]


def leftover_requirements(one: Requirement, rests: Sequence[str], taken: set[str]) -> Iterator[Requirement]:
    """The words that no case covers, as requirements of their own: unproven until a person reviews them.

    `taken`: ids that are in use; the new ones are added to it.
    """
    for rest in rests:
        name, number = f"{one.id}-rest", 2
        while name in taken:
            name, number = f"{one.id}-rest-{number}", number + 1
        taken.add(name)
        covers = (*one.covers, one.id, one.text)
        yield Requirement(id=name, text=rest, source=one.source, covers=covers, author=one.author)
