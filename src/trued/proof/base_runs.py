"""Runs the checks of a contract on the base, and repeats failed cases: only what fails each time counts as red."""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import replace

from trued.model import Check, Contract, Evidence, Outcomes, Tried
from trued.model.events.proof import BaseFactsReused, CheckSealed
from trued.proof.advice import project_files
from trued.proof.fact_cache import FactCache, artifact_hashes
from trued.proof.hashes import check_hash
from trued.proof.room.bench import ROOM, Bench, CaseSelection, Fact
from trued.proof.room.clean_room import clean_room
from trued.proof.room.files_in_room import footprint
from trued.proof.room.held_out import DATA
from trued.proof.room.interpreter import Interpreter
from trued.proof.run_check import EvidenceRecorder, SharedRun, distinct_checks, run_check, shared_runs
from trued.proof.verdict.case_status import NOT_OUR_FAILURE, RED_TURNS, Base, on_base
from trued.proof.verdict.missing import machine_lacks
from trued.protocols import Emit, Workspace

SLOW_TURNS = 2  # at most this many extra runs for cases that took too long
RUNNERS_START_S = 1.0  # seconds that a test runner takes to start, even when it reruns only the failed tests
COPY_S = 0.0001  # seconds to copy and remove one file of a room
BESIDE_THE_SECOND = "at the same time as the second run, in a copy of its checkout"


async def facts_of_base(
    workspace: Workspace, contract: Contract, interpreter: Interpreter, tell: Emit, taken_before: Sequence[Evidence]
) -> tuple[Evidence, ...]:
    """The results of the contract's checks on the base. They come from the cache if the same checks ran on the same
    tree before, otherwise from a new run.

    `taken_before`: results on this base that the caller already has. If there are any, the cache is not read, and only
    checks without a result among them run.
    """
    tree, level = await workspace.tree(contract.base), workspace.confinement().level
    baseline = FactCache(workspace.kept)
    if not taken_before and (facts := baseline.of_base(contract, tree, level)):
        for name in artifact_hashes(facts):
            await workspace.save_artifact(baseline.artifact(contract, tree, level, name))
        tell(BaseFactsReused(checks=len({fact.check for fact in facts})))
        return facts
    facts = await _run_on_base(workspace, contract, interpreter, tell, taken_before)
    if workspace.missing_content(contract.base):  # not cached: another clone may have this submodule or large file
        return facts
    if baseline.keep_base(contract, tree, level, facts):
        for name in artifact_hashes(facts):
            baseline.keep_artifact(contract, tree, level, await workspace.load_artifact(name) or b"")
    return facts


async def _run_on_base(
    workspace: Workspace, contract: Contract, interpreter: Interpreter, tell: Emit, taken_before: Sequence[Evidence]
) -> tuple[Evidence, ...]:
    recorder = EvidenceRecorder(contract, interpreter, contract.base, await workspace.tree(contract.base))
    names = {name for requirement in contract.every for name in distinct_checks((requirement,))}
    evidence = [fact for fact in taken_before if fact.check in names and fact.room == ROOM]
    before = {(fact.requirement, fact.check) for fact in evidence}
    unfinished = tuple(
        requirement.model_copy(
            update={
                "checks": tuple(
                    check for check in requirement.checks if (requirement.id, check_hash(check)) not in before
                )
            }
        )
        for requirement in contract.every
    )
    if not distinct_checks(unfinished):
        return tuple(evidence)
    files = await project_files(workspace, contract.base)
    known = {*files.paths, *contract.carried}
    async with clean_room(workspace, contract, contract.base, interpreter, held_out_files=contract.carried) as (
        bench,
        _,
    ):
        runs = shared_runs(unfinished, known)
        taken: dict[str, list[Evidence]] = {}

        async def take(some: Iterable[SharedRun], bench: Bench) -> None:
            for shared in some:
                facts = await run_on_base(shared, bench, recorder)
                for name, check in shared.serves.items():
                    taken[name] = [fact for fact in facts if fact.check == name]
                    serves = tuple(shared.owners[name])
                    cases = _count_states(on_base([fact for fact in taken[name] if fact.requirement == serves[0]]))
                    lacks = tuple(str(files.advise(part)) for part in machine_lacks(check, taken[name]))
                    tell(CheckSealed(check=name[:12], sort=check.kind, serves=serves, cases=cases, lacks=lacks))

        # As on the head, cases run in a room in which no test has run before.
        cases = [shared for shared in runs if isinstance(shared.check, DATA)]
        others = [shared for shared in runs if shared not in cases]
        if cases and others and await _can_run_two(bench):
            async with workspace.copy_of_room(bench.room) as beside:
                await _both(take(others, bench), take(cases, bench.moved_to(beside)))
        else:
            await take([*cases, *others], bench)
    return (*evidence, *(fact for shared in runs for name in shared.serves for fact in taken[name]))


