"""Where an agent's program is, and what of the machine it needs to see to run."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

SYSTEM = ("/usr/", "/bin/", "/lib/", "/opt/")


@dataclass(frozen=True, slots=True)
class Found:
    path: str
    readable: tuple[str, ...] = ()  # beyond the system's own folders


def found(program: str, path: str | None = None) -> Found | None:
    """The program on PATH; None when it is not installed."""
    there = shutil.which(program, path=path)
    if not there:
        return None
    real = os.path.realpath(there)
    return Found(there, tuple(dict.fromkeys([there, *_package(real), *_interpreter(real, path)])))


def _package(real: str) -> list[str]:
    """A program of npm lies in a package, beside the packages that it needs; any other in its folder."""
    parts = Path(real).parts
    if "node_modules" in parts:
        return [str(Path(*parts[: parts.index("node_modules") + 1]))]
    return [real] if real.startswith(SYSTEM) else [str(Path(real).parent)]


def _interpreter(real: str, path: str | None) -> list[str]:
    """What its first line names, and the folder that this lives in: a version manager keeps it under HOME."""
    try:
        with Path(real).open("rb") as file:
            line = file.readline(256)
    except OSError:
        return []
    if not line.startswith(b"#!"):
        return []
    words = line[2:].decode("utf-8", "replace").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    there = shutil.which(words[0], path=path) if words else None
    if not there:
        return []
    home = Path(os.path.realpath(there)).parents[1]
    return [there] if f"{home}/".startswith(SYSTEM) else [there, str(home)]
