"""Cases of a contract stay their authors', and what only a person can settle stays, when some cases are replaced."""

from typing import Any

import pytest

from trued.model import Author, CallCase, Contract, ExamplesCheck, Requirement, Requirements, TestsCheck
from trued.proof.hashes import check_hash
from trued.run.examination.admissibility import CaseRules
from trued.run.examination.examiner import EarlierCases, author_of_all, content_of
from trued.run.examination.replacement import _both_caps, _checks_that_stay
from trued.run.examination.replies import Examined, Proposed

BUILDER, EXAMINER = Author(role="examiner", agent="acme"), Author(role="examiner", agent="bolt", independent=True)


def case(given: int = 2, result: int = 4, **more: Any) -> CallCase:
    return CallCase.model_validate({"call": "tiny:double", "args": [given], "returns": result, "quotes": "", **more})


def examples(*cases: CallCase) -> ExamplesCheck:
    return ExamplesCheck(cases=cases)


@pytest.mark.spec("LAW-7")
def test_words_and_time_make_no_other_case_and_results_do() -> None:
    assert content_of(case()) == content_of(case(quotes="it doubles", within_s=9))
    assert len({content_of(one) for one in (case(), case(3), case(result=5))}) == 3


@pytest.mark.spec("LAW-7", "LAW-8")
@pytest.mark.parametrize("order", [1, -1])
def test_nobody_becomes_the_author_of_a_case_by_repeating_it(order: int) -> None:
    """Both wrote the same case, for two requirements: it counts as the case of the author that is not independent."""
    checks = [examples(case(quotes="a"), case(5, 10)), examples(case(quotes="b"))]
    both = [Requirement(id=name, text=name, checks=(check,)) for name, check in zip("ab", checks, strict=True)]
    authors = {check_hash(checks[0]): BUILDER, check_hash(checks[1]): EXAMINER}
    found = EarlierCases.of(Contract(base="b", requirements=tuple(both[::order]), authors=authors)).authors
    assert found == {content_of(case()): BUILDER, content_of(case(5, 10)): BUILDER}


@pytest.mark.spec("LAW-7", "LAW-8")
def test_exchanges_of_several_authors_count_as_the_weakest_ones_and_only_common_confirmations_stay() -> None:
    """An old exchange was confirmed; a new one in the same check was not. So the check is not confirmed."""
    confirmed = BUILDER.model_copy(update={"agreed": ("bolt",), "independent": True})
    assert author_of_all([confirmed, confirmed]) == confirmed
    for authors in ([confirmed, BUILDER], [BUILDER, confirmed], [confirmed, EXAMINER]):
        assert (author_of_all(authors).agent, author_of_all(authors).agreed) == ("acme", ())
    assert author_of_all([EXAMINER, BUILDER]) == BUILDER


@pytest.mark.spec("LAW-7", "LAW-3")
def test_only_agents_cases_are_replaced_not_their_test_commands_nor_the_users_checks() -> None:
    users, theirs, command = examples(case(7, 14)), examples(case()), TestsCheck(command="python -m pytest t.py")
    requirement = Requirement(id="a", text="a", checks=(users, theirs, command))
    authors = {check_hash(theirs): BUILDER, check_hash(command): Author(role="initializer")}
    contract = Contract(base="b", requirements=(requirement,), authors=authors)
    assert _checks_that_stay(contract, requirement) == (users, command)
    assert _both_caps({"a": ("x",)}, {"a": ("y", "x"), "b": ("z",)}) == {"a": ("x", "y"), "b": ("z",)}


@pytest.mark.spec("LAW-8", "LAW-5")
@pytest.mark.parametrize("users", [(), ("tiny:swift(x)",)], ids=["an examiner named it", "the user named it"])
def test_what_only_an_examiner_named_stays_unknown_when_the_contract_lists_it(users: tuple[str, ...]) -> None:
    cases = tuple(case(given, 2 * given, call="tiny:swift", quotes="It doubles") for given in (2, 5))
    asked = Requirements(requirements=(Requirement(id="r", text="It doubles."),), interface=("tiny:swift(x)",))
    rules = CaseRules(asked, "It doubles.", {"tiny.py": ""}, named=users)
    weighed = rules.weigh([Examined(cases=(Proposed(requirement="r", cases=cases),))])
    assert len(weighed.kept) == 2
    assert bool(weighed.caps) is not bool(users)
