"""Queries for the history of many runs in the embedded journal.

They load few values: no brief, no evidence, and little of each reply.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from trued.engine.journals.queries import OF_RUNS_SINCE
from trued.model.history import CLAIMING_FIELDS, StoredAnswer, StoredVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable

# The kinds of `CallAnswered`, `VerdictReached` and `ContractSealed`, as literals: importing all event classes takes
# longer than reading a journal.
ANSWERED, REACHED, IS_SEALED = "answered", "proven", "contract sealed"
_TEXTS = ", ".join(f"substr(json_extract(data, '$.reply.{name}'), 1, 40)" for name in CLAIMING_FIELDS)
_TYPES = ", ".join(f"json_type(data, '$.reply.{name}')" for name in CLAIMING_FIELDS)
ANSWERS = f"""
    select run, key, at, json_extract(data, '$.role') as role, json_extract(data, '$.agent') as agent,
        json_extract(data, '$.state') as state, json_extract(data, '$.ended') as ended,
        json_array({_TEXTS}) as claims, json_array({_TYPES}) as types, json_type(data, '$.reply.asks') as asks,
        coalesce(json_extract(data, '$.tokens.estimated'), 1) as estimated
    from event where kind = '{ANSWERED}' and {OF_RUNS_SINCE} order by id"""  # noqa: S608  (constants)
VERDICTS = f"""
    select run, key, at, (
        select json_group_object(json_extract(value, '$.id'), json_extract(value, '$.grade'))
        from json_each(data, '$.requirements') where json_extract(value, '$.id') is not null
    ) as grades, json_extract(data, '$.grade') as worst
    from event where kind = '{REACHED}' and {OF_RUNS_SINCE} order by id"""  # noqa: S608  (constants)
ACCEPTED = """
    select id, case when json_valid(inputs) then json_extract(inputs, '$.settings.accept') end as accept
    from run where ? in ('', id) order by id"""
SEALED = f"""
    select run, json_extract(data, '$.requirements') as requirements, max(id)
    from event where kind = '{IS_SEALED}' and {OF_RUNS_SINCE} group by run"""  # noqa: S608  (constants)


def answers(rows: "Iterable[sqlite3.Row]") -> list[StoredAnswer]:
    """The result of the query ANSWERS, as values."""
    read: dict[tuple[str, str, str], dict[str, Any]] = {}  # a cache: thousands of replies make the same claims
    found = []
    for row in rows:
        given = (row["claims"], row["types"], row["asks"] or "")
        if given not in read:
            asks = {} if given[2] in ("", "null", "false") else {"asks": True}
            read[given] = {**dict(_claimed(json.loads(given[0]), json.loads(given[1]))), **asks}
        names = (row["role"] or "", row["agent"] or "", row["state"] or "")
        ended = float(row["ended"] or row["at"])
        found.append(StoredAnswer(row["run"], row["key"], *names, ended, read[given], bool(row["estimated"])))
    return found


def verdicts(rows: "Iterable[sqlite3.Row]") -> list[StoredVerdict]:
    """The result of the query VERDICTS, as values."""
    read: dict[str, dict[str, str]] = {}
    found = []
    for row in rows:
        given = row["grades"] or "{}"
        if given not in read:
            read[given] = {name: str(grade) for name, grade in json.loads(given).items() if grade}
        found.append(StoredVerdict(row["run"], row["key"], row["at"], read[given], row["worst"] or ""))
    return found


def _claimed(values: Sequence[Any], types: Sequence[str | None]) -> Iterator[tuple[str, Any]]:
    """Name and value of each field in which a reply claims something. `types`: the JSON type of each value, because
    SQLite returns true and false as 1 and 0."""
    for name, value, kind in zip(CLAIMING_FIELDS, values, types, strict=True):
        if kind not in (None, "null"):
            yield name, kind == "true" if kind in ("true", "false") else value
