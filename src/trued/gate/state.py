"""A gate's state, stored outside the repository: its sealed contract, installed files, verdicts and decisions."""

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path
from typing import IO, Annotated, Any, TypeAlias, TypeVar

from pydantic import BeforeValidator, PlainSerializer, ValidationError

from trued.errors import BadInput, StateFailed
from trued.gate.turns import TurnLog, roots_of_others
from trued.model import Approval, Contract, Grade, Requirements, Value, Verdict
from trued.proof.hashes import contract_hash
from trued.support import atomic_files
from trued.support.file_lock import take_lock
from trued.support.foreign_json import parse_json

Kind = TypeVar("Kind", bound=Value)
# the bytes of a file; stored as latin-1, in which every byte is a character
StoredBytes: TypeAlias = Annotated[
    bytes,
    BeforeValidator(lambda content: content.encode("latin-1") if isinstance(content, str) else content),
    PlainSerializer(lambda content: content.decode("latin-1"), return_type=str, when_used="json"),
]
CLAUDE_LOCAL = ".claude/settings.local.json"  # the settings of Claude Code that only this user has
ATTEMPTS = 3  # blocked stops in a row; lower than Claude Code's own limit, so that ours applies first
WITHIN_S = 600.0
LAST = 10  # how many of the last decisions are shown
RECORD_BYTES = 4 * 2**20  # if the log of decisions has more bytes, its older half is dropped


class InstalledFile(Value):
    """One file that the installation wrote, with its content before and after the installation."""

    path: str
    before: StoredBytes | None = None  # None if there was no file
    after: StoredBytes = b""
    folders: tuple[str, ...] = ()  # folders created for the file
    moved: str = ""  # new path of a former hook, which still has to run


class GateAmendment(Value):
    """A person's change of the sealed contract."""

    who: str
    why: str
    at: float
    what: str
    contract: str


class Attestation(Value):
    """A person's acceptance of one requirement, for one tree."""

    tree: str
    approval: Approval


class Gate(Value):
    """One repository's gate: its contract, settings and installed files."""

    repository: str  # the .git folder that its worktrees share
    root: str  # the worktree in which it was installed
    base: str
    accept: Grade = Grade.ATTESTED
    attempts: int = ATTEMPTS
    within_s: float = WITHIN_S
    requirements_file: str = ""
    package: str = ""  # what pip installs in CI
    terms: str = ""  # hash of everything in the requirements file, independent of the base (`terms_hash`)
    contract: str = ""  # the contract's hash
    sealed_at: float = 0.0
    installed: dict[str, InstalledFile] = {}  # noqa: RUF012 (pydantic copies it)
    amendments: tuple[GateAmendment, ...] = ()
    attested: tuple[Attestation, ...] = ()


class StopHistory(Value):
    """How many stops of one agent session were blocked in a row, and which tree was judged last."""

    blocks: int = 0
    tree: str = ""  # the tree that was judged last
    given_up: bool = False  # allowed to stop although the requirements are not met


def terms_hash(requirements: Requirements) -> str:
    """Hash of everything in the user's requirements file. It depends neither on the base nor on where the file is."""
    data = requirements.model_dump(mode="json", exclude={"file": True, "requirements": {"__all__": {"source"}}})
    text = json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def store_name(common: Path) -> str:
    """A folder name for a repository, from the git folder that all its worktrees share."""
    real = os.path.realpath(common)
    named = Path(real).parent if Path(real).name == ".git" else Path(real)
    name = "".join(character if character.isalnum() and character.isascii() else "-" for character in named.name)[:40]
    return f"{name}-{hashlib.sha256(os.fsencode(real)).hexdigest()[:12]}"


