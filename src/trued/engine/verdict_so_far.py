"""The newest verdict on each requirement of a run that is not finished, as one verdict."""

import json
from typing import Any

from trued.engine.stored_evidence import StoredEvidence, packed
from trued.model import Judged, Verdict


class VerdictSoFar:
    """Folds the verdicts on single tasks, oldest first. Each is read only once, because a recorded step never changes.

    Judgements stay JSON until they are needed, because newer verdicts replace most of them.
    """

    def __init__(self) -> None:
        self.last = 0  # number of the newest step that was added
        self._newest = ""
        self._judged: dict[str, Judged | dict[str, Any]] = {}  # requirement → its newest judgement
        self._known: set[str] = set()  # requirements and suites that were judged
        # requirement → its newest evidence: position among all evidence → piece of evidence
        self._facts: dict[str, dict[int, bytes | dict[str, Any]]] = {}
        self._places = 0
        self._made: Verdict | None = None

    def add(self, number: int, value: str) -> None:
        """Add the next verdict: the result of the step with this number."""
        self.last, self._newest, self._made, stored = number, value, None, json.loads(value)
        judged = {judged_row["id"]: judged_row for judged_row in stored.get("requirements", ())}
        names = {*judged, *(judged_row["id"] for judged_row in stored.get("suites", ()))}
        self._judged.update(judged)
        self._known |= names
        for name in names:
            self._facts.pop(name, None)
        for fact in stored.get("evidence", ()):
            name = fact["requirement"]
            if name in names or name not in self._known:
                self._facts.setdefault(name, {})[self._places] = fact
                self._places += 1

    @property
    def verdict(self) -> Verdict | None:
        """The verdict; None until the first task is judged."""
        found = self.stored_verdict
        return found.model_copy(update={"evidence": tuple(found.evidence)}) if found else None

    @property
    def stored_verdict(self) -> Verdict | None:
        """Like `verdict`, with evidence that is parsed only when it is used."""
        if self._made is None and self._newest:
            for name, row in self._judged.items():
                self._judged[name] = Judged.model_validate(row)
            places: dict[int, tuple[str, bytes]] = {}
            for name, facts in self._facts.items():
                for place, fact in facts.items():
                    facts[place] = kept = fact if isinstance(fact, bytes) else packed(fact)
                    places[place] = (name, kept)
            evidence = StoredEvidence(places[place] for place in sorted(places))
            parts = {"subject": "so far", "requirements": tuple(self._judged.values()), "evidence": evidence}
            self._made = Verdict.model_validate_json(self._newest).model_copy(update=parts)
        return self._made
