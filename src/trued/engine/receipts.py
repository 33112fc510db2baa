"""Writes receipts of verdicts and bundles of contracts, and checks them: offline, or by proving everything again."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trued.engine.inputs import Inputs
from trued.engine.landing.records import contract_and_verdict, finished_landings
from trued.engine.run_store import RunStore
from trued.engine.verify import VerifyRequest, temporary_workspace
from trued.errors import BadInput, StateFailed
from trued.inputs.requirements.file import parse_requirements
from trued.model import Approval, Contract, Grade, Requirement, Verdict
from trued.proof.hashes import check_hash
from trued.proof.prove import prove
from trued.proof.receipts import bundle as bundles
from trued.proof.receipts import signing
from trued.proof.receipts.bundle import Bundle
from trued.proof.receipts.receipt import Receipt, encode_receipt, key_id, parse_receipt
from trued.proof.receipts.statement import (
    Account,
    ReceiptSurroundings,
    Statement,
    claim_differences,
    is_only_unjudged,
    statement,
)
from trued.proof.room.environment import recorded_versions
from trued.proof.seal import SealTerms, requirements_of, seal
from trued.proof.verdict.conclusion import apply_approvals
from trued.protocols import Emit
from trued.support import atomic_files
from trued.support.hashing import git_blob_names
from trued.workspace.git import commit_lookup
from trued.workspace.git.batch import batch_input, parse_batch
from trued.workspace.git.command import Git
from trued.workspace.git.commit_lookup import NamedCommit


@dataclass(frozen=True, slots=True)
class ReceiptCheck:
    """The result of checking a receipt. `said` is for people, the other fields are for programs."""

    code: int
    said: tuple[str, ...]
    statement: Statement | None = None
    signed_by: str = ""  # id of the key that signed it
    known_key: bool = False  # whether the caller named the key that signed it
    again: tuple[str, ...] | None = None  # what differs when everything is proven again; None: not tried
    new: Statement | None = None  # the statement of that second proof

    @property
    def holds(self) -> bool:
        return self.statement is not None and not self.again

    def data(self) -> dict[str, Any]:
        stated = self.statement
        return {
            "holds": self.holds,
            "code": self.code,
            "said": list(self.said),
            "signed_by": self.signed_by,
            "known_key": self.known_key,
            "again": None if self.again is None else {"same": not self.again, "differs": list(self.again)},
            "statement": stated.data() if stated else None,
        }


async def check_receipt(
    path: Path,
    *,
    bundle: Path | None = None,
    repository: Path | None = None,
    key: Path | None = None,
    sandbox: str = "auto",
    allow_unsandboxed: bool = False,
    home: Path,
    tell: Emit,
) -> ReceiptCheck:
    """Check the receipt's digest and signature. With `bundle`, also prove the receipt's statement again, in the clone
    `repository` (None: the current folder). `key`: the public key of the expected signer. An invalid receipt gives a
    result with code 1. Raises BadInput for files that cannot be read."""
    wanted = signing.read_public(key) if key else None
    data, manifest = _bytes(path), _bytes(bundle / bundles.MANIFEST) if bundle else b""
    try:
        found = parse_receipt(data)
        if flaw := signing.signature_flaw(found, wanted):
            raise BadInput(f"this receipt is not valid: {flaw}")
        sealed = read_bundle(bundle, manifest) if bundle else None
        if sealed and sealed.sha256 != found.statement.contract:
            raise BadInput(
                f"the bundle has the contract {sealed.sha256[:16]}, but the receipt names "
                f"{found.statement.contract[:16]}: pass the bundle that was written with this receipt"
            )
    except BadInput as error:
        return ReceiptCheck(1, (str(error),))
    said = [*_statement_lines(found.statement), _signature(found, known=wanted is not None)]
    differing: tuple[str, ...] | None = None
    new: Statement | None = None
    if sealed:
        request = VerifyRequest(
            base=f"@{sealed.contract.base}",
            head=f"@{found.statement.commit}",
            sandbox=sandbox,
            allow_unsandboxed=allow_unsandboxed,
            here=(repository or Path()).absolute(),
        )
        new = await prove_again(found.statement, sealed, request, home=home, tell=tell)
        differing = claim_differences(found.statement, new)
        said += _compared(found.statement, new, differing)
        if found.statement.predicate.trued.held_out and (why := _why_unchecked(sealed)):
            said.append(f"cannot check again that the cases were held out: {why}")
    else:
        said.append("nothing was run; pass --bundle in a clone to prove everything again")
    return ReceiptCheck(
        code=_code(found.statement, differing, new),
        said=tuple(said),
        statement=found.statement,
        signed_by=key_id(found.signer) if found.signature else "",
        known_key=bool(found.signature) and wanted is not None,
        again=differing,
        new=new,
    )


async def prove_again(
    stated: Statement, sealed: Bundle, request: VerifyRequest, *, home: Path, tell: Emit
) -> Statement:
    """Run all checks of the bundle again, on its base and on the receipt's commit. Returns the statement that
    results."""
    account = stated.predicate.trued
    base, head = [await commit_lookup.find_commit(commit, request.here) for commit in (request.base, request.head)]
    contract = await _contract_with_visibility(sealed, base, head)
    async with temporary_workspace(request, home, base, head) as workspace:
        workspace.kept = None  # use no cached facts; cached environments are fine
        terms = replace(SealTerms.of(contract), recorded=recorded_versions(contract))
        fresh = await seal(workspace, requirements_of(contract), terms, tell=tell)
        judging = contract.model_copy(update={"base_facts": fresh.base_facts, "frozen": fresh.frozen})
        verdict = await prove(
            workspace,
            judging.model_copy(update={"interpreter": fresh.interpreter}),
            [
                requirement.id for requirement in judging.requirements
            ],  # all: a forged receipt could leave out failed ones
            head.commit,
            subject=account.subject,
            objections=account.objections,
            owned=account.owned,
            tell=tell,
        )
    verdict = apply_approvals(verdict, account.words)
    beyond = ReceiptSurroundings(account.accept, account.words, account.owned, _engine_version())
    return statement(judging, verdict, beyond)


async def _contract_with_visibility(sealed: Bundle, *both: NamedCommit) -> Contract:
    """The bundle's contract. Its cases count as visible if the history of base or head contains the requirements
    file."""
    if (
        not sealed.contract.held_out
        or not (names := _cases_of(sealed))
        or not await commit_lookup.is_in_history(both, names)
    ):
        return sealed.contract
    why = "the history of base or head holds the requirements file: its cases count as visible"
    return sealed.contract.model_copy(update={"held_out": False, "held_out_why": why})


def _cases_of(sealed: Bundle) -> set[str]:
    """Git's blob ids of the bundle's requirements file. Empty if the bundle has no requirements file, or if the file
    cannot be read or has checks that were not sealed."""
    sealed_checks = {
        requirement.id: set(map(check_hash, requirement.checks)) for requirement in sealed.contract.requirements
    }
    asked = _requirements_of(sealed)
    if not sealed.asked or asked is None:
        return set()
    own = all(
        set(map(check_hash, requirement.checks)) <= sealed_checks.get(requirement.id, set()) for requirement in asked
    )
    return set(git_blob_names(sealed.asked[1])) if own else set()


def _requirements_of(sealed: Bundle) -> tuple[Requirement, ...] | None:
    """The requirements in the bundle's requirements file; None if they cannot be read."""
    name, data = sealed.asked or ("", b"")
    try:
        return parse_requirements(data.decode(), name).requirements
    except (BadInput, UnicodeDecodeError):
        return None


