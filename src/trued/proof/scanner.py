"""Scans a head's output before an agent reads it, and withholds text that quotes something held out.

Clean rooms contain nothing that is held out. This scan is a second barrier, in case a head found out held-out data in
some other way.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trued.model import BrowserCheck, CallCase, Case, Check, Contract, ExamplesCheck, HttpCase, Judged, RunCase
from trued.model.events import JournalEvent
from trued.model.events.proof import TextWithheld
from trued.proof.room.held_out import hidden_tests, is_held_out
from trued.proof.text.commit_texts import text_files
from trued.protocols import Emit, Workspace
from trued.support.lazy_regex import lazy_regex
from trued.support.redaction import forms

WITHHELD = "its output is withheld, because it may quote something that is held out"
SHORTEST = 8  # characters: shorter values occur in many texts by chance
LINE = 16  # characters; shorter lines of a held-out file are ignored, because they are brackets, calls and single words
MOST_LINES = 20_000  # at most this many lines of held-out files are searched for
_IMPORTS = lazy_regex(r"(?:from|import|package|use|require)\b")
_LITERAL = lazy_regex(rf"""(['"`])((?:(?!\1).){{{SHORTEST},400}})\1""")


def discard_event(event: JournalEvent) -> None:
    """Ignore the event. For callers that do not record events."""


class Scanner:
    """Searches the output of one commit's code for data that this contract holds out."""

    def __init__(self, workspace: Workspace, contract: Contract, commit: str, tell: Emit = discard_event) -> None:
        self.workspace, self.contract, self.commit, self.tell = workspace, contract, commit, tell
        self._sought: Mapping[str, str] | None = None
        self._open: list[str] | None = None

    async def __call__(self, text: str, about: str) -> str:
        """The text, or a fixed sentence if the text quotes something held out. Withholding is recorded as an event."""
        if not text or not await self._quotes(text):
            return text
        self.tell(TextWithheld(about=about))
        return WITHHELD

    async def judged(self, judged: Judged) -> Judged:
        """The verdict with scanned gaps, which agents may read. The reasons are not scanned: they are for people, and
        agents read only what `for_agents` lets through."""
        gaps = []
        for gap in judged.gaps:
            what = await self(gap.what, f"why {judged.id} fails")
            gaps.append(gap if what == gap.what else gap.model_copy(update={"what": f"{judged.id}: {what}"}))
        return judged.model_copy(update={"gaps": tuple(dict.fromkeys(gaps))}) if gaps != list(judged.gaps) else judged

    async def _quotes(self, text: str) -> bool:
        if self._sought is None:
            self._sought = {form: value for value in held_out_texts(self.contract) for form in forms(value)}
        quoted = {value for form, value in self._sought.items() if form in text}
        return any([not await self._readable(value) for value in quoted])

    async def _readable(self, value: str) -> bool:
        """Whether the value is no secret, because the user's words, the base or the commit contains it."""
        if self._open is None:
            words = [*(requirement.text for requirement in self.contract.requirements), *self.contract.interface]
            for commit in {self.contract.base: None, self.commit: None}:
                texts = await text_files(self.workspace, commit)
                paths = "\n".join(texts)
                words += [paths, paths.replace("/", "."), *texts.values()]  # with dots, as modules are named
            self._open = words
        return any(value in text for text in self._open)


def held_out_texts(contract: Contract) -> set[str]:
    """The held-out values of a contract's cases and pages, and the lines of its held-out test files."""
    if not contract.held_out:
        return set()
    checks = [
        check for requirement in contract.requirements for check in requirement.checks if is_held_out(contract, check)
    ]
    values = {value.strip() for check in checks for value in _values(check)}
    values |= set(_lines(hidden_tests(contract).values()))
    return {value for value in values if len(value) >= SHORTEST}


def _values(check: Check) -> Iterator[str]:
    if isinstance(check, BrowserCheck):
        first = [*check.before.sees, *check.before.hides] if check.before else []
        entered = [action.type or action.choose or action.wait or "" for action in check.actions]
        yield from _texts([*check.sees, *check.hides, *check.tree, *first, *entered])
    elif isinstance(check, ExamplesCheck):
        for case in check.cases:
            yield from _texts(_data(case))


def _data(case: Case) -> list[Any]:
    """The case's inputs and expected results, without the names of entry points, which are public."""
    if isinstance(case, CallCase):
        return [*case.args, case.kwargs, case.returns, list(case.args_after or ())]
    if isinstance(case, RunCase):
        return [*case.run[1:], case.files, case.stdin, case.stdout, case.stdout_json]
    assert isinstance(case, HttpCase)  # noqa: S101  (there are three kinds)
    return [case.http.path, case.http.body, case.body, case.json_]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):  # keys are part of the interface, which everybody knows
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield repr(value)


def _lines(files: Iterable[bytes]) -> Iterator[str]:
    """The long lines of held-out files, except imports, and all string literals in these files."""
    lines = [
        line.strip()
        for content in files
        if b"\0" not in content
        for line in content.decode("utf-8", "replace").splitlines()
    ]
    for line in lines[:MOST_LINES]:
        if len(line) >= LINE and not _IMPORTS.match(line):
            yield line
        yield from (match[2].strip() for match in _LITERAL.finditer(line))
