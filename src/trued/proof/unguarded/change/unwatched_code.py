"""Finds the changed code that no check was seen to run or reach."""

from collections.abc import Sequence

from trued.model import TestsCheck
from trued.proof.reach.altered_python import reached_names
from trued.proof.run_check import distinct_checks
from trued.proof.text.languages import SCRIPTS
from trued.proof.trial import CommitTrial
from trued.proof.unguarded.change.altered_pieces import altered_pieces
from trued.proof.unguarded.change.base_and_head import BaseAndHead
from trued.proof.unguarded.change.case_calls import CaseCalls
from trued.proof.unguarded.change.changed_files import ChangedFiles
from trued.proof.unguarded.change.named_scripts import aliases_of, named_files, without_suffix
from trued.proof.unguarded.change.pieces import CodePiece, last_part
from trued.proof.unguarded.change.red_suites import TurnedTests


class UnwatchedCode:
    """The changed code of a trial that its checks were not seen to run, on the base or on the head."""

    def __init__(self, trial: CommitTrial, sides: BaseAndHead, files: ChangedFiles, calls: CaseCalls) -> None:
        self._trial, self._sides, self._files, self._calls = trial, sides, files, calls
        self._by_checks: list[CodePiece] | None = None
        checks = {name: check for requirement in trial.due for name, check in distinct_checks((requirement,)).items()}
        self._run_by_tests = frozenset[str]().union(
            *(trial.ran.get(name, ()) for name, check in checks.items() if isinstance(check, TestsCheck))
        )

    async def by_checks(self) -> list[CodePiece]:
        """The changed code that the checks were not seen to run or reach."""
        if self._by_checks is None:
            self._by_checks = await self.by_checks_and(TurnedTests())
        return self._by_checks

    async def by_checks_and(self, turned: TurnedTests) -> list[CodePiece]:
        """The changed code that neither the checks nor the red tests that pass now were seen to run or reach."""
        files_run = turned.ran.union(*self._trial.ran.values())
        code = await self._files.code()
        loaded = [path for path in code if path in files_run and path not in self._run_by_tests]
        scripts = await self._scripts_out_of_reach([path for path in loaded if path not in turned.ran])
        unseen = [path for path in code if path not in files_run]
        return [*map(CodePiece, (*unseen, *scripts)), *await self._altered_out_of_reach(loaded, turned)]

    async def _scripts_out_of_reach(self, loaded: Sequence[str]) -> list[str]:
        """The base's files among `loaded`, except Python, that the entry points of cases do not load on the base,
        directly or through other files. A check loaded such a file only because the head imports it, and an import
        tests nothing."""
        known = await self._sides.blobs_of_base()
        left = [path for path in loaded if path in known and not path.endswith(".py")]
        if not left:
            return []
        texts = await self._sides.texts_of_base(suffixes=SCRIPTS)
        aliases = await aliases_of(self._trial.workspace, self._sides.base)
        to_follow, visited = [without_suffix(call) for call in self._calls.files], set[str]()
        while to_follow:
            name = to_follow.pop()
            if name not in visited:
                visited.add(name)
                to_follow += [
                    file
                    for path, text in texts.items()
                    if without_suffix(path) == name
                    for file in named_files(path, text, aliases)
                ]
        return [path for path in left if without_suffix(path) not in visited]

    async def _altered_out_of_reach(self, loaded: Sequence[str], turned: TurnedTests) -> list[CodePiece]:
        """Code of the base that the head altered in these files, which a check loaded but no test ran. A file that
        loads may still have mistakes. Code is left out if a case's entry point, or a red test that passes now, reaches
        the code on the base."""
        altered = await altered_pieces(self._trial, self._sides, loaded)
        if not altered:
            return []
        texts = await self._sides.texts_of_base()
        reached = reached_names(texts.values(), [*self._calls.names, *turned.names])
        return [piece for piece in altered if last_part(piece.name) not in reached]
