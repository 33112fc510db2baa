"""What a gate remembers, outside the repository: its sealed contract, what was installed, and what it decided."""

import contextlib
import fcntl
import hashlib
import json
import os
import time
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import ValidationError

from trued.errors import BadInput, StateFailed
from trued.model import Approval, Contract, Grade, Requirements, Value, Verdict
from trued.proof.contract import contract_hash
from trued.support import atomic_files as durable

Kind = TypeVar("Kind", bound=Value)
ATTEMPTS = 3  # the agent's own limit on blocked stops is higher: ours speaks first
WITHIN_S = 600.0
RECORD_BYTES = 4 * 2**20  # of the record of decisions; then its older half goes


class Installed(Value):
    """One file that was written: as it was, and as it was left."""

    path: str
    before: str | None = None  # its former bytes, as latin-1; None: there was no file
    after: str = ""
    folders: tuple[str, ...] = ()  # made for it
    moved: str = ""  # where the former file went, when it still has to run


class Amendment(Value):
    """A change of the contract after it was sealed, by a person."""

    who: str
    why: str
    at: float
    what: str
    contract: str


class Attested(Value):
    """A person's word for one requirement of one tree."""

    tree: str
    approval: Approval


class Gate(Value):
    """One repository's gate."""

    repository: str  # the .git that its worktrees share
    root: str  # where it was installed
    base: str
    accept: Grade = Grade.ATTESTED
    attempts: int = ATTEMPTS
    within_s: float = WITHIN_S
    requirements_file: str = ""
    terms: str = ""  # of requirements and environment, without what depends on the base
    contract: str = ""  # hash
    sealed_at: float = 0.0
    installed: dict[str, Installed] = {}  # noqa: RUF012 (pydantic copies it)
    amendments: tuple[Amendment, ...] = ()
    attested: tuple[Attested, ...] = ()


class Session(Value):
    """What was said to one agent's session so far."""

    blocks: int = 0
    tree: str = ""  # that was judged last
    given_up: bool = False  # it was let go though nothing was proven


def terms_of(asked: Requirements) -> str:
    """What the user asked for, by hash: the same on every base, and wherever the file lies."""
    data = asked.model_dump(mode="json", exclude={"file": True, "requirements": {"__all__": {"source"}}})
    text = json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def identity(common: Path) -> str:
    """A repository by the folder that all its worktrees share."""
    real = os.path.realpath(common)
    named = Path(real).parent if Path(real).name == ".git" else Path(real)
    name = "".join(one if one.isalnum() and one.isascii() else "-" for one in named.name)[:40]
    return f"{name}-{hashlib.sha256(os.fsencode(real)).hexdigest()[:12]}"


class Keep:
    """The folder of one gate."""

    def __init__(self, home: Path, common: Path) -> None:
        self.home, self.folder = home, home / "gates" / identity(common)

    # -- the gate and its contract -----------------------------------------------------------------------------------

    def gate(self) -> Gate | None:
        return self._read(self.folder / "gate.json", Gate)

    def contract(self, gate: Gate) -> Contract:
        found = self._read(self.folder / "contract.json", Contract)
        if found is None or contract_hash(found) != gate.contract:
            what = "the sealed contract is gone" if found is None else "the sealed contract was changed"
            raise StateFailed(f"{what}: {self.folder / 'contract.json'}; seal it again with `trued gate amend`")
        return found

    def write(self, gate: Gate, contract: Contract | None = None, requirements: bytes = b"") -> None:
        """The contract first: a gate never names one that is not there."""
        self._make(self.folder)
        if contract:
            durable.write(self.folder / "requirements", requirements)
            durable.write(self.folder / "contract.json", contract.model_dump_json())
        durable.write(self.folder / "gate.json", gate.model_dump_json(indent=1))

    def forget(self) -> None:
        """The record of what was decided stays."""
        for name in ("gate.json", "contract.json", "requirements"):
            (self.folder / name).unlink(missing_ok=True)

    # -- what was found out ------------------------------------------------------------------------------------------

    def verdict(self, contract: str, tree: str) -> Verdict | None:
        return self._read(self._verdict(contract, tree), Verdict)

    def remember(self, contract: str, verdict: Verdict) -> None:
        path = self._verdict(contract, verdict.tree)
        self._make(path.parent)
        durable.write(path, verdict.model_dump_json())

    def _verdict(self, contract: str, tree: str) -> Path:
        return self.folder / "verdicts" / contract[:16] / f"{tree}.json"

    def session(self, name: str) -> Session:
        with contextlib.suppress(StateFailed):  # a broken count is a new count
            return self._read(self._session(name), Session) or Session()
        return Session()

    def keep(self, name: str, session: Session) -> None:
        path = self._session(name)
        self._make(path.parent)
        durable.write(path, session.model_dump_json(), sync=False)

    def _session(self, name: str) -> Path:
        return self.folder / "sessions" / f"{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:32]}.json"

    def record(self, what: str, **data: Any) -> None:
        """One line of what happened at this gate."""
        self._make(self.folder)
        path = self.folder / "record.jsonl"
        line = json.dumps({"at": round(time.time(), 3), "what": what, **data}, ensure_ascii=False)
        try:
            if path.exists() and path.stat().st_size > RECORD_BYTES:
                kept = path.read_bytes()[-RECORD_BYTES // 2 :].partition(b"\n")[2]
                durable.write(path, kept, sync=False)
            with path.open("ab") as file:
                file.write(line.encode("utf-8", "backslashreplace") + b"\n")
        except OSError as error:
            raise StateFailed(f"cannot write {path}: {error.strerror}") from error

    def recorded(self, most: int = 10) -> list[dict[str, Any]]:
        path = self.folder / "record.jsonl"
        lines = path.read_text("utf-8", "replace").splitlines()[-most:] if path.is_file() else []
        found = []
        for line in lines:
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return found

    def lock(self) -> IO[bytes] | None:
        """Held until it is closed; None while another process has it."""
        self._make(self.folder)
        file = (self.folder / "lock").open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return file

    # -- files -------------------------------------------------------------------------------------------------------

    def _make(self, folder: Path) -> None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StateFailed(f"cannot make {folder}: {error.strerror}; make its parent writable") from error

    def _read(self, path: Path, kind: type[Kind]) -> Kind | None:
        try:
            return kind.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateFailed(f"cannot read {path}: {error.strerror}") from error
        except ValidationError:
            raise StateFailed(f"{path} is damaged; remove it, and seal the contract again") from None


def inside(folder: Path, of: Path) -> bool:
    return Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(of))


def refuse_inside(home: Path, root: Path) -> None:
    """Private state is nothing that the work may hold."""
    if inside(home, root):
        raise BadInput(f"private state ({home}) lies inside the repository", then="set TRUED_HOME to a folder outside")
