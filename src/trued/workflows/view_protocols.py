"""RunTree and CallRow: the parts of the displayed run tree that a workflow's view may use."""

from typing import Protocol


class RunTree(Protocol):
    """The tree of a run: scopes, and in them calls, checks and remarks."""

    def remark(self, key: str, text: str, *, warning: bool = False) -> None:
        """Add a line to the scope of this step key."""
        ...

    def name_scope(self, key: str, kind: str, which: str, title: str) -> None:
        """Give the innermost scope of this step key a title, if the scope is called `<kind> <which>`."""
        ...


class CallRow(Protocol):
    """One agent call of the tree."""

    @property
    def key(self) -> str: ...

    @property
    def role(self) -> str: ...

    @property
    def state(self) -> str: ...

    @property
    def claim(self) -> str: ...
