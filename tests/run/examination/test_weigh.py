"""Which of an examiner's cases count: it depends on what a case shows, and on a second examiner's answer to it."""

from functools import partial
from typing import Any

import pytest

from trued.inputs.clauses import is_only_names
from trued.model import CallCase, HttpCase, Requirement, Requirements, Serve
from trued.run.examination.admissibility import CaseRules, WeighedCases, _is_used
from trued.run.examination.replies import Blind, Examined, Proposed
from trued.run.examination.second_examiner import Doubt, compare_answers, questions

WORDS = "POST /items adds an item. GET /items lists all items."
SERVE = Serve(command=("python", "app.py"))
INTERFACE = ("POST /items", "GET /items", "tiny:double(x)", "tiny:triple(x)", "python -m notes count <file>")


def exchange(method: str, path: str = "/items", quotes: str = "", **more: Any) -> dict[str, Any]:
    return {"http": {"method": method, "path": path, "body": more.pop("sent", "")}, "quotes": quotes, **more}


LISTED = "GET /items lists all items."
FULL = "POST /items adds an item."
STORY = [
    exchange("POST", sent='{"name": "nail"}', status=201),
    exchange("GET", status=200, json=["nail"], quotes=LISTED),
    exchange("POST", sent='{"name": "screw"}', status=201, json={"of": 2}, quotes=FULL),
    exchange("GET", status=200, json=["nail", "screw"], quotes=LISTED),
]


def weighed(*cases: list[dict[str, Any]], text: str = WORDS, doubts: tuple[Doubt, ...] = ()) -> WeighedCases:
    asked = Requirements(requirements=(Requirement(id="r", text=text),), interface=INTERFACE, serve=SERVE)
    proposed = tuple(Proposed.model_validate({"requirement": "r", "cases": every}) for every in cases)
    return CaseRules(asked, text, {}).weigh([Examined(cases=proposed)], doubts)


def doubts(found: WeighedCases, *answers: dict[str, Any]) -> tuple[Doubt, ...]:
    said = compare_answers(found.kept, [Blind.model_validate(one) for one in answers])
    return tuple(
        Doubt(of=origin, number=place, what=what, why=why)
        for origin, every in zip(found.origins, said, strict=True)
        for place, (what, why) in enumerate(every)
        if what != "alike"
    )


def proofs(found: WeighedCases) -> list[str]:
    """Whether each exchange is a proof or only set-up for others."""
    cases = [case for one in found.kept for case in one.cases if isinstance(case, HttpCase)]
    return ["setup" if case.setup else "proof" for case in cases]


@pytest.mark.spec("LAW-5")
def test_an_exchange_that_shows_little_prepares_others_and_takes_none_of_them_along() -> None:
    found = weighed(STORY, text=LISTED)
    assert proofs(found) == ["setup", "proof", "setup", "proof"]
    assert found.kept[0].cases[2].status == 201  # type: ignore[union-attr]
    assert found.faults == ()
    assert weighed(STORY).rests == {"r": (FULL.rstrip("."),)}  # POST has one answer: a constant would do


@pytest.mark.spec("LAW-5", "LAW-11")
def test_the_message_names_the_very_exchange_that_cannot_be_run_and_those_before_it_stay() -> None:
    broken = exchange("DELETE", "items/1", status=204)
    found = weighed([*STORY, broken, exchange("GET", status=200, json=[], quotes=LISTED)], text=LISTED)
    assert [one.what for one in found.faults] == [
        "DELETE items/1: it is broken: 'items/1' is not a path of the server, and 1 exchange after it with it"
    ]
    assert proofs(found) == ["setup", "proof", "setup", "proof"]
    stranger = exchange("DELETE", "/items", status=204)
    found = weighed([stranger, *STORY], text=LISTED)
    assert "DELETE /items is not an entry point of the interface" in found.faults[0].what
    assert found.kept == ()


@pytest.mark.spec("LAW-5")
def test_exchanges_that_show_nothing_at_all_are_refused_each_by_its_name() -> None:
    found = weighed([exchange("POST", status=201, quotes=FULL), exchange("GET", status=200, quotes=LISTED)])
    assert found.kept == ()
    assert "POST /items: it expects nothing of the response but a status; GET /items: it" in found.faults[0].what


