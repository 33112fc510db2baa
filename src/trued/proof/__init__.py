"""What makes "done" mean something: contracts sealed before work, evidence taken by the engine, verdicts by law.

Names are loaded when they are used: a command that only looks at a verdict does not load what takes one. What shares
its name with its module (`judge`, `prove`, `seal`, `figures`, `pictures`) is imported from there.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trued.proof.build import Building, built
    from trued.proof.checks.examples import said
    from trued.proof.contract import approved, canonical, concluded, contract_hash, exit_code, success
    from trued.proof.judge import Facts, Objected
    from trued.proof.objections import Ration
    from trued.proof.seal import Sealing

_HOMES = {
    "build": ("Building", "built"),
    "checks.examples": ("said",),
    "contract": ("approved", "canonical", "concluded", "contract_hash", "exit_code", "success"),
    "judge": ("Facts", "Objected"),
    "objections": ("Ration",),
    "seal": ("Sealing",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Building",
    "Facts",
    "Objected",
    "Ration",
    "Sealing",
    "approved",
    "built",
    "canonical",
    "concluded",
    "contract_hash",
    "exit_code",
    "said",
    "success",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'trued.proof' has no attribute {name!r}")
    return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
