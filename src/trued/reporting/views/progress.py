"""A run's events folded into a tree of calls and checks: the same picture live and from the journal."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from trued.model import Event, Grade
from trued.reporting.views import notices as noticed
from trued.reporting.views import people as spoken
from trued.reporting.views.cases import stood
from trued.reporting.views.rows import Call, Checks, Remark, Row
from trued.workflows.handoff import view as features
from trued.workflows.pipeline import view as stages
from trued.workflows.team import view as team
from trued.workflows.ticket import view as rounds

BAD = ("refuted", "unjudged", "unproven")  # grades with which nothing holds
LANDING = "land onto "  # keys of a landing


class Progress:
    """A run's events, folded as they come. The same events give the same picture, live or from the journal."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.title = self.workflow = self.branch = self.level = ""
        self.state, self.grade, self.why, self.code = "running", "", "", 0
        self.began = self.last = 0.0
        self.scopes: dict[str, list[str]] = {}  # scope → ids of its rows, in order
        self.names: dict[str, str] = {}  # scope → what it is called besides
        self.rows: dict[str, Row] = {}
        self.grades: dict[str, str] = {}  # requirement → its newest grade
        self.requirements = 0
        self.served: set[str] = set()  # requirements that a sealed check stands for
        self.on_base: Counter[str] = Counter()  # how the cases stood there
        self.quotas: dict[str, dict[str, Any]] = {}  # kind of agent → what it told last of its subscription's window
        self.question: tuple[str, str] | None = None  # key, text
        self.landed: dict[str, str] = {}  # branch → commit of the run's work on it
        self.features: list[dict[str, Any]] = []  # of a handoff, as its list was written last
        self.feature: dict[str, Any] = {}  # the one at work, and which attempt it is
        self.stages = stages.Stages()  # of a pipeline
        self.team = team.Team()
        self._places: dict[str, str] = {}  # row → its scope
        self._proofs: dict[str, int] = {}  # how many proofs began under a key
        self.touched: list[str] = []  # the scopes where something happened with the last event
        self._open: set[str] = set()  # proofs without their verdict
        for event in events:
            self.tell(event)

    @property
    def calls(self) -> list[Call]:
        return [row for row in list(self.rows.values()) if isinstance(row, Call)]  # a copy: a screen draws meanwhile

    @property
    def at_work(self) -> list[Call | Checks]:
        rows = list(self.rows.values())
        return [row for row in rows if not isinstance(row, Remark) and row.state == "running"]

    @property
    def tokens(self) -> tuple[int, bool]:
        """How many, and whether any of them are estimated."""
        return sum(one.tokens for one in self.calls), any(one.estimated for one in self.calls if one.tokens)

    @property
    def cost_usd(self) -> float:
        return sum(one.cost_usd for one in self.calls)

    @property
    def cost(self) -> str:
        """How the worst known part of the cost is known."""
        known = {one.cost for one in self.calls}
        return next((each for each in ("ceiling", "computed", "reported") if each in known), "")

    def tell(self, event: Event) -> None:
        self.began = self.began or event.at
        self.last = max(self.last, event.at)
        self.touched = []
        if (fold := _FOLDS.get(event.kind)) is not None:
            fold(self, event)

    def call(self, key: str) -> Call:
        row = self.rows.get(key)
        return row if isinstance(row, Call) else Call(key)

    def put(self, row: Row, at: str = "") -> None:
        """Add a row to its scope, or replace the one that has its name."""
        name = at or row.key
        if name not in self.rows:
            # What belongs to no scope stands by itself, where it happened: seal first, finish last.
            self._places[name] = scope_of(row.key) or self.stages.place(row.key) or f"/{name}"
            self.scopes.setdefault(self._places[name], []).append(name)
        self.rows[name] = row
        self.touched.append(self._places[name])
        if isinstance(row, Checks) and not row.closed:
            self._open.add(name)
        else:
            self._open.discard(name)

    def checks(self, key: str) -> tuple[str, Checks]:
        """The proof that goes on under this key; a new one when the last has its verdict."""
        turn = self._proofs.get(key, 1)
        row = self.rows.get(f"{key} {turn}")
        if isinstance(row, Checks) and row.closed:
            turn, row = turn + 1, None
        self._proofs[key] = turn
        return f"{key} {turn}", row if isinstance(row, Checks) else Checks(key)

    def settle(self) -> None:
        """Agents work and people are asked only between proofs: one that has grades has come to its end."""
        for name in list(self._open):
            row = self.rows[name]
            if isinstance(row, Checks) and (row.grades or row.key == "seal"):
                state = "failed" if any(grade in BAD for _, grade, _ in row.grades) else "held"
                worst = str(
                    min((Grade(one[1]) for one in row.grades), key=lambda grade: grade.rank, default=row.summary)
                )
                self.put(replace(row, state=state, current="", summary=worst, closed=True), name)

    def remark(self, event: Event, text: str, *, warning: bool = False) -> None:
        self.put(Remark(event.key, text, warning), f"{event.key} remark {len(self.rows)}")

    def name(self, key: str, kind: str, which: str, words: str) -> None:
        """What the part of this key is called where it is the one that is meant: `task F1-T2` is `Find by name`."""
        scope = scope_of(key)
        if which and words and scope.rpartition("/")[2] == f"{kind} {which}":
            self.names[scope] = words


