"""What a run changed, file by file, and what an agent has changed in its clone. No hook, filter or driver runs."""

import json
import subprocess
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from trued.engine.run_store import RunStore
from trued.model import RunRecord
from trued.reporting.html.calls import ReportedCall
from trued.support.hashing import folder_name
from trued.workspace.git.clones import Clone
from trued.workspace.git.command import git_command, git_environment
from trued.workspace.git.store import Store

WITHIN_S = 10.0
CLONE_WITHIN_S = 2.0  # an agent can make its folder slow to read
AGAIN_S = 2.0  # a clone is not read more often than that
SHOWN = 200_000  # characters of one diff
CLONE_SHOWN = 12_000
LARGE = ("-c", "core.bigFileThreshold=512k")  # a larger file is binary for us
# A submodule's folder in a clone has settings of the agent's own, and git would run their filters to compare it.
PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=all")

DiffParts: TypeAlias = tuple[tuple[str, str], ...]  # sort of lines (+, -, @ or ""), and the lines themselves


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file that differs between base and head."""

    path: str
    added: int  # lines; -1 for a file that is not text
    removed: int


def changed_files(store: RunStore, record: RunRecord) -> tuple[ChangedFile, ...] | None:
    """Files that differ between the run's base and its head; None if the commits cannot be found."""
    if record.head in ("", record.base):
        return ()
    for place in _places(store, record):
        found = _listed(place, record.base, record.head)
        if found is not None:
            return found
    return None


@lru_cache(maxsize=64)
def _listed(place: str, base: str, head: str) -> tuple[ChangedFile, ...] | None:
    """Cached, because commits never change."""
    told = _git(place, "diff-tree", "-r", "-z", "--numstat", *PLAIN, base, head)
    if told is None:
        return None
    rows = [one.split("\t", 2) for one in told.decode("utf-8", "replace").split("\0") if one.count("\t") >= 2]
    return tuple(ChangedFile(path, _number(added), _number(removed)) for added, removed, path in rows)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else -1


def file_diff(store: RunStore, record: RunRecord, path: str) -> DiffParts:
    """The diff of one file, which is named literally: it never leads out of the repository."""
    for place in _places(store, record):
        told = _diffed(place, record.base, record.head, path)
        if told is not None:
            return diff_parts(told)
    return ()


@lru_cache(maxsize=64)
def _diffed(place: str, base: str, head: str, path: str) -> str | None:
    told = _git(place, *LARGE, "diff-tree", "-p", "-r", *PLAIN, base, head, "--", f":(top,literal){path}")
    return None if told is None else told[: 4 * SHOWN].decode("utf-8", "replace")[:SHOWN]


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A commit of the run that changed a file."""

    commit: str
    at: float
    subject: str


def file_versions(store: RunStore, record: RunRecord, path: str) -> tuple[FileVersion, ...]:
    """The run's commits that changed a file, the newest first."""
    for place in _places(store, record) if record.head not in ("", record.base) else ():
        found = _versions(place, record.base, record.head, path)
        if found is not None:
            return found
    return ()


@lru_cache(maxsize=64)
def _versions(place: str, base: str, head: str, path: str) -> tuple[FileVersion, ...] | None:
    told = _git(
        place, "log", "-z", "-n", "200", "--format=%H%x09%ct%x09%s", f"{base}..{head}", "--", f":(top,literal){path}"
    )
    if told is None:
        return None
    rows = [one.split("\t", 2) for one in told.decode("utf-8", "replace").split("\0") if one.count("\t") >= 2]
    return tuple(FileVersion(commit, float(at), subject[:200]) for commit, at, subject in rows)


def version_text(store: RunStore, record: RunRecord, commit: str, path: str) -> str:
    """The text of a file at one of its versions."""
    for place in _places(store, record):
        told = _git(place, "cat-file", "blob", f"{commit}:{path}")
        if told is not None:
            return told[: 4 * SHOWN].decode("utf-8", "replace")[:SHOWN]
    return ""


def clone_diff(store: RunStore, record: RunRecord, call: ReportedCall) -> DiffParts:
    """What the agent of a call at work has changed up to now."""
    spool = store.folder(record.id) / "spool"
    orders = sorted(spool.glob(f"{folder_name(call.key)}.*/order.json"))
    try:
        folder = Path(json.loads(orders[-1].read_bytes())["folder"])
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return ()
    if folder.parent.parent != store.folder(record.id) / "clones":
        return ()
    place = str(Store(Path(record.repository), store.home, record.id).folder)
    return _clone_diff(place, str(folder.parent), int(time.monotonic() / AGAIN_S))


@lru_cache(maxsize=32)
def _clone_diff(place: str, folder: str, _: int) -> DiffParts:
    clone = Clone(Path(folder))
    if clone.state is None:
        return ()
    variables = {"GIT_INDEX_FILE": str(clone.index), "GIT_OPTIONAL_LOCKS": "0"}
    words = (*LARGE, f"--work-tree={clone.work}", "diff", *PLAIN)
    told = _git(place, *words, variables=variables, within_s=CLONE_WITHIN_S)
    return diff_parts((told or b"")[: 4 * CLONE_SHOWN].decode("utf-8", "replace")[:CLONE_SHOWN])


def _places(store: RunStore, record: RunRecord) -> tuple[str, ...]:
    """Where the run's commits may be: in its store, else in the repository itself."""
    own, repository = Store(Path(record.repository), store.home, record.id).folder, Path(record.repository)
    inside = repository / ".git"
    return tuple(str(one) for one in (own, inside if inside.exists() else repository) if one.exists())


def diff_parts(text: str) -> DiffParts:
    """The diff with neighbouring lines of one sort together; git's own headings are left out."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines(keepends=True):
        sort = line[:1] if line[:1] in "+-@" else ""
        if line.startswith(("index ", "--- ", "+++ ", "new file mode", "deleted file mode", "old mode", "new mode")):
            continue
        if line.startswith("diff --git "):
            sort, line = "@", f"{line.rstrip().rpartition(' b/')[2]}\n"
        if found and found[-1][0] == sort:
            found[-1][1].append(line)
        else:
            found.append((sort, [line]))
    return tuple((sort, "".join(lines)) for sort, lines in found)


def _git(place: str, *words: str, variables: dict[str, str] | None = None, within_s: float = WITHIN_S) -> bytes | None:
    try:
        done = subprocess.run(
            git_command([f"--git-dir={place}", *words]),
            env={**git_environment(), **(variables or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=within_s,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
