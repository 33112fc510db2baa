"""Names and numbers of the pipeline for its handbook, taken from the code and tables that the engine runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trued.agents.roles import load_roles
from trued.model import Settings, Status
from trued.run import clusters as patterns
from trued.workflows.pipeline import decision_tables as decide
from trued.workflows.pipeline import memory
from trued.workflows.pipeline.decision_tables import (
    CHECKERS,
    CRITICS,
    GATE,
    RESEARCH,
    REVIEWERS,
    REVISING,
    VERIFIERS,
    DecisionTable,
)
from trued.workflows.pipeline.feature_folder import DESIGN, FEATURE, PLACE, PLAN, REQUEST, artifact_of
from trued.workflows.pipeline.lint.pages import pieces_of
from trued.workflows.pipeline.orchestrator import CRITIQUES, RESEARCH_FILES, VERIFICATION
from trued.workflows.pipeline.waves import ATTEMPTS

TASKS, ORCHESTRATOR = "tasks/*.md", "orchestrator"
SAME = 4  # how many operating rules, at the start of every role's list, are the same for all roles
READS = {  # step → files that its agents read; a test compares this with the workflow's code
    "research": (REQUEST,),
    "spec": (REQUEST, *RESEARCH_FILES),
    "design": (*RESEARCH_FILES, FEATURE),
    "critique": (FEATURE, DESIGN),
    "plan": (*RESEARCH_FILES, FEATURE, DESIGN),
    "implementation": ("tasks/<task>.md", DESIGN),
    "verification": (FEATURE, PLAN, TASKS),
    "review": (FEATURE, PLAN, TASKS, *VERIFICATION),
}


@dataclass(frozen=True, slots=True)
class HandbookStep:
    number: str
    name: str
    who: tuple[str, ...]
    pattern: str

    @property
    def agents(self) -> str:
        return names(self.who)

    @property
    def reads(self) -> str:
        return paths(READS[self.name]) if self.name in READS else "the user's words"

    @property
    def writes(self) -> str:
        if self.name == "set-up":
            return paths((REQUEST, memory.SHARED, f"{memory.FOLDER}/"))
        if self.name == "plan":
            return paths((PLAN, TASKS))
        return paths(filter(None, map(artifact_of, self.who))) or "code, tests, documents"

    @property
    def merges(self) -> str:
        """The names of the memories that are merged before the step's result is decided."""
        if self.name == "set-up":
            return "–"
        return memories(f"{name}-<task>" if self.name == "implementation" else name for name in self.who)


STEPS = (
    HandbookStep("0", "set-up", (ORCHESTRATOR,), "–"),
    HandbookStep("1", "research", RESEARCH, "A"),
    HandbookStep("2", "spec", ("spec",), "one"),
    HandbookStep("3", "design", ("designer",), "one"),
    HandbookStep("3b", "critique", CRITICS, "A"),
    HandbookStep("4", "plan", ("planner",), "one"),
    HandbookStep("5", "implementation", ("implementer", "documentation-writer"), "waves"),
    HandbookStep("6", "verification", VERIFIERS, "B in C"),
    HandbookStep("7", "review", REVIEWERS, "A"),
)


