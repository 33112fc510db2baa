"""Issues of a ticket: where the work differs from what the ticket asks, and how they change from round to round."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Literal

from pydantic import Field

from trued.model import Approval, Case, Evidence, Finding, Judged, Outcomes, Severity, Tried, Value, Verdict
from trued.support.lazy_regex import lazy_regex

# Two issues with at least this share of equal words are the same: agents never word a thing in the same way twice.
ALIKE = 0.8
SEVERITIES = {
    "critical": Severity.CRITICAL,
    "high": Severity.HIGH,
    "medium": Severity.MEDIUM,
    "low": Severity.LOW,
}
ENGINE = "the engine"
_WORD = lazy_regex(r"\w+")


class Issue(Value):
    """One difference between what the user's words ask for and what was seen."""

    severity: Literal["critical", "high", "medium", "low"] = "high"
    description: str
    location: str = ""
    expected: str = ""
    actual: str = ""
    screenshot: str = ""
    requirement: str = Field(default="", description="its id, if you can name it")
    case: Case | None = Field(default=None, description="a call, a command line or an HTTP exchange that shows it")
    by: str = Field(default="", description="leave it empty")

    @property
    def finding(self) -> Finding:
        """The issue as an objection: the engine runs its case; if it has none, the agent is asked again."""
        expected = self.expected.removeprefix("expected ")
        seen = [f"expected {expected}" if expected else "", f"actual {self.actual}" if self.actual else ""]
        return Finding(
            what=": ".join(filter(None, (self.description, ", ".join(filter(None, seen))))),
            where=self.location,
            severity=SEVERITIES[self.severity],
            requirement=self.requirement,
            case=self.case,
        )

    @property
    def sentence(self) -> str:
        """The issue in one line, for people."""
        where = f" ({self.location})" if self.location else ""
        return f"{self.severity}: {self.finding.what}{where}"


class IssueComparison(Value):
    """How the issues of two rounds compare."""

    fixed: tuple[Issue, ...] = ()
    still: tuple[Issue, ...] = ()
    new: tuple[Issue, ...] = ()

    @property
    def same(self) -> bool:
        """Whether this round found exactly the issues of the last round, and at least one."""
        return bool(self.still) and not self.fixed and not self.new

    @property
    def sentence(self) -> str:
        return f"{len(self.fixed)} fixed, {len(self.still)} still there, {len(self.new)} new"


def compare_issues(before: Sequence[Issue], now: Sequence[Issue]) -> IssueComparison:
    """Compare this round's issues with the last round's. An issue of the last round that is not repeated counts as
    fixed."""
    remaining, still, new = list(before), list[Issue](), list[Issue]()
    for issue in now:
        known = next((candidate for candidate in remaining if _key(candidate) == _key(issue)), None) or _nearest(
            issue, remaining
        )
        if known is None:
            new.append(issue)
        else:
            remaining.remove(known)
            still.append(issue)
    return IssueComparison(fixed=tuple(remaining), still=tuple(still), new=tuple(new))


def _nearest(issue: Issue, among: Sequence[Issue]) -> Issue | None:
    """The most similar issue of the same observer about the same requirement, if it is similar enough."""
    whose = [
        candidate for candidate in among if candidate.by == issue.by and candidate.requirement == issue.requirement
    ]
    rated = [
        (
            SequenceMatcher(None, _comparable_words(candidate), _comparable_words(issue), autojunk=False).ratio(),
            candidate,
        )
        for candidate in whose
    ]
    best = max(rated, key=lambda pair: pair[0], default=(0.0, None))
    return best[1] if best[0] >= ALIKE else None


def _key(issue: Issue) -> tuple[object, ...]:
    """What identifies an issue: what is demanded, and where. What was seen may change without anything being fixed."""
    demanded = _normalized(issue.expected) or _normalized(issue.description)
    return issue.by, issue.requirement, _normalized(issue.location), demanded


def _comparable_words(issue: Issue) -> list[str]:
    return _normalized(f"{issue.location} {issue.description} {issue.expected}").split()