def _why_unchecked(sealed: Bundle) -> str:
    """Why the bundle does not show whether the cases were held out; "" if it shows that."""
    if not sealed.asked:
        return "their file is not in the bundle"
    asked = _requirements_of(sealed)
    if asked is None:
        return "the file in the bundle cannot be read as requirements"
    if not any(requirement.checks for requirement in asked):
        return "the file in the bundle has no cases"
    return "" if _cases_of(sealed) else "the file in the bundle has cases that the contract does not have"


# -- texts about a receipt ---------------------------------------------------------------------------------------------


def _statement_lines(stated: Statement) -> list[str]:
    account, result = stated.predicate.trued, stated.predicate.result
    lowered = f", with the bar lowered to {account.accept}" if account.accept.is_lowered_bar else ""
    said = [
        f"the digest matches: this is what was recorded about commit {stated.commit}",
        f"{result}: {account.grade}{lowered}; base {account.base}, contract {stated.contract}",
    ]
    for requirement in account.requirements:
        said.append(f"{requirement.id} is {requirement.grade}: {'; '.join(requirement.why[:2])}")
        said += [f"{requirement.id} rests on {word}" for word in requirement.rests_on]
    said += _waits(account)
    said += [f"open objection: {objection.what}" for objection in account.objections]
    said += [f"open gap: {remark}" for remark in account.remarks]
    said += [f"not checked: {note}" for note in account.undecided]
    if account.owned:
        said.append(f"not judged as work, because the receipt says that trued wrote them: {', '.join(account.owned)}")
    taken, isolation = account.taken, ", ".join(account.taken.levels) or "none"
    evidence = f"evidence taken {taken.began} by {taken.engine}, isolation: {isolation}"
    return [*said, evidence if taken.began else f"no evidence was taken by {taken.engine}"]


