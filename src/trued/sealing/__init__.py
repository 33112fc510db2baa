"""Sealing: from the user's words to a contract, with cases that one examiner writes and another answers blind."""

from .anew import disputed, failing, replaced, signature, written_by_agents
from .examine import Examination, examined
from .guards import guarded, suites_of
from .hidden import held_out
from .vendors import MENDERS, weakened, written

__all__ = [
    "MENDERS",
    "Examination",
    "disputed",
    "examined",
    "failing",
    "guarded",
    "held_out",
    "replaced",
    "signature",
    "suites_of",
    "weakened",
    "written",
    "written_by_agents",
]
