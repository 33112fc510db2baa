"""TurnLog: records the working tree with which each turn or subagent of Claude Code began, to find what it changed."""

import contextlib
import hashlib
import time
from pathlib import Path

from trued.errors import StateFailed
from trued.model import Value
from trued.support import atomic_files

BUSY_S = 12 * 3600.0  # a session whose last turn began longer ago is taken to be over


class Beginning(Value):
    """The working tree when a turn or a subagent began."""

    root: str  # the worktree; the same files in another worktree are not the same work
    tree: str
    at: float = 0.0
    ended: float = 0.0  # for a subagent: when it was allowed to stop
    # Further facts, to find work that does not show in `tree`:
    head: str = ""  # the commit that was checked out
    tips: tuple[str, ...] = ()  # trees of local branches, of tags and of the stash
    elsewhere: dict[str, str] = {}  # noqa: RUF012  another worktree of the repository → its tree; "": unknown
    busy: tuple[str, ...] = ()  # other worktrees in which other sessions worked at that time
    remotes: tuple[str, ...] | None = None  # commits of remote-tracking branches; None: unknown
    left: tuple[str, ...] | None = None  # commits that were made and then left by a checkout; None: unknown
    # nested repository → its tree, unless it is at the commit that `head` names; "": unknown
    inside: dict[str, str] = {}  # noqa: RUF012
    ignored: str = ""  # ignore rules outside the tree, as latin-1

    @property
    def known(self) -> set[str]:
        """The trees that existed at the beginning."""
        return {self.tree, *self.tips, *self.elsewhere.values()}

    @property
    def unseen(self) -> tuple[str, ...]:
        """Nested repositories whose files are unknown: changes to them are not noticed."""
        return tuple(path for path, tree in self.inside.items() if not tree)

    def is_still(self, root: Path, tree: str) -> bool:
        """Whether the work is unchanged since this beginning: the same worktree, with the same files."""
        return (self.root, self.tree) == (str(root), tree)


def roots_of_others(folder: Path, session: str) -> set[str]:
    """Worktrees in which other sessions began their newest turn, less than BUSY_S ago. `folder`: the logs of all
    sessions."""
    roots, since = set[str](), time.time() - BUSY_S
    for other in folder.iterdir() if folder.is_dir() else ():
        turns = [] if other.name == _hashed_name(session) else [*other.glob("turn-*.json")]
        newest = max(turns, key=lambda path: path.stat().st_mtime, default=None)
        if newest is not None and newest.stat().st_mtime > since:
            with contextlib.suppress(OSError, ValueError):
                roots.add(Beginning.model_validate_json(newest.read_bytes()).root)
    return roots


class TurnLog:
    """How the turns and subagents of one session began: one file for each, in a folder of private state.

    If a turn has a prompt id, its beginning is written only once: an agent cannot change it by sending the prompt event
    again.
    """

    def __init__(self, folder: Path, session: str) -> None:
        self.folder = folder / _hashed_name(session)

    def begin_turn(self, prompt: str, beginning: Beginning) -> None:
        """Record a turn's beginning. Older versions of Claude Code send no prompt id; then this beginning replaces the
        beginning of the previous turn."""
        self._write("first", beginning, again=False)
        self._write(f"turn-{_hashed_name(prompt)}", beginning, again=not prompt)

    def turn(self, prompt: str) -> Beginning | None:
        return self._read_beginning(f"turn-{_hashed_name(prompt)}")

    def first(self) -> Beginning | None:
        """The beginning of the session's first turn: the tree as the user handed it to the session."""
        return self._read_beginning("first")

    def begin_agent(self, agent: str, beginning: Beginning) -> None:
        self._write(f"agent-{_hashed_name(agent)}", beginning, again=False)

    def end_agent(self, agent: str) -> None:
        if beginning := self.agent(agent):
            self._write(f"agent-{_hashed_name(agent)}", beginning.model_copy(update={"ended": time.time()}), again=True)

    def agent(self, agent: str) -> Beginning | None:
        return self._read_beginning(f"agent-{_hashed_name(agent)}")

    def is_alone(self, agent: str) -> bool:
        """Whether this subagent made all changes since it began: no other subagent of the session has worked in that
        time."""
        beginning = self.agent(agent)
        others = [
            self._read_beginning(path.stem)
            for path in self.folder.glob("agent-*.json")
            if path.stem[6:] != _hashed_name(agent)
        ]
        return beginning is not None and not any(
            other and (not other.ended or other.ended > beginning.at) for other in others
        )

    def _write(self, name: str, beginning: Beginning, *, again: bool) -> None:
        path = self.folder / f"{name}.json"
        if path.exists() and not again:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            atomic_files.write(path, beginning.model_dump_json(), sync=False)
        except OSError as error:
            raise StateFailed(f"cannot write {path}: {error.strerror}") from error

    def _read_beginning(self, name: str) -> Beginning | None:
        with contextlib.suppress(OSError, ValueError):  # unreadable counts as missing: then the tree is judged
            return Beginning.model_validate_json((self.folder / f"{name}.json").read_bytes())
        return None


def _hashed_name(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
