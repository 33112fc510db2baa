"""What a reader has to know before anything else: lowered bars, missing walls, edits that tools would obey."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..engine.entrusted import kind_of
from ..types import Grade
from .calls import Call
from .material import Material
from .words import cut

SHOWN = 3  # of one kind; more of the same tells nobody more
WORDS = {
    "branch not moved": "The run's branch was not moved",
    "sealed file edited": "An agent edited what is sealed or the engine's; the edit counts for nothing",
    "tried to start an agent": "An agent tried to start another agent and was refused",
    "no progress": "A loop ended early: the same checks failed twice, and nothing was changed",
}


def notices(material: Material, every: Sequence[Call]) -> Iterator[str]:
    yield from _lowered(material)
    yield from _changed(every)
    for kind, words in WORDS.items():
        told = list(dict.fromkeys(_told(one.data) for one in material.events if one.kind == kind))
        yield from (f"{words}: {rest}" if rest else f"{words}." for rest in told[:SHOWN])
        if len(told) > SHOWN:
            yield f"{words}, {len(told) - SHOWN} times more."


def _lowered(material: Material) -> Iterator[str]:
    contract = material.contract
    if material.settings.accept.rank < Grade.ATTESTED.rank:
        yield f"The bar was lowered: --accept {material.settings.accept}. What counts as success here is not proof."
    if material.level == "none":
        yield "Nothing was confined: agents and checks could read and write everything (--allow-unsandboxed)."
    if contract and not contract.held_out and contract.held_out_why:
        yield f"Nothing was held out: {contract.held_out_why}."


def _changed(every: Sequence[Call]) -> Iterator[str]:
    touched = sorted({path for call in every for path in call.changed if kind_of(path)})
    if touched:
        yield f"This run changed files that tools obey without asking: {', '.join(touched[:20])}."


def _told(data: Mapping[str, Any]) -> str:
    values = (", ".join(map(str, one)) if isinstance(one, list) else str(one) for one in data.values() if one)
    return cut("; ".join(values), 400)[0]
