"""The functions that cases call directly: what they call is checked, whatever tests do."""

from collections.abc import Iterable
from dataclasses import dataclass

from trued.model import CallCase, ExamplesCheck, Requirement


@dataclass(frozen=True, slots=True)
class CaseCalls:
    """The calls in the cases of requirements, such as `shop.prices:Cart.total` or `src/prices.mjs:total`."""

    calls: tuple[str, ...]

    @classmethod
    def of(cls, requirements: Iterable[Requirement]) -> "CaseCalls":
        """The calls in the cases of these requirements."""
        checks = [check for requirement in requirements for check in requirement.checks]
        cases = [case for check in checks if isinstance(check, ExamplesCheck) for case in check.cases]
        return cls(tuple(case.call for case in cases if isinstance(case, CallCase)))

    @property
    def files(self) -> list[str]:
        """The part before the colon of each call. For JavaScript it is a file, for Python a module."""
        return [call.partition(":")[0].removeprefix("./") for call in self.calls]

    @property
    def names(self) -> list[str]:
        """The names of the functions and classes that are called."""
        return [part for call in self.calls for part in call.partition(":")[2].split(".")]

    @property
    def dotted(self) -> list[str]:
        """Each call as one name with dots."""
        return [call.replace(":", ".") for call in self.calls]
