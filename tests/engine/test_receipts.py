"""Receipts of real verdicts, checked offline, and proven again from a fresh clone and the bundle."""

import asyncio
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import git, lay, quiet
from trued.engine import receipts
from trued.engine.receipts import ReceiptCheck, ReceiptRequest
from trued.engine.verify import VerifyRequest, VerifyResult, verify
from trued.errors import BadInput
from trued.model import Approval, Author, Grade
from trued.proof.hashes import check_hash, contract_hash
from trued.proof.receipts import bundle as bundles
from trued.proof.receipts import signing
from trued.proof.receipts.bundle import Bundle
from trued.proof.receipts.receipt import encode_receipt, parse_receipt
from trued.proof.receipts.statement import (
    ReceiptSurroundings,
    RequirementSummary,
    Statement,
    is_only_unjudged,
    statement,
)

BASE = {
    "kit.py": "def old(x):\n    return x\n",
    "tests/test_kit.py": "from kit import old\n\n\ndef test_old():\n    assert old(1) == 1\n",
}
HEAD = {"kit.py": "def old(x):\n    return x\n\n\ndef double(x):\n    return x * 2\n"}
ASKED = """
requirements:
  - id: double
    text: double(x) is x twice
    checks:
      - kind: examples
        cases:
          - {call: "kit:double", args: [4], returns: 8}
          - {call: "kit:double", args: ["ab"], returns: "abab"}
      - {kind: tests, command: python -m pytest -q, files: [tests/test_kit.py]}
"""


@dataclass(frozen=True)
class World:
    """A repository with requirements, and the receipt and bundle of its verdict."""

    place: Path
    home: Path
    base: str
    head: str
    done: VerifyResult

    @property
    def receipt(self) -> Path:
        return self.place / "receipt.json"

    @property
    def bundle(self) -> Path:
        return self.place / "bundle"


