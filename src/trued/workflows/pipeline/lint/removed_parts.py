"""Rules TS-1, TS-2 and TS-3: no file names a part that the pipeline no longer has. If a rule about one kind of file or
section also forbids that name, the finding has that rule's id, for example TS-10.2 in dispatch patterns."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath

from trued.workflows.pipeline.lint.findings import Violation
from trued.workflows.pipeline.lint.pages import PromptPage, TextBlock
from trued.workflows.pipeline.lint.sets import LintSet, follows_convention
from trued.workflows.pipeline.lint.steps import steps_by_line
from trued.workflows.pipeline.lint.vocabulary import (
    AGGREGATOR,
    NAMED_AGGREGATOR,
    SYNTHESIS,
    active,
    is_combined,
    is_denied,
    paths,
)

BY_STEP = {"3b": "TS-6.4", "6": "TS-7.4", "7": "TS-8.5"}


def removed(files: LintSet) -> Iterator[Violation]:
    if not files.is_pipeline:
        return
    members = {page.shown for page in files.members}
    for page in files.pages:
        if _is_aggregator(page):
            if not page.is_deprecated or follows_convention(page) or any(piece.number for piece in page.pieces):
                message = (
                    f"{page.name} is an aggregator: remove the file, or leave nothing in it but a deprecation notice"
                )
                yield Violation(page.shown, page.line, "TS-1.1", message)
        elif page.kind != "other" and not page.is_deprecated and (page.kind != "agent" or page.shown in members):
            yield from _aggregators(page)
            yield from _combined(page)
            yield from _synthesis(page)


def _is_aggregator(page: PromptPage) -> bool:
    names = (page.name, PurePath(page.shown).name.partition(".")[0])
    return page.kind == "agent" and any(NAMED_AGGREGATOR.fullmatch(name) for name in names)


def _aggregators(page: PromptPage) -> Iterator[Violation]:
    anchor = page.section("anti-drift anchor")
    anchored = frozenset(anchor.pieces if anchor else ())
    steps = steps_by_line(page) if page.kind == "orchestrator" else {}
    for piece in active(page):
        for match in AGGREGATOR.finditer(piece.text):
            named = NAMED_AGGREGATOR.fullmatch(match[0])
            spoken_of = page.kind != "agent" or piece in anchored
            if named or (spoken_of and not is_denied(piece.text, match.start(), match.end())):
                line = piece.line_at(match.start())
                rule = "TS-13.2" if piece in anchored else _aggregator_rule(page, piece, steps)
                yield Violation(page.shown, line, rule, f"{match[0]!r}: there are no aggregators")


def _aggregator_rule(page: PromptPage, piece: TextBlock, steps: Mapping[int, str]) -> str:
    if page.kind == "orchestrator":
        if re.search(r"write\s+safety", piece.text, re.I):
            return "TS-11.1"
        return BY_STEP.get(steps.get(piece.line, ""), "TS-1.2")
    return {"patterns": "TS-10.2", "prompt": "TS-14.1"}.get(page.kind, "TS-1.2")


def _combined(page: PromptPage) -> Iterator[Violation]:
    structure = next((section for section in page.sections if "documentation structure" in section.words), None)
    lines = {
        line
        for piece in (structure.pieces if structure and page.kind == "orchestrator" else ())
        for line in range(piece.line, piece.line_at(len(piece.text)) + 1)
    }
    elsewhere = {"patterns": "TS-10.2", "prompt": "TS-14.2"}.get(page.kind, "TS-2")
    for path, line in paths(active(page)):
        if is_combined(path):
            rule = "TS-12.2" if line in lines else elsewhere
            yield Violation(page.shown, line, rule, f"{path}: nobody writes this combined file")


def _synthesis(page: PromptPage) -> Iterator[Violation]:
    if page.kind not in ("orchestrator", "agent") or (page.kind == "agent" and page.name != "researcher"):
        return
    rule = "TS-3.2" if page.kind == "orchestrator" else "TS-3.1"
    for piece in active(page):
        for match in SYNTHESIS.finditer(piece.text):
            if rule == "TS-3.1" or not is_denied(piece.text, match.start(), match.end()):
                yield Violation(
                    page.shown, piece.line_at(match.start()), rule, f"{match[0]!r}: research is not combined"
                )
        for match in re.finditer(r"\bstep\s+1\.2\b", piece.text, re.I) if rule == "TS-3.2" else ():
            yield Violation(page.shown, piece.line_at(match.start()), rule, "there is no step 1.2")
