"""Parses a command of the contract, to find the test runner that it starts and the runner's arguments. Pure."""

import posixpath
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from trued.model import FactNote
from trued.support.shell_words import sequential_commands, started_commands
from trued.support.tables import json_table, table_at

SUPPORTED = (
    "python -m pytest, python -m unittest, node --test, go test, vitest, jest, mocha, "
    "or any that writes JUnit XML to the check's `report`"
)
# Programs that start whatever a file of the project says.
_STARTERS = frozenset(("tox", "nox", "make", "gmake", "just", "task", "inv", "invoke", "sh", "bash", "ant", "rake"))
DEEPEST = 8  # at most this many levels of scripts that start scripts are followed
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_PYTHON = re.compile(r"python(\d(\.\d+)?)?")
# Programs that choose an environment and then start the rest of the line. They are skipped, because the engine itself
# chooses the environment.
_WRAPPERS: Mapping[tuple[str, ...], frozenset[str]] = {
    ("uv", "run"): frozenset(
        (
            *("--with", "--with-requirements", "--extra", "--group", "--only-group", "--no-group", "-p", "--python"),
            *("--project", "--directory", "--env-file", "--package", "--index", "--index-url"),
        )
    ),
    ("poetry", "run"): frozenset(),
    ("pdm", "run"): frozenset(("-p", "--project", "--venv")),
    ("pipenv", "run"): frozenset(),
    ("rye", "run"): frozenset(),
    ("hatch", "run"): frozenset(),
    ("coverage", "run"): frozenset(("--source", "--rcfile", "--include", "--omit", "--data-file", "--context")),
    ("nyc",): frozenset(
        (
            *("-r", "--reporter", "--report-dir", "-t", "--temp-dir", "-n", "--include", "-x", "--exclude", "-e"),
            *("--extension", "-i", "--require", "--cwd", "--nycrc-path", "--branches", "--functions", "--lines"),
            "--statements",
        )
    ),
    ("c8",): frozenset(
        (
            *("-r", "--reporter", "-o", "--reports-dir", "--report-dir", "--temp-directory", "-n", "--include", "-x"),
            *("--exclude", "-e", "--extension", "-c", "--config", "--src", "--branches", "--functions", "--lines"),
            "--statements",
        )
    ),
    ("npx",): frozenset(("-p", "--package", "-c", "--call")),
    ("bunx",): frozenset(),
    ("npm", "exec"): frozenset(("-p", "--package")),
    ("pnpm", "exec"): frozenset(),
    ("yarn", "exec"): frozenset(),
    ("env",): frozenset(("-u", "--unset")),
    ("cross-env",): frozenset(),
    ("time",): frozenset(),
}
_MANAGERS = ("npm", "pnpm", "yarn", "bun")
_FOLDER_OPTIONS = ("--prefix", "-C", "--cwd", "--dir")  # of package managers: the folder of the package
# Options of node that take a value.
_NODE_VALUES = frozenset(
    (
        *("-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--env-file"),
        *("--test-reporter", "--test-reporter-destination", "--test-name-pattern", "--test-skip-pattern"),
        *("--test-concurrency", "--test-timeout", "--test-shard"),
    )
)

_UNITTEST_VALUES = ("-k", "-s", "-p", "-t")  # options of unittest that take a value
# Options of pytest that take a value.
_PYTEST_VALUES = frozenset(
    (
        *("-k", "-m", "-p", "-c", "-o", "-n", "-W", "-r", "--rootdir", "--confcutdir", "--ignore", "--deselect"),
        *("--junitxml", "--junit-xml", "--maxfail", "--durations", "--cov", "--tb", "--timeout", "--browser"),
    )
)


@dataclass(frozen=True, slots=True)
class RunnerCall:
    """One test runner and how the command calls it."""

    runner: str  # pytest, unittest, node, go, vitest, jest, mocha
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()  # commands that must succeed first
    folder: str = ""  # the folder of the project in which it starts; "" is the top
    notes: tuple[str, ...] = ()  # how the command was understood, if that is not obvious


