"""An agent's browser: an MCP server inside the agent's sandbox that lets the agent drive Chromium on a preview."""

import sys
from pathlib import Path

from trued.agents.driver import inside
from trued.proof import probes
from trued.proof.room.chromium import chromium_folders, find_chromium
from trued.run.agent_call import Equipment

SERVER = Path(inside.__file__).parent / "browser_server.py"
PROBES = Path(probes.__file__).parent


def browser_on(address: str) -> Equipment:
    """A browser that opens this address and no other; empty equipment if there is no address, or no Chromium here."""
    program, lack = find_chromium()
    if not address or lack:
        return Equipment()
    command = (sys.executable, "-I", "-B", str(SERVER), address, program, str(PROBES))
    engine = dict.fromkeys((sys.prefix, sys.base_prefix))  # where the interpreter and playwright are installed
    readable = (str(SERVER), str(PROBES), *chromium_folders(program), *engine)
    return Equipment(browser=command, readable=readable)
