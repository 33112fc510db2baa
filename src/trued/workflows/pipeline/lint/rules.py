"""Applies all rules to one set of files."""

from collections.abc import Iterable
from itertools import chain

from trued.workflows.pipeline.lint.agent_rules import members
from trued.workflows.pipeline.lint.findings import Violation
from trued.workflows.pipeline.lint.form import form
from trued.workflows.pipeline.lint.orchestrator_rules import leading, patterns_and_prompt
from trued.workflows.pipeline.lint.removed_parts import removed
from trued.workflows.pipeline.lint.sets import LintSet


def apply_rules(files: LintSet) -> list[Violation]:
    """The findings of TS-1 to TS-16, sorted by file and line."""
    violations: Iterable[Violation] = chain(
        form(files), removed(files), members(files), leading(files), patterns_and_prompt(files)
    )
    return sorted(
        set(violations), key=lambda violation: (violation.file, violation.line, violation.rule, violation.says)
    )
