"""Recognise the name of a ticket: `#12`, `owner/name#12`, `SHOP-7`, the address of its page, a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlsplit

from trued.errors import BadInput
from trued.integrations.github import API, REPOSITORY, repository_of, web_address
from trued.integrations.jira import CLOUD
from trued.model import Settings
from trued.support.lazy_regex import lazy_regex

KEY = lazy_regex(r"[A-Z][A-Z0-9_]{1,19}-[1-9]\d{0,9}")
NUMBER = lazy_regex(r"#?([1-9]\d{0,9})")
FILES = (".md", ".markdown", ".txt", ".json")


@dataclass(frozen=True, slots=True)
class TicketName:
    """A ticket as the user named it: which tracker, and the ticket's key there."""

    kind: Literal["file", "github", "jira"]
    key: str  # path of a file, number on GitHub, or key on Jira
    within: str = ""  # owner/name on GitHub, or the address of the Jira server
    url: str = ""


def ticket_name(name: str, settings: Settings) -> TicketName | None:
    """The ticket that this text names; None if the text is a goal. Raises BadInput for a ticket on an unknown
    server."""
    name = name.strip()
    kind = settings.tickets.kind
    if kind in ("auto", "file") and _is_file(name):
        return TicketName("file", name)
    if not name or len(name.split()) != 1 or kind == "file":
        return None
    if name.startswith(("https://", "http://")):
        return _page(name, settings)
    if kind != "jira" and (found := _github(name, settings)):
        return found
    if kind != "github" and (found := _jira(name, settings)):
        return found
    return None


def _github(name: str, settings: Settings) -> TicketName | None:
    own = settings.forge.repository
    if settings.tickets.kind == "github" or REPOSITORY.fullmatch(settings.tickets.project):
        own = settings.tickets.project or own
    repository, sign, number = name.rpartition("#")
    if sign and repository and REPOSITORY.fullmatch(repository) and NUMBER.fullmatch(number):
        return TicketName("github", number, repository)
    match = NUMBER.fullmatch(name)
    if match and (name.startswith("#") or settings.tickets.kind == "github"):
        return TicketName("github", match[1], own)
    return None


def _jira(name: str, settings: Settings) -> TicketName | None:
    project = settings.tickets.project
    if settings.tickets.kind == "jira" and project and (match := NUMBER.fullmatch(name)):
        name = f"{project}-{match[1]}"
    asked = settings.tickets.kind == "jira"
    return TicketName("jira", name.upper()) if KEY.fullmatch(name.upper() if asked else name) else None


def _page(address: str, settings: Settings) -> TicketName | None:
    """The ticket at this web address: on a tracker from the settings, github.com or Jira Cloud. None if the address
    names no ticket. Raises BadInput for a ticket on any other server."""
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").lower()
    except ValueError:
        return None
    words = [word for word in parts.path.split("/") if word]
    if len(words) >= 4 and words[-2] in ("issues", "pull") and NUMBER.fullmatch(words[-1]):
        return _issue_page(address, words[-1], settings)
    before, browse, key = parts.path.partition("/browse/")
    shown = parse_qs(parts.query).get("selectedIssue", [""])[0]
    key = key.strip("/") if browse else shown
    if not KEY.fullmatch(key.upper()):
        return None
    root = f"{parts.scheme}://{parts.netloc}{before if browse else ''}"
    own = settings.tickets.url
    if own and (urlsplit(own).scheme, urlsplit(own).netloc.lower()) == (parts.scheme, parts.netloc.lower()):
        return TicketName("jira", key.upper(), own, address)
    if host.endswith(CLOUD) and parts.scheme == "https" and not parts.port and not parts.username:
        return TicketName("jira", key.upper(), root, address)
    what = f"{host} is not the Jira of your settings, so no token is sent there"
    raise BadInput(
        what, address, f'if this server is yours, set [tickets] url = "{root}" in your own trued.toml (~/.config/trued)'
    )


def _issue_page(address: str, number: str, settings: Settings) -> TicketName:
    api = github_api(settings)
    if repository := repository_of(address, api):
        return TicketName("github", number, repository, address)
    what = f"this is not a page of {urlsplit(web_address(api)).netloc}, so no token is sent there"
    raise BadInput(
        what, address, "for a GitHub server of your own, set [forge] url in your own trued.toml (~/.config/trued)"
    )


def github_api(settings: Settings) -> str:
    own = settings.tickets.url if settings.tickets.kind == "github" else ""
    return own or settings.forge.url or API


def _is_file(name: str) -> bool:
    try:
        if Path(name).is_file():
            return True
    except (OSError, ValueError):
        return False
    return len(name.split()) == 1 and "://" not in name and Path(name).suffix.lower() in FILES
