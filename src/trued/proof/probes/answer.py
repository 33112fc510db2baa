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
COROUTINE = 0x80  # the flag of a coroutine function's code
MOST_DRAWN = 1_000_000  # at most this many members are read from an iterator, because it may be endless
DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
CLOSE, OPEN = (
    "0",
    {"l": "1", "t": "2", "s": "3", "z": "4", "d": "5", "r": "6", "g": "7", "n": "8"},
)  # as in checks/values.py
INT, FLOAT, BYTES, OBJECT = "10", "11", "12", "13"
LISTS = ((list, "l"), (tuple, "t"), (set, "s"), (frozenset, "z"))
LAZY: tuple[type, ...] = (
    *(types.GeneratorType, map, filter, zip, enumerate, reversed),
    *(type(iter([])), type(iter(())), type(iter({}))),
)
WHOLE: tuple[Any, ...] = (set(), "", "é", b"", bytearray(), range(0), range(1 << 99), collections.deque())
TURNED: tuple[Any, ...] = ([], range(1 << 99), collections.deque(), {}, collections.OrderedDict())
DICT_LIKE: tuple[Any, ...] = ({}, collections.OrderedDict())
VIEWS = [view for each in DICT_LIKE for view in (each.keys(), each.values(), each.items())]
# Python's other iterators, and its views of dicts: read like LAZY, but they also have names.
ITERATORS: tuple[Any, ...] = (
    *(kind for kind in vars(itertools).values() if isinstance(kind, type) and "__next__" in vars(kind)),
    *(type(iter(each)) for each in (*WHOLE, *VIEWS)),
    *(type(reversed(each)) for each in TURNED),
    *(type(view) for view in VIEWS),
    type(iter(int, 0)),
)
PLAIN: tuple[Any, ...] = (str, int, float, bytes, tuple, list, dict, set, frozenset)
# Full name → built-in class. Taken before the project is loaded, because the project may add classes to `builtins`.
PYTHONS_OWN = {f"builtins.{name}": value for name, value in vars(builtins).items() if isinstance(value, type)}
MADE_AT_RUN_TIME, IMMUTABLE = 1 << 9, 1 << 8  # flags of a class
# Built-in types, and Python's own subclasses of them, whose methods differ from those of a built-in type by design.
OWN = (*PLAIN, *DICTS[1:], enum.IntEnum, enum.IntFlag, *([enum.StrEnum] if hasattr(enum, "StrEnum") else []))
MRO, NAMESPACE, FLAGS, MODULE, QUALIFIED_NAME = (
    type.__dict__[attribute].__get__ for attribute in ("__mro__", "__dict__", "__flags__", "__module__", "__qualname__")
)
MEMBERS = vars(types.ModuleType)["__dict__"].__get__
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
CODES: dict[str, set[Any]] = {}  # file → what `_codes_in` has returned for it
READ: dict[Any, set[str]] = {}  # built-in type → what `read_by` has returned for it


class Malformed(Exception):
    """The case itself cannot be used."""


class Missing(Exception):
    """The function does not exist. The argument says what is missing."""


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
        # The id of a class → the class, what it overrides, and whether a package defines it.
        self.kinds: dict[int, tuple[Any, set[str], bool]] = {}
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
        if is_any_of(kind, DICTS) and not _is_torn(value, kind):
            return OPEN["d"], itertools.chain.from_iterable(dict.items(value))
        if kind is range:
            return OPEN["r"], iter(value)
        if is_any_of(kind, LAZY):
            return OPEN["g"], draw(value)
        if is_any_of(kind, ITERATORS):
            return OPEN["n"], iter((name_of(kind), (one for one in draw(value))))
        return self.subclass(value, kind)

    def subclass(self, value: Any, kind: Any) -> tuple[str, Any]:
        """Render a value of any other class. If the class is a subclass of a built-in type, and every way to read the
        value gives the data of that type, this data is rendered. Otherwise only the name of the class is rendered. A
        value of an installed package may be read in its own way, if that gives the same data; then both are rendered.
        """
        plain = next((builtin for builtin in PLAIN if is_any_of(builtin, MRO(kind))), None)
        if plain is not None and not _is_torn(value, kind) and _has_plain_names(kind):
            if id(kind) not in self.kinds:
                self.kinds[id(kind)] = kind, *overridden(kind, plain, self.libraries)
            data, (_, differing, is_installed) = _data(plain, value), self.kinds[id(kind)]
            if _has_attribute_of(value, kind, plain):
                pass
            elif differing <= {*TEXTS} and (not differing or _shows(value, data)):
                written = scalar(data)
                return (written, None) if written is not None else self.container(data, type(data))
            elif is_installed and (found := as_read(value, data)):
                return OPEN["n"], iter((name_of(kind, self.libraries), found[0]))
        return f"{OBJECT},{text(name_of(kind, self.libraries))}", None


