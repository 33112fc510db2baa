"""Loaded by `call.py`, in the sandboxed process that calls one function of the project.

It reads the case from file descriptor 3, finds the function, and writes what the function returned or raised to file
descriptor 4, as data with exact types. It uses only the standard library and does not import this package, because the
interpreter is the project's. No expected value ever reaches this process.
"""

from __future__ import annotations

import builtins
import collections
import enum
import importlib
import itertools
import json
import os
import sys
import types
from json.encoder import encode_basestring_ascii as text

TYPE_CHECKING = False  # `typing` is not imported: that would take half as long as the start of the interpreter
if TYPE_CHECKING:
    from typing import Any

MOST_BYTES = 128 << 20  # the most bytes of one answer; no expected value is that large, so a larger answer is wrong
ASKED, ANSWERS = 3, 4  # file descriptors
MOST_DRAWN = 1_000_000  # at most this many members are read from an iterator, because it may be endless
DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
CLOSE, OPEN = "0", {"l": "1", "t": "2", "s": "3", "z": "4", "d": "5", "r": "6", "g": "7"}  # as in checks/values.py
INT, FLOAT, BYTES, OBJECT = "10", "11", "12", "13"
LISTS = ((list, "l"), (tuple, "t"), (set, "s"), (frozenset, "z"))
LAZY: tuple[type, ...] = (
    *(types.GeneratorType, map, filter, zip, enumerate, reversed),
    *(type(iter([])), type(iter(())), type(iter({}))),
)
PLAIN: tuple[Any, ...] = (str, int, float, bytes, tuple, list, dict, set, frozenset)
# Full name → built-in class. Taken before the project is loaded, because the project may add classes to `builtins`.
PYTHONS_OWN = {f"builtins.{name}": value for name, value in vars(builtins).items() if isinstance(value, type)}
# Built-in types, and Python's own subclasses of them, whose methods differ from those of a built-in type by design.
OWN = (*PLAIN, *DICTS[1:], enum.IntEnum, enum.IntFlag, *([enum.StrEnum] if hasattr(enum, "StrEnum") else []))
MRO, NAMESPACE = (type.__dict__[attribute].__get__ for attribute in ("__mro__", "__dict__"))
FIELD = getattr(collections, "_tuplegetter", None)  # the class of a namedtuple's fields
TELLING = ("__eq__", "__ne__", "__len__", "__iter__", "__getitem__", "__contains__", "__bool__", "__lt__", "__hash__")
TEXTS = ("__str__", "__format__", "__repr__")
# The methods with which nobody reads a value: they make, describe and store it.
UNREAD = {
    *(
        "__new__",
        "__init__",
        "__init_subclass__",
        "__subclasshook__",
        "__class_getitem__",
        "__doc__",
        "__dir__",
        *TEXTS,
    ),
    *("__setattr__", "__delattr__", "__sizeof__", "__reduce__", "__reduce_ex__", "__getstate__", "__getnewargs__"),
}
READ_ONLY: dict[Any, Any] = {list: tuple, set: frozenset, dict: types.MappingProxyType}
READ: dict[Any, set[str]] = {}  # built-in type → what `read_by` has returned for it


class Malformed(Exception):
    """The case itself cannot be used."""


# -- values as data ----------------------------------------------------------------------------------------------------


def build(data: Any) -> Any:
    """Arguments from JSON: {"$tuple": […]}, {"$set": […]}, {"$bytes": "text"} … stand for values that JSON lacks."""
    if isinstance(data, list):
        return [build(member) for member in data]
    if not isinstance(data, dict):
        return data
    if len(data) == 1:
        tag, inner = next(iter(data.items()))
        if tag in MAKERS:
            return MAKERS[tag](inner)
        if tag.startswith("$"):
            raise Malformed(f"{tag} is not a tag; there are {', '.join(MAKERS)}")
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


def is_any_of(kind: Any, kinds: Any) -> bool:
    """Whether the class `kind` is one of `kinds`. `in` would ask the class itself, whose metaclass may claim that the
    class equals any other."""
    for other in kinds:  # not by `any`, a name that the project may replace
        if kind is other:
            return True
    return False


