"""The steps of an orchestrator: sections whose heading begins with the step's number."""

from collections.abc import Iterator
from itertools import chain

from trued.workflows.pipeline.lint.pages import PromptPage, PromptSection, TextBlock

CLUSTERS = {  # step → titles of unnumbered sections that belong to it, because they have its cluster's name
    "3b": ("ct cluster", "ct decision", "critique decision"),
    "6": ("v cluster", "v decision", "verification decision"),
    "7": ("r cluster", "r decision", "review decision"),
}


def step_sections(page: PromptPage, step: str) -> list[PromptSection]:
    """The sections of a step: first those numbered with the step or below it (6, 6.1 and 6.2 for step 6), then those
    whose heading contains one of the step's titles in `CLUSTERS`."""
    sections = [section for section in page.sections if section.number == step or section.number.startswith(f"{step}.")]
    return sections + [
        section
        for section in page.sections
        if section not in sections and any(f" {phrase} " in f" {section.words} " for phrase in CLUSTERS.get(step, ()))
    ]


def in_step(page: PromptPage, step: str) -> Iterator[TextBlock]:
    """All text of a step except samples of files, each block once."""
    pieces = chain.from_iterable(section.pieces for section in step_sections(page, step))
    return iter({(piece.line, piece.text): piece for piece in pieces if not piece.is_sample}.values())


def steps_by_line(page: PromptPage) -> dict[int, str]:
    """Line number → the step of `CLUSTERS` that the line belongs to; the first step if it belongs to two."""
    return {
        line: step
        for step in reversed(CLUSTERS)
        for piece in in_step(page, step)
        for line in range(piece.line, piece.line_at(len(piece.text)) + 1)
    }
