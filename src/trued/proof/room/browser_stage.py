"""What tests that drive a browser need in their room: Chromium, Playwright, and a folder for pictures."""

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from trued.proof.room.interpreter import Interpreter

DRIVER = ("playwright", "greenlet", "pyee", "typing_extensions")  # Playwright, and what some of its versions need
# Kinds of failure, one for each missing program, because a sealed contract keeps the kind of a failure and no sentence.
DRIVER_KIND, CHROMIUM_KIND = "program playwright", "program chromium"
# Environment variables in which tools of other runners look for a browser.
NAMED = ("CHROME_PATH", "CHROMIUM_PATH", "CHROME_BIN", "PUPPETEER_EXECUTABLE_PATH")


@dataclass(frozen=True, slots=True)
class BrowserStage:
    """The browser for one run of one check, and the packages supplied for it."""

    chromium: str
    folder: str  # a temporary folder with a short path, because a socket's path has at most 107 bytes
    readable: tuple[str, ...] = ()
    supplied: Mapping[str, str] = field(default_factory=dict)  # the engine's own Playwright, if the project has none
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def kept(self) -> Path:
        """The folder for pictures and recordings."""
        return Path(self.folder) / "kept"

    @property
    def variables(self) -> dict[str, str]:
        """Variables by which tools of all runners find the browser."""
        return {"TMPDIR": self.folder, **dict.fromkeys(NAMED, self.chromium)}


def _own_version(package: str) -> str:
    from importlib.metadata import version  # imported only if needed, because it is slow and few checks have a page

    return version(package)


@contextmanager
def set_up_stage(chromium: str, readable: tuple[str, ...], supplied: Mapping[str, str]) -> Iterator[BrowserStage]:
    """A stage for one run of one check; its folder is removed afterwards."""
    versions = {"playwright": f"{_own_version('playwright')} (supplied by the engine)"} if supplied else {}
    with TemporaryDirectory(prefix="trued-e2e-") as folder:
        stage = BrowserStage(chromium, folder, (*readable, *supplied.values()), supplied, versions)
        stage.kept.mkdir()
        yield stage


def playwright_packages(interpreter: Interpreter, site: tuple[str, ...]) -> tuple[dict[str, str], str]:
    """The engine's own Playwright (name → path) for an interpreter that has none, and "". If the engine's Playwright
    cannot be used: {}, and why. If the interpreter has Playwright: {}, and ""."""
    if "playwright" in interpreter.versions or any((Path(folder) / "playwright").is_dir() for folder in site):
        return {}, ""
    if interpreter.version[:2] != sys.version_info[:2]:
        engines_version = ".".join(map(str, sys.version_info[:2]))
        why = f"playwright is not installed in {interpreter.path}, and trued's own copy needs Python {engines_version}"
        return {}, f"{why}: declare playwright among the project's test dependencies"
    return {name: place for name in DRIVER if (place := _place(name))}, ""


def _place(name: str) -> str:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.origin:
        return ""
    origin = Path(spec.origin)
    return str(origin.parent if origin.name == "__init__.py" else origin)
