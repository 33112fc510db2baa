"""What makes "done" mean something: contracts sealed before work, evidence taken by the engine, verdicts by law.

Names are loaded when they are used: a command that only looks at a verdict does not load what takes one. What shares
its name with its module (`judge`, `prove`, `seal`, `figures`, `pictures`) is imported from there.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .building import Building, built
    from .checks.examples import said
    from .contract import approved, canonical, concluded, contract_hash, exit_code, success
    from .figures import Figures
    from .judge import Facts, Objected
    from .objecting import Ration
    from .seal import Sealing

_HOMES = {
    "building": ("Building", "built"),
    "checks.examples": ("said",),
    "contract": ("approved", "canonical", "concluded", "contract_hash", "exit_code", "success"),
    "figures": ("Figures",),
    "judge": ("Facts", "Objected"),
    "objecting": ("Ration",),
    "seal": ("Sealing",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Building",
    "Facts",
    "Figures",
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
