"""Memories: a few lines from each agent's reply, and the shared file that the engine merges them into."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator

from trued.model import Status, Value
from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import plain, plain_line
from trued.support.plurals import counted

FOLDER, SHARED = "memory", "memory.md"
MOST_LINES = 30  # lines in one agent's memory
FINDINGS = 5  # key findings of one agent; its artifact has all findings
DECISIONS = 5
ARTIFACTS = 8  # artifacts in one agent's memory; the index has the others
INDEXED = 40  # paths of one agent in the index; the diff has all of them
LINE = 200  # characters in a finding or a decision: the details are in the artifact
RECENT_DECISIONS = 20
RECENT_UPDATES = 12  # this many updates count as recent: those of three clusters of four agents
MISSING = "missing"

# Agents in the order of the flow. All others follow: implementers and writers sorted by their tasks, others by name.
ORDER = (
    *("researcher-architecture", "researcher-impact", "researcher-dependencies", "researcher-patterns"),
    *("spec", "designer"),
    *("ct-security", "ct-scalability", "ct-maintainability", "ct-strategy"),
    "planner",
    *("v-build", "v-tests", "v-tasks", "v-feature"),
    *("r-quality", "r-security", "r-testing", "r-knowledge"),
)

# Characters to escape: they could make a link, image or HTML. Other markup in a line makes only bold or code.
_MARKUP = lazy_regex(r"([\\\[\]<>])")
# What could begin a heading, quotation, item, fence or rule at the start of a line.
_BLOCK = lazy_regex(r"(\d{1,9})[.)]|(?:```|~~~|[#>*+=|:_-])")


def _flat(text: object) -> str:
    """A text on one line of bounded length, without control or hidden characters."""
    return plain_line(str(text)[: 20 * LINE], LINE)


def inert_line(text: str) -> str:
    """A text on one line, escaped for Markdown, so that it stays one item of its list."""
    quiet = _MARKUP.sub(r"\\\1", _flat(text))
    starts = _BLOCK.match(quiet)
    return f"{starts[1] or ''}\\{quiet[len(starts[1] or '') :]}" if starts else quiet


def _few(most: int) -> Any:
    def first_lines(value: Any) -> Any:
        lines = map(_flat, (value,) if isinstance(value, str) else value or ())
        return tuple(line for line in lines if line)[:most]

    return BeforeValidator(first_lines)


def _safe_name(text: Any) -> str:
    """An agent's name, made safe as a file name. The name can contain that of a task, which can be any text."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", plain(str(text))).strip(".-")[:80] or "nobody"


def _path(text: object) -> str:
    return plain_line(str(text)).replace("`", "'")[:LINE]


def _paths(paths: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(_path, paths or ()))))


def _status(status: Any) -> Any:
    return status if status in list(Status) else Status.ERROR


class Memory(Value):
    """The few lines that the engine keeps of an agent's reply. Long texts and lists are cut."""

    agent: Annotated[str, BeforeValidator(_safe_name)]  # the instance: its role, and its focus or task
    role: Annotated[str, BeforeValidator(_safe_name)]
    status: Annotated[Status, BeforeValidator(_status)]
    findings: Annotated[tuple[str, ...], _few(FINDINGS)] = ()
    severity: Annotated[str, BeforeValidator(_flat)] = ""  # the highest, in the agent's own scale
    decisions: Annotated[tuple[str, ...], _few(DECISIONS)] = ()
    artifacts: Annotated[tuple[str, ...], BeforeValidator(_paths)] = ()

    @property
    def file(self) -> str:
        return memory_file(self.agent)

    def render(self) -> str:
        """The file's text. An agent's words are escaped, each on one line, so that they cannot look like a heading or
        another field."""
        named, more = self.artifacts[:ARTIFACTS], len(self.artifacts) - ARTIFACTS
        artifacts = [*(f"`{path}`" for path in named), *([f"{more} more, in {SHARED}"] if more > 0 else [])]
        lines = [
            f"# {self.agent}",
            "",
            f"Role: {self.role}",
            f"Status: {self.status}",
            f"Highest severity: {inert_line(self.severity) or 'none'}",
            *_section("Key findings", map(inert_line, self.findings[:FINDINGS])),
            *_section("Decisions", map(inert_line, self.decisions[:DECISIONS])),
            *_section("Artifacts", iter(artifacts)),
        ]
        return "\n".join(lines) + "\n"


def memory_file(agent: str) -> str:
    """The path of an agent's memory in the feature's folder."""
    return f"{FOLDER}/{_safe_name(agent)}.mem.md"


