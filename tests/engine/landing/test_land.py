"""Landing: only proven work is merged, and the user's repository changes completely or not at all."""

import asyncio
import os
import shutil
import signal
import sys

import pytest

from tests.engine.landing.landable import MANUAL, Landable
from tests.engine.two_commits import DOUBLE, ONE
from tests.workflows.conftest import Ground, ground, saying
from trued.engine.approvals import Decision, decide
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest, contract_and_verdict, finished_landings
from trued.engine.receipts import ReceiptRequest, check_receipt, write_landing_receipt
from trued.engine.sensitive_files import sensitivity_of
from trued.errors import BadInput
from trued.model import Grade
from trued.proof.verdict.reasons import ALREADY_SATISFIED

__all__ = ["ground"]

CLASHING = "import tiny\n\n\ndef test_nothing_is_called_double():\n    assert not hasattr(tiny, 'double')\n"


# -- the run's own commit ----------------------------------------------------------------------------------------------


@pytest.mark.spec("USE-11", "LAW-9")
async def test_the_proven_commit_itself_lands_where_the_branch_has_not_moved_and_its_working_tree_comes_along(
    place: Landable,
) -> None:
    (place.repository / "scratch.txt").write_text("the user's own\n")
    record = await place.run()
    landing = await place.land(record)
    assert (landing.landed, landing.code, landing.how, landing.onto) == (True, 0, "fast-forward", "main")
    assert landing.commit == place.git("rev-parse", "main") == record.head
    assert (place.repository / "tiny.py").read_text() == DOUBLE
    assert place.git("status", "--short") == "?? scratch.txt"
    assert "trued land" in place.git("reflog", "-1", "main")
    (event,) = [one for one in place.engine().store.journal.events(record.id) if one.kind == "landed"]
    assert event.data == {
        "onto": "main",
        "commit": record.head,
        "before": place.base,
        "how": "fast-forward",
        "who": "ann",
    }


@pytest.mark.spec("USE-11")
async def test_a_second_land_says_that_it_is_there_already_and_changes_nothing(place: Landable) -> None:
    record = await place.run()
    await place.land(record)
    before = place.state()
    again = await place.land(record)
    assert again.landed
    assert "already" in again.said[0]
    place.committed({"more.py": "X = 1\n"})
    assert (await place.land(record)).commit == record.head
    assert place.git("rev-parse", "main~1") == before["refs"].split()[0] == record.head
    assert len([one for one in place.engine().store.journal.events(record.id) if one.kind == "landed"]) == 1


@pytest.mark.spec("USE-11")
@pytest.mark.parametrize(("state", "word"), [("not proven", "ledger"), ("waiting", "resume"), ("running", "resume")])
async def test_a_run_that_is_not_proven_does_not_land_and_the_command_that_helps_is_named(
    place: Landable, state: str, word: str
) -> None:
    record = await place.run(state=state, grade=Grade.UNPROVEN)
    before = place.state()
    landing = await place.land(record)
    assert (landing.landed, landing.code != 0) == (False, True)
    assert word in landing.then
    assert place.state() == before


@pytest.mark.spec("USE-11", "LAW-9")
async def test_only_the_commit_that_was_proven_lands_whoever_moved_the_runs_branch(place: Landable) -> None:
    record = await place.run()
    place.git("branch", "-f", record.branch, place.base)
    before = place.state()
    with pytest.raises(BadInput, match=f"{record.branch} was moved"):
        await place.land(record)
    assert place.state() == before
    place.git("branch", "-D", record.branch)
    assert (await place.land(record)).commit == record.head == place.git("rev-parse", "main")


@pytest.mark.spec("USE-11")
async def test_a_lowered_bar_is_said_again(place: Landable) -> None:
    record = await place.run(grade=Grade.TESTED, accept="tested")
    assert "bar was lowered" in (await place.land(record)).said[0]


