"""The public format of a requirements file: its keys, and the rules that the user's own checks must keep.

Cases that agents write need not keep these rules: they are built from the plain models in `trued.model.checks`, and the
proof has rules of its own for them.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic.json_schema import SkipJsonSchema

from trued.inputs.validation import IN_PROJECT, ProjectPath, RuleBroken, Subjects, is_project_path, rule
from trued.model import (
    BrowserCheck,
    CallCase,
    CommandCheck,
    Environment,
    ExamplesCheck,
    HttpCase,
    HttpRequest,
    ManualCheck,
    PageAction,
    Ready,
    RunCase,
    Serve,
    TestsCheck,
    Value,
    is_node,
)
from trued.proof.text.command_parser import countable_instead, recognise_runner, starts_package_script
from trued.support.shell_words import unsupported_operator

ID_LIMIT = 80
CASE_KINDS = ("call", "run", "http")


# -- values


def _is_id(text: str) -> bool:
    return 0 < len(text) <= ID_LIMIT and all(char.isalnum() or char in "._-" for char in text)


def _is_server_path(path: str) -> bool:
    """Whether the text is a path on the contract's own server: no other host, no blanks, no control characters."""
    return (
        path.startswith("/") and not path.startswith("//") and all(ord(char) > 32 and char != "\x7f" for char in path)
    )


def _is_entry_point(call: str) -> bool:
    module, _, name = call.rpartition(":") if is_node(call) else call.partition(":")
    parts = name.split(".") if is_node(call) else (*module.split("."), *name.split("."))
    return all(part.isidentifier() for part in parts)


def _names_no_file(call: str) -> str:
    """Refuse `tiny.py:double`: Python would look for a module `py` in a package `tiny`."""
    path, _, name = call.partition(":")
    if path.endswith(".py") and not is_node(call):
        module = path.removesuffix(".py").removeprefix("./").removeprefix("src/").replace("/", ".")
        raise RuleBroken(f"{call!r} names a file, not a module", f'write "{module}:{name}"')
    return call


def _is_header_name(name: str) -> bool:
    return bool(name) and all(ord(char) > 32 and char not in ":\x7f" for char in name)