def _waits(account: Account) -> Iterator[str]:
    """A line for each requirement that lacks only a person's approval. If nothing else is missing, a last line says
    so."""
    unmet = [requirement for requirement in account.requirements if requirement.grade < account.accept]
    waiting = [requirement for requirement in unmet if requirement.holds and requirement.lacks]
    for requirement in waiting:
        missing = "an approval of the contract" if requirement.lacks == "approve" else "somebody who accepts the work"
        yield f"{requirement.id} waits for a person: {missing} is missing"
    if waiting and len(waiting) == len(unmet) and not (account.objections or account.remarks):
        yield "nothing failed, but it counts as a success only after a person has decided and a new receipt is written"


def _signature(found: Receipt, *, known: bool) -> str:
    if not found.signature:
        return found.statement.predicate.trued.note
    whose = "the key that you named" if known else "a key that you have not confirmed: pass the expected one with --key"
    return f"signed by {key_id(found.signer)}, {whose}"


def _compared(before: Statement, after: Statement, differing: tuple[str, ...]) -> list[str]:
    if differing:
        said = [f"checked again here, the result differs: {difference}" for difference in differing]
        if is_only_unjudged(before, after):
            said.insert(0, "this machine could not judge everything again; nothing that it could judge differs")
        return said
    said = ["proven again here: the same statement except for times, seeds and sandbox level"]
    earlier, later = (side.predicate.trued.taken.interpreters for side in (before, after))
    if earlier != later:
        said.append(f"with another interpreter: {', '.join(later)} instead of {', '.join(earlier)}")
    said += [f"the approval by {given.who} cannot be checked again" for given in before.predicate.trued.words]
    return said


def _code(stated: Statement, differing: tuple[str, ...] | None = None, new: Statement | None = None) -> int:
    if differing:
        return 6 if new and is_only_unjudged(stated, new) else 1
    if stated.predicate.result != "FAILED":
        return 0
    return 6 if stated.predicate.trued.grade is Grade.UNJUDGED else 1


# -- writing a receipt -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReceiptRequest:
    """Where to write the receipt and the bundle, and what they contain besides the verdict."""

    receipt: Path | None = None
    bundle: Path | None = None
    accept: Grade = Grade.ATTESTED
    approvals: tuple[Approval, ...] = ()
    owned: tuple[str, ...] = ()
    asked: Path | None = None  # the requirements file
    unsigned: bool = False


async def write_receipt(
    contract: Contract, verdict: Verdict, keeping: ReceiptRequest, *, repository: Path, home: Path
) -> None:
    """Write the receipt and the bundle. If one of them cannot be made, write neither."""
    beyond = ReceiptSurroundings(keeping.accept, keeping.approvals, keeping.owned, _engine_version())
    key = None if keeping.unsigned or not keeping.receipt else signing.own_key(home)
    data = encode_receipt(statement(contract, verdict, beyond), key)
    parse_receipt(data)  # raises if the receipt could not be read again
    if keeping.bundle:
        _write(keeping.bundle, await _make_bundle(contract, keeping.asked, repository))
    if keeping.receipt:
        atomic_files.write(keeping.receipt, data)


