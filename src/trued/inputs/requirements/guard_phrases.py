"""Recognises sentences that ask to keep what the base already has. Only this published list decides, never an agent."""

import re

from trued.support.lazy_regex import lazy_regex

_STILL = (
    r"(?:still |continue to |keep on |must |should |shall |have to |all |always |stays? |remains? |are |is |be |to )*"
)
_EVERY = (
    r"(?:all |every |the |of |our |your |its |existing |current |old |other |previous |unit |project's |base's |own )*"
)
_GREEN = r"(?:pass(?:es|ing)?|green|succeeds?|work(?:s|ing)?|clean|unbroken|unchanged)"
# kind → patterns of a whole sentence, without its full stop. A sentence that says more is an ordinary requirement.
PATTERNS: dict[str, tuple[str, ...]] = {
    "tests": (
        rf"{_EVERY}(?:tests?|test suite|test cases|suite) {_STILL}{_GREEN}",
        rf"(?:keep|leave) {_EVERY}(?:tests?|test suite|suite) {_GREEN}",
        rf"(?:do not|don't|without|never) (?:break|breaking) {_EVERY}(?:tests?|test suite|suite|behaviou?r)",
        rf"no {_EVERY}tests? (?:is|are|gets?|may be|must be) (?:broken|failing)",
    ),
    "build": (rf"{_EVERY}(?:build|project|package) {_STILL}(?:{_GREEN}|builds?|compiles?)",),
    "lint": (
        rf"{_EVERY}(?:lint|linter|linting|ruff|flake8|eslint|code style checks?) {_STILL}{_GREEN}",
        r"no (?:new )?lint(?:er|ing)? (?:errors?|warnings?)",
    ),
    "types": (
        rf"{_EVERY}(?:types?|type checks?|type checking|type checker|mypy|pyright|tsc) {_STILL}(?:{_GREEN}|check)",
        r"no (?:new )?type errors?",
    ),
    "dependencies": (
        r"(?:adds? |uses? |with |needs? )?no (?:new |more |further |third-party |extra )+dependenc(?:y|ies)",
        r"(?:do not|don't|without|never) (?:add|adding) (?:any )?(?:new )?dependenc(?:y|ies)",
    ),
    "unchanged dependencies": (
        # Do not widen these patterns: a resumed run would examine newly matched sentences differently than before.
        r"(?:do not|don't|without|never) (?:change|changing) (?:any )?(?:new )?dependenc(?:y|ies)",
        rf"{_EVERY}dependenc(?:y|ies) {_STILL}unchanged",
    ),
}
_COMPILED = {kind: [lazy_regex(pattern, re.IGNORECASE) for pattern in every] for kind, every in PATTERNS.items()}

NUMBERED = lazy_regex(r"[*_`(\[]{0,4}((?:FR|NFR|SC|AC|REQ|TR|UX)[-_]?\d+[a-z]?)(?![^\W_])", re.IGNORECASE)  # FR-001

# "`make lint` passes": the whole sentence names a command and says that it succeeds.
_PASSES = lazy_regex(
    r"(?:the command |run(?:s|ning)? )?(?:`([^`\n\0]{2,300})`|([^`\n\0]{2,300}?)),? (?:still |must |should |always )*"
    r"(?:pass(?:es)?|succeeds?|works?|(?:is|stays|be|stay) green|runs? (?:green|clean(?:ly)?)"
    r"|exits? (?:with )?(?:code )?`?0`?)[.!]?",
    re.IGNORECASE,
)


def without_number(sentence: str) -> str:
    """The sentence without the number of a requirement (such as "**FR-001**: ") that it begins with."""
    match = NUMBERED.match(sentence)
    return sentence[match.end() :].lstrip("*_)] .:|\u2013\u2014-") if match else sentence


def named_command(sentence: str) -> str:
    """The command that the whole sentence asks to succeed; "" if it names none.

    If the sentence does not mark the command as code, the result may be ordinary words. So callers must check that it
    begins with a known program.
    """
    match = _PASSES.fullmatch(" ".join(sentence.replace("*", "").split()))
    return (match[1] or match[2] or "").strip() if match else ""


def quoted_command(sentence: str) -> str:
    """The command that the whole sentence asks to succeed, if it is marked as code; otherwise ""."""
    return named_command(sentence) if "`" in sentence else ""


def guard_kind(sentence: str) -> str:
    """What the sentence asks to keep, as a key of PATTERNS such as "tests" or "unchanged dependencies". "" if it asks
    for something else, or for anything besides."""
    words = " ".join(sentence.replace("`", "").replace("*", "").split()).strip(" .!")
    return next((kind for kind, every in _COMPILED.items() if any(pattern.fullmatch(words) for pattern in every)), "")
