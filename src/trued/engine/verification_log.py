"""VerificationLog: one line for every `trued verify` on this machine, in private state, as a history for people."""

import os
from pathlib import Path

from pydantic import ValidationError

from trued.errors import StateFailed
from trued.model import Grade, Value
from trued.support import atomic_files
from trued.support.file_lock import file_lock

FILE = "verified.jsonl"
KEPT = 1000  # how many lines are kept: years for a person, weeks for a busy machine
# The oldest lines are dropped only when there are this many more than KEPT, so that the file is seldom rewritten.
SLACK = 100


class VerificationRecord(Value):
    """What was verified, when, and with which result. Cases and evidence are stored only for the last verification."""

    at: float  # when it ended
    seconds: float
    repository: str  # of the head
    base: str
    head: str
    state: str
    grade: Grade
    code: int  # exit code
    met: int  # number of requirements that are met
    requirements: int
    accept: Grade = Grade.ATTESTED
    requirements_file: str = ""
    quick: bool = False


class VerificationLog:
    """The records of one state folder."""

    def __init__(self, home: Path) -> None:
        self.file = home / FILE

    def add(self, record: VerificationRecord) -> None:
        """Append a record, and drop the oldest records if there are too many. Raises StateFailed if the file cannot be
        written."""
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with file_lock(self.file.with_suffix(".lock")):  # not the file itself: it is replaced when it is shortened
                handle = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
                with os.fdopen(handle, "ab") as file:
                    file.write(record.model_dump_json().encode() + b"\n")
                lines = self.file.read_bytes().splitlines(keepends=True)
                if len(lines) > KEPT + SLACK:
                    atomic_files.write(self.file, b"".join(lines[-KEPT:]), sync=False)
                    self.file.chmod(0o600)
        except OSError as error:
            raise StateFailed(f"cannot write {self.file}: {error.strerror}; make the folder writable") from error

    def records(self, repository: Path | None = None) -> list[VerificationRecord]:
        """The records, newest first, without damaged lines. `repository`: only records whose head is in this
        repository. Raises StateFailed if the file cannot be read."""
        try:
            lines = self.file.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StateFailed(f"cannot read {self.file}: {error.strerror}") from error
        found = [record for line in reversed(lines) if (record := _parse_record(line)) is not None]
        return [record for record in found if repository is None or Path(record.repository).resolve() == repository]


def _parse_record(line: bytes) -> VerificationRecord | None:
    try:
        return VerificationRecord.model_validate_json(line)
    except ValidationError:
        return None
