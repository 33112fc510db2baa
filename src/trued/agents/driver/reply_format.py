"""The contract of a reply: exactly one JSON object that fits the schema. An agent that breaks it gets one retry."""

import json
import math
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from trued.agents.driver.program import failed_report
from trued.agents.driver.quick_schema import surely_fits
from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import plain_line
from trued.wire import EmitAgentEvent, Order, Report, Usage, add_usage, remaining

SHOWN = 10  # errors that are listed; more do not help
EXCERPT = 120
LONGEST_ERROR = 300  # characters of one error
FENCE = "```"
FENCED = lazy_regex(r"^```json[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)

AskAgent = Callable[[Order], Awaitable[Report]]


class BrokenReply(ValueError):
    """The reply is not one JSON object that can be used; the message says why."""


def parse_reply(output: bytes) -> dict[str, Any]:
    """The JSON object that is the whole output. Raises BrokenReply for anything else, such as text that contains an
    object in a fence or a quotation."""
    text = _decode_reply(output)
    value, end = _decode(text)
    if rest := text[end:].strip():
        more = "a second JSON value" if rest[0] in '{["' else "other text"
        raise BrokenReply(
            f"after the JSON comes {more}: {rest[:EXCERPT]!r}; one JSON object and nothing else is needed"
        )
    if not isinstance(value, dict):
        raise BrokenReply(f"it is {_json_type(value)}, and one JSON object is needed")
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise BrokenReply(
            "it contains half of a character (a lone surrogate), which cannot be stored as text"
        ) from error
    except RecursionError as error:
        raise BrokenReply("its JSON is nested too deeply") from error
    return value


def parse_final_reply(text: str) -> dict[str, Any]:
    """Like `parse_reply`, for an agent that may write prose first. The object is the whole text, or the content of
    the only ```json fence if the text ends with that fence."""
    blocks = FENCED.findall(text)
    if len(blocks) == 1 and text.rstrip().endswith(FENCE):
        text = blocks[0]
    return parse_reply(text.encode("utf-8", "surrogatepass"))


def _decode_reply(output: bytes) -> str:
    try:
        text = output.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise BrokenReply(f"it is not UTF-8 ({error.reason} at byte {error.start})") from error
    if not text:
        raise BrokenReply("it is empty; one JSON object is needed")
    return text


def _decode(text: str) -> tuple[Any, int]:
    try:
        return json.JSONDecoder(
            object_pairs_hook=_unique_keys, parse_constant=_reject_constant, parse_float=_finite
        ).raw_decode(text)
    except BrokenReply:
        raise
    except RecursionError as error:
        raise BrokenReply("its JSON is nested too deeply") from error
    except ValueError as error:
        raise BrokenReply(f"it is not JSON ({_what_is_wrong(text, error)}); it begins {text[:EXCERPT]!r}") from error


def _what_is_wrong(text: str, error: ValueError) -> str:
    """What is wrong, in words that help the agent at its retry. Small models often put the object into a code fence, or
    are cut off."""
    if text.startswith(FENCE):
        unclosed = "" if text.endswith(FENCE) else " and breaks off before its end"
        return f"it is in a code fence{unclosed}: the object alone is needed, without {FENCE}"
    if isinstance(error, json.JSONDecodeError) and (error.pos >= len(text) or error.msg.startswith("Unterminated")):
        return f"it breaks off after {len(text)} characters: {error}"
    return str(error)


def schema_errors(reply: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """The reply's violations of its schema, as sentences; [] if the reply fits. If there are many, the last sentence
    only says how many more."""
    if surely_fits(reply, schema):
        return []
    from jsonschema import Draft202012Validator  # takes 0.1 s of CPU to import, and most replies fit

    violations = Draft202012Validator(schema).iter_errors(reply)
    return list(_sentences(sorted(violations, key=lambda error: [str(part) for part in error.absolute_path])))


async def ask_with_retry(order: Order, ask: AskAgent, emit: EmitAgentEvent, *, remembers: bool) -> Report:
    """Ask the agent. If its reply breaks the contract, ask once more in the same session; a second breach is a failure.

    `remembers`: the agent remembers the brief; otherwise the second order repeats it.
    """
    report = await ask(order)
    wrong = _contract_errors(report, order)
    if not wrong:
        return report
    emit("contract broken", why=wrong)
    brief = _retry_brief(wrong) if remembers else f"{order.brief}\n\n{_retry_brief(wrong)}"
    again = replace(
        order,
        brief=brief,
        resume=True,
        interrupted=False,
        anew=f"{order.anew or order.brief}\n\n{_retry_brief(wrong)}",
        attempt=order.attempt + 1,
        native=report.native or order.native,
        before=add_usage(order.before if report.resumed else Usage(), report.usage),
        allowance=remaining(order.allowance, report.usage),
    )
    second = await ask(again)
    combined = replace(
        second,
        attempt=order.attempt,
        asks=2,
        resumed=report.resumed,
        reaped=report.reaped + second.reaped,
        usage=add_usage(report.usage, second.usage),
    )
    if still := _contract_errors(combined, order):
        why = f"{order.agent} broke its contract twice: {'; '.join(still)}"
        return replace(
            failed_report(order, "contract", why, reaped=combined.reaped, usage=combined.usage),
            asks=2,
            resumed=report.resumed,
        )
    return combined


def _contract_errors(report: Report, order: Order) -> list[str]:
    if report.state == "failed" and report.kind == "contract":
        return [report.why]
    if report.state != "done" or report.reply is None:
        return []
    return schema_errors(report.reply, order.schema)


def _retry_brief(wrong: list[str]) -> str:
    template = (Path(__file__).parent / "again.md").read_text(encoding="utf-8")
    return template.replace("{{errors}}", "\n".join(f"- {error}" for error in wrong))


def _sentences(errors: list[Any]) -> Iterator[str]:
    for error in errors[:SHOWN]:
        steps = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
        where = "".join(steps).lstrip(".")
        message = plain_line(error.message, LONGEST_ERROR)
        yield f"at `{where}`: {message}" if where else message
    if len(errors) > SHOWN:
        yield f"and {len(errors) - SHOWN} more"


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        twice = next(key for key, _ in pairs if sum(other == key for other, _ in pairs) > 1)
        raise BrokenReply(f"it has the key {twice!r} twice in one object")
    return value


def _reject_constant(name: str) -> Any:
    raise BrokenReply(f"it contains {name}, which is not valid JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise BrokenReply(f"it contains {digits[:EXCERPT]}, which is too large to be stored as a number")
    return number


def _json_type(value: object) -> str:
    kinds = {list: "a JSON array", str: "a JSON string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
