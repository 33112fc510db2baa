"""CountedTests: how many tests of a command pass, counted by the engine; an agent or a user named the command."""

import posixpath
from typing import TYPE_CHECKING

from trued.model import Figures, Finding, Value
from trued.proof.checks.tests import package_scripts
from trued.proof.text.command_parser import package_folder, recognise_runner

if TYPE_CHECKING:  # avoids an import cycle: a branch is part of a run, and runs count tests
    from trued.run.branch import Branch

OUTPUT = 1_500  # at most this many characters of what failing tests printed
ENGINE = "run by the engine"
TEST_FILES = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".go", ".rb")


class CountedTests(Value):
    """How the tests of one command ended on the newest commit. They can add a gap; they prove nothing."""

    command: str
    figures: Figures
    missing: tuple[str, ...] = ()  # test files that the command names and the commit does not have

    @property
    def problem(self) -> str:
        """Why not all tests pass, in one sentence that begins with the command."""
        if self.figures.total:
            return f"`{self.command}`: {self.figures.passing} of {self.figures.total} tests pass"
        if self.missing:
            return f"`{self.command}`: {', '.join(self.missing)} is not there"
        return f"`{self.command}`: {self.figures.why or 'no test was collected'}"

    @property
    def gaps(self) -> tuple[Finding, ...]:
        """A gap for the agent that has to fix the tests; none if all pass."""
        return () if self.figures.good else (Finding(what=self.problem, where=ENGINE),)

    @property
    def gaps_with_output(self) -> tuple[Finding, ...]:
        """The same as `gaps`, with the tests' output."""
        output = f":\n{self.figures.said[:OUTPUT]}" if self.figures.said else ""
        return tuple(gap.model_copy(update={"where": f"{ENGINE}{output}"}) for gap in self.gaps)


def missing_test_files(command: str, paths: set[str]) -> tuple[str, ...]:
    """Test files that a command names and that are not among the paths."""
    return tuple(word for word in command.split() if word.endswith(TEST_FILES) and word not in paths)


async def is_countable(branch: "Branch", command: str) -> bool:
    """Whether the command starts a runner whose tests the engine can count. A package script is resolved as the base
    defines it."""
    folder = package_folder(command)
    manifest = await branch.read(posixpath.join(folder, "package.json"), at=branch.base) or ""
    return recognise_runner(command, package_scripts(manifest.encode()), of=folder) is not None
