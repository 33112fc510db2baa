"""feature_list.json: the features to build, one at a time, each with the status that the engine found."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Field, StrictBool, StrictFloat, StrictInt

from trued.errors import BadInput
from trued.inputs.validation import rule, validate
from trued.model import Check, ManualCheck, Requirement, Source, TestsCheck, Value
from trued.support.foreign_json import parse_json
from trued.support.lazy_regex import lazy_regex
from trued.support.located import Located, nearest, read_json
from trued.support.located.spots import Spot
from trued.support.plain_text import plain, unix_lines

NAME = "feature_list.json"
Method: TypeAlias = Literal["automated", "e2e", "manual"]
FeatureStatus: TypeAlias = Literal["not_started", "in_progress", "completed", "failed"]
TOTALS = ("total_features", "completed", "in_progress", "failed", "not_started")
# Fields that only the engine writes.
STATUS = (
    "passes",
    "status",
    "tests_passing",
    "tests_total",
    "coverage",
    "assigned_to",
    "started_at",
    "last_tested",
    "agent_notes",
)
RANKS = {"critical": 0.0, "high": 1.0, "medium": 2.0, "low": 3.0}
UNKNOWN = RANKS["medium"]  # an unknown priority counts as medium
NOT_NULL = ("description", "passes")  # any other field may be null, which means the same as leaving it out
NULLS = ("coverage", "assigned_to", "started_at", "last_tested")  # written as null if there is no value
ID_LIMIT = 80
NOTE_LIMIT = 4000  # characters of a failed check's output: every coder reads them first
_ID = lazy_regex(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")


def _number_as_text(value: Any) -> Any:
    """An integer as text, because people also write ids as numbers: `"id": 3`. Any other value is returned as it is."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Name: TypeAlias = Annotated[str, BeforeValidator(_number_as_text, json_schema_input_type=str | int)]
CommandLine: TypeAlias = Annotated[
    str, rule(lambda command: "\0" not in command, "it has a NUL character in it", "leave it out")
]
Count: TypeAlias = Annotated[int, Field(ge=0, le=10**9)]


class Feature(Value):
    """One thing that the finished project does: a test specification, not a to-do."""

    id: Name = Field(default="", max_length=ID_LIMIT, description="its name; generated from its position if missing")
    category: str = Field(default="functional", description="what kind of feature it is, in the project's own words")
    description: str = Field(pattern=r"\S", description="what must hold, in the user's words")
    priority: StrictInt | StrictFloat | str = Field(
        default="medium", description="critical, high, medium or low; or a number, 1 first"
    )
    steps: tuple[str, ...] = Field(default=(), description="how to see that it holds, step by step")
    passes: StrictBool = Field(default=False, description="proven, attested or already satisfied; set by the engine")
    status: FeatureStatus | None = Field(default=None, description="its state; only the engine writes it")
    tests_passing: Count = Field(default=0, description="counted by the engine")
    tests_total: Count = Field(default=0, description="counted by the engine")
    coverage: float | None = Field(
        default=None, ge=0, le=100, allow_inf_nan=False, description="per cent, measured by the engine"
    )
    assigned_to: str = Field(default="", description="the agent that works on it, or worked on it last")
    started_at: str = Field(default="", description="when work on it began")
    last_tested: str = Field(default="", description="when its checks were run last")
    agent_notes: str = Field(default="", description="what the last failed check reported, for the next agent")
    test_command: CommandLine = Field(default="", description="the command that runs the feature's tests")
    verification_method: Method = Field(
        default="automated", description="counted tests, tests in a real browser, or a named person"
    )
    verification_tool: str = Field(default="", description="pytest, playwright, puppeteer, human, or another runner")
    depends_on: tuple[Name, ...] = Field(default=(), description="ids of features that must hold before it is started")
    more: dict[str, Any] = Field(default_factory=dict)  # other fields of the file; kept
    line: int = 0  # number of its line in the file

    @property
    def state(self) -> FeatureStatus:
        """The effective state: only `passes` makes a feature completed, whatever `status` says."""
        if self.passes:
            return "completed"
        if self.status is None:
            return "in_progress" if self.started_at else "not_started"
        return "in_progress" if self.status == "completed" else self.status

    @property
    def rank(self) -> float:
        """The priority as a number; the lowest comes first."""
        if not isinstance(self.priority, str):
            return self.priority - 1
        word = self.priority.strip().casefold()
        if re.fullmatch(r"p?\d{1,6}", word):
            return float(word.removeprefix("p")) - 1
        return RANKS.get(word, UNKNOWN)


class FeatureList(Value):
    """Features in their order. Totals are counted, never read from the file."""

    features: tuple[Feature, ...]
    more: dict[str, Any] = Field(default_factory=dict)

    @property
    def totals(self) -> dict[str, int]:
        states = [feature.state for feature in self.features]
        return {name: len(states) if name == "total_features" else states.count(name) for name in TOTALS}  # type: ignore[arg-type]

    def __getitem__(self, name: str) -> Feature:
        return next(feature for feature in self.features if feature.id == name)

    def with_feature(self, feature: Feature) -> "FeatureList":
        """The list with this feature in place of the feature that has the same id."""
        return self.model_copy(
            update={"features": tuple(feature if other.id == feature.id else other for other in self.features)}
        )


