"""Events as a journal may hold them: of any kind, with any fields, whoever wrote them."""

from collections.abc import Callable

from trued.model.events import UnknownEvent
from trued.protocols import Journal


def writer(journal: Journal) -> Callable[..., None]:
    """A function that stores an event by its kind, key and fields, as an older version may have done."""

    def store(kind: str, key: str = "", /, **data: object) -> None:
        journal.emit(UnknownEvent(name=kind, data=data), key)

    return store