def facts(tables: Sequence[DecisionTable] = decide.TABLES) -> dict[str, Any]:
    """All names and numbers that the handbook's templates use."""
    rendered = {f"{table.cluster}_table": table.render() for table in tables}
    return {
        **rendered,
        **{"request": REQUEST, "feature": FEATURE, "design": DESIGN, "plan": PLAN, "place": PLACE},
        **{"shared": memory.SHARED, "memory_folder": memory.FOLDER, "memory_files": memory_of("<agent>")},
        **{"most_lines": memory.MOST_LINES, "findings": memory.FINDINGS},
        **{"recent_decisions": memory.RECENT_DECISIONS, "recent_updates": memory.RECENT_UPDATES},
        **{"cap": Settings().cap, "retries": patterns.TRIES - 1, "rounds": patterns.ROUNDS, "least": decide.LEAST},
        **{"attempts": ATTEMPTS, "research": RESEARCH, "critics": CRITICS, "gate": GATE, "checkers": CHECKERS},
        **{"verifiers": VERIFIERS, "reviewers": REVIEWERS, "revising": REVISING},
        **{"security": decide.SECURITY, "knowledge": decide.KNOWLEDGE},
        **{"critiques": CRITIQUES, "verification_files": VERIFICATION},
        "sample": sample(),
        "reviews": tuple(map(artifact_of, REVIEWERS)),
        **{"steps": STEPS, "structure": structure(), "routing": list(routing(tables)), "scales": scales(tables)},
        "expectations": list(expectations()),
        **{"rules": same_rules(), "names": names, "paths": paths, "memories": memories, "memory_of": memory_of},
    }


def sample() -> str:
    """A memory as the engine writes it."""
    return memory.Memory(
        agent="ct-security",
        role="ct-security",
        status=Status.NEEDS_REVISION,
        severity=str(decide.Concern.HIGH),
        findings=("tokens are logged in full",),
        artifacts=(artifact_of("ct-security"),),
    ).render()


def structure() -> Sequence[Mapping[str, str]]:
    """Every file of a feature's folder: who writes it, and in which step."""
    rows = [
        {"file": REQUEST, "by": ORCHESTRATOR, "step": "0"},
        {"file": memory.SHARED, "by": f"{ORCHESTRATOR}, and nobody else", "step": "all"},
        {"file": memory_of("<agent>"), "by": "each agent, its own", "step": "all"},
    ]
    for step in STEPS[1:]:
        files = [(artifact_of(name), name) for name in step.who]
        files = [(PLAN, "planner"), (TASKS, "planner")] if step.name == "plan" else files
        rows += [{"file": file, "by": by, "step": step.number} for file, by in files if file]
    return rows


def expectations() -> Iterable[Mapping[str, str]]:
    """What each agent returns, and what its answer leads to."""
    tables = {
        table.cluster: f"the table of step {step.number}"
        for step in STEPS
        for table in decide.TABLES
        if table.cluster == step.name
    }
    for step, after in zip(STEPS[1:], (*STEPS[2:], None), strict=True):
        for name in step.who:
            status = "`DONE`, `NEEDS_REVISION` or `ERROR`" if name in REVISING else "`DONE` or `ERROR`"
            onward = tables.get(step.name, f"step {after.number}" if after else "the end")
            artifact = artifact_of(name) or {"planner": f"{PLAN}, {TASKS}"}.get(name, "its work")
            yield {"agent": name, "leaves": artifact, "says": status, "leads": onward}


def routing(tables: Sequence[DecisionTable]) -> Iterable[Mapping[str, str]]:
    for table in tables:
        for rule in table.rules:
            if rule.then is Status.NEEDS_REVISION:
                yield {"cluster": table.cluster, "when": rule.when, "to": rule.note}


def scales(tables: Sequence[DecisionTable]) -> list[Mapping[str, str]]:
    known = {"critique": "ct agents", "verification": "v agents", "review": "r agents"}
    return [
        {"who": known[table.cluster], "words": ", ".join(reversed([str(word) for word in table.scale]))}
        for table in tables
        if table.cluster in known
    ]


def same_rules() -> list[str]:
    """The operating rules that the packaged roles have in common, verbatim."""
    pieces = pieces_of(load_roles(None, None)["spec"].prompt)
    start = next(n for n, piece in enumerate(pieces) if piece.flat == "Operating rules")
    return [piece.flat for piece in pieces[start:] if piece.kind == "item" and piece.number][:SAME]


def names(agents: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in agents)


paths = names


def memories(agents: Iterable[str]) -> str:
    return ", ".join(f"`{memory_of(name)}`" for name in agents)


def memory_of(agent: str) -> str:
    return f"{memory.FOLDER}/{agent}.mem.md"  # not `memory_file`: that accepts no placeholder
