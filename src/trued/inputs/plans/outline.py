"""Read a plan's blocks in order: sections, chunks, criteria, and the rest."""

from dataclasses import dataclass, field

from trued.errors import BadInput
from trued.inputs import vocabulary
from trued.inputs.vocabulary import bare_title, chunk_title, column_index, file_names, section_kind, split_off_files
from trued.support.markdown import Block, Heading, Item, List, Other, Paragraph, Table, TableRow, Words

NUMBERING = vocabulary.ID_COLUMNS - {"chunk", "step", "key", "ref"}
CRITERIA = ("ship", "goal", "constraint")
PROSE = ("problem", "aside")  # in a section of criteria, text below a label of these kinds still counts as criteria
BACKGROUND = (*PROSE, "nongoal")
LABEL_WORDS = 5
BOLD_PHASE = 7  # the level of a bold line that names a phase: below every heading, whose levels are 1 to 6
TEACH = 'write a table with the columns Chunk, Scope and Files, or list items such as "- 1A: what to do"'


@dataclass(eq=False, slots=True)
class PlanSection:
    level: int
    title: str
    line: int
    parent: "PlanSection | None"
    kind: str = ""
    phase: bool = False
    work: bool = False
    end: int = 0
    chunk: "Draft | None" = None  # the chunk that the heading names, if any
    empty: bool = True  # there is nothing below the heading

    @property
    def background(self) -> bool:
        """Whether this section, or a section around it, has a heading that asks for nothing, such as "Background"."""
        if self.phase or self.chunk or self.kind in CRITERIA:
            return False
        return self.kind in BACKGROUND or (self.parent is not None and self.parent.background)


@dataclass(eq=False, slots=True)
class Draft:
    """A chunk before its phase is known."""

    id: str
    title: str
    scope: str
    files: tuple[str, ...]
    section: PlanSection
    line: int
    spans: list[tuple[int, int]]  # first and last lines of the plan's texts about this chunk


@dataclass(frozen=True, slots=True)
class DraftCriterion:
    """A criterion before its phase is known."""

    kind: str
    text: str
    section: PlanSection
    line: int


