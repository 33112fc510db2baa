"""Rules against cases that prove nothing, because a program that does nothing useful would pass them.

The rules apply only to cases that agents wrote; the user's own cases count as written.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from trued.model import BrowserCheck, CallCase, HttpCase, RunCase, is_node
from trued.proof.cases.entry_points import (
    KnownNames,
    started_program,
    why_foreign_module,
    why_foreign_path,
    why_outside_project,
)
from trued.proof.cases.mutants import NOTHING, PLAIN_HEADERS, Shown, passing_mutant
from trued.support.lazy_regex import lazy_regex

TOO_WIDE = ("Exception", "BaseException", "NotImplementedError")  # a stub raises these, too
PLACE = lazy_regex(r"<[^<>]*>|\{[^{}]*\}|\[[^\[\]]*\]|\.\.\.|…")  # a placeholder in a line of the interface
NAMED_PLACE = lazy_regex(r"[A-Z][A-Z0-9_]+")  # a placeholder as usage lines write it: `count FILE`


# -- one case ----------------------------------------------------------------------------------------------------------


def why_weak(shown: Shown, text: str, known_names: KnownNames) -> str:
    """Why the case shows nothing about a requirement with this text, or ""."""
    if not shown.quotes.strip() or joined_words(shown.quotes) not in joined_words(text):
        return "it quotes no words of the requirement"
    return _why_it_shows_nothing(shown, known_names)


def why_strange(shown: Shown, interface: Sequence[str], known_names: KnownNames) -> str:
    """Why the case starts something that is not an entry point of the interface, or ""."""
    if why := why_not_the_projects(shown, known_names):
        return why
    declared = any(declares(line, shown) for line in interface)
    how = "add a line for it there, with variable parts in angle brackets"
    return "" if declared else f"{entry_point(shown)} is not an entry point of the interface: {how}"


def _why_it_shows_nothing(shown: Shown, known_names: KnownNames) -> str:
    """Why a program without the feature could pass the case, judged by what the case expects, or ""."""
    if isinstance(shown, CallCase) and shown.raises is not None:
        name = shown.raises.replace(":", ".").rpartition(".")[2]
        if name in TOO_WIDE:
            return f"raises {name}: a stub passes it"
        return (
            ""
            if known_names.names(name)
            else f"raises {name}, which is named neither by the user's words nor by the base"
        )
    if isinstance(shown, HttpCase):
        telling = [name for name in shown.headers if name.lower() not in PLAIN_HEADERS]
        more = shown.json_ not in NOTHING or (shown.body or "").strip() or telling
        return "" if more else "it expects nothing of the response but a status"
    if isinstance(shown, BrowserCheck) and not [*shown.sees, *shown.tree]:
        return "it only says what the page must not show: an empty page passes it"
    if isinstance(shown, BrowserCheck) and shown.actions:
        hidden_before = shown.before.hides if shown.before else ()
        appears = {joined_words(word) for word in shown.sees} & {joined_words(word) for word in hidden_before}
        why = (
            "none of its `sees` texts is also listed in `before: hides`, so it may pass even if its actions do nothing"
        )
        return "" if appears else why
    return ""


def why_not_the_projects(shown: Shown, known_names: KnownNames) -> str:
    """Why the case starts something outside the project, or ""."""
    if isinstance(shown, RunCase):
        return why_outside_project(shown.run, known_names)
    if not isinstance(shown, CallCase):
        return ""  # the case sends a request to the contract's server
    module = shown.call.rpartition(":")[0] if is_node(shown.call) else shown.call.partition(":")[0]
    return why_foreign_path(module, known_names) if is_node(shown.call) else why_foreign_module(module, known_names)


# -- entry points ------------------------------------------------------------------------------------------------------


def entry_point(shown: Shown) -> str:
    """The function, command, route or page of the project that the case starts."""
    if isinstance(shown, CallCase):
        return shown.call
    if isinstance(shown, BrowserCheck):
        return f"page {urlsplit(shown.page).path}"
    if isinstance(shown, HttpCase):
        return f"{shown.http.method.upper()} {urlsplit(shown.http.path).path}"
    return " ".join(shown.run[: started_program(shown.run).words])


def declares(line: str, shown: Shown) -> bool:
    """Whether this line of the interface names the entry point that the case starts."""
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
    """Whether the line begins with the pattern's literal words, up to its first placeholder."""
    literal = [*takewhile(lambda word: word != "", _literal_words(pattern, line))]
    return bool(literal) and list(line[: len(literal)]) == literal


