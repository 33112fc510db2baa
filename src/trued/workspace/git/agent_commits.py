"""Reads commits that an agent made in its clone. Commits are copied by hash; the agent's files are never trusted."""

import os
import stat
from pathlib import Path

from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import plain_line
from trued.workspace.git.command import as_alternate
from trued.workspace.git.store import Store

TIPS = 64
SUBJECTS = 20
WITHIN_S = 20.0  # timeout of a git that reads the agent's object folder: a pipe in that folder could block git for ever
_HASH = lazy_regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_READ_BYTES = 1 << 20


def ref_tips(git: Path) -> dict[str, str]:
    """Ref → commit, as read from the files of the agent's `.git`; HEAD comes first, and there are at most TIPS."""
    if git.is_symlink() or not git.is_dir():
        return {}
    tips = _packed(git / "packed-refs")
    for top, folders, files in os.walk(git / "refs"):
        folders[:] = sorted(folders)[:TIPS]
        for name in sorted(files)[:TIPS]:
            path = Path(top, name)
            if hashed := _HASH.fullmatch(_read_small_file(path).strip()):
                tips[str(path.relative_to(git))] = hashed.group()
    head = _read_small_file(git / "HEAD").strip()
    target = head.removeprefix("ref: ") if head.startswith("ref: ") else ""
    first = {"HEAD": tips.get(target, head)} if _HASH.fullmatch(tips.get(target, head)) else {}
    return dict(list({**first, **tips}.items())[:TIPS])


def _packed(path: Path) -> dict[str, str]:
    commits = {}
    for line in _read_small_file(path).splitlines():
        commit, _, name = line.partition(" ")
        if _HASH.fullmatch(commit) and name.startswith("refs/"):
            commits[name] = commit
    return commits


def _read_small_file(path: Path) -> str:
    """The text of a small plain file; "" for links, pipes and folders."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as file:
        return file.read(_READ_BYTES).decode(errors="replace") if stat.S_ISREG(os.fstat(handle).st_mode) else ""


async def commit_subjects(store: Store, git: Path, head: str) -> tuple[str, ...]:
    """First lines of the messages of the agent's commits on top of `head`."""
    mine = ref_tips(git).get("HEAD", head)
    if mine == head:
        return ()
    arguments = ("rev-list", f"--max-count={SUBJECTS}", "--no-commit-header", "--format=%s", mine, "--not", head)
    code, out, _ = await store.git.attempt(*arguments, variables=_agent_objects(git), within_s=WITHIN_S)
    text = out.decode(errors="replace") if code == 0 else ""
    return tuple(plain_line(line, 200) for line in text.splitlines())


async def bring_agent_commits(store: Store, git: Path, head: str) -> tuple[str, ...]:
    """Copy the agent's own commits into the store. Returns the newly copied commits at the tips of the agent's refs."""
    tips = [tip for tip in dict.fromkeys(ref_tips(git).values()) if tip != head]  # the store has `head` already
    if not tips:
        return ()
    queries = "".join(f"{tip}\n" for tip in tips).encode()
    known = await store.git("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=queries)
    unknown = [line.split(" ")[0] for line in known.decode().splitlines() if line.endswith(" missing")]
    copied = [await _bring_commit(store, git, tip, head) for tip in unknown]
    return tuple(dict.fromkeys(commit for commit in copied if commit))


async def _bring_commit(store: Store, git: Path, tip: str, head: str) -> str:
    """Copy one commit by packing and unpacking it. So git checks every object, and no file of the agent gets into the
    store. Returns the commit; "" if the copy failed."""
    wanted = f"{tip}\n^{head}\n".encode()
    arguments = ("pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset")
    code, pack, _ = await store.git.attempt(*arguments, stdin=wanted, variables=_agent_objects(git), within_s=WITHIN_S)
    if code != 0 or not pack:
        return ""
    await store.git.attempt("index-pack", "--stdin", stdin=pack, within_s=WITHIN_S)
    commit = f"{tip}^{{commit}}"  # for a tag, its commit
    whole, _, _ = await store.git.attempt("rev-list", "--quiet", "--objects", commit, "--not", head)
    return await store.git.line("rev-parse", "--verify", commit) if whole == 0 else ""


def _agent_objects(git: Path) -> dict[str, str]:
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": as_alternate(git / "objects")}
