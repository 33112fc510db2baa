"""Checks and their cases: what is run, and what must come of it."""

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from trued.model.grades import Grown, Value

Network: TypeAlias = Literal["none", "loopback"]


class _Aliased(Value):
    """`from` and `json` are taken words in Python; in files they are what they are."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)


class _AsGiven(_Aliased):
    """Written without what was not given: an expected null is not the same as no expectation."""

    @model_serializer(mode="wrap")
    def _given(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        given = {fields[name].alias or name for name in self.model_fields_set}
        return {name: part for name, part in write(self).items() if name in given}


class CallCase(_AsGiven):
    """A function called in another process; its answer is compared in the engine's."""

    call: str  # "package.module:function", or "path/module.js:name" for Node
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    returns: Any = None
    raises: str | None = None
    args_after: tuple[Any, ...] | None = None  # None: arguments must come back unchanged
    within_s: float = 10.0
    quotes: str = ""  # the clause of the requirement that it shows, verbatim


def is_node(call: str) -> bool:
    """Does the call name a Node module?"""
    return call.rpartition(":")[0].endswith((".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"))


class RunCase(_AsGiven):
    """A command line, what it is fed, and what it must say."""

    run: tuple[str, ...]
    files: dict[str, str] = {}  # written to a scratch folder that is named {files} in the command line
    stdin: str = ""
    stdout: str | None = None
    stdout_json: Any = None
    exit: int = 0
    within_s: float = 10.0
    quotes: str = ""


class HttpRequest(_AsGiven):
    """What is sent to the server that the contract starts."""

    method: str = "GET"
    path: str
    headers: dict[str, str] = {}
    body: str = ""


class HttpCase(_AsGiven):
    """One exchange with the server; the cases of a check go to the same server, in order."""

    http: HttpRequest
    status: int | None = None
    json_: Any = Field(default=None, alias="json")
    body: str | None = None
    headers: dict[str, str] = {}  # a subset of the answer's
    within_s: float = 10.0
    quotes: str = ""
    setup: bool = False  # later exchanges build on it: it is run, must answer as it says, and proves nothing itself


Case: TypeAlias = CallCase | RunCase | HttpCase


class TestsCheck(Grown, _Aliased):
    """Counted tests; the files are frozen as they are on the base commit, or come with the contract."""

    __test__ = False  # not a test class, whatever pytest thinks of its name
    later: ClassVar[tuple[str, ...]] = ("e2e",)

    kind: Literal["tests"] = "tests"
    command: str = "python -m pytest -q"
    files: tuple[str, ...] = ()
    from_: str = Field(default="", alias="from")  # a folder beside the requirements file, laid over both sides
    report: str = ""  # where the command writes JUnit XML, for runners that the engine does not know
    network: Network = "none"
    within_s: float = 600.0
    e2e: bool = False  # drives a page in a real Chromium, which the engine supplies; the loopback comes with it


class ExamplesCheck(Value):
    """Data only: nothing of it runs in the process that compares."""

    kind: Literal["examples"] = "examples"
    cases: tuple[Case, ...] = Field(min_length=1)


class BrowserCheck(Grown):
    """A page in a real browser: what a person sees on it, and what not."""

    later: ClassVar[tuple[str, ...]] = ("visible",)

    kind: Literal["browser"] = "browser"
    page: str
    sees: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    url: str | None = None  # where the browser must end up: path and query
    tree: tuple[str, ...] = ()  # lines of the accessibility tree, like: button "Buy"
    quiet: bool = False  # nothing may be reported as an error on the console
    within_s: float = 20.0
    quotes: str = ""
    visible: bool = False  # its words stand where the implementer reads them: told when it fails, and `tested` at most


class CommandCheck(Value):
    """An exit code. Red on base to count; its files are frozen."""

    kind: Literal["command"] = "command"
    command: str
    files: tuple[str, ...] = ()
    network: Network = "none"
    within_s: float = 600.0


class ManualCheck(Value):
    """Steps for a person. Nothing but a person's word can meet it."""

    kind: Literal["manual"] = "manual"
    steps: tuple[str, ...] = Field(min_length=1)


Check: TypeAlias = Annotated[
    TestsCheck | ExamplesCheck | BrowserCheck | CommandCheck | ManualCheck, Field(discriminator="kind")
]
