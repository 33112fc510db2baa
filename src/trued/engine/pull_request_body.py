"""The text of a pull request: its title, its body with the evidence, and the names of its pictures."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trued.engine.role_spending import RoleSpending
from trued.model import Evidence, Judged, Outcomes, Picture, Verdict
from trued.model.grades import GRADE_MARKS
from trued.proof.screenshots import evidence_pictures
from trued.support.markdown_escape import escaped, folded, quotation
from trued.support.money import money
from trued.support.plain_text import inert, plain

MOST_PICTURES = 24
MOST_ROWS = 200  # at most this many rows of one table: a pull request is for people
NOT_PROVEN = "not proven: "


@dataclass(frozen=True, slots=True)
class VerificationRound:
    """One verification round: the issues that it found, what became of the previous round's issues, and what was
    fixed."""

    number: int
    issues: tuple[str, ...] = ()
    fate: str = ""
    fixed: str = ""
    beyond: tuple[str, ...] = ()  # changed files that nobody had named, each with the agent's reason, if it gave one


@dataclass(frozen=True)
class PullRequestWork:
    """Everything that a pull request says about a run."""

    run: str
    branch: str
    onto: str
    head: str
    title: str  # an agent's title, else the run's
    verdict: Verdict
    proven: bool
    contract: str = ""
    bar: str = ""  # a sentence, if the accepted grade is lower than the default
    key: str = ""  # the ticket's key
    url: str = ""  # the ticket's address
    words: str = ""  # an agent's text
    by: str = ""  # the agent that wrote `words`
    rounds: tuple[VerificationRound, ...] = ()
    spent: tuple[RoleSpending, ...] = ()
    evidence: tuple[Evidence, ...] = ()  # of all rounds, on base and head
    claimed: tuple[tuple[str, str], ...] = ()  # pictures that agents handed in: name and hash
    said: tuple[str, ...] = ()  # remarks, such as what the ticket lacks, and claims that git refutes
    draft: bool = False
    when: float = 0.0


# -- pictures ----------------------------------------------------------------------------------------------------------


def picture_names(work: PullRequestWork) -> dict[str, str]:
    """Hash → a file name that says what the picture shows, for at most MOST_PICTURES pictures."""
    names: dict[str, str] = {}
    for page, pair in picture_pairs(work.evidence).items():
        for when, picture in pair.items():
            names.setdefault(picture.sha256, f"{len(names) + 1:02d}-{_slug(page)}-{when}.png")
    for name, sha256 in work.claimed:
        names.setdefault(sha256, f"claimed-{len(names) + 1:02d}-{_slug(name.rpartition('.')[0])}.png")
    return dict(list(names.items())[:MOST_PICTURES])


def picture_pairs(evidence: Sequence[Evidence]) -> dict[str, dict[str, Picture]]:
    """Page → its pictures "before" and "after". "before" was taken on the base. If the base has no picture, "before" is
    the first failure on the head. "after" is the last picture that passed on the head."""
    found: dict[str, dict[str, Picture]] = {}
    for picture in evidence_pictures(evidence):
        pair = found.setdefault(picture.page, {})
        if picture.passed and picture.side == "head":
            pair["after"] = picture
        elif picture.side == "base" and pair.get("before", picture).side == "head":
            pair["before"] = picture
        else:
            pair.setdefault("before", picture)
    return found


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:40] or "page"


# -- words -------------------------------------------------------------------------------------------------------------


def title_of(work: PullRequestWork) -> str:
    """The title, with the ticket's key. If the work is not proven, the title begins with “not proven”."""
    # inert, because a squash merge uses the title as its commit message
    flat = " ".join(inert(plain(work.title)).split()) or work.branch
    flat = flat.replace(inert(work.key), work.key) if work.key else flat
    named = flat if work.key.lower() in flat.lower() else f"{work.key}: {flat}"
    return named if work.proven else f"{NOT_PROVEN}{named}"