class Rendering:
    """Renders values as plain data with exact types. Calls no methods of the project's classes, with one exception: if
    the class of a text or number defines how its values are printed, the value is printed and compared with its data.

    A value becomes a flat JSON list. Text, true, false and null stand for themselves; a number tells which kind of
    value follows, or that a container ends. So no value is too deep to be written or read. All values of an answer
    share one size limit.
    """

    def __init__(self) -> None:
        self.room = MOST_BYTES
        self.kinds: dict[int, tuple[Any, set[str]]] = {}  # the id of a class → the class, and what it overrides
        folders = (folder for folder in sys.path if os.path.basename(folder) in ("site-packages", "dist-packages"))
        self.libraries = tuple(f"{folder}{os.sep}" for folder in (os.path.dirname(os.__file__), *folders))

    def __call__(self, value: Any) -> str:
        """The value as JSON: the flat list, or an object with the reason why the value cannot be rendered."""
        try:
            return f"[{','.join(self.pieces(value))}]"
        except Unfit as error:
            return json.dumps({"unfit": str(error)})

    def pieces(self, value: Any) -> list[str]:
        out: list[str] = []
        within: dict[int, Any] = {}  # the containers around the current value
        open_containers: list[tuple[int, Any]] = [(0, iter((value,)))]
        while open_containers:
            name, members = open_containers[-1]
            for member in members:
                piece = scalar(member)
                if piece is None:
                    break
                out.append(piece)
                self.room -= len(piece) + 1
                if self.room < 0:
                    raise Unfit("large")
            else:
                open_containers.pop()
                within.pop(name, None)
                out += [CLOSE] if open_containers else []
                continue
            if id(member) in within:
                raise Unfit("cycle")
            opening, inner = self.container(member, type(member))
            out.append(opening)
            self.room -= 4
            if inner is not None:
                within[id(member)] = member  # keeps it alive, so that its id is not reused
                open_containers.append((id(member), inner))
        return out

    def container(self, value: Any, kind: Any) -> tuple[str, Any]:
        """The opening mark and the members of a container; for any other value its text and None."""
        for plain, mark in LISTS:
            if kind is plain:
                return OPEN[mark], plain.__iter__(value)
        if is_any_of(kind, DICTS):
            return OPEN["d"], itertools.chain.from_iterable(dict.items(value))
        if kind is range:
            return OPEN["r"], iter(value)
        if is_any_of(kind, LAZY):
            return OPEN["g"], draw(value)
        return self.subclass(value, kind)

    def subclass(self, value: Any, kind: Any) -> tuple[str, Any]:
        """Render a value of any other class. If the class is a subclass of a built-in type, and every way to read the
        value gives the data of that type, this data is rendered. Otherwise only the name of the class is rendered."""
        plain = next((builtin for builtin in PLAIN if is_any_of(builtin, MRO(kind))), None)
        if plain is not None:
            if id(kind) not in self.kinds:
                self.kinds[id(kind)] = kind, overridden(kind, plain, self.libraries)
            data, differing = _data(plain, value), self.kinds[id(kind)][1]
            if (
                differing <= {*TEXTS}
                and not _has_attribute_of(value, kind, plain)
                and (not differing or _shows(value, data))
            ):
                written = scalar(data)
                return (written, None) if written is not None else self.container(data, type(data))
        return f"{OBJECT},{text(f'{kind.__module__}.{kind.__qualname__}')}", None


def overridden(kind: Any, plain: Any, libraries: tuple[str, ...]) -> set[str]:
    """Of the methods for reading a value of the built-in type `plain`, those that the class replaces. For a class of an
    installed package, only methods in `TELLING` count, because what packages do is known."""
    lineage = MRO(kind)
    base = MRO(next(ancestor for ancestor in lineage if is_any_of(ancestor, OWN)))
    names = {*TELLING} if _is_installed(kind, libraries) else read_by(plain)
    methods = {name: _defined(lineage, name) for name in names}
    return {
        name
        for name, method in methods.items()
        if not _is_alike(method, _defined(base, name)) and not _is_data(kind, method)
    }


