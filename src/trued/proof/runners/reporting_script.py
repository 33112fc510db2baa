"""Runs the engine's own scripts that run tests inside a room and report each test over a private channel.

There is one script for pytest, one for unittest and one for Node's runner, all in `probes/`. Each reads an order from
stdin and answers with records that begin with the order's nonce.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trued.model import TestsCheck
from trued.proof.room.bench import WHOLE_CHECK, Bench, CaseSelection, channel_records, nonce
from trued.proof.text.command_parser import RunnerCall
from trued.protocols import CommandResult

STRAY = "something else wrote to the engine's channel"


@dataclass(frozen=True, slots=True)
class ScriptReport:
    """The result of one run of a reporting script."""

    result: CommandResult
    records: list[dict[str, Any]]  # records with the right nonce
    stray: str  # why nothing in the report can be trusted, or ""


async def run_reporting_script(
    argv: Sequence[str],
    order: Mapping[str, Any],
    check: TestsCheck,
    call: RunnerCall,
    bench: Bench,
    more: Mapping[str, str] | None = None,
) -> ScriptReport:
    """Run the script once with this order, within the limits of the check.

    `call` has the environment variables that the command sets; `more` overrides them.
    """
    token = nonce()
    result = await bench.execute(
        argv,
        stdin=json.dumps({**order, "nonce": token}).encode(),
        channel=True,
        within_s=check.within_s,
        network=check.network,
        variables={**bench.variables, **call.variables, **(more or {})},
    )
    records, stray = channel_records(result.answers, token)
    return ScriptReport(result, records, STRAY if stray else "")


def python_order(bench: Bench, selection: CaseSelection) -> dict[str, Any]:
    """The order for both Python scripts: where the project is, and which tests to run in which order."""
    ids = selection.ids
    files = None if ids is None else sorted({test_id.split("::")[0] for test_id in ids if test_id != WHOLE_CHECK})
    return {
        "room": str(bench.room),
        "start": str(bench.room / bench.folder),
        "paths": list(bench.roots),
        "site": list(bench.site),
        "files": files or None,
        "ids": None if not files else list(ids or ()),
        "whole": [] if not files else [test_id for test_id in ids or () if "::" not in test_id],
        "reverse": selection.second,
        "red": list(selection.red),
        "seed": nonce(),
    }