def overridden(kind: Any, plain: Any, libraries: tuple[str, ...]) -> tuple[set[str], bool]:
    """Of the methods for reading a value of the built-in type `plain`, those that the class replaces; and whether it is
    a class of an installed package. For such a class, only methods in `TELLING` count, because what packages do is
    known."""
    lineage = MRO(kind)
    base = MRO(next(ancestor for ancestor in lineage if is_any_of(ancestor, OWN)))
    is_installed = _is_installed(kind, libraries) and all(_is_of_library(ancestor, libraries) for ancestor in lineage)
    names = {*TELLING} if is_installed else read_by(plain)
    methods = {name: _defined(lineage, name) for name in names}
    differing = {
        name
        for name, method in methods.items()
        if not _is_alike(method, _defined(base, name)) and not _is_data(kind, name, method)
    }
    return differing, is_installed


def as_read(value: Any, data: Any) -> tuple[Any] | None:
    """What users read of a value of an installed package, if that agrees with `data`, the built-in value inside; else
    None. Members may be values of the package, too: they must have the same built-in type as those inside."""
    try:
        if type(data) in (str, int, float, bytes):
            return (data,) if value == data and data == value and _shows(value, data) else None
        if len(value) != len(data):
            return None
        read = {name: value[name] for name in value} if type(data) is dict else type(data)(iter(value))
        if type(data) not in (dict, list, tuple) or len(read) != len(data):
            return (read,) if read == data else None
        pairs = [(read[name], data[name]) for name in data] if type(data) is dict else list(zip(read, data))
        return (read,) if all(_agree(one, other) for one, other in pairs) else None
    except Exception:
        return None


def _agree(one: Any, other: Any) -> bool:
    """Whether two values are the same value, or containers of one built-in type, whose members are compared later."""
    for kind in PLAIN:
        if isinstance(one, kind) and isinstance(other, kind):
            return bool(is_any_of(kind, PLAIN[4:]) or one == other)
    return one is other or bool(one == other)


def _is_torn(value: Any, kind: Any) -> bool:
    """Whether an OrderedDict has other keys than the dict inside it: `dict.__setitem__` adds keys only there."""
    if not is_any_of(collections.OrderedDict, MRO(kind)):
        return False
    try:
        keys = [id(key) for key in collections.OrderedDict.__iter__(value)]
    except Exception:
        return True
    return len(keys) != dict.__len__(value) or {*keys} != {id(key) for key in dict.__iter__(value)}


def read_by(plain: Any) -> set[str]:
    """The methods with which people read a value of a built-in type. Texts and numbers are also read by printing them.
    For a list, only the methods that a tuple also has, and a few others such as `pop`, count. Operators of containers
    do not count, because they make new containers. `__missing__` counts, because `d["no key"]` calls it."""
    if plain not in READ:
        names = {*dir(plain)}
        if plain in (str, int, float):
            READ[plain] = names - UNREAD | {*TEXTS, "__bool__", "__int__", "__float__", "__index__", "__radd__"}
            READ[plain] |= {"__complex__", "__bytes__", "__call__"}
        else:
            operators = set() if plain is bytes else {*vars(int)} - {*vars(object)}
            reading = {*dir(READ_ONLY.get(plain, plain)), "pop", "popitem", "setdefault", "copy", "__reversed__"}
            READ[plain] = names & reading - operators - UNREAD | {"__bool__", "__call__", "__missing__"}
    return READ[plain]


