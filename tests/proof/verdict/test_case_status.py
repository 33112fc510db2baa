"""The list of everything that can leave something unjudged, at the top of `case_status.py`, is complete."""

import re
from pathlib import Path

import trued.proof
from trued.proof.verdict import case_status

PROOF = Path(trued.proof.__file__).parent
# A line that makes something unjudged, not one that asks whether it is.
MAKES = re.compile(
    r"return Outcomes\.UNJUDGED|outcome=Outcomes\.UNJUDGED|outcome, kind = Outcomes\.UNJUDGED"
    r"|\"outcome\": Outcomes\.UNJUDGED|void_fact\(.*Outcomes\.UNJUDGED|\bunjudged_fact\("
    r"|_Grading\(Grade\.UNJUDGED|\"grade\": Grade\.UNJUDGED|grade, lacks, why = Grade\.UNJUDGED"
    r"|_lowered\(judged, Grade\.UNJUDGED"
)


def test_every_file_that_makes_something_unjudged_is_in_the_list() -> None:
    making = {
        path.relative_to(PROOF).as_posix()
        for path in PROOF.rglob("*.py")
        if path.name != "case_status.py" and MAKES.search(path.read_text())
    }
    listed = {*re.findall(r"`([\w/]+\.py)`", case_status.__doc__ or "")}
    assert len(making) > 15
    assert making <= listed
    assert {path for path in listed if not (PROOF / path).is_file()} == set()
