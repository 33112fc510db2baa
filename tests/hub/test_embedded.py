"""The embedded default needs and imports nothing of the hub."""

import subprocess
import sys
from pathlib import Path

import pytest

# A run in the embedded journal, where the hub and its library cannot be imported. That no other module imports them,
# not even inside a function, is a contract of the import checker: a hub is loaded by name, where settings name one.
WITHOUT = """
import asyncio, sys
from pathlib import Path
sys.modules["psycopg"] = sys.modules["dbos"] = sys.modules["trued.hub"] = None
import trued.cli, trued.engine.engine
from trued.engine.run_store import RunStore
from trued.model import RunRecord
async def step():
    return "value"
with RunStore(Path("home"), {}) as store:
    record = RunRecord(id="r-one", workflow="purple", title="t", repository="/r", base="b", branch="x")
    store.journal.add(record)
    with store.journal.claim("r-one"):
        print(asyncio.run(store.writer(record).once("a#1", "h", step)))
hub = ("psycopg", "dbos", "sqlalchemy", "trued.hub")
print(sorted(name for name in sys.modules if name.startswith(hub) and sys.modules[name]))
"""


@pytest.mark.spec("HUB-1")
def test_the_embedded_journal_works_where_there_is_no_hub(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.stderr) == ("value\n[]\n", "")
