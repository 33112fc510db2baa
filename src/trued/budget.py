"""What agents may use, reserved before it is spent, by all calls of a run together."""

from dataclasses import dataclass, field

from .protocols import Journal
from .types import Settings
from .wire import Amount, Price, Usage


@dataclass(frozen=True, slots=True)
class Reserved:
    """What one call may use, and at what price that is counted."""

    allowance: Amount = field(default_factory=Amount)
    price: Price = field(default_factory=Price)


class Budget:
    """Every call asks here before it is begun, and says here what it used."""

    def __init__(self, journal: Journal, settings: Settings) -> None:
        self._journal, self._settings = journal, settings

    def reserve(self, call: str, *, key: str, role: str, agent: str, model: str) -> Reserved:
        """Raises LimitReached where a limit of the run, the task or the role leaves nothing for this call.

        The same call, asked for again after a crash, has what it had.
        """
        return Reserved()

    def raised(self, call: str) -> bool:
        """Whether a call that used up what was reserved for it could have more now."""
        return False

    def settle(self, call: str, usage: Usage, seconds: float) -> None:
        """What was reserved and not used is free again."""
