"""Pull requests on a GitHub that checks every request against GitHub's own description."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integrations.forges import answering
from tests.integrations.forges.answering import Fault
from tests.integrations.forges.conftest import git
from tests.integrations.forges.servers import READ_ONLY, TOKEN, GitHub, github_server
from trued.errors import BadInput, ForgeFailed, LimitReached, TruedError
from trued.integrations.forges.github import BODY_LIMIT, GitHubForge
from trued.integrations.http import Service
from trued.protocols import PullRequestProposal


@pytest.fixture
def github(bare: Path) -> Iterator[GitHub]:
    with github_server(bare) as server:
        yield server


def forge(github: GitHub, token: str = TOKEN, repository: str = "acme/shop", timeout_s: float = 20) -> GitHubForge:
    return GitHubForge(Service("GitHub", github.url, "GITHUB_TOKEN", token, timeout_s=timeout_s), repository)


def said(error: pytest.ExceptionInfo[TruedError]) -> str:
    """The error as one sentence; asserts that it does not contain the token."""
    sentence = str(error.value)
    assert "\n" not in sentence
    assert "\x1b" not in sentence
    assert TOKEN not in sentence
    assert TOKEN not in repr(error.value)
    return sentence


@pytest.mark.spec("TIC-9")
def test_an_offer_opens_a_pull_request_and_the_next_one_brings_it_up_to_date(
    github: GitHub, offer: PullRequestProposal
) -> None:
    hub = forge(github)
    hub.ready()
    assert hub.offered(offer.branch) is None
    first = hub.offer(offer)
    assert (first.number, first.state, first.title, first.body) == (1, "open", offer.title, offer.body)
    assert first.head == offer.head
    assert first.url == f"{github.url}/acme/shop/pull/1"
    again = hub.offer(replace(offer, title="Show points, really", body="Now with evidence."))
    assert (again.number, again.title, again.body) == (1, "Show points, really", "Now with evidence.")
    assert [(one.title, one.body) for one in github.pulls] == [("Show points, really", "Now with evidence.")]
    assert hub.offered(offer.branch) == again


def test_the_same_offer_twice_changes_nothing(github: GitHub, offer: PullRequestProposal) -> None:
    hub = forge(github)
    assert hub.offer(offer) == hub.offer(offer)
    assert len(github.asked_for("POST")) == 1
    assert github.asked_for("PATCH") == []


@pytest.mark.parametrize("merged", [False, True])
def test_one_that_is_closed_or_merged_is_not_touched(github: GitHub, offer: PullRequestProposal, merged: bool) -> None:
    hub = forge(github)
    hub.offer(offer)
    github.close(1, merged=merged)
    found = hub.offered(offer.branch)
    assert found is not None
    assert found.state == ("merged" if merged else "closed")
    again = hub.offer(replace(offer, title="Another"))
    assert (again.number, again.state) == (2, "open")
    assert (github.pulls[0].title, github.pulls[0].state) == ("Show points", "closed")
    assert github.asked_for("PATCH") == []


def test_an_open_one_is_found_behind_fifty_newer_ones_of_its_branch(github: GitHub, offer: PullRequestProposal) -> None:
    hub = forge(github)
    hub.offer(offer)
    github.pulls += [replace(github.pulls[0], number=number, onto="next", state="closed") for number in range(2, 52)]
    assert hub.offer(replace(offer, title="Another")).number == 1
    assert github.pulls[0].title == "Another"
    assert len(github.pulls) == 51


def test_a_draft_becomes_ready_and_a_draft_again(github: GitHub, offer: PullRequestProposal) -> None:
    hub = forge(github)
    assert hub.offer(replace(offer, draft=True)).draft
    assert not hub.offer(offer).draft
    assert not github.pulls[0].draft
    assert hub.offer(replace(offer, draft=True)).draft
    assert github.pulls[0].draft


def test_another_target_is_an_update_too(github: GitHub, bare: Path, offer: PullRequestProposal) -> None:
    git(bare, "branch", "next", "main")
    hub = forge(github)
    hub.offer(offer)
    assert hub.offer(replace(offer, onto="next")).number == 1
    assert github.pulls[0].onto == "next"


def test_whoever_comes_second_in_a_race_updates(github: GitHub, offer: PullRequestProposal) -> None:
    """The list of pull requests was empty, and then somebody else opened one."""
    forge(github).offer(replace(offer, title="the quicker one"))
    github.faults.append(Fault(200, body=[], verb="GET", path="/repos/acme/shop/pulls", times=1))
    assert forge(github).offer(offer).number == 1
    assert [one.title for one in github.pulls] == ["Show points"]


def test_a_branch_that_was_not_pushed_is_refused_in_githubs_words(github: GitHub, offer: PullRequestProposal) -> None:
    with pytest.raises(BadInput) as error:
        forge(github).offer(replace(offer, branch="feat/not-there"))
    assert "head or base is invalid" in said(error)


def test_a_branch_without_a_change_is_refused(github: GitHub, bare: Path, offer: PullRequestProposal) -> None:
    git(bare, "branch", "feat/nothing", "main")
    with pytest.raises(BadInput, match="No commits between main and feat/nothing"):
        forge(github).offer(replace(offer, branch="feat/nothing"))


def test_what_is_too_long_is_cut_and_says_so(github: GitHub, offer: PullRequestProposal) -> None:
    hub = forge(github)
    long = replace(offer, title="very " * 100, body="é" * 70_000)
    shown = hub.offer(long)
    assert len(shown.body) == BODY_LIMIT
    assert shown.body.endswith("in the run's report.*\n")
    assert len(shown.title) <= 256
    hub.offer(long)
    assert github.asked_for("PATCH") == []


def test_a_picture_of_a_pushed_commit_has_an_address() -> None:
    def at(url: str) -> str:
        return GitHubForge(Service("GitHub", url, "GITHUB_TOKEN"), "acme/shop").picture("abc", "a b/ü#.png")

    assert at("https://api.github.com") == "https://github.com/acme/shop/blob/abc/a%20b/%C3%BC%23.png?raw=true"
    assert at("https://git.example.com/api/v3") == (
        "https://git.example.com/acme/shop/blob/abc/a%20b/%C3%BC%23.png?raw=true"
    )


# -- refusals


def test_without_a_token_nothing_is_asked(github: GitHub, offer: PullRequestProposal) -> None:
    for call in (forge(github, "").ready, lambda: forge(github, "").offer(offer)):
        with pytest.raises(BadInput, match="set GITHUB_TOKEN"):
            call()
    assert github.asked == []


def test_a_wrong_token_is_named_by_its_variable(github: GitHub) -> None:
    with pytest.raises(BadInput, match="does not accept the token in GITHUB_TOKEN"):
        forge(github, "wrong-token-0123456789").ready()


def test_a_token_that_may_not_push_is_found_out_before_anything_is_done(
    github: GitHub, offer: PullRequestProposal
) -> None:
    with pytest.raises(BadInput, match="may not push to acme/shop"):
        forge(github, READ_ONLY).ready()
    with pytest.raises(BadInput, match="does not allow you to offer a pull request"):
        forge(github, READ_ONLY).offer(offer)
    assert github.pulls == []


def test_an_unknown_repository_and_an_archived_one(github: GitHub) -> None:
    with pytest.raises(BadInput, match="cannot offer a pull request in acme/other: GitHub finds nothing there"):
        forge(github, repository="acme/other").ready()
    github.archived = True
    with pytest.raises(BadInput, match="acme/shop is archived"):
        forge(github).ready()


@pytest.mark.parametrize("status", [403, 429])
def test_a_limit_says_when_it_goes_on(github: GitHub, offer: PullRequestProposal, status: int) -> None:
    github.faults.append(answering.rate_limited(1800, status, times=1))
    with pytest.raises(LimitReached, match=r"try again at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"):
        forge(github).ready()
    github.faults.append(answering.too_quick(60, status, times=1))
    with pytest.raises(LimitReached, match="try again at") as error:
        forge(github).offer(offer)
    assert error.value.code == 4
    assert len(github.asked) == 2  # nothing is retried


CALLS: dict[str, Callable[[GitHubForge, PullRequestProposal], object]] = {
    "ready": lambda hub, offer: hub.ready(),
    "offered": lambda hub, offer: hub.offered(offer.branch),
    "offer": lambda hub, offer: hub.offer(offer),
}
FAULTS: dict[str, Callable[[], Fault]] = {
    "broken": answering.broken,
    "bad gateway": lambda: answering.broken(502),
    "garbage": answering.garbage,
    "a list": lambda: Fault(200, body=[]),
    "a list of numbers": lambda: Fault(200, body=[1]),
    "a number": lambda: Fault(200, body=7),
    "odd values": lambda: Fault(200, body=[{"number": "x", "head": {"ref": "feat/SHOP-7-points"}, "state": 5}]),
    "nothing": lambda: Fault(200, body=""),
    "elsewhere": lambda: answering.elsewhere("https://example.com/steal"),
    "elsewhere for ever": lambda: answering.elsewhere("https://example.com/steal", 301),
    "elsewhere and again": lambda: answering.elsewhere("https://example.com/steal", 307),
}


@pytest.mark.parametrize(
    ("call", "fault"), [(call, fault) for call in CALLS for fault in FAULTS if (call, fault) != ("offered", "a list")]
)
def test_a_forge_that_answers_nonsense_is_one_sentence(
    github: GitHub, offer: PullRequestProposal, call: str, fault: str
) -> None:
    github.faults.append(FAULTS[fault]())
    with pytest.raises(ForgeFailed) as error:
        CALLS[call](forge(github), offer)
    assert "127.0.0.1" in said(error)
    assert error.value.code == 5
    assert len(github.asked) <= 3
    assert github.pulls == []


def test_a_forge_that_never_answers_or_is_not_there(github: GitHub, offer: PullRequestProposal) -> None:
    github.faults.append(answering.hanging())
    with pytest.raises(ForgeFailed, match=r"cannot reach GitHub at 127\.0\.0\.1"):
        forge(github, timeout_s=1).ready()
    with pytest.raises(ForgeFailed) as error:
        GitHubForge(Service("GitHub", "http://127.0.0.1:9", "GITHUB_TOKEN", TOKEN), "acme/shop").ready()
    assert "cannot reach GitHub at 127.0.0.1:9" in said(error)


def test_a_hiccup_is_tried_again_only_where_nothing_is_changed(github: GitHub, offer: PullRequestProposal) -> None:
    github.faults.append(answering.broken(502, times=1))
    forge(github).ready()
    github.faults.append(answering.broken(502, verb="POST"))
    with pytest.raises(ForgeFailed):
        forge(github).offer(offer)
    assert len(github.asked_for("POST")) == 1


def test_the_token_is_in_no_message_even_if_the_server_repeats_it(github: GitHub) -> None:
    github.faults.append(answering.forbidden(f"{TOKEN} \x1b[31m may not\nsee this"))
    with pytest.raises(BadInput) as error:
        forge(github).ready()
    assert "[token] may not see this" in said(error)
    assert TOKEN not in repr(Service("GitHub", github.url, "GITHUB_TOKEN", TOKEN))


def test_a_repository_with_a_new_name_says_so(github: GitHub) -> None:
    renamed = {**github.api.smallest("full-repository"), "full_name": "acme/market"}
    github.faults.append(Fault(200, body=renamed, times=1))
    with pytest.raises(BadInput, match="acme/shop was renamed to acme/market"):
        forge(github).ready()


ALONE = """
import sys
from trued.errors import BadInput
from trued.integrations.forges.github import GitHubForge
from trued.integrations.trackers.jira import JiraTracker
from trued.integrations.http import Service
from trued.model import Settings, TicketSettings
assert not {"github", "jira", "requests"} & set(sys.modules)
sys.modules["github"] = sys.modules["jira"] = None
settings = Settings(tickets=TicketSettings(url="http://127.0.0.1:9"))
at = Service("x", "http://127.0.0.1:9", "TOKEN", "t")
for call in (GitHubForge(at, "a/b").ready, lambda: JiraTracker(at, settings).issue("SHOP-7")):
    try:
        call()
    except BadInput as error:
        print(error)
"""


def test_libraries_are_loaded_when_they_are_needed_and_named_when_they_are_not_there() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.splitlines(), done.stderr) == (
        [
            "GitHub needs a library that is not installed (pip install 'trued[forge]')",
            "Jira needs a library that is not installed (pip install 'trued[jira]')",
        ],
        "",
    )
