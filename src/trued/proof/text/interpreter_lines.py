"""Reads the command line of an interpreter as the interpreter itself does, and finds what it starts. Runs nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from trued.proof.text.program_names import NODE_PROGRAMS, is_python
from trued.support.lazy_regex import lazy_regex

_SHELL = lazy_regex(r"(?:ba|da|z|k)?sh")


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of one interpreter. Letters may be written together, as in `-euo pipefail`."""

    plain: str  # letters without a value
    valued: str  # letters whose value is the rest of the word, or else the next word
    attached: str = ""  # letters whose value is the rest of the word, which may be empty
    code: str = ""  # letters of which the value is code
    module: str = ""  # letters of which the value is a module
    signs: tuple[str, ...] = ("-",)
    long_valued: frozenset[str] = frozenset()
    long_code: frozenset[str] = frozenset()
    knows_all_long: bool = False  # a long option that is listed here nowhere is unknown; otherwise it has no value


_PYTHON = _Options(
    plain="bBdEIOPqRsSuvx",
    valued="WX",
    code="c",
    module="m",
    long_valued=frozenset(("--check-hash-based-pycs",)),
    knows_all_long=True,
)
# `-c` and `-s` of a shell say what its first argument after all options is. So they are read last.
_OF_SHELL = _Options(
    plain="abcefhiklmnprstuvxBCDEHPT",
    valued="oO",
    signs=("-", "+"),  # `+x` switches the option x off
    long_valued=frozenset(("--rcfile", "--init-file")),
)
NODE_VALUES = frozenset(
    (
        *("--require", "--import", "--loader", "--experimental-loader", "--conditions", "--env-file"),
        *("--test-reporter", "--test-reporter-destination", "--test-name-pattern", "--test-skip-pattern"),
        *("--test-concurrency", "--test-timeout", "--test-shard", "--input-type", "--title", "--icu-data-dir"),
        *("--max-http-header-size", "--openssl-config", "--redirect-warnings", "--disable-warning"),
        *("--unhandled-rejections", "--dns-result-order", "--diagnostic-dir", "--watch-path"),
    )
)
_NODE = _Options(plain="i", valued="rC", code="ep", long_valued=NODE_VALUES, long_code=frozenset(("--eval", "--print")))
_PERL = _Options(plain="acfnpsStTuUvwWXlg0123456789", valued="I", attached="CDFiMmVx", code="eE")
_RUBY = _Options(
    plain="acdhlnpsSvwyX0123456789",
    valued="ICErU",
    attached="FiKTWx",
    code="e",
    long_valued=frozenset(("--encoding", "--external-encoding", "--internal-encoding")),
)
_OTHERS: Mapping[str, _Options] = {**dict.fromkeys(NODE_PROGRAMS, _NODE), "perl": _PERL, "ruby": _RUBY}


@dataclass(frozen=True, slots=True)
class InterpreterLine:
    """What an interpreter's command line starts."""

    # "unknown": the option `name` is not known, or with it the interpreter may start anything
    kind: Literal["script", "module", "code", "stdin", "unknown"]
    name: str = ""  # the script, module or code
    words: int = 1  # the number of words at the start of the line, up to and including `name`


def read_interpreter_line(line: Sequence[str]) -> InterpreterLine | None:
    """What this command line starts. None if its program is no interpreter of which the options are known. The program
    may be given by its path."""
    options = _options_of(PurePosixPath(line[0]).name) if line and line[0] else None
    return _OptionReader(line, options).read() if options else None


def _options_of(program: str) -> _Options | None:
    if is_python(program):
        return _PYTHON
    return _OF_SHELL if _SHELL.fullmatch(program) else _OTHERS.get(program)


class _OptionReader:
    """Reads one command line, option by option, up to the first word that is none."""

    def __init__(self, line: Sequence[str], options: _Options) -> None:
        self._line, self._options = line, options
        self._at = 1  # of the next word
        self._letters = set[str]()  # letters without a value, so far

    def read(self) -> InterpreterLine:
        signs = self._options.signs
        while (word := self._next()).startswith(signs) and word not in signs:
            self._at += 1
            if word == "--":
                break
            if found := self._read_long(word) if word.startswith("--") else self._read_letters(word):
                return found
        if self._options is _OF_SHELL and "c" in self._letters:
            return self._started("code")
        is_stdin = self._next() in ("", "-") or (self._options is _OF_SHELL and "s" in self._letters)
        return self._started("stdin" if is_stdin else "script")

    def _next(self) -> str:
        return self._line[self._at] if self._at < len(self._line) else ""

    def _started(self, kind: Literal["script", "module", "code", "stdin"], value: str = "") -> InterpreterLine:
        """The result, if `value` or else the next word is what the line starts."""
        return InterpreterLine(kind, value or self._next(), self._at + (not value))

    def _read_long(self, word: str) -> InterpreterLine | None:
        name, equals, value = word.partition("=")
        if name in self._options.long_code:
            return self._started("code", value)
        if name in self._options.long_valued:
            self._at += not equals
        elif self._options.knows_all_long:
            return InterpreterLine("unknown", word, self._at)
        return None

    def _read_letters(self, word: str) -> InterpreterLine | None:
        options = self._options
        for place, letter in enumerate(word[1:], start=2):
            rest = word[place:]
            if letter in options.code:
                # Node takes `-pe` for `-p -e`. The others take the rest of the word for code.
                return self._started("code", "" if options is _NODE else rest)
            if letter in options.module:
                return self._started("module", rest)
            if letter in options.valued:
                self._at += not rest
            if letter in options.valued or letter in options.attached:
                return None
            if letter not in options.plain:
                return InterpreterLine("unknown", f"-{letter}", self._at)
            self._letters.add(letter)
        return None
