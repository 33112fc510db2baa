"""Sentences that explain a grade: why it is as high as it is, and why it is not higher.

`judge` and the modules beside it choose among these sentences.

Of the reasons that refute, only two are worded here: objections (`CONFIRMED`), and the change's own tests
(`own_tests_fail`). Failed cases are worded in `failed_cases.py`; existing tests in `caps.py`; parts in `judge.py` and
`conclusion.py`; rejections by a person in `conclusion.py`.

No grade depends on these sentences: programs read `Judged.basis` instead. Code looks for a few sentences in stored
reasons, to leave them out or repeat them: `OBJECTION_CLOSED`, `IF_MEANT`, `UNAPPROVED`, `ALL_GREEN_BEFORE` and `STAYS`.
`for_agents` recognises the sentences that agents may read.
"""

import json
from collections.abc import Iterable, Sequence

from trued.model import Author, Grade
from trued.support.plurals import counted, few

MOST_FILES = 5  # one reason names at most this many files

ALREADY_SATISFIED = "already satisfied"
NO_CHECK = "no check covers it"
NO_NEW_DEPENDENCY = "its manifests declare no package that the base's do not"
NO_OTHER_DEPENDENCY = "its manifests declare the same packages as the base's"
EMPTY_DIFF = "the diff is empty"
NOTHING_DONE = "the diff is empty: nothing was done"
ALL_GREEN_BEFORE = "every check passed before the change: either it was already satisfied, or its checks prove nothing"
STAYS = "to approve the contract is to agree that it only asks for behaviour that stays as it is"
INFLUENCED = (
    f"tests and commands run together with the code under test, which could influence them: {Grade.TESTED} at most"
)
NO_NEW_BEHAVIOUR = "nothing tests new behaviour"
UNTOUCHED = "no existing test runs a file that the change touches"
UNTRACED = "trued cannot see which files its checks run, so nothing shows that they run a file that the change touches"
NOTHING_HELD_OUT = "no held-out case covers it"
NOT_HELD_OUT = "the cases are not held out"
NO_OTHER_CHECK = "no other check covers it"
UNAPPROVED = "nobody has approved them yet"
UNJUDGED_ON_BASE = "no case could be judged on the base"
BROKEN_CHECK = "a check is broken, and no other check covers it"
NOTHING_TURNED = "no case failed before and passes now"
NOTHING_COUNTED = "no case could be counted"
NOT_IN_VERDICT = "the verdict on the finished work does not judge it"
OBJECTION_CLOSED = "objection closed, its case passes: "
IF_MEANT = "the change edits "  # the reason that suggests `supersedes` begins with this
PARTS = "as good as the worst of its"
NOT_JUDGED = "could not be judged: "
BY_HAND = "only a person can judge this: "
TO_AGREE = ": approve the contract to agree"
CASES_WRITTEN = "the cases were written by "
PROPOSAL = "an agent proposes that it supersedes "
LOST = "cases were withdrawn or disclosed, and nothing replaced them: "
CONFIRMED = "an objection is confirmed, its case fails on this commit: "
DISPUTED = "disputed"
ACCEPTED = "accepted "
CONTRACT_APPROVED = "the contract is approved by "
CASES_APPROVED = f"{ALREADY_SATISFIED}, by cases that "
QUICK = "quick: run once, not twice"
RUN_TWICE_FAILED = (
    "passed the first time and failed the second, in the same checkout: "
    "a case that writes files must write them to {files}"
)


def turned(cases: int, *, held_out: bool, pages: int = 0, tests: int = 0) -> str:
    """The sentence `5 held-out cases: failed before, pass now`."""
    parts = [
        counted(cases, "held-out case" if held_out else "case") if cases else "",
        counted(pages, "page check") if pages else "",
        counted(tests, "test or command", "tests or commands") if tests else "",
    ]
    return f"{' and '.join(filter(None, parts))}: {_red_then_green(cases + pages + tests)}"


def may_install_packages(files: Sequence[str]) -> str:
    """The sentence `changed files may install packages that no manifest declares: Dockerfile`."""
    return f"changed files may install packages that no manifest declares: {listed(files)}"


def own_tests_turned(tests: int) -> str:
    """The sentence `the change's own 3 tests: failed before, pass now`."""
    return f"the change's own {'test' if tests == 1 else f'{tests} tests'}: {_red_then_green(tests)}"


def base_tests_turned(ids: Sequence[str]) -> str:
    """The sentence `2 tests of the base: failed before, pass now (test_a.py::test_b, test_c.py::test_d)`."""
    return f"{counted(len(ids), 'test')} of the base: {_red_then_green(len(ids))} ({listed(ids)})"


def own_commands_turned(commands: int) -> str:
    """The sentence `1 command: failed before, passes now, but through build files, scripts or settings of the change
    itself`."""
    files = "build files, scripts or settings of the change itself"
    return f"{counted(commands, 'command')}: {_red_then_green(commands)}, but through {files}"


