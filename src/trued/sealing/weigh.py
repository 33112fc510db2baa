"""Weighs what an examiner proposes: what counts, what is refused and why, what of the words is left unshown. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..documents.clauses import clauses, plain, unquoted
from ..documents.patterns import recognised
from ..proof.checks.examples import bounded, malformed
from ..proof.hollow import Known, Shown, foreign, hollow, refused, side_door
from ..types import BrowserCheck, HttpCase, Requirement, Requirements, Serve, Value
from .blind import shown_by
from .replies import Aside, Examined, Proposal, Proposed

LONGEST_LINE = 200
MOST_CASES = 60  # of one requirement: what is more is no examination but a flood
BACKGROUND = "text-"  # sentences by themselves; scopes and criteria of a plan are never background


def is_open(one: Requirement) -> bool:
    """No check of the user's shows it, and the base's own means do not, either."""
    return not one.checks and not recognised(one.text)


class Fault(Value):
    """What is wrong with a case, or with the cases of a requirement."""

    requirement: str
    what: str


class Weighed(Value):
    """What is left of an examiner's proposals by the rules."""

    kept: tuple[Proposed, ...] = ()
    faults: tuple[Fault, ...] = ()  # told to the examiner once, then said
    interface: tuple[str, ...] = ()
    serve: Serve | None = None
    caps: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 (a frozen value)
    rests: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  requirement → its words that no case shows
    background: tuple[Aside, ...] = ()
    vague: tuple[Aside, ...] = ()
    proposals: tuple[Proposal, ...] = ()


class Scale:
    """The rules, with all that they need to know of one run."""

    def __init__(self, asked: Requirements, words: str, base: Mapping[str, str]) -> None:
        self.asked, self.words = asked, words
        self.open = {one.id: one for one in asked.requirements if is_open(one)}
        every = "\n".join((words, *(one.text for one in asked.requirements), *asked.interface))
        self.known = Known(every, base)

    def text_of(self, name: str) -> str:
        """What a case of this requirement may quote; of the whole source, all of it."""
        one = self.open[name]
        return f"{one.text}\n{self.words}" if one.parts else one.text

    def weigh(self, replies: Sequence[Examined], dropped: Iterable[Proposed] = ()) -> Weighed:
        """All replies of one examiner together, less what was withdrawn."""
        gone = list(dropped)
        proposed = [each for reply in replies for one in reply.cases for each in _apart(one) if each not in gone]
        proposed = list({one.model_dump_json(): one for one in proposed}.values())
        lines = dict.fromkeys(line.strip() for reply in replies for line in reply.interface)
        strange = {line: why for line in lines if (why := self._no_name(line, proposed))}
        interface = tuple(dict.fromkeys((*self.asked.interface, *(line for line in lines if line not in strange))))
        serve = self.asked.serve or next((reply.serve for reply in reversed(replies) if reply.serve), None)
        faults = [Fault(requirement="", what=f"interface {line!r}: {why}") for line, why in strange.items()]
        if serve and not self.asked.serve and (why := foreign(serve.command)):
            faults, serve = [*faults, Fault(requirement="", what=f"serve: {why}")], None
        kept: dict[str, list[Proposed]] = {}
        for one in proposed:
            if why := self._refused(one, interface, serve):
                faults.append(Fault(requirement=one.requirement, what=f"{said(one)}: {why}"))
            else:
                kept.setdefault(one.requirement, []).append(_bounded(one))
        for name in list(kept):
            if why := hollow([shown for one in kept[name] for shown in shown_by(one)]):
                faults.append(Fault(requirement=name, what=f"all its cases are refused: {why}"))
                del kept[name]
        return self._settled(kept, faults, replies, interface, serve)

    def _settled(
        self,
        kept: Mapping[str, list[Proposed]],
        faults: list[Fault],
        replies: Sequence[Examined],
        interface: tuple[str, ...],
        serve: Serve | None,
    ) -> Weighed:
        background = tuple(one for reply in replies for one in reply.background if self._is_background(one, kept))
        asides = {one.requirement for one in background}
        rests = {name: rest for name in kept if (rest := self._rest(name, kept[name]))}
        faults += [Fault(requirement=name, what=f"no case shows: {'; '.join(rest)}") for name, rest in rests.items()]
        asides |= {one.requirement for reply in replies for one in reply.vague}
        bare = [one for name, one in self.open.items() if name not in kept and name not in asides and not one.parts]
        faults += [Fault(requirement=one.id, what="it has no case") for one in bare]
        return Weighed(
            kept=tuple(one for every in kept.values() for one in every),
            faults=tuple(dict.fromkeys(faults)),
            interface=interface,
            serve=serve,
            caps={name: doors for name in kept if (doors := self._side_doors(kept[name], interface))},
            rests=rests,
            background=tuple(dict.fromkeys(background)),
            vague=tuple(dict.fromkeys(one for reply in replies for one in reply.vague)),
            proposals=tuple(dict.fromkeys(one for reply in replies for one in reply.proposals)),
        )

    def _refused(self, one: Proposed, interface: Sequence[str], serve: Serve | None) -> str:
        if one.requirement not in self.open:
            return f"there is no open requirement {one.requirement!r}"
        if not shown_by(one):
            return "it has neither cases nor a page"
        for shown in shown_by(one):
            if not isinstance(shown, BrowserCheck) and (why := malformed(shown)):
                return f"it is broken: {why}"
            if isinstance(shown, HttpCase | BrowserCheck) and serve is None:
                return "it is broken: nothing says how the server is started"
            if why := refused(shown, self.text_of(one.requirement), interface, self.known):
                return why
        return ""

    def _is_background(self, aside: Aside, kept: Mapping[str, object]) -> bool:
        """A sentence by itself, of a source that stays a requirement as a whole."""
        whole = any(aside.requirement in one.parts for one in self.open.values())
        return whole and aside.requirement.startswith(BACKGROUND) and aside.requirement not in kept

    def _rest(self, name: str, kept: Sequence[Proposed]) -> tuple[str, ...]:
        """Words that no quotation reaches; or all of them, where one case is to show many clauses."""
        one = self.open[name]
        if one.parts:
            return ()
        shown = [each for every in kept for each in shown_by(every)]
        if rest := unquoted(one.text, [each.quotes for each in shown]):
            return rest
        return (plain(one.text),) if len(shown) < len(clauses(one.text)) else ()

    def _side_doors(self, kept: Sequence[Proposed], interface: Sequence[str]) -> tuple[str, ...]:
        doors = [side_door(shown, interface, self.known) for one in kept for shown in shown_by(one)]
        return tuple(
            f"{door} is named neither by the user's words nor by the base"
            for door in dict.fromkeys(filter(None, doors))
        )

    def _no_name(self, line: str, proposed: Sequence[Proposed]) -> str:
        """The interface is shown to those who build: names and shapes, no values."""
        if not line or "\n" in line or len(line) > LONGEST_LINE:
            return "it is no single line with an entry point"
        values = {value for one in proposed for shown in shown_by(one) for value in _results(shown)}
        told = [value for value in values if Known(line).said(value) and not self.known.said(value)]
        return f"it holds a result of a case ({told[0]})" if told else ""


