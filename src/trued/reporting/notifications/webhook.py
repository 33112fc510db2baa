"""Sends a notification as a signed POST to the user's address. Follows no redirect and uses no proxy."""

import hashlib
import hmac
import http.client
import json
import os
import ssl
import stat
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from trued.model.settings import WebhookSettings

PAUSES_S = (1.0, 4.0)  # before the second and the third try; there is no fourth
CONNECT_S = 5.0  # timeout of one try
TIMESTAMP, SIGNATURE, NUMBER = "Trued-Timestamp", "Trued-Signature", "Trued-Notification"
AGAIN = (408, 425, 429)  # status codes to retry, besides everything from 500


def signature(secret: bytes, timestamp: int, body: bytes) -> str:
    """`sha256=` and the HMAC of `TIMESTAMP.BODY` in hex, which shows who sent a notification, and when."""
    return f"sha256={hmac.new(secret, f'{timestamp}.'.encode() + body, hashlib.sha256).hexdigest()}"


def webhook_secret(settings: WebhookSettings, environ: Mapping[str, str]) -> bytes:
    """The secret that the settings name. Empty if the secret is missing, or if its file is not a regular file that
    belongs to the user and that nobody else can read."""
    if settings.secret_env:
        return environ.get(settings.secret_env, "").encode()
    path = Path(settings.secret_file).expanduser()
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            file_status = os.fstat(file.fileno())
            if (
                not stat.S_ISREG(file_status.st_mode)
                or file_status.st_mode & 0o077
                or file_status.st_uid != os.getuid()
            ):
                return b""
            return file.read(4096).strip()
    except (OSError, ValueError):
        return b""


def post(
    settings: WebhookSettings, secret: bytes, facts: Mapping[str, Any], pauses_s: Sequence[float] = PAUSES_S
) -> bool:
    """Send the facts as JSON, with a few retries; return whether the receiver accepted them. Raises nothing."""
    body = json.dumps(facts, ensure_ascii=False).encode()
    for pause in (0.0, *pauses_s):
        time.sleep(pause)
        status = _status(settings.url, secret, body, f"{facts['run']}-{facts['id']}")
        if 200 <= status < 300:
            return True
        if status and status < 500 and status not in AGAIN:
            return False
    return False


def _status(url: str, secret: bytes, body: bytes, number: str) -> int:
    """The HTTP status of one try; 0 if there was no answer."""
    parts, now = urlsplit(url), int(time.time())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "trued",
        TIMESTAMP: str(now),
        SIGNATURE: signature(secret, now, body),
        NUMBER: number,
    }
    connection: http.client.HTTPConnection | None = None
    try:
        host = parts.hostname or ""
        if parts.scheme == "https":
            safe = ssl.create_default_context()
            connection = http.client.HTTPSConnection(host, parts.port, timeout=CONNECT_S, context=safe)
        else:
            connection = http.client.HTTPConnection(host, parts.port, timeout=CONNECT_S)
        path = parts.path or "/"
        connection.request("POST", f"{path}?{parts.query}" if parts.query else path, body, headers)
        return connection.getresponse().status
    except (OSError, ValueError, http.client.HTTPException):
        return 0
    finally:
        if connection:
            connection.close()
