"""MemoryLog: keeps MEMORY.md beside the plan while a run works on it, and recalls it for the next agent."""

from typing import NamedTuple

from trued.model import Goal, Task, Verdict
from trued.run.run import Run
from trued.workflows.purple.memory_log import (
    ChunkSection,
    Iteration,
    excerpt,
    located,
    memory_files,
    reasons_of,
    render,
    status_of,
)
from trued.workflows.purple.replies import Built, Review


class MemoryLog:
    """The log of one run. Only the engine writes it. For a plan outside the repository, the log is not committed: there
    is only a copy in the run's folder."""

    def __init__(self, run: Run, goal: Goal) -> None:
        files = memory_files(goal.source.file)
        run.branch.own(*files)
        self._path = files[0] if files else ""
        self._sections: dict[str, ChunkSection] = {}

    def section(self, run: Run, chunk: Task) -> ChunkSection:
        """The chunk's section so far; a new one before its first round."""
        return self._sections.get(chunk.id) or ChunkSection(chunk=chunk.id, scope=chunk.title, run=run.id)

    async def add(self, run: Run, section: ChunkSection) -> None:
        """Write or replace a chunk's section, and commit the log after the chunk's work."""
        self._sections[section.chunk] = section
        text = render(await self._before(run), self._sections.values())
        if not self._path:
            run.branch.show("MEMORY.md", text)
            return
        message = f"docs: log of {section.chunk}"
        await run.branch.write({self._path: text}, message, step="log", inputs=section.model_dump(mode="json"))

    async def recall(self, run: Run, chunk: Task) -> str:
        """What the next agent on this chunk should know from MEMORY.md, with its path; "" if there is nothing."""
        others = [section for name, section in self._sections.items() if name != chunk.id or section.iterations]
        readable = (await self._before(run)).encode(errors="surrogateescape").decode(errors="replace")
        text = excerpt(readable, others, chunk.id)
        source = f"From {self._path}, which you can read whole:\n\n" if self._path else ""
        return f"{source}{text}" if text else ""

    async def _before(self, run: Run) -> str:
        """The file on the base, with people's sections and the log of earlier runs."""
        workspace = run.context.workspace
        text = await workspace.read(workspace.base, self._path) if self._path else None
        return (text or b"").decode(errors="surrogateescape")


class RoundFacts(NamedTuple):
    """What the engine knows about one round besides the replies and the verdict."""

    asked: tuple[str, ...] = ()  # what a person asked for before the round
    refuted: tuple[str, ...] = ()  # files that Team A claims to have changed, although git shows no change
    put_back: tuple[str, ...] = ()  # files that a team changed although it may not; the engine undid that


def with_round_logged(log: ChunkSection, round_: tuple[Built, Review, Verdict], facts: RoundFacts) -> ChunkSection:
    """The chunk's section with one more round: what the teams say, and what the engine found."""
    built, review, verdict = round_
    judged = "holds" if verdict.holds else "does not hold"
    entry = Iteration(
        asked=facts.asked,
        refuted=facts.refuted,
        put_back=facts.put_back,
        implemented=built.implemented,
        files=tuple((file.path, file.what) for file in built.files),
        notes=built.notes,
        steel_man=review.steel_man,
        assessed=tuple(
            located(f"{assessed.judgement}: {assessed.requirement}", assessed.where) for assessed in review.requirements
        ),
        gaps=tuple(located(objection.what, objection.where) for objection in review.objections),
        fixed=review.fixed,
        status=review.result,
        verdict=f"{judged} ({verdict.grade}) at {verdict.commit[:12]}",
        reasons=reasons_of(verdict),
    )
    return log.with_round(entry, verdict, status_of(verdict))