def read_by(plain: Any) -> set[str]:
    """The methods with which people read a value of a built-in type. Texts and numbers are also read by printing them.
    For a list, only the methods that a tuple also has, and a few others such as `pop`, count. Operators of containers
    do not count, because they make new containers."""
    if plain not in READ:
        names = {*dir(plain)}
        if plain in (str, int, float):
            READ[plain] = names - UNREAD | {*TEXTS, "__bool__", "__int__", "__float__", "__index__", "__radd__"}
        else:
            operators = set() if plain is bytes else {*vars(int)} - {*vars(object)}
            reading = {*dir(READ_ONLY.get(plain, plain)), "pop", "popitem", "setdefault", "copy", "__reversed__"}
            READ[plain] = names & reading - operators - UNREAD | {"__bool__"}
    return READ[plain]


def _defined(lineage: Any, name: str) -> Any:
    """The member of this name in the first class of the lineage that has one; this function itself if none has."""
    return next((NAMESPACE(ancestor)[name] for ancestor in lineage if name in NAMESPACE(ancestor)), _defined)


def _is_alike(method: Any, other: Any) -> bool:
    return method is other or other is None  # None: a list has no hash, and a subclass may add one


def _is_data(kind: Any, value: Any) -> bool:
    """Whether this member of the class is only data, a field or an enum member, although it has the name of a
    method."""
    is_member = type(value) is getattr(enum, "property", None) and type(getattr(value, "member", None)) is kind
    return is_member or is_any_of(type(value), (FIELD, kind))


def _is_installed(kind: Any, libraries: tuple[str, ...]) -> bool:
    """Whether a package or Python's own library defines the class. What a module says about itself is not trusted: the
    project can change every module, and can put its own classes into it."""
    name, inner = str(kind.__module__), str(kind.__qualname__)
    if vars(sys.modules.get(name, sys)).get(inner) is not kind:
        return False
    for place in (f"{library}{name.replace('.', os.sep)}" for library in libraries):
        for file in (f"{place}.py", f"{place}{os.sep}__init__.py"):
            if os.path.isfile(file):
                with open(file, encoding="utf-8", errors="replace") as code:
                    return any(line.split("(")[0].split(":")[0].split() == ["class", inner] for line in code)
        folder, beginning = os.path.split(f"{place}.")
        if os.path.isdir(folder) and any(
            file.startswith(beginning) and file.endswith((".so", ".pyd")) for file in os.listdir(folder)
        ):
            return not any(type(value) is types.FunctionType for value in NAMESPACE(kind).values())
    return False


def _has_attribute_of(value: Any, kind: Any, plain: Any) -> bool:
    """Whether the object itself has an attribute with the name of a method for reading a value of its built-in type."""
    dict_descriptor = _defined(MRO(kind), "__dict__")
    attributes = dict_descriptor.__get__(value) if type(dict_descriptor) is types.GetSetDescriptorType else None
    return bool(attributes) and attributes is not value and not read_by(plain).isdisjoint(attributes or ())


def _shows(value: Any, data: Any) -> bool:
    """Whether the value looks like its data wherever it is printed or becomes a part of a text."""
    try:
        return all(str.__eq__(text_of_value, str(data)) is True for text_of_value in (str(value), format(value)))
    except BaseException:
        return False


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
    if kind is bytes:
        return f'{BYTES},"{value.hex()}"'
    return None


def draw(value: Any) -> Any:
    for number, member in enumerate(value):
        if number >= MOST_DRAWN:
            raise Unfit("endless")
        yield member


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


def find_function(name: str) -> tuple[Any, dict[str, Any]]:
    """The function and {}; or None, and a report of what is missing. Raises whatever the import of the function's
    module raises, such as ModuleNotFoundError if this module exists, but imports another one that is missing."""
    module_name, _, path = name.partition(":")
    try:
        function: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        # A subclass, such as `importlib.metadata.PackageNotFoundError`, comes from a module that exists.
        if type(error) is ModuleNotFoundError and error.name and f"{module_name}.".startswith(f"{error.name}."):
            return None, {"missing": f"module {error.name}"}
        raise
    for part in path.split("."):
        try:
            function = getattr(function, part)
        except AttributeError:
            return None, {"missing": f"{part} in {module_name}"}
    return (function, {}) if callable(function) else (None, {"missing": f"function {path} in {module_name}"})


