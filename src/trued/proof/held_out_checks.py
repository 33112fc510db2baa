"""Tells which checks are held out: those with data or test files that no implementer may know."""

from trued.model import BrowserCheck, Check, Contract, ExamplesCheck
from trued.proof.room.held_out_tests import hidden_files

DATA = (ExamplesCheck, BrowserCheck)  # checks whose results are compared in the engine's process, not in the head's


def is_hidden_data(check: Check) -> bool:
    """Whether the check has data to hide from implementers: cases, or a page that is not marked as visible. The data is
    in fact hidden only if the contract is held out, which this function does not check."""
    return isinstance(check, DATA) and not (isinstance(check, BrowserCheck) and check.visible)


def is_held_out(contract: Contract, check: Check) -> bool:
    """Whether the check uses something that no implementer may know: data, or test files that came with the
    contract."""
    return contract.held_out and (is_hidden_data(check) or bool(hidden_files(contract, check)))
