"""SharedSlots: how many agents and checks may work at the same time in all runs of one process."""

import asyncio
import os
from dataclasses import dataclass

from trued.agents.spool.slots import Slots


@dataclass(frozen=True)
class SharedSlots:
    """Slots for agents, and turns at running checks, shared by the runs of one process."""

    slots: Slots
    turns: asyncio.Semaphore  # one for each processor: more checks at once would test a busy machine, not the work

    def turn(self) -> asyncio.Semaphore:
        return self.turns

    @classmethod
    def of(cls, cap: int) -> "SharedSlots":
        return cls(Slots(cap), asyncio.Semaphore(os.cpu_count() or 1))