def _apart(one: Proposed) -> Iterator[Proposed]:
    """Each call and command line by itself; exchanges stay together, they build on each other."""
    exchanges = tuple(case for case in one.cases if isinstance(case, HttpCase))
    for case in one.cases[:MOST_CASES]:
        if not isinstance(case, HttpCase):
            yield Proposed(requirement=one.requirement, cases=(case,))
    if exchanges:
        yield Proposed(requirement=one.requirement, cases=exchanges[:MOST_CASES])
    if one.page:
        hidden = one.page.model_copy(
            update={"visible": False}
        )  # whether it is known to others is not the author's to say
        yield Proposed(requirement=one.requirement, page=hidden)
    if not one.cases and not one.page:
        yield one


def _bounded(one: Proposed) -> Proposed:
    return one.model_copy(update={"cases": tuple(map(bounded, one.cases))})


def _results(shown: Shown) -> Iterator[str]:
    """The words and numbers of what must come, long enough to be told from others."""
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


def said(one: Proposed) -> str:
    """A proposal in a few words."""
    shown = next(iter(shown_by(one)), None)
    if shown is None:
        return "a proposal"
    if isinstance(shown, BrowserCheck):
        return f"page {shown.page}"
    if isinstance(shown, HttpCase):
        return f"{shown.http.method} {shown.http.path}"
    return str(getattr(shown, "call", "")) or " ".join(getattr(shown, "run", ()))[:80]


def settled_rests(one: Requirement, rests: Sequence[str]) -> Iterator[Requirement]:
    """Words that no case shows stand as requirements of their own: unproven, until a person looks at them."""
    for number, rest in enumerate(rests, 1):
        name = f"{one.id}-rest" if number == 1 else f"{one.id}-rest-{number}"
        yield Requirement(id=name, text=rest, source=one.source, covers=(*one.covers, one.id, one.text))
