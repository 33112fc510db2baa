"""Delivery of a ticket: previews for its verifier, claims compared with git, pictures, and the pull request."""

import asyncio
import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from trued.errors import AgentFailed, BadInput, ForgeFailed, StateFailed, Waiting
from trued.model import BrowserCheck, Criterion, Finding, Judged, Outcome, Severity, Task, Ticket, Value
from trued.model.events.landing import PullRequestOffered, PullRequestWithheld
from trued.model.events.proof import ClaimRefuted
from trued.proof.checks.browser import look_elsewhere
from trued.proof.verdict.conclusion import is_success
from trued.run.agent_call import Equipment
from trued.run.browser_tool import browser_on
from trued.run.preview import HOST, Preview, Show, Showing, free_port
from trued.run.run import Run
from trued.run.session import Session
from trued.support.hashing import digest
from trued.workflows.ticket.events import PicturesClaimed, PreviewShown
from trued.workflows.ticket.issues import ENGINE, ImplementerClaims, Issue, claim_mismatches

MOST_PICTURES, PICTURE_BYTES = 20, 5 * 2**20  # at most this many pictures of an agent, and bytes of one
MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
LOOK_S = 2.0  # time between two checks whether a pushed preview answers
OUTSIDE_S = 10.0  # timeout for the answer of a preview on another server
SLACK_S = 600.0  # how long a preview stays up beyond the time limit of an agent call
NOT_HERE = "agents of this run may not use the network of this machine"


class Findings(Value):
    found: tuple[Finding, ...] = ()


class Issues(Value):
    found: tuple[Issue, ...] = ()


class Offering(Value):
    """The recorded result of an offer: the pull request, or in `asks` the files that need a person's consent first. If
    both are empty, the pull request has to be opened on the machine that has the repository."""

    number: int = 0
    url: str = ""
    state: str = ""
    asks: dict[str, str] = {}  # noqa: RUF012 (a frozen value)
    title: str = ""
    body: str = ""
    draft: bool = False
    head: str = ""


class Viewing:
    """A preview as a workflow sees it: its address, and `up`, which starts its server before an agent works (None:
    there is nothing to start)."""

    def __init__(
        self, preview: Preview, up: Callable[[], Awaitable[None]] | None = None, *, pushed: bool = False
    ) -> None:
        """`pushed`: whether another server serves the preview, from the pushed branch."""
        self.preview, self.up, self.pushed = preview, up, pushed

    @property
    def preview_description(self) -> str:
        return self.preview.description

    @property
    def equipment(self) -> Equipment:
        """A browser that can open only the preview; nothing if the preview cannot be reached."""
        return Equipment() if self.preview.why else browser_on(self.preview.url)

    @property
    def broken(self) -> str:
        """Why the preview is not up, although it should be; "" if nothing is wrong."""
        return self.preview.why if self.preview.port or self.pushed else ""


def ticket_of(run: Run) -> Ticket:
    """The run's ticket. Raises `BadInput` if it was started without one."""
    if run.ticket is None:
        raise BadInput("this run has no ticket", then="start it with one: `trued run TICKET`")
    return run.ticket


def ticket_task(run: Run, text: str = "") -> Task:
    """The task of an agent: the ticket's title, with this text if there is any."""
    ticket = ticket_of(run)
    return Task(id=ticket.key, title=ticket.summary, brief=text, source=ticket.source)


def criteria_to_verify(run: Run) -> tuple[Criterion, ...]:
    """What the verifier checks: the ticket's requirements and acceptance criteria."""
    ticket = ticket_of(run)
    return (*ticket.requirements, *ticket.acceptance)


def grade_finding(judged: Judged) -> Finding:
    """A requirement's grade, as a finding for the agent that writes the pull request: a fact, not an issue."""
    return Finding(what=f"{judged.id} is {judged.grade}", where=judged.text, severity=Severity.NONE)


async def check_claims(run: Run, claimed: ImplementerClaims, since: str) -> tuple[Finding, ...]:
    """Compare an implementer's claims with git. Each mismatch is a gap in the briefs of later agents."""
    files = await run.branch.changes(since)

    async def step() -> Findings:
        known = await run.context.workspace.is_known_commit(claimed.commit)
        wrong = claim_mismatches(claimed, run.branch.name, files, known=known)
        for one in wrong:
            run.steps.emit("claims", ClaimRefuted(what=run.context.redact(one.what)))
        return Findings(found=wrong)

    inputs = digest(claimed.model_dump(mode="json"), since, run.branch.head)
    return (await run.steps.compute(Findings, run.steps.key("claims"), inputs, step)).found


