"""What a reader has to know before anything else: lowered bars, missing sandboxes, edits to files that tools trust."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trued.engine.sensitive_files import sensitivity_of
from trued.model.events import JournalEvent, landing, of_kind, proof, run
from trued.reporting.html.calls import ReportedCall
from trued.reporting.html.format import counted, cut
from trued.reporting.html.material import Material
from trued.reporting.views.notices import foreign_edits

LENGTH = 500  # maximum length of a workflow's own notice, in characters
SHOWN = 3  # at most this many notices of one kind are shown; the others are counted
WARNINGS: dict[type[JournalEvent], str] = {
    run.BranchNotMoved: "The run's branch was not moved",
    run.AgentStartRefused: "An agent tried to start another agent and was refused",
    proof.ClaimRefuted: "An agent's claim that git contradicts",
    run.TicketIncomplete: "What the ticket does not say",
    landing.PullRequestWithheld: "The work was not offered as a pull request",
    run.EditNotUnderstood: (
        "A person's edit could not be read and was not applied; the text is still in the run's copy of the file"
    ),
    proof.NoProgress: "No progress: the last round had the same gaps as before and changed nothing",
}


def notices(material: Material, every: Sequence[ReportedCall]) -> Iterator[str]:
    yield from _lowered_notices(material)
    yield from _changed_file_notices(every)
    view = material.progress.view
    yield from (cut(notice, LENGTH)[0] for notice in view.notices())
    for kind, text in {**WARNINGS, **view.WARNINGS}.items():
        facts = (_every_fact(event.data) for event in material.events if event.kind == kind.KIND)
        yield from _first(text, (f"{text}: {rest}" if rest else f"{text}." for rest in facts))
    edits = (
        sentence for _, event in of_kind(material.events, run.SealedFileEdited) for sentence in foreign_edits(event)
    )
    yield from _first("An agent edited files that it may not change", (f"{edit}." for edit in edits))


def _first(text: str, sentences: Iterable[str]) -> Iterator[str]:
    """The first `SHOWN` different sentences. If there are more, a last line begins with `text` and says how many more
    there are."""
    every = list(dict.fromkeys(sentences))
    yield from every[:SHOWN]
    if len(every) > SHOWN:
        yield f"{text}, {counted(len(every) - SHOWN, 'more time')}."


def _lowered_notices(material: Material) -> Iterator[str]:
    contract = material.contract
    if material.settings.accept.is_lowered_bar:
        yield f"The bar was lowered: --accept {material.settings.accept}. What counts as success here is not proof."
    if material.level == "none":
        yield "Nothing was confined: agents and checks could read and write everything (--allow-unsandboxed)."
    if contract and not contract.held_out and contract.held_out_why:
        yield f"Nothing was held out: {contract.held_out_why}."


def _changed_file_notices(every: Sequence[ReportedCall]) -> Iterator[str]:
    # a set, because the calls of a run change the same files again and again
    paths = {path for call in every for path in call.row.changed}
    touched = sorted(path for path in paths if sensitivity_of(path))
    if touched:
        yield f"This run changed files that tools execute or trust automatically: {', '.join(touched[:20])}."


def _every_fact(data: Mapping[str, Any]) -> str:
    values = (", ".join(map(str, value)) if isinstance(value, list) else str(value) for value in data.values() if value)
    return cut("; ".join(values), 400)[0]
