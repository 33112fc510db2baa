"""Decides whether a changed file that is neither manifest nor code can add a package.

Two kinds of files can add no package:

- the project's own data: files that the base's code reads, that no other file names, and in which a parser finds no
  package;
- files without new words: each word in the added lines is a path of the project, or was in the file on the base,
  outside comments.
"""

import ast
import json
import posixpath
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from trued.errors import BadInput
from trued.proof.text.program_names import MAKEFILES
from trued.proof.text.python_imports import nodes_in
from trued.support.lazy_regex import lazy_regex

DATA_FILES = (".json", ".yaml", ".yml", ".toml", ".csv", ".tsv", ".txt", ".sql", ".graphql", ".gql")
PARSED = (".json", ".yaml", ".yml", ".toml")  # data that `parsed_data` can parse, so that lists of packages are found
DOCUMENTS = (
    *(".md", ".rst", ".adoc", ".pdf", ".png", ".jpg", ".jpeg", ".gif", ".ico", ".webp", ".avif", ".bmp", ".tiff"),
    *(".woff", ".woff2", ".ttf", ".otf", ".eot", ".mp3", ".ogg", ".wav", ".mp4", ".webm"),
)
# These files can load something from elsewhere only by its URL, by a script inside, or by a rule of a style sheet.
MARKUP = (".html", ".htm", ".css", ".scss", ".svg")
# Words of SQL by which a database loads code or starts a program, and commands of its shell, which begin a line.
_LOADS_CODE = lazy_regex(
    r"\b(?:extension|load\w*|install|program|language|assembly|library|module|plugin|import|packages?|attach|execute|"
    r"exec|call|do|xp_\w+|sp_\w+|system)\b|^\s*[\\.!]",
    re.IGNORECASE,
)
# Files that only git, editors and people read.
INERT = (".gitignore", ".gitattributes", ".mailmap", ".editorconfig", "LICENSE", "AUTHORS", "CODEOWNERS", "py.typed")
MAKE = lazy_regex(rf"{'|'.join(MAKEFILES)}|.*\.mk")
COMMENTED = (".yaml", ".yml", ".ini", ".cfg", ".toml")  # here, as in makefiles, a line that begins with # is a comment
_RULE = lazy_regex(r"[\w.-]+(?:[ \t]+[\w.-]+)*[ \t]*:[\w ./-]*")  # a make rule without commands, which starts nothing
_OPTION = lazy_regex(r"-[A-Za-z]|--[a-z][a-z-]*")
_NUMBER = lazy_regex(r"v?\d+(?:\.\d+)*")
# A name before its version: `actions/checkout@v4`, `python:3.12`. A long number is a commit, no version; a name with a
# further @ or : leads elsewhere (`tool@npm:other@1`, an address).
_VERSIONED = lazy_regex(r"(@?[\w./-]+[@:])v?\d{1,4}(?:\.\d{1,4})*")
_COMMENT = lazy_regex(r"(?:^|\s)#")
_PUNCTUATION_AROUND = "\"'`()[]{},;:"
_IN_WORD = r"[^\s\"'`,;|&<>=]"
_QUOTED = lazy_regex(r"[\"'`]([^\"'`\n]+)[\"'`]")


def new_words(
    path: str, before: str, added: Iterable[str], *, known_paths: Collection[str], exact: bool = False
) -> list[str]:
    """Words of the added lines that are new in the file and are no path of the project (`known_paths`). Any of them
    may be the name of a package. `exact`: numbers count, too, because they may be versions; otherwise another version
    behind a name that the file had with a version is no new word."""
    # A word that the file had only in a comment counts as new, because a comment installs nothing.
    uncommented = "\n".join(_COMMENT.split(line)[0] for line in before.splitlines())
    old_words = {written for word in uncommented.split() for written in (word, word.strip(_PUNCTUATION_AROUND))}
    had_versions = set[str]() if exact else {_name_of_versioned(word) for word in old_words} - {""}
    name = PurePosixPath(path).name
    makes = bool(MAKE.fullmatch(name))
    words_found = []
    for line in added:
        if (makes or name.endswith(COMMENTED)) and line.lstrip(" \t").startswith("#"):
            continue
        if makes and not line.startswith("\t") and _RULE.fullmatch(line.rstrip()):
            continue
        words = [(word, word.strip(_PUNCTUATION_AROUND)) for word in line.split()]
        words = [(word, bare) for word, bare in words if not _names_nothing(bare, known_paths, exact=exact)]
        words = [(word, bare) for word, bare in words if _name_of_versioned(bare) not in had_versions]
        words_found += [bare for word, bare in words if word not in old_words and bare not in old_words]
    return words_found


