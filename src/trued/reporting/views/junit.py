"""A verification as JUnit XML: one test case per requirement, for build servers that show test tables."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from xml.etree import ElementTree as ET

from trued.model import Grade, Judged
from trued.reporting.views.verification import Verification, reasons_sentence
from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import plain

SUITE = "trued verify"
MOST = 20_000  # maximum length of one text, in characters
_NOT_XML = lazy_regex("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(verification: Verification) -> str:
    """The XML. A test case passes if its requirement is met, is an error if it is unjudged, and is skipped if only a
    person's approval is missing; otherwise it fails."""
    sorts = [_sort(judged, verification.accept) for judged in verification.verdict.requirements]
    counts = {
        "tests": str(len(sorts)),
        "failures": str(sorts.count("failure")),
        "errors": str(sorts.count("error")),
        "skipped": str(sorts.count("skipped")),
        "time": f"{verification.seconds:.3f}",
    }
    top = ET.Element("testsuites", {"name": SUITE, **counts})
    suite = ET.SubElement(top, "testsuite", {"name": SUITE, **counts})
    properties = ET.SubElement(suite, "properties")
    for name, value in _facts(verification).items():
        ET.SubElement(properties, "property", {"name": name, "value": safe(value)})
    for judged in verification.verdict.requirements:
        _case(suite, verification, judged)
    if notes := "\n".join(
        (*verification.verdict.undecided, *(finding.what for finding in verification.verdict.remarks))
    ):
        ET.SubElement(suite, "system-out").text = safe(notes)
    ET.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(top, encoding="unicode") + "\n"


def sort(grade: Grade, accept: Grade, *, waits: bool) -> str:
    """How a requirement counts as a test case. `waits`: nothing failed, and only a person's approval is missing."""
    if grade.is_met(accept):
        return "passed"
    if grade is Grade.UNJUDGED:
        return "error"
    return "skipped" if waits else "failure"


def _sort(judged: Judged, accept: Grade) -> str:
    return sort(judged.grade, accept, waits=judged.holds and bool(judged.lacks))


def _facts(verification: Verification) -> dict[str, str]:
    return {
        "grade": str(verification.verdict.grade),
        "commit": verification.verdict.commit,
        "base": verification.contract.base,
        "accept": f"{verification.accept}{f' ({verification.bar})' if verification.bar else ''}",
        "isolation": ", ".join(verification.isolation),
        "reproduce": verification.reproduce,
    }


def _case(suite: ET.Element, verification: Verification, judged: Judged) -> None:
    checks = verification.checks(judged)
    seconds = sum(fact.seconds for fact in verification.verdict.evidence if fact.id in judged.evidence)
    where = PurePosixPath(judged.source.rpartition(":")[0]).name or "requirements"
    case = ET.SubElement(
        suite,
        "testcase",
        {"classname": safe(where), "name": safe(judged.id), "time": f"{seconds:.3f}"},
    )
    kind, why = _sort(judged, verification.accept), safe(reasons_sentence(judged.why))
    if kind == "skipped":
        ET.SubElement(case, "skipped", {"message": f"{judged.grade}, waits for a person: {why}"})
    elif kind != "passed":
        failed = ET.SubElement(case, kind, {"message": f"{judged.grade}: {why}", "type": str(judged.grade)})
        failed.text = safe("\n".join(check.failed_case_line(tried) for check in checks for tried in check.failing))
    lines = [
        judged.text,
        f"grade: {judged.grade}",
        f"why: {reasons_sentence(judged.why)}",
        *(check.result_line for check in checks),
    ]
    ET.SubElement(case, "system-out").text = safe("\n".join(lines))


def gate_junit(sentence: str, data: Mapping[str, Any], accept: Grade) -> str:
    """The gate's verdict as JUnit XML, with the same kinds of test cases as `junit`. `sentence`: the verdict in one
    line; `data`: the ledger.

    The XML names no case, because the author of a pull request can read it. (`verify --junit` names cases.)
    """
    rows = data["requirements"]
    sorts = [sort(Grade(row["grade"]), accept, waits=bool(row["holds"] and row["lacks"])) for row in rows]
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    counts = {"tests": str(len(rows)), **{name: str(sorts.count(kind)) for name, kind in kinds.items()}}
    suite = ET.Element("testsuite", {"name": "trued gate", **counts})
    for row, kind in zip(rows, sorts, strict=True):
        case = ET.SubElement(suite, "testcase", {"classname": "requirements", "name": safe(row["id"])})
        if kind != "passed":
            ET.SubElement(case, kind, {"message": safe(f"{row['grade']}: {row['why']}")})
    ET.SubElement(suite, "system-out").text = safe(sentence)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def safe(text: str) -> str:
    """The text without characters that XML forbids or that control a terminal."""
    clean = _NOT_XML.sub("", plain(text))
    return clean if len(clean) <= MOST else f"{clean[:MOST]}…"