@pytest.mark.spec("LAW-7", "LAW-11")
def test_one_exchange_of_which_a_second_examiner_is_not_sure_is_withdrawn_as_proof_alone() -> None:
    more = [*STORY, exchange("GET", "/items?sort=1", status=200, json=["a", "b"], quotes=LISTED)]
    found = weighed(more, text=LISTED)
    answers = [{"number": 2, "status": 200, "body_json": ["nail"]}]
    answers += [{"number": 4, "status": 200, "body_json": ["nail", "screw"]}, {"number": 5, "unsure": "which order?"}]
    against = doubts(found, *answers)
    assert [(one.number, one.what, one.why) for one in against] == [(4, "unsure", "which order?")]
    after = weighed(more, text=LISTED, doubts=against)
    assert proofs(after) == ["setup", "proof", "setup", "proof"]  # set-up for nothing is dropped
    assert after.unsure == ()


@pytest.mark.spec("LAW-7", "LAW-11")
def test_where_all_that_shows_a_clause_is_unsure_it_stands_as_with_one_examiner_and_is_said() -> None:
    found = weighed(STORY, text=LISTED)
    against = doubts(found, {"number": 2, "unsure": "which order?"}, {"number": 4, "unsure": "which order?"})
    after = weighed(STORY, text=LISTED, doubts=against)
    assert after.kept == found.kept  # two vendors never end worse than one
    assert after.unsure == (f"r: a second examiner is not sure of any case of “{LISTED}”",)


@pytest.mark.spec("LAW-7")
def test_an_exchange_that_is_answered_otherwise_is_withdrawn_and_the_others_stand() -> None:
    more = [STORY[0], exchange("GET", status=200, json=["NAIL"], quotes=LISTED), *STORY[2:]]
    more += [STORY[2], exchange("GET", status=200, json=["nail", "screw", "screw"], quotes=LISTED)]
    found = weighed(more, text=LISTED)
    lists = {2: ["nail"], 4: ["nail", "screw"], 6: ["nail", "screw", "screw"]}
    answers = [{"number": n, "status": 200, "body_json": body} for n, body in lists.items()]
    against = doubts(found, *answers, {"number": 1, "status": 200})
    assert [(one.number, one.what) for one in against] == [(0, "otherwise"), (1, "otherwise")]
    after = weighed(more, text=LISTED, doubts=against)
    assert proofs(after) == ["setup", "setup", "setup", "proof", "setup", "proof"]
    first = after.kept[0].cases[0]
    assert isinstance(first, HttpCase)
    assert first.status is None  # the words do not decide between 200 and 201, so neither is required


@pytest.mark.spec("LAW-7")
def test_of_calls_only_those_answered_otherwise_go_and_unsure_ones_only_where_nothing_hangs_on_them() -> None:
    words = "`double(x)` returns twice its argument."

    def call(x: Any, result: Any) -> list[dict[str, Any]]:
        return [{"call": "tiny:double", "args": [x], "returns": result, "quotes": words}]

    every = [call(3, 6), call(5, 10), call("a", "aa"), call(4, 9)]
    found = weighed(*every, text=words)
    answers: list[dict[str, Any]] = [
        {"number": 1, "returns": 6},
        {"number": 2, "returns": 10},
        {"number": 3, "unsure": "text?"},
    ]
    after = weighed(*every, text=words, doubts=doubts(found, *answers, {"number": 4, "returns": 8}))
    assert [one.cases[0].args for one in after.kept] == [(3,), (5,)]  # type: ignore[union-attr]
    unsure = [{"number": n, "unsure": "?"} for n in (1, 2, 3)]
    after = weighed(*every, text=words, doubts=doubts(found, *unsure, {"number": 4, "returns": 8}))
    assert [one.cases[0].args for one in after.kept] == [(3,), (5,), ("a",)]  # type: ignore[union-attr]
    assert len(after.unsure) == 1


