"""Events of landing: consent, the branch that the work was merged into, and pull requests."""

from typing import Literal

from trued.model.events import JournalEvent


class ConsentGiven(JournalEvent, kind="agreed"):
    """A person agreed to changes of existing tests, or of files that tools execute or trust automatically."""

    files: tuple[str, ...]
    digest: str
    who: str


class ApprovalsCarried(JournalEvent, kind="carried"):
    """A person confirmed earlier approvals for the commit that lands."""

    requirements: tuple[str, ...]
    who: str


class WorkLanded(JournalEvent, kind="landed", omits=("through",)):
    """The run's work was merged into a branch of the user's repository: all of it, or the chunks up to `through`."""

    onto: str
    commit: str
    before: str
    how: str
    who: str
    through: str = ""


class PullRequestOffered(JournalEvent, kind="offered", omits=("onto", "who", "commit", "state", "title", "head")):
    """The work was offered as a pull request. `land --pr` sets `onto`, `who` and `commit`; a workflow sets `state`,
    `title` and `head`."""

    onto: str = ""
    draft: bool
    url: str
    number: int
    commit: str = ""
    who: str = ""
    state: Literal["", "open", "closed", "merged"] = ""
    title: str = ""
    head: str = ""


class PullRequestWithheld(JournalEvent, kind="not offered"):
    """The work was not offered as a pull request: a person has to consent to some of its files first, or its repository
    is on another machine."""

    files: tuple[str, ...]
    why: str


EVENTS = (ConsentGiven, ApprovalsCarried, WorkLanded, PullRequestOffered, PullRequestWithheld)
