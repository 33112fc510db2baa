"""Classifies messages of a provider or an agent's program that refuses to work.

The caller says whether a text is an error of the program (stderr, an error event) or the agent's own prose. Errors are
searched for phrases of the vendors. Prose counts only if it is short and begins like a provider's notice, because
agents also write about limits.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo

from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import plain_line

HEAD, TAIL = 4_000, 16_000  # characters at both ends of a long text; only they are searched for the cause
LONGEST = 300  # characters, at most, of the sentence shown to people
PROSE = 700  # characters; a longer text of the agent is not a provider's notice


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why work was refused, and until when."""

    # auth: no valid login · credit: the account needs a payment · rate: a limit, so wait · overloaded: the provider or
    # the connection to it fails · context: too much for the model · budget: a limit of ours that the agent enforces ·
    # other: any other reason
    kind: str
    until: float  # when to try again; 0: unknown
    why: str


def parse_refusal(
    text: str,
    *,
    now: float,
    status: int = 0,
    headers: Mapping[str, str] | None = None,
    zone: tzinfo | None = None,
    prose: bool = False,
) -> Refusal | None:
    """Classify a refusal; None if the text is not a refusal.

    `status` and `headers` of the response take precedence over the text. `prose`: the text is the agent's reply. A time
    of day is read in the time zone that the text names. If the text names none, it is read in `zone` or, without
    `zone`, in this machine's time zone.
    """
    flat = _flatten(text)
    if prose and not status and not _is_notice(flat):
        return None
    low = flat.lower().replace("’", "'")
    code = status if status >= 400 else _status(low)
    kind, phrase = _error_kind(low, code)
    if not kind:
        return Refusal("other", 0.0, _sentence_for_people(flat, "")) if status >= 400 else None
    until = 0.0
    if kind in ("rate", "overloaded", "credit"):
        from trued.agents.driver.reset_time import reset_time_in_headers, reset_time_in_text  # see _daily_quota_reset

        until = reset_time_in_headers(headers or {}, now) or reset_time_in_text(flat, now, zone)
        if until and phrase == "purchase more credits":
            kind = "rate"  # "purchase more credits or try again at 9:14": waiting is enough
        if kind == "rate":
            until = max(until, _daily_quota_reset(low, now))
    return Refusal(kind, until if kind != "credit" else 0.0, _sentence_for_people(flat, phrase))


# -- phrases by kind; the more specific kinds first -------------------------------------------------------------------


def _phrases(listed: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for line in listed.splitlines() for phrase in line.split(" | ") if phrase.strip())


