"""Finds the Chromium that checks use, and says what to install if there is none."""

import importlib.util
import os
import shutil
from functools import lru_cache
from pathlib import Path

from trued.proof.room.browser_stage import CHROMIUM_KIND, DRIVER_KIND

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ADVICE = "pip install 'trued[browser]', and a Chromium: apt install chromium, or playwright install chromium"
DRIVER_ADVICE = "pip install 'trued[browser]'"
NO_DRIVER = "playwright is not installed"
NO_CHROMIUM = "there is no Chromium"


def find_chromium() -> tuple[str, str]:
    """The path of Chromium, and "". If Chromium or Playwright is missing: "", and a sentence that says what is missing
    and how to install it."""
    if not _has_driver():
        return "", f"{NO_DRIVER}: {DRIVER_ADVICE}"
    program = _program(os.environ.get("PATH", os.defpath))
    return program, "" if program else f"{NO_CHROMIUM}: {ADVICE}"


def missing_kind() -> str:
    """The kind of failure to record for cases that cannot be judged, if `find_chromium` found something missing."""
    return CHROMIUM_KIND if _has_driver() else DRIVER_KIND


def _has_driver() -> bool:
    return importlib.util.find_spec("playwright") is not None


@lru_cache(maxsize=4)
def _program(path: str) -> str:
    on_path = (shutil.which(name, path=path) for name in PROGRAMS)
    home = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    playwrights_own = sorted(str(program) for program in home.glob("chromium-*/chrome-linux*/chrome"))
    return next(filter(None, (*on_path, *reversed(playwrights_own))), "")


def chromium_folders(program: str) -> tuple[str, ...]:
    """The folders outside /usr that a sandbox must show so that Chromium can start."""
    real = Path(program).resolve()
    return () if real.is_relative_to("/usr") else (str(real.parent),)
