"""JUnit's XML from any runner, forged or broken: what it shows as failed or idle never reads as passed."""

from xml.etree import ElementTree

from tests.fuzz.mutation import Mutator
from trued.proof.runners.junit_xml import BadReport, ReportedTest, id_in_file, read_report

SEEDS = (
    b"""<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="0" failures="1" skipped="1" tests="3" time="0.03" file="a.py">
<testcase classname="tests.test_a" name="test_one" time="0.001"/>
<testcase classname="tests.test_a" name="test_two" time="0.001">
<failure message="assert 1 == 2">E  1 == 2 &lt;x&gt;</failure></testcase>
<testcase classname="tests.test_a" name="test_three" time="0"><skipped type="pytest.skip" message="later"/></testcase>
</testsuite></testsuites>
""",
    b"""<testsuites name="vitest tests"><testsuite name="src/a.test.js" tests="2">
<testcase classname="src/a.test.js" name="adds &gt; one" time="0.002"></testcase>
<testcase classname="src/a.test.js" name="adds &gt; two">
<error type="X"><![CDATA[<testcase name="no"/>]]></error></testcase>
</testsuite></testsuites>""",
    b"""<testsuite><testsuite name="inner"><testcase name="t" status="notrun"/>
<testcase name="u"><system-out>ok</system-out>
<rerunFailure>x</rerunFailure></testcase></testsuite></testsuite>""",
)
BAD = ("failure", "error", "rerunFailure", "flakyFailure", "rerunError", "flakyError")
IDLE = ("notrun", "skipped", "disabled", "suppressed", "pending")


def feed(chance: Mutator) -> bytes:
    data = _grown(chance, 0) if chance.random.random() < 0.4 else chance.text(SEEDS)
    try:
        found = read_report(data)
    except BadReport as error:
        return b"refused" if str(error) else b"?"
    for one in found:
        _keepable(one)
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError:  # a prefix that stands for nothing: ours does not know prefixes
        return b"read with prefixes"
    cases = list(root.iter("testcase"))
    failing = [case for case in cases if _bad(case)]
    assert len(found) <= len(cases), "more tests than the report has"
    assert len([one for one in found if one.outcome == "passed"]) <= len(cases) - len(failing), "one failed and passed"
    for case in failing:
        alike = [one for one in found if one.name == case.get("name", "") and one.group == case.get("classname", "")]
        twins = [one for one in cases if _label(one) == _label(case) and not _bad(one)]
        assert len([one for one in alike if one.outcome == "passed"]) <= len(twins), "a failed test reads as passed"
    return b"read" if found else b"empty"


TAGS = ("testsuite", "testcase", "testcase", "testcase", "failure", "error", "skipped", "system-out", "properties", "x")
NAMES = ("name", "classname", "status", "time", "result", "file", "message")
WORDS = ("a", "b", "notrun", "run", "-1", "1e999", "nan", "a.py", "")


def _grown(chance: Mutator, depth: int) -> bytes:
    """A tree of elements that belong to reports, in any order and depth."""
    pick = chance.random.choice
    tag = pick(TAGS) if depth else "testsuites"
    attributes = {pick(NAMES): pick(WORDS) for _ in range(pick((0, 1, 2, 3)))}
    inside = b"".join(_grown(chance, depth + 1) for _ in range(pick((0, 0, 1, 2, 3)) if depth < 5 else 0))
    written = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{written}>".encode() + inside + f"</{tag}>".encode()


def _label(case: ElementTree.Element) -> tuple[str, str]:
    return case.get("name", ""), case.get("classname", "")


def _bad(case: ElementTree.Element) -> bool:
    """Something inside it says that it failed or was not run, or it says so itself."""
    inside = any(case.find(f".//{tag}") is not None for tag in (*BAD, "skipped"))
    return inside or case.get("status", "").lower() in IDLE or case.get("result", "").lower() in IDLE


def _keepable(one: ReportedTest) -> None:
    assert one.outcome in ("passed", "failed", "error", "skipped")
    assert 0 <= one.seconds < float("inf")
    (id_in_file(one, "a.py") + one.text + "".join(one.suites) + one.file).encode()
