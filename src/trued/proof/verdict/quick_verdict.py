"""Quick verdicts, for which every check runs only once. A quick verdict can refute, but it grades nothing above
`tested`, even with approvals."""

from collections.abc import Sequence

from trued.model import Evidence, FactNote, Grade, Judged
from trued.proof.verdict.case_status import GREEN_TURNS
from trued.proof.verdict.reasons import QUICK

QUICK_TURNS = 1
QUICK_CEILING = Grade.TESTED
QUICK_NOTE = FactNote(
    "quick: every check ran once on the head; the second run (another order, date, host and HOME) was skipped, "
    f"so nothing is graded above {QUICK_CEILING}"
)


def count_twice(facts: Sequence[Evidence]) -> list[Evidence]:
    """The facts of the only run, twice: the judge expects a second run, and a quick verdict has none."""
    return [fact for _ in range(GREEN_TURNS // QUICK_TURNS) for fact in facts]


def cap_grade(judged: Judged) -> Judged:
    """The verdict with a grade of at most `tested`. It does not hold, and asks for no approval."""
    update: dict[str, object] = {"holds": False, "lacks": "", "own": judged.own and cap_grade(judged.own)}
    if judged.grade > QUICK_CEILING:
        update |= {"grade": QUICK_CEILING, "why": (f"{QUICK} ({judged.why[0]})", *judged.why[1:])}
    return judged.model_copy(update=update)
