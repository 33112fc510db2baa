"""The page of one run: what happens now."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trued.engine.limits import limits_in_force
from trued.engine.stored_evidence import evidence_about
from trued.model import Evidence, RunRecord
from trued.model.step_keys import scope_of
from trued.page.pages.common import paged, run_page, story_piece, wait_piece
from trued.page.reader import Reader
from trued.page.render import call_url, environment, piece, requirement_url, run_url
from trued.page.view import PageRoute, PageView, Params
from trued.proof.screenshots import evidence_pictures
from trued.reporting.html.calls import ReportedCall
from trued.reporting.html.format import amount, counted
from trued.reporting.html.ledger import LedgerLine, lines
from trued.reporting.html.material import Material
from trued.reporting.html.notices import notices
from trued.reporting.html.render import workflow_section
from trued.reporting.html.timeline import Links, timeline
from trued.reporting.views.red_green import CaseOutcomes, case_outcomes
from trued.support.money import money
from trued.support.token_count import token_count

# how much of the end of a run the lanes show: name in the address → seconds
ZOOMS = {"1 h": 3600.0, "10 min": 600.0, "1 min": 60.0}
SORTS = ("open", "met", "guard")  # kinds of ledger rows
BARS = 220  # at most about this many bars of all lanes together: each takes four elements and a title
ROWS, OPEN = 100, 6  # ledger rows on one page; at most OPEN of them show their cases without a click
QUIET_S = 86_400.0
TAIL = 40  # the last lines of the transcript, shown beside the ledger
STORY = 40  # lines of the story
NOTICES = 12
TOLD = 8  # while an agent works, at most this many of the gaps in its brief are shown


def run(reader: Reader, params: Params) -> PageView:
    record = reader.run(params["run"])
    material, all_calls = reader.material(record), reader.calls(record)
    watched = reader.watch(record)
    ledger = reader.made_of_decisions(record, "ledger", lines)
    is_at_work, call = record.state == "running", _call(reader, record, all_calls, material)
    sums = reader.made(record, "sums", lambda run_material: RunSums.of(run_material, all_calls, ledger))
    pieces = {
        "figures": piece("run/figures.html.j2", **_figures(reader, record, material, sums)),
        "notices": reader.made(record, "notices", lambda run_material: _notices(run_material, all_calls)),
        **wait_pieces(reader, record, material),
        # while the run works, the call comes before the lanes: on a phone it is then near the top
        **({"call": call} if is_at_work else {}),
        "lanes": _lanes(reader, record, all_calls, params),
        **_own_section(material),
        **({} if is_at_work else {"call": call}),
        "ledger": _first_ledger(reader, record, ledger)
        if not params.keys() & {"only", "page", "lanes"}
        else ledger_piece(reader, record, material, ledger, params),
        "story": story_piece(record, reader.story(record)[:STORY], watched.count),
    }
    return run_page(reader, record, "", "", pieces, layout="now at-work" if is_at_work else "now")


def _notices(material: Material, all_calls: tuple[ReportedCall, ...]) -> str:
    return piece("run/notices.html.j2", notices=list(notices(material, all_calls))[:NOTICES])


def _lanes(reader: Reader, record: RunRecord, all_calls: tuple[ReportedCall, ...], params: Params) -> str:
    only, zoom = params.get("only", ""), params.get("lanes", "")
    # only known values, because the result for each is cached
    only, zoom = only if only in SORTS else "", zoom if zoom in ZOOMS else ""
    links = Links(
        call=lambda call: call_url(record.id, call.key),
        refuted=lambda requirement: f"{requirement_url(record.id, requirement)}#history",
        people=run_url(record.id, "people"),
    )

    def made(material: Material) -> str:
        now = _now(record, material)
        line = timeline(material, all_calls, links, most=BARS, scopes=True, last_s=ZOOMS.get(zoom, 0.0), now=now)
        zooms = [name for name, seconds in ZOOMS.items() if seconds < line.seconds]
        return piece("run/lanes.html.j2", line=line, record=record, zooms=zooms, zoom=zoom, only=only)

    return reader.drawn(record, f"lanes {only} {zoom}", made)


def _now(record: RunRecord, material: Material) -> float:
    """The time at which the bars of running calls end. This is the present time, or the time of the newest event if
    that is so old that probably nobody works."""
    now = time.time()
    return now if record.state == "running" and now - material.now < QUIET_S else material.now


@dataclass(frozen=True, slots=True)
class RunSums:
    """Totals over all calls and requirements of a run."""

    calls: int
    at_work: int
    lies: int
    are_scripted: bool
    tokens: int
    estimated: bool
    usd: float
    cost: str  # how the cost is known
    met: int
    total: int
    grades: Mapping[str, int]

    @classmethod
    def of(cls, material: Material, all_calls: tuple[ReportedCall, ...], ledger: list[LedgerLine]) -> "RunSums":
        seen, requested = material.progress, [line for line in ledger if not line.guard]
        used, estimated = seen.tokens
        return cls(
            calls=len(all_calls),
            at_work=sum(call.state == "at work" for call in all_calls) if material.record.state == "running" else 0,
            lies=sum(bool(call.refuted) for call in all_calls),
            are_scripted=bool(all_calls) and all(call.is_scripted for call in all_calls),
            tokens=used,
            estimated=estimated,
            usd=seen.cost_usd,
            cost=seen.cost,
            met=sum(line.met for line in requested),
            total=len(requested),
            grades=Counter(line.grade for line in requested if line.judged),
        )


def _figures(reader: Reader, record: RunRecord, material: Material, sums: RunSums) -> dict[str, object]:
    seen, limit, lies = material.progress, limits_in_force(reader.store, record.id), sums.lies
    cost = money(sums.usd, sums.cost) if sums.usd else ""
    figures = [
        *((figure, of, remark, "") for figure, of, remark in seen.view.figures()),
        (
            amount(sums.calls),
            "call" if sums.calls == 1 else "calls",
            f"{sums.at_work} at work" if sums.at_work else "",
            "",
        ),
        (
            amount(lies),
            "claim refuted" if lies == 1 else "claims refuted",
            "by the engine's own checks" if lies else "",
            f"{run_url(record.id, 'calls')}?only=refuted" if lies else "",
        ),
        (
            token_count(sums.tokens, estimated=sums.estimated),
            "tokens",
            "made up by scripts" if sums.are_scripted else _of_limit(limit.tokens, token_count(limit.tokens)),
            "",
        ),
    ]
    figures += [(cost, "spent", _of_limit(limit.usd, money(limit.usd)), "")] if cost or limit.usd else []
    return {
        "met": sums.met,
        "total": sums.total,
        "grades": sums.grades,
        "figures": figures,
        "began": seen.began,
        "worked": seen.worked,
        "running": record.state == "running",
    }


def _of_limit(limit: float, limit_text: str) -> str:
    return f"of {limit_text}" if limit else "no limit"


def wait_pieces(reader: Reader, record: RunRecord, material: Material) -> dict[str, str]:
    """What waits for a person in this run, with pictures of the work."""
    waiting = {}
    for number, wait in enumerate(reader.waits(record)[:20], 1):
        pictures = pictures_of(material, wait.requirement) if wait.requirement else ()
        waiting[f"wait-{number}"] = wait_piece(reader, record, number, wait, pictures)
    return waiting


def pictures_of(material: Material, requirement: str) -> tuple[object, ...]:
    """Screenshots from the newest verdict's evidence about a requirement. If none of this evidence may be shown,
    screenshots from all evidence of that verdict. Before the run has ended, evidence that may quote a held-out case is
    not shown."""
    all_evidence = material.verdict.evidence if material.verdict else ()
    for facts in (evidence_about(all_evidence, {requirement}), all_evidence):
        if visible := [fact for fact in facts if material.ended or not fact.may_quote_held_out]:
            return evidence_pictures([fact for fact in visible if fact.side == "head"])
    return ()


def _own_section(material: Material) -> dict[str, str]:
    """The workflow's own section, as in the report."""
    view, seen = material.progress.view, material.progress
    section_data = view.data(seen.calls) if view.SECTION else None
    if not view.SECTION or not section_data:
        return {}
    own = workflow_section(environment(), view.SECTION, section_data, material.record.id)
    return {"own": piece("run/own.html.j2", section=view.SECTION, own=own)}


