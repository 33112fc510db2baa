"""A requirements file (TOML, YAML or JSON): the user's own requirements and checks, each with its line."""

import base64
import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from trued.errors import BadInput
from trued.model import (
    BrowserCheck,
    CallCase,
    Case,
    Check,
    CommandCheck,
    Environment,
    ExamplesCheck,
    HttpCase,
    HttpRequest,
    ManualCheck,
    Requirement,
    Requirements,
    RunCase,
    Serve,
    Source,
    TestsCheck,
    is_node,
)
from trued.support.located import Located, nearest, read_json, read_text, read_toml, read_yaml
from trued.support.located.spots import Spot

M = TypeVar("M", bound=BaseModel)

TOP = ("requirements", "environment", "serve", "interface")
FIELDS = ("id", "text", "covers", "supersedes", "keep", "checks")
CHECKS: dict[str, type[TestsCheck | BrowserCheck | CommandCheck | ManualCheck]] = {
    "tests": TestsCheck,
    "browser": BrowserCheck,
    "command": CommandCheck,
    "manual": ManualCheck,
}
KINDS = ("tests", "examples", "browser", "command", "manual")
CASES: dict[str, type[Case]] = {"call": CallCase, "run": RunCase, "http": HttpCase}
CARRIED_BYTES = 16 * 2**20  # of all files that come with a contract
ID_LIMIT = 80

READERS: dict[str, Callable[[str, str], Located]] = {
    ".toml": read_toml,
    ".json": read_json,
    ".yaml": read_yaml,
    ".yml": read_yaml,
}


def load_requirements(path: Path) -> Requirements:
    """The file, with what its checks bring along from folders beside it."""
    asked = parse_requirements(read_text(path), str(path))
    return asked.model_copy(update={"carried": carried(asked, path.parent)})


def parse_requirements(text: str, file: str) -> Requirements:
    """The file's requirements; the end of its name says what it is written in."""
    suffix = PurePosixPath(file).suffix.lower()
    if suffix not in READERS:
        raise BadInput(f"{file} is no requirements file", then=f"its name must end in {', '.join(READERS)}")
    located = READERS[suffix](text, file)
    top = _mapping(located, (), "the file")
    _known(located, (), TOP, "")
    entries = _list(located, ("requirements",), "requirements", top.get("requirements"))
    environment = _environment(located, ("environment",)) if "environment" in top else Environment()
    serve = _serve(located, ("serve",)) if "serve" in top else None
    interface = _interface(located) if "interface" in top else ()
    found: dict[str, Requirement] = {}
    for number in range(len(entries)):
        one = _requirement(located, ("requirements", number))
        if one.id in found:
            first = found[one.id].source.line
            where = located.where("requirements", number, "id")
            raise BadInput(f"requirement {one.id} is there twice, first on line {first}", where, "give it another id")
        found[one.id] = one
    made = Requirements(
        file=file, environment=environment, serve=serve, interface=interface, requirements=tuple(found.values())
    )
    _served(made)
    return made


def _served(asked: Requirements) -> None:
    """Pages and exchanges need a server, and only the contract may name it."""
    for one in asked.requirements:
        for check in one.checks:
            exchanges = isinstance(check, ExamplesCheck) and any(isinstance(case, HttpCase) for case in check.cases)
            if asked.serve is None and (exchanges or isinstance(check, BrowserCheck)):
                what = f"requirement {one.id} needs a server, and the file has no `serve`"
                raise BadInput(what, str(one.source), "add serve: {command: [program, arguments], port_env: PORT}")


def schema() -> dict[str, Any]:
    """JSON Schema of a requirements file, for editors and other tools."""
    whole = Requirements.model_json_schema()
    whole["title"], whole["description"] = "Requirements", "A requirements file of trued."
    whole["properties"].pop("file")
    requirement = whole["$defs"]["Requirement"]
    for name in ("source", "parts", "proposed", "author", "aside"):  # the engine's own to set
        requirement["properties"].pop(name)
    whole["$defs"]["HttpCase"]["properties"].pop("setup")
    requirement["properties"]["checks"]["minItems"] = 1
    whole["properties"]["requirements"]["minItems"] = 1
    whole["$defs"].pop("Source")
    whole["$defs"]["CallCase"]["oneOf"] = [{"required": ["returns"]}, {"required": ["raises"]}]
    for name in ("carried", "suites", "unguarded"):
        whole["properties"].pop(name)
    for name in ("TestsCheck", "ExamplesCheck", "BrowserCheck", "CommandCheck", "ManualCheck"):
        whole["$defs"][name].setdefault("required", []).insert(0, "kind")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}


