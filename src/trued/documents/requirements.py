"""A requirements file (TOML, YAML or JSON): the user's own requirements and checks, each with its line."""

import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..errors import BadInput
from ..located import Located, nearest, read_json, read_text, read_toml, read_yaml
from ..located.spots import Spot
from ..types import (
    CallCase,
    Case,
    Check,
    CommandCheck,
    Environment,
    ExamplesCheck,
    ManualCheck,
    Requirement,
    Requirements,
    RunCase,
    Source,
    TestsCheck,
)

M = TypeVar("M", bound=BaseModel)

TOP = ("requirements", "environment")
FIELDS = ("id", "text", "covers", "supersedes", "keep", "checks")
CHECKS: dict[str, type[TestsCheck | CommandCheck | ManualCheck]] = {
    "tests": TestsCheck,
    "command": CommandCheck,
    "manual": ManualCheck,
}
KINDS = ("tests", "examples", "command", "manual")
LATER = ("browser", "http", "serve", "from")  # of the public shape, and not read yet
ID_LIMIT = 80

READERS: dict[str, Callable[[str, str], Located]] = {
    ".toml": read_toml,
    ".json": read_json,
    ".yaml": read_yaml,
    ".yml": read_yaml,
}


def load_requirements(path: Path) -> Requirements:
    return parse_requirements(read_text(path), str(path))


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
    found: dict[str, Requirement] = {}
    for number in range(len(entries)):
        one = _requirement(located, ("requirements", number))
        if one.id in found:
            first = found[one.id].source.line
            where = located.where("requirements", number, "id")
            raise BadInput(f"requirement {one.id} is there twice, first on line {first}", where, "give it another id")
        found[one.id] = one
    return Requirements(file=file, environment=environment, requirements=tuple(found.values()))


def schema() -> dict[str, Any]:
    """JSON Schema of a requirements file, for editors and other tools."""
    whole = Requirements.model_json_schema()
    whole["title"], whole["description"] = "Requirements", "A requirements file of trued."
    whole["properties"].pop("file")
    requirement = whole["$defs"]["Requirement"]
    requirement["properties"].pop("source")
    requirement["properties"]["checks"]["minItems"] = 1
    whole["properties"]["requirements"]["minItems"] = 1
    whole["$defs"].pop("Source")
    whole["$defs"]["CallCase"]["oneOf"] = [{"required": ["returns"]}, {"required": ["raises"]}]
    for name in ("TestsCheck", "ExamplesCheck", "CommandCheck", "ManualCheck"):
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
    return made


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
    if kind in LATER:
        raise BadInput(f"checks of kind {kind} are not in this version", located.where(*spot, "kind"), _kinds())
    if kind not in KINDS:
        what = f"{kind!r} is no kind of check" if "kind" in fields else "a check has no kind"
        raise BadInput(what, located.where(*spot, "kind"), _kinds())
    if kind != "examples":
        check = _build(CHECKS[kind], located, spot, f"the {kind} check")
        if not isinstance(check, ManualCheck):
            _timed(check.within_s, located, spot)
            _paths(check.files, located, spot)
            _whole(check.command or "", f"the command of the {kind} check", located.where(*spot, "command"))
        return check
    _known(located, spot, ("kind", "cases"), "the examples check: ")
    entries = _list(located, (*spot, "cases"), "cases", fields.get("cases"))
    return ExamplesCheck(cases=tuple(_case(located, (*spot, "cases", number)) for number in range(len(entries))))


def _kinds() -> str:
    return f"kinds are {', '.join(KINDS)}"


def _case(located: Located, spot: Spot) -> Case:
    fields = _mapping(located, spot, "a case")
    where = located.where(*spot)
    if "http" in fields:
        raise BadInput("http cases are not in this version", where, "use call or run")
    if ("call" in fields) == ("run" in fields):
        what = "both call and run" if "call" in fields else "neither call nor run"
        raise BadInput(f"a case has {what}", where, 'give one: call: "module:function", or run: [program, arguments]')
    return _call(located, spot, fields) if "call" in fields else _run(located, spot)


def _call(located: Located, spot: Spot, fields: dict[str, Any]) -> CallCase:
    case = _build(CallCase, located, spot, "the case")
    raises = fields.get("raises") is not None
    if ("returns" in fields) == raises:
        what = "both returns and raises" if raises else "neither returns nor raises"
        raise BadInput(f"the case has {what}", located.where(*spot), "say what must come of the call, one of them")
    module, _, name = case.call.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        where = located.where(*spot, "call")
        raise BadInput(f"{case.call!r} cannot be called", where, 'write "package.module:function"')
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
        if key in LATER:
            raise BadInput(f"{of}{key} is not in this version", located.where(*spot, key), "leave it out")
        if key not in known:
            raise BadInput(f"{of}unknown key {key}", located.where(*spot, key), nearest(str(key), known))


def _build(model: type[M], located: Located, spot: Spot, what: str) -> M:
    fields = _mapping(located, spot, what)
    _known(located, spot, tuple(model.model_fields), f"{what}: ")
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
