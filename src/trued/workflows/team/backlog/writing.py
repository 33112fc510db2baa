"""How a backlog is written: one line a fact, and no words in it that could pose as another."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trued.workflows.team.backlog.items import Acceptance, Backlog, BacklogFeature, BacklogTask, Part, Piece, Story

    _Order = list[tuple[str, Piece | None]]

TITLE = """\
# Backlog

What this team has to do. You may edit this file between two steps: rename, reorder, add or remove what you like; a
new line needs no id. `[ ]` is open, `[x]` is done, `[!]` has failed; a tick of yours means "do not work on it", and
proves nothing.
"""
MARKS = {"open": "[ ]", "done": "[x]", "failed": "[!]"}
ARCHIVE = "backlog-archive.md"
BULLET = "- "
ADDED = "(not in the contract)"
CODE = re.compile(r"(?<!`)(`+)(?!`)(?:.*?[^`])\1(?!`)")
_SPECIAL = re.compile(r"[\\<&\[]|\((?=attempts\b|not in the contract\))|(?<= )#(?=#*$)|^#")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_OPTIONAL = {
    "status": "pending",
    "priority": "medium",
    "uat": "pending",
}  # a line that a person took away, and its meaning
_NEVER_BACK = ("title", "feature", "tasks")


def escaped(text: str) -> str:
    """As it may stand in a line: it makes no link, no HTML and no part of the backlog. Code stays as it is."""
    if not _SPECIAL.search(text):
        return text
    return _outside_code(text, lambda part: _SPECIAL.sub(lambda found: f"\\{found[0]}", part))


def unescaped(text: str) -> str:
    return _outside_code(text, lambda part: _ESCAPED.sub(r"\1", part))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts, at = [], 0
    for code in CODE.finditer(text):
        parts += [change(text[at : code.start()]), code[0]]
        at = code.end()
    return "".join((*parts, change(text[at:])))


# -- one line ----------------------------------------------------------------------------------------------------------


def is_new(name: str) -> bool:
    """Added by a person, and without an id."""
    return name.startswith("new-")


def line(part: "Part", name: str, lead: str = "") -> str:
    """What the engine writes for this piece of it; nothing where there is nothing to say."""
    said = _LINES[type(part).__name__](part, name)
    if not said or said.startswith(("\n", "#", "<")) or not lead:
        return said
    return lead + said.lstrip(" ").removeprefix(BULLET)


def _heading(level: int, kind: str, name: str, words: str) -> str:
    return f"\n{'#' * level} {kind if is_new(name) else name}: {escaped(words)}".rstrip() + "\n\n"


def _feature(feature: "BacklogFeature", name: str) -> str:
    done, _, tasks = feature.counts
    given = " ".join(f"{kind}{last}" for kind, last in zip("CST", feature.given, strict=True) if last)
    rows = {
        "heading": _heading(2, "Feature", feature.id, feature.name),
        "status": f"- **Status**: {feature.status}\n",
        "priority": f"- **Priority**: {feature.priority}\n",
        "uat": f"- **UAT**: {feature.uat}\n",
        "depends_on": f"- **Needs**: {', '.join(feature.depends_on)}\n" if feature.depends_on else "",
        "archived": f"- **Archived**: {done} of {tasks} tasks are done, see {ARCHIVE}\n" if feature.is_away else "",
        "given": f"<!-- ids given so far: {given} -->\n" if given else "",
        "criteria": "\n### Acceptance criteria\n\n" if feature.criteria else "",
    }
    return rows.get(name, "")


def _criterion(criterion: "Acceptance", name: str) -> str:
    own = "" if is_new(criterion.id) else f"**{criterion.id}**: "
    added = f" {ADDED}" if criterion.added else ""
    return f"- {own}{escaped(criterion.text)}{added}\n" if name == "line" else ""


def _story(story: "Story", name: str) -> str:
    rows = {
        "heading": _heading(3, "Story", story.id, story.name) if story.name or not is_new(story.id) else "",
        "status": f"- **Status**: {story.status}\n",
        "feature": f"- **Feature**: {story.feature}\n" if story.feature else "",
        "tasks": "\n#### Tasks\n\n" if story.tasks else "",
    }
    return rows.get(name, "") if name == "heading" or rows["heading"] else ""


def _task(task: "BacklogTask", name: str) -> str:
    own = "" if is_new(task.id) else f"**{task.id}**: "
    files = ", ".join(f"`{path}`" for path in task.files)
    rows = {
        "line": f"- {MARKS[task.state]} {own}{escaped(task.description)} (attempts: {task.attempts}/{task.limit})\n",
        "depends_on": f"  - needs: {', '.join(task.depends_on)}\n" if task.depends_on else "",
        "files": f"  - files: {files}\n" if files else "",
        "note": f"  - note: {escaped(task.note)}\n" if task.note else "",
        "by_person": "  - by: a person\n" if task.by_person else "",
    }
    return rows.get(name, "")


def _backlog(backlog: "Backlog", name: str) -> str:
    given = f"\n<!-- ids given so far: F{backlog.given} -->\n" if backlog.given else ""
    return {"title": TITLE, "given": given}.get(name, "")


_LINES: dict[str, Callable[..., str]] = {
    "Backlog": _backlog,
    "BacklogFeature": _feature,
    "Acceptance": _criterion,
    "Story": _story,
    "BacklogTask": _task,
}
_NAMES: dict[str, tuple[str, ...]] = {
    "Backlog": ("title", "given"),
    "BacklogFeature": ("heading", "status", "priority", "uat", "depends_on", "archived", "given", "criteria"),
    "Acceptance": ("line",),
    "Story": ("heading", "status", "feature", "tasks"),
    "BacklogTask": ("line", "depends_on", "files", "note", "by_person"),
}
_CHILDREN = {"BacklogFeature": ("criteria", "stories"), "Story": ("tasks",)}


# -- all of them -------------------------------------------------------------------------------------------------------


def children(part: "Part") -> "dict[str, Part]":
    """Parts that have pieces of their own, by the name that stands for them."""
    held = [
        name
        for name in _CHILDREN.get(type(part).__name__, ())
        if not getattr(part, "is_away", False) or name != "stories"
    ]
    return {f"+{one.id}": one for name in held for one in getattr(part, name)}


def names(part: "Part") -> list[str]:
    """What the engine writes of it, in this order."""
    return [*(name for name in _NAMES[type(part).__name__] if line(part, name)), *children(part)]


def written(part: "Part", indent: int = 0) -> str:
    """Its text: as the engine writes it, and where a person wrote it in their own way, as they did."""
    inner = children(part)
    if not part.kept:
        return "".join(
            written(inner[name]) if name in inner else line(part, name, _lead(part, name, indent))
            for name in names(part)
        )
    text, put, below = "", False, ""
    order, loose, close = _order(part, inner), _loose(part), type(part).__name__ == "BacklogTask"
    for at, (name, piece) in enumerate(order):
        if piece is not None or not close:  # what is put below a task's line stands before what a person put there
            text, below = _ended(text) + below, ""
        text = _ended(text)
        if piece is None:
            text += "\n" if loose and not close and not text.endswith("\n\n") else ""
            far = _far(order, at, inner)
            text += written(inner[name], far) if name in inner else line(part, name, _lead(part, name, far))
        else:
            said = written(inner[name]) if name in inner else piece.head or line(part, name, piece.lead)
            text += _gap(text, said, put) if name == "section" else ""
            text, below = text + said, piece.tail
        put = piece is None
    return _ended(text) + below if below else text


def _gap(text: str, section: str, put: bool) -> str:
    """An underlined heading would become a part of what stands close above it."""
    blank = text.endswith(("\n\n", "\n\r\n")) or section.startswith(("\n", "\r\n"))
    return "" if blank or not (put or not section.lstrip(" ").startswith("#")) else "\n"


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"


def _lead(part: "Part", name: str, indent: int) -> str:
    """What a line begins with that is put among lines which a person set further in."""
    if type(part).__name__ == "BacklogTask" and name != "line":
        indent = max(indent, len(part.kept[0].lead)) if part.kept else indent + len(BULLET)
    return " " * indent + BULLET if indent else ""


def _far(order: "_Order", at: int, inner: "dict[str, Part]") -> int:
    """As far in as what follows, so that it does not take that in."""
    for name, piece in order[at + 1 :]:
        lines = inner[name].kept[:1] if name in inner else (piece,)
        if piece is not None and (name not in inner or type(inner[name]).__name__ != "Story"):
            lead = lines[0].lead if lines and lines[0] else ""
            return len(lead) - len(lead.lstrip(" "))
    return 0


def _loose(part: "Part") -> bool:
    """Somebody wrote between its lines, and what follows must not become a part of that."""
    return any(piece.tail.strip() for piece in part.kept) or any(
        piece.tail.strip() for child in children(part).values() for piece in child.kept
    )


def _order(part: "Part", inner: "dict[str, Part]") -> "_Order":
    """The pieces in the person's order; what they have no place for follows what it follows elsewhere."""
    order: _Order = [
        (piece.name, piece) for piece in part.kept if piece.name in inner or not piece.name.startswith("+")
    ]
    there = {name for name, _ in order}
    above: set[str] = set()
    for name in names(part):
        if name not in there:
            if name in _NEVER_BACK or (name in _OPTIONAL and getattr(part, name) == _OPTIONAL[name]):
                continue
            at = max((number for number, (other, _) in enumerate(order) if other in above), default=-1)
            order.insert(at + 1, (name, None))
        above.add(name)
    return order
