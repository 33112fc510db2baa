"""How to continue a purple run that ended without proof: more rounds for what fails, and landing what is proven."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from trued.model import Event
from trued.model.events import of_kind
from trued.model.events.call import CallAnswered
from trued.model.events.proof import VerdictReached
from trued.model.events.run import TaskSkipped

ROUNDS = 3  # how many rounds the suggested command grants: as many as a chunk gets by default


@dataclass(slots=True)
class JudgedChunk:
    """The newest verdict on a chunk, and which chunks had been built by then."""

    verdict: VerdictReached
    # Chunks for which an agent had changed files before this verdict.
    built_before: frozenset[str] = field(default_factory=frozenset)
    skipped: bool = False  # whether the chunk was met before any agent worked on it

    @property
    def rows(self) -> set[str]:
        return {judgement.id for judgement in self.verdict.requirements or ()}


def continuations(run: str, events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """Commands that continue the run, as pairs of command and effect. They follow from the newest verdicts on the
    chunks."""
    chunks = _judged_chunks(events)
    failing = [name for name, chunk in chunks.items() if not chunk.verdict.holds]
    about = ", ".join(failing[:5]) or "what fails"
    yield f"trued resume {run} --rounds {ROUNDS}", f"gives more rounds to {about}"
    if last := _last_to_land(chunks):
        yield f"trued land {run} --through {last}", "merges the chunks that are proven, without the rest"


def _judged_chunks(events: Sequence[Event]) -> dict[str, JudgedChunk]:
    chunks, built = dict[str, JudgedChunk](), set[str]()
    skipped = {event.task for _, event in of_kind(events, TaskSkipped)}
    answers = {stored.id: event for stored, event in of_kind(events, CallAnswered) if event.changed}
    verdicts = {stored.id: event for stored, event in of_kind(events, VerdictReached)}
    for stored in events:
        scope = stored.key.partition("/")[0]
        name = scope.removeprefix("chunk ")
        if stored.id in answers and scope != name:
            built.add(name)
        elif (verdict := verdicts.get(stored.id)) and stored.key.startswith(f"chunk {verdict.subject}/"):
            chunks[verdict.subject] = JudgedChunk(verdict, frozenset(built), verdict.subject in skipped)
    return chunks


def _last_to_land(chunks: dict[str, JudgedChunk]) -> str:
    """The chunk up to which the work can land now: it and all chunks before it are met and do not need later chunks. ""
    if there is no such chunk, or if all chunks are met."""
    last, names = "", list[str]()
    for name, chunk in chunks.items():
        if not _is_met(chunk.verdict) or not (chunk.skipped or name in chunk.built_before):
            break
        names.append(name)
        later = {row for other, later_chunk in chunks.items() if other not in names for row in later_chunk.rows}
        # Each chunk so far has a requirement that no later chunk shares.
        alone = all(chunks[earlier].rows - later for earlier in names)
        if alone and chunk.built_before <= {*names}:
            last = name
    return last if len(names) < len(chunks) else ""


def _is_met(verdict: VerdictReached) -> bool:
    return verdict.holds and verdict.grade != "" and verdict.grade.is_proven_or_attested
