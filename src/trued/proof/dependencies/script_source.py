"""Reads a script in JavaScript or TypeScript: what it imports by name, and its lines that may load a module or start a
program without naming it. Does no I/O."""

import posixpath
import re
from collections.abc import Iterator

from trued.proof.dependencies.harmless_modules import HARMLESS_IN_NODE
from trued.proof.dependencies.node_process import lines_using_process
from trued.proof.dependencies.source_text import SourceText, Words
from trued.proof.text.script_imports import LONG_COMMENT, imported_names
from trued.support.lazy_regex import lazy_regex

# Comments, strings and regular expressions of JavaScript. They are removed before the rest is searched.
_JS_STRING = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\$])*`"
# Words after which a slash begins a regular expression. The last three can also be names of variables.
_BEFORE_PATTERN = (
    *("return", "case", "void", "typeof", "delete", "in", "instanceof", "throw", "else", "do"),
    *("of", "await", "yield"),
)
_AFTER_WORD = "|".join(rf"(?<=(?<![\w$.]){word})" for word in _BEFORE_PATTERN)
_JS_ASIDE = lazy_regex(
    rf"//[^\n]*|/\*.*?\*/|{_JS_STRING}"
    rf"|(?:(?<=[(,=:\[!&|?{{;+*%~^-])(?<!\+\+)(?<!--)|(?<==>)|\A|{_AFTER_WORD})\s*"
    r"/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n]){0,500}+\]|[^/\\\n\[]){1,1000}+/\w*",
    re.DOTALL,
)
_AMBIGUOUS = lazy_regex(
    r"[)\]]\s*+/(?![/*])[^/\n\"'`]*+[\"'`][^/\n]*+/"
)  # after `if (x)`, this may begin a regular expression
# The same, where only a parser could tell: after a comment, or a word that may be a name.
_UNCERTAIN = lazy_regex(r"(?:\*/|(?<![\w$.])(?:of|await|yield))\s*+/(?![/*])[^/\n]*/|[\u2028\u2029]|\r(?!\n)")
_IN_PARTS = lazy_regex(rf"(?:{_JS_STRING})(?:\s*\+\s*(?:{_JS_STRING}))+", re.DOTALL)
_ESCAPE = lazy_regex(r"\\(?:u\{0*([0-9a-fA-F]{2})\}|u00([0-9a-fA-F]{2})|x([0-9a-fA-F]{2})|([acdeg-mo-qswyzA-Z_$]))")
_NO_FUNCTION = r"\s*:\s*(?:\d|\"\"|true\b|false\b|null\b|\{|\[)"
_REQUIRES = lazy_regex(
    rf"(?<![\w$])require\b(?!\s*\(\s*\"\"\s*\)|\.main\b|\.resolve\s*\(\s*\"\"|{_NO_FUNCTION})"
    rf"|\bimport\s*\((?!\s*\"\"\s*[,)])|\beval\b(?!{_NO_FUNCTION})"
    r"|\b(?:createRequire|_load|getBuiltinModule|dlopen|execve|mainModule|_linkedBinding)\b"
    # what bundlers add; a pattern of files must be literal there
    r"|\bwebpackContext\b|\bimport\s*\.\s*meta\s*\.\s*glob\w*(?!\w|[^(\n]*\(\s*\[?\s*\"\")"
    r"|\bprocess\.binding\b|\bbinding\b[^;\n]*\}\s*=\s*process\b|\bBun\.|\bDeno\.(?:Command|run|dlopen)\b"
    # a text that is run after a while, and a computed name of something that every script can reach
    r"|\bset(?:Timeout|Interval)\s*\(\s*\"\"|\b(?:globalThis|global|window|process)\s*\[\s*(?!\"\"\s*\])"
)
# A function can be made of a text by `Function`, which is also the `constructor` of every function.
_FUNCTION_MAKER = lazy_regex(r"(?<![\w$])(?:constructor|Function)(?![\w$])")
# Uses of these that make no function of a text: what comes before the word, and what comes after it.
_MAKES_NO_FUNCTION = tuple(
    (lazy_regex(rf"(?:{before})$"), lazy_regex(after))
    for before, after in (
        (r"(?<![.\w$])constructor", r"\s*\("),  # of a class
        (r"\.constructor", r"\s*(?:[!=]==?|(?:\?\s*)?\.name\b)"),
        (r"\bcaptureStackTrace\(this, (?:\w+ \?\? )?this\.constructor", r"\)"),
        (r"[!=]==?\s*[\w$.]+\.constructor", r"\s*(?![\s.(\[`?])"),
        (r"\bthis\.constructor", r"\s*\.(?!constructor|call|apply|bind|prototype)\w"),
        (r"\bnew\s+this\.constructor", r"\s*\("),
        (r"\binstanceof\s+Function|(?<!\bglobalThis)(?<!\bglobal)(?<!\bwindow)(?<!\bself)\.Function", ""),
        (r"(?<![.\w$])Function", r"\.prototype\b"),
    )
)
_FUNCTION_MAKER_QUOTED = lazy_regex(r"([\"'`])(?:constructor|Function|dlopen|execve|getBuiltinModule)\1")
_COMPARED = lazy_regex(r"(?:[!=]==?|\bcase|\b(?:describe|it|test|suite|context)(?:\.\w+)?\s*\()\s*$")
_COMPUTED = lazy_regex(r"\b(?:require|import)\s*\(\s*[^\s\"'`)]|\bcreateRequire\b|\bnew\s+Function\b|\beval\s*\(")
_NAMED_REQUIRE = lazy_regex(r"\[\s*[\"'`](?:require|eval|createRequire|_load|Function)[\"'`]\s*\]")
_TYPES = lazy_regex(
    r"^[ \t]*(?:import|export)\s+type\s[^;'\"]{0,500}?\bfrom\s*(?:\"[^\"\n]+\"|'[^'\n]+')", re.MULTILINE
)
# A comment may load types or a library for JSX.
_REQUIRED_BY_COMMENT = lazy_regex(r"/// *<reference\s+types=[\"']([^\"'\n]+)[\"']|@jsxImportSource\s+([\w@./-]+)")
_GLOB = lazy_regex(r"\bimport\s*\.\s*meta\s*\.\s*glob\w*\s*[^;()]*\([^;()]*")
# A string that leads into a package. A pattern of files to leave out, such as `**/node_modules/**`, names none.
_INTO_PACKAGES = lazy_regex(r"[\"'`]([^\"'`\n]*\bnode_modules/[\w@][^\"'`\n]*)[\"'`]")
# What bundlers take for a module. They look beside the script first, and then among the packages.
_PLACED = lazy_regex(r"\bnew\s+URL\s*\(\s*[\"'`](?!\w+:)([^\"'`\n]+)[\"'`]\s*,\s*import\s*\.\s*meta")
_CHILD_PROCESS = lazy_regex(r"[\"'`](?:node:)?child_process[\"'`]")
_CHILD_PROCESS_IMPORT = lazy_regex(
    r"(?:import\s*\{([\w\s,]+)\}\s*from\s*|(?:const|let|var)\s*\{([\w\s,]+)\}\s*=\s*require\s*\(\s*)"
    r"[\"'`](?:node:)?child_process[\"'`]"
)
# Node's built-in modules, by their short names.
NODE_OWN = frozenset(
    {
        *("assert", "async_hooks", "buffer", "child_process", "cluster", "console", "constants", "crypto", "dgram"),
        *("diagnostics_channel", "dns", "domain", "events", "fs", "http", "http2", "https", "inspector", "module"),
        *("net", "os", "path", "perf_hooks", "process", "punycode", "querystring", "readline", "repl", "stream"),
        *("string_decoder", "sys", "timers", "tls", "trace_events", "tty", "url", "util", "v8", "vm", "wasi"),
        *("worker_threads", "zlib"),
    }
)


