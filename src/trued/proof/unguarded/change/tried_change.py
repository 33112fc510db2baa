"""A change that a trial has tried, with what several searches want to know of it."""

from collections.abc import Sequence

from trued.model import Evidence
from trued.proof.trial import CommitTrial
from trued.proof.unguarded.change.base_and_head import BaseAndHead
from trued.proof.unguarded.change.case_calls import CaseCalls
from trued.proof.unguarded.change.changed_files import ChangedFiles
from trued.proof.unguarded.change.existing_tests import ExistingTests
from trued.proof.unguarded.change.unwatched_code import UnwatchedCode


class TriedChange:
    """What searches get: the trial of a change, after it has run, and values that several searches share. What takes
    long to find is found when a search first asks for it.

    `sides`: the files of base and head. `files`: the changed files. `tests`: the existing tests. `calls`: what cases
    call. `unwatched`: the changed code that no check was seen to run.
    """

    def __init__(self, trial: CommitTrial, changed: Sequence[str]) -> None:
        self.trial, self.workspace, self.contract = trial, trial.workspace, trial.contract
        self.sides = BaseAndHead(trial.workspace, trial.contract.base, trial.commit)
        self.files = ChangedFiles(trial, self.sides, changed)
        self.tests = ExistingTests(trial)
        self.calls = CaseCalls.of(trial.due)
        self.unwatched = UnwatchedCode(trial, self.sides, self.files, self.calls)
        self.evidence: tuple[Evidence, ...] = ()  # of red suites, if a search ran them
