"""Comments: records what a person says to the agents of a run while it works. No comment can raise a grade."""

from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.model import Comment, RunRecord, Way
from trued.model.events.call import CallAnswered, CallAsked
from trued.model.events.people import CommentGiven
from trued.model.step_keys import EXAMINERS, call_name
from trued.support.plain_text import plain

MOST = 4000  # maximum length, in characters: a comment is a few sentences; longer texts belong in the requirements


def record_comment(
    store: RunStore, record: RunRecord, text: str, *, who: str, to: str = "", now: bool = False, way: Way = "command"
) -> Comment:
    """Record a comment, which goes into the next brief. With `now`, a running call is stopped and continues with the
    comment. `to`: a role or a call; "" is every role. `way`: how the person sent the comment.

    Raises BadInput for a run that has ended, an empty or very long text, an unknown role or call, and for a role that
    writes cases: cases come from the requirements only.
    """
    text = str(store.redact(store.inputs(record.id))(plain(text).strip()))
    if record.has_ended:
        raise BadInput(
            f"run {record.id} is {record.state}: no agent works on it any more", then="`trued ls` lists the runs"
        )
    if not text:
        raise BadInput("the comment is empty", then=f'trued comment {record.id} "what you want to say"')
    if len(text) > MOST:
        raise BadInput(f"the comment has {len(text)} characters; {MOST} are allowed", then="shorten it")
    calls = calls_at_work(store, record)
    stops = _call_to_stop(record, calls, to) if now else ""
    if to and not stops and to not in store.inputs(record.id).roles:
        to = _call_meant(store, record, calls, to)
    to = call_name(stops) if stops else to
    role = calls.get(stops, "") if stops else to
    if role in EXAMINERS:
        what = f"{role} writes its cases from the requirements alone, so that they prove something"
        raise BadInput(what, then=f"change the requirements: trued amend {record.id}")
    said = Comment(to=to, text=text, who=who, way=way, stops=stops)

    def event(number: int) -> CommentGiven:
        return CommentGiven(number=number, to=to, text=text, who=who, way=way, stops=stops)

    number = store.journal.add_comment(record.id, said, event, stops)
    return next(comment for comment in store.journal.comments(record.id) if comment.id == number)


def calls_at_work(store: RunStore, record: RunRecord) -> dict[str, str]:
    """Key → role of every call that has begun and has no reply yet, oldest first."""
    found: dict[str, str] = {}
    for event in store.journal.events_of_kind(record.id, CallAsked.KIND, CallAnswered.KIND, lean=True):
        if asked := CallAsked.read(event):
            found[event.key] = asked.role
        else:
            found.pop(event.key, None)
    return {key: role for key, role in found.items() if store.journal.step(record.id, key) is None}


def _call_to_stop(record: RunRecord, calls: dict[str, str], to: str) -> str:
    """The key of the only running call that matches `to`. `to` is the call's key, a part of this key, or the call's
    role; "" matches every running call. Raises BadInput unless exactly one call matches."""
    exact = [key for key in calls if to in (key, call_name(key))]
    fitting = exact or [key for key, role in calls.items() if to in ("", role)] or [key for key in calls if to in key]
    if len(fitting) == 1:
        return fitting[0]
    if not calls:
        what = f"no call of run {record.id} is running"
        raise BadInput(what, then="leave out --now: the comment then goes into the next brief")
    what = f"{to!r} matches {len(fitting) or 'none'} of the running calls" if to else f"{len(calls)} calls are running"
    raise BadInput(f"{what}: {'; '.join(calls)}", "--to", "name one of them")


def _call_meant(store: RunStore, record: RunRecord, calls: dict[str, str], to: str) -> str:
    """The name of the running call that `to` means. A call's name is its key without the number, such as
    `feature F1/dev`. `to` is the name, the key, or a part of the key. Raises BadInput unless exactly one name fits; the
    error lists the roles and the calls."""
    fitting = {call_name(key) for key in calls if to in (key, call_name(key))}
    fitting = fitting or {call_name(key) for key in calls if to in key}
    if len(fitting) == 1:
        return fitting.pop()
    roles = sorted({role for role in store.inputs(record.id).roles if role not in EXAMINERS})
    named = f"roles: {', '.join(roles)}; running calls: {'; '.join(calls) or 'none'}"
    raise BadInput(f"run {record.id} has no role or call {to!r}", "--to", named)