class Kept(Value):
    """One line of the shared memory, and which agent it comes from."""

    by: str
    text: str


class Update(Value):
    agent: str
    status: str  # the status in its reply, or "missing"
    severity: str = ""
    findings: tuple[str, ...] = ()


class SharedMemory(Value):
    """`memory.md`: an index of all documents, and the latest decisions and findings. Only the engine writes it."""

    slug: str = ""
    artifacts: tuple[Kept, ...] = ()
    decisions: tuple[Kept, ...] = ()
    updates: tuple[Update, ...] = ()
    older_decisions: int = 0  # decisions that were dropped from this file; each agent's memory keeps its own
    older_updates: int = 0

    def render(self) -> str:
        title = f"# Memory of {inert_line(self.slug)}" if self.slug else "# Memory"
        index = (f"`{artifact.text}`: {artifact.by}" for artifact in self.artifacts)
        decided = (f"{decision.by}: {inert_line(decision.text)}" for decision in self.decisions)
        lines = [
            title,
            "",
            "Only the engine writes this file, from the agents' replies. Their full findings are in the artifacts.",
            *_section("Artifact index", index),
            *_section("Recent decisions", decided, _older(self.older_decisions)),
            "",
            "## Recent updates",
            *filter(None, [_older(self.older_updates)]),
            *(line for update in self.updates for line in _updated(update)),
        ]
        return "\n".join(lines) + "\n"


def _section(title: str, points: Iterator[str], note: str = "") -> list[str]:
    lines = [*([note] if note else []), *(f"- {point}" for point in points)]
    return ["", f"## {title}", *lines] if lines else ["", f"## {title}", "- none"]


def _older(number: int) -> str:
    return f"{number} older: `{FOLDER}/*.mem.md`" if number else ""


def _updated(update: Update) -> Iterator[str]:
    severity = f", {inert_line(update.severity)}" if update.severity else ""
    yield f"### {update.agent}: {update.status}{severity}"
    yield from (f"- {inert_line(finding)}" for finding in update.findings)


# -- merging -----------------------------------------------------------------------------------------------------------


def merge_memories(
    shared: SharedMemory, memories: Mapping[str, Memory | None], documents: Mapping[str, Sequence[str]] | None = None
) -> SharedMemory:
    """The shared memory with these memories added in the order of the pipeline's steps, whichever agent finished first.
    Lines that contradict each other are all kept. `documents`: agent → its documents, which the index lists if the
    agent's memory is None."""
    for name in sorted(memories, key=_sort_key):
        shared = _with(shared, name, memories[name], (documents or {}).get(name, ()))
    return shared


def _sort_key(agent: str) -> tuple[int, list[tuple[int, int, str]], str]:
    """A sort key: agents of `ORDER` come first, the others are sorted by task. T2 comes before T10."""
    known = ORDER.index(agent) if agent in ORDER else len(ORDER)
    task = re.sub(r"^(implementer|documentation-writer)-", "", agent)
    parts = re.split(r"([0-9]+)", task)
    return known, [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts], agent


def _with(shared: SharedMemory, name: str, memory: Memory | None, documents: Sequence[str]) -> SharedMemory:
    by = memory.agent if memory else _safe_name(name)
    if memory:
        update = Update(agent=by, status=memory.status, severity=memory.severity, findings=memory.findings[:FINDINGS])
    else:
        update = Update(agent=by, status=MISSING, findings=("no reply, and so no memory",))
    new_decisions = [Kept(by=by, text=text) for text in (memory.decisions if memory else ())]
    updates, decisions = (*shared.updates, update), (*shared.decisions, *new_decisions)
    # A path that is written again keeps its place and gets the new author.
    paths = {artifact.text: artifact for artifact in shared.artifacts}
    for path in _brief(memory.artifacts if memory else _paths(documents), by):
        paths[path] = Kept(by=by, text=path)
    return shared.model_copy(
        update={
            "artifacts": tuple(paths.values()),
            "decisions": decisions[-RECENT_DECISIONS:],
            "updates": updates[-RECENT_UPDATES:],
            "older_decisions": shared.older_decisions + max(0, len(decisions) - RECENT_DECISIONS),
            "older_updates": shared.older_updates + max(0, len(updates) - RECENT_UPDATES),
        }
    )


def _brief(paths: Sequence[str], by: str) -> Sequence[str]:
    return (
        paths
        if len(paths) <= INDEXED
        else (*paths[:INDEXED], f"… {counted(len(paths) - INDEXED, 'file')} more of {by}")
    )
