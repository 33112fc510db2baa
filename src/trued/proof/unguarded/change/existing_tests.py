"""The existing tests of a trial, in two groups: those that guard something, and those that are idle."""

from trued.proof.hashes import check_hash
from trued.proof.trial import CommitTrial
from trued.proof.verdict.case_status import Base, Head, on_base, on_head
from trued.proof.verdict.judge import is_superseded


class ExistingTests:
    """The existing tests of a trial that has run.

    `idle`: the tests that pass neither on the base nor on the head, or that no check collects. They notice no mistake.
    `guarding`: all other tests that checks run, and superseded tests, which never count as idle.
    """

    def __init__(self, trial: CommitTrial) -> None:
        self._requirements = trial.contract.requirements
        self.idle = [test for test in trial.contract.uncollected if not self.is_superseded(test)]
        self.guarding = list[str]()
        for name in (check_hash(check) for suite in trial.contract.suites for check in suite.checks):
            before = [fact for fact in trial.base_facts if fact.check == name]
            here = [fact for fact in trial.evidence if fact.check == name]
            for test, state in on_base(before, trial.room.new_modules).items():
                is_idle = state is not Base.GUARD and on_head(test, here)[0] is not Head.PASSED
                (self.idle if is_idle and not self.is_superseded(test) else self.guarding).append(test)

    def is_superseded(self, test: str) -> bool:
        """Whether a requirement of the contract says that this test no longer counts."""
        return any(is_superseded(test, other) for requirement in self._requirements for other in requirement.supersedes)
