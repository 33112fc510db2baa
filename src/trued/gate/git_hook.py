"""The gate as git's pre-push hook. A hook that was there before is moved aside and still runs, first."""

import os
import shlex
from pathlib import Path

from trued.errors import BadInput
from trued.gate import files
from trued.gate.state import Installed

NAME = "pre-push"
ASIDE = "pre-push.before-trued"
OURS = "gate hook git"
SCRIPT = """\
#!/bin/sh
# What is pushed is judged first. `trued gate remove git` takes this out and puts back what was here.
refs=$(cat; printf .)
before="$(dirname -- "$0")/{aside}"
if [ -x "$before" ]; then
  printf '%s' "${{refs%.}}" | "$before" "$@" || exit $?
fi
printf '%s' "${{refs%.}}" | {command} "$@"
"""


def script(command: str) -> bytes:
    return SCRIPT.format(aside=shlex.quote(ASIDE).strip("'"), command=command).encode()


def install(hooks: Path, command: str, known: Installed | None) -> Installed:
    path, aside = hooks / NAME, hooks / ASIDE
    after = script(command)
    now = files.read(path)
    if known and known.path == str(path) and now is not None and _is_ours(now):
        if now != after:
            files.put(path, after, 0o755)
        return known.model_copy(update={"after": after.decode("latin-1")})
    if now is not None and _is_ours(now):  # of a gate whose private state is lost
        moved = str(aside) if os.path.lexists(aside) else ""
        folders = files.put(path, after, 0o755)
        return Installed(path=str(path), after=after.decode("latin-1"), folders=folders, moved=moved)
    if now is not None and os.path.lexists(aside):
        raise BadInput(f"{aside} is in the way", then="look at it, and move it away")
    if now is not None:
        path.rename(aside)
    folders = files.put(path, after, 0o755)
    moved = str(aside) if now is not None else ""
    return Installed(path=str(path), after=after.decode("latin-1"), folders=folders, moved=moved)


def remove(installed: Installed) -> None:
    path, now = Path(installed.path), files.read(Path(installed.path))
    if now is not None and not _is_ours(now):
        what = f"{path} was replaced by somebody since the gate was installed"
        raise BadInput(what, then=f"take `trued {OURS}` out of it by hand, if it is still there")
    path.unlink(missing_ok=True)
    if installed.moved and os.path.lexists(installed.moved):
        Path(installed.moved).rename(path)
    files.empty(installed.folders)


def trouble(installed: Installed) -> str:
    path = Path(installed.path)
    now = files.read(path)
    if now is None:
        return f"{path} is gone: git does not ask the gate any more"
    if now != installed.after.encode("latin-1"):
        return f"{path} was changed since it was installed"
    if not os.access(path, os.X_OK):
        return f"{path} cannot be executed: git leaves it out"
    return ""


def _is_ours(content: bytes) -> bool:
    return OURS.encode() in content