async def keep_pictures(run: Run, session: Session[Any], names: Iterable[str]) -> dict[str, str]:
    """Keep the pictures that an agent left in its clone, for people and the next agent to see; no verdict depends on
    them. Returns name → artifact."""
    wanted = list(dict.fromkeys(filter(None, names)))[:MOST_PICTURES]
    if not wanted:
        return {}

    async def step() -> str:
        kept = dict(await _pictures(run, session, wanted))
        missing = tuple(run.context.redact([name for name in wanted if name not in kept]))
        claimed = PicturesClaimed(role=session.role.name, pictures=run.context.redact(kept), missing=missing)
        run.steps.emit("pictures", claimed)
        return json.dumps(kept)

    kept: dict[str, str] = json.loads(await run.steps.once(run.steps.key("pictures"), digest(wanted), step) or "{}")
    return kept


def pictures_of(issues: Iterable[Issue], kept: Mapping[str, str]) -> Equipment:
    """The pictures that issues name, for the agent that fixes them: those that an agent left, and the engine's own."""
    named = [one.screenshot for one in issues if one.screenshot]
    own = {f"{name}.png": name for name in named if re.fullmatch(r"[0-9a-f]{64}", name)}
    return Equipment(pictures={**own, **{name: kept[name] for name in named if name in kept}})


async def _pictures(run: Run, session: Session[Any], names: Sequence[str]) -> list[tuple[str, str]]:
    workspace, clone = run.context.workspace, session.last.clone if session.last else session.clone
    try:
        left = await workspace.commit_clone(
            clone, run.branch.head, author=session.role.name, message="pictures", when=run.branch.when
        )
    except StateFailed:  # the clone is gone: the engine had dropped it before it was killed
        return []
    found = []
    for name in names:
        path = str(PurePosixPath(name)).removeprefix("./")
        content = await workspace.read(left.commit, path) if not path.startswith(("/", "..")) else None
        if content and len(content) <= PICTURE_BYTES and content.startswith(MAGIC):
            found.append((name, await workspace.save_artifact(content)))
    return found


# -- the preview -------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def preview(run: Run) -> AsyncIterator[Viewing]:
    """A preview of the head while an agent or a person views it: the pushed branch's preview if the settings name one,
    else a server as the contract describes it, else the preview that the ticket names. If agents may not use this
    machine's network, no server is started, and the ticket's preview counts as unreachable.

    The server's port is part of the agent's brief: after a crash the engine uses the same port again.
    """
    contract, outside = run.steps.state.proof.contract, run.ticket.preview if run.ticket else ""
    here = run.settings.network == "host"
    if run.settings.preview.push and run.settings.preview.url:
        yield Viewing(await _pushed(run), pushed=True)
        return
    if contract is None or not here or (contract.serve is None and outside):
        yield Viewing(await _external(run, outside, "" if here else NOT_HERE))
        return
    within_s = run.settings.wall_s + SLACK_S
    show = Show(run.context.workspace, contract, run.branch.head, free_port(), within_s, run.steps.emitter("preview"))
    async with AsyncExitStack() as shown:
        showing = await shown.enter_async_context(Showing(show))
        preview = await _serve(run, showing)
        if preview.port != show.port:  # a resumed run: serve it on the recorded port
            showing = await shown.enter_async_context(Showing(replace(show, port=preview.port)))
        yield Viewing(preview, None if preview.why else partial(_bring_up, run, showing))


async def _serve(run: Run, showing: Showing) -> Preview:
    show = showing.show

    async def step() -> Preview:
        why = run.context.redact(await showing.up())
        port, url = show.port if show.contract.serve else 0, "" if why else f"http://{HOST}:{show.port}"
        run.steps.emit("preview", PreviewShown(url=url, why=why, commit=show.commit))
        return Preview(url=url, port=port, why=why)

    return await run.steps.compute(Preview, run.steps.key("preview"), digest(show.commit), step)


async def _bring_up(run: Run, showing: Showing) -> None:
    if why := await showing.up():
        shown = PreviewShown(url="", why=run.context.redact(why), commit=showing.show.commit)
        run.steps.emit("preview", shown)


async def _external(run: Run, url: str, why: str) -> Preview:
    """A preview on another server. Only its address is passed on, with the reason if it cannot be reached."""

    async def step() -> Preview:
        found = why or await asyncio.to_thread(_why_unreachable, url)
        run.steps.emit("preview", PreviewShown(url=url, why=found))
        return Preview(url=url, why=found)

    return await run.steps.compute(Preview, run.steps.key("preview"), digest(url), step)


