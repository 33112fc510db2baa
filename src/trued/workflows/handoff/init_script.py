"""init.sh: a script that sets a project up, any number of times, and prints how to test and start it."""

import hashlib
import shlex
from collections.abc import Collection, Iterator, Sequence
from importlib.resources import files

from trued.inputs.project.manifests import Project, Read, projects
from trued.support.redaction import single_line

SCRIPT = "init.sh"
COMMAND_LIMIT = 8000  # characters of one command line; a longer one is a program and belongs in a file
MADE = "# Made by trued for this project as it was found. Edit it as you need; then it is not made anew."
MARK = "# sha256 of what follows: "
_CONTROLS = {code: " " for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}


def init_script(
    paths: Collection[str], read: Read, *, start: str = "", test: str = "", more: Sequence[str] = ()
) -> str:
    """The script. Text from outside is quoted; only the commands in `more` are run, each in a shell of its own."""
    found = projects(paths, read)
    body = "\n".join(_body(found, _short_line(start), _short_line(test), [one for one in map(_command, more) if one]))
    return f"#!/usr/bin/env bash\n{MADE}\n{MARK}{_digest(body)}\n{body}"


def is_untouched(script: str) -> bool:
    """Whether the script is still as generated: then it may be replaced when the project has grown."""
    _, _, rest = script.partition(f"\n{MARK}")
    digest, _, body = rest.partition("\n")
    return bool(digest) and digest == _digest(body)


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()


def _body(found: Sequence[Project], start: str, test: str, more: list[str]) -> Iterator[str]:
    languages, tools = {one.language for one in found}, {one.tool for one in found if one.tool}
    yield _functions("head")
    if tools:
        yield _functions("installing")
    if any(one.language == "python" and one.tool for one in found):
        yield _functions("python")
    if "python" in languages:
        yield _functions("importable")
    if "node" in languages:
        yield _functions("resolvable")
    if tools:
        folders = (*((".venv/", "*.egg-info/") if "python" in languages else ()), "node_modules/")
        yield f"ignored {shlex.join(folders)}\n"
    for one in found:
        yield "\n".join((*(_python(one, test) if one.language == "python" else _node(one)), ""))
    if not found and not more:
        yield "say 'There is nothing to set up yet: no manifest of a Python or Node project was found.'\n"
    yield "\n".join(_closing(found, start, test, more)) + "\n"


def _functions(name: str) -> str:
    """The text of shell functions that later lines of the script call."""
    return files(__package__).joinpath("init_script_parts", f"{name}.sh").read_text(encoding="utf-8")


def _python(one: Project, test: str) -> Iterator[str]:
    yield _print_statement(f"Python{_in_folder(one)}: {one.tool or 'no manifest, nothing to install'}")
    yield "need python3 'Python 3 with its venv module'"
    if not one.tool:
        yield "importable python3"
        if "pytest" in (test or one.test):
            missing = (
                "  pytest is not installed for python3: add a requirements.txt that names it, and run init.sh again"
            )
            yield f"python3 -c 'import pytest' 2>/dev/null || {_print_statement(missing)}"
        return
    yield "("
    yield f"  cd -- {shlex.quote(one.folder)}"
    yield "  own .venv"
    if one.tool != "pip":
        yield f'  {one.tool}() {{ command "${{brought:-{one.tool}}}" "$@"; }}'
    yield f'  now="$(stamp "$(python3 --version)" {shlex.join(one.files)})"'
    yield "  settled"
    yield '  if [ "$(kept .venv)" != "$now" ]; then'
    yield f"    {'venv' if one.tool == 'pip' else f'bring {one.tool}'}"
    for arguments in one.commands:
        yield f"    {_install_command(one.tool)} {shlex.join(arguments)}"
    if "pytest" in (test or one.test) and one.tool == "pip":  # the test runner is often not declared
        yield "    .venv/bin/python -c 'import pytest' 2>/dev/null ||"
        yield "      .venv/bin/python -m pip install --quiet --retries 1 --timeout 10 pytest ||"
        yield "      say '  pytest is not among the dependencies, and could not be installed'"
    yield "    place >.venv/.init-place"
    yield "    printf '%s\\n' \"$now\" >.venv/.init-stamp"
    yield "  else"
    yield "    say '  installed already'"
    yield "  fi"
    yield "  importable .venv/bin/python"
    yield ")"


