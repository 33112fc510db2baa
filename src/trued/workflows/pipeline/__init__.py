"""What the orchestrator of a pipeline does between its agents: it collects, remembers, merges, checks and tells."""

from trued.workflows.pipeline.feature_folder import DESIGN, FEATURE, PLAN, REQUEST, distinct
from trued.workflows.pipeline.orchestrator import CRITIQUES, RESEARCH, VERIFICATION, Desk, set_up
from trued.workflows.pipeline.verification import (
    Checked,
    built,
    critiques,
    objections,
    on_record,
    proven,
    reviewed,
    shown,
    to_mend,
    verified,
)
from trued.workflows.pipeline.waves import Gaps, implemented

__all__ = [
    "CRITIQUES",
    "DESIGN",
    "FEATURE",
    "PLAN",
    "REQUEST",
    "RESEARCH",
    "VERIFICATION",
    "Checked",
    "Desk",
    "Gaps",
    "built",
    "critiques",
    "distinct",
    "implemented",
    "objections",
    "on_record",
    "proven",
    "reviewed",
    "set_up",
    "shown",
    "to_mend",
    "verified",
]
