"""Receipts as files: a statement in a canonical encoding, so that every changed byte is detected. Does no I/O."""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import ValidationError

from trued.errors import BadInput
from trued.model import Grade
from trued.proof.receipts.statement import SIGNED, UNSIGNED, Statement, canonical_bytes, tally
from trued.support.hashing import content_hash

PAYLOAD = "application/vnd.in-toto+json"
LARGEST = 64 * 1024 * 1024


class Signer(Protocol):
    """Signs with a private key that it holds."""

    @property
    def public(self) -> bytes: ...
    def sign(self, message: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt whose digest is right. Only `signature_flaw` checks whether its signature is right, too."""

    statement: Statement
    payload: bytes
    signature: bytes = b""

    @property
    def signer(self) -> bytes:
        return base64.b64decode(self.statement.predicate.trued.signer)


def encode_receipt(statement: Statement, signer: Signer | None = None) -> bytes:
    """The file's bytes: a DSSE envelope, with a digest over everything else in it."""
    public = base64.b64encode(signer.public).decode() if signer else ""
    note = SIGNED if signer else UNSIGNED
    account = statement.predicate.trued.model_copy(update={"note": note, "signer": public})
    predicate = statement.predicate.model_copy(update={"trued": account})
    payload = canonical_bytes(statement.model_copy(update={"predicate": predicate}).data())
    signature = signer.sign(signed_message(payload)) if signer else b""
    return _envelope(Receipt(statement.model_copy(update={"predicate": predicate}), payload, signature))


def signed_message(payload: bytes) -> bytes:
    """The bytes that are signed: DSSE's encoding of payload and type."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD), PAYLOAD.encode(), len(payload), payload)


def key_id(public: bytes) -> str:
    """The SHA-256 of a public key, which serves as its name."""
    return content_hash(public)


def _envelope(receipt: Receipt) -> bytes:
    signature = {"keyid": key_id(receipt.signer), "sig": base64.b64encode(receipt.signature).decode()}
    envelope: dict[str, Any] = {
        "note": receipt.statement.predicate.trued.note,
        "payload": base64.b64encode(receipt.payload).decode(),
        "payloadType": PAYLOAD,
        "signatures": [signature] if receipt.signature else [],
    }
    digest = content_hash(canonical_bytes(envelope))
    return canonical_bytes({**envelope, "sha256": digest}) + b"\n"


def parse_receipt(data: bytes) -> Receipt:
    """The receipt in these bytes. Raises BadInput if they are no valid receipt in exactly the canonical encoding. Does
    not verify the signature: `signature_flaw` does."""
    if len(data) > LARGEST:
        raise _invalid("it is too large for a receipt")
    envelope = _json(data.removesuffix(b"\n"), "it is not a receipt")
    if not isinstance(envelope, dict) or not isinstance(envelope.get("payload"), str):
        raise _invalid("it is not a receipt")
    payload = _decode(envelope["payload"])
    signature = _signature(envelope.get("signatures"))
    if envelope.get("sha256") != content_hash(canonical_bytes(_without(envelope, "sha256"))):
        raise _invalid("its digest is wrong: it was changed after it was made")
    receipt = Receipt(_statement(payload), payload, signature)
    if bool(receipt.signer) != bool(signature):
        raise _invalid("its signature was removed or added")
    if canonical_bytes(receipt.statement.data()) != payload or _envelope(receipt) != data:
        raise _invalid("it is not in the canonical form: it was changed after it was made")
    return receipt


def _statement(payload: bytes) -> Statement:
    _json(payload, "its payload is not JSON")
    try:
        statement = Statement.model_validate_json(payload, strict=True)
        base64.b64decode(statement.predicate.trued.signer, validate=True)
    except (ValidationError, binascii.Error, ValueError) as error:
        what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise _invalid(f"its payload is not a statement of trued: {what}") from error
    _check_coherence(statement)
    return statement


def _check_coherence(statement: Statement) -> None:
    """Check that results, hashes and notes in the statement agree with each other. Raises BadInput if they do not."""
    predicate = statement.predicate
    account = predicate.trued
    stated_result = (predicate.result, (predicate.passed_tests, predicate.warned_tests, predicate.failed_tests))
    worst = min((requirement.grade for requirement in account.requirements), default=Grade.UNPROVEN)
    configuration = [(descriptor.name, tuple(descriptor.digest)) for descriptor in predicate.configuration]
    if stated_result != tally(account) or worst is not account.grade:
        raise _invalid("its result does not follow from its grades")
    if configuration != [("contract", ("sha256",)), ("base", ("gitCommit",))]:
        raise _invalid("it does not name contract and base by their hashes")
    if predicate.configuration[1].digest["gitCommit"] != account.base or not statement.commit or not statement.contract:
        raise _invalid("it does not name contract, base and commit by their hashes")
    if account.accept < Grade.TESTED:  # no user can lower the bar that far: any work would be a success
        raise _invalid(f"it accepts work that is {account.accept}")
    if account.note != (SIGNED if account.signer else UNSIGNED):
        raise _invalid("it does not say whether it is signed")


def _json(data: bytes, flaw: str) -> Any:
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
        canonical = canonical_bytes(value)
    except (ValueError, RecursionError) as error:
        raise _invalid(flaw) from error
    if canonical != data:
        raise _invalid("it is not in the canonical form: it was changed after it was made")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _invalid("its payload is not base64") from error


def _signature(signatures: Any) -> bytes:
    match signatures:
        case []:
            return b""
        case [{"keyid": str(), "sig": str(text)}] if text:
            return _decode(text)
    raise _invalid("it has more than one signature, or one of another form")


def _without(envelope: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in envelope.items() if key != name}


def _invalid(what: str) -> BadInput:
    return BadInput(f"this receipt is not valid: {what}", then="ask for it again, or prove the commit again")