def _names_a_program(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words or not words[0]:
        raise RuleBroken("it names no program", "write [program, arguments]")
    return words


INTERFACE = 'write, for example, "textkit.slug:slugify(text)"'

Id: TypeAlias = Annotated[
    str, rule(_is_id, "{!r} is not an id", f"use up to {ID_LIMIT} letters, digits, '.', '_' and '-'")
]
Words: TypeAlias = Annotated[str, rule(lambda text: bool(text.strip()), "it is empty", "say in words what must hold")]
InterfaceEntry: TypeAlias = Annotated[str, rule(lambda text: bool(text.strip()), "it is empty", INTERFACE)]
Argument: TypeAlias = Annotated[
    str, rule(lambda text: "\0" not in text, "no process can be given a NUL character", "leave it out")
]
CommandLine: TypeAlias = Annotated[tuple[Argument, ...], AfterValidator(_names_a_program)]
OptionalPath: TypeAlias = Annotated[str, rule(lambda name: not name or is_project_path(name), *IN_PROJECT)]
ServerPath: TypeAlias = Annotated[
    str, rule(_is_server_path, "{!r} is not a path on the server", 'begin with "/", and write %20 for a blank')
]
EntryPoint: TypeAlias = Annotated[
    str,
    AfterValidator(_names_no_file),
    rule(_is_entry_point, "{!r} cannot be called", 'write "package.module:function" or "path.js:name"'),
    rule(lambda call: not is_node(call) or is_project_path(call.rpartition(":")[0]), *IN_PROJECT),
]
VariableName: TypeAlias = Annotated[
    str,
    rule(
        lambda name: bool(name) and not {"=", "\0"} & set(name),
        "{!a} cannot be the name of a variable",
        "leave out '=' and NUL characters",
    ),
]
PortVariable: TypeAlias = Annotated[
    str, rule(str.isidentifier, "{!r} cannot be the name of a variable", "write, for example, PORT")
]
Method: TypeAlias = Annotated[str, rule(str.isalpha, "{!r} is not a method", "GET, POST, …")]
HeaderName: TypeAlias = Annotated[
    str, rule(_is_header_name, "{!a} is not the name of a header", "write it without blanks and colons")
]
HeaderValue: TypeAlias = Annotated[
    str,
    rule(lambda value: not set("\r\n\0") & set(value), "{!a} is not the value of a header", "write it in one line"),
]
Seconds: TypeAlias = Annotated[float, Field(gt=0)]
ALIASED = ConfigDict(validate_by_name=False)  # only the aliases `from` and `json`, not the names of the fields


def _beside_object(expected: Any) -> str:
    """The first key beside `$object` in a mapping of this data; "" if there is none. A mapping that has another key
    besides `$object` would be read as plain data, not as an object."""
    waiting = [expected]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if "$object" in value and len(value) > 1:
                return next(str(key) for key in value if key != "$object")
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return ""


# -- cases


class CallEntry(CallCase):
    """A function that is called in a separate process; the engine compares its answer."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["returns"]}, {"required": ["raises"]}]})

    call: EntryPoint
    within_s: Seconds = 10.0

    @model_validator(mode="after")
    def _expects_one_thing(self) -> "CallEntry":
        if ("returns" in self.model_fields_set) == (self.raises is not None):
            what = "both returns and raises are" if self.raises is not None else "neither returns nor raises is"
            raise RuleBroken(f"{what} given", "say what the call returns or what it raises")
        if beside := _beside_object([self.returns, *(self.args_after or ())]):
            raise RuleBroken(
                f"$object must be the only key, but {beside!r} is beside it",
                'write only {$object: "module.Class"}, or a `run` case that prints the value',
            )
        return self


class RunEntry(RunCase):
    """A command line, its input, and its expected output."""

    run: CommandLine
    files: dict[ProjectPath, str] = Field(default_factory=dict)
    within_s: Seconds = 10.0

    @model_validator(mode="after")
    def _names_its_files(self) -> "RunEntry":
        if self.has_unnamed_files:
            name = next(iter(self.files))
            raise RuleBroken(
                "the command line does not name its files", f"write {{files}}/{name} where it reads {name}"
            )
        return self


class RequestEntry(HttpRequest):
    """What is sent to the server that the contract starts."""

    method: Method = "GET"
    path: ServerPath
    headers: dict[HeaderName, HeaderValue] = Field(default_factory=dict)


class HttpEntry(HttpCase):
    """One exchange with the server; the cases of a check go to the same server, in order."""

    model_config = ALIASED

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


class TestsEntry(TestsCheck):
    """Tests whose results are counted. Their files are frozen as on the base commit, or come with the contract."""

    model_config = ALIASED

    kind: Literal["tests"]
    command: Argument = "python -m pytest -q"
    files: tuple[ProjectPath, ...] = ()
    from_: Argument = Field(default="", alias="from")
    report: OptionalPath = ""
    within_s: Seconds = 600.0

    @model_validator(mode="after")
    def _starts_its_runner_without_a_shell(self) -> "TestsEntry":
        if not self.report and (operator := unsupported_operator(self.command)):
            raise RuleBroken(
                f"its command uses `{operator}`, which needs a shell, and tests are started without one",
                "write the test command alone, or use `kind: command`",
            )
        if not self.report and not (starts_package_script(self.command) or recognise_runner(self.command)):
            raise RuleBroken(
                f"`{self.command}` starts no test runner whose results can be counted", countable_instead(self.command)
            )
        return self


class ExamplesEntry(ExamplesCheck):
    """Cases, which are only data: nothing of them is executed in the process that compares the answers."""

    kind: Literal["examples"]
    cases: tuple[CaseEntry, ...] = Field(min_length=1)


class ActionEntry(PageAction):
    """One thing that a person does on a page: click, type or choose in a field, press a key, or wait for a text."""

    @model_validator(mode="after")
    def _does_one_thing(self) -> "ActionEntry":
        if not self.verb:
            raise RuleBroken("an action must do exactly one thing", "write one of click, type, choose, press, wait")
        if (self.verb in ("type", "choose")) != bool(self.field):
            needed = self.verb in ("type", "choose")
            then = 'name its label: field: "Name"' if needed else "leave `field` out"
            raise RuleBroken(f"{self.verb} {'names no field' if needed else 'needs no field'}", then)
        return self


class BrowserEntry(BrowserCheck):
    """A page in a real browser: what a person sees on it, and what not."""

    kind: Literal["browser"]
    page: ServerPath
    within_s: Seconds = 20.0
    actions: tuple[ActionEntry, ...] = ()

    @model_validator(mode="after")
    def _expects_something(self) -> "BrowserEntry":
        if self.before and not self.actions:
            raise RuleBroken(
                "it has `before` and no actions", "write what is done on the page in `actions`, or leave out `before`"
            )
        if not (self.sees or self.hides or self.tree or self.url is not None or self.quiet):
            raise RuleBroken("it expects nothing of the page", "write `sees`, `hides`, `tree`, `url` or `quiet`")
        return self


class CommandEntry(CommandCheck):
    """A command that must exit with 0. It counts only if it fails on the base; its files are frozen."""

    kind: Literal["command"]
    command: Argument
    files: tuple[ProjectPath, ...] = ()
    within_s: Seconds = 600.0


class ManualEntry(ManualCheck):
    """Steps for a person. Only a person's approval can satisfy it."""

    kind: Literal["manual"]


CheckEntry: TypeAlias = Annotated[
    TestsEntry | ExamplesEntry | BrowserEntry | CommandEntry | ManualEntry, Field(discriminator="kind")
]


# -- the file


class ReadyEntry(Ready):
    """When a server counts as ready."""

    within_s: Seconds = 20.0


class ServeEntry(Serve):
    """A server that the engine starts. Its command comes from the contract, never from the commit under proof."""

    command: CommandLine
    port_env: PortVariable = "PORT"
    ready: ReadyEntry = ReadyEntry()


class EnvironmentEntry(Environment):
    """How checks are run. It is sealed with the contract; what is not given is detected."""

    path: tuple[ProjectPath, ...] = ()
    prepare: tuple[Argument, ...] = ()
    variables: dict[VariableName, Argument] = Field(default_factory=dict)
    services: tuple[ServeEntry, ...] = ()


class RequirementEntry(Value):
    """One thing that must hold when the goal is met: the user's words, verbatim."""

    id: Id
    text: Words
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
    interface: tuple[InterfaceEntry, ...] = Field(default=(), min_length=1)


SUBJECTS: Subjects = {
    RequirementEntry: "the requirement",
    TestsEntry: "the tests check",
    ExamplesEntry: "the examples check",
    BrowserEntry: "the browser check",
    ActionEntry: "the action",
    CommandEntry: "the command check",
    ManualEntry: "the manual check",
    CallEntry: "the case",
    RunEntry: "the case",
    HttpEntry: "the case",
    RequestEntry: "the request",
    ServeEntry: "the server",
}


def schema() -> dict[str, Any]:
    """JSON Schema of a requirements file, for editors and other tools."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **RequirementsFile.model_json_schema()}
