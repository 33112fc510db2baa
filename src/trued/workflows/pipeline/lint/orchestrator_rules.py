"""Rules TS-5 to TS-8, TS-10 to TS-12, TS-14: what a pipeline's orchestrator, dispatch patterns and prompt must say."""

from collections.abc import Iterator

from trued.workflows.pipeline.lint.findings import Violation
from trued.workflows.pipeline.lint.pages import PromptPage, TextBlock
from trued.workflows.pipeline.lint.sets import LintSet
from trued.workflows.pipeline.lint.steps import in_step, step_sections
from trued.workflows.pipeline.lint.tables import CRITIQUE, REVIEW, VERIFICATION, Probe, wrong_results
from trued.workflows.pipeline.lint.vocabulary import OWN_MEMORY, find_block, has

PATTERNS = ("pattern a", "pattern b", "pattern c")
CLUSTERS = {"1": "research", "3b": "critique", "5": "implementation", "6": "verification", "7": "review"}
PROBES: dict[str, tuple[Probe, ...]] = {"3b": CRITIQUE, "6": VERIFICATION, "7": REVIEW}
MERGE = (r"\bmerg", r"\bmemor")
SOLE = (r"(?<![\w/])memory\.md\b", r"\b(?:sole|only|alone|no\s+other|nobody\s+else)\b", r"\bwr(?:it|ot)")
TWO = r"(?:<|≥|>=|fewer\s+than|less\s+than|at\s+least|two\s+or\s+more|2\s+or\s+more|2\+)"
FEW = rf"{TWO}\s*(?:2|two)\b|(?:2|two)\s+or\s+more|2\+"
ROUNDS = r"\b(?:3|three)\s+(?:round|iteration|time|attempt|loop)s?\b|\bmax(?:imum)?\.?\s+(?:of\s+)?(?:3|three)\b"
SECURITY = r"\br-security\b"
SILENT = r"\bmissing\b|\bmandatory\b|\bsilent\b|\bno\s+(?:word|memory|reply)\b"
REVISION = (r"\bHigh\b", r"\bCritical\b|\bor worse\b|\bor above\b", r"\bNEEDS_REVISION\b")
# step → its rules: the id, the finding if no block of the step matches, and the patterns that one block must match
NEEDED: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "3b": (
        ("TS-6.1", "does not read the memories of the ct agents", (r"\bread|\bdecid|\bfrom\b", r"\bmemor(?:y|ies)\b")),
        ("TS-6.2", "does not say that a Critical or High finding means NEEDS_REVISION", REVISION),
        ("TS-6.3", "does not say that fewer than 2 outputs are ERROR", (FEW, r"\bERROR\b")),
    ),
    "6": (
        ("TS-7.2", "has no replan loop of at most 3 rounds", (r"\breplan|\bplanner\b|\bpattern C\b", ROUNDS)),
        (
            "TS-7.3",
            "does not give verification/v-tasks.md to the planner",
            (r"\bplanner\b|\breplan", r"\bverification/v-(?:tasks|\*|<)"),
        ),
    ),
    "7": (
        (
            "TS-8.1",
            "does not say that a Blocker or Critical of r-security is ERROR",
            (SECURITY, r"\bBlocker\b", r"\bCritical\b", r"\bERROR\b"),
        ),
        ("TS-8.2", "does not say that r-security may not be missing", (SECURITY, SILENT, r"\bERROR\b")),
        (
            "TS-8.4",
            "does not say that it is ERROR if both r-quality and r-testing are missing or ERROR",
            (FEW, r"\b(?:missing|available|outputs?)\b", r"\bERROR\b"),
        ),
    ),
}


def leading(files: LintSet) -> Iterator[Violation]:
    for page in files.leading("orchestrator"):
        yield from _merging(page)
        for step, what in CLUSTERS.items():
            yield from _step(page, step, what)
        yield from _write_safety(page)
        yield from _structure(page)


def _merging(page: PromptPage) -> Iterator[Violation]:
    lifecycle = [section for section in page.sections if "memory" in section.words and "lifecycle" in section.words]
    pieces = [piece for section in lifecycle for piece in section.statements()]
    if not find_block(pieces, *MERGE):
        line = lifecycle[0].line if lifecycle else page.line
        yield Violation(page.shown, line, "TS-5.1", "the memory lifecycle has no merge")
    if not find_block(page.pieces, *SOLE):
        yield Violation(page.shown, page.line, "TS-5.3", "nothing says that the orchestrator alone writes memory.md")


