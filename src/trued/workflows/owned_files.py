"""What shared code has to know of each workflow: its own files, and which of its roles only check or review."""

from trued.model import Settings

TEAM = ".trued/team/"
LOGGED = ("purple", "solo")  # workflows that keep MEMORY.md beside their plan
RECORDS_APPROVALS = ("handoff",)  # workflows whose files on the branch say what people decided
REPAIRING_ROLES = frozenset({"purple-team-b", "verify-agent", "pr-agent", "qa", "uat"})
REVIEWING_ROLES = frozenset(
    {
        *("ct-security", "ct-scalability", "ct-maintainability", "ct-strategy"),
        *("v-build", "v-tests", "v-tasks", "v-feature", "r-quality", "r-security", "r-testing", "r-knowledge"),
    }
)


def owned_files(settings: Settings, goal: str) -> tuple[str, ...]:
    """Files that the engine writes in a run of this kind: not part of the work when it is judged after the run."""
    # Imported here: commands that only look at runs must not load what works on them.
    from trued.workflows.handoff import agent_state, e2e_example, feature_list
    from trued.workflows.handoff.progress_file import PROGRESS
    from trued.workflows.handoff.project import SCRIPT
    from trued.workflows.purple.memory_log import memory_files

    if settings.workflow == "handoff":
        return feature_list.NAME, agent_state.NAME, *PROGRESS, settings.progress, SCRIPT, e2e_example.PATH
    if settings.workflow == "team":
        return (TEAM,)
    return memory_files(goal) if settings.workflow in LOGGED else ()
