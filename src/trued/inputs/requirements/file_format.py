"""The public format of a requirements file: its keys, and the rules that the user's own checks must keep.

An agent's cases are built from the plain models in `trued.model.checks`; the proof judges them by rules of its own.
"""

from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic.json_schema import SkipJsonSchema

from trued.inputs.validation import Named, RuleBroken
from trued.model import (
    BrowserCheck,
    CallCase,
    CommandCheck,
    Environment,
    ExamplesCheck,
    HttpCase,
    HttpRequest,
    ManualCheck,
    Ready,
    RunCase,
    Serve,
    TestsCheck,
    Value,
    is_node,
)

ID_LIMIT = 80
CASE_KINDS = ("call", "run", "http")


# -- values


def _id(text: str) -> str:
    if not 0 < len(text) <= ID_LIMIT or not all(char.isalnum() or char in "._-" for char in text):
        raise RuleBroken(f"{text!r} is not an id", f"use up to {ID_LIMIT} letters, digits, '.', '_' and '-'")
    return text


def _said(text: str) -> str:
    if not text.strip():
        raise RuleBroken("it is empty", "say in words what must hold")
    return text


def _interface_entry(text: str) -> str:
    if not text.strip():
        raise RuleBroken("an entry of the interface is empty", 'write, for example, "textkit.slug:slugify(text)"')
    return text


def _argument(text: str) -> str:
    if "\0" in text:
        raise RuleBroken("no process can be given a NUL character", "leave it out")
    return text


