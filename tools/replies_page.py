"""Writes docs/guide/replies.md: what every role replies, from the typed replies themselves.

`python tools/replies_page.py` writes the page; with `--check` it only says whether the page is up to date.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from trued.agents.roles import load_roles
from trued.model import Reply
from trued.run.examination.replies import Answers, Examined
from trued.run.run import ProposedPlan
from trued.workflows.descriptor import load
from trued.workflows.registry import descriptors

Namer: TypeAlias = Callable[[str], str]

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "replies.md"
COMMON = Reply.model_json_schema()
SHARED: Mapping[str, tuple[type[Reply], ...]] = {
    "planner": (ProposedPlan,),
    "examiner": (Examined,),
    "second-examiner": (Answers,),
}
MEANINGS = {
    "status": "how your work ended, by the completion contract of your role",
    "summary": "what people should know, in a sentence or two",
}
IN_PARTS = {  # of objects inside replies, where a name may mean something else than in a reply
    "quotes": "the clause that it shows, word for word",
    "within_s": "seconds that it may take; give more where a program is compiled first, as by `go run`",
    "setup": "it only prepares the exchanges after it",
}
NULL = {"type": "null"}
NAMES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
}

TOP = """# Replies

<!-- Written by tools/replies_page.py from the code; do not edit. -->

