"""What the engine establishes: evidence, verdicts, contracts, outcomes."""

from collections.abc import Collection
from typing import Literal, Self, TypeAlias

from pydantic import Field

from trued.model.checks import Case
from trued.model.grades import Grade, Outcomes, OutcomeState
from trued.model.replies import Finding
from trued.model.requirements import Environment, Requirement, Serve
from trued.model.value import Value, newer_fields

HELD_BACK = "(held out until the run has ended)"
_OPEN_ENDED = ("exit", "module", "path", "program")  # kinds of failure that end with a word that the project chose
# What a grade comes from, if programs have to know it. "no check": neither a check nor an objection; "parts": the
# grades of the requirement's parts; "already satisfied": all of the user's own cases passed before the change;
# "green before": all of an examiner's cases passed before the change.
Basis: TypeAlias = Literal["", "no check", "parts", "already satisfied", "green before", "existing tests"]
Lacks: TypeAlias = Literal["", "attest", "approve"]  # what only a person can add: attest, or approve the contract


class Tried(Value):
    """The result of one execution of one case or test id."""

    id: str
    outcome: Outcomes
    kind: str = ""  # how it failed: returned, raised, missing, exit, stdout, time, …
    detail: str = ""  # what the head printed or returned; for held-out cases it never leaves the engine
    seconds: float = 0.0
    # How a call or program behaved besides its result, as its callers notice it: "plain" or "awaited", and "lingers".
    conduct: tuple[str, ...] = ()

    _as_before = newer_fields("conduct")

    @property
    def failure(self) -> str:
        """The first word of `kind`: `module` if the kind is `module yaml`."""
        return self.kind.split(" ")[0]

    @property
    def named(self) -> str:
        """What follows the first word of `kind`, such as the name of a module or program, or an exit code; "" if
        nothing follows."""
        return self.kind.partition(" ")[2]

    @property
    def missing_module(self) -> str:
        """The module that is missing according to this result, or ""."""
        return self.named if self.failure == "module" else ""

    def without_text(self, name: str) -> Self:
        """The result under another name, with only its outcome and the kind of failure. No word that the code under
        test could choose is left in it."""
        kind = self.failure if self.failure in _OPEN_ENDED else self.kind
        return self.model_copy(update={"id": name, "kind": kind, "detail": "", "seconds": 0.0, "conduct": ()})


class Shot(Value):
    """A screenshot that the engine's own browser took."""

    name: str  # the screenshot's name among the artifacts of its evidence
    sha256: str
    page: str  # the path that the check opened; for a test, the page's path at its end
    url: str = ""  # the address that the browser showed
    viewport: str = ""  # such as 1280x800
    test: str = ""  # id of the test at whose end the screenshot was taken
    trace: str = ""  # sha256 of the recording that `playwright show-trace` opens


class Picture(Shot):
    """A screenshot with its commit, its requirement, and whether the page was as expected."""

    commit: str
    side: Literal["base", "head"]
    requirement: str
    passed: bool
    says: tuple[str, ...] = ()  # expected and actual content
    met: tuple[str, ...] = ()  # expectations that were met, or the test that passed


class Evidence(Value):
    """What happened when the engine, not an agent, ran a check on a commit."""

    _as_before = newer_fields("pictures", "room")

    id: str
    requirement: str
    check: str  # content hash of the check: evidence is cached by tree and check
    kind: str
    side: Literal["base", "head"]
    turn: int = 1
    command: str = ""
    commit: str
    tree: str
    interpreter: str = ""
    versions: dict[str, str] = {}
    isolation: str
    room: str = ""  # how clean rooms were made then; results of differently made rooms are not compared
    exit_code: int | None = None
    tried: tuple[Tried, ...] = ()
    output: str = ""
    began: float = 0.0
    seconds: float = 0.0
    setting: str = ""  # what differed in the second run: order, host name, user, HOME, time zone
    artifacts: dict[str, str] = {}  # name → sha256 of each file that was kept: a screenshot, a report
    pictures: tuple[Shot, ...] = ()
    held_out: bool = False
    tainted: bool = False  # held-out cases ran in the same room before: the output might quote them
    why_void: str = ""  # why this run of the check does not count: a canary passed, nothing was collected, …

    @property
    def may_quote_held_out(self) -> bool:
        """Whether the code under test had seen held-out cases, so that everything it wrote might quote them."""
        return self.held_out or self.tainted

    def shown(self, *, over: bool) -> Self:
        """The evidence as it may be shown. While agents work on the run, evidence that might quote held-out cases keeps
        only what the engine itself recorded: outcomes, kinds of failure, times. `over`: agents no longer work on the
        run, so all evidence is shown whole."""
        if over or not self.may_quote_held_out:
            return self
        hidden: dict[str, object] = {
            "command": HELD_BACK if self.held_out else self.command,
            "exit_code": None if self.exit_code else self.exit_code,  # a failing head could choose a telling number
            "tried": tuple(case.without_text(f"case {number}") for number, case in enumerate(self.tried, 1)),
            "output": HELD_BACK,
            "pictures": (),
            "why_void": HELD_BACK if self.why_void else "",
        }
        return self.model_copy(update=hidden)


