"""Tries the tests that the implementer itself added, where a check names files that the base does not have."""

import base64
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from trued.model import Contract, Evidence, Requirement, TestsCheck
from trued.proof.case_status import GREEN_TURNS, Base, Head, number_of_tests, on_base, on_head
from trued.proof.checks.tests import files_of_check, package_scripts
from trued.proof.room.bench import Bench, CaseSelection, check_hash
from trued.proof.room.clean_room import Graft, clean_room
from trued.proof.room.frozen_files import is_below, is_test
from trued.proof.room.interpreter import Interpreter
from trued.proof.run_check import EvidenceRecorder, run_check
from trued.proof.runners.command_parser import recognise_runner
from trued.proof.seal import run_three_times
from trued.protocols import Workspace

MOST_BYTES = 4 * 2**20


async def try_own_tests(
    workspace: Workspace, contract: Contract, due: tuple[Requirement, ...], commit: str, interpreter: Interpreter
) -> tuple[dict[str, int], list[Evidence]]:
    """For each requirement: how many of the head's own tests fail on the base and pass here; and the evidence."""
    found: dict[str, int] = {}
    evidence: list[Evidence] = []
    for requirement in due:
        for check in requirement.checks:
            brought = await _brought(workspace, contract, commit, check) if isinstance(check, TestsCheck) else {}
            if not brought or not isinstance(check, TestsCheck):
                continue
            sides = BothSides(workspace, _unnamed(contract), commit, interpreter, brought)
            facts = await run_on_both_sides(sides, requirement, check)
            stood = on_base([one for one in facts if one.side == "base"])
            here = [one for one in facts if one.side == "head"]
            proving = [name for name, state in stood.items() if state is Base.RED]
            green = [name for name in proving if on_head(name, here)[0] is Head.PASSED]
            found[requirement.id] = found.get(requirement.id, 0) + sum(number_of_tests(name, here) for name in green)
            evidence += facts
    return found, evidence


async def _brought(workspace: Workspace, contract: Contract, commit: str, check: TestsCheck) -> dict[str, str]:
    """The files that the check is about, where the head has them all and the base not all of them."""
    wanted = await _wanted(workspace, contract, commit, check)
    here = await workspace.blobs(commit) if wanted else {}
    if not all(any(is_below(path, named) for path in here) for named in wanted):
        return {}
    contents = {
        path: await workspace.read(commit, path) or b"" for path in here if any(is_below(path, one) for one in wanted)
    }
    if sum(map(len, contents.values())) > MOST_BYTES:
        return {}
    return {path: base64.b64encode(content).decode() for path, content in contents.items()}


async def _wanted(workspace: Workspace, contract: Contract, commit: str, check: TestsCheck) -> list[str]:
    """What the base lacks of it. A command that names no file is about all tests, where the base has none at all."""
    known = {*await workspace.blobs(contract.base), *contract.carried}
    asked = recognise_runner(check.command, package_scripts(await workspace.read(contract.base, "package.json")))
    if files := files_of_check(check, asked):
        return [one for one in files if not any(is_below(path, one) for path in known)]
    base = [one for fact in contract.base_facts if fact.check == check_hash(check) for one in fact.tried]
    if not base or any(one.kind != "nothing collected" for one in base):
        return []
    return [path for path in await workspace.blobs(commit) if path not in known and is_test(path)]


def _unnamed(contract: Contract) -> Contract:
    """A file that a check names and the base does not have is the head's to bring."""
    return contract.model_copy(update={"frozen": {path: blob for path, blob in contract.frozen.items() if blob}})


@dataclass(frozen=True, slots=True)
class BothSides:
    """Base and head, with the head's own tests laid over both, and without tests that came with the contract."""

    workspace: Workspace
    contract: Contract
    commit: str
    interpreter: Interpreter
    brought: Mapping[str, str]

    def room(self, commit: str) -> AbstractAsyncContextManager[tuple[Bench, Graft]]:
        """A clean room of one of the two commits, with these tests in it."""
        return clean_room(self.workspace, self.contract, commit, self.interpreter, over=self.brought)


async def run_on_both_sides(sides: BothSides, requirement: Requirement, check: TestsCheck) -> list[Evidence]:
    """Evidence of the head's own tests: run three times on the base and twice on the head."""
    contract, carried = sides.contract, sides.contract.carried
    files = tuple(one for one in check.files if not any(is_below(path, one) for path in carried))
    alone = check.model_copy(update={"files": files}) if files else check
    async with sides.room(contract.base) as (bench, _):
        red = await run_three_times(alone, bench)
    ids = tuple(dict.fromkeys(one.id for fact in red for one in fact.tried))
    async with sides.room(sides.commit) as (bench, _):
        green = [await run_check(alone, bench, CaseSelection(ids, second=turn > 0)) for turn in range(GREEN_TURNS)]
    found = []
    for side, facts in ((contract.base, red), (sides.commit, green)):
        recorder = EvidenceRecorder(contract, sides.interpreter, side, await sides.workspace.tree(side))
        found += [recorder.record(requirement.id, check, fact, turn=turn) for turn, fact in enumerate(facts, start=1)]
    return found
