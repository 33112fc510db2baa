"""Bundles a contract as files. With the bundle and a clone of the repository, anybody can prove a commit again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from trued.errors import BadInput
from trued.model import Contract, Evidence
from trued.proof.hashes import canonical_contract, contract_hash
from trued.support.hashing import content_hash, git_blob_names

MANIFEST = "bundle.json"
FORMAT = "trued contract bundle 1"
LARGEST = 256 * 1024 * 1024
_FACTS = TypeAdapter(tuple[Evidence, ...])


@dataclass(frozen=True, slots=True)
class Bundle:
    """The contract, the results on the base, and the files that both depend on."""

    contract: Contract
    asked: tuple[str, bytes] | None = None  # the user's requirements file: its name and its bytes
    frozen: Mapping[str, bytes] | None = None  # path → content on the base

    @property
    def sha256(self) -> str:
        """The contract's hash."""
        return contract_hash(self.contract)


def bundle_files(bundle: Bundle) -> dict[str, bytes]:
    """File name → content. The manifest lists every other file with its hash."""
    contract = canonical_contract(bundle.contract).encode("utf-8", "surrogatepass")
    facts = _FACTS.dump_json(bundle.contract.base_facts)
    content = {"contract.json": contract, "facts.json": facts}
    manifest: dict[str, Any] = {"format": FORMAT, "asked": None, "frozen": {}}
    if bundle.asked:
        manifest["asked"] = {"name": bundle.asked[0], "file": _add_by_hash(content, bundle.asked[1])}
    for path, data in sorted((bundle.frozen or {}).items()):
        manifest["frozen"][path] = _add_by_hash(content, data)
    manifest["files"] = {name: content_hash(data) for name, data in content.items()}
    return {**content, MANIFEST: _with_hash(manifest)}


def _add_by_hash(content: dict[str, bytes], data: bytes) -> str:
    """Add the data under its hash, and return that name. The project's own paths are never used as file names."""
    name = f"files/{content_hash(data)}"
    content[name] = data
    return name


def _with_hash(manifest: Mapping[str, Any]) -> bytes:
    return _json({**manifest, "sha256": content_hash(_json(manifest))}) + b"\n"


def _json(data: Any) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()


def listed_files(manifest: bytes) -> tuple[str, ...]:
    """The files that a manifest lists. Raises BadInput if it is not a manifest."""
    return tuple(_read(manifest)["files"])


def open_bundle(content: Mapping[str, bytes]) -> Bundle:
    """The bundle in these files. Raises BadInput if the manifest or the contract is not valid, or if a file is missing
    or differs from what the manifest or the contract says."""
    manifest = _read(content.get(MANIFEST, b""))
    for name, digest in manifest["files"].items():
        if name not in content:
            raise _invalid(f"{name} is missing")
        if content_hash(content[name]) != digest:
            raise _invalid(f"{name} was changed")
    contract = _contract(content)
    user_file = manifest["asked"]
    return Bundle(
        contract=contract,
        asked=(str(user_file["name"]), content[user_file["file"]]) if user_file else None,
        frozen=_frozen(contract, manifest["frozen"], content),
    )


def _read(data: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(data)
        digest = manifest.pop("sha256")
        is_known = manifest["format"] == FORMAT and {"contract.json", "facts.json"} <= manifest["files"].keys()
        user_file = manifest["asked"]
        named_files = [*manifest["frozen"].values(), *([user_file["file"]] if user_file else [])]
        is_known = is_known and all(
            isinstance(name, str) for name in (*named_files, *([user_file["name"]] if user_file else []))
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _invalid(f"{MANIFEST} is missing, or is not a manifest") from error
    if not is_known or not set(map(str, named_files)) <= manifest["files"].keys():
        raise _invalid(f"{MANIFEST} has another format")
    if digest != content_hash(_json(manifest)) or _with_hash(manifest) != data:
        raise _invalid(f"{MANIFEST} was changed")
    if odd_names := [name for name, file_hash in manifest["files"].items() if not _is_expected_name(name, file_hash)]:
        raise _invalid(f"{MANIFEST} names {odd_names[0]!a}")
    return dict(manifest)


def _is_expected_name(name: str, digest: Any) -> bool:
    return name in ("contract.json", "facts.json") or name == f"files/{digest}"


def _contract(content: Mapping[str, bytes]) -> Contract:
    try:
        contract = Contract.model_validate_json(content["contract.json"])
        facts = _FACTS.validate_json(content["facts.json"])
    except ValidationError as error:
        raise _invalid(f"its contract cannot be read: {error.errors()[0]['msg']}") from error
    if canonical_contract(contract).encode("utf-8", "surrogatepass") != content["contract.json"]:
        raise _invalid("its contract is not in the canonical form")
    return contract.model_copy(update={"base_facts": facts})


def _frozen(contract: Contract, names_by_path: Mapping[str, str], content: Mapping[str, bytes]) -> dict[str, bytes]:
    frozen = {path: content[name] for path, name in names_by_path.items()}
    for path, data in frozen.items():
        if contract.frozen.get(path) not in git_blob_names(data):
            raise _invalid(f"{path!a} is not the frozen file that the contract names")
    return frozen


def _invalid(what: str) -> BadInput:
    return BadInput(f"this bundle is not valid: {what}", then="ask for it again")