def recognise_runner(command: str, scripts: Mapping[str, str] | None = None, of: str = "") -> RunnerCall | None:
    """The test runner that this command starts directly, through a wrapper or through a script; None if it starts none.

    `scripts`: those of the base's package.json in the folder `of`. A command that starts a script of another folder is
    not recognised (`package_folder` tells which folder's scripts a command needs).
    """
    parts = _in_folder(sequential_commands(command))
    if parts is None:
        return None
    folder, steps = parts
    asked = _recognised(steps, (scripts or {}) if folder == of else {}, DEEPEST)
    return replace(asked, folder=folder) if asked else None


def countable_instead(command: str) -> str:
    """What to write instead of a command that starts no known test runner."""
    words = [word for step in started_commands(command)[-1:] for word in step]
    other = "or use `kind: command`, which only sees if it succeeds"
    if any(PurePosixPath(word).name == "manage.py" for word in words):
        return f"write `python -m pytest` (with pytest-django), {other}"
    if words and PurePosixPath(words[0]).name in _STARTERS:
        return f"write the test command that `{words[0]}` starts, such as `python -m pytest`, {other}"
    return f"supported: {SUPPORTED}; {other}"


def package_folder(command: str) -> str:
    """The folder whose package.json has the scripts that this command may start: `web` for `cd web && npm test` and for
    `npm --prefix web test`. "" is the top of the project."""
    parts = _in_folder(sequential_commands(command))
    return parts[0] if parts else ""


def starts_package_script(command: str) -> bool:
    """Whether the command starts a script of a package.json, so that only this file says which runner it starts."""
    parts = _in_folder(sequential_commands(command))
    return bool(parts and parts[1] and _script_words(parts[1][-1]))


def _in_folder(steps: list[list[str]]) -> tuple[str, list[list[str]]] | None:
    """The folder in which these commands start, and the commands without what names it: `cd DIR && …` at their
    beginning, or `--prefix DIR` of a package manager. None if that is no folder of the project."""
    folder = "."
    match steps[:1]:
        case [["cd", named]]:
            folder, steps = named, steps[1:]
        case [["cd", *_]]:
            return None
    if len(steps) == 1 and (words := _script_words(steps[0])):
        named, own = _without_folder(words)
        folder, steps = posixpath.join(folder, named), [[*steps[0][: -len(words)], *own]]
    whole = posixpath.normpath(folder)
    if whole.startswith(("/", "..", "~", "-")) or "$" in whole:
        return None
    return ("" if whole == "." else whole), steps


def _without_folder(words: Sequence[str]) -> tuple[str, list[str]]:
    """The folder that options of a package manager name, and its command line without them. Options after the name of
    the script belong to the script, except for npm, which reads all up to `--`."""
    folder, kept, rest = "", [words[0]], list(words[1:])
    while rest:
        word = rest.pop(0)
        option, equals, value = word.partition("=")
        if option in _FOLDER_OPTIONS and (equals or rest):
            folder = value if equals else rest.pop(0)
            continue
        kept.append(word)
        if word == "--" or (words[0] != "npm" and not word.startswith("-")):
            kept += rest
            break
    return folder, kept


def _script_words(words: Sequence[str]) -> list[str]:
    """The part of a command that begins with a package manager; none if it starts none."""
    rest = list(words)
    while rest and _ASSIGNED.fullmatch(rest[0]):
        rest.pop(0)
    return rest if rest and rest[0] in _MANAGERS else []


def _recognised(steps: list[list[str]], scripts: Mapping[str, str], deep: int) -> RunnerCall | None:
    if not steps or deep <= 0 or steps[0][0] == "cd":
        return None
    asked = _unwrapped(steps[-1], scripts, deep)
    if asked is None:
        return None
    return replace(asked, before=(*map(shlex.join, steps[:-1]), *asked.before))


def counted_part(script: str, scripts: Mapping[str, str]) -> str:
    """The part of a script that ends with the last test runner that it starts: `tsc && jest` for `tsc && jest && tsd`;
    "" if it starts none. `scripts`: those of the base's package.json."""
    steps = sequential_commands(script)
    parts = [" && ".join(map(shlex.join, steps[:count])) for count in range(len(steps), 0, -1)]
    return next((part for part in parts if recognise_runner(part, scripts) is not None), "")


