"""VerifierPreview: the work as its users would see it, for the agent that verifies a ticket."""

import asyncio
import http.client
import re
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from trued.model import BrowserCheck, Value
from trued.proof.checks.browser import PageLook, look_elsewhere
from trued.run.agent_call import Equipment
from trued.run.browser_tool import browser_on
from trued.run.preview_server import HOST, PreviewAddress, PreviewRequest, PreviewServer, free_port
from trued.run.run import Run
from trued.support.hashing import digest
from trued.workflows.ticket.events import PagesNotOpened, PreviewShown
from trued.workflows.ticket.issues import ENGINE, Issue

LOOK_S = 2.0  # time between two checks whether a pushed preview answers
OUTSIDE_S = 10.0  # timeout for the answer of a preview on another server
SLACK_S = 600.0  # how long a preview stays up beyond the time limit of an agent call
NOT_HERE = "agents of this run may not use the network of this machine"


class Issues(Value):
    found: tuple[Issue, ...] = ()


class VerifierPreview:
    """The preview that a verifier gets. `start` starts the preview's server before the agent works; None if there is no
    server to start."""

    def __init__(
        self, address: PreviewAddress, start: Callable[[], Awaitable[None]] | None = None, *, pushed: bool = False
    ) -> None:
        """`pushed`: whether another server serves the preview, from the pushed branch."""
        self.address, self.start, self.pushed = address, start, pushed

    @property
    def description(self) -> str:
        return self.address.description

    @property
    def equipment(self) -> Equipment:
        """A browser that can open only the preview; empty if the preview cannot be reached."""
        return Equipment() if self.address.why else browser_on(self.address.url)

    @property
    def broken(self) -> str:
        """Why the preview is not up, although it should be; "" if nothing is wrong."""
        return self.address.why if self.address.port or self.pushed else ""


@asynccontextmanager
async def open_preview(run: Run) -> AsyncIterator[VerifierPreview]:
    """Provide a preview of the head while a verifier views it. This is the pushed branch's preview if the settings name
    one; else a server that the contract describes; else the address that the ticket names.

    If agents may not use this machine's network, no server is started, and the ticket's preview counts as unreachable.
    The server's port is part of the agent's brief: after a crash the engine uses the same port again.
    """
    contract, outside = run.steps.state.proof.contract, run.ticket.preview if run.ticket else ""
    may_serve = run.settings.network == "host"
    if run.settings.preview.push and run.settings.preview.url:
        yield VerifierPreview(await _pushed(run), pushed=True)
        return
    if contract is None or not may_serve or (contract.serve is None and outside):
        yield VerifierPreview(await _external(run, outside, "" if may_serve else NOT_HERE))
        return
    within_s = run.settings.wall_s + SLACK_S
    emit = run.steps.emitter("preview")
    request = PreviewRequest(run.context.workspace, contract, run.branch.head, free_port(), within_s, emit)
    async with PreviewServer(request) as server:
        address = await _serve(run, server)
        # in a resumed run the address comes from the journal, and the server, not started yet, takes the recorded port
        server.request = replace(request, port=address.port)
        yield VerifierPreview(address, None if address.why else partial(_ensure_started, run, server))


async def _serve(run: Run, server: PreviewServer) -> PreviewAddress:
    """Start the server, once for each commit, and return its address."""
    request = server.request

    async def step() -> PreviewAddress:
        why = run.context.redact(await server.start())
        port, url = request.port if request.contract.serve else 0, "" if why else f"http://{HOST}:{request.port}"
        run.steps.emit("preview", PreviewShown(url=url, why=why, commit=request.commit))
        return PreviewAddress(url=url, port=port, why=why)

    return await run.steps.compute(PreviewAddress, run.steps.key("preview"), digest(request.commit), step)


async def _ensure_started(run: Run, server: PreviewServer) -> None:
    """Start the server unless it is up: in a resumed run the address comes from the journal, and no server runs yet."""
    if why := await server.start():
        failed = PreviewShown(url="", why=run.context.redact(why), commit=server.request.commit)
        run.steps.emit("preview", failed)


