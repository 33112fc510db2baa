"""The hashes that identify contracts and checks."""

import hashlib
import json
import weakref

from trued.model import Check, Contract

FACTS = {"base_facts"}  # fields outside the hash: they were measured, not agreed upon, and differ with every run
_HASHES: dict[int, str] = {}  # id() of a contract object that still exists → its hash


def canonical_contract(contract: Contract) -> str:
    """The contract as canonical JSON: equal contracts give equal text. The results on the base are left out, because
    they differ with every run."""
    data = contract.model_dump(mode="json", exclude=FACTS)
    return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def check_hash(check: Check) -> str:
    """The name of a check: the hash of its content, the same in every requirement and contract."""
    data = json.dumps(check.model_dump(mode="json"), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()


def contract_hash(contract: Contract) -> str:
    """The SHA-256 of the contract's canonical form, which identifies the contract everywhere.

    Computed only once for each object, because a plan of a thousand chunks asks for it after every chunk. The hash is
    not stored in the object, because `model_copy` would copy it to a contract with other content.
    """
    known = _HASHES.get(id(contract))
    if known is None:
        known = hashlib.sha256(canonical_contract(contract).encode("utf-8", "surrogatepass")).hexdigest()
        _HASHES[id(contract)] = known
        weakref.finalize(contract, _HASHES.pop, id(contract), None).atexit = False
    return known
