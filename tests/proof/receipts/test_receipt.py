"""Receipts: one canonical encoding, a digest over every byte, and the content of a statement."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.proof.receipts.receipt_sample import BASE, HEAD, HOSTILE, TREE, contract, given, requirement, stated, verdict
from trued.errors import BadInput
from trued.model import Author, CallCase, Finding, Grade, Outcomes
from trued.proof.hashes import check_hash, contract_hash
from trued.proof.receipts import signing
from trued.proof.receipts.receipt import encode_receipt, key_id, parse_receipt, signed_message
from trued.proof.receipts.statement import (
    SIGNED,
    UNSIGNED,
    ReceiptSurroundings,
    canonical_bytes,
    claim_differences,
    statement,
)

DESCRIPTOR = {
    "type": "object",
    "anyOf": [{"required": [name]} for name in ("uri", "digest", "content")],
    "properties": {
        **{name: {"type": "string"} for name in ("name", "uri", "content", "downloadLocation", "mediaType")},
        "digest": {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]+$"}},
        "annotations": {"type": "object"},
    },
    "additionalProperties": False,
}
NAMES = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
# The structure of Statement v1 and of the predicate test-result v0.1, according to their specifications.
IN_TOTO = {
    "type": "object",
    "required": ["_type", "subject", "predicateType", "predicate"],
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "subject": {"type": "array", "minItems": 1, "items": {**DESCRIPTOR, "required": ["digest"]}},
        "predicateType": {"const": "https://in-toto.io/attestation/test-result/v0.1"},
        "predicate": {
            "type": "object",
            "required": ["result", "configuration"],
            "properties": {
                "result": {"enum": ["PASSED", "WARNED", "FAILED"]},
                "configuration": {"type": "array", "items": DESCRIPTOR},
                "url": {"type": "string"},
                **dict.fromkeys(("passedTests", "warnedTests", "failedTests"), NAMES),
            },
        },
    },
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> signing.SigningKey:
    return signing.create_key(tmp_path_factory.mktemp("state"))


# -- what it says ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("LAW-10")
def test_a_statement_names_commit_tree_contract_and_base_by_hash() -> None:
    sealed = contract()
    data = statement(sealed, verdict(sealed)).data()
    assert data["subject"] == [{"name": "", "digest": {"gitCommit": HEAD, "gitTree": TREE}}]
    assert [one["digest"] for one in data["predicate"]["configuration"]] == [
        {"sha256": contract_hash(sealed)},
        {"gitCommit": BASE},
    ]


@pytest.mark.spec("LAW-10")
@pytest.mark.parametrize("grade", list(Grade))
@pytest.mark.parametrize("accept", [Grade.TESTED, Grade.EXAMINED, Grade.ATTESTED, Grade.PROVEN])
def test_a_statement_has_in_totos_shape_and_passes_only_what_reached_the_bar(grade: Grade, accept: Grade) -> None:
    data = stated(grade, accept).data()
    Draft202012Validator(IN_TOTO).validate(data)
    predicate = data["predicate"]
    full = grade.rank >= max(accept.rank, Grade.ATTESTED.rank)
    expected = "PASSED" if full else "WARNED" if grade.rank >= accept.rank else "FAILED"
    assert predicate["result"] == expected
    listed = {name: predicate[f"{name}Tests"] for name in ("passed", "warned", "failed")}
    assert listed == {name: ["slug"] if name == expected.lower() else [] for name in listed}
    assert predicate["trued"]["accept"] == accept


def test_an_official_reader_of_in_toto_takes_it() -> None:
    from google.protobuf import json_format
    from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
    from in_toto_attestation.v1.statement import Statement

    data = stated().data()
    read = Statement.copy_from_pb(json_format.Parse(json.dumps(data), Statement([], "", {}).pb.__class__()))
    read.validate()
    result = json_format.Parse(json.dumps(data["predicate"]), test_result_pb2.TestResult(), ignore_unknown_fields=True)
    assert list(result.passed_tests) == ["slug"]


@pytest.mark.spec("LAW-10")
def test_it_says_on_whose_word_each_requirement_rests() -> None:
    own, theirs = requirement("own"), requirement("theirs", "another")
    theirs = theirs.model_copy(
        update={"checks": (theirs.checks[0].model_copy(update={"cases": (CallCase(call="a:b", returns=1),)}),)}
    )
    author = Author(role="examiner", agent="codex", vendor="openai")
    sealed = contract(own, theirs, authors={check_hash(theirs.checks[0]): author})
    words = (given("own", "Ada", "it looks right"), given("*", "Bob", "all read"))
    lines = statement(sealed, verdict(sealed), ReceiptSurroundings(approvals=words)).predicate.trued.requirements
    assert lines[0].rests_on == (
        "the user's own checks (r.yaml:3)",
        "accepted by Ada: it looks right",
        "the contract is approved by Bob: all read",
    )
    assert lines[1].rests_on[0] == "checks written by examiner (codex, openai)"


def test_what_stands_against_a_verdict_fails_it_whatever_the_grades_say() -> None:
    sealed = contract()
    objection = Finding(what="it is slow", requirement="slug")
    assert statement(sealed, verdict(sealed, Grade.PROVEN, objection)).predicate.result == "FAILED"
    remark = verdict(sealed).model_copy(update={"remarks": (Finding(what="the diff is empty"),)})
    assert statement(sealed, remark).predicate.result == "FAILED"
    nothing = verdict(sealed).model_copy(update={"requirements": ()})
    assert statement(sealed, nothing).predicate.result == "FAILED"


@pytest.mark.spec("LAW-10", "LAW-3")
def test_a_statement_on_a_part_of_the_contract_names_the_rest_as_failed() -> None:
    whole = contract(requirement(), requirement().model_copy(update={"id": "rest"}))
    part = statement(whole, verdict(contract()))
    assert (part.predicate.result, part.predicate.failed_tests) == ("FAILED", ("rest",))
    assert statement(whole, verdict(whole)).predicate.result == "PASSED"


def test_times_seeds_and_level_are_no_claim_and_all_else_is() -> None:
    sealed = contract()
    one = statement(sealed, verdict(sealed))
    later = verdict(sealed)
    facts = [
        fact.model_copy(update={"id": "x", "began": 1.0, "seconds": 9.0, "isolation": "landlock", "output": "?"})
        for fact in later.evidence
    ]
    other = statement(
        sealed, later.model_copy(update={"evidence": tuple(facts)}), ReceiptSurroundings(engine="trued 9")
    )
    assert other != one
    assert claim_differences(one, other) == ()
    failing = later.evidence[0].tried[0].model_copy(update={"outcome": Outcomes.FAILED})
    worse = later.evidence[0].model_copy(update={"tried": (failing,)})
    assert claim_differences(one, statement(sealed, later.model_copy(update={"evidence": (worse, later.evidence[1])})))
    assert claim_differences(one, statement(sealed, verdict(sealed, Grade.REFUTED)))[0].startswith(
        "predicate.failedTests"
    )


# -- its bytes ---------------------------------------------------------------------------------------------------------


def test_a_receipt_is_read_as_it_was_written(key: signing.SigningKey) -> None:
    for signer in (None, key):
        data = encode_receipt(stated(), signer)
        found = parse_receipt(data)
        # an ed25519 signature of the same bytes is always the same
        assert encode_receipt(found.statement, signer) == data
        assert found.statement.predicate.trued.note == (SIGNED if signer else UNSIGNED)
        assert signing.signature_flaw(found) == ""
        assert data.endswith(b"}\n")
        assert data.count(b"\n") == 1


@pytest.mark.spec("LAW-10")
def test_every_bit_of_every_byte_counts() -> None:
    data = encode_receipt(stated())
    survived = [(place, mask) for place in range(len(data)) for mask in MASKS if _holds(_flipped(data, place, mask))]
    assert survived == []
    assert _holds(data)


@pytest.mark.slow
@pytest.mark.spec("LAW-10")
def test_every_bit_of_a_signed_receipt_counts_without_looking_at_the_signature(key: signing.SigningKey) -> None:
    data = encode_receipt(stated(), key)
    assert [place for place in range(len(data)) if _holds(_flipped(data, place, 1 << place % 8))] == []
    # flipping this bit swaps upper and lower case
    assert [place for place in range(len(data)) if _holds(_flipped(data, place, 0x20))] == []


MASKS = [1 << bit for bit in range(8)]


def _flipped(data: bytes, place: int, mask: int) -> bytes:
    return data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :]


def _holds(data: bytes) -> bool:
    try:
        parse_receipt(data)
    except BadInput:
        return False
    return True


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: data + b"\n",
        lambda data: b" " + data,
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b":", b": ", 1),
        lambda data: data.replace(b'{"note"', b'{"note":"","note"', 1),
        lambda data: data.replace(b"note", b"\\u006eote", 1),
        lambda data: data[:-2] + b',"more":1}\n',
        lambda data: json.dumps(json.loads(data), indent=1).encode(),
        lambda data: data + data,
        lambda data: b"",
        lambda data: b"[]",
        lambda data: b"{}",
        lambda data: b'{"payload":1}',
        lambda data: b"[" * 100_000,
        lambda data: b"null",
        lambda data: b"\xff",
    ],
)
def test_another_encoding_of_the_same_is_no_receipt(change: Any) -> None:
    with pytest.raises(BadInput, match="is not valid"):
        parse_receipt(change(encode_receipt(stated())))


def rewritten(data: bytes, change: Any) -> bytes:
    """The receipt with a changed statement and new digests, as a forger who knows the format would write it."""
    envelope = json.loads(data)
    payload = json.loads(base64.b64decode(envelope["payload"]))
    change(payload, envelope)
    envelope["payload"] = base64.b64encode(canonical_bytes(payload)).decode()
    envelope.pop("sha256")
    envelope["sha256"] = hashlib.sha256(canonical_bytes(envelope)).hexdigest()
    return canonical_bytes(envelope) + b"\n"


def _claim(payload: Any, _: Any) -> None:
    payload["predicate"]["trued"]["requirements"][0]["why"] = ["trust me"]


def test_an_unsigned_receipt_can_be_forged_anew_and_says_so() -> None:
    forged = parse_receipt(rewritten(encode_receipt(stated()), _claim))
    assert "forge" in forged.statement.predicate.trued.note
    assert b"forge" in encode_receipt(stated())  # somebody who opens the file can read it, too


def test_a_signed_one_cannot(key: signing.SigningKey) -> None:
    forged = parse_receipt(rewritten(encode_receipt(stated(), key), _claim))
    assert signing.signature_flaw(forged) == "its signature was not made with its key"


def _graded(payload: Any, _: Any) -> None:
    payload["predicate"]["trued"]["requirements"][0]["grade"] = "proven"


def _passed(payload: Any, _: Any) -> None:
    payload["predicate"] |= {"result": "PASSED", "passedTests": ["slug"], "failedTests": []}


def _quiet(payload: Any, _: Any) -> None:
    payload["predicate"]["trued"]["note"] = "all is well"


def _unsigned(payload: Any, envelope: Any) -> None:
    envelope["signatures"] = []


def _twice(payload: Any, envelope: Any) -> None:
    envelope["signatures"] *= 2


def _more(payload: Any, _: Any) -> None:
    payload["predicate"]["trued"]["extra"] = True


def _other_type(payload: Any, envelope: Any) -> None:
    envelope["payloadType"] = "application/json"


def _other_note(payload: Any, envelope: Any) -> None:
    envelope["note"] = SIGNED


def _no_commit(payload: Any, _: Any) -> None:
    payload["subject"][0]["digest"] = {"sha256": "00"}


def _other_base(payload: Any, _: Any) -> None:
    payload["predicate"]["configuration"][1]["digest"] = {"gitCommit": "0" * 40}


def _odd_key(payload: Any, envelope: Any) -> None:
    payload["predicate"]["trued"]["signer"] = "é"


@pytest.mark.parametrize(
    "change",
    [_graded, _passed, _quiet, _twice, _more, _other_type, _no_commit, _other_base, _odd_key, _unsigned, _other_note],
)
def test_a_statement_that_contradicts_itself_is_refused_though_its_digest_is_right(
    change: Any, key: signing.SigningKey
) -> None:
    signer = key if change in (_twice, _unsigned) else None
    with pytest.raises(BadInput, match="is not valid"):
        parse_receipt(rewritten(encode_receipt(stated(Grade.REFUTED), signer), change))


def test_hostile_text_is_carried_and_harms_nothing() -> None:
    bad = requirement(text=HOSTILE)
    sealed = contract(bad)
    said = verdict(sealed).model_copy(update={"undecided": (HOSTILE, '"}],"result":"PASSED"')})
    objection = Finding(
        what=HOSTILE, where=HOSTILE, requirement="slug", case=CallCase(call="a:b", args=(HOSTILE,), returns=None)
    )
    said = said.model_copy(update={"objections": (objection,)})
    found = parse_receipt(
        encode_receipt(statement(sealed, said, ReceiptSurroundings(approvals=(given("*", HOSTILE, HOSTILE),))))
    )
    account = found.statement.predicate.trued
    assert account.requirements[0].text == HOSTILE.replace("\ud800", "\\ud800")
    assert account.objections[0].case is not None
    assert found.statement.predicate.result == "FAILED"


# -- keys --------------------------------------------------------------------------------------------------------------


def test_what_is_signed_is_dsses_encoding() -> None:
    assert signed_message(b"{}") == b"DSSEv1 28 application/vnd.in-toto+json 2 {}"


@pytest.mark.spec("LAW-10")
def test_a_signature_holds_for_its_own_key_and_payload_only(key: signing.SigningKey, tmp_path: Path) -> None:
    other = signing.create_key(tmp_path)
    found = parse_receipt(encode_receipt(stated(), key))
    assert signing.signature_flaw(found, key.public) == ""
    assert "another key" in signing.signature_flaw(found, other.public)
    assert "not signed" in signing.signature_flaw(parse_receipt(encode_receipt(stated())), key.public)
    elsewhere = json.loads(encode_receipt(stated(Grade.REFUTED), key))["signatures"]
    swapped = rewritten(encode_receipt(stated(), key), lambda _, envelope: envelope.update(signatures=elsewhere))
    assert signing.signature_flaw(parse_receipt(swapped)) == "its signature was not made with its key"

    def claimed(payload: Any, envelope: Any) -> None:  # names another key as the signer
        payload["predicate"]["trued"]["signer"] = base64.b64encode(other.public).decode()
        envelope["signatures"][0]["keyid"] = key_id(other.public)

    assert signing.signature_flaw(parse_receipt(rewritten(encode_receipt(stated(), key), claimed)), other.public)


def test_a_key_is_private_and_never_overwritten(tmp_path: Path) -> None:
    made = signing.create_key(tmp_path)
    path = signing.key_path(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(BadInput, match="already"):
        signing.create_key(tmp_path)
    again = signing.own_key(tmp_path)
    assert again is not None
    assert again.public == made.public
    path.chmod(0o644)
    with pytest.raises(BadInput, match="others can read"):
        signing.own_key(tmp_path)
    path.chmod(0o600)
    path.write_text("rubbish")
    with pytest.raises(BadInput, match="not a usable private key"):
        signing.own_key(tmp_path)


def test_a_public_key_is_read_from_what_was_handed_out(tmp_path: Path, key: signing.SigningKey) -> None:
    file = tmp_path / "ada.pem"
    file.write_text(signing.pem(key.public))
    assert signing.read_public(file) == key.public
    for text in ("", "rubbish", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"):
        file.write_text(text)
        with pytest.raises(BadInput, match="not a public key"):
            signing.read_public(file)
    with pytest.raises(BadInput, match="cannot read"):
        signing.read_public(tmp_path / "none.pem")