def _defined(lineage: Any, name: str) -> Any:
    """The member of this name in the first class of the lineage that has one; this function itself if none has."""
    return next((NAMESPACE(ancestor)[name] for ancestor in lineage if name in NAMESPACE(ancestor)), _defined)


def _has_plain_names(kind: Any) -> bool:
    """Whether the names of all members are plain text. Another key could equal the name of a method at some times."""
    for ancestor in MRO(kind):
        for name in NAMESPACE(ancestor):
            if type(name) is not str:
                return False
    return True


def _is_alike(method: Any, other: Any) -> bool:
    return method is other or other is None  # None: a list has no hash, and a subclass may add one


def _is_data(kind: Any, name: str, value: Any) -> bool:
    """Whether this member of the class is only data, a field or an enum member, although it has the name of a method
    that people call. Python itself would call a member with a name like `__eq__`."""
    if name[:2] == "__" or _defined(MRO(kind), "__call__") is not _defined:
        return False
    is_member = type(value) is getattr(enum, "property", None) and type(getattr(value, "member", None)) is kind
    return is_member or is_any_of(type(value), (FIELD, kind))


def is_native(kind: Any) -> bool:
    """Whether the class was made in C, not by Python code, which could call it whatever it likes."""
    made = NAMESPACE(kind).get("__new__")
    is_own = type(made) is types.BuiltinFunctionType and made.__self__ is kind
    return is_own or not FLAGS(kind) & MADE_AT_RUN_TIME or bool(FLAGS(kind) & IMMUTABLE)


def _is_installed(kind: Any, libraries: tuple[str, ...]) -> bool:
    """Whether a package or Python's own library defines the class. What a module says about itself is not trusted: the
    project can change every module, and can put its own classes into it, or its own methods into a class."""
    name, inner = _names(kind)
    if is_native(kind):
        return True
    if not _is_of_library(kind, libraries):
        return False
    with open(_library_file(name, libraries), encoding="utf-8", errors="replace") as code:
        return any(line.split("(")[0].split(":")[0].split() == ["class", inner.split(".")[-1]] for line in code)


def _is_of_library(kind: Any, libraries: tuple[str, ...]) -> bool:
    """Whether the name of the class leads to it, in a module of a library, and all its functions come from there."""
    name, inner = _names(kind)
    if is_native(kind):
        return True
    is_there = bool(_library_file(name, libraries)) and _led_to(name, inner) is kind
    return is_there and not _has_foreign_code(kind, libraries)


def _library_file(module: str, libraries: tuple[str, ...]) -> str:
    """The file of a module that is installed, or of Python's own; "" if there is none."""
    for place in (f"{library}{module.replace('.', os.sep)}" for library in libraries):
        for file in (f"{place}.py", f"{place}{os.sep}__init__.py"):
            if os.path.isfile(file):
                return file
    return ""


def _has_foreign_code(kind: Any, libraries: tuple[str, ...]) -> bool:
    """Whether a method with which people read a value is not in the source that it claims to come from, or not in a
    library."""
    return any(code not in _codes_in(code.co_filename, libraries) for code in _codes_of(kind, UNREAD - {*TEXTS}))


def _has_code_of_project(kind: Any, libraries: tuple[str, ...]) -> bool:
    """Whether a method comes from a file outside of the libraries. Packages also make methods without a file."""
    files = [code.co_filename for code in _codes_of(kind, set())]
    return any(os.path.isfile(file) and not file.startswith(libraries) for file in files)


