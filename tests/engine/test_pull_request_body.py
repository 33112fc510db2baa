"""A pull request's text and pictures: hostile text stays plain text, and nothing is offered twice."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from trued.engine.pull_request import offer_pull_request
from trued.engine.pull_request_body import (
    PullRequestWork,
    VerificationRound,
    body_of,
    picture_pairs,
    rounds_document,
    title_of,
)
from trued.engine.role_spending import RoleSpending
from trued.errors import BadInput
from trued.model import Evidence, Grade, Judged, Outcomes, Shot, Tried, Verdict
from trued.protocols import ForgePullRequest, PullRequestProposal, Workspace
from trued.support.markdown_escape import quotation

EVIL = "Fixes #7, @all <img src=x onerror=alert(1)> ![t](http://evil/t.png) [x](javascript:1) | a | b |\n</details>"


def evidence(side: str, commit: str, sha: str, *, passed: bool, page: str = "/tea") -> Evidence:
    outcome = Outcomes.PASSED if passed else Outcomes.FAILED
    tried = Tried(id='sees "Earn 40 points"', outcome=outcome, detail="" if passed else "it shows nothing")
    return Evidence.model_validate(
        {
            "id": sha,
            "requirement": "points",
            "check": "c",
            "kind": "browser",
            "side": side,
            "commit": commit,
            "tree": "t",
            "isolation": "bubblewrap",
            "tried": (tried,),
            "pictures": (Shot(name="screenshot.png", sha256=sha, page=page, viewport="1280x800"),),
        }
    )


FACTS = (
    evidence("base", "b0", "aa", passed=False),
    evidence("head", "h1", "bb", passed=False),
    evidence("head", "h2", "cc", passed=True),
)


def work(**more: Any) -> PullRequestWork:
    judged = Judged(id="points", text="Cards show points", grade=Grade.PROVEN, why=("3 examples",), holds=True)
    verdict = Verdict(subject="plan", commit="h2", requirements=(judged,), evidence=FACTS[1:], undecided=("taste",))
    given_ = {"run": "r-1", "branch": "fix/S-1", "onto": "main", "head": "h2", "title": "cards", "verdict": verdict}
    return PullRequestWork(**{**given_, "proven": True, "key": "S-1", "evidence": FACTS, **more})


@pytest.mark.spec("TIC-9", "TIC-6", "USE-6")
def test_a_body_holds_evidence_both_pictures_rounds_and_costs_and_hostile_text_stays_text() -> None:
    told = work(
        words=EVIL,
        by="pr-agent",
        rounds=(
            VerificationRound(1, (EVIL,), "0 fixed", "mended it", (f"x.py: {EVIL}",)),
            VerificationRound(2, (), "1 fixed"),
        ),
        spent=(
            RoleSpending("impl-agent", "claude", 1, 1000, 200, 10, 900, 0.5),
            RoleSpending("pr-agent", "x", 1, 1, 1, 0, 50, 0.25),
        ),
        claimed=(("a.png", "dd"),),
        said=(EVIL,),
        bar=EVIL,
        url="https://tracker.example/S-1",
    )
    body = body_of(told, {"aa": "https://f/aa(1)", "bb": "https://f/bb", "cc": "https://f/cc", "dd": "https://f/dd"})
    html = MarkdownIt("commonmark").enable("table").render(body)
    assert "<td>3 examples</td>" in html
    assert 'src="https://f/aa%281%29"' in html, "before: the page on the base"
    assert 'src="https://f/cc"' in html
    assert "bb" not in {one.partition('"')[0].rpartition("/")[2] for one in html.split('src="')[1:]}
    assert "1280x800" in html
    assert "1,001" in html
    assert "$0.75" in html
    assert body.count("</details>") == body.count("<details>") == 3
    assert "evil" not in "".join(one for one in html.split("<") if one.startswith(("img", "a href")))
    assert not any(mark in body for mark in ("#7", "@all", "<img"))
    assert "an agent. Nobody checked these words" in body


@pytest.mark.spec("TIC-9", "USE-6")
@given(st.text(max_size=400))
def test_no_words_of_an_agent_leave_their_quotation(words: str) -> None:
    html = MarkdownIt("commonmark").enable("table").render(f"{quotation(words)}\n\n# After")
    assert html.rstrip().endswith("<h1>After</h1>")
    assert "<img" not in html
    assert "<a " not in html
    assert html.count("<h1>") == 1


@pytest.mark.spec("TIC-8", "TIC-9")
def test_a_title_names_the_ticket_and_says_when_nothing_is_proven() -> None:
    assert title_of(work(title="fix: cards (s-1)")) == "fix: cards (s-1)"
    assert title_of(work(title="fix:\n cards")) == "S-1: fix: cards"
    assert title_of(work(title="", proven=False)) == "not proven: fix/S-1"


@pytest.mark.spec("TIC-6")
def test_the_picture_before_is_the_bases_also_where_the_work_failed_in_between() -> None:
    def shown(*facts: Evidence) -> dict[str, str]:
        return {when: one.sha256 for when, one in picture_pairs(facts)["/tea"].items()}

    assert shown(*FACTS) == {"before": "aa", "after": "cc"}
    assert shown(*reversed(FACTS)) == {"before": "aa", "after": "cc"}
    assert shown(FACTS[1], FACTS[2]) == {"before": "bb", "after": "cc"}, "without one of the base"


@pytest.mark.spec("TIC-10")
def test_peak_contexts_are_shown_for_every_agent_and_together() -> None:
    spent = (
        RoleSpending("impl-agent", "claude", 1, peak=38_000),
        RoleSpending("verify-agent", "claude", 2, peak=24_000),
    )
    text = rounds_document((VerificationRound(1, ("an issue",), "0 fixed"),), spent)
    assert "| 38,000 |" in text
    assert "Peak contexts of all roles together: 62,000 tokens." in text


# -- offering ----------------------------------------------------------------------------------------------------------


class Store:
    """The part of a workspace that an offer needs."""

    def __init__(self, refuses: Sequence[str] = ()) -> None:
        self.pushed: list[tuple[str, str]] = []
        self.refuses = refuses

    async def load_artifact(self, name: str) -> bytes | None:
        return None if name == "aa" else name.encode()

    async def commit_without_history(self, files: Mapping[str, bytes], *, message: str, when: float) -> str:
        self.files = dict(files)
        return "pictures"

    async def push(self, remote: str, commit: str, ref: str) -> str:
        if ref in self.refuses:
            return f"{ref} has other work; it is not overwritten"
        self.pushed.append((commit, ref))
        return ""


def as_workspace(store: Store) -> Workspace:
    return cast(Workspace, store)


class Hub:
    name, remote = "hub", "origin"

    def __init__(self, there: ForgePullRequest | None = None) -> None:
        self.there, self.offers = there, list[PullRequestProposal]()

    def ready(self) -> None:
        return None

    def offered(self, branch: str) -> ForgePullRequest | None:
        return self.there

    def offer(self, offer: PullRequestProposal) -> ForgePullRequest:
        self.offers.append(offer)
        return ForgePullRequest(1, "https://hub/1", "open", head=offer.head)

    def picture(self, commit: str, path: str) -> str:
        return f"https://hub/{commit}/{path}"


@pytest.mark.spec("TIC-9", "LAW-9")
async def test_the_proven_commit_is_pushed_with_its_pictures_on_a_branch_of_their_own(tmp_path: Path) -> None:
    store, hub = Store(), Hub()
    assert (await offer_pull_request(hub, as_workspace(store), work())).number == 1
    assert store.pushed == [("pictures", "refs/heads/trued/evidence/r-1"), ("h2", "refs/heads/fix/S-1")]
    assert list(store.files) == ["02-tea-after.png"], "what is not there any more is not shown"
    assert hub.offers[0].head == "h2"
    assert "https://hub/pictures/02-tea-after.png" in hub.offers[0].body
    again = Store(["refs/heads/trued/evidence/r-1"])
    await offer_pull_request(hub, as_workspace(again), work())
    assert again.pushed[0] == ("pictures", "refs/heads/trued/evidence/r-1-pictures")
    with pytest.raises(BadInput, match="has other work"):
        await offer_pull_request(hub, as_workspace(Store(["refs/heads/fix/S-1"])), work())


@pytest.mark.spec("TIC-9")
async def test_a_closed_pull_request_is_left_as_it_is() -> None:
    store, hub = Store(), Hub(ForgePullRequest(1, "https://hub/1", "closed"))
    assert (await offer_pull_request(hub, as_workspace(store), work())).state == "closed"
    assert (store.pushed, hub.offers) == ([], [])