# -- parts


def _environment(located: Located, spot: Spot) -> Environment:
    made = _build(Environment, located, spot, "environment")
    for name, value in made.variables.items():
        where = located.where(*spot, "variables", name)
        if not name or "=" in name or "\0" in name:
            raise BadInput(f"{name!a} cannot be the name of a variable", where, "leave out '=' and what is invisible")
        _whole(value, f"the value of the variable {name}", where)
    for number, command in enumerate(made.prepare):
        _whole(command, "a command to prepare", located.where(*spot, "prepare", number))
    for number in range(len(made.services)):
        _serve(located, (*spot, "services", number))
    return made


def _serve(located: Located, spot: Spot) -> Serve:
    made = _build(Serve, located, spot, "the server")
    if not made.command or not made.command[0]:
        raise BadInput("the server has no command", located.where(*spot, "command"), "write [program, arguments]")
    for number, word in enumerate(made.command):
        _whole(word, "a word of the server's command", located.where(*spot, "command", number))
    if not made.port_env.isidentifier():
        where = located.where(*spot, "port_env")
        raise BadInput(f"{made.port_env!r} cannot be the name of a variable", where, "write, for example, PORT")
    _timed(made.ready.within_s, located, (*spot, "ready"))
    return made


def _interface(located: Located) -> tuple[str, ...]:
    names = _list(located, ("interface",), "interface", located.value["interface"])
    for number, name in enumerate(names):
        if not isinstance(name, str) or not name.strip():
            where = located.where("interface", number)
            raise BadInput(
                "an entry of the interface is no name", where, 'write, for example, "textkit.slug:slugify(text)"'
            )
    return tuple(names)


def carried(asked: Requirements, folder: Path) -> dict[str, str]:
    """Files that come with the contract, by their place in the project. No link out of the folder is followed."""
    found: dict[str, str] = {}
    for one in asked.requirements:
        for check in one.checks:
            if isinstance(check, TestsCheck) and check.from_:
                found |= _from(folder / check.from_, check, one)
    if sum(map(len, found.values())) > CARRIED_BYTES * 4 // 3:
        raise BadInput("the folders named by `from` hold more than 16 MiB", asked.file, "name only what the tests need")
    return dict(sorted(found.items()))


def _from(folder: Path, check: TestsCheck, requirement: Requirement) -> dict[str, str]:
    if not folder.is_dir():
        raise BadInput(f"there is no folder {folder}", str(requirement.source), "`from` names it beside this file")
    inside = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    root = folder.resolve()
    names = {str(path.relative_to(folder)): path for path in inside if path.resolve().is_relative_to(root)}
    wanted = [name for name in names if not check.files or any(_below(name, one) for one in check.files)]
    if not wanted:
        what = f"{folder} holds none of the files of requirement {requirement.id}"
        raise BadInput(what, str(requirement.source), "lay them there as they are to lie in the project")
    return {name: base64.b64encode(_bytes(names[name])).decode() for name in wanted}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error


def _below(path: str, named: str) -> bool:
    clean = named.removeprefix("./").rstrip("/")
    return path == clean or path.startswith(f"{clean}/")


def _whole(text: str, what: str, where: str) -> None:
    """Text that a process can be given."""
    if "\0" in text:
        raise BadInput(f"{what} has a NUL character in it", where, "leave it out")