class GateStore:
    """One gate's folder below the private state `home`."""

    def __init__(self, home: Path, common: Path) -> None:
        self.home, self.folder = home, home / "gates" / store_name(common)

    # -- the gate and its contract -----------------------------------------------------------------------------------

    def gate(self) -> Gate | None:
        return self._read_model(self.folder / "gate.json", Gate)

    def contract(self, gate: Gate) -> Contract:
        contract = self._read_model(self.folder / "contract.json", Contract)
        if contract is None or contract_hash(contract) != gate.contract:
            what = "the sealed contract is missing" if contract is None else "the sealed contract was changed"
            raise StateFailed(f"{what}: {self.folder / 'contract.json'}; seal it again with `trued gate amend`")
        return contract

    def save(self, gate: Gate, contract: Contract | None = None, requirements: bytes = b"") -> None:
        """Save the gate. The contract is written first, so that a gate never names a contract that is missing."""
        self._create_folder(self.folder)
        if contract:
            atomic_files.write(self.folder / "requirements", requirements)
            atomic_files.write(self.folder / "contract.json", contract.model_dump_json())
        atomic_files.write(self.folder / "gate.json", gate.model_dump_json(indent=1))

    def sealed_requirements(self, suffix: str) -> Path | None:
        """The gate's copy of the requirements file, under a name with this suffix, because the suffix shows the format.
        None if the gate has no copy."""
        copy = self.folder / "requirements"
        if not copy.is_file():
            return None
        atomic_files.write(copy.with_suffix(suffix), copy.read_bytes())
        return copy.with_suffix(suffix)

    def remove(self) -> None:
        """Remove the gate, its contract and the copy of the requirements; verdicts, sessions and the log stay."""
        for path in (self.folder / "gate.json", self.folder / "contract.json", *self.folder.glob("requirements*")):
            path.unlink(missing_ok=True)

    # -- verdicts, sessions, log -------------------------------------------------------------------------------------

    def verdict(self, contract: str, tree: str) -> Verdict | None:
        return self._read_model(self._verdict(contract, tree), Verdict)

    def save_verdict(self, contract: str, verdict: Verdict) -> None:
        path = self._verdict(contract, verdict.tree)
        self._create_folder(path.parent)
        atomic_files.write(path, verdict.model_dump_json())

    def _verdict(self, contract: str, tree: str) -> Path:
        return self.folder / "verdicts" / contract[:16] / f"{tree}.json"

    def session(self, name: str) -> StopHistory:
        with contextlib.suppress(StateFailed):  # if the file is damaged, the count starts at zero
            return self._read_model(self._session(name), StopHistory) or StopHistory()
        return StopHistory()

    def save_session(self, name: str, session: StopHistory) -> None:
        path = self._session(name)
        self._create_folder(path.parent)
        atomic_files.write(path, session.model_dump_json(), sync=False)

    def _session(self, name: str) -> Path:
        return self.folder / "sessions" / f"{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:32]}.json"

    def turns(self, session: str) -> TurnLog:
        """The log of the working trees with which the turns of a session began."""
        return TurnLog(self.folder / "turns", session)

    def busy_worktrees(self, session: str) -> set[str]:
        """Worktrees in which other sessions work. Changes there are judged when the turns of those sessions end."""
        return roots_of_others(self.folder / "turns", session)

    def record(self, what: str, **data: Any) -> None:
        """Append one line to the log of the gate's decisions."""
        self._create_folder(self.folder)
        path = self.folder / "record.jsonl"
        line = json.dumps({"at": round(time.time(), 3), "what": what, **data}, ensure_ascii=False)
        try:
            if path.exists() and path.stat().st_size > RECORD_BYTES:
                newest = path.read_bytes()[-RECORD_BYTES // 2 :].partition(b"\n")[2]
                atomic_files.write(path, newest, sync=False)
            with path.open("ab") as file:
                file.write(line.encode("utf-8", "backslashreplace") + b"\n")
        except OSError as error:
            raise StateFailed(f"cannot write {path}: {error.strerror}") from error

    def last_records(self) -> list[dict[str, Any]]:
        path = self.folder / "record.jsonl"
        lines = path.read_text("utf-8", "replace").splitlines()[-LAST:] if path.is_file() else []
        return [row for line in lines if isinstance(row := parse_json(line), dict)]

    def lock(self) -> IO[bytes] | None:
        """The gate's lock as an open file: closing the file releases the lock. None while another process holds it."""
        self._create_folder(self.folder)
        file = (self.folder / "lock").open("ab")
        if take_lock(file):
            return file
        file.close()
        return None

    # -- files -------------------------------------------------------------------------------------------------------

    def _create_folder(self, folder: Path) -> None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StateFailed(f"cannot create {folder}: {error.strerror}; make its parent writable") from error

    def _read_model(self, path: Path, kind: type[Kind]) -> Kind | None:
        try:
            return kind.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateFailed(f"cannot read {path}: {error.strerror}") from error
        except ValidationError:
            raise StateFailed(f"{path} is damaged; remove it and seal the contract again") from None


def is_inside(folder: Path, of: Path) -> bool:
    return Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(of))


def check_outside(home: Path, root: Path) -> None:
    """Raise BadInput if private state is inside the repository, where agents can read and write it."""
    if is_inside(home, root):
        raise BadInput(f"private state ({home}) is inside the repository", then="set TRUED_HOME to a folder outside it")