def own_tests_fail(ids: Sequence[str]) -> str:
    """The sentence `2 of the change's own tests fail: tests/test_a.py::test_b, …`."""
    return f"{len(ids)} of the change's own tests {'fails' if len(ids) == 1 else 'fail'}: {listed(ids)}"


def if_meant(tests: Sequence[str]) -> str:
    """A sentence that suggests `supersedes` for these failing tests, because the change edits their files, too."""
    names = f"{json.dumps(tests[:MOST_FILES], ensure_ascii=False)[:-1]}{', …' if len(tests) > MOST_FILES else ''}]"
    files = listed(list(dict.fromkeys(test.split("::")[0] for test in tests)))
    return f"{IF_MEANT}{files}: if these tests must change, too, the requirement says so: `supersedes: {names}`"


def fail_before(ids: Sequence[str]) -> str:
    """The sentence `1 test fails without the change, too, and is not counted: tests/test_a.py::test_b`."""
    many = "1 test fails" if len(ids) == 1 else f"{len(ids)} tests fail"
    return f"{many} without the change, too, and {'is' if len(ids) == 1 else 'are'} not counted: {listed(ids)}"


def own_tests_idle(ids: Sequence[str]) -> str:
    """A sentence saying that the change's own tests pass without the change, too."""
    return f"the change's own tests show nothing, because they also pass without the change: {listed(ids)}"


def own_tests_absent(files: Sequence[str]) -> str:
    """A sentence saying that a check names test files which exist on neither commit."""
    return f"no test was written: its check runs {listed(files)}, which {'does' if len(files) == 1 else 'do'} not exist"


def _red_then_green(number: int) -> str:
    return f"failed before, {'passes' if number == 1 else 'pass'} now"


def still_pass(*, tests: int, cases: int, commands: int) -> str:
    """The sentence `4 existing tests still pass`, with a number for each kind of check that passed before the
    change."""
    parts = [
        counted(tests, "existing test") if tests else "",
        counted(cases, "case that passed before", "cases that passed before") if cases else "",
        counted(commands, "command") if commands else "",
    ]
    return f"{' and '.join(filter(None, parts))} still {'passes' if tests + cases + commands == 1 else 'pass'}"


def already_satisfied(cases: int) -> str:
    """The sentence `already satisfied: all 3 cases passed before and still pass`."""
    every = "its one case passed before the change and still passes"
    return f"{ALREADY_SATISFIED}: {every if cases == 1 else f'all {cases} cases passed before and still pass'}"


def unused_tests(paths: Sequence[str]) -> str:
    """A sentence saying that the checks did not use these test files of the change."""
    return f"the change's own tests were not used: {listed(paths)} (name them with `from:` in a requirements file)"


def fails_on_base_too(ids: Sequence[str]) -> str:
    """A sentence saying that tests or commands which a requirement asks to keep passing fail on the base, too."""
    return f"what it asks to pass fails on the base and still fails: {listed(ids)}"


def skipped_on_base(ids: Sequence[str]) -> str:
    """The sentence `2 tests are skipped on the base, and not counted: …`."""
    many = "1 test is" if len(ids) == 1 else f"{len(ids)} tests are"
    return f"{many} skipped on the base, and not counted: {listed(ids)}"


def not_judged(missing: str) -> str:
    """A sentence saying that the checks neither pass nor fail, because they need something that is missing."""
    return f"{NOT_JUDGED}{missing}"


def written_by(authors: Iterable[Author | None]) -> str:
    """A sentence saying that an agent wrote the cases, and neither a person nor another vendor confirmed them."""
    names = dict.fromkeys(author.agent or author.role for author in authors if author)
    return f"{CASES_WRITTEN}{', '.join(names)}; {UNAPPROVED}"


def without_unapproved(why: Iterable[str]) -> tuple[str, ...]:
    """The reasons without the one that asks for an approval of the cases."""
    return tuple(reason for reason in why if not reason.endswith(UNAPPROVED))


def proposes_to_supersede(tests: Sequence[str]) -> str:
    """A sentence saying that an agent wants these tests of the base not to count, and that no person has agreed."""
    return f"{PROPOSAL}{', '.join(tests)}: {Grade.UNPROVEN} until a person agrees"


def lost_cases(clauses: Sequence[str]) -> str:
    """A sentence saying that these clauses have fewer cases than at sealing, and that no person has agreed."""
    quoted = listed([f"“{clause}”" for clause in dict.fromkeys(clauses)])
    return f"{LOST}{quoted}: {Grade.UNPROVEN} until a person agrees"


def not_run_by_any_check(paths: Sequence[str]) -> str:
    """A sentence saying that no check ran this changed code, and the existing tests that may reach it could not run."""
    return f"no check ran {listed(paths)}, and existing tests that may reach it could not be run"


