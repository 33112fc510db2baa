"""Converts Jira's wiki text to Markdown, line by line; unknown markup stays as it was written."""

import re
from collections import deque
from collections.abc import Collection, Mapping

# Lengths are bounded: matching a long text with unclosed markup must not take minutes.
_HEADING = re.compile(r"^\s*h([1-6])\.\s+(.*)$")
_ITEM = re.compile(r"^\s*([*#-]+)\s+(.*)$")
_FENCES = ("code", "noformat")
_BLOCKS = (*_FENCES, "quote", "panel")
# The mark of a block, at any place in a line; text in {{code}} is skipped.
_MARK = re.compile(rf"\{{\{{(?:(?!\{{\{{).){{1,500}}?\}}\}}|(?<!\\)\{{({'|'.join(_BLOCKS)})(?::([^}}]{{0,500}}))?\}}")
_PICTURE = re.compile(r"(?<![\w!])!([^!|\s][^!|\n]{0,300}?)(?:\|[^!\n]{0,300})?!(?!\w)")
_LINK = re.compile(r"\[(?:([^|\[\]\n]{1,300})\|)?((?:https?|mailto|ftp)[^|\[\]\s]{1,2000})(?:\|[^\[\]\n]{0,300})?\]")
_BOLD = re.compile(r"(?<![\w*\\])\*(?=\S)([^*\n]{1,500}?)(?<=\S)\*(?![\w*])")
_CODE = re.compile(r"\{\{((?:(?!\{\{).){1,500}?)\}\}")
_COLOUR = re.compile(r"\{color(?::[^}]*)?\}|\{anchor:[^}]*\}")
_KINDS = {"*": "- ", "-": "- ", "#": "1. "}


def markdown_of_wiki(text: str, pictures: Mapping[str, str]) -> str:
    waiting = deque(enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")))
    last = {kind: number for number, line in waiting for kind in _BLOCKS if f"{{{kind}}}" in line}
    lines: list[str] = []
    fence = ""  # the block that is open: code or noformat
    quoted: list[str] = []  # the quotations that are open, the innermost last: quote or panel
    while waiting:
        number, line = waiting.popleft()
        prefix = "> " if quoted else ""
        if fence:
            before, closed, after = line.partition(f"{{{fence}}}")
            lines += [prefix + before] if before or not closed else []
            lines += [f"{prefix}```"] if closed else []
            fence = "" if closed else fence
        elif match := _block_mark(line, quoted, {kind for kind in last if last[kind] > number}):
            before, kind, after = line[: match.start()], match[1], line[match.end() :]
            lines += [prefix + _convert_line(before, pictures, lines)] if before.strip() else []
            if kind in _FENCES:
                lines.append(f"{prefix}```")
                fence = kind
            elif kind in quoted:
                del quoted[quoted.index(kind) :]
                lines += [] if quoted else [""]
            else:
                title = re.search(r"title=([^|}]+)", match[2] or "")
                lines += [f"> **{title[1].strip()}**"] if title else []
                quoted.append(kind)
                after = after.lstrip()
        else:
            after = ""
            lines.append(prefix + _convert_line(line, pictures, lines))
        if after.strip():
            waiting.appendleft((number, after))
    return "\n".join([*lines, "```"] if fence else lines)


def _block_mark(line: str, quoted: Collection[str], later: Collection[str]) -> re.Match[str] | None:
    """The first mark in a line that begins or ends a block. A mark that nothing ends begins no block: the rest of the
    text would be lost in it. `later`: kinds of blocks with a mark that can end them in a later line."""
    for match in _MARK.finditer(line):
        kind = match[1]
        if kind and (kind in quoted or kind in later or f"{{{kind}}}" in line[match.end() :]):
            return match
    return None


def _convert_line(line: str, pictures: Mapping[str, str], above: list[str]) -> str:
    if match := _HEADING.match(line):
        return f"{'#' * int(match[1])} {_inline(match[2], pictures)}"
    stripped = line.strip()
    if stripped == "----":
        return "\n---"
    if (match := _ITEM.match(line)) and (len(match[1]) < 4 or match[1][0] != "-"):
        depth = "".join("   " if sign == "#" else "  " for sign in match[1][:-1])
        return f"{depth}{_KINDS[match[1][-1]]}{_box(_inline(match[2], pictures))}"
    if stripped.startswith("||"):
        cells = [_inline(cell.strip(), pictures) for cell in stripped.strip("|").split("||")]
        return f"| {' | '.join(cells)} |\n|{' --- |' * len(cells)}"
    if stripped.startswith("|") and stripped.endswith("|") and len(stripped) > 1:
        cells = [_inline(cell.strip(), pictures) for cell in stripped[1:-1].split("|")]
        row = f"| {' | '.join(cells)} |"
        begins = not (above and above[-1].lstrip("> ").startswith("|"))
        return f"|{' |' * len(cells)}\n|{' --- |' * len(cells)}\n{row}" if begins else row
    if stripped.startswith("bq. "):
        return f"> {_inline(stripped[4:], pictures)}"
    return _inline(line, pictures)


def _box(words: str) -> str:
    for mark, box in (("(/)", "[x]"), ("(x)", "[ ]"), ("\\[ \\]", "[ ]"), ("\\[x\\]", "[x]")):
        if words.startswith(mark):
            return f"{box} {words[len(mark) :].strip()}"
    return words


def _inline(text: str, pictures: Mapping[str, str]) -> str:
    """Convert the markup inside a line; the text in {{code}} stays as it is."""
    parts = _CODE.split(text)
    return "".join(f"`{part}`" if number % 2 else _marks(part, pictures) for number, part in enumerate(parts))


def _marks(text: str, pictures: Mapping[str, str]) -> str:
    def picture(match: re.Match[str]) -> str:
        name = match[1].strip()
        address = name if name.startswith(("http://", "https://")) else pictures.get(name, "")
        return f"![{name}]({address})" if address else match[0]

    text = _PICTURE.sub(picture, _COLOUR.sub("", text))
    text = _LINK.sub(lambda match: f"[{match[1]}]({match[2]})" if match[1] else f"<{match[2]}>", text)
    return _BOLD.sub(r"**\1**", text)