# -- the branch --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("USE-11", "USE-7")
async def test_without_a_branch_at_the_beginning_one_has_to_be_named_and_has_to_exist(place: Landable) -> None:
    place.git("checkout", "-q", "--detach")
    record = await place.run()
    with pytest.raises(BadInput, match="--onto BRANCH"):
        await place.land(record)
    with pytest.raises(BadInput, match=r"no branch 'nowhere'.*main"):
        await place.land(record, onto="nowhere")
    with pytest.raises(BadInput, match="own branch"):
        await place.land(record, onto=record.branch)
    assert (await place.land(record, onto="main")).landed
    assert place.git("rev-parse", "main") == record.head
    assert (place.repository / "tiny.py").read_text() == ONE  # main is not checked out


@pytest.mark.spec("USE-11", "RUN-4")
async def test_uncommitted_work_on_the_branch_is_named_and_nothing_is_changed(place: Landable) -> None:
    record = await place.run()
    (place.repository / "notes.md").write_text("half a thought\n")
    before = place.state()
    with pytest.raises(BadInput, match=r"not committed: .*notes\.md"):
        await place.land(record)
    assert place.state() == before


@pytest.mark.spec("USE-11", "RUN-4")
@pytest.mark.parametrize("ignored", [False, True])
async def test_a_file_of_the_users_in_the_way_is_never_overwritten(place: Landable, ignored: bool) -> None:
    record = await place.run({"tiny.py": DOUBLE, "local/settings.py": "theirs = 1\n"})
    (place.repository / "local").mkdir()
    (place.repository / "local" / "settings.py").write_text("mine = 1\n")
    if ignored:
        (place.repository / ".git" / "info" / "exclude").write_text("local/\n")
    before = place.state()
    with pytest.raises(BadInput, match=r"would overwrite uncommitted files in .*: local/settings\.py"):
        await place.land(record)
    assert place.state() == before


@pytest.mark.spec("USE-11", "RUN-4")
async def test_a_branch_that_is_checked_out_in_another_working_tree_is_brought_along_there(place: Landable) -> None:
    place.git("checkout", "-q", "-b", "elsewhere")
    other = place.folder / "another tree"
    place.git("worktree", "add", "-q", str(other), "main")
    record = await place.run()
    (other / "notes.md").write_text("half a thought\n")
    with pytest.raises(BadInput, match="another tree"):
        await place.land(record, onto="main")
    place.git("checkout", "-q", "notes.md", at=other)
    assert (await place.land(record, onto="main")).landed
    assert (other / "tiny.py").read_text() == DOUBLE
    assert place.git("status", "--short", at=other) == ""
    assert (place.repository / "tiny.py").read_text() == ONE
    assert place.git("rev-parse", "elsewhere") == place.base


@pytest.mark.spec("USE-11")
async def test_no_hook_is_run_and_a_locked_branch_is_one_sentence(place: Landable) -> None:
    record = await place.run()
    hooks = place.repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-merge", "post-checkout", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {place.folder}/ran\n")
        (hooks / name).chmod(0o755)
    lock = place.repository / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    before = place.state()
    with pytest.raises(BadInput, match="locked"):
        await place.land(record)
    assert place.state() == before
    lock.unlink()
    assert (await place.land(record)).landed
    assert not (place.folder / "ran").exists()


# -- a branch that moved -----------------------------------------------------------------------------------------------


