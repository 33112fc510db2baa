"""Rebasing in the private store gives the same commits every time, and never guesses."""

from pathlib import Path

import pytest

from tests.engine.two_commits import committed, git
from trued.workspace.git import rebase
from trued.workspace.git.store import Store


async def store_of(folder: Path, *commits: str) -> Store:
    store = Store(folder / "repo", folder / "home", "r-test")
    await store.begin(commits[0])
    for number, one in enumerate(commits):
        await store.bring(str(folder / "repo" / ".git"), one, f"given/{number}")
    return store


@pytest.mark.spec("USE-11", "LAW-9")
async def test_rebased_commits_keep_author_date_and_words_and_are_the_same_ones_again(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    base = committed(repo, {"a.txt": "a\n"}, "base")
    committed(repo, {"b.txt": "b\n"}, "first\n\nin many words: ü")
    head = committed(repo, {"c.txt": "c\n"}, "second")
    git(repo, "checkout", "-q", "-b", "moved", base)
    onto = committed(repo, {"d.txt": "d\n"}, "others")
    store = await store_of(tmp_path, base, head, onto)
    made = await rebase.rebase_commits(store, base, head, onto)
    assert made == await rebase.rebase_commits(store, base, head, onto)
    assert set(await store.entries(made.commit)) == {"a.txt", "b.txt", "c.txt", "d.txt"}
    form = "--format=%an %ae %at %cn %ct %B"
    before, after = [
        await store.git.line("log", form, f"{since}..{to}") for since, to in ((base, head), (onto, made.commit))
    ]
    assert before == after


@pytest.mark.spec("USE-11")
async def test_what_the_target_has_already_falls_away_and_a_merge_inside_comes_as_one_commit(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    base = committed(repo, {"a.txt": "a\n"}, "base")
    one = committed(repo, {"b.txt": "b\n"}, "one")
    git(repo, "checkout", "-q", "-b", "side", base)
    committed(repo, {"c.txt": "c\n"}, "side")
    git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "--no-ff", "-m", "both", "side")
    head = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "-b", "moved", base)
    onto = committed(repo, {"b.txt": "b\n", "d.txt": "d\n"}, "others did one, too")
    store = await store_of(tmp_path, base, head, onto)
    made = await rebase.rebase_commits(store, base, head, onto)
    assert await store.git.line("log", "--format=%s", f"{onto}..{made.commit}") == "both"
    assert set(await store.entries(made.commit)) == {"a.txt", "b.txt", "c.txt", "d.txt"}
    nothing = await rebase.rebase_commits(store, base, one, onto)
    assert nothing.commit == onto


@pytest.mark.spec("USE-11")
async def test_a_conflict_names_its_files_and_the_commit_and_makes_nothing(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    base = committed(repo, {"a.txt": "a\n", "b c.txt": "b\n"}, "base")
    head = committed(repo, {"a.txt": "mine\n", "b c.txt": None}, "mine")
    git(repo, "checkout", "-q", "-b", "moved", base)
    onto = committed(repo, {"a.txt": "theirs\n", "b c.txt": "changed\n"}, "theirs")
    store = await store_of(tmp_path, base, head, onto)
    made = await rebase.rebase_commits(store, base, head, onto)
    assert (made.commit, set(made.conflicts), made.at) == ("", {"a.txt", "b c.txt"}, "mine")
    assert set((await rebase.merge_into(store, onto, head, "both", {})).conflicts) == {"a.txt", "b c.txt"}
    assert await rebase.merge_base(store, head, onto) == base
