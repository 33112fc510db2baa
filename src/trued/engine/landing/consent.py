"""Asks a person for consent to changes of existing tests, of files that tools execute or trust automatically, and of
files from which later commands take the user's requirements."""

from trued.engine.altered_tests import ALTERED, REMOVED
from trued.engine.landing.records import LandingCandidate, LandingContext, LandingResult
from trued.engine.sensitive_files import REQUIREMENTS, SensitiveChanges, describe_changes
from trued.errors import Waiting
from trued.model import Question
from trued.model.events.landing import ConsentGiven

SHORT = 12  # this many characters of a digest are enough to name it
OPTIONS = ("yes", "no")


async def ask_consent(
    context: LandingContext, candidate: LandingCandidate, found: SensitiveChanges
) -> LandingResult | None:
    """Ask a person for consent to exactly these changes, unless a person has agreed to them before. Returns None if the
    landing may continue: there are no changes, or a person agreed. Otherwise returns the refusal that ends the
    landing."""
    journal, request = context.store.writer(context.record), context.request
    key = f"agreed to {found.digest[:SHORT]}"
    if not found or context.store.journal.step(context.record.id, key):
        return None
    listed = "\n".join(f"  {line}" for line in describe_changes(found))
    who = request.who if len(request.agree) >= SHORT and found.digest.startswith(request.agree) else ""
    if not who and not request.agree:
        text = f"The run changes {_what(found)}:\n{listed}\nLand it with these?"
        answer = await context.person(Question(key=key, text=text, options=OPTIONS))
        who = answer.who if answer and answer.answer == "yes" else ""
        if answer and not who:
            return _refusal(context, candidate, found, code=1, why="you did not agree to these changes")
    if not who:
        why = f"run {context.record.id} changes {_what(found)}"
        return _refusal(context, candidate, found, code=Waiting.code, why=why)

    async def step() -> str:
        return who

    await journal.once(key, found.digest, step)
    journal.emit(ConsentGiven(files=tuple(found.files), digest=found.digest, who=who))
    return None


def _what(found: SensitiveChanges) -> str:
    kinds = {*found.files.values()}
    tests = "existing tests" if kinds & {ALTERED, REMOVED} else ""
    words = "files that trued takes for your requirements" if REQUIREMENTS in kinds else ""
    trusted = kinds - {ALTERED, REMOVED, REQUIREMENTS}
    tools = "files that tools execute or trust automatically (CI, hooks, agent settings)" if trusted else ""
    return " and ".join(filter(None, (tools, words, tests)))


def _refusal(
    context: LandingContext, candidate: LandingCandidate, found: SensitiveChanges, *, code: int, why: str
) -> LandingResult:
    name = context.record.id
    return context.result(
        code=code,
        why=f"{why}: {', '.join(found.files)}",
        then=f"review with `trued diff {name}`, then `trued land {name} --agree {found.digest[:SHORT]}`",
        asks=found.files,
        digest=found.digest,
        before=candidate.tip,
        commit=candidate.commit,
    )
