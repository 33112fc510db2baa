"""Queries for the history of many runs on a hub. They load no briefs, and replies only from events that older versions
wrote."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from trued.engine.journals.queries import OF_RUNS_SINCE
from trued.hub.short_events import ESTIMATED, claims
from trued.model.events.call import CallAnswered
from trued.model.events.proof import ContractSealed, VerdictReached
from trued.model.history import StoredAnswer, StoredVerdict

# `whole`: the data of events that were written before the column `claims` existed
ANSWERS = f"""
    select run, key, at, bare, claims, case when claims is null then data end as whole
    from event where kind = '{CallAnswered.KIND}' and {OF_RUNS_SINCE} order by id"""  # noqa: S608  (constants)
VERDICTS = f"select run, key, at, data from event where kind = '{VerdictReached.KIND}' and {OF_RUNS_SINCE} order by id"  # noqa: S608
SEALED = f"select run, data from event where kind = '{ContractSealed.KIND}' and {OF_RUNS_SINCE} order by id"  # noqa: S608

Row = Mapping[str, Any]


def answers(rows: Iterable[Row]) -> list[StoredAnswer]:
    """Convert the rows of the query ANSWERS."""
    found = []
    for row in rows:
        facts = json.loads(row["bare"])
        claimed = json.loads(row["claims"] or claims(CallAnswered.KIND, json.loads(row["whole"])) or "{}")
        estimated = claimed.pop(ESTIMATED, True)
        names = (facts.get("role") or "", facts.get("agent") or "", facts.get("state") or "")
        ended = float(facts.get("ended") or row["at"])
        found.append(StoredAnswer(row["run"], row["key"], *names, ended, claimed, estimated))
    return found


def verdicts(rows: Iterable[Row]) -> list[StoredVerdict]:
    """Convert the rows of the query VERDICTS."""
    found = []
    for row in rows:
        data = json.loads(row["data"])
        judged = [
            requirement
            for requirement in data.get("requirements") or ()
            if isinstance(requirement, dict) and requirement.get("id") is not None
        ]
        grades = {
            str(requirement["id"]): str(requirement["grade"]) for requirement in judged if requirement.get("grade")
        }
        found.append(StoredVerdict(row["run"], row["key"], row["at"], grades, data.get("grade") or ""))
    return found


def sealed(rows: Iterable[Row]) -> dict[str, int]:
    """Run → number of its requirements, from the rows of the query SEALED. The newest contract of a run counts."""
    return {row["run"]: int(json.loads(row["data"]).get("requirements") or 0) for row in rows}


def accepted_grade(inputs: str) -> str:
    """The grade that the user accepts, from a run's inputs as JSON; "" if the inputs name none."""
    try:
        found = json.loads(inputs)["settings"]["accept"]
    except (ValueError, LookupError, TypeError):
        return ""
    return found if isinstance(found, str) else ""
