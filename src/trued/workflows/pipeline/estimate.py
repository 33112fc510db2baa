"""How often the agents of a pipeline will be called."""

from collections.abc import Mapping

from trued.workflows.descriptor import CallRange, SealedWork
from trued.workflows.estimates import replied
from trued.workflows.pipeline.decision_tables import CRITICS


def calls(work: SealedWork) -> Mapping[str, CallRange]:
    """The least and the most calls of each role. Verification has at most three rounds, with repairs after the first
    and the second. The review may lead to one revision, which is verified and reviewed. At the end each critic may be
    asked about the finished work."""
    planned = work.reply("planner").get("tasks") or ()
    documents = sum(isinstance(task, Mapping) and task.get("kind") == "documentation" for task in planned)
    tasks = replied(work, "planner", "tasks") - documents
    checks = {f"v-{name}": (1, 4) for name in ("build", "tests", "tasks", "feature")}
    checks |= {f"r-{name}": (1, 2) for name in ("quality", "security", "testing", "knowledge")}
    workers = {"implementer": (tasks, tasks * 4), "documentation-writer": (documents, documents * 4)}
    critics = dict.fromkeys(CRITICS, (0, 1))
    return {**{role: calls for role, calls in workers.items() if calls[1]}, **checks, **critics, "planner": (0, 2)}