def scripts_started(command: str, manifest: bytes | None) -> list[str]:
    """The texts of the package.json scripts that a command starts."""
    scripts, words = table_at(json_table(manifest or b""), "scripts"), command.split()
    if not set(words) & {*_MANAGERS, "npx"}:
        return []
    wanted = {way for word in words for way in (word, f"pre{word}", f"post{word}")}
    return [str(text) for name, text in scripts.items() if name in wanted]


def _unwrapped(words: Sequence[str], scripts: Mapping[str, str], deep: int) -> RunnerCall | None:
    variables: dict[str, str] = {}
    notes: list[str] = []
    rest = list(words)
    while rest:
        if match := _ASSIGNED.fullmatch(rest[0]):
            variables[match.group(1)] = match.group(2)
            rest.pop(0)
        elif inner := _without_wrapper(rest):
            if rest[0] not in ("env", "cross-env", "time", "npx", "bunx", "nyc", "c8"):
                notes.append(
                    FactNote(f"`{' '.join(rest[:2])}` was left out: the engine chooses the environment itself")
                )
            rest = inner
        else:
            break
    asked = _script(rest, scripts, deep) or _runner(rest)
    if asked is None:
        return None
    return replace(asked, variables={**variables, **asked.variables}, notes=(*notes, *asked.notes))


def _without_wrapper(words: list[str]) -> list[str]:
    """The command that a wrapper starts; nothing if there is no wrapper."""
    start = words[2:] if len(words) > 2 and _is_python(words[0]) and words[1] == "-m" else None
    if start is not None and start[0] == "coverage":
        words = start
    for wrapper, valued in _WRAPPERS.items():
        if tuple(words[: len(wrapper)]) != wrapper:
            continue
        rest = words[len(wrapper) :]
        while rest and rest[0].startswith("-") and rest[0] not in ("--", "-m"):
            rest = rest[2 if rest[0] in valued else 1 :]
        rest = rest[1:] if rest[:1] == ["--"] else rest
        if rest[:1] == ["-m"]:
            rest = ["python", *rest]
        if wrapper == ("hatch", "run") and rest:
            rest = [rest[0].rpartition(":")[2], *rest[1:]]
        return rest
    return []


def _script(words: list[str], scripts: Mapping[str, str], deep: int) -> RunnerCall | None:
    """The runner that `npm test` and the like start, according to the base's own script."""
    if not words or words[0] not in _MANAGERS:
        return None
    rest = [one for one in words[1:] if one not in ("-s", "--silent", "--if-present", "run", "run-script")]
    if not rest:
        return None
    name, *more = rest
    name = "test" if words[0] == "npm" and name in ("t", "tst") else name
    if name not in scripts:
        return None
    more = [one for one in more if one != "--"] if "--" in more or words[0] != "npm" else []
    asked = _recognised(sequential_commands(f"{scripts[name]} {shlex.join(more)}".strip()), scripts, deep - 1)
    if asked is None:
        return None
    first = [scripts[f"pre{name}"]] if f"pre{name}" in scripts else []
    note = FactNote(f"`{' '.join(words)}` starts `{scripts[name]}`, according to the base's package.json")
    return replace(asked, before=(*first, *asked.before), notes=(note, *asked.notes))


def _is_python(word: str) -> bool:
    return bool(_PYTHON.fullmatch(PurePosixPath(word).name))


def _runner(words: list[str]) -> RunnerCall | None:
    match words:
        case [python, *rest] if _is_python(python):
            return _module(rest)
        case ["pytest" | "py.test", *rest]:
            return RunnerCall("pytest", tuple(rest))
        case ["node" | "nodejs", *rest]:
            return _node(rest)
        case ["tsx", *rest]:
            return _tsx(rest)
        case ["go", "test", *rest]:
            return RunnerCall("go", tuple(rest))
        case ["gotestsum", *rest]:
            return RunnerCall("go", tuple(rest[rest.index("--") + 1 :] if "--" in rest else ("./...",)))
        case [("vitest" | "jest" | "mocha") as runner, *rest]:
            return RunnerCall(runner, tuple(rest))
        case [program, *rest] if PurePosixPath(program).parts[:2] == ("node_modules", ".bin"):
            return _runner([PurePosixPath(program).name, *rest])
    return None


