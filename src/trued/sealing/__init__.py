"""Sealing: from the user's words to a contract, with cases that one examiner writes and another answers blind."""

from .examine import Examination, examined
from .guards import guarded
from .hidden import held_out

__all__ = ["Examination", "examined", "guarded", "held_out"]
