"""Finds the declarations of Go files that a change alters, and those that tests use. Only reads text. Pure.

The engine does not see which Go code a test runs. A test of a package may use any declaration of it, and the words in
its text show which ones it does use.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

PACKAGE = "the package"  # something that may alter any declaration of the package
_START = re.compile(r"^(?=(?:func|type|var|const|import)\b)", re.MULTILINE)
_FUNCTION = re.compile(r"func\s+(?:\(\s*(?:\w+\s+)?\*?(\w+)[^)]*\)\s*)?(\w+)")
_NAMED = re.compile(r"(type|var|const)\s+(\w+)")
_PLAIN_IMPORT = re.compile(r"import\s*(?:\(\s*(?:\"[^\"\n]+\"\s*)*\)|\"[^\"\n]+\")\s*")
_PREDECLARED = frozenset(
    (
        *("append", "cap", "clear", "close", "complex", "copy", "delete", "imag", "len", "make", "max", "min", "new"),
        *("panic", "print", "println", "real", "recover", "any", "bool", "byte", "comparable", "error", "rune"),
        *("string", "true", "false", "iota", "nil", "init", "int", "uint", "float32", "float64"),
    )
)
_WORD = re.compile(r"\w+")


def altered_declarations(before: str, after: str) -> frozenset[str]:
    """The functions, `Type.Method`s and types of a Go file that a change altered or removed. New functions do not
    count. `PACKAGE` stands for anything else, such as a new variable or a new `init`."""
    was, now = declarations(before), declarations(after)
    found = {name for name, text in was.items() if now.get(name) != text and name != PACKAGE}
    for name in now.keys() - was.keys():
        owner, _, last = name.rpartition(".")
        if owner:
            found.add(owner)  # a new method may make the type fit an interface
        elif last in _PREDECLARED or not now[name].startswith("func"):
            found.add(PACKAGE)
    return frozenset(found | ({PACKAGE} if was.get(PACKAGE) != now.get(PACKAGE) else set()))


def declarations(text: str) -> dict[str, str]:
    """Name → text of each declaration of a Go file. `PACKAGE` → all that is not understood, such as groups of variables
    and build tags. Plain imports are left out."""
    head, *pieces = _START.split(text)
    found, others = dict[str, str](), [head.strip()]
    counts = Counter(map(_name, pieces))
    for piece in pieces:
        name = _name(piece)
        if name and counts[name] == 1:
            found[name] = piece.strip()
        elif not _PLAIN_IMPORT.fullmatch(piece):
            others.append(piece.strip())
    return found | {PACKAGE: "\n".join(others)}


def _name(piece: str) -> str:
    if match := _FUNCTION.match(piece):
        return ".".join(one for one in match.groups() if one)
    match = _NAMED.match(piece)
    return match.group(2) if match else ""


def used_declarations(texts: Mapping[str, str], tests: Iterable[str]) -> frozenset[str]:
    """The words in these tests (`file::name`) and in the declarations that they name, directly or indirectly.

    `texts`: path → text of the Go files whose declarations may be used."""
    pieces: dict[str, set[str]] = defaultdict(set)  # last part of a name → words of its declarations
    for text in texts.values():
        for name, piece in declarations(text).items():
            pieces[name.rpartition(".")[2]].update(_WORD.findall(piece))
    found = set[str]()
    for test in tests:
        path, _, name = test.partition("::")
        own = declarations(texts.get(path, ""))
        left = _WORD.findall(own.get(name.split("::")[0].split("/")[0], ""))
        while left:
            word = left.pop()
            if word not in found:
                found.add(word)
                left += pieces.get(word, ())
    return frozenset(found)
