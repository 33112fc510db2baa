"""Memory: keeps MEMORY.md beside the plan while a run works on it."""

from trued.model import Goal
from trued.run.run import Run
from trued.workflows.purple.memory_log import Section, memory_files, render


class Memory:
    """The log of one run. Only the engine writes it; a plan outside the repository has only the live copy."""

    def __init__(self, run: Run, goal: Goal) -> None:
        files = memory_files(goal.source.file)
        run.branch.own(*files)
        self._path = files[0] if files else ""
        self._sections: dict[str, Section] = {}

    async def add(self, run: Run, section: Section) -> None:
        """Write a chunk's section, or replace it, and commit the log after the work that it is about."""
        self._sections[section.chunk] = section
        workspace = run.context.workspace
        before = await workspace.read(workspace.base, self._path) if self._path else None
        text = render((before or b"").decode(errors="surrogateescape"), self._sections.values())
        if not self._path:
            run.branch.show("MEMORY.md", text)
            return
        message = f"docs: log of {section.chunk}"
        await run.branch.write({self._path: text}, message, step="log", inputs=section.model_dump(mode="json"))
