"""Sealing: from the user's words to a contract, with cases that one examiner writes and another answers blind.

Names are loaded when they are used: `verify` needs the guards alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .anew import disputed, failing, replaced, signature, written_by_agents
    from .examine import Examination, examined
    from .guards import guarded, suites_of
    from .hidden import held_out
    from .vendors import MENDERS, weakened, written

_HOMES = {
    "anew": ("disputed", "failing", "replaced", "signature", "written_by_agents"),
    "examine": ("Examination", "examined"),
    "guards": ("guarded", "suites_of"),
    "hidden": ("held_out",),
    "vendors": ("MENDERS", "weakened", "written"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

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


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'trued.sealing' has no attribute {name!r}")
    return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
