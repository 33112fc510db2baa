"""A pipeline as somebody else would write it: the same model in other words and forms."""

RULES = """1. Read before you act.
2. Try a passing error again, once.
3. Stay in scope.
4. Cite what you saw."""


def agent(
    name: str, *, inputs: str = "- the task", contract: str = "", role: str = "You work.", anchor: str = ""
) -> str:
    contract = contract or "Return one line:\n\n```text\nDONE: <what was done>\nERROR: <why not>\n```"
    anchor = (
        anchor or f"You write only to your isolated memory file (`memory/{name}.mem.md`), never to shared `memory.md`."
    )
    return f"""---
name: {name}
description: somebody's {name}
---

# {name.title()} Agent

## Role

{role}

## Prohibitions

- Nothing else.

## Inputs

{inputs}

## Outputs

| File | What |
| --- | --- |
| `memory/{name}.mem.md` | isolated memory |

## Operating Rules

{RULES}
5. Something of its own for {name}.

## Workflow

### 1. Work

Do it.

### 2. Write Own Memory

Write to `memory/{name}.mem.md`.

## Completion Contract

{contract}

## **Anti-Drift Anchor**

{anchor}
"""


REVISES = "- **DONE:** <summary>\n- **NEEDS_REVISION:** <what>\n- **ERROR:** <why>"
ORCHESTRATOR = f"""---
name: Orchestrator
description: leads
tools: ['agent', 'edit']
---

# Orchestrator Agent

## Role

You coordinate. Merging with aggregators is not part of it.

## Prohibitions

- You write no code.

## Inputs

- the request

## Outputs

- `memory.md`

## Operating Rules

{RULES}

## Global Rules

12. **Memory Write Safety:** you are the sole writer to `memory.md`. All sub-agents write only to their
    isolated memory files.

## Documentation Structure

```
docs/feature/<feature-slug>/
├── memory.md
├── memory/
│   └── <agent-name>.mem.md
└── research/*.md
```

## Memory Lifecycle Actions

- **Initialize:** create `memory.md`.
- **Merge:** after each agent, read its isolated memory and update `memory.md`.

## Workflow Steps

### 0. Setup

Create the folder.

### 1.1 Research (Parallel)

Dispatch four. Then read all memories and merge them.

### 3b.1 Dispatch CT agents

Pattern A.

### 3b.2 Evaluate

- Read the four CT memories and merge them into `memory.md`.
- Any finding of Critical or High severity → `NEEDS_REVISION`, to the designer.
- All Medium or Low → `DONE`.
- <2 outputs → `ERROR`.

### 5. Implementation

Between waves merge the memories.

### 6. Verification

Read V memories, merge them, and use this table:

| V-Build | V-Tests | V-Tasks | V-Feature | Result |
| --- | --- | --- | --- | --- |
| DONE | DONE | DONE | DONE | DONE |
| DONE | NEEDS_REVISION | any | any | NEEDS_REVISION |
| DONE | any | NEEDS_REVISION | any | NEEDS_REVISION |
| DONE | any | any | NEEDS_REVISION | NEEDS_REVISION |
| ERROR | any | any | any | ERROR |
| DONE | ERROR | not ERROR | not ERROR | Proceed with available |
| any | — | — | — | 2+ missing/ERROR → ERROR |

Pattern C, max 3 iterations: the planner replans from `verification/v-tasks.md`.

### 7. Review

1. Read the R memories and merge them.
2. R-Security `ERROR`, or with Blocker or Critical findings: pipeline `ERROR`.
3. R-Security missing: `ERROR`.
4. 2+ other sub-agents missing or `ERROR`: `ERROR`.
5. One Major or more: `NEEDS_REVISION`.
6. R-Knowledge is non-blocking.

## Workflow

As above.

## Completion Contract

`DONE` or `ERROR`, never `NEEDS_REVISION`.

## Anti-Drift Anchor

You orchestrate.
"""
PATTERNS = """# Dispatch Patterns

## Pattern A — Fully Parallel

Dispatch all; the orchestrator reads sub-agent memories and determines the result. No aggregator is invoked.

## Pattern B — Sequential Gate + Parallel

The gate first; the orchestrator reads memories and determines the result.

## Pattern C — Replan Loop

If the orchestrator determines DONE from V memories, stop.
"""
PROMPT = (
    "---\ndescription: go\n---\n\n# Go\n\nEach agent writes an isolated memory file; the orchestrator merges them.\n"
)
RESEARCH = "- `research/{architecture,impact,dependencies,patterns}.md`"
FILES = {
    "orchestrator.agent.md": ORCHESTRATOR,
    "dispatch-patterns.md": PATTERNS,
    "feature-workflow.prompt.md": PROMPT,
    "researcher.agent.md": agent("researcher", inputs="- the code"),
    "spec.agent.md": agent("spec", inputs=RESEARCH),
    "designer.agent.md": agent("designer", inputs="- `research/*.md`\n- `ct-review/ct-*.md` in revision"),
    "planner.agent.md": agent("planner", inputs="- `research/<focus>.md`\n- `verification/v-tasks.md` in replan mode"),
    "ct-security.agent.md": agent("ct-security", contract=REVISES),
    "v-build.agent.md": agent("v-build"),
    "r-knowledge.agent.md": agent("r-knowledge", contract=REVISES),
}