def _codes_of(kind: Any, besides: set[str]) -> list[Any]:
    """The code of all functions, methods and properties that the class itself defines, without these names."""
    codes = []
    for name, member in NAMESPACE(kind).items():
        kind_of_member = type(member)
        if kind_of_member in (staticmethod, classmethod, property):
            member = member.fget if kind_of_member is property else member.__func__
        if type(member) is types.FunctionType and name not in besides:
            codes.append(member.__code__)
    return codes


def _codes_in(file: str, libraries: tuple[str, ...]) -> set[Any]:
    """The code of all functions in a file of a library. The set is empty for other files."""
    if file not in CODES:
        CODES[file] = set()
        place = _library_file(file[8:-1], libraries) if file[:8] == "<frozen " else file
        if place.startswith(libraries) and os.path.isfile(place):
            with open(place, "rb") as source:
                found = [compile(source.read(), file, "exec", dont_inherit=True)]
            for code in found:
                found += (inner for inner in code.co_consts if type(inner) is types.CodeType)
            CODES[file] |= {*found}
    return CODES[file]


def _has_attribute_of(value: Any, kind: Any, plain: Any) -> bool:
    """Whether the object itself has an attribute with the name of a method for reading a value of its built-in type."""
    for ancestor in MRO(kind):
        descriptor = NAMESPACE(ancestor).get("__dict__")
        if type(descriptor) is types.GetSetDescriptorType:
            attributes = descriptor.__get__(value)
            return attributes is not value and not read_by(plain).isdisjoint(dict.keys(attributes))
        if descriptor is not None:
            return True  # it hides the attributes
    return False


def _shows(value: Any, data: Any) -> bool:
    """Whether the value looks like its data wherever it is printed or becomes a part of a text."""
    try:
        shown = ((str(value), str(data)), (format(value), str(data)), (format(value, ">9"), format(data, ">9")))
        return all(str.__eq__(one, other) is True for one, other in shown)
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


def find_function(name: str) -> tuple[Any, str]:
    """The function and ""; or None, and what is missing. Raises whatever the import of the function's
    module raises, such as ModuleNotFoundError if this module exists, but imports another one that is missing."""
    module_name, _, path = name.partition(":")
    try:
        function: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        # A subclass, such as `importlib.metadata.PackageNotFoundError`, comes from a module that exists.
        if type(error) is ModuleNotFoundError and error.name and f"{module_name}.".startswith(f"{error.name}."):
            return None, f"module {error.name}"
        raise
    for part in path.split("."):
        try:
            function = getattr(function, part)
        except AttributeError:
            return None, f"{part} in {module_name}"
    return (function, "") if callable(function) else (None, f"function {path} in {module_name}")


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
        self._render, self._stage, self._form = Rendering(), "import", ""

    def find(self) -> Any:
        """The function. If it does not exist, Missing is raised."""
        function, missing = find_function(self._name)
        if function is None:
            raise Missing(missing)
        self._stage, self._form = "call", form_of(function)
        return function

    def returned(self, result: Any) -> None:
        self._form = "awaited" if type(result) is types.CoroutineType else "plain"
        if type(result) is types.CoroutineType:
            import asyncio  # imported only if needed, because it loads more slowly than everything else

            result = asyncio.run(result)
        self.rendered["returned"] = self._render(result)

    def raised(self, error: BaseException) -> None:
        if type(error) is Missing:
            self.report = {"missing": error.args[0]}
            return
        self.rendered, self.report = {}, {"raised": lineage_of(error), "stage": self._stage, "text": _text_of(error)}
        if isinstance(error, ModuleNotFoundError):
            self.report["module"] = error.name or ""

    def send_report(self) -> None:
        """Report everything about the call, as one JSON object. This process ends then like any program: Python waits
        for threads and processes that are no daemons, and calls exit handlers."""
        self.report["form"] = self._form
        self.rendered["args"], self.rendered["kwargs"] = self._render(self.arguments), self._render(self.keywords)
        files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        self.report["ran"] = [file for file in files if isinstance(file, str) and file.startswith(self._paths)]
        shown = (f'"{name}":{value}' for name, value in self.rendered.items())
        line = "{" + ",".join([json.dumps(self.report)[1:-1], *shown]) + "}\n"
        left = memoryview(line.encode())
        while left:
            left = left[os.write(ANSWERS, left) :]


