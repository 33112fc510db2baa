"""Parse a ticket: Markdown with front matter or headings, JSON, or a tracker's issue."""

import re
from pathlib import PurePath
from typing import Any

from trued.errors import BadInput
from trued.inputs.sentences import sentences
from trued.inputs.tickets.sections import Parts, TicketPart, is_hint, part_of
from trued.inputs.vocabulary import is_header_field
from trued.model import Criterion, Source, Ticket
from trued.protocols import TrackerIssue
from trued.support.lazy_regex import lazy_regex
from trued.support.located import Located, read_json, read_yaml
from trued.support.markdown import split_lines
from trued.support.plain_text import plain_line

LIMIT = 256 * 1024  # characters of a ticket; trackers allow fewer
BRACKETS = 5000  # most "[" in a ticket: each may begin a link, and many keep every Markdown parser busy for minutes
SUMMARY_LIMIT = 200
KEY = lazy_regex(r"([A-Z][A-Z0-9_]{1,19}-\d{1,10}|#\d{1,10})(?![\w-])[\s:.)–—-]*")
FILE_KEY = lazy_regex(r"([A-Z][A-Z0-9_]{1,19}-\d{1,10})(?![^\W_])")  # only capitals: notes-2.md is no ticket
TEACH = "write a header with key and summary, or a heading and sentences below it"
# Part of a ticket → the names that its header field or JSON key may have.
NAMES = {
    "key": ("key", "id", "ticket"),
    "summary": ("summary", "title"),
    "kind": ("kind", "type"),
    "labels": ("labels", "tags"),
    "description": ("description", "body", "text"),
    "requirements": ("requirements", "requirement"),
    "acceptance": ("acceptance", "acceptance_criteria", "criteria"),
    "areas": ("areas", "affected_areas", "components", "affected_files"),
    "pictures": ("pictures", "expected_pictures", "screenshots", "images"),
    "preview": ("preview", "preview_url"),
}
# Names of fields about the ticket itself, which ask for nothing. `is_header_field` knows further names: status, owner …
_RECORD_WORDS = (
    "reporter parent children resolution resolved closed severity milestone url html_url self watchers "
    "votes comments attachments history changelog links relations related watches worklog subtasks "
    "environment fix_version fix_versions affects_version affects_versions affects fixversions versions "
    "points story_points rank state number creator customer squad participants duplicates blocks "
    "blocked_by blocked source schema $schema permalink issue_type issuetype"
)
RECORDS = frozenset(_RECORD_WORDS.split())
MISSING = {
    "requirements": "requirements",
    "acceptance": "acceptance criteria",
    "areas": "affected areas",
    "pictures": "pictures of the expected behaviour",
    "preview": "preview URL",
}
_FIX = lazy_regex(
    r"\b(?:fix(?:es|ed)?|bugs?|broken|breaks?|wrong(?:ly)?|crash(?:es|ed)?|fails?|failing|error|incorrect|regression|"
    r"missing|hotfix|defect|(?:do|does|is|are|can|was|did)(?:n't|n’t| not)|cannot|no longer|never)\b",
    re.IGNORECASE,
)


def is_ticket(text: str, file: str) -> bool:
    """Whether a file looks like a ticket: a header with a key, or JSON with key and summary."""
    try:
        header = _header(text, file)[0]
    except BadInput:
        return False
    if header is None:
        return False
    found = {part for part in ("key", "summary") if any(_norm(name) in NAMES[part] for name in header.value)}
    return "key" in found and (not _is_json(text, file) or "summary" in found)


def file_key(file: str) -> str:
    """The key that a file's name begins with, such as SHOP-7 in SHOP-7-points.md; "" if there is none."""
    match = FILE_KEY.match(PurePath(file).stem)
    return match[1] if match else ""


def parse_ticket(text: str, file: str) -> Ticket:
    """Parse a ticket file; parts that it lacks are listed in `missing`. Raises BadInput if the file cannot be parsed,
    or asks for nothing."""
    if not text.strip().strip("\ufeff"):
        raise BadInput("the ticket is empty", f"{file}:1", TEACH)
    _check_size(text, f"{file}:1")
    header, body, first = _header(text, file)
    parts, given = Parts(file), _NamedFields(header, file)
    given.into(parts)
    parts.read(body, first)
    key, summary, missing = _key_and_summary(given, parts, file)
    if not summary and not parts.requirements and not parts.acceptance:
        raise BadInput("the ticket asks for nothing", f"{file}:1", TEACH)
    return _ticket(parts, key, summary, text, missing, given.kind(summary))


