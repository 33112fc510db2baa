"""Files that agents may not change, one commit for several attempts, side branches, set-up in a clone, pushing."""

from pathlib import Path

import pytest

from tests.workspace.conftest import git_in
from trued.workspace.git.workspace import GitWorkspace

WHEN = 1_700_000_000.0
LIST = "feature_list.json"


@pytest.mark.spec("HAND-3")
async def test_what_an_agent_writes_into_an_owned_file_is_undone_in_its_commit_and_told(
    workspace: GitWorkspace,
) -> None:
    head = await workspace.commit_files(
        workspace.base, {LIST: b"true list\n", "notes.txt": b"n\n"}, message="d", when=WHEN
    )
    work, _ = await workspace.clone("c", head, token="1")
    (work / LIST).unlink()
    (work / LIST).mkdir()
    (work / LIST / "inside").write_text("a folder in its place\n")
    (work / "notes.txt").write_text("forged\n")
    (work / "state.json").write_text("new\n")
    (work / "feature.py").write_text("x = 1\n")
    fixed = {LIST, "notes.txt", "state.json"}
    taken = await workspace.commit_clone("c", head, author="coder", message="work", when=WHEN, fixed=fixed)
    inside = {f"{LIST}/inside": b"a folder in its place\n"}
    assert taken.undone == {LIST: None, "notes.txt": b"forged\n", "state.json": b"new\n", **inside}
    assert await workspace.changed_files(head, taken.commit) == ("feature.py",) == taken.changed
    assert await workspace.read(taken.commit, LIST) == b"true list\n"


@pytest.mark.spec("HAND-10")
async def test_several_attempts_become_one_commit_without_the_engines_files(workspace: GitWorkspace) -> None:
    first = await workspace.commit_files(workspace.base, {"a.py": b"1\n"}, message="try", when=WHEN)
    noted = await workspace.commit_files(first, {LIST: b"in progress\n"}, message="note", when=WHEN)
    second = await workspace.commit_files(noted, {"b.py": b"2\n"}, message="try again", when=WHEN)
    terms = {"author": "coder", "message": "feat: both\n\nFeature: f1", "when": WHEN}
    one = await workspace.squash(second, workspace.base, {LIST}, **terms)  # type: ignore[arg-type]
    assert set(await workspace.changed_files(workspace.base, one)) == {"a.py", "b.py"}
    assert await workspace.squash(noted, noted, {LIST}, **terms) == noted  # type: ignore[arg-type]


@pytest.mark.spec("RUN-4")
async def test_failed_work_goes_to_a_branch_beside_the_runs_own(workspace: GitWorkspace, repo: Path) -> None:
    head = await workspace.commit_files(workspace.base, {"a.py": b"1\n"}, message="try", when=WHEN)
    assert await workspace.publish(head, "trued/r1-failed-f1") == ""
    assert await workspace.publish(head, "trued/r1-failed-f1") == ""
    assert git_in(repo, "rev-parse", "trued/r1-failed-f1") == head
    other = await workspace.commit_files(workspace.base, {"a.py": b"2\n"}, message="other", when=WHEN)
    assert "not overwritten" in await workspace.publish(other, "trued/r1-failed-f1")


@pytest.mark.spec("HAND-4")
async def test_a_set_up_runs_in_the_clone_as_its_agent_would(workspace: GitWorkspace) -> None:
    work, home = await workspace.clone("c", workspace.base, token="1")
    script = 'echo "$HOME"; pwd; touch made; ls "$1" 2>&1; exit 3'
    ran = await workspace.execute_in_clone("c", ["/bin/sh", "-c", script, "sh", str(workspace.folder)], within_s=30.0)
    said = ran.stdout.decode().splitlines()
    assert (ran.exit_code, said[:2]) == (3, [str(home), str(work)])
    assert (work / "made").exists()
    assert "journal" not in ran.stdout.decode()


@pytest.mark.spec("TIC-9")
async def test_a_commit_is_pushed_forward_and_never_over_other_work(
    workspace: GitWorkspace, repo: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.git"
    git_in(repo, "init", "--quiet", "--bare", str(bare))
    head = await workspace.commit_files(workspace.base, {"a.py": b"1\n"}, message="try", when=WHEN)
    assert await workspace.push(str(bare), head, "refs/heads/fix/x") == ""
    assert git_in(bare, "rev-parse", "fix/x") == head
    other = await workspace.commit_files(workspace.base, {"a.py": b"2\n"}, message="other", when=WHEN)
    assert "not overwritten" in await workspace.push(str(bare), other, "refs/heads/fix/x")
    assert git_in(bare, "rev-parse", "fix/x") == head
    assert "could not push" in await workspace.push(str(tmp_path / "nowhere"), head, "refs/heads/fix/x")
