"""Validate part of a file with a pydantic model and report the first problem as one sentence with its line."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath
from types import UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, Tag, ValidationError
from pydantic_core import ErrorDetails

from trued.errors import BadInput
from trued.support.located import Located, nearest
from trued.support.located.spots import Spot

M = TypeVar("M", bound=BaseModel)

Subjects: TypeAlias = Mapping[type, str]  # a model → what messages call it, for example "the server"

NO_SUBJECTS: Subjects = {}
FIX = "fix the value"
KINDS = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
KEY = "[key]"  # the last part of pydantic's location if a dictionary's key, not its value, is wrong


class RuleBroken(ValueError):
    """Raised by validators: what is wrong with a value, and what to write instead."""

    def __init__(self, what: str, then: str = FIX) -> None:
        super().__init__(what)
        self.what, self.then = what, then


def rule(is_valid: Callable[[str], bool], what: str, then: str) -> AfterValidator:
    """A validator that refuses text for which `is_valid` is false. In `what`, {!r} stands for the text."""

    def check(text: str) -> str:
        if not is_valid(text):
            raise RuleBroken(what.format(text), then)
        return text

    return AfterValidator(check)


def is_project_path(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts and "\0" not in name


IN_PROJECT = ("{!r} is not a path inside the project", "write it relative to the project's folder")
ProjectPath: TypeAlias = Annotated[str, rule(is_project_path, *IN_PROJECT)]


def validate(
    model: type[M], located: Located, spot: Spot = (), *, noun: str = "key", subjects: Subjects = NO_SUBJECTS
) -> M:
    """Build `model` from the value at `spot`, strictly: "0" is not a number.

    `noun`: what messages call a key, for example "setting". `subjects`: what messages call the parts of the file.
    Raises BadInput with the line of the problem that is nested least deeply.
    """
    value = located.value
    for part in spot:
        value = value[part]
    try:  # as JSON, because pydantic then accepts a list for a tuple, but still converts nothing else
        return model.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        problem = _outermost(error)
        place = _Place(model, problem["loc"], subjects)
        what, then = _sentence(problem, place, noun)
        tag = ("kind",) if problem["type"] == "union_tag_invalid" else ()
        raise BadInput(what, located.where(*spot, *place.spot, *tag), then) from error


def explain(error: ValidationError) -> tuple[str, str]:
    """What is wrong with a value that does not come from a file, and what to do."""
    problem = _outermost(error)
    return _explanation(problem, ".".join(map(str, problem["loc"])))


def _outermost(error: ValidationError) -> ErrorDetails:
    """The problem that is nested least deeply in the file. If one key is unknown and another is missing, returns the
    unknown key, because it may be the missing key misspelled."""
    problems = error.errors(include_url=False)
    # pydantic also calls a list too short if none of its items is valid: then the items are the problem
    real = [problem for problem in problems if problem["type"] != "too_short" or not problem["input"]]
    return min(real, key=lambda problem: (len(problem["loc"]), problem["type"] != "extra_forbidden"))


class _Place:
    """The place of a problem in the file. Unlike pydantic's location, it has no tags of unions."""

    def __init__(self, model: type[BaseModel], loc: tuple[str | int, ...], subjects: Subjects) -> None:
        self._subjects = subjects
        self.spot: Spot = ()
        self.keys: tuple[str, ...] = ()  # known keys on the level of the last part
        self.subject = ""  # the name, from `subjects`, of the innermost part around the problem
        self.path: tuple[str | int, ...] = ()  # the path from `subject` on
        self.type: Any = None  # what the model expects here
        self._enter(model)
        for part in loc:
            if part == KEY:
                break
            if _is_union(self.type):
                self._enter(_members(self.type).get(str(part)))
            else:
                self._step(part)

    def _enter(self, expected: Any) -> None:
        self.type = _bare(expected)
        if isinstance(self.type, type) and self.type in self._subjects:
            self.subject, self.path = self._subjects[self.type], ()

    def _step(self, part: str | int) -> None:
        fields = getattr(self.type, "model_fields", {})
        known = {field.alias or name: field.annotation for name, field in fields.items()}
        inner = known.get(str(part)) if known else (*get_args(self.type), None)[get_origin(self.type) is dict]
        self.spot, self.path, self.keys = (*self.spot, part), (*self.path, part), tuple(known)
        self._enter(inner)

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (self.subject, _dotted(self.path)))) or "the file"


def _dotted(path: Iterable[str | int]) -> str:
    return ".".join(map(str, path))


def _is_union(expected: Any) -> bool:
    return get_origin(expected) in (Union, UnionType)


def _bare(expected: Any) -> Any:
    """The type itself, without what Annotated and `| None` add to it."""
    if get_origin(expected) is Annotated:
        return _bare(get_args(expected)[0])
    if _is_union(expected):
        others = [option for option in get_args(expected) if option is not type(None)]
        return _bare(others[0]) if len(others) == 1 else expected
    return expected


def _members(union: Any) -> dict[str, Any]:
    """The members of a discriminated union by their tags."""
    found: dict[str, Any] = {}
    for member in get_args(union):
        tags = [mark.tag for mark in getattr(member, "__metadata__", ()) if isinstance(mark, Tag)]
        kind = getattr(member, "model_fields", {}).get("kind")
        found |= dict.fromkeys(tags or (get_args(kind.annotation) if kind else ()), member)
    return found


# -- sentences


def _sentence(problem: ErrorDetails, place: _Place, noun: str) -> tuple[str, str]:
    kind, given = problem["type"], KINDS.get(type(problem["input"]), "empty")
    if kind == "extra_forbidden":
        subject = f"{place.subject}: " if place.subject else ""
        return f"{subject}unknown {noun} {_dotted(place.path)}", nearest(str(place.spot[-1]), place.keys)
    if kind == "missing":
        *around, name = place.path
        return f"{_dotted(around) or place.subject or 'the file'} has no {name}", f"add {name}"
    if kind in ("model_type", "dict_type"):
        if noun == "setting":
            return f"{place.name} is not a table", f"write [{_dotted(place.spot)}] and keys below it"
        return f"{place.name} should be a mapping, not {given}", "write key: value"
    if kind == "tuple_type":
        return f"{place.name} should be a list, not {given}", "write a list"
    if kind == "too_short":
        return f"{place.name}: the list is empty", "write at least one, or leave it out"
    if kind == "union_tag_not_found":
        return f"{place.name} has no kind", f"kinds are {', '.join(_members(place.type))}"
    return _explanation(problem, place.name)


def _explanation(problem: ErrorDetails, name: str) -> tuple[str, str]:
    context = problem.get("ctx", {})
    if isinstance(broken := context.get("error"), RuleBroken):
        return f"{name}: {broken.what}", broken.then
    options = re.findall(r"'([^']*)'", context.get("expected", "") or context.get("expected_tags", ""))
    if problem["type"] == "union_tag_invalid":
        return f"{name}: unknown kind {context['tag']!r}", nearest(context["tag"], options)
    message = problem["msg"].replace("Input should", "it should").removeprefix("Value error, ")
    if problem["type"] == "bool_type":
        return f"{name}: it should be true or false", FIX
    if problem["type"] == "string_type" and isinstance(problem["input"], bool | int | float):
        return f"{name}: {message}", "put it in quotation marks"
    return f"{name}: {message}", nearest(str(problem["input"]), options) if options else FIX
