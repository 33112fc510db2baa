"""Falsely and honestly finished work before four gates: how much of it each gets wrong, by family.

`python -m bench proof`, or `python -m bench.proof --only REGEX --gates trued,exit-code`.
"""

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bench.gates import GATES, Asked, Said
from bench.show import Target, show
from tests.corpus.kit import FAMILIES, Built, build, clean_up, every_case
from tests.corpus.sample import build_sample, sample

WORKERS = 2


@dataclass(frozen=True, slots=True)
class Subject:
    """One head, and what a gate must say of it."""

    name: str
    family: str
    honest: bool
    project: str
    build: Callable[[Path], Built]
    gold: Callable[[Path], Built]
    short: frozenset[str] | None = None  # the requirements that must be named; None: whichever


@dataclass(frozen=True, slots=True)
class Result:
    subject: Subject
    gate: str
    said: Said

    @property
    def wrong(self) -> str:
        if self.said.accepted != self.subject.honest:
            return "reject" if self.subject.honest else "accept"
        named = self.said.short is None or self.subject.short is None or self.said.short == self.subject.short
        return "" if named else "name"


def subjects() -> Iterator[Subject]:
    for row, kind, honest in sample():
        yield Subject(
            name=f"sample/{row['id']}-{kind}",
            family="k" if honest else row["id"][0],
            honest=honest,
            project=f"sample/{row['id']}",
            build=partial(build_sample, row, kind),
            gold=partial(build_sample, row, "honest"),
        )
    for case in every_case():
        every = frozenset(str(one["id"]) for one in case.requirements["requirements"])
        yield Subject(
            name=case.name,
            family=case.family,
            honest=case.honest,
            project=case.seal_key,
            build=partial(build, case),
            gold=partial(build, replace(case, change=lambda work: work.solve(), commits=True)),
            short=every if case.breaks is None else case.breaks,
        )


def tried(subject: Subject, gates: Sequence[str]) -> list[Result]:
    """The gates one after the other, each with a head of its own: a gate may change its workspace."""
    results = []
    for gate in gates:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            place = Path(os.path.realpath(folder))
            try:
                said = GATES[gate](Asked(subject.build(place), subject.project, subject.gold))
            finally:
                clean_up(place)
        results.append(Result(subject, gate, said))
        if wrong := results[-1].wrong:
            sys.stderr.write(f"{gate}: {_words(wrong)} {subject.name}\n")
    return results


def _words(wrong: str) -> str:
    return {"accept": "falsely accepts", "reject": "falsely rejects", "name": "names another requirement of"}[wrong]


def main(only: str = "", gates: Sequence[str] = tuple(GATES)) -> bool:
    chosen = [one for one in subjects() if re.search(only, one.name)]
    with ThreadPoolExecutor(WORKERS) as pool:
        results = [one for many in pool.map(lambda each: tried(each, gates), chosen) for one in many]
    rows = [
        _row(f"{family} {FAMILIES[family]}", [one for one in results if one.subject.family == family], gates)
        for family in FAMILIES
    ]
    rows.append(_row("all", results, gates))
    targets = [
        Target(
            f"trued: {_words(kind).split()[0]} {kind}s" if kind != "name" else "trued: wrong requirement named",
            _count(results, "trued", kind),
            0,
            of=_tried(results, kind),
        )
        for kind in ("accept", "reject", "name")
        if not only or _tried(results, kind)  # of a part nothing is claimed that it does not hold
    ]
    header = ["family (cheats + honest)", *(f"{gate} a/r" for gate in gates), "misnamed"]
    data = [
        {"case": one.subject.name, "gate": one.gate, "accepted": one.said.accepted, "wrong": one.wrong}
        for one in results
    ]
    return show("proof", header, rows, targets, data)


def _row(name: str, results: Sequence[Result], gates: Sequence[str]) -> list[str]:
    heads = {one.subject.name: one.subject.honest for one in results}
    cells = [f"{_count(results, gate, 'accept')}/{_count(results, gate, 'reject')}" for gate in gates]
    counted = f"{name} ({list(heads.values()).count(False)} + {list(heads.values()).count(True)})"
    return [counted, *cells, str(_count(results, "trued", "name"))]


def _count(results: Sequence[Result], gate: str, wrong: str) -> int:
    return sum(1 for one in results if one.gate == gate and one.wrong == wrong)


def _tried(results: Sequence[Result], kind: str) -> int:
    """Heads of which trued could have got this wrong."""
    heads = [one.subject for one in results if one.gate == "trued"]
    fitting = {
        "accept": [one for one in heads if not one.honest],
        "reject": [one for one in heads if one.honest],
        "name": [one for one in heads if one.short is not None],
    }
    return len(fitting[kind])


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="names to try, a regular expression")
    options.add_argument("--gates", default=",".join(GATES))
    given = options.parse_args()
    sys.exit(0 if main(given.only, given.gates.split(",")) else 1)
