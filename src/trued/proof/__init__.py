"""What makes "done" mean something: contracts sealed before work, evidence taken by the engine, verdicts by law."""

from .building import Building, built
from .checks.examples import said
from .contract import approved, canonical, concluded, contract_hash, exit_code, success
from .figures import Figures, figures
from .judge import Facts, Objected, judge
from .objecting import Ration
from .pictures import pictures
from .prove import prove
from .seal import Sealing, seal
from .unasked import unasked

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
    "figures",
    "judge",
    "pictures",
    "prove",
    "said",
    "seal",
    "success",
    "unasked",
]
