"""A model that says what a script says: real agent programs talk to it on loopback, and no model is ever called."""

from .script import (
    CUT,
    DROP,
    HANG,
    HUGE,
    STALL,
    Answer,
    Ask,
    Call,
    Cast,
    Edit,
    Fault,
    Read,
    Run,
    Say,
    Script,
    Step,
    Write,
)
from .server import ModelServer, Seen
from .turn import Called, Spoken, Turn, Usage

__all__ = [
    "CUT",
    "DROP",
    "HANG",
    "HUGE",
    "STALL",
    "Answer",
    "Ask",
    "Call",
    "Called",
    "Cast",
    "Edit",
    "Fault",
    "ModelServer",
    "Read",
    "Run",
    "Say",
    "Script",
    "Seen",
    "Spoken",
    "Step",
    "Turn",
    "Usage",
    "Write",
]
