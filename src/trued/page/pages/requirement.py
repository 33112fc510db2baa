"""One requirement: the user's words, each case before and after, every verdict, and the refuted claims."""

from dataclasses import replace

from trued.errors import BadInput
from trued.page.pages.common import run_page
from trued.page.pages.run import outcomes_of
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params
from trued.reporting.html.ledger import lines, row_of

STAGES = 12  # verdicts that are shown with their evidence, the newest first
CLAIMS = 40
CASES = 60
TRIALS = 8  # check runs of one verdict that are shown, the newest


def requirement(reader: Reader, params: Params) -> PageView:
    record, name = reader.run(params["run"]), params["requirement"]
    material = replace(reader.material(record), history=reader.history_of(record).about(name))
    found = [line for line in lines(material) if line.id == name]
    row = row_of(material, name)
    if not found or row is None:
        raise BadInput(f"run {record.id} has no requirement {name}", then="its ledger lists them")
    fallen = [call for call in reader.calls(record) if name in call.refuted.split(", ")]
    told = [
        proved for proved in material.history if any(one.id == name and one.gaps for one in proved.verdict.requirements)
    ]
    pieces = {
        "requirement": piece(
            "requirement/words.html.j2", record=record, line=found[0], row=row, look=reader.look_at(record)
        ),
        "cases": piece(
            "requirement/cases.html.j2",
            cases=outcomes_of(material, found)[name],
            most=CASES,
            held_back=material.holds_out,
        ),
        "claims": piece("requirement/claims.html.j2", record=record, calls=fallen[::-1][:CLAIMS], told=len(told)),
        "history": piece(
            "requirement/history.html.j2",
            row=row,
            stages=row.stages[::-1][:STAGES],
            all=len(row.stages),
            most=TRIALS,
        ),
    }
    return run_page(reader, record, "", name, pieces)


ROUTE = PageRoute("/r/{run}/ledger/{requirement:path}", requirement)
