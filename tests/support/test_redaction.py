"""Secrets are replaced, in every form in which they travel."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.support.redaction import LONGEST_LINE, Redactor, Stream, secrets_in

SECRET = 'p@ss "word"/with\\all+kinds=of&things'
KEYS = [
    "sk-ant-api03-" + "aB3_" * 20,
    "sk-proj-" + "Zz09" * 12,
    "AIza" + "b" * 35,
    "ghp_" + "a1" * 18,
    "github_pat_" + "A1b2" * 10,
    "glpat-" + "x" * 20,
    "AKIA" + "ABCD" * 4,
    "xoxb-1234567890-abcdefghij",
    "hf_" + "q" * 34,
    "npm_" + "n" * 36,
    "pypi-" + "p" * 60,
    "sk_live_" + "4" * 24,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
]
HARMLESS = [
    "9e107d9d372bb6826bd81d3542a419d6",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "task-force-of-people-who-like-long-names-with-dashes",
    "risk-assessment-and-more-of-the-same-kind",
    "tests/test_slug.py::test_joins_runs_of_other_characters",
    "sk-learn is a library",
    "The AKIA prefix is known.",
]


@pytest.mark.spec("USE-6")
@pytest.mark.parametrize("key", KEYS)
def test_what_looks_like_a_key_is_replaced(key: str) -> None:
    text = Redactor()(f"before {key} after")
    assert text.startswith("before [redacted ")
    assert text.endswith("] after")


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert Redactor()(text) == text


@pytest.mark.spec("USE-6")
@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        quote(SECRET, safe=""),
        base64.b64encode(SECRET.encode()).decode().rstrip("="),
        SECRET.encode().hex(),
        SECRET.replace("\\", "\\\\").replace('"', '\\"'),
    ],
)
def test_a_secret_is_found_in_every_form_in_which_it_travels(form: str) -> None:
    assert "[redacted TOKEN]" in Redactor({"TOKEN": SECRET})(f"<{form}>")
    assert form not in Redactor({"TOKEN": SECRET})(f"<{form}>")


@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
def test_a_secret_is_found_inside_other_base64(before: str) -> None:
    code = base64.b64encode(f"{before}{SECRET}:more".encode()).decode()
    safe = Redactor({"TOKEN": SECRET})(f"Basic {code}")
    assert "[redacted TOKEN]" in safe
    assert code[8:-8] not in safe


def test_each_line_of_a_long_secret_is_one_too() -> None:
    redact = Redactor({"KEY": "first-line-of-it\nsecond-line-of-it"})
    assert redact("x second-line-of-it y") == "x [redacted KEY] y"


def test_a_short_value_is_no_secret() -> None:
    assert Redactor({"DEBUG": "true"})("that is true") == "that is true"


def test_values_are_redacted_wherever_they_stand() -> None:
    redact = Redactor({"TOKEN": "swordfish-1"})
    assert redact.within({"swordfish-1": [1, None, {"a": "is swordfish-1"}]}) == {
        "[redacted TOKEN]": [1, None, {"a": "is [redacted TOKEN]"}]
    }


def lines_of(redactor: Redactor, pieces: list[bytes]) -> list[str]:
    lines: list[str] = []
    stream = Stream(redactor, lines.append)
    for piece in pieces:
        stream.feed(piece)
    stream.close()
    return lines


@pytest.mark.spec("USE-6")
@settings(deadline=None, max_examples=50)
@given(st.integers(1, 40))
def test_a_secret_split_over_pieces_is_still_replaced(size: int) -> None:
    text = "one swordfish-1234 \x1b[31mtwo\nthrée swordfish\x1b[0m-1234\nlast".encode()
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert lines_of(Redactor({"TOKEN": "swordfish-1234"}), pieces) == [
        "one [redacted TOKEN] two",
        "thrée [redacted TOKEN]",
        "last",
    ]


@pytest.mark.parametrize("offset", range(-30, 31, 3))
def test_a_line_that_never_ends_is_cut_beside_a_secret_and_not_in_it(offset: int) -> None:
    text = b"." * (LONGEST_LINE + offset) + b"swordfish-1234" + b"." * 5000
    whole = "".join(
        lines_of(Redactor({"TOKEN": "swordfish-1234"}), [text[i : i + 7000] for i in range(0, len(text), 7000)])
    )
    assert "fish" not in whole
    assert whole == text.decode().replace("swordfish-1234", "[redacted TOKEN]")


def test_a_private_key_is_kept_back_line_by_line() -> None:
    pieces = [line.encode() + b"\n" for line in KEYS[-1].splitlines()]
    assert lines_of(Redactor(), [b"key:\n", *pieces, b"after\n"]) == ["key:", "[redacted private key]", "after"]


def test_a_private_key_that_never_ends_is_not_shown() -> None:
    assert lines_of(Redactor(), [b"-----BEGIN PRIVATE KEY-----\nMIIEow\nabc"]) == ["[redacted private key]"]


def test_secrets_are_known_by_their_names() -> None:
    found = {"OPENAI_API_KEY": "abcdefghij", "GH_TOKEN": "abcdefghij", "DB_PASSWORD": "abcdefghij"}
    others = {"SSH_AUTH_SOCK": "/run/agent.1", "KEYBOARD": "abcdefghij", "A_TOKEN": "short", "PATH": "/usr/bin:/bin"}
    assert secrets_in(found | others) == found


@pytest.mark.spec("USE-6")
@pytest.mark.parametrize("end", ["", "…", "…. Allow this?"])
def test_half_a_secret_at_the_end_of_a_text_that_was_cut_is_a_secret(end: str) -> None:
    secret = "planted-and-never-told-0123456789"
    redact = Redactor({"login": secret, "other": "planted-and-never-seen-0123456789"})
    for length in range(8, len(secret) + 1):
        assert secret[:8] not in redact(f"it said {secret[:length]}{end}"), length
        assert redact(json.dumps({"text": "it said " + secret})[: 18 + length] + end).count("planted") == 0, length
    assert redact(f"planted-and-sown{end} in the garden") == f"planted-and-sown{end} in the garden"
    assert redact(f"plan{end}") == f"plan{end}"


@pytest.mark.spec("USE-6")
def test_a_password_in_an_address_and_the_values_of_headers_are_secrets() -> None:
    found = secrets_in(
        {
            "ANTHROPIC_CUSTOM_HEADERS": "X-Team: blue\nAuthorization: Bearer planted-in-a-header",
            "OPENAI_BASE_URL": "https://ann:planted-in-an-address@models.example.org/v1",
            "HTTPS_PROXY": "http://[broken:planted@x",
            "HOMEPAGE": "https://example.org/",
        }
    )
    redact = Redactor(found)
    assert "planted" not in redact("Bearer planted-in-a-header, planted-in-a-header, ann:planted-in-an-address@models")
    assert redact("blue https://example.org/ models.example.org") == "blue https://example.org/ models.example.org"
