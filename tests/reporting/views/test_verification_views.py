"""A verification as JUnit XML and Markdown: correct, valid, and safe with hostile texts."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from trued.model import (
    CallCase,
    Contract,
    Evidence,
    ExamplesCheck,
    Grade,
    Judged,
    Outcomes,
    Requirement,
    Source,
    TestsCheck,
    Tried,
    Verdict,
)
from trued.proof.hashes import check_hash
from trued.proof.verdict.conclusion import conclude
from trued.reporting.views.cases import failed_case
from trued.reporting.views.junit import gate_junit, junit
from trued.reporting.views.markdown import markdown
from trued.reporting.views.verification import Verification, ran_by, reasons_sentence, short_source, verification_data
from trued.support.markdown_escape import code_block, escaped

CHECK = ExamplesCheck(cases=(CallCase(call="tiny:double", args=(21,), returns=42),))
HOSTILE = (
    "</details><script>alert(1)</script> | @everyone fixes #1 [x](javascript:alert(1)) ![i](http://evil/x.png) "
    "www.evil.org https://evil.org `code` **bold** ]]> <!-- \x1b[31m\x00\u202e\ufffe & &lt; \\| --> ~~~ ``` $x$"
)


def fact(name: str, side: str, outcome: Outcomes, detail: str = "") -> Evidence:
    return Evidence(
        id=name,
        requirement="double",
        check=check_hash(CHECK),
        kind="examples",
        side="base" if side == "base" else "head",
        turn=2 if side == "second" else 1,
        commit="c" * 40,
        tree="t" * 40,
        isolation="bubblewrap",
        tried=(Tried(id="case 1", outcome=outcome, kind="returned", detail=detail),),
        seconds=0.5,
        held_out=True,
    )


def verification(
    words: str = "double(x) doubles", why: str = "so it is", grade: Grade = Grade.PROVEN, accept: Grade = Grade.ATTESTED
) -> Verification:
    passed = Outcomes.FAILED if grade is Grade.REFUTED else Outcomes.PASSED
    facts = [
        fact("b", "base", Outcomes.MISSING),
        fact("h1", "head", passed, words),
        fact("h2", "second", passed, words),
    ]
    contract = Contract(
        base="b" * 40,
        requirements=(
            Requirement(id="double", text=words, source=Source(file="/a/b/asked.yaml", line=2), checks=(CHECK,)),
        ),
        held_out=True,
        held_out_why=words,
        base_facts=tuple(facts[:1]),
    )
    holds = grade not in (Grade.REFUTED, Grade.UNJUDGED)
    judged = [
        Judged(id="double", text=words, source="/a/b/asked.yaml:2", grade=grade, why=(why,), holds=holds,
               evidence=("b", "h1", "h2"), lacks="attest" if grade is Grade.UNPROVEN else ""),
        Judged(id="other", text="x", grade=Grade.PROVEN, why=("already satisfied",), holds=True),
    ]  # fmt: skip
    verdict = Verdict(
        subject="verify",
        commit="c" * 40,
        tree="t" * 40,
        requirements=tuple(judged),
        evidence=tuple(facts[1:]),
        undecided=(words,),
    )
    return Verification(
        contract, verdict, conclude(verdict, contract, accept), accept, "trued verify --base a --head b"
    )


def test_a_check_is_summed_up_base_against_head() -> None:
    one = verification(grade=Grade.REFUTED)
    check = one.checks(one.verdict.requirements[0])[0]
    assert check.result_line == "examples 0/1 twice (base 0/1)"
    assert check.failed_case_line(check.failing[0]) == "case 1, tiny:double(21): expected 42, got double(x) doubles"
    assert one.checks(one.verdict.requirements[1]) == []


def test_a_test_file_that_the_base_cannot_import_is_not_counted_as_one_test() -> None:
    one = verification()
    base = one.contract.base_facts[0].model_copy(
        update={"kind": "tests", "tried": (Tried(id="tests/test_a.py", outcome=Outcomes.FAILED, kind="collection"),)}
    )
    contract = one.contract.model_copy(update={"base_facts": (base,)})
    check = replace(one, contract=contract).checks(one.verdict.requirements[0])[0]
    assert (check.known, check.unimported, check.before) == (1, 1, 0)
    assert check.result_line.endswith("(base 1 file cannot be imported)")


def test_of_a_failed_test_the_assertion_is_the_brief_form() -> None:
    trace = "def test_bad():\n>       assert double(5) == 10\nE       assert 11 == 10\nE        +  where 11 = double(5)"
    check = verification().checks(verification().verdict.requirements[0])[0]
    tried = Tried(id="tests/test_a.py::test_bad", outcome=Outcomes.FAILED, detail=trace)
    assert (
        check.failed_case_line(tried, brief=True)
        == "tests/test_a.py::test_bad: assert 11 == 10; +  where 11 = double(5)"
    )
    assert check.failed_case_line(tried).endswith(trace)


@pytest.mark.parametrize(
    ("versions", "command", "expected"),
    [
        ({}, "/usr/bin/python3 -I -B counted.py ← pytest", "Python 3.11"),
        ({}, "make lint", "Python 3.11"),
        ({}, "/usr/bin/node nodes.mjs ← node --test", "Node"),
        ({"node": "v20.1.0"}, "/usr/bin/node nodes.mjs ← node --test", "Node v20.1.0"),
        ({"node": "v20.1.0"}, "2 cases by node", "Node v20.1.0"),
        ({"node": "v20.1.0"}, "2 cases by /usr/bin/python3 and node", "Python 3.11, Node v20.1.0"),
        ({"chromium": "131"}, "open / in Chromium", "Chromium 131"),
    ],
)
def test_what_ran_a_check_is_told_by_its_evidence(versions: dict[str, str], command: str, expected: str) -> None:
    assert ran_by("Python 3.11", versions, command) == expected


def test_where_a_requirement_runs_all_existing_tests_it_is_named_for_them() -> None:
    one = verification()
    passed = fact("t", "base", Outcomes.PASSED).model_copy(update={"kind": "tests", "requirement": "suite"})

    def owner(command: str, *facts: Evidence) -> str:
        suite = Requirement(id="suite", text="x", checks=(TestsCheck(command=command),))
        asked = one.contract.model_copy(update={"requirements": (suite,), "base_facts": facts})
        return replace(one, contract=asked).suite_owner

    assert one.suite_owner == ""
    assert owner("python -m pytest -q", passed) == "suite"
    assert owner("python -m pytest -q tests/test_a.py", passed) == ""
    assert owner("python -m pytest -q") == "", "there is no existing test"


def test_reasons_that_are_alike_stand_together() -> None:
    why = [f"case {number}: it raises an error" for number in (1, 2, 3)] + ["a::b: it fails"]
    assert reasons_sentence(why) == "case 1, 2, 3: it raises an error; a::b: it fails"
    assert (
        reasons_sentence([f"a::t{number}: it fails" for number in range(9)])
        == "a::t0, a::t1, a::t2, a::t3, a::t4, a::t5, a::t6 and 2 more: it fails"
    )
    assert reasons_sentence([f"a::t{number}: failed by {number}" for number in range(9)]).endswith(
        "; and 3 more reasons"
    )
    assert (
        reasons_sentence(["already satisfied: all 2 cases passed", "kept: 4 tests"])
        == "already satisfied: all 2 cases passed; kept: 4 tests"
    )


def test_a_path_of_this_machine_is_told_by_its_last_part() -> None:
    assert [short_source("/home/me/asked.yaml:3"), short_source("specs/001/spec.md:3"), short_source("")] == [
        "asked.yaml:3",
        "specs/001/spec.md:3",
        "",
    ]


@pytest.mark.spec("USE-9")
def test_the_data_begins_with_grade_and_requirements() -> None:
    found = verification_data(verification())
    assert list(found)[:2] == ["grade", "requirements"]
    row = found["requirements"][0]
    assert list(row)[:4] == ["id", "grade", "why", "evidence"]
    assert (row["id"], row["grade"], row["why"], len(row["evidence"])) == ("double", "proven", "so it is", 3)
    assert (found["code"], found["lowered"], found["commit"]) == (0, False, "c" * 40)


@pytest.mark.parametrize(
    ("grade", "accept", "kind", "counts"),
    [
        (Grade.PROVEN, Grade.ATTESTED, "", ("2", "0", "0", "0")),
        (Grade.TESTED, Grade.TESTED, "", ("2", "0", "0", "0")),
        (Grade.TESTED, Grade.ATTESTED, "failure", ("2", "1", "0", "0")),
        (Grade.REFUTED, Grade.ATTESTED, "failure", ("2", "1", "0", "0")),
        (Grade.UNJUDGED, Grade.ATTESTED, "error", ("2", "0", "1", "0")),
        (Grade.UNPROVEN, Grade.ATTESTED, "skipped", ("2", "0", "0", "1")),
    ],
)
def test_each_requirement_is_a_test_case(grade: Grade, accept: Grade, kind: str, counts: tuple[str, ...]) -> None:
    top = ET.fromstring(junit(verification(grade=grade, accept=accept)))
    assert top.tag == "testsuites"
    suite = top[0]
    assert tuple(suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")) == counts
    case = suite.findall("testcase")[0]
    assert (case.attrib["classname"], case.attrib["name"]) == ("asked.yaml", "double")
    assert [child.tag for child in case] == [*([kind] if kind else []), "system-out"]
    if kind:
        assert str(grade) in case[0].attrib["message"]


@pytest.mark.parametrize(
    ("grade", "holds", "lacks", "kind"),
    [
        ("proven", True, "", ""),
        ("tested", True, "attest", "skipped"),
        ("unproven", True, "approve", "skipped"),
        ("unproven", False, "approve", "failure"),
        ("unproven", False, "", "failure"),
        ("refuted", False, "", "failure"),
        ("unjudged", False, "", "error"),
    ],
)
def test_the_gates_test_cases_are_of_the_same_kinds(grade: str, holds: bool, lacks: str, kind: str) -> None:
    row = {"id": "r", "grade": grade, "why": "because", "holds": holds, "lacks": lacks}
    suite = ET.fromstring(gate_junit("the verdict", {"requirements": [row]}, Grade.ATTESTED))
    assert [child.tag for child in suite[0]] == ([kind] if kind else [])
    counted = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    assert {name: suite.attrib[name] for name in counted} == {name: str(int(kind == counted[name])) for name in counted}


def _allowed(top: ET.Element) -> None:
    """Assert that the XML fits Jenkins' schema of the format, which build servers agree on."""
    below = {
        "testsuites": {"testsuite"},
        "testsuite": {"properties", "testcase", "system-out", "system-err"},
        "properties": {"property"},
        "testcase": {"skipped", "error", "failure", "system-out", "system-err"},
    }
    names = {
        "testsuites": {"name", "time", "tests", "failures", "errors", "skipped"},
        "testsuite": {"name", "time", "tests", "failures", "errors", "skipped"},
        "testcase": {"classname", "name", "time"},
        "property": {"name", "value"},
        "failure": {"message", "type"},
        "error": {"message", "type"},
        "skipped": {"message"},
    }
    for one in top.iter():
        assert {child.tag for child in one} <= below.get(one.tag, set()), one.tag
        assert set(one.attrib) <= names.get(one.tag, set()), one.tag


