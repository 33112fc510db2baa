"""Finds code that a command line gives to an interpreter as an argument: `python -c CODE`, `node -e CODE`."""

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from trued.proof.text import node_names
from trued.proof.text.program_names import NODE_PROGRAMS, is_interpreter
from trued.support.lazy_regex import lazy_regex

_NODE_OPTION = lazy_regex(r"(?:-e|-p|-pe|--eval|--print)(?:=(.*))?", re.DOTALL)
# Interpreter → its options before code. The `-c` of these interpreters only checks the syntax of a file. For any other
# interpreter, such as a shell or Python, code comes after `-c`, and `-e` means something else.
_OPTIONS = {
    **dict.fromkeys(NODE_PROGRAMS, _NODE_OPTION),
    "perl": lazy_regex(r"-\w*[eE]"),
    "ruby": lazy_regex(r"-\w*e"),
}
CODE_OPTION = lazy_regex(r"-\w*c")  # of a shell and of Python
# Interpreter → endings of the files that it loads.
_ENDINGS = {
    **dict.fromkeys(NODE_PROGRAMS, (".js", ".mjs", ".cjs", ".ts")),
    "perl": (".pl", ".pm"),
    "ruby": (".rb",),
}
_PATH = lazy_regex(r"[\w.@+/-]+")


def codes_given(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The name of the program and its code, for each interpreter among the words of a simple command. For a shell
    and Python, only the first code counts; for Node, Perl and Ruby, each code."""
    for start, word in enumerate(words):
        if not is_interpreter(word):
            continue
        program, after = PurePosixPath(word).name, words[start + 1 :]
        if program in _OPTIONS:
            codes = [*_codes_after(_OPTIONS[program], after)]
        else:
            codes = [code for option, code in pairwise(after) if CODE_OPTION.fullmatch(option)][:1]
        yield from ((program, code) for code in codes)


def _codes_after(option: re.Pattern[str], words: Sequence[str]) -> Iterator[str]:
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if found := option.fullmatch(word):
            yield (found[1] if found.re.groups and found[1] is not None else following)


def endings_loaded(program: str) -> tuple[str, ...]:
    """The endings of the files that Node, Perl or Ruby loads; none for other programs."""
    return _ENDINGS.get(program, ())


def files_named_in_code(program: str, code: str, paths: Collection[str]) -> set[str]:
    """The files among `paths` that code of Node, Perl or Ruby may load, because it names their paths from the top of
    the project, with or without the ending. None for other programs."""
    endings = endings_loaded(program)
    names = [name for name in _PATH.findall(code) if "/" in name or name.endswith(endings)] if endings else []
    files = [f"{name}{rest}" for name in names for rest in ("", *endings, "/index.js")]
    return {path for file in files if (path := posixpath.normpath(file)) in paths and path.endswith(endings)}


def may_load(program: str, text: str, path: str) -> bool:
    """Whether a file with this text, in the program's language, may load the file at this path. It is enough that the
    text loads something with the file's name, from any folder."""
    name = PurePosixPath(path).stem
    if program in NODE_PROGRAMS:
        names = (name, PurePosixPath(path).parent.name or ".") if name == "index" else (name,)
        return any(node_names.loads_module(text, one) for one in names)
    return bool(re.search(rf"\b(?:require|require_relative|load|use|do)\b[^\n]*\b{re.escape(name)}\b", text))
