"""How our own cases of falsely and honestly finished work are written down, and built on disk."""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

HERE = Path(__file__).parent
PROJECTS = HERE / "projects"
FAMILIES = {
    "t": "edited tests",
    "c": "test configuration",
    "r": "runner tampered with",
    "h": "hard-coded or sloppy",
    "s": "state outside the commit",
    "p": "claims",
    "x": "more ways",
    "k": "honest but unusual",
}
MODULES = (
    "tests",
    "config",
    "runner",
    "code",
    "sloppy",
    "state",
    "claims",
    "more",
    "usual",
    "unusual",
    "suites",
    "node",
    "servers",
    "shapes",
)

Data: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[["Work"], None]
Amend: TypeAlias = Callable[[Data], None]


@dataclass(frozen=True, slots=True)
class Work:
    """A clone of the base in somebody's hands, with the folder around it and a HOME."""

    path: Path
    project: Path
    home: Path

    def read(self, name: str) -> str:
        return (self.path / name).read_text()

    def write(self, name: str, text: str | bytes, mode: int = 0o644) -> None:
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_symlink():
            place.unlink()
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        place.chmod(mode)

    def replace(self, name: str, old: str, new: str) -> None:
        text = self.read(name)
        if old not in text:
            raise ValueError(f"{name} has no {old!r}")
        self.write(name, text.replace(old, new))

    def append(self, name: str, text: str) -> None:
        self.write(name, self.read(name) + text)

    def remove(self, *names: str) -> None:
        for name in names:
            place = self.path / name
            shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()

    def solved(self, name: str) -> str:
        return (self.project / "solved" / name).read_text()

    def solve(self, *names: str) -> None:
        """The honest work: all of it, or of these files."""
        solved = self.project / "solved"
        for place in sorted(solved.rglob("*")):
            name = str(place.relative_to(solved))
            if place.is_file() and (not names or name in names):
                self.write(name, place.read_bytes(), place.stat().st_mode & 0o777)

    def solve_all_but(self, requirements: list[str]) -> None:
        """What is not asked for is there already: a suite that is red for other reasons would reject every head."""
        parts = self.project / "parts.json"
        files = json.loads(parts.read_text()) if parts.exists() else {}
        done = [name for one, names in files.items() if one not in requirements for name in names]
        if done:
            self.solve(*done)

    def git(self, *words: str) -> str:
        return git(self.path, *words, home=self.home)

    def commit(self, message: str = "work") -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message, "--allow-empty")


@dataclass(frozen=True, slots=True)
class CorpusCase:
    """One change to one project, and what must come of it."""

    id: str
    project: str
    why: str
    change: Change
    breaks: frozenset[str] | None  # requirements that must not be met; None: all; empty: honest work
    commits: bool = True  # what is left in the clone is committed afterwards
    base: Change | None = None  # what is done to the project before the base is committed
    amend: Amend | None = None  # what is done to the requirements
    only: str = ""  # the requirements that are asked for, where they are not all: fewer are quicker

    @property
    def name(self) -> str:
        return f"{self.id}-{self.project}-{self.change.__name__}"

    @property
    def honest(self) -> bool:
        return self.breaks == frozenset()

    @property
    def family(self) -> str:
        return self.id[0]

    @property
    def requirements(self) -> Data:
        data: Data = json.loads((PROJECTS / self.project / "requirements.json").read_text())
        if self.only:
            data["requirements"] = [one for one in data["requirements"] if one["id"] in self.only.split()]
        if self.amend:
            self.amend(data)
        return data

    @property
    def seal_key(self) -> str:
        """Cases with the same base and requirements can share a sealed contract."""
        based = self.base.__qualname__ if self.base else ""
        return hashlib.sha256(json.dumps([self.project, based, self.requirements]).encode()).hexdigest()


@dataclass(slots=True)
class Collected:
    cases: list[CorpusCase] = field(default_factory=list)


_collected = Collected()


def cheat(
    id: str,
    *projects: str,
    why: str,
    breaks: str | None = None,
    commits: bool = True,
    base: Change | None = None,
    amend: Amend | None = None,
    only: str = "",
) -> Callable[[Change], Change]:
    """Falsely finished work. `breaks` names the requirements that are not met, all others are."""
    broken = None if breaks is None else frozenset(breaks.split())
    return _case(id, projects, CorpusCase(id, "", why, _nothing, broken, commits, base, amend, only))


def honest(
    id: str,
    *projects: str,
    why: str,
    commits: bool = True,
    base: Change | None = None,
    amend: Amend | None = None,
    only: str = "",
) -> Callable[[Change], Change]:
    """Work that is done, however unusual it looks."""
    return _case(id, projects, CorpusCase(id, "", why, _nothing, frozenset(), commits, base, amend, only))


def _case(id: str, projects: tuple[str, ...], like: CorpusCase) -> Callable[[Change], Change]:
    if id[0] not in FAMILIES or not projects:
        raise ValueError(f"{id} is of no family, or has no project")

    def write_down(change: Change) -> Change:
        for project in projects:
            _collected.cases.append(replace(like, project=project, change=change))
        return change

    return write_down


def _nothing(work: Work) -> None:
    """No change."""


def every_case() -> list[CorpusCase]:
    for name in MODULES:
        import_module(f"tests.corpus.cases_{name}")
    return list(_collected.cases)


# -- on disk -----------------------------------------------------------------------------------------------------------


def git(folder: Path, *words: str, home: Path) -> str:
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    plain = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "PATH": os.environ["PATH"]}
    settings = ("-c", "core.fsmonitor=false", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *settings, *words], cwd=folder, env=plain | who | {"HOME": str(home)}, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"git {' '.join(words)}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode(errors="replace").strip()


@dataclass(frozen=True, slots=True)
class Built:
    """Two repositories and a requirements file, as `trued verify` is given them."""

    base: Path
    head: Path
    requirements: Path
    home: Path


def lay_base(case: CorpusCase, base: Path, home: Path) -> None:
    project = PROJECTS / case.project
    shutil.copytree(project / "base", base, symlinks=True, dirs_exist_ok=True)
    if case.only:
        Work(base, project, home).solve_all_but(case.only.split())
    if case.base:
        case.base(Work(base, project, home))
    git(base, "init", "-q", home=home)
    git(base, "add", "-A", home=home)
    git(base, "commit", "-qm", "base", home=home)


def lay_head(case: CorpusCase, base: Path, head: Path, home: Path) -> None:
    head.parent.mkdir(parents=True, exist_ok=True)
    git(head.parent, "clone", "-q", str(base), str(head), home=home)
    work = Work(head, PROJECTS / case.project, home)
    case.change(work)
    if case.commits:
        work.commit()


def build(case: CorpusCase, place: Path) -> Built:
    built = Built(place / "base", place / "ws" / "head", place / "kept" / "requirements.json", place / "home")
    for folder in (built.base, built.requirements.parent, built.home):
        folder.mkdir(parents=True)
    built.requirements.write_text(json.dumps(case.requirements))
    lay_base(case, built.base, built.home)
    lay_head(case, built.base, built.head, built.home)
    return built


def clean_up(place: Path) -> None:
    """What a case leaves running or lying about on purpose; it writes that down beside its clone."""
    for file in place.rglob("left.pid"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(file.read_text()), signal.SIGKILL)
    for file in place.rglob("left.txt"):
        for name in file.read_text().splitlines():
            Path(name).unlink(missing_ok=True)