@pytest.mark.spec("USE-11", "LAW-9")
async def test_where_the_branch_moved_the_work_is_rebased_proven_again_and_has_its_own_verdict(place: Landable) -> None:
    record = await place.run()
    tip = place.committed({"other.py": "X = 1\n"})
    landing = await place.land(record)
    assert (landing.landed, landing.how, landing.before) == (True, "rebase", tip)
    assert place.git("rev-parse", "main~1") == tip
    assert landing.commit == place.git("rev-parse", "main") != record.head
    assert place.git("log", "-1", "--format=%an %s", "main") == "a@b work"
    engine = place.engine()
    (one,) = finished_landings(engine.store, record.id)
    found = contract_and_verdict(engine.store, record.id, one)
    assert found
    contract, verdict = found
    assert (contract.base, verdict.commit, verdict.grade) == (tip, landing.commit, Grade.PROVEN)
    assert {fact.commit for fact in contract.base_facts} == {tip}  # the checks ran on the new base
    assert engine.store.journal.run(record.id).head == record.head
    assert (await place.land(record)).commit == landing.commit
    receipt = place.folder / "landed.json"
    await write_landing_receipt(engine.store, record.id, ReceiptRequest(receipt=receipt))
    checked = await check_receipt(receipt, home=place.home, tell=lambda event: None)
    assert checked.statement
    assert (checked.code, checked.statement.commit) == (0, landing.commit)


@pytest.mark.spec("USE-11")
async def test_conflicts_are_named_by_file_and_nothing_is_changed(place: Landable) -> None:
    record = await place.run()
    place.committed({"tiny.py": "def one():\n    return 'one'\n\n\ndef double(x):\n    return None\n"})
    before = place.state()
    landing = await place.land(record)
    assert (landing.landed, landing.code, landing.conflicts) == (False, 1, ("tiny.py",))
    assert (await place.land(record, way="merge")).conflicts == ("tiny.py",)
    assert (await place.land(record, way="ff")).code == 1
    assert place.state() == before


@pytest.mark.spec("USE-11", "LAW-9")
@pytest.mark.slow
@pytest.mark.parametrize("way", ["", "merge"])
async def test_work_that_breaks_what_others_did_meanwhile_does_not_land(place: Landable, way: str) -> None:
    record = await place.run()
    place.committed({"tests/test_others.py": CLASHING})
    before = place.state()
    landing = await place.land(record, way=way)
    assert (landing.landed, landing.code) == (False, 1)
    assert landing.verdict
    assert landing.verdict.grade is Grade.REFUTED
    assert "existing tests passed on the base and fail now" in landing.why
    assert place.state() == before
    steps = len(place.engine().store.journal.steps(record.id))
    again = await place.land(record, way=way)  # the recorded verdict is used again
    assert (again.code, len(place.engine().store.journal.steps(record.id))) == (1, steps)


@pytest.mark.spec("USE-11", "LAW-9")
@pytest.mark.slow
async def test_a_requirement_that_others_have_met_meanwhile_counts_as_held_if_the_cases_are_the_users(
    place: Landable,
) -> None:
    record = await place.run({"twice.py": DOUBLE})
    place.committed({"tiny.py": DOUBLE})
    landing = await place.land(record)
    assert landing.landed
    assert landing.verdict
    assert landing.verdict.requirements[0].why[0].startswith(ALREADY_SATISFIED)


@pytest.mark.spec("USE-11", "LAW-9")
@pytest.mark.slow
async def test_a_merge_is_a_commit_of_the_users_own_and_is_proven_as_such(place: Landable) -> None:
    place.git("config", "user.name", "Ada")
    place.git("config", "user.email", "ada@example.invalid")
    record = await place.run()
    landing = await place.land(record, way="merge")
    assert (landing.landed, landing.how) == (True, "merge")
    assert (
        place.git("log", "-1", "--format=%an %ae %P", "main") == f"Ada ada@example.invalid {place.base} {record.head}"
    )
    assert landing.verdict
    assert landing.verdict.commit == landing.commit


@pytest.mark.spec("USE-11", "PUR-5")
@pytest.mark.slow
async def test_a_whole_run_lands_on_a_branch_that_moved_while_it_worked(ground: Ground) -> None:
    engine, runtime = ground.engine()
    record = await ground.run(engine)
    asked = len(runtime.orders)
    ground.write("other.py", "X = 1\n")
    ground.commit()
    landing = await land(engine.store, record.id, LandingRequest(who="ann"), engine.person)
    assert (landing.landed, landing.how, len(runtime.orders)) == (True, "rebase", asked)
    assert landing.verdict
    assert landing.verdict.grade is Grade.PROVEN
    assert "triple" in ground.git("show", "main:tiny.py")
    assert ground.git("log", "-1", "--format=%an", "main~1") == "purple-team-a"
    assert engine.store.journal.run(record.id).state == "done"
    merged = await land(engine.store, record.id, LandingRequest(who="ann", onto="main", way="merge"), engine.person)
    assert merged.commit == landing.commit  # it has landed already, so the way does not matter


