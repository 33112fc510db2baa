"""Finds the files that the program of a user's command line must be able to see inside the sandbox."""

import json
import os
import subprocess
from pathlib import Path

PYTHON_FOLDERS = "import json, sys; print(json.dumps([sys.executable, sys.prefix, sys.base_prefix]))"


def visible_files(program: str, arguments: list[str], clone: Path) -> tuple[str, tuple[str, ...]]:
    """The program to start, and the paths outside the clone that it may see: its own files, and absolute paths in its
    arguments.

    A program in the clone is not run to find its folders: an agent could have written it, and it would run outside the
    sandbox. A link in the clone does not make its target visible.
    """
    values = [word.rpartition("=")[2] if word.startswith("-") else word for word in arguments]
    named = [
        value for value in values if value.startswith("/") and Path(value).exists() and not _is_within(value, clone)
    ]
    if _is_within(program, clone):
        return program, tuple(named)
    program, folders = _resolve_python(program)
    return program, (*folders, program, str(Path(program).resolve()), *named)


def _is_within(path: str, clone: Path) -> bool:
    written, real = Path(os.path.abspath(path)), Path(os.path.realpath(path))  # noqa: PTH100 (links stay as written)
    return written.is_relative_to(clone) or real.is_relative_to(Path(os.path.realpath(clone)))


def _resolve_python(program: str) -> tuple[str, tuple[str, ...]]:
    """The program to start, and the folders that it needs. A Python that is not the system's may be a version manager's
    shim. So it is run here to report its real path and its folders. Any other program is returned as it is, without
    folders."""
    if not Path(program).name.startswith("python") or program.startswith(("/usr/", "/bin/")):
        return program, ()
    try:
        answer = subprocess.run(
            [program, "-I", "-c", PYTHON_FOLDERS], capture_output=True, check=True, timeout=20, cwd="/"
        )
        executable, *folders = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return program, ()  # when started, it will report what is wrong
    return executable, tuple(folders)
