"""The Python that runs checks: found once, outside every checkout, and recorded in the evidence."""

import asyncio
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from trued.errors import CannotJudge
from trued.support.lazy_regex import lazy_regex

RUNNER = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")  # pytest and what it needs
ENVIRONMENT = "project"  # the name under which the sandbox shows a virtual environment that the engine built
OLDEST_FOR_OURS = (3, 11)  # on an older Python, the engine's own pytest needs packages that are not supplied
EDITABLE = ("*.pth", "*editable*.py", "*.egg-link")
_ABSOLUTE = lazy_regex(r"/[^\s'\":;,]+")
_LOOKING = Lock()  # one thread looks at the interpreter; the others wait and then use the cached answer
LOOK = """
import json, os, sys
from importlib import metadata, util
plugins, versions = [], {}
for package in metadata.distributions():
    text = package.read_text("METADATA") or package.read_text("PKG-INFO") or ""  # to parse all of it takes too long
    lines = [line.partition(":") for line in text.replace("\\r", "").split("\\n\\n", 1)[0].split("\\n")]
    fields = {key: value.strip() for key, _, value in lines if key in ("Name", "Version")}
    if not fields.get("Name"):
        continue
    versions.setdefault(fields["Name"].lower(), fields.get("Version", ""))
    plugins += [[e.name, e.value.split(":")[0]] for e in package.entry_points if e.group == "pytest11"]
library = os.path.dirname(os.__file__)
files = [name for folder in (library, library + "/lib-dynload") if os.path.isdir(folder) for name in os.listdir(folder)
    if name.endswith((".py", ".so")) or os.path.isfile(os.path.join(folder, name, "__init__.py"))]
listed = {*sys.builtin_module_names, *(name.split(".")[0] for name in files)} - {"test"}  # as Python lists them itself
print(json.dumps({
    "executable": sys.executable, "version": list(sys.version_info[:3]),
    "prefixes": [sys.prefix, sys.base_prefix], "base": getattr(sys, "_base_executable", "") or sys.executable,
    "path": [p for p in sys.path if os.path.exists(p)],
    "standard": sorted(getattr(sys, "stdlib_module_names", listed)), "library": library,
    "pytest": bool(util.find_spec("pytest")), "plugins": plugins, "versions": versions,
}))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that runs checks, and what is installed in it."""

    path: str
    real: str
    version: tuple[int, ...]
    readable: tuple[str, ...]
    standard: frozenset[str]  # the modules of its standard library
    versions: Mapping[str, str] = field(default_factory=dict)
    plugins: tuple[tuple[str, str], ...] = ()  # name and module of each pytest plugin
    supplied: Mapping[str, str] = field(default_factory=dict)  # the engine's own pytest, if this Python has none
    lacks: str = ""  # why pytest cannot be used with this Python
    site: tuple[str, ...] = ()  # folders of its packages
    base: str = ""  # the Python behind a virtual environment
    origin: str = ""  # the environment's name, if the engine built it
    library: str = ""  # the folder of its standard library
    outside: tuple[str, ...] = ()  # folders of editable installs, outside the interpreter, from which it imports

    @property
    def aliases(self) -> dict[str, str]:
        """Folder of an environment that the engine built → path below HOME at which the sandbox shows the folder, so
        that it looks like a user's virtual environment. The folder is also shown at its own path, because its programs
        contain that path. {} if the engine did not build this environment."""
        folder = Path(self.path).parent.parent
        return {str(folder): f".virtualenvs/{ENVIRONMENT}"} if self.origin.startswith("environment ") else {}

    @property
    def identity(self) -> str:
        """Path, version and a hash of the packages. Equal identities show that base and head are checked with the same
        interpreter."""
        installed = json.dumps(dict(self.versions), sort_keys=True)
        return f"{self.path} → {self.description}, packages {hashlib.sha256(installed.encode()).hexdigest()[:16]}"

    def is_like(self, identity: str) -> bool:
        """Whether this Python has the given identity. If the engine built the environments of both Pythons, only the
        version of Python and the packages must be the same."""
        are_both_built = " → " in identity and ", environment " in identity and self.origin.startswith("environment ")
        version = f"(Python {'.'.join(map(str, self.version))},"
        packages = self.identity.rpartition(", packages ")[2]
        return identity == self.identity or (are_both_built and version in identity and identity.endswith(packages))

    @property
    def description(self) -> str:
        """The interpreter's path, version and origin, as evidence records them."""
        origin = f", {self.origin}" if self.origin else ""
        return f"{self.real} (Python {'.'.join(map(str, self.version))}{origin})"


async def find_interpreter() -> Interpreter:
    """The Python of the active virtual environment, or else the first Python on the path, or else the engine's own.

    If that Python cannot run pytest, and trued runs from its own checkout, the engine's Python is used instead. Raises
    CannotJudge if the Python does not start.
    """
    return await asyncio.to_thread(_find)


def _find() -> Interpreter:
    chosen = chosen_python(os.environ)
    interpreter = _probe(chosen)
    if interpreter.lacks and chosen != sys.executable and _is_ours(sys.prefix):
        return _probe(sys.executable)
    return interpreter


def chosen_python(environment: Mapping[str, str]) -> str:
    """The path of the active environment's Python, else of the first `python3` on PATH outside trued's checkout, else
    of trued's own Python.

    People who run trued from its source may have the environment of trued's checkout on PATH. It has trued's packages,
    but not the project's.
    """
    if active := environment.get("VIRTUAL_ENV"):
        python = Path(active) / "bin" / "python"
        if python.exists():
            return str(python)
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    others = [folder for folder in folders if not (folder and _is_ours(Path(folder).parent))]
    return shutil.which("python3", path=os.pathsep.join(others)) or sys.executable


