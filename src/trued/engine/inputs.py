"""Request: what a person asks for on the command line. Inputs: everything that a run starts with, as the journal stores
it."""

from pathlib import Path
from typing import Any

from trued.inputs.requirements.file import carried_folders
from trued.model import Goal, Requirements, Role, Settings, Ticket, Value


class Request(Value):
    """What a person asks for on the command line."""

    goal: str
    repository: Path
    workflow: str | None = None
    requirements: Path | None = None
    flags: dict[str, Any] = {}  # noqa: RUF012 (a frozen value)
    trust: str = ""
    branch: str = ""  # an earlier run's branch, to continue from; HEAD: start afresh
    base: str = ""  # the user's commit from which that branch began, if nothing else shows it


class Inputs(Value):
    """Everything a run was started with, copied into the journal, so that a resumed run does not read the files
    again."""

    goal: Goal
    settings: Settings
    roles: dict[str, Role]
    requirements: Requirements | None
    requirements_file: str  # absolute path; agents must not be able to read the file
    requirements_blobs: tuple[str, ...] = ()
    instructions: str
    level: str
    version: str
    dirty: tuple[str, ...] = ()  # uncommitted files when the run began: it started from HEAD, without them
    looked: str = ""  # a sentence about the detected agents; empty: the user named all of them
    start: str = ""  # the commit that the run continues from, if not its base
    branch: str = ""  # the run's branch, if not named after the run
    base: str = ""  # the run's base, if it is not the commit that was checked out
    ticket: Ticket | None = None
    author: str = ""  # the author of commits, as "Ada <ada@example.org>"; "": each role is its own author
    edition: int = 1  # the edition of the trued that began the run: `trued.run.context.EDITION`; 1 if none was stored
    onto: str = ""  # the branch that was checked out when the run began, on which it lands; "" if there was none

    def held_out_paths(self) -> tuple[Path, ...]:
        """The requirements file and the folders of the user's own tests: agents must not be able to read them."""
        if not self.requirements_file or self.requirements is None:
            return ()
        file = Path(self.requirements_file)
        return (file, *(folder.resolve() for folder in carried_folders(self.requirements, file.parent)))

    def person_files(self, root: Path) -> tuple[str, ...]:
        """The paths of the files in the repository that a person gave to this run: goal, ticket and requirements file.
        `root` is the repository's folder."""
        given = {self.goal.source.file, self.ticket.source.file if self.ticket else ""}
        required = Path(self.requirements_file)
        if self.requirements_file and required.is_relative_to(root):
            given.add(required.relative_to(root).as_posix())
        return tuple(sorted(path for path in given if path and not Path(path).is_absolute()))
