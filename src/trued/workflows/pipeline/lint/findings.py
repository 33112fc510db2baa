"""What violates a rule. The rules and their ids are in docs/guide/lint.md."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of a rule: file, line and one sentence."""

    file: str
    line: int
    rule: str
    says: str
    wrong: bool = True  # False: a note, which does not change the exit code

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"
