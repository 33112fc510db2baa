"""Trackers, one module each; and how the tracker of a ticket is selected from the ticket's name."""

from collections.abc import Mapping
from pathlib import Path

from trued.errors import BadInput
from trued.integrations.git_remotes import remote_address
from trued.integrations.github import NAME as GITHUB
from trued.integrations.github import TOKEN_ENV as GITHUB_TOKEN
from trued.integrations.github import check_repository, repository_of
from trued.integrations.http import service_of
from trued.integrations.jira import NAME as JIRA
from trued.integrations.jira import TOKEN_ENV as JIRA_TOKEN
from trued.integrations.trackers.names import TicketName, github_api, ticket_name
from trued.model import Settings
from trued.protocols import Tracker


def tracker_of(settings: Settings, name: str, environ: Mapping[str, str], root: Path) -> Tracker:
    """The tracker that holds the ticket of this name. Sends no request yet. Raises BadInput if the text names no
    ticket, or if the ticket's repository or server is unknown."""
    found = ticket_name(name, settings)
    if found is None:
        raise BadInput(f"{name!r} names no ticket", then="pass a file, #12, owner/name#12, SHOP-7 or the issue's URL")
    if found.kind == "github":
        return _github(found, settings, environ, root)
    if found.kind == "jira":
        return _jira(found, settings, environ)
    from trued.integrations.trackers.file import FileTracker

    return FileTracker()


def _github(found: TicketName, settings: Settings, environ: Mapping[str, str], root: Path) -> Tracker:
    from trued.integrations.trackers.github import GitHubTracker

    api = github_api(settings)
    origin = repository_of(remote_address(root, settings.forge.remote), api)
    repository = found.within or origin
    if not repository:
        what = f"the repository of #{found.key} is unknown"
        raise BadInput(what, then=f"write owner/name#{found.key}, or set [tickets] project in trued.toml")
    own = settings.tickets.token_env if settings.tickets.kind == "github" else ""
    at = service_of(GITHUB, api, own or settings.forge.token_env or GITHUB_TOKEN, environ)
    return GitHubTracker(at, check_repository(repository, "tickets.project"), settings)


def _jira(found: TicketName, settings: Settings, environ: Mapping[str, str]) -> Tracker:
    from trued.integrations.trackers.jira import JiraTracker

    address = found.within or settings.tickets.url
    if not address:
        then = 'set [tickets] url = "https://example.atlassian.net" in your own trued.toml (~/.config/trued)'
        raise BadInput(f"the Jira server of {found.key} is unknown", then=then)
    own = settings.tickets
    at = service_of(JIRA, address, own.token_env or JIRA_TOKEN, environ, own.user_env)
    return JiraTracker(at, settings)