def _literal_words(pattern: Sequence[str], words: Sequence[str]) -> list[str]:
    """The pattern's words, with "" in place of each placeholder. A placeholder is a word with a mark such as `<name>`,
    or a word in capitals if `words` has another word at the same place."""
    filled = [*words, *[""] * len(pattern)]
    return [
        "" if PLACE.search(word) or (NAMED_PLACE.fullmatch(word) and word != filled[at]) else word
        for at, word in enumerate(pattern)
    ]


def _route_fits(route: str, path: str) -> bool:
    route_parts, path_parts = (urlsplit(address.strip()).path.strip("/").split("/") for address in (route, path))
    literal = _literal_words(route_parts, path_parts)
    alike = (word in (part, "") or word.startswith(":") for word, part in zip(literal, path_parts, strict=False))
    return len(route_parts) == len(path_parts) and all(alike)


def unnamed_entry(shown: Shown, interface: Sequence[str], known_names: KnownNames) -> str:
    """The case's entry point if it contains unknown names; otherwise "".

    A name is unknown if neither the user's words nor the base contain it. The unknown names follow the entry point in
    brackets, unless the entry point is a function.
    """
    if isinstance(shown, CallCase):
        name = shown.call.rpartition(":")[2]
        function_name = name.rpartition(".")[2]
        return "" if known_names.is_in_words(function_name) or _is_defined(shown.call, known_names.base) else shown.call
    if isinstance(shown, RunCase):
        line = next((declaration for declaration in interface if declares(declaration, shown)), " ".join(shown.run))
        literal = [word for word in _literal_words(line.split(), shown.run)[1:] if word not in ("", "-m")]
        program = [PurePosixPath(shown.run[0]).name] if started_program(shown.run).kind == "program" else []
        strange = [word for word in (*program, *literal) if not _is_known_word(word, known_names)]
    else:
        path = urlsplit(shown.page if isinstance(shown, BrowserCheck) else shown.http.path).path
        line = next((declaration for declaration in interface if declares(declaration, shown)), path)
        line_parts = urlsplit(line.partition(" ")[2].strip() or path).path.strip("/").split("/")
        literal_parts = [
            part for part in _literal_words(line_parts, path.strip("/").split("/")) if part and not part.startswith(":")
        ]
        strange = [part for part in literal_parts if not _is_known_word(part, known_names)]
    return f"{entry_point(shown)} ({', '.join(strange)})" if strange else ""


def _is_known_word(word: str, known_names: KnownNames) -> bool:
    bare = word.lstrip("-").partition("=")[0]
    return known_names.names(bare) or known_names.names(bare.replace("/", ".").removesuffix(".py"))


def _is_defined(call: str, base: Mapping[str, str]) -> bool:
    """Whether the base defines the function, in the file that the call names."""
    module, _, name = call.rpartition(":") if is_node(call) else call.partition(":")
    paths = [module] if is_node(call) else [f"{module.replace('.', '/')}{end}" for end in (".py", "/__init__.py")]
    texts = [text for path, text in base.items() if any(path == file or path.endswith(f"/{file}") for file in paths)]
    name = re.escape(name.rpartition(".")[2])
    pattern = rf"(?:def|class|function|const|let|var|exports\.)\s*\*?\s*{name}\b|^{name}\s*[:=]|import[^\n]*\b{name}\b"
    return any(re.search(pattern, text, re.MULTILINE) for text in texts)


# -- all cases of a requirement ----------------------------------------------------------------------------------------


def passing_mutants(cases: Sequence[Shown], interface: Sequence[str] = ()) -> list[str]:
    """For each case, a sentence about a mutant (a deliberately wrong program) that passes all cases with the same entry
    point as this case; "" if every mutant fails one of them."""
    entries = [declared_entry(case, interface) for case in cases]
    why = {
        name: passing_mutant([case for case, at in zip(cases, entries, strict=True) if at == name])
        for name in set(entries)
    }
    return [why[name] for name in entries]


def declared_entry(shown: Shown, interface: Sequence[str]) -> str:
    """The line of the interface that declares the case's entry point. If several lines do, the most specific one; if
    none does, the entry point itself."""
    lines = [line for line in interface if declares(line, shown)]
    return max(lines, key=lambda line: len(PLACE.sub("", line)), default=entry_point(shown))


def joined_words(text: str) -> str:
    """The text with every run of white space replaced by one space, and without white space at its ends."""
    return " ".join(text.split())