@pytest.mark.spec("USE-6")
@settings(max_examples=60, deadline=None)
@given(
    words=st.text(max_size=80) | st.just(HOSTILE), grade=st.sampled_from([Grade.PROVEN, Grade.REFUTED, Grade.UNPROVEN])
)
def test_no_text_breaks_the_xml(words: str, grade: Grade) -> None:
    written = junit(verification(words, words, grade))
    top = ET.fromstring(written.encode())
    _allowed(top)
    assert len(top.findall("testsuite/testcase")) == 2
    assert not any(char < " " and char not in "\n\t" for char in written)


@pytest.mark.spec("USE-6")
@settings(max_examples=60, deadline=None)
@given(words=st.text(max_size=80) | st.just(HOSTILE))
def test_no_text_makes_markup_in_the_markdown(words: str) -> None:
    plain, hostile = (_made(markdown(verification(one, one, Grade.REFUTED))) for one in ("words", words or "words"))
    assert hostile == plain


def _made(written: str) -> list[str]:
    """Every element that a renderer with tables, links and raw HTML makes of the text, except line breaks."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(written)
    inner = [child for token in tokens for child in token.children or ()]
    assert not any(token.type in ("link_open", "image") for token in inner)
    kept = [f"{token.type} {token.tag}" for token in (*tokens, *inner) if token.type not in ("text", "softbreak")]
    return [*kept, *(token.content for token in (*tokens, *inner) if token.type.startswith("html"))]


@pytest.mark.spec("USE-6")
def test_hostile_text_calls_nobody_and_links_nowhere() -> None:
    shown = escaped(HOSTILE)
    for bait in ("<script", "@everyone", "#1", "https://", "www.evil", "\x1b", "\u202e", " | ", "](", "**"):
        assert bait not in shown, bait
    block = code_block("a\n```\n<b>@x</b>\n````")
    assert block.startswith("`````\n")
    assert block.endswith("\n`````")


@pytest.mark.spec("LAW-11", "LAW-8")
def test_the_markdown_says_what_is_undecided_how_the_bar_lies_and_how_to_do_it_again() -> None:
    shown = markdown(verification("the words", grade=Grade.TESTED, accept=Grade.TESTED))
    for part in (
        "success",
        "bar was lowered",
        "Not checked",
        "trued verify --base a --head b",
        "| tested |",
    ):
        assert part in shown, part


@pytest.mark.spec("USE-7")
@pytest.mark.parametrize(
    ("returns", "detail", "hint"),
    [
        ("1.50", "returned <decimal.Decimal>", "write {$object: decimal.Decimal}"),
        ({"$object": "shop.P"}, "returned <decimal.Decimal>", ""),
        (1, "returned <undefined>", ""),
        (1, "returned '<a.b>'", ""),
    ],
)
def test_how_to_expect_an_object_of_a_class_is_said_where_one_came(returns: object, detail: str, hint: str) -> None:
    case = CallCase.model_validate({"call": "shop:price", "returns": returns})
    got = failed_case("case 1", detail, "value", (case,)).got
    assert got.startswith(detail.removeprefix("returned "))
    assert (hint in got) if hint else got == detail.removeprefix("returned ")
