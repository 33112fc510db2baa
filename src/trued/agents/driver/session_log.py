"""Reads the session log that an agent writes into its HOME: the log can report more than stdout, and earlier."""

import contextlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from trued.agents.driver.transcript import Transcript
from trued.support.lazy_regex import lazy_regex
from trued.wire import Order, Usage

MOST = 16 * 1024 * 1024  # bytes read at a time, at most; no known line is longer
# Opened so that no link is followed and no pipe blocks: the agent could have put either in the file's place.
OPENED = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# the errors that a line of an unexpected shape can cause
ODD = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError)
# Session ids that are safe in a path: any other id could be a pattern or lead out of HOME.
NAME = lazy_regex(r"[\w-]+", re.ASCII)

Fold = Callable[[dict[str, Any], Transcript], None]


class SessionLog:
    """Reads the lines of JSON that were added to one file since this call started. A missing file is not an error."""

    def __init__(self, order: Order, pattern: str, fold: Fold, session: str = "") -> None:
        """`pattern` is a path below HOME with `{}` for the session's id. `session` may be empty: the transcript then
        provides the id later."""
        self._home, self._pattern, self._fold = Path(order.home), pattern, fold
        self._path = self._log_file(session)
        self._read = self._path.lstat().st_size if self._path else 0

    def __call__(self, transcript: Transcript) -> None:
        """Fold the new lines into the transcript."""
        self._path = self._path or self._log_file(transcript.native)
        for line in self._new_lines() if self._path else ():
            with contextlib.suppress(*ODD):
                self._fold(json.loads(line), transcript)

    def _log_file(self, session: str) -> Path | None:
        return next(self._home.glob(self._pattern.format(session)), None) if NAME.fullmatch(session) else None

    def _new_lines(self) -> Iterator[bytes]:
        with contextlib.suppress(OSError):
            handle = os.open(self._path or "", OPENED)
            try:
                is_file = stat.S_ISREG(os.fstat(handle).st_mode)
                piece = os.pread(handle, MOST, self._read) if is_file else b""
            finally:
                os.close(handle)
            whole = piece.rfind(b"\n") + 1
            self._read += whole or (len(piece) if len(piece) == MOST else 0)
            yield from piece[:whole].splitlines()


def count_request(usage: Usage, transcript: Transcript) -> None:
    """Count one request to the model. If the agent has already reported the usage of its whole turn, only the number of
    requests and the size of the largest request are updated, because the reported usage includes this request's
    tokens."""
    if not transcript.finished:
        transcript.add_request(usage)
        return
    peak = max(transcript.usage.peak, usage.tokens_in + usage.tokens_out)
    transcript.usage = replace(transcript.usage, peak=peak, requests=transcript.usage.requests + 1)


def usage_since(total: Usage, before: Usage) -> Usage:
    """The usage since `before`, for an agent that reports totals of its whole session."""
    return Usage(
        tokens_in=max(0, total.tokens_in - before.tokens_in),
        tokens_out=max(0, total.tokens_out - before.tokens_out),
        tokens_cached=max(0, total.tokens_cached - before.tokens_cached),
    )
