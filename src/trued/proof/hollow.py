"""Cases that prove nothing, whoever wrote them in earnest: a program that does nothing useful would pass them. Pure.

These rules bind agents' cases; the user's own count as written.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from trued.types import BrowserCheck, CallCase, Case, HttpCase, RunCase, is_node

Shown: TypeAlias = Case | BrowserCheck

NOTHING: tuple[Any, ...] = (None, "", [], {})
TOO_WIDE = ("Exception", "BaseException", "NotImplementedError")  # what a stub raises, too
PYTHON = re.compile(r"(?:.*/)?python(?:\d(?:\.\d+)?)?")
INTERPRETERS = re.compile(r"(?:.*/)?(?:python(?:\d(?:\.\d+)?)?|node|nodejs|deno|bun|ruby|perl|php|tsx|ts-node)")
INLINE = (
    "-c",
    "-e",
    "-p",
    "-E",
    "-r",
    "--eval",
    "--print",
    "--command",
    "--require",
    "--import",
    "--eval-stdin",
    "eval",
)
_STARTERS = (
    "sh bash dash zsh ksh fish ash csh tcsh busybox env xargs sudo su nohup time timeout nice setsid exec make npx"
)
_VIEWERS = (
    "cat tac head tail less more bat nl od xxd hexdump strings grep egrep fgrep rg sed awk gawk cut sort uniq wc tr ls "
    "dir find stat file test [ diff cmp md5sum sha1sum sha256sum cp mv ln touch tee dd git"
)
_PARROTS = "echo printf true false yes seq sleep date pwd id hostname uname"
FOREIGN = frozenset(f"{_STARTERS} {_VIEWERS} {_PARROTS}".split())
_EVERY_ANSWER_HAS = "content-type content-length date server connection keep-alive transfer-encoding"
PLAIN_HEADERS = frozenset(_EVERY_ANSWER_HAS.split())
PLACE = re.compile(r"<[^<>]*>|\{[^{}]*\}|\[[^\[\]]*\]|\.\.\.|…")  # what an interface line leaves open


@dataclass(frozen=True, slots=True)
class Known:
    """What the user's words and the base name."""

    words: str
    base: Mapping[str, str] = field(default_factory=dict)  # path → text

    def said(self, name: str) -> bool:
        return _has(self.words, name)

    def there(self, name: str) -> bool:
        return any(_has(text, name) for text in (*self.base.values(), *self.base))

    def names(self, name: str) -> bool:
        return self.said(name) or self.there(name)