def scope_of(key: str) -> str:
    """The part of a run that a step belongs to: `chunk 1A` of `chunk 1A/purple-team-a#2`."""
    return key.rpartition("/")[0]


def label_of(key: str) -> str:
    return key.rpartition("/")[2] or key


def sentence(why: object) -> str:
    return why if isinstance(why, str) else "; ".join(str(one) for one in why) if isinstance(why, Iterable) else ""


# -- one function an event ------------------------------------------------------------------------------------------


def _began(seen: Progress, event: Event) -> None:
    data = event.data
    seen.title, seen.workflow = str(data.get("title", "")), str(data.get("workflow", ""))
    seen.branch, seen.level = str(data.get("branch", "")), str(data.get("level", ""))


def _asked(seen: Progress, event: Event) -> None:
    seen.settle()
    stages.asked(seen, event)
    role, agent = str(event.data.get("role", "")), str(event.data.get("agent", ""))
    before = seen.call(event.key)
    began = before.began or event.at
    seen.put(replace(before, role=role, agent=agent, state="running", began=began, ended=0.0, waits_until=0.0))


def _remarked(text: str) -> "Callable[[Progress, Event], None]":
    def fold(seen: Progress, event: Event) -> None:
        call = seen.call(event.key)
        if text not in call.remarks:
            seen.put(replace(call, remarks=(*call.remarks, text)))

    return fold


def _again(seen: Progress, event: Event) -> None:
    call = seen.call(event.key)
    attempts = int(event.data.get("attempt", call.attempts + 1))
    remark = "run again"
    seen.put(replace(call, attempts=attempts, remarks=tuple(dict.fromkeys((*call.remarks, remark)))))


def _waits(seen: Progress, event: Event) -> None:
    call = seen.call(event.key)
    seen.put(replace(call, waits_until=float(event.data.get("until") or 0.0), waits_for=waits_for(event.data)))


def _waited(seen: Progress, event: Event) -> None:
    call = seen.call(event.key)
    seen.put(replace(call, waits_until=0.0, waits_for="", waited=call.waited + float(event.data.get("seconds") or 0.0)))


def waits_for(data: Mapping[str, object]) -> str:
    """What a call waits for, in words: `rate limit of claude`."""
    kind, _, rest = str(data.get("agent") or "its provider").partition(":")
    who = rest.partition(":")[0] if kind == "coder" else kind if kind != "acp" else rest.partition(" ")[0]
    return {"overloaded": f"{who} is overloaded or out of reach"}.get(str(data.get("failure")), f"rate limit of {who}")


