"""Ticket, driven through the engine with scripted agents: each phase has a fresh agent, and none is believed."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.workflows.conftest import Ground, events, example
from trued.engine.approvals import Decision, decide
from trued.engine.engine import Engine
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest
from trued.errors import BadInput
from trued.model import Grade, RunRecord
from trued.wire import Order

TICKET = """---
key: NUM-7
type: bug
---

# Numbers are not doubled

Customers ask for doubled numbers.

## Requirements

- `double(x)` returns twice its argument.

## Acceptance criteria

- Strings are doubled, too.

## Affected areas

- `tiny.py`
"""
BRANCH = "fix/NUM-7-numbers-are-not-doubled"
REQUIRED = {
    "id": "double",
    "text": "double(x) returns twice its argument, strings, too",
    "covers": ["goal"],
    "checks": [{"kind": "examples", "cases": [example("double", 21, 42), example("double", "ab", "abab")]}],
}
HALF, WHOLE = "def double(x):\n    return 2 * int(x)\n", "def double(x):\n    return x + x\n"
ISSUE = {
    "severity": "critical",
    "description": "Strings are not doubled",
    "location": "tiny.py:2",
    "expected": '"abab"',
    "actual": "an error",
    "screenshot": "",
}
WRITTEN = {"title": "fix: numbers double", "body": "Closes #12, @everyone.\n\n- ![x](http://evil/x.png)"}


def implemented(order: Order, code: str = HALF, **more: Any) -> dict[str, Any]:
    (Path(order.folder) / "tiny.py").write_text(code)
    claims = {"success": True, "branch_name": BRANCH, "files_changed": ["tiny.py"], "commit_sha": ""}
    return {**claims, "summary": "numbers are doubled", **more}


def verified(order: Order) -> dict[str, Any]:
    works = "x + x" in (Path(order.folder) / "tiny.py").read_text()
    return {"passed": works, "issues": [] if works else [ISSUE], "summary": "looked at double"}


def fixed(order: Order, code: str = WHOLE, **more: Any) -> dict[str, Any]:
    (Path(order.folder) / "tiny.py").write_text(code)
    return {"success": True, "files_modified": ["tiny.py"], "changes_summary": "strings, too", **more}


Part: TypeAlias = Callable[[Order], dict[str, Any] | Awaitable[dict[str, Any]]]
PARTS: dict[str, Part] = {
    "impl-agent": implemented,
    "verify-agent": verified,
    "fix-agent": fixed,
    "pr-agent": lambda _: WRITTEN,
}


def script(**parts: Part) -> Any:
    every = {**PARTS, **{f"{name}-agent": part for name, part in parts.items()}}
    return lambda order: every[order.role](order)


@pytest.fixture
def desk(ground: Ground) -> Ground:
    """A ticket outside of the repository, and the user's own requirements for it."""
    (ground.folder / "ticket.md").write_text(TICKET)
    ground.require([REQUIRED])
    return ground


async def run(desk: Ground, engine: Engine, **flags: Any) -> RunRecord:
    return await desk.run(engine, str(desk.folder / "ticket.md"), **flags)


def request_of(desk: Ground, record: RunRecord) -> str:
    file = desk.home / "runs" / record.id / "files" / "pull-request.md"
    return file.read_text() if file.exists() else ""


@pytest.mark.spec("TIC-1", "TIC-2", "TIC-3", "TIC-4", "TIC-7", "TIC-8", "TIC-9", "TIC-10", "TIC-11")
async def test_a_ticket_is_implemented_verified_mended_once_and_offered(desk: Ground) -> None:
    engine, runtime = desk.engine(script())
    record = await run(desk, engine, agents={"*": "scripted:inside", "fix-agent": "scripted:other"})
    assert (record.state, record.code, record.grade, record.branch) == ("done", 0, Grade.PROVEN, BRANCH)
    orders = {f"{number} {order.role}": order for number, order in enumerate(runtime.orders, 1)}
    assert list(orders) == ["1 impl-agent", "2 verify-agent", "3 fix-agent", "4 verify-agent", "5 pr-agent"]
    assert len({order.session for order in runtime.orders}) == 5, "every phase is a fresh agent"
    assert len({order.folder for order in runtime.orders}) == 5
    impl, verify, fix, _, pull = runtime.orders
    assert [(one.agent, one.model) for one in (impl, fix)] == [
        ("scripted:inside", "medium"),
        ("scripted:other", "small"),
    ]
    assert all(words in impl.brief for words in (BRANCH, "Customers ask", "`tiny.py`", "Strings are doubled, too."))
    assert all(words in verify.brief for words in ("tiny.py", "Strings are doubled, too.", "there is no preview"))
    assert "Strings are not doubled" in fix.brief
    assert HALF.splitlines()[1].strip() in fix.brief, "the present content of the files"
    assert "Customers ask" not in fix.brief, "issues and files, and nothing else"
    assert "numbers are doubled" in pull.brief
    assert "strings, too" in pull.brief
    rounds = [event.data for event in events(engine, record, "round")]
    assert [one["fate"] for one in rounds] == ["0 fixed, 0 still there, 2 new", "2 fixed, 0 still there, 0 new"]
    assert desk.git("rev-parse", "main") == record.base, "the default branch is never written"
    assert desk.git("log", "--format=%an %s", f"main..{BRANCH}").splitlines() == [
        "fix-agent fix: Numbers are not doubled (NUM-7)",
        "impl-agent fix: Numbers are not doubled (NUM-7)",
    ]
    body = request_of(desk, record)
    assert "# NUM-7: fix: numbers double" in body
    assert all(words in body for words in ("graded **proven**", "| 1 | critical: Strings are not doubled", "2 fixed"))
    assert all(f"| {role}\\-agent | scripted:inside | " in body for role in ("impl", "verify", "pr"))
    assert "| fix\\-agent | scripted:other | 1 | " in body
    assert "Nobody checked these words" in body
    assert not any(words in body for words in ("#12", "@everyone", "](http"))
    assert "the ticket does not say: preview URL" in body


