"""Names of programs that start other programs, and of files that say which programs to start."""

import re
from pathlib import PurePosixPath

from trued.support.lazy_regex import lazy_regex

_PYTHON = r"python(?:\d(?:\.\d+)?)?"
NODE_PROGRAMS = ("node", "nodejs")
# Programs that run code which they are given as a file or as an argument. Programs that look up what to start, such as
# npm and make, are not among them.
INTERPRETER = lazy_regex(rf"(?:ba|da|z|k)?sh|{_PYTHON}|{'|'.join(NODE_PROGRAMS)}|tsx|ts-node|deno|perl|ruby|php")
# Programs that may start another one.
SHELLS = lazy_regex(rf"{INTERPRETER.pattern}|make|gmake|source|\.|env|exec|time")
MANAGERS = ("npm", "pnpm", "yarn", "bun")  # package managers, which start scripts of a package.json
PACKAGE_RUNNERS = ("npx", "bunx")  # parts of package managers that start programs of installed packages
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")  # in make's own order
JUSTFILES = ("justfile", "Justfile", ".justfile")
MANAGER = lazy_regex(rf"(?<![\w.-])(?:{'|'.join((*MANAGERS, *PACKAGE_RUNNERS))})(?![\w.-])")


def is_python(program: str) -> bool:
    """Whether this is a usual name of the Python interpreter: `python`, `python3`, `python3.11`. False for paths."""
    return re.fullmatch(_PYTHON, program) is not None


def is_interpreter(word: str) -> bool:
    """Whether this word is the name or the path of an interpreter."""
    return bool(INTERPRETER.fullmatch(PurePosixPath(word).name))


def names_package_manager(text: str) -> bool:
    """Whether a text names a package manager, so that it may start scripts of a package.json."""
    return bool(MANAGER.search(text))
