"""Browser checks: open a page of the contract's server in a sandboxed Chromium, and compare its content."""

import base64
import contextlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from trued.model import BrowserCheck, Outcomes, PageAction, PageBefore, Shot, Tried
from trued.proof.checks.http import start_server, wait_until_up, why_not_up
from trued.proof.checks.page_text import (
    before_actions,
    collapse_spaces,
    could_not,
    expected_in_tree,
    expected_no_errors,
    expected_not_to_see,
    expected_to_see,
    expected_url,
    quote,
)
from trued.proof.room.bench import (
    INSIDE,
    Bench,
    CaseSelection,
    Fact,
    cap_output,
    channel_records,
    keepable_text,
    nonce,
    void_fact,
)
from trued.proof.room.chromium import chromium_folders, find_chromium, missing_kind
from trued.protocols import Command, CommandResult, Server, Workspace

START_S = 60.0  # time for Chromium and its driver to start on a busy machine; the page has its own time limit
OUTPUT_BYTES = 32 * 2**20  # the most that the browser script may write; includes a picture and a recording
MOST_ACTIONS = 30
TREE, PICTURE, TRACE = "tree.txt", "screenshot.png", "trace.zip"
NO_SERVER = "a page needs a server, and the contract has none"


@dataclass(frozen=True, slots=True)
class PageState:
    """What was on a page when it had finished loading."""

    status: int
    url: str  # path, query and fragment
    here: bool  # whether the page is still on the contract's server
    shown: str  # the text that a person sees, with white space collapsed
    meant: str  # the same text as the page's source writes it, without upper case that a style sheet adds
    lines: tuple[str, ...]  # the shown text, line by line
    tree: tuple[str, ...]
    errors: tuple[str, ...]
    first: tuple[str, ...] = ()  # the text before the actions: `shown`, `meant`, then each of `lines`
    stuck: str = ""  # which action could not be done, and why


@dataclass(frozen=True, slots=True)
class PageLook:
    """What a page showed on a server that the engine did not start."""

    unmet: tuple[Tried, ...] = ()  # the expectations that are not met
    picture: str = ""  # the hash of the stored picture of the page; "" if there is none
    not_opened: str = ""  # why the page could not be opened or judged; "" if it could


async def run_browser_check(check: BrowserCheck, bench: Bench, selection: CaseSelection) -> Fact:
    """Open the page once, on a fresh server, and return the result of each expectation."""
    ids = [name for name, _, _ in expectations(check) if selection.ids is None or name in selection.ids]
    if why := NO_SERVER if bench.serve is None else page_flaw(check):
        tried = [Tried(id=name, outcome=Outcomes.BROKEN, kind="malformed", detail=keepable_text(why)) for name in ids]
        return Fact(tuple(tried) or void_fact(why, Outcomes.BROKEN, "malformed").tried, "open a page", void=why)
    assert bench.serve is not None  # noqa: S101  (checked above)
    program, lack = find_chromium()
    if lack:
        tried = [Tried(id=name, outcome=Outcomes.UNJUDGED, kind=missing_kind(), detail=lack) for name in ids]
        return Fact(tuple(tried), f"open {check.page}", void=lack, notes=(f"{check.page}: {lack}",))
    within_s = bench.serve.ready.within_s + _browser_s(check) + 30.0
    ran, record = None, dict[str, Any]()
    async with start_server(bench, within_s) as serving:
        why = await wait_until_up(serving, bench.serve.ready)
        if not why:
            ran, record = await _open_page(check, bench, serving, program)
        server = await serving.end()
    if why:
        outcome, kind, detail = why_not_up(why, bench, server)
        counted = [
            Tried(id=name, outcome=outcome, kind=keepable_text(kind), detail=keepable_text(detail)) for name in ids
        ]
    else:
        counted = [tried for tried in judge_page(check, record, local_origin(serving.port)) if tried.id in ids]
    artifacts = await _save_artifacts(bench, record)
    return Fact(
        tried=tuple(counted),
        command=f"open {check.page} in Chromium",
        output=cap_output(server.stdout, server.stderr),
        seconds=server.seconds,
        isolation=(ran or server).isolation,
        versions={"chromium": str(record["version"])[:50]} if "version" in record else {},
        artifacts=artifacts,
        pictures=_pictures(check, record, artifacts),
    )


