"""Splits command lines that agents ran into programs and arguments, only to describe them, never to run them."""

import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TypeAlias

from trued.support.lazy_regex import lazy_regex

CommandWords: TypeAlias = tuple[str, ...]  # a program by its bare name, and its arguments

TEXT_LIMIT = 50_000  # only this many characters of a command line are read
DEPTH = 4  # shells within shells are read down to this level
SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh"))
BEFORE = {  # program that starts another program → how many of its own arguments come before the other one's name
    "sudo": 0,
    "doas": 0,
    "env": 0,
    "command": 0,
    "exec": 0,
    "nohup": 0,
    "time": 0,
    "setsid": 0,
    "nice": 0,
    "stdbuf": 0,
    "xargs": 0,
    "timeout": 1,
    "npx": 0,
    "bunx": 0,
    "corepack": 0,
    "then": 0,
    "else": 0,
    "do": 0,
    "if": 0,
    "while": 0,
    "!": 0,
    "{": 0,
}
VALUED = frozenset(("-u", "-n", "-s", "-k", "-C", "-I", "-P"))  # options of the programs in BEFORE that take a value
_HERE = lazy_regex(r"(?<!<)<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1")
_ASSIGNED = lazy_regex(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_PYTHON = lazy_regex(r"python[\d.]*|pypy[\d.]*")
_MARKS = "();<>|&`\n"


def simple_commands(text: str, depth: int = 0) -> Iterator[tuple[CommandWords, bool]]:
    """Each program that the command line starts, with its arguments, and whether a pipe feeds it the previous program's
    output."""
    words, piped, skip = list[str](), False, False
    for token in (*_tokens(text), ";"):
        if set(token) <= set(_MARKS):
            if "<" in token or ">" in token:
                skip = True  # the next word is the file of a redirection, not an argument
                continue
            yield from _started_commands(words, piped, depth)
            words, piped, skip = [], token == "|", False  # noqa: S105
        elif skip:
            skip = False
        else:
            words.append(token)


def _tokens(text: str) -> list[str]:
    plain = _without_here_documents(text[:TEXT_LIMIT].replace("\\\n", " "))
    try:
        return _lex(plain)
    except ValueError:  # an unclosed quotation mark
        return [token for line in plain.split("\n") for token in (*_lex_or_split(line), "\n")]


def _without_here_documents(text: str) -> str:
    """The text without here-documents, which are input and not commands."""
    if "<<" not in text:
        return text
    lines = text.split("\n")
    last = {line.strip(): number for number, line in enumerate(lines)}
    kept, waiting = list[str](), list[str]()
    for number, line in enumerate(lines):
        if waiting:
            if line.strip() == waiting[0]:
                waiting.pop(0)
            continue
        waiting = [end for _, end in _HERE.findall(line) if last.get(end, -1) > number]
        kept.append(line)
    return "\n".join(kept)


def _lex(text: str) -> list[str]:
    text = re.sub(r"(?m)(^|[\s;&|])#[^\n]*", r"\1", text) if "#" in text else text
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_MARKS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    return list(lexer)


def _lex_or_split(line: str) -> list[str]:
    try:
        return _lex(line)
    except ValueError:
        return line.split()


def _started_commands(words: list[str], piped: bool, depth: int) -> Iterator[tuple[CommandWords, bool]]:
    words = _bare(words)
    if not words:
        return
    program, arguments = PurePosixPath(words[0]).name, words[1:]
    if program in SHELLS and depth < DEPTH:
        inner = [place for place, word in enumerate(arguments[:-1]) if re.fullmatch(r"-[a-z]*c", word)]
        if inner:
            yield from simple_commands(arguments[inner[0] + 1], depth + 1)
            return
    if _PYTHON.fullmatch(program) and "-m" in arguments[:-1]:
        place = arguments.index("-m")
        program, arguments = arguments[place + 1], arguments[place + 2 :]
    yield (re.sub(r"^pip[\d.]+$", "pip", program), *arguments), piped


def _bare(words: list[str]) -> list[str]:
    """The program and its arguments, without the words before them: variables, sudo, env, timeout."""
    while words:
        name = PurePosixPath(words[0]).name
        if _ASSIGNED.fullmatch(words[0]):
            words = words[1:]
        elif name in BEFORE:
            words, own = words[1:], BEFORE[name]
            while words and (words[0].startswith("-") or _ASSIGNED.fullmatch(words[0])):
                words = words[2:] if words[0] in VALUED else words[1:]
            words = words[own:]
        else:
            return words
    return words