class MissingFromEnvironment(Value):
    """Something that the checks need and this machine lacks, and that no commit can supply."""

    name: str  # name of the module, program or service, so that people can search for it
    what: str  # a sentence, such as: the module inflection is not installed
    fix: str = ""  # what a person can do about it

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}" if self.fix else self.what


class Judged(Value):
    """The verdict on one requirement, with the reasons in plain words."""

    _as_before = newer_fields("own", "author", "basis")

    id: str
    text: str
    source: str = ""
    grade: Grade
    why: tuple[str, ...]  # for people; programs read `basis`, agents `reason_for_agents` in proof/verdict/for_agents.py
    basis: Basis = ""
    evidence: tuple[str, ...] = ()  # ids of Evidence
    gaps: tuple[Finding, ...] = ()  # what is missing, as far as the implementer may know it
    holds: bool  # nothing failed and nothing is disputed; at most a person's approval is missing
    lacks: Lacks = ""  # what only a person can add
    parts: tuple[str, ...] = ()  # requirements that it consists of
    own: "Judged | None" = None  # the verdict on it without its parts; None if it has no parts, or in older journals
    rests_on: str = ""  # what the grade rests on: the user's cases, an examiner's cases, or a person's approval
    missing: tuple[MissingFromEnvironment, ...] = ()  # what kept it from being judged; no fault or gap of the work
    # Set only for a criterion that is not in the contract, so that nothing checks it: the id of the part of the work
    # (such as a chunk) that the criterion belongs to.
    outside: str = ""
    author: str = ""  # of a criterion that is not in the contract: the role that wrote it; "" if a person did


class FactNote(str):
    """A note that only states a fact: something that the engine did, or that a grade already reflects.

    Notes that are plain strings name something that no check covers. Both kinds are in `undecided`; the fact notes are
    also in `reported`.
    """

    __slots__ = ()


