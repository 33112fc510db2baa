"""From an issue on a forge to one pull request there, whatever happens in between. The forge checks every request."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.forges.answering import broken, rate_limited
from tests.integrations.forges.servers import READ_ONLY, TOKEN, GitHub, github_server
from tests.workflows.conftest import Ground, events
from tests.workflows.ticket.test_ticket import REQUIRED, WHOLE, implemented, script
from trued.engine.engine import Engine
from trued.engine.run_store import EventListener
from trued.errors import BadInput, LimitReached
from trued.model import Event, RunRecord
from trued.wire import Order

BODY = """Customers ask for doubled numbers.

## Acceptance criteria

- `double(x)` returns twice its argument, strings, too.
"""
BRANCH = "fix/12-numbers-are-not-doubled"


class Killed(BaseException):
    """The engine is killed, as if by kill -9."""


@pytest.fixture
def github(ground: Ground) -> Iterator[GitHub]:
    """A fake GitHub with an issue, and its bare repository as the remote `origin`."""
    bare = ground.folder / "shop.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True, timeout=60)
    ground.git("remote", "add", "origin", str(bare))
    ground.git("push", "-q", "origin", "main")
    ground.require([REQUIRED])
    with github_server(bare) as server:
        server.issue(12, "Numbers are not doubled", BODY, labels=["bug"])
        yield server


def engine_of(ground: Ground, token: str = TOKEN, *, listen: EventListener | None = None) -> Engine:
    engine, _ = ground.engine(script(impl=lambda order: implemented(order, WHOLE, branch_name=BRANCH)))
    engine.store.environ = {**engine.store.environ, **({"GITHUB_TOKEN": token} if token else {})}
    engine.store.listen = listen
    return engine


async def run(ground: Ground, github: GitHub, engine: Engine, goal: str = "#12") -> RunRecord:
    settings = {"kind": "github", "repository": "acme/shop", "url": github.url}
    return await ground.run(engine, goal, forge=settings)


@pytest.mark.spec("TIC-1", "TIC-3", "TIC-9")
@pytest.mark.slow
async def test_an_issue_becomes_one_pull_request_and_a_merged_one_is_not_touched(
    ground: Ground, github: GitHub
) -> None:
    engine = engine_of(ground)
    record = await run(ground, github, engine)
    assert (record.state, record.branch) == ("done", BRANCH)
    (pull,) = github.pulls
    assert (pull.branch, pull.onto, pull.draft) == (BRANCH, "main", False)
    assert ground.git("ls-remote", "origin", f"refs/heads/{BRANCH}").split()[0] == record.head
    assert all(words in pull.body for words in ("graded **proven**", "impl\\-agent", "| 1 | nothing |", "/issues/12>"))
    assert ground.git("ls-remote", "origin", "refs/heads/main").split()[0] == record.base
    github.close(pull.number, merged=True)
    told = pull.body
    second = await run(ground, github, engine)
    assert (second.state, second.branch) == ("done", f"{BRANCH}-2")
    assert [one.branch for one in github.pulls] == [BRANCH, f"{BRANCH}-2"]
    assert (pull.state, pull.body) == ("closed", told)


@pytest.mark.spec("TIC-9", "RUN-2", "RUN-7")
@pytest.mark.slow
async def test_whatever_breaks_between_push_and_record_there_is_one_pull_request(
    ground: Ground, github: GitHub
) -> None:
    github.faults.append(broken(502, verb="POST", path="/repos/acme/shop/pulls", times=1))
    engine = engine_of(ground)
    record = await run(ground, github, engine)
    assert (record.state, record.code) == ("failed", 5)
    assert "the work is not offered yet" in record.why
    assert ground.git("ls-remote", "origin", BRANCH).split()[0] == record.head, "it was pushed already"
    github.faults.append(rate_limited(times=1, path="/repos/acme/shop"))
    limited = await engine_of(ground).resume(record.id)
    assert (limited.state, limited.code) == ("limited", 4)

    def dies(_: RunRecord, event: Event) -> None:
        if event.kind == "offered":
            raise Killed

    with pytest.raises(Killed):
        await engine_of(ground, listen=dies).resume(record.id)
    assert len(github.pulls) == 1
    engine = engine_of(ground)
    done = await engine.resume(record.id)
    assert (done.state, done.head) == ("done", record.head)
    assert len(github.pulls) == 1
    assert len(events(engine, done, "answered")) == 3, "nobody was asked again"


@pytest.mark.spec("TIC-9")
@pytest.mark.slow
async def test_a_second_run_brings_the_open_pull_request_up_to_date(ground: Ground, github: GitHub) -> None:
    first = await run(ground, github, engine_of(ground))
    told = github.pulls[0].body
    second = await run(ground, github, engine_of(ground))
    assert (second.state, second.branch, second.head) == ("done", first.branch, first.head)
    (pull,) = github.pulls
    assert pull.body != told
    assert second.id in pull.body


@pytest.mark.spec("USE-6", "TIC-9")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "is_asked"),
    [(".github/workflows/ci.yml", True), ("checks/pre-commit", True), ("notes/pre-commit", False)],
)
async def test_what_would_run_by_itself_is_not_pushed_without_a_person(
    ground: Ground, github: GitHub, path: str, is_asked: bool
) -> None:
    """CI runs the first file, and the user's own git the second one. Nobody runs the third."""
    ground.git("config", "core.hooksPath", "checks")

    def sly(order: Order) -> dict[str, Any]:
        file = Path(order.folder) / path
        file.parent.mkdir(parents=True)
        file.write_text("on: push\n")
        return implemented(order, WHOLE, branch_name=BRANCH)

    engine, _ = ground.engine(script(impl=sly))
    engine.store.environ = {**engine.store.environ, "GITHUB_TOKEN": TOKEN}
    record = await run(ground, github, engine)
    assert record.state == "done"
    assert len(github.pulls) == (0 if is_asked else 1)
    assert (ground.git("ls-remote", "origin", BRANCH) == "") == is_asked
    told = [one.data["files"] for one in events(engine, record, "not offered")]
    assert told == ([[path]] if is_asked else [])


@pytest.mark.spec("TIC-1", "TIC-3", "USE-7")
async def test_what_a_forge_refuses_is_one_sentence_and_nothing_has_begun(ground: Ground, github: GitHub) -> None:
    before = ground.git("for-each-ref", "refs/heads")
    for token, goal, words in (
        ("", "#12", "GitHub needs a token"),
        (READ_ONLY, "#12", "may not push to acme/shop"),
        ("wrong", "#12", "does not accept the token"),
        (TOKEN, "#13", "GitHub finds nothing there"),
    ):
        with pytest.raises(BadInput, match=words) as caught:
            await run(ground, github, engine_of(ground, token), goal)
        assert "\n" not in str(caught.value)
    github.faults.append(rate_limited(times=1))
    engine = engine_of(ground)
    with pytest.raises(LimitReached, match="has reached its rate limit: try again at"):
        await run(ground, github, engine)
    ground.git("push", "-q", "origin", f"HEAD:refs/heads/{BRANCH}")
    with pytest.raises(BadInput, match=f"the branch {BRANCH} at origin has work that no run of this ticket did"):
        await run(ground, github, engine)
    assert engine.store.journal.runs() == []
    assert ground.git("for-each-ref", "refs/heads") == before
    assert github.pulls == []