async def _pushed(run: Run) -> Preview:
    """Push the head, and wait until its preview answers."""
    wanted, head = run.settings.preview, run.branch.head
    url = wanted.address(run.branch.name, head)

    async def step() -> Preview:
        why = await run.context.workspace.push(wanted.push, head, f"refs/heads/{run.branch.name}")
        why = why or await _until_it_answers(url, wanted.within_s)
        why = run.context.redact(why)
        run.steps.emit("preview", PreviewShown(url=url, why=why, commit=head))
        return Preview(url=url, why=why)

    return await run.steps.compute(Preview, run.steps.key("preview"), digest(url, head), step)


async def _until_it_answers(url: str, within_s: float) -> str:
    until, why = time.monotonic() + within_s, ""
    while True:
        why = await asyncio.to_thread(_why_unreachable, url, errors=True)
        if not why or time.monotonic() >= until:
            return f"{why} (after {within_s:g} s)" if why else ""
        await asyncio.sleep(min(LOOK_S, within_s))


async def look_at_pushed(run: Run, shown: Viewing) -> tuple[Issue, ...]:
    """Open the visible pages of the contract on the pushed branch's preview. A page that does not show what it should
    is an issue, but not evidence: it is unknown which commit is served there."""
    contract = run.steps.state.proof.contract
    if not shown.pushed or contract is None:
        return ()
    origin = shown.preview.url.rstrip("/")
    every = [(one.id, check) for one in contract.requirements for check in one.checks]
    pages = [(name, check) for name, check in every if isinstance(check, BrowserCheck) and check.visible]

    async def step() -> Issues:
        found = [issue for name, check in pages for issue in await _unmet(run, name, check, origin)]
        return Issues(found=tuple(found))

    inputs = digest(origin, run.branch.head)
    return (await run.steps.compute(Issues, run.steps.key("look"), inputs, step)).found


async def _unmet(run: Run, name: str, check: BrowserCheck, origin: str) -> list[Issue]:
    unmet, picture = await look_elsewhere(run.context.workspace, check, origin)
    return [
        Issue(
            severity="critical",
            description=f"{name}: on the preview of the pushed branch: {run.context.redact(one.detail)}",
            location=f"{origin}{check.page}",
            screenshot=picture,
            requirement=name,
            by=ENGINE,
        )
        for one in unmet
    ]


# -- the pull request --------------------------------------------------------------------------------------------------


def succeeded(run: Run, outcome: Outcome) -> bool:
    """Whether the outcome counts as a success, by everything known now, approvals included."""
    verdict = outcome.verdict
    return verdict is not None and is_success(run.context.with_approvals(verdict), run.settings.accept)


async def offer(run: Run, *, draft: bool = False) -> Offering:
    """Push the head and open its pull request, or update the open one. It happens once, even if the engine is killed.

    If files that tools execute automatically need a person's consent, or the repository is on another machine,
    nothing is pushed, and the work waits to be landed.
    """
    open_request, name = run.context.offer, run.id
    if open_request is None:
        raise BadInput("there is no forge to offer the work to")

    async def step() -> Offering:
        try:
            offered = await open_request(draft)
        except BadInput as error:
            raise Waiting(f"the work is not offered yet: {error}; `trued resume {name}` offers it") from error
        except ForgeFailed as error:
            raise AgentFailed(f"the work is not offered yet: {error}; `trued resume {name}` offers it") from error
        if isinstance(offered, str):
            run.steps.emit("offer", PullRequestWithheld(files=(), why=offered))
            return Offering()
        if isinstance(offered, Mapping):
            why = f"`trued land {name} --pr` shows them, asks, and offers the work"
            run.steps.emit("offer", PullRequestWithheld(files=tuple(offered), why=f"they are sensitive files; {why}"))
            return Offering(asks=dict(offered))
        fields = asdict(offered)
        run.steps.emit("offer", PullRequestOffered(**{name: fields[name] for name in fields if name != "body"}))
        return Offering(**fields)

    inputs = digest(run.branch.head, draft)
    return await run.steps.compute(Offering, run.steps.key("offer"), inputs, step)


def _why_unreachable(url: str, *, errors: bool = False) -> str:
    """Why an address cannot be reached; "" if a server answers. `errors`: an HTTP error does not count as an answer."""
    if not re.match(r"https?://", url):
        return "it is not an address that a browser opens"
    try:
        request = urllib.request.Request(url, method="HEAD")  # noqa: S310 (checked above)
        urllib.request.build_opener(_NoRedirect).open(request, timeout=OUTSIDE_S).close()
    except urllib.error.HTTPError as error:
        return f"it answers {error.code}" if errors and error.code >= 400 else ""
    except (OSError, ValueError) as error:
        return f"it cannot be reached: {getattr(error, 'reason', error)}"
    except http.client.HTTPException:
        return "it is not the address of a web server, or that server does not answer"
    return ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
