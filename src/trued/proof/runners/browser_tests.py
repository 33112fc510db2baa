"""Tests that drive a browser: they get a real Chromium. Pictures and recordings of at most 20 tests of a run are kept;
failing tests come first."""

import os
import stat
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from trued.model import Outcomes, Shot, Tried
from trued.proof.room.bench import Bench, CaseSelection, Fact, keepable_text, unjudged_fact
from trued.proof.room.browser_stage import playwright_packages, set_up_stage
from trued.proof.room.chromium import chromium_folders, find_chromium, missing_kind

MOST = 20  # at most this many tests of one run keep pictures; failing tests come first
MOST_BYTES = 4 * 2**20  # the most bytes of one picture or recording
ALL_BYTES = 32 * 2**20


def missing_browser(bench: Bench, selection: CaseSelection, *, python: bool) -> Fact | None:
    """The fact to record if Chromium or Playwright is missing, with what to install; None if neither is missing.
    `python`: the tests need Playwright for Python."""
    _, lack = find_chromium()
    if lack:
        return unjudged_fact(lack, missing_kind(), selection)
    _, lack_of_playwright = playwright_packages(bench.interpreter, bench.site) if python else ({}, "")
    return unjudged_fact(lack_of_playwright, "module playwright", selection) if lack_of_playwright else None


@asynccontextmanager
async def with_browser(bench: Bench, *, python: bool) -> AsyncIterator[Bench]:
    """The bench with a browser for tests. No server is started."""
    chromium, _ = find_chromium()
    supplied, _ = playwright_packages(bench.interpreter, bench.site) if python else ({}, "")
    with set_up_stage(chromium, chromium_folders(chromium), supplied) as stage:
        variables = {**bench.variables, **stage.variables}
        yield replace(bench, stage=stage, variables=variables, plain={**bench.plain, **stage.variables})


async def with_pictures(bench: Bench, fact: Fact, records: Iterable[dict[str, Any]]) -> Fact:
    """The fact with the pictures and recordings of up to `MOST` of its tests, failing tests first. Those that are too
    large are left out; each of the others is stored under the hash of its content."""
    if bench.stage is None:
        return fact
    shots = [record for record in records if isinstance(record.get("test"), str) and "shot" in record]
    shots.sort(key=lambda record: _passed(fact.tried, str(record["test"])))
    artifacts, pictures, left = dict(fact.artifacts), list[Shot](), ALL_BYTES
    for shot in shots[:MOST]:
        picture, trace = (_read(bench.stage.kept, str(shot.get(part, "")), left) for part in ("shot", "trace"))
        left -= len(picture) + len(trace)
        name = keepable_text(str(shot["test"]))[:200]
        hashes = {
            f"{name}{end}": await bench.workspace.save_artifact(content)
            for end, content in ((".png", picture), (".zip", trace))
            if content
        }
        artifacts |= hashes
        if f"{name}.png" in hashes:
            pictures.append(_shot(shot, name, hashes))
    versions = {**fact.versions, **bench.stage.versions, **_version(shots)}
    notes = (*fact.notes, *(f"playwright {version}" for version in bench.stage.versions.values()))
    return replace(fact, artifacts=artifacts, pictures=tuple(pictures), versions=versions, notes=notes)


def _passed(tried: Sequence[Tried], name: str) -> bool:
    return all(attempt.outcome is Outcomes.PASSED for attempt in tried if attempt.id == name)


def _shot(record: dict[str, Any], name: str, hashes: dict[str, str]) -> Shot:
    url = keepable_text(str(record.get("url", "")))[:500]
    return Shot(
        name=f"{name}.png",
        sha256=hashes[f"{name}.png"],
        page=_place(url),
        url=url,
        viewport=keepable_text(str(record.get("viewport", "")))[:20],
        test=name,
        trace=hashes.get(f"{name}.zip", ""),
    )


def _place(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}" if parts.scheme.startswith("http") else url


def _version(shots: Sequence[dict[str, Any]]) -> dict[str, str]:
    version = next((shot["chromium"] for shot in shots if isinstance(shot.get("chromium"), str)), "")
    return {"chromium": keepable_text(version)[:50]} if version else {}


def _read(folder: Path, name: str, left: int) -> bytes:
    """Read a picture or recording of at most `left` bytes. Tests could have replaced it, so the result is b"" unless it
    is a regular file of the right format and not too large."""
    if not name or "/" in name or not name.endswith((".png", ".zip")):
        return b""
    try:
        with os.fdopen(os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            most = min(MOST_BYTES, left)
            content = file.read(most + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return b""
    magic = b"\x89PNG" if name.endswith(".png") else b"PK"
    return content if len(content) <= most and content.startswith(magic) else b""