# -- people ------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("USE-11", "LAW-9", "RUN-8")
async def test_what_was_accepted_by_hand_for_one_commit_is_said_again_for_the_rebased_one(place: Landable) -> None:
    record = await place.run(requirements=MANUAL, grade=Grade.UNPROVEN, state="waiting")
    engine = place.engine()
    assert decide(engine.store, record.id, ["looks"], Decision(who="ann", why="I looked")).state == "done"
    place.committed({"other.py": "X = 1\n"})
    before = place.state()
    landing = await place.land(record)
    assert (landing.landed, landing.code) == (False, 3)
    assert "--carry" in landing.then
    assert (await place.land(record, person=saying(("no", "")))).code == 3
    assert place.state() == before
    assert (await place.land(record, person=saying(("yes", "")))).landed
    (told,) = [one for one in place.engine().store.journal.events(record.id) if one.kind == "carried"]
    assert told.data == {"requirements": ["looks"], "who": "ann"}


@pytest.mark.slow
@pytest.mark.spec("USE-11", "DAY-12")
async def test_a_landing_does_not_say_that_nobody_has_approved_what_somebody_has(place: Landable) -> None:
    record = await place.run(examiner="claude", grade=Grade.EXAMINED, state="waiting")
    store = place.engine().store
    assert decide(store, record.id, [None], Decision(who="ann", why="I read them")).state == "done"
    place.committed({"other.py": "X = 1\n"})
    landing = await place.land(record)
    assert landing.verdict
    assert (landing.landed, landing.verdict.grade) == (True, Grade.PROVEN)
    (judged,) = [one.data for one in store.journal.events(record.id) if one.kind == "judged"]
    assert (judged["grade"], judged["why"]) == ("examined", ["2 held-out cases: failed before, pass now"])


@pytest.mark.spec("USE-11", "USE-6")
async def test_changes_of_what_asks_for_trust_are_asked_about_first_and_agreed_to_by_their_digest(
    place: Landable,
) -> None:
    files: dict[str, str | None] = {"tiny.py": DOUBLE, "trued.toml": "rounds = 1\n", ".claude/settings.json": "{}"}
    record = await place.run(files)
    before = place.state()
    landing = await place.land(record)
    assert (landing.landed, landing.code) == (False, 3)
    assert set(landing.asks) == {"trued.toml", ".claude/settings.json"}
    assert landing.digest[:12] in landing.then
    assert (await place.land(record, agree="0" * 12)).code == 3
    assert (await place.land(record, agree=landing.digest[:4])).code == 3
    assert (await place.land(record, person=saying(("no", "")))).code == 1
    assert place.state() == before
    assert (await place.land(record, agree=landing.digest[:12])).landed
    assert [one.data["who"] for one in place.engine().store.journal.events(record.id) if one.kind == "agreed"] == [
        "ann"
    ]


@pytest.mark.spec("USE-6")
@pytest.mark.parametrize(
    ("path", "asks"),
    [
        ("trued.toml", True),
        (".trued/roles/coder.md", True),
        (".trued/team/backlog.md", False),  # a team's own view files
        (".trued/team/CLAUDE.md", True),
        (".trued/team", True),  # a link in the place of the folder
        (".claude", True),  # a link in the place of the folder
        (".CLAUDE/settings.json", True),
        (".github/workflows/ci.yml", True),
        ("docs/AGENTS.md", True),
        ("deploy/.env", True),
        (".env.production", True),
        ("src/settings.py", False),
        ("docs/agents.txt", False),
        ("environment.py", False),
    ],
)
def test_what_asks_for_trust_is_known_by_its_path(path: str, asks: bool) -> None:
    assert bool(sensitivity_of(path)) is asks


