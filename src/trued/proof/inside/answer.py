"""Runs inside the sandbox: calls functions of the project, each in a process of its own, and says what came back.

Standard library only, no import of this package: the interpreter is the project's. No expected value ever reaches it.
Everything that it needs is imported before the first byte of the project is.
"""

import collections
import importlib
import inspect
import json
import os
import select
import signal
import sys
import time
import types

MOST_BYTES = 1 << 20  # of one answer; more is no value that a person wrote down
MOST_NODES = 20_000
DEEPEST = 60
LISTED_DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
LAZY = (types.GeneratorType, map, filter, zip, enumerate, reversed, type(iter([])), type(iter(())), type(iter({})))
TELLING = ("__eq__", "__ne__", "__len__", "__iter__", "__getitem__", "__contains__", "__str__", "__bool__", "__lt__")


class Malformed(Exception):
    pass


# -- values as data ----------------------------------------------------------------------------------------------------


def build(data):
    """Arguments from JSON: {"$tuple": […]}, {"$set": […]}, {"$bytes": "text"} stand for what JSON cannot say."""
    if isinstance(data, list):
        return [build(one) for one in data]
    if not isinstance(data, dict):
        return data
    if len(data) == 1:
        tag, inner = next(iter(data.items()))
        if tag == "$tuple":
            return tuple(build(one) for one in inner)
        if tag == "$set":
            return {build(one) for one in inner}
        if tag == "$frozenset":
            return frozenset(build(one) for one in inner)
        if tag == "$bytes":
            return inner.encode("utf-8")
        if tag == "$float":
            return float(inner)
        if tag.startswith("$"):
            raise Malformed(f"{tag} is no tag; there are $tuple, $set, $frozenset, $bytes and $float")
    return {key: build(value) for key, value in data.items()}


class Rendering:
    """A value as plain data, by its exact type: what an object says of itself is not asked."""

    def __init__(self):
        self.nodes = 0

    def __call__(self, value, depth=0):
        self.nodes += 1
        kind = type(value)
        if self.nodes > MOST_NODES or depth > DEEPEST:
            return ["o", "too large or too deep"]
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return ["i", "%x" % value]
        if kind is float:
            return ["f", float.__repr__(value)]
        if kind in (bytes, bytearray):
            return ["b", bytes(value).hex()]
        return self.container(value, kind, depth)

    def container(self, value, kind, depth):
        if kind in (list, tuple, set, frozenset):
            tag = {list: "l", tuple: "t", set: "s", frozenset: "z"}[kind]
            return [tag, *(self(one, depth + 1) for one in kind.__iter__(value))]
        if kind in LISTED_DICTS:
            return ["d", *([self(key, depth + 1), self(one, depth + 1)] for key, one in dict.items(value))]
        if kind is range:
            return ["r", value.start, value.stop, value.step]
        if kind in LAZY:
            return ["g", *(self(one, depth + 1) for one, _ in zip(value, range(MOST_NODES)))]
        return self.other(value, kind, depth)

    def other(self, value, kind, depth):
        """An heir of a plain type is shown by the data in it, unless it changes how that data compares or reads."""
        name = f"{type.__dict__['__module__'].__get__(kind) if False else kind.__module__}.{kind.__qualname__}"
        mro = type.__dict__["__mro__"].__get__(kind)
        for plain in (str, int, float, bytes, tuple, list, dict, set, frozenset):
            if plain in mro:
                above = mro[: mro.index(plain)]
                if any(word in vars(one) for one in above for word in TELLING if not _of_enum(one)):
                    return ["o", name]
                return self(_plain(plain, value), depth + 1)
        return ["o", name]


def _of_enum(kind):
    return kind.__module__ == "enum"


def _plain(plain, value):
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


def target(name):
    """The function, or what is missing. A module that is missing further down is told by its name."""
    module_name, _, path = name.partition(":")
    try:
        found = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
            return None, {"missing": f"module {error.name}", "name": error.name}
        return None, {"module": error.name or str(error)}
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            return None, {"missing": f"{part} in {module_name}", "name": ""}
    return found, None


def ancestry(error):
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__ if kind is not object]


def answer(case):
    try:
        arguments, named = build(case["args"]), build(case["kwargs"])
    except (Malformed, AttributeError, TypeError, ValueError) as error:
        return {"broken": str(error)}
    stage = "import"
    said = {}
    try:
        function, lack = target(case["call"])
        if lack is not None:
            return lack
        stage = "call"
        result = function(*arguments, **named)
        if inspect.iscoroutine(result):
            asyncio = importlib.import_module("asyncio")
            result = asyncio.run(result)
        said["returned"] = Rendering()(result)
    except ModuleNotFoundError as error:
        said = {"module": error.name or str(error)}
    except BaseException as error:  # whatever the project raises is its answer
        said = {"raised": ancestry(error), "stage": stage, "text": _text(error)}
    said["args"] = Rendering()(arguments)
    said["kwargs"] = Rendering()(named)
    return said


def _text(error):
    try:
        return str(error)[:500]
    except BaseException:
        return ""


def play(case, paths, pipe):
    """In the child: nothing to read, nowhere to print, one line to answer."""
    os.setsid()
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    sys.path[:0] = paths
    line = json.dumps(answer(case)).encode() + b"\n"
    while line:
        line = line[os.write(pipe, line) :]
    os._exit(0)


# -- the parent of all calls -------------------------------------------------------------------------------------------


def watch(child, pipe, within_s):
    """What the child wrote, how it ended, and whether it was in time. Nothing of it is left afterwards."""
    began, said, status, late = time.monotonic(), b"", None, False
    while status is None and len(said) <= MOST_BYTES:
        left = began + within_s - time.monotonic()
        if left <= 0:
            late = True
            break
        ready, _, _ = select.select([pipe], [], [], min(left, 0.05))
        piece = os.read(pipe, 65536) if ready else b""
        said += piece
        if not ready or not piece:
            ended, code = os.waitpid(child, os.WNOHANG)
            status = code if ended else None
            if not piece and ready and status is None:
                time.sleep(0.005)
    while status is not None and len(said) <= MOST_BYTES and select.select([pipe], [], [], 0)[0]:
        piece = os.read(pipe, 65536)
        if not piece:
            break
        said += piece
    for end in (os.killpg, os.kill):
        try:
            end(child, signal.SIGKILL)
        except OSError:
            pass
    if status is None:
        _, status = os.waitpid(child, 0)
    return said[:MOST_BYTES], os.waitstatus_to_exitcode(status), late, time.monotonic() - began


def main():
    order = json.loads(sys.stdin.buffer.read())
    channel = int(os.environ.pop("TRUED_CHANNEL"))
    os.set_inheritable(channel, False)
    for case in order["cases"]:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(reading)
                os.close(channel)
                play(case, order["paths"], writing)
            finally:
                os._exit(70)
        os.close(writing)
        said, code, late, seconds = watch(child, reading, case["within_s"])
        os.close(reading)
        record = {
            "n": case["n"],
            "said": said.decode("utf-8", "replace"),
            "exit": code,
            "late": late,
            "seconds": round(seconds, 4),
        }
        line = (order["nonce"] + " " + json.dumps(record) + "\n").encode()
        while line:
            line = line[os.write(channel, line) :]


if __name__ == "__main__":
    main()