def _command_line(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words or not words[0]:
        raise RuleBroken("it names no program", "write [program, arguments]")
    return words


def _project_path(name: str) -> str:
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts or "\0" in name:
        raise RuleBroken(f"{name!r} is not a path inside the project", "name it from the project's folder")
    return name


def _optional_path(name: str) -> str:
    return _project_path(name) if name else name


def _server_path(path: str) -> str:
    """Only the contract's own server is asked, and a request line is one line."""
    if not path.startswith("/") or path.startswith("//") or any(ord(char) <= 32 or ord(char) == 127 for char in path):
        raise RuleBroken(f"{path!r} is not a path on the server", 'write it from "/" on, without blanks (%20)')
    return path


def _variable(name: str) -> str:
    if not name or "=" in name or "\0" in name:
        raise RuleBroken(f"{name!a} cannot be the name of a variable", "leave out '=' and NUL characters")
    return name


def _port_variable(name: str) -> str:
    if not name.isidentifier():
        raise RuleBroken(f"{name!r} cannot be the name of a variable", "write, for example, PORT")
    return name


def _method(name: str) -> str:
    if not name.isalpha():
        raise RuleBroken(f"{name!r} is not a method", "GET, POST, …")
    return name


def _header_name(name: str) -> str:
    if not name or any(ord(char) <= 32 or char in ":\x7f" for char in name):
        raise RuleBroken(f"{name!a} is not the name of a header", "write it without blanks and colons")
    return name


def _header_value(value: str) -> str:
    if any(char in "\r\n\0" for char in value):
        raise RuleBroken(f"{value!a} is not the value of a header", "write it in one line")
    return value


def _entry_point(call: str) -> str:
    """`package.module:function`, or `path/module.js:name` of a file inside the project."""
    module, _, name = call.rpartition(":") if is_node(call) else call.partition(":")
    parts = name.split(".") if is_node(call) else (*module.split("."), *name.split("."))
    if not all(part.isidentifier() for part in parts):
        raise RuleBroken(f"{call!r} cannot be called", 'write "package.module:function" or "path.js:name"')
    if is_node(call):
        _project_path(module)
    return call


Id: TypeAlias = Annotated[str, AfterValidator(_id)]
Argument: TypeAlias = Annotated[str, AfterValidator(_argument)]
CommandLine: TypeAlias = Annotated[tuple[Argument, ...], AfterValidator(_command_line)]
ProjectPath: TypeAlias = Annotated[str, AfterValidator(_project_path)]
ServerPath: TypeAlias = Annotated[str, AfterValidator(_server_path)]
HeaderName: TypeAlias = Annotated[str, AfterValidator(_header_name)]
HeaderValue: TypeAlias = Annotated[str, AfterValidator(_header_value)]
Seconds: TypeAlias = Annotated[float, Field(gt=0)]
Aliased = ConfigDict(validate_by_name=False)  # the file's own words `from` and `json`, and no others


# -- cases


class CallEntry(Named, CallCase):
    """A function called in another process; its answer is compared in the engine's."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["returns"]}, {"required": ["raises"]}]})
    subject: ClassVar[str] = "the case"

    call: Annotated[str, AfterValidator(_entry_point)]
    within_s: Seconds = 10.0

    @model_validator(mode="after")
    def _expects_one_thing(self) -> "CallEntry":
        if ("returns" in self.model_fields_set) == (self.raises is not None):
            what = "both returns and raises are" if self.raises is not None else "neither returns nor raises is"
            raise RuleBroken(f"{what} given", "say what the call returns or what it raises")
        return self


class RunEntry(Named, RunCase):
    """A command line, its input, and its expected output."""

    subject: ClassVar[str] = "the case"

    run: CommandLine
    files: dict[ProjectPath, str] = Field(default_factory=dict)
    within_s: Seconds = 10.0


class RequestEntry(Named, HttpRequest):
    """What is sent to the server that the contract starts."""

    subject: ClassVar[str] = "the request"

    method: Annotated[str, AfterValidator(_method)] = "GET"
    path: ServerPath
    headers: dict[HeaderName, HeaderValue] = Field(default_factory=dict)


class HttpEntry(Named, HttpCase):
    """One exchange with the server; the cases of a check go to the same server, in order."""

    model_config = Aliased
    subject: ClassVar[str] = "the case"

    http: RequestEntry
    within_s: Seconds = 10.0
    setup: SkipJsonSchema[bool] = False

    @model_validator(mode="after")
    def _expects_something(self) -> "HttpEntry":
        if not {"status", "json_", "body", "headers"} & self.model_fields_set:
            raise RuleBroken("it expects nothing", "give status, json, body or headers")
        return self


def _case_kind(case: Any) -> str | None:
    kinds = [kind for kind in CASE_KINDS if kind in case] if isinstance(case, dict) else CASE_KINDS[:1]
    return kinds[0] if len(kinds) == 1 else None


CaseEntry: TypeAlias = Annotated[
    Annotated[CallEntry, Tag("call")] | Annotated[RunEntry, Tag("run")] | Annotated[HttpEntry, Tag("http")],
    Discriminator(
        _case_kind,
        custom_error_type="case_kind",
        custom_error_message=(
            'it should have exactly one of call: "module:function", run: [program, arguments], http: {path: "/"}'
        ),
    ),
]


# -- checks


class TestsEntry(Named, TestsCheck):
    """Counted tests; the files are frozen as they are on the base commit, or come with the contract."""

    model_config = Aliased
    subject: ClassVar[str] = "the tests check"

    kind: Literal["tests"]
    command: Argument = "python -m pytest -q"
    files: tuple[ProjectPath, ...] = ()
    from_: Argument = Field(default="", alias="from")
    report: Annotated[str, AfterValidator(_optional_path)] = ""
    within_s: Seconds = 600.0


class ExamplesEntry(Named, ExamplesCheck):
    """Data only: nothing of it runs in the process that compares."""

    subject: ClassVar[str] = "the examples check"

    kind: Literal["examples"]
    cases: tuple[CaseEntry, ...] = Field(min_length=1)


class BrowserEntry(Named, BrowserCheck):
    """A page in a real browser: what a person sees on it, and what not."""

    subject: ClassVar[str] = "the browser check"

    kind: Literal["browser"]
    page: ServerPath
    within_s: Seconds = 20.0

    @model_validator(mode="after")
    def _expects_something(self) -> "BrowserEntry":
        if not (self.sees or self.hides or self.tree or self.url is not None or self.quiet):
            raise RuleBroken("it expects nothing of the page", "say what it sees, hides, or where it leads")
        return self


class CommandEntry(Named, CommandCheck):
    """An exit code. It must fail on the base to count; its files are frozen."""

    subject: ClassVar[str] = "the command check"

    kind: Literal["command"]
    command: Argument
    files: tuple[ProjectPath, ...] = ()
    within_s: Seconds = 600.0


class ManualEntry(Named, ManualCheck):
    """Steps for a person. Only a person's approval can satisfy it."""

    subject: ClassVar[str] = "the manual check"

    kind: Literal["manual"]


CheckEntry: TypeAlias = Annotated[
    TestsEntry | ExamplesEntry | BrowserEntry | CommandEntry | ManualEntry, Field(discriminator="kind")
]


# -- the file


class ReadyEntry(Ready):
    """When a server counts as up."""

    path: str = "/"
    within_s: Seconds = 20.0


class ServeEntry(Named, Serve):
    """A server that the engine starts: from the contract, never from the head."""

    subject: ClassVar[str] = "the server"

    command: CommandLine
    port_env: Annotated[str, AfterValidator(_port_variable)] = "PORT"
    ready: ReadyEntry = ReadyEntry()


class EnvironmentEntry(Environment):
    """How checks are run; sealed with the contract, inferred where absent."""

    prepare: tuple[Argument, ...] = ()
    variables: dict[Annotated[str, AfterValidator(_variable)], Argument] = Field(default_factory=dict)
    services: tuple[ServeEntry, ...] = ()


class RequirementEntry(Named, Value):
    """One thing that must hold when the goal is met: the user's words, verbatim."""

    subject: ClassVar[str] = "the requirement"

    id: Id
    text: Annotated[str, AfterValidator(_said)]
    covers: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    keep: bool = False
    checks: tuple[CheckEntry, ...] = Field(default=(), min_length=1)


class RequirementsFile(Value):
    """A requirements file of trued."""

    model_config = ConfigDict(title="Requirements")

    requirements: tuple[RequirementEntry, ...] = Field(min_length=1)
    environment: EnvironmentEntry = EnvironmentEntry()
    serve: ServeEntry | None = None
    interface: tuple[Annotated[str, AfterValidator(_interface_entry)], ...] = Field(default=(), min_length=1)


def schema() -> dict[str, Any]:
    """JSON Schema of a requirements file, for editors and other tools."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **RequirementsFile.model_json_schema()}
