"""Runs one check once, whatever its kind, and records the result as evidence."""

import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import assert_never

from trued.errors import CannotJudge
from trued.model import (
    BrowserCheck,
    Check,
    CommandCheck,
    Contract,
    DependenciesCheck,
    Evidence,
    ExamplesCheck,
    ManualCheck,
    Outcomes,
    Requirement,
    TestsCheck,
)
from trued.proof.checks import browser, command, examples, tests
from trued.proof.dependencies.check import run_dependencies
from trued.proof.hashes import check_hash
from trued.proof.room.bench import ROOM, Bench, CaseSelection, Fact, unjudged_fact, void_fact
from trued.proof.room.files_of_checks import (
    held_out_files_left,
    restore_frozen_files,
    write_files_of_commit,
    write_held_out_files,
    write_repository,
)
from trued.proof.room.frozen_files import is_below
from trued.proof.room.held_out import DATA, files_named_by, is_held_out
from trued.proof.room.interpreter import Interpreter

TRIES = 3  # at most this many attempts if the environment breaks; a failed check is never retried
TEMPORARY = ("environment", "start")  # kinds of failure that may be gone in the next attempt


async def run_check(check: Check, bench: Bench, selection: CaseSelection) -> Fact:
    """Run one check once. The run is repeated only if the environment itself broke, never because the check failed. If
    the bench is broken, the check does not run, and no case is judged."""
    fact = unjudged_fact(bench.broken, "prepare", selection)
    bench = replace(
        bench, second=selection.second, variables=_variables(check, bench.variables, second=selection.second)
    )
    for _ in range(TRIES if not bench.broken else 0):
        try:
            await restore_frozen_files(bench)
            if left := held_out_files_left(bench):
                raise CannotJudge(f"{left[0]}, a held-out file of the contract, is still in the room of another check")
            is_data = isinstance(check, DATA)
            with (
                write_files_of_commit(bench) if is_data else nullcontext(),
                _with_its_files(check, bench) as ready,
                write_repository(bench) if is_data and not selection.second else nullcontext(),
            ):
                fact = await _run_once(check, ready, selection)
        except CannotJudge as error:
            fact = unjudged_fact(str(error), "environment", selection)
        if not any(result.outcome is Outcomes.UNJUDGED and result.kind in TEMPORARY for result in fact.tried):
            break
    return (
        replace(fact, setting=f"another order, {bench.workspace.describe_second_surroundings()}")
        if selection.second
        else fact
    )


def _with_its_files(check: Check, bench: Bench) -> AbstractContextManager[Bench]:
    """Write the contract's own test files that this check names, and no others, into the room while it runs."""
    own_files = files_named_by(check, bench.held_out_files, bench.folders)
    named = check.files if isinstance(check, TestsCheck | CommandCheck) else ()
    return write_held_out_files(bench, {path: bench.held_out_files[path] for path in sorted(own_files)}, named)


def _variables(check: Check, variables: Mapping[str, str], *, second: bool) -> Mapping[str, str]:
    """The environment variables of a check. Cases and pages run in UTC by default, so that their results do not depend
    on the machine's time zone. In the second turn, UTC has another name (`Etc/UTC`), so that the two turns differ."""
    return {"TZ": "Etc/UTC" if second else "UTC", **variables} if isinstance(check, DATA) else variables


async def _run_once(check: Check, bench: Bench, selection: CaseSelection) -> Fact:
    if isinstance(check, TestsCheck):
        return await tests.run_tests(check, bench, selection)
    if isinstance(check, ExamplesCheck):
        return await examples.run_examples(check, bench, selection)
    if isinstance(check, BrowserCheck):
        return await browser.run_browser_check(check, bench, selection)
    if isinstance(check, CommandCheck):
        return await command.run_command(check, bench, selection)
    if isinstance(check, DependenciesCheck):
        return await run_dependencies(check, bench)
    if isinstance(check, ManualCheck):
        return void_fact("only a person can perform a manual check", Outcomes.BROKEN, "manual")
    assert_never(check)


def distinct_checks(requirements: tuple[Requirement, ...]) -> dict[str, Check]:
    """Hash → check, for all checks that a machine can run. A check that several requirements share is listed once."""
    checks = [check for requirement in requirements for check in requirement.checks if check.kind != "manual"]
    return {check_hash(check): check for check in checks}


