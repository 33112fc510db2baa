"""Rules TS-15 and TS-16: the form that every role file must have."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile

from trued.support.lazy_regex import lazy_regex
from trued.workflows.pipeline.decision_tables import CHECKERS, REVISING
from trued.workflows.pipeline.lint.findings import Violation
from trued.workflows.pipeline.lint.pages import PromptPage, PromptSection, TextBlock
from trued.workflows.pipeline.lint.sets import SECTIONS, LintSet
from trued.workflows.pipeline.lint.vocabulary import is_denied

SAME = 4  # how many operating rules, at the start of each file's list, have the same words in all files
STATUS = lazy_regex(r"\b(DONE|NEEDS_REVISION|ERROR)\b")
LINE = lazy_regex(r"[\s*_`\"'-]*(?:DONE|NEEDS_REVISION|ERROR)\b")
LITERAL = lazy_regex(r"(?<=`)(DONE|NEEDS_REVISION|ERROR)(?=:)")
JOINED = lazy_regex(r"(?:DONE|NEEDS_REVISION|ERROR|or|and|[\s*_`/,|])*")
PLACEHOLDERS = lazy_regex(r"<[^<>]*>|\{[^{}]*\}|\[[^\[\]]*\]")
FIELD = lazy_regex(r"[|;,]\s*[`*_]*[A-Za-z][\w -]{0,30}[`*_]*\s*[:=]|\|")


def form(files: LintSet) -> Iterator[Violation]:
    for page in files.conventional:
        yield from _front(page)
        yield from _sections(page)
        yield from _contract(page, in_pipeline=page in files.members)
        for piece in page.pieces:
            if piece.kind == "open":
                yield Violation(
                    page.shown,
                    piece.line,
                    "TS-15.5",
                    "everything after this line is read as code: this code block, or one before it, is not closed",
                )
    yield from _same_rules(files.conventional)


def _front(page: PromptPage) -> Iterator[Violation]:
    if page.fields is None:
        yield Violation(page.shown, 1, "TS-15.1", f"{page.name} has no front matter that can be read")
    elif not str(page.fields.get("description") or "").strip():
        yield Violation(page.shown, 1, "TS-15.1", f"the front matter of {page.name} has no description")


def _sections(page: PromptPage) -> Iterator[Violation]:
    headings = [section for section in page.sections if section.level == 1 or section.words in SECTIONS]
    titles = [heading for heading in headings if heading.level == 1]
    if not titles:
        yield Violation(page.shown, page.line, "TS-15.2", f"{page.name} has no title")
    elif headings[0] is not titles[0]:
        yield Violation(page.shown, titles[0].line, "TS-15.3", "the title is below a section")
    below = [heading for heading in headings if heading.level > 1]
    present = [heading.words for heading in below]
    for title in SECTIONS:
        if title not in present and not page.section(title) and not _is_opened_with(title, page):
            yield Violation(
                page.shown,
                _line_of_missing(title, below) or page.line,
                "TS-15.2",
                f"the section {title.capitalize()!r} is missing",
            )
    for number, heading in enumerate(below):
        if heading.words in present[:number]:
            yield Violation(page.shown, heading.line, "TS-15.2", f"the section {heading.title!r} is there twice")
    yield from _order(page, [heading for number, heading in enumerate(below) if heading.words not in present[:number]])


def _is_opened_with(title: str, page: PromptPage) -> bool:
    """Whether the page's opening text makes a heading of this name unnecessary. Only the role and the prohibitions may
    be in the opening text."""
    if title == "role":
        return bool(page.opening)
    return title == "prohibitions" and any(re.search(r"\bnever\b|\bnot\b", piece.text, re.I) for piece in page.opening)


def _line_of_missing(title: str, below: Sequence[PromptSection]) -> int:
    """The line to report for a missing section: the line of the section that should follow it, or of the last
    section."""
    later = [section.line for section in below if section.words in SECTIONS[SECTIONS.index(title) :]]
    return min(later) if later else max((section.line for section in below), default=0)


def _order(page: PromptPage, sections: Sequence[PromptSection]) -> Iterator[Violation]:
    """Report each section that is below another section, but belongs above it."""
    wanted = sorted(sections, key=lambda section: SECTIONS.index(section.words))
    remaining = list(sections)
    for section in wanted:
        if remaining[0] is not section and remaining.index(section) > 0:
            above = remaining[0]
            message = f"the section {section.title!r} is below {above.title!r} but belongs above it"
            yield Violation(page.shown, section.line, "TS-15.3", message)
        remaining.remove(section)


def _same_rules(pages: Sequence[PromptPage]) -> Iterator[Violation]:
    rules = {page.shown: _rules(page) for page in pages if page.section("operating rules")}
    for number in range(SAME):
        known = Counter(_flat(rule_texts[number]) for rule_texts in rules.values() if len(rule_texts) > number)
        usual = known.most_common(1)[0][0] if known else ""
        for shown, rule_texts in rules.items():
            if len(rule_texts) > number and _flat(rule_texts[number]) != usual:
                message = f"operating rule {number + 1} is not the same as in the other files"
                yield Violation(shown, rule_texts[number][0].line, "TS-15.4", message)
    for page in pages:
        section = page.section("operating rules")
        if section and len(rules[page.shown]) < SAME:
            message = f"{len(rules[page.shown])} operating rules, but every file must begin with the same {SAME}"
            yield Violation(page.shown, section.line, "TS-15.4", message)


def _rules(page: PromptPage) -> list[list[TextBlock]]:
    """The numbered items of the section "operating rules", each with the blocks below it."""
    section = page.section("operating rules")
    rules: list[list[TextBlock]] = []
    for piece in takewhile(lambda piece: piece.kind != "heading", section.pieces if section else ()):
        if piece.kind == "item" and piece.number and not piece.inner:
            rules.append([piece])
        elif rules and piece.inner:
            rules[-1].append(piece)
    return rules


def _flat(rule: Sequence[TextBlock]) -> str:
    return " ".join(piece.flat for piece in rule)


def _contract(page: PromptPage, *, in_pipeline: bool) -> Iterator[Violation]:
    section = page.section("completion contract")
    if section is None:
        return  # TS-15.2 reports the missing section
    offered = dict(_offered(section))
    for status in ("DONE", "ERROR"):
        if status not in offered:
            yield Violation(
                page.shown, section.line, "TS-16.1", f"the completion contract does not say when to reply {status}"
            )
    if in_pipeline and page.name in CHECKERS and "NEEDS_REVISION" not in offered:
        message = f"{page.name} asks for revisions: its completion contract needs NEEDS_REVISION"
        yield Violation(page.shown, section.line, "TS-16.2", message)
    if in_pipeline and page.name not in REVISING and "NEEDS_REVISION" in offered:
        message = f"{page.name} says DONE or ERROR, never NEEDS_REVISION"
        yield Violation(page.shown, offered["NEEDS_REVISION"], "TS-16.2", message)
    yield from _more_fields(page, section)


def _offered(section: PromptSection) -> Iterator[tuple[str, int]]:
    """The statuses that an agent may end with, and their lines. They are taken from lines that begin with a status.

    Such a line offers the statuses at its beginning, and a status that begins a quoted reply such as `ERROR: …`. Any
    other status in the line is only mentioned.
    """
    for piece in reversed([statement for statement in section.statements() if statement.kind != "header"]):
        for start, text in _block_parts(piece):
            yield from ((status[1], piece.line_at(start + status.start())) for status in _statuses(text))


def _statuses(text: str) -> Iterator[re.Match[str]]:
    if not LINE.match(text):
        yield from (match for match in STATUS.finditer(text) if not is_denied(text, match.start(), match.end()))
        return
    head = JOINED.match(text)
    end = head.end() if head else 0
    yield from STATUS.finditer(text, 0, end)
    yield from LITERAL.finditer(text, end)


def _block_parts(piece: TextBlock) -> Iterator[tuple[int, str]]:
    """The parts of a block, each with its offset. In a code block, each line is a part. In other text, a part begins at
    each line that begins with a status."""
    chunk, start = "", 0
    for line in piece.text.splitlines(keepends=True):
        if chunk and (piece.kind == "code" or LINE.match(line)):
            yield start, chunk
            start, chunk = start + len(chunk), ""
        chunk += line
    yield start, chunk


def _more_fields(page: PromptPage, section: PromptSection) -> Iterator[Violation]:
    for piece in section.statements():
        for start, text in _block_parts(piece):
            if piece.kind in ("header", "row", "heading") or not LINE.match(text):
                continue
            for literal in _literals(text, is_code=piece.kind == "code"):
                if FIELD.search(PLACEHOLDERS.sub("", literal)):
                    message = "the completion line has a field besides the status and its text"
                    yield Violation(page.shown, piece.line_at(start), "TS-16.3", message)
                    break


def _literals(text: str, *, is_code: bool) -> Iterator[str]:
    """The parts of a completion line that an agent is to write literally. In code, that is the whole line.

    In other text, these are the code spans that begin with a status. What follows the status is also such a part if it
    has a colon, or if the line has no code spans.
    """
    if is_code:
        yield text
        return
    spans = text.split("`")[1::2]
    yield from (span for span in spans if LINE.match(span))
    head = JOINED.match(text)
    rest = text[head.end() :] if head else text
    if not rest.startswith((":", "—", "–", "-", "(")) and ":" in rest.partition("\n")[0]:
        yield f"|{rest}"  # `|` makes FIELD match, so that words between the status and the colon count as a field
    elif not spans:
        yield rest.partition(". ")[0]