def _browser_s(check: BrowserCheck) -> float:
    return START_S + (2 + len(check.actions)) * check.within_s


def page_flaw(check: BrowserCheck) -> str:
    """Why the check can never run (no path, no expectation, bad characters), or ""."""
    words = [text for _, kind, text in expectations(check) if kind != "console"]
    if not 0 < check.within_s < float("inf"):
        return "within_s must be a number of seconds above zero"
    if not check.page.startswith("/") or check.page.startswith("//") or re.search(r"[\x00-\x20\x7f]", check.page):
        return "`page` is not a path of the server"
    if re.search("[\ud800-\udfff]", "".join((check.page, *words))):
        return "it contains half of a character (a lone surrogate)"
    if why := next(filter(None, map(action_flaw, check.actions)), ""):
        return why
    if len(check.actions) > MOST_ACTIONS:
        return f"it has more than {MOST_ACTIONS} actions"
    if check.before and not check.actions:
        return "it has `before`, but no actions"
    return "" if expectations(check) and all(collapse_spaces(text) for text in words) else "it expects nothing"


def action_flaw(action: PageAction) -> str:
    """Why the action is impossible on every page, or ""."""
    if not action.verb:
        return "an action has exactly one of click, type, choose, press, wait"
    if (action.verb in ("type", "choose")) != bool(action.field):
        return f"{action.verb} {'needs' if action.verb in ('type', 'choose') else 'has no'} field"
    word = str(getattr(action, action.verb))
    return "" if word.strip() or action.verb == "type" else f"{action.verb} names nothing"


async def look_elsewhere(workspace: Workspace, check: BrowserCheck, origin: str) -> PageLook:
    """Open the page on a server that the engine did not start, such as a preview of a pushed branch. This is not
    evidence, because it is unknown which commit is served there."""
    program, lack = find_chromium()
    if why := lack or page_flaw(check):
        return PageLook(not_opened=why)
    _, record = await _run_browser(workspace, check, program, origin)
    judged = tuple(judge_page(check, record, origin))
    if why := next((tried.detail for tried in judged if tried.outcome is Outcomes.UNJUDGED), ""):
        return PageLook(not_opened=why)
    unmet = tuple(tried for tried in judged if tried.outcome is not Outcomes.PASSED)
    with contextlib.suppress(ValueError):
        if png := base64.b64decode(str(record.get("screenshot", "")), validate=True):
            return PageLook(unmet, await workspace.save_artifact(png))
    return PageLook(unmet)


async def _open_page(
    check: BrowserCheck, bench: Bench, serving: Server, program: str
) -> tuple[CommandResult, dict[str, Any]]:
    origin = local_origin(serving.port)
    return await _run_browser(bench.workspace, check, program, origin, serving=serving, second=bench.second)


async def _run_browser(
    workspace: Workspace,
    check: BrowserCheck,
    program: str,
    origin: str,
    *,
    serving: Server | None = None,
    second: bool = False,
) -> tuple[CommandResult, dict[str, Any]]:
    """Run the browser script in a sandbox. Returns the finished process and the script's record.

    `serving`: the contract's server, the only one that the browser can reach; if None, the browser can reach the whole
    network. `second`: whether this is the second run of the check, in which names, order and time zone differ.
    """
    token = nonce()
    connection = {"port": serving.port, "dialer": serving.dialer()} if serving else {}
    order = {
        "nonce": token,
        "page": check.page,
        "origin": origin,
        **connection,
        "within_s": check.within_s,
        "chromium": program,
        "second": second,
        "actions": [action.model_dump(mode="json", exclude_none=True) for action in check.actions],
    }
    with tempfile.TemporaryDirectory(prefix="trued-browser-") as folder:
        command = Command(
            argv=(sys.executable, "-I", "-B", str(INSIDE / "browse.py")),
            folder=Path(folder),
            stdin=json.dumps(order).encode(),
            variables={"TMPDIR": folder},  # a short path, because a socket's path has at most 107 bytes
            readable=(str(INSIDE), *chromium_folders(program)),
            within_s=_browser_s(check),
            output_bytes=OUTPUT_BYTES,
            network="loopback" if serving else "host",
            ports=(serving.port,) if serving else (),
            channel=True,
            inherited=(connection["dialer"],) if serving else (),
            second=second,
        )
        ran = await workspace.execute(command)
    records, stray = channel_records(ran.answers, token)
    if stray or len(records) != 1:
        why = "Timeout: the page did not finish loading" if ran.timed_out else "the browser ended without an answer"
        return ran, {"failed": f"{why} {cap_output(ran.stderr)[-600:]}"}
    return ran, records[0]


