"""A verification as Markdown for a pull request: a table first, the evidence folded away.

Every text from outside may be hostile: it is shown as plain text, without markup, mentions and links.
"""

from collections.abc import Mapping
from typing import Any

from trued.model import Judged
from trued.model.grades import GRADE_MARKS
from trued.reporting.views.verification import CheckedSides, Verification, reasons_sentence, short_source
from trued.support.markdown_escape import code_block, escaped, folded

MARKS = {"done": "✅", "waiting": "🟡", "unjudged": "⚠️"}
MOST_DETAIL = 1500
MOST_FAILING = 10  # failing cases of one check; the others are counted


def markdown(verification: Verification) -> str:
    rows = [_row(judged, verification) for judged in verification.verdict.requirements]
    parts = [
        f"### {MARKS.get(verification.outcome.state, '❌')} trued: {escaped(verification.headline)}",
        "| | requirement | grade | why |\n| --- | --- | --- | --- |\n" + "\n".join(rows) if rows else "",
        f"> {escaped(verification.bar)}" if verification.bar else "",
        *(f"> {escaped(finding.what)}" for finding in verification.verdict.remarks),
        folded(
            "Evidence", "\n\n".join(_evidence(verification, judged) for judged in verification.verdict.requirements)
        ),
        folded("Not checked", "\n".join(f"- {escaped(note)}" for note in verification.unchecked)),
        folded("Notes", "\n".join(f"- {escaped(note)}" for note in verification.facts)),
        _facts(verification),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _row(judged: Judged, verification: Verification) -> str:
    met = judged.grade.is_met(verification.accept)
    mark = GRADE_MARKS.get(judged.grade, "✅" if met else "❌" if verification.has_failed(judged) else "🟡")
    what, why = f"{escaped(judged.id)}<br>{escaped(judged.text)}", escaped(reasons_sentence(judged.why))
    return f"| {mark} | {what} | {judged.grade} | {why} |"


def _evidence(verification: Verification, judged: Judged) -> str:
    rests = verification.rests_on(judged)
    lines = [f"**{escaped(judged.id)}**{f' · {escaped(short_source(judged.source))}' if judged.source else ''}"]
    lines += [
        f"- {escaped(check.result_line)}{', held out' if check.held_out else ''}"
        for check in verification.checks(judged)
    ]
    lines += [f"- rests on {escaped(rests)}"] if rests else []
    lines += [] if verification.checks(judged) else ["- there is no evidence"]
    blocks = [_failing_block(check) for check in verification.checks(judged) if check.failing]
    return "\n".join(lines) + "".join(f"\n\n{block}" for block in blocks)


def _failing_block(check: CheckedSides) -> str:
    lines = [check.failed_case_line(tried)[:MOST_DETAIL] for tried in check.failing[:MOST_FAILING]]
    more = len(check.failing) - MOST_FAILING
    return code_block("\n".join(lines) + (f"\n… {more} more" if more > 0 else ""))


def _facts(verification: Verification) -> str:
    isolation = ", ".join(verification.isolation) or "nothing was run"
    line = f"commit `{verification.verdict.commit}` against base `{verification.contract.base}` · {escaped(isolation)}"
    held = escaped(verification.contract.visibility)
    again = f"Reproduce:\n\n{code_block(verification.reproduce, 'sh')}" if verification.reproduce else ""
    return "\n\n".join(part for part in (f"{line}<br>{held}", again) if part)


def gate_summary(sentence: str, data: Mapping[str, Any]) -> str:
    """The gate's verdict as a Markdown table for GitHub's job summary. `sentence`: the verdict in one line; `data`: the
    ledger."""
    rows = [f"| {escaped(row['id'])} | {row['grade']} | {escaped(row['why'])} |" for row in data["requirements"]]
    undecided = [f"- {escaped(note)}" for note in data["undecided"]]
    notes = ["", "Notes:", "", *undecided] if undecided else []
    table = ["| requirement | grade | why |", "| --- | --- | --- |", *rows]
    return "\n".join([f"### trued gate: {escaped(sentence)}", "", *table, *notes, ""])
