"""The rules by id, and findings about violations of them."""

from dataclasses import dataclass

RULES = {
    "ROLE-1": "the file can be used as a role: front matter, fields, tools",
    "ROLE-2": "trued uses every field and tool of the file (if not, it is a note, which does not change the exit code)",
    "TS-1.1": "the file of an aggregator is gone, or holds nothing but a deprecation notice",
    "TS-1.2": "no file names an aggregator",
    "TS-2": "no file names `analysis.md`, `design_critical_review.md`, `verifier.md` or `review.md`",
    "TS-3.1": "the researcher has one mode: its file names neither a mode 2 nor a synthesis",
    "TS-3.2": "the orchestrator has no step 1.2 and calls nobody for a synthesis",
    "TS-4.1": "the agent's outputs name `memory/<its name>.mem.md`, and no other agent's",
    "TS-4.2": "a step of the agent's workflow mentions key findings or its isolated memory",
    "TS-5.1": "the orchestrator's memory lifecycle has a merge",
    "TS-5.2": "each of the steps 1, 3b, 5, 6 and 7 reads the cluster's memories and merges them",
    "TS-5.3": "the orchestrator says that it alone writes `memory.md`",
    "TS-6.1": "step 3b decides from the memories of the ct agents",
    "TS-6.2": "step 3b: a Critical or High finding means `NEEDS_REVISION`",
    "TS-6.3": "step 3b: fewer than 2 outputs is `ERROR`",
    "TS-6.4": "step 3b names no aggregator",
    "TS-7.1": "step 6 has the decision table, and its rows say what they must",
    "TS-7.2": "step 6 replans at most 3 times, from the verification files themselves",
    "TS-7.3": "step 6 gives the planner `verification/v-tasks.md`",
    "TS-7.4": "step 6 names no aggregator",
    "TS-8.1": "step 7: a Blocker or Critical of r-security is `ERROR`",
    "TS-8.2": "step 7: no reply of r-security is `ERROR`",
    "TS-8.3": "step 7: r-knowledge never changes the result",
    "TS-8.4": "step 7: both r-quality and r-testing missing or `ERROR` is `ERROR`",
    "TS-8.5": "step 7 names no aggregator",
    "TS-9.1": "spec, designer and planner read the four research files themselves",
    "TS-9.2": "the designer reads `ct-review/ct-*.md` in a revision",
    "TS-9.3": "the planner reads `verification/v-tasks.md` in a replan",
    "TS-10.1": "patterns A, B and C are described",
    "TS-10.2": "the patterns name no aggregator and no combined file",
    "TS-10.3": "each pattern has the orchestrator decide from memories",
    "TS-11.1": "the rule on writing memory lists no aggregator",
    "TS-11.2": "the rule on writing memory is there, and says that the orchestrator alone writes `memory.md`",
    "TS-11.3": "the rule on writing memory says that each agent except the orchestrator writes only to its own "
    "isolated memory",
    "TS-12.1": "the documentation structure has `memory/` with its `.mem.md` files",
    "TS-12.2": "the documentation structure has no combined file",
    "TS-13.1": "no anti-drift anchor forbids `memory.md` without naming the isolated memory",
    "TS-13.2": "no anti-drift anchor names an aggregator",
    "TS-13.3": "each anti-drift anchor mentions the agent's isolated memory",
    "TS-14.1": "the prompt names no aggregator",
    "TS-14.2": "the prompt names no combined file",
    "TS-14.3": "the prompt mentions isolated memories",
    "TS-15.1": "the file begins with front matter that has a description",
    "TS-15.2": "every section of the convention is there once",
    "TS-15.3": "the sections are in the convention's order",
    "TS-15.4": "operating rules 1 to 4 are the same words in every file",
    "TS-15.5": "every code block is closed: what follows an open one is read as code",
    "TS-16.1": "the completion contract has `DONE` and `ERROR`",
    "TS-16.2": "`NEEDS_REVISION`: v-tests, v-tasks and v-feature must offer it, ct and r agents may, others must not",
    "TS-16.3": "the completion line has no field besides the status and its text",
}


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of a rule: file, line and one sentence."""

    file: str
    line: int
    rule: str
    says: str
    wrong: bool = True  # False: a note, which does not change the exit code

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"