async def _save_artifacts(bench: Bench, record: dict[str, Any]) -> dict[str, str]:
    """Store the picture, the accessibility tree and the recording for people. Returns the name and hash of each."""
    contents = {TREE: str(record.get("tree", "")).encode("utf-8", "replace")}
    for name, field in ((PICTURE, "screenshot"), (TRACE, "trace")):
        with contextlib.suppress(ValueError):
            contents[name] = base64.b64decode(str(record.get(field, "")), validate=True)
    return {name: await bench.workspace.save_artifact(content) for name, content in contents.items() if content}


def _pictures(check: BrowserCheck, record: dict[str, Any], artifacts: dict[str, str]) -> tuple[Shot, ...]:
    if PICTURE not in artifacts:
        return ()
    url, viewport = keepable_text(str(record.get("url", "")))[:500], keepable_text(str(record.get("viewport", "")))[:20]
    trace = artifacts.get(TRACE, "")
    return (Shot(name=PICTURE, sha256=artifacts[PICTURE], page=check.page, url=url, viewport=viewport, trace=trace),)


# -- what the page shows -----------------------------------------------------------------------------------------------


def expectations(check: BrowserCheck) -> list[tuple[str, str, str]]:
    """Every expectation of the check: its id, its kind and its words.

    The kinds are sees, hides, url, tree and console. The kinds `before sees` and `before hides` are about the page
    before the actions.
    """
    before = check.before or PageBefore()
    every = [(f'before sees "{text}"', "before sees", text) for text in before.sees]
    every += [(f'before hides "{text}"', "before hides", text) for text in before.hides]
    every += [(f'sees "{text}"', "sees", text) for text in check.sees]
    every += [(f'hides "{text}"', "hides", text) for text in check.hides]
    every += [(f"url {check.url}", "url", check.url)] if check.url is not None else []
    every += [(f"tree {line}", "tree", line) for line in check.tree]
    every += [("quiet", "console", "")] if check.quiet else []
    return list(dict.fromkeys(every))


def local_origin(port: int) -> str:
    """The address at which the browser in its sandbox reaches the contract's server."""
    return f"http://localhost:{port}"


def judge_page(check: BrowserCheck, record: dict[str, Any], origin: str) -> Iterator[Tried]:
    """The result of every expectation, from the browser script's record.

    `origin`: the address of the checked server. A page that ends on another server meets no expectation about its
    content.
    """
    page = _page(check, record, origin)
    if page is None:
        outcome, kind, detail = _unopened(check, record)
        for name, _, _ in expectations(check):
            yield Tried(id=name, outcome=outcome, kind=kind, detail=keepable_text(detail))
        return
    listed = expectations(check)
    # An error page (status 400 or above) counts as the page if it shows something that the check expects.
    is_the_page = page.status < 400 or any(kind == "sees" and _is_met(kind, words, page) for _, kind, words in listed)
    for name, kind, words in listed:
        if page.stuck and not kind.startswith("before"):
            yield Tried(id=name, outcome=Outcomes.FAILED, kind="action", detail=keepable_text(page.stuck))
        elif is_the_page and _is_met(kind, words, page):
            yield Tried(id=name, outcome=Outcomes.PASSED)
        elif page.status == 404 and not is_the_page:
            yield Tried(id=name, outcome=Outcomes.MISSING, kind="missing", detail=f"{check.page} answers 404")
        else:
            sentence = _unmet_sentence(check, kind, words, page) if is_the_page else _error_page(check, page)
            yield Tried(
                id=name, outcome=Outcomes.FAILED, kind=kind if is_the_page else "page", detail=keepable_text(sentence)
            )


