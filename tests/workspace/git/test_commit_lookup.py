"""Commits of any repository that somebody names."""

import hashlib
import os
from pathlib import Path

import pytest

from tests.engine.two_commits import DOUBLE, ONE, committed, git, project
from trued.engine.worktree import open_checkout
from trued.errors import BadInput
from trued.workspace.git import commit_lookup
from trued.workspace.git.commit_lookup import NamedCommit, find_commit
from trued.workspace.git.repository import open_repository
from trued.workspace.git.store import Store


def blob(text: str) -> set[str]:
    data = text.encode()
    return {hashlib.sha1(b"blob %d\0%s" % (len(data), data), usedforsecurity=False).hexdigest()}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    project(tmp_path / "my @ repo")
    return tmp_path / "my @ repo"


async def test_a_commit_is_named_by_repository_and_revision(repo: Path, tmp_path: Path) -> None:
    base, head = git(repo, "rev-parse", "HEAD~1"), git(repo, "rev-parse", "HEAD")
    git(repo, "tag", "v1@2", "HEAD~1")
    (repo / "sub").mkdir()
    ways = {
        str(repo): (tmp_path, head),
        f"{repo}@HEAD~1": (tmp_path, base),
        f"{repo}@{base}": (tmp_path, base),
        f"{repo}@{base[:10]}": (tmp_path, base),
        f"{repo}@v1@2": (tmp_path, base),
        f"{repo}@": (tmp_path, head),
        "my @ repo": (tmp_path, head),
        "my @ repo@main~1": (tmp_path, base),
        "./my @ repo/sub@main": (tmp_path, head),
        "HEAD~1": (repo, base),
        "@HEAD~1": (repo / "sub", base),
        "@": (repo, head),
        "main@{0}": (repo, head),
        ".": (repo, head),
        "..@HEAD^": (repo / "sub", base),
    }
    for given, (here, commit) in ways.items():
        found = await find_commit(given, here)
        assert (found.commit, found.root) == (commit, repo), given


async def test_a_branch_goes_before_a_folder_of_the_same_name(repo: Path) -> None:
    git(repo, "branch", "docs", "HEAD~1")
    (repo / "docs").mkdir()
    assert (await find_commit("docs", repo)).commit == git(repo, "rev-parse", "HEAD~1")
    project(repo / "lib")
    git(repo, "branch", "lib", "HEAD~1")
    assert (await find_commit("lib", repo)).commit == git(repo, "rev-parse", "HEAD~1")
    assert (await find_commit("./lib", repo)).root == repo / "lib", "a path that no revision can be called"


@pytest.mark.spec("LAW-4", "LAW-9")
async def test_a_repository_among_the_files_of_a_commit_names_neither_base_nor_head(repo: Path) -> None:
    """Git tracks a folder that is a bare repository. A head could bring one that is called like a revision, with a base
    to its liking in it."""
    base, head = git(repo, "rev-parse", "HEAD~1"), git(repo, "rev-parse", "HEAD")
    git(repo, "branch", "origin/old", "HEAD~1")
    liar = repo.parent / "liar"
    project(liar)
    names = ("main", "HEAD", "@HEAD", f"@{base}", "origin/old", "origin/new", "pkg", "pkg/inner")
    for name in names:
        git(repo, "clone", "-q", "--bare", str(liar), name)
        (repo / name / "refs/keep").write_text("")
        git(repo / name, "config", "core.worktree", str(liar))
        git(repo / name, "config", "core.bare", "false")
    git(repo, "add", "-A", "-f")
    git(repo, "commit", "-qm", "with repositories")
    new = git(repo, "rev-parse", "HEAD")
    ways = {"main": new, "HEAD": new, "@HEAD": new, f"@{base}": base, "origin/old": base, f"{head[:12]}": head}
    for given, commit in ways.items():
        for here in (repo, repo / "pkg", repo / "pkg/inner"):
            found = await find_commit(given, here)
            assert (found.commit, found.root) == (commit, repo), (given, here)
    with pytest.raises(BadInput, match="neither a folder nor a revision"):
        await find_commit("origin/new", repo)
    with pytest.raises(BadInput, match="looks like a bare repository"):
        open_repository(repo / "pkg")
    assert open_repository(repo).root == repo
    assert (await find_commit("./main", repo)).git == repo / "main", "a path that the user wrote"
    git(repo, "rm", "-rq", "--cached", "pkg", "origin/new")
    git(repo, "commit", "-qm", "bare repositories of the user's own")
    assert (await find_commit("origin/new", repo)).git == repo / "origin/new"
    assert (await find_commit("HEAD", repo / "pkg")).git == repo / "pkg"


