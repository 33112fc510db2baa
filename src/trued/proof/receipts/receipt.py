"""Receipts as files: a statement in a canonical encoding, so that every changed byte is detected. Pure."""

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
    """A receipt whose digest is right. Its signature has to be checked separately."""

    statement: Statement
    payload: bytes
    signature: bytes = b""

    @property
    def signer(self) -> bytes:
        return base64.b64decode(self.statement.predicate.trued.signer)


def encode_receipt(stated: Statement, signer: Signer | None = None) -> bytes:
    """The file's bytes: a DSSE envelope, with a digest over everything else in it."""
    public = base64.b64encode(signer.public).decode() if signer else ""
    note = SIGNED if signer else UNSIGNED
    account = stated.predicate.trued.model_copy(update={"note": note, "signer": public})
    predicate = stated.predicate.model_copy(update={"trued": account})
    payload = canonical_bytes(stated.model_copy(update={"predicate": predicate}).data())
    signature = signer.sign(signed_message(payload)) if signer else b""
    return _enveloped(Receipt(stated.model_copy(update={"predicate": predicate}), payload, signature))


def signed_message(payload: bytes) -> bytes:
    """The bytes that are signed: DSSE's encoding of payload and type."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD), PAYLOAD.encode(), len(payload), payload)


def key_id(public: bytes) -> str:
    """The SHA-256 of a public key, which serves as its name."""
    return content_hash(public)


def _enveloped(one: Receipt) -> bytes:
    signature = {"keyid": key_id(one.signer), "sig": base64.b64encode(one.signature).decode()}
    envelope: dict[str, Any] = {
        "note": one.statement.predicate.trued.note,
        "payload": base64.b64encode(one.payload).decode(),
        "payloadType": PAYLOAD,
        "signatures": [signature] if one.signature else [],
    }
    digest = content_hash(canonical_bytes(envelope))
    return canonical_bytes({**envelope, "sha256": digest}) + b"\n"


def parse_receipt(data: bytes) -> Receipt:
    """The receipt in these bytes. Raises BadInput if they are not exactly in the canonical encoding."""
    if len(data) > LARGEST:
        raise _refused("it is too large for a receipt")
    envelope = _json(data.removesuffix(b"\n"), "it is not a receipt")
    if not isinstance(envelope, dict) or not isinstance(envelope.get("payload"), str):
        raise _refused("it is not a receipt")
    payload = _decoded(envelope["payload"])
    signature = _signature(envelope.get("signatures"))
    if envelope.get("sha256") != content_hash(canonical_bytes(_without(envelope, "sha256"))):
        raise _refused("its digest is wrong: it was changed after it was made")
    found = Receipt(_statement(payload), payload, signature)
    if bool(found.signer) != bool(signature):
        raise _refused("its signature was removed or added")
    if canonical_bytes(found.statement.data()) != payload or _enveloped(found) != data:
        raise _refused("it is not in the canonical form: it was changed after it was made")
    return found


def _statement(payload: bytes) -> Statement:
    _json(payload, "its payload is not JSON")
    try:
        stated = Statement.model_validate_json(payload, strict=True)
        base64.b64decode(stated.predicate.trued.signer, validate=True)
    except (ValidationError, binascii.Error, ValueError) as error:
        what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise _refused(f"its payload is not a statement of trued: {what}") from error
    _check_coherence(stated)
    return stated


def _check_coherence(stated: Statement) -> None:
    """Check that results, hashes and notes in the statement agree with each other. Raises BadInput if they do not."""
    predicate = stated.predicate
    account = predicate.trued
    said = (predicate.result, (predicate.passed_tests, predicate.warned_tests, predicate.failed_tests))
    worst = min((one.grade for one in account.requirements), default=Grade.UNPROVEN)
    named = [(one.name, tuple(one.digest)) for one in predicate.configuration]
    if said != tally(account) or worst is not account.grade:
        raise _refused("its result does not follow from its grades")
    if named != [("contract", ("sha256",)), ("base", ("gitCommit",))]:
        raise _refused("it does not name contract and base by their hashes")
    if predicate.configuration[1].digest["gitCommit"] != account.base or not stated.commit or not stated.contract:
        raise _refused("it does not name contract, base and commit by their hashes")
    if account.accept < Grade.TESTED:  # no user can lower the bar so far, and every work would be a success
        raise _refused(f"it accepts work that is {account.accept}")
    if account.note != (SIGNED if account.signer else UNSIGNED):
        raise _refused("it does not say whether it is signed")


def _json(data: bytes, otherwise: str) -> Any:
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
        written = canonical_bytes(value)
    except (ValueError, RecursionError) as error:
        raise _refused(otherwise) from error
    if written != data:
        raise _refused("it is not in the canonical form: it was changed after it was made")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _refused("its payload is not base64") from error


def _signature(listed: Any) -> bytes:
    match listed:
        case []:
            return b""
        case [{"keyid": str(), "sig": str(text)}] if text:
            return _decoded(text)
    raise _refused("it has more than one signature, or one of another form")


def _without(envelope: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in envelope.items() if key != name}


def _refused(what: str) -> BadInput:
    return BadInput(f"this receipt is not valid: {what}", then="ask for it again, or prove the commit again")
