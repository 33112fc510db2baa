"""A quick verdict: every check once. It can refute; what it shows is `tested` at most, and nobody's word lifts it."""

from collections.abc import Sequence

from trued.model import Evidence, Grade, Judged
from trued.proof.case_status import GREEN_TURNS

QUICK_TURNS = 1
QUICK_CEILING = Grade.TESTED
QUICK_NOTE = (
    "quick: every check ran once on the head; the second run (another order, date, host and HOME) was skipped, "
    f"so nothing is graded above {QUICK_CEILING}: verify without --quick"
)


def count_twice(facts: Sequence[Evidence]) -> list[Evidence]:
    """For the judge, who asks for two turns: the one that there was stands for both. Only below the ceiling."""
    return [one for _ in range(GREEN_TURNS // QUICK_TURNS) for one in facts]


def cap_grade(judged: Judged) -> Judged:
    """Never above the ceiling, and never finished but for a person's word: one who hurries is not asked for it."""
    update: dict[str, object] = {"holds": False, "lacks": ""}
    if judged.grade.rank > QUICK_CEILING.rank:
        update |= {"grade": QUICK_CEILING, "why": (f"quick: run once, not twice ({judged.why[0]})", *judged.why[1:])}
    return judged.model_copy(update=update)
