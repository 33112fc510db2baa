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
WAITS = 20  # waits that are shown; the others are on their runs' pages
VERIFIED = 8  # verifications that are shown below the runs; the others are in the history
VERIFICATIONS = {"": "all", "met": "every requirement met", "open": "some not met"}
FILTERS = {
    "work": "at work",
    "queued": "queued",
    "waiting": "waiting",
    "done": "done",
    "rest": "other",
    "refuted": "with refuted claims",
}


def runs(reader: Reader, params: Params) -> PageView:
    records = reader.runs()
    waits = {record.id: reader.waits(record) for record in records if not record.has_ended}
    kinds = {record.id: _kind(record, bool(waits.get(record.id))) for record in records}
    only, search = params.get("only", ""), params.get("q", "").strip()[:200]
    fallen = reader.claims_refuted()
    fitting = {
        kind: [record for record in records if kind in (kinds[record.id], fallen.get(record.id) and "refuted")]
        for kind in FILTERS
    }
    fitting_records = [
        record for record in (fitting.get(only, []) if only else records) if _fits(reader, record, search)
    ]
    paging = paged(fitting_records, params, "only", "q", size=SIZE)
    number = sum(map(len, waits.values()))
    pieces = {
        "top": piece("runs/top.html.j2", number=number, empty=not records),
        **_waits(reader, records),
        "runs": piece(
            "runs/list.html.j2",
            paging=paging,
            summaries={record.id: reader.summary(record) for record in paging.items},
            waits=waits,
            only=only,
            words=search,
            total=len(records),
            counts={kind: len(those) for kind, those in fitting.items()},
            filters=FILTERS,
        ),
        **_verifications(reader, params, only, search),
        "more": piece("runs/more.html.j2", comparisons=[] if reader.is_empty else comparisons(reader.store)[:50]),
    }
    return made(reader, "Runs", pieces)


def _kind(record: RunRecord, waits: bool) -> str:
    if waits:
        return "waiting"
    return {"running": "work", "queued": "queued", "done": "done"}.get(record.state, "rest")


def _fits(reader: Reader, record: RunRecord, search: str) -> bool:
    """Whether all words of the search occur in the run's title, branch, id, workflow, folder or requirements."""
    if not search:
        return True
    parts = (record.title, record.branch, record.id, record.workflow, record.repository)
    text = " ".join((*parts, *reader.summary(record).names)).lower()
    return all(word in text for word in search.lower().split())


def _verifications(reader: Reader, params: Params, only: str, search: str) -> dict[str, str]:
    """The latest results of `trued verify`, shown below the runs; nothing if nobody has used the command."""
    verifications = VerificationLog(reader.home).records()
    kinds = {
        "": verifications,
        "met": [verification for verification in verifications if not verification.code],
        "open": [verification for verification in verifications if verification.code],
    }
    wanted = params.get("verified", "")
    fitting = [
        verification
        for verification in kinds.get(wanted, verifications)
        if all(word in _search_text(verification) for word in search.lower().split())
    ]
    table = piece(
        "runs/verifications.html.j2",
        every=fitting,
        most=VERIFIED,
        filters=VERIFICATIONS,
        counts={kind: len(those) for kind, those in kinds.items()},
        verified=wanted if wanted in kinds else "",
        only=only,
        words=search,
    )
    return {"verifications": table} if verifications else {}


def _search_text(verification: VerificationRecord) -> str:
    commits = f"{verification.head} {verification.base}"
    return f"{commits} {verification.repository} {verification.requirements_file} {verification.grade}".lower()


def _waits(reader: Reader, records: list[RunRecord]) -> dict[str, str]:
    """The first WAITS things that wait for a person in these runs. Things that a person has to judge come with pictures
    of the work."""
    pieces: dict[str, str] = {}
    for record in records:
        for wait in reader.waits(record):
            number = len(pieces) + 1
            if number > WAITS:
                return pieces
            summary = reader.summary(record)
            pictures = pictures_of(reader.material(record), wait.requirement) if wait.kind == "judge" else ()
            met = f"{summary.met} of {summary.requirements} requirements are met" if summary.requirements else ""
            pieces[f"wait-{number}"] = wait_piece(reader, record, number, wait, pictures, met)
    return pieces


ROUTE = PageRoute("/", runs)
