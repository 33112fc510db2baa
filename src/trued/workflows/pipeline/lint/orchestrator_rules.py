"""TS-5 to TS-8, TS-11 and TS-12: what the orchestrator of a pipeline says."""

from collections.abc import Iterator

from trued.workflows.pipeline.lint.findings import Found
from trued.workflows.pipeline.lint.pages import PromptPage, TextBlock
from trued.workflows.pipeline.lint.sets import Set
from trued.workflows.pipeline.lint.steps import in_step, step_sections
from trued.workflows.pipeline.lint.tables import CRITIQUE, REVIEW, VERIFICATION, Probe, followed
from trued.workflows.pipeline.lint.vocabulary import OWN_MEMORY, find_block, has

CLUSTERS = {"1": "research", "3b": "critique", "5": "implementation", "6": "verification", "7": "review"}
SOLE = (r"(?<![\w/])memory\.md\b", r"\b(?:sole|only|alone|no\s+other|nobody\s+else)\b", r"\bwr(?:it|ot)")
TWO = r"(?:<|≥|>=|fewer\s+than|less\s+than|at\s+least|two\s+or\s+more|2\s+or\s+more|2\+)"
THRESHOLD = (rf"{TWO}\s*(?:2|two)\b|(?:2|two)\s+or\s+more|2\+", r"\bERROR\b")
ROUNDS = r"\b(?:3|three)\s+(?:round|iteration|time|attempt|loop)s?\b|\bmax(?:imum)?\.?\s+(?:of\s+)?(?:3|three)\b"


def leading(files: Set) -> Iterator[Found]:
    for page in files.leading("orchestrator"):
        yield from _merging(page)
        yield from _critique(page)
        yield from _verification(page)
        yield from _review(page)
        yield from _write_safety(page)
        yield from _structure(page)


def _merging(page: PromptPage) -> Iterator[Found]:
    lifecycle = [one for one in page.sections if "memory" in one.words and "lifecycle" in one.words]
    pieces = [piece for one in lifecycle for piece in one.statements()]
    if not find_block(pieces, r"\bmerg", r"\bmemor"):
        line = lifecycle[0].line if lifecycle else page.line
        yield Found(page.shown, line, "TS-5.1", "the memory lifecycle has no merge")
    for step, what in CLUSTERS.items():
        own = list(in_step(page, step))
        if not own:
            yield Found(page.shown, page.line, "TS-5.2", f"there is no step {step} ({what})")
        elif not find_block(own, r"\bmerg", r"\bmemor"):
            yield Found(page.shown, _line(page, step), "TS-5.2", f"step {step} ({what}) does not merge its memories")
    if not find_block(page.pieces, *SOLE):
        yield Found(page.shown, page.line, "TS-5.3", "nothing says that the orchestrator alone writes memory.md")


def _critique(page: PromptPage) -> Iterator[Found]:
    own = list(in_step(page, "3b"))
    if not own:
        return  # TS-5.2 has said so
    line = _line(page, "3b")
    if not find_block(own, r"\bread|\bdecid|\bfrom\b", r"\bmemor(?:y|ies)\b"):
        yield Found(page.shown, line, "TS-6.1", "step 3b does not read the memories of the ct agents")
    if not find_block(own, r"\bHigh\b", r"\bCritical\b|\bor worse\b|\bor above\b", r"\bNEEDS_REVISION\b"):
        yield Found(page.shown, line, "TS-6.2", "step 3b does not say that Critical or High is NEEDS_REVISION")
    if not find_block(own, *THRESHOLD):
        yield Found(page.shown, line, "TS-6.3", "step 3b does not say that fewer than 2 outputs are ERROR")
    yield from _table(page, own, CRITIQUE)


def _verification(page: PromptPage) -> Iterator[Found]:
    own = list(in_step(page, "6"))
    if not own:
        return
    line = _line(page, "6")
    if followed(own, VERIFICATION) is None:
        yield Found(
            page.shown, line, "TS-7.1", "step 6 has no decision table over v-build, v-tests, v-tasks and v-feature"
        )
    yield from _table(page, own, VERIFICATION)
    if not find_block(own, r"\breplan|\bplanner\b|\bpattern C\b", ROUNDS):
        yield Found(page.shown, line, "TS-7.2", "step 6 has no replan loop of at most 3 rounds")
    if not find_block(own, r"\bplanner\b|\breplan", r"\bverification/v-(?:tasks|\*|<)"):
        yield Found(page.shown, line, "TS-7.3", "step 6 does not give verification/v-tasks.md to the planner")


