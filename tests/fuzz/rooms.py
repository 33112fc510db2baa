"""A bench whose processes say what the fuzzer wants them to say: everything else of it is the real one."""

import asyncio
import atexit
import json
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from trued.proof.room.bench import Bench
from trued.proof.room.interpreter import Interpreter
from trued.protocols import Command, CommandResult, Workspace

FILES = {"tests/test_a.py": b"def test_one(): ...\n", "kit.py": b""}
T = TypeVar("T")


class Speaking:
    """Stands where a workspace stands; whatever is executed in it answers as it was told to."""

    base = "0" * 40

    def __init__(self) -> None:
        self.answer: Callable[[Command], CommandResult] = lambda command: said(b"")

    async def execute(self, command: Command) -> CommandResult:
        return self.answer(command)

    def shown_at(self, room: Path) -> tuple[str, ...]:
        return ()

    async def blobs(self, commit: str) -> dict[str, str]:
        return dict.fromkeys(FILES, "1" * 40)

    async def read(self, commit: str, path: str) -> bytes | None:
        return FILES.get(path)


@cache
def place() -> tuple[Speaking, Bench, asyncio.AbstractEventLoop]:
    """One for all inputs of a process."""
    room = Path(tempfile.mkdtemp(prefix="trued-fuzz-"))
    atexit.register(shutil.rmtree, room, ignore_errors=True)
    for name, content in FILES.items():
        (room / name).parent.mkdir(exist_ok=True)
        (room / name).write_bytes(content)
    speaking = Speaking()
    interpreter = Interpreter("/usr/bin/python3", "/usr/bin/python3", (3, 11, 0), (), frozenset({"json", "os"}))
    bench = Bench(
        workspace=cast(Workspace, speaking),
        base=Speaking.base,
        commit=Speaking.base,
        room=room,
        interpreter=interpreter,
        roots=(str(room),),
        variables={"PATH": "/usr/bin:/bin"},
        modules=frozenset({"kit"}),
    )
    return speaking, bench, asyncio.new_event_loop()


def run(work: Coroutine[Any, Any, T]) -> T:
    return place()[2].run_until_complete(work)


def said(answers: bytes, **more: Any) -> CommandResult:
    whole: dict[str, Any] = {"exit_code": 0, "stdout": b"", "stderr": b"", "seconds": 0.1, "timed_out": False}
    return CommandResult(**{**whole, "flooded": False, "isolation": "none", "answers": answers, **more})


def lines(token: str, records: Any) -> bytes:
    """Records as they come over the channel, whatever they are by now."""
    listed = records if isinstance(records, list) else [records]
    return b"".join(f"{token} {json.dumps(one)}\n".encode() for one in listed)


def heard(answers: bytes, token: str) -> list[Any] | None:
    """The records, read by somebody else; None if anything else was on the channel."""
    found = []
    for line in answers.split(b"\n"):
        if not line:
            continue
        if not line.startswith(token.encode() + b" "):
            return None
        try:
            found.append(json.loads(line[len(token) + 1 :]))
        except (ValueError, RecursionError):
            return None
    return found if all(isinstance(one, dict) for one in found) else None