def repository(place: Path) -> tuple[str, str]:
    place.mkdir()
    lay(place, BASE)
    git(place, "init", "-q")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "base")
    base = git(place, "rev-parse", "HEAD")
    lay(place, HEAD)
    git(place, "commit", "-qam", "work")
    return base, git(place, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    place = tmp_path_factory.mktemp("receipts")
    base, head = repository(place / "repo")
    asked = place / "asked.yaml"
    asked.write_text(ASKED)
    request = VerifyRequest(base=base, head=head, requirements_file=asked, here=place / "repo")
    home = place / "home"
    signing.create_key(home)

    async def made() -> World:
        done = await verify(request, home=home, environ=os.environ, tell=quiet)
        found = World(place, home, base, head, done)
        keeping = ReceiptRequest(receipt=found.receipt, bundle=found.bundle, asked=asked)
        await receipts.write_receipt(done.contract, done.verdict, keeping, repository=place / "repo", home=home)
        return found

    return asyncio.run(made())


async def checked(world: World, path: Path | None = None, **more: Any) -> ReceiptCheck:
    return await receipts.check_receipt(path or world.receipt, home=world.home, tell=quiet, **more)


@pytest.mark.spec("LAW-10")
async def test_offline_a_receipt_says_commit_grade_and_on_whose_word(world: World) -> None:
    found = await checked(world)
    text = "\n".join(found.said)
    assert (found.code, found.holds, found.again) == (0, True, None)
    assert world.done.verdict.grade is Grade.PROVEN
    assert f"commit {world.head}" in text
    assert "double is proven" in text
    assert "double rests on" in text
    assert "that you have not confirmed" in text
    assert json.loads(json.dumps(found.data()))["statement"]["predicate"]["result"] == "PASSED"


@pytest.mark.spec("LAW-10")
async def test_proven_again_from_a_fresh_clone_and_the_bundle_it_is_the_same(world: World, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(world.place / "repo"), str(clone))
    found = await receipts.check_receipt(
        world.receipt, bundle=world.bundle, repository=clone, home=tmp_path / "home", tell=quiet
    )
    assert found.again == ()
    assert found.code == 0
    assert "the same statement except for times, seeds and sandbox level" in "\n".join(found.said)
    assert found.statement is not None
    assert found.new is not None
    one, other = found.statement.data(), found.new.data()
    assert one != other
    for data in (one, other):
        for name in ("signer", "note"):
            data["predicate"]["trued"].pop(name)
        for name in ("began", "ended", "levels", "records"):
            data["predicate"]["trued"]["taken"].pop(name)
    assert one == other


@pytest.mark.slow
@pytest.mark.spec("LAW-10")
async def test_a_forged_receipt_holds_offline_and_falls_when_all_is_proven_again(world: World, tmp_path: Path) -> None:
    """Anybody can write a receipt in this format, but proving it again refutes a false one."""
    stated = parse_receipt(world.receipt.read_bytes()).statement
    forged = tmp_path / "forged.json"
    forged.write_bytes(encode_receipt(_about(stated, world.base)))
    offline = await checked(world, forged)
    assert offline.code == 0
    assert any("forge it anew" in one for one in offline.said)
    found = await checked(world, forged, bundle=world.bundle, repository=world.place / "repo")
    assert found.code == 1
    assert not found.holds
    assert any("double" in one for one in found.again or ())


@pytest.mark.spec("LAW-10")
async def test_a_receipt_with_a_bar_that_nobody_can_set_is_not_valid(world: World, tmp_path: Path) -> None:
    """With it, refuted work would be a success, also if all is proven again."""
    refuted = world.done.verdict.requirements[0].model_copy(update={"grade": Grade.REFUTED})
    verdict = world.done.verdict.model_copy(update={"requirements": (refuted,)})
    forged = tmp_path / "forged.json"
    for accept, code in ((Grade.REFUTED, 1), (Grade.UNPROVEN, 1), (Grade.SELF_TESTED, 1)):
        forged.write_bytes(encode_receipt(statement(world.done.contract, verdict, ReceiptSurroundings(accept))))
        found = await checked(world, forged)
        assert (found.code, found.statement) == (code, None)


def _about(stated: Statement, commit: str) -> Statement:
    subject = stated.subject[0].model_copy(update={"digest": {**stated.subject[0].digest, "gitCommit": commit}})
    return stated.model_copy(update={"subject": (subject,)})


HALF = """
requirements:
  - id: double
    text: double(x) is x twice
    checks: [{kind: examples, cases: [{call: "kit:double", args: [4], returns: 8}]}]
  - id: triple
    text: triple(x) is x three times
    checks: [{kind: examples, cases: [{call: "kit:triple", args: [4], returns: 12}]}]
"""


@pytest.mark.slow
@pytest.mark.spec("LAW-10")
async def test_a_receipt_that_leaves_out_what_failed_falls_when_all_is_proven_again(tmp_path: Path) -> None:
    """The contract says what must be proven again, not the receipt."""
    base, head = repository(tmp_path / "repo")
    (tmp_path / "asked.yaml").write_text(HALF)
    request = VerifyRequest(base=base, head=head, requirements_file=tmp_path / "asked.yaml", here=tmp_path / "repo")
    done = await verify(request, home=tmp_path / "home", environ=os.environ, tell=quiet)
    found = World(tmp_path, tmp_path / "home", base, head, done)
    keeping = ReceiptRequest(receipt=found.receipt, bundle=found.bundle)
    await receipts.write_receipt(done.contract, done.verdict, keeping, repository=tmp_path / "repo", home=found.home)
    again = {"bundle": found.bundle, "repository": tmp_path / "repo"}
    honest = await checked(found, **again)
    assert (honest.again, honest.code) == ((), 1)
    met = done.verdict.model_copy(
        update={"requirements": tuple(one for one in done.verdict.requirements if one.id == "double")}
    )
    part = done.contract.model_copy(
        update={"requirements": tuple(one for one in done.contract.requirements if one.id == "double")}
    )
    forged = statement(part, met, ReceiptSurroundings(owned=("kit.py",)))
    whole = statement(done.contract, met).predicate  # trued itself names what is left out
    assert (whole.result, whole.failed_tests) == ("FAILED", ("triple",))
    predicate = forged.predicate.model_copy(update={"configuration": whole.configuration})
    forged = forged.model_copy(update={"predicate": predicate})
    found.receipt.write_bytes(encode_receipt(forged))
    assert (await checked(found)).code == 0
    lie = await checked(found, **again)
    assert (lie.holds, lie.code) == (False, 1)
    assert any("triple" in one for one in lie.again or ())
    assert any("the receipt says that trued wrote them: kit.py" in one for one in lie.said)


@pytest.mark.slow
async def test_cases_that_a_history_shows_are_held_out_no_more_when_all_is_proven_again(
    world: World, tmp_path: Path
) -> None:
    """A receipt's statement that the cases were held out is checked, too."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(world.place / "repo"), str(clone))
    lay(clone, {"notes.txt": ASKED})
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "the cases, under another name")
    stated = parse_receipt(world.receipt.read_bytes()).statement
    told = tmp_path / "told.json"
    told.write_bytes(encode_receipt(_about(stated, git(clone, "rev-parse", "HEAD"))))
    found = await checked(world, told, bundle=world.bundle, repository=clone)
    assert found.code == 1
    assert found.new is not None
    assert found.new.predicate.trued.grade is Grade.TESTED
    assert any("heldOut: true, but here false" in one for one in found.again or ())


@pytest.mark.slow
@pytest.mark.spec("LAW-10")
async def test_a_persons_word_is_carried_by_name_and_said_to_be_only_a_word(world: World, tmp_path: Path) -> None:
    author = Author(role="examiner", agent="scripted:x")
    checks = [check_hash(check) for one in world.done.contract.requirements for check in one.checks]
    contract = world.done.contract.model_copy(update={"authors": dict.fromkeys(checks, author)})
    files = bundles.bundle_files(Bundle(contract))
    lay_bytes(tmp_path / "bundle", files)
    word = Approval(requirement="*", who="Ada", why="read all of it", at=5.0, contract=contract_hash(contract))
    stated = parse_receipt(world.receipt.read_bytes()).statement
    account = stated.predicate.trued.model_copy(update={"words": (word,)})
    claimed = stated.model_copy(update={"predicate": stated.predicate.model_copy(update={"trued": account})})
    repo = world.place / "repo"
    sealed = bundles.open_bundle(files)
    request = VerifyRequest(base=f"@{sealed.contract.base}", head=f"@{claimed.commit}", here=repo)
    true = await receipts.prove_again(claimed, sealed, request, home=tmp_path, tell=quiet)
    assert true.predicate.trued.grade is Grade.PROVEN
    assert any("Ada: read all of it" in one for one in true.predicate.trued.requirements[0].rests_on)
    (tmp_path / "r.json").write_bytes(encode_receipt(true))
    found = await checked(world, tmp_path / "r.json", bundle=tmp_path / "bundle", repository=repo)
    assert (found.code, found.again) == (0, ())
    assert "the approval by Ada cannot be checked again" in found.said
    assert any("cannot check again that the cases were held out" in one for one in found.said)


@pytest.mark.slow
@pytest.mark.spec("LAW-10")
@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (None, "not in the bundle"),
        (("plan.md", b"# A plan\n"), "cannot be read"),
        (("asked.yaml", b"requirements: [{id: double, text: double(x) is x twice}]\n"), "has no cases"),
        (("asked.yaml", ASKED.replace("8", "9").encode()), "the contract does not have"),
        (("asked.yaml", ASKED.encode()), ""),
    ],
)
async def test_it_says_why_a_bundle_does_not_show_that_the_cases_were_held_out(
    world: World, tmp_path: Path, asked: tuple[str, bytes] | None, why: str
) -> None:
    sealed = receipts.read_bundle(world.bundle)
    lay_bytes(tmp_path / "bundle", bundles.bundle_files(replace(sealed, asked=asked)))
    found = await checked(world, bundle=tmp_path / "bundle", repository=world.place / "repo")
    assert found.again == ()
    unchecked = [one for one in found.said if "cannot check again that the cases were held out" in one]
    assert [why in one for one in unchecked] == ([True] if why else [])


def lay_bytes(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


async def test_a_signature_is_checked_against_the_key_that_is_named(world: World, tmp_path: Path) -> None:
    own = signing.own_key(world.home)
    assert own is not None
    right, wrong = tmp_path / "right.pem", tmp_path / "wrong.pem"
    right.write_text(signing.pem(own.public))
    wrong.write_text(signing.pem(signing.create_key(tmp_path).public))
    found = await checked(world, key=right)
    assert (found.code, found.known_key) == (0, True)
    assert (await checked(world, key=wrong)).code == 1
    unsigned = tmp_path / "unsigned.json"
    unsigned.write_bytes(encode_receipt(parse_receipt(world.receipt.read_bytes()).statement))
    assert (await checked(world, unsigned)).code == 0
    assert (await checked(world, unsigned, key=right)).code == 1


@pytest.mark.spec("LAW-10")
async def test_one_changed_byte_on_the_disk_fails(world: World, tmp_path: Path) -> None:
    data = bytearray(world.receipt.read_bytes())
    for place in range(0, len(data), max(1, len(data) // 200)):
        data[place] ^= 1
        changed = tmp_path / "changed.json"
        changed.write_bytes(bytes(data))
        found = await checked(world, changed)
        assert (found.code, found.statement) == (1, None), place
        data[place] ^= 1


async def test_a_bundle_with_any_file_changed_missing_or_swapped_is_refused(world: World, tmp_path: Path) -> None:
    files = [path for path in world.bundle.rglob("*") if path.is_file()]
    assert len(files) >= 4
    for path in files:
        for number, spoil in enumerate((_flip, _cut, _drop, _link)):
            copy = tmp_path / f"{path.name}{number}"
            shutil.copytree(world.bundle, copy)
            spoil(copy / path.relative_to(world.bundle))
            with pytest.raises(BadInput):
                receipts.read_bundle(copy)
            assert spoil is _drop or (await checked(world, bundle=copy)).code == 1


def _flip(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :])


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _drop(path: Path) -> None:
    path.unlink()


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


@pytest.mark.parametrize("more", [{"asked": {}}, {"asked": {"file": "contract.json"}}, {"frozen": {"a": None}}])
def test_a_manifest_that_somebody_wrote_by_hand_is_one_sentence(more: dict[str, Any], tmp_path: Path) -> None:
    content = {"contract.json": b"{}", "facts.json": b"[]"}
    listed = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    manifest = {"format": bundles.FORMAT, "asked": None, "frozen": {}, "files": listed, **more}
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    manifest["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    lay_bytes(tmp_path, {**content, bundles.MANIFEST: f"{text}\n".encode()})
    with pytest.raises(BadInput, match="not valid"):
        receipts.read_bundle(tmp_path)


@pytest.mark.parametrize(
    ("update", "waits"),
    [
        ({"grade": Grade.EXAMINED, "holds": True, "lacks": "approve"}, "an approval of the contract is missing"),
        ({"grade": Grade.TESTED, "holds": True, "lacks": "attest"}, "somebody who accepts the work is missing"),
        ({"grade": Grade.REFUTED, "holds": False, "lacks": ""}, ""),
        ({"grade": Grade.PROVEN}, ""),
    ],
)
async def test_a_receipt_that_waits_for_a_person_says_for_what(
    world: World, tmp_path: Path, update: dict[str, object], waits: str
) -> None:
    judged = tuple(row.model_copy(update=update) for row in world.done.verdict.requirements)
    verdict = world.done.verdict.model_copy(update={"requirements": judged})
    keeping = ReceiptRequest(receipt=tmp_path / "r.json", unsigned=True)
    await receipts.write_receipt(
        world.done.contract, verdict, keeping, repository=world.place / "repo", home=world.home
    )
    said = "\n".join((await checked(world, tmp_path / "r.json")).said)
    assert ("waits for a person" in said) is bool(waits)
    assert waits in said
    assert ("nothing failed" in said) is bool(waits)


async def test_a_bundle_of_another_contract_is_refused(world: World, tmp_path: Path) -> None:
    other = world.done.contract.model_copy(update={"held_out_why": "because"})
    keeping = ReceiptRequest(bundle=tmp_path / "other")
    await receipts.write_receipt(other, world.done.verdict, keeping, repository=world.place / "repo", home=world.home)
    found = await checked(world, bundle=tmp_path / "other")
    assert found.code == 1
    assert "but the receipt names" in found.said[0]


async def test_what_cannot_be_read_is_the_users_to_mend(world: World, tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(BadInput):
            await checked(world, path)
    with pytest.raises(BadInput):
        await checked(world, bundle=tmp_path)
    git(tmp_path, "init", "-q")
    with pytest.raises(BadInput, match="no commit"):
        await checked(world, bundle=world.bundle, repository=tmp_path)


async def test_a_folder_that_is_not_empty_is_not_written_over(world: World, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    keeping = ReceiptRequest(receipt=tmp_path / "r.json", bundle=tmp_path)
    with pytest.raises(BadInput, match="not empty"):
        await receipts.write_receipt(
            world.done.contract, world.done.verdict, keeping, repository=world.place / "repo", home=world.home
        )
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_bundle_holds_what_judged(world: World) -> None:
    found = receipts.read_bundle(world.bundle)
    assert found.asked == ("asked.yaml", ASKED.encode())
    assert (found.frozen or {})["tests/test_kit.py"] == BASE["tests/test_kit.py"].encode()
    assert found.contract == world.done.contract


@pytest.mark.spec("LAW-10")
@pytest.mark.parametrize(
    ("grades", "only_unjudged"),
    [
        pytest.param({"double": Grade.UNJUDGED}, True, id="a program is missing here"),
        pytest.param({"double": Grade.REFUTED}, False, id="a lie"),
        pytest.param({}, False, id="the same grades, other claims"),
    ],
)
def test_a_machine_that_cannot_judge_does_not_call_a_receipt_false(
    world: World, grades: dict[str, Grade], only_unjudged: bool
) -> None:
    stated = parse_receipt(world.receipt.read_bytes()).statement
    account = stated.predicate.trued
    rows = tuple(row.model_copy(update={"grade": grades.get(row.id, row.grade)}) for row in account.requirements)

    def proven_again(requirements: tuple[RequirementSummary, ...]) -> Statement:
        predicate = stated.predicate.model_copy(
            update={"trued": account.model_copy(update={"requirements": requirements})}
        )
        return stated.model_copy(update={"predicate": predicate})

    assert is_only_unjudged(stated, proven_again(rows)) is only_unjudged
    assert not is_only_unjudged(proven_again(rows[:0]), proven_again(rows)), "a receipt that leaves out a requirement"