async def test_bare_shallow_and_linked_repositories_are_read(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", "shallow")
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"), "HEAD~1")
    bare, low, linked = [await find_commit(name, tmp_path) for name in ("bare.git@main~1", "shallow", "linked")]
    assert bare.commit == linked.commit == git(repo, "rev-parse", "HEAD~1")
    assert (bare.root, linked.root) == (None, tmp_path / "linked")
    assert linked.objects == repo / ".git"
    assert [commit_lookup.is_shallow(one) for one in (bare, low, linked)] == [False, True, False]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "the commit is empty"),
        ("nowhere", "neither a folder nor a revision"),
        (".@nothing", "has no commit 'nothing'"),
        (".@--all", "has no commit '--all'"),
        (".@HEAD:tiny.py", "has no commit 'HEAD:tiny.py'"),
        ("../plain", "is not in a git repository"),
        ("../plain@HEAD", "is not in a git repository"),
        ("../empty", "has no commit yet"),
        ("a\0b", "neither a folder nor a revision"),
    ],
)
async def test_what_names_no_commit_is_one_sentence(given: str, said: str, repo: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    with pytest.raises(BadInput, match=said) as caught:
        await find_commit(given, repo)
    assert "\n" not in str(caught.value)
    assert caught.value.then


async def test_outside_any_repository_a_name_is_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere does not exist"):
        await find_commit("nowhere", tmp_path)


@pytest.mark.spec("LAW-7")
async def test_a_content_is_found_in_history_under_any_name_and_only_there(repo: Path, tmp_path: Path) -> None:
    committed(repo, {"notes/old.txt": "secret\n"})
    committed(repo, {"notes/old.txt": None})
    git(repo, "checkout", "-q", "-b", "other", "HEAD~3")
    committed(repo, {"elsewhere": "on another branch\n"})
    git(repo, "checkout", "-q", "main")
    head, base = await find_commit("HEAD", repo), await find_commit("HEAD~2", repo)
    assert await commit_lookup.is_in_history((base, head), blob("secret\n"))
    assert not await commit_lookup.is_in_history((base,), blob("secret\n"))
    assert not await commit_lookup.is_in_history((base, head), blob("on another branch\n")), (
        "no history of either commit"
    )
    assert not await commit_lookup.is_in_history((base, head), blob("never seen"))
    assert await commit_lookup.is_tracked(head, repo / "notes/old.txt"), "whatever is in it now"
    assert not await commit_lookup.is_tracked(base, repo / "notes/old.txt")
    assert not await commit_lookup.is_tracked(head, tmp_path / "old.txt")


async def test_a_history_that_cannot_be_walked_may_hold_anything(repo: Path) -> None:
    head = await find_commit("HEAD", repo)
    tree = git(repo, "rev-parse", "HEAD~1^{tree}")
    (repo / ".git/objects" / tree[:2] / tree[2:]).unlink()
    assert await commit_lookup.is_in_history((head,), blob(DOUBLE))
    assert await commit_lookup.is_in_history((head,), blob(ONE))


async def test_an_unnamed_base_is_where_the_branch_began(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--base REV"):
        await commit_lookup.find_branch_point(await find_commit("HEAD", repo))
    start = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "-b", "feature")
    committed(repo, {"a": "1"})
    committed(repo, {"a": "2"})
    assert (await commit_lookup.find_branch_point(await find_commit("HEAD", repo))).commit == start
    git(tmp_path, "clone", "-q", str(repo), "clone")
    committed(tmp_path / "clone", {"b": "1"})
    upstream = git(repo, "rev-parse", "feature")
    assert (await commit_lookup.find_branch_point(await find_commit("clone", tmp_path))).commit == upstream
    assert (await commit_lookup.find_branch_point(await find_commit("clone@feature", tmp_path))).commit == upstream


@pytest.mark.spec("USE-5", "USE-7")
async def test_why_no_beginning_is_known_is_said_with_what_to_do(repo: Path, tmp_path: Path) -> None:
    async def error(place: Path) -> str:
        with pytest.raises(BadInput, match="cannot tell where the work") as caught:
            await commit_lookup.find_branch_point(await find_commit("HEAD", place))
        return str(caught.value)

    assert "--base HEAD~1" in await error(repo)
    git(repo, "checkout", "-q", "-b", "feature")
    said = await error(repo)
    assert "refs/heads/main also has this commit (commit the work on a branch first" in said
    assert "HEAD~1" not in said
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", "shallow")
    said = await error(tmp_path / "shallow")
    assert "is shallow" in said
    assert "fetch-depth: 0" in said
    git(tmp_path, "init", "-q", "one")
    committed(tmp_path / "one", {"a": "1"})
    assert "HEAD~1" not in await error(tmp_path / "one")


@pytest.mark.spec("LAW-9")
async def test_what_was_pushed_of_the_same_branch_is_no_beginning(repo: Path, tmp_path: Path) -> None:
    """Otherwise somebody could push gutted tests first and make them the base. An upstream with another name counts."""
    start = git(repo, "rev-parse", "HEAD")
    git(tmp_path, "init", "-q", "--bare", "origin")
    git(repo, "remote", "add", "origin", str(tmp_path / "origin"))
    git(repo, "branch", "-M", "main")
    git(repo, "push", "-q", "-u", "origin", "main")
    git(repo, "checkout", "-q", "-b", "work/feature")
    committed(repo, {"a": "1"})
    git(repo, "push", "-q", "-u", "origin", "work/feature")
    pushed = git(repo, "rev-parse", "HEAD")
    committed(repo, {"a": "2"})
    for name in ("HEAD", "work/feature"):
        assert (await commit_lookup.find_branch_point(await find_commit(name, repo))).commit == start
    git(repo, "checkout", "-q", "-b", "on-top")
    git(repo, "branch", "-q", "-u", "origin/work/feature")
    assert (await commit_lookup.find_branch_point(await find_commit("HEAD", repo))).commit == pushed
    git(repo, "checkout", "-q", "main")
    committed(repo, {"a": "3"})
    assert (await commit_lookup.find_branch_point(await find_commit("HEAD", repo))).commit == start


@pytest.mark.spec("USE-5")
async def test_a_main_of_ones_own_that_is_old_or_none_is_no_beginning_where_others_have_a_newer_one(
    repo: Path, tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q", "--bare", "origin")
    git(repo, "remote", "add", "origin", str(tmp_path / "origin"))
    git(repo, "branch", "-M", "main")
    committed(repo, {"of": "others"})
    git(repo, "push", "-q", "origin", "main")
    start = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "-b", "feature")
    git(repo, "branch", "-f", "main", "HEAD~1")
    committed(repo, {"a": "1"})
    assert (await commit_lookup.find_branch_point(await find_commit("HEAD", repo))).commit == start
    git(repo, "branch", "-q", "-D", "main")
    git(repo, "checkout", "-q", "--detach")
    assert (await commit_lookup.find_branch_point(await find_commit("HEAD", repo))).commit == start


async def look(repo: Path, tmp_path: Path) -> tuple[str, ...]:
    one: NamedCommit = await find_commit(str(repo), tmp_path)
    store = Store(repo, tmp_path / "state", "test")
    await store.begin(one.commit, depth=1)
    return await commit_lookup.uncommitted_files(one, store, tmp_path)


@pytest.mark.spec("LAW-4")
async def test_uncommitted_work_is_seen_and_nothing_of_the_repository_is_run(repo: Path, tmp_path: Path) -> None:
    assert await look(repo, tmp_path) == ()
    trap = tmp_path / "trap"
    for name in ("clean", "smudge", "process"):
        git(repo, "config", f"filter.evil.{name}", f"touch '{trap}'; cat")
    git(repo, "config", "core.fsmonitor", f"touch '{trap}'; false")
    git(repo, "config", "core.hooksPath", str(repo / "hooks"))
    (repo / "hooks").mkdir()
    (repo / "hooks" / "post-index-change").write_text(f"#!/bin/sh\ntouch '{trap}'\n")
    (repo / "hooks" / "post-index-change").chmod(0o755)
    (repo / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    (repo / "tiny.py").write_text("changed\n")
    (repo / "new.txt").write_text("new\n")
    before = (repo / ".git" / "index").read_bytes()
    assert set(await look(repo, tmp_path)) == {"tiny.py", "new.txt", "hooks/"}
    assert not trap.exists()
    assert (repo / ".git" / "index").read_bytes() == before


@pytest.mark.spec("LAW-4")
async def test_no_tag_decides_what_a_revision_after_an_at_sign_means(repo: Path) -> None:
    start = git(repo, "rev-parse", "HEAD").strip()
    (repo / "tiny.py").write_text("changed\n")
    git(repo, "commit", "-qam", "changed")
    later = git(repo, "rev-parse", "HEAD").strip()
    git(repo, "update-ref", f"refs/tags/@{start}", later)
    assert (await find_commit(f"@{start}", repo)).commit == start
    assert [(await find_commit(one, repo)).commit for one in ("@", "@~1", "@{0}")] == [later, start, later]


@pytest.mark.spec("LAW-9")
async def test_a_tag_called_like_a_branch_does_not_decide_what_the_name_means(repo: Path) -> None:
    """Git would take the tag. An agent could so choose the base of its own work."""
    git(repo, "branch", "stable")
    commit = git(repo, "rev-parse", "HEAD").strip()
    git(repo, "tag", "-a", "-m", "same", "stable")
    assert (await find_commit("stable", repo)).commit == commit  # both names mean the same commit
    git(repo, "commit", "-q", "--allow-empty", "-m", "later")
    git(repo, "tag", "-f", "stable", "HEAD")
    git(repo, "config", "core.warnAmbiguousRefs", "false")
    for name in ("stable", "stable~0", "@stable", f"{repo}@stable"):
        with pytest.raises(BadInput, match="refs/tags/stable"):
            await find_commit(name, repo)
    assert (await find_commit("refs/heads/stable", repo)).commit == commit
    with pytest.raises(BadInput, match="refs/tags/stable"):
        open_checkout(repo, os.environ).named_commit("stable")
    assert open_checkout(repo, os.environ).named_commit("refs/heads/stable") == commit
    # a branch called like the beginning of a hash
    git(repo, "branch", commit[:9], "HEAD")
    with pytest.raises(BadInput, match="several meanings"):
        await find_commit(commit[:9], repo)
