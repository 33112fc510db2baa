"""Small mistakes in the files of a pipeline, each with the rule that must find it, and at which line."""

from collections.abc import Callable
from dataclasses import dataclass

Change = Callable[[str], str]


@dataclass(frozen=True)
class Defect:
    """A mistake that `change` makes in `file`. `rule` must report it at the line that begins with `at`."""

    what: str
    file: str
    change: Change
    rule: str
    at: str
    also: tuple[str, ...] = ()  # further rules that necessarily find it

    @property
    def id(self) -> str:
        return f"{self.rule}: {self.what}"


def swap(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text, old
        return text.replace(old, new)

    return change


def first(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, 1)

    return change


def no_lines(*marks: str) -> Change:
    """Remove the lines that contain one of these marks."""

    def change(text: str) -> str:
        lines = text.splitlines(keepends=True)
        kept = [line for line in lines if not any(mark in line for mark in marks)]
        assert len(kept) < len(lines), marks
        return "".join(kept)

    return change


def after(mark: str, line: str) -> Change:
    """Add a line below the first one that begins with `mark`."""

    def change(text: str) -> str:
        lines = text.splitlines(keepends=True)
        number = next(n for n, one in enumerate(lines) if one.startswith(mark))
        return "".join([*lines[: number + 1], f"{line}\n", *lines[number + 1 :]])

    return change


def part(title: str, change: Change) -> Change:
    """Apply the change only below that heading, up to the next one that is not deeper."""

    def changed(text: str) -> str:
        start, end = span(text, title)
        return text[:start] + change(text[start:end]) + text[end:]

    return changed


def no_section(title: str) -> Change:
    def change(text: str) -> str:
        start, end = span(text, title)
        return text[:start] + text[end:]

    return change


def moved(title: str, before: str) -> Change:
    def change(text: str) -> str:
        start, end = span(text, title)
        section, rest = text[start:end], text[:start] + text[end:]
        place, _ = span(rest, before)
        return rest[:place] + section + rest[place:]

    return change


def both(*changes: Change) -> Change:
    def change(text: str) -> str:
        for one in changes:
            text = one(text)
        return text

    return change


def span(text: str, title: str) -> tuple[int, int]:
    start = text.index(f"\n{title}") + 1
    level = title.split(" ")[0]
    ends = [text.find(f"\n{'#' * number} ", start) for number in range(2, len(level) + 1)]
    found = [end + 1 for end in ends if end > 0]
    return start, min(found, default=len(text))


LEAD, PATTERNS, PROMPT = "orchestrator.agent.md", "dispatch-patterns.md", "feature-workflow.prompt.md"
MERGES = (("1", "research"), ("3b", "critique"), ("5", "implementation"), ("6", "verification"), ("7", "review"))


def no_merge(text: str) -> str:
    """Remove the numbered step that begins with "Merge:", up to the next number or an empty line."""
    lines = text.splitlines(keepends=True)
    start = next(n for n, line in enumerate(lines) if ". Merge:" in line)
    end = next(n for n in range(start + 1, len(lines)) if lines[n][0] in "\n0123456789")
    return "".join([*lines[:start], *lines[end:]])
