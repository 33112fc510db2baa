"""CountedTests: how many tests pass in a command that an agent or a user names. The engine counts them."""

from trued.model import Figures, Finding, Value

OUTPUT = 1_500  # characters of failing tests' output: enough for one traceback, and a brief stays short
ENGINE = "run by the engine"
TEST_FILES = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".go", ".rb")


class CountedTests(Value):
    """How the tests of one command ended on the newest commit. The tests can add a gap, but prove nothing."""

    command: str
    figures: Figures
    base: Figures = Figures()  # of the same command on the base, if tests are skipped
    missing: tuple[str, ...] = ()  # test files that are part of the command, but not of the commit

    @property
    def good(self) -> bool:
        """Whether all tests pass, apart from those that the base skips, too."""
        return self.figures.good_beside(self.base)

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
        return () if self.good else (Finding(what=self.problem, where=ENGINE),)

    @property
    def gaps_with_output(self) -> tuple[Finding, ...]:
        """`gaps`, with the output of the tests."""
        output = f":\n{self.figures.said[:OUTPUT]}" if self.figures.said else ""
        return tuple(gap.model_copy(update={"where": f"{ENGINE}{output}"}) for gap in self.gaps)


def missing_test_files(command: str, paths: set[str]) -> tuple[str, ...]:
    """The test files in a command that are not among the `paths` of the commit."""
    return tuple(word for word in command.split() if word.endswith(TEST_FILES) and word not in paths)
