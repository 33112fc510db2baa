"""Decide which blocks of a plan are its chunks, once the whole plan is read. The other blocks become criteria or unread
text."""

from trued.inputs import vocabulary
from trued.inputs.plans.outline import Draft, Outline, PlanSection
from trued.support.lazy_regex import lazy_regex
from trued.support.markdown import List, Table

NUMBER = lazy_regex(r"\d+")
OF_PHASE = lazy_regex(r"(\d+)[A-Za-z.-]")  # chunk 2A belongs to phase 2, wherever the plan lists it


def chunks_of(outline: Outline) -> list[Draft]:
    """The plan's chunks. First, every block with an id is a chunk. Second, if a phase, or a section about work, has no
    block with an id, each of its list items and table rows is a chunk. Third, if the whole plan has no chunk yet, each
    item of a checklist is a chunk. Last, each phase that still has no chunk becomes a single chunk."""
    _join_details(outline)
    by_id = bool(outline.drafts)
    busy = _busy(outline.drafts)
    others: list[tuple[PlanSection, List | Table]] = []
    for section, block in outline.loose:
        if _is_work(section, block, busy, by_id):
            outline.from_loose(section, block)
        else:
            others.append((section, block))
    if not outline.drafts:
        boxes = [other for other in others if isinstance(other[1], List) and other[1].items[0].checked is not None]
        for section_and_list in boxes:
            outline.from_loose(*section_and_list)
        others = [other for other in others if other not in boxes]
    for section, block in others:
        stories = by_id and "stories" in vocabulary.title_words(section.title)
        if not section.background or _has_checkboxes(block):
            outline.left_over(section, block, "goal" if stories else "text")
    _from_prose(outline)
    return sorted(outline.drafts, key=lambda draft: draft.line)


def _join_details(outline: Outline) -> None:
    """Add the text below each heading such as `### 1A: …` to the chunk 1A. If there is no chunk with that id, the
    heading becomes one."""
    known = {draft.id.casefold(): draft for draft in outline.drafts if draft.id}
    for detail in outline.details:
        span = (detail.section.line, detail.section.end)
        draft = known.get(detail.id.casefold())
        if draft is None:
            detail.spans.append(span)
            outline.drafts.append(detail)
            continue
        draft.spans.append(span)
        draft.files = draft.files or detail.files
        more = detail.scope or (detail.title if detail.title != draft.title else "")
        if more:
            draft.scope = f"{draft.scope or draft.title}\n{more}"


def _busy(drafts: list[Draft]) -> set[int]:
    """The sections that contain a chunk at any depth."""
    indexes: set[int] = set()
    for draft in drafts:
        section: PlanSection | None = draft.section
        while section is not None and id(section) not in indexes:
            indexes.add(id(section))
            section = section.parent
    return indexes


def _is_work(section: PlanSection, block: List | Table, busy: set[int], by_id: bool) -> bool:
    home = _phase_of(section)
    if isinstance(block, Table) and not block.rows:
        return False
    if not by_id and isinstance(block, List):
        return section.work or section.phase or (home is not None and not section.background)
    if home is not None:
        return id(home) not in busy and not section.background
    stories = "stories" in vocabulary.title_words(section.title)
    own = section.level > 1 and section.work and not section.background and not stories
    return own and id(section) not in busy and not _has_checkboxes(block)


def _has_checkboxes(block: List | Table) -> bool:
    return isinstance(block, List) and any(item.checked is not None for item in block.walk())


def _phase_of(section: PlanSection | None) -> PlanSection | None:
    while section is not None and not section.phase:
        section = section.parent
    return section


def _from_prose(outline: Outline) -> None:
    """Make each phase without chunks a single chunk: its heading and the unread text below it. If the id of any chunk
    in the plan begins with a phase's number, that phase has chunks."""
    busy = _busy(outline.drafts)
    numbers = {match.group(1) for draft in outline.drafts if (match := OF_PHASE.match(draft.id))}
    drafts: dict[int, Draft] = {}
    # Inner sections first: if a phase becomes a chunk, the phases around it do not.
    for section in reversed(outline.sections):
        if not section.phase or id(section) in busy:
            continue
        number = NUMBER.search(section.title)
        if number is None or number.group() not in numbers:
            drafts[id(section)] = Draft("", section.title, "", (), section, section.line, [])
            busy |= _busy([drafts[id(section)]])
    unused = []
    for line in sorted(outline.unread, key=lambda line: line.line):
        draft = drafts.get(id(_phase_of(line.section)))
        if draft is None:
            unused.append(line)
        else:
            draft.scope = f"{draft.scope or draft.title}\n{line.text}"
    outline.unread = unused
    outline.drafts += [
        draft for draft in drafts.values() if draft.scope or len(vocabulary.title_words(draft.title)) > 1
    ]
