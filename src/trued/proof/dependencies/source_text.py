"""`SourceText`: what was found in a source file. The readers of all languages return it. Does no I/O."""

from collections.abc import Iterator
from dataclasses import dataclass, field

Words = tuple[str, ...]  # a command; "" stands for a word that is computed


@dataclass(slots=True)
class SourceText:
    """What was found in the text of a source file."""

    parsed: bool = True
    imports: set[str] = field(default_factory=set)  # top-level names of modules or packages
    types: set[str] = field(default_factory=set)  # in scripts: those of them that are imported only for their types
    guarded: set[str] = field(default_factory=set)  # in Python: those of them without which the file can be imported
    # in scripts: top-level name → the names that are imported, such as `lodash` → `lodash/fp`
    named: dict[str, set[str]] = field(default_factory=dict)
    paths: set[str] = field(default_factory=set)  # in scripts: the paths that are imported, as they are written
    # in Python: top-level name → the next parts of the names that are imported; "" if a name has only one part
    parts: dict[str, set[str]] = field(default_factory=dict)
    # in Python: what is used of modules that only fetch, such as `urllib.request.urlopen`
    fetches: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)  # statements or lines that may load something without naming it
    starts: dict[str, list[Words]] = field(default_factory=dict)  # statement or line → the commands that it starts

    def commands(self) -> Iterator[Words]:
        """Every command that the file starts."""
        for commands in self.starts.values():
            yield from commands
