"""What a machine sends of a run's work, and how it confines agents of a run from another machine."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.engine.two_commits import git, project
from trued.engine.inputs import Inputs
from trued.engine.journals.sqlite import SqliteJournal
from trued.engine.travel import ARTIFACTS, SentWork, Travel, fit_for_travel
from trued.errors import BadInput
from trued.model import Goal, RunRecord, Settings
from trued.model.step_keys import SENT
from trued.workspace.git.hub_store import HubStore
from trued.workspace.git.repository import open_repository
from trued.workspace.sandbox.levels import LEVELS, NONE, level_state


@pytest.fixture
def journal(tmp_path: Path) -> SqliteJournal:
    return SqliteJournal(tmp_path / "home" / "journal.db")


@pytest.fixture
def travel(tmp_path: Path, journal: SqliteJournal) -> Travel:
    project(tmp_path / "repo")
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "store.git")], check=True)
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    base = git(tmp_path / "repo", "rev-parse", "HEAD")
    record = RunRecord(
        id="r-one",
        workflow="purple",
        title="a plan",
        repository=str(tmp_path / "repo"),
        base=base,
        branch="trued/r-one",
    )
    journal.add(record)
    return Travel(HubStore(str(tmp_path / "store.git"), environ), journal, record, tmp_path / "home", environ)


@pytest.mark.spec("HUB-6")
async def test_a_kept_file_is_sent_when_it_is_whole(travel: Travel, journal: SqliteJournal) -> None:
    """A file that a killed process left half written would count as sent, and never be sent again."""
    whole, later = b"a picture", b"another picture"
    names = [hashlib.sha256(one).hexdigest() for one in (whole, later)]
    folder = travel.folder / ARTIFACTS
    folder.mkdir(parents=True)
    (folder / names[0]).write_bytes(whole)
    (folder / names[1]).write_bytes(later[:4])
    await travel.store.begin(git(travel.store.repo, "rev-parse", "HEAD"))

    async def kept() -> list[str]:
        await travel.send(journal.of("r-one"))
        return [name for one in travel.sent() if one.artifacts for name in await travel.store.entries(one.artifacts)]

    assert await kept() == [names[0]]
    assert await kept() == [names[0]]
    (folder / names[1]).write_bytes(later)
    assert await kept() == names


@pytest.mark.spec("HUB-6")
async def test_a_workflows_own_step_of_the_same_name_says_nothing_about_what_was_sent(
    travel: Travel, journal: SqliteJournal
) -> None:
    async def reply() -> str:
        return '{"reply": "it is sent"}'

    with journal.claim("r-one"):
        for key in (f"{SENT}1", f"chunk 1A/{SENT}2"):
            await journal.of("r-one").once(key, "h", reply)
    assert travel.sent() == ()
    assert travel.is_origin


def inputs_with(settings: Settings, level: str = "") -> Inputs:
    return Inputs(
        goal=Goal(id="goal", text="a goal"),
        settings=settings,
        roles={},
        requirements=None,
        requirements_file="",
        instructions="",
        level=level,
        version="1",
    )


@pytest.mark.spec("HUB-6")
async def test_files_in_git_lfs_and_a_partial_clone_are_found_by_few_processes(tmp_path: Path) -> None:
    """One process per file would be thousands before a run begins."""
    project(tmp_path / "repo")
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 7\n"
    (tmp_path / "repo" / ".gitattributes").write_text("*.bin filter=lfs\n")
    for number in range(300):
        (tmp_path / "repo" / f"{number}.txt").write_text(f"small {number}\n\n")
    git(tmp_path / "repo", "add", "-A")
    git(tmp_path / "repo", "commit", "-qm", "small files")
    inputs = inputs_with(Settings())
    programs = tmp_path / "programs"
    programs.mkdir()
    found = shutil.which("git")
    (programs / "git").write_text(f'#!/bin/sh\necho >>{tmp_path}/started\nexec {found} "$@"\n')
    (programs / "git").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        assert await fit_for_travel(inputs, open_repository(tmp_path / "repo")) is inputs
        assert len((tmp_path / "started").read_text()) < 20
        (tmp_path / "repo" / "zoo.bin").write_text(pointer)
        git(tmp_path / "repo", "add", "-A")
        git(tmp_path / "repo", "commit", "-qm", "a pointer")
        with pytest.raises(BadInput, match=r"the content of zoo\.bin is in git LFS"):
            await fit_for_travel(inputs, open_repository(tmp_path / "repo"))
    (tmp_path / "repo" / "zoo.bin").unlink()
    git(tmp_path / "repo", "commit", "-qam", "no pointer")
    blob = git(tmp_path / "repo", "rev-parse", "HEAD:7.txt")
    (tmp_path / "repo" / ".git" / "objects" / blob[:2] / blob[2:]).unlink()  # missing, as in a partial clone
    with pytest.raises(BadInput, match=r"partial clone without the content of 7\.txt"):
        await fit_for_travel(inputs, open_repository(tmp_path / "repo"))


@pytest.mark.spec("HUB-7")
async def test_that_agents_may_work_without_a_sandbox_counts_on_the_machine_where_it_was_said(
    tmp_path: Path, travel: Travel, journal: SqliteJournal
) -> None:
    async def step() -> str:
        return SentWork(commits=("a" * 40,)).model_dump_json()

    inputs = inputs_with(Settings(sandbox=NONE, allow_unsandboxed=True), NONE)
    assert travel.level(inputs) == NONE  # nothing was sent, so the run was begun here
    await journal.of("r-one").once(f"{SENT}{'a' * 16}", "", step)
    if any(level_state(one).works for one in LEVELS if one != NONE):
        assert travel.level(inputs) != NONE
    else:
        with pytest.raises(BadInput, match="set allow_unsandboxed in your own settings here"):
            travel.level(inputs)
    own = tmp_path / ".config" / "trued" / "trued.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'sandbox = "{NONE}"\nallow_unsandboxed = true\n')
    assert travel.level(inputs) == NONE
