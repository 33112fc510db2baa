"""Runs inside the sandbox: calls one function of the project in a process of its own and reports the result.

Standard library only, no import of this package: the interpreter is the project's. No expected value ever reaches it.
The process for the call is forked before the order is read, and gets only its one case: the nonce and the channel were
never in its memory, and it can neither read the process that has them nor answer in its place. With arguments, the
forked process executes them as a program (Node with answer.mjs), which reads the case from file descriptor 3 and
answers on 4.
"""

from __future__ import annotations

import collections
import contextlib
import importlib
import itertools
import json
import os
import select
import signal
import sys
import time
import types
from json.encoder import encode_basestring_ascii as text
from typing import Any

MOST_BYTES = 128 << 20  # bytes of one answer; no expected value is as large, so a larger answer differs
MOST_SAID = MOST_BYTES + (4 << 20)  # bytes of one call: the answer and the names of the loaded files
MOST_DRAWN = 1_000_000  # members read from one iterator, which may be endless
DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
CLOSE, OPEN = "0", {"l": "1", "t": "2", "s": "3", "z": "4", "d": "5", "r": "6", "g": "7"}  # as in checks/values.py
INT, FLOAT, BYTES, OBJECT = "10", "11", "12", "13"
LISTS = {list: "l", tuple: "t", set: "s", frozenset: "z"}
LAZY: tuple[type, ...] = (
    *(types.GeneratorType, map, filter, zip, enumerate, reversed),
    *(type(iter([])), type(iter(())), type(iter({}))),
)
PLAIN: tuple[Any, ...] = (str, int, float, bytes, tuple, list, dict, set, frozenset)
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, CAPABILITIES_3 = 4, 38, 0x20080522
SPYING = 1 << 19 | 1 << 21  # CAP_SYS_PTRACE, CAP_SYS_ADMIN
TELLING = ("__eq__", "__ne__", "__len__", "__iter__", "__getitem__", "__contains__", "__bool__", "__lt__", "__hash__")


class Malformed(Exception):
    """The case itself cannot be used."""


# -- values as data ----------------------------------------------------------------------------------------------------


def build(data: Any) -> Any:
    """Arguments from JSON: {"$tuple": […]}, {"$set": […]}, {"$bytes": "text"} … stand for values that JSON lacks."""
    if isinstance(data, list):
        return [build(one) for one in data]
    if not isinstance(data, dict):
        return data
    if len(data) == 1:
        tag, inner = next(iter(data.items()))
        if tag in MAKERS:
            return MAKERS[tag](inner)
        if tag.startswith("$"):
            raise Malformed(f"{tag} is no tag; there are {', '.join(MAKERS)}")
    return {key: build(value) for key, value in data.items()}


MAKERS: dict[str, Any] = {
    "$tuple": lambda inner: tuple(build(inner)),
    "$set": lambda inner: set(build(inner)),
    "$frozenset": lambda inner: frozenset(build(inner)),
    "$bytes": lambda inner: str.encode(inner),
    "$float": float,
}


class Unfit(Exception):
    """A value that cannot be rendered: it contains itself, is endless, or is too large."""