def _name_of_versioned(word: str) -> str:
    """The name before a version, with the sign between them (`actions/checkout@`); "" if the word has no version."""
    versioned = _VERSIONED.fullmatch(word)
    return versioned[1] if versioned else ""


def _names_nothing(bare: str, known_paths: Collection[str], *, exact: bool) -> bool:
    """Whether a word is an option, a sign, a path of the project, or a number that is no version."""
    is_path = bool({"/", "."} & set(bare)) and bare.removeprefix("./").rstrip("/") in known_paths
    is_number = not exact and bool(_NUMBER.fullmatch(bare))
    return is_path or is_number or not re.search(r"\w", bare) or bool(_OPTION.fullmatch(bare))


def read_names(sources: Mapping[str, str]) -> frozenset[str]:
    """The parts of all paths that this code may name, taken from its string literals."""
    names: set[str] = set()
    for path, text in sources.items():
        for literal in _string_literals(path, text):
            names.update(part for part in re.split(r"[/\\]", literal) if part and len(literal) < 500)
    return frozenset(names)


def _string_literals(path: str, text: str) -> list[str]:
    if not path.endswith(".py"):
        return _QUOTED.findall(text)
    return [node.value for node in nodes_in(text) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def is_read_by_code(
    path: str, read_by_code: Collection[str], other_files: Mapping[str, str], *, among_tests: bool = False
) -> bool:
    """Whether the file is data that the project's code names, by file or folder name, and that no other file names.
    False for a file in a hidden folder, because it belongs to a tool.

    `other_files`: path → text. `among_tests`: data that no code names counts, too, if no other file could use it
    without naming it (see `may_mean`).
    """
    pure = PurePosixPath(path)
    hidden = any(part.startswith(".") for part in pure.parts)
    if pure.suffix not in DATA_FILES or hidden or any(pure.name in text for text in other_files.values()):
        return False
    if pure.name in read_by_code or (len(pure.parts) > 1 and pure.parts[-2] in read_by_code):
        return True
    return among_tests and not any(may_mean(other_path, text, path) for other_path, text in other_files.items())


def may_mean(reader: str, text: str, path: str) -> bool:
    """Whether the file `reader`, which has this text, could use the file at `path` without naming it: by a wildcard or
    variable, or because a tool may look for it in a folder that the text names."""
    folder = posixpath.dirname(path)
    above, suffix = PurePosixPath(folder).name, PurePosixPath(path).suffix
    if above and above in text:
        if re.search(rf"(?<![\w-]){re.escape(above)}/\S*[*?$%{{\[]", text):
            return True
        words = {word.strip("./") for word in re.findall(r"[\w./@-]+", text) if above in word}
        beside = posixpath.dirname(reader)
        if folder in words or folder in {posixpath.normpath(posixpath.join(beside, word)) for word in words}:
            return True
    if suffix in PARSED or not suffix:
        return False
    # `tests/*/*.txt`, `*.txt` after a change of folder, `$(LISTS)/$(NAME).txt`
    return any(
        _matches(word, path)
        for word in re.findall(rf"(?<!{_IN_WORD}){_IN_WORD}*[*?$%{{}}\[\])]+{re.escape(suffix)}(?![\w-])", text)
    )


def _matches(word: str, path: str) -> bool:
    """Whether a word with wildcards or variables may stand for this path, or for the end of it."""
    pieces = re.split(r"\$\([^)]*\)|\$\{[^}]*\}|\$\w+|\{[^}]*\}|\[[^\]]*\]|[*?$%{}\[\]()]+", word.removeprefix("./"))
    return bool(re.search(rf"(?:^|/){'.*'.join(map(re.escape, pieces))}$", f"/{path}"))


def loads_code(path: str, added: Iterable[str]) -> bool:
    """Whether one of these lines, added to an SQL or GraphQL file, may load code from elsewhere."""
    if path.endswith((".graphql", ".gql")):
        return any(re.match(r"\s*#\s*import\b", line) for line in added)
    return path.endswith(".sql") and any(map(_LOADS_CODE.search, added))


def parsed_data(path: str, text: str) -> Any:
    """The file's data; None for formats without a parser. Raises ValueError if it cannot be parsed."""
    if path.endswith(".json"):
        return json.loads(text)
    if path.endswith((".yaml", ".yml")):
        from trued.support.located.yaml import yaml_value  # with the first such file: its parser takes long to load

        try:
            return yaml_value(text, path, 1)[0]
        except BadInput as error:
            raise ValueError(str(error)) from error
    return tomllib.loads(text) if path.endswith(".toml") else None
