"""Rounds of a ticket as remarks: what was found, what was touched beyond what was named, what nobody could look at."""

from typing import TYPE_CHECKING

from trued.model import Event

if TYPE_CHECKING:
    from trued.reporting.views.progress import Progress


def found(seen: "Progress", event: Event) -> None:
    data = event.data
    number = len(data.get("issues") or ())
    says = f"{number} issue{'' if number == 1 else 's'}" if number else "nothing found"
    seen.remark(event, f"round {data.get('number')}: {says}; {data.get('fate')}", warning=bool(number))


def mended(seen: "Progress", event: Event) -> None:
    for one in event.data.get("beyond") or ():
        why = one.get("why") or "no reason was given"
        seen.remark(event, f"changed beyond the named files: {one.get('path')} ({why})", warning=True)


def preview(seen: "Progress", event: Event) -> None:
    url, why = event.data.get("url"), event.data.get("why")
    if why:
        seen.remark(event, f"preview{f' {url}' if url else ''}: {why}", warning=True)


def claimed(seen: "Progress", event: Event) -> None:
    names = ", ".join(map(str, event.data.get("pictures") or ())) or "none that is a picture"
    seen.remark(event, f"{event.data.get('role')} handed in pictures, as its claim: {names}")
