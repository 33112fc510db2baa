"""Searches for the reason `hiding_from_tests`."""

import posixpath
from collections.abc import Collection

from trued.proof.room.frozen_files import is_test
from trued.proof.room.import_shadows import namesakes_among_tests
from trued.proof.unguarded.change.tried_change import TriedChange


async def hiding_from_tests(tried: TriedChange) -> list[str]:
    """Catches a new file such as `tests/prices.py`: once the change has landed, the base's tests would load it in place
    of the product's `prices.py`, and no longer test the product. Rooms leave out new files among tests, so no check
    notices it.

    Returns these new files.
    """
    known = await tried.sides.blobs_of_base()
    return [*await namesakes(tried, [path for path in tried.files.every if path not in known])]


async def namesakes(tried: TriedChange, paths: Collection[str]) -> dict[str, str]:
    """Path → name of a module of the product, for each of these files that the base's tests load in place of that
    module."""
    if not paths:
        return {}
    known, here = await tried.sides.blobs()
    tests = {path: text for path, text in (await tried.sides.texts_of_base(tests=True)).items() if is_test(path)}
    packages = [{posixpath.dirname(path) for path in side if path.endswith("/__init__.py")} for side in (known, here)]
    return namesakes_among_tests(paths, known, tried.contract.import_folders, tests, packages)
