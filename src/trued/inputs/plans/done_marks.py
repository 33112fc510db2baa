"""Finds the chunks that a plan marks as done: by a tick, a checked box or a status, on the chunk, its phase or the
whole plan."""

import re
from collections.abc import Iterator, Sequence

from trued.inputs import vocabulary
from trued.inputs.plans.plan import parse_plan
from trued.support.lazy_regex import lazy_regex
from trued.support.markdown import Block, Heading, List, Paragraph, Table, TableRow, parse

TICKS = "✅✔☑"
CHECKED = lazy_regex(r"\[[xX]\]")
DONE = lazy_regex(r"(?:done|implemented|completed?|finished|shipped|landed|merged)\b", re.IGNORECASE)


def marked_done(text: str, file: str) -> tuple[str, ...]:
    """Ids of the chunks that the plan's author calls done. This is only a claim, and it never raises a grade. A chunk
    that is called done is checked before an agent works on it, and skipped if no check contradicts the claim. Raises
    BadInput as `parse_plan` does."""
    plan, blocks = parse_plan(text, file), parse(text)
    lines = {line for line in _marked_lines(blocks)}
    spans = [*_done_sections(blocks, len(text.splitlines()))]
    return tuple(
        task.id
        for task in plan.tasks
        if task.source.line in lines or any(start <= task.source.line <= end for start, end in spans)
    )


def _marked_lines(blocks: Sequence[Block]) -> Iterator[int]:
    """The lines of list items and table rows that are marked as done themselves, not by their section."""
    for block in blocks:
        if isinstance(block, List):
            yield from (item.line for item in block.walk() if item.checked or _is_ticked(item.words.raw))
        elif isinstance(block, Table):
            yield from (row.line for row in block.rows if _is_done_row(block, row))


def _is_done_row(table: Table, row: TableRow) -> bool:
    for number, cell in enumerate(row.cells):
        head = table.header[number].plain if number < len(table.header) else ""
        if vocabulary.is_status_field(head) and (_is_ticked(cell.raw) or DONE.match(cell.plain.strip())):
            return True
        if number == 0 and _is_ticked(cell.raw):
            return True
    return False


def _done_sections(blocks: Sequence[Block], last: int) -> Iterator[tuple[int, int]]:
    """First and last line of every section that is marked done in its heading, or in a status field right below it. The
    plan's title marks the whole plan only by a status field, not by a tick."""
    headings = [block for block in blocks if isinstance(block, Heading)]
    first = headings[0].line if headings and headings[0].level == 1 else 0
    for block in headings:
        later = (heading.line - 1 for heading in headings if heading.line > block.line and heading.level <= block.level)
        end = last if block.line == first else next(later, last)
        if (block.line != first and _is_ticked(block.words.raw)) or _has_done_status(blocks, block):
            yield block.line, end


def _has_done_status(blocks: Sequence[Block], heading: Heading) -> bool:
    """Whether a status field in the paragraphs right below the heading says done."""
    below = blocks[list(blocks).index(heading) + 1 :]
    for block in below:
        if not isinstance(block, Paragraph):
            return False
        for field in block.fields():
            label, _, rest = field.words.plain.partition(":")
            if vocabulary.is_status_field(label) and (DONE.match(rest.strip()) or _is_ticked(rest.strip()[:2])):
                return True
    return False


def _is_ticked(text: str) -> bool:
    """Whether the text has a tick or a checked box at either end. A tick or box in the middle is part of a sentence."""
    bare = text.strip()
    ends = (bare[:1], bare[-1:], bare[-2:-1])  # the last two: a variation selector may follow the tick
    return any(end in TICKS for end in ends if end) or bool(CHECKED.match(bare) or CHECKED.search(bare[-3:]))
