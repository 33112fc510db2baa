"""What an agent leaves in its clone is read by the page, and nothing of it is run."""

import json
import subprocess
import threading
from pathlib import Path

import pytest

from tests.page.made_up import demo
from trued.page.reader import Reader
from trued.page.work_diff import CLONE_SHOWN, CloneDiffs, DiffParts, read_clone
from trued.support.hashing import folder_name
from trued.workspace.git.clones import Clones
from trued.workspace.git.store import Store


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=u", "-c", "user.email=u@example.invalid", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.spec("PAGE-6")
async def test_looking_at_a_clone_runs_no_filter_of_a_submodule_that_an_agent_made_there(tmp_path: Path) -> None:
    repository, home, ran = tmp_path / "repository", tmp_path / "home", tmp_path / "ran"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    (repository / "a.txt").write_text("a\n")
    git(repository, "add", "-A")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(repository, "commit", "-qm", "base")
    base = git(repository, "rev-parse", "HEAD")
    store = Store(repository, home, "r-1")
    await store.begin(base)
    clone = await Clones(store, home / "runs" / "r-1" / "clones").provide("dev", base, "token")
    sub = clone.work / "sub"
    sub.mkdir(exist_ok=True)
    git(sub, "init", "-q")
    (sub / "q").write_text("hello\n")
    git(sub, "add", "q")
    script = sub / ".git" / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    script.chmod(0o755)
    git(sub, "config", "filter.evil.clean", str(script))
    (sub / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    (sub / "q").write_text("hellp\n")
    (sub / ".git" / "HEAD").write_text("1" * 40 + "\n")
    (clone.work / "a.txt").write_text("b\n" * 200_000)
    parts = read_clone(str(store.folder), clone.folder)
    assert parts is not None
    assert parts[-1][1].startswith("+b\n")
    assert len("".join(lines for _, lines in parts)) <= CLONE_SHOWN  # however much was written
    assert not ran.exists()


@pytest.mark.spec("PAGE-6")
def test_a_clone_that_is_slow_to_read_holds_up_no_page(tmp_path: Path) -> None:
    read, going_on, looks = threading.Event(), threading.Event(), list[Path]()

    def slow(place: str, folder: Path) -> DiffParts | None:
        looks.append(folder)
        going_on.wait()
        read.set()
        return (("+", "+b\n"),)

    clones = CloneDiffs(slow)
    assert clones.newest("", tmp_path) == clones.newest("", tmp_path) == ()
    going_on.set()
    read.wait()
    while not (found := clones.newest("", tmp_path)):
        pass
    assert (found, looks) == ((("+", "+b\n"),), [tmp_path])
    clones.close()

    late = CloneDiffs(lambda place, folder: looks.append(folder))  # not in time
    for _ in range(3):
        late.newest("", tmp_path)
    late.close()
    assert len(looks) <= 2  # it is left alone for a while


@pytest.mark.spec("PAGE-6")
def test_the_clone_of_the_newest_attempt_is_read(tmp_path: Path) -> None:
    record = demo(tmp_path)
    reader = Reader(tmp_path, {})
    looks = list[Path]()
    clones = CloneDiffs(lambda place, folder: looks.append(folder))
    try:
        call = reader.calls(record)[0]
        run = reader.store.folder(record.id)
        for attempt in (1, 2, 9, 10):
            folder = run / "spool" / f"{folder_name(call.key)}.{attempt}"
            folder.mkdir(exist_ok=True)
            order = {"folder": str(run / "clones" / f"dev-{attempt}" / "work")}
            (folder / "order.json").write_text(json.dumps(order))
        clones.of(reader.store, record, call)
    finally:
        clones.close()
        reader.close()
    assert [one.name for one in looks] == ["dev-10"]
