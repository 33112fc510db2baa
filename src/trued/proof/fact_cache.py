"""Caches facts between verifications.

Results of checks on a base are kept so that the checks need not run again. Failures of a head are kept so that a retry
cannot turn a failure into a pass.
"""

import contextlib
import hashlib
import json
import secrets
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trued.errors import StateFailed
from trued.model import Contract, Evidence, Outcomes, Requirement
from trued.proof.hashes import check_hash, contract_hash
from trued.proof.room.bench import ROOM
from trued.proof.room.held_out import is_held_out
from trued.proof.verdict.case_status import full_name
from trued.protocols import Workspace
from trued.support import atomic_files

FOLDER = "facts"
FORM = 1  # version of the file format; files of another version are not read
MOST = 12  # at most this many failing facts of one head are kept, which is enough to say how it failed
MOST_BYTES = 256 * 2**20
BASES = 200  # at most this many bases are cached
_FAILING = (Outcomes.FAILED, Outcomes.MISSING)


@dataclass(frozen=True, slots=True)
class EarlierFacts:
    """The failures of the same head in earlier verifications, which still count."""

    evidence: tuple[Evidence, ...] = ()
    uncounted: frozenset[str] = frozenset()  # tests that are not counted (see `judge.Facts.uncounted`)


class FactCache:
    """The cache, as files below the state folder. Without that folder, nothing is kept. Unreadable files are ignored.

    Failures of a head are kept for one `repository` only. Results on a base are keyed by the base's content, so all
    clones with the same content share them. The results that the cache returns name the commit and the requirements of
    the caller's contract, not of the contract for which they were recorded.
    """

    def __init__(self, home: Path | None, repository: str = "") -> None:
        self.folder, self.repository = home / FOLDER if home else None, repository

    # -- bases ------------------------------------------------------------------------------------------------------

    def of_base(self, contract: Contract, tree: str, level: str) -> tuple[Evidence, ...]:
        """What the same checks showed earlier on the same tree with the same interpreter; () if that is unknown."""
        stored = self._read("base", _base_name(contract, tree, level))
        evidence = _read_evidence(stored.get("evidence", ())) if stored else ()
        if {fact.check for fact in evidence} != _checks(contract.every):
            return ()
        if not all(self.artifact(contract, tree, level, name) for name in artifact_hashes(evidence)):
            return ()  # a picture is missing, so the facts are incomplete
        return tuple(_with_owner(fact, owner, contract) for fact in evidence for owner in _owners(contract, fact.check))

    def keep_base(self, contract: Contract, tree: str, level: str, facts: Sequence[Evidence]) -> bool:
        """Keep these facts, unless a case could not be judged for a reason that may be gone next time. A missing module
        will be missing next time, too, because the cache key contains the interpreter. Returns whether the facts were
        kept."""
        if any(
            result.outcome is Outcomes.UNJUDGED and not result.missing_module for fact in facts for result in fact.tried
        ):
            return False
        once = {(fact.check, fact.turn): fact for fact in facts}  # requirements may share a check
        self._write("base", _base_name(contract, tree, level), {"evidence": [_as_json(fact) for fact in once.values()]})
        self._forget_oldest()
        return True

    def keep_artifact(self, contract: Contract, tree: str, level: str, content: bytes) -> None:
        """Keep a picture or a recording beside the facts that it belongs to."""
        if self.folder is not None:
            folder = self.folder / "base" / _base_name(contract, tree, level)
            _create(folder)
            atomic_files.write(folder / hashlib.sha256(content).hexdigest(), content, sync=False)

    def artifact(self, contract: Contract, tree: str, level: str, name: str) -> bytes:
        """The picture or recording with this hash; b"" if there is none."""
        if self.folder is None:
            return b""
        try:
            content = (self.folder / "base" / _base_name(contract, tree, level) / name).read_bytes()
        except OSError:
            return b""
        return content if hashlib.sha256(content).hexdigest() == name else b""

    # -- heads ------------------------------------------------------------------------------------------------------

    def of_head(self, contract: Contract, tree: str, level: str) -> EarlierFacts:
        stored = self._read("head", self._head_name(contract, tree, level))
        if not stored:
            return EarlierFacts()
        return EarlierFacts(
            _read_evidence(stored.get("evidence", ())), frozenset(map(str, stored.get("order_bound", ())))
        )

    def keep_head(
        self, contract: Contract, tree: str, level: str, facts: Iterable[Evidence], uncounted: frozenset[str]
    ) -> None:
        """Keep the failing facts of a head, and no others: a later pass does not outweigh an earlier failure.
        `uncounted`: tests that are not counted (see `judge.Facts.uncounted`). A fact in which only such tests fail is
        not kept."""
        before = self.of_head(contract, tree, level)
        known = {fact.id for fact in before.evidence}
        checks = _checks((*contract.every, *contract.red_suites))
        failing = [
            fact for fact in facts if fact.check in checks and fact.id not in known and _has_failure(fact, uncounted)
        ]
        if not failing or len(before.evidence) >= MOST:
            return
        facts_to_keep = [*before.evidence, *failing][:MOST]
        content = {
            "evidence": [_as_json(fact) for fact in facts_to_keep],
            "order_bound": sorted(before.uncounted | uncounted),
        }
        self._write("head", self._head_name(contract, tree, level), content)

    def _head_name(self, contract: Contract, tree: str, level: str) -> str:
        return _name([tree, level, contract_hash(contract), *([self.repository] if self.repository else [])])

    # -- files ------------------------------------------------------------------------------------------------------

    def _forget_oldest(self) -> None:
        """Remove the results on the oldest bases, because checks can be run there again. Failures of heads are never
        removed."""
        if self.folder is None:
            return
        with contextlib.suppress(OSError):  # another verification may be removing the same files
            files = sorted((self.folder / "base").glob("*.json"), key=lambda file: file.stat().st_mtime)
            for file in files[:-BASES]:
                file.unlink(missing_ok=True)
                shutil.rmtree(file.with_suffix(""), ignore_errors=True)

    def _read(self, kind: str, name: str) -> dict[str, Any]:
        if self.folder is None:
            return {}
        file = self.folder / kind / f"{name}.json"
        try:
            if file.stat().st_size > MOST_BYTES:
                return {}
            content = json.loads(file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return content if isinstance(content, dict) and content.get("form") == FORM else {}

    def _write(self, kind: str, name: str, content: dict[str, Any]) -> None:
        if self.folder is None:
            return
        folder = self.folder / kind
        _create(folder)
        atomic_files.write(folder / f"{name}.json", json.dumps({"form": FORM, **content}))


async def tree_with_content(workspace: Workspace, commit: str) -> str:
    """A name for what a clean room of this commit contains: the hash of the commit's tree, and the commit's large files
    and submodules whose content is missing on this machine."""
    return " ".join((await workspace.tree(commit), *workspace.missing_content(commit)))


def artifact_hashes(evidence: Iterable[Evidence]) -> set[str]:
    """The hashes of the pictures and recordings that belong to this evidence."""
    return {sha256 for fact in evidence for sha256 in fact.artifacts.values()}


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StateFailed(
            f"cannot create {folder}: {error.strerror}; free space, or make its parent folder writable"
        ) from error


def _checks(requirements: Iterable[Requirement]) -> set[str]:
    return {check_hash(check) for requirement in requirements for check in requirement.checks if check.kind != "manual"}


def _owners(contract: Contract, check: str) -> list[Requirement]:
    return [requirement for requirement in contract.every if check in _checks((requirement,))]


def _with_owner(fact: Evidence, owner: Requirement, contract: Contract) -> Evidence:
    held_out = any(is_held_out(contract, check) for check in owner.checks if check_hash(check) == fact.check)
    update = {"id": secrets.token_hex(6), "requirement": owner.id, "commit": contract.base, "held_out": held_out}
    return fact.model_copy(update=update)


def _has_failure(fact: Evidence, uncounted: frozenset[str]) -> bool:
    return any(
        result.outcome in _FAILING and full_name(fact.kind, fact.check, result.id) not in uncounted
        for result in fact.tried
    )


def _as_json(fact: Evidence) -> dict[str, Any]:
    return fact.model_dump(mode="json")


def _read_evidence(stored: Any) -> tuple[Evidence, ...]:
    try:
        return tuple(Evidence.model_validate(fact) for fact in stored)
    except (ValidationError, TypeError):
        return ()


def _base_name(contract: Contract, tree: str, level: str) -> str:
    """The cache key, made of everything that influences the results of checks on the base. Who wrote a check or may
    read it does not influence the results, so the key does not contain this."""
    fields = {"environment", "frozen", "serve", "carried", "interpreter", "project_roots"}
    data = contract.model_dump(mode="json", include=fields)
    # Keep these words: they distinguish the key from keys of an earlier version, in which a check also found the files
    # of other checks.
    own_files_only = ["each check finds its own files alone"] if contract.carried else []
    return _name([tree, level, ROOM, sorted(_checks(contract.every)), data, *own_files_only])


def _name(parts: list[Any]) -> str:
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]
