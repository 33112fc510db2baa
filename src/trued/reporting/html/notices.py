"""What a reader has to know before anything else: lowered bars, missing walls, edits that tools would obey."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trued.engine.sensitive_files import kind_of
from trued.model import Grade
from trued.reporting.html.calls import Call
from trued.reporting.html.format import counted, cut
from trued.reporting.html.material import Material

SHOWN = 3  # of one kind; more of the same tells nobody more
WORDS = {
    "branch not moved": "The run's branch was not moved",
    "sealed file edited": "An agent edited what is sealed or the engine's; the edit counts for nothing",
    "tried to start an agent": "An agent tried to start another agent and was refused",
    "claim refuted": "An agent's claim that git does not bear out",
    "missing in the ticket": "What the ticket does not say",
    "not offered": "The work was not offered",
    "one-shot attempt": "One-shot attempt: more than the one feature was built at once",
    "premature victory": "Premature victory: a claim over red",
    "guesswork": "Guesswork: installed or started by other ways than init.sh",
    "meddling": "Meddling with the feature list; it was undone",
    "passes undone": "The list said that something passes, and it does not",
    "edit not understood": "Somebody's edit could not be read; it stays in the live copy and counts for nothing",
    "no progress": "A loop ended early: the same checks failed twice, and nothing was changed",
}


def notices(material: Material, every: Sequence[Call]) -> Iterator[str]:
    yield from _lowered(material)
    yield from _changed(every)
    yield from _ticket(material)
    for kind, words in WORDS.items():
        told = list(dict.fromkeys(_told(one.data) for one in material.events if one.kind == kind))
        yield from (f"{words}: {rest}" if rest else f"{words}." for rest in told[:SHOWN])
        if len(told) > SHOWN:
            yield f"{words}, {counted(len(told) - SHOWN, 'time')} more."


def _ticket(material: Material) -> Iterator[str]:
    """What was touched beyond the named files, and previews that nobody could look at."""
    for one in material.events:
        for each in (one.data.get("beyond") or ()) if one.kind == "mended" else ():
            path, why = cut(str(each.get("path")), 200)[0], cut(str(each.get("why") or "no reason was given"), 200)[0]
            yield f"A fix changed a file that nobody had named: {path} ({why})."
        if one.kind == "preview" and one.data.get("why"):
            yield f"There was no preview to look at: {cut(str(one.data['why']), 400)[0]}."


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
