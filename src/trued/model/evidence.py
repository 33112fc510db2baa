"""What the engine establishes: evidence, verdicts, contracts, outcomes."""

from collections.abc import Collection
from typing import Literal, Self, TypeAlias

from pydantic import Field

from trued.model.grades import Grade, Outcomes, OutcomeState
from trued.model.replies import Finding
from trued.model.requests import EXISTING_TESTS, Environment, Requirement, Serve
from trued.model.value import Value, newer_fields

Lacks: TypeAlias = Literal["", "attest", "approve"]  # a person accepts the requirement, or approves the contract


class Tried(Value):
    """One case or test id, executed."""

    id: str
    outcome: Outcomes
    kind: str = ""  # of failure: returned, raised, missing, exit, stdout, time, …
    detail: str = ""  # what the head printed or returned; never leaves the engine for held-out cases
    seconds: float = 0.0


class Shot(Value):
    """A screenshot that the engine's own browser took."""

    name: str  # among the artifacts of its evidence
    sha256: str
    page: str  # the path that the check opened; for a test, where the page was at its end
    url: str = ""  # where the browser was
    viewport: str = ""  # 1280x800
    test: str = ""  # id of the test at whose end it was taken
    trace: str = ""  # sha256 of the recording: `playwright show-trace`


class Picture(Shot):
    """A screenshot with its commit, its requirement, and whether the page was as expected."""

    commit: str
    side: Literal["base", "head"]
    requirement: str
    passed: bool
    says: tuple[str, ...] = ()  # what was expected, and what was there instead
    met: tuple[str, ...] = ()  # expectations that were met, or the test that passed


class Evidence(Value):
    """What happened when the engine, not an agent, ran a check on a commit."""

    _as_before = newer_fields("pictures")

    id: str
    requirement: str
    check: str  # content hash of the check: facts are kept by tree and check
    kind: str
    side: Literal["base", "head"]
    turn: int = 1
    command: str = ""
    commit: str
    tree: str
    interpreter: str = ""
    versions: dict[str, str] = {}
    isolation: str
    exit_code: int | None = None
    tried: tuple[Tried, ...] = ()
    output: str = ""
    began: float = 0.0
    seconds: float = 0.0
    setting: str = ""  # what was different the second time: order, host name, user, HOME, time zone
    artifacts: dict[str, str] = {}  # name → sha256 of what was kept: a screenshot, a report
    pictures: tuple[Shot, ...] = ()
    held_out: bool = False
    tainted: bool = False  # taken where held-out cases had run before: what it printed may quote them
    why_void: str = ""  # why this run of the check counts for nothing: a canary that passed, nothing collected, …


class MissingFromEnvironment(Value):
    """Something that the checks need, that no commit can bring along, and that is not there."""

    name: str  # of the module, program or service, as one would look for it
    what: str  # the module inflection is not installed
    fix: str = ""  # what a person does about it

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}" if self.fix else self.what


class Judged(Value):
    """The verdict on one requirement, with the reasons in plain words."""

    _as_before = newer_fields("own")

    id: str
    text: str
    source: str = ""
    grade: Grade
    why: tuple[str, ...]
    evidence: tuple[str, ...] = ()  # ids of Evidence
    gaps: tuple[Finding, ...] = ()  # what the implementer may know of what is missing
    holds: bool  # nothing failed or is disputed; at most a person's approval is missing
    lacks: Lacks = ""  # what only a person can give
    parts: tuple[str, ...] = ()  # requirements that it is made of
    own: "Judged | None" = None  # what it is without its parts; None: it has none, or of an earlier version
    rests_on: str = ""  # the user's own cases, an examiner's, or a person's approval
    missing: tuple[MissingFromEnvironment, ...] = ()  # why it is unjudged: no fault of the work, and no gap in it
    # The part of the work whose criterion this is, if the contract does not hold it: nothing checks it.
    outside: str = ""

    @property
    def reason(self) -> str:
        """Why it has this grade, in words that any agent may read.

        `why` is for people only: it names held-out tests, and tests that failed after a held-out case had run.
        """
        shown = dict.fromkeys(gap.what.partition("\n")[0] for gap in self.gaps)
        first = next(iter(self.why), "it does not hold")
        return "; ".join([*shown][:2]) or (f"{EXISTING_TESTS} fail" if first.startswith(EXISTING_TESTS) else first)


class FactNote(str):
    """A note that only reports what the engine did, or what a grade accounts for already. Any other note names
    something that no check covers. The kind is stored beside the notes: `Verdict.reported`, `Contract.reported`."""

    __slots__ = ()


