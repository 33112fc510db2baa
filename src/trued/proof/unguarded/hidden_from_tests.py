"""Searches for the reason `hidden_from_tests`."""

from trued.proof.room.frozen_files import is_test
from trued.proof.unguarded.change.by_requirement import by_requirement
from trued.proof.unguarded.change.pieces import names_in_imports
from trued.proof.unguarded.change.tried_change import TriedChange
from trued.proof.unguarded.hiding_from_tests import namesakes


async def hidden_from_tests(tried: TriedChange) -> dict[str, list[str]]:
    """Catches a mistake in a module such as `prices.py` if the base's tests have a `tests/prices.py`, which they load
    instead: they pass, and never test the product.

    Returns requirement → changed code of such modules that no check was seen to run.
    """
    known = await tried.sides.blobs_of_base()
    names = {*(await namesakes(tried, [path for path in known if is_test(path)])).values()}
    if not names:
        return {}
    code = await tried.unwatched.by_checks()
    return await by_requirement(tried, [piece for piece in code if not names.isdisjoint(names_in_imports(piece.path))])
