"""Reads list items that have no special meaning in the specification's format. Each of them is a requirement, unless it
plainly asks for nothing."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from trued.inputs.requirements.guard_phrases import NUMBERED
from trued.inputs.specifications.boxes import without_box_in_prose
from trued.inputs.specifications.unread_lines import bare
from trued.inputs.vocabulary import JOINTS, is_header_field, is_status_field, section_kind, title_words
from trued.support.lazy_regex import lazy_regex
from trued.support.markdown import Block, Heading, Item, Paragraph

LABEL = 7  # the level of a label: below every heading
TITLE_WORDS = 4  # a longer title may ask for something itself
# Whole titles; the text below them is about the specification itself, or about the work.
ASIDES = frozenset(
    (
        *("clarifications", "dependencies", "execution flow", "execution status", "independent test", "key entities"),
        *("purpose", "quick guidelines", "section requirements", "table of contents", "legend"),
        *("content quality", "feature readiness", "requirement completeness", "review acceptance checklist"),
    )
)
_REMARK = lazy_regex(r"[*_]*\([^)]*\)[*_]*")  # such as "(mandatory)"
_LINK = lazy_regex(r"!?\[[^\]]*\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)|<?https?://\S+")


def is_aside(title: str) -> bool:
    """Whether a heading or label is about the specification or the work, so that the text below asks for nothing. Every
    part of the title must be known as such: "Dependencies" is an aside, "Dependencies and constraints" is none."""
    bare_title = _REMARK.sub("", title)
    parts = [bare_title] if _is_known_aside(bare_title) else JOINTS.split(bare_title.lower())
    return all(map(_is_known_aside, parts)) and bool(title_words(bare_title))


def _is_known_aside(title: str) -> bool:
    return " ".join(title_words(title)) in ASIDES or section_kind(title) in ("aside", "problem", "nongoal")


def aside_lines(blocks: Sequence[Block]) -> set[int]:
    """Numbers of the lines that ask for nothing: header fields, and the text below a heading or label that is an aside.
    The title of the whole file is never an aside. If a heading inside an aside asks for something, the aside ends
    there."""
    lines, aside = set[int](), 0
    for at, block in enumerate(blocks):
        field = False
        if isinstance(block, Heading):
            if (at or block.level > 1) and is_aside(block.words.plain):
                aside = aside if 0 < aside < block.level else block.level
            elif block.level <= aside or section_kind(block.words.plain) in ("goal", "constraint", "ship"):
                aside = 0
        elif isinstance(block, Paragraph) and (label := block.words.label.strip(" :")) and aside in (0, LABEL):
            aside, field = LABEL if is_aside(label) else 0, is_header_field(label)
        if aside or field:
            lines |= set(range(block.line, block.end + 1))
    return lines


def words_of_item(item: Item) -> str | None:
    """The words of an item of a specification, without its box; None if it has no box."""
    return item.words.raw if item.checked is not None else without_box_in_prose(f"- {item.words.raw}")


def boxed_items(items: Iterable[Item], words_of: Callable[[Item], str | None]) -> Iterator[tuple[str, set[int]]]:
    """Words and lines of each item that `words_of` recognises by returning text. Nested items are included in the item
    around them, except items that `words_of` recognises or that begin with a number."""
    for item in (inner for outer in items for inner in outer.walk()):
        if (words := words_of(item)) is not None:
            below = [other for inner in item.items for other in _plain_items(inner, words_of)]
            lines = {line for part in (item, *below) for line in range(part.line, part.own_end + 1)}
            yield "\n".join(filter(None, (words, *item.more, *(other.text for other in below)))), lines


def _plain_items(item: Item, words_of: Callable[[Item], str | None]) -> Iterator[Item]:
    """The item and the items nested in it. An item that `words_of` recognises, or that begins with a number, is left
    out together with everything nested in it."""
    if words_of(item) is None and not NUMBERED.match(item.words.raw):
        yield item
        for below in item.items:
            yield from _plain_items(below, words_of)


def other_items(items: Iterable[Item], read: Collection[int], lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Text and line of each item that was not read; the text includes its nested items that were not read. Left out are
    header fields, notes, links, and titles above items that were all read."""
    for item in items:
        words = item.words.raw or bare(lines[item.line - 1])
        nested = list(other_items(item.items, read, lines))
        if item.line in read:
            yield from nested
        elif not _asks_for_nothing(item, words) and not (item.items and not nested and _is_title(words)):
            yield "\n".join(filter(None, (words, *item.more, *(text for text, _ in nested)))), item.line


def _asks_for_nothing(item: Item, words: str) -> bool:
    label = item.words.label or (words.partition(":")[0] if ":" in words else "")
    if is_aside(label) or is_status_field(label) or not words.strip("-*_ "):
        return True
    return bool(_LINK.search(words)) and len(_LINK.sub("", words).split()) < TITLE_WORDS


def _is_title(words: str) -> bool:
    return words.endswith(":") or len(words.split()) <= TITLE_WORDS
