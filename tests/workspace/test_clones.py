"""Clones are made from the store, committed by content, and removed only if no work is lost."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.workspace.conftest import Begin, git_in, snapshot
from trued.errors import StateFailed
from trued.workspace.git.command import Git
from trued.workspace.git.workspace import GitWorkspace, clone_folder_name

WHEN = 1_700_000_000.0


async def take(workspace: GitWorkspace, name: str, head: str) -> tuple[str, tuple[str, ...]]:
    taken = await workspace.commit_clone(name, head, author="purple-team-a", message="chunk 1A", when=WHEN)
    return taken.commit, taken.changed


async def rescued(workspace: GitWorkspace) -> dict[str, str]:
    return {ref.rpartition("/")[2]: commit for ref, commit in (await workspace.store.refs("rescue/")).items()}


@pytest.mark.spec("RUN-9")
async def test_every_agent_has_a_clone_of_its_own(workspace: GitWorkspace) -> None:
    clones = await asyncio.gather(*(workspace.clone(f"task {n}", workspace.base, token="1") for n in range(4)))
    for number, (work, home) in enumerate(clones):
        (work / "mine").write_text(str(number))
        assert home.is_dir()
    assert len({work for work, _ in clones}) == 4
    heads = [(await take(workspace, f"task {n}", workspace.base))[0] for n in range(4)]
    assert [await workspace.read(head, "mine") for head in heads] == [b"0", b"1", b"2", b"3"]


async def test_a_clone_is_what_the_commit_is_and_git_in_it_agrees(workspace: GitWorkspace, repo: Path) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    assert (work / "link").readlink() == Path("app.py")
    assert os.access(work / "run.sh", os.X_OK)
    assert git_in(work, "status", "--porcelain") == ""
    assert git_in(work, "rev-parse", "HEAD") == workspace.base
    assert git_in(work, "log", "--format=%H", "--all") == workspace.base


@pytest.mark.spec("RUN-9")
async def test_a_clone_knows_no_other_work(workspace: GitWorkspace, repo: Path) -> None:
    """The object folder must not contain the answer: neither other branches nor other agents' work."""
    git_in(repo, "checkout", "-q", "-b", "answer")
    (repo / "answer.txt").write_text("42")
    git_in(repo, "add", "-A")
    git_in(repo, "commit", "-q", "-m", "the answer")
    work, _ = await workspace.clone("first", workspace.base, token="1")
    (work / "secret.txt").write_text("of the first agent")
    await take(workspace, "first", workspace.base)
    other, _ = await workspace.clone("second", workspace.base, token="1")
    everything = git_in(other, "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    reachable = git_in(other, "rev-list", "--objects", "--no-object-names", "HEAD").splitlines()
    assert sorted(line.split()[0] for line in everything) == sorted(reachable)
    assert git_in(other, "remote") == ""
    assert not (other / ".git" / "objects" / "info" / "alternates").exists()


@pytest.mark.spec("RUN-9")
async def test_a_clone_is_one_commit_deep_also_when_it_is_brought_to_another(workspace: GitWorkspace) -> None:
    """A clone does not grow with the run: neither its cost nor the history that can be looked up in it."""
    head = workspace.base
    for number in range(4):
        work, _ = await workspace.clone("a session", head, token=str(number))
        assert git_in(work, "log", "--format=%H", "--all") == head
        assert git_in(work, "status", "--porcelain") == ""
        git_in(work, "fsck", "--full")
        (work / "note").write_text(str(number))
        head, _ = await take(workspace, "a session", head)


async def test_the_same_content_gives_the_same_commit(workspace: GitWorkspace, begin: Begin) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    (work / "app.py").write_text("print('better')\n")
    (work / "run.sh").chmod(0o644)
    (work / "lib" / "größe.py").unlink()
    (work / "new\nline").write_text("odd name\n")
    (work / "x.log").write_text("ignored\n")
    first = await take(workspace, "a", workspace.base)
    assert first[1] == ("app.py", "lib/größe.py", "new\nline", "run.sh")
    restarted = begin()
    await restarted.begin()
    assert await take(restarted, "a", workspace.base) == first
    other, _ = await workspace.clone("b", workspace.base, token="1")
    for path in ("app.py", "run.sh", "new\nline"):
        (other / path).write_bytes((work / path).read_bytes())
    (other / "run.sh").chmod(0o644)
    (other / "lib" / "größe.py").unlink()
    assert await take(workspace, "b", workspace.base) == first
    about = git_in(workspace.store.folder, "show", "-s", "--format=%an|%cn|%at|%P|%s", first[0])
    assert about == f"purple-team-a|trued|{int(WHEN)}|{workspace.base}|chunk 1A"


async def test_an_agent_that_changed_nothing_leaves_the_head(workspace: GitWorkspace) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    (work / "app.py").touch()
    (work / "debug.log").write_text("ignored")
    # if caches were committed, two agents that run the same module would conflict
    (work / "lib" / "__pycache__").mkdir()
    (work / "lib" / "__pycache__" / "app.cpython-311.pyc").write_bytes(b"\0compiled")
    assert await take(workspace, "a", workspace.base) == (workspace.base, ())


async def test_a_change_within_the_second_of_the_checkout_is_seen(workspace: GitWorkspace) -> None:
    """Git recognises changes by size and by times in seconds; a quick agent may change neither."""
    await asyncio.sleep(1.02 - time.time() % 1)
    work, _ = await workspace.clone("a", workspace.base, token="1")
    (work / "app.py").write_text("print('hullo')\n")
    await asyncio.sleep(1.1)
    first = await take(workspace, "a", workspace.base)
    assert first[1] == ("app.py",)
    assert git_in(work, "status", "--porcelain") == "M app.py"
    assert await take(workspace, "a", workspace.base) == first


async def test_commits_of_the_agent_become_part_of_the_one_commit(workspace: GitWorkspace) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    for text in ("one", "two"):
        (work / "step").write_text(text)
        git_in(work, "add", "-A")
        git_in(work, "commit", "-q", "-m", f"step {text}\x1b[31m")
    (work / "loose").write_text("not committed")
    head, changed = await take(workspace, "a", workspace.base)
    assert changed == ("loose", "step")
    text = git_in(workspace.store.folder, "show", "-s", "--format=%B", head)
    assert "- step two\n- step one" in text
    assert git_in(workspace.store.folder, "rev-parse", f"{head}^") == workspace.base


async def test_a_file_becomes_a_folder_and_a_folder_a_link(workspace: GitWorkspace) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    (work / "app.py").unlink()
    (work / "app.py").mkdir()
    (work / "app.py" / "inner").write_text("x")
    (work / "lib" / "größe.py").unlink()
    (work / "lib").rmdir()
    (work / "lib").symlink_to("/usr/lib")
    head, changed = await take(workspace, "a", workspace.base)
    assert changed == ("app.py", "app.py/inner", "lib", "lib/größe.py")
    assert await workspace.read(head, "lib") == b"/usr/lib"
    assert sorted(await workspace.blobs(head)) == [".gitignore", "app.py/inner", "lib", "link", "run.sh"]


# -- sessions: the clone is kept, and brought to where the work stands -----------------------------------------------


async def test_a_session_goes_on_in_its_clone_at_the_new_head(workspace: GitWorkspace) -> None:
    work, home = await workspace.clone("a", workspace.base, token="ask 1")
    (home / "memory").write_text("of the conversation")
    (work / "mine").write_text("1")
    (work / "cache.log").write_text("ignored files stay")
    first, _ = await take(workspace, "a", workspace.base)
    later = await workspace.commit_files(first, {"docs/note.md": b"by the engine"}, message="note", when=WHEN)
    again, same_home = await workspace.clone("a", later, token="ask 2")
    assert (again, same_home) == (work, home)
    assert (home / "memory").exists()
    assert (work / "docs" / "note.md").read_text() == "by the engine"
    assert (work / "cache.log").exists()
    assert git_in(work, "status", "--porcelain") == ""
    assert git_in(work, "rev-parse", "HEAD") == later
    git_in(work, "fsck", "--full")
    assert await take(workspace, "a", later) == (later, ())
    assert await rescued(workspace) == {}


async def test_the_same_ask_finds_its_clone_as_the_agent_left_it(workspace: GitWorkspace, begin: Begin) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="ask 1")
    (work / "half").write_text("done")
    restarted = begin()
    await restarted.begin()
    again, _ = await restarted.clone("a", workspace.base, token="ask 1")
    assert (again / "half").read_text() == "done"


