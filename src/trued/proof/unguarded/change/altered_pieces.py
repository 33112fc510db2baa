"""Finds the functions, classes and other pieces of the base's Python code that a change alters."""

from collections.abc import Collection, Sequence

from trued.proof.reach.altered_python import MODULE, altered_names, computed_members
from trued.proof.text.commit_texts import is_unread
from trued.proof.text.python_imports import imported_modules
from trued.proof.text.python_names import used_attributes
from trued.proof.trial import CommitTrial
from trued.proof.unguarded.change.base_and_head import BaseAndHead
from trued.proof.unguarded.change.pieces import CodePiece, last_part, module_name

REPLACES = "takes the place of another module"  # the name of a piece: the new file as a whole


async def altered_pieces(trial: CommitTrial, sides: BaseAndHead, paths: Sequence[str]) -> list[CodePiece]:
    """The pieces of the base's Python code that the head altered in these files. A new file counts, too, if loading it
    does more than define things, or if it replaces another module."""
    code = [path for path in paths if path.endswith(".py")]
    known = await sides.blobs_of_base()
    before, after = await sides.read(code)
    lost = any(imported_modules(text) - imported_modules(after.get(path, "")) for path, text in before.items())
    taken = await _names_taken_by_module(sides) if lost else {}
    product = await sides.texts_of_base() if not known.keys() >= {*code} else {}
    elsewhere = trial.room.standard | {name for text in product.values() for name in imported_modules(text)}
    gained = {path: computed_members(before.get(path, ""), after.get(path, "")) for path in code}
    computed = frozenset[str]().union(*gained.values())
    altered = []
    for path in code:
        was, now = before.get(path, ""), after.get(path, "")
        exported = taken.get(module_name(path), set())
        if path.endswith("__init__.py"):  # other files may take from a package whatever it imports
            exported = exported | {last_part(name) for name in imported_modules(was)}
        names = altered_names(was, now, exported, computed)
        if path not in known and _takes_place_of_another(path, known, elsewhere, trial.contract.project_roots):
            names |= {REPLACES}
        names |= {MODULE} if is_unread(was) or is_unread(now) else frozenset()  # what was not read may be altered
        altered += [CodePiece(path, name) for name in sorted(names)]
    return altered


async def _names_taken_by_module(sides: BaseAndHead) -> dict[str, set[str]]:
    """Module (last part of its name) → names that files of the base import from it or use as its attributes."""
    names: dict[str, set[str]] = {}
    for text in (await sides.texts_of_base(tests=True)).values():
        for dotted in imported_modules(text) | used_attributes(text):
            owner, _, name = dotted.rpartition(".")
            names.setdefault(last_part(owner), set()).add(name)
    return names


def _takes_place_of_another(
    path: str, known: Collection[str], elsewhere: Collection[str], folders: Collection[str]
) -> bool:
    """Whether Python would import this new file instead of another module of the same name: one of the base, or one in
    `elsewhere` (the standard library and packages). `folders`: the import roots of project folders."""
    roots = ("", "src/", *(f"{root}/" for root in folders))
    module = path.removesuffix("/__init__.py").removesuffix(".py")
    # The folder `api` of a project has the module `prices`, which is `api.prices` for code that is started at the top.
    places = {module.removeprefix(root) for root in roots if path.startswith(root)}
    others = {f"{root}{place}{end}" for root in roots for place in places for end in (".py", "/__init__.py")}
    return not places.isdisjoint(elsewhere) or not others.isdisjoint(known)
