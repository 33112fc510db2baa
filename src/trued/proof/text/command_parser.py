"""Parses a command of the contract, to find the test runner that it starts and the runner's arguments."""

import posixpath
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from trued.model import FactNote
from trued.proof.text.interpreter_lines import NODE_VALUES
from trued.proof.text.program_names import MANAGERS, NODE_PROGRAMS, is_python
from trued.support.lazy_regex import lazy_regex
from trued.support.shell_words import sequential_commands, started_commands

SUPPORTED = (
    "python -m pytest, python -m unittest, node --test, go test, vitest, jest, mocha, "
    "or any that writes JUnit XML to the check's `report`"
)
# Programs that start commands which a file of the project lists.
_STARTERS = frozenset(("tox", "nox", "make", "gmake", "just", "task", "inv", "invoke", "sh", "bash", "ant", "rake"))
DEEPEST = 8  # at most this many levels of scripts that start scripts are followed
_ASSIGNMENT = lazy_regex(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
# Programs that choose an environment and then start the rest of the line, each with its options that take a value. They
# are skipped, because the engine itself chooses the environment.
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
_FOLDER_OPTIONS = ("--prefix", "-C", "--cwd", "--dir")  # of package managers: the folder of the package
# Options of node that take a value.
_NODE_VALUES = frozenset(("-r", "-C", *NODE_VALUES))  # options of Node that take a value
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

    `scripts`: the scripts in the base's package.json in the folder `of`. A command that starts a script of another
    folder is not recognised (`package_folder` says which folder's scripts a command needs).
    """
    folder_and_steps = _folder_and_steps(sequential_commands(command))
    if folder_and_steps is None:
        return None
    folder, steps = folder_and_steps
    call = _call_of_steps(steps, (scripts or {}) if folder == of else {}, DEEPEST)
    return replace(call, folder=folder) if call else None


def countable_instead(command: str) -> str:
    """What to write instead of a command that starts no known test runner."""
    words = [word for step in started_commands(command)[-1:] for word in step]
    alternative = "or use `kind: command`, which only sees whether it succeeds"
    if any(PurePosixPath(word).name == "manage.py" for word in words):
        return f"write `python -m pytest` (with pytest-django), {alternative}"
    if words and PurePosixPath(words[0]).name in _STARTERS:
        return f"write the test command that `{words[0]}` starts, such as `python -m pytest`, {alternative}"
    return f"supported: {SUPPORTED}; {alternative}"


def package_folder(command: str) -> str:
    """The folder whose package.json has the scripts that this command may start: `web` for `cd web && npm test` and for
    `npm --prefix web test`. "" is the top of the project."""
    folder_and_steps = _folder_and_steps(sequential_commands(command))
    return folder_and_steps[0] if folder_and_steps else ""


def starts_package_script(command: str) -> bool:
    """Whether the command starts a script of a package.json. Then only the package.json says which runner is
    started."""
    folder_and_steps = _folder_and_steps(sequential_commands(command))
    return bool(folder_and_steps and folder_and_steps[1] and _script_words(folder_and_steps[1][-1]))


def _folder_and_steps(steps: list[list[str]]) -> tuple[str, list[list[str]]] | None:
    """The folder in which these commands start, and the commands without the words that name it: `cd DIR && …` at their
    beginning, or `--prefix DIR` of a package manager. None if the folder is not inside the project."""
    folder = "."
    match steps[:1]:
        case [["cd", subfolder]]:
            folder, steps = subfolder, steps[1:]
        case [["cd", *_]]:
            return None
    if len(steps) == 1 and (words := _script_words(steps[0])):
        subfolder, manager_words = _without_folder(words)
        folder, steps = posixpath.join(folder, subfolder), [[*steps[0][: -len(words)], *manager_words]]
    normal = posixpath.normpath(folder)
    if normal.startswith(("/", "..", "~", "-")) or "$" in normal:
        return None
    return ("" if normal == "." else normal), steps


def _without_folder(words: Sequence[str]) -> tuple[str, list[str]]:
    """The folder that options of a package manager name, and its command line without these options. Options after the
    script's name belong to the script, and stay. Only npm also reads options after the script's name, up to `--`."""
    folder, command_words, words_left = "", [words[0]], list(words[1:])
    while words_left:
        word = words_left.pop(0)
        option, equals, value = word.partition("=")
        if option in _FOLDER_OPTIONS and (equals or words_left):
            folder = value if equals else words_left.pop(0)
            continue
        command_words.append(word)
        if word == "--" or (words[0] != "npm" and not word.startswith("-")):
            command_words += words_left
            break
    return folder, command_words


def without_wrappers(words: Sequence[str]) -> list[str]:
    """A simple command without assignments of variables at its beginning, and without programs that only choose an
    environment (`uv run`)."""
    words_left = list(words)
    while words_left:
        if _ASSIGNMENT.fullmatch(words_left[0]):
            words_left.pop(0)
        elif wrapped := _without_wrapper(words_left):
            words_left = wrapped
        else:
            break
    return words_left


def _script_words(words: Sequence[str]) -> list[str]:
    """The part of a command that begins with a package manager; empty if the command starts no package manager."""
    words_left = list(words)
    while words_left and _ASSIGNMENT.fullmatch(words_left[0]):
        words_left.pop(0)
    return words_left if words_left and words_left[0] in MANAGERS else []


def _call_of_steps(steps: list[list[str]], scripts: Mapping[str, str], depth: int) -> RunnerCall | None:
    if not steps or depth <= 0 or steps[0][0] == "cd":
        return None
    call = _call_of_words(steps[-1], scripts, depth)
    if call is None:
        return None
    return replace(call, before=(*map(shlex.join, steps[:-1]), *call.before))


def counted_part(script: str, scripts: Mapping[str, str]) -> str:
    """The part of a script that ends with the last test runner that it starts: `tsc && jest` for `tsc && jest && tsd`.
    "" if the script starts no test runner. `scripts`: the scripts in the base's package.json."""
    steps = sequential_commands(script)
    parts = [" && ".join(map(shlex.join, steps[:count])) for count in range(len(steps), 0, -1)]
    return next((part for part in parts if recognise_runner(part, scripts) is not None), "")


def scripts_started(scripts: Mapping[str, Any], lines: str) -> dict[str, Any]:
    """The scripts of a package.json that these command lines name, and the hooks of these scripts (`pretest`,
    `posttest`). Scripts that only other scripts start are left out. `scripts`: name → command line."""
    return {
        name: script
        for name, script in scripts.items()
        if any(_names(lines, started) for started in _without_hook(name))
    }


def _without_hook(name: str) -> tuple[str, ...]:
    """The names by which a package manager starts the script `name`: its own name, and for a hook such as `pretest`
    also `test`."""
    return name, *(name.removeprefix(hook) for hook in ("pre", "post") if name.startswith(hook))


def _names(lines: str, name: str) -> bool:
    """Whether these command lines name the script `name`. The name needs no blanks around it: `npm run a&&npm run b`. A
    part of a path or of an option (`test/start/a.js`, `--grep=start`) is no name of a script."""
    return name != "" and bool(re.search(rf"(?<![\w:./=-]){re.escape(name)}(?![\w:./=-])", lines))


def _call_of_words(words: Sequence[str], scripts: Mapping[str, str], depth: int) -> RunnerCall | None:
    variables: dict[str, str] = {}
    notes: list[str] = []
    words_left = list(words)
    while words_left:
        if match := _ASSIGNMENT.fullmatch(words_left[0]):
            variables[match.group(1)] = match.group(2)
            words_left.pop(0)
        elif wrapped := _without_wrapper(words_left):
            if words_left[0] not in ("env", "cross-env", "time", "npx", "bunx", "nyc", "c8"):
                notes.append(
                    FactNote(f"`{' '.join(words_left[:2])}` was left out: the engine chooses the environment itself")
                )
            words_left = wrapped
        else:
            break
    call = _call_of_script(words_left, scripts, depth) or _call_of_program(words_left)
    if call is None:
        return None
    return replace(call, variables={**variables, **call.variables}, notes=(*notes, *call.notes))


def _without_wrapper(words: list[str]) -> list[str]:
    """The command that the wrapper (`_WRAPPERS`) at the beginning of `words` starts; empty if there is no wrapper."""
    module_words = (
        words[2:] if len(words) > 2 and is_python(PurePosixPath(words[0]).name) and words[1] == "-m" else None
    )
    if module_words is not None and module_words[0] == "coverage":
        words = module_words
    for wrapper, options_with_value in _WRAPPERS.items():
        if tuple(words[: len(wrapper)]) != wrapper:
            continue
        wrapped = words[len(wrapper) :]
        while wrapped and wrapped[0].startswith("-") and wrapped[0] not in ("--", "-m"):
            wrapped = wrapped[2 if wrapped[0] in options_with_value else 1 :]
        wrapped = wrapped[1:] if wrapped[:1] == ["--"] else wrapped
        if wrapped[:1] == ["-m"]:
            wrapped = ["python", *wrapped]
        if wrapper == ("hatch", "run") and wrapped:
            wrapped = [wrapped[0].rpartition(":")[2], *wrapped[1:]]
        return wrapped
    return []


def _call_of_script(words: list[str], scripts: Mapping[str, str], depth: int) -> RunnerCall | None:
    """The runner that a package manager's command such as `npm test` starts, according to the base's own script; None
    for any other command."""
    if not words or words[0] not in MANAGERS:
        return None
    script_words = [word for word in words[1:] if word not in ("-s", "--silent", "--if-present", "run", "run-script")]
    if not script_words:
        return None
    name, *more = script_words
    name = "test" if words[0] == "npm" and name in ("t", "tst") else name
    if name not in scripts:
        return None
    more = [word for word in more if word != "--"] if "--" in more or words[0] != "npm" else []
    call = _call_of_steps(sequential_commands(f"{scripts[name]} {shlex.join(more)}".strip()), scripts, depth - 1)
    if call is None:
        return None
    before = [scripts[f"pre{name}"]] if f"pre{name}" in scripts else []
    note = FactNote(f"`{' '.join(words)}` starts `{scripts[name]}`, according to the base's package.json")
    return replace(call, before=(*before, *call.before), notes=(note, *call.notes))


def _call_of_program(words: list[str]) -> RunnerCall | None:
    match words:
        case [python, *arguments] if is_python(PurePosixPath(python).name):
            return _call_of_python(arguments)
        case ["pytest" | "py.test", *arguments]:
            return RunnerCall("pytest", tuple(arguments))
        case [node, *arguments] if node in NODE_PROGRAMS:
            return _call_of_node(arguments)
        case ["tsx", *arguments]:
            return _call_of_tsx(arguments)
        case ["go", "test", *arguments]:
            return RunnerCall("go", tuple(arguments))
        case ["gotestsum", *arguments]:
            return RunnerCall("go", tuple(arguments[arguments.index("--") + 1 :] if "--" in arguments else ("./...",)))
        case [("vitest" | "jest" | "mocha") as runner, *arguments]:
            return RunnerCall(runner, tuple(arguments))
        case [program, *arguments] if PurePosixPath(program).parts[:2] == ("node_modules", ".bin"):
            return _call_of_program([PurePosixPath(program).name, *arguments])
    return None


def _call_of_python(words: list[str]) -> RunnerCall | None:
    """The runner in `python [options] -m pytest …`."""
    warnings: list[str] = []
    words_left = list(words)
    while words_left and words_left[0].startswith("-") and words_left[0] != "-m":
        option = words_left.pop(0)
        if option in ("-W", "-X") and words_left:
            value = words_left.pop(0)
            warnings += ["-W", value] if option == "-W" else []
    match words_left:
        case ["-m", "pytest" | "py.test", *arguments]:
            return RunnerCall("pytest", (*warnings, *arguments))
        case ["-m", "unittest", *arguments]:
            return RunnerCall("unittest", tuple(arguments))
    return None


def _call_of_node(words: list[str]) -> RunnerCall | None:
    if not any(word == "--test" for word in words):
        return None
    return RunnerCall("node", tuple(word for word in words if word != "--test"))


def files_in_command(call: RunnerCall) -> tuple[str, ...]:
    """Files and folders of the project that the command itself names. If it names none, the folder in which it starts;
    none if it starts at the top."""
    files = _files_in_arguments(call)
    if not call.folder:
        return files
    return tuple(posixpath.normpath(f"{call.folder}/{file}") for file in files) or (call.folder,)


def with_files_for_patterns(call: RunnerCall, known_paths: Iterable[str]) -> RunnerCall:
    """The call with patterns such as `test_*.py` replaced by the files that they match, as a shell does. Only calls of
    pytest and unittest change: other runners read patterns themselves. A pattern that matches nothing stays."""
    if call.runner not in ("pytest", "unittest"):
        return call
    folder_prefix = f"{call.folder}/" if call.folder else ""
    paths = sorted(path.removeprefix(folder_prefix) for path in known_paths if path.startswith(folder_prefix))
    options_with_value = _UNITTEST_VALUES if call.runner == "unittest" else _PYTEST_VALUES
    arguments: list[str] = []
    for word, before in zip(call.arguments, ("", *call.arguments), strict=False):
        pattern = word.removeprefix("./")
        is_pattern = (
            before not in options_with_value
            and word[:1] != "-"
            and "::" not in word
            and not {"*", "?"}.isdisjoint(word)
        )
        matching = [path for path in paths if is_pattern and _matches_in_shell(path, pattern)]
        arguments += matching or [word]
    return replace(call, arguments=tuple(arguments))


def _matches_in_shell(path: str, pattern: str) -> bool:
    path_parts, pattern_parts = path.split("/"), pattern.split("/")
    return len(path_parts) == len(pattern_parts) and all(map(fnmatchcase, path_parts, pattern_parts))


def _call_of_tsx(words: list[str]) -> RunnerCall | None:
    """Node's runner with a loader of TypeScript, if the command is `tsx --test …`; None for any other command."""
    call = _call_of_node(["--import", "tsx", *words])
    if call is None or "--tsconfig" not in call.arguments:
        return call
    at = call.arguments.index("--tsconfig")
    value = call.arguments[at + 1 : at + 2]
    arguments = (*call.arguments[:at], *call.arguments[at + 2 :])
    return replace(call, arguments=arguments, variables={"TSX_TSCONFIG_PATH": value[0]}) if value else None


def _files_in_arguments(call: RunnerCall) -> tuple[str, ...]:
    words = list(call.arguments)
    if call.runner == "node":
        return tuple(file for file in node_options(words)[1] if not any(sign in file for sign in "*?["))
    options_with_value = _UNITTEST_VALUES if call.runner == "unittest" else _PYTEST_VALUES
    positional = [
        word
        for word, before in zip(words, ["", *words], strict=False)
        if before not in options_with_value and word[:1] != "-"
    ]
    if call.runner == "unittest":
        tests = [name for name in positional if name.endswith(".py") or ".test_" in f".{name}"]
        return tuple(map(_module_file, tests)) if "discover" not in words else ()
    if call.runner != "pytest":
        return ()
    paths = [word.partition("::")[0] for word in positional]
    return tuple(
        dict.fromkeys(path for path in paths if "/" in path or path.endswith(".py") or path in ("test", "tests"))
    )


def _module_file(name: str) -> str:
    """The file of a dotted name: `tests/test_core.py` for `tests.test_core.Numbers.test_half`."""
    if name.endswith(".py"):
        return name
    parts = name.split(".")
    module_at = next(at for at, part in enumerate(parts) if part.startswith("test_"))
    return "/".join(parts[: module_at + 1]) + ".py"


def node_options(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Node's own options in these arguments, and the files that the arguments name."""
    options: list[str] = []
    files: list[str] = []
    words_left = list(arguments)
    while words_left:
        word = words_left.pop(0)
        if not word.startswith("-"):
            files.append(word)
            continue
        options.append(word)
        if word in _NODE_VALUES and words_left:
            options.append(words_left.pop(0))
    return options, files
