"""Delivery: what a run shows and hands over: a preview, claims held against git, rounds, and a pull request."""

import asyncio
import http.client
import re
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from trued import proof
from trued.errors import AgentFailed, BadInput, ForgeFailed, StateFailed, Waiting
from trued.model import Finding, Outcome, Task, Ticket, Value
from trued.run.branch import Branch
from trued.run.context import digest
from trued.run.session import Session
from trued.support.path_sets import without
from trued.workflows.ticket.issues import Claimed, mismatches
from trued.workflows.ticket.preview import HOST, Preview, Show, Showing, free_port

MOST_PICTURES, PICTURE_BYTES = 20, 5 * 2**20  # that an agent may hand in
MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
FILE_CHARS, ALL_CHARS = 8_000, 18_000  # of files that an agent is shown; it can read the rest itself
OUTSIDE_S = 10.0  # for somebody else's preview to answer
SLACK_S = 600.0  # that a preview may stand beyond its visitor's own limit
NOT_HERE = "agents of this run may not use the network of this machine"


class Content(Value):
    """A file as it is now."""

    path: str
    content: str


class Findings(Value):
    found: tuple[Finding, ...] = ()


class Offering(Value):
    """A pull request, as it is recorded; or what keeps it from being one."""

    number: int = 0
    url: str = ""
    state: str = ""
    asks: dict[str, str] = {}  # noqa: RUF012 (a frozen value)
    title: str = ""
    body: str = ""
    draft: bool = False
    head: str = ""


class Viewing:
    """A preview as a workflow sees it: where it is, and that it is up while somebody looks."""

    def __init__(self, preview: Preview, up: Callable[[], Awaitable[None]] | None = None) -> None:
        self.preview, self.up = preview, up

    @property
    def words(self) -> str:
        return self.preview.words

    @property
    def broken(self) -> str:
        """Why it does not come up though it should, or ""."""
        return self.preview.why if self.preview.port else ""


