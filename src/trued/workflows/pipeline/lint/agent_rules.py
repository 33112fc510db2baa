"""Rules TS-4, TS-9 and TS-13: what the agent files of a pipeline must say about memory and inputs."""

import re
from collections.abc import Iterator

from trued.support.lazy_regex import lazy_regex
from trued.workflows.pipeline.decision_tables import CRITICS
from trued.workflows.pipeline.lint.findings import Violation
from trued.workflows.pipeline.lint.pages import PromptPage, PromptSection
from trued.workflows.pipeline.lint.sets import FOCUSES, LintSet
from trued.workflows.pipeline.lint.vocabulary import MEMORY_FILE, NO, OWN_MEMORY, SHARED_MEMORY, covers, has, paths

RESEARCH = tuple(f"research/{focus}.md" for focus in FOCUSES)
CRITIQUES = tuple(f"ct-review/{name}.md" for name in CRITICS)
REPLAN = ("verification/v-tasks.md",)
READERS = ("spec", "designer", "planner")
SENTENCE = lazy_regex(r"(?<=[.!?;])\s+|\n\s*\n")


def members(files: LintSet) -> Iterator[Violation]:
    for page in files.members:
        yield from _output(page)
        yield from _step(page)
        yield from _anchor(page)
    for page in files.pages_named(*READERS):
        yield from _inputs(page, RESEARCH, "TS-9.1", "research")
    for page in files.pages_named("designer"):
        yield from _inputs(page, CRITIQUES, "TS-9.2", "critique")
    for page in files.pages_named("planner"):
        yield from _inputs(page, REPLAN, "TS-9.3", "verification")


def _output(page: PromptPage) -> Iterator[Violation]:
    section = page.section("outputs")
    if section is None:
        return  # TS-15.2 reports the missing section
    named = [
        (match[0], piece.line_at(match.start()))
        for piece in section.statements()
        for match in MEMORY_FILE.finditer(piece.text)
    ]
    if not any(_is_own(path, page.name) for path, _ in named):
        yield Violation(page.shown, section.line, "TS-4.1", f"the outputs lack memory/{page.name}.mem.md")
    for path, line in named:
        if not _is_own(path, page.name):
            yield Violation(page.shown, line, "TS-4.1", f"{path} is another agent's memory")


def _is_own(path: str, name: str) -> bool:
    """Whether the memory file is the agent's own. `implementer-T03` is the implementer's; a placeholder such as
    `<agent-name>` counts as any agent's own."""
    instance = path.removeprefix("memory/").removesuffix(".mem.md")
    return instance == name or instance.startswith((f"{name}-", "<", "{"))


def _step(page: PromptPage) -> Iterator[Violation]:
    section = page.section("workflow")
    if section is None:
        return
    if not any(has(piece, r"\bkey\s+findings\b") or OWN_MEMORY.search(piece.text) for piece in section.statements()):
        yield Violation(
            page.shown,
            section.line,
            "TS-4.2",
            "no step of the workflow mentions key findings or the agent's isolated memory",
        )


def _anchor(page: PromptPage) -> Iterator[Violation]:
    anchor = page.section("anti-drift anchor")
    if anchor is None:
        return
    qualified = any(OWN_MEMORY.search(piece.text) for piece in anchor.statements())
    unqualified = [] if qualified else list(_forbidden(anchor))
    for line in unqualified:
        message = "the anchor forbids memory.md, but does not say that the agent has an isolated memory of its own"
        yield Violation(page.shown, line, "TS-13.1", message)
    if not qualified and not unqualified:
        yield Violation(page.shown, anchor.line, "TS-13.3", "the anchor says nothing of the agent's isolated memory")


def _forbidden(anchor: PromptSection) -> Iterator[int]:
    for piece in anchor.statements():
        start = 0
        for sentence in SENTENCE.split(piece.text):
            start = piece.text.index(sentence, start)
            shared = SHARED_MEMORY.search(sentence)
            if shared and NO.search(sentence) and re.search(r"\bwr[io]t|\bedit|\bchang|\btouch", sentence, re.I):
                yield piece.line_at(start + shared.start())


def _inputs(page: PromptPage, wanted: tuple[str, ...], rule: str, what: str) -> Iterator[Violation]:
    section = page.section("inputs")
    if section is None:
        return
    named = [path for path, _ in paths(section.statements())]
    if missing := [file for file in wanted if not any(covers(path, file) for path in named)]:
        message = (
            f"the inputs of {page.name} lack the {what} file{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
        )
        yield Violation(page.shown, section.line, rule, message)
