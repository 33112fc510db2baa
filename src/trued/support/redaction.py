"""Replace secrets in text from outside, so that it is safe to store and show."""

import base64
import codecs
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import plain

SHORTEST = 8  # fewest characters of a secret that is replaced; a shorter one could be an ordinary word
LONGEST_LINE = 64 * 1024  # longer lines are cut, so that an endless line cannot fill the memory
OVERLAP = 1024  # characters kept back when a line is cut, so that a key which begins before the cut is recognised

# Strings that look like keys. The lengths are bounded, because `Stream` sees only a part of a long line at a time.
_SHAPES = lazy_regex(
    r"""(?<![A-Za-z0-9_-])(?:
      sk-ant-[A-Za-z0-9_-]{20,400}                        # Anthropic
    | sk-(?:proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{20,400}  # OpenAI, OpenRouter
    | AIza[A-Za-z0-9_-]{35}                               # Google
    | ya29\.[A-Za-z0-9_-]{20,400}
    | gh[pousr]_[A-Za-z0-9]{36,255}                       # GitHub
    | github_pat_[A-Za-z0-9_]{22,255}
    | glpat-[A-Za-z0-9_-]{20,100}                         # GitLab
    | (?:AKIA|ASIA)[A-Z0-9]{16}                           # AWS
    | xox[abeoprs]-[A-Za-z0-9-]{10,250}                   # Slack
    | hf_[A-Za-z0-9]{30,100}                              # Hugging Face
    | npm_[A-Za-z0-9]{36}
    | pypi-[A-Za-z0-9_-]{50,400}
    | [rs]k_(?:live|test)_[A-Za-z0-9]{20,250}             # Stripe
    | ATATT3[A-Za-z0-9_=-]{50,400}                        # Atlassian
    | eyJ[A-Za-z0-9_-]{10,400}\.eyJ[A-Za-z0-9_-]{10,900}\.[A-Za-z0-9_-]{10,400}  # JSON web token
    )""",
    re.VERBOSE,
)
_SECRET_NAME = lazy_regex(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASS(?:WORD|WD)?|CREDENTIALS?|AUTH)(?:$|_)", re.I)
_PASSWORD = lazy_regex(r"://[^/@:\s]{0,200}:([^/@\s]{1,400})@")  # a password in an address
_HEADER = lazy_regex(r"^[\w-]+:(?:.*[ \t])?([^ \t\n]+)[ \t]*$", re.MULTILINE)
_PRIVATE_KEY = lazy_regex(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_KEY_LINES = 200  # at most this many lines are held back until a private key ends; every private key is shorter


def secrets_in(variables: Mapping[str, str]) -> dict[str, str]:
    """The secrets in these variables, by name: values of variables that are named like secrets, and credentials inside
    other values. Short values and absolute paths do not count. So users need not list their secrets."""
    within = {
        f"{name}{number or ''}": secret
        for name, value in variables.items()
        for number, secret in enumerate((_HEADER if name.endswith("_HEADERS") else _PASSWORD).findall(value))
    }
    named = {name: value for name, value in variables.items() if _SECRET_NAME.search(name)}
    return {
        name: value
        for name, value in {**within, **named}.items()
        if len(value) >= SHORTEST and not value.startswith("/")
    }


class Redactor:
    """Replaces everything that looks like a key, and the secrets that the engine knows, also if they are encoded (see
    `forms`)."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._names: dict[str, str] = {}
        for name, value in (secrets or {}).items():
            self._learn(name, value)
        self._compile()

    def also(self, name: str, values: Iterable[str]) -> "Redactor":
        """A redactor that also replaces each of these values by `[redacted NAME]`."""
        more = Redactor()
        more._names = dict(self._names)
        for value in values:
            more._learn(name, value)
        more._compile()
        return more

    def _learn(self, name: str, value: str) -> None:
        for form in forms(value):
            self._names.setdefault(form, name)

    def _compile(self) -> None:
        longest_first = sorted(self._names, key=len, reverse=True)
        self._exact = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        self.overlap = max([OVERLAP, *map(len, longest_first)])
        self._begun: dict[str, list[str]] = {}
        for form in longest_first:
            self._begun.setdefault(form[:SHORTEST], []).append(form)
        self._half = re.compile(f"(?=({'|'.join(map(re.escape, self._begun))}))")

    def __call__(self, text: str) -> str:
        if self._exact is not None:
            text = self._exact.sub(lambda match: f"[redacted {self._names[match[0]]}]", text)
            text = self._without_halves(text)
        text = _PRIVATE_KEY.sub("[redacted private key]", text)
        return _SHAPES.sub("[redacted key]", text)

    def _without_halves(self, text: str) -> str:
        """Replace a cut-off secret at the end of a text, or before an ellipsis: other code could have cut the text
        inside the secret."""
        for match in reversed([*self._half.finditer(text)]):
            half = text[match.start() : match.start() + self.overlap].partition("…")[0]
            if whole := next((form for form in self._begun[match[1]] if form.startswith(half)), ""):
                end = match.start() + len(half)
                text = f"{text[: match.start()]}[redacted {self._names[whole]}]{text[end:]}"
        return text

    def cut(self, text: str, position: int) -> int:
        """The last position up to `position` where the text can be cut without cutting a secret."""
        for pattern in filter(None, (self._exact, _SHAPES)):
            for match in pattern.finditer(text):
                if match.start() < position < match.end():
                    position = match.start()
        return position

    def within(self, value: Any, *, strip: bool = False) -> Any:
        """The JSON value with all strings redacted, keys included; with `strip`, without control characters."""
        if isinstance(value, str):
            return self(plain(value) if strip else value)
        if isinstance(value, dict):
            return {self(str(key)): self.within(item, strip=strip) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.within(item, strip=strip) for item in value]
        return value


def in_json(redact: Callable[[Any], Any], text: str) -> str:
    """The JSON text with every string redacted separately, so that no match extends beyond its string."""
    return json.dumps(redact(json.loads(text)), ensure_ascii=False, separators=(",", ":"))


class Stream:
    """Turns chunks of bytes into plain, redacted lines, without blank lines. A secret that is split between two chunks
    is also redacted."""

    def __init__(self, redactor: Redactor, line: Callable[[str], None]) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._redactor, self._line = redactor, line
        self._pending = ""
        self._key: list[str] = []  # lines of a private key that has not ended yet

    def feed(self, piece: bytes) -> None:
        *lines, self._pending = (self._pending + self._decoder.decode(piece)).split("\n")
        for line in lines:
            self._out(line)
        while len(self._pending) > LONGEST_LINE + self._redactor.overlap:
            self._cut()

    def close(self) -> None:
        self._pending += self._decoder.decode(b"", final=True)
        if self._pending:
            self._out(self._pending)
        self._pending = ""
        self._flush_key()

    def _cut(self) -> None:
        """Pass on the beginning of a very long line. The line is never cut inside a secret or a control sequence."""
        head, escape, tail = self._pending.rpartition("\x1b")
        whole = plain(self._pending) if not escape or len(tail) > OVERLAP else plain(head)
        position = self._redactor.cut(whole, min(LONGEST_LINE, len(whole)))
        self._out(whole[:position])
        self._pending = whole[position:] + ("" if not escape or len(tail) > OVERLAP else escape + tail)

    def _out(self, line: str) -> None:
        line = plain(line)
        if self._key or ("-----BEGIN" in line and "PRIVATE KEY" in line):
            self._key.append(line)
            if "-----END" in line or len(self._key) > _KEY_LINES:
                self._flush_key()
        elif line.strip():
            self._line(self._redactor(line))

    def _flush_key(self) -> None:
        if self._key:
            for line in self._redactor("\n".join(self._key)).split("\n"):
                self._line(line)
        self._key = []


def forms(secret: str) -> set[str]:
    """A secret as it is, line by line, and as encoded in JSON, a URL, hexadecimal and base64 of any alignment."""
    forms = set()
    for text in {secret, secret.strip(), *secret.splitlines()}:
        if len(text) < SHORTEST:
            continue
        data = text.encode("utf-8", "surrogateescape")
        forms |= {text, quote(text, safe=""), quote(text), quote_plus(text), data.hex(), data.hex().upper()}
        forms |= {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
        for shift in range(3):
            # The first base64 characters depend on the text before the secret, the last ones on the text after it: drop
            # both.
            code = base64.b64encode(b"\0" * shift + data)
            inner = code.rstrip(b"=")[(0, 2, 3)[shift] : None if not (shift + len(data)) % 3 else -1].decode()
            forms |= {inner, inner.replace("+", "-").replace("/", "_")}
    return {form for form in forms if len(form) >= SHORTEST}