class Rendering:
    """Renders values as plain data, by their exact types, without calling methods of the project's classes.

    A value becomes a flat JSON list: text, true, false and null stand for themselves; a number says which kind of value
    follows, or that a container ends. So no value is too deep to be written or read. All values of an answer share one
    size limit.
    """

    def __init__(self) -> None:
        self.room = MOST_BYTES

    def __call__(self, value: Any) -> str:
        """The value as JSON: the list, or an object that says why there is none."""
        try:
            return f"[{','.join(self.pieces(value))}]"
        except Unfit as error:
            return json.dumps({"unfit": str(error)})

    def pieces(self, value: Any) -> list[str]:
        out: list[str] = []
        within: dict[int, Any] = {}  # the containers around the current value
        open_ones: list[tuple[int, Any]] = [(0, iter((value,)))]
        while open_ones:
            name, members = open_ones[-1]
            for one in members:
                piece = scalar(one)
                if piece is None:
                    break
                out.append(piece)
                self.room -= len(piece) + 1
                if self.room < 0:
                    raise Unfit("large")
            else:
                open_ones.pop()
                within.pop(name, None)
                out += [CLOSE] if open_ones else []
                continue
            if id(one) in within:
                raise Unfit("cycle")
            mark, inner = self.container(one, type(one))
            out.append(mark)
            self.room -= 4
            if inner is not None:
                within[id(one)] = one  # keeps it alive, so that its id is not reused
                open_ones.append((id(one), inner))
        return out

    def container(self, value: Any, kind: Any) -> tuple[str, Any]:
        """The opening mark and the members of a container; for any other value its text and None."""
        if kind in LISTS:
            return OPEN[LISTS[kind]], kind.__iter__(value)
        if kind in DICTS:
            return OPEN["d"], itertools.chain.from_iterable(dict.items(value))
        if kind is range:
            return OPEN["r"], iter(value)
        if kind in LAZY:
            return OPEN["g"], drawn(value)
        return self.heir(value, kind)

    def heir(self, value: Any, kind: Any) -> tuple[str, Any]:
        """Render a subclass of a built-in type as its data, unless it overrides how this data is compared or read."""
        lineage = type.__dict__["__mro__"].__get__(kind)
        plain = next((one for one in PLAIN if one in lineage), None)
        name = f"{OBJECT},{text(f'{kind.__module__}.{kind.__qualname__}')}", None
        if plain is None:
            return name
        above = [one for one in lineage[: lineage.index(plain)] if one.__module__ != "enum"]
        if any(word in vars(one) for one in above for word in TELLING):
            return name
        data = _data(plain, value)
        written = scalar(data)
        return (written, None) if written is not None else self.container(data, type(data))


def scalar(value: Any) -> str | None:
    """The value as JSON, or None if it is a container or another object."""
    kind = type(value)
    if kind is str:
        return text(value)
    if kind is int:
        return f'{INT},"{value:x}"'
    if kind is float:
        return f'{FLOAT},"{float.__repr__(value)}"'
    if value is None or kind is bool:
        return "null" if value is None else "true" if value else "false"
    if kind is bytes or kind is bytearray:
        return f'{BYTES},"{bytes(value).hex()}"'
    return None


def drawn(value: Any) -> Any:
    for number, one in enumerate(value):
        if number >= MOST_DRAWN:
            raise Unfit("endless")
        yield one


def _data(plain: Any, value: Any) -> Any:
    """The built-in value inside an instance of a subclass, without calling the subclass's methods."""
    if plain is str:
        return str.__str__(value)
    if plain is int:
        return int.__int__(value)
    if plain is float:
        return float.__float__(value)
    if plain is dict:
        return dict(dict.items(value))
    return plain(plain.__iter__(value))


# -- one call ----------------------------------------------------------------------------------------------------------


def target(name: str) -> tuple[Any, dict[str, Any]]:
    """The function, or what is missing. Raises ModuleNotFoundError if the module itself imports a missing one."""
    module_name, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and f"{module_name}.".startswith(f"{error.name}."):
            return None, {"missing": f"module {error.name}"}
        raise
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            return None, {"missing": f"{part} in {module_name}"}
    return (found, {}) if callable(found) else (None, {"missing": f"function {path} in {module_name}"})


def answer(case: dict[str, Any]) -> str:
    """Make the call and report everything about it, as one JSON object."""
    render = Rendering()
    shown: dict[str, str] = {}
    arguments, named = build(case["args"]), build(case["kwargs"])
    stage = "import"
    said: dict[str, Any] = {}
    try:
        function, lack = target(case["call"])
        if lack:
            return json.dumps(lack)
        stage = "call"
        result = function(*arguments, **named)
        if type(result) is types.CoroutineType:
            import asyncio  # imported late: it loads more slowly than everything else

            result = asyncio.run(result)
        shown["returned"] = render(result)
    except BaseException as error:
        shown, said = {}, {"raised": lineage_of(error), "stage": stage, "text": _text(error)}
        if isinstance(error, ModuleNotFoundError):
            said["module"] = error.name or ""
    shown["args"], shown["kwargs"] = render(arguments), render(named)
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    said["ran"] = [one for one in files if isinstance(one, str) and one.startswith(tuple(case["paths"]))]
    return "{" + ",".join([json.dumps(said)[1:-1], *(f'"{name}":{value}' for name, value in shown.items())]) + "}"


