"""Features of a handoff as people see them: how far each is, as the engine found it, and what went wrong with it."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from trued.model import Event

if TYPE_CHECKING:
    from trued.reporting.views.progress import Progress

MODES = ("one-shot attempt", "premature victory", "guesswork", "meddling")  # each by its name, with what shows it
TOLD = "features"


def features_of(events: Iterable[Event]) -> list[dict[str, Any]]:
    """The list as it was written last, each feature with what went wrong on its way."""
    rows: list[dict[str, Any]] = []
    wrong: dict[str, list[dict[str, str]]] = {}
    for event in events:
        if event.kind == TOLD:
            rows = [dict(one) for one in event.data.get("features") or ()]
        elif event.kind in MODES:
            data = event.data
            mode = {"name": event.kind, "evidence": str(data.get("evidence", ""))}
            wrong.setdefault(_feature(event), []).append(mode)
    return [{**one, "failure_modes": wrong.get(str(one.get("id")), [])} for one in rows]


def said(features: Iterable[Mapping[str, Any]], current: Mapping[str, Any]) -> str:
    """The list in a few words: `2/5 features pass · upload: attempt 2/3, 15/20 tests`."""
    rows = list(features)
    if not rows:
        return ""
    parts = [f"{sum(bool(one.get('passes')) for one in rows)}/{len(rows)} features pass{_not_so(rows)}"]
    now = next((one for one in rows if one.get("id") == current.get("feature")), None)
    if now:
        facts = [f"attempt {current['attempt']}/{current['of']}" if current.get("attempt") else "", tests(now)]
        parts.append(f"{now.get('id')}: {', '.join(filter(None, facts)) or now.get('state')}")
    return " · ".join(parts)


def _not_so(rows: Iterable[Mapping[str, Any]]) -> str:
    open_ = [one for one in rows if not one.get("passes")]
    waiting, failed = (
        sum(bool(one.get("holds")) for one in open_),
        sum(one.get("state") == "failed" for one in open_),
    )
    blocked = sum(str(one.get("agent_notes")).startswith("blocked: ") for one in open_)
    found = {"waits for you" if waiting == 1 else "wait for you": waiting, "failed": failed, "blocked": blocked}
    return "".join(f", {number} {words}" for words, number in found.items() if number)


def tests(feature: Mapping[str, Any]) -> str:
    total, share = int(feature.get("tests_total") or 0), feature.get("coverage")
    covered = f", {share:.4g} % covered" if isinstance(share, int | float) else ""
    return f"{feature.get('tests_passing') or 0}/{total} tests{covered}" if total else ""


def _feature(event: Event) -> str:
    """Whoever worked when it happened: what was tried with other features, too, was tried by them."""
    scope = event.key.partition("/")[0]
    return scope.removeprefix("feature ") if scope.startswith("feature ") else str(event.data.get("feature", ""))


# -- events as rows of the tree ----------------------------------------------------------------------------------------


def _listed(seen: "Progress", event: Event) -> None:
    seen.features = [dict(one) for one in event.data.get("features") or ()]
    seen.feature = {name: event.data[name] for name in ("feature", "attempt", "of") if event.data.get(name)}


def _mode(seen: "Progress", event: Event) -> None:
    seen.remark(event, f"{event.kind}: {event.data.get('evidence', '')}", warning=True)


def _figures(seen: "Progress", event: Event) -> None:
    data = event.data
    text = tests({**data, "tests_passing": data.get("passing"), "tests_total": data.get("total")})
    good = bool(data.get("total")) and data.get("passing") == data.get("total")
    seen.remark(event, text or "its own command finds no tests", warning=not good)


def _set_up(seen: "Progress", event: Event) -> None:
    code = event.data.get("code")
    if code != 0:
        lines = [line for line in str(event.data.get("said", "")).splitlines() if line.strip()]
        how = "does not end" if code is None else f"fails ({code})"
        seen.remark(event, f"init.sh {how}{f': {lines[-1].strip()}' if lines else ''}", warning=True)


def _set_aside(seen: "Progress", event: Event) -> None:
    if branch := event.data.get("branch"):
        seen.remark(event, f"given up; its work is on {branch}", warning=True)


def _undone(seen: "Progress", event: Event) -> None:
    data = event.data
    names = data.get("features") or [data.get("feature")]
    why = str(data.get("why") or "it does not hold").splitlines()[0]
    seen.remark(event, f"called passed, and not so: {', '.join(map(str, names))} ({why})", warning=True)


def _goes_on(seen: "Progress", event: Event) -> None:
    seen.remark(event, f"goes on from {event.data.get('branch')}: {event.data.get('why')}")


def _proposed(seen: "Progress", event: Event) -> None:
    seen.remark(event, f"a feature is proposed, for you to decide about: {event.data.get('proposed')}")


FOLDS: dict[str, Callable[["Progress", Event], None]] = {
    TOLD: _listed,
    **dict.fromkeys(MODES, _mode),
    "figures": _figures,
    "set up": _set_up,
    "set aside": _set_aside,
    "passes undone": _undone,
    "going on": _goes_on,
    "feature proposed": _proposed,
}
