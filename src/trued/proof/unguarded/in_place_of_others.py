"""Searches for the reason `in_place_of_others`."""

from trued.proof.room.import_shadows import StandardLibrary, files_in_place_of_others
from trued.proof.unguarded.change.tried_change import TriedChange


async def in_place_of_others(tried: TriedChange) -> list[str]:
    """Catches a new file such as `decimal.py`, which Python would load instead of its own module or of a package. Tests
    may not notice, because the test runner has already loaded the right module.

    Returns the new files that have the name of a module which the project imports from the standard library or from a
    package. Files that rooms leave out have a reason of their own, `not_loaded_by_tests`.
    """
    known, room = await tried.sides.blobs_of_base(), tried.trial.room
    added = [path for path in tried.files.in_product if path not in known and path not in room.not_loaded]
    packages = {name.replace("-", "_") for name in room.packages}
    if not any(path.endswith((".py", ".so", ".pyd")) for path in added):
        return []
    texts, folders = await tried.sides.texts_of_base(tests=True), tried.contract.import_folders
    return files_in_place_of_others(added, folders, texts, StandardLibrary(room.standard, room.library), packages)