def _install_command(tool: str) -> str:
    """The command of a tool that makes it install into .venv."""
    return {
        "pip": ".venv/bin/python -m pip --quiet",
        "uv": "UV_PROJECT_ENVIRONMENT=.venv uv",
        "poetry": "POETRY_VIRTUALENVS_IN_PROJECT=true POETRY_VIRTUALENVS_CREATE=true poetry",
        "pipenv": "PIPENV_VENV_IN_PROJECT=1 PIPENV_IGNORE_VIRTUALENVS=1 pipenv",
    }[tool]


def _node(one: Project) -> Iterator[str]:
    yield _print_statement(f"Node{_in_folder(one)}: {one.tool}")
    yield "need node 'Node.js'"
    if one.tool in ("pnpm", "yarn"):
        yield f"works {one.tool} || works corepack || fail '{one.tool} is missing: install it or corepack'"
    else:
        yield f"need {one.tool} '{'Node.js with npm' if one.tool == 'npm' else one.tool}'"
    yield "("
    yield f"  cd -- {shlex.quote(one.folder)}"
    yield "  own node_modules"
    yield f'  now="$(stamp "$(node --version)" {shlex.join(one.files)})"'
    yield '  if [ "$(kept node_modules)" != "$now" ]; then'
    for arguments in one.commands:
        call = f"{one.tool} {shlex.join(arguments)} >&2"
        by_corepack = one.tool in ("pnpm", "yarn")
        yield f"    if works {one.tool}; then {call}; else corepack {call}; fi" if by_corepack else f"    {call}"
    yield "    mkdir -p node_modules"
    yield "    printf '%s\\n' \"$now\" >node_modules/.init-stamp"
    yield "  else"
    yield "    say '  installed already'"
    yield "  fi"
    yield "  resolvable"
    yield ")"


def _closing(found: Sequence[Project], start: str, test: str, more: list[str]) -> Iterator[str]:
    places = [one for one in found if one.tool]
    for one in reversed(places if more else []):
        inside = "" if one.folder == "." else f"/{one.folder}"
        programs = f"{inside}/.venv/bin" if one.language == "python" else f"{inside}/node_modules/.bin"
        yield f'PATH="$PWD"{shlex.quote(programs)}":$PATH"'
    for command in more:
        yield _print_statement(f"Also: {_short_line(command)}")
        failed = shlex.quote(f"this failed: {_short_line(command)}")
        yield f"bash -euo pipefail -c {shlex.quote(command)} || fail {failed}"
    tests = [test] if test else [one.test for one in found if one.test]
    starts = [start] if start else [one.start for one in found if one.start]
    yield _print_statement("Ready.")
    for one in places:
        if one.language == "python":
            inside = ".venv" if one.folder == "." else f"{one.folder}/.venv"
            yield _print_statement(
                f"Enter the environment, once in each shell: . {shlex.quote(f'{inside}/bin/activate')}"
            )
    yield _print_statement(f"Run the tests: {' and '.join(tests) or 'it is not known yet how'}")
    yield _print_statement(f"Start the app: {' and '.join(starts) or 'it is not known yet how'}")


def _in_folder(one: Project) -> str:
    return "" if one.folder == "." else f" in {one.folder}"


def _print_statement(words: str) -> str:
    return f"say {shlex.quote(_short_line(words))}"


def _short_line(words: str) -> str:
    return single_line(words, COMMAND_LIMIT)


def _command(text: str) -> str:
    """A command line without invisible characters; "" if it is too long to be run whole."""
    plain = text.replace("\r\n", "\n").translate(
        {code: word for code, word in _CONTROLS.items() if code not in (9, 10)}
    )
    plain = plain.encode("utf-8", "replace").decode().strip()
    return plain if len(plain) <= COMMAND_LIMIT else ""