@dataclass(slots=True)
class Outline:
    file: str
    section: PlanSection = field(default_factory=lambda: PlanSection(0, "", 1, None, work=True))
    title: str = ""
    drafts: list[Draft] = field(default_factory=list)
    details: list[Draft] = field(default_factory=list)  # headings that name a chunk
    found: list[DraftCriterion] = field(default_factory=list)
    unread: list[DraftCriterion] = field(default_factory=list)  # text that is neither chunk, criterion nor background
    loose: list[tuple[PlanSection, List | Table]] = field(default_factory=list)
    # section, first and last line of each block that lists no chunks
    spans: list[tuple[PlanSection, int, int]] = field(default_factory=list)
    sections: list[PlanSection] = field(default_factory=list)
    label: str = ""
    label_used: bool = False

    def read(self, blocks: list[Block], last: int) -> None:
        for number, block in enumerate(blocks):
            follower = blocks[number + 1] if number + 1 < len(blocks) else None
            if isinstance(block, Heading):
                self._take_heading(block)
            elif isinstance(block, Paragraph):
                fields = block.fields()
                for at, field in enumerate(fields, 1):
                    self._paragraph(field, follower if at == len(fields) else None)
            elif isinstance(block, List):
                self._list(block)
            elif isinstance(block, Table):
                self._table(block)
            elif isinstance(block, Other) and block.text:
                self._keep(block.line, block.end)
                if self.label_used:
                    self.label, self.label_used = "", False
                self._take(block.text, block.line)
        self._close(0, last + 1)

    # -- headings and labels

    def _take_heading(self, block: Heading) -> None:
        title = bare_title(block.words.plain)
        self._close(block.level, block.line)
        self.section.empty = False
        if block.level == 1 and not self.title and not self.sections:
            self.title = title
            self._open(PlanSection(1, title, block.line, self.section, work=True))
            return
        section = PlanSection(block.level, title, block.line, self.section)
        section.phase, section.work = vocabulary.is_phase(title), vocabulary.is_work(title)
        chunk = chunk_title(block.words) if self._chunk() is None and not section.phase else None
        if chunk and (chunk.strong or vocabulary.is_chunk_title(block.words.plain)):
            section.chunk = Draft(chunk.id, chunk.title, "", (), section, block.line, [])
            self.details.append(section.chunk)
        elif not section.phase:
            inherited = self.section.kind if not section.work else ""
            section.kind = section_kind(title) or inherited
            section.work = section.work or (self.section.work and self.section.level > 1 and not section.kind)
        self._open(section)
        if not section.phase and not section.chunk:
            self.spans.append((section, block.line, block.end))

    def _open(self, section: PlanSection) -> None:
        self.section, self.label = section, ""
        self.sections.append(section)

    def _close(self, level: int, line: int) -> None:
        while self.section.parent is not None and self.section.level >= level:
            closed, self.section = self.section, self.section.parent
            closed.end = line - 1
            named_so = closed.phase or vocabulary.is_work(closed.title) or closed.chunk or section_kind(closed.title)
            if closed.empty and closed.level > 1 and closed.title and not named_so and not closed.background:
                self._take(closed.title, closed.line)

    def _chunk(self) -> "Draft | None":
        """The chunk whose heading is above the current section; None if there is none."""
        section: PlanSection | None = self.section
        while section is not None and section.chunk is None:
            section = section.parent
        return section.chunk if section else None

    def _paragraph(self, block: Paragraph, follower: Block | None) -> None:
        words = block.words
        if words.label and not words.rest and vocabulary.is_phase(bare_title(words.label)):
            self._close(BOLD_PHASE, block.line)
            self._open(PlanSection(BOLD_PHASE, bare_title(words.label), block.line, self.section, phase=True))
            return
        self._keep(block.line, block.end)
        label, rest = _label(words, follower)
        kind = section_kind(label) or ("files" if vocabulary.title_words(label) in (["files"], ["file"]) else "")
        if kind and not (kind in PROSE and self.section.kind in CRITERIA):
            self._take_labelled(kind, rest, words, block.line)
            return
        if label or self.label_used:
            self.label, self.label_used = "", False
        if words.raw and not (label and not rest and _is_title(words)) and not self._is_field(label):
            self._take(words.raw, block.line)

    def _is_field(self, label: str) -> bool:
        return vocabulary.is_header_field(label) if self.section.level <= 1 else vocabulary.is_status_field(label)

    def _take_labelled(self, kind: str, rest: str, words: Words, line: int) -> None:
        self.label, self.label_used = kind, bool(rest)
        if kind == "files" and self.section.chunk:
            self.section.chunk.files += file_names(Words(plain=rest, codes=words.codes)) if rest else ()
        elif kind in CRITERIA and (rest or not _is_title(words)):
            text = rest if rest and vocabulary.is_plain_label(words.label or words.raw.partition(":")[0]) else words.raw
            self.found.append(DraftCriterion(kind, text, self.section, line))

    def _take(self, text: str, line: int) -> None:
        """Keep a text as a criterion, as part of a chunk, or as unread text; its label and section decide which. Drop
        background."""
        kind, chunk = self.label or self.section.kind, self._chunk()
        if kind in CRITERIA:
            self.found.append(DraftCriterion(kind, text, self.section, line))
        elif kind or self.section.background:
            return
        elif chunk:
            chunk.scope = f"{chunk.scope or chunk.title}\n{text}"
        else:
            self.unread.append(DraftCriterion("text", text, self.section, line))

    def _keep(self, line: int, end: int) -> None:
        self.section.empty = False
        self.spans.append((self.section, line, end))

    # -- lists

    def _list(self, block: List) -> None:
        kind, chunk = self.label or self.section.kind, self._chunk()
        self.label_used = bool(self.label)
        if kind in CRITERIA:
            self._keep(block.line, block.end)
            self.found += [
                DraftCriterion(kind, item.text, self.section, item.line) for item in block.walk() if item.text
            ]
        elif kind == "files" and chunk:
            chunk.files += tuple(name for item in block.items for name in file_names(item.words))
        elif kind:
            self._keep(block.line, block.end)
        elif chunk:
            self._take("\n".join(line for item in block.items for line in _outline(item, 0)), block.line)
        elif not self._chunks(block.items):
            self._keep(block.line, block.end)
            self.loose.append((self.section, block))

    def _chunks(self, items: tuple[Item, ...]) -> bool:
        """Take the items that name a chunk, and return whether there were any. If so, all other items go into `loose`,
        and `chunks_of` classifies them once the whole plan is read."""
        before = len(self.drafts)
        others: list[Item] = []
        for item in items:
            chunk = chunk_title(item.words)
            if chunk and (chunk.strong or self._is_work() or item.checked is not None):
                self.drafts.append(self._draft(item, chunk.id, chunk.title))
            elif not self._chunks(item.items):
                others.append(item)
            elif item.text and not (
                vocabulary.is_phase(bare_title(item.words.plain)) or vocabulary.is_work(item.words.plain)
            ):
                self._take(item.text, item.line)
        found = len(self.drafts) > before
        self.section.empty = self.section.empty and not found
        if found and others:
            self.loose.append((self.section, List(tuple(others), others[0].line, others[-1].end)))
        return found

    def _is_work(self) -> bool:
        return self.section.work or self.section.phase

    def _draft(self, item: Item, name: str, title: str) -> Draft:
        title, files = split_off_files(title)
        if not title and item.more:
            title = item.more[0]
        nested = [
            nested_item
            for nested_item in item.items
            if vocabulary.title_words(nested_item.words.plain)[:1] not in (["files"], ["file"])
        ]
        for nested_item in item.items:
            if nested_item not in nested:
                files += file_names(
                    Words(plain=nested_item.words.plain.partition(":")[2], codes=nested_item.words.codes)
                )
        details = [*item.more, *(line for nested_item in nested for line in _outline(nested_item, 0))]
        scope = "\n".join([title, *details]) if details else ""
        return Draft(name, title, scope, files, self.section, item.line, [(item.line, item.end)])

    def from_loose(self, section: PlanSection, block: List | Table) -> None:
        """Take items or rows without ids as chunks."""
        self.section = section
        if isinstance(block, List):
            self.drafts += [self._draft(item, "", item.words.raw) for item in block.items if item.text.strip()]
            return
        for row in block.rows:
            if text := _row_text(block, row):
                spans = [(block.line, block.line + 1), (row.line, row.line)]
                self.drafts.append(Draft("", text, "", (), section, row.line, spans))

    def left_over(self, section: PlanSection, block: List | Table, kind: str = "text") -> None:
        """Keep a list or table without chunks. List items with a checkbox become ship criteria. All other items and all
        rows become criteria of this `kind`, or unread text if `kind` is "text"."""
        if isinstance(block, Table):
            rows = [
                (row.line, _row_text(block, row))
                for row in block.rows
                if section.level > 1 or kind != "text" or not vocabulary.is_header_field(row.cells[0].plain)
            ]
            if not block.rows:
                rows = [(block.line, " | ".join(cell.raw for cell in block.header if cell.raw))]
            self._leave([DraftCriterion(kind, text, section, line) for line, text in rows if text])
            return
        for item in block.walk():
            of = "ship" if item.checked is not None else kind
            label = _label(item.words, None)[0]
            if item.text.strip() and not (section.level <= 1 and vocabulary.is_header_field(label)):
                self._leave([DraftCriterion(of, item.text, section, item.line)])

    def _leave(self, some: list[DraftCriterion]) -> None:
        for block in some:
            (self.unread if block.kind == "text" else self.found).append(block)

    # -- tables

    def _table(self, block: Table) -> None:
        kind = self.label or self.section.kind
        self.label_used = bool(self.label)
        name, scope = column_index(block.header, vocabulary.ID_COLUMNS), _scope_column(block.header)
        files = column_index(block.header, vocabulary.FILE_COLUMNS)
        if name is None and scope is not None and files is not None and scope != 0 and _looks_like_ids(block):
            name = 0
        chunk_table = any(vocabulary.title_words(cell.plain)[:1] in (["chunk"], ["chunks"]) for cell in block.header)
        if chunk_table or (
            scope is not None and not kind and (files is not None or (name is not None and self._is_work()))
        ):
            for row in block.rows:
                self._row(block, row, (name, scope, files))
            return
        self._keep(block.line, block.end)
        if kind in CRITERIA:
            self.left_over(self.section, block, kind)
        elif self._chunk() and not kind:
            for row in block.rows:
                self._take(_row_text(block, row), row.line)
        elif not kind:
            self.loose.append((self.section, block))

    def _row(self, block: Table, row: TableRow, columns: tuple[int | None, int | None, int | None]) -> None:
        if not any(cell.raw for cell in row.cells):
            return
        name, scope, files = columns
        where = f"{self.file}:{row.line}"
        title = row.cells[scope].raw if scope is not None else ""
        identity = bare_title(row.cells[name].plain) if name is not None else ""
        if scope is None and name is not None:
            both = chunk_title(row.cells[name])
            identity, title = (both.id, both.title) if both and both.title else (identity, "")
            if not title:
                raise BadInput("the table of chunks has no column for their scope", where, "name a column Scope")
        if name is not None and not identity:
            raise BadInput("a chunk has no id", where, "write an id such as 1A in the column of ids")
        spans = [(block.line, block.line + 1), (row.line, row.line)]
        listed = file_names(row.cells[files]) if files is not None else ()
        more = []
        for number, cell in enumerate(row.cells):
            header = block.header[number].plain
            if number in columns or not cell.raw:
                continue
            if (kind := section_kind(header)) in CRITERIA:
                self.found.append(DraftCriterion(kind, cell.raw, self.section, row.line))
            elif not vocabulary.is_status_field(header):
                more.append(f"{header}: {cell.raw}" if header else cell.raw)
        text = "\n".join([title, *more]) if more else ""
        self.drafts.append(Draft(identity, title, text, listed, self.section, row.line, spans))


