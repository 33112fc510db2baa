"""`trued demo`: scripted agents work through a small plan; a lie is refuted, a kill is survived."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO


def show(keep: Path | None = None, *, stream: TextIO | None = None, environ: Mapping[str, str] | None = None) -> int:
    """Play the demo in the folder `keep`, or in a new one; return 0 only if everything it shows really happened."""
    from trued.cli.demo.narration import Narrator
    from trued.cli.demo.show import Demo  # imported here: the help imports this package

    return Demo(keep, os.environ if environ is None else environ, Narrator(stream or sys.stdout)).play()