def _unopened(check: BrowserCheck, record: dict[str, Any]) -> tuple[Outcomes, str, str]:
    if "unable" in record:
        return Outcomes.UNJUDGED, "environment", str(record["unable"])
    why = str(record.get("failed", "the answer of the browser script is not valid"))
    if "Timeout" in why:
        return Outcomes.FAILED, "time", f"{check.page} did not finish loading within {check.within_s:g} s"
    return Outcomes.FAILED, "page", f"{check.page} could not be opened: {collapse_spaces(why)[:300]}"


def _page(check: BrowserCheck, record: dict[str, Any], origin: str) -> PageState | None:
    """The parsed record, or None if it does not have the script's format."""
    try:
        url = urlsplit(str(record["url"]))
        before = record["before"] if check.actions else {"shown": "", "meant": ""}
        lines = str(before["shown"]).splitlines()
        address = f"{url.path or '/'}{f'?{url.query}' if url.query else ''}{f'#{url.fragment}' if url.fragment else ''}"
        return PageState(
            status=int(record["status"]),
            url=address,
            here=f"{url.scheme}://{url.netloc}" == origin,
            shown=collapse_spaces(str(record["shown"])),
            meant=collapse_spaces(str(record["meant"])),
            lines=tuple(filter(None, map(collapse_spaces, str(record["shown"]).splitlines()))),
            tree=tuple(line.strip().removeprefix("- ") for line in str(record["tree"]).splitlines()),
            errors=tuple(str(error) for error in record["errors"]),
            first=tuple(collapse_spaces(str(text)) for text in (before["shown"], before["meant"], *lines)),
            stuck=_stuck(check, record) if check.actions else "",
        )
    except (KeyError, TypeError, ValueError, IndexError):
        return None


def _stuck(check: BrowserCheck, record: dict[str, Any]) -> str:
    if "stuck" not in record:
        return ""
    return could_not(str(check.actions[int(record["stuck"])]), check.page, str(record["why"]))


def _is_met(kind: str, words: str, page: PageState) -> bool:
    if kind.startswith("before "):
        showed = any(collapse_spaces(words) in text for text in page.first[:2])
        return showed if kind == "before sees" else not showed
    if kind in ("sees", "hides"):
        expected = collapse_spaces(words)
        shows = expected in page.shown or expected in page.meant
        return page.here and (shows if kind == "sees" else not shows)
    if kind == "url":
        address = page.url if "#" in words else page.url.partition("#")[0]
        return page.here and address == words
    if kind == "tree":
        return page.here and any(_is_same_line(words, line) for line in page.tree)
    return not page.errors


def _is_same_line(words: str, line: str) -> bool:
    """Whether a line of the accessibility tree consists of the wanted words, perhaps followed by attributes or a
    text."""
    expected = words.strip().removeprefix("- ")
    return line == expected or line.startswith((f"{expected} [", f"{expected}:", f"{expected} :"))


def _unmet_sentence(check: BrowserCheck, kind: str, words: str, page: PageState) -> str:
    """A sentence about what was expected, and what was there instead."""
    if kind == "before sees":
        return before_actions(expected_to_see(words, check.page, page.first[2:]))
    if kind == "before hides":
        return before_actions(expected_not_to_see(words, check.page, page.first[2:]))
    if kind == "url" or not page.here:
        return expected_url(words if kind == "url" else check.page, check.page, _address(page))
    if kind == "tree":
        return expected_in_tree(words, check.page, page.tree)
    if kind == "console":
        return expected_no_errors(check.page, page.errors)
    if kind == "hides":
        return expected_not_to_see(words, check.page, page.lines)
    loud = f"; it reports {quote(page.errors[0])}" if page.errors else ""
    return f"{expected_to_see(words, check.page, page.lines)}{loud}"


def _address(page: PageState) -> str:
    return page.url if page.here else f"{page.url}, on another server"


def _error_page(check: BrowserCheck, page: PageState) -> str:
    return f"{check.page} answers {page.status}" + (f" and shows {quote(page.shown)}" if page.shown else "")