def _is_ours(environment: str | Path) -> bool:
    """Whether a virtual environment lies in the checkout from which trued itself is run."""
    checkout = Path(__file__).parents[4]
    return (checkout / "pyproject.toml").is_file() and Path(environment).resolve().parent == checkout.resolve()


def _probe(python: str) -> Interpreter:
    with _LOOKING:
        return _look_at(python)


@lru_cache(maxsize=8)
def _look_at(python: str) -> Interpreter:
    # A version manager's shim reports the interpreter that it starts. From here on, only that interpreter is used.
    process = subprocess.run([python, "-I", "-B", "-c", LOOK], capture_output=True, cwd="/", timeout=60, check=False)
    if process.returncode != 0:
        raise CannotJudge(f"{python} cannot be used to run checks: {process.stderr.decode(errors='replace').strip()}")
    report = json.loads(process.stdout)
    supplied, lacks, versions = _with_pytest(report)
    real = str(Path(report["executable"]).resolve())
    # An editable install leads to the user's working tree. It is left out, because only the checkout may be tested.
    inside = [
        folder for folder in report["path"] if any(Path(folder).is_relative_to(prefix) for prefix in report["prefixes"])
    ]
    return Interpreter(
        path=report["executable"],
        real=real,
        version=tuple(report["version"]),
        readable=_folders([*report["prefixes"], *inside, str(Path(real).parent), *supplied.values()]),
        standard=frozenset(report["standard"]),
        library=report["library"],
        versions=versions,
        plugins=tuple((name, module) for name, module in report["plugins"]) if report["pytest"] else (),
        supplied=supplied,
        lacks=lacks,
        site=tuple(folder for folder in inside if Path(folder).name in ("site-packages", "dist-packages")),
        base=str(Path(report["base"]).resolve()),
        outside=tuple(folder for folder in report["path"] if folder not in inside and Path(folder).is_dir())
        + _editable(inside),
    )


def _editable(folders: list[str]) -> tuple[str, ...]:
    """The paths that are named in files of editable installs, and the targets of links among the packages."""
    files = [file for folder in folders for name in EDITABLE for file in Path(folder).glob(name)]
    texts = (file.read_text(errors="replace") for file in files if file.is_file())
    paths = {path for text in texts for path in _ABSOLUTE.findall(text)}
    paths |= {os.path.realpath(link) for folder in folders if os.path.isdir(folder) for link in _links(folder)}  # noqa: PTH112
    return tuple(sorted(path for path in paths if Path(path).exists()))


def _links(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.path for entry in entries if entry.is_symlink()]


def environment_interpreter(report: Mapping[str, Any], folder: Path, caller: Interpreter) -> Interpreter:
    """The Python of an environment that the engine built with the caller's Python.

    `report`: what the script `LOOK` printed in this environment. Packages may have falsified the report, so the engine
    takes only the packages from it, and decides itself on the path and on the folders to read. Raises CannotJudge if
    the report describes another Python.
    """
    python = Path(os.path.abspath(folder / "bin" / "python"))  # noqa: PTH100  (links are not followed)
    if report["executable"] != str(python) or tuple(report["version"]) != caller.version:
        raise CannotJudge(f"{python} cannot be used to run checks: a package has replaced it")
    supplied, lacks, versions = _with_pytest(report)
    inside = [Path(entry) for entry in report["path"] if Path(entry).is_relative_to(folder)]
    return Interpreter(
        path=str(python),
        real=str(python.resolve()),
        version=caller.version,
        readable=_folders([str(folder), *caller.readable, *supplied.values()]),
        standard=caller.standard,
        library=caller.library,
        versions=versions,
        plugins=tuple((str(name), str(module)) for name, module in report["plugins"]) if report["pytest"] else (),
        supplied=supplied,
        lacks=lacks,
        site=tuple(str(folder) for folder in inside if folder.name in ("site-packages", "dist-packages")),
        base=str(Path(caller.base or caller.real).resolve()),
    )


def _with_pytest(report: Mapping[str, Any]) -> tuple[dict[str, str], str, dict[str, str]]:
    """The engine's own pytest (module → path) if the interpreter has none; why the engine's pytest cannot be used, or
    ""; and the versions of all packages, including the engine's pytest if it is used."""
    versions = {str(name): str(number) for name, number in report["versions"].items()}
    if report["pytest"]:
        return {}, "", versions
    if tuple(report["version"]) < OLDEST_FOR_OURS:
        why = f"pytest is not installed in {report['executable']}, and trued's own copy needs Python 3.11"
        return {}, why, versions
    from importlib.metadata import version  # imported only if needed: it is slow, and most interpreters have pytest

    versions |= {"pytest": f"{version('pytest')} (supplied by the engine)", "pluggy": version("pluggy")}
    return _own_pytest(), "", versions


def _own_pytest() -> dict[str, str]:
    paths = {}
    for name in RUNNER:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            origin = Path(spec.origin)
            paths[name] = str(origin.parent if origin.name == "__init__.py" else origin)
    return paths


def _folders(paths: list[str]) -> tuple[str, ...]:
    """The outermost of these folders, without the system's folders, which every sandbox shows."""
    outermost: list[Path] = []
    for path in sorted({Path(text) for text in paths}):
        inside = any(path == other or other in path.parents for other in outermost)
        if not inside and path != Path("/usr") and Path("/usr") not in path.parents and path != Path("/"):
            outermost.append(path)
    return tuple(map(str, outermost))
