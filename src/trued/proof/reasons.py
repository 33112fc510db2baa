"""The sentences in which a verdict gives its reasons; `judge` and the modules beside it choose among them. Pure.

Reasons that refute are worded elsewhere: a failed case in `gaps.reason`; an objection, an existing test or a part in
`judge.py`; a person's rejection in `contract.py`.

Programs should read grades and counts, not these sentences: they are written for people and may change.
"""

from collections.abc import Iterable, Sequence

from trued.model import Author, Grade
from trued.support.plurals import counted, few

MOST_FILES = 5  # files that one reason names

ALREADY_SATISFIED = "already satisfied"
NO_CHECK = "no check covers it"
NO_NEW_DEPENDENCY = "its manifests declare no package that the base does not"
NO_OTHER_DEPENDENCY = "its manifests declare just what the base's do"
EMPTY_DIFF = "the diff is empty"
NOTHING_DONE = "the diff is empty: nothing was done"
ALL_GREEN_BEFORE = "every check passed before the change: either it was already satisfied, or its checks prove nothing"
STAYS = "whoever approves the contract agrees that it asks for what stays as it is"
INFLUENCED = (
    f"tests and commands run together with the code under test, which could influence them: {Grade.TESTED} at most"
)
NO_NEW_BEHAVIOUR = "nothing tests new behaviour"
UNTOUCHED = "no existing test runs a file that the change touches"
NOTHING_HELD_OUT = "no held-out case covers it"
NOT_HELD_OUT = "the cases are not held out"
NO_OTHER_CHECK = "no other check covers it"
UNAPPROVED = "nobody has approved them yet"
UNJUDGED_ON_BASE = "no case could be judged on the base"
BROKEN_CHECK = "a check is broken, and no other check covers it"
NOTHING_TURNED = "no case failed before and passes now"
NOTHING_COUNTED = "no case could be counted"
OBJECTION_CLOSED = "objection closed, its case passes: "  # receipts find these reasons by their beginning
PARTS = "as good as the worst of its"  # a stored verdict whose reason begins so was made from its parts
RUN_TWICE_FAILED = (
    "passed the first time and failed the second, in the same checkout: "
    "a case that writes files must write them to {files}"
)


def turned(cases: int, *, held_out: bool, pages: int = 0, tests: int = 0) -> str:
    """`5 held-out cases: failed before, pass now`."""
    named = [
        counted(cases, "held-out case" if held_out else "case") if cases else "",
        counted(pages, "page check") if pages else "",
        counted(tests, "test or command", "tests or commands") if tests else "",
    ]
    return f"{' and '.join(filter(None, named))}: {_now(cases + pages + tests)}"


def may_bring_packages(files: Sequence[str]) -> str:
    """`Dockerfile may bring packages in a way that is not read: look at it`."""
    return f"changed files may bring packages in a way that is not read: {listed(files)}"


def own_tests_turned(tests: int) -> str:
    """`the change's own 3 tests: failed before, pass now`."""
    return f"the change's own {'test' if tests == 1 else f'{tests} tests'}: {_now(tests)}"


def own_commands_turned(commands: int) -> str:
    """`1 command: failed before, passes now, by files that the change brings to run it`."""
    return f"{counted(commands, 'command')}: {_now(commands)}, by files that the change itself brings to run it"


def own_tests_fail(ids: Sequence[str]) -> str:
    """`2 of the change's own tests fail: tests/test_a.py::test_b, …`."""
    return f"{len(ids)} of the change's own tests {'fails' if len(ids) == 1 else 'fail'}: {listed(ids)}"


def own_tests_idle(ids: Sequence[str]) -> str:
    """The change's own tests pass without the change, too."""
    return f"the change's own tests pass without the change, too, and so show nothing: {listed(ids)}"


def own_tests_absent(files: Sequence[str]) -> str:
    """A check names test files that exist on neither commit."""
    return f"no test was written: its check runs {listed(files)}, which is not there"


def _now(number: int) -> str:
    return f"failed before, {'passes' if number == 1 else 'pass'} now"


def still_pass(*, tests: int, cases: int, commands: int) -> str:
    """`4 existing tests still pass`: what passed before the change, by its kind."""
    named = [
        counted(tests, "existing test") if tests else "",
        counted(cases, "case that passed before", "cases that passed before") if cases else "",
        counted(commands, "command") if commands else "",
    ]
    return f"{' and '.join(filter(None, named))} still {'passes' if tests + cases + commands == 1 else 'pass'}"


def already_satisfied(cases: int) -> str:
    """All of the user's own cases passed before the change, and pass now."""
    every = "its one case passed before the change and still passes"
    return f"{ALREADY_SATISFIED}: {every if cases == 1 else f'all {cases} cases passed before and still pass'}"


def unused_tests(paths: Sequence[str]) -> str:
    """Test files of the change that the checks did not use."""
    return f"the change's own tests were not used: {listed(paths)} (a requirements file takes tests with `from:`)"


def skipped_on_base(ids: Sequence[str]) -> str:
    """`2 tests are skipped on the base, and not counted: …`."""
    many = "1 test is" if len(ids) == 1 else f"{len(ids)} tests are"
    return f"{many} skipped on the base, and not counted: {listed(ids)}"


def not_judged(missing: str) -> str:
    """Something that the checks need is missing, so that they neither pass nor fail."""
    return f"could not be judged: {missing}"


def written_by(authors: Iterable[Author | None]) -> str:
    """An agent wrote the cases, and neither a person nor another vendor has confirmed them."""
    names = dict.fromkeys(one.agent or one.role for one in authors if one)
    return f"the cases were written by {', '.join(names)}; {UNAPPROVED}"


def proposes_to_supersede(tests: Sequence[str]) -> str:
    """An agent wants tests of the base not to count, and no person has agreed."""
    return f"an agent proposes that it supersedes {', '.join(tests)}: {Grade.UNPROVEN} until a person agrees"


def not_run_by_any_check(paths: Sequence[str]) -> str:
    """Changed code that may be reached only by tests that could not be run."""
    return f"no check ran {listed(paths)}, and the existing tests, which might, could not be run"


def reached_by_failing_tests(names: Sequence[str]) -> str:
    """Altered code of the base that is reached only by tests that do not pass on the base."""
    return f"of the existing tests only such as do not pass on the base reach {listed(names)}"


def submodules_not_there(paths: Sequence[str]) -> str:
    """Submodules of the head, at commits that the base does not name."""
    return f"checked without {listed(paths)}: a submodule that is not at the commit that the base names"


def converted_at_checkout(files: Sequence[str]) -> str:
    """Attributes by which git changes files when it checks them out."""
    return f"git changes files at checkout, which checks had byte for byte: {listed(files)}"


def on_one_line(sentence: str) -> str:
    """The sentence with everything escaped that is not printed: it may name a file of the head, and a line feed in that
    name would look like the end of the sentence."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in sentence)


def listed(paths: Sequence[str]) -> str:
    """The first few of these names."""
    return few(paths, MOST_FILES)
