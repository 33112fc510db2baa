"""The gate: blocks an agent's stop, a push or a CI build until the sealed requirements are met."""

from trued.gate.claude_stop import CHANGED, MOST_BYTES, Asked, asked, changed, decide, folder_of
from trued.gate.install import PLACES, Grounds, Wanted, amend, attest, install, remove, troubles
from trued.gate.judge import Judge, Judgement
from trued.gate.messages import heading, lacking, reasons
from trued.gate.pushed_refs import MOST_BYTES as MOST_LINES_BYTES
from trued.gate.pushed_refs import due, judge_all, pushed
from trued.gate.state import Gate, Keep, Session, terms_of

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
