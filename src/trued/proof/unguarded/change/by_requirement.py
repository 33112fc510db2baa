"""Divides code among requirements: the programs that a requirement's checks start may watch some of it."""

from collections.abc import Sequence

from trued.model import BrowserCheck, CallCase, Check, ExamplesCheck, RunCase
from trued.proof.reach.reachable_files import files_of_programs
from trued.proof.trial import is_untraced
from trued.proof.unguarded.change.pieces import CodePiece
from trued.proof.unguarded.change.tried_change import TriedChange


async def by_requirement(tried: TriedChange, code: Sequence[CodePiece]) -> dict[str, list[str]]:
    """Requirement → `code` as text, for every requirement of the trial.

    If the requirement's checks start a program or a server, or open a page, the engine does not see which code ran.
    Then two kinds of code are left out: code in new files, and code that these programs, servers and pages may
    reach on the base. A requirement for which no code is left does not appear.
    """
    found: dict[str, list[str]] = {}
    for requirement in tried.trial.due if code else ():
        is_seen = not any(map(is_untraced, requirement.checks))
        left = code if is_seen else await _out_of_reach_of_programs(tried, code, requirement.checks)
        if left:
            found[requirement.id] = [*map(str, left)]
    return found


async def _out_of_reach_of_programs(
    tried: TriedChange, code: Sequence[CodePiece], checks: Sequence[Check]
) -> Sequence[CodePiece]:
    cases = [case for check in checks if isinstance(check, ExamplesCheck) for case in check.cases]
    commands = [case.run for case in cases if isinstance(case, RunCase)]
    pages = [(check.page,) for check in checks if isinstance(check, BrowserCheck)]
    needs_server = pages or not all(isinstance(case, CallCase | RunCase) for case in cases)
    serve = tried.contract.serve
    commands += [*pages, *([serve.command] if needs_server and serve else [])]
    known = await tried.sides.blobs_of_base()
    code = [piece for piece in code if piece.path in known]
    reached = await files_of_programs(tried.sides.read_base, known, commands) if code else None
    return [] if reached is None else [piece for piece in code if piece.path not in reached]