def ticket_from_issue(issue: TrackerIssue) -> Ticket:
    """The ticket of a tracker's issue. The text of an issue without a key is parsed like a ticket file. Raises BadInput
    if the issue is too large, or asks for nothing."""
    if not issue.key:
        return parse_ticket(issue.body, issue.url)
    file, title = issue.url or issue.key, plain_line(issue.title)
    text = f"# {issue.key}: {title}\n\n{issue.body}"
    _check_size("\n".join((text, *issue.fields.values())), file)
    parts = Parts(file, title=title)
    parts.read(issue.body, 3)
    for name, value in issue.fields.items():
        if (part := part_of(name)) and value.strip():
            line = len(split_lines(text)) + (4 if not text.endswith("\n") else 3)
            text = f"{text}\n\n## {plain_line(name)}\n\n{value}"
            parts.read(value, line, part)
    parts.pictures += [picture for picture in issue.pictures if picture not in parts.pictures]
    fix = issue.kind == "bug" or (not issue.kind and bool(_FIX.search(title)))
    if not title and not parts.requirements and not parts.acceptance:
        raise BadInput(f"{issue.key} asks for nothing", file, "add what is wanted")
    return _ticket(parts, issue.key, title, text, [] if title else ["summary"], "fix" if fix else "feat")


def _ticket(parts: Parts, key: str, summary: str, text: str, missing: list[str], kind: str) -> Ticket:
    found = {name: getattr(parts, name) for name in MISSING}
    source = Source(file=parts.file, line=1)
    requirements = tuple(parts.requirements)
    # The title becomes a requirement if it is too long for a summary, or if nothing else is asked for.
    if len(summary) > SUMMARY_LIMIT or not (requirements or parts.acceptance):
        requirements = (Criterion(text=summary, kind="text", source=source), *requirements)
    first = (requirements or tuple(parts.acceptance))[0].text
    return Ticket(
        key=key,
        summary=(summary or plain_line(first))[:SUMMARY_LIMIT],
        kind="fix" if kind == "fix" else "feat",
        requirements=requirements,
        acceptance=tuple(parts.acceptance),
        areas=tuple(parts.areas),
        pictures=tuple(parts.pictures),
        preview=parts.preview,
        text=text,
        source=source,
        whole="ticket",
        missing=(*missing, *(words for name, words in MISSING.items() if not found[name])),
    )


def _key_and_summary(given: "_NamedFields", parts: Parts, file: str) -> tuple[str, str, list[str]]:
    """Key and summary, from the header, the heading or the file's name; and which of them are missing."""
    missing: list[str] = []
    match = KEY.match(parts.title)
    title = parts.title[match.end() :] if match else parts.title
    key = given.line("key") or (match[1] if match else "")
    if not key:
        stem = PurePath(file).stem
        named = KEY.match(stem.upper())
        key = file_key(file) or (named[1] if named else stem)
        missing += [] if named or file_key(file) else ["key"]
    summary = given.line("summary") or (parts.summary[0] if parts.summary else title)
    missing += [] if summary else ["summary"]
    return plain_line(key), plain_line(summary), missing


def _check_size(text: str, where: str) -> None:
    if len(text) > LIMIT:
        raise BadInput(f"the ticket is longer than {LIMIT // 1024} KB", where, "shorten it, or split it into several")
    if text.count("[") > BRACKETS:
        raise BadInput(f"the ticket has more than {BRACKETS} brackets", where, "describe it in plain sentences")


# -- headers and JSON