@pytest.mark.spec("TIC-8")
@pytest.mark.slow
async def test_without_success_nothing_is_offered_the_branch_is_kept_and_a_draft_says_so(desk: Ground) -> None:
    tries = iter(("2 * int(x)  # once more", "int(x) * 2"))
    engine, runtime = desk.engine(script(fix=lambda order: fixed(order, f"def double(x):\n    return {next(tries)}\n")))
    record = await run(desk, engine, draft=True)
    assert (record.state, record.code) == ("not proven", 1)
    assert [order.role for order in runtime.orders].count("verify-agent") == 3
    assert [order.role for order in runtime.orders].count("fix-agent") == 2
    assert desk.git("rev-parse", BRANCH) == record.head
    assert "# not proven: NUM-7: fix: numbers double" in request_of(desk, record)
    assert '"draft": true' in request_of(desk, record)


@pytest.mark.spec("TIC-8", "TIC-2")
@pytest.mark.slow
async def test_no_progress_ends_the_rounds_early_and_claims_that_git_refutes_are_gaps(desk: Ground) -> None:
    lying: dict[str, Any] = {"branch_name": "main", "commit_sha": "0" * 40, "files_changed": ["tiny.py", "other.py"]}
    engine, runtime = desk.engine(
        script(impl=lambda order: implemented(order, **lying), fix=lambda order: fixed(order, HALF))
    )
    record = await run(desk, engine)
    assert (record.state, record.code) == ("not proven", 1)
    assert [order.role[:3] for order in runtime.orders] == ["imp", "ver", "fix", "ver"]
    assert len(events(engine, record, "no progress")) == 1
    assert request_of(desk, record) == ""
    refuted = [event.data["what"] for event in events(engine, record, "claim refuted")]
    assert [words.split(",")[0] for words in refuted] == [
        "the implementer names the branch main",
        "the implementer names the commit 0000000000000000000000000000000000000000",
        "named but not changed: other.py",
    ]
    assert "the implementer names the branch main" in runtime.orders[1].brief, "whoever comes next is told"
    handover = (desk.home / "runs" / record.id / "files" / "HANDOVER.md").read_text()
    assert "no progress; the last round had the same gaps as before and changed nothing" in handover


@pytest.mark.spec("TIC-7")
@pytest.mark.slow
async def test_what_a_fix_touches_beyond_the_named_files_is_listed_with_its_reason(desk: Ground) -> None:
    def wide(order: Order) -> dict[str, Any]:
        for name in ("said.py", "unsaid.py"):
            (Path(order.folder) / name).write_text("x = 1\n")
        return fixed(order, beyond=[{"path": "said.py", "why": "it is imported"}])

    engine, _ = desk.engine(script(fix=wide))
    record = await run(desk, engine)
    assert record.state == "done"
    (mended,) = events(engine, record, "mended")
    assert mended.data["beyond"] == [{"path": "said.py", "why": "it is imported"}, {"path": "unsaid.py", "why": ""}]
    body = request_of(desk, record)
    assert "beyond the named files: said\\.py: it is imported" in body
    assert "beyond the named files: unsaid\\.py: no reason was given" in body


@pytest.mark.spec("TIC-4", "TIC-6")
@pytest.mark.slow
async def test_a_verifier_edits_nothing_and_its_pictures_are_claims(desk: Ground) -> None:
    def meddling(order: Order) -> dict[str, Any]:
        folder = Path(order.folder)
        (folder / "tiny.py").write_text("broken")
        (folder / "proof.png").write_bytes(b"\x89PNG\r\n\x1a\n and more")
        (folder / "page.html").write_text("<script>")
        pictures = ["proof.png", "page.html", "../../secret.png", "/etc/passwd", "missing.png"]
        return {"passed": True, "issues": [], "screenshots": pictures, "summary": "looked"}

    engine, _ = desk.engine(script(impl=lambda order: implemented(order, WHOLE), verify=meddling))
    record = await run(desk, engine)
    assert record.state == "done"
    assert desk.file(record, "tiny.py") == WHOLE.strip()
    (claimed,) = events(engine, record, "pictures claimed")
    assert list(claimed.data["pictures"]) == ["proof.png"]
    assert claimed.data["missing"] == ["page.html", "../../secret.png", "/etc/passwd", "missing.png"]
    assert "claims, not evidence" in request_of(desk, record)
    verdict = engine.store.verdict(record.id)
    assert verdict
    assert all("proof.png" not in one.artifacts for one in verdict.evidence)


