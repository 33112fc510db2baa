"""Parses git's input to a pre-push hook, and selects the commits to judge."""

from dataclasses import dataclass

from trued.engine.worktree import Checkout
from trued.errors import BadInput
from trued.gate.judge import Judge, JudgedTree
from trued.support.lazy_regex import lazy_regex

_HASH = lazy_regex(r"[0-9a-f]{40}|[0-9a-f]{64}")
MOST_BYTES = 16 * 2**20  # longer input of git is refused, because cutting it off would leave refs unchecked


@dataclass(frozen=True, slots=True)
class PushedRef:
    """One ref of a push."""

    local: str
    commit: str  # "" when the remote's ref is deleted
    remote: str


def parse_pushed_refs(data: bytes) -> list[PushedRef]:
    """Parse the lines that git writes to a pre-push hook. Raises BadInput if the input is anything else, or too
    long."""
    if len(data) > MOST_BYTES:
        raise BadInput("the push has too many refs", then="push them in several parts")
    refs = []
    for number, line in enumerate(data.decode(errors="replace").splitlines(), start=1):
        fields = line.split(" ")
        if not line.strip():
            continue
        if len(fields) != 4 or not _HASH.fullmatch(fields[1]) or not _HASH.fullmatch(fields[3]):
            then = "this command is for git's pre-push hook; `trued gate` judges the working tree"
            raise BadInput("this is not what git writes to a pre-push hook", f"stdin:{number}", then)
        refs.append(PushedRef(fields[0], "" if not fields[1].strip("0") else fields[1], fields[2]))
    return refs


def commits_to_check(checkout: Checkout, base: str, refs: list[PushedRef]) -> tuple[dict[str, list[str]], list[str]]:
    """Commit to judge → the refs that it is pushed to. Also one sentence for each ref that passes without a check.

    Raises BadInput for an object that is not in the repository itself: git can also push objects that the repository
    borrows from another one.
    """
    commits: dict[str, list[str]] = {}
    passed: list[str] = []
    for ref in refs:
        commit = checkout.commit(ref.commit) if ref.commit else ""
        if not ref.commit:
            passed.append(f"{ref.remote} is deleted: nothing to check")
        elif not commit:
            if not (kind := checkout.kind(f"{ref.commit}^{{}}")):
                what = f"{ref.commit[:12]}, pushed to {ref.remote}, is not in {checkout.root}"
                raise BadInput(what, then="fetch it into the repository, then push again")
            passed.append(f"{ref.remote} is a {kind}, not a commit: not checked")
        elif checkout.contains(base, commit):
            passed.append(f"{ref.remote} adds nothing to the sealed base: not checked")
        else:
            commits.setdefault(commit, []).append(ref.remote)
    return commits, passed


async def judge_commits(judge: Judge, commits: dict[str, list[str]]) -> dict[str, JudgedTree]:
    return {commit: await judge.judge_commit(commit) for commit in commits}
