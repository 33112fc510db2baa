"""Finds the modules and files that JavaScript and TypeScript code names, by its text alone.

A comment or a string may look like an import. Then its name is found, too: too many names are safer than too few.
"""

import re

from trued.support.lazy_regex import lazy_regex

# The name is looked at, not consumed, so that no quotation mark before an import can hide its name. A function whose
# name ends with `require` counts, because it often is Node's own: `const _require = createRequire(…)`.
# Blanks and comments between the words of an import are passed over as they are written, so that no quotation mark in a
# comment, and nothing before the import that may be a comment or a regular expression, can hide the name.
_BLANK = r"(?:[\s\ufeff]|/\*(?:[^*]|\*(?!/)){0,150}+\*/|//[^\n]{0,150}+\n)*+"
_IMPORTED = lazy_regex(
    r"(?:\bfrom|\bimport|(?:require(?:_\._resolve)?|import(?:_\._meta_\._resolve)?)_(?:\?\._)?\()_".replace("_", _BLANK)
    + r"(?=([\"'`])((?:(?!\1)[^\n])+)\1)"
)
# A comment among the words of an import that is too long for `_BLANK`, so that the import is not found.
LONG_COMMENT = lazy_regex(
    r"\b(?:from|import|require|meta|resolve)\b[\s\ufeff.(?]*+(?:/\*(?:[^*]|\*(?!/)){151}|//[^\n]{151})"
)
_RELATIVE = lazy_regex(r"(?=([\"'`])(\.{1,2}/(?:(?!\1)[^\n])+)\1)")
# Comments, and also strings, because a string may contain what looks like a comment.
# What is not closed stays, and is passed over at once.
_COMMENT = lazy_regex(
    r"(\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])*+'?|`[^`]*+`?)|//[^\n]*|/\*.*?(?:\*/|(\Z))", re.DOTALL
)


def imported_names(text: str) -> list[str]:
    """The names that a script imports, each once, as they are written: `./x`, `@/x`, `package/part`.

    Finds every import whose name is a plain text: `import … from "x"`, `export … from "x"`, `import "x"`,
    `import("x")`, `require("x")`, `require.resolve("x")`, `import.meta.resolve("x")`. Escapes are not decoded.
    """
    return list(dict.fromkeys(name for _, name in _IMPORTED.findall(text)))


def relative_paths(text: str) -> list[str]:
    """The relative paths, such as `./x`, in all strings of a script: those that it imports, and those that it uses in
    another way, such as `new Worker("./x")`."""
    return [name for _, name in _RELATIVE.findall(text)]


def without_comments(text: str) -> str:
    """The text of a script or of JSON, without comments."""
    return _COMMENT.sub(lambda match: match[0] if match[1] or match[2] is not None else " ", text)