async def _external(run: Run, url: str, why: str) -> PreviewAddress:
    """A preview on another server. Only its address is passed on, with the reason if it cannot be reached."""

    async def step() -> PreviewAddress:
        unreachable = why or await asyncio.to_thread(_why_unreachable, url)
        run.steps.emit("preview", PreviewShown(url=url, why=unreachable))
        return PreviewAddress(url=url, why=unreachable)

    return await run.steps.compute(PreviewAddress, run.steps.key("preview"), digest(url), step)


async def _pushed(run: Run) -> PreviewAddress:
    """Push the head, and wait until the preview of the pushed branch answers."""
    configured, head = run.settings.preview, run.branch.head
    url = configured.address(run.branch.name, head)

    async def step() -> PreviewAddress:
        why = await run.context.workspace.push(configured.push, head, f"refs/heads/{run.branch.name}")
        why = why or await _until_it_answers(url, configured.within_s)
        why = run.context.redact(why)
        run.steps.emit("preview", PreviewShown(url=url, why=why, commit=head))
        return PreviewAddress(url=url, why=why)

    return await run.steps.compute(PreviewAddress, run.steps.key("preview"), digest(url, head), step)


async def _until_it_answers(url: str, within_s: float) -> str:
    until, why = time.monotonic() + within_s, ""
    while True:
        why = await asyncio.to_thread(_why_unreachable, url, errors=True)
        if not why or time.monotonic() >= until:
            return f"{why} (after {within_s:g} s)" if why else ""
        await asyncio.sleep(min(LOOK_S, within_s))


async def look_at_pushed(run: Run, preview: VerifierPreview) -> tuple[Issue, ...]:
    """Open the visible pages of the contract on the pushed branch's preview. A page that does not show what it should
    is an issue, but not evidence: it is unknown which commit is served there. A page that this machine cannot open is
    no issue of the work: an event says that it was not opened."""
    contract = run.steps.state.proof.contract
    if not preview.pushed or contract is None:
        return ()
    origin = preview.address.url.rstrip("/")
    every = [(requirement.id, check) for requirement in contract.requirements for check in requirement.checks]
    pages = [(name, check) for name, check in every if isinstance(check, BrowserCheck) and check.visible]

    async def step() -> Issues:
        workspace = run.context.workspace
        looks = [
            (name, f"{origin}{check.page}", await look_elsewhere(workspace, check, origin)) for name, check in pages
        ]
        for why in dict.fromkeys(look.not_opened for _, _, look in looks if look.not_opened):
            urls = tuple(url for _, url, look in looks if look.not_opened == why)
            run.steps.emit("preview", PagesNotOpened(urls=urls, why=run.context.redact(why)))
        return Issues(found=tuple(issue for name, url, look in looks for issue in _unmet(run, name, url, look)))

    inputs = digest(origin, run.branch.head)
    return (await run.steps.compute(Issues, run.steps.key("look"), inputs, step)).found


def _unmet(run: Run, name: str, url: str, look: PageLook) -> list[Issue]:
    return [
        Issue(
            severity="critical",
            description=f"{name}: on the preview of the pushed branch: {run.context.redact(step.detail)}",
            location=url,
            screenshot=look.picture,
            requirement=name,
            by=ENGINE,
        )
        for step in look.unmet
    ]


def _why_unreachable(url: str, *, errors: bool = False) -> str:
    """Why an address cannot be reached; "" if a server answers. `errors`: an HTTP error does not count as an answer."""
    if not re.match(r"https?://", url):
        return "the address does not begin with http:// or https://"
    try:
        request = urllib.request.Request(url, method="HEAD")  # noqa: S310 (checked above)
        urllib.request.build_opener(_NoRedirect).open(request, timeout=OUTSIDE_S).close()
    except urllib.error.HTTPError as error:
        return f"it answers {error.code}" if errors and error.code >= 400 else ""
    except (OSError, ValueError) as error:
        return f"it cannot be reached: {getattr(error, 'reason', error)}"
    except http.client.HTTPException:
        return "no web server answers there"
    return ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