def _normalized(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


# -- failed checks are also issues ------------------------------------------------------------------------------------


def failed_checks(verdict: Verdict) -> tuple[Issue, ...]:
    """The verdict's gaps and remarks as issues. For a visible browser check, the issue says what was expected and what
    was seen, and has a screenshot. For a held-out case, it says only what an implementer may know."""
    issues = [
        issue
        for judgement in (*verdict.suites, *verdict.requirements)
        for issue in _issues_of(judgement, verdict.evidence)
    ]
    issues += [
        Issue(severity="high", description=remark.what, location=remark.where, by=ENGINE) for remark in verdict.remarks
    ]
    return tuple(dict.fromkeys(issues))


def _issues_of(judged: Judged, evidence: Sequence[Evidence]) -> Iterable[Issue]:
    seen = [
        (fact, tried)
        for fact in evidence
        if fact.requirement == judged.id
        and fact.side == "head"
        and fact.kind == "browser"
        and not fact.may_quote_held_out
        for tried in fact.tried
        if tried.outcome in (Outcomes.FAILED, Outcomes.MISSING)
    ]
    for gap in judged.gaps:
        shown = next(((fact, tried) for fact, tried in seen if _describes(tried, gap)), None)
        yield _page_issue(gap, *shown) if shown else _gap_issue(gap)


def _describes(tried: Tried, gap: Finding) -> bool:
    sentence = tried.detail.strip().partition("\n")[0]
    return f" {tried.id}: " in gap.what or (bool(sentence) and sentence in gap.what)


def _page_issue(gap: Finding, fact: Evidence, tried: Tried) -> Issue:
    """A failed page check as an issue. What was expected identifies it in later rounds; what was seen may differ."""
    sentence = tried.detail.strip().partition("\n")[0][:500]
    expected, separator, actual = sentence.partition("; ")
    page = next((shot.page for shot in fact.pictures), "")
    return Issue(
        severity="critical",
        description=f"{gap.requirement}: {tried.id}{f' on {page}' if page else ''}",
        location=gap.where,
        expected=expected.removeprefix("expected to ") if separator else tried.id,
        actual=actual if separator else sentence,
        screenshot=fact.artifacts.get("screenshot.png", ""),
        requirement=gap.requirement,
        by=ENGINE,
    )


def _gap_issue(gap: Finding) -> Issue:
    return Issue(severity="critical", description=gap.what, location=gap.where, requirement=gap.requirement, by=ENGINE)


# -- the summary of a round --------------------------------------------------------------------------------------------


class Beyond(Value):
    """A file that was changed though nobody named it."""

    path: str
    why: str = ""


def files_beyond(changed: Sequence[str], named: Iterable[str], explained: Iterable[Beyond]) -> tuple[Beyond, ...]:
    """The changed files that are not in `named`. `explained`: the agent's reasons, which need not cover all files."""
    known, reasons = set(named), {file.path: file.why for file in explained}
    return tuple(Beyond(path=path, why=reasons.get(path, "")) for path in changed if path not in known)


class Summary(Value):
    """An agent's work in a sentence, for the agents that follow."""

    who: str
    says: str


def rejection_issues(decisions: Iterable[Approval]) -> tuple[Issue, ...]:
    """People's rejections as issues."""
    return tuple(
        Issue(severity="critical", description=decision.why, requirement=decision.requirement, by=decision.who)
        for decision in decisions
        if decision.rejected
    )


def open_issues(verdict: Verdict, reported: Sequence[Issue] = (), *more: Issue) -> tuple[Issue, ...]:
    """All open issues: `more`, then objections that no check settled, then failed checks. `reported`: the issues in the
    agents' replies. If an objection was made from a reported issue, the result has this issue with all its details."""
    known = {issue.finding.what: issue for issue in reported}
    objected = {
        objection.what: known.get(
            objection.what, Issue(description=objection.what, location=objection.where)
        ).model_copy(update={"by": objection.by})
        for objection in verdict.objections
    }
    return (*more, *objected.values(), *failed_checks(verdict))
