"""What people said of a run, and what waits for their word, as remarks."""

from typing import TYPE_CHECKING

from trued.model import Event

if TYPE_CHECKING:
    from trued.reporting.views.progress import Progress


def approved(seen: "Progress", event: Event) -> None:
    data = event.data
    seen.question = None if event.key else seen.question  # asked at the terminal, it is answered
    what = "the contract" if data.get("requirement") == "*" else data.get("requirement")
    where = f" at {str(data['commit'])[:10]}" if data.get("commit") else ""
    seen.remark(event, f"{data.get('who')} {event.kind} {what}{where}: {data.get('why')}")


def parked(seen: "Progress", event: Event) -> None:
    seen.question = None
    seen.remark(event, f"{event.data.get('requirement')} waits for somebody who looks at it; the run goes on without")


def left_open(seen: "Progress", event: Event) -> None:
    seen.question = None


def not_asked(seen: "Progress", event: Event) -> None:
    seen.question = None
    seen.remark(event, f"not asked at this terminal: {event.data.get('why')}")


def too_late(seen: "Progress", event: Event) -> None:
    data = event.data
    seen.question = None
    seen.remark(event, f"{data.get('first')} had decided {data.get('requirement')} before {data.get('who')} did")