BUDGET = _phrases("error_max_budget_usd | reached maximum budget | budget has been exceeded | usagelimitexceeded")
CONTEXT = _phrases("""
    prompt is too long | maximum context length | context_length_exceeded | exceeds the context window
    ran out of room in the model's context | exceeds the maximum number of tokens allowed | exceed context limit
    input is too long for requested model | request too large for | request_too_large | exceeds the model's context
    range of input length should be | input tokens exceed the configured limit | token limit exceeded. try to shorten
    context length exceeded | model_context_window_exceeded | exceeds maximum context | prompt tokens limit exceeded
""")
CREDIT = _phrases("""
    credit balance is too low | credit balance too low | insufficient_quota | insufficient balance | arrearage
    requires more credits | used all available credits | purchase more credits | exceeded your current quota
    billing_hard_limit_reached | billing hard limit | billing_not_active | check your billing | billing_error
    insufficient credits | insufficient_credits | insufficient funds | payment required | never purchased credits
    overdue-payment | no remaining credits | out of credits | negative balance
""")
AUTH = _phrases("""
    authentication_error | authentication_failed | invalid x-api-key | invalid api key | invalid_api_key
    api key not valid | api key not found | api_key_invalid | api key expired | incorrect api key | missing api key
    no api key | api key is missing | missing_api_key | invalidapikey | you didn't provide an api key
    oauth token has expired | oauth token revoked | invalid oauth token | token_expired | invalid_grant
    please run /login | run /login | not logged in | please log in | login expired | session expired
    please log out and sign in again | please sign in again | please try signing in again | re-authenticate
    access token could not be refreshed | failed to refresh token | failed to authenticate | authentication fails
    oauth authentication is currently not supported | could not resolve authentication method | missing bearer
    unauthenticated | permission_denied | permission_error | access denied due to invalid subscription key
    expiredtokenexception | unrecognizedclientexception | accessdeniedexception | could not load credentials
    security token included in the request is | unable to locate credentials | invalid authentication
    please set an auth method | no auth credentials found | account_deactivated | account has been disabled
    organization has been disabled | 401 unauthorized
""")
RATE = _phrases("""
    rate_limit | ratelimiterror | ratelimitexceeded | rate limit | rate-limit | too many requests | toomanyrequests
    resource_exhausted | resource exhausted | resource has been exhausted | throttlingexception | throttling.
    throttled | too many tokens | requests per minute | tokens per minute | concurrency limit
    usage limit | hit your limit | session limit | weekly limit | 5-hour limit | limit reached · | limit reached ∙
    limit reached| | limit will reset | out of extra usage | spending cap reached | usage_limit_reached
    quota exceeded | quota will reset | quota limit | quotafailure | quota has been | exhausted your capacity
    allocated quota exceeded | reached your daily | free usage exceeded | free usage limit | freeusagelimiterror
    exceeded call rate | exceeded token rate | service tier capacity exceeded | premium request allowance
    exceeded your copilot | exceeded your premium | usage_not_included | request a quota increase
""")
OVERLOADED = _phrases("""
    overloaded | api_error | internal server error | internal_server_error | server_error | bad gateway
    service unavailable | serviceunavailable | service_unavailable | gateway timeout | gateway time-out
    "unavailable" | 'unavailable' | status: unavailable | 503 unavailable | deadline_exceeded | high demand
    at capacity | modelnotready | model is not ready | internalservererror | internalserverexception | slow_down
    modeltimeoutexception | server is busy | temporarily unavailable | upstream request failed | server had an error
    provider returned error | error occurred while processing your request | no instances available
    econnreset | econnrefused | econnaborted | enotfound | etimedout | eai_again | enetunreach | ehostunreach
    socket hang up | fetch failed | connection error | connection refused | connection reset | connection closed
    connection aborted | connection timed out | unable to connect to api | failed to connect | couldn't connect
    getaddrinfo | name resolution | could not resolve host | dns error | error sending request for url
    stream disconnected before completion | stream closed before | request timed out | apitimeouterror
    apiconnectionerror | network error | remote end closed | server disconnected | incomplete chunked read
    error decoding response body | und_err | idle timeout waiting | api error: terminated
""")
BY_STATUS = {
    401: "auth",
    402: "credit",
    403: "auth",
    407: "auth",
    408: "overloaded",
    413: "context",
    425: "overloaded",
    429: "rate",
}
STATUS = lazy_regex(
    r"(?:\bstatus(?:[ _]?code)?|\berror(?: code)?|\bhttp(?:/\d\.\d| status)?|\bcode|\brejected|\bfailed)"
    r"[\"']?\s?[:=]?\s?[\"'(\[]{0,2}([45]\d\d)(?![\d.])"
    r"|^[\s✗✖✕×■⚠⎿\[(]{0,6}([45]\d\d)(?![\d.])|\[([45]\d\d)[ \]]"
    r"|\b([45]\d\d) (?:status code|too many requests|unauthorized|resource)"
)


def _error_kind(low: str, status: int) -> tuple[str, str]:
    """The kind of the error, and the phrase that shows it; both are "" if the text shows none. The status decides,
    unless a phrase is more specific. `low`: the text in lower case."""
    for kind, phrases in (("budget", BUDGET), ("context", CONTEXT), ("credit", CREDIT)):
        phrase = _first_phrase(phrases, low)
        if phrase and not (kind == "credit" and _means_rate_limit(phrase, low)):
            return kind, phrase
    if _no_free_tier(low):
        return "credit", "limit: 0"
    rate, auth, overloaded = _first_phrase(RATE, low), _first_phrase(AUTH, low), _first_phrase(OVERLOADED, low)
    if status >= 500:
        return ("rate", rate) if rate and not overloaded else ("overloaded", overloaded)
    if status == 403 and rate:
        return "rate", rate
    if status in BY_STATUS:
        return BY_STATUS[status], {"auth": auth, "rate": rate, "overloaded": overloaded}.get(BY_STATUS[status], "")
    for kind, phrase in (("auth", auth), ("rate", rate), ("overloaded", overloaded)):
        if phrase:
            return kind, phrase
    return "", ""


