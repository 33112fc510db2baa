"""Converts Atlassian's document format to Markdown, without losing anything that a reader would see."""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from trued.support.lazy_regex import lazy_regex

Node: TypeAlias = Mapping[str, Any]
Pictures: TypeAlias = Mapping[str, str]  # name of an attached file → its address

DEPTH = 60  # nested blocks are read down to this level: nobody nests deeper by hand
LISTS = ("bulletList", "orderedList", "taskList", "decisionList")
RUNS = ("text", "hardBreak", "mention", "emoji", "date", "status", "inlineCard", "mediaInline", "placeholder")
# Text that Markdown would take for the start of a block.
_SIGN = lazy_regex(r"^(\s*)(#{1,6}\s|[-+*]\s|>|\||```|~~~|-{3,}\s*$|={3,}\s*$)", re.MULTILINE)


def markdown_of_document(document: Node, pictures: Pictures) -> str:
    return "\n\n".join(part for part in _blocks(document, pictures, DEPTH) if part.strip())


def _nodes(node: Node) -> list[Node]:
    content = node.get("content")
    return [child for child in content if isinstance(child, dict)] if isinstance(content, list) else []


def _attributes(node: Node) -> Node:
    found = node.get("attrs")
    return found if isinstance(found, dict) else {}


# -- blocks


def _blocks(node: Node, pictures: Pictures, depth: int) -> list[str]:
    found: list[str] = []
    loose: list[Node] = []  # text between blocks, outside a paragraph
    for child in _nodes(node) if depth else ():
        if child.get("type") in RUNS:
            loose.append(child)
            continue
        found += [_paragraph(loose, pictures)] if loose else []
        loose = []
        found.append(_block(child, pictures, depth - 1))
    return [*found, _paragraph(loose, pictures)] if loose else found


def _block(node: Node, pictures: Pictures, depth: int) -> str:
    kind, attributes = node.get("type"), _attributes(node)
    if kind == "paragraph":
        return _paragraph(_nodes(node), pictures)
    if kind == "heading":
        level = attributes.get("level")
        words = " ".join(_inline_markdown(_nodes(node), pictures).split("\n"))
        return f"{'#' * (level if isinstance(level, int) and 0 < level < 7 else 2)} {words}"
    if kind in LISTS:
        return _list(node, pictures, depth)
    if kind == "codeBlock":
        code = "".join(str(child.get("text") or "") for child in _nodes(node))
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", code)), default=0))
        return f"{fence}{attributes.get('language') or ''}\n{code}\n{fence}"
    if kind == "table":
        return _table(node, pictures, depth)
    if kind == "media":
        return _picture(attributes, pictures)
    return {"rule": "---", "blockCard": str(attributes.get("url") or "")}.get(str(kind)) or _framed_block(
        node, pictures, depth
    )


def _framed_block(node: Node, pictures: Pictures, depth: int) -> str:
    """Markdown of a panel, a quotation, an expander or an unknown block."""
    inner = "\n\n".join(_blocks(node, pictures, depth))
    if node.get("type") in ("blockquote", "panel"):
        return "\n".join(f"> {line}".rstrip() for line in inner.split("\n"))
    title = _attributes(node).get("title")
    return f"**{title}**\n\n{inner}" if title else inner or str(node.get("text") or "")


def _list(node: Node, pictures: Pictures, depth: int) -> str:
    lines: list[str] = []
    for number, item in enumerate(_nodes(node) if depth else (), 1):
        if item.get("type") in LISTS:  # a nested task list is a sibling of the items, not inside one
            lines.append("  " + _list(item, pictures, depth - 1).replace("\n", "\n  "))
            continue
        sign = f"{number}. " if node.get("type") == "orderedList" else "- "
        done = _attributes(item).get("state") == "DONE"
        box = ("[x] " if done else "[ ] ") if item.get("type") == "taskItem" else ""
        code = any(child.get("type") in ("codeBlock", "table") for child in _nodes(item))
        text = ("\n\n" if code else "\n").join(_blocks(item, pictures, depth - 1))
        lines.append(sign + box + text.replace("\n", "\n" + " " * len(sign)))
    return "\n".join(lines)


def _table(node: Node, pictures: Pictures, depth: int) -> str:
    rows = [[_cell(cell, pictures, depth) for cell in _nodes(row)] for row in _nodes(node)]
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    head, *rest = [row + [""] * (width - len(row)) for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * width, *rest))


def _cell(cell: Node, pictures: Pictures, depth: int) -> str:
    return " ".join(" ".join(_blocks(cell, pictures, depth)).split()).replace("|", "\\|")


# -- inline text


def _paragraph(nodes: list[Node], pictures: Pictures) -> str:
    return _SIGN.sub(r"\1\\\2", _inline_markdown(nodes, pictures))


def _inline_markdown(nodes: list[Node], pictures: Pictures) -> str:
    return "".join(_inline_node(node, pictures) for node in nodes)


def _inline_node(node: Node, pictures: Pictures) -> str:
    kind, attributes = node.get("type"), _attributes(node)
    if kind == "hardBreak":
        return "\n"
    if kind == "text":
        return _formatted(str(node.get("text") or ""), node.get("marks"))
    if kind in ("media", "mediaInline"):
        return _picture(attributes, pictures)
    texts = (attributes.get(name) for name in ("text", "shortName", "url", "timestamp"))
    return next((str(text) for text in texts if text), "") or _inline_markdown(_nodes(node), pictures)


def _formatted(text: str, marks: object) -> str:
    """The text with its formatting as Markdown; the words are not changed."""
    known = {str(mark.get("type")): mark for mark in marks if isinstance(mark, dict)} if isinstance(marks, list) else {}
    core = text.strip()
    if not core:
        return text
    lead, trail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    core = f"`{core}`" if "code" in known and "`" not in core else core
    core = f"**{core}**" if "strong" in known else core
    address = _attributes(known.get("link", {})).get("href")
    if address and str(address) != core:
        core = f"[{core}]({str(address).replace(' ', '%20').replace(')', '%29')})"
    return lead + core + trail


def _picture(attributes: Node, pictures: Pictures) -> str:
    """A Markdown image. Its address is the address of the attached file with the picture's name, or the node's own.
    Without an address, only the picture's name."""
    name = str(attributes.get("alt") or "")
    address = pictures.get(name) or str(attributes.get("url") or "")
    return f"![{name}]({address})" if address else f"(picture {name})" if name else ""