def _has(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


# -- one case ----------------------------------------------------------------------------------------------------------


def refused(shown: Shown, text: str, interface: Sequence[str], known: Known) -> str:
    """Why this case cannot count for a requirement with this text, or ""."""
    if not shown.quotes.strip() or plain(shown.quotes) not in plain(text):
        return "it quotes no words of the requirement"
    if why := _says_nothing(shown, known):
        return why
    if isinstance(shown, RunCase) and (why := foreign(shown.run)):
        return why
    if isinstance(shown, CallCase) and not is_node(shown.call) and _top(shown.call) in sys.stdlib_module_names:
        return f"{shown.call} is Python's own, and nothing of the project"
    if not any(declares(line, shown) for line in interface):
        return f"{entry(shown)} is no entry point of the interface"
    return ""


def _says_nothing(shown: Shown, known: Known) -> str:
    if isinstance(shown, CallCase) and shown.raises is not None:
        name = shown.raises.rpartition(".")[2]
        if name in TOO_WIDE:
            return f"raises {name}: a stub passes it"
        return "" if known.names(name) else f"raises {name}, which neither the user's words nor the base name"
    if isinstance(shown, HttpCase):
        telling = [name for name in shown.headers if name.lower() not in PLAIN_HEADERS]
        more = shown.json_ not in NOTHING or (shown.body or "").strip() or telling
        return "" if more else "the response shows no more than a status"
    if isinstance(shown, BrowserCheck) and not [*shown.sees, *shown.tree]:
        return "the page shows nothing: absence is met by an empty one"
    return ""


def foreign(line: Sequence[str]) -> str:
    """Why a command line starts something else than the project, or ""."""
    program = PurePosixPath(line[0]).name if line else ""
    if not program:
        return "the command line is empty"
    if program in FOREIGN:
        return f"it starts {program}, which is no part of the project"
    if "{files}" in line[0]:
        return "it starts a program of its own"
    return _inline(line) if INTERPRETERS.fullmatch(line[0]) else ""


def _inline(line: Sequence[str]) -> str:
    """Code that comes with the case, instead of the project's."""
    options = _options(line)
    if any(one in INLINE or (one[:2] in ("-c", "-e") and one[1:2] != "-") for one in options if one != "-m"):
        return "it brings code of its own in the command line"
    module = _module(line)
    if module.split(".")[0] in sys.stdlib_module_names and PYTHON.fullmatch(line[0]):
        return f"{module} is Python's own, and nothing of the project"
    script = module or next(iter(line[1 + len(options) :]), "")
    if not script or script == "-":
        return "it brings code of its own on stdin"
    if "{files}" in script:
        return "it brings code of its own in a file"
    return "" if not script.startswith(("/", "..", "http:", "https:", "data:")) else f"{script} is outside the project"


def _options(line: Sequence[str]) -> list[str]:
    """The interpreter's own options, before module or script."""
    found: list[str] = []
    for word in line[1:]:
        if not word.startswith("-") or word == "-":
            break
        found.append(word)
        if word == "-m" or word in INLINE:
            break
    return found


def _module(line: Sequence[str]) -> str:
    options = _options(line)
    return next(iter(line[1 + len(options) :]), "") if options[-1:] == ["-m"] else ""


def _top(call: str) -> str:
    return call.partition(":")[0].partition(".")[0]


# -- entry points ------------------------------------------------------------------------------------------------------


def entry(shown: Shown) -> str:
    """What of the project a case starts."""
    if isinstance(shown, CallCase):
        return shown.call
    if isinstance(shown, BrowserCheck):
        return f"page {urlsplit(shown.page).path}"
    if isinstance(shown, HttpCase):
        return f"{shown.http.method.upper()} {urlsplit(shown.http.path).path}"
    line = shown.run
    if not INTERPRETERS.fullmatch(line[0]):
        return line[0]
    return " ".join(line[: 2 + len(_options(line))])


def declares(line: str, shown: Shown) -> bool:
    """Does this line of the interface name the entry point that the case starts?"""
    line = line.strip()
    if isinstance(shown, CallCase):
        return line.partition("(")[0].strip() == shown.call
    if isinstance(shown, RunCase):
        return _line_fits(line.split(), shown.run)
    method, _, route = line.partition(" ")
    if isinstance(shown, BrowserCheck):
        return method.lower() in ("page", "get") and _route_fits(route, shown.page)
    return method.upper() == shown.http.method.upper() and _route_fits(route, shown.http.path)


def _line_fits(pattern: Sequence[str], line: Sequence[str]) -> bool:
    """The literal words up to the first open place stand there, in their order."""
    literal: list[str] = []
    for word in pattern:
        if PLACE.search(word):
            break
        literal.append(word)
    return bool(literal) and list(line[: len(literal)]) == literal


def _route_fits(route: str, path: str) -> bool:
    wanted, given = (urlsplit(one.strip()).path.strip("/").split("/") for one in (route, path))
    alike = (one == two or PLACE.search(one) or one.startswith(":") for one, two in zip(wanted, given, strict=False))
    return len(wanted) == len(given) and all(alike)


def side_door(shown: Shown, interface: Sequence[str], known: Known) -> str:
    """What of the entry point neither the user's words nor the base name, or ""."""
    if isinstance(shown, CallCase):
        name = shown.call.rpartition(":")[2]
        last = name.rpartition(".")[2]
        return "" if known.said(last) or _defined(shown.call, known.base) else shown.call
    if isinstance(shown, RunCase):
        line = next((one for one in interface if declares(one, shown)), " ".join(shown.run))
        literal = [word for word in line.split()[1:] if not PLACE.search(word) and word != "-m"]
        program = [] if INTERPRETERS.fullmatch(shown.run[0]) else [PurePosixPath(shown.run[0]).name]
        strange = [word for word in (*program, *literal) if not _known_word(word, known)]
    else:
        path = urlsplit(shown.page if isinstance(shown, BrowserCheck) else shown.http.path).path
        line = next((one for one in interface if declares(one, shown)), path)
        parts = urlsplit(line.partition(" ")[2].strip() or path).path.split("/")
        named = [part for part in parts if part and not PLACE.search(part) and not part.startswith(":")]
        strange = [part for part in named if not _known_word(part, known)]
    return f"{entry(shown)} ({', '.join(strange)})" if strange else ""


def _known_word(word: str, known: Known) -> bool:
    bare = word.lstrip("-").partition("=")[0]
    return known.names(bare) or known.names(bare.replace("/", ".").removesuffix(".py"))


def _defined(call: str, base: Mapping[str, str]) -> bool:
    """Does the base have it, in the file that the call names?"""
    module, _, name = call.rpartition(":") if is_node(call) else call.partition(":")
    places = [module] if is_node(call) else [f"{module.replace('.', '/')}{end}" for end in (".py", "/__init__.py")]
    texts = [text for path, text in base.items() if any(path == one or path.endswith(f"/{one}") for one in places)]
    last = re.escape(name.rpartition(".")[2])
    pattern = rf"(?:def|class|function|const|let|var|exports\.)\s*\*?\s*{last}\b|^{last}\s*[:=]|import[^\n]*\b{last}\b"
    return any(re.search(pattern, text, re.MULTILINE) for text in texts)


# -- all cases of a requirement ----------------------------------------------------------------------------------------


def hollow(cases: Sequence[Shown]) -> str:
    """Why some program that does nothing useful passes all of these, or "".

    Enough is one entry point that is asked for two different results, neither of them its input nor nothing.
    """
    solid: dict[str, set[str]] = {}
    echoed = False
    for one in cases:
        if isinstance(one, BrowserCheck):
            if any(word.strip() and word not in unquote(one.page) for word in (*one.sees, *one.tree)):
                return ""  # what a page shows is compared with what a person would read there
            continue
        result = _result(one)
        if result in NOTHING:
            continue
        if _canonical(result) in {_canonical(value) for value in _inputs(one)}:
            echoed = True
        else:
            solid.setdefault(entry(one), set()).add(_canonical(result))
    if any(len(results) > 1 for results in solid.values()):
        return ""
    if solid:
        return "no entry point is asked for two different results: a constant passes them"
    return "every result is an input: an echo passes them" if echoed else "nothing is asked for: a stub passes them"


def _result(case: Case) -> Any:
    """The value that must come, or None where only an error, a code or a status is asked for."""
    if isinstance(case, CallCase):
        return None if case.raises is not None else case.returns
    if isinstance(case, RunCase):
        return case.stdout_json if case.stdout is None else case.stdout.strip()
    return case.json_ if case.body is None else case.body.strip()


def _inputs(case: Case) -> list[Any]:
    """All that a program could give back without having done anything."""
    if isinstance(case, CallCase):
        given = [*case.args, *case.kwargs.values()]
        return [*given, list(case.args), dict(case.kwargs), list(case.kwargs.values())]
    if isinstance(case, RunCase):
        words = list(case.run[1:])
        rests = [" ".join(words[place:]) for place in range(len(words))]
        texts = [*words, *rests, case.stdin.strip(), *(one.strip() for one in case.files.values())]
        return [*texts, *_parsed(texts)]
    url = urlsplit(case.http.path)
    values = [value for pair in parse_qsl(url.query) for value in pair]
    texts = [case.http.body.strip(), url.query, *values, *(unquote(one) for one in url.path.split("/") if one)]
    whole = [dict(parse_qsl(url.query))]
    return [*texts, *whole, *_parsed(texts)]


def _parsed(texts: Sequence[str]) -> list[Any]:
    found: list[Any] = []
    for text in texts:
        try:
            found.append(json.loads(text))
        except (ValueError, RecursionError):
            continue
    return found


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=repr)


def plain(text: str) -> str:
    """Words as they are, whatever lines they were broken into."""
    return " ".join(text.split())
