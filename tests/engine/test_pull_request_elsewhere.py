"""A pull request of a run whose repository is on another machine."""

from pathlib import Path

from trued.engine.pull_request import used_by_git
from trued.engine.run_store import RunStore
from trued.wire import Confinement
from trued.workspace.git.workspace import GitWorkspace


async def test_git_of_another_machine_is_not_asked_what_it_runs(tmp_path: Path) -> None:
    gone = GitWorkspace(tmp_path / "elsewhere", tmp_path / "state", "r-one", "trued/r-one", "0" * 40, Confinement())
    with RunStore(tmp_path / "state", {}) as store:
        assert await used_by_git(store, gone) == set()