class _NamedFields:
    """The named fields of front matter or JSON."""

    def __init__(self, header: Located | None, file: str) -> None:
        self.header, self.file = header, file
        self.names: dict[str, str] = {}
        for part, names in NAMES.items():
            for name in header.value if header else ():
                if _norm(name) in names:
                    self.names.setdefault(part, name)

    def line(self, part: str) -> str:
        """The field, a text or a number, as one line; "" if it is not given. Raises BadInput for any other value."""
        value = self._value(part)
        if isinstance(value, bool) or not isinstance(value, str | int | None):
            raise BadInput(
                f"{self.names[part]} is not a line of text", self._where(part), "write it in quotation marks"
            )
        return plain_line(str(value)) if value is not None else ""

    def kind(self, summary: str) -> str:
        labels = " ".join((self.line("kind"), *(text for text, _ in self.entries("labels")))).lower()
        words = set(re.findall(r"[a-z]+", labels))
        if words & {"bug", "fix", "bugfix", "defect", "hotfix"}:
            return "fix"
        if words & {"feature", "feat", "story", "enhancement", "improvement", "task"}:
            return "feat"
        return "fix" if _FIX.search(summary) else "feat"

    def entries(self, part: str) -> list[tuple[str, int]]:
        """The entries of a list, or the one entry of a field that is no list, each with its line number. Raises
        BadInput for an entry that is neither text nor a number."""
        value = self._value(part)
        if value is None:
            return []
        every = value if isinstance(value, list) else [value]
        if any(isinstance(value, bool | dict | list) or value is None for value in every):
            raise BadInput(f"{self.names[part]} is not a list of texts", self._where(part), "write a list of lines")
        many = isinstance(value, list)
        return [
            (str(value), self._at(part, n) if many else self._at(part)) for n, value in enumerate(every) if str(value)
        ]

    def into(self, parts: Parts) -> None:
        for part in ("requirements", "acceptance"):
            self._criteria(part, parts)
        for part, names in (("areas", parts.areas), ("pictures", parts.pictures)):
            for text, line in self.entries(part):
                names.append(text)
                if not is_hint(part, text):  # the text says more than a name
                    parts.read(text, line)
        for text, _ in sentences(self.line("summary"))[1:]:  # the first one is the summary
            parts.add("description", text, self._at("summary"))
        parts.preview = self.line("preview")
        if parts.preview and not parts.preview.startswith(("http://", "https://", "/")):
            what = f"the preview {parts.preview!r} is not an address"
            raise BadInput(what, self._where("preview"), "write http://…, https://… or a path")
        if description := self._value("description"):
            if not isinstance(description, str):
                what = f"{self.names['description']} is not text"
                raise BadInput(what, self._where("description"), "write it as text")
            parts.read(description, self._at("description"))
        for name in self.header.value if self.header else ():
            if name not in self.names.values() and not _is_record(name):
                self._other_field(name, parts)

    def _other_field(self, name: str, parts: Parts) -> None:
        """Read a field with any other name as if its name were a heading and its value the text below. If the name
        begins no part of a ticket, a value of one word or number is only an attribute, such as `team: payments`, and is
        left out."""
        if self.header is None:
            return
        value, part = self.header.value[name], part_of(name.replace("_", " "))
        every = value if isinstance(value, list) else [value]
        if any(isinstance(one, dict | list) for one in every):
            if _has_words(value):
                raise BadInput(f"{name} is not a list of texts", self.header.where(name), "write a list of lines")
            return
        for at, one in enumerate(every):
            line = self.header.line(name, at) if isinstance(value, list) else self.header.line(name)
            if isinstance(one, str) and one.strip() and (part or len(one.split()) > 1):
                parts.read(one, line, part if part and part != "summary" else "description")
            elif part and isinstance(one, int | float) and not isinstance(one, bool):
                parts.add(part, f"{name}: {one}", line)

    def _criteria(self, part: str, parts: Parts) -> None:
        into: TicketPart = "acceptance" if part == "acceptance" else "requirements"
        for text, line in self.entries(part):
            if isinstance(self._value(part), str):
                parts.read(text, line, into)
            else:
                kind = "acceptance" if into == "acceptance" else "goal"
                made = Criterion(text=text.strip(), kind=kind, source=Source(file=self.file, line=line))
                (parts.acceptance if into == "acceptance" else parts.requirements).append(made)

    def _value(self, part: str) -> Any:
        return self.header.value[self.names[part]] if self.header and part in self.names else None

    def _at(self, part: str, *more: int) -> int:
        return self.header.line(self.names[part], *more) if self.header else 1

    def _where(self, part: str) -> str:
        return f"{self.file}:{self._at(part)}"


def _is_record(name: str) -> bool:
    """Whether a field of this name is about the ticket: who reported it, what it depends on, how it is filed."""
    known = {other for part in ("key", "kind", "labels") for other in NAMES[part]}
    return _norm(name) in RECORDS | known or is_header_field(name.replace("_", " "))


def _has_words(value: Any) -> bool:
    """Whether there is a text of more than one word anywhere in this value."""
    if isinstance(value, dict | list):
        return any(map(_has_words, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and len(value.split()) > 1


def _norm(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _is_json(text: str, file: str) -> bool:
    return file.lower().endswith(".json") or text.lstrip("\ufeff \t\r\n").startswith("{")


def _header(text: str, file: str) -> tuple[Located | None, str, int]:
    """The named fields (None without front matter), the Markdown after them, and the line where the Markdown begins."""
    if _is_json(text, file):
        located = read_json(text, file)
        if not isinstance(located.value, dict):
            raise BadInput("a ticket in JSON must be an object", f"{file}:1", "write {…} with key and summary")
        return located, "", 1
    lines = split_lines(text.removeprefix("\ufeff"))
    ends = [n for n, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")][:1]
    if not lines or lines[0].rstrip() != "---" or not ends or not re.match(r"[\w-][\w -]*:", "".join(lines[1:2])):
        return None, "".join(lines), 1
    located = read_yaml("".join(lines[1 : ends[0]]), file, 2)
    if not isinstance(located.value, dict):
        return None, "".join(lines), 1
    return located, "".join(lines[ends[0] + 1 :]), ends[0] + 2
