"""Sets of files: which of them are agents, and whether they form a pipeline."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from trued.agents.roles.front_matter import read_lenient
from trued.agents.roles.other_tools import KNOWN, role_name
from trued.agents.roles.places import stem_of
from trued.errors import BadInput
from trued.support.located import read_text
from trued.workflows.pipeline.decision_tables import CRITICS, RESEARCH, REVIEWERS, VERIFIERS
from trued.workflows.pipeline.lint.pages import PromptPage, TextBlock, normal, pieces_of

SECTIONS = (
    *("role", "prohibitions", "inputs", "outputs", "operating rules", "workflow", "completion contract"),
    "anti-drift anchor",
)
# A file with at least this many of the sections follows the convention; fewer also occur in other conventions.
CONVENTIONAL = 5
# At least this many agents with names from the pipeline's clusters make a pipeline; fewer may be chance.
SEVERAL = 3
FOCUSES = tuple(name.removeprefix("researcher-") for name in RESEARCH)
ALONE = ("researcher", "spec", "designer", "planner", "implementer", "documentation-writer")
CLUSTERED = (*CRITICS, *VERIFIERS, *REVIEWERS)
NAMES = (*ALONE, *CLUSTERED)
ORCHESTRATOR, PATTERNS = "orchestrator", "dispatch-patterns"
NO_AGENTS = ("readme", "agents", "claude", "skill", "changelog", "contributing", "license")
LONGEST = 400_000  # characters in a file: no agent reads more
MOST = 2000  # Markdown files in one folder
SKIPPED = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__"))


@dataclass(frozen=True)
class LintSet:
    """Pages that are linted together."""

    pages: tuple[PromptPage, ...]
    strict: frozenset[str] = frozenset()  # files that must follow the convention, whatever they look like
    forced: bool = False  # the caller says that this is a pipeline
    plain: bool = False  # the caller says that this is not a pipeline

    @cached_property
    def is_pipeline(self) -> bool:
        """Whether the set is a pipeline. `forced` means yes, `plain` means no. Without either, the set must have at
        least three of the pipeline's critics, verifiers and reviewers, or name them in its orchestrator, patterns or
        prompts. Other agents do not count: many folders have a planner."""
        if self.forced or self.plain:
            return self.forced
        leading = [page for page in self.pages if page.kind in ("orchestrator", "patterns", "prompt")]
        spoken = "\n".join(piece.text.lower() for page in leading for piece in page.pieces)
        names = {page.name for page in self.agents}
        return sum(name in names or name in spoken for name in CLUSTERED) >= SEVERAL

    @cached_property
    def agents(self) -> tuple[PromptPage, ...]:
        return tuple(page for page in self.pages if page.is_agent)

    @cached_property
    def members(self) -> tuple[PromptPage, ...]:
        """The agents of the pipeline, without its orchestrator; none if the set is no pipeline. If `forced` is set,
        these are all agents of the set. Otherwise an agent must have the name of an agent of trued's pipeline, or an
        orchestrator or dispatch patterns in the set must name it."""
        if not self.is_pipeline:
            return ()
        named = self._named_agents
        return tuple(
            page for page in self.agents if page.kind == "agent" and (self.forced or page.name in (*NAMES, *named))
        )

    @cached_property
    def conventional(self) -> tuple[PromptPage, ...]:
        """The agents that TS-15 and TS-16 apply to."""
        members = {page.shown for page in self.members}
        return tuple(
            page
            for page in self.agents
            if page.shown in self.strict
            or page.shown in members
            or follows_convention(page)
            or page in self.leading(ORCHESTRATOR)
        )

    def leading(self, kind: str) -> Iterator[PromptPage]:
        """The pages of this kind (orchestrator, patterns or prompt) that belong to the pipeline and are not deprecated;
        none if the set is no pipeline."""
        return (
            page
            for page in self.pages
            if self.is_pipeline and page.kind == kind and not page.is_deprecated and not _starts_something_else(page)
        )

    def pages_named(self, *names: str) -> Iterator[PromptPage]:
        return (page for page in self.members if page.name in names)

    @cached_property
    def _named_agents(self) -> frozenset[str]:
        spoken = (
            piece.text for page in self.pages if page.kind in ("orchestrator", "patterns") for piece in page.pieces
        )
        codes = (code for text in spoken for code in text.split("`")[1::2])
        return frozenset(codes) & {page.name for page in self.pages}


def _starts_something_else(page: PromptPage) -> bool:
    """Whether a prompt belongs to another workflow: it names neither the orchestrator nor an agent that only the
    pipeline has."""
    spoken = "\n".join(piece.text.lower() for piece in page.pieces)
    return page.kind == "prompt" and not any(name in spoken for name in (ORCHESTRATOR, *CLUSTERED))


def follows_convention(page: PromptPage) -> bool:
    """Whether the page follows the convention: it has enough of the convention's sections."""
    return len({section.words for section in page.sections} & set(SECTIONS)) >= CONVENTIONAL


