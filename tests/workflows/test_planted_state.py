"""An agent plants state files where runs look for them: they change neither the base nor the user's words."""

import json
import shutil
import subprocess
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.conftest import built as built_chunk
from tests.workflows.conftest import honest
from tests.workflows.hands import Coders, Hands, feature, required
from trued.engine.inputs import Request
from trued.engine.resume_from_branch import KnownRuns, find_branch_to_continue, find_forgotten_run
from trued.errors import BadInput
from trued.model import Goal
from trued.wire import Order
from trued.workflows.descriptor import BranchState
from trued.workflows.handoff.agent_state import NAME, AgentState, render
from trued.workspace.git.repository import find_branch_start

GOAL = Goal(text="numbers")
STATE = BranchState(NAME, "trued.workflows.handoff.agent_state:parse_agent_state")
SAME = sha256(b"numbers").hexdigest()


class Repository:
    """A repository with hand-made commits of a user, of the engine, and of an agent (committed by the engine)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", "-b", "main")
        self.base = self.commit("user", a="1")

    def git(self, *words: str) -> str:
        quiet = ("-c", "user.name=user", "-c", "user.email=user@example.invalid", "-c", "commit.gpgsign=false")
        ran = subprocess.run(["git", *quiet, *words], cwd=self.folder, check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    def commit(self, author: str, **files: str) -> str:
        for name, text in files.items():
            (self.folder / name).write_text(text)
        committer = "user" if author == "user" else "trued"
        self.git("add", "-A")
        who = (f"user.name={committer}", f"author.name={author}", f"author.email={author}@example.invalid")
        self.git(*(word for one in who for word in ("-c", one)), "commit", "-qm", "work")
        return self.git("rev-parse", "HEAD")

    def on(self, branch: str, start: str = "main") -> None:
        self.git("checkout", "-q", "-B", branch, start)

    def handed(self, run: str, start: str = "main", *, said: str = "") -> list[str]:
        """Make a handoff run's branch: the engine's files, an agent's work, the engine's files again."""
        self.on(f"trued/{run}", start)
        base = self.git("rev-parse", start)
        states = [render(AgentState(run=run, base=said or base, digest=SAME, iteration=turn)) for turn in (0, 1)]
        made = [self.commit("trued", **{NAME: states[0]}), self.commit("coder", **{run: "work"})]
        made.append(self.commit("trued", **{NAME: states[1]}))
        self.git("checkout", "-q", "main")
        return made


@pytest.fixture
def place(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def _base(place: Repository, branch: str = "", base: str = "", known: KnownRuns | None = None) -> str:
    found = find_branch_to_continue(place.folder, STATE, GOAL, branch, known or KnownRuns(), base)
    return found.base if found else ""


# -- liars -------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("LAW-3", "HAND-12")
def test_a_state_file_that_an_agent_wrote_makes_no_branch_one_to_go_on_with(place: Repository) -> None:
    place.on("trued/r-solo")
    first = place.commit("implementer", work="1")
    place.commit("implementer", **{NAME: render(AgentState(run="r-solo", base=first, digest=SAME))})
    place.git("checkout", "-q", "main")
    assert _base(place) == ""
    assert find_forgotten_run(place.folder, "r-solo") is None
    with pytest.raises(BadInput, match="is not a branch of an earlier run"):
        _base(place, "trued/r-solo")


@pytest.mark.spec("LAW-3", "HAND-12")
def test_whatever_the_state_file_says_the_base_is_the_users_commit(place: Repository) -> None:
    made = place.handed("r-first", said="")
    place.on("trued/r-first", "trued/r-first")
    lie = render(AgentState(run="r-first", base=made[-1], digest=SAME))
    place.commit("trued", **{NAME: lie})  # even if the engine were made to commit it
    place.git("checkout", "-q", "main")
    assert _base(place) == _base(place, "trued/r-first") == place.base


@pytest.mark.spec("LAW-3", "HAND-12")
@pytest.mark.parametrize("ref", ["refs/heads/look", "refs/remotes/origin/look"])
def test_a_branch_of_the_users_in_the_middle_of_a_run_is_asked_about(place: Repository, ref: str) -> None:
    """A person gave a commit of the run a branch or tag of their own: that does not make it the base."""
    made = place.handed("r-first")
    place.git("update-ref", ref, made[1])
    with pytest.raises(BadInput, match=r"cannot tell which of your commits trued/r-first started from.*--base"):
        _base(place)
    assert _base(place, "trued/r-first", base="main") == place.base


@pytest.mark.parametrize("ref", ["refs/heads/trued/other", "refs/remotes/origin/trued/r-first", "refs/tags/seen"])
def test_branches_of_runs_and_tags_are_nobodys_word_on_a_base(place: Repository, ref: str) -> None:
    made = place.handed("r-first")
    place.git("update-ref", ref, made[1])
    assert _base(place, "trued/r-first") == place.base


def test_a_head_that_is_detached_on_a_runs_commit_is_asked_about(place: Repository) -> None:
    made = place.handed("r-first")
    place.git("checkout", "-q", "--detach", made[1])
    with pytest.raises(BadInput, match="was itself made by a run"):
        _base(place)


@pytest.mark.slow
@pytest.mark.spec("HAND-12")
async def test_an_agent_of_another_workflow_plants_a_state_and_the_next_run_begins_at_the_users_commit(
    tmp_path: Path, stack: ExitStack
) -> None:
    """The agent of chunk 1B plants a state with the commit of 1A as base: a handoff would then begin from agents'
    work."""
    ground = Hands(tmp_path, stack, [feature("double")])
    text = (ground.folder / "features.json").read_text()
    planted: list[str] = []

    def plants(order: Order) -> dict[str, Any]:
        folder = Path(order.folder)
        if order.role == "purple-team-a" and "1B" in order.key:
            head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
            planted.append(head.stdout.strip())
            state = AgentState(run="r-x", base=planted[-1], digest=sha256(text.encode()).hexdigest())
            (folder / NAME).write_text(render(state))
        return built_chunk(order) if order.role == "purple-team-a" else honest(order)

    engine, _ = ground.engine(plants)
    before = await ground.run(engine, required=False, without_cases=True, accept="tested")
    assert planted
    assert planted[0] != before.base
    assert ground.file(before, NAME)
    shutil.rmtree(ground.home)
    record = await ground.handed(ground.played(Coders()))
    assert record.base == ground.git("rev-parse", "main") == before.base
    assert record.branch != before.branch


@pytest.mark.slow
@pytest.mark.spec("HAND-12", "LAW-12")
async def test_the_users_own_list_is_read_as_the_user_wrote_it_whatever_the_branch_makes_of_it(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [])
    ground.write("feature_list.json", json.dumps([feature("double"), feature("triple")]))
    ground.write("spec.md", "double(x) returns twice its argument, triple(x) three times\n")
    ground.commit()
    ground.require(required(["double", "triple"]))
    before = await ground.handed(ground.played(_examined()), "spec.md", plan_only=True)
    shutil.rmtree(ground.home)
    ground.git("checkout", "-q", before.branch)
    ground.write("feature_list.json", json.dumps([feature("double", passes=True)]))  # one feature less to build
    ground.commit()
    ground.git("checkout", "-q", "main")
    record = await ground.handed(ground.played(_examined()), "spec.md", plan_only=True)
    assert (record.branch, record.base) == (before.branch, before.base)
    assert [one.id for one in ground.features(record.branch).features] == ["double", "triple"]
    assert ground.passing(record.branch) == []


def _examined() -> Coders:
    coders = Coders()
    coders.roles = {"examiner": lambda _: {"cases": []}}
    return coders


# -- honest twins ------------------------------------------------------------------------------------------------------


def test_a_run_is_gone_on_with_from_where_the_users_branch_stood(place: Repository) -> None:
    place.git("branch", "old", place.base)
    later = place.commit("user", b="2")
    place.handed("r-first")
    place.commit("user", c="3")  # main has moved since
    assert _base(place) == later


def test_what_was_merged_into_the_runs_branch_since_is_below_the_work(place: Repository) -> None:
    place.handed("r-first")
    newer = place.commit("user", b="2")
    place.on("trued/r-first", "trued/r-first")
    place.git("merge", "-q", "--no-edit", "main")
    place.git("checkout", "-q", "main")
    assert _base(place) == newer


def test_two_lines_of_the_users_in_one_branch_are_asked_about(place: Repository) -> None:
    place.on("side")
    place.commit("user", b="2")
    place.git("checkout", "-q", "main")
    place.commit("user", c="3")
    place.handed("r-first")
    place.on("trued/r-first", "trued/r-first")
    place.git("merge", "-q", "--no-edit", "side")
    place.git("checkout", "-q", "main")
    with pytest.raises(BadInput, match="2 of your commits, and none is an ancestor of another"):
        _base(place)
    assert _base(place, "trued/r-first", base="main") == place.git("rev-parse", "main")


def test_a_landed_run_is_no_reason_to_go_on_and_is_named_in_vain(place: Repository) -> None:
    place.handed("r-first")
    place.git("merge", "-q", "--ff-only", "trued/r-first")
    assert _base(place) == ""
    with pytest.raises(BadInput, match="all of its commits are already on a branch of yours"):
        _base(place, "trued/r-first")


def test_what_the_journal_recorded_is_the_base(place: Repository) -> None:
    """A run that the journal knows continues from its recorded base, whatever branches there are now."""
    made = place.handed("r-first")
    place.git("branch", "look", made[1])
    assert _base(place, known=KnownRuns(bases={"trued/r-first": place.base})) == place.base
    with pytest.raises(BadInput, match="does not contain 111111111111, from which its run began"):
        _base(place, known=KnownRuns(bases={"trued/r-first": "1" * 40}))


def test_a_run_that_began_with_nothing_begins_with_nothing_again(tmp_path: Path) -> None:
    place = Repository.__new__(Repository)
    place.folder = tmp_path
    place.git("init", "-q", "-b", "main")
    tree = place.git("hash-object", "-t", "tree", "-w", "/dev/null")
    root = place.git("commit-tree", tree, "-m", "nothing yet")
    place.git("update-ref", "refs/heads/trued/r-first", root)
    place.git("symbolic-ref", "HEAD", "refs/heads/trued/r-first")
    tip = place.commit("trued", **{NAME: render(AgentState(run="r-first", digest=SAME))})
    place.git("symbolic-ref", "HEAD", "refs/heads/main")
    assert find_branch_start(tmp_path, tip).base == root


def test_a_base_that_the_user_names_lies_below_the_branch(place: Repository) -> None:
    made = place.handed("r-first")
    apart = place.commit("user", b="2")
    for name in (apart, made[-1], "nowhere", "--all"):
        with pytest.raises(BadInput, match="is not an ancestor of"):
            _base(place, "trued/r-first", base=name)
    for branch in ("", "HEAD"):
        with pytest.raises(BadInput, match="name it: --from BRANCH"):
            _base(place, branch, base="main")


async def test_a_workflow_that_goes_on_from_no_branch_takes_no_base(tmp_path: Path, stack: ExitStack) -> None:
    ground = Hands(tmp_path, stack, [feature("double")])
    engine, _ = ground.engine()
    with pytest.raises(BadInput, match="solo cannot continue from a branch"):
        await engine.start(
            Request(
                goal="numbers",
                repository=ground.repository,
                workflow="solo",
                flags={"agents": {"*": "scripted:inside"}},
                base="main",
            )
        )
