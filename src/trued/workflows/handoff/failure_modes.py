"""Detects four failure modes of a coder: one-shot attempt, premature victory, guesswork and meddling."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from trued.inputs.project.shell import CommandWords, simple_commands
from trued.model import Value
from trued.run.claims import names_any, normal_path, unchanged_files
from trued.support.foreign_json import parse_json
from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import plain_line
from trued.workflows.handoff.feature_list import STATUS, TOTALS

ModeName: TypeAlias = Literal["one-shot attempt", "premature victory", "guesswork", "meddling"]
EVIDENCE_LIMIT = 300
VALUE_LIMIT = 60
MODE_LIMIT = 40  # failures of one kind reported for one attempt; the first ones are enough


class Mode(Value):
    """A failure mode that occurred, and the evidence."""

    name: ModeName
    feature: str
    evidence: str


class CoderClaims(Value):
    """What the coder claims about its feature."""

    passes: bool = False
    tests_passing: int = 0
    tests_total: int = 0
    tests: tuple[str, ...] = ()  # ids or files of tests
    files: tuple[str, ...] = ()  # files that the coder says it changed


class EngineCounts(Value):
    """The engine's own measurements of a commit, to compare with the coder's claims."""

    passes: bool
    tests_passing: int = 0
    tests_total: int = 0
    files: frozenset[str] = frozenset()  # all files of the commit
    changed: frozenset[str] = frozenset()  # files that the attempt changed or removed; removed ones are not in `files`


def _mode(name: ModeName, feature: str, evidence: str) -> Mode:
    return Mode(name=name, feature=feature, evidence=plain_line(evidence, EVIDENCE_LIMIT))


# -- meddling


def meddling(before: str, theirs: str | None, file: str, feature: str = "") -> tuple[Mode, ...]:
    """Edits that an agent tried to make to the feature list. `before`: the engine's text. `theirs`: the agent's text;
    None if the agent deleted the file. `feature`: the feature that the agent worked on."""
    if theirs == before:
        return ()
    edits = [(name or feature, what) for name, what in _attempted_edits(before, theirs)]
    unreported = len(edits) - MODE_LIMIT
    more = [(feature, f"and {unreported} more tries")] if unreported > 0 else []
    return tuple(_mode("meddling", name, f"{file}: {what}") for name, what in (*edits[:MODE_LIMIT], *more))


def _attempted_edits(before: str, theirs: str | None) -> Iterator[tuple[str, str]]:
    if theirs is None:
        yield "", "the file was deleted"
        return
    was, now = (parse_json(text.removeprefix("\ufeff")) for text in (before, theirs))
    old, new = _entries(was), _entries(now)
    if new is None:
        yield "", "the file was made unreadable"
        return
    if isinstance(was, dict) and isinstance(now, dict):
        for key in TOTALS:
            if was.get(key) != now.get(key):
                yield "", f"totals changed: {key} {_short(was.get(key))} → {_short(now.get(key))}"
    yield from _changes(old or [], new)


def _changes(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    ours = {str(feature.get("id")): feature for feature in old}
    seen: set[str] = set()
    for feature in new:
        name = str(feature.get("id", ""))
        if name not in ours or name in seen:
            yield name, f"a feature was added: {_short(feature.get('id') or feature.get('description'))}"
        else:
            seen.add(name)
            yield from ((name, what) for what in _edits(ours[name], feature))
    for name in ours:
        if name not in seen:
            yield name, f"feature {name} was removed"
    known_ids = [str(feature.get("id", "")) for feature in new if str(feature.get("id", "")) in ours]
    if sorted(known_ids) == sorted(ours) and known_ids != list(ours):
        yield "", "the order of the features was changed"


def _edits(was: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    for key in {**was, **now}:
        if was.get(key) != now.get(key) or (key in was) != (key in now):
            verb = "written" if key in STATUS else "edited"
            yield f"{key} of {was.get('id')} was {verb}: {_short(was.get(key))} → {_short(now.get(key))}"


def _entries(value: Any) -> list[dict[str, Any]] | None:
    entries = value.get("features") if isinstance(value, dict) else value
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return None
    return entries


def _short(value: Any) -> str:
    return "nothing" if value is None else plain_line(json.dumps(value, ensure_ascii=False), VALUE_LIMIT)


# -- premature victory


def premature_victory(
    feature: str, claimed: CoderClaims, counted: EngineCounts, read: Callable[[str], str | None] = lambda _: None
) -> tuple[Mode, ...]:
    """The coder's claims that the commit refutes. `read` reads a file of the commit. Coders see the result, so it
    says nothing about held-out cases."""
    evidence = list(_overclaims(claimed, counted))
    for path in unchanged_files(claimed.files, counted.files | counted.changed):
        evidence.append(f"says that it changed {path}, which is not in the commit")
    for test in claimed.tests:
        evidence += _missing_test(test, counted.files, read)
    return tuple(_mode("premature victory", feature, line) for line in dict.fromkeys(evidence))[:MODE_LIMIT]


def _overclaims(claimed: CoderClaims, counted: EngineCounts) -> Iterator[str]:
    ours = f"the engine counted {counted.tests_passing} of {counted.tests_total} tests"
    if claimed.passes and not counted.passes:
        yield f"says that the feature passes; it does not hold, and {ours}"
    if claimed.tests_passing > counted.tests_passing:
        yield f"says that {claimed.tests_passing} of {claimed.tests_total} tests pass; {ours}"


def _missing_test(test: str, files: Collection[str], read: Callable[[str], str | None]) -> list[str]:
    named, _, inside = test.strip().strip("`").strip().partition("::")
    path = normal_path(named)
    if not inside and not re.search(r"/|\.[a-z]{2,4}$", named):
        return []  # a bare name or a sentence: it names no file
    if not names_any(path, files):
        return [f"names the test {test}, and {path} is not in the commit"]
    text = read(path if path in files else path.partition(":")[0])
    for part in inside.split("::") if inside and text is not None else ():
        name = part.partition("[")[0].strip()
        if name and text is not None and not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            return [f"names the test {test}, and {path} does not contain {name}"]
    return []


# -- one-shot attempt


def one_shot(feature: str, turned_green: Collection[str]) -> tuple[Mode, ...]:
    """A failure mode if the commit for this feature also turned the cases of other open features green."""
    others = [name for name in turned_green if name != feature]
    return (_mode("one-shot attempt", feature, f"its commit also turns green: {', '.join(others)}"),) if others else ()


# -- guesswork

_INSTALL = {"install", "i", "ci", "add", "sync"}
INSTALLERS: dict[str, set[str]] = {  # program → the words that make it an installer
    "pip": {"install"},
    "pipx": {"install", "inject"},
    "uv": {"sync", "add", "pip install", "tool install"},
    "poetry": {"install", "add", "sync"},
    "pipenv": {"install", "sync"},
    "pdm": {"install", "add", "sync"},
    "conda": {"install", "create", "env create"},
    "mamba": {"install", "create", "env create"},
    "npm": {*_INSTALL, "install-test"} - {"sync"},
    "pnpm": {"install", "i", "add"},
    "yarn": {"install", "add", ""},
    "bun": {"install", "i", "add"},
    "playwright": {"install", "install-deps"},
    "puppeteer": {"browsers install"},
    "cargo": {"install", "add"},
    "go": {"install", "get"},
    "gem": {"install"},
    "bundle": {"install"},
    "composer": {"install", "require"},
    "nvm": {"install"},
    "pyenv": {"install"},
    "easy_install": {"*"},
    **{
        manager: {"install"}
        for manager in ("apt", "apt-get", "dnf", "yum", "zypper", "brew", "snap", "port", "microdnf")
    },
    "apk": {"add"},
    "setup.py": {"install", "develop"},
}
SERVERS: dict[str, set[str]] = {
    "flask": {"run"},
    "fastapi": {"run", "dev"},
    "streamlit": {"run"},
    "manage.py": {"runserver"},
    "django-admin": {"runserver"},
    "rails": {"s", "server"},
    "next": {"dev", "start"},
    "vite": {"", "dev", "serve", "preview"},
    "npm": {"start", "run start", "run dev", "run serve", "run preview"},
    "pnpm": {"start", "dev", "serve", "run start", "run dev", "run serve", "run preview"},
    "yarn": {"start", "dev", "serve", "run start", "run dev", "run serve", "run preview"},
    "bun": {"start", "run start", "run dev"},
    "docker": {"compose up"},
    "docker-compose": {"up"},
    **{server: {"*"} for server in ("uvicorn", "gunicorn", "hypercorn", "daphne", "waitress-serve", "http.server")},
    **{server: {"*"} for server in ("http-server", "live-server", "nodemon", "serve")},
}
_RUNNERS = lazy_regex(r"(?:python|pypy)[\d.]*|node|deno|tsx|ts-node|ruby|php")
_SERVING = lazy_regex(r"(?:.*[-_.])?(?:server|serve|app|wsgi|asgi)\.(?:py|[cm]?[jt]s|rb)")
_VERSION = lazy_regex(r"(?:\[[^\]]*\])?(?:[<>=!~]=?.*)?$")
_PLACES = ("--prefix", "--dir", "--cwd", "--directory", "--project", "--filter", "--workspace", "-C", "-w", "-F")
_PRINTING = ("say", "echo", "printf")


def guesswork(commands: Sequence[str], script: str, feature: str = "") -> tuple[Mode, ...]:
    """Commands by which an agent installed something or started a server, and which init.sh neither runs nor prints."""
    held = [command for text in (script, *_printed_commands(script)) for command, _ in simple_commands(text)]
    unknown: dict[str, None] = {}
    for line in commands:
        before: CommandWords = ("",)
        for command, piped in simple_commands(line):
            what = _command_kind(command) or ("an installer" if piped and _downloads(before, command) else "")
            if what and not any(_same(command, held_command, what) for held_command in held):
                unknown[f"{what} that init.sh does not contain: {' '.join(command)}"] = None
            before = command
    return tuple(_mode("guesswork", feature, line) for line in list(unknown)[:MODE_LIMIT])


def _printed_commands(script: str) -> Iterator[str]:
    """Commands that the script only prints, such as the one that starts the app."""
    for command, _ in simple_commands(script):
        if command[0] in _PRINTING:
            for text in command[1:]:
                yield from text.partition(": ")[2].split(" and ")


def _command_kind(command: CommandWords) -> str:
    program, *arguments = _unwrapped(command)
    if {"--help", "-h", "--version", "-V", "--dry-run"} & set(arguments):
        return ""
    plain = _operands(arguments)
    for what, table in (("an installer", INSTALLERS), ("a server start", SERVERS)):
        verbs = table.get(program, set())
        if "*" in verbs or {*plain[:1], " ".join(plain[:2])} & verbs or ("" in verbs and not arguments):
            return what
    if program == "pacman" and any(word.startswith("-S") for word in arguments):
        return "an installer"
    serves = program == "php" and "-S" in arguments
    if _RUNNERS.fullmatch(program) and (serves or any(_SERVING.fullmatch(_base_name(word)) for word in plain[:1])):
        return "a server start"
    return ""


def _operands(arguments: Sequence[str]) -> list[str]:
    """Arguments that are neither options nor the folder after an option such as `-C`."""
    before = ("", *arguments)
    return [word for word, last in zip(arguments, before, strict=False) if word[:1] != "-" and last not in _PLACES]


def _unwrapped(command: CommandWords) -> CommandWords:
    """The command without its launcher: `python manage.py …` becomes `manage.py …`, `npm exec x` and `uv run x` become
    `x`."""
    program, *rest = command
    if _RUNNERS.fullmatch(program) and rest and _base_name(rest[0]) in ("manage.py", "setup.py"):
        return (_base_name(rest[0]), *rest[1:])
    if rest and f"{program} {rest[0]}" in ("uv run", "poetry run", "pipenv run", "npm exec", "pnpm exec", "yarn exec"):
        inner = next((command for command, _ in simple_commands(" ".join(map(_quoted, rest[1:])))), ())
        return _unwrapped(inner) if inner else command
    return command


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _downloads(before: CommandWords, command: CommandWords) -> bool:
    """Whether `before` downloads a script and `command` is an interpreter that may run it."""
    return before[0] in ("curl", "wget") and command[0] in ("sh", "bash", "python3", "python")


def _same(command: CommandWords, held: CommandWords, what: str) -> bool:
    """Whether an agent's command counts as the script's command `held`: it starts the same program, with no words (such
    as names of packages) that `held` lacks. Options such as `--port=8000` are not compared.

    If `what` is "a server start", the command may have more words than `held`, such as a port, but then none fewer.
    """
    (program, mine), (other, theirs) = _signature(command), _signature(held)
    if program != other or not mine or not theirs:
        return program == other and mine == theirs
    return mine <= theirs or (what == "a server start" and theirs <= mine)


def _signature(command: CommandWords) -> tuple[str, frozenset[str]]:
    program, *arguments = _unwrapped(command)
    plain = {_VERSION.sub("", word) or word for word in _operands(arguments)}
    return program, frozenset(plain or ({"install"} if program == "yarn" else ()))


def _base_name(path: str) -> str:
    return path.rpartition("/")[2]
