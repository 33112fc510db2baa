"""What all formats share: ids made from titles, and checks that are written in the specification itself."""

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt

from trued.errors import BadInput
from trued.inputs.requirements.file import parse_requirements
from trued.inputs.requirements.guard_phrases import quoted_command, without_number
from trued.model import Check, CommandCheck, Requirement, Source
from trued.support.markdown import Words, split_lines

LONGEST = 60  # characters of an id made from words
FENCES = ("trued", "requirement", "requirements")  # a block that begins ```trued has checks for the requirement above


def slug(text: str, otherwise: str = "requirement") -> str:
    """An id from a title; `otherwise` if the title has no letters or digits."""
    words = re.sub(r"[^\w]+", "-", text.lower()).strip("-_")
    return words[:LONGEST].strip("-_") or otherwise


def requirement_of(name: str, text: str, file: str, line: int, checks: tuple[Check, ...] = ()) -> Requirement:
    """A requirement found in a file. It gets `keep` if it has checks and its whole text asks that a command
    succeeds: a command that succeeds on the base must still succeed."""
    keep = bool(checks and quoted_command(without_number(text)))
    return Requirement(id=name, text=text, source=Source(file=file, line=line), checks=checks, keep=keep)


def command_checks(words: Words) -> tuple[Check, ...]:
    """The command check of a sentence such as "`make lint` passes"; empty for any other sentence."""
    command = quoted_command(without_number(words.raw))
    return (CommandCheck(command=command),) if command else ()


def whole_command(text: str) -> tuple[Check, ...]:
    """The command check of a text that says nothing but that a command passes; empty for any other text."""
    return command_checks(Words(raw=text))


def fenced_checks(text: str, file: str) -> Iterator[tuple[int, tuple[Check, ...]]]:
    """Line and checks of each fenced block that is marked for trued."""
    for start, _, yaml in _fences(text):
        yield start + 1, _checks(yaml, f"{file}:{start + 1}")


def without_fences(text: str) -> str:
    """The text without the fenced blocks that are marked for trued; every line keeps its number."""
    lines = split_lines(text)
    for start, end, _ in _fences(text):
        lines[start:end] = ["\n"] * (end - start)
    return "".join(lines)


def _fences(text: str) -> Iterator[tuple[int, int, str]]:
    for token in MarkdownIt("commonmark", {"maxNesting": 60}).parse(text):
        if token.type == "fence" and token.info.strip().lower() in FENCES and token.map:
            yield token.map[0], token.map[1], token.content


def _checks(yaml: str, where: str) -> tuple[Check, ...]:
    """A list of checks in YAML, parsed like the checks in a requirements file. Raises BadInput for an invalid check."""
    body = "".join(f"      {line}\n" for line in yaml.splitlines())
    whole = f"requirements:\n  - id: fenced\n    text: fenced\n    checks:\n{body}"
    try:
        return parse_requirements(whole, "fenced.yaml").requirements[0].checks
    except BadInput as error:
        raise BadInput(f"the fenced checks cannot be read: {error.what}", where, error.then) from error


def with_fences(found: list[Requirement], text: str, file: str) -> tuple[Requirement, ...]:
    """The requirements, each with the checks of the fenced blocks between it and the next requirement. Raises BadInput
    for a block above the first requirement. Without any requirement, the blocks are ignored."""
    result = list(found)
    for line, checks in fenced_checks(text, file) if found else ():
        above = [n for n, requirement in enumerate(result) if requirement.source.line <= line]
        if not above:
            raise BadInput(
                "the fenced checks are above the first requirement",
                f"{file}:{line}",
                "put them below the requirement that they check",
            )
        nearest = max(above, key=lambda n: result[n].source.line)
        # the user's own checks can ask for something new, so the requirement is no longer only about keeping behaviour
        update = {"checks": (*result[nearest].checks, *checks), "keep": False}
        result[nearest] = result[nearest].model_copy(update=update)
    return tuple(result)