def lineage_of(error: BaseException) -> list[str]:
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__ if kind is not object]


def _text(error: BaseException) -> str:
    try:
        return str(error)[:500]
    except BaseException:
        return ""


def play(asked: int, pipe: int) -> None:
    """In the child: read one case, discard output, and answer with one line."""
    os.setsid()
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    with open(asked, "rb") as order:
        case = json.loads(order.read())
    sys.path[:0] = case["paths"]
    sys.path += [one for one in case.get("site", ()) if one not in sys.path]
    write(pipe, answer(case).encode() + b"\n")
    os._exit(0)


def become(program: list[str], asked: int, pipe: int) -> None:
    """In the child: execute another program that makes the call. It reads file descriptor 3 and answers on 4; its
    output is discarded."""
    os.setsid()
    silence = os.open(os.devnull, os.O_RDWR)
    high = [os.dup2(one, 100 + place) for place, one in enumerate((silence, silence, silence, asked, pipe))]
    for place, one in enumerate(high):
        os.dup2(one, place)
    os.closerange(5, 128)
    os.execv(program[0], program)  # noqa: S606


def write(pipe: int, line: bytes) -> None:
    left = memoryview(line)
    while left:
        left = left[os.write(pipe, left) :]


# -- the only process that knows the nonce and the channel -------------------------------------------------------------


def hide() -> bool:
    """Prevent other processes of this user from reading or tracing this one, or opening its files."""
    try:
        import ctypes
    except ImportError:
        return False
    return bool(ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)


def shed() -> None:
    """Make the call's process readable again, and drop the capabilities with which it could read the hidden one."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)  # else a program that root starts would get them back
    header, sets = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) == 0:
        for place in range(3):
            sets[place] &= ~SPYING
        libc.capset(header, sets)


def watch(child: int, pipe: int, began: float, within_s: float) -> tuple[bytes, int, bool, float]:
    """What the child wrote, its exit code, whether it was late, and its seconds. Kills its whole process group."""
    said, status = bytearray(), None
    while status is None and time.monotonic() - began <= within_s and len(said) <= MOST_SAID:
        ready, _, _ = select.select([pipe], [], [], 0.02)
        piece = os.read(pipe, 65536) if ready else b""
        said += piece
        if not piece:
            ended, code = os.waitpid(child, os.WNOHANG)
            status = code if ended else None
            if ready and status is None:
                time.sleep(0.002)  # the pipe is closed, but the process has not ended
    seconds = time.monotonic() - began  # by the clock, so that stopping this process gains no time
    while status is not None and len(said) <= MOST_SAID and select.select([pipe], [], [], 0)[0]:
        piece = os.read(pipe, 65536)
        if not piece:
            break
        said += piece
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return bytes(said), os.waitstatus_to_exitcode(status), seconds > within_s, seconds


def begin(channel: int) -> tuple[int, int, int]:
    """Fork the process for the call, before this process has read anything secret. Returns its id and two pipe ends."""
    asked, asking = os.pipe()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for one in (channel, asking, reading):
                os.close(one)
            shed()
            become(sys.argv[1:], asked, writing) if sys.argv[1:] else play(asked, writing)
        finally:
            os._exit(70)
    os.close(asked)
    os.close(writing)
    return child, asking, reading


def main() -> None:
    channel = int(os.environ.pop("TRUED_CHANNEL"))
    os.set_inheritable(channel, False)
    hidden = hide()
    child, asking, reading = begin(channel) if hidden else (0, 0, 0)
    order = json.loads(sys.stdin.buffer.read())
    record: dict[str, Any] = {"unable": "the interpreter has no working ctypes: a call could answer for the engine"}
    if hidden:
        case = order["case"]
        write(asking, json.dumps(case).encode())
        began = time.monotonic()  # before the call begins and could stop this process
        os.close(asking)
        said, code, late, seconds = watch(child, reading, began, case["within_s"])
        large = len(said) > MOST_SAID
        spoken = "" if large else said.decode("utf-8", "replace")
        record = {"said": spoken, "exit": code, "late": late, "large": large, "seconds": seconds}
    write(channel, (order["nonce"] + " " + json.dumps(record) + "\n").encode())


if __name__ == "__main__":
    main()