async def write_run_receipt(store: RunStore, run_id: str, keeping: ReceiptRequest) -> None:
    """Write a receipt of the run's final verdict, with the approvals that apply. Raises BadInput if the run has no
    final verdict yet."""
    contract, verdict = store.contract(run_id), store.verdict(run_id)
    if contract is None or verdict is None or not store.final_verdict(run_id):
        raise BadInput(
            f"run {run_id} has no final verdict yet",
            then=f"`trued resume {run_id}` continues the run to its final verdict",
        )
    await _write_receipt_of_run(store, run_id, contract, verdict, keeping, tuple(store.approvals(run_id)))


async def write_landing_receipt(store: RunStore, run_id: str, keeping: ReceiptRequest) -> None:
    """Write a receipt of the verdict on the commit that landed last. Raises BadInput if none has landed."""
    landed = finished_landings(store, run_id)
    if not landed:
        raise BadInput(f"run {run_id} has not landed", then=f"`trued land {run_id}` lands it")
    if (proof := contract_and_verdict(store, run_id, landed[-1])) is None:
        await write_run_receipt(store, run_id, keeping)
        return
    contract, verdict = proof
    approvals = landed[-1].words
    await _write_receipt_of_run(store, run_id, contract, apply_approvals(verdict, approvals), keeping, approvals)


async def _write_receipt_of_run(
    store: RunStore,
    run_id: str,
    contract: Contract,
    verdict: Verdict,
    keeping: ReceiptRequest,
    approvals: tuple[Approval, ...],
) -> None:
    inputs, record = store.inputs(run_id), store.journal.run(run_id)
    whole = replace(
        keeping,
        accept=inputs.settings.accept,
        approvals=approvals,
        owned=store.owned_files(run_id),
        asked=_unchanged_requirements_file(inputs),
    )
    await write_receipt(contract, verdict, whole, repository=Path(record.repository), home=store.home)


def _unchanged_requirements_file(inputs: Inputs) -> Path | None:
    """The requirements file, if it has not changed since the run started; else None."""
    path = Path(inputs.requirements_file) if inputs.requirements_file else None
    same = path and path.is_file() and not set(git_blob_names(_bytes(path))).isdisjoint(inputs.requirements_blobs)
    return path if same else None


def _engine_version() -> str:
    return f"trued {version('trued')}"


async def _make_bundle(contract: Contract, asked: Path | None, repository: Path) -> Bundle:
    side = await commit_lookup.find_commit(f"@{contract.base}", repository.absolute())
    contents = await _contents(Git(side.objects), {blob for blob in contract.frozen.values() if blob})
    frozen = {path: contents[blob] for path, blob in contract.frozen.items() if blob in contents}
    return Bundle(contract, (asked.name, _bytes(asked)) if asked else None, frozen)


async def _contents(git: Git, blobs: set[str]) -> dict[str, bytes]:
    """Blob → content, for the blobs that the repository has."""
    output = await git("cat-file", "--batch", stdin=batch_input(sorted(blobs))) if blobs else b""
    return {
        answer.name: answer.content
        for answer in parse_batch(output)
        if answer.kind == "blob" and answer.content is not None
    }


def _write(folder: Path, sealed: Bundle) -> None:
    try:
        if folder.exists() and any(folder.iterdir()):
            raise BadInput(f"{folder} exists and is not empty", then="name a new folder")
        (folder / "files").mkdir(parents=True, exist_ok=True)
        for name, data in bundles.bundle_files(sealed).items():
            # only the manifest is synced: it is written last, and its hashes show if a crash lost another file
            atomic_files.write(folder / name, data, sync=name == bundles.MANIFEST)
    except OSError as error:
        raise StateFailed(f"cannot write {folder}: {error.strerror}") from error


def read_bundle(folder: Path, manifest: bytes = b"") -> Bundle:
    """Read the bundle in a folder. `manifest`: the bundle's manifest, if the caller has read it already. Raises
    BadInput if a file cannot be read, or if the files do not match the manifest."""
    manifest = manifest or _bytes(folder / bundles.MANIFEST)
    content = {name: _bytes(folder / name) for name in bundles.listed_files(manifest)}
    return bundles.open_bundle({**content, bundles.MANIFEST: manifest})


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise BadInput(f"there is no file {path}", then="name one that can be read")
        if path.stat().st_size > bundles.LARGEST:
            raise BadInput(f"{path} is too large", then="name the right file")
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}", then="name a file that can be read") from error
