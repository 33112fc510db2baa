"""The gate: whoever says that it is done is asked for proof, at an agent's stop, before a push, on a build server."""

from .installing import PLACES, Grounds, Wanted, amend, attest, install, remove, troubles
from .judging import Judge, Judgement
from .push import MOST_BYTES as MOST_LINES_BYTES
from .push import due, judge_all, pushed
from .state import Gate, Keep, Session, terms_of
from .stop import CHANGED, MOST_BYTES, Asked, asked, changed, decide, folder_of
from .words import heading, lacking, reasons

__all__ = [
    "CHANGED",
    "MOST_BYTES",
    "MOST_LINES_BYTES",
    "PLACES",
    "Asked",
    "Gate",
    "Grounds",
    "Judge",
    "Judgement",
    "Keep",
    "Session",
    "Wanted",
    "amend",
    "asked",
    "attest",
    "changed",
    "decide",
    "due",
    "folder_of",
    "heading",
    "install",
    "judge_all",
    "lacking",
    "pushed",
    "reasons",
    "remove",
    "terms_of",
    "troubles",
]