def _review(page: PromptPage) -> Iterator[Found]:
    own = list(in_step(page, "7"))
    if not own:
        return
    line = _line(page, "7")
    security = r"\br-security\b"
    if not find_block(own, security, r"\bBlocker\b", r"\bCritical\b", r"\bERROR\b"):
        yield Found(page.shown, line, "TS-8.1", "step 7 does not say that a Blocker or Critical of r-security is ERROR")
    if not find_block(
        own, security, r"\bmissing\b|\bmandatory\b|\bsilent\b|\bno\s+(?:word|memory|reply)\b", r"\bERROR\b"
    ):
        yield Found(page.shown, line, "TS-8.2", "step 7 does not say that r-security may not be missing")
    yield from _knowledge(page, own, line)
    if not find_block(
        own, rf"{TWO}\s*(?:2|two)\b|(?:2|two)\s+or\s+more|2\+", r"\b(?:missing|available|outputs?)\b", r"\bERROR\b"
    ):
        yield Found(page.shown, line, "TS-8.4", "step 7 has no threshold for the other reviewers")
    yield from _table(page, own, REVIEW)


def _table(page: PromptPage, own: list[TextBlock], probes: tuple[Probe, ...]) -> Iterator[Found]:
    for line, rule, wrong in followed(own, probes) or ():
        yield Found(page.shown, line, rule, wrong)


def _knowledge(page: PromptPage, own: list[TextBlock], line: int) -> Iterator[Found]:
    quiet = False
    for piece in own:
        for found in _mentions(piece, "r-knowledge"):
            if _is_quiet(piece):
                quiet = True
            elif piece.kind in ("row", "item") and has(piece, r"\bERROR\b|\bNEEDS_REVISION\b|\bblock"):
                yield Found(page.shown, piece.line_at(found), "TS-8.3", "r-knowledge must not change the result")
    if not quiet:
        yield Found(page.shown, line, "TS-8.3", "step 7 does not say that r-knowledge never changes the result")


def _is_quiet(piece: TextBlock) -> bool:
    return has(piece, r"\bnon-?blocking\b|\bnever\b|\bnot\b|\bignored?\b|\bwhatever\b|\baside\b|\bno say\b|\bwithout\b")


def _mentions(piece: TextBlock, word: str) -> Iterator[int]:
    position = piece.text.lower().find(word)
    if position >= 0:
        yield position


def _write_safety(page: PromptPage) -> Iterator[Found]:
    rule = find_block(page.pieces, r"\bwrite\s+safety\b")
    if rule is None:
        yield Found(page.shown, page.line, "TS-11.2", "no rule on memory write safety")
        return
    own = [rule]
    if rule.kind == "heading":
        own = [piece for one in page.sections if one.line == rule.line for piece in one.statements()]
    if not find_block(own, *SOLE):
        yield Found(
            page.shown, rule.line, "TS-11.2", "the rule does not say that the orchestrator alone writes memory.md"
        )
    if not any(OWN_MEMORY.search(piece.text) for piece in own):
        yield Found(
            page.shown, rule.line, "TS-11.3", "the rule does not say that agents write their isolated memory only"
        )


def _structure(page: PromptPage) -> Iterator[Found]:
    section = next((one for one in page.sections if "documentation structure" in one.words), None)
    if section is None:
        yield Found(page.shown, page.line, "TS-12.1", "there is no documentation structure")
    elif not (find_block(section.pieces, r"\bmemory/") and find_block(section.pieces, r"\.mem\.md")):
        yield Found(
            page.shown, section.line, "TS-12.1", "the documentation structure lacks memory/ with its .mem.md files"
        )


def _line(page: PromptPage, step: str) -> int:
    return step_sections(page, step)[0].line
