"""TS-10 and TS-14: the dispatch patterns, and the prompt that starts the workflow."""

from collections.abc import Iterator

from trued.workflows.pipeline.lint.findings import Found
from trued.workflows.pipeline.lint.sets import Set
from trued.workflows.pipeline.lint.vocabulary import OWN_MEMORY, find_block

PATTERNS = ("pattern a", "pattern b", "pattern c")


def around(files: Set) -> Iterator[Found]:
    for page in files.leading("patterns"):
        for pattern in PATTERNS:
            title = pattern.capitalize()[:-1] + pattern[-1].upper()
            section = next((one for one in page.sections if f"{one.words} ".startswith(f"{pattern} ")), None)
            if section is None:
                yield Found(page.shown, page.line, "TS-10.1", f"{title} is not described")
            elif not find_block(section.pieces, r"\bmemor(?:y|ies)\b", r"\bdecid|\bdetermin|\bresult"):
                yield Found(page.shown, section.line, "TS-10.3", f"in {title} nobody decides from memories")
    for page in files.leading("prompt"):
        if not any(OWN_MEMORY.search(piece.text) for piece in page.pieces if not piece.is_sample):
            yield Found(page.shown, page.line, "TS-14.3", "the prompt does not mention isolated memories")
