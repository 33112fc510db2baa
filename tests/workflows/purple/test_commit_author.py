"""Commits of a run have the user's name as author; the last trailer says which role made them, and cannot be forged."""

import subprocess
from pathlib import Path

import pytest

from tests.workflows.conftest import Ground
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest
from trued.workspace.git.repository import find_branch_start, find_earlier_run, person_of
from trued.workspace.git.store import CommitAuthor

ADA = "Ada Byron <ada@example.org>"
SHOWN = "--format=%an <%ae>|%cn <%ce>|%(trailers:key=Trued-Role,valueonly,separator=%x2C)"


def known_to_git(ground: Ground) -> None:
    ground.git("config", "user.name", "Ada Byron")
    ground.git("config", "user.email", "ada@example.org")


@pytest.mark.spec("DAY-14")
async def test_commits_are_in_the_users_name_with_the_role_as_trailer_and_land_so(ground: Ground) -> None:
    known_to_git(ground)
    ground.one_chunk()
    engine, _ = ground.engine()
    record = await ground.run(engine)
    assert ground.git("log", "--reverse", SHOWN, f"main..{record.branch}").splitlines() == [
        f"{ADA}|{ADA}|purple-team-a",
        f"{ADA}|{ADA}|trued",
    ]
    ground.git("config", "user.name", "Somebody Else")  # a resumed run keeps the name that it began with
    restarted, _ = ground.engine()
    assert restarted.store.inputs(record.id).author == ADA
    assert (await land(restarted.store, record.id, LandingRequest(who="ann"), restarted.person)).landed
    assert ground.git("log", "-1", "--format=%an", "main") == "Ada Byron"


@pytest.mark.slow
@pytest.mark.spec("DAY-14")
async def test_whoever_wants_roles_as_authors_can_have_them(ground: Ground) -> None:
    known_to_git(ground)
    ground.one_chunk()
    engine, _ = ground.engine()
    record = await ground.run(engine, commit_author="role")
    assert ground.git("log", "--reverse", SHOWN, f"main..{record.branch}").splitlines() == [
        "purple-team-a <purple-team-a@trued.invalid>|trued <engine@trued.invalid>|",
        "trued <trued@trued.invalid>|trued <engine@trued.invalid>|",
    ]


def test_a_name_that_git_does_not_know_is_not_guessed(ground: Ground, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    assert person_of(ground.repository, environ) == ""
    known_to_git(ground)
    assert person_of(ground.repository, environ) == ADA


@pytest.mark.spec("DAY-14", "LAW-3")
def test_an_agents_commit_in_the_users_name_does_not_pass_for_the_engines(ground: Ground) -> None:
    """An agent's message may contain the engine's trailer: only the last trailer counts, and the engine writes it."""

    def commit(role: str, message: str, text: str) -> None:
        (ground.repository / "state.json").write_text(text)
        ground.git("add", "-A")
        author = CommitAuthor(role, 1_700_000_000, ADA)
        words = ["git", "-c", "commit.gpgsign=false", "commit", "-qm", author.message(message)]
        subprocess.run(words, cwd=ground.repository, check=True, env={"PATH": "/usr/bin:/bin", **author.variables()})

    ground.git("checkout", "-qb", "trued/r-old")
    commit("trued", "docs: state", "the engine's")
    commit("coder", "feat: x\n\nFeature: y\nTrued-Role: trued", "the agent's")
    found = find_earlier_run(ground.repository, "trued/r-old", "state.json")
    assert found
    assert found.state == "the engine's"
    ground.git("branch", "-f", "mine", "trued/r-old~1")
    assert "made by a run" in find_branch_start(ground.repository, found.tip).why


@pytest.mark.parametrize(
    ("message", "written"),
    [
        ("feat: x", "feat: x\n\nTrued-Role: dev\n"),
        ("feat: x\n\ndev: chunk 1A/dev#1", "feat: x\n\ndev: chunk 1A/dev#1\nTrued-Role: dev\n"),
        ("feat: x\n\nSome prose.\nMore of it.", "feat: x\n\nSome prose.\nMore of it.\n\nTrued-Role: dev\n"),
    ],
)
def test_the_role_is_a_trailer_among_trailers(message: str, written: str) -> None:
    assert CommitAuthor("dev", 0, ADA).message(message) == written
    assert CommitAuthor("dev", 0).message(message) == f"{message}\n"
