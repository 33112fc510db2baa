"""The pictures of a page. A report embeds as many pictures as fit, and names the paths of the other pictures. The live
page loads each picture from an address."""

import base64
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from trued.model import Evidence, Picture
from trued.proof.screenshots import evidence_pictures
from trued.reporting.html.material import Material

MOST_BYTES = 6 * 2**20  # the most bytes of all pictures in one page; recordings may take as much again
ReadPicture = Callable[[str], bytes]


@dataclass(frozen=True)
class Figure:
    """One picture with its caption."""

    anchor: str
    title: str  # before, after
    page: str
    url: str
    viewport: str
    commit: str
    sha256: str
    test: str
    passed: bool
    says: tuple[str, ...]
    met: tuple[str, ...]
    image: str  # a data: address; "" if the picture is not embedded
    same: str  # the anchor of the same picture earlier in the page
    file: str
    trace: str
    trace_file: str


class Album:
    """The pictures of a page. A picture that appears again links to its first appearance."""

    def __init__(self, material: Material) -> None:
        self._read, self._folder = material.kept, material.folder / "artifacts"
        self._over = material.record.has_ended
        self._address = material.picture_address
        self._left = {"image/png": MOST_BYTES, "application/zip": MOST_BYTES}
        self._seen: dict[str, str] = {}

    def of(self, evidence: Iterable[Evidence]) -> tuple[Figure, ...]:
        """The pictures that may be shown (see `Evidence.shown`)."""
        shown = [fact.shown(over=self._over) for fact in evidence]
        return tuple(self._figure(picture) for picture in evidence_pictures(shown))

    def _figure(self, picture: Picture) -> Figure:
        same = self._seen.get(picture.sha256, "")
        anchor = f"picture-{len(self._seen) + 1}" if not same else ""
        self._seen.setdefault(picture.sha256, anchor)
        return Figure(
            anchor=anchor,
            title="before, on the base" if picture.side == "base" else "after, on the head",
            page=picture.page,
            url=picture.url,
            viewport=picture.viewport.replace("x", " × "),
            commit=picture.commit,
            sha256=picture.sha256,
            test=picture.test,
            passed=picture.passed,
            says=picture.says,
            met=picture.met,
            image="" if same else self._inside(picture.sha256, "image/png"),
            same=same,
            file=str(self._folder / picture.sha256),
            trace="" if same else self._inside(picture.trace, "application/zip"),
            trace_file=str(self._folder / picture.trace) if picture.trace else "",
        )

    def _inside(self, name: str, kind: str) -> str:
        if self._address:
            return f"{self._address}{name}" if name and kind == "image/png" else ""
        content = self._read(name) if name else b""
        if not content or len(content) > self._left[kind]:
            return ""
        self._left[kind] -= len(content)
        return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def reader(folder: Path) -> ReadPicture:
    """A function that reads a picture from a run's folder by its name; b"" if there is none or it is too large."""

    def read(name: str) -> bytes:
        path = folder / name
        if not name.isalnum() or not path.is_file() or path.stat().st_size > MOST_BYTES:
            return b""
        return path.read_bytes()

    return read
