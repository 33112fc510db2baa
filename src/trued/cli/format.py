"""Formats numbers and events for a terminal: short, on one line, without control characters."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from trued.model import Case, Event
from trued.reporting import views  # as a module: it loads the views of stages and teams only when they are used
from trued.reporting.views.cases import described, stood
from trued.support.plurals import counted as counted  # for all of the command line
from trued.support.redaction import plain
from trued.workflows.handoff.view import said

GRADES = {  # colour of each grade
    "refuted": "bold red",
    "unjudged": "magenta",
    "unproven": "yellow",
    "self-tested": "yellow",
    "tested": "cyan",
    "examined": "cyan",
    "attested": "green",
    "proven": "bold green",
}
STATES = {
    "running": "bold",
    "done": "green",
    "landed": "bold green",
    "failed": "red",
    "not proven": "red",
    "waiting": "yellow",
    "unjudged": "magenta",
}


def line(text: object, length: int = 0) -> str:
    """Any text as one line without control characters, cut at `length` if that is not 0."""
    flat = " ".join(plain(str(text)).split())
    return f"{flat[: length - 1]}…" if length and len(flat) > length else flat


def duration(seconds: float) -> str:
    seconds = max(0.0, seconds)
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def ago(at: float) -> str:
    seconds = max(0.0, time.time() - at)
    for unit, word in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{int(seconds // unit)} {word} ago"
    return "now"


def tokens(number: int, *, estimated: bool) -> str:
    if not number:
        return ""
    mark = "~" if estimated else ""
    if number < 1000:
        return f"{mark}{number} tok"
    return f"{mark}{number / 1000:.1f}k tok" if number < 1_000_000 else f"{mark}{number / 1_000_000:.2f}M tok"


def money(usd: float, cost: str = "") -> str:
    """An amount, marked by how it is known: `~` computed from a price table, `≤` ceiling of an unknown price."""
    mark = {"computed": "~", "ceiling": "≤"}.get(cost, "")
    return f"{mark}${usd:.2f}" if usd >= 0.005 else f"{mark}${usd:.4f}" if usd else ""


def until(at: float, now: float) -> str:
    """A future time and how far off it is: `14:05 (in 12m00s)`."""
    near = at - now < 12 * 3600
    shown = time.strftime("%H:%M" if near else "%a %d %b %H:%M", time.localtime(at))
    return f"{shown} (in {duration(at - now)})" if at > now else shown


def clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))


def case(one: Case) -> str:
    """A case in words: what is called, and the expected result."""
    return line(described(one), 300)


# -- events as lines --------------------------------------------------------------------------------------------------


def told(event: Event) -> str:
    """One event as one line: time, kind, step, and its main facts."""
    if event.kind == "waits":
        moment = until(float(event.data.get("until") or 0.0), event.at)
        why = line(event.data.get("why") or "", 200)
        return f"{clock(event.at)} waits {line(event.key)}: until {moment}: {line(views.waits_for(event.data))}; {why}"
    facts = line(_FACTS.get(event.kind, _all_facts)(event.data))  # may contain an agent's text
    # a step whose label is the event's kind would repeat it
    key = views.scope_of(event.key) if views.label_of(event.key) == event.kind else event.key
    key = "" if event.kind == "team" and event.data.get("feature") else key  # its facts begin with the feature
    where = f" {line(key)}" if key else ""
    return f"{clock(event.at)} {event.kind}{where}{f': {facts}' if facts else ''}"


def _answered(data: Mapping[str, Any]) -> str:
    used, reply = data.get("tokens") or {}, data.get("reply") or {}
    parts = [
        str(data.get("state", "")),
        duration(float(data.get("ended") or 0) - float(data.get("began") or 0)),
        tokens(int(used.get("in", 0)) + int(used.get("out", 0)), estimated=bool(used.get("estimated", True))),
        money(float(data.get("cost_usd") or 0), str(data.get("cost") or "")),
        counted(len(data["changed"]), "file") if data.get("changed") else "",
        f"attempt {data['attempts']}" if int(data.get("attempts", 1)) > 1 else "",
        f'claims "{line(claim)}"' if (claim := reply.get("result") or reply.get("status")) else "",
        line(data.get("why") or data.get("kind") or "", 200),
    ]
    return ", ".join(part for part in parts if part)


def _proven(data: Mapping[str, Any]) -> str:
    judged = [
        f"{line(one.get('id'))} {one.get('grade')} ({line(views.sentence(one.get('why')), 160)})"
        for one in data.get("requirements", ())
        if isinstance(one, Mapping)
    ]
    holds = "holds" if data.get("holds") else "does not hold"
    return f"{data.get('grade')}, {holds}{'; ' if judged else ''}{'; '.join(judged)}"


def _question(data: Mapping[str, Any]) -> str:
    options = " / ".join(map(str, data.get("options") or ["in your own words"]))
    return f"{line(data.get('text'), 300)} ({options})"


def _checked(data: Mapping[str, Any]) -> str:
    result = ", ".join(
        f"{data[name]} {name}" for name in ("passed", "failed", "void") if data.get(name) not in (None, "")
    )
    what = [line(data.get("requirement", "")), str(data.get("kind") or data.get("sort") or "")]
    what += [f"on {data['side']}" if data.get("side") else "", f"turn {data['turn']}" if data.get("turn") else ""]
    said = " ".join(part for part in what if part)
    return f"{said}: {result}" if result else said


def _judged(data: Mapping[str, Any]) -> str:
    return f"{line(data.get('requirement'))} {data.get('grade')} ({line(views.sentence(data.get('why')), 300)})"


def _sealed(data: Mapping[str, Any]) -> str:
    if "serves" not in data:
        return _all_facts(data)
    cases = stood(data.get("cases") or {})
    return f"{', '.join(line(one) for one in data['serves'])} {data.get('sort', '')}: on the base {cases or 'nothing'}"


def _contract(data: Mapping[str, Any]) -> str:
    held = "held out" if data.get("held_out") else "visible"
    return f"{data.get('requirements')} requirements, {held}: {line(data.get('why'))}"


def _asked(data: Mapping[str, Any]) -> str:
    again = ", resumes its session" if data.get("resume") else ""
    return f"{line(data.get('role'))} ({line(data.get('agent'))}), brief of {data.get('chars', 0)} characters{again}"


def _ended(data: Mapping[str, Any]) -> str:
    why = line(data.get("why", ""), 300)
    return f"{data.get('state')}, {data.get('grade')}, exit code {data.get('code')}{f': {why}' if why else ''}"


def _all_facts(data: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {line(value, 160)}" for name, value in data.items() if value not in ("", None, [], {}))


_FACTS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "asked": _asked,
    "answered": _answered,
    "checking": _checked,
    "checked": _checked,
    "judged": _judged,
    "sealed": _sealed,
    "contract sealed": _contract,
    "proven": _proven,
    "question": _question,
    "ended": _ended,
    "round": lambda data: (
        f"{line(data.get('fate'))}; {line('; '.join(map(str, data.get('open') or ['nothing found'])), 400)}"
    ),
    "features": lambda data: said(data.get("features") or (), data),
    "figures": lambda data: (
        f"{data.get('passing')}/{data.get('total')} tests"
        + (f", {data['coverage']:.4g} % covered" if data.get("coverage") is not None else "")
    ),
    "set up": lambda data: "init.sh works" if data.get("code") == 0 else line(f"init.sh: {data.get('said')}", 300),
    "mended": lambda data: line(data.get("summary"), 200),
    "pictures claimed": lambda data: line(", ".join(data.get("pictures") or ()), 200),
    "step": lambda data: line(views.told_stage(data), 300),
    "wave": lambda data: line(f"{data.get('number')}: {', '.join(map(str, data.get('tasks') or ()))}", 300),
    "merged": lambda data: f"{line(data.get('part'))} at {line(data.get('commit'))[:10]}",
    "conflict": lambda data: line(f"{data.get('part')}: {', '.join(map(str, data.get('files') or ()))}", 300),
    "decided": lambda data: line(
        f"{data.get('cluster')} {data.get('result')}: {views.sentence(data.get('why'))}".removesuffix(": "), 300
    ),
    "team": lambda data: line(views.told_team(data), 300),
    "team asks": lambda data: line(f"{data.get('who')} asks the {data.get('to')}: {data.get('text')}", 300),
    "team answers": lambda data: line(f"the {data.get('role')}: {data.get('text')}", 300),
    "fix tasks": lambda data: line(f"for {data.get('about')}: {', '.join(map(str, data.get('tasks') or ()))}", 300),
    "withheld": lambda data: line(f"{data.get('about')}: quotes held-out data, so it is not passed to agents", 300),
    "objection not run": lambda data: line(f"{data.get('what')}: {data.get('why')}", 300),
    "objection": lambda data: (
        f"{'its case passes' if data.get('passed') else 'its own case fails'}: {line(data.get('what'), 300)}"
    ),
    "agents found": lambda data: line(data.get("says")),
    "waited": lambda data: duration(float(data.get("seconds") or 0.0)),
}
