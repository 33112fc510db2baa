"""The structure of agent files: rules with ids over a set of files, each finding with file, line and one sentence."""

from trued.workflows.pipeline.lint.findings import RULES, Found
from trued.workflows.pipeline.lint.select import Kind, Look, looked, named, packaged, repository

__all__ = ["RULES", "Found", "Kind", "Look", "looked", "named", "packaged", "repository"]