def read_script(text: str) -> SourceText:
    """Read a script. Its strings and regular expressions are removed before its code is searched."""
    text = _plain_script(text.replace("\ufeff", " ").replace("\r\n", "\n"))
    code = _JS_ASIDE.sub(lambda match: _placeholder(match[0]), text)
    without_comments = _JS_ASIDE.sub(lambda match: match[0] if match[0][0] in "\"'`" else " ", text)
    hidden = {line.strip() for line in code.splitlines() if _REQUIRES.search(line)}
    # Text that looks like a string may be part of a regular expression with a quotation mark in it. So whole lines are
    # searched, too.
    hidden |= {line.strip() for line in text.splitlines() if _COMPUTED.search(line) or _NAMED_REQUIRE.search(line)}
    unread = (*_AMBIGUOUS.finditer(code),), (*_UNCERTAIN.finditer(text), *LONG_COMMENT.finditer(text))
    hidden |= {
        _line_at(searched, match.end() - 1)
        for searched, found in zip((code, text), unread, strict=True)
        for match in found
    }
    hidden |= {*_lines_making_functions(code, without_comments)}
    hidden |= {match[0] for match in _GLOB.finditer(without_comments) if "node_modules" in match[0]}
    hidden |= {*lines_using_process(code, without_comments)}
    names = {name for script in (text, without_comments) for name in imported_names(script)}
    names |= {name for groups in _REQUIRED_BY_COMMENT.findall(text) for name in groups if name}
    # A path into `node_modules` names a package, too. A name with escapes in it is not decoded, so it counts as hidden.
    hidden |= {name for name in names if "%" in name or "\\" in name}
    hidden |= {name for name in names if not _is_harmless_in_node(name)}
    names |= {*_INTO_PACKAGES.findall(text)}
    paths_into_packages = {name for name in names if "node_modules/" in name}
    names = names - paths_into_packages | {
        posixpath.normpath(path.rpartition("node_modules/")[2]).lstrip("/") for path in paths_into_packages
    }
    paths = {name for name in names if name.startswith((".", "/"))} | {*_PLACED.findall(without_comments)}
    names = {name for name in names if not name.startswith((".", "/", "#", "node:"))}
    tops: dict[str, set[str]] = {}
    for name in names:
        tops.setdefault(package_of(name), set()).add(name)
    loaded = {package_of(name) for name in imported_names(_TYPES.sub("", without_comments))}
    types = {*tops} - loaded if _TYPES.search(without_comments) else set[str]()
    return SourceText(
        imports={*tops} - NODE_OWN,
        types=types,
        hidden=hidden,
        starts=_commands_of_script(without_comments),
        named=tops,
        paths=paths,
    )