def form_of(function: Any) -> str:
    """What a call that raises an error at once shows of its function: "plain" if callers surely need not await it; ""
    if that is unknown, because the function is or may wrap a coroutine function."""
    function = getattr(function, "__func__", function)
    if type(function) is not types.FunctionType or function.__closure__ or hasattr(function, "__wrapped__"):
        return ""
    return "" if function.__code__.co_flags & COROUTINE else "plain"


def lineage_of(error: BaseException) -> list[str]:
    """The full names of the error's class and its bases. One class may have several."""
    kinds = [kind for kind in MRO(type(error)) if kind is not object]
    libraries = Rendering().libraries
    return [name for kind in kinds for name in (name_of(kind, libraries), *_other_names(kind, libraries))]


def name_of(kind: Any, libraries: tuple[str, ...] = ()) -> str:
    """The full name of a class. A class that only bears the name of another one becomes `another NAME`, because an
    `except` for that class would not catch it."""
    module, inner = _names(kind)
    name = f"{module}.{inner}"
    if is_native(kind):
        return name
    found = _led_to(module, inner)
    is_of_library = bool(_library_file(module, libraries))
    is_true = found is kind or (found is None and is_of_library)  # packages make classes that no name leads to
    return name if is_true and not (is_of_library and _has_code_of_project(kind, libraries)) else f"another {name}"


def _other_names(kind: Any, libraries: tuple[str, ...]) -> list[str]:
    """The names under which loaded modules offer the class, such as `json.JSONDecodeError`; the class itself says
    `json.decoder`. Modules of libraries count only for classes that are surely native or of a library, because the
    project can put a class of its own into any module."""
    own, is_installed = _names(kind)[1].split(".")[-1], _is_installed(kind, libraries)
    found = []
    for name, module in [*sys.modules.items()]:
        if type(name) is not str or name == "builtins":
            continue
        is_offered = _members(module).get(own) is kind or (is_installed and _makes_on_demand(module, own, kind))
        if is_offered and (is_installed or not _library_file(name, libraries)):
            found.append(f"{name}.{own}")
    return found


def _makes_on_demand(module: Any, name: str, kind: Any) -> bool:
    """Whether a module that lists this name in `__all__` imports the class only when somebody asks for it, such as
    `pydantic.ValidationError`."""
    members = _members(module)
    listed = members.get("__all__")
    if name in members or "__getattr__" not in members or type(listed) not in (list, tuple):
        return False
    try:
        return name in listed and getattr(module, name) is kind
    except BaseException:
        return False


def _names(kind: Any) -> tuple[str, str]:
    """The names of the module and, in it, of the class, as the class itself says."""
    try:
        module, inner = MODULE(kind), QUALIFIED_NAME(kind)
    except Exception:
        return "?", "?"
    return (module, inner) if type(module) is str and type(inner) is str else ("?", "?")


def _led_to(module: str, inner: str) -> Any:
    """What these names lead to; None if to nothing."""
    if f"{module}.{inner}" in PYTHONS_OWN:
        return PYTHONS_OWN[f"{module}.{inner}"]
    found: Any = sys.modules.get(module)
    for part in inner.split("."):
        found = _members(found).get(part)
    return found


def _members(whole: Any) -> Any:
    """What a module or class defines, read without its own methods."""
    lineage = MRO(type(whole))
    if is_any_of(types.ModuleType, lineage):
        return MEMBERS(whole)
    return NAMESPACE(whole) if is_any_of(type, lineage) else {}


def _text_of(error: BaseException) -> str:
    try:
        return str(error)[:500]
    except BaseException:
        return ""
