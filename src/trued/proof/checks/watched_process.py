"""The process of a call or program in the sandbox: how it is watched, how it ended, and how it behaved."""

from collections.abc import Collection
from typing import Any

from trued.proof.room.bench import channel_records
from trued.protocols import CommandResult

# Reads the script `ask.py`, and no more, from stdin: so the sandbox contains no file of the engine.
WATCHING = (
    *("-I", "-S", "-B", "-c"),
    "import json, os; exec(json.loads(b''.join(iter(lambda: os.read(0, 1), b'\\n'))))",
)
START_S = 30.0  # seconds in which the interpreter must start on a busy machine; cases have their own time limits
LONGEST_S = 1e9  # if the process reports a duration of more seconds than this, the record is forged
BASE_GRACE_S = 2.0  # how long a call on the base may need to end after its answer without counting as one that lingers
PLAIN, AWAITED, LINGERS = "plain", "awaited", "lingers"
PROGRAM_RECORD: dict[str, Any] = {"exit": int | None, "late": bool, "seconds": float | int}
CALL_RECORD: dict[str, Any] = {**PROGRAM_RECORD, "said": str, "large": bool}


def script_record(ran: CommandResult, token: str, kinds: dict[str, Any]) -> dict[str, Any]:
    """The record that `ask.py` wrote to the engine's channel, with fields of these kinds. If that script failed or did
    not write exactly one record, or if another program wrote to the channel, the result is a record of what went
    wrong."""
    records, stray = channel_records(ran.answers, token)
    if ran.timed_out:
        return {"late": True}
    if stray:
        return {"why": "something else wrote to the engine's channel"}
    if ran.exit_code != 0 or ran.flooded or len(records) != 1:
        return {"why": f"{len(records)} answers arrived instead of one, and the exit code is {ran.exit_code}"}
    if not _is_a_record(records[0], kinds):
        return {"why": "the answer was not written by the engine's script"}
    return records[0]


def _is_a_record(record: dict[str, Any], kinds: dict[str, Any]) -> bool:
    """Whether the data has exactly the fields and types of a record that `ask.py` writes, with a plausible time."""
    if record.keys() == {"unable"}:
        return isinstance(record["unable"], str)
    fitting = record.keys() == kinds.keys() and all(isinstance(record[name], kind) for name, kind in kinds.items())
    return fitting and 0 <= record["seconds"] < LONGEST_S


def conduct_flaw(conduct: Collection[str], on_base: frozenset[str] | None, *, node: bool = False) -> tuple[str, str]:
    """How the behaviour of a case (`Tried.conduct`) harms its callers, as a kind of failure and a sentence; ("", "") if
    it does not.

    What a case does not say stays as on the base: callers there await its result, or do not. If the base has no such
    function, either will do. Nobody may have to wait for what was left running, unless the base leaves it, too.
    `on_base` is None if the base does not matter. In Node, `await` also takes a result that is no promise.
    """
    if on_base is None:
        return "", ""
    if AWAITED in conduct and PLAIN in on_base and AWAITED not in on_base:
        return AWAITED, "its result must be awaited, but on the base it need not be: callers there do not await it"
    if PLAIN in conduct and AWAITED in on_base and PLAIN not in on_base and not node:
        return AWAITED, "its result cannot be awaited, but on the base it must be: callers there await it"
    if LINGERS in conduct and LINGERS not in on_base:
        return LINGERS, "it left a thread, a process or an exit handler for which its caller waits"
    return "", ""
