"""The hash of a contract."""

import hashlib

import pytest

from trued.model import Contract, Evidence, Requirement
from trued.proof.hashes import _HASHES, canonical_contract, contract_hash

CONTRACT = Contract(base="b" * 40, requirements=(Requirement(id="r", text="it works"),))
FACT = Evidence(id="1", requirement="r", check="c", kind="tests", side="base", commit="c", tree="t", isolation="x")


@pytest.mark.spec("LAW-3")
def test_a_contract_is_named_by_what_was_agreed_and_not_by_what_was_found_out() -> None:
    name = contract_hash(CONTRACT)
    assert name == contract_hash(Contract.model_validate_json(CONTRACT.model_dump_json()))
    assert name == contract_hash(CONTRACT.model_copy(update={"base_facts": (FACT,)}))
    other = Requirement(id="r", text="it works!")
    for change in ({"requirements": (other,)}, {"frozen": {"a": "b"}}, {"base": "a" * 40}, {"held_out": True}):
        assert contract_hash(CONTRACT.model_copy(update=change)) != name


@pytest.mark.spec("LAW-3")
def test_a_contract_is_hashed_once_and_its_hash_goes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Contract] = []

    def canonical(contract: Contract) -> str:
        hashed.append(contract)
        return canonical_contract(contract)

    monkeypatch.setattr("trued.proof.hashes.canonical_contract", canonical)
    before = len(_HASHES)
    own = CONTRACT.model_copy(update={"base": "d" * 40})
    assert contract_hash(own) == contract_hash(own) != contract_hash(CONTRACT)
    assert [one for one in hashed if one is own] == [own]
    hashed.clear()
    del own
    for number in range(10):  # later contracts may get the memory of earlier ones, never their hash
        text = canonical_contract(again := CONTRACT.model_copy(update={"base": f"{number:040}"}))
        assert contract_hash(again) == hashlib.sha256(text.encode()).hexdigest()
        hashed.clear()
    del again
    assert len(_HASHES) <= before + 1  # CONTRACT
