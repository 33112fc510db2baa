"""Sealing: from the user's words to a contract, with cases that one examiner writes and another answers blind.

Names are loaded when they are used: `verify` needs the guards alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trued.run.examination.base_guards import guarded, suites_of
    from trued.run.examination.examiner import Examination, examined
    from trued.run.examination.held_out import held_out
    from trued.run.examination.independence import weakened, written
    from trued.run.examination.replacement import disputed, failing, replaced, signature, written_by_agents

_HOMES = {
    "replacement": ("disputed", "failing", "replaced", "signature", "written_by_agents"),
    "examiner": ("Examination", "examined"),
    "base_guards": ("guarded", "suites_of"),
    "held_out": ("held_out",),
    "independence": ("weakened", "written"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
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
        raise AttributeError(f"module 'trued.run.examination' has no attribute {name!r}")
    return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