class Verdict(Value):
    """The judged requirements of one commit. The engine computes it from evidence; no agent can make one."""

    subject: str
    commit: str = ""
    tree: str = ""
    requirements: tuple[Judged, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    suites: tuple[Judged, ...] = ()  # the base's own tests: they can refute every requirement, but prove none
    beside: tuple[Judged, ...] = ()  # other requirements that were evaluated on the same commit; not part of `holds`
    objections: tuple[Finding, ...] = ()
    remarks: tuple[Finding, ...] = ()  # gaps that are not about a requirement: a person's comment, an empty diff
    undecided: tuple[str, ...] = ()  # all notes: what no check covers, and facts; every report lists them
    reported: tuple[str, ...] | None = None  # the facts (FactNote) among `undecided`; None in older journals
    noted: tuple[str, ...] = ()  # notes in `undecided` from the workflow: they stay when the contract is amended
    owned: tuple[str, ...] = ()  # files that the engine itself had written; not part of the work

    @classmethod
    def open(cls, subject: str, *remarks: Finding) -> Self:
        """A verdict before anything was judged. `remarks`: gaps that are not about a requirement."""
        return cls(subject=subject, remarks=remarks)

    def about(self, ids: Collection[str]) -> Self:
        """The verdict on only these requirements. All other requirements move to `beside`, where they do not affect
        `holds`."""
        chosen = tuple(requirement for requirement in self.requirements if requirement.id in ids)
        others = tuple(requirement for requirement in (*self.requirements, *self.beside) if requirement.id not in ids)
        return self.model_copy(update={"requirements": chosen, "beside": others})

    @property
    def grade(self) -> Grade:
        """The worst grade of all requirements and of every failing suite."""
        failed = [suite.grade for suite in self.suites if not suite.holds]
        grades = [requirement.grade for requirement in self.requirements] or [Grade.UNPROVEN]
        return min((*grades, *failed))

    @property
    def holds(self) -> bool:
        """Whether every requirement and suite holds and there is no gap. False before anything was judged."""
        every = (*self.requirements, *self.suites)
        return bool(self.commit) and not self.gaps and all(judged.holds for judged in every)

    @property
    def missing_from_environment(self) -> tuple[MissingFromEnvironment, ...]:
        """Everything that the environment lacked and that kept requirements or existing tests from being judged, each
        once. No agent can fix it."""
        every = (*self.requirements, *self.suites)
        return tuple(dict.fromkeys(part for judged in every for part in judged.missing))

    @property
    def lacks_only_environment(self) -> bool:
        """Whether nothing failed, and only things that the environment lacked (`missing_from_environment`) kept the
        work from being judged. A round with this result does not count as an attempt, because a person has to fix the
        environment."""
        every = (*self.requirements, *self.suites)
        none_failed = all(judged.holds or (judged.grade is Grade.UNJUDGED and judged.missing) for judged in every)
        return bool(self.commit and self.missing_from_environment) and none_failed and not self.gaps

    @property
    def gaps(self) -> tuple[Finding, ...]:
        """The gaps of all requirements and suites, the remarks and the objections. Equal gaps are listed once."""
        judged = (*self.suites, *self.requirements)
        every = (*self.remarks, *(gap for requirement in judged for gap in requirement.gaps), *self.objections)
        return tuple({(gap.what, gap.where): gap for gap in every}.values())  # several requirements can share a gap


class Author(Value):
    """Who wrote a check's cases, if the user did not."""

    role: str
    agent: str = ""
    vendor: str = ""
    agreed: tuple[str, ...] = ()  # agents that saw only the inputs, and gave the expected answer to every case
    independent: bool = False  # its agent, or one of `agreed`, is from another vendor than planner and implementers


class Contract(Value):
    """Requirements and checks, sealed before work starts. It is stored outside every clone, under its hash."""

    _as_before = newer_fields(
        *("suites", "unguarded", "uncollected", "unserved", "reported", "red_suites", "disclosed", "project_roots")
    )

    base: str
    requirements: tuple[Requirement, ...]
    environment: Environment = Field(default_factory=Environment)
    frozen: dict[str, str] = {}  # path → blob hash on the base; "" if the base has no such file
    held_out: bool = False  # no agent can read the cases; the engine has tested that
    held_out_why: str = ""
    serve: Serve | None = None
    interface: tuple[str, ...] = ()
    carried: dict[str, str] = {}  # path → base64: files that are copied over base and head
    authors: dict[str, Author] = {}  # check → its author, for checks that the user did not write
    guards: tuple[str, ...] = ()  # checks that can refute but never prove: the base's own tests, build, lint, types
    caps: dict[str, tuple[str, ...]] = {}  # requirement → why it is at most `examined` until a person approves
    undecided: tuple[str, ...] = ()  # all notes made while sealing: what no check covers, and facts
    interpreter: str = ""  # the interpreter that runs the checks, on base and head
    base_facts: tuple[Evidence, ...] = ()  # evidence of the checks on the base; failed cases ran several times
    suites: tuple[Requirement, ...] = ()  # the base's own tests: they get no grade, but can refute every requirement
    unguarded: tuple[str, ...] = ()  # test suites of the base that could not be run as guards, and why
    uncollected: tuple[str, ...] = ()  # tests of the base that no check collects: `file::test`, or a whole `file`
    red_suites: tuple[Requirement, ...] = ()  # suites of `unguarded` that ran, without any passing test on the base
    reported: tuple[str, ...] = ()  # the facts (FactNote) among `undecided`
    unserved: str = ""  # why pages are not checked (no server was found), and what a person can write
    disclosed: tuple[Case, ...] = ()  # held-out cases that implementers were shown: they no longer count
    project_roots: tuple[str, ...] = ()  # folders of the base's projects below the top from which checks import

    @property
    def visibility(self) -> str:
        """One clause that says whether the cases are held out, and why. If agents could read the cases, the clause is
        `held_out_why`, which then says so."""
        if self.held_out:
            return f"cases are held out: {self.held_out_why}"
        return self.held_out_why or "cases are visible"

    @property
    def import_folders(self) -> tuple[str, ...]:
        """The folders from which checks import: the user's `environment.path` or, if it is not set, the top folder,
        `src` and the project roots."""
        return self.environment.path or (".", "src", *self.project_roots)

    @property
    def every(self) -> tuple[Requirement, ...]:
        """Everything that has checks: the requirements and the base's own tests."""
        return (*self.requirements, *self.suites)

    def serving(self, subject: str) -> tuple[Requirement, ...]:
        """The requirements that cover this task or have its id."""
        return tuple(
            requirement
            for requirement in self.requirements
            if requirement.id == subject or subject in requirement.covers
        )


class Outcome(Value):
    """How a run ended."""

    state: OutcomeState
    grade: Grade = Grade.UNPROVEN
    head: str = ""
    verdict: Verdict | None = None
    why: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()  # requirements that lack only a person's approval


class Figures(Value):
    """What the engine counted when it ran a test command: information for people and agents, never evidence."""

    passing: int = 0
    total: int = 0
    coverage: float | None = None  # per cent
    why: str = ""  # why something could not be counted or measured
    said: str = ""  # the command's output, if it failed
    skipped: tuple[str, ...] = ()  # tests that were not run

    @property
    def good(self) -> bool:
        """Whether there are tests and all of them pass."""
        return self.total > 0 and self.passing == self.total

    def good_beside(self, base: "Figures") -> bool:
        """Whether at least one test passes, and each other test passes or is skipped both here and on the base."""
        skipped_on_both = {*self.skipped} & {*base.skipped}
        return self.passing > 0 and self.passing + len(skipped_on_both) == self.total

    def __str__(self) -> str:
        share = f", {self.coverage:.0f} % of lines" if self.coverage is not None else ""
        return f"{self.passing}/{self.total} tests{share}"