def _call(reader: Reader, record: RunRecord, all_calls: tuple[ReportedCall, ...], material: Material) -> str:
    """The running call, or the last one."""
    running = (
        [candidate for candidate in all_calls if candidate.state == "at work"] if record.state == "running" else []
    )
    call = running[0] if running else (all_calls[-1] if all_calls else None)
    transcript = reader.transcript(record, call) if call else None
    return piece(
        "run/call.html.j2",
        record=record,
        call=call,
        running=bool(running),
        others=running[1:9],
        told=_gaps_in_brief(reader, record, call, material)[:TOLD] if call and running else (),
        window=transcript.window(most=TAIL) if transcript else None,
        diff=reader.clones.of(reader.store, record, call) if call and running and not call.held_back else "",
        can_steer=reader.can_steer,
    )


def _gaps_in_brief(reader: Reader, record: RunRecord, call: ReportedCall, material: Material) -> list[str]:
    """The gaps that the call's brief quotes. Only two verdicts are searched for gaps: the newest of the run, and the
    newest of the call's own scope. While several agents work, the two can differ."""
    brief, _ = reader.texts(record, call)
    indexes = range(len(material.proofs)) if brief else range(0)
    in_scope = [index for index in indexes if scope_of(material.proofs[index].key) == scope_of(call.key)]
    judged = [
        requirement
        for index in sorted({*in_scope[-1:], *indexes[-1:]})
        for requirement in material.history[index].verdict.requirements
    ]
    gaps = [(requirement.id, gap.what.partition("\n")[0]) for requirement in judged for gap in requirement.gaps]
    return list(dict.fromkeys(f"{name}: {what}" for name, what in gaps if what in brief))


