"""Access to the page: entry codes, session cookies and tab keys. They exist only as long as the server's process.

A tab key is a secret that the page's script stores in its browser tab. Every POST but the login needs it besides the
cookie, which a browser sends by itself.
"""

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

CODE_S = 60.0  # an entry code is valid for one use within this time
TOLD = (10, 100, 1000, 10_000)  # numbers of wrong guesses at which the person at the terminal is warned
SLOWED = 5  # this many wrong guesses are not delayed: a person mistypes, a program keeps trying
LONGEST_S = 2.0  # longest delay of one wrong guess


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass
class PageSession:
    """One browser that has logged in with a code. Only hashes of its secrets are kept."""

    number: int
    key: str = ""  # hash of its tab key
    streams: int = 0  # open streams


@dataclass(frozen=True)
class Entered:
    """The secrets that a browser gets when it logs in."""

    cookie: str
    key: str


@dataclass
class Guesses:
    """Counts wrong secrets. A right secret is never delayed, so nobody can lock a person out."""

    warn: Callable[[str], None]
    wrong: int = 0

    def delay(self) -> float:
        """Count a wrong guess; return the seconds to wait before it is answered."""
        self.wrong += 1
        if self.wrong in TOLD:
            self.warn(f"somebody on this machine has guessed {self.wrong} wrong codes or keys of this page")
        return min(LONGEST_S, 0.1 * max(0, self.wrong - SLOWED))


@dataclass
class Sessions:
    """The browsers that have logged in to this page, and the codes with which they may log in. `warn` prints to the
    person's terminal."""

    warn: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _codes: dict[str, float] = field(default_factory=dict)  # hash → when it expires
    _used: set[str] = field(default_factory=set)
    _sessions: dict[str, PageSession] = field(default_factory=dict)  # hash of the cookie → session

    def new_code(self) -> str:
        """A new code, valid for one use within a minute."""
        code = secrets.token_urlsafe(24)
        self._codes[_hash(code)] = self.clock() + CODE_S
        return code

    def enter(self, code: str) -> Entered | None:
        """Use up a code and open a session; None if the code is unknown, has expired or was used before."""
        name = _hash(code)
        if name in self._used:
            self.warn(
                "WARNING: an entry code of this page was used a second time. If that was not you, somebody saw it:"
                " end this page with Ctrl-C and start it again"
            )
            return None
        until = self._codes.pop(name, None)
        if until is None or self.clock() > until:
            return None
        self._used.add(name)
        entered = Entered(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        self._sessions[_hash(entered.cookie)] = PageSession(len(self._sessions) + 1, _hash(entered.key))
        return entered

    def session(self, cookie: str) -> PageSession | None:
        return self._sessions.get(_hash(cookie))

    def has_key(self, session: PageSession, key: str) -> bool:
        """Whether this is the session's tab key."""
        return secrets.compare_digest(session.key, _hash(key))
