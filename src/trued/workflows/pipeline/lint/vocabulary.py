"""Finds what a text mentions: paths, names and statuses, and whether it negates them."""

import re
from collections.abc import Iterable, Iterator

from trued.support.lazy_regex import lazy_regex
from trued.workflows.pipeline.lint.pages import PromptPage, TextBlock

# Files that the pipeline had in the past: agents called aggregators combined the work of other agents in them.
COMBINED = ("analysis.md", "design_critical_review.md", "verifier.md", "review.md")
NAMED_AGGREGATOR = lazy_regex(r"\b(?:ct|v|r)[\s_\u2010\u2011-]aggregators?\b", re.I)
AGGREGATOR = lazy_regex(r"\b(?:(?:ct|v|r)[\s_\u2010\u2011-])?aggregators?\b", re.I)
SYNTHESIS = lazy_regex(r"\bmode\s+2\b|\bsynthesi[sz]\w*", re.I)
FOLDERS = ("research", "ct-review", "verification", "review", "memory", "tasks")

ENDING = lazy_regex(r"\.md\b")
PATH = lazy_regex(r"(?:[\w./*~$-]|<[^<>\n]{0,40}>|\{[^{}\s]{0,200}\})*\Z")  # a path without the ending .md
LENGTH = 300  # characters in a path
REACH = 400  # this many characters before a word are searched for a negation
PLACE = lazy_regex(r"[<{*$]")  # begins a placeholder in a path
GONE = lazy_regex(r"\b(?:removed|former(?:ly)?|replac(?:es|ing)|instead\s+of)\b", re.I)
NO = lazy_regex(r"\b(?:no|not|never|nor|neither|without|none|nobody|nothing|cannot|isn't|aren't|don't|doesn't)\b", re.I)
CLAUSE = lazy_regex(r"[.,;:!?|](?:\s|$)|\s[—–]\s|\n\s*\n")
AFTER = lazy_regex(
    r"[`*\"'\s]*(?:\w+\s+)?(?:is|are|was|were|may|must|can|does|do|has|have)?\s*\b(?:not|never|no)\b", re.I
)

MEMORY_FILE = lazy_regex(r"memory/(?:[\w-]|<[^<>\n]{0,40}>|\{[^{}\s]{0,40}\}|\*)+\.mem\.md")
OWN_MEMORY = lazy_regex(
    r"\.mem\.md|\bisolated\s+memor(?:y|ies)|\bown\s+memor(?:y|ies)|\bmemory\s+of\s+(?:your|its)\s+own", re.I
)
SHARED_MEMORY = lazy_regex(r"(?<![\w/.-])memory\.md\b|\bshared\s+memory\b", re.I)


def has(piece: TextBlock, *patterns: str) -> bool:
    """Whether the text matches all these patterns, ignoring case."""
    return all(re.search(pattern, piece.text, re.I) for pattern in patterns)


def find_block(pieces: Iterable[TextBlock], *patterns: str) -> TextBlock | None:
    """The first block that matches all these patterns and is not a sample of a file."""
    return next((piece for piece in pieces if not piece.is_sample and has(piece, *patterns)), None)


def paths(pieces: Iterable[TextBlock]) -> Iterator[tuple[str, int]]:
    """The path of every Markdown file that the text mentions, with the line; braces are expanded."""
    for piece in pieces:
        if ".md" not in piece.text:
            continue
        text = piece.text.replace("\\_", "_")
        after = 0
        for match in ENDING.finditer(text):
            before = PATH.search(text, max(after, match.start() - LENGTH), match.start())
            path, after = f"{before[0] if before else ''}.md", match.end()
            if not path.startswith("//"):  # "//" begins the rest of a URL
                yield from ((written, piece.line_at(match.start())) for written in _written_out(path))


def is_combined(path: str) -> bool:
    """Whether the path is one of the files in `COMBINED`: a bare file name, or a path in a feature's folder.
    `src/review.md` is not."""
    *folders, name = path.removeprefix("./").split("/")
    if name not in COMBINED:
        return False
    if folders[:2] == ["docs", "feature"]:
        return True
    return all(PLACE.search(folder) or folder in (*FOLDERS, "..") for folder in folders)


def covers(path: str, wanted: str) -> bool:
    """Whether `path` includes `wanted`: `research/*.md` and `research/<focus>.md` include `research/impact.md`. Leading
    folders of `path` are ignored."""
    parts, want = path.split("/"), wanted.split("/")
    tail = parts[-len(want) :]
    return len(tail) == len(want) and all(map(_fits, tail, want))


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether the words before or after text[start:end] negate it: "there is no …", "… is not yours to give"."""
    before = CLAUSE.split(text[max(0, start - REACH) : start])[-1]
    return bool(NO.search(before) or GONE.search(before) or AFTER.match(text, end))


def is_notice(piece: TextBlock) -> bool:
    """Whether the block is a notice that something is no longer used."""
    return re.match(r"[\W_]*deprecat(?:ed|ion)\b", piece.text, re.I) is not None


def active(page: PromptPage) -> Iterator[TextBlock]:
    """The blocks of a page, without deprecation notices."""
    return (piece for piece in page.pieces if not is_notice(piece))


def _fits(pattern: str, name: str) -> bool:
    parts = re.split(r"(\*+|<[^<>]*>)", pattern)
    return (
        re.fullmatch("".join(".+" if part[:1] in ("*", "<") else re.escape(part) for part in parts), name) is not None
    )


def _written_out(path: str) -> Iterator[str]:
    match = re.search(r"\{([^{}]*,[^{}]*)\}", path)
    if not match:
        yield path.replace("{", "<").replace("}", ">")
        return
    for part in match[1].split(","):
        yield from _written_out(path[: match.start()] + part + path[match.end() :])
