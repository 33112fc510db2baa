"""Reads the texts of a commit: of all its files, of the files that it changed, and the lines that it added."""

import codecs
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from trued.protocols import Workspace
from trued.support.lazy_regex import lazy_regex

TEXT_BYTES, MOST_BYTES = 200_000, 20_000_000  # larger text files are skipped; MOST_BYTES is for all texts together
MOST_FILES, MOST_CODE_BYTES = 1000, 2**20  # at most this many changed files, and bytes of each, are read
UNREAD = "\0"  # the end of a text that is not all that its file says; no other text has this character
# What a comment in the first two lines (Python, pip), or the head of a page or style sheet, says of the encoding. Tools
# differ in what they take for a line, so each such place counts.
_IN_COMMENT = lazy_regex(rb"(?:\A|[\r\n])[ \t\f]*#[^\r\n]*?coding[:=][^\S\n]*([-\w.]+)")
_IN_HEAD = lazy_regex(
    rb"(?:\A@charset|<meta\b[^<>]*?charset\s*=|\A<\?xml[^<>]*?encoding\s*=)\s*[\"']?\s*([-\w.]+)", re.I
)
_OF_EDITORS = lazy_regex(r"(utf-8|latin-1|iso-8859-1)-.*")  # `utf-8-unix`
_ONE_BYTE_EACH = lazy_regex(r"ascii|(?:iso8859|koi8)-\w+|cp125\d")  # codecs in which ASCII stays what it is


async def text_files(workspace: Workspace, commit: str, suffixes: Collection[str] | None = None) -> dict[str, str]:
    """Path → text of every text file of the commit that is not too large. `suffixes`: read only files with a suffix
    among these."""
    texts: dict[str, str] = {}
    bytes_left = MOST_BYTES
    async with workspace.room(commit) as room:
        for folder, folders, names in os.walk(room):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                if suffixes is not None and path.suffix not in suffixes:
                    continue
                if path.is_symlink() or not path.is_file() or path.stat().st_size > min(TEXT_BYTES, bytes_left):
                    continue
                content = path.read_bytes()
                text = decoded(content).removesuffix(UNREAD)
                if UNREAD not in text:
                    texts[path.relative_to(room).as_posix()] = text
                    bytes_left -= len(content)
    return texts


async def texts_at(workspace: Workspace, commit: str, paths: Iterable[str]) -> dict[str, str]:
    """Path → text, for each of these files that the commit has. The text of a large file is only its beginning (see
    `as_text`)."""
    contents = await workspace.read_all(commit, paths)
    return {path: as_text(content) for path, content in contents.items()}


async def changed_texts(workspace: Workspace, commit: str, paths: Sequence[str]) -> dict[str, str]:
    """Path → text on this commit, for the first `MOST_FILES` of these changed files. Files that no longer exist or are
    empty are left out."""
    contents = await workspace.read_all(commit, paths[:MOST_FILES])
    return {path: as_text(content) for path, content in contents.items() if content}


async def added_lines(workspace: Workspace, base: str, texts: Mapping[str, str]) -> dict[str, list[tuple[int, str]]]:
    """Path → lines of these texts that the file does not have on the base, each with its number."""
    lines: dict[str, list[tuple[int, str]]] = {}
    base_contents = await workspace.read_all(base, texts)
    for path, text in texts.items():
        before = set(as_text(base_contents.get(path, b"")).splitlines())
        lines[path] = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line not in before]
    return lines


def as_text(content: bytes) -> str:
    """The beginning of a file's content as text (see `decoded`)."""
    return decoded(content, MOST_CODE_BYTES)


def decoded(content: bytes, most: int | None = None) -> str:
    """A file's content as text; at most its first `most` bytes. A mark of UTF-8 at the beginning is left out.
    Otherwise, different contents give different texts.

    The text ends with `UNREAD` if tools may find more in the file than the text says: if the content was cut, if its
    bytes are not valid in the file's encoding, or if the file asks for an encoding such as UTF-7, in which other
    characters may stand for code."""
    start = content[:most]
    try:
        text = codecs.getincrementaldecoder(_encoding(start))().decode(start, final=start == content)
    except (LookupError, ValueError):
        text = UNREAD
    if UNREAD in text:
        return start.decode("latin-1") + UNREAD
    return text if start == content else text + UNREAD


def best_reading(content: bytes, most: int) -> str:
    """What people and tools most likely read in the first `most` bytes of a file. The text never ends with `UNREAD`,
    even if it is not all that the file says."""
    return decoded(without_utf_16(content), most).removesuffix(UNREAD)


def without_utf_16(content: bytes) -> bytes:
    """Content in UTF-16, changed to ASCII: the text that pip and browsers read in the file. Content with characters
    outside ASCII, and content in another encoding, is returned unchanged.

    Tools that do not know UTF-16 find the same ASCII characters in the file, with zeros between them."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        with suppress(ValueError):
            return content.decode("utf-16").encode("ascii")
    return content


def _encoding(content: bytes) -> str:
    """The codec of a file. Raises LookupError if the file names an unknown codec, several codecs, or a codec in which
    other characters may stand for code."""
    start = content.removeprefix(codecs.BOM_UTF8)
    said = [*_IN_COMMENT.findall(b"\n".join(start.split(b"\n", 2)[:2])), *_IN_HEAD.findall(start[:1024])]
    names = [_OF_EDITORS.sub(r"\1", name.decode("ascii", "replace").lower().replace("_", "-")) for name in said]
    found = {codecs.lookup(name).name.removesuffix("-sig") for name in names}
    found |= {"utf-8"} if not found or content.startswith(codecs.BOM_UTF8) else set()
    name = found.pop()
    if found or not (name == "utf-8" or _ONE_BYTE_EACH.fullmatch(name)):
        raise LookupError(name)
    return "utf-8-sig" if name == "utf-8" else name


def is_unread(text: str) -> bool:
    """Whether a text that `decoded` or `as_text` returned is not all that its file says."""
    return text.endswith(UNREAD)
