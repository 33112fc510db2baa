"""The optional key that signs receipts: ed25519, in files that OpenSSL reads. Needs the extra `trued[sign]`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trued.errors import BadInput, CannotJudge, StateFailed
from trued.proof.receipts.receipt import Receipt, key_id, signed_message
from trued.support import atomic_files

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

LARGEST = 64 * 1024  # at most this many bytes of a key file are read
INSTALL = "pip install 'trued[sign]'"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key; `public` is its public half as SubjectPublicKeyInfo in DER."""

    private: "Ed25519PrivateKey"

    @property
    def public(self) -> bytes:
        return _der(self.private.public_key())

    def sign(self, message: bytes) -> bytes:
        return self.private.sign(message)


def key_path(home: Path) -> Path:
    """The path of this machine's key: in private state, which no agent's sandbox can read."""
    return home / "keys" / "receipts.pem"


def create_key(home: Path) -> SigningKey:
    """Create a key for this machine. Raises BadInput if the machine has a key already, because receipts depend on that
    key. Raises StateFailed if the key cannot be written, CannotJudge without the package `cryptography`."""
    _require_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    path = key_path(home)
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        atomic_files.sync_folder(path.parent)
    except FileExistsError:
        raise BadInput("there is a key already", str(path), "`trued key` shows its public half") from None
    except OSError as error:
        raise StateFailed(f"cannot write {path}: {error.strerror}") from error
    return SigningKey(private)


def own_key(home: Path) -> SigningKey | None:
    """This machine's key, or None if there is none. Raises BadInput if other users can read the key, or if it cannot be
    used."""
    path = key_path(home)
    if not path.exists():
        return None
    _require_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    if path.stat().st_mode & 0o077:
        raise BadInput("others can read the signing key", str(path), f"chmod 600 {path}, or make a new one")
    try:
        private = load_pem_private_key(_bytes(path), password=None)
    except (ValueError, TypeError) as error:
        raise BadInput(
            "this is not a usable private key", str(path), "move it away; `trued key --new` makes one"
        ) from error
    if not isinstance(private, Ed25519PrivateKey):
        raise BadInput("this is not an ed25519 key", str(path), "move it away; `trued key --new` makes one")
    return SigningKey(private)


def pem(public: bytes) -> str:
    """The public key as PEM text, which can be given to others."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return _public(public).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def read_public(path: Path) -> bytes:
    """The public key in a file, as DER. Raises BadInput if the file has no ed25519 key."""
    _require_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    then = "name a file that contains the public key printed by `trued key`"
    try:
        key = load_pem_public_key(_bytes(path))
    except (ValueError, TypeError) as error:
        raise BadInput("this is not a public key", str(path), then) from error
    if not isinstance(key, Ed25519PublicKey):
        raise BadInput("this is not an ed25519 key", str(path), then)
    return _der(key)


def signature_flaw(receipt: Receipt, wanted: bytes | None = None) -> str:
    """What is wrong with a receipt's signature, or "". `wanted`: the public key that must have signed the receipt. An
    unsigned receipt has no flaw if no key is wanted."""
    if not receipt.signature:
        return f"it is not signed, but must be signed by the key {key_id(wanted)[:16]}" if wanted else ""
    if wanted is not None and wanted != receipt.signer:
        return f"it is signed by another key, {key_id(receipt.signer)[:16]}"
    _require_cryptography()
    from cryptography.exceptions import InvalidSignature

    try:
        _public(receipt.signer).verify(receipt.signature, signed_message(receipt.payload))
    except InvalidSignature:
        return "its signature was not made with its key"
    except ValueError:
        return "the key that it names is not an ed25519 key"
    return ""


def _public(der: bytes) -> "Ed25519PublicKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    key = load_der_public_key(der)
    if not isinstance(key, Ed25519PublicKey) or _der(key) != der:
        raise ValueError("no ed25519 key")
    return key


def _der(key: "Ed25519PublicKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST)
    except OSError as error:
        raise BadInput(f"cannot read the key: {error.strerror}", str(path), "name a file that can be read") from error


def _require_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise CannotJudge(f"signatures need the package `cryptography`: {INSTALL}") from None
