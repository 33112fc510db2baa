"""Lets an agent borrow the user's login: records the loan, copies the login into the agent's HOME, copies it back if it
was renewed, and removes the copy in the end.

Agent programs renew their login, and the provider then invalidates the old login. If the new login were lost with the
agent's HOME, the user would have to log in again. So the new login is copied back, on two conditions: it is a renewal
of the old login, and only agents of this run have changed the user's own file meanwhile.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from trued.agents import credentials
from trued.support import atomic_files
from trued.support.file_lock import file_lock
from trued.support.hashing import content_hash

NOTE, WROTE = "lent.json", "lent.wrote"
LOCK = "lent.lock"  # of all logins of a run, because several calls can have copies of one login
FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

WriteCopy = Callable[[str, bytes], None]
LoginEvent = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class LoanRecord:
    """A borrowed login: stored as lent.json in the call's folder while copies can be in the agent's HOME."""

    user: str  # the user's HOME
    home: str  # the agent's HOME
    files: dict[str, str] = field(default_factory=dict)  # name → hash of the last content that both HOMEs had


def lend_login(folder: Path, user: Path, home: Path, names: tuple[str, ...], write_copy: WriteCopy) -> dict[str, bytes]:
    """Copy the user's credential files into the agent's HOME with `write_copy`. Before that, `return_login` takes back
    what an earlier start of the call left there. Returns the content of each copied file, by the file's name."""
    return_login(folder)
    contents = {name: content for name in names if (content := credentials.read_credentials(user / name)) is not None}
    if contents:
        _write_record(
            folder,
            LoanRecord(str(user), str(home), {name: content_hash(content) for name, content in contents.items()}),
        )
    for name, content in contents.items():
        write_copy(name, content)
    return contents


def sync_login(folder: Path, write_copy: WriteCopy) -> list[LoginEvent]:
    """Copy credentials that the agent renewed to the user's HOME, and the user's changes to the agent's HOME. This is
    called while the agent works. Returns the events to record."""
    note = _read_record(folder)
    if note is None:
        return []
    events: list[LoginEvent] = []
    with file_lock(folder.parent / LOCK):
        for name, known in note.files.items():
            now, new_events, _ = _sync_file(folder, note, name, known, write_copy)
            events += new_events
            note = replace(note, files={**note.files, name: now})
        _write_record(folder, note)
    return events


def return_login(folder: Path) -> list[LoginEvent]:
    """Copy credentials that the agent renewed to the user's HOME, then remove the agent's copies and the record of the
    loan. This is called when the agent has ended. Returns the events to record."""
    note = _read_record(folder)
    if note is None:
        return []
    events: list[LoginEvent] = []
    try:
        with file_lock(folder.parent / LOCK):
            for name, known in note.files.items():
                _, new_events, why = _sync_file(folder, note, name, known, None)
                events += new_events
                if why:
                    events.append(("login not taken back", {"file": name, "why": why}))
    except OSError as error:
        events.append(("login not taken back", {"file": ", ".join(note.files), "why": str(error.strerror)}))
    for name in note.files:
        _remove(Path(note.home), name)
    (folder / NOTE).unlink(missing_ok=True)
    return events


def return_login_of_dead_call(folder: Path) -> None:
    """Like `return_login`, for a call whose supervisor died; the events are added to that call's log."""
    if events := return_login(folder):
        lines = [json.dumps({"at": time.time(), "kind": kind} | data) for kind, data in events]
        with contextlib.suppress(OSError), (folder / "events.jsonl").open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))


def read_agent_copy(home: Path, name: str) -> bytes | None:
    """The content of the agent's copy; None if there is no plain file. The agent could have put a link there, so links
    are not followed."""
    with contextlib.suppress(OSError), _open_parent(home, name) as folder:
        return credentials.read_credentials(PurePosixPath(name).name, folder=folder)
    return None


def _sync_file(
    folder: Path, note: LoanRecord, name: str, known: str, write_copy: WriteCopy | None
) -> tuple[str, list[LoginEvent], str]:
    """Sync one file between the user's HOME and the agent's. `known` is the hash of the last content that both files
    had. Returns that hash after the sync, the events to record, and why a change by the agent was not copied back (""
    if there was no change, or if it was copied). `write_copy` writes the agent's copy; it is None after the agent has
    ended, and then the copy stays as it is."""
    user = Path(note.user, name)
    agents_copy, users_file = read_agent_copy(Path(note.home), name), credentials.read_credentials(user)
    if agents_copy is None or users_file is None or agents_copy == users_file:
        return known if agents_copy is None or users_file is None else content_hash(users_file), [], ""
    if content_hash(agents_copy) == known:
        if write_copy is not None:
            write_copy(name, users_file)
            return content_hash(users_file), [], ""
        return known, [], ""
    why = _why_not_taken_back(folder, known, agents_copy, users_file)
    if not why:
        why = _write_users_file(user, agents_copy)
    if why:
        return known, [], why
    with (folder.parent / WROTE).open("a", encoding="ascii") as file:
        file.write(f"{content_hash(agents_copy)}\n")
    return content_hash(agents_copy), [("login refreshed", {"file": name})], ""


def _why_not_taken_back(folder: Path, known: str, agents_copy: bytes, users_file: bytes) -> str:
    old, new = credentials.parse_credentials(users_file), credentials.parse_credentials(agents_copy)
    if old is None or new is None:
        return "it is no longer a JSON object"
    if why := credentials.why_not_renewal(old, new):
        return f"it is not the login that was borrowed: {why}"
    if content_hash(users_file) == known:
        return "the agent's copy is older than your file" if credentials.expiry(new) < credentials.expiry(old) else ""
    if content_hash(users_file) not in _hashes_written(folder):
        return "your file has changed meanwhile"
    return "" if credentials.expiry(new) > credentials.expiry(old) else "your file has a newer login from another agent"


def _write_users_file(path: Path, content: bytes) -> str:
    """Write the file atomically, readable for its owner only. If `path` is a link, write the file that it leads to.
    Return why the file cannot be written; "" if it was written."""
    target = Path(os.path.realpath(path))
    aside = target.with_name(f".{target.name}.trued-{os.getpid()}")
    try:
        aside.unlink(missing_ok=True)  # a killed process with our process id could have left it
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:  # noqa: PTH123
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(target)
    except OSError as error:
        aside.unlink(missing_ok=True)
        return f"it cannot be written: {error.strerror}"
    return ""


def _remove(home: Path, name: str) -> None:
    with contextlib.suppress(OSError), _open_parent(home, name) as folder:
        os.unlink(PurePosixPath(name).name, dir_fd=folder)


@contextlib.contextmanager
def _open_parent(home: Path, name: str) -> Iterator[int]:
    """The folder of a file in the agent's HOME, opened without following a link."""
    with contextlib.ExitStack() as opened:
        handle: int | None = None
        for part in (str(home), *PurePosixPath(name).parts[:-1]):
            handle = os.open(part, FOLDER, dir_fd=handle)
            opened.callback(os.close, handle)
        assert handle is not None  # noqa: S101  (home itself is always opened)
        yield handle


def _read_record(folder: Path) -> LoanRecord | None:
    try:
        stored: Mapping[str, Any] = json.loads((folder / NOTE).read_bytes())
        return LoanRecord(str(stored["user"]), str(stored["home"]), dict(stored["files"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_record(folder: Path, note: LoanRecord) -> None:
    atomic_files.write(folder / NOTE, json.dumps(asdict(note)), sync=False)


def _hashes_written(folder: Path) -> list[str]:
    try:
        return (folder.parent / WROTE).read_text("ascii", "replace").split()
    except OSError:
        return []