def _step(page: PromptPage, step: str, what: str) -> Iterator[Violation]:
    statements = list(in_step(page, step))
    if not statements:
        yield Violation(page.shown, page.line, "TS-5.2", f"there is no step {step} ({what})")
        return
    line = step_sections(page, step)[0].line
    if not find_block(statements, *MERGE):
        yield Violation(page.shown, line, "TS-5.2", f"step {step} ({what}) does not merge its memories")
    for rule, lacking, patterns in NEEDED.get(step, ()):
        if not find_block(statements, *patterns):
            yield Violation(page.shown, line, rule, f"step {step} {lacking}")
    wrong = wrong_results(statements, PROBES[step]) if step in PROBES else ()
    if wrong is None and step == "6":
        message = "step 6 has no decision table over v-build, v-tests, v-tasks and v-feature"
        yield Violation(page.shown, line, "TS-7.1", message)
    yield from (Violation(page.shown, at, rule, says) for at, rule, says in wrong or ())
    if step == "7":
        yield from _knowledge(page, statements, line)


def _knowledge(page: PromptPage, statements: list[TextBlock], line: int) -> Iterator[Violation]:
    quiet = False
    for piece in statements:
        position = piece.text.lower().find("r-knowledge")
        if position < 0:
            continue
        if _is_quiet(piece):
            quiet = True
        elif piece.kind in ("row", "item") and has(piece, r"\bERROR\b|\bNEEDS_REVISION\b|\bblock"):
            yield Violation(page.shown, piece.line_at(position), "TS-8.3", "r-knowledge must not change the result")
    if not quiet:
        yield Violation(page.shown, line, "TS-8.3", "step 7 does not say that r-knowledge never changes the result")


def _is_quiet(piece: TextBlock) -> bool:
    return has(piece, r"\bnon-?blocking\b|\bnever\b|\bnot\b|\bignored?\b|\bwhatever\b|\baside\b|\bno say\b|\bwithout\b")


def _write_safety(page: PromptPage) -> Iterator[Violation]:
    rule = find_block(page.pieces, r"\bwrite\s+safety\b")
    if rule is None:
        yield Violation(page.shown, page.line, "TS-11.2", "no rule on memory write safety")
        return
    statements = [rule]
    if rule.kind == "heading":
        statements = [piece for section in page.sections if section.line == rule.line for piece in section.statements()]
    if not find_block(statements, *SOLE):
        yield Violation(
            page.shown, rule.line, "TS-11.2", "the rule does not say that the orchestrator alone writes memory.md"
        )
    if not any(OWN_MEMORY.search(piece.text) for piece in statements):
        yield Violation(
            page.shown,
            rule.line,
            "TS-11.3",
            "the rule does not say that each agent except the orchestrator writes only to its own isolated memory",
        )


def _structure(page: PromptPage) -> Iterator[Violation]:
    section = next((candidate for candidate in page.sections if "documentation structure" in candidate.words), None)
    if section is None:
        yield Violation(page.shown, page.line, "TS-12.1", "there is no documentation structure")
    elif not (find_block(section.pieces, r"\bmemory/") and find_block(section.pieces, r"\.mem\.md")):
        yield Violation(
            page.shown, section.line, "TS-12.1", "the documentation structure lacks memory/ with its .mem.md files"
        )


def patterns_and_prompt(files: LintSet) -> Iterator[Violation]:
    for page in files.leading("patterns"):
        for pattern in PATTERNS:
            title = pattern.capitalize()[:-1] + pattern[-1].upper()
            section = next(
                (candidate for candidate in page.sections if f"{candidate.words} ".startswith(f"{pattern} ")), None
            )
            if section is None:
                yield Violation(page.shown, page.line, "TS-10.1", f"{title} is not described")
            elif not find_block(section.pieces, r"\bmemor(?:y|ies)\b", r"\bdecid|\bdetermin|\bresult"):
                yield Violation(
                    page.shown,
                    section.line,
                    "TS-10.3",
                    f"{title} does not say that the orchestrator decides by the agents' memory files",
                )
    for page in files.leading("prompt"):
        if not any(OWN_MEMORY.search(piece.text) for piece in page.pieces if not piece.is_sample):
            yield Violation(page.shown, page.line, "TS-14.3", "the prompt does not mention isolated memories")
