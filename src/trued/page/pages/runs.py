"""The first page: what waits for a person, and all runs."""

from trued.engine.comparisons import comparisons
from trued.engine.verification_log import VerificationLog, VerificationRecord
from trued.model import RunRecord
from trued.page.pages.common import made, paged, wait_piece
from trued.page.pages.run import pictures_of
from trued.page.reader import Reader
from trued.page.render import piece
from trued.page.view import PageRoute, PageView, Params

SIZE = 100  # runs on one page
WAITS = 20  # at most this many waits are shown; the others are on their runs' pages
VERIFIED = 8  # at most this many verifications are shown below the runs; the others are in the history
VERIFICATIONS = {"": "all", "met": "every requirement met", "open": "some not met"}
FILTERS = {
    "work": "at work",
    "queued": "queued",
    "waiting": "waiting",
    "done": "done",
    "rest": "not finished",
    "refuted": "with refuted claims",
}


def runs(reader: Reader, params: Params) -> PageView:
    every = reader.runs()
    waits = {one.id: reader.waits(one) for one in every if not one.has_ended}
    kinds = {one.id: _kind(one, bool(waits.get(one.id))) for one in every}
    only, words = params.get("only", ""), params.get("q", "").strip()[:200]
    fallen = reader.claims_refuted()
    fitting = {
        kind: [one for one in every if kind in (kinds[one.id], fallen.get(one.id) and "refuted")] for kind in FILTERS
    }
    shown = [one for one in (fitting.get(only, []) if only else every) if _fits(reader, one, words)]
    paging = paged(shown, params, "only", "q", size=SIZE)
    number = sum(map(len, waits.values()))
    pieces = {
        "top": piece("runs/top.html.j2", number=number, empty=not every),
        **_waits(reader, every),
        "runs": piece(
            "runs/list.html.j2",
            paging=paging,
            summaries={one.id: reader.summary(one) for one in paging.items},
            waits=waits,
            only=only,
            words=words,
            total=len(every),
            counts={kind: len(those) for kind, those in fitting.items()},
            filters=FILTERS,
        ),
        **_verifications(reader, params, only, words),
        "more": piece("runs/more.html.j2", comparisons=[] if reader.is_empty else comparisons(reader.store)[:50]),
    }
    return made(reader, "Runs", pieces)


def _kind(record: RunRecord, waits: bool) -> str:
    if waits:
        return "waiting"
    return {"running": "work", "queued": "queued", "done": "done"}.get(record.state, "rest")


def _fits(reader: Reader, record: RunRecord, words: str) -> bool:
    """Whether all words occur in the run's title, branch, id, workflow, folder or requirements."""
    if not words:
        return True
    parts = (record.title, record.branch, record.id, record.workflow, record.repository)
    text = " ".join((*parts, *reader.summary(record).names)).lower()
    return all(one in text for one in words.lower().split())


def _verifications(reader: Reader, params: Params, only: str, words: str) -> dict[str, str]:
    """The latest results of `trued verify`, shown below the runs; nothing if it was never used."""
    every = VerificationLog(reader.home).records()
    kinds = {"": every, "met": [one for one in every if not one.code], "open": [one for one in every if one.code]}
    wanted = params.get("verified", "")
    shown = [
        one for one in kinds.get(wanted, every) if all(word in _search_text(one) for word in words.lower().split())
    ]
    made = piece(
        "runs/verifications.html.j2",
        every=shown,
        most=VERIFIED,
        filters=VERIFICATIONS,
        counts={kind: len(those) for kind, those in kinds.items()},
        verified=wanted if wanted in kinds else "",
        only=only,
        words=words,
    )
    return {"verifications": made} if every else {}


def _search_text(one: VerificationRecord) -> str:
    return f"{one.head} {one.base} {one.repository} {one.requirements_file} {one.grade}".lower()


def _waits(reader: Reader, every: list[RunRecord]) -> dict[str, str]:
    """What waits for a person in these runs; for a person's judgement, with pictures of the work."""
    found: dict[str, str] = {}
    for record in every:
        for one in reader.waits(record):
            number = len(found) + 1
            if number > WAITS:
                return found
            summary = reader.summary(record)
            pictures = pictures_of(reader.material(record), one.requirement) if one.kind == "judge" else ()
            met = f"{summary.met} of {summary.requirements} requirements are met" if summary.requirements else ""
            found[f"wait-{number}"] = wait_piece(reader, record, number, one, pictures, met)
    return found


ROUTE = PageRoute("/", runs)
