"""A plan's blocks read in order: which are chunks, which are criteria, and under which headings they stand."""

from dataclasses import dataclass, field

from ..errors import BadInput
from . import headings
from .headings import clean, column, cut_files, kind_of, named, split_files
from .markdown import Block, Heading, Item, List, Other, Paragraph, Row, Table, Words

CRITERIA = ("ship", "goal", "constraint")
BOLD_PHASE = 7  # a bold line that names a phase ranks below every heading
TEACH = 'write a table with the columns Chunk, Scope and Files, or list items such as "- 1A: what to do"'


@dataclass(eq=False, slots=True)
class Section:
    level: int
    title: str
    line: int
    parent: "Section | None"
    kind: str = ""
    phase: bool = False
    work: bool = False
    end: int = 0
    chunk: "Draft | None" = None  # the heading is a chunk of its own


@dataclass(eq=False, slots=True)
class Draft:
    """A chunk before its phase is known."""

    id: str
    title: str
    scope: str
    files: tuple[str, ...]
    section: Section
    line: int
    spans: list[tuple[int, int]]  # lines of the source that speak of it


@dataclass(frozen=True, slots=True)
class Found:
    """A criterion before its phase is known."""

    kind: str
    text: str
    section: Section
    line: int


@dataclass(slots=True)
class Outline:
    file: str
    section: Section = field(default_factory=lambda: Section(0, "", 1, None, work=True))
    title: str = ""
    drafts: list[Draft] = field(default_factory=list)
    details: list[Draft] = field(default_factory=list)  # headings that name a chunk
    found: list[Found] = field(default_factory=list)
    loose: list[tuple[Section, List]] = field(default_factory=list)
    spans: list[tuple[Section, int, int]] = field(default_factory=list)  # what is no chunk
    sections: list[Section] = field(default_factory=list)
    label: str = ""
    label_used: bool = False

    def read(self, blocks: list[Block], last: int) -> None:
        for number, block in enumerate(blocks):
            follower = blocks[number + 1] if number + 1 < len(blocks) else None
            if isinstance(block, Heading):
                self._heading(block)
            elif isinstance(block, Paragraph):
                self._paragraph(block, follower)
            elif isinstance(block, List):
                self._list(block)
            elif isinstance(block, Table):
                self._table(block)
            elif isinstance(block, Other) and not block.comment:
                self._keep(block.line, block.end)
        self._close(0, last + 1)

    # -- headings and labels

    def _heading(self, block: Heading) -> None:
        title = clean(block.words.plain)
        self._close(block.level, block.line)
        if block.level == 1 and not self.title and not self.sections:
            self.title = title
            self._open(Section(1, title, block.line, self.section, work=True))
            return
        section = Section(block.level, title, block.line, self.section)
        section.phase, section.work = headings.is_phase(title), headings.is_work(title)
        chunk = named(block.words) if self._chunk() is None and not section.phase else None
        if chunk and (chunk.strong or headings.says_chunk(block.words.plain)):
            section.chunk = Draft(chunk.id, chunk.title, "", (), section, block.line, [])
            self.details.append(section.chunk)
        elif not section.phase:
            inherited = self.section.kind if not section.work else ""
            section.kind = kind_of(title) or inherited
            section.work = section.work or (self.section.work and self.section.level > 1 and not section.kind)
        self._open(section)
        if not section.phase and not section.chunk:
            self._keep(block.line, block.end)

    def _open(self, section: Section) -> None:
        self.section, self.label = section, ""
        self.sections.append(section)

    def _close(self, level: int, line: int) -> None:
        while self.section.parent is not None and self.section.level >= level:
            self.section.end = line - 1
            self.section = self.section.parent

    def _chunk(self) -> "Draft | None":
        """The chunk whose heading the current section stands under."""
        section: Section | None = self.section
        while section is not None and section.chunk is None:
            section = section.parent
        return section.chunk if section else None

    def _paragraph(self, block: Paragraph, follower: Block | None) -> None:
        words = block.words
        if words.label and not words.rest and headings.is_phase(clean(words.label)):
            self._close(BOLD_PHASE, block.line)
            self._open(Section(BOLD_PHASE, clean(words.label), block.line, self.section, phase=True))
            return
        self._keep(block.line, block.end)
        leads = words.raw.endswith(":") or (bool(words.label) and not words.rest)
        label, rest = words.label, words.rest
        if label and (label.endswith(":") or rest.startswith(":") or not rest):
            rest = rest.removeprefix(":").strip()
        elif leads and isinstance(follower, List | Table):
            label, rest = words.raw, ""
        else:
            label = ""
        kind = kind_of(label) or ("files" if headings.words_of(label) in (["files"], ["file"]) else "")
        if label and kind:
            self._labelled(kind, rest, words, block.line)
            return
        if label or self.label_used:
            self.label, self.label_used = "", False
        kind = self.label or self.section.kind
        if kind in CRITERIA and words.raw and not leads:
            self.found.append(Found(kind, words.raw, self.section, block.line))

    def _labelled(self, kind: str, rest: str, words: Words, line: int) -> None:
        self.label, self.label_used = kind, False
        if kind == "files" and self.section.chunk:
            self.section.chunk.files += split_files(Words(plain=rest, codes=words.codes)) if rest else ()
        elif kind in CRITERIA and rest:
            self.found.append(Found(kind, rest, self.section, line))
            self.label_used = True

    def _keep(self, line: int, end: int) -> None:
        self.spans.append((self.section, line, end))

    # -- lists

    def _list(self, block: List) -> None:
        kind, chunk = self.label or self.section.kind, self._chunk()
        self.label_used = bool(self.label)
        if kind in CRITERIA:
            self._keep(block.line, block.end)
            self.found += [Found(kind, item.text, self.section, item.line) for item in block.walk() if item.text]
        elif kind == "files" and chunk:
            chunk.files += tuple(name for item in block.items for name in split_files(item.words))
        elif kind:
            self._keep(block.line, block.end)
        elif chunk:
            steps = [f"- {item.words.raw}" for item in block.items]
            chunk.scope = "\n".join([chunk.scope or chunk.title, *steps])
        elif not self._chunks(block.items):
            self._keep(block.line, block.end)
            self.loose.append((self.section, block))

    def _chunks(self, items: tuple[Item, ...]) -> bool:
        """Take the items that name a chunk; those beside them that name none are looked at later."""
        before = len(self.drafts)
        others: list[Item] = []
        for item in items:
            chunk = named(item.words)
            if chunk and (chunk.strong or self._is_work() or item.checked is not None):
                self.drafts.append(self._draft(item, chunk.id, chunk.title))
            elif not self._chunks(item.items):
                others.append(item)
        found = len(self.drafts) > before
        if found and others:
            self.loose.append((self.section, List(tuple(others), others[0].line, others[-1].end)))
        return found

    def _is_work(self) -> bool:
        return self.section.work or self.section.phase

    def _draft(self, item: Item, name: str, title: str) -> Draft:
        title, files = cut_files(title)
        if not title and item.more:
            title = item.more[0]
        nested = [one for one in item.items if headings.words_of(one.words.plain)[:1] not in (["files"], ["file"])]
        for one in item.items:
            if one not in nested:
                files += split_files(Words(plain=one.words.plain.partition(":")[2], codes=one.words.codes))
        details = [*item.more, *(line for one in nested for line in _outline(one, 0))]
        scope = "\n".join([title, *details]) if details else ""
        return Draft(name, title, scope, files, self.section, item.line, [(item.line, item.end)])

    def from_loose(self, section: Section, block: List) -> None:
        """List items without ids, taken as chunks because the plan names none."""
        self.section = section
        self.drafts += [self._draft(item, "", item.words.raw) for item in block.items if item.words.raw]

    def checklist(self, section: Section, block: List) -> None:
        """A checklist that is no list of chunks, in a plan that has chunks: something to be ticked off."""
        for item in block.walk():
            if item.checked is not None and item.text:
                self.found.append(Found("ship", item.text, section, item.line))

    # -- tables

    def _table(self, block: Table) -> None:
        kind = self.label or self.section.kind
        self.label_used = bool(self.label)
        name, scope = column(block.header, headings.ID_COLUMNS), _scope_column(block.header)
        files = column(block.header, headings.FILE_COLUMNS)
        if name is None and scope is not None and files is not None and scope != 0 and _looks_like_ids(block):
            name = 0
        chunk_table = any(headings.words_of(cell.plain)[:1] in (["chunk"], ["chunks"]) for cell in block.header)
        if chunk_table or (
            scope is not None and not kind and (files is not None or (name is not None and self._is_work()))
        ):
            for row in block.rows:
                self._row(block, row, (name, scope, files))
            return
        self._keep(block.line, block.end)
        if kind in CRITERIA:
            at = _criterion_column(block)
            self.found += [
                Found(kind, row.cells[at].raw, self.section, row.line) for row in block.rows if row.cells[at].raw
            ]

    def _row(self, block: Table, row: Row, columns: tuple[int | None, int | None, int | None]) -> None:
        if not any(cell.raw for cell in row.cells):
            return
        name, scope, files = columns
        where = f"{self.file}:{row.line}"
        title = row.cells[scope].raw if scope is not None else ""
        identity = clean(row.cells[name].plain) if name is not None else ""
        if scope is None and name is not None:
            both = named(row.cells[name])
            identity, title = (both.id, both.title) if both and both.title else (identity, "")
            if not title:
                raise BadInput("the table of chunks has no column for their scope", where, "name a column Scope")
        if name is not None and not identity:
            raise BadInput("a chunk has no id", where, "write one such as 1A in its first column")
        spans = [(block.line, block.line + 1), (row.line, row.line)]
        listed = split_files(row.cells[files]) if files is not None else ()
        self.drafts.append(Draft(identity, title, "", listed, self.section, row.line, spans))
        for number, cell in enumerate(row.cells):
            if number not in columns and cell.raw and kind_of(block.header[number].plain) == "ship":
                self.found.append(Found("ship", cell.raw, self.section, row.line))


def _outline(item: Item, depth: int) -> list[str]:
    lines = [f"{'  ' * depth}- {item.text}"]
    return lines + [line for one in item.items for line in _outline(one, depth + 1)]


def _scope_column(header: tuple[Words, ...]) -> int | None:
    for name in headings.SCOPE_COLUMNS:
        if (at := column(header, frozenset([name]))) is not None:
            return at
    return None


def _looks_like_ids(block: Table) -> bool:
    return all(headings.WEAK_ID.fullmatch(clean(row.cells[0].plain)) for row in block.rows)


def _criterion_column(block: Table) -> int:
    for number, cell in enumerate(block.header):
        if {"criterion", "criteria", "goal", "constraint", "requirement", "what", "description"} & set(
            headings.words_of(cell.plain)
        ):
            return number
    first = clean(block.header[0].plain).lower().rstrip(".")
    return 1 if len(block.header) > 1 and first in headings.ID_COLUMNS else 0
