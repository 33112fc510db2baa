"""Finds the lines of a script that use Node's `process` in a way that may load or start something. Only reads text."""

import re
from collections.abc import Iterator

from trued.proof.dependencies.harmless_modules import HARMLESS_IN_PROCESS
from trued.support.lazy_regex import lazy_regex

_MENTIONED_MODULE = lazy_regex(
    r"(?:\bfrom|\brequire\s*\(|\bimport\s*\(|\bimport)\s*(?P<quote>[\"'`])(?:node:)?process(?P=quote)"
)
# The understood ways to import the module `process`: the whole module under one name, or its members by name.
_FROM_MODULE = lazy_regex(
    r"\b(?:import\s+(?:(?P<whole>[\w$]+)\s*,?\s*)?(?:\*\s*as\s+(?P<all>[\w$]+)|\{(?P<names>[^}]*)\})?\s*from\s*"
    r"|(?:const|let|var)\s*(?:(?P<own>[\w$]+)|\{(?P<parts>[^}]*)\})\s*=\s*require\s*\(\s*)"
    r"(?P<quote>[\"'`])(?:node:)?process(?P=quote)(?:\s*\)\s*(?:\.(?P<member>[\w$]+))?)?"
)
_GLOBALS = r"(?:globalThis|global|window|self)"
_OF_GLOBALS = lazy_regex(rf"(?<![.\w$]){_GLOBALS}\s*\??\.\s*$")
_WORDS = lazy_regex(r"(?<!\bawait)(?<!\breturn)(?<=[\w$,.])\s*$")  # before `process` as a word of prose
_FROM_GLOBALS = lazy_regex(rf"(?<![\w$])process(?![\w$])[^;]{{0,300}}\}}\s*=\s*{_GLOBALS}\s*(?:[;,\n)]|$)")
_PARTS_OF_OBJECT = lazy_regex(r"\{([^{}]*)\}\s*=\s*$")
_STUBBED = lazy_regex(r"\(\s*process\s*,\s*([\"'`])([\w$]+)\1")  # `jest.spyOn(process, "exit")`
# The project's own function or variable of that name, at the top level of the file.
_OWN = lazy_regex(
    r"^(?:export\s+)?(?:default\s+)?(?:(?:async\s+)?function\s*\*?\s+process\b"
    rf"|(?:const|let|var)\s+process\s*=(?!\s*(?:require|{_GLOBALS})\b))",
    re.MULTILINE,
)
# What may come before an object that is used as a value, and after it. Words of a text have neither.
_BEFORE_VALUE = lazy_regex(
    r"(?:[=(,\[?|{!<>]|&&|\.\.\.|(?<=[\w$\"')\]])\s*:|(?<![\w$.])(?:return|await|yield|export\s+default))\s*$"
)
_AFTER_VALUE = lazy_regex(r"\s*(?:[),;}\]]|:|\|\||\?\?|=(?!=)|(?:as|satisfies|instanceof)\b|\n|$)")
# endings of files called `process`
_ENDINGS = (
    "cjs",
    "css",
    "html",
    "js",
    "json",
    "jsx",
    "log",
    "md",
    "mjs",
    "py",
    "sh",
    "ts",
    "tsx",
    "vue",
    "yaml",
    "yml",
)


def lines_using_process(code: str, without_comments: str) -> Iterator[str]:
    """The lines of a script that use a member of `process` that may load or start something, or that pass on `process`
    itself. `code`: the script without strings and comments. `without_comments`: the script with its strings."""
    if "process" not in without_comments:
        return
    names = {"process"}
    understood = set[int]()
    for found in _FROM_MODULE.finditer(without_comments):
        names |= {found[group] for group in ("whole", "all", "own") if found[group] and not found["member"]}
        members = [found["member"] or "", *_members(found["names"] or ""), *_members(found["parts"] or "")]
        if all(member in HARMLESS_IN_PROCESS for member in members if member not in ("", "default")):
            understood.add(found.end())
        names |= {alias for alias in _aliases_of_default(found["names"] or "")}
    for found in _MENTIONED_MODULE.finditer(without_comments):
        if not any(found.start() <= end <= found.end() + 200 and end >= found.end() for end in understood):
            yield _line_at(without_comments, found.start())
    for found in _FROM_GLOBALS.finditer(code):
        yield _line_at(code, found.start())
    stubbed = {found[2] for found in _STUBBED.finditer(without_comments)}
    is_own = "`" not in code and any(_depth(code, found.start()) == 0 for found in _OWN.finditer(code))
    for name in names:
        yield from _lines_using(name, code, stubs=stubbed <= HARMLESS_IN_PROCESS, is_own=is_own and name == "process")


def _lines_using(name: str, code: str, *, stubs: bool, is_own: bool) -> Iterator[str]:
    for mention in re.finditer(rf"(?<![\w$#/-]){re.escape(name)}(?![\w$])", code):
        before, after = code[max(mention.start() - 300, 0) : mention.start()], code[mention.end() : mention.end() + 300]
        if of_globals := _OF_GLOBALS.search(before):
            before = before[: of_globals.start()]
        elif re.search(r"[\w$)\]]\s*\??\.\s*$", before):  # a member of something else that has the same name
            continue
        if member := re.match(r"\s*[?!]*\.([A-Za-z_$][\w$]*)|\s*[?!]*\.\s+([A-Za-z_$][\w$]*)", after):
            is_read = (member[1] or member[2]) in (*HARMLESS_IN_PROCESS, *_ENDINGS)
            is_text = member[2] and _WORDS.search(before)
            if not is_read and not is_text and not is_own:
                yield _line_at(code, mention.start())
        elif re.match(r"\s*(?:\?\.)?\s*[(\[]", after):
            continue  # a call of the project's own function; computed members are found elsewhere
        elif _BEFORE_VALUE.search(before) and _AFTER_VALUE.match(after) and not is_own:
            parts = _PARTS_OF_OBJECT.search(before)
            members = _members(parts[1]) if parts else [""]
            is_key = re.search(r"[{,]\s*$", before) and re.match(r"\s*:", after)
            is_import = re.search(r"\bimport\s*\{?[^}]*$", before)
            is_stub = stubs and re.search(r"\(\s*$", before) and re.match(r"\s*,\s*\"\"", after)
            is_read = all(part in HARMLESS_IN_PROCESS for part in members)
            if not is_key and not is_import and not is_stub and not is_read:
                yield _line_at(code, mention.start())


def _members(text: str) -> list[str]:
    """The members that a list such as `env, argv as words` or `env: { A }, ...rest` takes from an object."""
    inside = re.sub(r"\{[^{}]*\}|\[[^\[\]]*\]", "", text)
    return [re.split(r"\s+as\s+|[:=]", part.strip())[0].strip() for part in inside.split(",") if part.strip()]


def _aliases_of_default(text: str) -> list[str]:
    return re.findall(r"\bdefault\s+as\s+([\w$]+)", text)


def _depth(code: str, place: int) -> int:
    return code.count("{", 0, place) - code.count("}", 0, place)


def _line_at(text: str, position: int) -> str:
    return text[text.rfind("\n", 0, position) + 1 :].partition("\n")[0].strip()