@pytest.mark.spec("RUN-4")
async def test_what_nobody_took_is_rescued_before_a_session_goes_on(workspace: GitWorkspace) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="ask 1")
    (work / "untaken").write_text("precious")
    await workspace.clone("a", workspace.base, token="ask 2")
    assert not (work / "untaken").exists()
    kept = await rescued(workspace)
    assert list(kept) == ["a-1"]
    assert await workspace.read(kept["a-1"], "untaken") == b"precious"


async def test_a_session_survives_an_agent_that_collects_garbage(workspace: GitWorkspace) -> None:
    """Only new objects are added to a used clone, but only if it still has all objects from before."""
    work, _ = await workspace.clone("a", workspace.base, token="1")
    (work / "mine").write_text("1")
    head, _ = await take(workspace, "a", workspace.base)
    git_in(work, "checkout", "-q", "--orphan", "nothing")
    git_in(work, "rm", "-rq", "--cached", ".")
    git_in(work, "-c", "user.name=x", "commit", "-q", "--allow-empty", "-m", "empty")
    git_in(work, "branch", "-D", "-q", "work")
    git_in(work, "-c", "gc.reflogExpireUnreachable=now", "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
    await workspace.clone("a", head, token="2")
    git_in(work, "fsck", "--full")
    assert git_in(work, "log", "--format=%H").splitlines() == [head]


# -- ends ------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RUN-4")
async def test_a_dirty_clone_and_the_agents_own_commits_go_to_a_rescue_ref(workspace: GitWorkspace) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    git_in(work, "checkout", "-q", "-b", "idea")
    (work / "idea").write_text("clever")
    git_in(work, "add", "-A")
    git_in(work, "commit", "-q", "-m", "an idea")
    own = git_in(work, "rev-parse", "HEAD")
    git_in(work, "checkout", "-q", "work")
    git_in(work, "pack-refs", "--all")
    (work / "dirty").write_text("half done")
    await workspace.drop_clone("a", "attempt 1 died")
    assert not work.exists()
    kept = await rescued(workspace)
    store = workspace.store.folder
    assert git_in(store, "show", f"{kept['a-1']}:dirty") == "half done"
    assert git_in(store, "show", f"{own}:idea") == "clever"
    assert own in git_in(store, "rev-list", kept["a-1"]).splitlines()
    assert "attempt 1 died" in git_in(store, "show", "-s", "--format=%B", kept["a-1"])


@pytest.mark.spec("RUN-4")
async def test_a_clone_whose_work_was_taken_leaves_no_rescue_ref(workspace: GitWorkspace) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    (work / "mine").write_text("1")
    head, _ = await take(workspace, "a", workspace.base)
    await workspace.drop_clone("a", "done")
    await workspace.drop_clone("a", "done")
    assert await rescued(workspace) == {}
    assert git_in(workspace.store.folder, "for-each-ref", "--contains", head)


class CountedGit(Git):
    """Git as ever; it keeps a list of what it was asked."""

    def __init__(self, git: Git) -> None:
        super().__init__(git.folder, git.lock)
        self.asked: list[str] = []

    async def attempt(self, *arguments: str, **options: Any) -> tuple[int, bytes, str]:
        self.asked.append(next(word for word in arguments if not word.startswith("--")))
        return await super().attempt(*arguments, **options)


@pytest.mark.parametrize("writes", [True, False])
async def test_dropping_a_clone_whose_work_was_taken_takes_one_look_of_git(
    workspace: GitWorkspace, writes: bool
) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    if writes:
        (work / "mine").write_text("1")
    await take(workspace, "a", workspace.base)
    workspace.store.git = counted = CountedGit(workspace.store.git)
    await workspace.drop_clone("a", "done")
    assert counted.asked == ["ls-files"]


@pytest.mark.spec("RUN-4")
@pytest.mark.parametrize("harm", ["none", "lost", "cut off", "of another tree"])
async def test_what_changes_after_the_work_was_taken_is_rescued(workspace: GitWorkspace, harm: str) -> None:
    """Also if the index of the taken work is damaged, or belongs to an earlier state of the files."""
    work, _ = await workspace.clone("a", workspace.base, token="1")
    index = workspace.folder / "clones" / "a" / "taken.index"
    (work / "mine").write_text("1")
    await take(workspace, "a", workspace.base)
    (work / "mine").write_text("2")
    if harm == "lost":
        index.unlink()
    elif harm == "cut off":
        index.write_bytes(index.read_bytes()[:-7])
    elif harm == "of another tree":  # as after a power cut between the two files
        earlier = (index.parent / "taken.json").read_bytes()
        await take(workspace, "a", workspace.base)
        (index.parent / "taken.json").write_bytes(earlier)
    await workspace.drop_clone("a", "done")
    kept = await rescued(workspace)
    assert [await workspace.read(commit, "mine") for commit in kept.values()] == [b"2"]


@pytest.mark.spec("RUN-4")
async def test_tidy_leaves_refs_and_nothing_else(workspace: GitWorkspace) -> None:
    for name in ("a", "b c"):
        work, _ = await workspace.clone(name, workspace.base, token="1")
        (work / "left").write_text(name)
    (workspace.folder / "rooms" / "old").mkdir()
    await workspace.clean_up()
    assert {path.name for path in workspace.folder.iterdir()} <= {"git.lock"}
    kept = await rescued(workspace)
    assert {(await workspace.read(commit, "left") or b"").decode() for commit in kept.values()} == {"a", "b c"}
    await workspace.clean_up()


async def test_rescuing_twice_makes_one_ref(workspace: GitWorkspace) -> None:
    work, _ = await workspace.clone("a", workspace.base, token="1")
    (work / "left").write_text("x")
    first = await workspace.clones.rescue("a", "crash")
    (workspace.folder / "clones" / "a" / "taken.json").unlink()
    assert await workspace.clones.rescue("a", "crash") == first
    assert len(await rescued(workspace)) == 1


async def test_a_half_made_clone_is_made_anew(workspace: GitWorkspace) -> None:
    folder = workspace.folder / "clones" / "a"
    (folder / "work").mkdir(parents=True)
    (folder / "work" / "app.py").write_text("half written")
    (folder / "index.lock").touch()
    work, _ = await workspace.clone("a", workspace.base, token="1")
    assert (work / "app.py").read_text() == "print('hello')\n"


async def test_state_that_cannot_be_written_is_one_sentence(
    workspace: GitWorkspace, begin: Begin, tmp_path: Path
) -> None:
    (workspace.folder / "clones").write_text("in the way")
    with pytest.raises(StateFailed, match="free space or make the folder writable"):
        await workspace.clone("a", workspace.base, token="1")
    (tmp_path / "state" / "runs" / "r2").write_text("in the way")
    with pytest.raises(StateFailed, match="cannot write"):
        await begin(run="r2").begin()


async def test_nothing_is_taken_from_a_clone_that_is_elsewhere(workspace: GitWorkspace) -> None:
    await workspace.clone("a", workspace.base, token="1")
    with pytest.raises(StateFailed, match="is not at"):
        await take(workspace, "a", "0" * 40)
    with pytest.raises(StateFailed, match="is not at"):
        await take(workspace, "never made", workspace.base)


def test_folder_names_are_safe_and_tell_names_apart() -> None:
    assert clone_folder_name("purple-team-a.2") == "purple-team-a.2"
    odd = ["chunk 1A/purple", "chunk-1A-purple", "../../etc", "x.lock", "ü" * 300, "-" * 5, "", ".", "a..b"]
    names = [clone_folder_name(one) for one in odd]
    assert len(set(names)) == len(odd)
    assert not any("/" in one or ".." in one or len(one) > 120 or one in ("", ".") for one in names)


# -- crashes ---------------------------------------------------------------------------------------------------------


# -- damage ----------------------------------------------------------------------------------------------------------

DAMAGE = {
    "empty": b"",
    "garbage": b"\xff\x00garbage {[\n",
    "json": b'{"head": 1, "packs": []}',
    "cut": None,
    "gone": None,
}


def damage(file: Path, how: str) -> None:
    if how == "gone":
        file.unlink()
    elif how == "cut":
        file.write_bytes(file.read_bytes()[:-7])
    else:
        file.write_bytes(DAMAGE[how] or b"")


@pytest.mark.spec("RUN-4")
@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("file", ["state.json", "index"])
@pytest.mark.many(5)
async def test_a_damaged_clone_is_set_aside_and_made_anew(
    workspace: GitWorkspace, begin: Begin, file: str, how: str
) -> None:
    work, home = await workspace.clone("a", workspace.base, token="1")
    (work / "mine").write_text("precious")
    (home / "notes").write_text("mine too")
    damage(work.parent / file, how)
    restarted = begin()
    await restarted.begin()
    anew, _ = await restarted.clone("a", workspace.base, token="1")
    assert git_in(anew, "status", "--porcelain") == ""
    (anew / "new").write_text("1")
    assert (await take(restarted, "a", workspace.base))[1] == ("new",)
    (aside,) = (restarted.folder / "damaged").iterdir()
    assert (aside / "work" / "mine").read_text() == "precious"
    assert (aside / "home" / "notes").read_text() == "mine too"


@pytest.mark.spec("RUN-4")
@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("file", ["state.json", "index"])
@pytest.mark.many(5)
async def test_dropping_and_tidying_go_on_past_a_damaged_clone(workspace: GitWorkspace, file: str, how: str) -> None:
    for name in ("a", "b", "c"):
        work, _ = await workspace.clone(name, workspace.base, token="1")
        (work / "mine").write_text(name)
    for name in ("a", "b"):
        damage(workspace.folder / "clones" / name / file, how)
    await workspace.drop_clone("a", "its call died")
    await workspace.clean_up()
    assert not (workspace.folder / "clones").exists()
    kept = sorted((workspace.folder / "damaged").iterdir())
    assert [(one / "work" / "mine").read_text() for one in kept] == ["a", "b"]
    assert list(await rescued(workspace)) == ["c-1"]


async def test_a_clone_that_was_never_whole_leaves_nothing(workspace: GitWorkspace) -> None:
    half = workspace.folder / "clones" / "a"
    (half / "work").mkdir(parents=True)
    (half / "making").touch()
    work, _ = await workspace.clone("a", workspace.base, token="1")
    assert git_in(work, "status", "--porcelain") == ""
    assert not (work.parent / "making").exists()
    assert not (workspace.folder / "damaged").exists()


@pytest.mark.spec("RUN-4")
async def test_a_rescue_never_takes_the_place_of_another(workspace: GitWorkspace) -> None:
    for number in range(2):
        work, _ = await workspace.clone("a", workspace.base, token=str(number))
        (work / "mine").write_text(str(number))
        await workspace.drop_clone("a", "gone")
    second = (await rescued(workspace))["a-2"]
    await workspace.store.git("update-ref", "-d", workspace.store.ref("rescue/a-1"))
    work, _ = await workspace.clone("a", workspace.base, token="3")
    (work / "mine").write_text("3")
    await workspace.drop_clone("a", "gone")
    assert (await rescued(workspace))["a-2"] == second
    assert len(await rescued(workspace)) == 2


CRASH = """
import asyncio, os, sys
from pathlib import Path
from trued.wire import Confinement
from trued.workspace.git.workspace import GitWorkspace
async def main(repo, home, base, ask):
    w = GitWorkspace(Path(repo), Path(home), "r1", "trued/r1", base, Confinement())
    await w.begin()
    work, _ = await w.clone("a", base, token="1")
    if not (work / "mine").exists():
        (work / "mine").write_text("1")
    taken = await w.commit_clone("a", base, author="x", message="m", when=1.0)
    head = await w.commit_files(taken.commit, {"n": b"1"}, message="n", when=2.0)
    await w.publish(head)
    await w.clone("a", head, token="2")
    again = await w.commit_clone("a", head, author="x", message="m", when=3.0)
    await w.drop_clone("a", "end")
    print(taken.commit, head, again.commit == head)
asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.spec("RUN-4")
@pytest.mark.slow
async def test_killed_anywhere_the_second_try_comes_to_the_same_end(repo: Path, tmp_path: Path) -> None:
    base = git_in(repo, "rev-parse", "HEAD")
    before = snapshot(repo / "lib")
    source = str(Path(__file__).parents[2] / "src")

    def start(home: Path) -> subprocess.Popen[str]:
        argv = [sys.executable, "-c", CRASH, str(repo), str(home), base, "1"]
        return subprocess.Popen(argv, env={**os.environ, "PYTHONPATH": source}, stdout=subprocess.PIPE, text=True)

    whole = start(tmp_path / "whole")
    expected = whole.communicate(timeout=60)[0]
    assert expected.endswith("True\n")
    for number in range(6):
        home = tmp_path / f"home{number}"
        killed = start(home)
        await asyncio.sleep(0.15 + 0.05 * number)
        killed.kill()
        killed.communicate()
        if number % 2:
            git_in(repo, "update-ref", "-d", "refs/heads/trued/r1")
        second = start(home)
        assert second.communicate(timeout=60)[0] == expected
        assert not [path for path in (home / "runs" / "r1" / "clones").glob("*")]
    assert snapshot(repo / "lib") == before
    git_in(repo, "fsck", "--full")