class Blocked(Value):
    """A feature that will not be started, because a feature that it depends on failed."""

    feature: str
    by: str  # the failed feature
    why: str


# -- reading


def parse_feature_list(text: str, file: str = NAME) -> FeatureList:
    """Parse a feature list in any form: an object with or without totals, or a bare list. Missing ids are generated.
    Raises `BadInput`, with the line of the mistake."""
    located = read_json(text, file)
    value, spot = located.value, Spot()
    if isinstance(value, dict):
        if "features" not in value:
            raise BadInput("there is no list of features", located.where(), 'write {"features": […]}')
        more = {key: part for key, part in value.items() if key != "features" and key not in TOTALS}
        value, spot = value["features"], ("features",)
    else:
        more = {}
    if not isinstance(value, list):
        raise BadInput("`features` is not a list", located.where(*spot), "write a list of features")
    if not value:
        raise BadInput("the list of features is empty", located.where(*spot), "name at least one feature")
    parsed = [_feature(located, spot, value, number) for number in range(len(value))]
    features = _with_ids(parsed, located, spot)
    _check_dependencies(features, located, spot)
    return FeatureList(features=tuple(features), more=more)


def is_feature_list(text: str) -> bool:
    """Whether a text is meant to be a feature list, even if it has mistakes."""
    value = parse_json(text.removeprefix("\ufeff"))
    entries = value.get("features") if isinstance(value, dict) else value
    return isinstance(entries, list) and all(isinstance(entry, dict) and "description" in entry for entry in entries)


_KNOWN = tuple(name for name in Feature.model_fields if name not in ("more", "line"))


def _feature(located: Located, spot: Spot, entries: list[Any], number: int) -> Feature:
    """The feature `entries[number]`. Keys that are not known are kept in `more`; a null counts as a missing key."""
    entry, where = entries[number], (*spot, number)
    if not isinstance(entry, dict):
        raise BadInput("a feature is not an object", located.where(*where), 'write {"description": …, "steps": […]}')
    if not str(entry.get("description") or "").strip():
        raise BadInput("a feature has no description", located.where(*where, "description"), "write what must be true")
    more = {key: part for key, part in entry.items() if key not in _KNOWN}
    entries[number] = {
        key: part for key, part in entry.items() if key in _KNOWN and (part is not None or key in NOT_NULL)
    }
    made = validate(Feature, located, where, subjects={Feature: "the feature"})
    return made.model_copy(update={"more": more, "line": located.line(*where)})


def is_id(name: str) -> bool:
    """Whether a name can be part of a branch name, a commit trailer and a file name."""
    sound = _ID.fullmatch(name) is not None and ".." not in name and not name.endswith(".lock")
    return sound and len(name) <= ID_LIMIT


def _with_ids(parsed: list[Feature], located: Located, spot: Spot) -> list[Feature]:
    first: dict[str, Feature] = {}
    for number, feature in enumerate(parsed):
        where = located.where(*spot, number, "id")
        if feature.id and not is_id(feature.id):
            raise BadInput(
                f"{feature.id[:ID_LIMIT]!r} is not a valid id", where, "use letters, digits, '.', '_' and '-'"
            )
        if feature.id in first:
            line = first[feature.id].line
            raise BadInput(f"feature {feature.id} appears twice, first on line {line}", where, "give it another id")
        if feature.id:
            first[feature.id] = feature
    taken, features = set(first), list[Feature]()
    for number, feature in enumerate(parsed, 1):
        name = feature.id or next(made for made in _id_candidates(number) if made not in taken)
        taken.add(name)
        features.append(feature if feature.id else feature.model_copy(update={"id": name}))
    return features


def _id_candidates(number: int) -> Iterator[str]:
    yield f"feat_{number:03}"
    turn = 2
    while True:
        yield f"feat_{number:03}_{turn}"
        turn += 1


def _check_dependencies(features: list[Feature], located: Located, spot: Spot) -> None:
    names = {feature.id: number for number, feature in enumerate(features)}
    for number, feature in enumerate(features):
        for position, name in enumerate(feature.depends_on):
            if name not in names:
                where = located.where(*spot, number, "depends_on", position)
                then = nearest(name, list(names)[:20])
                raise BadInput(f"feature {feature.id} depends on {name!r}, which is not in the list", where, then)
    try:
        TopologicalSorter({feature.id: feature.depends_on for feature in features}).prepare()
    except CycleError as error:
        ring = list(reversed(error.args[1]))  # reversed: graphlib lists a dependency before the feature that needs it
        where = located.where(*spot, names[ring[0]], "depends_on")
        raise BadInput(
            f"features wait for each other: {' → '.join(ring)}", where, "remove one of these dependencies"
        ) from error


# -- writing


def render(features: FeatureList) -> str:
    """The file's text. The same list always gives the same bytes."""
    whole = {**_others(features.more, ("features", *TOTALS)), **features.totals}
    whole["features"] = [_entry(feature) for feature in features.features]
    text = json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False)
    return text.encode("utf-8", "replace").decode() + "\n"


