"""Find commands that may start a project's server, from the project's files. The likeliest command comes first."""

import re
import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from trued.inputs.project.manifests import PackageManifest, Read, make_targets, makefile_of
from trued.model import Serve
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import json_table

PORT = "PORT"  # the environment variable that most platforms and frameworks use
MOST_READ = 80  # source files that are read, those nearest to the root first
DEEP = 3  # how many levels of folders are searched for source files
SCRIPTS = ("start", "serve", "dev", "preview")  # scripts of package.json, the most usual first
TARGETS = ("serve", "start", "run", "dev")  # targets of a Makefile
SITES = ("", "public", "site", "www", "web")  # folders searched for a static site
# Servers that take their port only from the command line.
_PORT_OPTION = lazy_regex(r"(?:^|[\s/])(?:vite|astro|ng|webpack|webpack-dev-server|parcel)(?:\s|$)")
_SHELL = lazy_regex(r"[|&;<>`(){}\[\]*?~#\n]|\$(?!\{?PORT\b)")
_PORT_WORD = lazy_regex(r"\$\{PORT(?::-\d+)?\}|\$PORT\b")
_READS_PORT = lazy_regex(r"(?:environ(?:\.get)?|getenv)\s*[\[(]\s*[\"'](\w*PORT)[\"']|process\.env\.(\w*PORT)\b")
_ASGI = lazy_regex(r"^(\w+)\s*(?::[^=\n]+)?=\s*(?:\w+\.)?(?:FastAPI|Starlette|Quart|Litestar)\(", re.MULTILINE)
_WSGI = lazy_regex(r"^(\w+)\s*(?::[^=\n]+)?=\s*(?:flask\.)?Flask\(", re.MULTILINE)
_FACTORY = lazy_regex(r"^def (create_app|make_app)\(", re.MULTILINE)
_MAIN = lazy_regex(r"^if __name__ == ['\"]__main__['\"]", re.MULTILINE)
_ASIDE = lazy_regex(r"\..*|(?:test|example|doc|script|tool|fixture|migration)s?|node_modules|vendor|venv|dist|build")


@dataclass(frozen=True, slots=True)
class StartCommand:
    """A command that may start the project, and the file that it was found in."""

    serve: Serve
    where: str

    @property
    def command_line(self) -> str:
        """The command as text: `python -m flask --app shop run --port {port}`."""
        return " ".join(word if "{port}" in word else shlex.quote(word) for word in self.serve.command)


def start_command_sources(paths: Collection[str]) -> tuple[str, ...]:
    """The files whose text is needed to find the start commands."""
    declaring = [path for path in ("Procfile", "package.json", makefile_of(paths)) if path in paths]
    source = [path for path in paths if path.endswith((".py", ".js", ".mjs", ".cjs", ".ts")) and _is_near(path)]
    return (*declaring, *sorted(source, key=lambda path: (path.count("/"), path))[:MOST_READ])


def start_commands(paths: Collection[str], read: Read, configured: str = "") -> tuple[StartCommand, ...]:
    """The commands that may start the server, each once, the likeliest first. `configured`: the user's own command
    (`[commands] start`), which comes before all others."""
    every = [
        *_configured_start(configured),
        *_procfile(read("Procfile")),
        *_scripts(paths, read),
        *_python(paths, read),
    ]
    every += [*_node_files(paths, read), *_make(paths, read), *_site(paths)]
    return tuple({candidate.serve.command: candidate for candidate in reversed(every)}.values())[::-1]


def _serve(command: list[str], where: str, port_env: str = PORT) -> StartCommand:
    return StartCommand(Serve(command=tuple(command), port_env=port_env), where)


def _configured_start(command: str) -> Iterator[StartCommand]:
    if words := _plain_words(command):
        yield _serve(words, "[commands] start")


def _procfile(text: str | None) -> Iterator[StartCommand]:
    match = re.search(r"^web:\s*(\S.*)$", text or "", re.MULTILINE)
    if match and (words := _plain_words(match[1])):
        yield _serve(words, "Procfile")


def _plain_words(line: str) -> list[str]:
    """The words of a command line, with {port} for `$PORT`; an empty list if it needs a shell."""
    if _SHELL.search(_PORT_WORD.sub("", line)):
        return []
    try:
        return shlex.split(_PORT_WORD.sub("{port}", line))
    except ValueError:
        return []


# -- Node --------------------------------------------------------------------------------------------------------------