def _first_phrase(phrases: tuple[str, ...], low: str) -> str:
    return next((phrase for phrase in phrases if phrase in low), "")


def _means_rate_limit(phrase: str, low: str) -> bool:
    """Whether a phrase about quota or billing means only a rate limit. Google and Alibaba use such phrases for rate
    limits; OpenAI uses them for an empty account."""
    shared = phrase in ("insufficient_quota", "exceeded your current quota", "check your billing")
    elsewhere = ("resource_exhausted", "generativelanguage", "ai.google.dev", "aliyun", "alibabacloud", "dashscope")
    return shared and not _no_free_tier(low) and any(name in low for name in elsewhere)


def _no_free_tier(low: str) -> bool:
    return "quota exceeded for metric" in low and bool(re.search(r"limit: 0(?![\d.])", low))


def _daily_quota_reset(low: str, now: float) -> float:
    """When Google's daily quota resets: midnight, Pacific time. The delay in Google's message is wrong."""
    # Loaded only after a refusal: with these patterns and time zones, every supervisor would take a tenth longer to
    # start.
    from trued.agents.driver.reset_time import next_midnight

    return next_midnight(now, "America/Los_Angeles") if "perday" in low and "quotaid" in low else 0.0


def _status(low: str) -> int:
    """The HTTP status that the text itself names; 0 if it names none."""
    status = STATUS.search(low)
    return int(next(filter(None, status.groups()))) if status else 0


# -- prose ------------------------------------------------------------------------------------------------------------

NOTICES = lazy_regex(
    r"(?:"
    r"\W{0,6}(?:api )?error:? ?\(?(?:code:? ?)?[45]\d\d\b.{0,40}[{·:]"
    r"|\W{0,6}api error: (?:unable to connect|connection error|request (?:timed out|rejected)|\[?\{)"
    r"|claude (?:ai )?usage limit reached"
    r"|you['’]ve (?:hit|reached) your (?:\w+ ){0,3}limit\b.{0,200}(?:resets?|again|upgrade|wait)"
    r"|(?:\S+ ){0,3}limit reached [·∙•] resets"
    r"|you['’]re out of extra usage\b|spending cap reached\b"
    r"|credit balance (?:is )?too low(?: ·|$|\.$)"
    r"|(?:invalid|missing) api key · |oauth token (?:has expired|revoked) ·|not logged in · |please run /login"
    r"|prompt is too long(?::|$|\.$)"
    r")",
    re.IGNORECASE,
)


def _is_notice(flat: str) -> bool:
    return len(flat) <= PROSE and NOTICES.match(flat) is not None


# -- text -------------------------------------------------------------------------------------------------------------

ESCAPES = lazy_regex(r"\x1b\[[0-9;?]{0,12}[a-zA-Z]|[\x00-\x08\x0b-\x1f\x7f\u2500-\u257f]|[\u200b-\u200f\u202a-\u202e]")
MESSAGE = lazy_regex(r"[\"']message[\"']\s?:\s?(?:\"([^\"]{4,600})|'([^']{4,600}))")


def _flatten(text: str) -> str:
    """The text on one line, without terminal drawings and escapes; the middle of a long text is left out."""
    cut = text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"
    bare = ESCAPES.sub(" ", cut.replace("\\n", " ").replace('\\"', '"').replace('\\\\"', '"').replace("\\'", "'"))
    return " ".join(bare.split())


def _sentence_for_people(flat: str, phrase: str) -> str:
    """The provider's own message, if the text quotes one as a JSON field; otherwise the text around the phrase. Cut to
    LONGEST characters."""
    messages = [first or second for first, second in MESSAGE.findall(flat)]
    matching = [message for message in messages if phrase and phrase in message.lower().replace("’", "'")]
    if matching or messages:
        return _short((matching or messages)[-1].lstrip("{ "))
    if len(flat) <= LONGEST:
        return _short(flat)
    position = flat.lower().find(phrase) if phrase else 0
    start = max(
        (
            flat.rfind(mark, 0, max(0, position)) + len(mark)
            for mark in (". ", "⎿ ", "■ ", "✕ ")
            if mark in flat[:position]
        ),
        default=0,
    )
    return _short(flat[max(start, position - LONGEST // 2) :])


def _short(text: str) -> str:
    return plain_line(text.strip(" \\\"'{}[],"), LONGEST)
