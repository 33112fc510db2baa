"""How often the agents of a pipeline will be called."""

from collections.abc import Mapping

from trued.workflows.descriptor import CallRange, SealedWork
from trued.workflows.estimates import replied


def calls(work: SealedWork) -> Mapping[str, CallRange]:
    """The estimate. The most calls: three rounds of verification, the first two followed by repairs, and one revision
    after the review, which is verified and reviewed again."""
    tasks = replied(work, "planner", "tasks")
    checks = {f"v-{name}": (1, 4) for name in ("build", "tests", "tasks", "feature")}
    checks |= {f"r-{name}": (1, 2) for name in ("quality", "security", "testing", "knowledge")}
    return {"implementer": (tasks, tasks * 4), **checks, "planner": (0, 2)}
