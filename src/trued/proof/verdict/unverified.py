"""Warnings: what the checks of a verdict could not cover. Reports list warnings. They change no grade. Does no I/O."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trued.model import (
    BrowserCheck,
    CommandCheck,
    Contract,
    ExamplesCheck,
    FactNote,
    Grade,
    Judged,
    Requirement,
    TestsCheck,
)
from trued.proof.hashes import check_hash
from trued.proof.room.frozen_files import is_test
from trued.proof.text.languages import CODE
from trued.support.lazy_regex import lazy_regex
from trued.support.plurals import counted
from trued.support.shell_words import started_commands

MOST_LINES = 12  # at most this many warnings of one sort are listed; more would make the report unreadable
LONGEST = 120
# What a line of code may depend on besides its arguments → regular expressions that recognise such a line.
SURROUNDINGS: Mapping[str, tuple[str, ...]] = {
    "the date": (
        r"\b(now|utcnow|today|time|time_ns|localtime|gmtime)\(\)",
        *(r"\bDate\.now\b", r"\bnew Date\(\)", r"\bdate \+", r"\btime\.(Now|Since|Until)\("),
    ),
    "the host": (
        *("gethostname", "getfqdn", r"platform\.node", r"os\.uname", r"os\.[hH]ostname", r"\$HOSTNAME"),
        *(r"getuser\(", r"getlogin\(", r"\buser\.Current\("),
    ),
    "its environment": (
        r"os\.environ",
        r"getenv\(",
        r"process\.env\b",
        r"os\.(Getenv|LookupEnv|Environ|ExpandEnv)\b",
        r"ENV\[",
    ),
    "where it runs": (
        r"\bgetcwd\(",
        r"\b(Path|process)\.cwd\(",
        r"os\.Getwd\(",
        r"\b[gG]et(p?pid|sid|pgid|pgrp|e?[ug]id|groups)\(",  # small process ids reveal a sandbox
        *(
            r"\bprocess\.(p?pid|get(e?[ug]id|groups))\b",
            r"\bp?rlimit\(",
            r"\b[gs]etrlimit\b",
            r"\b(statvfs|disk_usage)\(",
        ),
        *(r"\bisatty\(", r"\bisTTY\b", r"/proc/|/sys/(class|fs|kernel|devices)\b|/dev/(?!null\b)"),
    ),
    "whether it is being tested": (
        *("PYTEST_", "pytest", "unittest", r"sys\.modules", r"sys\.gettrace", "currentframe", "_getframe"),
        *("NODE_TEST", "JEST_WORKER", r"\bVITEST\b", "TRUED_", r"import\.meta\.vitest", r"process\.execArgv"),
        *(r"\btesting\.\w+\(", r"\"testing\"", r"\bflag\.Lookup\(", r"\bos\.Args\[0\]"),  # Go
    ),
    "how it is built": (r"^\s*//\s*(go:build|\+build)\b",),  # checks build Go without cgo, which may select other files
    "chance": (r"\brandom\.", r"\bMath\.random", r"\bsecrets\.", r"\buuid\.", r"\burandom\(", r"\brand\.[A-Z]\w*\("),
}
# Words of a requirement that no check can measure.
VAGUE_WORDS = (
    *("properly", "nicely", "nice", "fast", "quick", "quickly", "robust", "robustly", "clean", "cleanly"),
    *("user-friendly", "intuitive", "appropriate", "appropriately", "as needed", "and so on", "etc"),
    *("reasonable", "reasonably", "sensible", "sensibly", "improve", "improved", "better", "good", "modern"),
    *("scalable", "elegant"),
)
_CLAUSES = lazy_regex(r"(?<=[.;!?])\s+|;\s*|,\s+(?:and|but)\s+|\n+")
_DEPENDS_ON = {what: lazy_regex("|".join(patterns)) for what, patterns in SURROUNDINGS.items()}
# Whole words only: `quick-view` is a name and does not ask for speed.
_VAGUE = lazy_regex(rf"(?<![\w`-])({'|'.join(map(re.escape, VAGUE_WORDS))})(?![\w`-])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Observed:
    """What the engine saw besides the results of checks."""

    added: Mapping[str, Sequence[tuple[int, str]]] = field(default_factory=dict)  # path → lines that the head wrote
    ran: frozenset[str] = frozenset()  # the project's files that were seen to run
    unseen: bool = False  # a check ran code that cannot be traced: a command line, a server or another runner


def list_warnings(
    contract: Contract, due: Sequence[Requirement], verdicts: Sequence[Judged], observed: Observed
) -> list[str]:
    """One sentence for each thing that the checks do not cover, the gravest first."""
    warnings = [f"{judged.id}: {judged.why[0]}" for judged in verdicts if judged.grade is Grade.UNJUDGED and judged.why]
    warnings += [f"no check covers: {requirement.text}" for requirement in due if not requirement.checks]
    warnings += [warning for requirement in due for warning in _unquoted_clauses(contract, requirement)]
    warnings += [
        f'{requirement.id}: "{word}" is a matter of taste'
        for requirement in due
        if not _names_its_judge(requirement)
        for word in _vague_words(requirement.text)
    ]
    warnings += _few(_lines_that_depend(observed.added), "more such line", "more such lines")
    unreached = () if observed.unseen else _unreached_files(observed)
    warnings += _few(unreached, "more changed file that no check runs", "more changed files that no check runs")
    tested = [requirement for requirement in due if any(isinstance(check, TestsCheck) for check in requirement.checks)]
    rests = "rests on ordinary tests, which the code under test could influence"
    # Only a note, because the grade accounts for it already.
    warnings += [FactNote(f"{requirement.id} {rests}") for requirement in tested]
    dependent_roles = {author.role for author in contract.authors.values() if not author.independent}
    vendor = "and the implementers may use models of one vendor"
    return warnings + [FactNote(f"the {role} {vendor}") for role in sorted(dependent_roles)]


def _names_its_judge(requirement: Requirement) -> bool:
    """Whether the requirement's text names a program that the user's own command starts, such as `ruff is clean`. Then
    this program decides whether the requirement is met."""
    commands = [check.command for check in requirement.checks if isinstance(check, CommandCheck)]
    programs = {
        word
        for command in commands
        for words in started_commands(command)
        for word in (*words[:1], *_started_module(words))
    }
    return not programs.isdisjoint(re.findall(r"[\w-]+", requirement.text))


def _started_module(words: Sequence[str]) -> Sequence[str]:
    """The module in `python -m module …`."""
    return words[2:3] if words[1:2] == ["-m"] else ()


def _unquoted_clauses(contract: Contract, requirement: Requirement) -> Iterator[str]:
    """A warning about clauses of the requirement that no case quotes. There is no warning if the text has only one
    clause, nor if all cases are the user's own and quote nothing: the user need not say what a case is about."""
    data = [check for check in requirement.checks if isinstance(check, ExamplesCheck | BrowserCheck)]
    clauses = [clause for clause in map(_plain, _CLAUSES.split(requirement.text)) if len(clause.split()) > 1]
    if len(clauses) < 2 or not data:
        return
    quotes = [_plain(quote) for check in data for quote in _quotes(check)]
    if not any(quotes) and not any(check_hash(check) in contract.authors for check in data):
        return
    unquoted = [
        clause for clause in clauses if not any(quote and (quote in clause or clause in quote) for quote in quotes)
    ]
    if unquoted:
        yield f"{requirement.id}: no case quotes {', '.join(f'“{_cut(clause)}”' for clause in unquoted[:MOST_LINES])}"


