"""Searches for the reason `hiding_modules`."""

from trued.proof.room.frozen_files import is_below, is_test
from trued.proof.room.project_folders import regular_modules, top_level_modules
from trued.proof.trial import is_untraced
from trued.proof.unguarded.change.tried_change import TriedChange


async def hiding_modules(tried: TriedChange) -> dict[str, list[str]]:
    """Catches a new file at the top that has the name of a module in another folder, such as `shop.py` beside
    `src/shop`. Tests import the module, but a program that starts at the top finds the new file.

    Returns requirement → these new files, for requirements with checks that start programs or servers, or open pages.
    """
    before, after = [
        [path for path in blobs if path.endswith((".py", ".so", ".pyd"))] for blobs in await tried.sides.blobs()
    ]
    at_top, at_top_before = regular_modules(".", after), regular_modules(".", before)
    hiding, known_paths = set[str](), {*before}
    for folder in (folder for folder in tried.contract.import_folders if folder != "."):
        inner = top_level_modules(folder, before) & top_level_modules(folder, after)
        # Python finds a package with `__init__.py` before a folder without one, even if that folder comes first.
        names = inner - at_top_before - (regular_modules(folder, after) - at_top)
        hiding |= {
            path
            for path in after
            if path not in known_paths
            and (name := path.split("/")[0].partition(".")[0]) in names
            and (name in at_top or not is_test(path))
            and not any(is_below(path, f"{folder}/{module}") for module in inner)
        }
    untraced = [requirement.id for requirement in tried.trial.due if any(map(is_untraced, requirement.checks))]
    return dict.fromkeys(untraced, sorted(hiding)) if hiding else {}
