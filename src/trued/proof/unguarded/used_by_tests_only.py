"""Searches for the reason `used_by_tests_only`."""

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from trued.proof.hashes import check_hash
from trued.proof.text.languages import CODE
from trued.proof.trial import CommitTrial
from trued.proof.unguarded.altered_helpers import Undoing, altered_helpers
from trued.proof.unguarded.change.changed_files import is_manifest_of_code
from trued.proof.unguarded.change.tried_change import TriedChange

MOST_HELPERS = 8  # at most this many changed test helpers are undone, because existing tests run twice for each of them
# More than `FEW_HELPERS` are undone only if all these runs of the existing tests take no longer than `LONGEST_S`.
FEW_HELPERS, LONGEST_S = 4, 1800.0


async def used_by_tests_only(tried: TriedChange) -> list[str]:
    """Catches a change that empties a helper of tests, or their expected results, outside the folders of tests: the
    tests pass, and no longer notice mistakes. This search runs existing tests again.

    Returns the changed files that only existing tests use on the base, and that may hide mistakes from these tests. To
    undo a change means that the tests run with the base's version of the file. If the tests fail when a file is
    undone, the file is returned. If they fail only when several files are undone together, or if there are too many
    files to try, all files are returned.
    """
    known = await tried.sides.blobs_of_base()
    # A package.json of code belongs to the code, not to tests.
    code = [path for path in await tried.files.code() if not is_manifest_of_code(path, known)]
    suspects = await altered_helpers(tried.workspace, tried.contract, tried.trial.commit, code)
    groups = _groups_of_suspects(suspects)
    runs = 2 * len(groups) + 1
    took_s = runs * _seconds_of_existing_tests(tried.trial)
    if len(groups) > MOST_HELPERS or (len(groups) > FEW_HELPERS and took_s > LONGEST_S):
        return list(suspects)
    # A suspect may be a helper or a part of the product, so one suspect may have a mistake that others hide.
    # First each helper is undone while all others stay, because two changes may cancel each other out.
    undoings_of_groups = [[suspects[path] for path in paths] for paths in groups]
    hiding = [
        paths
        for paths, undoings in zip(groups, undoings_of_groups, strict=True)
        if await _hides_failures(tried.trial, undoings)
    ]
    if hiding or len(groups) < 2:
        return [path for paths in hiding for path in paths]
    # Then all suspects are undone together, because each of several helpers may hide the same failure. At last all
    # suspects but one are undone, because this one may have the mistake that all others hide.
    combinations = [[*suspects.values()]]
    if len(groups) > 2:  # of two, each was undone alone already
        combinations += [
            [undoing for others in undoings_of_groups if others is not left_out for undoing in others]
            for left_out in undoings_of_groups
        ]
    for undoings in combinations:
        if await _hides_failures(tried.trial, undoings):
            return list(suspects)
    return []


def _groups_of_suspects(suspects: Iterable[str]) -> list[list[str]]:
    """The groups in which suspects are undone. Each suspect is a group of its own; but if there are many suspects, all
    data files of one folder are one group."""
    paths = [*suspects]
    if len(paths) <= MOST_HELPERS:
        return [[path] for path in paths]
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(path if path.endswith(CODE) else f"{PurePosixPath(path).parent}/", []).append(path)
    return [*groups.values()]


def _seconds_of_existing_tests(trial: CommitTrial) -> float:
    """How long all existing tests took on the base."""
    names = [check_hash(check) for suite in trial.contract.suites for check in suite.checks]
    seconds = [[fact.seconds for fact in trial.base_facts if fact.check == name] for name in names]
    return sum(max(runs_s, default=0.0) for runs_s in seconds)


async def _hides_failures(trial: CommitTrial, undone: Sequence[Undoing]) -> bool:
    """Whether existing tests fail if these changes are undone.

    Tests may fail with the base's version of a file only because other code of the head needs definitions that the
    head added to the file. So the tests run again with these definitions added to the base's version, and must fail
    again."""
    files = {path: blob for undoing in undone for path, blob in undoing.files.items()}
    grown = {path: text for undoing in undone for path, text in undoing.grown.items()}
    if not await trial.tests_failing_with(files):
        return False
    return not grown or bool(await trial.tests_failing_with(files, grown))
