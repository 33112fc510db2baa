"""WorkflowDescriptor: everything that shared code has to know about one workflow. It names the workflow's functions and
imports them only when they are needed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from trued.errors import BadInput
from trued.support.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from trued.agents.roles.export import Export
    from trued.agents.roles.other_tools import RoleFormat
    from trued.model import Event, Goal, Outcome, Requirements, Settings, Ticket
    from trued.run.run import Run

Flow: TypeAlias = "Callable[[Run, Goal], Awaitable[Outcome]]"
CallRange: TypeAlias = tuple[int, int]  # fewest and most calls
Reference: TypeAlias = str  # "package.module:name", loaded when it is used

REFERENCE = lazy_regex(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
REFERENCES = (  # the fields of a descriptor that are references
    *("flow", "check_input", "estimate", "view"),
    *("spared_roles", "replies", "handbook", "reopen", "continuations"),
)
FOLDER = lazy_regex(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[\w-]+")
AGAIN = "repair the package that provides it, or uninstall it"
NAME = lazy_regex(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class Input(StrEnum):
    """The kinds of input that a run can start from."""

    PLAN = "plan"  # a file with chunks
    WORDS = "words"  # any text, in a file or on the command line
    SPECIFICATION = "specification"  # of an application, or a feature list
    TICKET = "ticket"  # a file, or an issue of a tracker


def no_files(settings: "Settings", goal: "Goal") -> tuple[str, ...]:
    """The default of `owned_files`: before the flow runs, no file belongs to the engine."""
    return ()


@dataclass(frozen=True, slots=True)
class Rounds:
    """What `trued compare` counts as a round: calls of `roles`, or events of the kind `event` whose fields have the
    values in `fields`."""

    meaning: str
    roles: tuple[str, ...] = ()
    event: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BranchState:
    """A file that the engine keeps on the branch, so that a new run needs only the branch to continue."""

    file: str
    read: Reference  # text → an object with `run`, `specification` and `digest` (sha256 of the specification)


@dataclass(frozen=True, slots=True)
class SealedWork:
    """The input of an estimate: a run whose contract is sealed and that has built nothing yet."""

    goal: "Goal"
    settings: "Settings"
    events: "Sequence[Event]"
    reply: Callable[[str], Mapping[str, Any]]  # role → the last reply of an agent in this role; {} if none was asked


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowDescriptor:
    """One workflow. Register each workflow under its name, as an entry point of the group `trued.workflows`.

    Only `name`, `flow` and `roles` are needed. Raises ValueError if the name or a reference is malformed.
    """

    name: str  # lower-case letters, digits and hyphens
    flow: Reference  # the async function: (run, goal) → outcome
    roles: tuple[str, ...]  # roles that must have an agent before the run starts

    spared_roles: Reference = ""  # goal → those of `roles` that need no agent for this goal

    # which input it takes
    takes: Input = Input.PLAN  # how a file given to this workflow is read
    default_for: frozenset[Input] = frozenset()  # kinds of input that run this workflow by default
    is_baseline: bool = False  # whether `trued compare` compares other workflows with this one
    check_input: Reference = ""  # (goal, requirements, ticket) → None; raises BadInput before anything is written
    takes_parts: bool = False  # whether parts of a plan can be chosen, with --chunk and --phase
    starts_empty: bool = False  # whether it can begin in a repository without a commit
    branch_state: BranchState | None = None  # the file from which it continues an earlier run's branch

    # who works
    role_folder: str = ""  # "package:folder" with Markdown files of its own roles
    replies: Reference = ""  # role → the classes of its replies, for the documentation
    handbook: Reference = ""  # (RoleFormat, folder) → files that let another tool follow it without the engine
    # Roles that check the work. If an agent in such a role changes code, it counts as an implementer from then on.
    repairing_roles: frozenset[str] = frozenset()
    reviewing_roles: frozenset[str] = frozenset()  # roles that write documents about the code, and never code
    # Roles that get an agent from a vendor other than the builders', if there is one.
    other_vendor_roles: frozenset[str] = frozenset()
    asks_people: bool = True  # whether its agents may ask a person; if not, their replies have no field for a question
    # SealedWork → (role → CallRange); default: each role is called once to `rounds` times for each task.
    estimate: Reference = ""

    # what it writes
    # files that only the engine writes; they are not part of the work
    owned_files: Callable[["Settings", "Goal"], tuple[str, ...]] = no_files
    # Owned folders that each run rewrites completely: the version of the run that lands last is kept.
    rewritten_folders: tuple[str, ...] = ()
    writes_into: str = ""  # a folder of the repository; if a file has this name, the run is refused
    documents: tuple[str, ...] = ()  # folders of the branch whose files the report shows
    editable: str = ""  # a file of the branch: people may edit its live copy, even after the run has ended
    # (text of the editable file, ids) → the text with these parts open again; raises BadInput for unknown ids
    reopen: Reference = ""
    records_approvals: bool = False  # its files on the branch say what people approved
    offers_pull_request: bool = False  # its work is offered as a pull request, if there is a forge

    # whether a person can grant more rounds after a run: `trued resume RUN --rounds N`; see `People.granted_rounds`
    takes_more_rounds: bool = False

    # how people see it
    # (run id, its events) → how to continue a run that ended without success: (command, what it does)
    continuations: Reference = ""
    rounds: Rounds | None = None
    view: Reference = ""  # a WorkflowView

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"the name {self.name!r} is not made of lower-case letters, digits and hyphens")
        for name in REFERENCES:
            reference = getattr(self, name)
            if (reference or name == "flow") and not REFERENCE.fullmatch(reference):
                raise ValueError(f"{name} = {reference!r} does not have the form 'package.module:name'")
        if self.role_folder and not FOLDER.fullmatch(self.role_folder):
            raise ValueError(f"role_folder = {self.role_folder!r} does not have the form 'package:folder'")

    def needed_roles(self, goal: "Goal") -> tuple[str, ...]:
        """The roles that must have an agent before the workflow starts on this goal."""
        spared = load(self.spared_roles)(goal) if self.spared_roles else ()
        return tuple(role for role in self.roles if role not in spared)

    def role_files(self) -> list[Path]:
        """The Markdown files of the workflow's own roles, by name. Raises BadInput if their folder is missing."""
        package, _, folder = self.role_folder.partition(":")
        if not package:
            return []
        try:
            spec = find_spec(package)
        except ImportError:
            spec = None
        places = [Path(parent) / folder for parent in (spec.submodule_search_locations or ())] if spec else []
        place = next((candidate for candidate in places if candidate.is_dir()), None)
        if place is None:
            raise BadInput(f"the workflow {self.name} has no folder {folder} in {package}", then=AGAIN)
        return sorted(place.glob("*.md"))

    def handbook_files(self, form: "RoleFormat", top: Path) -> "list[Export]":
        """The files below `top` that let another tool follow the workflow without the engine; none if the workflow
        has no handbook."""
        return cast("list[Export]", self._load("handbook", self.handbook)(form, top)) if self.handbook else []

    def load_flow(self) -> Flow:
        """The flow. Raises BadInput if it cannot be loaded."""
        return cast(Flow, self._load("flow", self.flow))

    def check(self, goal: "Goal", requirements: "Requirements | None", ticket: "Ticket | None") -> None:
        """Raise BadInput for input that the flow could not work with."""
        default = f"trued.workflows.input_checks:check_{self.takes}"
        self._load("check_input", self.check_input or default)(goal, requirements, ticket)

    def calls(self, work: SealedWork) -> Mapping[str, CallRange]:
        """How often each role is expected to be called after the contract is sealed."""
        if self.estimate:
            return cast(Mapping[str, CallRange], self._load("estimate", self.estimate)(work))
        return cast(Mapping[str, CallRange], load("trued.workflows.estimates:calls_per_task")(work, self.roles))

    def _load(self, field: str, reference: Reference) -> Callable[..., Any]:
        try:
            found = load(reference)
        except (Exception, SystemExit) as error:  # third-party code may raise anything
            what = f"the {field} of the workflow {self.name} cannot be loaded: {type(error).__name__}: {error}"
            raise BadInput(what, reference, AGAIN) from error
        if not callable(found):
            raise BadInput(f"the {field} of the workflow {self.name} is not a function", reference, AGAIN)
        return cast(Callable[..., Any], found)


def load(reference: Reference) -> Any:
    """The object that "package.module:name" names."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