def _requirement(located: Located, spot: Spot) -> Requirement:
    fields = _mapping(located, spot, "a requirement")
    _known(located, spot, FIELDS, "")
    name = fields.get("id")
    if not isinstance(name, str) or not _is_id(name):
        if "id" not in fields:
            raise BadInput("a requirement has no id", located.where(*spot), "name it, for example: id: slug")
        then = "use letters, digits, '.', '_' and '-', in quotation marks if it is a number"
        raise BadInput(f"{name!r} is no id", located.where(*spot, "id"), then)
    if not isinstance(fields.get("text", ""), str) or not fields.get("text", "").strip():
        where = located.where(*spot, "text")
        raise BadInput(f"requirement {name} has no text", where, "say in words what must hold")
    checks: tuple[Check, ...] = ()
    if "checks" in fields:
        entries = _list(located, (*spot, "checks"), f"the checks of {name}", fields["checks"])
        checks = tuple(_check(located, (*spot, "checks", number)) for number in range(len(entries)))
    plain = {key: value for key, value in fields.items() if key != "checks"}
    made = _validated(Requirement, plain, located, spot, f"requirement {name}")
    source = Source(file=located.file, line=located.line(*spot))
    return made.model_copy(update={"checks": checks, "source": source})


def _is_id(name: str) -> bool:
    return 0 < len(name) <= ID_LIMIT and all(char.isalnum() or char in "._-" for char in name)


def _check(located: Located, spot: Spot) -> Check:
    fields = _mapping(located, spot, "a check")
    kind = fields.get("kind")
    if kind not in KINDS:
        what = f"{kind!r} is no kind of check" if "kind" in fields else "a check has no kind"
        raise BadInput(what, located.where(*spot, "kind"), _kinds())
    if kind != "examples":
        check = _build(CHECKS[kind], located, spot, f"the {kind} check")
        _sound(check, located, spot)
        return check
    _known(located, spot, ("kind", "cases"), "the examples check: ")
    entries = _list(located, (*spot, "cases"), "cases", fields.get("cases"))
    return ExamplesCheck(cases=tuple(_case(located, (*spot, "cases", number)) for number in range(len(entries))))


def _sound(check: TestsCheck | BrowserCheck | CommandCheck | ManualCheck, located: Located, spot: Spot) -> None:
    if isinstance(check, ManualCheck):
        return
    _timed(check.within_s, located, spot)
    if isinstance(check, BrowserCheck):
        _local(check.page, located, (*spot, "page"))
        if not (check.sees or check.hides or check.tree or check.url is not None or check.quiet):
            what = "the browser check expects nothing of the page"
            raise BadInput(what, located.where(*spot), "say what it sees, hides, or where it leads")
        return
    _paths(check.files, located, spot)
    _whole(check.command or "", f"the command of the {check.kind} check", located.where(*spot, "command"))
    if isinstance(check, TestsCheck):
        _paths(tuple(filter(None, (check.report,))), located, spot)
        _whole(check.from_, "from", located.where(*spot, "from"))


def _local(path: str, located: Located, spot: Spot) -> None:
    """Only the server of the contract is asked, and a request line is one line."""
    if not path.startswith("/") or path.startswith("//") or any(ord(char) <= 32 or ord(char) == 127 for char in path):
        then = 'write it from "/" on, without blanks (%20)'
        raise BadInput(f"{path!r} is no path of the server", located.where(*spot), then)


def _kinds() -> str:
    return f"kinds are {', '.join(KINDS)}"


def _case(located: Located, spot: Spot) -> Case:
    fields = _mapping(located, spot, "a case")
    where = located.where(*spot)
    kinds = [name for name in CASES if name in fields]
    if len(kinds) != 1:
        what = f"both {' and '.join(kinds)}" if kinds else "neither call, run nor http"
        then = 'give one: call: "module:function", run: [program, arguments], or http: {path: "/"}'
        raise BadInput(f"a case has {what}", where, then)
    if "call" in fields:
        return _call(located, spot, fields)
    return _run(located, spot) if "run" in fields else _http(located, spot, fields)


def _http(located: Located, spot: Spot, fields: dict[str, Any]) -> HttpCase:
    _build(HttpRequest, located, (*spot, "http"), "the request")
    case = _build(HttpCase, located, spot, "the case")
    _local(case.http.path, located, (*spot, "http", "path"))
    if not case.http.method.isalpha():
        raise BadInput(f"{case.http.method!r} is no method", located.where(*spot, "http", "method"), "GET, POST, …")
    for name, value in case.http.headers.items():
        if (
            not name
            or any(ord(char) <= 32 or char in ":\x7f" for char in name)
            or any(char in "\r\n\0" for char in value)
        ):
            where = located.where(*spot, "http", "headers", name)
            raise BadInput(f"{name!a} is no header", where, "a name without blanks, a value in one line")
    if not {"status", "json", "body", "headers"} & set(fields):
        raise BadInput("the case expects nothing", located.where(*spot), "give status, json, body or headers")
    _timed(case.within_s, located, spot)
    return case