def _answered(seen: Progress, event: Event) -> None:
    data, call = event.data, seen.call(event.key)
    tokens = data.get("tokens") or {}
    reply = data.get("reply") or {}
    remarks = [*call.remarks]
    remarks += ["asked twice for its contract"] if int(data.get("asks", 1)) > 1 else []
    remarks += [f"shortened its context {data['compactions']} times"] if data.get("compactions") else []
    remarks += [f"{data['reaped']} left-over processes ended"] if data.get("reaped") else []
    seen.put(
        replace(
            call,
            role=str(data.get("role", call.role)),
            agent=str(data.get("agent", call.agent)),
            state=str(data.get("state", "done")),
            attempts=int(data.get("attempts", call.attempts)),
            tokens_in=int(tokens.get("in", 0)),
            tokens_out=int(tokens.get("out", 0)),
            tokens_cached=int(tokens.get("cached", 0)),
            peak=int(tokens.get("peak", 0)),
            estimated=bool(tokens.get("estimated", True)),
            cost_usd=float(data.get("cost_usd") or 0.0),
            cost=str(data.get("cost") or ""),
            requests=int(data.get("requests") or 0),
            compactions=int(data.get("compactions") or 0),
            began=call.began if call.waited else float(data.get("began") or call.began),
            ended=float(data.get("ended") or event.at),
            remarks=tuple(dict.fromkeys(remarks)),
            why=str(data.get("why") or data.get("kind") or ""),
            changed=len(data.get("changed") or ()),
            claim=str(reply.get("result") or reply.get("status") or ""),
            waits_until=0.0,
            waits_for="",
        )
    )


def _sealed(seen: Progress, event: Event) -> None:
    """One check of the contract whose red was taken."""
    named, checks = seen.checks(event.key or "seal")
    if event.key.startswith(LANDING):
        row = replace(checks, runs=checks.runs + 1, began=checks.began or event.at, ended=event.at)
        seen.put(replace(row, summary="red taken anew"), named)
        return
    seen.served |= set(map(str, event.data.get("serves", ())))
    seen.requirements = len(seen.served)
    seen.on_base.update({str(name): int(number) for name, number in (event.data.get("cases") or {}).items()})
    row = replace(checks, runs=checks.runs + 1, began=checks.began or event.at, ended=event.at)
    seen.put(replace(row, summary=_on_base(seen)), named)


def _contract(seen: Progress, event: Event) -> None:
    """The contract as a whole."""
    data = event.data
    named, checks = seen.checks(event.key or "seal")
    seen.requirements = int(data.get("requirements", 0))
    held = "held out" if data.get("held_out") else f"visible: {data.get('why', '')}"
    row = replace(checks, state="held", began=checks.began or event.at, ended=event.at, closed=True)
    seen.put(replace(row, summary=f"{_on_base(seen)}, {held}"), named)


def _on_base(seen: Progress) -> str:
    cases = stood(seen.on_base)
    number = f"{seen.requirements} requirement{'' if seen.requirements == 1 else 's'}"
    return f"{number}, on the base {cases}" if cases else number


def _checking(seen: Progress, event: Event) -> None:
    named, checks = seen.checks(event.key)
    current = " ".join(str(event.data[name]) for name in ("requirement", "kind", "side") if event.data.get(name))
    seen.put(replace(checks, current=current, began=checks.began or event.at), named)


def _checked(seen: Progress, event: Event) -> None:
    named, checks = seen.checks(event.key)
    began = checks.began or float(event.data.get("began") or event.at)
    seen.put(replace(checks, runs=checks.runs + 1, began=began, ended=event.at, current=""), named)


def _judged(seen: Progress, event: Event) -> None:
    """One requirement; the verdict on all of them follows."""
    named, checks = seen.checks(event.key)
    one = (str(event.data.get("requirement")), str(event.data.get("grade")), sentence(event.data.get("why")))
    if not event.key.startswith(LANDING):  # what came of another commit is not how the run stands
        seen.grades[one[0]] = one[1]
    seen.put(replace(checks, grades=(*checks.grades, one), ended=event.at, began=checks.began or event.at), named)