@pytest.mark.spec("TIC-3", "TIC-9")
@pytest.mark.slow
async def test_a_second_run_goes_on_from_the_first_ones_branch_and_what_holds_needs_no_implementer(
    desk: Ground,
) -> None:
    engine, _ = desk.engine(script(fix=lambda order: fixed(order, HALF)))
    first = await run(desk, engine)
    assert first.state == "not proven"
    engine, runtime = desk.engine(script(impl=lambda order: implemented(order, WHOLE)))
    second = await run(desk, engine)
    assert (second.state, second.branch, second.base) == ("done", BRANCH, first.base)
    assert [order.role for order in runtime.orders] == ["impl-agent", "verify-agent", "pr-agent"]
    assert "a held-out example fails" in runtime.orders[0].brief
    assert first.head in desk.git("rev-list", BRANCH).splitlines()
    engine, runtime = desk.engine(script())
    third = await run(desk, engine)
    assert (third.state, third.head) == ("done", second.head)
    assert [order.role for order in runtime.orders] == ["verify-agent", "pr-agent"]


@pytest.mark.spec("TIC-8", "RUN-8", "DAY-6")
@pytest.mark.slow
async def test_what_only_a_person_can_say_ends_with_3_and_what_they_reject_is_mended_and_offered(desk: Ground) -> None:
    looks = {"id": "looks", "text": "it reads well", "checks": [{"kind": "manual", "steps": ["Read it"]}]}
    desk.require([REQUIRED, looks])
    engine, runtime = desk.engine(script(impl=lambda order: implemented(order, WHOLE)))
    record = await run(desk, engine)
    assert (record.state, record.code) == ("waiting", 3)
    assert [order.role for order in runtime.orders] == ["impl-agent", "verify-agent"], (
        "nobody is paid to describe it yet"
    )
    assert request_of(desk, record) == "", "not offered"
    decide(engine.store, record.id, ["looks"], Decision(who="ann", why="say why it adds", rejected=True))
    engine, runtime = desk.engine(script(fix=lambda order: fixed(order, f"# adds\n{WHOLE}")))
    again = await engine.resume(record.id)
    assert [order.role for order in runtime.orders] == ["fix-agent", "verify-agent"]
    assert "say why it adds" in runtime.orders[0].brief
    assert again.state == "waiting"
    decide(engine.store, record.id, ["looks"], Decision(who="ann", why="it does now"))
    assert engine.store.journal.run(record.id).state == "done"
    landing = await land(engine.store, record.id, LandingRequest(way="pr", who="ann"), engine.person)
    assert landing.landed
    assert "nothing was pushed: no remote is set" in landing.said[-1]
    assert "NUM-7: Numbers are not doubled" in request_of(desk, record)
    assert "attested" in request_of(desk, record)
    remote = desk.folder / "elsewhere.git"
    desk.git("init", "-q", "--bare", str(remote))
    desk.git("remote", "add", "origin", str(remote))
    landing = await land(engine.store, record.id, LandingRequest(way="pr", who="ann"), engine.person)
    assert f"{BRANCH} is pushed to origin; trued opens pull requests on GitHub only" in landing.said[-1]
    assert desk.git("ls-remote", "origin", f"refs/heads/{BRANCH}").startswith(again.head)


@pytest.mark.spec("TIC-3", "USE-7")
async def test_bad_inputs_are_one_sentence_and_change_nothing(desk: Ground) -> None:
    engine, runtime = desk.engine(script())
    desk.git("branch", BRANCH, "main")
    desk.git("commit", "-q", "--allow-empty", "-m", "the user's own")
    before = desk.git("for-each-ref")
    with pytest.raises(BadInput, match=f"the branch {BRANCH} in .* has work that no run of this ticket did"):
        await run(desk, engine)
    desk.git("branch", "-D", BRANCH)
    before = desk.git("for-each-ref")
    for goal, words in (
        ("NUM-8", "the Jira server of NUM-8 is unknown"),
        ("#12", "the repository of #12 is unknown"),
        ("a/b#12", "needs a token|not installed|finds nothing|cannot reach"),
        (str(desk.folder / "none.md"), "there is no file"),
        ("double the numbers", "names no ticket"),
    ):
        with pytest.raises(Exception, match=words) as caught:
            await desk.run(engine, goal, workflow="ticket", forge={"url": "http://127.0.0.1:9"})
        assert "\n" not in str(caught.value)
    assert engine.store.journal.runs() == []
    assert runtime.orders == []
    assert desk.git("for-each-ref") == before