def known_by_exit_code_only(paths: Sequence[str]) -> str:
    """A sentence saying that only tests whose results cannot be counted may reach this changed code."""
    return (
        f"the only tests that perhaps reach {listed(paths)} cannot be counted: all that is known of them is an exit "
        "code, which the changed code could set itself"
    )


def passes_with_superseded_tests(commands: Sequence[str]) -> str:
    """A sentence saying that existing commands pass only with the change's version of superseded tests, which could end
    them early."""
    return (
        f"{listed(commands)} passes only with the change's own version of tests that a requirement supersedes, which "
        "could keep it from checking anything else"
    )


def not_loaded_by_tests(paths: Sequence[str]) -> str:
    """A sentence saying that existing tests ran without these files: compiled code, or modules that shadow others."""
    return f"existing tests ran without {listed(paths)}, which Python loads in an ordinary checkout"


def reached_by_failing_tests(names: Sequence[str]) -> str:
    """A sentence saying that the change alters code of the base, and that the only tests that reach it do not pass on
    the base, or are not run."""
    return f"the only existing tests that reach this code do not pass on the base, or are not run: {listed(names)}"


def hiding_from_tests(paths: Sequence[str]) -> str:
    """A sentence about new files: once the change has landed, existing tests would load them instead of the product."""
    return f"existing tests would load {listed(paths)} in place of modules of the product with the same names"


def hidden_from_tests(places: Sequence[str]) -> str:
    """A sentence about changed code that existing tests do not load: instead, they load a file of the same name among
    the tests."""
    return f"existing tests load a file of their own in place of {listed(places)}, and no check ran it"


def tests_vanished(tests: Sequence[str]) -> str:
    """A sentence saying that the change removes existing tests, or moves them to where no test runs, so that they no
    longer guard anything."""
    what = "if they are no longer wanted, the requirement says so with `supersedes`; else keep them where tests run"
    return f"the change removes existing tests: {listed(tests)} ({what})"


def used_by_tests_only(paths: Sequence[str]) -> str:
    """A sentence about changed files that only tests use on the base. With the base's version of these files, the tests
    fail, or were not run because there are too many such files."""
    return f"on the base, only tests use {listed(paths)}, and those tests were not seen to pass with the base's version"


def tests_need_base_version(paths: Sequence[str]) -> str:
    """A sentence saying that existing tests pass with the base's version of these files of the product, and fail with
    the change's."""
    return f"existing tests pass only with the base's version of {listed(paths)}: they fail with the change's"


def tests_fail_with_files(tests: Sequence[str], paths: Sequence[str]) -> str:
    """A sentence for agents: which existing tests fail with which files of the change."""
    many = "an existing test fails" if len(tests) == 1 else f"{len(tests)} existing tests fail"
    return f"{many} with the change's own version of {listed(paths)}: {listed(tests)}"


def in_place_of_others(paths: Sequence[str]) -> str:
    """A sentence about new files that have the names of modules outside the project."""
    return f"Python would load {listed(paths)} instead of its own modules, or of packages, that the project imports"


def hiding_modules(paths: Sequence[str]) -> str:
    """A sentence about new files at the top with the names of modules that the base has in another folder."""
    return f"programs that start at the top find {listed(paths)} in place of modules that the project has elsewhere"


def first_imports_from_top(paths: Sequence[str]) -> str:
    """A sentence about files of project folders that may import modules from folders outside their project that the
    user has not named."""
    return (
        f"{listed(paths)} may import modules from outside the project, which may not be found where it is installed, "
        "unless you say so: "
        '`environment: {path: [".", …]}`'
    )


def packages_undeclared(imports: Sequence[str]) -> str:
    """A sentence about imports of packages that are installed here, and that the change does not declare."""
    return f"it works only where somebody has installed more than the change declares: {listed(imports)}"


def submodules_not_there(paths: Sequence[str]) -> str:
    """A sentence saying that the checks ran without these submodules, which the head adds or moves to other commits."""
    return f"checked without submodules that the change adds, or for which it names another commit: {listed(paths)}"


def submodules_moved(paths: Sequence[str]) -> str:
    """A sentence saying that the head moves these submodules to other commits, and that the checks used those
    commits."""
    return f"the change moves submodules, which are not judged like the project's own files: {listed(paths)}"


def converted_at_checkout(files: Sequence[str]) -> str:
    """A sentence saying that git changes these files at checkout, because of their attributes."""
    return f"git converts files at checkout, but the checks used them as they are stored: {listed(files)}"


def on_one_line(sentence: str) -> str:
    """The sentence with unprintable characters escaped. A sentence may name a file of the head, and a line feed in the
    file's name would look like the end of the sentence."""
    if sentence.isprintable():
        return sentence
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in sentence)


def listed(names: Sequence[str]) -> str:
    """The first few of these names."""
    return few(names, MOST_FILES)
