"""The structure of agent files: rules with ids over a set of files, each finding with file, line and one sentence."""

from .findings import RULES, Found
from .looking import Kind, Look, looked, named, packaged, repository

__all__ = ["RULES", "Found", "Kind", "Look", "looked", "named", "packaged", "repository"]
