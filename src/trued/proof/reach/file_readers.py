"""Finds the files of a project that may read its data, by the texts of these files. Does no I/O.

What a file is depends on its readers, not on its name: a table in Markdown that code reads is data, and expected
results that only tests read are a part of the tests. Code may read a file if its text has the file's name or folder. It
may also read a file below its own folder, if its text has the file's ending or lists folders. Names in comments and
docstrings do not count.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath

from trued.proof.room.frozen_files import is_test
from trued.proof.text.languages import CODE
from trued.proof.text.program_names import MAKEFILES
from trued.support.lazy_regex import lazy_regex

# Other files that name code or data of the product: pages and templates, manifests and settings.
PAGES = (".html", ".htm", ".xhtml", ".css", ".scss", ".j2", ".jinja", ".jinja2", ".ejs", ".hbs", ".njk", ".erb")
SETTINGS = (".xml", ".toml", ".cfg", ".ini", ".json", ".yaml", ".yml")
PAGES_AND_SETTINGS = (*PAGES, *SETTINGS)
LISTS_FOLDERS = lazy_regex(r"\b(?:i?r?glob|iterdir|listdir|scandir|walk|readdir(?:Sync)?|iter_modules|walk_packages)\b")
_COMMENTS = lazy_regex(r"(?:^[ \t]*(?:#(?!!)|//|/\*|\*(?=[ /])|<!--)|[ \t](?:#|//)[ \t]).*$", re.MULTILINE)
_DOCSTRINGS = lazy_regex(r"""^[ \t]*[rRuUbB]*(\"{3}|'{3})[\s\S]*?\1""", re.MULTILINE)
_WORD = lazy_regex(r"[\w.@+~-]+")
# A text in quotes, and a `+` before it, which joins it to another text.
_LITERAL = lazy_regex(
    r"(\+[ \t]*)?(?<!\\)(?:"
    + "|".join(rf"{quote}([^{quote}\\\n]*(?:\\.[^{quote}\\\n]*)*){quote}" for quote in "\"'`")
    + ")"
)
_KEYS = lazy_regex(r"""(?:[{,]\s*["'](\w*)["'](?=\s*:)|(?<=[\w)\]])\[["'](\w*)["']\])""")  # names of values, no paths
_PLACEHOLDER = lazy_regex(r"[{*%$<]")
_SEPARATOR = lazy_regex(r"[/\\]+")
_PACKAGE_MANIFESTS = ("setup.py", "setup.cfg", "pyproject.toml", "package.json")  # what they name belongs to a package
_PROGRAM_START = lazy_regex(rf"#!|.*/?(?:{'|'.join(MAKEFILES)})$")


@lru_cache(4_000)  # every text is searched again for each changed file
def _words_and_paths(text: str) -> tuple[frozenset[str], frozenset[str], frozenset[str], frozenset[str]]:
    """Four sets from a text: its words; the parts of the paths in its string literals; those of the parts that end a
    path or stand before a computed part; and the endings, such as `.md`, that the text adds to names that it
    computes."""
    plain = without_remarks(text)
    words = {word.rstrip(".") for word in _WORD.findall(plain)}
    parts, ends, endings = set[str](), set[str](), set[str]()
    for joined, *quoted in _LITERAL.findall(_KEYS.sub(" ", plain)):
        literal = "".join(quoted)
        # What begins with a slash is a route or an address, unless it is joined to the name of a folder.
        if joined or not literal.startswith("/"):
            path_parts = [part for part in _SEPARATOR.split(literal) if part]
            parts |= {*path_parts}
            ends |= {*path_parts[-1:], *(part for part, after in pairwise(path_parts) if _PLACEHOLDER.search(after))}
        head, dot, ending = literal.rpartition(".")
        if dot and (not head or head[-1] in "}*s)"):  # `f"{name}.md"`, `"*.md"`, `"%s.md"`
            endings.add(f".{ending}")
    return frozenset(words), frozenset(parts), frozenset(ends), frozenset(endings)


def without_remarks(text: str) -> str:
    """The text of any code without its comments and docstrings."""
    return _COMMENTS.sub("", _DOCSTRINGS.sub("", text))


def may_read(path: str, text: str, target: str, all_files: Collection[str]) -> bool:
    """Whether the file `path`, which has this text, may read the file `target`. `all_files`: all files of the
    project."""
    if PurePosixPath(path).name in _PACKAGE_MANIFESTS:
        return False
    file = PurePosixPath(target)
    words, parts, ends, endings = _words_and_paths(text)
    above = [part for part in file.parts[:-1] if part in parts]
    plain = _WORD.fullmatch(file.name)
    is_named = (
        file.name in (words if "." in file.name or not path.endswith(CODE) else parts) if plain else file.name in text
    )
    if is_test(path):  # expected results are often found by their names' beginnings, or one beside the other
        return bool(is_named or above or file.suffix in endings)
    if file.parent.name in ends or (not ends.isdisjoint(above) and LISTS_FOLDERS.search(text)):
        return True
    folder = PurePosixPath(path).parent
    if is_named:
        return above == [*file.parts[:-1]] or not any(
            str(place / file.name) in all_files and str(place / file.name) != target
            for place in (PurePosixPath(), folder)
        )
    # A module that finds files in its own folder.
    is_inside = folder != PurePosixPath() and file.is_relative_to(folder)
    return is_inside and (file.suffix in endings or bool(LISTS_FOLDERS.search(text)))


def files_that_code_reads(texts: Mapping[str, str], files: Iterable[str], all_files: Collection[str]) -> frozenset[str]:
    """Of these files, those that something in the project may read. The readers are programs, tests, scripts and pages.
    Settings that a reader reads are readers, too. `texts`: path → text of the project's code, pages and settings."""
    candidates = [*files]
    if not candidates:
        return frozenset()
    running = [path for path, text in texts.items() if _runs(path, text)]
    settings = [path for path in texts if path.endswith(SETTINGS)]

    def read_by(readers: Iterable[str], paths: Collection[str]) -> set[str]:
        """Those of `paths` that the code of at least one reader may read, judged by its text. `readers`: paths of
        files."""
        names = {path: {*PurePosixPath(path).parts, PurePosixPath(path).suffix} - {""} for path in paths}
        all_names, read = frozenset[str]().union(*names.values()), set[str]()
        for reader in readers:
            text = texts[reader]
            lists_folders = LISTS_FOLDERS.search(text)
            names_in_text = {name for name in all_names if name in text}  # a quick first test: most texts contain none
            likely = [
                path
                for path in paths
                if path not in read and path != reader and (lists_folders or not names_in_text.isdisjoint(names[path]))
            ]
            read |= {path for path in likely if may_read(reader, text, path, all_files)}
        return read

    other_settings, read = [path for path in settings if path not in candidates], read_by(running, candidates)
    naming_settings = [path for path in other_settings if read_by([path], candidates)]
    return frozenset(read | read_by(read_by(running, naming_settings), candidates))


def _runs(path: str, text: str) -> bool:
    return path.endswith((*CODE, *PAGES)) or bool(_PROGRAM_START.match(text[:2]) or _PROGRAM_START.match(path))
