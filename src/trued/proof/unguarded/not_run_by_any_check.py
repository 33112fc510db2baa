"""Searches for the reason `not_run_by_any_check`."""

from collections.abc import Collection, Sequence

from trued.proof.reach.altered_go import altered_declarations, used_declarations
from trued.proof.reach.own_checks import starts_unknown_program
from trued.proof.reach.reachable_files import reachable_files
from trued.proof.text.commit_texts import is_unread
from trued.proof.unguarded.change.altered_pieces import REPLACES
from trued.proof.unguarded.change.by_requirement import by_requirement
from trued.proof.unguarded.change.pieces import CodePiece
from trued.proof.unguarded.change.red_suites import turned_tests
from trued.proof.unguarded.change.tried_change import TriedChange


async def not_run_by_any_check(tried: TriedChange) -> dict[str, list[str]]:
    """Catches a change that breaks old code whose tests were not run: no check would notice.

    Returns requirement → changed code that no check was seen to run, but that existing tests may reach which could not
    be run, or which no check collects. {} if all existing tests were run. Red suites run here, and code that they run
    is left out. Their evidence is `tried.evidence`.
    """
    contract, code = tried.contract, list[CodePiece]()
    if contract.unguarded or contract.uncollected:
        code = await tried.unwatched.by_checks()
    if code and not contract.unguarded:
        code = await _within_reach_of_uncollected(tried, code)
    if code and contract.red_suites:
        turned = await turned_tests(tried.trial)
        tried.evidence = turned.facts
        code = await tried.unwatched.by_checks_and(turned)
    return await by_requirement(tried, code)


async def _within_reach_of_uncollected(tried: TriedChange, code: Sequence[CodePiece]) -> list[CodePiece]:
    """The part of `code` that uncollected existing tests may reach. If the engine cannot know what these tests
    reach, all code is returned. Go files that other tests guard are left out."""
    uncollected, known = tried.contract.uncollected, await tried.sides.blobs_of_base()
    # New files count, too: code of the base may find them by their names or by their folder.
    reached = await reachable_files(tried.sides.read_base, {*known, *tried.files.in_product}, uncollected)
    texts = await tried.sides.texts_of_tests(uncollected)
    if any(starts_unknown_program(name, text, known) for name, text in texts.items()):
        reached = None
    guarded = await _guarded_go(tried, [piece.path for piece in code if piece.path.endswith(".go")])
    return [
        piece
        for piece in code
        if piece.path not in guarded and (reached is None or piece.path in reached or piece.name == REPLACES)
    ]


async def _guarded_go(tried: TriedChange, paths: Collection[str]) -> list[str]:
    """The changed Go files among `paths` in which guarding Go tests use every altered declaration. The texts of the
    tests are read, because the engine does not see which code Go tests run."""
    tests = [test for test in tried.tests.guarding if test.split("::")[0].endswith(".go")]
    if not paths or not tests:
        return []
    idle = {test.split("::")[0] for test in tried.contract.uncollected}
    texts = await tried.sides.texts_of_base(tests=True, suffixes=(".go",))
    used = used_declarations({path: text for path, text in texts.items() if path not in idle}, tests)
    before, after = await tried.sides.read(paths)
    both_texts = {path: (before.get(path, ""), after.get(path, "")) for path in paths}
    whole = [path for path in paths if not any(map(is_unread, both_texts[path]))]
    altered = {path: altered_declarations(*both_texts[path]) for path in whole}
    return [path for path in whole if all(used.issuperset(name.split(".")) for name in altered[path])]
