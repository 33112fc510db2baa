"""The scripted model on 127.0.0.1, on a port that is free."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import ModuleType, TracebackType
from typing import Any, Self

from . import anthropic, chat, gemini, responses
from .listening import Listening, Sending
from .script import FAILS, HUGE, Choice, Fault, Script
from .tools import NoTool, act
from .turn import NOTHING, Act, Spoken, Turn, Usage, in_json

DIALECTS: tuple[ModuleType, ...] = (anthropic, responses, chat, gemini)  # each has NAME, fits, read, reply and failure


@dataclass(frozen=True)
class Seen:
    """One request that came in."""

    path: str
    body: dict[str, Any]
    turn: Turn
    dialect: str
    headers: dict[str, str]
    at: float  # seconds since the epoch
    fault: str = ""  # what went wrong as it was scripted, by its name
    usage: Usage = NOTHING
    act: Act | None = None

    @property
    def failed(self) -> int:
        """The status that it got instead of an answer."""
        return int(self.fault) if self.fault.isdigit() else 0


Chosen = Callable[[Seen], bool]


@dataclass
class ModelServer:
    """`with ModelServer(script) as model:` answers at `model.url` until the block ends.

    For several agents at once it takes a `Cast`, or any function that chooses a script for a request.
    """

    script: Script | Choice
    seen: list[Seen] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)  # what the script asked for, and the agent cannot do

    def __enter__(self) -> Self:
        self._lock = threading.Lock()
        self._listening = Listening(self._answer)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.end()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.server_address[1]}"

    @property
    def asked(self) -> list[Turn]:
        """What the agent asked of its model, without questions on the side."""
        return [one.turn for one in self.seen if one.turn.tools and not one.fault]

    @property
    def text(self) -> str:
        """All that ever came in, heads and bodies, to look for what must not be there."""
        return json.dumps([[one.path, one.headers, one.body] for one in self.seen], ensure_ascii=False)

    def total(self, chosen: Chosen = lambda _: True) -> Usage:
        """Of all requests that were answered, or of those chosen."""
        counted = [one.usage for one in self.seen if chosen(one)]
        return Usage(sum(one.sent for one in counted), sum(one.said for one in counted))

    def peak(self, chosen: Chosen = lambda _: True) -> int:
        """The fullest that a context was: a request and its answer."""
        return max((one.usage.both for one in self.seen if chosen(one)), default=0)

    def _answer(self, path: str, raw: bytes, headers: dict[str, str]) -> Sending:
        dialect = next((one for one in DIALECTS if one.fits(path)), None)
        sent = -(-len(raw) // 4)
        if dialect is None:
            return _beside(path, sent)
        try:
            body = json.loads(raw)
            seen = Seen(path, body, dialect.read(path, body), dialect.NAME, headers, time.time())
        except (LookupError, TypeError, ValueError) as error:
            self.troubles.append(f"a request to {path} cannot be read: {error!r}")
            return _failed(dialect, Fault(400, message=self.troubles[-1]))
        with self._lock:
            return self._answered(dialect, seen, sent)

    def _answered(self, dialect: ModuleType, seen: Seen, sent: int) -> Sending:
        turn = seen.turn
        script = self.script if isinstance(self.script, Script) else self.script(turn)
        fault = script.fault(turn) if turn.tools else None
        if fault and fault.how == FAILS:
            self.seen.append(replace(seen, fault=fault.name))
            return _failed(dialect, fault)
        done = Spoken("x" * fault.size) if fault and fault.how == HUGE else self._act(turn, script)
        usage = Usage(sent, -(-len(done.text) // 4))
        if fault and fault.how != HUGE:
            self.seen.append(replace(seen, fault=fault.name))
        else:
            self.seen.append(replace(seen, fault=fault.name if fault else "", usage=usage, act=done))
            script.good += bool(turn.tools)
        return Sending(dialect.reply(turn, done, usage), fault=fault)

    def _act(self, turn: Turn, script: Script) -> Act:
        try:
            return act(turn, script)
        except NoTool as trouble:
            self.troubles.append(str(trouble))
            return Spoken(f"I cannot go on: {trouble}")


def _failed(dialect: ModuleType, fault: Fault) -> Sending:
    words = fault.message or f"scripted {fault.status}"
    wait = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
    return Sending(in_json(dialect.failure(fault.status, words, fault.retry_after)), fault.status, wait)


def _beside(path: str, tokens: int) -> Sending:
    if path.endswith(":countTokens"):
        return Sending(in_json({"totalTokens": tokens}))
    return Sending(in_json({"input_tokens": tokens} if path.endswith("/count_tokens") else {}))
