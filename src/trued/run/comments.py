"""Comments: what people say to the agents of a run while it works, and how a call gets them."""

from trued.model import Comment, TakenComments
from trued.model.events.call import CallStopped
from trued.model.events.people import CommentTaken
from trued.model.step_keys import EXAMINERS, comments_key
from trued.run.context import RunContext
from trued.support.hashing import digest


async def comments_for_brief(context: RunContext, role: str, key: str) -> tuple[Comment, ...]:
    """The comments that go into the brief of this call. They are recorded as a step, so that a replay makes the same
    brief. A call that began without comments gets none: later comments wait for the next call.
    """
    step, journal = comments_key(key), context.journal
    if journal.has_step(step):
        return await _take_comments(context, role, key, step)
    is_fixed = journal.has_step(key) or journal.has_begun(key)
    return () if is_fixed or not _pending(context, role, key) else await _take_comments(context, role, key, step)


async def comments_after_stop(context: RunContext, role: str, key: str, stop: int) -> tuple[Comment, ...]:
    """The comments for which this call was stopped, and all other comments that the call has not got yet. `stop`: 1 for
    the call's first stop."""
    return await _take_comments(context, role, key, comments_key(key, stop), stopped=True)


def has_to_stop(context: RunContext, role: str, key: str, stop: int) -> bool:
    """Whether a person wants this call to be stopped, or had it stopped before this process began. `stop`: 1 for the
    call's first stop."""
    if context.journal.has_step(comments_key(key, stop)):
        return True
    return any(comment.stops == key for comment in _pending(context, role, key))


def _pending(context: RunContext, role: str, key: str) -> list[Comment]:
    """The comments that this call has not got yet. Examiners get none: they write cases from the requirements only."""
    return [] if role in EXAMINERS else [comment for comment in context.journal.comments() if comment.is_for(role, key)]


async def _take_comments(
    context: RunContext, role: str, key: str, step: str, *, stopped: bool = False
) -> tuple[Comment, ...]:
    async def take() -> str:
        pending = _pending(context, role, key)
        who = tuple(dict.fromkeys(comment.who for comment in pending))
        if stopped:
            context.journal.emit(CallStopped(who=who), key)
        if pending:
            context.journal.emit(
                CommentTaken(role=role, numbers=tuple(comment.id for comment in pending), who=who), key
            )
        taken = tuple(comment.model_copy(update={"given": ()}) for comment in pending)
        return TakenComments(role=role, call=key, comments=taken).model_dump_json()

    return TakenComments.model_validate_json(await context.journal.once(step, digest(step), take)).comments
