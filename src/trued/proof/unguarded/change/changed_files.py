"""The changed files of a trial, and those among them that may hold code or data of the product."""

import posixpath
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath

from trued.proof.dependencies.package_manifests import is_package_manifest
from trued.proof.dependencies.package_words import DOCUMENTS, INERT
from trued.proof.reach.file_readers import PAGES_AND_SETTINGS, files_that_code_reads
from trued.proof.reach.replaced_product import replaced_product
from trued.proof.room.frozen_files import is_test
from trued.proof.room.package_json import is_package_json
from trued.proof.text.commit_texts import texts_at
from trued.proof.text.languages import CODE, SCRIPTS, is_script
from trued.proof.text.module_places import may_import
from trued.proof.text.script_aliases import ScriptAliases, leads_elsewhere
from trued.proof.trial import CommitTrial
from trued.proof.unguarded.change.base_and_head import BaseAndHead
from trued.proof.unguarded.change.named_scripts import aliases_of, named_files, without_suffix
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import json_table

COMPILED = (".pyc", ".so", ".pyd", ".dll", ".dylib", ".node", ".wasm", ".class", ".jar")
MOST_CODE = 5000  # at most this many files of code are searched for the names of data
# Keys of a package.json that only package managers read. Code of the product may read any other key.
_DECLARING = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "scripts", "version")
_LOCKS = lazy_regex(r".*[.-]lock(\.\w+)?|.*\.lockb|go\.sum|npm-shrinkwrap\.json")
_DOCUMENTS = lazy_regex(r"(readme|license|copying|notice|changelog|changes|history|authors|contributing)\b.*", re.I)


class ChangedFiles:
    """The changed files of a trial that has run.

    `every`: all of them. `in_product`: those that may belong to the product, which are all but the changed tests that
    were replaced or removed in the room.
    """

    def __init__(self, trial: CommitTrial, sides: BaseAndHead, changed: Sequence[str]) -> None:
        self._trial, self._sides, self.every = trial, sides, changed
        self.in_product = [path for path in changed if path not in trial.room.replaced or not is_test(path)]
        self._code: list[str] | None = None
        self._replaced: list[str] | None = None

    async def code(self) -> list[str]:
        """The changed files that may contain code of the product, or data of the base that the product may read. A test
        file is among them only if code that is not a test imports it."""
        if self._code is None:
            known = await self._sides.blobs_of_base()
            code = [path for path in self.in_product if path.endswith((*CODE, *COMPILED))]
            candidates = [
                *code,
                *await self._data([path for path in self.in_product if path in known and path not in code]),
                *await self._redirecting_manifests(),
            ]
            tests = {path for path in candidates if is_test(path)}
            while tests and (used := await self._imported([path for path in candidates if path not in tests], tests)):
                tests -= used  # the files in `used` may import others
            tests -= {*await self.replaced_product()}
            self._code = [path for path in candidates if path not in tests]
        return self._code

    async def replaced_product(self) -> list[str]:
        """The files of the product that the tests used in the base's version, not in the head's (see
        `reach/replaced_product.py`)."""
        if self._replaced is None:
            trial = self._trial
            left = trial.room.not_as_committed if trial.contract.suites else ()
            self._replaced = await replaced_product(trial.workspace, trial.contract, trial.commit, left) if left else []
        return self._replaced

    async def _data(self, paths: Sequence[str]) -> list[str]:
        """The files among `paths` that code may read. `paths`: changed files of the base that are no code. Documents,
        pictures, manifests, lock files and settings are left out if no code of the base reads them."""
        idle = [path for path in paths if _is_no_data_by_name(path)]
        known = await self._sides.blobs_of_base()
        if not idle:
            return [*paths]
        # Code first, so that other files do not crowd it out. Code that was not read might read any of these files.
        code = await self._sides.texts_of_base(tests=True, suffixes=CODE, most=MOST_CODE)
        if len(code) < sum(path.endswith(CODE) for path in known):
            return [*paths]
        texts = code | await self._sides.texts_of_base(tests=True, suffixes=(*PAGES_AND_SETTINGS, ""))
        read = files_that_code_reads(texts, idle, known)
        manifests = [path for path in read if is_manifest_of_code(path, known)]
        before, after = await self._sides.read(manifests)
        read -= {path for path in manifests if _only_packages_differ(before[path], after.get(path, ""))}
        return [path for path in paths if path not in idle or path in read]

    async def _redirecting_manifests(self) -> list[str]:
        """The changed package.json files that let names of the base stand for other code than before."""
        before, after = await self._sides.read([path for path in self.in_product if is_package_json(path)])
        redirecting = [path for path, text in before.items() if leads_elsewhere(text, after.get(path, ""))]
        known = await self._sides.blobs_of_base()
        # The nearest package.json above a script says what the script's names stand for.
        packages = {posixpath.dirname(path) for path in known if is_package_json(path)}
        folders = {str(folder) for path in known if is_script(path) for folder in PurePosixPath(path).parents}
        for path in after.keys() - before.keys():
            above = {str(folder) for folder in PurePosixPath(path).parent.parents}
            nested = not above.isdisjoint(folder or "." for folder in packages)
            if str(PurePosixPath(path).parent) in folders and (nested or leads_elsewhere("", after[path])):
                redirecting.append(path)
        return sorted(redirecting)

    async def _imported(self, code: Sequence[str], paths: Collection[str]) -> set[str]:
        """Of these paths, the files that the base's code or the head's `code` imports."""
        workspace, sides = self._trial.workspace, self._sides
        texts = await sides.texts_of_base(suffixes=(".py", *SCRIPTS))
        after = await texts_at(workspace, sides.head, code)
        sources = [*texts.items(), *after.items()]
        # The head may define new short names, so that its code imports a test by one of them.
        aliases = [await aliases_of(workspace, commit) for commit in (sides.base, sides.head)]
        return {imported for path, text in sources for imported in paths if _may_load(path, text, imported, aliases)}


def is_manifest_of_code(path: str, known: Iterable[str]) -> bool:
    """Whether the file is a package.json with code in its folder or below."""
    folder = PurePosixPath(path).parent
    return is_package_json(path) and any(
        file.endswith(CODE) and PurePosixPath(file).is_relative_to(folder) for file in known
    )


def _may_load(path: str, text: str, imported: str, aliases: Sequence[ScriptAliases]) -> bool:
    """Whether the file at `path`, judged by its text, may load the file `imported`."""
    if imported.endswith(".py"):
        return may_import(path, text, imported)
    return any(without_suffix(imported) in named_files(path, text, names) for names in aliases)


def _only_packages_differ(before: str, after: str) -> bool:
    """Whether two texts of a package.json differ in nothing but packages, scripts and version."""
    contents = [
        {key: value for key, value in json_table(text).items() if key not in _DECLARING} for text in (before, after)
    ]
    return bool(contents[0]) and contents[0] == contents[1]


def _is_no_data_by_name(path: str) -> bool:
    """Whether the path alone suggests that no code reads the file as data: documents, media, manifests, lock files,
    hidden files (except `.env` and the like), and all below `docs`. The caller finds out whether code reads it."""
    pure = PurePosixPath(path)
    if (
        pure.name in INERT
        or pure.suffix.lower() in (*DOCUMENTS, ".svg")
        or _LOCKS.fullmatch(pure.name)
        or _DOCUMENTS.fullmatch(pure.name)
    ):
        return True
    hidden = [part for part in pure.parts if part.startswith(".")]
    return bool(hidden and "env" not in pure.name) or pure.parts[0] in ("docs", "doc") or is_package_manifest(path)
