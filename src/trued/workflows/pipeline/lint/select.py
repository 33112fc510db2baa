"""Selects the files to lint and groups them into sets, each of which is linted as a whole."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from trued.agents.roles.lint import lint_role_file, role_files
from trued.agents.roles.other_tools import RoleFormat
from trued.agents.roles.places import format_of, packaged_files
from trued.errors import BadInput
from trued.workflows.pipeline.lint.findings import Violation
from trued.workflows.pipeline.lint.pages import PromptPage
from trued.workflows.pipeline.lint.rules import apply_rules
from trued.workflows.pipeline.lint.sets import LintSet, files_in, page_of

BESIDE = {  # tool → where files of a pipeline are, apart from the tool's folder of agents
    "github": (".github/prompts/*.prompt.md", ".github/dispatch-patterns.md"),
    "claude": (".claude/commands/*.prompt.md", ".claude/dispatch-patterns.md"),
    "opencode": (".opencode/command/*.prompt.md", ".opencode/dispatch-patterns.md"),
}


class Kind(StrEnum):
    """How a set of files is linted."""

    AUTO = "auto"
    FILES = "files"  # only the front matter
    ROLES = "roles"  # every agent must follow the convention
    PIPELINE = "pipeline"  # every agent must follow the convention and the rules of a pipeline


@dataclass(frozen=True, slots=True)
class File:
    path: Path
    shown: str
    form: RoleFormat | None = None
    is_role: bool = True  # some tool reads it as a role: its fields must be valid
    is_ours: bool = False  # it must follow our convention, whatever it looks like


@dataclass
class LintResult:
    """All findings, and how many files and pipelines were linted. `unjudged`: how many agents do not follow the
    convention, so that only their fields were checked."""

    found: list[Violation] = field(default_factory=list)
    files: int = 0
    unjudged: int = 0
    pipelines: int = 0


def named_sets(paths: Iterable[Path]) -> Iterator[list[File]]:
    """One set for each folder in `paths`, and one set for all files in `paths` together."""
    alone = []
    for path in paths:
        if path.is_dir():
            yield [_in_folder(file, str(path / file.relative_to(path))) for file in files_in(path)]
        else:
            alone.append(File(path, str(path), format_of(path), is_ours=format_of(path) is None))
    if alone:
        yield alone


def repository_sets(top: Path) -> Iterator[list[File]]:
    """The role files in this repository, one list for each format: trued's, Claude Code's, and so on. A format's list
    also has the prompts and dispatch patterns of a pipeline."""
    sets: dict[str, list[File]] = {}
    for path, form in role_files(top):
        shown = str(path.relative_to(top))
        sets.setdefault(form.name if form else "", []).append(File(path, shown, form, is_ours=form is None))
    for name, files in sets.items():
        for pattern in BESIDE.get(name, ()):
            files += [File(path, str(path.relative_to(top)), is_role=False) for path in sorted(top.glob(pattern))]
        yield files


def packaged_sets() -> Iterator[list[File]]:
    files = packaged_files()
    yield [File(path, f"{path.parent.name}/{path.name}", is_ours=True) for path in files]


def lint_sets(sets: Iterable[Sequence[File]], kind: Kind = Kind.AUTO) -> LintResult:
    result = LintResult()
    for files in sets:
        pages = [page for file in files if (page := _page(file, result))]
        result.files += sum(page.kind != "other" for page in pages)
        if kind is Kind.FILES:
            continue
        strict = frozenset(file.shown for file in files if file.is_ours or kind is not Kind.AUTO)
        lint_set = LintSet(tuple(pages), strict, forced=kind is Kind.PIPELINE, plain=kind is Kind.ROLES)
        result.found += apply_rules(lint_set)
        result.unjudged += len(lint_set.agents) - len(lint_set.conventional)
        result.pipelines += lint_set.is_pipeline
    result.found.sort(key=lambda violation: (violation.file, violation.line, violation.rule))
    return result


def _in_folder(path: Path, shown: str) -> File:
    form = format_of(path)
    ours = path.parent.name == "roles" and path.parent.parent.name == ".trued"
    return File(path, shown, form, is_role=form is not None or ours, is_ours=ours)


def _page(file: File, result: LintResult) -> PromptPage | None:
    try:
        page = page_of(file.path, file.shown)
    except BadInput as error:
        then = f" ({error.then})" if error.then else ""
        result.found.append(Violation(*_file_and_line(error.where or file.shown), "ROLE-1", f"{error.what}{then}"))
        return None
    if file.is_role and page.kind in ("agent", "orchestrator", "other"):
        for violation in lint_role_file(file.path, file.form, shown=file.shown):
            result.found.append(
                Violation(
                    *_file_and_line(violation.where),
                    "ROLE-1" if violation.wrong else "ROLE-2",
                    violation.says,
                    violation.wrong,
                )
            )
    return page


def _file_and_line(where: str) -> tuple[str, int]:
    file, _, line = where.rpartition(":")
    return (file, int(line)) if file and line.isdigit() else (where, 1)
