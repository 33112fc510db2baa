"""Makes the engine's own virtual environments, and finds the package registries that the user has configured."""

import configparser
import os
import re
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from trued.proof.room.interpreter import Interpreter
from trued.support.lazy_regex import lazy_regex

TRUSTED = "trued-trusted.pth"  # by this file an environment also finds the packages of the interpreter behind it
BEHIND = "added"  # folder of packages that are searched last
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROGRAMS = ("/usr/", "/opt/")  # folders that every sandbox shows, and that only the machine's owner can write
CUSTOMIZING = ("sitecustomize", "usercustomize")
BUNDLED = ("/usr/share/python-wheels",)  # where Debian keeps the wheels of `ensurepip`
PIP_SETTINGS = ("index-url", "extra-index-url", "find-links", "trusted-host", "cert", "no-index")
_REGISTRY = lazy_regex(r"(PIP|UV|npm_config|NPM_CONFIG)_\w+|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS|"
                       r"GO(PROXY|SUMDB|PRIVATE|NOPROXY|NOSUMDB)|"
                       r"CURL_CA_BUNDLE|(https?|all|no)_proxy|(HTTPS?|ALL|NO)_PROXY")  # fmt: skip
_SECRET = lazy_regex(r"://[^/\s]*@|password|token|secret", re.IGNORECASE)
_PIP = '#!/bin/sh\nexec "$(dirname "$0")/python" -m pip "$@"\n'


def machine_path(path: str, home: str) -> str:
    """The PATH for checks: the system's folders, then those folders of the user's PATH that every sandbox shows, such
    as `/usr/local/go/bin` and `/opt/…`. Folders below HOME or in a project (a virtual environment, `node_modules`) are
    left out.
    """
    candidates = (Path(os.path.normpath(entry)) for entry in path.split(":") if entry.startswith(PROGRAMS))
    folders = [str(folder) for folder in candidates if str(folder).startswith(PROGRAMS) and not _is_own(folder, home)]
    return ":".join(dict.fromkeys((*SYSTEM_PATH.split(":"), *folders)))


def _is_own(folder: Path, home: str) -> bool:
    """Whether a folder of programs belongs to a user or a project, and not to the machine."""
    below_home = home not in ("", "/") and folder.is_relative_to(home)
    return below_home or "node_modules" in folder.parts or (folder.parent / "pyvenv.cfg").exists()


def site_packages(environment: Path, interpreter: Interpreter) -> Path:
    """The folder of the environment's packages."""
    return environment / "lib" / f"python{interpreter.version[0]}.{interpreter.version[1]}" / "site-packages"


def make_virtualenv(environment: Path, interpreter: Interpreter, *, over: bool) -> None:
    """Make an empty virtual environment with pip. `over`: let it also find the interpreter's own packages."""
    site = site_packages(environment, interpreter)
    (environment / "bin").mkdir(parents=True)
    site.mkdir(parents=True)
    write_programs(environment, interpreter)
    if over and interpreter.site:
        (site / TRUSTED).write_text("".join(f"{folder}\n" for folder in interpreter.site))
    if not (over and "pip" in interpreter.versions):
        _unpack_pip(site, _python_behind(interpreter))


def write_programs(environment: Path, interpreter: Interpreter) -> None:
    """Write the environment's own Python, pip and settings, in place of whatever an installation put there."""
    programs, base = environment / "bin", _python_behind(interpreter)
    names = _own_programs(interpreter)
    for place in (*(programs / name for name in names), environment / "pyvenv.cfg"):
        _remove(place)
    for name in names:
        if name.startswith("pip"):
            (programs / name).write_text(_PIP)
            (programs / name).chmod(0o755)
        else:
            (programs / name).symlink_to(base if name == "python" else "python")
    (environment / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")


def replaced_folder(environment: Path, interpreter: Interpreter) -> str:
    """A folder of the environment that an installation has replaced by a link or a file, or "". The engine must not
    write to such a folder: a link may lead out of the environment."""
    site = site_packages(environment, interpreter)
    folders = (
        environment / "bin",
        *reversed([parent for parent in site.parents if environment in parent.parents]),
        site,
    )
    return next(
        (str(folder.relative_to(environment)) for folder in folders if folder.is_symlink() or not folder.is_dir()), ""
    )


def _python_behind(interpreter: Interpreter) -> Path:
    return Path(interpreter.base or interpreter.real)


def _own_programs(interpreter: Interpreter) -> tuple[str, ...]:
    return ("python", "python3", f"python{interpreter.version[0]}.{interpreter.version[1]}", "pip", "pip3")


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _unpack_pip(site: Path, base: Path) -> None:
    """Unpack pip from the wheel that comes with the interpreter."""
    folders = [*base.parent.parent.glob("lib/python3*/ensurepip/_bundled"), *map(Path, BUNDLED)]
    wheels = sorted(wheel for folder in folders for wheel in folder.glob("pip-*.whl"))
    if wheels:
        with zipfile.ZipFile(wheels[-1]) as wheel:
            wheel.extractall(site)


def disarm(site: Path) -> None:
    """Remove installed files that would run code whenever an interpreter starts."""
    for file in site.glob("*"):
        runs_at_start = file.suffix == ".pth" and file.name != TRUSTED
        if runs_at_start or file.name.split(".")[0] in CUSTOMIZING:
            _remove(file)


def put_behind(environment: Path, interpreter: Interpreter) -> Path:
    """Move the installed packages to a folder that is searched after the interpreter's own packages. Returns the
    folder.

    So no installed package replaces a package of the interpreter. Installed programs are removed if the interpreter's
    folder or the system has a program of the same name.
    """
    site, behind = site_packages(environment, interpreter), environment / BEHIND
    disarm(site)
    _remove(behind)
    behind.mkdir()
    for entry in [entry for entry in site.iterdir() if entry.name != TRUSTED]:
        entry.rename(behind / entry.name)
    _remove(site / TRUSTED)
    (site / TRUSTED).write_text("".join(f"{folder}\n" for folder in (*interpreter.site, behind)))
    interpreter_programs = Path(interpreter.path).parent
    for program in (environment / "bin").iterdir():
        is_known = (interpreter_programs / program.name).exists() or shutil.which(program.name, path=SYSTEM_PATH)
        if is_known and program.name not in _own_programs(interpreter):
            _remove(program)
    return behind


def registries(environ: Mapping[str, str], files: Iterable[Path] | None = None) -> dict[str, str]:
    """The user's settings of package managers, as environment variables. They come from `environ` and pip's files;
    values with secrets are left out."""
    settings: dict[str, str] = {}
    for file in _pip_files(environ) if files is None else files:
        settings |= _pip_settings(file)
    settings |= {name: value for name, value in environ.items() if _REGISTRY.fullmatch(name)}
    settings.pop("PIP_CONFIG_FILE", None)  # its settings are read here; the file itself may contain more
    settings.pop("PIP_REQUIRE_VIRTUALENV", None)
    return {name: value for name, value in settings.items() if not _SECRET.search(f"{name}={value}")}


def _pip_files(environ: Mapping[str, str]) -> list[Path]:
    home = Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111
    files = [home / ".pip" / "pip.conf", Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"]
    return [*files, *(Path(path) for path in [environ.get("PIP_CONFIG_FILE", "")] if path)]


def _pip_settings(file: Path) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(file.read_text(errors="replace"))
    except (OSError, configparser.Error):
        return {}
    settings = {}
    for section in ("global", "install"):
        for name in PIP_SETTINGS:
            if value := parser.get(section, name, fallback=""):
                settings[f"PIP_{name.upper().replace('-', '_')}"] = " ".join(value.split())
    return settings
