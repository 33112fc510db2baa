"""Advice for a missing program or module that is the project's own, so that nothing has to be downloaded."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeAlias

from trued.model import (
    CallCase,
    Contract,
    Evidence,
    ExamplesCheck,
    Judged,
    MissingFromEnvironment,
    Requirement,
    Verdict,
    is_node,
)
from trued.proof.room.frozen_files import is_among_tests
from trued.proof.room.project_folders import import_roots
from trued.proof.verdict.missing import module_not_installed, program_not_installed
from trued.proof.verdict.reasons import on_one_line
from trued.protocols import Workspace
from trued.support.tables import table_at, toml_table

MANIFEST = "pyproject.toml"
_Advised: TypeAlias = Mapping[MissingFromEnvironment, MissingFromEnvironment]


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The paths of a commit, and the text of its pyproject.toml."""

    paths: Collection[str]
    manifest: str

    def advise(self, part: MissingFromEnvironment) -> MissingFromEnvironment:
        """The missing program or module `part`, with advice if it is the project's own; otherwise unchanged."""
        if part.what == program_not_installed(part.name) and part.name in self._scripts():
            install = 'install the project with `environment: {prepare: ["python -m pip install -e ."]}`'
            fix = f"it is a script of the project itself: {install}"
            return part.model_copy(update={"fix": f"{fix}; or start its module with `python -m`"})
        if part.what == module_not_installed(part.name) and (folder := self.folder_of(part.name)):
            return part.model_copy(
                update={"fix": f"the project has it; add its folder to the requirements: {path_line(folder)}"}
            )
        return part

    def folder_of(self, module: str) -> str:
        """The folder of the project that has this module; if several have it, the one with the shortest path.

        Returns "" if no folder has the module, if checks already look in one of the folders, or if one of them is among
        tests.
        """
        top = module.split(".")[0]
        holding = {PurePosixPath(path).parent for path in self.paths if PurePosixPath(path).name == f"{top}.py"}
        holding |= {
            PurePosixPath(path).parent.parent for path in self.paths if f"/{path}".endswith(f"/{top}/__init__.py")
        }
        folders = [str(folder) for folder in holding if str(folder / "__init__.py") not in self.paths]
        searched = (".", "src", *import_roots(self.paths))
        outer = [folder for folder in folders if folder not in searched and not is_among_tests(f"{folder}/any")]
        return min(outer, key=lambda folder: (len(folder), folder), default="") if len(outer) == len(folders) else ""

    def _scripts(self) -> set[str]:
        """The programs that an installation of the project provides."""
        manifest = toml_table(self.manifest)
        tables = (("project", "scripts"), ("project", "gui-scripts"), ("tool", "poetry", "scripts"))
        return {name for keys in tables for name in table_at(manifest, *keys)}


def path_line(folder: str) -> str:
    """The line of a requirements file that lets checks find the modules in this folder."""
    return on_one_line(f'`environment: {{path: [".", "{folder}"]}}`')


async def project_files(workspace: Workspace, commit: str) -> ProjectFiles:
    text = await workspace.read(commit, MANIFEST) or b""
    return ProjectFiles(frozenset(await workspace.blobs(commit)), text.decode("utf-8", "replace"))


async def places_of_modules(
    workspace: Workspace, contract: Contract, due: Iterable[Requirement], evidence: Iterable[Evidence]
) -> list[str]:
    """Notes about modules that cases call but that checks did not find. Each note names a folder of the base that has
    such modules, and the line of the requirements file that makes checks look there. `due`: the requirements to look
    at."""
    absent = {
        fact.requirement
        for fact in evidence
        for result in fact.tried
        if result.detail.startswith("there is no module ")
    }
    checks = [
        check
        for requirement in due
        if requirement.id in absent
        for check in requirement.checks
        if isinstance(check, ExamplesCheck)
    ]
    called = {case.call for check in checks for case in check.cases if isinstance(case, CallCase)}
    if not called:
        return []
    files = await project_files(workspace, contract.base)
    places = {files.folder_of(call.partition(":")[0]) for call in called if not is_node(call)}
    folders = sorted(places - {"", *contract.environment.path, *contract.project_roots})
    return [
        f"checks do not find the modules in {folder}; add this to the requirements: {path_line(folder)}"
        for folder in folders
    ]


async def with_advice(workspace: Workspace, verdict: Verdict) -> Verdict:
    """The verdict, with advice in its reasons and notes if a missing program or module is the project's own."""
    if not verdict.missing_from_environment:
        return verdict
    files = await project_files(workspace, verdict.commit)
    parts = {part: None for judged in (*verdict.requirements, *verdict.suites) for part in judged.missing}
    advised = {part: files.advise(part) for part in parts}
    return verdict.model_copy(
        update={
            "requirements": tuple(_advised(judged, advised) for judged in verdict.requirements),
            "suites": tuple(_advised(judged, advised) for judged in verdict.suites),
            "undecided": _reworded(verdict.undecided, advised),
        }
    )


def _advised(judged: Judged, advised: _Advised) -> Judged:
    missing = tuple(advised[part] for part in judged.missing)
    return judged.model_copy(update={"why": _reworded(judged.why, advised), "missing": missing})


def _reworded(texts: Iterable[str], advised: _Advised) -> tuple[str, ...]:
    """The texts, with the advice in place of each missing part."""
    for part, advice in advised.items():
        texts = [text.replace(str(part), str(advice)) for text in texts]
    return tuple(texts)
