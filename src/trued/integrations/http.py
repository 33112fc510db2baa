"""A remote service with its token, and its HTTP errors as one sentence each."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from trued.errors import BadInput, ForgeFailed, LimitReached, TruedError
from trued.support.plain_text import plain_line

TIMEOUT_S = 20.0  # timeout of one request
TRIES = 2  # at most this many tries of a request that changes nothing
WORDS_LIMIT = 200  # we quote at most this many characters of a server's message
LOCAL = ("127.0.0.1", "localhost", "::1")
FAR = 366 * 86400  # at most this many seconds until a rate limit ends; a server that announces more is wrong


@dataclass(frozen=True, slots=True)
class Service:
    """A service, its address and the token for it. The token never appears in a message or file."""

    name: str  # GitHub | Jira
    url: str
    token_env: str
    token: str = field(default="", repr=False)
    user: str = ""
    timeout_s: float = TIMEOUT_S

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc.rpartition("@")[2] or self.url

    def safe_message(self, words: object) -> str:
        """The server's message on one line, without control characters and without the token."""
        flat = plain_line(str(words or ""))
        return plain_line(flat.replace(self.token, "[token]") if self.token else flat, WORDS_LIMIT)


def service_of(name: str, url: str, token_env: str, environ: Mapping[str, str], user_env: str = "") -> Service:
    """The service at this address, with the token and the user from the environment variables `token_env` and
    `user_env`, if they are set. Raises BadInput for a wrong address (see `check_address`), and if the token has
    characters that no token has."""
    check_address(url, name)
    token = environ.get(token_env, "").strip()
    if any(not char.isprintable() or char.isspace() for char in token) or not token.isascii():
        raise BadInput(f"{token_env} does not hold a token", then="set it to the token alone, on one line")
    return Service(name, url.rstrip("/"), token_env, token, environ.get(user_env, "").strip() if user_env else "")


def check_address(url: str, name: str) -> str:
    """Return the address. Raises BadInput if it is not an HTTP address, if it contains a password, or if the token
    would go to another machine unencrypted."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    if (
        parts.scheme not in ("http", "https")
        or not host
        or any(char.isspace() or not char.isprintable() for char in url)
    ):
        raise BadInput(f"{url!r} is not an address of {name}", then="write https://… in your own settings")
    if parts.username or parts.password:
        raise BadInput(
            f"the address of {name} has a password in it",
            then="put the token into an environment variable, and name that variable in the setting token_env",
        )
    if parts.scheme == "http" and host not in LOCAL:
        raise BadInput(f"{host} would get the token unencrypted", then=f"write https:// in the address of {name}")
    return url


# -- refusals


def missing_token(at: Service, what: str) -> BadInput:
    return BadInput(f"to {what}, {at.name} needs a token", at.token_env, f"set {at.token_env} to a token")


def refusal_of(at: Service, status: int, words: object, headers: Mapping[str, str], doing: str) -> TruedError:
    """The error for an HTTP status. `doing` says what was attempted: "open a pull request in a/b"."""
    known = {str(name).lower(): str(value) for name, value in headers.items()}
    message = at.safe_message(words)
    if status == 429 or (status == 403 and _is_rate_limit(message, known)):
        return rate_limited(at, known)
    if status == 401:
        then = f"set {at.token_env} to a valid token"
        if not at.token:
            return missing_token(at, doing)
        return BadInput(f"{at.name} does not accept the token in {at.token_env}", at.host, then)
    if status == 403:
        what = f"{at.name} does not allow you to {doing}{f': {message}' if message else ''}"
        return BadInput(what, at.host, f"set {at.token_env} to a token that is allowed to do this")
    if status in (404, 410):
        seen = "private repositories and issues are shown only to a token that may read them"
        hint = seen if at.token else f"{seen}, and {at.token_env} is not set"
        return BadInput(f"cannot {doing}: {at.name} finds nothing there", at.host, f"check the spelling; {hint}")
    if 300 <= status < 400:
        return redirected(at, doing)
    if status >= 500:
        return ForgeFailed(f"{at.host} failed with {status} when asked to {doing}: try again later")
    return BadInput(
        f"{at.name} refused to {doing} with {status}{f': {message}' if message else ''}",
        at.host,
        "correct what it objects to, then try again",
    )


def rate_limited(at: Service, headers: Mapping[str, str]) -> LimitReached:
    until = _until(headers)
    more = "" if at.token else f"; set {at.token_env} for a higher limit"
    when = f"try again at {until:%Y-%m-%d %H:%M:%S} UTC" if until else "try again in a few minutes"
    return LimitReached(f"{at.name} ({at.host}) has reached its rate limit: {when}{more}")


def redirected(at: Service, doing: str) -> ForgeFailed:
    return ForgeFailed(
        f"{at.host} redirects elsewhere when asked to {doing}, and no token is sent there: correct the address"
    )


def unreachable(at: Service, error: BaseException, doing: str) -> ForgeFailed:
    message = at.safe_message(_root(error))
    return ForgeFailed(f"cannot reach {at.name} at {at.host} to {doing}: {message or type(error).__name__}")


def unexpected_answer(at: Service, doing: str) -> ForgeFailed:
    then = "check the server's address, and any proxies on the way"
    return ForgeFailed(f"{at.host} does not answer as {at.name} does when asked to {doing}: {then}")


def _root(error: BaseException) -> str:
    """The cause of a connection error, without the words that the HTTP library puts before it. If the error names no
    cause, its own text."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    words = str(reason or error)
    return words.rpartition(": ")[2] if reason is not None else words


def _is_rate_limit(message: str, headers: Mapping[str, str]) -> bool:
    used_up = headers.get("x-ratelimit-remaining") == "0"
    return used_up or "retry-after" in headers or "rate limit" in message.lower()


def _until(headers: Mapping[str, str]) -> datetime | None:
    """When requests are allowed again, by the server's headers; None if they say nothing plausible."""
    now, given = time.time(), headers.get("retry-after", "")
    try:
        if given:
            at = now + float(given) if given.strip().isdigit() else parsedate_to_datetime(given).timestamp()
        elif headers.get("x-ratelimit-remaining", "0") == "0" or "x-ratelimit-limit" not in headers:
            reset = headers.get("x-ratelimit-reset", "")
            at = float(reset) if reset.replace(".", "").isdigit() else datetime.fromisoformat(reset).timestamp()
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return datetime.fromtimestamp(math.ceil(at), UTC) if now - FAR < at < now + FAR else None
