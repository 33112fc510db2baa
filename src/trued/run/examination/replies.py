"""Replies of examiners: cases and interface names from the first, blind answers from the second."""

from typing import Any, Literal

from pydantic import Field

from trued.model import BrowserCheck, Case, Reply, Serve, Value


class Proposed(Value):
    """One case for one requirement: a call or command line, exchanges in their order, or a page."""

    requirement: str = Field(description="id of the requirement whose words the case quotes")
    cases: tuple[Case, ...] = Field(
        default=(), description="one call or run; or http exchanges in order. Each with `quotes`, verbatim"
    )
    page: BrowserCheck | None = None


class Aside(Value):
    """Words that no case can show, and why."""

    requirement: str
    quote: str
    why: str = ""


class Proposal(Value):
    """Something that only the user may set. It waits for a person's decision."""

    what: Literal["keep", "supersedes", "remove"]
    requirement: str
    tests: tuple[str, ...] = Field(default=(), description="with supersedes: ids of tests of the base")
    why: str = ""


class Examined(Reply):
    """The cases of an examiner, and the names that both sides must know for them."""

    cases: tuple[Proposed, ...]
    interface: tuple[str, ...] = Field(
        default=(),
        description="one entry point per line: `package.module:function(parameters)`, "
        "`python -m package command <what>`, `GET /route/<id>`, `page /path`. Names and shapes, never a value",
    )
    serve: Serve | None = Field(default=None, description="how the server is started, for http and page cases")
    background: tuple[Aside, ...] = ()
    vague: tuple[Aside, ...] = ()
    proposals: tuple[Proposal, ...] = ()


class Asked(Value):
    """One input, without its result: what the second examiner sees of a case."""

    number: int
    requirement: str
    clause: str
    input: str


class Blind(Value):
    """The result that one input must have, by the user's words alone. Give only what the words decide."""

    number: int
    returns: Any = None
    args_after: tuple[Any, ...] | None = Field(default=None, description="the arguments after the call, if asked for")
    raises: str | None = None
    stdout: str | None = None
    stdout_json: Any = None
    exit: int = 0
    status: int | None = None
    body: str | None = None
    body_json: Any = None
    headers: dict[str, str] = Field(default={}, description="of an answer: those that are asked for")
    sees: tuple[str, ...] = ()
    unsure: str = Field(default="", description="why the words do not decide it, if they do not")


class Answers(Reply):
    """Blind answers, one for each number, and cases with inputs of your own."""

    answers: tuple[Blind, ...]
    cases: tuple[Proposed, ...] = Field(
        default=(), description="one or two for each requirement, with inputs that were not asked and their results"
    )
