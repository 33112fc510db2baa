"""Make text from outside safe to store and show: replace secrets, remove control sequences."""

import base64
import codecs
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

SHORTEST = 8  # fewest characters of a secret that is replaced; a shorter one could be an ordinary word
LONGEST_LINE = 64 * 1024  # longer lines are cut, so that an endless line cannot fill the memory
OVERLAP = 1024  # characters kept back when a line is cut, so that a key which begins before the cut is recognised

# Strings that look like keys. The lengths are bounded, because `Stream` sees only a part of a long line at a time.
_SHAPES = re.compile(
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
_SECRET_NAME = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASS(?:WORD|WD)?|CREDENTIALS?|AUTH)(?:$|_)", re.I)
_PASSWORD = re.compile(r"://[^/@:\s]{0,200}:([^/@\s]{1,400})@")  # a password in an address
_HEADER = re.compile(r"^[\w-]+:(?:.*[ \t])?([^ \t\n]+)[ \t]*$", re.MULTILINE)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_KEY_LINES = (
    200  # at most this many lines are held back while the end of a private key is awaited; every key is shorter
)

_CONTROL = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]?"  # CSI
    "|\x9b[0-?]*[ -/]*[@-~]?"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    "|\x1b[ -/]*[0-~]?"
    "|\r(?=\n)"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    "|[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"  # zero width, bidirectional
    "|[\U000e0000-\U000e007f\ud800-\udfff]"  # tags that no terminal shows; halves of characters
)

_CONTROL_CODES = (*range(32), *range(127, 160), 0x2028, 0x2029)  # the last two end a line in browsers and editors
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
SUBJECT, SCOPE = 72, 24  # at most this many characters of a commit's first line, and of the scope in its parentheses
_ACTED_ON = re.compile(r"(?i)(#(?=\d)|@(?=\w)|\bgh-(?=\d)|:(?=//))")


def plain(text: str) -> str:
    """The text without control and invisible characters; newlines and tabs stay."""
    return _CONTROL.sub("", text)


def plain_line(text: str, longest: int = 0) -> str:
    """`plain`, on one line; cut to `longest` characters (0: not cut), the last of which is then "…"."""
    flat = " ".join(plain(text).split())
    return f"{flat[: longest - 1]}…" if 0 < longest < len(flat) else flat


def without_controls(text: str, keep: str = "", instead: str = " ") -> str:
    """The text, fit to be encoded, with `instead` for each control character that is not in `keep`. Invisible
    characters and the rest of an escape sequence stay."""
    table = {code: instead for code in _CONTROL_CODES if chr(code) not in keep}
    return text.translate(table).encode("utf-8", "replace").decode()


def line_without_controls(text: str, longest: int) -> str:
    """`without_controls`, on one line; cut after `longest` characters and marked with `[…]`."""
    flat = " ".join(without_controls(text).split())
    return flat if len(flat) <= longest else f"{flat[:longest]} […]"


def printable(text: str) -> str:
    """The text with a blank for each character that Python does not call printable, such as line ends."""
    return "".join(one if one.isprintable() else " " for one in text)


def printable_line(text: str) -> str:
    """`printable`, on one line."""
    return " ".join(printable(text).split())


def unix_lines(text: str) -> str:
    """The text with `\\n` at the end of each line."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def inert(text: str) -> str:
    """Text for a commit message that triggers nothing on a forge: no CI skip, closed ticket or mention."""
    return _BRACKETS.sub(r"(\1)", _ACTED_ON.sub(r"\1 ", text)).replace("***", "")


def subject_line(kind: str, scope: str, title: str) -> str:
    """The first line of a commit message: `feat(F2-T2): what it is about`. The title may be hostile."""
    about = re.sub(r"[^A-Za-z0-9._-]+", "-", plain(scope))[:SCOPE].strip("-.")
    words = inert(plain_line(title).lstrip("# ")).strip() or "work"
    head = f"{kind}({about}): " if about else f"{kind}: "
    room = SUBJECT - len(head)
    cut = words[: room - 1]
    return f"{head}{words}" if len(words) <= room else f"{head}{cut.rpartition(' ')[0] or cut}…"


def secrets_in(variables: Mapping[str, str]) -> dict[str, str]:
    """The secrets in these variables, by name: values of variables that are named like secrets, and credentials inside
    other values. With this, nobody has to list secrets."""
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
    """Replaces the secrets that the engine knows, in every encoding, and everything that looks like a key."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._names: dict[str, str] = {}
        for name, value in (secrets or {}).items():
            self._learn(name, value)
        self._compile()

    def also(self, name: str, values: Iterable[str]) -> "Redactor":
        """A redactor that also knows these values, all under one name."""
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
        """Replace a cut-off secret at the end of a text, or before an ellipsis: other code may have cut the text inside
        the secret."""
        for match in reversed([*self._half.finditer(text)]):
            half = text[match.start() : match.start() + self.overlap].partition("…")[0]
            if whole := next((form for form in self._begun[match[1]] if form.startswith(half)), ""):
                end = match.start() + len(half)
                text = f"{text[: match.start()]}[redacted {self._names[whole]}]{text[end:]}"
        return text

    def cut(self, text: str, at: int) -> int:
        """The last position up to `at` where the text can be cut without cutting a secret."""
        for pattern in filter(None, (self._exact, _SHAPES)):
            for match in pattern.finditer(text):
                if match.start() < at < match.end():
                    at = match.start()
        return at

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
    """Turns pieces of bytes into plain, redacted lines. A secret that is split between two pieces is redacted, too."""

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
        at = self._redactor.cut(whole, min(LONGEST_LINE, len(whole)))
        self._out(whole[:at])
        self._pending = whole[at:] + ("" if not escape or len(tail) > OVERLAP else escape + tail)

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