def _module(words: list[str]) -> RunnerCall | None:
    """The runner in `python [options] -m pytest …`."""
    warnings: list[str] = []
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-m":
        option = rest.pop(0)
        if option in ("-W", "-X") and rest:
            value = rest.pop(0)
            warnings += ["-W", value] if option == "-W" else []
    match rest:
        case ["-m", "pytest" | "py.test", *arguments]:
            return RunnerCall("pytest", (*warnings, *arguments))
        case ["-m", "unittest", *arguments]:
            return RunnerCall("unittest", tuple(arguments))
    return None


def _node(words: list[str]) -> RunnerCall | None:
    if not any(one == "--test" for one in words):
        return None
    return RunnerCall("node", tuple(one for one in words if one != "--test"))


def files_in_command(asked: RunnerCall) -> tuple[str, ...]:
    """Files and folders of the project that the command itself names; none if it runs all tests. A command that starts
    in a folder and names no file there names this folder."""
    found = _named_files(asked)
    if not asked.folder:
        return found
    return tuple(posixpath.normpath(f"{asked.folder}/{one}") for one in found) or (asked.folder,)


def with_files_for_patterns(asked: RunnerCall, known: Iterable[str]) -> RunnerCall:
    """The call with patterns such as `test_*.py` replaced by the files that they match, as a shell does. Only Python's
    runners need that: others read patterns themselves. A pattern that matches nothing stays as it is."""
    if asked.runner not in ("pytest", "unittest"):
        return asked
    below = f"{asked.folder}/" if asked.folder else ""
    paths = sorted(path.removeprefix(below) for path in known if path.startswith(below))
    valued = _UNITTEST_VALUES if asked.runner == "unittest" else _PYTEST_VALUES
    found: list[str] = []
    for word, before in zip(asked.arguments, ("", *asked.arguments), strict=False):
        pattern = word.removeprefix("./")
        able = before not in valued and word[:1] != "-" and "::" not in word and not {"*", "?"}.isdisjoint(word)
        matching = [one for one in paths if able and _matches_in_shell(one, pattern)]
        found += matching or [word]
    return replace(asked, arguments=tuple(found))


def _matches_in_shell(path: str, pattern: str) -> bool:
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def _tsx(words: list[str]) -> RunnerCall | None:
    """`tsx --test …` is Node's runner with a loader of TypeScript."""
    asked = _node(["--import", "tsx", *words])
    if asked is None or "--tsconfig" not in asked.arguments:
        return asked
    at = asked.arguments.index("--tsconfig")
    value = asked.arguments[at + 1 : at + 2]
    rest = (*asked.arguments[:at], *asked.arguments[at + 2 :])
    return replace(asked, arguments=rest, variables={"TSX_TSCONFIG_PATH": value[0]}) if value else None


def _named_files(asked: RunnerCall) -> tuple[str, ...]:
    words = list(asked.arguments)
    if asked.runner == "node":
        return tuple(one for one in node_options(words)[1] if not any(sign in one for sign in "*?["))
    valued = _UNITTEST_VALUES if asked.runner == "unittest" else _PYTEST_VALUES
    places = [one for one, before in zip(words, ["", *words], strict=False) if before not in valued and one[:1] != "-"]
    if asked.runner == "unittest":
        tests = [one for one in places if one.endswith(".py") or ".test_" in f".{one}"]
        return tuple(map(_module_file, tests)) if "discover" not in words else ()
    if asked.runner != "pytest":
        return ()
    paths = [one.partition("::")[0] for one in places]
    return tuple(dict.fromkeys(one for one in paths if "/" in one or one.endswith(".py") or one in ("test", "tests")))


def _module_file(name: str) -> str:
    """The file of a dotted name: `tests/test_core.py` for `tests.test_core.Numbers.test_half`."""
    if name.endswith(".py"):
        return name
    parts = name.split(".")
    last = next(place for place, part in enumerate(parts) if part.startswith("test_"))
    return "/".join(parts[: last + 1]) + ".py"


def node_options(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Node's own options in these arguments, and the named files."""
    options: list[str] = []
    files: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            files.append(word)
            continue
        options.append(word)
        if word in _NODE_VALUES and rest:
            options.append(rest.pop(0))
    return options, files
