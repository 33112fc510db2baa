"""The public sample (tests/corpus/cases), built on disk as its own runner does it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.corpus.kit import HERE, Built, git

Row = dict[str, Any]


def sample() -> Iterator[tuple[Row, str, bool]]:
    """Each case of the manifest: its row, which script makes the head, and whether it must be accepted."""
    rows: list[Row] = json.loads((HERE / "manifest.json").read_text())
    for row in rows:
        for kind, expected in row["expected"].items():
            yield row, kind, expected == "must_accept"


def build_sample(row: Row, kind: str, place: Path) -> Built:
    source = HERE / "cases" / row["id"]
    built = Built(place / "base", place / "ws" / "head", place / "kept" / "requirements.json", place / "home")
    built.home.mkdir(parents=True)
    built.requirements.parent.mkdir()
    shutil.copy(source / "requirements.json", built.requirements)
    shutil.copytree(source / "base", built.base, symlinks=True)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "base")):
        git(built.base, *words, home=built.home)
    built.head.parent.mkdir()
    git(place, "clone", "-q", str(built.base), str(built.head), home=built.home)
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    surroundings = {"PATH": os.environ["PATH"], "HOME": str(built.home), "GIT_CONFIG_GLOBAL": "/dev/null", **who}
    subprocess.run(
        [sys.executable, str(source / f"{kind}.py")], cwd=built.head, env=surroundings, check=True, capture_output=True
    )
    if kind == "honest" or row["commit"] == "auto":
        git(built.head, "add", "-A", home=built.home)
        git(built.head, "commit", "-qm", "work", "--allow-empty", home=built.home)
    return built
