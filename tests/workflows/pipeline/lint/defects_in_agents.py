"""Mistakes in the files of agents."""

from tests.workflows.pipeline.lint.changes import LEAD, Defect, after, first, moved, no_lines, no_section, part, swap

FORM = (
    Defect("a code block is open", "spec.md", swap("## Workflow", "```text\nx\n\n## Workflow"), "TS-15.5", "```text"),
    Defect("a section is missing", "ct-security.md", no_section("## Prohibitions"), "TS-15.2", "## Inputs"),
    Defect(
        "the last section is missing", "r-quality.md", no_section("## Anti-drift anchor"), "TS-15.2", "## Completion"
    ),
    Defect(
        "a section stands twice",
        "r-testing.md",
        swap("## Inputs", "## Role\n\nAgain.\n\n## Inputs"),
        "TS-15.2",
        "## Role#2",
    ),
    Defect("no title", "v-tasks.md", first("\n# ", "\n## "), "TS-15.2", "## V tasks"),
    Defect("the order is changed", "spec.md", moved("## Outputs", "## Inputs"), "TS-15.3", "## Inputs"),
    Defect("the anchor comes first", "designer.md", moved("## Anti-drift anchor", "## Role"), "TS-15.3", "## Role"),
    Defect(
        "a common rule has other words",
        "v-tests.md",
        swap("If it persists,", "If it stays,"),
        "TS-15.4",
        "2. Bounded",
    ),
    Defect(
        "a common rule is left out",
        "implementer.md",
        part("## Operating", no_lines("4. What you say", "something yourself, say so")),
        "TS-15.4",
        "5. ",
    ),
    Defect("no front matter", "designer.md", lambda text: text[text.index("# ") :], "TS-15.1", "# Designer"),
    Defect("no description", "planner.md", no_lines("description:"), "TS-15.1", "---"),
    Defect(
        "no word for failure", "r-security.md", part("## Completion", no_lines("`ERROR`")), "TS-16.1", "## Completion"
    ),
    Defect(
        "a writer asks for revisions",
        "documentation-writer.md",
        swap("- `ERROR`", "- `NEEDS_REVISION`: it is unclear.\n- `ERROR`"),
        "TS-16.2",
        "- `NEEDS_REVISION`",
    ),
    Defect(
        "the gate asks for revisions",
        "v-build.md",
        swap("- `ERROR`", "- `NEEDS_REVISION`: it warns.\n- `ERROR`"),
        "TS-16.2",
        "- `NEEDS_REVISION`",
    ),
    Defect(
        "a verifier cannot ask for one",
        "v-tasks.md",
        part("## Completion", no_lines("`NEEDS_REVISION`")),
        "TS-16.2",
        "## Completion",
    ),
    Defect(
        "a field in the literal",
        "spec.md",
        swap("- `DONE`:", "- `DONE: <summary> | severity: <word>`:"),
        "TS-16.3",
        "- `DONE:",
    ),
    Defect(
        "a field before the colon",
        "ct-scalability.md",
        swap("- `DONE`:", "- `DONE`, `confidence`, `score`:"),
        "TS-16.3",
        "- `DONE`,",
    ),
)

REMOVED = (
    Defect(
        "an aggregator is active", "v-aggregator.md", swap("# V build", "# V aggregator"), "TS-1.1", "# V aggregator"
    ),
    Defect(
        "an aggregator is named",
        "v-feature.md",
        part("## Outputs", swap("- One reply", "- What the V-Aggregator needs.\n- One reply")),
        "TS-1.2",
        "- What the V-Agg",
    ),
    Defect(
        "analysis.md is read",
        "spec.md",
        swap("- `initial-request.md`", "- `analysis.md`: all research.\n- `initial-request.md`"),
        "TS-2",
        "- `analysis.md`",
    ),
    Defect(
        "the combined critique is read",
        "designer.md",
        after("## Inputs", "\nAlso design\\_critical\\_review.md."),
        "TS-2",
        "Also design",
    ),
    Defect(
        "the combined verification is read",
        "planner.md",
        after("- In replan mode", "  and `docs/feature/<slug>/verifier.md`,"),
        "TS-2",
        "  and `docs",
    ),
    Defect(
        "the combined review is written",
        "r-knowledge.md",
        after("## Outputs", "\n```text\nreview/\n└── review.md\n```"),
        "TS-2",
        "└── review.md",
    ),
    Defect(
        "the researcher has a second mode",
        "researcher.md",
        after("## Role", "\n**Mode 2**: all four are fitted together."),
        "TS-3.1",
        "**Mode 2**",
    ),
    Defect(
        "the researcher synthesises",
        "researcher.md",
        after("## Workflow", "\nBegin with a synthesis of the others."),
        "TS-3.1",
        "Begin with",
    ),
    Defect(
        "step 1.2 is there",
        LEAD,
        swap("### Step 2: spec", "### Step 1.2: one page of all research\n\nAsk a researcher.\n\n### Step 2: spec"),
        "TS-3.2",
        "### Step 1.2",
    ),
    Defect(
        "a synthesis is asked for",
        LEAD,
        part("### Step 1:", swap("3. Decide", "3. Send out a researcher in synthesis mode.\n3. Decide")),
        "TS-3.2",
        "3. Send out a researcher",
    ),
)

MEMORY = (
    Defect(
        "no memory among the outputs",
        "ct-scalability.md",
        part("## Outputs", no_lines(".mem.md")),
        "TS-4.1",
        "## Outputs",
    ),
    Defect(
        "another's memory",
        "r-testing.md",
        part("## Outputs", swap("memory/r-testing.mem.md", "memory/r-quality.mem.md")),
        "TS-4.1",
        "- `memory/r-quality",
    ),
    Defect(
        "no step for it",
        "v-build.md",
        part("## Workflow", swap(", then give the key findings for your isolated memory", "")),
        "TS-4.2",
        "## Workflow",
        (),
    ),
    Defect(
        "memory is forbidden, and that is all",
        "ct-security.md",
        part("## Anti-drift", lambda text: "## Anti-drift anchor\n\nStay critical. You do NOT write to `memory.md`.\n"),
        "TS-13.1",
        "Stay critical",
    ),
    Defect(
        "the anchor knows no memory",
        "implementer.md",
        part("## Anti-drift", lambda text: "## Anti-drift anchor\n\nStay inside your task.\n"),
        "TS-13.3",
        "## Anti-drift",
    ),
    Defect(
        "the anchor names an aggregator",
        "v-tasks.md",
        after("## Anti-drift", "\nThe V-Aggregator handles memory updates.\n"),
        "TS-13.2",
        "The V-Aggregator",
    ),
    Defect(
        "research is not read by spec", "spec.md", part("## Inputs", swap("patterns", "habits")), "TS-9.1", "## Inputs"
    ),
    Defect(
        "research is not read by the designer",
        "designer.md",
        part("## Inputs", swap("research/", "notes/")),
        "TS-9.1",
        "## Inputs",
    ),
    Defect(
        "research is not read by the planner",
        "planner.md",
        part("## Inputs", swap("research/impact.md", "the impact")),
        "TS-9.1",
        "## Inputs",
    ),
    Defect("critiques are not read", "designer.md", part("## Inputs", swap("ct-review/", "")), "TS-9.2", "## Inputs"),
    Defect(
        "the replan has no task failures",
        "planner.md",
        part("## Inputs", swap("verification/v-tasks.md", "verification/v-build.md")),
        "TS-9.3",
        "## Inputs",
    ),
)
