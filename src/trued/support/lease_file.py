"""LeaseFile: a file that says until when the agents of a run may work. The process that drives the run writes the file,
and the agents' supervisors read it."""

import time
from pathlib import Path

from trued.errors import StateFailed
from trued.support import atomic_files


class LeaseFile:
    """A file in a folder that no agent sees. Times are seconds since this machine was started, including sleep, because
    that clock cannot be set back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unwritten = ""  # why the last extension could not be written

    def extend(self, until: float) -> None:
        """Let agents work until this time. If the file cannot be written, the time in it still applies."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            atomic_files.write(self.path, f"{until:.3f}", sync=False)
        except (OSError, StateFailed) as error:
            self.unwritten = str(error)
        else:
            self.unwritten = ""

    def why_over(self) -> str:
        """The reason why agents may not start once the lease has expired, as a sentence."""
        if self.unwritten:
            return f"no agent starts before {self.path} can be written: {self.unwritten}"
        return "no agent starts before the hub answers again: another machine may have the run"

    def is_over(self) -> bool:
        """Whether agents have to end, because another machine might be doing their work. True if the file is missing or
        unreadable."""
        try:
            return not boot_time() < float(self.path.read_text())
        except (OSError, ValueError):
            return True


def boot_time() -> float:
    """Seconds since this machine was started."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