class Verdict(Value):
    """Judged requirements of one commit. Only `run.prove` and `run.finish` make one."""

    subject: str
    commit: str = ""
    tree: str = ""
    requirements: tuple[Judged, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    suites: tuple[Judged, ...] = ()  # the base's own tests: they can refute every requirement, and prove none
    beside: tuple[Judged, ...] = ()  # other requirements that were evaluated on the same commit; not part of `holds`
    objections: tuple[Finding, ...] = ()
    remarks: tuple[Finding, ...] = ()  # gaps that belong to no requirement: a person's comment, an empty diff
    undecided: tuple[
        str, ...
    ] = ()  # all notes: what no check covers, and what is only reported; listed in every report
    reported: tuple[str, ...] | None = None  # those that only report; None: of an earlier version, which did not say
    owned: tuple[str, ...] = ()  # files the engine owned at that time: not part of the work

    @classmethod
    def open(cls, subject: str, *remarks: Finding) -> Self:
        """A verdict before anything was judged."""
        return cls(subject=subject, remarks=remarks)

    def about(self, ids: Collection[str]) -> Self:
        """The verdict on these requirements alone; the others move to `beside`."""
        own = tuple(one for one in self.requirements if one.id in ids)
        others = tuple(one for one in (*self.requirements, *self.beside) if one.id not in ids)
        return self.model_copy(update={"requirements": own, "beside": others})

    @property
    def grade(self) -> Grade:
        """The worst grade of all requirements and of every failing suite."""
        failed = [one.grade for one in self.suites if not one.holds]
        grades = [one.grade for one in self.requirements] or [Grade.UNPROVEN]
        return min((*grades, *failed))

    @property
    def holds(self) -> bool:
        """Whether every requirement and suite holds and there is no gap."""
        every = (*self.requirements, *self.suites)
        return bool(self.commit) and not self.gaps and all(one.holds for one in every)

    @property
    def missing_from_environment(self) -> tuple[MissingFromEnvironment, ...]:
        """What kept requirements or existing tests from being judged, each once. Nothing an agent can repair."""
        every = (*self.requirements, *self.suites)
        return tuple(dict.fromkeys(part for one in every for part in one.missing))

    @property
    def lacks_only_environment(self) -> bool:
        """Whether nothing speaks against the work, and it could only not be judged, because the environment lacks
        something (`missing_from_environment` says what). Such an end costs no attempt: a person sets it right."""
        every = (*self.requirements, *self.suites)
        innocent = all(one.holds or (one.grade is Grade.UNJUDGED and one.missing) for one in every)
        return bool(self.commit and self.missing_from_environment) and innocent and not self.gaps

    @property
    def gaps(self) -> tuple[Finding, ...]:
        """Everything that is missing, each once."""
        judged = (*self.suites, *self.requirements)
        every = (*self.remarks, *(gap for one in judged for gap in one.gaps), *self.objections)
        return tuple({(gap.what, gap.where): gap for gap in every}.values())  # one objection may dispute several


class Author(Value):
    """Who wrote a check's cases, when it was not the user."""

    role: str
    agent: str = ""
    vendor: str = ""
    agreed: tuple[str, ...] = ()  # agents that answered every case alike without seeing the expected result
    independent: bool = False  # one of them is from another vendor than planner and implementers


class Contract(Value):
    """Requirements and checks, sealed before work starts: kept outside every clone, named by its hash."""

    _as_before = newer_fields("suites", "unguarded", "unserved", "reported", "red_suites")

    base: str
    requirements: tuple[Requirement, ...]
    environment: Environment = Field(default_factory=Environment)
    frozen: dict[str, str] = {}  # path → blob hash, as on base; "" where base has no such file
    held_out: bool = False  # no agent can read the cases: the engine probed it
    held_out_why: str = ""
    serve: Serve | None = None
    interface: tuple[str, ...] = ()
    carried: dict[str, str] = {}  # path → base64: files that are copied over base and head
    authors: dict[str, Author] = {}  # check → who wrote it; the others are the user's own
    guards: tuple[str, ...] = ()  # checks that can refute and never prove: the base's own tests, build, lint, types
    caps: dict[str, tuple[str, ...]] = {}  # requirement → why it is at most examined until a person agrees
    undecided: tuple[str, ...] = ()  # what sealing could not account for; listed in every report
    interpreter: str = ""  # that ran the checks on the base; the head is judged with the same
    base_facts: tuple[Evidence, ...] = ()  # the checks on the base, run three times
    suites: tuple[Requirement, ...] = ()  # the base's own tests: guards without a grade, which refute every requirement
    unguarded: tuple[str, ...] = ()  # test suites of the base that could not be run as guards, and why
    red_suites: tuple[Requirement, ...] = ()  # those of them that were run, and of which nothing passes on the base
    reported: tuple[str, ...] = ()  # those of `undecided` that only report what the engine did
    unserved: str = ""  # why pages that it names are not looked at: no server was found, and what to write

    @property
    def every(self) -> tuple[Requirement, ...]:
        """Everything that has checks: the requirements and the base's own tests."""
        return (*self.requirements, *self.suites)

    def serving(self, subject: str) -> tuple[Requirement, ...]:
        """The requirements that cover this task, or that have its id."""
        return tuple(one for one in self.requirements if one.id == subject or subject in one.covers)


class Outcome(Value):
    """How a run ended."""

    state: OutcomeState
    grade: Grade = Grade.UNPROVEN
    head: str = ""
    verdict: Verdict | None = None
    why: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()  # requirements that only a person's approval is missing for


class Figures(Value):
    """What the engine counted when it ran a test command: information for people and agents, never evidence."""

    passing: int = 0
    total: int = 0
    coverage: float | None = None  # per cent
    why: str = ""  # why something could not be counted or measured
    said: str = ""  # what the command printed, where it failed
    skipped: tuple[str, ...] = ()  # tests that were there and not run

    @property
    def good(self) -> bool:
        """Whether there are tests and all of them pass."""
        return self.total > 0 and self.passing == self.total

    def good_beside(self, base: "Figures") -> bool:
        """Whether all pass, except those that the base skips, too."""
        own = {*self.skipped} & {*base.skipped}
        return self.passing > 0 and self.passing + len(own) == self.total

    def __str__(self) -> str:
        share = f", {self.coverage:.0f} % of lines" if self.coverage is not None else ""
        return f"{self.passing}/{self.total} tests{share}"
