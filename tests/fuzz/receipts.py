"""Receipts and bundles: no changed byte holds, and no forged statement says more than its own grades."""

import base64
import hashlib
import json
from functools import cache
from typing import Any

from tests.fuzz.mutation import Mutator
from tests.proof.receipts.receipt_sample import contract, given, stated, verdict
from trued.errors import BadInput
from trued.model import CallCase, Finding, Grade
from trued.proof.receipts.bundle import Bundle, bundle_files, open_bundle
from trued.proof.receipts.receipt import encode_receipt, parse_receipt
from trued.proof.receipts.statement import ReceiptSurroundings, canonical_bytes, claim_differences, statement


@cache
def seeds() -> tuple[bytes, ...]:
    sealed = contract()
    objection = Finding(what="slow", requirement="slug", case=CallCase(call="a:b", args=(1, 2.5), returns=None))
    disputed = statement(sealed, verdict(sealed, Grade.PROVEN, objection), ReceiptSurroundings(approvals=(given(),)))
    return (
        encode_receipt(stated()),
        encode_receipt(stated(Grade.REFUTED)),
        encode_receipt(stated(Grade.TESTED, Grade.TESTED)),
        encode_receipt(disputed),
    )


@cache
def bundled() -> dict[str, bytes]:
    return bundle_files(Bundle(contract(), ("asked.yaml", b"requirements: []\n")))


def feed(chance: Mutator) -> bytes:
    kind = chance.random.random()
    if kind < 0.45:
        return _bytes(chance)
    return _forged(chance) if kind < 0.85 else _bundle(chance)


def _bytes(chance: Mutator) -> bytes:
    """Whatever is not one of the originals does not hold."""
    data = chance.text(seeds())
    try:
        parse_receipt(data)
    except BadInput:
        return b"refused"
    assert data in seeds(), "other bytes hold"
    return b"unchanged"


def _forged(chance: Mutator) -> bytes:
    """With digests made anew: it may hold, but it cannot contradict itself."""
    envelope = json.loads(chance.random.choice(seeds()))
    payload = chance.value([json.loads(base64.b64decode(envelope["payload"]))])
    try:
        written = canonical_bytes(payload)
    except (ValueError, TypeError):  # NaN, half a character: no such file can be written
        return b"unwritable"
    envelope["payload"] = base64.b64encode(written).decode()
    envelope.pop("sha256")
    envelope["sha256"] = hashlib.sha256(canonical_bytes(envelope)).hexdigest()
    try:
        found = parse_receipt(canonical_bytes(envelope) + b"\n").statement
    except BadInput as error:
        return b"refused" if "is not valid" in str(error) else b"?"
    _honest(found.data())
    claim_differences(found, stated())
    return b"forged"


def _honest(data: dict[str, Any]) -> None:
    """PASSED is said of nothing that did not reach the bar: counted anew from its own lines."""
    predicate = data["predicate"]
    account = predicate["trued"]
    grades = [list(Grade).index(Grade(one["grade"])) for one in account["requirements"]]
    bar = list(Grade).index(Grade(account["accept"]))
    stands = bool(grades) and min(grades) >= bar and not account["objections"] and not account["remarks"]
    assert (predicate["result"] != "FAILED") == stands
    assert predicate["result"] != "PASSED" or min(grades) >= list(Grade).index(Grade.ATTESTED)
    assert "forge" in account["note"]


def _bundle(chance: Mutator) -> bytes:
    content = dict(bundled())
    name = chance.random.choice(sorted(content))
    content[name] = chance.text([content[name]])
    if chance.random.random() < 0.1:
        del content[name]
    try:
        open_bundle(content)
    except BadInput:
        return b"refused"
    assert content == bundled(), f"{name} was changed and holds"
    return b"unchanged"
