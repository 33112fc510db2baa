"""Tickets that are issues on GitHub."""

from trued.errors import BadInput
from trued.integrations.github import github_session
from trued.integrations.http import Service, unexpected_answer
from trued.integrations.trackers.kinds import issue_kind
from trued.integrations.trackers.names import ticket_name
from trued.model import Settings
from trued.protocols import TrackerIssue


class GitHubTracker:
    """Issues of one repository. Public issues can be read without a token."""

    def __init__(self, at: Service, repository: str, settings: Settings) -> None:
        self._at, self._repository, self._settings = at, repository, settings

    def issue(self, name: str) -> TrackerIssue:
        found = ticket_name(name, self._settings)
        if found is None or found.kind != "github":
            raise BadInput(f"{name!r} is not a GitHub issue", then="write #12, or the address of its page")
        doing = f"read issue {found.key} of {self._repository}"
        with github_session(self._at, doing) as hub:
            data = hub.get_repo(self._repository).get_issue(int(found.key)).raw_data
            if not isinstance(data, dict) or not isinstance(data.get("title"), str):
                raise unexpected_answer(self._at, doing)
            if data.get("pull_request"):
                raise BadInput(f"#{found.key} of {self._repository} is a pull request", self._at.host, "name an issue")
            labels = tuple(_name_field(label) for label in data.get("labels") or ())
            return TrackerIssue(
                key=f"#{found.key}",
                title=data["title"],
                body=str(data.get("body") or ""),
                kind=issue_kind(_name_field(data.get("type")), labels),
                url=str(data.get("html_url") or ""),
            )


def _name_field(thing: object) -> str:
    return str(thing.get("name") or "") if isinstance(thing, dict) else str(thing or "")
