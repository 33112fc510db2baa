"""Reads from git the documents that a workflow keeps on the run's branch."""

from collections.abc import Iterable

from trued.model import RunRecord
from trued.support.user_git import ask_git
from trued.workflows.registry import find_descriptor

FIRST = ("backlog.md", "feature-status.md", "memory.md", "feature.md", "plan.md", "qa/results.md", "uat/results.md")
MOST = 40  # at most this many documents are shown; the branch has all of them
LENGTH = 40_000  # maximum length of one document, in characters


def papers(record: RunRecord) -> dict[str, str]:
    """Name → text of each document that this run added or changed, overviews first."""
    workflow = find_descriptor(record.workflow)
    if not record.head or workflow is None or not workflow.documents:
        return {}
    between = ("diff", "--name-only", "-z", "--no-renames", "--diff-filter=AM", record.base, record.head, "--")
    names = [
        name.decode(errors="replace")
        for name in (ask_git(record.repository, *between, *workflow.documents) or b"").split(b"\0")
        if name
    ]
    documents = sorted((name for name in names if not name.endswith(".gitkeep")), key=_sort_key)
    return texts(record, documents[:MOST])


def _sort_key(name: str) -> tuple[int, str]:
    """Sort key: overviews come before the documents of single agents."""
    last = len(FIRST) + ("/memory/" in name)
    return next((position for position, end in enumerate(FIRST) if name.endswith(f"/{end}")), last), name


def texts(record: RunRecord, names: Iterable[str]) -> dict[str, str]:
    """Name → text of these files at the run's head, read without git filters and hooks."""
    contents = {name: ask_git(record.repository, "cat-file", "blob", f"{record.head}:{name}") for name in names}
    return {name: text.decode(errors="replace")[:LENGTH] for name, text in contents.items() if text is not None}
