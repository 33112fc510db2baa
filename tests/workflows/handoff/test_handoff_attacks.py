"""Attacks on a handoff, and accidents: each of them went wrong once, or might."""

import json
import subprocess
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path

import pytest

from tests.workflows.conftest import events, saying
from tests.workflows.hands import Coders, Hands, feature, shown_by_tests
from trued.engine.approvals import Decision, decide
from trued.engine.resume_from_branch import KnownRuns, find_branch_to_continue, find_forgotten_run
from trued.errors import BadInput
from trued.model import Goal
from trued.workflows.descriptor import BranchState
from trued.workflows.handoff.agent_state import NAME, AgentState, render

STATE = BranchState(NAME, "trued.workflows.handoff.agent_state:parse_agent_state")


class Repository:
    """A repository with hand-made commits of a user and of the engine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", "-b", "main")
        self.base = self.commit("user", **{"a.txt": "1"})

    def git(self, *words: str, who: str = "user") -> str:
        config = ("-c", f"user.name={who}", "-c", "user.email=x@example.invalid", "-c", "commit.gpgsign=false")
        ran = subprocess.run(["git", *config, *words], cwd=self.folder, check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    def commit(self, who: str, **files: str) -> str:
        for name, text in files.items():
            (self.folder / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "work", who=who)
        return self.git("rev-parse", "HEAD")

    def left(self, run: str, base: str, words: str = "") -> None:
        """Make the branch of a run, with its first commit and a later one."""
        self.git("checkout", "-q", "-b", f"trued/{run}", base)
        digest = sha256(words.encode()).hexdigest() if words else ""
        for turn in (0, 1):
            state = AgentState(run=run, base=base, iteration=turn, digest=digest)
            self.commit("trued", **{NAME: render(state), run: f"{turn}"})
        self.git("checkout", "-q", "main")


@pytest.mark.spec("HAND-12")
def test_a_run_upon_a_landed_one_goes_on_from_where_it_began_itself(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.left("r-first", repository.base)
    repository.git("merge", "-q", "--ff-only", "trued/r-first")
    landed = repository.git("rev-parse", "main")
    repository.left("r-second", landed)
    goal = Goal(text="numbers")
    named = {"r-first": repository.base, "r-second": landed}  # the user names each run's base
    bases = [
        find_branch_to_continue(tmp_path, STATE, goal, f"trued/{run}", KnownRuns(), base) for run, base in named.items()
    ]
    assert [one.base for one in bases if one] == [repository.base, landed]
    recorded = KnownRuns(bases={f"trued/{run}": base for run, base in named.items()})
    bases = [find_branch_to_continue(tmp_path, STATE, goal, f"trued/{run}", recorded) for run in named]
    assert [one.base for one in bases if one] == [repository.base, landed]
    with pytest.raises(BadInput, match="main is not a branch of an earlier run"):
        find_branch_to_continue(tmp_path, STATE, goal, "main", KnownRuns())


@pytest.mark.spec("HAND-12")
def test_only_a_run_of_the_very_same_words_that_nobody_remembers_is_gone_on_with_unasked(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.left("r-first", repository.base, "numbers")
    repository.left("r-other", repository.base, "letters")
    found = find_branch_to_continue(tmp_path, STATE, Goal(text="numbers"), "", KnownRuns())
    assert found
    assert (found.branch, found.base) == ("trued/r-first", repository.base)
    assert find_branch_to_continue(tmp_path, STATE, Goal(text="numbers, and more"), "", KnownRuns()) is None
    assert find_branch_to_continue(tmp_path, STATE, Goal(text="numbers"), "", KnownRuns(["trued/r-first"])) is None
    assert find_branch_to_continue(tmp_path, STATE, Goal(text="numbers"), "HEAD", KnownRuns()) is None
    repository.git("branch", "-m", "trued/r-first", "trued/r-renamed")
    assert find_branch_to_continue(tmp_path, STATE, Goal(text="numbers"), "", KnownRuns())
    assert (
        find_branch_to_continue(tmp_path, STATE, Goal(text="numbers"), "", KnownRuns(["trued/r-first"])) is None
    )  # the renamed branch still names its run, which is known


@pytest.mark.spec("HAND-12", "HAND-10")
def test_nobody_goes_on_from_what_a_run_set_aside(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.left("r-first", repository.base)
    repository.git("branch", "trued/r-first-failed-double", "trued/r-first")
    assert find_forgotten_run(tmp_path, "r-first")
    assert find_forgotten_run(tmp_path, "r-first-failed-double") is None
    with pytest.raises(BadInput, match="is not a branch of an earlier run"):
        find_branch_to_continue(tmp_path, STATE, Goal(text="numbers"), "trued/r-first-failed-double", KnownRuns())


@pytest.mark.slow
@pytest.mark.spec("HAND-7", "HAND-5")
async def test_who_deletes_the_tests_of_a_finished_feature_begins_again_from_before(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [shown_by_tests("double"), feature("triple")])
    coders = Coders(triple=[lambda folder: (folder / "tests" / "test_double.py").unlink()])
    record = await ground.handed(ground.played(coders))
    assert (record.state, record.code) == ("done", 0)
    assert coders.asked == ["feature double/coder#1", "feature triple/coder#1", "feature triple/coder#2"]
    assert "double was finished: " in coders.orders[2].brief
    assert "tests/test_double.py is not there" in coders.orders[2].brief
    assert "def test_it" in ground.file(record, "tests/test_double.py")


@pytest.mark.slow
@pytest.mark.spec("HAND-8", "HAND-5")
async def test_a_word_stands_when_the_engine_writes_its_own_set_up_anew(tmp_path: Path, stack: ExitStack) -> None:
    ground = Hands(tmp_path, stack, [feature("double", verification_method="manual")])
    checks = [{"kind": "tests", "command": "python -m pytest -q tests/test_double.py"}]
    ground.require([{"id": "is-double", "text": "double multiplies", "covers": ["double"], "checks": checks}])
    engine = ground.played(Coders(), person=saying(("accept", "fine")))
    record = await ground.handed(engine, yes=False)
    assert (record.state, record.code, str(record.grade)) == ("done", 0, "attested")
    assert ground.passing(record.branch) == ["double"]
    assert events(engine, record, "passes undone") == []


@pytest.mark.spec("HAND-1", "HAND-6")
async def test_a_new_specification_upon_a_landed_one_is_read_and_notes_of_the_users_own_are_kept(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [])
    ground.write("feature_list.json", json.dumps([{**feature("double"), "passes": True}]))
    ground.write(NAME, render(AgentState(run="r-first", digest="0" * 64, base="1" * 40)))
    ground.write("progress.txt", "the door sticks\n")
    ground.commit()
    (tmp_path / "spec.md").write_text("triple(x) returns three times its argument\n")
    coders = Coders()
    coders.roles = {"initializer": lambda _: {"features": [feature("triple")]}, "examiner": lambda _: {"cases": []}}
    record = await ground.handed(ground.played(coders), "../spec.md", required=False, plan_only=True)
    assert coders.asked[0] == "initializer#1"
    assert [one.id for one in ground.features(record.branch).features] == ["triple"]
    assert "the door sticks" in ground.file(record, "progress.txt")


@pytest.mark.slow
@pytest.mark.spec("HAND-5", "RUN-8")
async def test_what_a_person_rejects_afterwards_is_built_again_though_its_checks_are_green(
    tmp_path: Path, stack: ExitStack
) -> None:
    ground = Hands(tmp_path, stack, [feature("double")])
    record = await ground.handed(ground.played(Coders()))
    assert (record.state, record.code) == ("done", 0)

    def polite(folder: Path) -> None:
        (folder / "tiny.py").write_text((folder / "tiny.py").read_text() + "# please\n")

    coders = Coders(double=[polite])
    engine = ground.played(coders)
    decide(engine.store, record.id, ["is-double"], Decision(who="ann", why="it must say please", rejected=True))
    again = await engine.resume(record.id)
    assert [key for key in coders.asked if "coder" in key] == ["feature double/coder#2"]
    assert "it must say please" in coders.orders[0].brief
    assert (again.state, again.code) == ("done", 0)
    assert "# please" in ground.file(again, "tiny.py")
    assert ground.passing(again.branch) == ["double"]


@pytest.mark.spec("RUN-4", "USE-7")
async def test_a_folder_with_the_name_of_a_file_is_not_written_over(tmp_path: Path, stack: ExitStack) -> None:
    ground = Hands(tmp_path, stack, [feature("double")])
    (ground.repository / "init.sh").mkdir()
    ground.write("init.sh/own.txt", "the user's own\n")
    ground.commit()
    coders = Coders()
    with pytest.raises(BadInput, match=r"init\.sh is a folder"):
        await ground.handed(ground.played(coders))
    assert coders.asked == []


@pytest.mark.slow
@pytest.mark.spec("HAND-5", "HAND-8")
async def test_a_word_on_one_requirement_of_a_feature_is_none_on_the_other(tmp_path: Path, stack: ExitStack) -> None:
    ground = Hands(tmp_path, stack, [feature("double", verification_method="manual")])
    tests = {"kind": "tests", "command": "python -m pytest -q tests/test_double.py"}
    looks = {
        "id": "looks",
        "text": "it looks well",
        "covers": ["double"],
        "checks": [{"kind": "manual", "steps": ["look"]}],
    }
    ground.require([{"id": "is-double", "text": "it multiplies", "covers": ["double"], "checks": [tests]}, looks])
    engine = ground.played(Coders(), person=saying(("accept", "fine")))
    record = await ground.handed(engine, yes=False)
    assert (record.state, record.code) == ("waiting", 3)
    commits = ground.git("rev-list", f"main..{record.branch}", "--", "feature_list.json").split()
    assert [ground.passing(one) for one in commits] == [[]] * len(commits)
    coders = Coders()
    engine = ground.played(coders)
    decide(engine.store, record.id, ["is-double"], Decision(who="ann", why="I counted"))
    done = await engine.resume(record.id)
    assert (done.state, done.code, coders.asked) == ("done", 0, [])
    assert ground.passing(done.branch) == ["double"]
