"""A verification as Markdown for a pull request: a table first, the evidence folded away.

Every text from outside may be hostile: it is shown as plain text, without markup, mentions and links.
"""

from collections.abc import Mapping
from typing import Any

from trued.model import Grade, Judged
from trued.reporting.views.verification import CheckedSides, Verification, reasons_sentence, short_source
from trued.support.markdown_escape import code_block, escaped, folded

MARKS = {"done": "✅", "waiting": "🟡", "unjudged": "⚠️"}
GRADES = {Grade.PROVEN: "✅", Grade.ATTESTED: "✅", Grade.REFUTED: "❌", Grade.UNJUDGED: "⚠️"}
MOST_DETAIL = 1500
MOST_FAILING = 10  # at most this many failing cases of one check are shown; the others are counted


def markdown(one: Verification) -> str:
    rows = [_row(judged, one.accept) for judged in one.verdict.requirements]
    parts = [
        f"### {MARKS.get(one.outcome.state, '❌')} trued: {escaped(one.headline)}",
        "| | requirement | grade | why |\n| --- | --- | --- | --- |\n" + "\n".join(rows) if rows else "",
        f"> {escaped(one.bar)}" if one.bar else "",
        *(f"> {escaped(finding.what)}" for finding in one.verdict.remarks),
        folded("Evidence", "\n\n".join(_evidence(one, judged) for judged in one.verdict.requirements)),
        folded("Not checked", "\n".join(f"- {escaped(note)}" for note in one.unchecked)),
        folded("Notes", "\n".join(f"- {escaped(note)}" for note in one.facts)),
        _facts(one),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _row(judged: Judged, accept: Grade) -> str:
    met = judged.grade.is_met(accept)
    mark = GRADES.get(judged.grade, "✅" if met else "🟡" if judged.holds else "❌")
    what, why = f"{escaped(judged.id)}<br>{escaped(judged.text)}", escaped(reasons_sentence(judged.why))
    return f"| {mark} | {what} | {judged.grade} | {why} |"


def _evidence(one: Verification, judged: Judged) -> str:
    rests = one.rests_on(judged)
    lines = [f"**{escaped(judged.id)}**{f' · {escaped(short_source(judged.source))}' if judged.source else ''}"]
    lines += [f"- {escaped(check.result_line)}{', held out' if check.held_out else ''}" for check in one.checks(judged)]
    lines += [f"- rests on {escaped(rests)}"] if rests else []
    lines += [] if one.checks(judged) else ["- there is no evidence"]
    blocks = [_failing_block(check) for check in one.checks(judged) if check.failing]
    return "\n".join(lines) + "".join(f"\n\n{block}" for block in blocks)


def _failing_block(check: CheckedSides) -> str:
    said = [check.failed_case_line(tried)[:MOST_DETAIL] for tried in check.failing[:MOST_FAILING]]
    more = len(check.failing) - MOST_FAILING
    return code_block("\n".join(said) + (f"\n… {more} more" if more > 0 else ""))


def _facts(one: Verification) -> str:
    isolation = ", ".join(one.isolation) or "nothing was run"
    line = f"commit `{one.verdict.commit}` against base `{one.contract.base}` · {escaped(isolation)}"
    held = f"cases are {'held out' if one.contract.held_out else 'visible'}: {escaped(one.contract.held_out_why)}"
    again = f"Reproduce:\n\n{code_block(one.reproduce, 'sh')}" if one.reproduce else ""
    return "\n\n".join(part for part in (f"{line}<br>{held}", again) if part)


def gate_summary(sentence: str, data: Mapping[str, Any]) -> str:
    """The gate's verdict as a Markdown table for GitHub's job summary. `sentence`: the verdict in one line; `data`: the
    ledger."""
    rows = [f"| {escaped(row['id'])} | {row['grade']} | {escaped(row['why'])} |" for row in data["requirements"]]
    undecided = [f"- {escaped(one)}" for one in data["undecided"]]
    notes = ["", "Notes:", "", *undecided] if undecided else []
    table = ["| requirement | grade | why |", "| --- | --- | --- |", *rows]
    return "\n".join([f"### trued gate: {escaped(sentence)}", "", *table, *notes, ""])