def _first_ledger(reader: Reader, record: RunRecord, ledger: list[LedgerLine]) -> str:
    """The first page of the ledger; cached, because most browser windows that show a run show this page of its
    ledger."""
    return reader.made_of_decisions(record, "first ledger", lambda _: ledger_piece(reader, record, _, ledger, {}))


def ledger_piece(
    reader: Reader, record: RunRecord, material: Material, ledger: list[LedgerLine], params: Params
) -> str:
    """One page of the ledger; unmet requirements come first and show their cases."""
    only = params.get("only", "")
    sorts = {line.id: "open" if not line.met else "guard" if line.guard else "met" for line in ledger}
    lines = [line for line in ledger if not only or sorts[line.id] == only]
    paging = paged(lines, params, "only", "lanes", size=ROWS)
    cases = outcomes_of(material, [line for line in paging.items if not line.met][:OPEN])
    return piece(
        "run/ledger.html.j2",
        record=record,
        paging=paging,
        only=only,
        lanes=params.get("lanes", ""),
        counts=Counter(sorts.values()),
        cases=cases,
        turned=_turned_cases(material, paging.items),
        held_back=material.holds_out,
        url=requirement_url,
        look=reader.look_at(record) if any(line.lacks == "attest" for line in paging.items) else None,
    )


def outcomes_of(material: Material, rows: Sequence[LedgerLine]) -> dict[str, list[CaseOutcomes]]:
    """Requirement → its cases on base and head."""
    outcomes: dict[str, list[Evidence]] = {line.id: [] for line in rows}
    base = material.contract.base_facts if material.contract else ()
    head = material.verdict.evidence if material.verdict else ()
    for evidence in (*evidence_about(base, outcomes), *evidence_about(head, outcomes)):
        outcomes[evidence.requirement].append(evidence)
    return {name: case_outcomes(facts, over=material.ended) for name, facts in outcomes.items()}


def _turned_cases(material: Material, rows: Sequence[LedgerLine]) -> dict[str, str]:
    """Requirement → how many cases turned from red to green, or "already satisfied" if none was red and all pass."""
    turned = {}
    for name, cases in outcomes_of(material, rows).items():
        red = [case for case in cases if case.was_red]
        if red:
            green = sum(case.turned for case in red)
            turned[name] = f"{green} of {counted(len(red), 'case')}" if green < len(red) else f"{green} red → green"
        elif cases:
            turned[name] = "already satisfied" if all(case.is_green for case in cases) else ""
    return turned


ROUTE = PageRoute("/r/{run}", run)