@pytest.mark.spec("USE-11", "USE-6")
async def test_a_manifest_asks_for_trust_only_where_our_own_table_changes(place: Landable) -> None:
    place.committed({"pyproject.toml": "[project]\nname = 'tiny'\n[tool.trued]\nrounds = 2\n"})
    record = await place.run({"pyproject.toml": "[project]\nname = 'tiny'\n[tool.trued]\nrounds = 9\n"}, trust=True)
    assert list((await place.land(record)).asks) == ["pyproject.toml [tool.trued]"]
    same = await place.run({"pyproject.toml": "[project]\nname = 'small'\n[tool.trued]\nrounds = 2\n"}, trust=True)
    assert (await place.land(same)).landed


@pytest.mark.spec("USE-11")
@pytest.mark.slow
async def test_files_come_with_the_line_ends_of_the_users_git_and_the_tree_is_clean(place: Landable) -> None:
    place.git("config", "core.autocrlf", "true")
    record = await place.run()
    assert (await place.land(record)).landed
    assert (place.repository / "tiny.py").read_bytes() == DOUBLE.replace("\n", "\r\n").encode()
    assert place.git("status", "--short") == ""


@pytest.mark.spec("USE-11", "USE-7")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["main^", "main@{0}", "refs/heads/main", "--all", "a b", "ma\x1bin"])
async def test_a_name_that_is_no_branch_is_refused_in_one_sentence(place: Landable, name: str) -> None:
    record = await place.run()
    before = place.state()
    with pytest.raises(BadInput, match="there is no branch"):
        await place.land(record, onto=name)
    assert place.state() == before


# -- kill -9 -----------------------------------------------------------------------------------------------------------

DYING = """#!/bin/sh
case "$*" in
*{words}*) {deed} ;;
esac
exec {git} "$@"
"""
KILLS = {
    "before the files": ("*update-ref*--stdin", "kill -9 $PPID"),
    "before the branch": ("read-tree*-m", '{git} "$@"; kill -9 $PPID; exit'),
    "after the branch": ("update-ref*--stdin", '{git} "$@"; kill -9 $PPID; exit'),
}


@pytest.mark.spec("USE-11", "RUN-2")
@pytest.mark.parametrize(
    "at", [pytest.param(at, marks=() if at == "before the branch" else pytest.mark.slow) for at in KILLS]
)
async def test_killed_between_proof_and_branch_the_same_command_ends_the_same(place: Landable, at: str) -> None:
    record = await place.run(requirements=MANUAL, grade=Grade.UNPROVEN, state="waiting")
    decide(place.engine().store, record.id, ["looks"], Decision(who="ann", why="I looked"))
    tip = place.committed({"other.py": "X = 1\n"})
    git, (words, deed) = shutil.which("git"), KILLS[at]
    wrapper = place.folder / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(DYING.format(words=words, deed=deed.format(git=git), git=git))
    wrapper.chmod(0o755)
    variables = {"PATH": f"{wrapper.parent}:{os.environ['PATH']}", "HOME": str(place.folder)}
    command = [sys.executable, "-m", "trued", "land", record.id, "--carry"]
    done = await asyncio.create_subprocess_exec(*command, env={**variables, "TRUED_HOME": str(place.home)})
    assert await done.wait() == -signal.SIGKILL
    moved = place.git("rev-parse", "main") != tip
    assert moved == (at == "after the branch")
    landing = await place.land(record, carry=True)
    assert landing.landed
    assert landing.commit == place.git("rev-parse", "main")
    assert place.git("rev-parse", "main~1") == tip
    assert place.git("status", "--short") == ""
    assert (place.repository / "tiny.py").read_text() == DOUBLE
    assert len([one for one in place.engine().store.journal.events(record.id) if one.kind == "landed"]) == 1