class Delivery(Branch):
    """All that leaves a run, and all that is looked at before it does."""

    @property
    def ticket(self) -> Ticket:
        if self.kit.ticket is None:
            raise BadInput("this run has no ticket", then="start it with one: `trued run TICKET`")
        return self.kit.ticket

    def task(self, words: str = "") -> Task:
        """What an agent is given to work on: these words, or the ticket's title alone."""
        told = self.ticket
        return Task(id=told.key, title=told.summary, brief=words, source=told.source)

    @property
    def branch(self) -> str:
        return self.kit.branch

    @property
    def goes_on(self) -> bool:
        """Does it begin where an earlier run of the same ticket ended?"""
        return self.kit.workspace.start != self.kit.workspace.base

    async def told(self, kind: str, value: Value, *, name: str = "") -> None:
        """An event for people, told once however often the workflow is called again; `name` is the step's, where
        another step is called like the event."""

        async def step() -> str:
            self.steps.tell(kind)(kind, **self.kit.redact(value.model_dump(mode="json")))
            return ""

        await self.steps.once(self.steps.key(name or kind), digest(value.model_dump(mode="json")), step)

    # -- files ---------------------------------------------------------------------------------------------------------

    async def changes(self, since: str = "") -> tuple[str, ...]:
        """Files of the work that are not as they were: since the base, or since another commit of the run."""
        found = await self.kit.workspace.changed(since or self.kit.workspace.base, self.line.head)
        return without(found, self.steps.owned)

    async def named_in(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Files of the head whose path stands in these texts."""
        words = {one.strip("`'\"(),;").partition(":")[0] for text in texts for one in text.split()}
        there = await self.kit.workspace.blobs(self.line.head)
        return tuple(sorted(words & there.keys()))

    async def contents(self, paths: Sequence[str]) -> tuple[Content, ...]:
        """What stands in them now, as far as it fits into a brief."""
        shown, left = list[Content](), ALL_CHARS
        for path in paths:
            text = await self.read(path)
            if text is None:
                shown.append(Content(path=path, content="(it is not there any more)"))
            elif "\0" in text or len(text) > min(FILE_CHARS, left):
                shown.append(Content(path=path, content=f"({len(text)} characters: read it yourself)"))
            else:
                left -= len(text)
                shown.append(Content(path=path, content=text))
        return tuple(shown)

    # -- claims --------------------------------------------------------------------------------------------------------

    async def claims(self, claimed: Claimed, since: str) -> tuple[Finding, ...]:
        """Hold what an implementer says against git: what is not so is a gap, told to those who come after it."""
        files = await self.changes(since)

        async def step() -> str:
            known = await self.kit.workspace.knows(claimed.commit)
            wrong = mismatches(claimed, self.branch, files, known=known)
            for one in wrong:
                self.steps.tell("claims")("claim refuted", what=self.kit.redact(one.what))
            return Findings(found=wrong).model_dump_json()

        inputs = digest(claimed.model_dump(mode="json"), since, self.line.head)
        return Findings.model_validate_json(await self.steps.once(self.steps.key("claims"), inputs, step)).found

    async def claimed_pictures(self, session: Session[Any], names: Iterable[str]) -> None:
        """Keep the pictures that an agent left in its clone: people see them, and nothing rests on them."""
        wanted = list(dict.fromkeys(filter(None, names)))[:MOST_PICTURES]
        if not wanted:
            return

        async def step() -> str:
            kept = dict(await self._pictures(session, wanted))
            self.steps.tell("pictures")("pictures claimed", role=session.role.name, pictures=self.kit.redact(kept))
            return ""

        await self.steps.once(self.steps.key("pictures"), digest(wanted), step)

    async def _pictures(self, session: Session[Any], names: Sequence[str]) -> list[tuple[str, str]]:
        workspace, clone = self.kit.workspace, session.last.clone if session.last else session.clone
        try:
            left = await workspace.take(
                clone, self.line.head, author=session.role.name, message="pictures", when=self.line.when
            )
        except StateFailed:  # a killed engine had dropped the clone already
            return []
        found = []
        for name in names:
            path = str(PurePosixPath(name)).removeprefix("./")
            content = await workspace.read(left.commit, path) if not path.startswith(("/", "..")) else None
            if content and len(content) <= PICTURE_BYTES and content.startswith(MAGIC):
                found.append((name, await workspace.keep(content)))
        return found

    # -- the preview ---------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def preview(self) -> AsyncIterator[Viewing]:
        """The head, served as the contract says while somebody looks; else the preview that the ticket names.

        Its port is part of what an agent is told: an engine that was killed brings it up under the same one.
        """
        contract, outside = self.line.contract, self.kit.ticket.preview if self.kit.ticket else ""
        here = self.kit.settings.network == "host"
        if contract is None or not here or (contract.serve is None and outside):
            yield Viewing(await self._elsewhere(outside, "" if here else NOT_HERE))
            return
        within_s = self.kit.settings.wall_s + SLACK_S
        show = Show(self.kit.workspace, contract, self.line.head, free_port(), within_s, self.steps.tell("preview"))
        async with AsyncExitStack() as shown:
            showing = await shown.enter_async_context(Showing(show))
            preview = await self._served(showing)
            if preview.port != show.port:  # remembered: it is brought up again when somebody looks
                showing = await shown.enter_async_context(Showing(replace(show, port=preview.port)))
            yield Viewing(preview, None if preview.why else partial(self._up, showing))

    async def _served(self, showing: Showing) -> Preview:
        show = showing.show

        async def step() -> str:
            why = self.kit.redact(await showing.up())
            port, url = show.port if show.contract.serve else 0, "" if why else f"http://{HOST}:{show.port}"
            self.steps.tell("preview")("preview", url=url, why=why, commit=show.commit)
            return Preview(url=url, port=port, why=why).model_dump_json()

        return Preview.model_validate_json(await self.steps.once(self.steps.key("preview"), digest(show.commit), step))

    async def _up(self, showing: Showing) -> None:
        if why := await showing.up():
            self.steps.tell("preview")("preview", url="", why=self.kit.redact(why), commit=showing.show.commit)

    async def _elsewhere(self, url: str, why: str) -> Preview:
        """Somebody else's preview is only handed on; that it cannot be reached is said."""

        async def step() -> str:
            found = why or await asyncio.to_thread(_unreached, url)
            self.steps.tell("preview")("preview", url=url, why=found)
            return Preview(url=url, why=found).model_dump_json()

        return Preview.model_validate_json(await self.steps.once(self.steps.key("preview"), digest(url), step))

    # -- the pull request ----------------------------------------------------------------------------------------------

    def succeeded(self, outcome: Outcome) -> bool:
        """By all that is known now, people's words among it."""
        verdict = outcome.verdict
        return verdict is not None and proof.success(self.kit.lifted(verdict), self.kit.settings.accept)

    async def offer(self, *, draft: bool = False) -> Offering:
        """Push the head and open its pull request, or bring the open one up to date: once, whoever is killed when.

        What would run by itself once it is pushed is nobody's to push but a person's: then it waits to be landed.
        """
        offer, run = self.kit.offer, self.kit.run
        if offer is None:
            raise BadInput("there is no forge to offer to")

        async def step() -> str:
            try:
                offered = await offer(draft)
            except BadInput as error:
                raise Waiting(f"the work is not offered yet: {error}; `trued resume {run}` offers it") from error
            except ForgeFailed as error:
                raise AgentFailed(f"the work is not offered yet: {error}; `trued resume {run}` offers it") from error
            if isinstance(offered, Mapping):
                why = f"`trued land {run} --pr` shows them, asks, and offers the work"
                self.steps.tell("offer")("not offered", files=list(offered), why=f"they ask for trust; {why}")
                return Offering(asks=dict(offered)).model_dump_json()
            told = asdict(offered)
            self.steps.tell("offer")("offered", **{name: told[name] for name in told if name != "body"})
            return Offering(**told).model_dump_json()

        inputs = digest(self.line.head, draft)
        return Offering.model_validate_json(await self.steps.once(self.steps.key("offer"), inputs, step))


def _unreached(url: str) -> str:
    """ "" when somebody answers there, whatever they say."""
    if not re.match(r"https?://", url):
        return "it is no address that a browser opens"
    try:
        request = urllib.request.Request(url, method="HEAD")  # noqa: S310 (looked at one line above)
        urllib.request.build_opener(_Stay).open(request, timeout=OUTSIDE_S).close()
    except urllib.error.HTTPError:
        return ""
    except (OSError, ValueError) as error:
        return f"it cannot be reached: {getattr(error, 'reason', error)}"
    except http.client.HTTPException:
        return "it is no address of a web server, or does not answer as one does"
    return ""


class _Stay(urllib.request.HTTPRedirectHandler):
    """Where it leads to is the visitor's business."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
