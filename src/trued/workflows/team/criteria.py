"""Which requirements of the contract cover a criterion of the backlog, and which criteria no requirement covers."""

import re
from collections.abc import Iterable, Iterator
from itertools import count

from trued.inputs.goals import parse_goal
from trued.model import Contract, Goal, Grade, Judged, Requirement, Source
from trued.workflows.team.backlog.items import AcceptanceItem, limited_line
from trued.workflows.team.state import BACKLOG, Crew, criterion_lines

EDITED = "-edited"  # suffix for a sealed criterion that a person edited: in the contract, the id means the old text


def requirements_for(contract: Contract, goal: Goal, criterion: AcceptanceItem) -> tuple[Requirement, ...]:
    """The requirements that stand for this criterion: their text is the criterion's, and they have or cover its id.

    If there are none and the criterion quotes the goal: all requirements that have the quotation in their own text or
    in a sentence that they cover.
    """
    text, every = _comparable(criterion.text), contract.requirements
    own = tuple(
        requirement
        for requirement in every
        if criterion.id in (requirement.id, *requirement.covers) and _comparable(requirement.text) == text
    )
    if own or not _is_quotation(goal, text):
        return own
    whole = _comparable(goal.text)
    return tuple(
        requirement
        for requirement in every
        for texts in [{_comparable(requirement.text), *(_entry(entry, goal) for entry in requirement.covers)}]
        if text in texts
        or any(requirement_text != whole and _quotes(text, requirement_text) for requirement_text in texts)
    )


def is_held(contract: Contract, goal: Goal, criterion: AcceptanceItem) -> bool:
    """Whether the contract contains the criterion: a requirement stands for the criterion, or the criterion quotes the
    goal and a requirement covers the whole goal."""
    if requirements_for(contract, goal, criterion):
        return True
    entries = (_entry(entry, goal) for requirement in contract.requirements for entry in requirement.covers)
    return _comparable(goal.text) in entries and _is_quotation(goal, _comparable(criterion.text))


def _is_quotation(goal: Goal, text: str) -> bool:
    """Whether these words are a quotation from the goal: one passage of one sentence, word for word."""
    return any(_quotes(text, _comparable(criterion.text)) for criterion in parse_goal(goal).all_criteria)


def _quotes(words: str, text: str) -> bool:
    return bool(words) and re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


def is_shown(contract: Contract, crew: Crew, feature: str, judged: Iterable[Judged]) -> bool:
    """Whether evidence shows every criterion of a feature. The implementer's own tests do not count, because they could
    pass without any change to the code."""
    by_id = {judgement.id: judgement for judgement in judged}
    criteria = crew.backlog.feature(feature).criteria
    needed = [requirements_for(contract, crew.goal, criterion) for criterion in criteria]
    return bool(needed) and all(names and all(_by_evidence(by_id.get(name.id)) for name in names) for names in needed)


def _by_evidence(judged: Judged | None) -> bool:
    return judged is not None and judged.holds and judged.grade >= Grade.TESTED


def covering_requirements(contract: Contract, crew: Crew, feature: str) -> tuple[str, ...]:
    """The ids of all requirements that stand for a criterion of the feature."""
    criteria = crew.backlog.feature(feature).criteria
    names = (name.id for criterion in criteria for name in requirements_for(contract, crew.goal, criterion))
    return tuple(dict.fromkeys(names))


def outside_criteria(contract: Contract, crew: Crew) -> Iterator[Requirement]:
    """The criteria that are not in the contract, as requirements. Most were added or changed by a person after the
    contract was sealed. The PM's own criteria are among them if the user's file covers the whole goal. A feature that a
    person added without criteria counts as one criterion."""
    lines = criterion_lines(crew.backlog)
    held = {requirement.id for requirement in contract.requirements}
    for feature in crew.features:
        for criterion in feature.criteria:
            if not is_held(contract, crew.goal, criterion) and (name := _free_name(contract, criterion)):
                source = Source(file=BACKLOG, line=lines.get(criterion.id, 1))
                yield Requirement(id=name, text=criterion.text, source=source, covers=(feature.id,))
        if not feature.criteria and feature.id not in crew.planned and feature.id not in held:
            yield Requirement(id=feature.id, text=feature.name, source=Source(file=BACKLOG, line=1))


def _free_name(contract: Contract, criterion: AcceptanceItem) -> str:
    """An id for a criterion that is not in the contract. If a requirement already has the criterion's own id,
    `-edited`, `-edited-2` and so on are tried after that id. "" if a requirement with such an id has the criterion's
    text: then the criterion is in the contract."""
    texts = {requirement.id: _comparable(requirement.text) for requirement in contract.requirements}
    for number in count():
        name = f"{criterion.id}{EDITED if number else ''}{f'-{number}' if number > 1 else ''}"
        if name not in texts:
            return name
        if number and texts[name] == _comparable(criterion.text):
            return ""
    raise AssertionError("there is always a free name")


def _entry(text: str, goal: Goal) -> str:
    """The text that an entry of `covers` stands for: the whole goal if the entry is the goal's id; else the entry
    itself, without a prefix such as "goal:"."""
    if text == goal.id:
        return _comparable(goal.text)
    kind, colon, rest = text.partition(":")
    return (
        _comparable(rest)
        if colon and kind.strip().lower() in ("ship", "goal", "constraint", "text")
        else _comparable(text)
    )


def _comparable(text: str) -> str:
    """The text in the form used for comparisons: on one line, without the full stop at its end."""
    return limited_line(text).rstrip(".").strip()
