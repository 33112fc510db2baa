"""The short forms of an event, computed once when it is written, so that queries need not parse the agents' JSON."""

import json
from collections.abc import Mapping
from typing import Any

from trued.model.events.call import CallAnswered, CallAsked
from trued.model.history import CLAIMING_FIELDS

# Facts in an event about a call that contain no text of the agent or its provider.
FACTS = ("role", "agent", "state", "attempts", "chars", "resume", "pid", "until", "cost_usd", "began", "ended")
WORDS = 300  # at most this many characters of a claim or a summary are kept in the lean form
CLAIM = 40  # at most this many characters of a claim are kept for histories
ESTIMATED = "estimated"  # stored beside the claims: false if the agent itself reported its tokens, else left out


def lean(kind: str, data: Mapping[str, Any]) -> str | None:
    """An event's data as JSON, without its long texts. The brief is left out, and so is the reply, except the fields
    that claim a result and the beginning of `summary`. None if nothing is left out."""
    if kind == "asked":
        return _compact({name: value for name, value in data.items() if name != "brief"})
    if kind != "answered":
        return None
    reply = data.get("reply")
    if not isinstance(reply, Mapping):
        return _compact({name: value for name, value in data.items() if name != "reply"})
    claims = {
        "result": _words(reply.get("result")),
        "decision": _words(reply.get("decision")),
        "passes": _truth(reply.get("passes")),
        "passed": _truth(reply.get("passed")),
        "asks": int(reply.get("asks") not in (None, 0, "", "[]", "{}", [], {})),
        "status": _words(reply.get("status")),
        "summary": _words(reply.get("summary")),
    }
    return _compact({**data, "reply": claims})


def bare(data: Mapping[str, Any]) -> str:
    """The facts in an event's data that contain no text of an agent (FACTS), as JSON."""
    return _compact({name: _number(data[name]) for name in FACTS if data.get(name) is not None})


def claims(kind: str, data: Mapping[str, Any]) -> str | None:
    """What histories need to know of an ended call, as JSON: the claims in its reply, whether it asks something, and
    whether it reported its tokens. None for other events."""
    if kind != CallAnswered.KIND:
        return None
    reply, tokens = data.get("reply"), data.get("tokens")
    known = {ESTIMATED: False} if isinstance(tokens, Mapping) and tokens.get("estimated") is False else {}
    if not isinstance(reply, Mapping):
        return _compact(known)
    given = {name: reply[name] for name in CLAIMING_FIELDS if reply.get(name) is not None}
    short = {name: value if isinstance(value, bool) else (_words(value) or "")[:CLAIM] for name, value in given.items()}
    asks = reply.get("asks")
    return _compact({**short, **({} if asks is None or asks is False else {"asks": True}), **known})


def folded(kind: str, data: str) -> str:
    """Shorten the result of `lean` further, for views of a whole run. For `CallAsked`, only role, agent and whether the
    call resumes a session stay. All other data is returned as it is."""
    if kind != CallAsked.KIND:
        return data
    whole = json.loads(data)
    resumes = {"resume": True} if whole.get("resume") is True else {}
    return _compact({"role": whole.get("role"), "agent": whole.get("agent"), **resumes})


def _number(value: object) -> object:
    """The value, with true and false as 1 and 0, as in the embedded journal."""
    return int(value) if isinstance(value, bool) else value


def _truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _words(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value[:WORDS] if value else value
    return _compact(_number(value))[:WORDS]


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
