"""Where the house meets other people's: trackers that hold tickets, and forges that take pull requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Issue:
    """A ticket as its tracker holds it; nothing is read into it yet."""

    key: str
    title: str
    body: str = ""  # Markdown
    kind: str = ""  # bug | feature | "" where the tracker does not say
    labels: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(
        default_factory=dict
    )  # by the tracker's own names: acceptance criteria, preview …
    pictures: tuple[str, ...] = ()
    url: str = ""


class Tracker(Protocol):
    """Holds tickets. Another one is one small class."""

    def issue(self, name: str) -> Issue: ...


@dataclass(frozen=True, slots=True)
class Offer:
    """A pull request as we want it."""

    branch: str
    onto: str
    title: str
    body: str  # Markdown
    head: str  # the commit that was proven
    draft: bool = False


@dataclass(frozen=True, slots=True)
class Offered:
    """A pull request as it is."""

    number: int
    url: str
    state: Literal["open", "closed", "merged"]
    title: str = ""
    body: str = ""
    draft: bool = False
    head: str = ""


class Forge(Protocol):
    """Takes pull requests."""

    @property
    def name(self) -> str: ...

    @property
    def remote(self) -> str:
        """Where branches are pushed to: a remote's name or an address; "" where nothing is pushed."""
        ...

    def ready(self) -> None:
        """Raise one sentence where it cannot be offered to: no token, no rights, no such repository, not now."""
        ...

    def offered(self, branch: str) -> Offered | None:
        """The newest pull request of that branch, whatever became of it."""
        ...

    def offer(self, offer: Offer) -> Offered:
        """Open one, or bring the open one of that branch up to date; one that is closed or merged is not touched."""
        ...

    def picture(self, commit: str, path: str) -> str:
        """The address at which a file of a pushed commit can be seen."""
        ...