def _scripts(paths: Collection[str], read: Read) -> Iterator[StartCommand]:
    scripts = PackageManifest.of(json_table(read("package.json") or "")).scripts
    port_env = next(filter(None, (_port_variable(read(path)) for path in paths if _is_script(path))), PORT)
    for name in SCRIPTS:
        if line := scripts.get(name):
            option = ["--", "--port", "{port}"] if _PORT_OPTION.search(line) else []
            yield _serve(["npm", *(["start"] if name == "start" else ["run", name]), *option], "package.json", port_env)


def _node_files(paths: Collection[str], read: Read) -> Iterator[StartCommand]:
    for path in sorted(filter(_is_script, paths)):
        text = read(path) or ""
        if "/" not in path and (port_env := _port_variable(text)) and ".listen(" in text:
            yield _serve(["node", path], path, port_env)


def _is_script(path: str) -> bool:
    return path.endswith((".js", ".mjs", ".cjs", ".ts")) and _is_near(path)


# -- Python ------------------------------------------------------------------------------------------------------------


def _python(paths: Collection[str], read: Read) -> Iterator[StartCommand]:
    if "manage.py" in paths:
        yield _serve(["python", "manage.py", "runserver", "--noreload", "127.0.0.1:{port}"], "manage.py")
    sources = [path for path in start_command_sources(paths) if path.endswith(".py")]
    texts = {path: read(path) or "" for path in sources}
    for path in sources:
        yield from _applications(path, texts[path])
    for path in sources:
        yield from _programs(path, texts)


def _applications(path: str, text: str) -> Iterator[StartCommand]:
    """Start commands for the applications that a file defines, if their framework has a command that starts them."""
    module = _module(path)
    if (match := _WSGI.search(text)) or ("Flask(" in text and (match := _FACTORY.search(text))):
        yield _flask(f"{module}:{match[1]}", path)
    if match := _ASGI.search(text):
        yield _serve(["python", "-m", "uvicorn", f"{module}:{match[1]}", "--port", "{port}"], path)
    elif re.search(r"\b(?:FastAPI|Starlette|Quart|Litestar)\(", text) and (match := _FACTORY.search(text)):
        yield _serve(["python", "-m", "uvicorn", "--factory", f"{module}:{match[1]}", "--port", "{port}"], path)


def _flask(application: str, path: str) -> StartCommand:
    return _serve(["python", "-m", "flask", "--app", application, "run", "--port", "{port}"], path)


def _programs(path: str, texts: dict[str, str]) -> Iterator[StartCommand]:
    """The start command of a program that reads its port from an environment variable: a script, or a package started
    by `-m`."""
    folder, name = str(PurePosixPath(path).parent), PurePosixPath(path).name
    if name == "__main__.py" and folder != ".":
        beside = (texts[file] for file in texts if file.startswith(f"{folder}/"))
        if port_env := next(filter(None, map(_port_variable, beside)), ""):
            yield _serve(["python", "-m", _module(path).removesuffix(".__main__")], path, port_env)
    elif folder == "." and (port_env := _port_variable(texts[path])) and _serves(texts[path]):
        yield _serve(["python", path], path, port_env)


def _serves(text: str) -> bool:
    """Whether the file is a program that can be started, and not only a module to import."""
    return bool(_MAIN.search(text) or re.search(r"\.(?:serve_forever|run|listen|run_forever)\(", text))


def _module(path: str) -> str:
    parts = PurePosixPath(path).with_suffix("").parts
    parts = parts[1:] if parts[0] == "src" and len(parts) > 1 else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


# -- the rest ----------------------------------------------------------------------------------------------------------


def _make(paths: Collection[str], read: Read) -> Iterator[StartCommand]:
    file = makefile_of(paths)
    text = (read(file) if file else "") or ""
    for target in TARGETS:
        if target in make_targets(text):
            yield _serve(["make", target, "PORT={port}"], file)


def _site(paths: Collection[str]) -> Iterator[StartCommand]:
    for folder in SITES:
        page = f"{folder}/index.html" if folder else "index.html"
        if page in paths:
            command = ["python", "-m", "http.server", "{port}", "--bind", "127.0.0.1", "--directory", folder or "."]
            yield _serve(command, page)
            return


def _port_variable(text: str | None) -> str:
    match = _READS_PORT.search(text or "")
    return (match[1] or match[2]) if match else ""


def _is_near(path: str) -> bool:
    *folders, name = path.split("/")
    return len(folders) <= DEEP and not any(map(_ASIDE.fullmatch, folders)) and not name.startswith("test_")