def _label(words: Words, follower: Block | None) -> tuple[str, str]:
    """A paragraph's label and the text after it: "Done when:" and "x" for "Done when: x". Two empty texts if there is
    no label."""
    if words.label and (words.label.endswith(":") or words.rest.startswith(":") or not words.rest):
        return words.label, words.rest.removeprefix(":").strip()
    if words.raw.endswith(":") and isinstance(follower, List | Table | Other):
        return words.raw, ""
    label, colon, rest = words.raw.partition(":")
    short = colon and rest[:1].isspace() and len(label.split()) <= LABEL_WORDS
    if not words.label and short and (section_kind(label) in CRITERIA or vocabulary.is_header_field(label)):
        return label, rest.strip()
    return "", ""


def _is_title(words: Words) -> bool:
    """Whether the line only introduces what follows, and asks for nothing itself."""
    bold = bool(words.label) and not words.rest.strip(":")
    known = section_kind(words.label or words.raw) or vocabulary.is_work(words.label or words.raw)
    limit = LABEL_WORDS if known else LABEL_WORDS - 2 + bold
    led = words.raw.rstrip("*_").endswith(":") or (bold and bool(known))
    return led and len(words.raw.split()) <= limit


def _outline(item: Item, depth: int) -> list[str]:
    lines = [f"{'  ' * depth}- {item.text}"]
    return lines + [line for nested_item in item.items for line in _outline(nested_item, depth + 1)]


def _scope_column(header: tuple[Words, ...]) -> int | None:
    for name in vocabulary.SCOPE_COLUMNS:
        if (at := column_index(header, frozenset([name]))) is not None:
            return at
    return None


def _looks_like_ids(block: Table) -> bool:
    return all(vocabulary.WEAK_ID.fullmatch(bare_title(row.cells[0].plain)) for row in block.rows)


def _row_text(block: Table, row: TableRow) -> str:
    """The row's text, without its number and without status columns."""
    cells = [
        cell.raw
        for head, cell in zip(block.header, row.cells, strict=False)
        if cell.raw
        and bare_title(head.plain).lower().rstrip(".") not in NUMBERING
        and not vocabulary.is_status_field(head.plain)
    ]
    return " | ".join(cells or [cell.raw for cell in row.cells if cell.raw])