async def _can_run_two(bench: Bench) -> bool:
    """Whether two runs may happen at the same time, each in its own copy of the room. Two cores must be idle. No
    preparation may have run in the room, because a preparation may write the room's path into files."""
    return not (bench.prepared or bench.broken) and await bench.workspace.can_run_side_by_side()


async def _both(first: Awaitable[None], second: Awaitable[None]) -> None:
    """Await both. If one of them raises an error, cancel the other before the error is raised here."""
    tasks = [asyncio.ensure_future(first), asyncio.ensure_future(second)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def run_on_base(shared: SharedRun, bench: Bench, recorder: EvidenceRecorder) -> list[Evidence]:
    """Run a check in this room of the base, and record every run for all checks that share it. Failed cases run at
    least `RED_TURNS` times."""
    facts = await run_and_repeat_failures(shared.check, bench)
    return [
        evidence
        for turn, fact in enumerate(facts, start=1)
        for evidence in recorder.record_run(shared, fact, turn=turn)
    ]


async def run_and_repeat_failures(check: Check, bench: Bench) -> list[Fact]:
    """Run all cases once, and failed cases again until they ran at least `RED_TURNS` times, because a failure by chance
    must not count as red. Returns one fact for each run."""
    facts = [await run_check(check, bench, CaseSelection(on_base=True))]
    suspects = tuple(result.id for result in facts[0].tried if _is_to_be_repeated(result))
    facts += await _repeat_failures(check, bench, facts[0], suspects) if suspects else []
    for _ in range(SLOW_TURNS):  # retry cases that took too long in some of these runs: the machine may be busy
        if not (late_ids := tuple(name for name in suspects if _is_late(name, facts))):
            break
        facts.append(await run_check(check, bench, CaseSelection(ids=late_ids, on_base=True)))
    return facts


async def _repeat_failures(check: Check, bench: Bench, first: Fact, suspects: tuple[str, ...]) -> list[Fact]:
    """Run the failed cases again, so that they ran at least `RED_TURNS` times in all. If two cores are idle and it
    saves time, two of these runs happen at the same time.

    If both parallel runs have the same results as the first run, they count towards `RED_TURNS`. If one of them left
    files in the checkout, one more run follows, to see whether it fails with these files, too. If the results differ,
    the parallel runs do not count, and `RED_TURNS` - 1 runs follow, one after the other. Every run is recorded, and a
    single pass makes the case unstable.
    """
    again = RED_TURNS - 1
    selection = CaseSelection(ids=suspects, on_base=True)
    before = footprint(bench.room, besides=bench.frozen)
    first_results = {name: result for name, result in _results(first).items() if name in suspects}
    again_s = min(
        first.seconds, RUNNERS_START_S + sum(result.seconds for result in first.tried if result.id in suspects)
    )
    saved_s = again_s - COPY_S * len(before)
    parallel = again >= 2 and not bench.prepared and saved_s > 0
    if not parallel or not await bench.workspace.can_run_side_by_side(saved_s):
        return [await run_check(check, bench, selection) for _ in range(again)]
    async with bench.workspace.copy_of_room(bench.room) as room:
        second, third = await asyncio.gather(
            run_check(check, bench, selection), run_check(check, bench.moved_to(room), selection)
        )
    if _results(second) == _results(third) == first_results:
        more = max(again - 2, 0 if footprint(bench.room, besides=bench.frozen) == before else 1)
    else:
        more = again
    later = [await run_check(check, bench, selection) for _ in range(more)]
    return [second, replace(third, setting=BESIDE_THE_SECOND), *later]


def _results(fact: Fact) -> dict[str, tuple[Outcomes, str]]:
    return {result.id: (result.outcome, result.kind) for result in fact.tried}


def _is_late(name: str, facts: Sequence[Fact]) -> bool:
    """Whether the machine or a limit made this case fail in some runs, and too few other runs are left to call the case
    red."""
    kinds = [result.kind for fact in facts for result in fact.tried if result.id == name]
    slow = sum(kind in NOT_OUR_FAILURE for kind in kinds)
    return bool(slow) and len(kinds) - slow < RED_TURNS


def _is_to_be_repeated(result: Tried) -> bool:
    """Whether the case failed, or lacks a module that the head may add."""
    lacking = result.outcome is Outcomes.UNJUDGED and bool(result.missing_module)
    return (result.outcome in (Outcomes.FAILED, Outcomes.MISSING) and result.kind not in NOT_OUR_FAILURE) or lacking


def _count_states(states: Mapping[str, Base]) -> dict[str, int]:
    return {str(state): list(states.values()).count(state) for state in dict.fromkeys(states.values())}
