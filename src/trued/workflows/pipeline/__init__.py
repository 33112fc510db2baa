"""Pipeline: research, specification, design, critique, waves of implementers, verification and review."""

from trued.workflows.descriptor import Input, Rounds, WorkflowDescriptor

# Repeated here instead of imported from the decision tables: a descriptor imports no other modules.
REVIEWING = (
    *("ct-security", "ct-scalability", "ct-maintainability", "ct-strategy"),
    *("v-build", "v-tests", "v-tasks", "v-feature"),
    *("r-quality", "r-security", "r-testing", "r-knowledge"),
)

PIPELINE = WorkflowDescriptor(
    name="pipeline",
    flow="trued.workflows.pipeline.flow:pipeline",
    roles=("researcher", "spec", "designer", "planner", "implementer", "documentation-writer", *REVIEWING),
    takes=Input.WORDS,
    role_folder="trued.agents.roles:pipeline",
    replies="trued.workflows.pipeline.replies:REPLIES",
    handbook="trued.workflows.pipeline.handbook:handbook",
    reviewing_roles=frozenset(REVIEWING),
    asks_people=False,
    estimate="trued.workflows.pipeline.estimate:calls",
    writes_into="docs/feature/",
    documents=("docs/feature/",),
    rounds=Rounds("rounds of verification", event="decided", fields={"cluster": "verification"}),
    continuations="trued.workflows.pipeline.view:continuations",
    view="trued.workflows.pipeline.view:PipelineView",
)