def _call(located: Located, spot: Spot, fields: dict[str, Any]) -> CallCase:
    case = _build(CallCase, located, spot, "the case")
    raises = fields.get("raises") is not None
    if ("returns" in fields) == raises:
        what = "both returns and raises" if raises else "neither returns nor raises"
        raise BadInput(f"the case has {what}", located.where(*spot), "say what must come of the call, one of them")
    module, _, name = case.call.rpartition(":") if is_node(case.call) else case.call.partition(":")
    parts = name.split(".") if is_node(case.call) else (*module.split("."), *name.split("."))
    if not all(part.isidentifier() for part in parts):
        where = located.where(*spot, "call")
        raise BadInput(f"{case.call!r} cannot be called", where, 'write "package.module:function" or "path.js:name"')
    if is_node(case.call):
        _paths((module,), located, spot)
    _timed(case.within_s, located, spot)
    return case


def _run(located: Located, spot: Spot) -> RunCase:
    case = _build(RunCase, located, spot, "the case")
    if not case.run or not case.run[0]:
        raise BadInput("run names no program", located.where(*spot, "run"), "write run: [program, arguments]")
    for number, word in enumerate(case.run):
        _whole(word, "a word of run", located.where(*spot, "run", number))
    _timed(case.within_s, located, spot)
    _paths(tuple(case.files), located, spot)
    return case


def _timed(within_s: float, located: Located, spot: Spot) -> None:
    if within_s <= 0:
        raise BadInput("within_s is not more than 0", located.where(*spot, "within_s"), "give a time in seconds")


def _paths(names: tuple[str, ...], located: Located, spot: Spot) -> None:
    for name in names:
        path = PurePosixPath(name)
        if not name or path.is_absolute() or ".." in path.parts or "\0" in name:
            where = located.where(*spot, "files")
            raise BadInput(f"{name!r} is no path inside the project", where, "name it from the project's folder")


# -- shapes


def _at(located: Located, spot: Spot) -> Any:
    value = located.value
    for part in spot:
        value = value[part]
    return value


def _mapping(located: Located, spot: Spot, what: str) -> dict[str, Any]:
    value = _at(located, spot)
    if not isinstance(value, dict):
        raise BadInput(f"{what} is {_named(value)}, not fields by name", located.where(*spot), "write key: value")
    return value


def _list(located: Located, spot: Spot, what: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        missing = "missing" if value is None else _named(value)
        raise BadInput(f"{what}: {missing} where a list should be", located.where(*spot), "write a list")
    if not value:
        raise BadInput(f"{what}: the list is empty", located.where(*spot), "write at least one, or leave it out")
    return value


def _known(located: Located, spot: Spot, known: tuple[str, ...], of: str) -> None:
    for key in _at(located, spot):
        if key not in known:
            raise BadInput(f"{of}unknown key {key}", located.where(*spot, key), nearest(str(key), known))


def _build(model: type[M], located: Located, spot: Spot, what: str) -> M:
    fields = _mapping(located, spot, what)
    names = tuple(field.alias or name for name, field in model.model_fields.items())
    _known(located, spot, names, f"{what}: ")
    return _validated(model, fields, located, spot, what)


def _validated(model: type[M], fields: dict[str, Any], located: Located, spot: Spot, what: str) -> M:
    """Strictly: "0" is no number here. By way of JSON, where a list may become a tuple and nothing else changes."""
    try:
        return model.model_validate_json(json.dumps(fields), strict=True)
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(str(part) for part in problem["loc"])
        where = located.where(*spot, *problem["loc"])
        if problem["type"] == "missing":
            raise BadInput(f"{what} has no {name}", where, f"add {name}") from error
        message = problem["msg"].replace("Input should be", "it should be")
        raise BadInput(f"{what}, {name}: {message}", where, "mend the value") from error


def _named(value: Any) -> str:
    kinds = {dict: "fields by name", list: "a list", str: "text", bool: "yes or no", int: "a number", float: "a number"}
    return kinds.get(type(value), "nothing")