def _quotes(check: ExamplesCheck | BrowserCheck) -> list[str]:
    return [check.quotes] if isinstance(check, BrowserCheck) else [case.quotes for case in check.cases]


def _vague_words(text: str) -> list[str]:
    return list(dict.fromkeys(match.group().lower() for match in _VAGUE.finditer(text)))


def _lines_that_depend(added: Mapping[str, Sequence[tuple[int, str]]]) -> Iterator[str]:
    for path, lines in sorted(added.items()):
        for number, line in lines if path.endswith(CODE) and not is_test(path) else ():
            for what, pattern in _DEPENDS_ON.items():
                if pattern.search(line):
                    yield f"{path}:{number} may depend on {what}: {_cut(line.strip())}"
                    break


def _unreached_files(observed: Observed) -> Iterator[str]:
    for path in sorted(observed.added):
        if path.endswith(CODE) and not is_test(path) and path not in observed.ran:
            yield f"no check runs {path}, which was changed"


def _few(warnings: Iterable[str], noun: str, many: str) -> list[str]:
    """The first `MOST_LINES` warnings. If there are more, the last line says how many, as a number of `noun` (plural:
    `many`)."""
    every = list(warnings)
    more = len(every) - MOST_LINES
    return [*every[:MOST_LINES], *([counted(more, noun, many)] if more > 0 else [])]


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(" .,;")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
