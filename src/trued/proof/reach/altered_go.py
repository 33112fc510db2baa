"""Finds the declarations of Go files that a change alters, and those that tests use. Only reads text.

The engine does not see which Go code a test runs. A test may use any declaration of its package, and the words in the
test's text show which ones it does use.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from trued.support.lazy_regex import lazy_regex

PACKAGE = "the package"  # something that may alter any declaration of the package
# A string, a rune or a comment that is not closed reaches to the end, so that reading takes linear time.
_STRING = r"\"(?:\\[^\n]|[^\"\\\n])*\"?|`[^`]*`?|'(?:\\[^\n]|[^'\\\n])*'?"
_STRINGS = lazy_regex(_STRING)
_TOKEN = lazy_regex(rf"//[^\n]*|/\*.*?(?:\*/|\Z)|{_STRING}|\w+|[^\S\n]+|\n\s*|.", re.DOTALL)
_DIRECTIVE = lazy_regex(r"//(?:go:|export\b|\s*\+build\b)[^\n]*")  # a comment that has an effect
_DECLARATION_KEYWORDS = frozenset(("func", "type", "var", "const", "import"))
_UNFINISHED_ENDS = frozenset("=+-*/%&|^<>!,:~([{")  # after these, a declaration continues on the next line
_FUNCTION = lazy_regex(r"func\s+(?:\(\s*(?:\w+\s+)?\*?\s*(\w+)\s*(?:\[[^\]]*\])?[\s,]*\)\s*)?(\w+)")
_NAMED_DECLARATION = lazy_regex(r"(?:type|var|const)\s+(\w+)\b(?!\s*,)")
_IMPORT = lazy_regex(r"([\w.]*)\s*(\"[^\"\n]*\"|`[^`]*`)")
_CLAUSE = lazy_regex(r"package\s+\w+")
_PREDECLARED = frozenset(
    (
        *("append", "cap", "clear", "close", "complex", "copy", "delete", "imag", "len", "make", "max", "min", "new"),
        *("panic", "print", "println", "real", "recover", "any", "bool", "byte", "comparable", "error", "rune"),
        *("string", "true", "false", "iota", "nil", "int", "int8", "int16", "int32", "int64", "uint", "uint8"),
        *("uint16", "uint32", "uint64", "uintptr", "float32", "float64", "complex64", "complex128"),
    )
)
_UNUSABLE_NAMES = frozenset(("_", "init"))  # nothing can use them
_WORD = lazy_regex(r"\w+")


class _GoFile(NamedTuple):
    declared: dict[str, str]  # name → text of the only declaration with this name
    imports: frozenset[str]  # the paths of plain imports
    other: str  # all else, such as groups of variables, renamed imports and build tags


def altered_declarations(before: str, after: str) -> frozenset[str]:
    """The functions, `Type.Method`s, types, constants and variables of a Go file that a change altered or removed.

    New functions, types and constants do not count. A new method alters its type. `PACKAGE` stands for any other change
    that may affect the whole package, such as a new variable, a new `init`, or an import that takes the place of
    another. `before` is empty for a new file.
    """
    was, now = _read(before), _read(after)
    changed = {name for name in was.declared if now.declared.get(name) != was.declared[name]}
    altered = set(changed)
    for name in now.declared.keys() - was.declared.keys():
        owner, _, last = name.rpartition(".")
        if owner and (owner in was.declared or owner not in now.declared):
            altered.add(owner)  # a new method may make the type fit an interface
        elif not owner and (last in _PREDECLARED or now.declared[name].startswith("var")):
            altered.add(PACKAGE)
    changed_pieces = [go_file.declared[name] for name in changed for go_file in (was, now) if name in go_file.declared]
    if any(piece.startswith("var") and "(" in piece for piece in changed_pieces):
        altered.add(PACKAGE)  # its value may do anything when the package is loaded
    if was.imports - now.imports and now.imports - was.imports:
        altered.add(PACKAGE)  # the new import may have the name of the old one
    is_new = not before and _CLAUSE.fullmatch(now.other)
    return frozenset(altered | ({PACKAGE} if was.other != now.other and not is_new else set()))


def _read(text: str) -> _GoFile:
    head, *pieces = _pieces(text)
    declared, imports, others = dict[str, str](), set[str](), [head]
    counts = Counter(map(_declared_name, pieces))
    for piece in pieces:
        name = _declared_name(piece)
        if name and counts[name] == 1:
            declared[name] = piece
            others += _DIRECTIVE.findall(piece)
        elif piece.startswith("import"):
            for alias, path in _IMPORT.findall(piece.removeprefix("import")):
                if alias:
                    others.append(f"{alias} {path}")
                else:
                    imports.add(path[1:-1])
        else:
            others.append(piece)
    if "C" in imports:  # comments hold C code
        return _GoFile({}, frozenset(), text)
    return _GoFile(declared, frozenset(imports), "\n".join(others))


def _pieces(text: str) -> Iterator[str]:
    """What comes before the first declaration of a Go file, and then each declaration, without comments. A directive
    belongs to the declaration that follows it."""
    piece, depth, last_lexeme, may_start = list[str](), 0, "", True
    only_directives = False
    for lexeme in _TOKEN.findall(text):
        if lexeme.startswith(("//", "/*")) and not _DIRECTIVE.match(lexeme):
            lexeme = "\n" if "\n" in lexeme else " "
        if lexeme.isspace():
            may_start |= "\n" in lexeme and last_lexeme != "chan" and last_lexeme[-1:] not in _UNFINISHED_ENDS
            piece.append("\n" if "\n" in lexeme else " ")
            continue
        is_directive = lexeme.startswith("//")
        if not depth and not only_directives and (is_directive or (may_start and lexeme in _DECLARATION_KEYWORDS)):
            yield "".join(piece).strip("; \n")
            piece.clear()
            only_directives = True
        only_directives &= is_directive
        piece.append(lexeme)
        depth = max(0, depth + (lexeme in "([{") - (lexeme in ")]}"))
        last_lexeme, may_start = lexeme, lexeme == ";"
    yield "".join(piece).strip("; \n")


def _declared_name(piece: str) -> str:
    """The one name that this declaration defines: `Name`, or `Type.Method`. "" if it defines several names, no name
    that code can use, or an alias of a type."""
    if match := _FUNCTION.match(piece):
        return "" if match.group(2) in _UNUSABLE_NAMES else ".".join(part for part in match.groups() if part)
    match = _NAMED_DECLARATION.match(piece)
    is_alias = piece.startswith("type") and "=" in _STRINGS.sub("", piece)
    return match.group(1) if match and not is_alias and match.group(1) not in _UNUSABLE_NAMES else ""


def used_declarations(texts: Mapping[str, str], tests: Iterable[str]) -> frozenset[str]:
    """All words in these tests (`file::name`), and in the declarations that these words name, directly or indirectly. A
    declaration counts as used if its name is one of the words. Words in comments and strings are left out.

    `texts`: path → text of the Go files whose declarations may be used.
    """
    files = {path: _read(text).declared for path, text in texts.items()}
    words_by_name: dict[str, set[str]] = defaultdict(set)  # last part of a name → words of its declarations
    for declared in files.values():
        for name, piece in declared.items():
            words_by_name[name.rpartition(".")[2]].update(_words(piece))
    used = set[str]()
    for test in tests:
        path, _, name = test.partition("::")
        waiting = _words(files.get(path, {}).get(name.split("::")[0].split("/")[0], ""))
        while waiting:
            word = waiting.pop()
            if word not in used:
                used.add(word)
                waiting += words_by_name.get(word, ())
    return frozenset(used)


def _words(piece: str) -> list[str]:
    return _WORD.findall(_STRINGS.sub(" ", piece))
