"""Checks and their cases: what the engine runs, and the result that it expects.

Agents reply with cases and pages, so the docstrings of those classes are part of the JSON Schema that agents get. The
journal stores the schema's hash: changing such a docstring makes runs of older versions diverge.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field

from trued.model.value import Value, newer_fields, only_given_fields

Network: TypeAlias = Literal["none", "loopback"]


class CallCase(Value):
    """A function that is called in another process; the engine compares its result."""

    _given = only_given_fields()

    call: str  # "package.module:function", or "path/module.js:name" for Node
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    returns: Any = None
    raises: str | None = None
    args_after: tuple[Any, ...] | None = None  # None: arguments must come back unchanged
    within_s: float = 10.0
    quotes: str = ""  # the clause of the requirement that it shows, verbatim


def is_node(call: str) -> bool:
    """Whether the call names a Node module."""
    return call.rpartition(":")[0].endswith((".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"))


class RunCase(Value):
    """A command line, its input, and what it must print."""

    _given = only_given_fields()

    run: tuple[str, ...]
    files: dict[str, str] = Field(
        default={}, description="name → content, written to a new folder; the command line names them as {files}/NAME"
    )
    stdin: str = ""
    stdout: str | None = None
    stdout_json: Any = None
    exit: int = 0
    within_s: float = 10.0
    quotes: str = ""

    @property
    def has_unnamed_files(self) -> bool:
        """Whether the case has files that no program could find, because the command line does not contain
        `{files}`."""
        return bool(self.files) and not any("{files}" in word for word in self.run)


class HttpRequest(Value):
    """What is sent to the server that the contract starts."""

    _given = only_given_fields()

    method: str = "GET"
    path: str
    headers: dict[str, str] = {}
    body: str = ""


class HttpCase(Value):
    """One exchange with the server; the cases of a check go to the same server, in order."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)
    _given = only_given_fields()

    http: HttpRequest
    status: int | None = None
    json_: Any = Field(default=None, alias="json")  # `json` is a method of pydantic's models
    body: str | None = None
    headers: dict[str, str] = {}  # these headers must be in the answer
    within_s: float = 10.0
    quotes: str = ""
    setup: bool = False  # prepares later exchanges: it must answer as expected, but proves nothing


Case: TypeAlias = CallCase | RunCase | HttpCase


class TestsCheck(Value):
    """A command that runs tests, which the engine counts. The test files are used as they are on the base commit, or
    come with the contract."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)
    __test__ = False  # the class's name looks like a test class to pytest
    _as_before = newer_fields("e2e")

    kind: Literal["tests"] = "tests"
    command: str = "python -m pytest -q"
    files: tuple[str, ...] = ()
    from_: str = Field(default="", alias="from")  # a folder beside the requirements file, copied over base and head
    report: str = ""  # where the command writes JUnit XML, if the engine does not know its runner
    network: Network = "none"
    within_s: float = 600.0
    e2e: bool = False  # drives a page in a real Chromium; the engine supplies it and the loopback network


class ExamplesCheck(Value):
    """Cases, which are only data: nothing of them is executed in the process that compares the results."""

    kind: Literal["examples"] = "examples"
    cases: tuple[Case, ...] = Field(min_length=1)


class PageAction(Value):
    """One thing that a person does on a page: click, type or choose in a field, press a key, or wait for a text."""

    _given = only_given_fields()

    click: str | None = None  # the element's text, or its line of the accessibility tree, like: link "Buy"
    type: str | None = None
    choose: str | None = None  # an option of a list
    field: str | None = None  # with type and choose: the field's label, placeholder or name
    press: str | None = None  # a key, like Enter or Control+A
    wait: str | None = None  # until this text can be seen

    @property
    def verb(self) -> str:
        """The one thing that the action does: click, type, choose, press or wait. "" if it has none or several."""
        named = [verb for verb in ("click", "type", "choose", "press", "wait") if getattr(self, verb) is not None]
        return named[0] if len(named) == 1 else ""

    def __str__(self) -> str:
        field = f' in "{self.field}"' if self.field else ""
        return f'{self.verb}{" for" if self.verb == "wait" else ""} "{getattr(self, self.verb or "click")}"{field}'


class PageBefore(Value):
    """What the page shows, and what not, before the first action."""

    sees: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()


class BrowserCheck(Value):
    """A page in a real browser: what a person sees on it, and what not."""

    _as_before = newer_fields("visible", "actions", "before")

    kind: Literal["browser"] = "browser"
    page: str
    sees: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    url: str | None = None  # path and query where the browser must end up
    tree: tuple[str, ...] = ()  # lines of the accessibility tree, like: button "Buy"
    quiet: bool = False  # the console must show no error
    within_s: float = 20.0
    quotes: str = ""
    visible: bool = False  # the implementer can read its text and learns of its failure; grade at most `tested`
    actions: tuple[PageAction, ...] = ()  # done in order, before the page is checked
    before: PageBefore | None = None


class CommandCheck(Value):
    """A command that must exit with 0. It can prove something only if it fails on the base; its files are frozen."""

    kind: Literal["command"] = "command"
    command: str
    files: tuple[str, ...] = ()
    network: Network = "none"
    within_s: float = 600.0


class DependenciesCheck(Value):
    """No package is declared that the base does not declare. The engine reads the manifests; nothing is run."""

    _as_before = newer_fields("unchanged")

    kind: Literal["dependencies"] = "dependencies"
    unchanged: bool = False  # no package is removed or changes its version, either


class ManualCheck(Value):
    """Steps for a person. Only a person's approval can meet it."""

    kind: Literal["manual"] = "manual"
    steps: tuple[str, ...] = Field(min_length=1)


Check: TypeAlias = Annotated[
    TestsCheck | ExamplesCheck | BrowserCheck | CommandCheck | DependenciesCheck | ManualCheck,
    Field(discriminator="kind"),
]
