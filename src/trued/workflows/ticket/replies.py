"""What the agents of a ticket reply. Every field is a claim, and is checked against git and evidence."""

from collections.abc import Mapping

from pydantic import Field

from trued.model import Finding, Reply
from trued.workflows.ticket.issues import Beyond, Issue


class TicketImplemented(Reply, title="Implemented"):  # the title is in the schema, whose hash is stored
    """What the implementer claims about its work; each claim is compared with git."""

    success: bool
    branch_name: str
    files_changed: tuple[str, ...]
    commit_sha: str = Field(default="", description="your last commit; empty if you made none")


class TicketVerified(Reply, title="Verified"):
    """What the verifier saw."""

    passed: bool
    issues: tuple[Issue, ...] = ()
    screenshots: tuple[str, ...] = Field(default=(), description="names of pictures that you left in the folder")

    @property
    def objections(self) -> tuple[Finding, ...]:
        """One objection for each issue. If the verifier names no issue, but says that the work did not pass, one
        objection that says so."""
        unnamed = Finding(what="the verify-agent says that it did not pass, and names no issue")
        return tuple(issue.finding for issue in self.issues) or (() if self.passed else (unnamed,))

    @property
    def named_pictures(self) -> tuple[str, ...]:
        return (*self.screenshots, *(issue.screenshot for issue in self.issues))


class Fixed(Reply):
    """What was fixed, and which files were changed beyond the named ones."""

    success: bool
    files_modified: tuple[str, ...]
    changes_summary: str
    beyond: tuple[Beyond, ...] = ()


class PullRequest(Reply):
    title: str
    body: str


REPLIES: Mapping[str, tuple[type[Reply], ...]] = {  # role → the replies that it can be asked for
    "impl-agent": (TicketImplemented,),
    "verify-agent": (TicketVerified,),
    "fix-agent": (Fixed,),
    "pr-agent": (PullRequest,),
}
