"""Split text into sentences, verbatim and with their lines; when in doubt, do not split."""

from collections.abc import Iterator

from trued.model import Criterion, Goal, Source
from trued.support.markdown import Block, List, Other, Paragraph, Table, parse, split_lines

WIDE_ENDS = "\u3002\uff01\uff1f"  # full stop, exclamation and question mark of Chinese and Japanese: no space follows
ENDS = f".!?…{WIDE_ENDS}"
CLOSERS = "\"')]»”’*_`"
ABBREVIATIONS = "e.g i.e etc vs cf approx resp incl excl no fig dr mr mrs ms st ca"
NEAR = 60  # characters that are checked on either side of a possible end


def sentences(text: str) -> list[tuple[str, int]]:
    """The sentences and list items of a text, each with the line on which it begins."""
    lines = split_lines(text)
    found: list[tuple[str, int]] = []
    for block in parse(text):
        block_sentences = sentences_of(block, lines)
        if block_sentences and isinstance(block, Other) and found:  # code belongs to the sentence before it
            before, line = found.pop()
            block_sentences = [(f"{before}\n{block_sentences[0][0]}", line)]
        found += block_sentences
    return found


def sentence_criteria(goal: Goal) -> tuple[Criterion, ...]:
    """Each sentence of a goal as a criterion; if the text has no sentences, the whole text as one criterion."""
    found = sentences(goal.text) or [(goal.text.strip(), goal.source.line)]
    return tuple(
        Criterion(text=text, kind="text", source=Source(file=goal.source.file, line=line)) for text, line in found
    )


def sentences_of(block: Block, lines: list[str]) -> list[tuple[str, int]]:
    """The sentences of one block."""
    if isinstance(block, Paragraph):
        return [
            (sentence, block.line + above) for sentence, above in _split("".join(lines[block.line - 1 : block.end]))
        ]
    if isinstance(block, List):
        return [(item.text, item.line) for item in block.walk() if item.text.strip()]
    if isinstance(block, Table):
        return [(lines[row.line - 1].strip(), row.line) for row in block.rows if any(c.raw for c in row.cells)]
    if isinstance(block, Other) and block.text:
        return [("".join(lines[block.line - 1 : block.end]).rstrip(), block.line)]
    return []


def _split(paragraph: str) -> Iterator[tuple[str, int]]:
    """Sentences of a paragraph, each with the number of lines above it."""
    start, end, depth, code, above = 0, 0, 0, False, 0
    for at, char in enumerate(paragraph):
        if char == "`":
            code = not code
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth = max(0, depth - 1)
        elif char in ENDS and not code and not depth and at >= end:
            end = at + 1
            while end < len(paragraph) and paragraph[end] in ENDS + CLOSERS:
                end += 1
            if _ends_here(paragraph, start, at, end):
                yield from _one(paragraph[start:end], above)
                above += paragraph.count("\n", start, end)
                start = end
    yield from _one(paragraph[start:], above)


def _ends_here(paragraph: str, start: int, at: int, end: int) -> bool:
    if end <= start or end == len(paragraph):
        return False
    if paragraph[at] in WIDE_ENDS:
        return True
    rest = paragraph[end : end + NEAR].lstrip()
    if not paragraph[end].isspace() or not rest:
        return False
    word = paragraph[max(start, at - NEAR) : at].split()[-1:] or [""]
    bare = word[0].lstrip("(\"'*_").lower()
    short = paragraph[at] == "." and (bare in ABBREVIATIONS.split() or (len(bare) == 1 and bare.isalpha()))
    return not short and not rest[0].islower()


def _one(piece: str, above: int) -> Iterator[tuple[str, int]]:
    begin = len(piece) - len(piece.lstrip())
    if words := " ".join(piece.split()):
        yield words, above + piece.count("\n", 0, begin)
