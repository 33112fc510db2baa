"""The whole product in about a minute, without network, key or agent: a lie refuted, a kill survived, a ledger."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO


def show(keep: Path | None = None, *, stream: TextIO | None = None, environ: Mapping[str, str] | None = None) -> int:
    """Play the demo in the folder `keep`, or in a new one. 0 only if everything that it shows really happened."""
    from trued.cli.demo.narration import Teller
    from trued.cli.demo.show import Show  # loaded when used: the command line imports this package for its help

    return Show(keep, os.environ if environ is None else environ, Teller(stream or sys.stdout)).play()