def come_from_file(call: str) -> None:
    """Make this process look like a script that was started by its path. Without this, it looks as if somebody had
    typed the call into the interpreter. The project's code must work in both cases."""
    module, _, name = call.partition(":")
    place = os.path.join(os.environ.get("TMPDIR", "/tmp"), "main.py")  # noqa: S108
    first = name.partition(".")[0]
    with open(place, "w", encoding="utf-8") as script:
        script.write(f'from {module} import {first}\n\nif __name__ == "__main__":\n    print({name}())\n')
    sys.argv[:] = [place]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = [sys.executable, place]
    sys.modules["__main__"].__file__ = place


class AnsweredCall:
    """One call of a project's function: reads the case, finds the function, reports the result. `call.py` itself calls
    the function, so that a plain function sees no frame of this file on its stack."""

    def __init__(self) -> None:
        os.write(ANSWERS, b"\n")  # reports that the interpreter has started, so that the time of the call begins
        with open(ASKED, "rb") as order:
            case = json.loads(order.read())
        sys.path[:] = [*case["paths"], *(path for path in sys.path if path)]  # without "", the current folder
        sys.path += [path for path in case.get("site", ()) if path not in sys.path]
        os.environ.update(case.get("variables", {}))
        if case["by_file"]:
            come_from_file(case["call"])
        self.arguments, self.keywords = build(case["args"]), build(case["kwargs"])
        self.rendered: dict[str, str] = {}
        self.report: dict[str, Any] = {}
        self._name, self._paths = case["call"], tuple(case["paths"])
        self._render, self._stage = Rendering(), "import"

    def find(self) -> Any:
        """The function. If it does not exist, report that and end this process."""
        function, self.report = find_function(self._name)
        if function is None:
            self.end(json.dumps(self.report))
        self._stage = "call"
        return function

    def returned(self, result: Any) -> None:
        if type(result) is types.CoroutineType:
            import asyncio  # imported only if needed, because it loads more slowly than everything else

            result = asyncio.run(result)
        self.rendered["returned"] = self._render(result)

    def raised(self, error: BaseException) -> None:
        self.rendered, self.report = {}, {"raised": lineage_of(error), "stage": self._stage, "text": _text_of(error)}
        if isinstance(error, ModuleNotFoundError):
            self.report["module"] = error.name or ""

    def send_report(self) -> None:
        """Report everything about the call, as one JSON object, and end this process."""
        self.rendered["args"], self.rendered["kwargs"] = self._render(self.arguments), self._render(self.keywords)
        files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        self.report["ran"] = [file for file in files if isinstance(file, str) and file.startswith(self._paths)]
        shown = (f'"{name}":{value}' for name, value in self.rendered.items())
        self.end("{" + ",".join([json.dumps(self.report)[1:-1], *shown]) + "}")

    def end(self, line: str) -> None:
        left = memoryview(line.encode() + b"\n")
        while left:
            left = left[os.write(ANSWERS, left) :]
        wait_for_the_end()
        os._exit(0)


def wait_for_the_end() -> None:
    """Wait for threads and processes that are no daemons, as Python does at the end of any program. The two functions
    of Python that do this also end the workers of executors and the servers of managers."""
    threads: Any
    processes: Any
    threads, processes = (sys.modules.get(name) for name in ("threading", "multiprocessing.util"))
    try:
        if threads:
            threads._shutdown()
        if processes:
            processes._exit_function()
    except Exception:
        return


def lineage_of(error: BaseException) -> list[str]:
    return [name_of(kind) for kind in type.__dict__["__mro__"].__get__(type(error)) if kind is not object]


def name_of(kind: Any) -> str:
    """The full name of a class. A class that only bears the full name of a built-in class becomes `another NAME`,
    because an `except` for the built-in class would not catch it."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    return name if PYTHONS_OWN.get(name, kind) is kind else f"another {name}"


def _text_of(error: BaseException) -> str:
    try:
        return str(error)[:500]
    except BaseException:
        return ""
