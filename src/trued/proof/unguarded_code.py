"""Finds changed code in which no check would notice a mistake.

Existing tests guard the base's code. Where they cannot be run, or fail before and after the change, nothing guards it:
a requirement is then no better than `tested`, unless the user's cases reach that code.
"""

from collections.abc import Sequence

from trued.model import CallCase, Evidence, ExamplesCheck, TestsCheck
from trued.proof.altered_code import MODULE, altered_names, names_of_tests, reached_names
from trued.proof.case_status import Base, Head, on_base, on_head
from trued.proof.commit_texts import MOST_FILES, as_text
from trued.proof.judge import is_superseded
from trued.proof.red_suites import TurnedTests, turned_tests
from trued.proof.room.bench import check_hash
from trued.proof.room.environment import interpreter_of
from trued.proof.room.frozen_files import is_test
from trued.proof.run_check import distinct_checks
from trued.proof.trial import CommitTrial, is_out_of_sight
from trued.proof.unverified import CODE


class UnguardedCode:
    """The changed code of a trial that nothing guards. `turned`: evidence of red suites that were run to find out."""

    def __init__(self, trial: CommitTrial, changed: Sequence[str]) -> None:
        self.trial, self.workspace, self.contract = trial, trial.workspace, trial.contract
        self.changed = [path for path in changed if not is_test(path)]
        self.turned: tuple[Evidence, ...] = ()

    async def never_run(self) -> dict[str, list[str]]:
        """Requirement → changed code that was not seen to run, if tests that may reach it could not be run."""
        if not self.contract.unguarded:
            return {}
        left = await self._unwatched(TurnedTests())
        if left and self.contract.red_suites:
            interpreter = await interpreter_of(self.workspace, self.contract)
            turned = await turned_tests(self.workspace, self.contract, self.trial.commit, interpreter)
            self.turned = turned.facts
            left = await self._unwatched(turned)
        return self._by_requirement(left)

    async def behind_failing_tests(self) -> dict[str, list[str]]:
        """Requirement → code of the base that the head altered and that is reached only by existing tests that pass
        neither on the base nor here: such a test cannot notice a mistake."""
        failing, passing = await self._names_in_tests()
        if not failing:
            return {}
        altered = [one for one in await self._altered(self.changed) if one[1] != MODULE]
        if not altered:
            return {}
        texts = await self._texts_on_base(tests=True)
        behind = reached_names(texts, failing) - reached_names(texts, [*self._entry_points(), *passing])
        return self._by_requirement([f"{path} ({name})" for path, name in altered if _last_part(name) in behind])

    def _by_requirement(self, code: list[str]) -> dict[str, list[str]]:
        """The same code for each requirement, without those whose cases run code that cannot be seen: a command line,
        a server, a page."""
        return {one.id: code for one in self.trial.due if code and not any(map(is_out_of_sight, one.checks))}

    async def _unwatched(self, turned: TurnedTests) -> list[str]:
        ran = turned.ran.union(*self.trial.ran.values())
        code = [path for path in self.changed if path.endswith(CODE)]
        loaded = [path for path in code if path in ran]
        return [path for path in code if path not in ran] + await self._altered_out_of_reach(loaded, turned)

    async def _altered_out_of_reach(self, loaded: Sequence[str], turned: TurnedTests) -> list[str]:
        """Code of the base that the head altered, in files that no test ran, and that no entry point of a case or of a
        red test that passes now reaches on the base. That a file was loaded does not show that it works."""
        checks = {name: check for one in self.trial.due for name, check in distinct_checks((one,)).items()}
        tested = [self.trial.ran.get(name, frozenset()) for name, one in checks.items() if isinstance(one, TestsCheck)]
        altered = await self._altered([path for path in loaded if path not in frozenset[str]().union(*tested)])
        if not altered:
            return []
        reached = reached_names(await self._texts_on_base(), [*self._entry_points(), *turned.names])
        return [f"{path} ({name})" for path, name in altered if _last_part(name) not in reached]

    async def _names_in_tests(self) -> tuple[frozenset[str], frozenset[str]]:
        """The names used by existing tests that pass neither on the base nor here, and those used by all others."""
        failing, passing = list[str](), list[str]()
        for check in (check for one in self.contract.suites for check in one.checks):
            base = [one for one in self.trial.base_facts if one.check == check_hash(check)]
            here = [one for one in self.trial.evidence if one.check == check_hash(check)]
            for name, stood in on_base(base, self.trial.own_modules).items():
                idle = stood is not Base.GUARD and on_head(name, here)[0] is not Head.PASSED
                (failing if idle and not self._is_superseded(name) else passing).append(name)
        files = {name.split("::")[0] for name in failing}
        if not any(path.endswith(".py") for path in files):
            return frozenset(), frozenset()
        files |= {name.split("::")[0] for name in passing}
        contents = await self.workspace.read_all(self.contract.base, files)
        texts = {path: as_text(content) for path, content in contents.items()}
        return names_of_tests(texts, failing), names_of_tests(texts, passing)

    def _is_superseded(self, name: str) -> bool:
        return any(is_superseded(name, test) for one in self.contract.requirements for test in one.supersedes)

    async def _altered(self, paths: Sequence[str]) -> list[tuple[str, str]]:
        """File and name of each piece of the base's Python code that the head altered. A new file alters it, too, if it
        runs more than definitions when it is loaded."""
        code = [path for path in paths if path.endswith(".py")]
        before = await self.workspace.read_all(self.contract.base, code)
        after = await self.workspace.read_all(self.trial.commit, code)
        return [
            (path, name)
            for path in code
            for name in sorted(altered_names(as_text(before.get(path, b"")), as_text(after.get(path, b""))))
        ]

    async def _texts_on_base(self, *, tests: bool = False) -> list[str]:
        """The texts of the base's Python files, with or without tests and their helpers."""
        known = [path for path in await self.workspace.blobs(self.contract.base) if path.endswith(".py")]
        wanted = [path for path in known if tests or not is_test(path)][:MOST_FILES]
        return [as_text(one) for one in (await self.workspace.read_all(self.contract.base, wanted)).values()]

    def _entry_points(self) -> list[str]:
        """The names of the functions and classes that call cases name."""
        checks = [check for one in self.trial.due for check in one.checks if isinstance(check, ExamplesCheck)]
        called = [case.call.partition(":")[2] for one in checks for case in one.cases if isinstance(case, CallCase)]
        return [part for one in called for part in one.split(".")]


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]