@dataclass(frozen=True, slots=True)
class SharedRun:
    """One execution, and the checks that get their results from it."""

    check: Check
    serves: Mapping[str, Check]  # the checks, by their hash
    owners: Mapping[str, Sequence[str]]  # hash → ids of the requirements that have this check


def shared_runs(
    requirements: tuple[Requirement, ...], known: Collection[str], carried: Collection[str] = ()
) -> list[SharedRun]:
    """Group test checks that differ only in the files that they name. Each group runs once.

    `known`: the files of base and contract. A check that names any other file breaks, so it runs alone. `carried`: the
    contract's own test files, which are held out. Checks that name carried files are grouped only with each other. They
    may share a run, because such checks show `tested` at most, and agents never see the files.
    """
    groups: dict[object, dict[str, Check]] = {}
    owners: dict[str, list[str]] = {}
    for requirement in requirements:
        for name in distinct_checks((requirement,)):
            owners.setdefault(name, []).append(requirement.id)
    for name, check in distinct_checks(requirements).items():
        joins = isinstance(check, TestsCheck) and all(_is_known(named, known) for named in check.files)
        hidden = bool(files_named_by(check, carried, {}))
        alike = (check.model_copy(update={"files": ()}), hidden) if joins else name
        groups.setdefault(alike, {})[name] = check
    return [SharedRun(_merge([*checks.values()]), checks, owners) for checks in groups.values()]


def _is_known(named: str, known: Collection[str]) -> bool:
    return any(is_below(path, named) for path in known)


def _merge(checks: list[Check]) -> Check:
    if len(checks) == 1:
        return checks[0]
    files = {name: None for check in checks if isinstance(check, TestsCheck) for name in check.files}
    return checks[0].model_copy(update={"files": tuple(files)})


class EvidenceRecorder:
    """Turns facts into evidence. A check that several requirements share gets one record for each of them."""

    def __init__(self, contract: Contract, interpreter: Interpreter, commit: str, tree: str) -> None:
        self.contract, self.interpreter, self.commit, self.tree = contract, interpreter, commit, tree

    def with_versions(self, more: Mapping[str, str]) -> "EvidenceRecorder":
        """The same recorder, with the versions of packages that only this commit declares."""
        versions = {**self.interpreter.versions, **more}
        return EvidenceRecorder(self.contract, replace(self.interpreter, versions=versions), self.commit, self.tree)

    def record_run(self, shared: SharedRun, fact: Fact, *, turn: int, tainted: bool = False) -> list[Evidence]:
        """The evidence of one run: for each check that the run serves, one record per requirement that has the
        check."""
        return [
            self.record(owner, check, fact, turn=turn, tainted=tainted)
            for name, check in shared.serves.items()
            for owner in shared.owners[name]
        ]

    def record(self, requirement: str, check: Check, fact: Fact, *, turn: int, tainted: bool = False) -> Evidence:
        """The evidence of one run. `tainted`: something held out had already run in the same room."""
        return Evidence(
            id=secrets.token_hex(6),
            requirement=requirement,
            check=check_hash(check),
            kind=check.kind,
            side="base" if self.commit == self.contract.base else "head",
            turn=turn,
            command=fact.command,
            commit=self.commit,
            tree=self.tree,
            interpreter=self.interpreter.description,
            versions={**self._versions(turn), **fact.versions},
            isolation=fact.isolation or "not run",
            room=ROOM,
            exit_code=fact.exit_code,
            tried=fact.tried,
            output=fact.output,
            began=time.time() - fact.seconds,
            seconds=fact.seconds,
            setting=fact.setting,
            artifacts=dict(fact.artifacts),
            pictures=fact.pictures,
            held_out=is_held_out(self.contract, check),
            tainted=tainted,
            why_void=fact.void,
        )

    def _versions(self, turn: int) -> dict[str, str]:
        """The versions to record: in the first turn those of Python and all installed packages. Later turns record only
        Python's and pytest's, because versions do not change between turns."""
        installed = self.interpreter.versions
        listed = installed if turn == 1 else {name: installed[name] for name in ("pytest",) if name in installed}
        return {"python": ".".join(map(str, self.interpreter.version)), **listed}
