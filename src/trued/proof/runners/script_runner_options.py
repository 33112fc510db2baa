"""Builds command lines of vitest, jest and mocha from the user's command, with the path of the report. Does no I/O."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from trued.support.lazy_regex import lazy_regex

MOCHA_REPORTER = Path(__file__).parents[1] / "probes" / "mocha_reporter.cjs"
NEWEST = 1000  # for a version that is not known
NEGATES = 6  # since this version mocha has options like `--no-bail`; before, it ends with an error because of them
JEST_START = MOCHA_REPORTER.with_name("jest_start.cjs")
JEST_VARIABLE = "TRUED_JEST"  # tells `JEST_START` what to start, and with which options
REPORT_VARIABLE = "TRUED_REPORT"  # tells `MOCHA_REPORTER` the path of the report
# Options for a reporter, coverage or watching. They are dropped, because the engine has its own reporter and counts
# every test.
_DROPPED = lazy_regex(r"--?(reporters?|outputFile|coverage|json|watch|watchAll|ui|reporter-options?|R|O)([.=].*)?")
_BAIL = lazy_regex(r"--bail(=.*)?")
_VALUED: Mapping[str, frozenset[str]] = {  # options whose value may be a separate word
    "vitest": frozenset(
        (
            *("-c", "--config", "-r", "--root", "--dir", "--project", "--environment", "--mode", "--pool", "--retry"),
            *("--workspace", "-w", "--testTimeout", "--hookTimeout", "--exclude", "--maxWorkers", "--minWorkers"),
            *("-t", "--testNamePattern", "--shard"),
        )
    ),
    "jest": frozenset(
        (
            *("-c", "--config", "--rootDir", "--roots", "-w", "--maxWorkers", "--env", "--testEnvironment", "--preset"),
            *("--projects", "--selectProjects", "--ignoreProjects", "--setupFiles", "--setupFilesAfterEnv", "--runner"),
            *("--testRunner", "--testTimeout", "--transform", "--moduleNameMapper", "--testMatch", "--testRegex"),
            *("--globals", "--seed", "--testEnvironmentOptions", "--modulePaths", "--testPathIgnorePatterns"),
            *("-t", "--testNamePattern", "--testPathPattern", "--testPathPatterns", "--shard", "--changedSince"),
        )
    ),
    "mocha": frozenset(
        (
            *("-r", "--require", "--import", "--loader", "-t", "--timeout", "--config", "--package", "--extension"),
            *("-u", "--ui", "--file", "--ignore", "--exclude", "-s", "--slow", "-n", "--node-option", "--retries"),
            *("-j", "--jobs", "--opts", "--spec", "-g", "--grep", "-f", "--fgrep"),
        )
    ),
}
# Options that choose tests. They are dropped if the engine has chosen the files.
_CHOOSING: Mapping[str, frozenset[str]] = {
    "vitest": frozenset(("-t", "--testNamePattern", "--shard", "--changed", "run", "watch", "dev", "related")),
    "jest": frozenset(
        (
            *("-t", "--testNamePattern", "--testPathPattern", "--testPathPatterns", "--shard", "--changedSince"),
            *("-o", "--onlyChanged", "--findRelatedTests", "--runTestsByPath", "-f", "--onlyFailures"),
        )
    ),
    "mocha": frozenset(("--spec", "-g", "--grep", "-f", "--fgrep", "-i", "--invert", "--forbid-only")),
}


def runner_arguments(
    runner: str, arguments: Sequence[str], report: str, files: Sequence[str], *, second: bool, major: int = NEWEST
) -> list[str]:
    """The arguments for one run. `files`: run only these files. `second`: run in another order. `major`: the
    runner's version. For mocha, the path of the report must also be in `REPORT_VARIABLE`."""
    kept_arguments = [
        argument
        for argument in _kept(runner, arguments)
        if not _BAIL.fullmatch(argument) and (argument, runner) != ("-b", "mocha")
    ]
    selected_arguments = [*_options(runner, kept_arguments), *files] if files else kept_arguments
    match runner:
        case "vitest":
            selected_arguments = [
                argument for argument in selected_arguments if argument not in ("run", "watch", "dev")
            ]
            order = ["--sequence.shuffle.tests", "--sequence.shuffle.files"] if second else []
            return ["run", *selected_arguments, *order, "--bail=0", "--reporter=junit", f"--outputFile={report}"]
        case "jest":
            order = ["--randomize"] if second and not files else []
            engine_options = ["--ci", "--json", f"--outputFile={report}", "--coverage=false", "--bail=0", *order]
            return [*engine_options, *(["--runTestsByPath"] if files else []), *selected_arguments]
        case _:
            order = ["--sort"] if second else []  # mocha sorts only with --no-parallel
            engine_options = ["--no-parallel", "--no-bail"] if major >= NEGATES else []
            return [*selected_arguments, *order, *engine_options, "--reporter", str(MOCHA_REPORTER)]


def _kept(runner: str, arguments: Sequence[str]) -> list[str]:
    """The arguments without options for reporters, coverage and watching (`_DROPPED`), and without their values."""
    kept: list[str] = []
    skipping = False
    for word in arguments:
        if skipping and not word.startswith("-"):
            skipping = False
            continue
        match = None if runner == "mocha" and word.startswith("--ui") else _DROPPED.fullmatch(word)
        skipping = bool(match) and "=" not in word and not word.startswith(("--coverage", "--watch", "--json", "--ui"))
        if not match:
            kept.append(word)
    return kept


def _options(runner: str, arguments: Sequence[str]) -> list[str]:
    """The command's options, except those that choose files or tests. The remaining options decide how files are
    loaded."""
    options: list[str] = []
    words = list(arguments)
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            continue
        value = [words.pop(0)] if word in _VALUED[runner] and words else []
        if word.partition("=")[0] not in _CHOOSING[runner]:
            options += [word, *value]
    return options
