"""A repository, a private home and an engine to measure, in a folder that is thrown away."""

import subprocess
from collections.abc import Iterable
from pathlib import Path


def repository(folder: Path, plan: str) -> Path:
    """A small git repository with one commit and a plan."""
    root = folder / "repository"
    root.mkdir(parents=True)
    (root / "PLAN.md").write_text(plan)
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "plan"]):
        identity = ["-c", "user.name=Bench", "-c", "user.email=bench@example.invalid"]
        subprocess.run(["git", *identity, *command], cwd=root, check=True, timeout=60)
    return root


def plan(chunks: Iterable[str]) -> str:
    rows = "\n".join(f"| {name} | write {name}.txt | {name}.txt |" for name in chunks)
    return f"# Bench\n\n## Phase 1: all\n\n| Chunk | Scope | Files |\n| --- | --- | --- |\n{rows}\n"