def page_of(path: Path, shown: str = "") -> PromptPage:
    """Read one file as a page."""
    shown = shown or str(path)
    return page(path, shown, read_text(path, shown))


def page(path: Path, shown: str, text: str) -> PromptPage:
    """Parse a text as the page of the file `path`. If the text is longer than LONGEST, a file named `*.agent.md` or
    `*.prompt.md` raises BadInput. Any other file becomes an empty page of the kind "other"."""
    if len(text) > LONGEST:
        if path.name.endswith((".agent.md", ".prompt.md")):
            raise BadInput(f"{len(text)} characters are too many for a role", f"{shown}:1", f"keep it below {LONGEST}")
        return PromptPage(shown, stem_of(path), "other", None, ())
    try:
        matter = read_lenient(text, shown, KNOWN)
    except BadInput:  # ROLE-1 reports fields that cannot be read
        matter = None
    body, first = (matter.body, matter.line) if matter else (text.removeprefix("\ufeff"), 1)
    fields = matter.fields.value if matter else None
    bare = PromptPage(shown, _page_name(path, fields), "other", fields, _with_hidden_sections(pieces_of(body, first)))
    return replace(bare, kind=_page_kind(path, bare))


def files_in(folder: Path) -> list[Path]:
    """All Markdown files below a folder, except in SKIPPED folders. Raises BadInput if there are more than MOST."""
    paths = list[Path]()
    for parent, below, names in os.walk(folder):  # folders that cannot be read are skipped
        below[:] = [name for name in below if name not in SKIPPED]
        paths += [path for path in (Path(parent, name) for name in names if name.endswith(".md")) if _is_file(path)]
    if len(paths) > MOST:
        raise BadInput(f"{folder} holds {len(paths)} Markdown files", then=f"name a folder with at most {MOST}")
    return sorted(paths)


def _is_file(path: Path) -> bool:
    with suppress(OSError):
        return path.is_file()
    return False


def _with_hidden_sections(pieces: tuple[TextBlock, ...]) -> tuple[TextBlock, ...]:
    """Replace a last block of code by its content, parsed as text, if it has sections of the convention that no other
    block has. It is probably no code: an inner fence closed the outer fence by mistake, so the outer fence's end opened
    a new block with the rest of the file."""
    if not pieces or pieces[-1].kind != "code" or pieces[-1].inner:
        return pieces
    *before, last = pieces
    headings = {normal(piece.flat) for piece in before if piece.kind == "heading"}
    taken = pieces_of(last.text, last.line)
    if not any(piece.kind == "heading" and normal(piece.flat) in {*SECTIONS} - headings for piece in taken):
        return pieces
    return (*before, TextBlock("open", last.line - 1, ""), *taken)


def _page_name(path: Path, fields: dict[str, object] | None) -> str:
    stem = stem_of(path).removesuffix(".prompt")
    name = fields.get("name") if fields and not path.name.endswith((".agent.md", ".prompt.md")) else None
    return role_name(name) if isinstance(name, str) and name.strip() else stem


def _page_kind(path: Path, page: PromptPage) -> str:
    stem = stem_of(path).lower()
    if path.name.endswith(".prompt.md"):
        return "prompt"
    if stem == PATTERNS:
        return "patterns"
    if path.name.endswith((".agent.md", ".chatmode.md")):
        return "orchestrator" if page.name == ORCHESTRATOR else "agent"
    if stem in NO_AGENTS or path.name.endswith(".instructions.md"):
        return "other"
    if follows_convention(page) or (page.fields and {"description", "tools"} & page.fields.keys()):
        return "orchestrator" if page.name == ORCHESTRATOR else "agent"
    return "agent" if normal(stem).endswith("aggregator") else "other"
