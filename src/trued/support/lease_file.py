"""LeaseFile: until when the agents of a run may work, as the last driver wrote it for supervisors that outlive it."""

import time
from contextlib import suppress
from pathlib import Path

from trued.errors import StateFailed
from trued.support import atomic_files


class LeaseFile:
    """One file, in a folder that no agent sees. The time is that of this machine since it was started, asleep or not:
    nobody can set it back."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def extend(self, until: float) -> None:
        """Let agents work until then. Where that cannot be written they end at the time that was written last."""
        with suppress(OSError, StateFailed):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            atomic_files.write(self.path, f"{until:.3f}", sync=False)

    def is_over(self) -> bool:
        """Whether agents have to end: then another machine may be doing their work. A file that is gone or unreadable
        allows nothing."""
        try:
            return not boot_time() < float(self.path.read_text())
        except (OSError, ValueError):
            return True


def boot_time() -> float:
    """Seconds since this machine was started."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
