"""Stores by ssh and by https on this machine's loopback: Debian's sshd, and git's own http-backend behind TLS."""

import base64
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

UNPACKED = Path(sys.prefix) / "debian"  # where `make setup` puts programs of Debian that it does not install
HOST, WITHIN_S = "127.0.0.1", 60.0
ACCOUNT = "git"  # the name of this process's user, as its sshd knows it
USER, PASSWORD = "ann", "only-for-tests-7xk2p"


def free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])


def listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex((HOST, port)) == 0


# -- ssh ---------------------------------------------------------------------------------------------------------------

# sshd wants an account for itself, a login shell for this user and a folder in /run: it gets files of its own to look
# into, in a mount namespace, and this machine's stay as they are.
APART = 'mount --bind "$1" /etc/passwd && mount -t tmpfs none /run && mkdir -m 755 /run/sshd && shift && exec "$@"'


class SshServer:
    """sshd on a port of loopback, with keys and a configuration of its own. It ends with this process."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        program, libraries = _sshd()
        (folder / "home").mkdir(parents=True)
        for key in ("host", "key"):
            self.make_key(key)
        shutil.copy(folder / "key.pub", folder / "authorized")
        self.known = folder / "known_hosts"
        self.known.write_text(f"[{HOST}]:{self.port} {(folder / 'host.pub').read_text()}")
        own = {
            "Port": self.port, "ListenAddress": HOST, "HostKey": folder / "host", "PidFile": "none", "UsePAM": "no",
            "AuthorizedKeysFile": folder / "authorized", "PasswordAuthentication": "no", "StrictModes": "no",
        }  # fmt: skip
        (folder / "config").write_text("".join(f"{name} {value}\n" for name, value in own.items()))
        command = [str(program), "-D", "-e", "-f", str(folder / "config")]
        environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": libraries}
        with (folder / "log").open("ab") as log:
            ends_with_us = ("setpriv", "--pdeathsig", "TERM")
            self._process = subprocess.Popen(
                [*self._apart(), *ends_with_us, *command], env=environment, stdout=log, stderr=log
            )
        until = time.monotonic() + WITHIN_S
        while not listens(self.port):
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"sshd for tests does not start: {(folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def address(self, repository: Path) -> str:
        return f"ssh://{ACCOUNT}@{HOST}:{self.port}{repository}"

    def command(self, key: str = "key") -> str:
        """What a client starts to get in."""
        own = f"-F /dev/null -i {self.folder / key} -o IdentitiesOnly=yes -o UserKnownHostsFile={self.known}"
        return f"ssh {own} -o StrictHostKeyChecking=yes"

    def make_key(self, name: str) -> None:
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)]
        subprocess.run(words, check=True, capture_output=True)

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(WITHIN_S)

    def _apart(self) -> tuple[str, ...]:
        """What goes before sshd so that it finds accounts as it wants them."""
        number, group = os.getuid(), os.getgid()
        own = f"{ACCOUNT}:*:{number}:{group}::{self.folder / 'home'}:/bin/sh\n"
        (self.folder / "passwd").write_text(f"{own}sshd:x:65533:65533::/run/sshd:/usr/sbin/nologin\n")
        namespaces = ("--mount",) if number == 0 else ("--user", "--map-root-user", "--mount")
        back = () if number == 0 else ("unshare", "--user", f"--map-user={number}", f"--map-group={group}")
        return ("unshare", *namespaces, "sh", "-c", APART, "sh", str(self.folder / "passwd"), *back)


def _sshd() -> tuple[Path, str]:
    """The program, and folders with libraries that only it needs."""
    installed = Path(shutil.which("sshd", path=f"/usr/sbin:/sbin:{os.environ['PATH']}") or "/usr/sbin/sshd")
    if installed.exists():
        return installed, ""
    if (unpacked := UNPACKED / "usr/sbin/sshd").exists():
        return unpacked, ":".join(str(one.parent) for one in UNPACKED.rglob("*.so.*"))
    raise RuntimeError("sshd for tests is not here: `make setup` unpacks Debian's openssh-server, or install that")


# -- https -------------------------------------------------------------------------------------------------------------


class HttpsServer:
    """git's http-backend below a folder, behind TLS with an authority of its own. `open_to_all`: without a login."""

    def __init__(self, folder: Path, root: Path, *, open_to_all: bool = False) -> None:
        folder.mkdir(parents=True)
        self.authority = folder / "authority.pem"
        _make_certificates(folder)
        handler = type("Backend", (_Backend,), {"root": root, "open_to_all": open_to_all})
        self._server = ThreadingHTTPServer((HOST, 0), handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def address(self, name: str, login: str = "") -> str:
        return f"https://{f'{login}@' if login else ''}{HOST}:{self._server.server_port}/{name}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Backend(BaseHTTPRequestHandler):
    """CGI, as far as git needs it."""

    root: Path
    open_to_all = False
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        asked = self._body()  # read in any case: the next request comes after it
        login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if not self.open_to_all and self.headers.get("Authorization", "") != f"Basic {login}":
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="store"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        given = {
            "GIT_PROJECT_ROOT": str(self.root), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
            "REQUEST_METHOD": self.command, "REMOTE_USER": USER, "REMOTE_ADDR": HOST, "PATH": os.environ["PATH"],
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }  # fmt: skip
        done = subprocess.run(["git", "http-backend"], input=asked, env=given, capture_output=True, check=False)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        lines = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
        self.send_response(int(lines.pop("Status", "200").split()[0]))
        for name, value in {**lines, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _make_certificates(folder: Path) -> None:
    """`authority.pem`, and `server.pem` with a key and a certificate of this authority for loopback."""
    issuer, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority, name = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, one)]) for one in ("tests", HOST))

    def signed(subject: x509.Name, public: ec.EllipticCurvePublicKey, extension: x509.ExtensionType) -> bytes:
        now = datetime.now(UTC)
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(authority).public_key(public)
        made = made.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(hours=1))
        made = made.not_valid_after(now + timedelta(days=1)).add_extension(extension, critical=True)
        return made.sign(issuer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    own = x509.BasicConstraints(ca=True, path_length=None)
    (folder / "authority.pem").write_bytes(signed(authority, issuer.public_key(), own))
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))])
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.pem").write_bytes(key.private_bytes(*form) + signed(name, key.public_key(), here))