What each role replies: one JSON object. A reply is a claim, never evidence. A reply that breaks its contract is asked
for once more, with the errors; then the call has failed. Every order carries the JSON Schema of its reply as `schema`;
this page is made from the same source. It is for whoever writes a [scripted agent](scripted-agents.md), a `command:`
[agent](agents.md#any-program) or a role of their own.

Every reply may have these fields; `question` is not offered where nobody is there to answer ({unattended}):

"""


def page() -> str:
    """The whole page."""
    sections: dict[str, Mapping[str, tuple[type[Reply], ...]]] = {"": SHARED}
    for one in descriptors():
        if one.replies.startswith("trued."):  # ours, not those of another installed package
            sections[one.name] = {role: each for role, each in load(one.replies).items() if role in one.roles}
    names = Parts(sections)
    unattended = ", ".join(f"`{one.name}`" for one in descriptors() if not one.asks_people)
    body = [TOP.format(unattended=unattended), *_table(COMMON, {}, names.inside("")), "\n"]
    for section, roles in sections.items():
        body.append(f"## {f'`{section}`' if section else 'All workflows'}\n\n")
        for replies in dict.fromkeys(roles.values()):
            same = [role for role, each in roles.items() if each == replies]
            body += _role(same, replies, names.inside(section))
    body.append("## Parts\n\nObjects inside replies, by the name of their type.\n\n")
    for title, (section, part) in sorted(names.titled.items()):
        body.append(f"### {title}\n\n{_sentence(part)}")
        body += [*_table(part, {}, names.inside(section), meanings=IN_PARTS), "\n"]
    return "".join(body).rstrip("\n") + "\n"


class Parts:
    """The objects inside replies. One name may stand for two of them in two workflows; then the title says which."""

    def __init__(self, sections: Mapping[str, Mapping[str, tuple[type[Reply], ...]]]) -> None:
        self._found: dict[str, dict[str, Any]] = {}  # section → name → schema
        for section, roles in sections.items():
            own = self._found.setdefault(section, {})
            for reply in (each for replies in roles.values() for each in replies):
                own |= {_name(key): one for key, one in reply.model_json_schema().get("$defs", {}).items()}
        self.titled = {
            self.title(section, name): (section, one)
            for section, own in self._found.items()
            for name, one in own.items()
            if "enum" not in one
        }

    def title(self, section: str, name: str) -> str:
        """The heading of the part that is called so in a section."""
        first = next(own[name] for own in self._found.values() if name in own)
        return name if self._found[section][name] == first else f"{name} of {section}"

    def inside(self, section: str) -> "Namer":
        """How a reference is written in a section: the words of an enumeration, or a link to the part."""

        def written(reference: str) -> str:
            name = _name(reference)
            one = self._found[section].get(name) or COMMON["$defs"][name]
            if "enum" in one:
                return " or ".join(f"`{word}`" for word in one["enum"])
            title = self.title(section, name)
            return f"[{title}](#{title.lower().replace(' ', '-')})"

        return written


def sample(reply: type[Reply]) -> dict[str, Any]:
    """The shortest reply that keeps its contract."""
    schema = reply.model_json_schema()
    return dict(_sample(schema, schema))


def _role(roles: list[str], replies: tuple[type[Reply], ...], write: Namer) -> Iterator[str]:
    yield f"### {', '.join(roles)}\n\n"
    prompt = load_roles(None, None)[roles[0]].prompt
    for number, reply in enumerate(replies, 1):
        schema = reply.model_json_schema()
        yield f"**Reply {number} of {len(replies)}.** " if len(replies) > 1 else ""
        yield _sentence(schema)
        table = list(_table(schema, COMMON["properties"], write, prompt))
        yield from table if len(table) > 1 else ["It has only the fields that every reply has.\n"]
        missing = [name for name in COMMON["properties"] if name not in schema["properties"]]
        yield f"\nIt has no field {', '.join(f'`{name}`' for name in missing)}.\n" if missing else ""
        yield f"\nThe shortest one that is valid:\n\n```json\n{json.dumps(sample(reply), ensure_ascii=False)}\n```\n\n"


def _table(
    schema: Mapping[str, Any],
    known: Mapping[str, Any],
    write: Namer,
    prompt: str = "",
    meanings: Mapping[str, str] = MEANINGS,
) -> Iterator[str]:
    """The fields of an object that are not `known` already, required ones first."""
    yield "| field | value | meaning |\n| --- | --- | --- |\n"
    required = set(schema.get("required", ()))
    rows = {name: one for name, one in schema.get("properties", {}).items() if known.get(name) != one}
    for name in sorted(rows, key=lambda name: name not in required):
        needed = ", required" if name in required else ""
        meaning = rows[name].get("description") or _outputs(prompt).get(name) or meanings.get(name, "")
        yield f"| `{name}` | {_type(rows[name], write)}{needed} | {meaning.replace('|', '/')} |\n"


def _outputs(prompt: str) -> dict[str, str]:
    """What a role's own text says about the fields of its reply: `**field**: words;`."""
    outputs = prompt.partition("## Outputs\n")[2].partition("\n## ")[0]
    told = re.findall(r"((?:\*\*\w+\*\*,? ?(?:\([^)]*\) ?)?)+): (.+?)(?=[;.](?:\s|$)|\n- |\n\n|\*\*|$)", outputs, re.S)
    return {name: " ".join(words.split()) for names, words in told for name in re.findall(r"\*\*(\w+)\*\*", names)}


def _type(one: Mapping[str, Any], write: Namer) -> str:
    if "$ref" in one:
        return write(one["$ref"])
    if options := one.get("anyOf") or one.get("oneOf"):
        return " or ".join(dict.fromkeys("nothing" if each == NULL else _type(each, write) for each in options))
    if words := one.get("enum") or ([one["const"]] if "const" in one else None):
        return " or ".join(f"`{word}`" if word != "" else "empty" for word in words)
    if one.get("type") == "array":
        least = one.get("minItems", 0)
        return f"list of {_type(one.get('items', {}), write)}{f' (at least {least})' if least else ''}"
    if one.get("type") == "object" and isinstance(one.get("additionalProperties"), dict):
        return f"object of {_type(one['additionalProperties'], write)}"
    return NAMES.get(str(one.get("type", "")), "any JSON")


def _sample(one: Mapping[str, Any], whole: Mapping[str, Any]) -> Any:
    if "$ref" in one:
        return _sample(whole["$defs"][one["$ref"].rpartition("/")[2]], whole)
    if options := one.get("anyOf") or one.get("oneOf"):
        return _sample(options[0], whole)
    if words := one.get("enum") or ([one["const"]] if "const" in one else None):
        return words[0]
    kind = one.get("type")
    if kind == "object":
        return {name: _sample(one["properties"][name], whole) for name in one.get("required", ())}
    if kind == "array":
        return [_sample(one.get("items", {}), whole)]
    return {"string": "A1" if "pattern" in one else "…", "integer": 1, "number": 1, "boolean": True}.get(str(kind))


def _sentence(schema: Mapping[str, Any]) -> str:
    text = " ".join(schema.get("description", "").split())
    return f"{text}\n\n" if text else ""


def _name(reference: str) -> str:
    """The type's name; pydantic puts the module before one that two types share."""
    return re.sub(r".*(/|__)", "", reference)


def main() -> int:
    """Write the page, or check it."""
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text)
        return 0
    if PAGE.is_file() and PAGE.read_text() == text:
        return 0
    print("docs/guide/replies.md is stale: write it again with `python tools/replies_page.py`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
