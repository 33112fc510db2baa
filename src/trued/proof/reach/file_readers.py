"""Tells which files of a project read its data, by their texts. Pure.

Who reads a file decides what it is, not its own name: a table in Markdown that code reads is data, and expected results
that only tests read judge like a test. A text may read a file that it names; one in a folder that it names; and one
that it finds by an ending or by listing its own folder. Comments and docstrings read nothing.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath

from trued.proof.room.frozen_files import is_test
from trued.proof.text.languages import CODE

# Other files that name code or data of the product: pages and templates, manifests and settings.
PAGES = (".html", ".htm", ".xhtml", ".css", ".scss", ".j2", ".jinja", ".jinja2", ".ejs", ".hbs", ".njk", ".erb")
SETTINGS = (".xml", ".toml", ".cfg", ".ini", ".json", ".yaml", ".yml")
PAGES_AND_SETTINGS = (*PAGES, *SETTINGS)
LISTS_FOLDERS = re.compile(r"\b(?:i?r?glob|iterdir|listdir|scandir|walk|readdir(?:Sync)?|iter_modules|walk_packages)\b")
_COMMENTS = re.compile(r"(?:^[ \t]*(?:#(?!!)|//|/\*|\*(?=[ /])|<!--)|[ \t](?:#|//)[ \t]).*$", re.MULTILINE)
_DOCSTRINGS = re.compile(r"""^[ \t]*[rRuUbB]*(\"{3}|'{3})[\s\S]*?\1""", re.MULTILINE)
_WORD = re.compile(r"[\w.@+~-]+")
# A text in quotes, and what joins it to another one before it.
_LITERAL = re.compile(
    r"(\+[ \t]*)?(?<!\\)(?:" + "|".join(rf"{one}([^{one}\\\n]*(?:\\.[^{one}\\\n]*)*){one}" for one in "\"'`") + ")"
)
_KEYS = re.compile(r"""(?:[{,]\s*["'](\w*)["'](?=\s*:)|(?<=[\w)\]])\[["'](\w*)["']\])""")  # names of values, no paths
_COMPUTED = re.compile(r"[{*%$<]")
_SEPARATOR = re.compile(r"[/\\]+")
_PACKAGING = ("setup.py", "setup.cfg", "pyproject.toml", "package.json")  # what they name belongs to a package
_STARTED = re.compile(r"#!|.*/?(?:GNUm|[Mm])akefile$")


@lru_cache(4_000)  # every text is asked about again for each changed file
def _said(text: str) -> tuple[frozenset[str], frozenset[str], frozenset[str], frozenset[str]]:
    """The words of a text; the parts of the paths in its quoted texts; of these, the last ones and those before
    something computed; and the endings that it adds to computed names."""
    plain = without_remarks(text)
    words = {one.rstrip(".") for one in _WORD.findall(plain)}
    parts, ends, endings = set[str](), set[str](), set[str]()
    for joined, *quoted in _LITERAL.findall(_KEYS.sub(" ", plain)):
        literal = "".join(quoted)
        # What begins with a slash is a route or an address, unless it is joined to the name of a folder.
        if joined or not literal.startswith("/"):
            named = [one for one in _SEPARATOR.split(literal) if one]
            parts |= {*named}
            ends |= {*named[-1:], *(one for one, after in pairwise(named) if _COMPUTED.search(after))}
        head, dot, ending = literal.rpartition(".")
        if dot and (not head or head[-1] in "}*s)"):  # `f"{name}.md"`, `"*.md"`, `"%s.md"`
            endings.add(f".{ending}")
    return frozenset(words), frozenset(parts), frozenset(ends), frozenset(endings)


def without_remarks(text: str) -> str:
    """The text of any code without its comments and docstrings."""
    return _COMMENTS.sub("", _DOCSTRINGS.sub("", text))


def may_read(path: str, text: str, one: str, known: Collection[str]) -> bool:
    """Whether the file `path`, which has this text, may read the file `one`. `known`: all files of the project."""
    if PurePosixPath(path).name in _PACKAGING:
        return False
    pure = PurePosixPath(one)
    words, parts, ends, endings = _said(text)
    above = [part for part in pure.parts[:-1] if part in parts]
    plain = _WORD.fullmatch(pure.name)
    named = (
        pure.name in (words if "." in pure.name or not path.endswith(CODE) else parts) if plain else pure.name in text
    )
    if is_test(path):  # expected results are often found by their names' beginnings, or one beside the other
        return bool(named or above or pure.suffix in endings)
    if pure.parent.name in ends or (not ends.isdisjoint(above) and LISTS_FOLDERS.search(text)):
        return True
    folder = PurePosixPath(path).parent
    if named:
        return above == [*pure.parts[:-1]] or not any(
            str(place / pure.name) in known and str(place / pure.name) != one for place in (PurePosixPath(), folder)
        )
    # A module that finds files in its own folder.
    inside = folder != PurePosixPath() and pure.is_relative_to(folder)
    return inside and (pure.suffix in endings or bool(LISTS_FOLDERS.search(text)))


def read_files(texts: Mapping[str, str], files: Iterable[str], known: Collection[str]) -> frozenset[str]:
    """Of these files, those that code of the project may read: programs, tests, scripts, pages, and settings that code
    reads. `texts`: path → text of the project's code, pages and settings."""
    wanted = [*files]
    if not wanted:
        return frozenset()
    running = [path for path, text in texts.items() if _runs(path, text)]
    settings = [path for path in texts if path.endswith(SETTINGS)]

    def among(readers: Iterable[str], asked: Collection[str]) -> set[str]:
        names = {one: {*PurePosixPath(one).parts, PurePosixPath(one).suffix} - {""} for one in asked}
        every, found = frozenset[str]().union(*names.values()), set[str]()
        for path in readers:
            text = texts[path]
            lists, said = (
                LISTS_FOLDERS.search(text),
                {name for name in every if name in text},
            )  # quick: most texts say none
            near = [
                one for one in asked if one not in found and one != path and (lists or not said.isdisjoint(names[one]))
            ]
            found |= {one for one in near if may_read(path, text, one, known)}
        return found

    left, found = [path for path in settings if path not in wanted], among(running, wanted)
    naming = [path for path in left if among([path], wanted)]
    return frozenset(found | among(among(running, naming), wanted))


def _runs(path: str, text: str) -> bool:
    return path.endswith((*CODE, *PAGES)) or bool(_STARTED.match(text[:2]) or _STARTED.match(path))
