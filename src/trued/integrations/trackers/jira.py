"""Tickets of Jira, Cloud or Server."""

from collections.abc import Mapping
from typing import Any

from trued.errors import BadInput
from trued.integrations.http import Service, missing_token, unexpected_answer
from trued.integrations.jira import raw_issue
from trued.integrations.trackers.jira_document import markdown_of_document
from trued.integrations.trackers.jira_wiki import markdown_of_wiki
from trued.integrations.trackers.kinds import issue_kind
from trued.integrations.trackers.names import ticket_name
from trued.model import Settings
from trued.protocols import TrackerIssue

ACCEPTANCE = "Acceptance criteria"
# Fields that are about the ticket's state, or that are read elsewhere. They are no part of what is asked.
_NOT_ASKED = (
    "summary description issuetype labels attachment comment worklog created updated creator reporter assignee status "
    "priority project resolution resolutiondate votes watches progress aggregateprogress timetracking subtasks "
    "issuelinks components fixVersions versions lastViewed workratio statuscategorychangedate security parent"
)
NOT_ASKED = frozenset(_NOT_ASKED.split())


class JiraTracker:
    """Issues of one Jira."""

    def __init__(self, at: Service, settings: Settings) -> None:
        self._at, self._settings = at, settings

    def issue(self, name: str) -> TrackerIssue:
        found = ticket_name(name, self._settings)
        if found is None or found.kind != "jira":
            raise BadInput(f"{name!r} is not a Jira issue", then="write SHOP-7, or the address of its page")
        doing = f"read {found.key}"
        if not self._at.token:
            raise missing_token(self._at, doing)
        raw = raw_issue(self._at, found.key, doing)
        fields = raw.get("fields")
        if not isinstance(fields, dict) or not isinstance(fields.get("summary"), str):
            raise unexpected_answer(self._at, doing)
        return self._issue_from(str(raw.get("key") or found.key), fields, raw.get("names"))

    def _issue_from(self, key: str, fields: Mapping[str, Any], names: object) -> TrackerIssue:
        attached = [attachment for attachment in fields.get("attachment") or () if isinstance(attachment, dict)]
        pictures = {
            str(attachment.get("filename")): str(attachment.get("content") or "")
            for attachment in attached
            if str(attachment.get("mimeType", "")).startswith("image/")
        }
        known = names if isinstance(names, dict) else {}
        labels = tuple(str(label) for label in fields.get("labels") or ())
        kind = fields.get("issuetype")
        return TrackerIssue(
            key=key,
            title=str(fields["summary"]),
            body=_markdown(fields.get("description"), pictures),
            kind=issue_kind(str(kind.get("name", "")) if isinstance(kind, dict) else "", labels),
            fields=self._fields(fields, known, pictures),
            pictures=tuple(url for url in pictures.values() if url),
            url=f"{self._at.url}/browse/{key}",
        )

    def _fields(
        self, fields: Mapping[str, Any], names: Mapping[str, Any], pictures: Mapping[str, str]
    ) -> dict[str, str]:
        """Name → value of each field, as Markdown. The name is the one that people see in Jira. But all fields with
        acceptance criteria are joined into one, which always has the same name."""
        criteria = {name.casefold() for name in self._settings.tickets.acceptance}
        found: dict[str, str] = {}
        for id_, value in fields.items():
            name = str(names.get(id_) or id_)
            text = "" if id_ in NOT_ASKED else _markdown(value, pictures)
            if text.strip():
                own = ACCEPTANCE if {id_.casefold(), name.casefold()} & criteria else name
                found[own] = f"{found[own]}\n\n{text}" if own in found else text
        components = [
            component
            for component in fields.get("components") or ()
            if isinstance(component, dict) and component.get("name")
        ]
        if components:
            found["Components"] = "\n".join(f"- {component['name']}" for component in components)
        return found


def _markdown(value: object, pictures: Mapping[str, str]) -> str:
    if isinstance(value, dict) and value.get("type") == "doc":
        return markdown_of_document(value, pictures)
    return markdown_of_wiki(value, pictures) if isinstance(value, str) else ""
