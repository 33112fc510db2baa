"""Names what an environment lacks, and the line that brings it. Pure.

The name is safe to show to anybody: a case is unjudged only where the base lacks the same thing, or where a manifest of
the head declares it. What else a head says is missing is its own failure (`case_status.on_head`).
"""

from collections.abc import Iterable

from trued.model import (
    CallCase,
    Check,
    CommandCheck,
    ExamplesCheck,
    MissingFromEnvironment,
    Outcomes,
    TestsCheck,
    Tried,
    is_node,
)
from trued.proof.checks.browser import ADVICE
from trued.proof.gaps import NO_WORK
from trued.proof.room.bench import WHOLE
from trued.proof.room.dependencies import BROUGHT_BY
from trued.proof.room.node_modules import USES_NODE

TRY_AGAIN = "verify or resume again"
LONGEST = 300  # characters of what an installer or a preparation printed


def missing_part(check: Check, tried: Tried) -> MissingFromEnvironment:
    """What kept this case from being judged."""
    kind, _, name = tried.kind.partition(" ")
    if kind == "module" and name:
        return missing_module(name, node=_is_node(check))
    if tried.kind == "program chromium":
        what = tried.detail.removesuffix(f": {ADVICE}") or "there is no Chromium"
        return MissingFromEnvironment(name="chromium", what=what, fix=ADVICE)
    if kind == "program" and name:
        what, fix = f"the program {name} is not installed", f"install {name} on this machine"
        return MissingFromEnvironment(name=name, what=what, fix=fix)
    said = " ".join(tried.detail.split())[:LONGEST]
    if kind == "prepare":
        what = f"the preparation fails on the base, too{f': {said}' if said else ''}"
        return MissingFromEnvironment(name="prepare", what=what, fix="correct `environment: {prepare: […]}`")
    if kind in ("time", "memory"):
        limit = "too long" if kind == "time" else "too much memory"
        what = f"it takes {limit} on the base"
        return MissingFromEnvironment(name=kind, what=what, fix=f"raise its limit, or {TRY_AGAIN} on an idle machine")
    if tried.id == WHOLE and tried.outcome is not Outcomes.UNJUDGED:
        what = f"{NO_WORK}{f': {said}' if said else ''}"
        return MissingFromEnvironment(name=_command(check), what=what, fix="correct the check, or the base")
    what = "the environment of the checks broke"
    return MissingFromEnvironment(name=kind or "environment", what=what, fix=TRY_AGAIN)


def missing_module(name: str, *, node: bool) -> MissingFromEnvironment:
    """A module of Python, or a package of Node, that no installed package brings."""
    if node:
        what, fix = (
            f"the package {name} is not installed",
            f"declare it: `npm install {name}` writes it to package.json",
        )
        return MissingFromEnvironment(name=name, what=what, fix=fix)
    package = BROUGHT_BY.get(name.split(".")[0], name.split(".")[0])
    fix = f"declare `{package}` in requirements.txt or pyproject.toml, or: `environment: {{packages: [{package}]}}`"
    return MissingFromEnvironment(name=name, what=f"the module {name} is not installed", fix=fix)


def each_once(parts: Iterable[MissingFromEnvironment]) -> tuple[MissingFromEnvironment, ...]:
    return tuple(dict.fromkeys(parts))


def _command(check: Check) -> str:
    return check.command if isinstance(check, TestsCheck | CommandCheck) else check.kind


def _is_node(check: Check) -> bool:
    if isinstance(check, TestsCheck | CommandCheck):
        return bool(USES_NODE.search(check.command))
    return isinstance(check, ExamplesCheck) and any(
        isinstance(one, CallCase) and is_node(one.call) for one in check.cases
    )