def _plain_script(text: str) -> str:
    r"""The script without escapes that only hide a word (`\x65val`), and with texts in parts joined (`"a" + "b"`)."""

    def decoded(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        char = chr(int(code, 16)) if code else match[4]
        return char if re.fullmatch(r"[\w$()]", char, re.ASCII) else match[0]

    def joined(match: re.Match[str]) -> str:
        parts = [literal[1:-1] for literal in re.findall(_JS_STRING, match[0], re.DOTALL)]
        mark = next((quote for quote in "`\"'" if not any(quote in part for part in parts)), "")
        return f"{mark}{''.join(parts)}{mark}" if mark else match[0]

    # Escapes in a regular expression stay as they are read: `\w` and `w` are both no word that is searched for.
    return _IN_PARTS.sub(joined, _ESCAPE.sub(decoded, text))


def _placeholder(aside: str) -> str:
    if aside[0] in "\"'`":
        return '""'
    return " " if aside.startswith(("//", "/*")) else "0"


def _lines_making_functions(code: str, without_comments: str) -> Iterator[str]:
    """Lines that may turn a text into a function. `code`: the script without strings."""
    for mention in _FUNCTION_MAKER.finditer(code):
        before, after = code[max(mention.start() - 200, 0) : mention.end()], code[mention.end() : mention.end() + 200]
        makes_none = any(
            pattern_before.search(before) and pattern_after.match(after)
            for pattern_before, pattern_after in _MAKES_NO_FUNCTION
        )
        if not makes_none or (re.search(r"\bnew\s+this\.constructor$", before) and re.search(r"\bstatic\b", code)):
            yield _line_at(code, mention.start())
    for mention in _FUNCTION_MAKER_QUOTED.finditer(without_comments):
        compared = _COMPARED.search(without_comments[max(mention.start() - 200, 0) : mention.start()])
        if not compared and not re.match(r"\s*[!=]==?", without_comments[mention.end() : mention.end() + 200]):
            yield _line_at(without_comments, mention.start())


def _line_at(text: str, position: int) -> str:
    return text[text.rfind("\n", 0, position) + 1 :].partition("\n")[0].strip()


def _is_harmless_in_node(name: str) -> bool:
    """Whether the import is no module of Node's own, or a harmless module of Node. `child_process` counts as harmless,
    because `_commands_of_script` finds the commands that it starts."""
    module = name.removeprefix("node:").split("/")[0]
    is_built_in = name.startswith("node:") or module in NODE_OWN
    return not is_built_in or module in HARMLESS_IN_NODE or module == "child_process"


def package_of(name: str) -> str:
    """The package of an imported path. `@/` and `~/` begin no package's name, so the whole path is kept."""
    return name if name.startswith(("@/", "~/")) else "/".join(name.split("/")[: 2 if name.startswith("@") else 1])


def _commands_of_script(without_comments: str) -> dict[str, list[Words]]:
    """Line or call → the commands that it starts, in a script that uses Node's `child_process`. All commands are
    unknown, written as ("",), unless the script imports the functions of `child_process` by their own names."""
    if not _CHILD_PROCESS.search(without_comments):
        return {}
    imports = list(_CHILD_PROCESS_IMPORT.finditer(without_comments))
    names = {name.strip() for imported in imports for name in (imported[1] or imported[2]).split(",") if name.strip()}
    if len(imports) != len(_CHILD_PROCESS.findall(without_comments)) or any(" " in name for name in names):
        return {line.strip(): [("",)] for line in without_comments.splitlines() if _CHILD_PROCESS.search(line)}
    without_imports = _CHILD_PROCESS_IMPORT.sub("", without_comments)
    commands: dict[str, list[Words]] = {}
    for name in names:
        call = rf"(?<![\w$.]){re.escape(name)}\b\s*(\(\s*([\"'`])(.*?)\2\s*(?:,\s*(\[[^\]]*\]|[^\s{{)]))?)?"
        for mention in re.finditer(call, without_imports):
            text = mention[3] or ""
            words = () if re.search(r"[$;&|<>]", text) else tuple(text.split())
            words += tuple(_quoted(word) for word in (mention[4] or "").strip("[]").split(",") if mention[4] and word)
            commands.setdefault(mention[0], []).append(words or ("",))
    return commands


def _quoted(word: str) -> str:
    """The text between quotation marks; "" for anything else."""
    bare = word.strip()
    return bare[1:-1] if bare[:1] in ("'", '"', "`") and bare[:1] == bare[-1:] else ""
