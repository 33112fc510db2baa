"""Typed journal events: one frozen class per kind.

The journal stores an event as its kind and a JSON object (`trued.model.Event`). Writers build one of these classes, and
readers get an object of the same class back. Classes are grouped by who emits them: `run`, `call`, `proof`, `landing`,
`people`. Events of a single workflow are in `trued.workflows.<name>.events`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from trued.model.records import Event


class JournalEvent(BaseModel):
    """The base class of all kinds of events. Subclass it with `kind="…"`, the name that is stored.

    `shown`: the name that people read in logs, if the stored one no longer fits. `omits`: fields that are left out of
    the stored object while they have their default. All other fields are always stored.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True, defer_build=True)

    KIND: ClassVar[str] = ""
    SHOWN: ClassVar[str] = ""  # "": the stored name
    OMITS: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, kind: str = "", shown: str = "", omits: tuple[str, ...] = (), **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.KIND, cls.SHOWN, cls.OMITS = kind or cls.KIND, shown or cls.SHOWN, omits or cls.OMITS

    @property
    def stored_kind(self) -> str:
        """The kind that is stored."""
        return self.KIND

    def stored_data(self) -> dict[str, Any]:
        """The JSON object that is stored."""
        left_out = {name for name in self.OMITS if getattr(self, name) == type(self).model_fields[name].default}
        return self.model_dump(mode="json", by_alias=True, exclude=left_out)

    def redacted(self, redact: Callable[[Any], Any]) -> Self:
        """The same event without secrets."""
        return type(self).model_validate(redact(self.model_dump(mode="json", by_alias=True)))

    @classmethod
    def read(cls, stored: Event) -> Self | None:
        """A stored event of this kind; None if it is of another kind or cannot be read."""
        return cls.from_data(stored.data) if stored.kind == cls.KIND else None

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self | None:
        """Read a stored object. A field that is missing or has another type, as in older journals, gets its default or
        an empty value. Returns None if the object still cannot be read."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            wrong = {str(problem["loc"][0]) for problem in error.errors(include_url=False)} & cls.model_fields.keys()
        usable = {name: value for name, value in data.items() if name not in wrong}
        try:
            return cls.model_validate({**usable, **{name: cls._empty(name) for name in wrong}})
        except ValidationError:
            return None

    @classmethod
    def _empty(cls, name: str) -> object:
        field = cls.model_fields[name]
        return _empty_of(field.annotation) if field.is_required() else field.get_default(call_default_factory=True)


class UnknownEvent(JournalEvent):
    """An event without a class: it is from another version, or an agent's runtime emitted it."""

    name: str
    data: dict[str, Any] = {}

    @property
    def stored_kind(self) -> str:
        return self.name

    def stored_data(self) -> dict[str, Any]:
        return dict(self.data)


AnyEvent = TypeVar("AnyEvent", bound=JournalEvent)


def kinds(*classes: type[JournalEvent]) -> dict[str, type[JournalEvent]]:
    """Stored kind → class, for `parse`."""
    return {event_class.KIND: event_class for event_class in classes}


def parse(stored: Event, known: Mapping[str, type[JournalEvent]]) -> JournalEvent:
    """The typed form of a stored event, or an `UnknownEvent`. Never raises."""
    event = known[stored.kind].from_data(stored.data) if stored.kind in known else None
    return event or UnknownEvent(name=stored.kind, data=stored.data)


def of_kind(events: Iterable[Event], kind: type[AnyEvent]) -> Iterator[tuple[Event, AnyEvent]]:
    """The events of this kind, in the order of `events`, each in its stored and its typed form."""
    for stored in events:
        if (event := kind.read(stored)) is not None:
            yield stored, event


def _empty_of(annotation: Any) -> object:
    """The empty value of a type: "" for str, () for tuple, None for an optional type."""
    options = get_args(annotation)
    if type(None) in options:
        return None
    if get_origin(annotation) is Literal or "" in options:
        return ""
    origin = get_origin(annotation) or annotation
    if origin in (str, int, float, bool, tuple, dict):
        return origin()
    return next((empty for option in options if (empty := _empty_of(option)) is not None), None)
