"""Fixes of real projects, laid out as `trued verify` is given them: the fix, and the same commit with it left out."""

import json
import re
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.corpus.kit import HERE, git

FOLDERS_OF_TESTS = {"tests", "test", "testing"}
NAMED_LIKE_A_TEST = re.compile(r"test_.*|.*_test\.go|.*\.(test|spec)\.\w+|tests\.js")


@dataclass(frozen=True, slots=True)
class Fix:
    """A commit that touches source and tests, what it was for, and examples of our own."""

    repository: str
    base: str
    head: str
    text: str
    tests: list[str]
    cases: list[dict[str, Any]]
    packages: list[str] = field(default_factory=list)
    command: str = ""  # runs these tests; "" for pytest
    supersedes: list[str] = field(default_factory=list)
    prepare: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.repository}@{self.head[:10]}"


def fixes() -> list[Fix]:
    return [Fix(**one) for one in tomllib.loads((HERE / "real.toml").read_text())["fix"]]


def found(fix: Fix, folder: Path) -> Path:
    """The repository in that folder, whatever it is called there."""
    owner, name = fix.repository.split("/")
    for place in (
        folder / f"{owner}+{name}" / "repo",
        folder / f"{owner}+{name}",
        folder / name,
        folder / f"{name}.git",
    ):
        if place.exists():
            return place
    raise FileNotFoundError(f"{folder} has no {fix.repository}: clone it there as {owner}+{name}")


def lay_out(fix: Fix, repository: Path, place: Path) -> tuple[Path, Path, Path]:
    """A clone with the commits `fixed` and `left-out`, and a requirements file with the fixed tests beside it."""
    home = place / "home"
    home.mkdir(parents=True)
    clone = place / "clone"
    git(place, "init", "-q", str(clone), home=home)
    git(clone, "fetch", "-q", str(repository), f"{fix.head}:refs/heads/fixed", home=home)
    git(clone, "checkout", "-q", fix.base, home=home)
    changed = git(clone, "diff", "--name-only", fix.base, fix.head, home=home).splitlines()
    tests = [name for name in changed if is_test(name)]
    git(clone, "checkout", "-q", fix.head, "--", *tests, home=home)
    git(clone, "commit", "-qam", "tests and no fix", home=home)
    git(clone, "branch", "left-out", home=home)
    kept = place / "kept"
    for name in fix.tests:
        target = kept / "fixed" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_blob(clone, f"{fix.head}:{name}"))
    file = kept / "wanted.json"
    file.write_text(json.dumps(requirements(fix)))
    return clone, file, home


def is_test(path: str) -> bool:
    *folders, name = Path(path).parts
    return not FOLDERS_OF_TESTS.isdisjoint(folders) or bool(NAMED_LIKE_A_TEST.fullmatch(name))


def _blob(clone: Path, name: str) -> bytes:
    """Byte for byte: as text it would lose line ends, and what is no UTF-8."""
    return subprocess.run(["git", "cat-file", "blob", name], cwd=clone, capture_output=True, check=True).stdout


def requirements(fix: Fix) -> dict[str, Any]:
    command = fix.command or f"python -m pytest -q {' '.join(fix.tests)}"
    tests = {"kind": "tests", "command": command, "files": fix.tests, "from": "fixed"}
    examples = {"kind": "examples", "cases": fix.cases}
    checks = [tests, examples] if fix.tests else [examples]
    wanted: dict[str, Any] = {"id": "fix", "text": fix.text, "checks": checks}
    if fix.supersedes:
        wanted["supersedes"] = fix.supersedes
    surroundings = {"packages": fix.packages, "prepare": fix.prepare}
    return {"environment": {name: one for name, one in surroundings.items() if one}, "requirements": [wanted]}