def _proven(seen: Progress, event: Event) -> None:
    named, checks = seen.checks(event.key)
    judged = [one for one in event.data.get("requirements", ()) if isinstance(one, Mapping)]
    grades = tuple((str(one.get("id")), str(one.get("grade")), sentence(one.get("why"))) for one in judged)
    grades = grades or checks.grades
    if not event.key.startswith(LANDING):
        seen.grades.update({name: grade for name, grade, _ in grades})
    gaps = event.data.get("gaps", 0)
    left = gaps if isinstance(gaps, int) else len(gaps)
    summary = str(event.data.get("grade", "")) + (f", {left} gap{'s' if left > 1 else ''}" if left else "")
    state = "failed" if not event.data.get("holds") else "open" if event.data.get("grade") in BAD else "held"
    row = replace(checks, state=state, ended=event.at, began=checks.began or event.at, current="", closed=True)
    seen.put(replace(row, summary=summary, grades=grades), named)


def _question(seen: Progress, event: Event) -> None:
    seen.settle()
    seen.question = (event.key, str(event.data.get("text", "")))


def _said(seen: Progress, event: Event) -> None:
    seen.question = None
    data = event.data
    comment = f": {data['comment']}" if data.get("comment") else ""
    seen.remark(event, f"{data.get('who') or 'somebody'} said {data.get('answer')}{comment}")


def _resumed(seen: Progress, event: Event) -> None:
    seen.state, seen.why = "running", ""
    seen.question = None  # it is asked again if it is still open
    for name, row in list(seen.rows.items()):
        if isinstance(row, Call | Checks) and row.state == "unfinished":
            seen.rows[name] = replace(row, state="running")
    seen.remark(event, f"resumed after: {event.data.get('after') or 'a crash'}")


def _quota(seen: Progress, event: Event) -> None:
    told = dict(event.data)
    seen.quotas[str(told.pop("agent", "")).partition(":")[0]] = told


def _raised(seen: Progress, event: Event) -> None:
    data = event.data
    whose = f"{data['scope']}: " if data.get("scope") else ""
    seen.remark(
        event, f"{data.get('who') or 'somebody'} raised a limit: {whose}{data.get('what')} = {data.get('to'):g}"
    )


def _landed(seen: Progress, event: Event) -> None:
    data = event.data
    onto, commit = str(data.get("onto", "")), str(data.get("commit", ""))
    seen.landed[onto] = commit
    seen.settle()
    seen.remark(event, f"{data.get('who') or 'somebody'} landed it on {onto} at {commit[:10]} ({data.get('how')})")


def _ended(seen: Progress, event: Event) -> None:
    data = event.data
    seen.settle()
    seen.state, seen.grade = str(data.get("state", "")), str(data.get("grade", ""))
    seen.why, seen.code = str(data.get("why", "")), int(data.get("code", 0))
    for name, row in list(seen.rows.items()):
        if isinstance(row, Call | Checks) and row.state == "running":
            seen.rows[name] = replace(row, state="unfinished")


_FOLDS: dict[str, Callable[[Progress, Event], None]] = {
    "run began": _began,
    "asked": _asked,
    "adopted": _remarked("adopted after a restart"),
    "died": _remarked("died"),
    "session resumed": _remarked("session resumed"),
    "fresh session": _remarked("fresh session: told all facts again"),
    "run again": _again,
    "waits": _waits,
    "waited": _waited,
    "answered": _answered,
    "sealed": _sealed,
    "contract sealed": _contract,
    "checking": _checking,
    "checked": _checked,
    "judged": _judged,
    "proven": _proven,
    "question": _question,
    "said": _said,
    "approved": spoken.approved,
    "rejected": spoken.approved,
    "parked": spoken.parked,
    "left open": spoken.left_open,
    "not asked": spoken.not_asked,
    "said too late": spoken.too_late,
    "landed": _landed,
    **features.FOLDS,
    **noticed.FOLDS,
    **stages.FOLDS,
    **team.FOLDS,
    "round": rounds.found,
    "mended": rounds.mended,
    "preview": rounds.preview,
    "pictures claimed": rounds.claimed,
    "limit raised": _raised,
    "quota": _quota,
    "resumed": _resumed,
    "ended": _ended,
}
