"""The last `trued verify`, saved in private state so that `trued why` can explain it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from trued.errors import BadInput
from trued.model import Contract, Grade, Value, Verdict
from trued.support import atomic_files

FILE = "verified.json"


class LastVerification(Value):
    """The result of the last `trued verify`."""

    at: float
    places: tuple[str, ...]  # the repositories of base and head
    requirements_file: str = ""
    reproduce: str = ""
    accept: Grade = Grade.ATTESTED
    contract: Contract
    verdict: Verdict


def save_verification(home: Path, verification: LastVerification) -> None:
    """Save the verification in a file that only this user can read: it contains held-out cases."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _private():
        atomic_files.write(home / FILE, verification.model_dump_json(), sync=False)


@contextmanager
def _private() -> Iterator[None]:
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def load_verification(home: Path) -> LastVerification | None:
    path = home / FILE
    if not path.is_file():
        return None
    try:
        return LastVerification.model_validate_json(path.read_bytes())
    except ValidationError:
        raise BadInput(f"{path} is damaged", then="remove it and run `trued verify` again") from None