def body_of(work: PullRequestWork, links: Mapping[str, str]) -> str:
    """The body in Markdown. Text from outside is escaped; an agent's text is marked as such."""
    parts = [
        _headline(work),
        f"{quotation(work.words)}\n>\n> *Written by {escaped(work.by)}, an agent. Nobody checked these words.*"
        if work.words
        else "",
        _section("Requirements", _requirements(work)),
        _section("Pictures", _pictures(work, links)),
        _section("Rounds", _rounds(work.rounds)),
        _section("Tokens and cost", _spent(work.spent)),
        folded("Evidence, requirement by requirement", _evidence(work)),
        folded("What is not checked", _undecided(work)),
        folded("Pictures that agents handed in: claims, not evidence", _claimed(work, links)),
        _receipt(work),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _headline(work: PullRequestWork) -> str:
    grade = work.verdict.grade
    mark = GRADE_MARKS.get(grade, "✅" if work.proven else "❌")
    state = "" if work.proven else ": **not proven**"
    ticket = f" for {escaped(work.key)}" if work.key else ""
    where = f"\n\nTicket: {_address(work.url)}" if work.url else ""
    bar = f"\n\n> {escaped(work.bar)}" if work.bar else ""
    return f"{mark} Work{ticket} is graded **{grade}**{state}, on commit `{work.head}`.{where}{bar}"


def _address(url: str) -> str:
    return f"<{url}>" if re.fullmatch(r"https?://[^\s<>\"'\\]+", url) else escaped(url)


def _requirements(work: PullRequestWork) -> str:
    rows = [
        f"| {_mark(requirement)} | {escaped(requirement.id)}<br>{escaped(requirement.text)} | {requirement.grade} "
        f"| {escaped(requirement.why[0] if requirement.why else '')} |"
        for requirement in work.verdict.requirements
    ]
    return _table(("", "requirement", "grade", "why"), rows)


def _mark(judged: Judged) -> str:
    return GRADE_MARKS.get(judged.grade, "🟡" if judged.holds else "❌")


def _pictures(work: PullRequestWork, links: Mapping[str, str]) -> str:
    """A table with one row for each page: its picture before the work, and its picture after."""
    rows = []
    for page, pair in picture_pairs(work.evidence).items():
        cells = [_picture(pair.get(when), when, links) for when in ("before", "after")]
        if any(cells):
            rows.append(f"| {escaped(page)} | {' | '.join(cell or '–' for cell in cells)} |")
    return _table(("page", "before", "after"), rows)


def _picture(picture: Picture | None, when: str, links: Mapping[str, str]) -> str:
    if picture is None or picture.sha256 not in links:
        return ""
    where = f"{picture.side} `{picture.commit[:12]}`, {escaped(picture.viewport or '?')}"
    what = f"{when}, {where}, `sha256:{picture.sha256[:12]}`"
    said = f"<br>{escaped(picture.says[0])}" if picture.says else ""
    return f"![{escaped(picture.page)} {when}]({_link(links[picture.sha256])})<br>{what}{said}"


def _link(address: str) -> str:
    return re.sub(r"[\s<>()\"'\\|]", lambda match: f"%{ord(match[0]):02X}", address)


def rounds_document(rounds: Sequence[VerificationRound], spent: Sequence[RoleSpending]) -> str:
    """ROUNDS.md: the rounds, and what every agent used."""
    held = sum(role.peak for role in spent)
    sums = f"\n\nPeak contexts of all roles together: {held:,} tokens." if spent else ""
    parts = [f"# Rounds\n\n{_rounds(rounds)}", _section("Tokens and cost", f"{_spent(spent)}{sums}")]
    return "\n\n".join(filter(None, parts)) + "\n"


def _rounds(rounds: Sequence[VerificationRound]) -> str:
    rows = []
    for verified in rounds:
        issues = "<br>".join(map(escaped, verified.issues[:10])) or "nothing"
        more = f"<br>… {len(verified.issues) - 10} more" if verified.issues[10:] else ""
        beyond = "".join(f"<br>beyond the named files: {escaped(file)}" for file in verified.beyond)
        fixed = f"{escaped(verified.fixed or '–')}{beyond}"
        rows.append(f"| {verified.number} | {issues}{more} | {escaped(verified.fate)} | {fixed} |")
    return _table(("round", "found", "since the last", "then fixed"), rows)


def _spent(spent: Sequence[RoleSpending]) -> str:
    if not spent:
        return ""
    rows = [
        f"| {escaped(role.role)} | {escaped(_public(role.agent))} | {role.calls} | {role.tokens_in:,} | "
        f"{role.tokens_out:,} | {role.cached:,} | {role.peak:,} | {role.mark}{money(role.usd)} |"
        for role in spent
    ]
    calls, usd = sum(role.calls for role in spent), sum(role.usd for role in spent)
    sums = [sum(getattr(role, name) for role in spent) for name in ("tokens_in", "tokens_out", "cached")]
    mark = next((mark for mark in "≤~" if any(role.mark == mark for role in spent)), "")
    rows.append(
        f"| **all** | | {calls} | {sums[0]:,} | {sums[1]:,} | {sums[2]:,} | "
        f"{max(role.peak for role in spent):,} | {mark}{money(usd)} |"
    )
    return _table(("role", "agent", "calls", "tokens in", "out", "cached", "peak context", "cost"), rows)


def _evidence(work: PullRequestWork) -> str:
    return "\n\n".join(_evidence_of(requirement, work) for requirement in work.verdict.requirements[:MOST_ROWS])


def _evidence_of(judged: Judged, work: PullRequestWork) -> str:
    lines = [f"**{escaped(judged.id)}**{f' · {escaped(_public(judged.source))}' if judged.source else ''}"]
    lines += [f"- {escaped(why)}" for why in judged.why[:5]]
    lines += [f"- rests on {escaped(judged.rests_on)}"] if judged.rests_on else []
    facts = [fact for fact in work.verdict.evidence if fact.requirement == judged.id and fact.side == "head"]
    for fact in facts[:10]:
        passed = sum(tried.outcome is Outcomes.PASSED for tried in fact.tried)
        held = ", held out" if fact.held_out else ""
        command = "" if fact.held_out else f" {escaped(fact.command, 160)}:"
        lines.append(
            f"- {fact.kind}{held}:{command} {passed} of {len(fact.tried)} passed on `{fact.commit[:12]}`, "
            f"turn {fact.turn}, {escaped(fact.isolation)}"
        )
    return "\n".join(lines if facts else [*lines, "- nothing was run for it"])


def _public(words: str) -> str:
    """The text without the paths of folders on the user's machine."""
    return re.sub(r"(?<![\w.~:/])~?(?:/[^\s:/\"'`]+)*/(?=[^\s:/])|(?<=:)~?/(?!/)[^\s:\"'`]*/", "", words)


def _undecided(work: PullRequestWork) -> str:
    return "\n".join(f"- {escaped(remark)}" for remark in dict.fromkeys((*work.said, *work.verdict.undecided)))


def _claimed(work: PullRequestWork, links: Mapping[str, str]) -> str:
    shown = dict.fromkeys((name, links[sha256]) for name, sha256 in work.claimed if sha256 in links)
    return "\n\n".join(f"{escaped(name)}\n\n![{escaped(name)}]({_link(address)})" for name, address in shown)


def _receipt(work: PullRequestWork) -> str:
    contract = f", contract `{work.contract[:16]}`" if work.contract else ""
    return f"Run `{work.run}`{contract}. `trued receipt {work.run}` gives a receipt that anybody can check again."


def _table(titles: Sequence[str], rows: Sequence[str]) -> str:
    if not rows:
        return ""
    head = f"| {' | '.join(titles)} |\n|{' --- |' * len(titles)}"
    more = [f"| … | {len(rows) - MOST_ROWS} more |" + " |" * (len(titles) - 2)] if len(rows) > MOST_ROWS else []
    return "\n".join([head, *rows[:MOST_ROWS], *more])


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}" if body else ""
