"""Converts Jira's wiki text to Markdown, line by line; unknown markup stays as it was written."""

import re
from collections.abc import Mapping

# Lengths are bounded: matching a long text with unclosed markup must not take minutes.
_HEADING = re.compile(r"^\s*h([1-6])\.\s+(.*)$")
_ITEM = re.compile(r"^\s*([*#-]+)\s+(.*)$")
_BLOCK = re.compile(r"^\s*\{(code|noformat)(?::[^}]*)?\}(.*)$")
_QUOTE = re.compile(r"^\s*\{(quote|panel)(?::([^}]*))?\}\s*(.*)$")
_PICTURE = re.compile(r"(?<![\w!])!([^!|\s][^!|\n]{0,300}?)(?:\|[^!\n]{0,300})?!(?!\w)")
_LINK = re.compile(r"\[(?:([^|\[\]\n]{1,300})\|)?((?:https?|mailto|ftp)[^|\[\]\s]{1,2000})(?:\|[^\[\]\n]{0,300})?\]")
_BOLD = re.compile(r"(?<![\w*\\])\*(?=\S)([^*\n]{1,500}?)(?<=\S)\*(?![\w*])")
_CODE = re.compile(r"\{\{((?:(?!\{\{).){1,500}?)\}\}")
_COLOUR = re.compile(r"\{color(?::[^}]*)?\}|\{anchor:[^}]*\}")
_KINDS = {"*": "- ", "-": "- ", "#": "1. "}


def markdown_of_wiki(text: str, pictures: Mapping[str, str]) -> str:
    lines: list[str] = []
    fence = ""  # the block that is open: code or noformat
    quoted = ""
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if fence:
            before, closed, after = line.partition(f"{{{fence}}}")
            lines += [quoted + before] if before or not closed else []
            if closed:
                lines += [f"{quoted}```", *([_inline(after, pictures)] if after.strip() else [])]
                fence = ""
        elif match := _BLOCK.match(line):
            rest, closed, after = match[2].partition(f"{{{match[1]}}}")
            lines += [f"{quoted}```", *([quoted + rest] if rest else [])]
            lines += [f"{quoted}```", *([_inline(after, pictures)] if after.strip() else [])] if closed else []
            fence = "" if closed else match[1]
        elif match := _QUOTE.match(line):
            lines, quoted = _quotation(lines, quoted, match, pictures)
        else:
            lines.append(quoted + _convert_line(line, pictures, lines))
    return "\n".join([*lines, "```"] if fence else lines)


def _quotation(
    lines: list[str], quoted: str, match: re.Match[str], pictures: Mapping[str, str]
) -> tuple[list[str], str]:
    """Convert a line that begins or ends a quotation or panel, or does both. Returns `lines` with the result, and the
    prefix for the lines that follow."""
    rest, closed, after = match[3].partition(f"{{{match[1]}}}")
    if quoted:
        return [*lines, "", *([_convert_line(match[3], pictures, lines)] if match[3] else [])], ""
    title = re.search(r"title=([^|}]+)", match[2] or "")
    opened = [f"> **{title[1].strip()}**"] if title else []
    opened += [f"> {_inline(rest, pictures)}"] if rest.strip() else []
    if closed:
        return [*lines, *opened, "", *([_inline(after, pictures)] if after.strip() else [])], ""
    return [*lines, *opened], "> "


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