def _entry(feature: Feature) -> dict[str, Any]:
    known = {name: getattr(feature, name) for name in _KNOWN} | {"status": feature.state}
    for name in NULLS:
        known[name] = known[name] if known[name] != "" else None
    if not feature.depends_on:
        del known["depends_on"]
    return {**known, **_others(feature.more, _KNOWN)}


def _others(more: dict[str, Any], known: Sequence[str]) -> dict[str, Any]:
    return {key: part for key, part in more.items() if key not in known}


def trimmed(output: str) -> str:
    """A check's output for `agent_notes`, as plain text. A long output is cut in the middle, and more of its end is
    kept than of its beginning."""
    text = plain(unix_lines(output)).strip()
    if len(text) <= NOTE_LIMIT:
        return text
    begin, end = text[: NOTE_LIMIT // 4], text[-(NOTE_LIMIT - NOTE_LIMIT // 4) :]
    return f"{begin.rstrip()}\n[… {len(text) - NOTE_LIMIT} characters left out …]\n{end.lstrip()}"


# -- publishing


def schema() -> dict[str, Any]:
    """JSON Schema of the file in all its forms, for editors and other tools."""
    feature = Feature.model_json_schema()
    properties = {name: feature["properties"][name] for name in _KNOWN}
    properties["status"] = {**properties["status"], "enum": list(get_args(FeatureStatus))}
    for name, schema in properties.items():
        kinds = schema.pop("anyOf", None)
        if kinds is not None:
            schema["type"] = [kind["type"] for kind in kinds if kind["type"] != "null"]
            schema |= {key: part for kind in kinds for key, part in kind.items() if key not in ("type", "enum")}
        if name not in NOT_NULL:
            schema["type"] = [*([schema["type"]] if isinstance(schema["type"], str) else schema["type"]), "null"]
            schema |= {"enum": [*schema["enum"], None]} if "enum" in schema else {}
        schema["title"] = name.replace("_", " ")
    features = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/feature"}}
    totals = {name: {"description": "counted by the engine, never read"} for name in TOTALS}
    whole = {"type": "object", "properties": {**totals, "features": features}, "required": ["features"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Feature list",
        "description": "What is to be built, one feature at a time. Only `description` is required.",
        "anyOf": [whole, features],
        "$defs": {
            "feature": {
                "title": "feature",
                "description": "A test specification: what must hold, and how to see that it does.",
                "type": "object",
                "properties": properties,
                "required": ["description"],
            }
        },
    }


# -- choosing


def upcoming(features: FeatureList, holding: Collection[str] = (), *, aside: Collection[str] = ()) -> Feature | None:
    """The next feature to build, by priority and then by position, among those whose dependencies are all built. None
    if no feature can be started.

    `holding`: built features that wait only for a person; other features may depend on them as if they passed. `aside`:
    features to skip, because they are built and cannot be judged yet.
    """
    done = {feature.id for feature in features.features if feature.passes} | set(holding)
    open_ = [
        feature for feature in features.features if feature.id not in {*done, *aside} and feature.state != "failed"
    ]
    ready = [feature for feature in open_ if all(name in done for name in feature.depends_on)]
    return min(ready, key=lambda feature: feature.rank, default=None)


def blocked(features: FeatureList) -> tuple[Blocked, ...]:
    """Features that depend on a failed feature, directly or not, each with the reason."""
    by_name = {feature.id: feature for feature in features.features}
    order = TopologicalSorter({feature.id: feature.depends_on for feature in features.features}).static_order()
    blocked_features: dict[str, Blocked] = {}
    for name in order:
        feature = by_name[name]
        for needed in feature.depends_on if feature.state not in ("completed", "failed") else ():
            if needed in blocked_features:
                by = blocked_features[needed].by
                blocked_features[name] = Blocked(
                    feature=name, by=by, why=f"it needs {needed}, which waits for {by}, which failed"
                )
                break
            if by_name[needed].state == "failed":
                blocked_features[name] = Blocked(feature=name, by=needed, why=f"it needs {needed}, which failed")
                break
    return tuple(blocked_features[feature.id] for feature in features.features if feature.id in blocked_features)


# -- proving


def requirement_of(feature: Feature, file: str = NAME) -> Requirement:
    """The feature as a requirement: description and steps, verbatim. A manual feature is checked by a person, any other
    feature by its test command. Without a test command the requirement has no check."""
    return Requirement(
        id=feature.id,
        text="\n".join((feature.description, *feature.steps)),
        source=Source(file=file, line=feature.line),
        checks=tuple(_checks(feature)),
    )


def _checks(feature: Feature) -> Iterator[Check]:
    command = feature.test_command.strip()
    if feature.verification_method == "manual":
        yield ManualCheck(steps=tuple(step for step in feature.steps if step.strip()) or (feature.description,))
    elif command and feature.verification_method == "e2e":
        yield TestsCheck(command=command, network="loopback", e2e=True)
    elif command:
        yield TestsCheck(command=command)