@pytest.mark.spec("LAW-5", "LAW-12")
def test_cases_of_an_entry_point_that_a_constant_passes_show_no_clause() -> None:
    """The cases of `double` show something, but do not cover the clause about `triple`."""
    words = "`double(x)` returns twice its argument, and `triple(x)` returns three times its argument."
    twice, thrice = "`double(x)` returns twice its argument", "`triple(x)` returns three times its argument"
    every = [
        [{"call": "tiny:double", "args": [3], "returns": 6, "quotes": twice}],
        [{"call": "tiny:double", "args": [5], "returns": 10, "quotes": twice}],
        [{"call": "tiny:triple", "args": [3], "returns": 9, "quotes": thrice}],
    ]
    found = weighed(*every, text=words)
    assert [one.cases[0].call for one in found.kept] == ["tiny:double"] * 2  # type: ignore[union-attr]
    assert found.rests["r"] == (f"and {thrice}",)
    assert "tiny:triple(x): its cases show nothing, because a program that returns a constant passes all its cases" in [
        one.what for one in found.faults
    ]
    more = [{"call": "tiny:triple", "args": [4], "returns": 12, "quotes": thrice}]
    assert not weighed(*every, more, text=words).rests


@pytest.mark.spec("LAW-5", "LAW-12")
def test_a_quotation_of_both_clauses_shows_none_whose_function_no_case_starts() -> None:
    words = "`double(x)` returns twice its argument, and `triple(x)` returns three times its argument."
    cases = [{"call": "tiny:double", "args": [x], "returns": 2 * x, "quotes": words} for x in (3, 5, 7)]
    assert weighed(*([one] for one in cases), text=words).rests["r"] == (words.split(", and ")[1].rstrip("."),)
    more = [{"call": "tiny:triple", "args": [x], "returns": 3 * x, "quotes": words} for x in (3, 5)]
    assert not weighed(*([one] for one in (*cases, *more)), text=words).rests


@pytest.mark.spec("LAW-7")
def test_what_is_asked_of_a_second_examiner_is_all_that_the_case_expects() -> None:
    case = {"call": "tiny:double", "args": [[2, 1]], "returns": None, "args_after": [[1, 2]], "quotes": "x"}
    moved = exchange("GET", "/go", status=302, headers={"Location": "/there"}, quotes="x")
    proposed = [Proposed.model_validate({"requirement": "r", "cases": [one]}) for one in (case, moved)]
    asked = [one.input for one in questions(proposed)]
    assert "args_after" in asked[0]
    assert "[[1, 2]]" not in asked[0]
    assert "Location" in asked[1]
    assert "/there" not in asked[1]
    right = [{"number": 1, "args_after": [[1, 2]]}, {"number": 2, "status": 302, "headers": {"location": "/there"}}]
    wrong = [{"number": 1, "returns": None}, {"number": 2, "status": 302}]
    for answers, expected in ((right, "alike"), (wrong, "otherwise")):
        said = compare_answers(proposed, [Blind.model_validate(one) for one in answers])
        assert [every[0][0] for every in said] == [expected, expected]


@pytest.mark.spec("LAW-5", "LAW-11")
@pytest.mark.parametrize(("author", "capped"), [("spec", True), ("", False)])
def test_what_an_agents_criterion_names_is_not_named_by_the_user(author: str, capped: bool) -> None:
    words = "`trapdoor(x)` returns a letter"
    asked = Requirements(requirements=(Requirement(id="AC-1", text=words, author=author),))
    cases = [
        {
            "requirement": "AC-1",
            "cases": [{"call": "tiny:trapdoor", "args": [x], "returns": y, "quotes": words}],
        }
        for x, y in ((1, "p"), (2, "q"))
    ]
    reply = Examined.model_validate({"cases": cases, "interface": ["tiny:trapdoor(x)"]})
    found = CaseRules(asked, "Make letters.", {}).weigh([reply])
    assert len(found.kept) == 2
    assert ("AC-1" in found.caps) is capped


