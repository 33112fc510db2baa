"""Plays `verify` for tests: a base and a head as files, sealed and proven through the real workspace."""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from trued.model import Author, Contract, Finding, Grade, Judged, Requirement, Requirements, Verdict
from trued.model.events import JournalEvent
from trued.proof.hashes import check_hash
from trued.proof.prove import prove
from trued.proof.seal import SealTerms, seal
from trued.proof.verdict.case_status import Base, on_base
from trued.proof.verdict.conclusion import conclude
from trued.run.examination.existing_tests import with_existing_tests
from trued.wire import Confinement
from trued.workspace.git.workspace import GitWorkspace
from trued.workspace.sandbox.levels import choose_level

Change = Callable[[Path], None] | Mapping[str, str | None]


def asked_three(call: str = "kit:three") -> list[dict[str, Any]]:
    """The requirement that a new function returns 3."""
    checks = [{"kind": "examples", "cases": [{"call": call, "args": [], "returns": 3}]}]
    return [{"id": "three", "text": "three() is 3", "checks": checks}]


def bare_interpreter(place: Path) -> Path:
    """A virtual environment with nothing in it."""
    venv.create(place, with_pip=False, symlinks=True)
    return place


def quiet(event: JournalEvent) -> None:
    """Drop the event."""


def git(folder: Path, *words: str) -> str:
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    plain = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "PATH": os.environ["PATH"]}
    settings = ("-c", "core.fsmonitor=false", "-c", "init.defaultBranch=main", "-c", "core.hooksPath=/dev/null")
    done = subprocess.run(["git", *settings, *words], cwd=folder, env=plain | who, check=True, capture_output=True)
    return done.stdout.decode().strip()


def lay(folder: Path, change: Change) -> None:
    """Write files; a content of None removes the file."""
    if not isinstance(change, Mapping):
        change(folder)
        return
    for name, content in change.items():
        place = folder / name
        if content is None:
            place.unlink()
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)


def script(path: Path, home: Path) -> Callable[[Path], None]:
    """A change that a program makes to the checkout."""

    def change(folder: Path) -> None:
        who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        surroundings = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_GLOBAL": "/dev/null", **who}
        subprocess.run([sys.executable, str(path)], cwd=folder, env=surroundings, check=True, capture_output=True)

    return change


class Trial:
    """One base, requirements for it, and any number of heads."""

    def __init__(self, place: Path, base: Change, requirements: list[dict[str, Any]], **environment: Any) -> None:
        self.place, self.heads = place, 0
        self.base = place / "base"
        self.base.mkdir(parents=True)
        lay(self.base, base)
        git(self.base, "init", "-q")
        git(self.base, "add", "-A", "-f")
        git(self.base, "commit", "-qm", "base", "--allow-empty")
        self.requirements = tuple(Requirement.model_validate(one) for one in requirements)
        whole = {key: environment.pop(key) for key in ("serve", "interface", "carried") if key in environment}
        self.asked = Requirements.model_validate(
            {"requirements": self.requirements, "environment": environment, **whole}
        )
        commit = git(self.base, "rev-parse", "HEAD")
        sight = Confinement(level=choose_level("auto", allow_unsandboxed=False))
        self.workspace = GitWorkspace(self.base, place / "state", "verify", "trued/verify", commit, sight)

    async def seal(self, *, held_out: bool = True, users_own: bool = True) -> Contract:
        await self.workspace.begin()
        why = "" if held_out else "agents can read the requirements file"
        asked = self.asked
        checks = [] if users_own else [check for one in asked.requirements for check in one.checks]
        authors = {check_hash(check): Author(role="examiner", agent="scripted:x") for check in checks}
        return await seal(self.workspace, asked, SealTerms(held_out, why, authors), tell=quiet)

    async def seal_with_existing_tests(self) -> Contract:
        """Like `seal`, with the base's own tests as guards."""
        await self.workspace.begin()
        asked, guards = await with_existing_tests(self.workspace, self.asked)
        return await seal(self.workspace, asked, SealTerms(held_out=True, guards=guards), tell=quiet)

    async def head(self, change: Change, *, force: bool = False) -> str:
        """Commit a head in an untrusted repository, copy it into the store, and return the commit."""
        self.heads += 1
        folder = self.place / f"ws{self.heads}" / "head"
        folder.parent.mkdir()
        git(self.place, "clone", "-q", str(self.base), str(folder))
        lay(folder, change)
        git(folder, "add", "-A", *(["-f"] if force else []))
        git(folder, "commit", "-qm", "work", "--allow-empty")
        commit = git(folder, "rev-parse", "HEAD")
        await self.workspace.store.git("fetch", "-q", str(folder), f"{commit}:refs/trued/verify/head{self.heads}")
        return commit

    async def prove(self, contract: Contract, commit: str, *objections: Finding, **more: Any) -> Verdict:
        ids = [one.id for one in contract.requirements]
        return await prove(
            self.workspace, contract, ids, commit, subject="all", objections=objections, tell=quiet, **more
        )

    async def judged(self, contract: Contract, *heads: Change, force: bool = False) -> list[Judged]:
        """The only requirement, as each head is judged by it."""
        return [only(await self.prove(contract, await self.head(one, force=force))) for one in heads]

    async def verdict(self, change: Change, *, force: bool = False) -> Verdict:
        contract = await self.seal()
        return await self.prove(contract, await self.head(change, force=force))


class Sealed(NamedTuple):
    """A base with its sealed contract, for any number of heads."""

    trial: Trial
    contract: Contract


class Cellar:
    """Contracts that the tests of a module share. Each is sealed when the first test asks for it."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory, self._kept = factory, dict[str, Sealed]()

    async def sealed(
        self,
        name: str,
        base: Change,
        requirements: list[dict[str, Any]],
        seal_it: Callable[[Trial], Awaitable[Contract]] = Trial.seal,
        **environment: Any,
    ) -> Sealed:
        if name not in self._kept:
            trial = Trial(self._factory.mktemp(name), base, requirements, **environment)
            self._kept[name] = Sealed(trial, await seal_it(trial))
        return self._kept[name]


def is_success(verdict: Verdict, accept: Grade = Grade.ATTESTED) -> bool:
    """Whether a run ends as done with this verdict, if its contract has just the requirements that it judges."""
    asked = tuple(Requirement(id=judged.id, text=judged.text) for judged in verdict.requirements)
    return conclude(verdict, Contract(base="b" * 40, requirements=asked), accept).state == "done"


def stands(contract: Contract) -> dict[str, Base]:
    """Each test or case, and how it stood on the base."""
    return on_base(contract.base_facts)


def only(verdict: Verdict) -> Judged:
    (judged,) = verdict.requirements
    return judged


def read_requirements(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["requirements"]
    return found