@pytest.mark.spec("LAW-7")
def test_a_result_of_the_second_examiners_own_case_takes_no_line_of_the_interface_away() -> None:
    """The interface was fixed before the second examiner chose its inputs, so it reveals nothing of them."""
    words = "the function returns a letter"
    first = [{"call": "tiny:letter", "args": [x], "returns": y, "quotes": words} for x, y in ((1, "p"), (2, "q"))]
    own = [{"call": "tiny:letter", "args": [3], "returns": "letter", "quotes": words}]
    cases = [{"requirement": "r", "cases": first}]
    reply = Examined.model_validate({"cases": cases, "interface": ["tiny:letter(number)"]})
    asked = Requirements(requirements=(Requirement(id="r", text=words),))
    rules = CaseRules(asked, "", {"tiny.py": ""})
    found = rules.weigh([reply], own=[Proposed.model_validate({"requirement": "r", "cases": own})])
    assert found.interface == ("tiny:letter(number)",)
    assert [case.args for one in found.kept for case in one.cases] == [(1,), (2,), (3,)]  # type: ignore[union-attr]


PLACED = "double(x) in tiny.py returns twice its argument"
DOUBLED = "returns twice its argument"


@pytest.mark.spec("LAW-12", "DAY-9")
@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (PLACED, ()),
        ("`double(x)` in `src/tiny.py` returns twice its argument", ()),
        ("`triple(x)` in tiny.py returns twice its argument", "`triple(x)` in tiny.py"),  # nothing calls it
        ("double(x) in other.py returns twice its argument", "double(x) in other.py"),  # the cases call another file
        ("double(x) in tiny.py keeps a log, and returns twice its argument", "double(x) in tiny.py keeps a log, and"),
    ],
)
def test_words_that_only_say_where_it_is_are_shown_by_the_cases_that_call_it_there(text: str, rest: Any) -> None:
    calls = [[{"call": "tiny:double", "args": [n], "returns": 2 * n, "quotes": DOUBLED}] for n in (2, 5, -3)]
    left = weighed(*calls, text=text).rests.get("r", ())
    assert (left == ()) if rest == () else any(rest.removesuffix(", and") in one for one in left), left


@pytest.mark.spec("LAW-12", "DAY-9")
def test_a_route_is_shown_by_the_cases_that_ask_for_it() -> None:
    words = "lists only the items of that kind"
    asked = [
        [exchange("GET", f"/items?kind={n}", words, status=200, json=[{"name": "a", "kind": n}])]
        for n in ("nail", "screw")
    ]
    for route in ("GET /items?kind=KIND", "`GET /items`"):
        assert weighed(*asked, text=f"{route} {words}").rests == {}
    for route in ("GET /items?size=SIZE", "GET /tools?kind=KIND", "POST /items?kind=KIND"):
        assert weighed(*asked, text=f"{route} {words}").rests == {"r": (route,)}


@pytest.mark.spec("LAW-5")
@pytest.mark.parametrize(
    ("clause", "is_shown"),
    [
        ("GET /items/<id>", True),
        ("GET /items/{id}?full=yes", False),
        ("DELETE /items/<id>", False),
        ("GET /items/<id>/parts", False),
        ("`stock.parse(text)`", True),
        ("`other.parse(text)`", False),
    ],
)
def test_a_clause_that_only_names_an_entry_point_is_shown_by_a_case_that_uses_this_one(
    clause: str, is_shown: bool
) -> None:
    cases: list[CallCase | HttpCase] = [
        HttpCase.model_validate(exchange("GET", "/items/7", json={"see": "DELETE /items/7, GET /items/7/parts"})),
        HttpCase.model_validate(exchange("DELETE", "/users/1")),
        CallCase(call="stock:parse", args=("a",), returns=1),
    ]
    assert is_only_names(clause, partial(_is_used, cases)) is is_shown


@pytest.mark.spec("LAW-5", "DAY-11")
def test_a_case_whose_command_line_does_not_name_its_files_is_refused_before_anybody_builds() -> None:
    text = "`python -m notes count FILE` prints how many lines it has."

    def case(word: str, lines: int) -> dict[str, Any]:
        run = ["python", "-m", "notes", "count", word]
        return {"run": run, "files": {"a.txt": "x\n" * lines}, "stdout": f"{lines}\n", "quotes": text}

    unnamed = weighed([case("a.txt", 2), case("a.txt", 5)], text=text)
    assert unnamed.kept == ()
    assert any("does not name its files, as in {files}/NAME" in one.what for one in unnamed.faults)
    named = weighed([case("{files}/a.txt", 2), case("{files}/a.txt", 5)], text=text)
    assert (len(named.kept), named.faults) == (2, ())
